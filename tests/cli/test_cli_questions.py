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
    assert nearer("suggest", answers, "-n", 30, "-o", "more.csv", "--pending", "q.csv").code == 0
    first, second = (
        {(row["head"], *sorted((row["a"], row["b"]))) for row in rows_of(tmp_path / name)}
        for name in ("q.csv", "more.csv")
    )
    assert not first & second
    # With the answers, they keep how they were chosen.
    lines = [f"{row['head']},{row['a']},{row['b']},a,{row['strategy']}" for row in rows]
    (tmp_path / "new.csv").write_text("\n".join(["head,a,b,answer,strategy", *lines]) + "\n")
    assert read_comparisons(tmp_path / "new.csv").comparisons.at_random.sum() == 8


def test_questions_do_not_depend_on_threads(nearer, tmp_path):
    points = np.random.default_rng(1).normal(size=(30, 2))
    write_comparisons(tmp_path / "many.csv", Comparisons.from_points(points, 900, random_state=1))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(nearer("suggest", "many.csv", "-n", 20, "--json").json["questions"])
    np.testing.assert_equal(found[0], found[1])


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
    "options",
    [
        "", "missing.csv", "--objects nowhere.txt", "--objects 5 -n 1000", "--objects 5 -n 5 --exclude x",
        "--objects 5 -n 5 --pending gone.csv", "--objects 5 -n 5 -o no/where.csv",
        *(f"--objects 5 -n 5 --pending {name}" for name in ("same.csv", "empty.csv", "strange.csv", "nameless.csv")),
    ],
)  # fmt: skip
def test_suggest_refuses(nearer, tmp_path, tree, options):
    for name, text in (("same", "0,0,1"), ("empty", "0,,1"), ("strange", "0,1,x"), ("nameless", "")):
        (tmp_path / f"{name}.csv").write_text(f"{'head,a,b' if text else '0,1,2'}\n{text or '0,1,2'}\n")
    before = tree(tmp_path)
    assert nearer("suggest", *options.split()).refused
    assert tree(tmp_path) == before


def test_plan_draws_its_curve(nearer, tmp_path):
    called = nearer("plan", 8, "--wrong", 0.1, "--target", 0.75, "--n-runs", 2, "--plot", "plan.svg", "--json")
    assert called.code == 0
    assert "8 objects in 2 dimensions need" in called.json["sentence"]
    assert called.json["range"][0] <= called.json["needed"] <= called.json["range"][1]
    assert (tmp_path / "plan.svg").read_text().lstrip().startswith("<?xml")
    for arguments in (("3",), ("8", "--wrong", "0.6"), ("8", "--target", "1.2"), ("8", "-d", "9")):
        assert nearer("plan", *arguments).refused
