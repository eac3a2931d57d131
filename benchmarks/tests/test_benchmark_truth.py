"""The benchmark of printed sentences finds a changed number, and passes over none."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import truth
from benchmarks.truth_figures import Case, Truth, read_central, read_triplets

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """150 answers of three people to at most 40 questions about eight objects, and six attention checks."""
    folder, rng = tmp_path_factory.mktemp("truth"), np.random.default_rng(0)
    points, names = rng.normal(size=(8, 2)), np.array(["bell", "drum", "flute", "gong", "harp", "lute", "oboe", "viol"])
    asked = np.array([rng.choice(8, 3, replace=False) for _ in range(40)])
    rows = [["participant", "anchor", "near", "far"]]
    for k in range(150):
        anchor, *options = asked[k % 40]
        near, far = sorted(options, key=lambda one: np.linalg.norm(points[one] - points[anchor]) + rng.normal() / 3)
        rows.append([f"p{k % 3}", *names[[anchor, near, far]]])
    rows += [[f"p{k % 3}", "bell", "bell", "drum"] for k in range(5)] + [["p0", "drum", "bell", "drum"]]
    with open(folder / "tiny.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    case = Case(folder / "tiny.csv", read_triplets, people=True)
    (folder / "run").mkdir()
    return truth.walk(case, folder / "run")


def status(lines, start):
    return {line.sentence: line.status for line in lines if line.sentence.startswith(start)}


def test_every_number_is_accounted_for(walked):
    true, printed = walked
    lines = truth.account(true, printed)
    assert set(status(lines, "questions: ").values()) == {"ok"}
    assert set(status(lines, "attention checks: 6, of which 1 failed").values()) == {"ok"}
    assert set(status(lines, "156 answers were collected from 3 participants").values()) == {"ok"}
    assert set(status(lines, "6 answers were attention checks, of which 5 passed and 1 failed").values()) == {"ok"}
    assert {line.status for line in truth.flows(true, printed.summary)} == {"ok"}
    known = {line.sentence for line in lines}
    for text in printed.text.values():
        assert {one for one in truth.sentences(truth.split_table(text)[0]) if re.search(r"\d", one)} <= known
    assert not [line for line in lines if line.status == "no number" and re.search(r"\d", line.sentence)]


CHANGED = {
    "check": r"(questions: )\d+", "people": r"(p1 +)50", "methods": r"(in )2( dimensions by)",
    "report": r"(gave )50( answers each)",
}  # fmt: skip


@pytest.mark.parametrize("source", CHANGED)
def test_a_changed_number_differs(walked, source):
    true, printed = walked
    before = {line.sentence for line in truth.account(true, printed) if line.status == "DIFFERS"}
    pattern = CHANGED[source]
    assert re.search(pattern, printed.text[source])
    changed = re.sub(pattern, lambda found: f"{found[1]}41{''.join(found.groups()[1:])}", printed.text[source])
    lines = truth.account(true, replace(printed, text=printed.text | {source: changed}))
    after = [line for line in lines if line.status == "DIFFERS" and line.sentence not in before]
    assert len(after) == 1
    assert "41" in str(after[0])


def test_a_number_that_nothing_recomputes_is_listed(walked):
    true, printed = walked
    text = printed.text | {"check": printed.text["check"] + "\nThe moon is 384,400 km away.\n"}
    (line,) = (one for one in truth.account(true, replace(printed, text=text)) if "moon" in one.sentence)
    assert (line.status, line.unchecked) == ("not checked", ["384,400"])


def test_an_answer_with_two_comparisons_holds_if_both_do(tmp_path):
    row = {"survey_round": "1", "chosen_center": "y", "response_time": "1", "triplet_object_1": "x"}
    (answer,) = read_central([row | {"triplet_object_2": "y", "triplet_object_3": "z"}])
    assert answer.said == (("x", "y", "z"), ("z", "y", "x"))
    found = Truth.__new__(Truth)
    found.index, found.owner = np.array([[0, 1, 2], [2, 1, 0]]), np.array([0, 0])
    assert found.satisfied(np.array([[0.0], [1.0], [2.0]])).tolist() == [1.0]
    assert found.satisfied(np.array([[0.0], [3.0], [2.0]])).tolist() == [0.5]


def test_numbers_are_compared_as_printed():
    assert truth.agrees("78.0", 78.04)
    assert not truth.agrees("78.0", 78.06)
    assert truth.agrees("14,194", 14194)
    assert not truth.agrees("50", [50.2, (60, 70)])
    assert truth.agrees("", None)
