"""The run loop that all solvers share: stopping, clock, history, callbacks, output rules, divergence."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from nearer.objective import Snapshot
from nearer.solvers import BB, GD, LBFGS, SBB, SGD, SVRG, Convex, Solver, State, get_solver, solver_names
from nearer.solvers import solver as solver_module
from problems import noisy_problem, random_problem


@dataclass
class Scripted(Solver):
    """Yields points 0, 1, 2, ... with the objective values it is given."""

    values: tuple = ()
    grad_norms: tuple | None = None
    finish_at: int | None = None
    provisional_until: int = 0
    name = "scripted"

    def init(self, objective, X0, rng, progress):
        return self._at(0, X0)

    def epoch(self, objective, state, rng):
        return self._at(state.n_gradients // 10 + 1, state.X)

    def _at(self, t, X):
        norm = None if self.grad_norms is None else self.grad_norms[t]
        finished = "converged: by itself" if t == self.finish_at else None
        part = t < self.provisional_until
        return State(np.full_like(X, t), self.values[t], 10 * t, None, norm, finished=finished, provisional=part)


class Dummy:
    """An objective whose points are a count of the steps taken."""

    n_objects, n_components, n_comparisons = 1, 1, 7

    def value(self, X):
        return 100.0 - float(X[0, 0])

    def value_and_gradient(self, X):
        return self.value(X), np.ones_like(X)

    def error(self, X):
        return 0.25

    def snapshot(self, X):
        return Snapshot(X, self.value(X), np.ones_like(X), None)

    def svrg_pass(self, X, snapshot, step, n_steps, seed, first=0):
        assert first == 0 or X[0, 0] - snapshot.X[0, 0] == first
        return X + n_steps

    def sgd_pass(self, X, step, n_steps, seed, first=0, decay=0.0):
        return X + n_steps

    def adagrad_pass(self, X, memory, step, n_steps, seed, first=0):
        return X + n_steps, memory, self.value(X)


START = np.zeros((1, 1))
FALLING = tuple(2.0**-t for t in range(60))


# ---- stopping ------------------------------------------------------------------------------------------------------


# Falls by a quarter until epoch 4, then by less than 1 %.
SLOWER = (1.0, 0.75, 0.5, 0.4, 0.3, 0.2999, 0.2998, 0.2997, 0.2996, 0.2995)
SLOW = "converged: objective fell by less than"


@pytest.mark.parametrize(
    ("options", "n_iter", "message"),
    [
        ({"values": FALLING, "max_epochs": 7}, 7, "stopped: reached max_epochs = 7"),
        ({"values": SLOWER, "tol": 0.01, "patience": 3}, 7, f"{SLOW} 0.01 (relative) in 3 epochs"),
        ({"values": SLOWER, "tol": 0.01, "patience": 4}, 8, f"{SLOW} 0.01 (relative) in 4 epochs"),
        ({"values": (1.0, 2.0, 2.0, 0.5, 0.4), "patience": 3, "max_epochs": 4}, 4, "stopped: reached max_epochs = 4"),
        ({"values": (1.0,) * 50, "tol": 0.0, "max_epochs": 40}, 40, "stopped: reached max_epochs = 40"),
        ({"values": (0.0,) * 20}, 5, f"{SLOW} 1e-05 (relative) in 5 epochs"),
        ({"values": FALLING, "grad_norms": (4.0, 2.0, 1.0), "grad_tol": 1.0}, 2, "converged: gradient norm 1 <= 1"),
        ({"values": FALLING, "grad_norms": (0.0, 1.0, 1.0)}, 0, "converged: gradient norm 0 <= 0"),
        ({"values": FALLING, "finish_at": 3}, 3, "converged: by itself"),
    ],
)
def test_when_a_run_stops(options, n_iter, message):
    result = Scripted(**options).solve(Dummy(), START)
    assert (result.n_iter, result.message) == (n_iter, message)
    assert result.converged == message.startswith("converged")
    assert (result.n_gradients, result.objective) == (10 * n_iter, options["values"][n_iter])


def test_values_of_a_part_neither_stop_a_run_nor_count_as_best():
    values, norms = (0.0,) * 10 + (5.0, 6.0, 7.0), (0.0,) * 10 + (1.0,) * 3
    solver = Scripted(values=values, grad_norms=norms, provisional_until=10, output="best", max_epochs=12, patience=2)
    result = solver.solve(Dummy(), START)
    assert (result.n_iter, result.objective, result.embedding[0, 0]) == (12, 5.0, 10.0)


def test_no_epochs_returns_the_start():
    for output in ("last", "best", "uniform"):
        result = Scripted(max_epochs=0, values=FALLING, output=output).solve(Dummy(), START)
        assert (result.n_iter, result.objective, len(result.history)) == (0, 1.0, 1)
        np.testing.assert_array_equal(result.embedding, START)


def test_every_callback_runs_and_any_may_stop():
    calls = []

    def stopper(row, state):
        calls.append(("a", row.epoch))
        return row.epoch == 2

    def watcher(row, state):
        calls.append(("b", row.epoch))
        assert row.objective == state.value

    result = Scripted(values=FALLING).solve(Dummy(), START, callbacks=[stopper, watcher])
    assert (result.n_iter, result.converged, result.message) == (2, False, "stopped by a callback")
    assert calls == [(name, epoch) for epoch in range(3) for name in "ab"]


class FakeTime:
    """A clock that moves only when told."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


