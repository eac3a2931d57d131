"""Gradient descent, L-BFGS and plain SGD: their own promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import oracles
from nearer import kernels
from nearer.solvers import GD, LBFGS, SGD, Constant, Decaying
from nearer.solvers.multistart import ProgressLines
from nearer.solvers.solver import HistoryRow, State
from problems import FORMS, noisy_problem, random_problem

LOSSES = oracles.LOSSES


@pytest.mark.parametrize("solver", [GD(max_epochs=60, tol=0), LBFGS(max_epochs=60, tol=0)], ids=lambda s: s.name)
@pytest.mark.parametrize("loss", LOSSES)
def test_line_searches_never_raise_the_objective(solver, loss):
    problem = noisy_problem(loss, "weighted quadruplets")
    result = solver.solve(problem.objective, problem.X)
    assert (np.diff(result.history.column("objective")) <= 0).all()
    assert result.objective < 0.95 * result.history[0].objective


def test_constant_gd_is_the_textbook_iteration():
    problem = random_problem("ste", "weighted triplets")
    X = problem.X
    for _ in range(5):
        X = X - 0.3 * oracles.gradient(*problem.oracle, X)
    result = GD(step=0.3, max_epochs=5, tol=0).solve(problem.objective, problem.X)
    np.testing.assert_allclose(result.embedding, X, rtol=1e-10)
    N = len(problem.Q)
    assert result.history.to_dict()["n_gradients"] == [N * (t + 1) for t in range(6)]


@pytest.mark.parametrize("solver", [GD(max_epochs=30, tol=0), LBFGS(max_epochs=30, tol=0)], ids=lambda s: s.name)
def test_work_counts_every_evaluation(solver):
    problem = noisy_problem("ste")

    class Counting:
        calls = 0

        def __getattr__(self, name):
            return getattr(problem.objective, name)

        def value_and_gradient(self, X):
            self.calls += 1
            return problem.objective.value_and_gradient(X)

    counting = Counting()
    result = solver.solve(counting, problem.X)
    assert result.n_gradients == counting.calls * len(problem.Q)


@pytest.mark.parametrize("loss", ["ste", "ckl", "tste", "soe"])
def test_lbfgs_goes_as_low_as_scipy(loss):
    problem = noisy_problem(loss)

    def flat(x):
        value, gradient = problem.objective.value_and_gradient(x.reshape(problem.X.shape))
        return value, gradient.ravel()

    reference = scipy.optimize.minimize(flat, problem.X.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000})
    result = LBFGS(tol=1e-10).solve(problem.objective, problem.X)
    assert result.objective <= reference.fun * (1 + 1e-3)


# ---- sgd -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_sgd_pass_matches_oracle_step_for_step(loss, form):
    problem = random_problem(loss, form, seed=11)
    first, T = 30, 80
    t = np.arange(first, first + T)
    steps = 0.04 / (1 + 0.05 * t)
    path = oracles.sgd(*problem.oracle, problem.X, steps, kernels.draw_many(9, first, T, len(problem.Q)))
    for done in (0, 1, 40, T):
        got = problem.objective.sgd_pass(problem.X, 0.04, done, seed=9, first=first, decay=0.05)
        assert np.abs(got - path[done]).max() <= 1e-10 * np.abs(path[done]).max()
    half = problem.objective.sgd_pass(problem.X, 0.04, 33, seed=9, first=first, decay=0.05)
    rest = problem.objective.sgd_pass(half, 0.04, T - 33, seed=9, first=first + 33, decay=0.05)
    np.testing.assert_array_equal(rest, got)


@pytest.mark.parametrize(
    ("step", "sizes"),
    [
        (0.02, lambda t, N: np.full(len(t), 0.02)),
        (Constant(0.02), lambda t, N: np.full(len(t), 0.02)),
        (Decaying(0.02, 0.5), lambda t, N: 0.02 / (1 + 0.5 * t / N)),
    ],
)
def test_sgd_schedules(step, sizes):
    problem = random_problem("ste", seed=12)
    N = len(problem.Q)
    t = np.arange(3 * N)
    seed = int(np.random.default_rng(8).integers(2**63))
    path = oracles.sgd(*problem.oracle, problem.X, sizes(t, N), kernels.draw_many(seed, 0, 3 * N, N))
    result = SGD(step=step, max_epochs=3, tol=0).solve(problem.objective, problem.X, 8)
    np.testing.assert_allclose(result.embedding, path[-1], rtol=1e-10)
    assert result.history.to_dict()["n_gradients"] == [0, N, 2 * N, 3 * N]
    assert result.history.column("step_size")[1:] == pytest.approx(sizes(t, N)[::N])


# ---- progress ------------------------------------------------------------------------------------------------------


def test_progress_lines(capsys):
    problem = random_problem("ste")
    monitor = ProgressLines(problem.objective, 0.0, "run 1")
    state = State(problem.X, 0.5, 0)
    assert monitor(HistoryRow(3, 0, 1.5, 0.5, None, None), state) is None
    monitor(HistoryRow(4, 0, 2.5, 0.25, None, None, train_error=0.125), state)
    monitor.every = 1e6
    monitor(HistoryRow(5, 0, 2.6, 0.25, None, None), state)
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"run 1: epoch    3     1.50 s  objective 0.500000  error {problem.objective.error(problem.X):.4f}"
    assert second == "run 1: epoch    4     2.50 s  objective 0.250000  error 0.1250"


def test_lbfgs_goes_on_where_squares_of_the_gradient_vanish():
    class Flat:
        n_comparisons = 1

        def value_and_gradient(self, X):
            return 0.5e-161 * float(np.vdot(X, X)), 1e-161 * X

    objective, solver = Flat(), LBFGS()
    state = solver.init(objective, np.ones((3, 2)), None, lambda state: None)
    for _ in range(5):
        before, state = state, solver.epoch(objective, state, None)
        assert state.value <= before.value
