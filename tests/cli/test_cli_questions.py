"""`nearer suggest` and `nearer plan`."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nearer import Comparisons
from nearer.io import read_comparisons, write_comparisons


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_questions_about_answers(nearer, tmp_path, answers):
    called = nearer("suggest", answers, "-n", 40, "-o", "q.csv", "--exclude", "obj00,obj01", "--json")
    assert called.code == 0
    rows = rows_of(tmp_path / "q.csv")
    assert list(rows[0]) == ["head", "a", "b", "information", "strategy"]
    assert len(rows) == 40
    assert not {"obj00", "obj01"} & {row[name] for row in rows for name in ("head", "a", "b")}
    assert called.json["strategies"] == {"predictive": 32, "random": 8}
    assert {row["strategy"] for row in rows if not row["information"]} == {"random"}


def test_questions_do_not_depend_on_threads(nearer, tmp_path):
    points = np.random.default_rng(1).normal(size=(30, 2))
    write_comparisons(tmp_path / "many.csv", Comparisons.from_points(points, 900, random_state=1))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(nearer("suggest", "many.csv", "-n", 20, "--json").json["questions"])
    np.testing.assert_equal(found[0], found[1])


def test_questions_in_flight_are_not_asked_again(nearer, tmp_path, answers):
    assert nearer("suggest", answers, "-n", 30, "-o", "q.csv").code == 0
    assert nearer("suggest", answers, "-n", 30, "-o", "more.csv", "--pending", "q.csv").code == 0
    first, second = (
        {(row["head"], *sorted((row["a"], row["b"]))) for row in rows_of(tmp_path / name)}
        for name in ("q.csv", "more.csv")
    )
    assert len(first) == len(second) == 30
    assert not first & second


def test_nothing_answered_yet(nearer, tmp_path):
    called = nearer("suggest", "--objects", 8, "-n", 5)
    assert called.code == 0
    assert called.out.splitlines()[0] == "head,a,b,information,strategy"
    assert len(called.out.splitlines()) == 6
    (tmp_path / "names.txt").write_text("label\nant\nbee\ncat\n'=dog\n\n")
    called = nearer("suggest", "--objects", "names.txt", "-n", 3, "--ask", "odd-one-out", "-o", "q.csv")
    assert called.code == 0
    assert set(rows_of(tmp_path / "q.csv")[0]) == {"a", "b", "c", "information", "strategy"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("head,a,b\n0,0,1\n", "line 2: got 0, 0, 1, expected three different objects"),
        ("head,a,b\n0,,1\n", "line 2: got 0, , 1, expected three different objects"),
        ("head,a,b,a\n0,1,2,3\n", "line 1: got the columns head, a, b, a, expected head, a, b, each once"),
        ("head,a,b\n0,1,x\n", "line 2: got 'x', expected numbers of objects"),
        ("0,1,2\n0,1,2\n", "line 1: got the columns 0, 1, 2, expected head, a, b"),
    ],
)
def test_questions_in_flight_that_are_none(nearer, tmp_path, text, told):
    (tmp_path / "q.csv").write_text(text)
    called = nearer("suggest", "--objects", 5, "-n", 3, "--pending", "q.csv")
    assert called.code == 2
    assert f"nearer suggest: q.csv, {told}" in called.err


def test_answered_questions_keep_how_they_were_chosen(nearer, tmp_path, answers):
    assert nearer("suggest", answers, "-n", 40, "-o", "q.csv").code == 0
    rows = rows_of(tmp_path / "q.csv")
    lines = [f"{row['head']},{row['a']},{row['b']},a,{row['strategy']}" for row in rows]
    (tmp_path / "new.csv").write_text("\n".join(["head,a,b,answer,strategy", *lines]) + "\n")
    read = read_comparisons(tmp_path / "new.csv").comparisons
    assert read.at_random.sum() == 8
    assert nearer("check", "new.csv").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "FILE: got none"),
        (("--objects", "nowhere.txt"), "--objects: got 'nowhere.txt'"),
        (("--objects", 5, "-n", 1000), "only 30 different questions"),
        (("--objects", 5, "-n", 5, "--exclude", "x"), "--exclude: got 'x'"),
        (("--objects", 5, "-n", 5, "--pending", "gone.csv"), "gone.csv: no such file"),
        (("missing.csv",), "missing.csv"),
        (("--objects", 5, "-n", 5, "-o", "no/where.csv"), "the folder no does not exist"),
    ],
)
def test_suggest_refuses(nearer, tmp_path, arguments, told):
    called = nearer("suggest", *arguments)
    assert called.code == 2
    assert told in called.err
    assert list(tmp_path.iterdir()) == []


def test_plan_draws_its_curve_and_says_it_in_a_sentence(nearer, tmp_path):
    called = nearer("plan", 8, "--wrong", 0.1, "--target", 0.75, "--n-runs", 2, "--plot", "plan.svg")
    assert called.code == 0
    assert "8 objects in 2 dimensions need" in called.out.splitlines()[-1]
    assert "#" in called.out
    assert (tmp_path / "plan.svg").read_text().lstrip().startswith("<?xml")
    again = nearer("plan", 8, "--wrong", 0.1, "--target", 0.75, "--n-runs", 2, "--json")
    assert again.json["sentence"] == called.out.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("3",), ("8", "--wrong", "0.6"), ("8", "--target", "1.2"), ("8", "-d", "9")])
def test_plan_refuses(nearer, arguments):
    called = nearer("plan", *arguments)
    assert called.code == 2
