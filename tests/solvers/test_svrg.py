"""SVRG: equal to the dense algorithm step for step, its step sizes, its work, its convergence."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from nearer import kernels
from nearer.solvers import SBB, SVRG
from problems import FORMS, noisy_problem, random_problem

LOSSES = oracles.LOSSES
STEP = 0.03


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_lazy_pass_equals_dense_svrg_step_for_step(loss, form):
    problem = random_problem(loss, form, seed=6)
    objective, X = problem.objective, problem.X
    S = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    snapshot = objective.snapshot(S)
    draws = kernels.draw_many(77, 13, 130, len(problem.Q))
    path = oracles.dense_svrg(*problem.oracle, X, S, STEP, draws)
    assert np.linalg.norm(path[-1] - X) > 0.1
    for t, expected in enumerate(path):
        got = objective.svrg_pass(X, snapshot, STEP, t, seed=77, first=13)
        assert np.abs(got - expected).max() <= 1e-9 * np.abs(expected).max()
    again = objective.svrg_pass(objective.svrg_pass(X, snapshot, STEP, 33, 77, 13), snapshot, STEP, 97, 77, 46)
    np.testing.assert_allclose(again, got, rtol=1e-9, atol=1e-12)  # cut in two


def test_work_and_way_do_not_depend_on_the_output():
    problem = random_problem("tste", size=100)
    seen = {}
    for output in ("last", "uniform"):
        points = []
        solver = SVRG(step=0.02, inner_steps=30, max_epochs=4, tol=0, output=output)
        result = solver.solve(problem.objective, problem.X, 3, [lambda row, state: points.append(state.X.copy())])  # noqa: B023
        seen[output] = points, result.history.to_dict()["n_gradients"]
    np.testing.assert_allclose(seen["last"][0], seen["uniform"][0], rtol=1e-10, atol=1e-13)
    assert seen["last"][1] == seen["uniform"][1]


def test_epochs_follow_the_algorithm():
    """Three whole epochs: snapshot, step size and inner loop, from formulas alone."""
    problem = random_problem("tste", "weighted triplets", seed=9)
    m, epsilon, first = 50, 0.02, 0.05
    seeds = np.random.default_rng(42)
    S, expected, eta = problem.X, [problem.X], first
    g = oracles.gradient(*problem.oracle, S)
    steps = []
    for _ in range(3):
        draws = kernels.draw_many(int(seeds.integers(2**63)), 0, m, len(problem.Q))
        X = oracles.dense_svrg(*problem.oracle, S, S, eta, draws)[-1]
        steps.append(eta)
        expected.append(X)
        new = oracles.gradient(*problem.oracle, X)
        dX, dg = X - S, new - g
        eta = np.sum(dX**2) / (m * (abs(np.sum(dX * dg)) + epsilon * np.sum(dX**2)))
        S, g = X, new
    seen = []
    solver = SVRG(step=SBB(epsilon, first), inner_steps=m, max_epochs=3, tol=0)
    result = solver.solve(problem.objective, problem.X, 42, [lambda row, state: seen.append(state.X.copy())])
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-11)
    assert result.history[0].step_size is None
    assert result.history.to_dict()["step_size"][1:] == pytest.approx(steps, rel=1e-8)
    assert result.objective == pytest.approx(oracles.value(*problem.oracle, expected[-1]))


@pytest.mark.parametrize("step", [SBB(), SBB(epsilon=0.1), SBB(first_step=0.01), SBB(0.1, 0.01)])
@pytest.mark.parametrize("inner_steps", [None, 17])
def test_work_is_counted_by_formula(step, inner_steps):
    problem = random_problem("ste")
    N, m = len(problem.Q), inner_steps or len(problem.Q)
    result = SVRG(step=step, inner_steps=inner_steps, max_epochs=4, tol=0).solve(problem.objective, problem.X, 0)
    measuring = N if step != SBB(0.1, 0.01) else 0
    expected = [N, *(N + measuring + s * (N + 2 * m) for s in range(1, 5))]
    assert result.history.to_dict()["n_gradients"] == expected
    assert result.n_gradients == expected[-1]


@pytest.mark.parametrize("form", ["triplets", "weighted quadruplets"])
@pytest.mark.parametrize("epsilon", [0.003, 0.1])
@pytest.mark.parametrize("loss", ["ckl", "ste", "tste"])
def test_step_sizes_obey_both_bounds(loss, epsilon, form):
    problem = noisy_problem(loss, form, size=300)
    objective = problem.objective
    points = []
    result = SVRG(step=SBB(epsilon), max_epochs=12, tol=0).solve(
        objective, problem.X, 0, [lambda row, state: points.append(state.X.copy())]
    )
    m = objective.n_comparisons
    steps = result.history.column("step_size")
    assert len(steps) == 13
    for s in range(2, len(points)):  # step s comes from the move between snapshots s - 2 and s - 1
        at = np.linspace(0, 1, 5)[:, None, None]
        segment = (1 - at) * points[s - 2] + at * points[s - 1]
        L = 1.02 * max(oracles.largest_curvature(objective, X) for X in segment)  # between them it may be larger
        assert 1 / (m * (L + epsilon)) <= steps[s] <= 1 / (m * epsilon) * (1 + 1e-12)


def test_gradient_norm_of_the_uniform_iterate_falls_with_the_number_of_steps():
    problem = noisy_problem("tste", size=400, noise=0.2)
    start = np.random.default_rng(0).normal(size=problem.X.shape)

    def squared_norm(n_epochs, seed):
        solver = SVRG(step=SBB(), max_epochs=n_epochs, tol=0, output="uniform")
        X = solver.solve(problem.objective, start, seed).embedding
        return np.sum(problem.objective.value_and_gradient(X)[1] ** 2)

    epochs = np.array([2, 8, 32, 128])
    mean = np.array([np.mean([squared_norm(n, seed) for seed in range(24)]) for n in epochs])
    assert (np.diff(mean) < 0).all()
    assert (mean * epochs <= 4 * mean[0] * epochs[0]).all()  # O(1 / T)
