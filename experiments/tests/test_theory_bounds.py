"""Lipschitz estimates against known Hessians; the theorem's bound by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from experiments.theory import curved
from experiments.theory.bounds import estimate_lipschitz, proof_conditions, smallest_gamma, theorem_inner_steps

import oracles
from problems import random_problem

pytestmark = pytest.mark.tools


class _Quadratic:
    """``x^T A x / 2`` for a symmetric A (n, n)."""

    def __init__(self, A):
        self.A = A

    def value_and_gradient(self, X):
        return 0.5 * float(np.vdot(X, self.A @ X)), self.A @ X


def test_lipschitz_estimate_is_the_largest_curvature():
    rng = np.random.default_rng(0)
    Z = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    A = Z @ np.diag([-5.0, 3.0, 2.0, 1.0, 0.5, 0.0]) @ Z.T  # the largest one is negative
    X = rng.normal(size=(6, 1))
    assert estimate_lipschitz(_Quadratic(A), X, rng, 60) == pytest.approx(5.0, rel=1e-6)
    assert estimate_lipschitz(_Quadratic(np.zeros((6, 6))), X, rng) == 0.0
    with pytest.raises(ValueError, match="n_iter"):
        estimate_lipschitz(_Quadratic(A), X, rng, 0)


@pytest.mark.parametrize("loss", ["ckl", "ste", "tste"])
def test_lipschitz_estimate_matches_the_whole_hessian(loss):
    problem = random_problem(loss, "quadruplets", seed=2)
    H = oracles.hessian(lambda X: problem.objective.value_and_gradient(X)[1], problem.X)
    largest = np.abs(np.linalg.eigvalsh(H)).max()
    got = estimate_lipschitz(problem.objective, problem.X, np.random.default_rng(0), 300)
    assert got == pytest.approx(largest, rel=1e-3)


def test_theorem_bound_on_inner_steps_by_hand():
    # L = 1, eps = 1: max(1 * 3, 1 + sqrt 9) = 4, and m must be larger
    assert theorem_inner_steps(1.0, 1.0) == 5
    # L = 2, eps = 1/2: (4 / .5) (1 + 8) = 72; 1 + sqrt(1 + 64 / .5) = 12.4; over eps: 144
    assert theorem_inner_steps(2.0, 0.5) == 145
    # L small: the second term rules, (1 + sqrt(1 + 8e-3 / 2)) / 2 = 1.001
    assert theorem_inner_steps(0.1, 2.0) == 2
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"lipschitz: got .*, expected a positive number"):
            theorem_inner_steps(bad, 1.0)
        with pytest.raises(ValueError, match=r"epsilon: got .*, expected a positive number"):
            theorem_inner_steps(1.0, bad)


@pytest.mark.parametrize(("L", "epsilon"), [(0.044, 0.005), (0.036, 0.005), (0.1, 0.001), (0.01, 0.025)])
def test_the_corrected_inner_steps_satisfy_the_proof_and_fewer_do_not(L, epsilon):
    m = theorem_inner_steps(L, epsilon, corrected=True)
    assert max(proof_conditions(L, 1 / (m * epsilon), m)) < 0.5
    assert max(proof_conditions(L, 1 / ((m - 2) * epsilon), m - 2)) > 0.49


def test_the_printed_inner_steps_are_half_of_what_the_proof_needs():
    m = theorem_inner_steps(0.044, 0.005)
    assert 2 * m == pytest.approx(theorem_inner_steps(0.044, 0.005, corrected=True), abs=2)
    assert proof_conditions(0.044, 1 / (m * 0.005), m)[1] == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("steps", [[0.01], [0.01, 0.003, 0.02], [0.5]])
def test_gamma_by_its_recursion(steps):
    L, m = 0.05, 400
    least = math.inf
    for eta in steps:
        beta, c = 4 * (m - 1) * L**3 * eta**2, [0.0]
        for _ in range(m - 1):
            c.append(c[-1] * (1 + eta * beta + 2 * eta**2 * L**2) + eta**2 * L**3)
        least = min(least, *(eta * (1 - now / beta - eta * (1 + 2 * now)) for now in c))
    assert smallest_gamma(L, steps, m) == pytest.approx(least, rel=1e-9)


def test_steps_of_sbb_0_keep_their_bounds_where_curvature_is_bounded_below():
    found = curved.run(0, 0, epochs=6, ridge=0.5)
    assert len(found["steps"]) == 6
    assert 0 < found["lowest"] < found["highest"]
    for step in found["steps"]:
        assert 1 / found["highest"] <= step * (1 + 1e-6)
        assert step <= (1 + 1e-6) / found["lowest"]
