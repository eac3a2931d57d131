"""The benchmark scripts at tiny sizes, and the parts of them that compute something."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from benchmarks import (
    ablation,
    common,
    figures,
    growth,
    large,
    measure,
    people,
    regression,
    sensitivity,
    synthetic,
    verdicts,
)

from nearer.datasets import make_points
from nearer.io import open_blocks
from nearer.metrics import comparison_accuracy, comparison_error
from nearer.solvers import SBB

pytestmark = pytest.mark.tools
ROOT = common.ROOT


@pytest.fixture
def results(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    monkeypatch.setattr(common, "RESULTS", folder)
    return folder


@pytest.fixture
def in_here(monkeypatch):
    """Tasks run in this process instead of one each, whose start takes longer than a tiny task."""

    def run_here(task, **arguments):
        return json.loads(measure.answer_to(task, json.dumps(arguments)))

    for script in (growth, large):
        monkeypatch.setattr(script, "in_child", run_here)


def rows_of(folder, name):
    record = json.loads((folder / f"{name}.json").read_text())
    assert record["commit"] is not None
    assert record["cpu"]
    return record["rows"]


def test_results_name_the_version_of_the_code_that_ran(results, monkeypatch):
    """What is installed may be older than the code that is imported, and was once written down in its place."""
    monkeypatch.setattr(common, "version", lambda name: "0.0.1")
    common.save("told", [{"a": 1}])
    written = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    versions = json.loads((results / "told.json").read_text())["versions"]
    assert versions["nearer"] == written
    assert versions["numpy"] == "0.0.1"
    assert f"nearer {written}, numpy 0.0.1" in (results / "told.md").read_text()


def test_triplets_are_distinct_true_and_uniform():
    points = make_points(7, 2, random_state=0)
    rows = synthetic.answered(points, 40_000, np.random.default_rng(0))
    assert rows.dtype == np.int32
    assert (np.sort(rows, axis=1)[:, 1:] > np.sort(rows, axis=1)[:, :-1]).all()
    assert comparison_error(points, rows) == 0
    questions = rows[:, 0] * 49 + rows[:, 1:].min(axis=1) * 7 + rows[:, 1:].max(axis=1)
    counts = np.unique(questions, return_counts=True)[1]
    assert len(counts) == 7 * 15  # every question, each about equally often
    assert np.abs(counts - 40_000 / 105).max() < 5 * (40_000 / 105) ** 0.5


def test_triplets_go_to_the_file_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "CHUNK", 300)
    train, test = tmp_path / "train.parquet", tmp_path / "test.npy"
    synthetic.write_triplets(str(train), str(test), n=20, d=2, n_train=1_000, n_test=50, seed=3)
    points = make_points(20, 2, random_state=3)
    rows = large.rows_of(open_blocks(train), 1_000)
    assert rows.shape == (1_000, 3)
    assert len(np.unique(rows, axis=0)) > 800
    assert comparison_error(points, rows) == 0
    assert np.load(test).shape == (50, 3)
    np.testing.assert_array_equal(large.rows_of(open_blocks(train), 450), rows[:450])


def test_peak_memory_is_that_of_the_child(tmp_path):
    parent = np.ones(500 << 17)  # 500 MiB here must not show there
    where = {"train": str(tmp_path / "train.parquet"), "test": str(tmp_path / "test.npy")}
    answer = measure.in_child("benchmarks.synthetic:write_triplets", **where, n=10, d=2, n_train=20, n_test=5, seed=0)
    assert measure.peak_gib() > 500 / 1024
    assert 0.02 < answer["peak_gib"] < 450 / 1024
    assert answer["seen before"] == pytest.approx(20 / 360)
    assert parent.all()


def test_large(results, in_here, monkeypatch):
    tiny = {"n": 60, "d": 2, "n_train": 3_000, "goal error": 0.1}
    monkeypatch.setattr(large, "QUICK_PROBLEMS", {"memory": tiny, "file": tiny})
    large.main(["--quick", "--loss", "hinge"])
    for name in ("memory", "file"):
        (row,) = rows_of(results, f"large-{name}-quick")
        assert row["test error"] < 0.1
        assert 0.05 < row["peak GiB"] < 4
        assert row["floor ns"] > 0
    assert row["streamed pass ns"] > row["floor ns"]


def test_growth_of_time(results, monkeypatch):
    monkeypatch.setattr(growth, "QUICK_SIZES", (60, 120))
    growth.main(["--quick", "--only", "time", "--losses", "hinge", "--repeats", "1"])
    rows = rows_of(results, "growth-time-quick")
    assert [row["N"] for row in rows] == [growth.n_comparisons(60), growth.n_comparisons(120)]
    assert all(0 < row["seconds"] < np.inf for row in rows)


def test_exponents():
    rows = [{"loss": "a", "N": N, "seconds": 3 * N**1.1} for N in (10, 100, 1000)]
    rows += [{"loss": "b", "N": 10, "seconds": 1.0}, {"loss": "b", "N": 20, "seconds": np.inf}]
    assert growth.exponents(rows) == {"a": pytest.approx(1.1), "b": None}
    assert growth.n_comparisons(1024) == 20 * 1024 * 10


def test_a_goal_that_is_never_reached_is_infinite():
    assert growth.time_to(-1.0, 30, "hinge", 0, n_test=200) == (np.inf, np.inf)


def test_growth_of_memory(results, in_here, monkeypatch):
    monkeypatch.setattr(growth, "QUICK_MEMORY", {"n": 60, "n_train": (2_000, 4_000)})
    growth.main(["--quick", "--only", "memory"])
    rows = rows_of(results, "growth-memory-quick")
    assert [row["N"] for row in rows] == [2_000, 4_000]
    assert all(row["test error"] < 0.3 for row in rows)


def test_ablation(results):
    ablation.main(["--quick", "--losses", "hinge", "--repeats", "1"])
    rows = {row["variant"]: row for row in rows_of(results, "ablation-quick")}
    assert set(rows) == set(ablation.VARIANTS)
    assert rows["auto"]["time ratio"] == 1
    # Equal where a penalty is chosen: then there is no last mile without it.
    assert rows["no last mile"]["work"] <= rows["auto"]["work"]
    assert rows["one thread"]["test error"] == rows["auto"]["test error"]
    assert rows["no stochastic start"]["work"] != rows["auto"]["work"]


def test_sensitivity(results, monkeypatch):
    monkeypatch.setattr(sensitivity, "QUICK_SCANNED", ("10",))
    monkeypatch.setattr(sensitivity, "QUICK_SIZES", (10,))
    sensitivity.main(["--quick", "--losses", "ste", "--repeats", "1", "--budget", "15"])
    rows = rows_of(results, "sensitivity-scans-quick")
    default = [
        row["objective"] for row in rows
        if row["method"] == "svrg-sbb" and row["factor"] == 1.0 and row["varied"] != "first step"
    ]  # fmt: skip
    assert len(default) == 2
    assert default[0] == pytest.approx(default[1])  # the default epsilon written out is the default
    assert {row["varied"] for row in rows} == {"epsilon", "m", "first step"}
    sizes = rows_of(results, "sensitivity-sizes-quick")
    assert {row["epsilon"] for row in sizes} == set(sensitivity.EPSILONS)
    assert next(r["objective"] for r in sizes if r["epsilon"] == "default") == pytest.approx(default[0])


def test_a_budget_of_work_is_kept():
    case = sensitivity.Case("10", "tste", 0)
    spent = []
    case.test.error = lambda X: spent.append(X) or 0.0
    value, _, finite = case.run(SBB(), m=50, budget=10.0)  # 200 comparisons: an epoch costs 300, so 2000 allow 5 epochs
    assert finite
    assert value < 1
    exact = sensitivity.SVRG(step=SBB(), inner_steps=50, max_epochs=5, tol=0).solve(case.objective, case.X0, 0)
    assert exact.n_gradients == 400 + 5 * 300
    np.testing.assert_array_equal(spent[0], exact.embedding)


def test_figures_and_page(results, tmp_path, monkeypatch):
    for name, rows, more in (
        ("ablation", [{"problem": "p", "loss": "ste", "variant": v, "seconds": 1.0, "time ratio": 2.0, "work": 3.0,
                       "work ratio": 4.0, "test error": 0.1, "error difference": 0.01} for v in ("auto", "no x")], {}),
        ("growth-time", [{"loss": "ste", "N": 10, "goal": 0.1, "seconds": 1.0}], {"exponents": {"ste": None}}),
        ("sensitivity-scans", [{"problem": "p", "loss": "ste", "varied": "m", "method": "svrg", "factor": f,
                                "objective": f} for f in (1.0, 4.0)], {}),
    ):  # fmt: skip
        common.save(name, rows, **more)
    page = common.PAGE
    target = tmp_path / "out" / "page.md"
    assert figures.write(figures.Results(False), page, target) == ["growth", "ablation", "sensitivity-scans"]
    text = target.read_text()
    assert "| no x | 2.00, 4.00, +0.0100 |" in text
    assert "| auto | 1 s, 3, 0.1000 |" in text
    assert "2.50 (worst 4)" in text
    assert "Exponents: ste not reached." in text
    assert "(figures/benchmark-ablation.svg)" in text
    assert figures.NOT_RUN in text
    assert (tmp_path / "out" / "figures" / "benchmark-growth.png").stat().st_size > 1000
    again = figures.fill(text, {found[1]: "nothing" for found in figures._MARKERS.findall(text)})
    assert "no x" not in again
    with pytest.raises(ValueError, match="do not match"):
        figures.fill("<!-- begin a -->\n<!-- end a -->", {"b": ""})


def test_what_counts_as_slower():
    row = {"seconds ratio": 1.5, "work ratio": 1.0}
    assert regression.slower(row, 1.3) == ["seconds ratio"]
    assert regression.slower({**row, "instructions ratio": 1.1}, 1.3) == []
    assert regression.slower({"seconds ratio": 1.0, "work ratio": 1.4}, 1.3) == ["work ratio"]
    assert regression.slower({"seconds ratio": float("nan"), "work ratio": 1.0}, 1.3) == ["seconds ratio"]
    assert regression.slower({"error": "head: x", "failed": True}, 1.3) == ["error"]
    assert regression.slower({"error": "base: x", "failed": False}, 1.3) == []


def test_regression_of_a_commit_with_itself(capsys, monkeypatch):
    git = shutil.which("git")
    if git is None or subprocess.run([git, "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("not a git checkout")

    def trees():
        return [line.split()[0] for line in regression.git("worktree", "list").splitlines()]

    before = trees()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # two folders would compile everything twice
    assert (
        regression.main(["HEAD", "--problems", "sgd", "--scale", "0.002", "--repeats", "1", "--threshold", "100"]) == 0
    )
    assert "work ratio 1.000" in capsys.readouterr().out
    assert trees() == before


@pytest.mark.parametrize("kind", verdicts.ALL_KINDS)
def test_simulated_answers_are_of_their_kind(kind):
    rng = np.random.default_rng(0)
    points = verdicts.points_of(kind, 40, 3, rng)
    assert points.var(axis=0).sum() == pytest.approx(1.0)
    answers = verdicts.answers_of(kind, points, 3000, rng)
    right = comparison_accuracy(points, answers)
    assert right == 1.0 if "no noise" in kind else 0.6 < right < 0.97


def test_verdicts_about_participants():
    rows = verdicts.participants(verdicts.Run(quick=True))
    assert all(row["honest flagged per study"] < 1 for row in rows)
    assert rows[-1]["careless found"] > 0.5


def test_simulated_people_do_what_they_are_said_to():
    rng = np.random.default_rng(0)
    points = verdicts.points_of("even, no noise", 20, 2, rng)
    does = np.array(["careful", "random", "left", "inverted", "tired"])
    data = people.study("even, no noise", points, 5, 400, rng, behaviour=does)
    right = [comparison_accuracy(points, data[data.people.codes == person]) for person in range(5)]
    assert right[0] == 1.0
    assert right[3] == 0.0
    assert right[1] == pytest.approx(0.5, abs=0.1)
    assert right[4] == pytest.approx(0.75, abs=0.1)
    assert (data.answers.side[data.people.codes == 2] == 0).all()
    guessing = people.study("even, no noise", points, 2, 1000, rng, guesses=np.array([0.0, 0.5]))
    assert comparison_accuracy(points, guessing[guessing.people.codes == 1]) == pytest.approx(0.75, abs=0.05)


def test_studies_of_verdicts_are_taken_up(tmp_path):
    run = verdicts.Run(jobs=1, keep=tmp_path)
    assert run.each(_noted, [(tmp_path, 1), (tmp_path, 2)]) == [{"n": 1}, {"n": 2}]
    assert run.each(_noted, [(tmp_path, 2), (tmp_path, 3), (tmp_path, 1)]) == [{"n": 2}, {"n": 3}, {"n": 1}]
    assert (tmp_path / "runs").read_text() == "123"


def _noted(case):
    folder, n = case
    with open(folder / "runs", "a") as file:
        file.write(str(n))
    return {"n": n}


def test_the_page_holds_what_is_saved_about_verdicts():
    text = common.PAGE.read_text()
    assert figures.fill(text, verdicts.blocks()) == text


def test_the_page_about_people_holds_what_is_saved():
    text = common.PAGE.read_text()
    paths = {name: common.RESULTS / f"people_{name}.json" for name in people.SUMMARIES}
    records = {name: json.loads(path.read_text()) for name, path in paths.items()}
    assert figures.fill(text, people.blocks(records)) == text
    assert figures.NOT_RUN not in text
