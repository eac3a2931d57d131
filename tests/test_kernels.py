"""Compiled kernels against NumPy oracles, comparison by comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import oracles
from nearer import kernels
from nearer.losses import get_loss
from nearer.solvers.lbfgs import Descent, descend
from problems import FORMS, random_problem

LOSSES = oracles.LOSSES


@pytest.mark.parametrize("form", ["triplets", "quadruplets"])
def test_a_map_beyond_the_caches_gets_the_same_gradient(form):
    problem = random_problem("tste", form, seed=4)
    index, scale, nothing = np.ascontiguousarray(problem.objective.comparisons.index), np.empty(0), np.empty(0)
    loss = problem.objective.loss.code
    n, d = problem.X.shape
    spread = np.sort(np.random.default_rng(0).choice(2**18 // d + 1_000, n, replace=False))
    X = np.random.default_rng(1).normal(size=(2**18 // d + 1_000, d))
    X[spread] = problem.X
    assert X.size > kernels._LARGE > problem.X.size
    results = []
    for rows, points in ((index, problem.X), (spread[index].astype(np.int32), X)):
        G = np.zeros_like(points)
        total = kernels.gradient_block(rows, scale, *loss, points, 0, len(rows), G, nothing, nothing)
        results.append((total, G))
    assert results[1][0] == pytest.approx(results[0][0], rel=1e-13)
    np.testing.assert_allclose(results[1][1][spread], results[0][1], rtol=1e-12, atol=1e-15)
    assert np.count_nonzero(results[1][1]) == np.count_nonzero(results[0][1])


@pytest.mark.parametrize("n", [1, 2, 3, 97, 10_000])
def test_draw_is_in_range_and_uniform(n):
    drawn = kernels.draw_many(12345, 0, 200_000, n)
    assert drawn.min() >= 0
    assert drawn.max() < n
    counts = np.bincount(drawn, minlength=n)
    assert len(counts) == n
    if n > 1:
        assert stats.chisquare(counts).pvalue > 1e-4


def test_draw_depends_on_seed_and_step_alone():
    drawn = kernels.draw_many(7, 0, 100_001, 5)  # successive draws are independent
    assert stats.chisquare(np.bincount(drawn[:-1] * 5 + drawn[1:], minlength=25)).pvalue > 1e-4
    whole = kernels.draw_many(99, 0, 1000, 313)
    np.testing.assert_array_equal(whole[400:], kernels.draw_many(99, 400, 600, 313))
    np.testing.assert_array_equal(whole, [kernels.draw(99, t, 313) for t in range(1000)])
    assert (whole != kernels.draw_many(100, 0, 1000, 313)).mean() > 0.9
    largest = 2**63 - 1
    assert 0 <= kernels.draw(largest, 2**40, 2**31 - 1) < 2**31 - 1


@pytest.mark.parametrize(
    "loss", [*LOSSES, get_loss("hinge").smoothed(0.3), *(get_loss(name, lapse=0.2) for name in ("ckl", "ste", "tste"))]
)
def test_scalar_and_array_forms_agree(loss):
    found = get_loss(loss).resolve(4)
    near, far = np.random.default_rng(0).gamma(1.0, size=(2, 50))
    value, d_near, d_far = found.terms(near, far)
    for p in range(50):
        got = kernels.loss_terms(*found.code, near[p], far[p])
        assert got == pytest.approx((value[p], d_near[p], d_far[p]), rel=1e-13)
        assert kernels.loss_slopes(*found.code, near[p], far[p]) == pytest.approx((d_near[p], d_far[p]), rel=1e-12)


def test_exponential_of_our_own():
    x = -np.concatenate([[0.0], np.logspace(-18, np.log10(708), 20_000), np.linspace(0, 708, 20_000)])
    got = np.array([kernels._exp(v) for v in x])
    np.testing.assert_allclose(got, np.exp(x.astype(np.longdouble)).astype(float), rtol=2e-13)
    small = x > -30  # what losses live on
    np.testing.assert_allclose(got[small], np.exp(x[small]), rtol=2e-14)
    assert kernels._exp(0.0) == 1.0
    assert 0.0 < kernels._exp(-1e9) < 1e-300


def test_logarithm_of_our_own():
    x = np.concatenate([np.logspace(-300, 300, 20_000), 1 + np.linspace(-0.5, 1.5, 20_001)])
    got = np.array([kernels._log(v) for v in x])
    np.testing.assert_allclose(got, np.log(x), rtol=5e-15, atol=5e-16)
    assert kernels._log(1.0) == 0.0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_objects_go_to_the_best_of_the_places(loss, form):
    problem = random_problem(loss, form, d=1, seed=5)
    objective, X = problem.objective, problem.X
    rng = np.random.default_rng(0)
    places = rng.normal(size=(6, 1))
    order = rng.permutation(len(X))
    least = 1e-3
    found, moved = objective.best_places(X, places, order, least)
    expected, count = X.copy(), 0
    for o in order:  # the value of all comparisons, once for every place
        tried = [expected.copy() for _ in range(len(places) + 1)]
        for Y, place in zip(tried, places):
            Y[o] = place
        values = [oracles.value(*problem.oracle, Y) for Y in tried]
        best = int(np.argmin(values))
        if values[best] < values[-1] - least:
            expected, count = tried[best], count + 1
    assert moved == count > 0
    np.testing.assert_array_equal(found, expected)
    assert objective.best_places(found, X[:0], order, 0.0)[1] == 0  # nowhere to go


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_compiled_descent_takes_the_steps_of_the_solver_on_the_oracle(loss, form):
    problem = random_problem(loss, form, seed=2)
    objective = problem.objective

    class Oracle:
        n_comparisons = objective.n_comparisons

        def value_and_gradient(self, X):
            return oracles.value(*problem.oracle, X), oracles.gradient(*problem.oracle, X)

    unit = objective.value_at_zero()
    expected = descend(Oracle(), problem.X, Descent(tol=3e-3, patience=3, unit=unit))
    X, value, evaluations = objective.descend(problem.X, 3e-3 * unit, 3, 100)
    assert evaluations * objective.n_comparisons == expected.n_gradients
    assert value == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(X, expected.X, atol=1e-4 * np.abs(X).max())
    assert value == pytest.approx(objective.value(X), rel=1e-12)
