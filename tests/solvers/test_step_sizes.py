"""Step sizes at hand-computed changes of snapshot, and where the formula has no value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearer.solvers import BB, SBB, Constant, Decaying
from nearer.solvers.step_sizes import Change


def _change(dX, dg):
    zero = np.zeros(len(dX))
    return Change.between(np.array(dX, float), zero, np.array(dg, float), zero)


def test_step_sizes_by_hand():
    up, down = _change([2.0, 0.0], [1.0, 5.0]), _change([2.0, 0.0], [-1.0, 5.0])  # curvatures 1/2 and -1/2
    assert BB().after(up, 10, 4, 9.0) == pytest.approx(0.2)
    assert BB().after(down, 10, 4, 9.0) == pytest.approx(-0.2)
    assert SBB(0.0).after(down, 10, 4, 9.0) == pytest.approx(0.2)
    assert SBB(0.3).after(down, 10, 4, 9.0) == pytest.approx(1 / 8)
    assert SBB(relative=2.0).after(up, 10, 4, 9.0) == pytest.approx(0.1)
    assert SBB(relative=2.0).resolve_epsilon(4) == 0.5
    assert Constant(0.7).after(up, 10, 4, 0.7) == 0.7


def test_step_sizes_where_the_formula_has_no_value():
    still, flat = _change([0.0], [0.0]), _change([1.0], [0.0])
    for rule in (BB(), SBB(), SBB(0.0)):
        assert rule.after(still, 10, 4, 0.25) == 0.25
    assert BB().after(flat, 10, 4, 1.0) == math.inf
    assert SBB(0.0).after(flat, 10, 4, 1.0) == math.inf
    assert SBB(0.5).after(flat, 10, 4, 1.0) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SBB(epsilon=-1.0), "SBB: epsilon must be a number >= 0 or None, got -1.0"),
        (lambda: SBB(epsilon=math.nan), "SBB: epsilon"),
        (lambda: SBB(first_step=0.0), "SBB: first_step must be a positive number or None, got 0.0"),
        (lambda: SBB(relative=None), "SBB: relative must be a number >= 0, got None"),
        (lambda: BB(first_step=-1), "BB: first_step"),
        (lambda: Constant(math.inf), "Constant: first_step"),
        (lambda: Decaying(step=0), "Decaying: step must be a positive number, got 0"),
        (lambda: Decaying(decay=-1), "Decaying: decay"),
        (lambda: Decaying(power=True), "Decaying: power"),
    ],
)
def test_bad_step_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
