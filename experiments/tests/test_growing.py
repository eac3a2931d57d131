"""Growing snapshots: equal to the dense algorithm step for step, unbiased, and with the same end as full ones."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.growing import GrowingSVRG, Parts, WarmSVRG

import oracles
from nearer import kernels
from nearer.solvers import BB, SBB, SVRG
from problems import noisy_problem, random_problem

pytestmark = pytest.mark.tools

FORMS = ("triplets", "quadruplets")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_mixed_pass_equals_dense_steps_one_by_one(loss, form):
    problem = random_problem(loss, form, seed=6)
    objective, X = Parts(problem.objective), problem.X
    covered = np.random.default_rng(1).permutation(len(problem.Q))[:15]
    snapshot, _ = objective.part_snapshot(X, covered[:6], covered[6:])
    draws = kernels.draw_many(77, 0, 130, len(problem.Q))
    path = oracles.dense_svrg(*problem.oracle, X, X, 0.03, draws, set(covered.tolist()))
    assert np.linalg.norm(path[-1] - X) > 0.1
    for t in (0, 1, 2, 31, 32, 33, 64, 129, 130):
        got, reduced = objective.mixed_pass(X, snapshot, 0.03, t, seed=77)
        assert np.abs(got - path[t]).max() <= 1e-9 * np.abs(path[t]).max()
        assert reduced == np.isin(draws[:t], covered).sum()


@pytest.mark.parametrize("form", FORMS)
def test_mixed_steps_are_along_the_full_gradient_on_average(form):
    problem = random_problem("tste", form, seed=3)
    objective, N = Parts(problem.objective), len(problem.Q)
    S = problem.X + 0.2 * np.random.default_rng(0).normal(size=problem.X.shape)
    snapshot, _ = objective.part_snapshot(S, np.arange(0), np.arange(10, 24))
    seeds = {int(kernels.draw(seed, 0, N)): seed for seed in range(4000)}  # one seed for each comparison
    assert len(seeds) == N
    steps = [objective.mixed_pass(problem.X, snapshot, 1.0, 1, seed=seed)[0] - problem.X for seed in seeds.values()]
    np.testing.assert_allclose(-np.mean(steps, axis=0), objective.value_and_gradient(problem.X)[1], atol=1e-12)


@pytest.mark.parametrize("known", [0, 1, 12, 25])
def test_a_snapshot_of_a_part(known):
    problem = random_problem("ckl", "quadruplets", seed=4)
    rows = np.random.default_rng(2).permutation(len(problem.Q))[:25]
    snapshot, before = Parts(problem.objective).part_snapshot(problem.X, rows[:known], rows[known:])
    np.testing.assert_allclose(snapshot.gradient, oracles.part_gradient(*problem.oracle, rows, problem.X), atol=1e-12)
    expected = oracles.part_gradient(*problem.oracle, rows[:known], problem.X) if known else np.zeros_like(before)
    np.testing.assert_allclose(before, expected, atol=1e-12)
    assert snapshot.value == pytest.approx(oracles.value("ckl", 0.05, problem.Q[rows], None, problem.X))


def test_growing_snapshots_follow_the_algorithm():
    """Covered comparisons double until they are all; the curvature is that of those covered before."""
    problem = random_problem("tste", seed=9)
    N, m, epsilon, eta = len(problem.Q), 50, 0.02, 0.05
    rng = np.random.default_rng(42)
    rng.spawn(1)  # as a run does for its output
    marks = rng.random(N, dtype=np.float32)
    S, share = problem.X, 0.15
    part = np.flatnonzero(marks <= share)
    work = len(part)
    points, steps, counts = [S], [], [work]
    while len(points) < 6:
        draws = kernels.draw_many(int(rng.integers(2**63)), 0, m, N)
        X = oracles.dense_svrg(*problem.oracle, S, S, eta, draws, set(part.tolist()))[-1]
        steps.append(eta)
        points.append(X)
        dX = X - S
        dg = oracles.part_gradient(*problem.oracle, part, X) - oracles.part_gradient(*problem.oracle, part, S)
        eta = np.sum(dX**2) / (m * (abs(np.sum(dX * dg)) + epsilon * np.sum(dX**2)))
        work += m + np.isin(draws, part).sum()
        S, share = X, 2 * share
        part = np.flatnonzero(marks <= share)
        work += len(part)
        counts.append(work)
    assert len(part) == N
    seen = []
    solver = GrowingSVRG(step=SBB(epsilon, 0.05), inner_steps=m, first_snapshot=0.15, max_epochs=5, tol=0)
    keep = [lambda row, state: seen.append((state.X.copy(), state))]
    result = solver.solve(Parts(problem.objective), problem.X, np.random.default_rng(42), keep)
    np.testing.assert_allclose([X for X, _ in seen], points, rtol=1e-8, atol=1e-10)
    assert result.history.to_dict()["step_size"][1:] == pytest.approx(steps, rel=1e-7)
    assert result.history.to_dict()["n_gradients"] == counts
    assert [state.provisional for _, state in seen] == [True, True, True, False, False, False]
    assert result.objective == pytest.approx(oracles.value(*problem.oracle, points[-1]))


@pytest.mark.parametrize("step", [SBB(0.0), BB()])
def test_a_first_snapshot_of_one_comparison(step):
    """It may be flat, such as a hinge comparison that is satisfied with a margin: the step is then kept."""
    problem = noisy_problem("hinge", size=200, noise=0.0)
    kept = 0
    for seed in range(6):
        result = GrowingSVRG(step=step, first_snapshot=1e-9, max_epochs=5).solve(
            Parts(problem.objective), problem.X, seed
        )
        assert result.history[0].n_gradients == 1
        assert result.objective == problem.objective.value(result.embedding)  # of all, though snapshots still grow
        kept += result.history[1].step_size == result.history[2].step_size
    assert kept > 0


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_growing_snapshots_end_where_others_do(loss):
    problem = noisy_problem(loss)
    options = {"step": SBB(), "max_epochs": 400, "tol": 1e-7}
    solvers = SVRG(**options), GrowingSVRG(**options, first_snapshot=0.02)
    full, grown = (solver.solve(Parts(problem.objective), problem.X, 1).objective for solver in solvers)
    assert grown == pytest.approx(full, rel=0.02)


def test_warm_up_is_damped_adagrad_then_svrg_from_there():
    problem = random_problem("tste", size=300)
    objective, N, n = problem.objective, len(problem.Q), problem.objective.n_objects
    rng = np.random.default_rng(5)
    rng.spawn(1)  # as a run does for its output
    seed = int(rng.integers(2**63))
    draws = [kernels.draw(seed, t, N) for t in range(100)]
    near, far = oracles.squared_distances(problem.X, problem.Q[draws])
    _, a, b = oracles.terms("tste", near, far, objective.loss.param)
    typical = np.mean([(2 * a) ** 2 * near, (2 * b) ** 2 * far])
    X, _, met = objective.adagrad_pass(problem.X, np.full(n, 20 * typical), 2.0, 2 * N - 100, seed, 100)
    old = objective.snapshot(X)
    expected = objective.svrg_pass(X, old, 0.01, N, int(rng.integers(2**63)))
    result = WarmSVRG(step=0.01, max_epochs=2, tol=0).solve(objective, problem.X, np.random.default_rng(5))
    np.testing.assert_allclose(result.embedding, expected, rtol=1e-9)
    assert list(result.history.column("n_gradients")) == [2 * N, 3 * N, 6 * N]
    assert list(result.history.column("objective")[:2]) == pytest.approx([met, old.value])
