"""Files as laboratories' programs export them: read rightly without a word, or refused and then read as told.

What each file says stands in `tests/exports/expected.json`: its comparisons, participants and rows left out; a part of
the refusal and what to tell after it; sides of the first three answers, and seconds and number of the first.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearer.io import FileFormatError, read_comparisons

EXPORTS = Path(__file__).parents[1] / "exports"
FILES = EXPORTS / "files"
EXPECTED = json.loads((EXPORTS / "expected.json").read_text(encoding="utf-8"))


def having(*keys, without=()):
    """Names of the files of which some things are said and others are not."""
    return [name for name, said in EXPECTED.items() if said.keys() >= {*keys} and not said.keys() & {*without}]


def check(result, expected):
    comparisons = result.comparisons
    names = [str(number) for number in range(comparisons.n_objects)]
    if comparisons.labels is not None:
        names = comparisons.labels.tolist()
    found, rows = [[names[number] for number in row] for row in comparisons.index.tolist()], expected["comparisons"]
    if comparisons.kind == "quadruplets":  # distances are symmetric
        found, rows = ([[*sorted(row[:2]), *sorted(row[2:])] for row in some] for some in (found, rows))
    assert found == rows
    people = comparisons.participants
    assert (None if people is None else list(map(str, people.tolist()))) == expected["participants"]
    assert result.dropped == expected["dropped"]


def test_every_example_is_tested():
    assert {path.name for path in FILES.iterdir()} - {"README.md"} == EXPECTED.keys()


@pytest.mark.parametrize("name", having("comparisons", without=["refused"]))
def test_read_without_a_word(name):
    check(read_comparisons(FILES / name), EXPECTED[name])


@pytest.mark.parametrize("name", having("refused", "told"))
def test_refused_then_read_as_told(name):
    expected = EXPECTED[name]
    with pytest.raises(FileFormatError) as refusal:
        read_comparisons(FILES / name)
    assert expected["refused"] in str(refusal.value)
    check(read_comparisons(FILES / name, **expected["told"]), expected)


@pytest.mark.parametrize("name", having("refused", without=["told"]))
def test_refused(name):
    """What no option can read: the answers are JSON in one cell, or a row is a person."""
    with pytest.raises(FileFormatError, match=EXPECTED[name]["refused"]):
        read_comparisons(FILES / name)


@pytest.mark.parametrize("name", having("weights"))
def test_counts_of_answers_are_weights(name):
    assert read_comparisons(FILES / name).comparisons.weights.tolist() == EXPECTED[name]["weights"]


@pytest.mark.parametrize("name", having("note", "otherwise"))
def test_three_unnamed_columns_are_anchor_near_far_unless_told(name):
    expected = EXPECTED[name]
    assert any(expected["note"] in note for note in read_comparisons(FILES / name).notes)
    otherwise = expected["otherwise"]
    check(read_comparisons(FILES / name, **otherwise["told"]), otherwise)


@pytest.mark.parametrize("name", having("details"))
def test_details_of_the_answers_are_kept(name):
    expected = EXPECTED[name]["details"]
    details = read_comparisons(FILES / name).comparisons.details
    assert details.side[:3].tolist() == expected["side"]
    assert (None if details.seconds is None else details.seconds[0]) == expected["seconds"]
    assert (None if details.order is None else details.order[0]) == expected["order"]
    assert (None if details.chosen_by is None else details.chosen_by.names.tolist()) == expected["chosen_by"]
    assert details.catch is None
    assert details.correct is None
