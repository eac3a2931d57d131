"""The convex solver: optimality by duality, agreement with the non-convex solvers, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import oracles
from nearer.data import Comparisons
from nearer.losses import STELoss
from nearer.objective import LocalObjective
from nearer.solvers import Convex
from nearer.solvers.convex import certificate, points_from_gram, project_psd, smallest_eigenvalue
from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.penalty import Ridge
from problems import noisy_problem

FORMS = ("triplets", "quadruplets", "weighted triplets")


def _solved(problem, **options):
    """Gram matrix, objective, lam of the first iterate with a small enough duality gap."""
    states = []
    solver = Convex(max_epochs=5000, **options)
    result = solver.solve(problem.objective, problem.X, callbacks=[lambda row, state: states.append(state)])
    assert result.message.startswith("converged: relative duality gap")
    assert result.embedding.shape == problem.X.shape
    return states[-1].memory["K"], result.objective, solver.resolve_lam(problem.objective)


@functools.cache
def _solved_to(gap_tol, loss, form):
    problem = noisy_problem(loss, form, n=10, d=3, size=300)
    return problem, *_solved(problem, gap_tol=gap_tol)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("loss", "gap_tol"), [("hinge", 1e-3), ("ste", 1e-6)])
def test_optimality_conditions_hold(loss, gap_tol, form):
    problem, K, value, lam = _solved_to(gap_tol, loss, form)
    # primal feasible
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.linalg.eigvalsh(K).max()
    f, G, _ = oracles.gram_value_and_gradient(*problem.oracle, K)
    assert value == pytest.approx(f + lam * np.trace(K), rel=1e-10)
    primal, dual = certificate(problem.objective, K, lam, *problem.objective.gram_value_and_gradient(K)[1:])
    assert primal == pytest.approx(value, rel=1e-10)
    assert primal >= dual
    if loss == "ste":  # smooth: the dual point of K itself is nearly feasible and nearly complementary
        D = G + lam * np.eye(len(K))
        assert primal - dual <= 10 * gap_tol * primal
        assert np.linalg.eigvalsh(D).min() >= -1e-3 * lam
        assert abs(np.sum(D * K)) <= 1e-3 * value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("loss", "gap_tol"), [("hinge", 1e-3), ("ste", 1e-6)])
def test_certificate_is_a_lower_bound_from_a_feasible_dual_point(loss, gap_tol, form):
    """Re-derived: shrunken slopes keep the dual matrix positive, and no Gram matrix lies below their dual value."""
    problem, _, best, lam = _solved_to(gap_tol, loss, form)
    objective = problem.objective
    K = problem.X @ problem.X.T
    primal, lower = certificate(objective, K, lam, *objective.gram_value_and_gradient(K)[1:])
    _, G, slopes = oracles.gram_value_and_gradient(*problem.oracle, K)
    shrink = min(1.0, lam / -np.linalg.eigvalsh(G).min())
    assert np.linalg.eigvalsh(shrink * G + lam * np.eye(len(K))).min() >= -1e-12
    share = oracles.shares(problem.weights, len(problem.Q))
    a = shrink * slopes
    # min over z of max(0, 1 + z) - a z; min over z of log(1 + e^z) - a z, the binary entropy
    dual = a if loss == "hinge" else -(a * np.log(a) + (1 - a) * np.log1p(-a))
    assert lower == pytest.approx(np.mean(share * dual), rel=1e-9)
    assert lower <= best <= primal


def test_minimum_agrees_with_points_of_full_dimension():
    """With d = n - 1 the problem in points has no bad minima: both forms must meet."""
    problem = noisy_problem("ste", n=8, d=7, size=300)
    _, value, lam = _solved(problem, relative_lam=0.05, gap_tol=1e-6)

    reference = descend(Ridge(problem.objective, 8 * lam), problem.X, Descent(tol=1e-12, patience=20))
    assert value == pytest.approx(reference.value, rel=1e-4)


def test_the_work_counts_every_pass():
    for loss, lam in (("ste", None), ("hinge", 0.01), ("ckl", 0.01)):
        problem = noisy_problem(loss, n=8, d=2, size=100)

        class Counting:
            calls = 0

            def __init__(self, inner):
                self.inner = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def smoothed(self, width):
                return Counting(self.inner.smoothed(width))

            def gram_value_and_gradient(self, K):
                Counting.calls += 1
                return self.inner.gram_value_and_gradient(K)

        result = Convex(max_epochs=25, gap_tol=0.0, lam=lam).solve(Counting(problem.objective), problem.X)
        assert result.n_gradients == 100 * Counting.calls


@pytest.mark.parametrize(
    ("loss", "n_objects", "message"),
    [
        ("tste", 3, "convex: loss 'tste' is not a convex function of the Gram matrix; use hinge"),
        (STELoss(lapse=0.1), 3, "convex: loss 'ste' with lapse = 0.1 is not convex; use lapse = 0"),
        ("soe", 3, "convex: loss 'soe' is not a convex function of the Gram matrix; use hinge"),
        ("ste", 10_001, "convex: got 10,001 objects, expected at most 10,000"),
    ],
)
def test_what_it_cannot_take_is_refused(loss, n_objects, message):
    objective = LocalObjective(Comparisons([[0, 1, 2]], n_objects=n_objects), loss, 2)
    with pytest.raises(ValueError, match=message):
        Convex().solve(objective, np.zeros((n_objects, 2)))


def test_projection_is_the_nearest_positive_matrix():
    np.testing.assert_allclose(project_psd(np.diag([2.0, -3.0, 0.5])), np.diag([2.0, 0.0, 0.5]), atol=1e-14)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    A = A + A.T
    P = project_psd(A)
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    assert abs(np.sum(P * (P - A))) < 1e-10  # the residual is orthogonal to the projection ...
    assert np.linalg.eigvalsh(P - A).min() >= -1e-12  # ... and lies in the polar cone
    assert smallest_eigenvalue(A) == pytest.approx(np.linalg.eigvalsh(A)[0])


@pytest.mark.parametrize("d", [1, 3, 6, 9])
def test_points_from_gram_keep_distances(d):
    X = np.random.default_rng(0).normal(size=(6, min(d, 3)))
    Y = points_from_gram((X + 5.0) @ (X + 5.0).T, d)  # the offset does not matter
    assert Y.shape == (6, d)
    distances = [np.sum((Z[:, None] - Z[None]) ** 2, axis=2) for Z in (X, Y)]
    np.testing.assert_allclose(distances[1], distances[0], atol=1e-9)