def test_clock_stops_during_callbacks_and_evaluation(monkeypatch):
    clock = FakeTime()
    monkeypatch.setattr(solver_module, "time", clock)

    @dataclass
    class Slow(Solver):
        name = "slow"

        def init(self, objective, X0, rng, progress):
            return State(X0, None, 0)

        def epoch(self, objective, state, rng):
            clock.now += 1.0
            return State(state.X, None, 0)

    class SlowDummy(Dummy):
        def value(self, X):
            clock.now += 50.0
            return 1.0

        def error(self, X):
            clock.now += 700.0
            return 0.5

    def callback(row, state):
        clock.now += 9000.0

    solver = Slow(max_seconds=3.5, tol=0.0, record_error=True)
    result = solver.solve(SlowDummy(), START, callbacks=[callback])
    assert result.history.column("seconds").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert (result.message, result.converged) == ("stopped: reached max_seconds = 3.5", False)


# ---- history and output --------------------------------------------------------------------------------------------


def _ste():
    problem = random_problem("ste")
    return problem.objective, problem.X


@pytest.mark.parametrize("solver", [GD(), LBFGS(), SVRG(step=SBB()), SGD()], ids=lambda s: s.name)
def test_history_tells_the_truth(solver):
    objective, X0 = _ste()
    solver.max_epochs, solver.tol, solver.record_error = 4, 0.0, True
    points = []
    result = solver.solve(objective, X0, 0, [lambda row, state: points.append(state.X.copy())])
    assert len(points) == len(result.history) == 5
    for X, row in zip(points, result.history):
        assert row.objective == pytest.approx(objective.value(X), rel=1e-12)
        assert row.train_error == objective.error(X)
        if row.grad_norm is not None:
            assert row.grad_norm == pytest.approx(np.linalg.norm(objective.value_and_gradient(X)[1]), rel=1e-12)
    np.testing.assert_array_equal(result.embedding, points[-1])
    assert result.objective == result.history[-1].objective


def test_best_output_keeps_the_lowest_point():
    values = (1.0, 0.5, 0.2, 0.6, 0.3, 0.9)
    result = Scripted(values=values, output="best", max_epochs=5, tol=0).solve(Dummy(), START)
    assert (float(result.embedding[0, 0]), result.objective) == (2.0, 0.2)
    last = Scripted(values=values, output="last", max_epochs=5, tol=0).solve(Dummy(), START)
    assert (float(last.embedding[0, 0]), last.objective) == (5.0, 0.9)


def test_uniform_output_is_uniform_over_epochs():
    solver = Scripted(values=FALLING, output="uniform", max_epochs=8, tol=0)
    drawn = [solver.solve(Dummy(), START, seed) for seed in range(2000)]
    counts = np.bincount([int(r.embedding[0, 0]) for r in drawn], minlength=9)
    assert counts[0] == 0  # the start is not an iterate
    assert stats.chisquare(counts[1:]).pvalue > 1e-3
    assert all(r.objective == 2.0 ** -int(r.embedding[0, 0]) for r in drawn[:50])


def test_uniform_output_of_svrg_is_uniform_over_inner_steps():
    solver = SVRG(step=0.1, inner_steps=5, output="uniform", max_epochs=4, tol=0)
    drawn = [solver.solve(Dummy(), START, seed) for seed in range(4000)]
    steps = np.array([int(r.embedding[0, 0]) for r in drawn])
    counts = np.bincount(steps, minlength=21)
    assert len(counts) == 21
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > 1e-3
    assert all(r.objective == 100.0 - step for r, step in zip(drawn, steps))


# ---- divergence ----------------------------------------------------------------------------------------------------


class Explosive(BB):
    """A rule that always answers infinity, as BB does where the curvature vanishes."""

    def after(self, curvature, n_inner, previous):
        return np.inf


@pytest.mark.parametrize(
    "solver",
    [SVRG(step=1e6), SVRG(step=Explosive()), SGD(step=1e9), GD(step=1e200)],
    ids=["svrg", "svrg-bb", "sgd", "gd"],
)
@pytest.mark.parametrize("output", ["last", "best", "uniform"])
def test_divergence_stops_cleanly(solver, output):
    problem = noisy_problem("hinge", size=200)
    solver.tol, solver.output, solver.max_epochs = 0.0, output, 500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solver.solve(problem.objective, problem.X, 0)
    assert not result.converged
    assert "is no longer finite at epoch" in result.message
    assert result.message.endswith("kept the last finite point")
    assert np.isfinite(result.embedding).all()
    assert np.isfinite(result.objective)
    assert np.isfinite(result.history.column("objective")).all()
    if output == "best":
        assert result.objective <= problem.objective.value(problem.X)


def test_an_objective_that_is_infinite_at_the_start():
    objective, X0 = _ste()
    result = LBFGS().solve(objective, X0 * 1e200)
    assert result.message.startswith("stopped: the objective is no longer finite at epoch 0")
    assert (result.n_iter, result.n_gradients, result.converged) == (0, 0, False)
    np.testing.assert_array_equal(result.embedding, X0 * 1e200)


# ---- input ---------------------------------------------------------------------------------------------------------


def test_bad_starting_points_are_refused():
    objective, X0 = _ste()
    with pytest.raises(ValueError, match=r"gd: starting point: got shape \(9, 2\), expected \(9, 3\)"):
        GD().solve(objective, X0[:, :2])
    X0 = X0.copy()
    X0[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"gd: the starting point is not finite \(first in row 4\)"):
        GD().solve(objective, X0)


def test_solvers_by_name():
    assert {"auto", "svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs", "convex"} <= set(solver_names())
    assert isinstance(get_solver("convex"), Convex)
    assert isinstance(get_solver("svrg-sbb").step, SBB)
    assert isinstance(get_solver("svrg-bb").step, BB)
    ready = GD(step=0.1)
    assert get_solver(ready) is ready
    for bad in ("adam", 3, None):
        with pytest.raises(ValueError, match=f"solver: got {bad!r}, expected one of: auto, svrg-sbb"):
            get_solver(bad)
