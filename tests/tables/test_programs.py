"""Files as the programs that name them write them; what each says stands in `tests/exports/expected.json`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from carriers import spelled

from nearer import Layout
from nearer.io import FileFormatError, read_comparisons
from nearer.tables import Refusal
from nearer.tables.resolve import known

EXPORTS = Path(__file__).parents[1] / "exports"
FILES = EXPORTS / "files"
EXPECTED = json.loads((EXPORTS / "expected.json").read_text(encoding="utf-8"))


def read(name, layout=None):
    return read_comparisons(FILES / name, layout)


def declared(name):
    return Layout(**EXPECTED[name]["layout"]) if "layout" in EXPECTED[name] else None


def test_every_file_has_an_expectation_and_every_program_a_file():
    assert {path.name for path in FILES.iterdir()} == {*EXPECTED, "README.md"}
    assert {said.get("program") for said in EXPECTED.values()} - {"", None} == {
        one["name"] for group in ("program", "dialect") for one in known()[group]
    }


@pytest.mark.parametrize("name", [name for name, said in EXPECTED.items() if "comparisons" in said])
def test_a_file_says_what_is_expected(name):
    expected, result = EXPECTED[name], read(name, declared(name))
    made, answers = result.comparisons, result.comparisons.answers
    assert spelled(made) == list(map(tuple, expected["comparisons"]))
    assert (result.program, result.kind) == (expected["program"], expected["kind"])
    people = None if made.participants is None else list(map(str, made.participants))
    assert people == expected.get("participants")
    seconds = made.of_rows(answers.seconds)
    found = None if seconds is None else [None if time != time else round(time, 6) for time in seconds.tolist()]
    assert found == expected.get("seconds")
    assert (None if answers.order is None else made.of_rows(answers.order).tolist()) == expected.get("order")
    chosen = made.of_rows(answers.chosen_by)
    assert (None if chosen is None else list(map(str, chosen.each()))) == expected.get("chosen_by")
    checks = [int(answers.is_check().sum()), 0 if answers.correct is None else int((answers.correct == 1).sum())]
    assert checks[0] == expected.get("checks", [0])[0]
    assert "checks" not in expected or checks == expected["checks"]
    assert {reason: count for reason, (count, _) in result.dropped.items()} == expected["dropped"]


@pytest.mark.parametrize("name", [name for name, said in EXPECTED.items() if said.keys() & {"refused", "layout"}])
def test_without_its_layout_a_file_is_refused(name):
    with pytest.raises(FileFormatError, match=name):
        read(name)


def rewritten(name, tmp_path, row, **cells):
    """A copy of a file with other cells in one row of data, counted from 0."""
    text = (FILES / name).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    rows[row] |= cells
    path = tmp_path / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("name", "row", "cells"),
    [
        ("salmon.csv", 4, {"winner_filename": "drum.png"}),  # the number still says horn
        ("salmon.csv", 4, {"winner": "2"}),
        ("salmon.csv", 4, {"head": "3"}),
        ("salmon.csv", 4, {"left": "5"}),
        ("tripletlab.csv", 3, {"Answer": "gong"}),
        ("tripletlab.csv", 3, {"winner": "2", "loser": "5"}),
        ("tripletlab.csv", 3, {"head": "0"}),
    ],
)
def test_a_trial_whose_two_codings_differ_is_refused_and_named(name, row, cells, tmp_path):
    path = rewritten(name, tmp_path, row, **cells)
    with pytest.raises(FileFormatError, match=rf"line {row + 2}\b"):
        read_comparisons(path)


def test_a_file_of_a_program_with_another_column_that_may_say_the_answer_is_refused():
    rows = list(csv.DictReader(io.StringIO((FILES / "things.csv").read_text()), delimiter="\t"))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert read_comparisons(columns).program == "THINGS"
    for name in ("answer", "near", "odd"):
        with pytest.raises(Refusal):
            read_comparisons(columns | {name: columns["image2"]})
