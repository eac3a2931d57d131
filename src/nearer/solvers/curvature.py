"""Curvature of the objective at a point."""

from __future__ import annotations

import numpy as np

from nearer.objective import Snapshot, StochasticObjective

__all__ = ["curvature_along_gradient"]


def curvature_along_gradient(objective: StochasticObjective, start: Snapshot) -> float:
    """Local Lipschitz constant ``|dg| / |dX|`` of the gradient over a short step down; costs one full gradient."""
    length = float(np.linalg.norm(start.gradient))
    if length == 0.0:
        return 1.0  # a stationary start: any step will do
    size = max(float(np.linalg.norm(start.X)), 1e-3)
    X = start.X - (1e-2 * size / length) * start.gradient
    moved = objective.snapshot(X)
    return max(float(np.linalg.norm(moved.gradient - start.gradient)), 1e-12 * length) / (1e-2 * size)
