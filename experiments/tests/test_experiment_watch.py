"""Following solvers: the count of work, cuts inside passes, reaching a target, values at amounts of work."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from experiments.growing import Parts
from experiments.methods import GRIDS, NAMES, grid, make_solver
from experiments.problems import make_table1
from experiments.watch import Enough, Watched, follow, reach, trace

from nearer.objective import LocalObjective

pytestmark = pytest.mark.tools

SETTINGS = {
    "cvx": {"relative_lam": 0.1},
    "batch": {"step": 0.5},
    "sgd": {"step": 0.05, "decay": 0.5},
    "svrg": {"step": 1.0, "inner": 0.5},
    "sbb0": {"first": 1.0, "inner": 1.0},
    "sbb": {"epsilon": 0.5, "first": None, "inner": 0.5},
    "svrg-grow": {"step": 1.0, "inner": 0.5, "first_snapshot": 0.1},
    "sbb-grow": {"epsilon": 0.5, "first": 1.0, "inner": 0.5, "first_snapshot": 0.1},
}


@pytest.fixture(scope="module")
def small():
    data = make_table1(3, n=20, d=3, n_train=400, n_test=50)
    X0 = np.random.default_rng(0).random((20, 3))
    return Parts(LocalObjective(data.train, "ste", 3, n_jobs=1)), X0


@pytest.mark.parametrize("method", ["batch", "sgd", "svrg", "sbb0", "sbb", "sbb-grow", "sbb-warm"])
def test_the_count_of_work_is_the_solvers(small, method):
    objective, X0 = small
    counts = []
    watched = Watched(objective, lambda X, work: counts.append(work), every=100)
    solver = make_solver(method, SETTINGS.get(method, {}), 20, 400)
    solver.max_epochs = 3

    def check(row, state):
        assert watched.work == row.n_gradients
        watched.show(row, state)

    result = solver.solve(watched, X0, 0, callbacks=[check])
    assert counts[-1] == result.n_gradients
    assert counts == sorted(counts)


@pytest.mark.parametrize("method", ["sgd", "svrg", "sbb", "sbb-grow", "sbb-warm", "auto"])
def test_cuts_do_not_change_the_way(small, method):
    objective, X0 = small
    ends = []
    for every in (30, 10**9):
        watched = Watched(objective, lambda X, work: False, every)
        solver = make_solver(method, SETTINGS.get(method, {}), 20, 400)
        solver.max_epochs = 4
        ends.append(solver.solve(watched, X0, 0, callbacks=[watched.show]).embedding)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)


def test_a_pass_is_cut_at_every_multiple(small):
    objective, X0 = small
    seen = []
    watched = Watched(objective, lambda X, work: seen.append(work), every=150)
    watched.svrg_pass(X0, watched.snapshot(X0), 1e-3, 400, 0)  # from 400 to 1,200 gradients, two a step
    assert seen == [450, 600, 750, 900, 1050, 1200]
    watched.sgd_pass(X0, 1e-3, 100, 0)
    assert seen[6:] == []
    watched.sgd_pass(X0, 1e-3, 51, 0)
    assert seen[6:] == [1350]
    half, _ = watched.part_snapshot(X0, np.arange(80), np.arange(80, 200))
    before = watched.work
    _, reduced = watched.mixed_pass(X0, half, 1e-3, 300, 0)
    assert watched.work == before + 300 + reduced
    # one step takes one gradient or two: each multiple of 150 is seen, or the last point before it
    for multiple in range(150 * (before // 150 + 1), watched.work, 150):
        assert multiple in seen or multiple - 1 in seen


def test_a_true_look_ends_a_pass(small):
    objective, X0 = small
    watched = Watched(objective, lambda X, work: work >= 200, every=100)
    with pytest.raises(Enough):
        watched.sgd_pass(X0, 1e-3, 1000, 0)
    assert watched.work == 200


def test_looking_stops_the_clock(small, monkeypatch):
    objective, X0 = small
    ticks = itertools.count()
    monkeypatch.setattr("experiments.watch.time.perf_counter", lambda: float(next(ticks)))

    def slow_look(X, work):
        for _ in range(1000):
            next(ticks)
        return work >= 800

    seconds = follow("batch", SETTINGS["batch"], objective, X0, 0, slow_look, 400)
    assert seconds < 100  # three looks took 3,000 ticks


@pytest.mark.parametrize("method", NAMES)
def test_reach_finds_the_first_point_at_the_target(small, method):
    objective, X0 = small
    settings = SETTINGS.get(method, {})
    found = reach(method, settings, objective, X0, 1, target=0.15, most=200, repeats=1)
    assert found["seconds"] > 0
    points = []
    follow(
        method,
        settings,
        objective,
        X0,
        1,
        lambda X, work: points.append((work, objective.error(X))) or points[-1][1] <= 0.15,
        40,
    )
    assert -(-points[-1][0] // 40) * 40 == found["work"]
    assert all(error > 0.15 for _, error in points[:-1])


def test_trace_measures_the_newest_point(small):
    objective, X0 = small
    at = [0.5, 1.0, 2.0, 3.0]
    values, X, spent = trace("batch", SETTINGS["batch"], objective, X0, 0, at=at, measure=objective.value)
    solver = make_solver("batch", SETTINGS["batch"], 20, 400)
    solver.max_epochs = 2
    history = solver.solve(objective, X0, 0).history  # at 1, 2 and 3 N gradients
    assert values == [history[0].objective, *(row.objective for row in history)]
    assert spent["work"] == 1200
    assert objective.value(X) == values[-1]


def test_trace_of_a_diverging_run_keeps_its_last_finite_point(small):
    objective, X0 = small
    values, X, spent = trace("sgd", {"step": 1e200, "decay": 0.0}, objective, X0, 0, at=[1, 5], measure=objective.error)
    assert np.isfinite(X).all()
    assert len(values) == 2
    assert spent["work"] < 5 * 400


@pytest.mark.parametrize("method", GRIDS)
def test_every_point_of_a_grid_makes_a_solver(method):
    for settings in grid(method):
        make_solver(method, settings, 100, 10_000)
