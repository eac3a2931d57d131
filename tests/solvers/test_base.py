"""The run loop that all solvers share: stopping, clock, history, callbacks, output rules, divergence."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from nearer.objective import LocalObjective, Snapshot
from nearer.solvers import BB, GD, LBFGS, SBB, SGD, SVRG, Convex, History, Solver, State, get_solver, solver_names
from nearer.solvers import solver as solver_module
from problems import noisy_problem, random_problem


@dataclass
class Scripted(Solver):
    """Yields points 0, 1, 2, ... with the objective values it is given."""

    values: tuple = ()
    grad_norms: tuple | None = None
    finish_at: int | None = None
    name = "scripted"

    def init(self, objective, X0, rng, progress):
        return self._at(0, X0)

    def epoch(self, objective, state, rng):
        return self._at(state.n_gradients // 10 + 1, state.X)

    def _at(self, t, X):
        norm = None if self.grad_norms is None else self.grad_norms[t]
        finished = "converged: by itself" if t == self.finish_at else None
        return State(np.full_like(X, float(t)), self.values[t], 10 * t, None, norm, finished=finished)


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

    def sgd_pass(self, X, step, n_steps, seed, first=0, decay=0.0, power=1.0):
        return X + n_steps

    def adagrad_pass(self, X, memory, step, n_steps, seed, first=0):
        return X + n_steps, memory, self.value(X)


START = np.zeros((1, 1))
FALLING = tuple(2.0**-t for t in range(60))


# ---- stopping ------------------------------------------------------------------------------------------------------


def test_max_epochs():
    result = Scripted(max_epochs=7, values=FALLING).solve(Dummy(), START)
    assert (result.n_iter, result.converged, result.message) == (7, False, "stopped: reached max_epochs = 7")
    assert result.n_gradients == 70
    assert result.objective == 2.0**-7


def test_no_epochs_returns_the_start():
    for output in ("last", "best", "uniform"):
        result = Scripted(max_epochs=0, values=FALLING, output=output).solve(Dummy(), START)
        assert (result.n_iter, result.objective, len(result.history)) == (0, 1.0, 1)
        np.testing.assert_array_equal(result.embedding, START)


def test_tol_looks_back_over_patience_epochs():
    # falls by a quarter until epoch 4, then by less than 1 %
    values = (1.0, 0.75, 0.5, 0.4, 0.3, 0.2999, 0.2998, 0.2997, 0.2996, 0.2995)
    result = Scripted(values=values, tol=0.01, patience=3).solve(Dummy(), START)
    assert result.converged
    assert result.n_iter == 7
    assert result.message == "converged: objective fell by less than 0.01 (relative) in 3 epochs"
    assert Scripted(values=values, tol=0.01, patience=4).solve(Dummy(), START).n_iter == 8


def test_tol_forgives_a_bump():
    values = (1.0, 2.0, 2.0, 0.5, 0.4, 0.3, 0.2)
    result = Scripted(values=values, tol=1e-3, patience=3, max_epochs=6).solve(Dummy(), START)
    assert not result.converged
    assert result.n_iter == 6


def test_tol_zero_never_stops():
    result = Scripted(values=(1.0,) * 50, tol=0.0, max_epochs=40).solve(Dummy(), START)
    assert result.n_iter == 40


def test_an_objective_of_zero_counts_as_converged():
    assert Scripted(values=(0.0,) * 20, tol=1e-5).solve(Dummy(), START).converged


def test_grad_tol():
    norms = (4.0, 2.0, 1.0, 0.5, 0.25)
    result = Scripted(values=FALLING[:5], grad_norms=norms, grad_tol=1.0).solve(Dummy(), START)
    assert (result.n_iter, result.converged) == (2, True)
    assert result.message == "converged: gradient norm 1 <= 1"


def test_a_vanishing_gradient_stops_at_once():
    result = Scripted(values=FALLING[:3], grad_norms=(0.0, 1.0, 1.0)).solve(Dummy(), START)
    assert (result.n_iter, result.converged) == (0, True)


def test_a_solver_may_finish_by_itself():
    result = Scripted(values=FALLING, finish_at=3).solve(Dummy(), START)
    assert (result.n_iter, result.converged, result.message) == (3, True, "converged: by itself")


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


def test_clock_stops_while_held_out_comparisons_are_judged(monkeypatch):
    clock = FakeTime()
    monkeypatch.setattr(solver_module, "time", clock)

    def slow_error(objective, X):
        clock.now += 700.0
        return 0.5

    monkeypatch.setattr(LocalObjective, "error", slow_error)

    @dataclass
    class Ticking(Solver):
        name = "ticking"

        def init(self, objective, X0, rng, progress):
            return State(X0, 1.0, 0)

        def epoch(self, objective, state, rng):
            clock.now += 1.0
            return State(state.X, 1.0, 0)

    result = Ticking(max_seconds=3.5, tol=0.0, validation_fraction=0.5).solve(*_ste(), 0)
    assert result.history.column("held_out_error").tolist() == [0.5] * 5
    assert result.history.column("seconds").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


# ---- history and output --------------------------------------------------------------------------------------------


def test_history_columns():
    result = SVRG(step=SBB(), max_epochs=3, tol=0, record_error=True).solve(*_ste(), 0)
    columns = result.history.to_dict()
    assert tuple(columns) == History.FIELDS
    assert History.FIELDS == (
        "epoch", "n_gradients", "seconds", "objective", "step_size", "grad_norm", "train_error", "held_out_error",
    )  # fmt: skip
    assert columns["epoch"] == [0, 1, 2, 3]
    assert columns["step_size"][0] is None
    assert np.isnan(result.history.column("step_size")[0])
    assert (np.diff(result.history.column("seconds")) >= 0).all()
    assert all(0 <= e <= 1 for e in columns["train_error"])
    assert SVRG(max_epochs=1).solve(*_ste(), 0).history[0].train_error is None


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


@pytest.mark.parametrize("output", ["best", "uniform"])
def test_output_rule_does_not_change_the_iterates(output):
    objective, X0 = _ste()
    runs = [SVRG(step=SBB(), max_epochs=5, tol=0, output=rule).solve(objective, X0, 3) for rule in ("last", output)]
    a, b = (run.history.column("objective") for run in runs)
    np.testing.assert_allclose(a, b, rtol=1e-9)


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


def test_bb_steps_may_be_negative_and_stay_visible():
    """Without stabilisation the step turns negative on this non-convex problem; the history shows it."""
    problem = noisy_problem("tste", size=300)
    steps = []
    for seed in range(20):
        X0 = np.random.default_rng(seed).normal(size=problem.X.shape)
        result = SVRG(step=BB(), max_epochs=15, tol=0).solve(problem.objective, X0, seed)
        steps.extend(result.history.column("step_size")[1:])
    assert np.nanmin(steps) < 0
    for seed in range(20):
        X0 = np.random.default_rng(seed).normal(size=problem.X.shape)
        result = SVRG(step=SBB(), max_epochs=15, tol=0).solve(problem.objective, X0, seed)
        assert (result.history.column("step_size")[1:] > 0).all()


def test_an_objective_that_is_infinite_at_the_start():
    objective, X0 = _ste()
    result = LBFGS().solve(objective, X0 * 1e200)
    assert result.message.startswith("stopped: the objective is no longer finite at epoch 0")
    assert (result.n_iter, result.n_gradients, result.converged) == (0, 0, False)
    np.testing.assert_array_equal(result.embedding, X0 * 1e200)


# ---- input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": "first"}, "lbfgs: output: got 'first', expected one of last, best, uniform"),
        ({"max_epochs": -1}, "lbfgs: max_epochs: got -1, expected at least 0"),
        ({"max_epochs": 2.5}, "lbfgs: max_epochs"),
        ({"max_epochs": True}, "lbfgs: max_epochs"),
        ({"patience": 0}, "lbfgs: patience: got 0, expected at least 1"),
        ({"tol": -1e-3}, "lbfgs: tol: got -0.001, expected a number >= 0"),
        ({"tol": float("nan")}, "lbfgs: tol"),
        ({"grad_tol": "small"}, "lbfgs: grad_tol: got 'small', expected a number >= 0"),
        ({"max_seconds": 0}, "lbfgs: max_seconds: got 0, expected a positive number or None"),
        ({"memory": 0}, "lbfgs: memory: got 0, expected at least 1"),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        LBFGS(**changes).solve(*_ste())


def test_bad_starting_points_are_refused():
    objective, X0 = _ste()
    with pytest.raises(ValueError, match=r"gd: starting point: got shape \(9, 2\), expected \(9, 3\)"):
        GD().solve(objective, X0[:, :2])
    X0 = X0.copy()
    X0[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"gd: the starting point is not finite \(first in row 4\)"):
        GD().solve(objective, X0)


def test_the_starting_point_is_not_changed():
    objective, X0 = _ste()
    before = X0.copy()
    for name in solver_names():
        get_solver(name).solve(objective, X0, 0)
        np.testing.assert_array_equal(X0, before)


def test_solvers_by_name():
    assert solver_names() == ("auto", "svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs", "convex")
    assert isinstance(get_solver("convex"), Convex)
    assert isinstance(get_solver("svrg-sbb").step, SBB)
    assert isinstance(get_solver("svrg-bb").step, BB)
    ready = GD(step=0.1)
    assert get_solver(ready) is ready
    for bad in ("adam", 3, None):
        with pytest.raises(ValueError, match=f"solver: got {bad!r}, expected one of: auto, svrg-sbb"):
            get_solver(bad)


@pytest.mark.parametrize("name", [name for name in solver_names() if name != "convex"])
def test_same_seed_same_bits(name):
    problem = noisy_problem("tste", "weighted quadruplets", size=200)
    runs = [get_solver(name).solve(problem.objective, problem.X, seed) for seed in (5, 5, 6)]
    assert runs[0].embedding.tobytes() == runs[1].embedding.tobytes()
    if name in ("svrg-sbb", "svrg-bb", "svrg", "sgd"):
        assert runs[0].embedding.tobytes() != runs[2].embedding.tobytes()


class Batch:
    """An objective without stochastic passes or Gram form."""

    n_objects, n_components, n_comparisons = 9, 3, 40


@pytest.mark.parametrize("name", ["svrg", "svrg-sbb", "sgd"])
def test_stochastic_solvers_refuse_a_batch_objective(name):
    with pytest.raises(ValueError, match=r"got Batch, which has no .*_pass; use another solver"):
        get_solver(name).solve(Batch(), np.zeros((9, 3)))
