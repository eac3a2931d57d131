"""`python -m experiments`: tables from a seed, resumed, drawn again; the page."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from experiments.__main__ import command
from experiments.report import fill
from experiments.theory.bounds import theorem_inner_steps
from experiments.theory.run import rate_of_decay, smallest_epsilon, step_bounds
from experiments.verdicts import HOLDS, NOT, PART, UNKNOWN, convex_scaling, four_times, judge_all, recall

pytestmark = pytest.mark.tools


def reproduce(*args):
    result = CliRunner().invoke(command, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result


def tables(folder):
    """All tables below a folder, without the columns that are times."""
    return {
        path.relative_to(folder): [
            [cell for name, cell in row.items() if "seconds" not in name] for row in csv.DictReader(path.open())
        ]
        for path in folder.rglob("results/*.csv")
    }


FIG1 = ("fig1", "--quick", "--trials", 2, "--n-jobs", 1)


@pytest.fixture(scope="module")
def fig1_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fig1")
    reproduce(*FIG1, "--out", folder)
    return folder


@pytest.fixture
def undrawn(monkeypatch):
    """Tables alone."""
    monkeypatch.setattr("experiments.registry.draw", lambda *args: [])


@pytest.mark.usefixtures("undrawn")
def test_same_seed_same_numbers(fig1_folder, tmp_path):
    reproduce(*FIG1, "--out", tmp_path)
    assert tables(tmp_path) == tables(fig1_folder)
    assert len(tables(tmp_path)) == 2


@pytest.mark.usefixtures("undrawn")
def test_after_an_interruption_the_tables_are_the_same(fig1_folder, tmp_path, monkeypatch):
    import experiments.fig1.run as run

    whole, count = run.trial, []

    def interrupted(params):
        count.append(params)
        if len(count) == 4:
            raise KeyboardInterrupt
        return whole(params)

    interrupted.__module__, interrupted.__qualname__ = whole.__module__, whole.__qualname__
    monkeypatch.setattr(run, "trial", interrupted)
    result = CliRunner().invoke(command, [str(arg) for arg in (*FIG1, "--out", tmp_path)])
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert not tables(tmp_path)
    reproduce(*FIG1, "--out", tmp_path)
    assert len(count) == 7  # six trials, of which one was lost
    assert tables(tmp_path) == tables(fig1_folder)
    assert json.loads((tmp_path / "fig1/results/run.json").read_text())["trials_read_from_an_earlier_run"] == 3


def test_the_run_is_recorded(fig1_folder):
    record = json.loads((fig1_folder / "fig1/results/run.json").read_text())
    assert re.fullmatch(r"[0-9a-f]{7,}(\+changes)?|unknown", record["commit"])
    assert record["settings"]["starts"] == 2
    assert record["settings"]["epsilon"] == 0.005
    assert record["quick"] is True
    assert {"python", "nearer", "numpy", "numba"} <= set(record["versions"])
    assert record["machine"]["cores"] >= 1


def test_draw_only_draws_from_the_tables(fig1_folder, monkeypatch):
    monkeypatch.setattr("experiments.registry.run", lambda *args: pytest.fail("ran"))
    figures = [fig1_folder / "fig1/results" / f"fig1{end}" for end in (".png", ".svg")]
    for figure in figures:
        figure.unlink()
    result = reproduce(*FIG1, "--out", fig1_folder, "--draw-only")
    assert result.stdout.splitlines() == [str(figure) for figure in figures]
    assert all(figure.stat().st_size > 5000 for figure in figures)


def test_the_page_takes_what_there_is(fig1_folder):
    result = reproduce("report", "--quick", "--out", fig1_folder)
    page = Path(result.stdout.strip())
    assert page == fig1_folder / "RESULTS.md"
    text = page.read_text()
    assert "| C1 |" in text
    assert "(fig1/results/fig1.png)" in text
    assert f"**{UNKNOWN}**" in text  # no other experiment was run
    assert text.count("<!-- begin") == text.count("<!-- end")


def test_fill_refuses_markers_that_do_not_match():
    assert (
        fill("a\n<!-- begin x -->\nold\n<!-- end x -->\nb", {"x": "new"})
        == "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb"
    )
    with pytest.raises(ValueError, match="do not match"):
        fill("nothing here", {"x": "new"})


def _write(folder, name, header, *rows):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / header[0]).write_text("\n".join([header[1], *rows]) + "\n")


@pytest.mark.parametrize(("tuned", "authors", "verdict"), [(0.4, 0.4, HOLDS), (0.1, 0.4, PART), (0.1, 0.2, NOT)])
def test_verdict_on_four_times(tmp_path, tuned, authors, verdict):
    rows = [
        f"{settings},{loss},{method},{seconds}"
        for settings, svrg in (("tuned", tuned), ("authors", authors))
        for loss in ("hinge", "ste", "tste")
        for method, seconds in (("svrg", svrg), ("sbb", 0.1))
    ]
    _write(tmp_path, "table1", ("table1.csv", "settings,loss,method,seconds_mean"), *rows)
    judged, figures = four_times(lambda name: tmp_path / name)
    assert judged == verdict
    assert f"STE {tuned / 0.1:.1f} times" in figures


@pytest.mark.parametrize(("first", "last", "verdict"), [(1.5, 9.0, HOLDS), (5.0, 50.0, PART), (5.0, 6.0, NOT)])
def test_verdict_on_scaling(tmp_path, first, last, verdict):
    rows = [
        f"{loss},{method},{n},{seconds}"
        for loss in ("hinge", "ste")
        for n, ratio in ((50, first), (800, last))
        for method, seconds in (("cvx", ratio), ("sbb", 1.0))
    ]
    _write(tmp_path, "table1", ("scaling.csv", "loss,method,n_objects,seconds_mean"), *rows)
    assert convex_scaling(lambda name: tmp_path / name)[0] == verdict


@pytest.mark.parametrize(("best", "verdict"), [(12, HOLDS), (11, HOLDS), (3, PART), (2, NOT), (0, NOT)])
def test_verdict_on_recall_asks_for_more_than_chance(tmp_path, best, verdict):
    rows = [
        f"letters,ste,0.1,{k},{method},{value},0.0"
        for k in range(12)
        for method, value in (("svrg", 0.5), ("sbb", 0.6 if k < best else 0.4))
    ]
    _write(tmp_path, "fig3", ("recall.csv", "dataset,loss,noise,k,method,recall_mean,recall_std"), *rows)
    judged, figures = recall(lambda name: tmp_path / name)
    assert judged == verdict
    assert f"best in {best} of 12 cells" in figures


def test_nine_claims_without_any_result(tmp_path):
    found = judge_all(lambda name: tmp_path / name)
    assert [v.claim for v in found] == [f"C{k}" for k in range(1, 10)]
    assert {v.verdict for v in found} == {UNKNOWN}


def test_step_bounds_by_hand():
    # m = 10,000, epsilon 1, L 3: between 1/40,000 and 1/10,000; the first two entries are the start and the given step
    row = step_bounds([[None, 9.0, 0.5e-4, 0.2e-4, 2e-4]], 1.0, [3.0])
    assert (row["steps"], row["below"], row["above"]) == (3, 1, 1)
    assert row["smallest_to_lower_bound"] == pytest.approx(0.8)
    assert row["largest_to_upper_bound"] == pytest.approx(2.0)


def test_rate_of_an_exact_decay():
    # gradients only in the first epoch: the mean over s epochs is exactly 1/s
    rows, rate = rate_of_decay([[5.0, 1.0, *[0.0] * 39]])
    assert [row["mean_squared_gradient"] for row in rows[:3]] == pytest.approx([1.0, 0.5, 1 / 3])
    assert rate["slope"] == pytest.approx(-1.0)
    assert rate["constant_late"] == pytest.approx(1.0)


def test_smallest_epsilon_just_suffices():
    epsilon = smallest_epsilon(0.05, 10_000)
    assert theorem_inner_steps(0.05, epsilon) <= 10_000 < theorem_inner_steps(0.05, 0.999 * epsilon)
