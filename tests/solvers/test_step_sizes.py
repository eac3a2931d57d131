"""Step sizes at hand-computed changes of snapshot, and where the formula has no value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearer.objective import Snapshot
from nearer.solvers import BB, SBB, SVRG, Constant
from nearer.solvers.step_sizes import curvature_along_gradient, curvature_between
from oracles import LOSSES
from problems import noisy_problem


def _curvature(dX, dg):
    zero = np.zeros(len(dX))
    return curvature_between(np.array(dX, float), zero, np.array(dg, float), zero)


def test_step_sizes_by_hand():
    up, down = _curvature([2.0, 0.0], [1.0, 5.0]), _curvature([2.0, 0.0], [-1.0, 5.0])  # curvatures 1/2 and -1/2
    assert BB().after(up, 10, 9.0) == pytest.approx(0.2)
    assert BB().after(down, 10, 9.0) == pytest.approx(-0.2)
    assert SBB(0.0).after(down, 10, 9.0) == pytest.approx(0.2)
    assert SBB(0.3).after(down, 10, 9.0) == pytest.approx(1 / 8)
    assert Constant(0.7).after(up, 10, 0.7) == 0.7


def test_step_sizes_where_the_formula_has_no_value():
    still, flat = _curvature([0.0], [0.0]), _curvature([1.0], [0.0])
    for rule in (BB(), SBB(0.1), SBB(0.0)):
        assert rule.after(still, 10, 0.25) == 0.25
    assert BB().after(flat, 10, 1.0) == math.inf
    assert SBB(0.0).after(flat, 10, 1.0) == math.inf
    assert SBB(0.5).after(flat, 10, 1.0) == pytest.approx(0.2)


def test_what_is_left_open_is_set_by_the_curvature_at_the_start():
    curvature, m, n = 0.5, 10, 4
    assert SBB(relative=0.2).measured(curvature, m, n) == SBB(0.5, 0.1, relative=0.2)  # (0.2 + 8 / 10) c; 1 / (10 * 1)
    assert SBB(first_step=3.0, relative=0.2).measured(curvature, m, n) == SBB(0.5, 3.0, relative=0.2)
    assert SBB(epsilon=0.0).measured(curvature, m, n) == SBB(0.0, 0.2)
    assert BB().measured(curvature, m, n) == BB(0.2)
    assert Constant().measured(curvature, m, n) == Constant(0.2)
    for rule in (SBB(), SBB(0.0), SBB(first_step=1.0), BB(), Constant()):
        assert rule.needs_curvature
        done = rule.measured(curvature, m, n)
        assert not done.needs_curvature
        assert done.measured(7.0, 99, 2) == done  # what is set stays
    assert not SBB(0.0, 1.0).needs_curvature


@pytest.mark.parametrize("m", [12, 60, 600])
@pytest.mark.parametrize("loss", LOSSES)
def test_default_steps_need_no_tuning_for_any_inner_length(loss, m):
    """With so few steps an epoch, 1 / (m c) alone would throw single objects far out."""
    problem = noisy_problem(loss, n=30, size=600, noise=0.05)
    X0 = np.random.default_rng(0).normal(size=problem.X.shape)
    result = SVRG(step=SBB(), inner_steps=m, max_epochs=120, tol=0).solve(problem.objective, X0, 0)
    values = result.history.column("objective")
    assert values.max() <= 1.2 * values[0]
    assert values[-1] <= 0.6 * values[0]


def test_curvature_along_gradient():
    class Bowl:
        """``x^T A x / 2`` for a symmetric A (n, n)."""

        def __init__(self, A):
            self.A = A

        def snapshot(self, X):
            return Snapshot(X, 0.5 * float(np.vdot(X, self.A @ X)), self.A @ X, None)

    bowl = Bowl(np.diag([2.0, 7.0]))
    assert curvature_along_gradient(bowl, bowl.snapshot(np.array([[0.0], [3.0]]))) == pytest.approx(7.0)
    assert curvature_along_gradient(bowl, bowl.snapshot(np.array([[3.0], [0.0]]))) == pytest.approx(2.0)
    assert curvature_along_gradient(bowl, bowl.snapshot(np.zeros((2, 1)))) == 1.0
