"""`python -m experiments`: tables from a seed, resumed, drawn again; the page."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from experiments.__main__ import command
from experiments.claims_synthetic import convex_scaling, four_times, race
from experiments.decision import HOLDS, NOT, PART, UNKNOWN, verdict
from experiments.report import fill
from experiments.tables import PAPER, read_csv, write_csv
from experiments.theory.run import rate, step_bounds
from experiments.verdicts import judge_all

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
    assert len(count) == 37  # thirty-six trials, of which one was lost
    assert tables(tmp_path) == tables(fig1_folder)
    assert json.loads((tmp_path / "fig1/results/run.json").read_text())["trials_read_from_an_earlier_run"] == 3


def test_the_run_is_recorded(fig1_folder):
    record = json.loads((fig1_folder / "fig1/results/run.json").read_text())
    assert re.fullmatch(r"[0-9a-f]{7,}(\+changes)?|unknown", record["commit"])
    assert record["settings"]["starts"] == 2
    assert record["settings"]["epochs"] == 20
    assert record["quick"] is True
    assert {"python", "nearer", "numpy", "numba"} <= set(record["versions"])
    assert record["machine"]["cores"] >= 1


def test_draw_only_draws_from_the_tables(fig1_folder, monkeypatch):
    monkeypatch.setattr("experiments.registry.run", lambda *args: pytest.fail("ran"))
    figures = [fig1_folder / "fig1/results" / f"fig1{end}" for end in (".png", ".svg")]
    figures += [fig1_folder / "fig1/results" / f"errors{end}" for end in (".png", ".svg")]
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
    assert "|C1|" in text
    assert "(fig1/results/fig1.png)" in text
    assert "(not run)" in text  # no other experiment was run
    assert "|C2|" not in text
    assert text.count("<!-- begin") == text.count("<!-- end")
    cases = read_csv(fig1_folder / "cases.csv")
    assert {case["claim"] for case in cases} == {"C1"}
    assert len(cases) == 12


def test_fill_refuses_markers_that_do_not_match():
    assert (
        fill("a\n<!-- begin x -->\nold\n<!-- end x -->\nb", {"x": "new"})
        == "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb"
    )
    with pytest.raises(ValueError, match="do not match"):
        fill("nothing here", {"x": "new"})


PAIRS = [(draw, start) for draw in range(3) for start in range(4)]


@pytest.fixture
def folder(tmp_path):
    """Where tables of experiments are."""
    return lambda name: tmp_path / name


def write_runs(folder, name, rows):
    folder("table1").mkdir(exist_ok=True)
    write_csv(folder("table1") / name, [{**row, "draw": d, "start": s} for row in rows for d, s in PAIRS])


@pytest.mark.parametrize(
    ("authors", "programmed", "tuned", "expected"),
    [(5.0, 5.0, 4.0, HOLDS), (5.0, 3.9, 1.1, PART), (2.0, 3.0, 8.0, NOT)],
)
def test_verdict_on_four_times(folder, authors, programmed, tuned, expected):
    svrg = {"authors": 40.0, "tuned": 10.0}
    rows = [
        {"settings": settings, "loss": loss, "method": method, "work": work}
        for loss in ("hinge", "ste", "tste")
        for settings, method, work in (
            *((settings, "svrg", work) for settings, work in svrg.items()),
            ("authors", "sbb", 40.0 / authors),
            ("programmed", "sbb", 40.0 / programmed),
            ("tuned", "sbb", 10.0 / tuned),
        )
    ]  # fmt: skip
    write_runs(folder, "runs.csv", rows)
    cases, figures = four_times(folder)
    assert len(cases) == 9
    assert verdict(cases) == expected
    assert f"tuned {tuned:.1f}, {tuned:.1f}, {tuned:.1f}" in figures


@pytest.mark.parametrize(("at_100", "last", "expected"), [(1.0, 90.0, HOLDS), (8.0, 90.0, PART), (8.0, 2.0, NOT)])
def test_verdict_on_the_convex_method_as_n_grows(folder, at_100, last, expected):
    def rows(n, ratio, others):
        return [
            {"settings": "tuned", "loss": loss, "method": m, "n_objects": n, "work": 1.0, "seconds": seconds}
            for loss in ("hinge", "ste")
            for m, seconds in (("cvx", ratio), *((other, 1.0) for other in others))
        ]

    write_runs(folder, "runs.csv", rows(100, at_100, ("batch", "sgd", "svrg", "sbb0", "sbb")))
    write_runs(folder, "scaling.csv", [*rows(50, 2.0, ("sbb",)), *rows(800, last, ("sbb",))])
    assert verdict(convex_scaling(folder)[0]) == expected


def test_the_rules_do_not_reject_the_table_of_the_paper(folder):
    rows = [
        {
            "settings": "authors",
            "loss": row["loss"],
            "method": row["method"],
            "work": row["mean"],
            "seconds": row["mean"],
        }
        for row in read_csv(PAPER / "table1.csv")
    ]
    write_runs(folder, "runs.csv", rows)
    assert verdict(race(read_csv(folder("table1") / "runs.csv"), "work")[0]) == HOLDS  # C3, its part about speed
    assert verdict(four_times(folder)[0]) == HOLDS
    assert verdict(convex_scaling(folder)[0]) == PART  # cvx is ahead of SGD for GNMDS, last for STE


def test_no_verdict_without_results(folder):
    found = judge_all(folder)
    assert [v.claim.name for v in found] == [f"C{k}" for k in range(1, 12)]
    assert {v.verdict for v in found} == {UNKNOWN}


def test_the_page_is_short():
    """At most 1,800 words, cells of tables included, numbers not."""
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert len([word for word in text.replace("|", " ").split() if any(c.isalpha() for c in word)]) <= 1800


def test_step_bounds_by_hand():
    # m = 10,000; m times the steps between 1/4 and 1; the first one was measured
    row = step_bounds([[9.0, 0.5e-4, 0.2e-4, 2e-4]], 0.25, 1.0)
    assert (row["steps"], row["below"], row["above"]) == (3, 1, 1)
    assert row["smallest_to_lower_bound"] == pytest.approx(0.8)
    assert row["largest_to_upper_bound"] == pytest.approx(2.0)


def test_rate_of_an_exact_decay():
    # gradients only in the first epoch: the mean over s epochs is exactly 1/s
    run = {"squared_gradient": [1.0, 0.0, 0.0], "steps": [1e-3] * 3, "fall": 2.0}
    rows = rate([run], 0.1, 1e6)
    assert [row["mean_squared_gradient"] for row in rows] == pytest.approx([1.0, 0.5, 1 / 3])
    assert rows[0]["bound"] == pytest.approx(3 * rows[2]["bound"])  # the same gamma, three times the steps
    assert rows[0]["bound_single"] is None  # the step is far too long for such a curvature
