"""What every objective must do alike, whether its comparisons are in memory, on disk or on a cluster."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

from nearer.losses import CustomLoss


@dataclass(frozen=True)
class Squared(CustomLoss):
    """A loss of one's own: ``max(0, margin + near - far)^2``."""

    margin: float = 1.0

    @staticmethod
    def formula(near, far, param):
        gap = max(param + near - far, 0.0)
        return gap * gap, 2.0 * gap, -2.0 * gap


def assert_same_objective(objective, local, X):
    """The same numbers as in memory, to rounding; the same refusal of points of another shape."""
    for name in ("n_objects", "n_components", "n_comparisons"):
        assert getattr(objective, name) == getattr(local, name)
    value, gradient = objective.value_and_gradient(X)
    expected, expected_gradient = local.value_and_gradient(X)
    assert value == pytest.approx(expected, rel=1e-12)
    assert np.linalg.norm(gradient - expected_gradient) <= 1e-12 * np.linalg.norm(expected_gradient)
    assert objective.value(X) == pytest.approx(expected, rel=1e-12)
    assert objective.error(X) == pytest.approx(local.error(X), abs=1e-12)
    snapshot = objective.snapshot(X)
    assert snapshot.value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(snapshot.gradient, gradient)
    assert objective.value_at_zero() == local.value_at_zero()
    assert objective.value_at_zero() == pytest.approx(local.value(np.zeros_like(X)), rel=1e-12)
    with pytest.raises(ValueError, match=r"points: got shape \(2, 2\), expected"):
        objective.value(np.zeros((2, 2)))


def assert_follows(cls, interface):
    """Every public method of the interface has its signature and documentation."""
    for name, declared in inspect.getmembers(interface, inspect.isfunction):
        if name.startswith("_"):
            continue
        method = getattr(cls, name)
        mine, theirs = inspect.signature(method), inspect.signature(declared)
        assert list(mine.parameters.values()) == list(theirs.parameters.values()), name
        assert inspect.getdoc(method) or inspect.getdoc(declared), name
