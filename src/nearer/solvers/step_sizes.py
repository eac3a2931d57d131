"""Step sizes: constant, decaying, BB and SBB; the curvatures that they follow."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from nearer.data import check_number
from nearer.objective import Objective, Snapshot


class StepSize(BaseEstimator):
    """How long an inner step of `SVRG` is; a subclass is a dataclass."""

    first_step: float | None = None  # None: one over the curvature at the start, split over the inner steps

    def __post_init__(self) -> None:
        check_number(self.first_step, f"{type(self).__name__}: first_step", allow_none=True)

    @property
    def needs_curvature(self) -> bool:
        """Whether a default is to be set from the curvature at the start, which costs one full gradient."""
        return None in vars(self).values()

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> Any:
        """The rule with its defaults set from the curvature of the objective at the start."""
        return replace(self, first_step=self.first_step or 1.0 / (n_inner * curvature))

    def after(self, curvature: float, n_inner: int, previous: float) -> float:
        """Step size of the next epoch; `curvature` is of the last epoch, NaN if the snapshot did not move."""
        raise NotImplementedError


@dataclass
class Constant(StepSize):
    """The same step throughout.

    Parameters
    ----------
    first_step : float, optional
        Positive; by default one over the curvature measured at the start, split over the inner steps.
    """

    first_step: float | None = None

    def after(self, curvature: float, n_inner: int, previous: float) -> float:
        return previous


@dataclass
class Decaying(BaseEstimator):
    """For `SGD`: step ``step / (1 + decay * e)`` after e epochs' worth of comparisons.

    Parameters
    ----------
    step : float, default 0.1
        The first step, positive.
    decay : float, default 0.5
        At least 0, per epoch.
    """

    step: float = 0.1
    decay: float = 0.5

    def __post_init__(self) -> None:
        check_number(self.step, "Decaying: step")
        check_number(self.decay, "Decaying: decay", zero=True)


@dataclass
class BB(StepSize):
    """The original Barzilai-Borwein step ``|dX|^2 / (m <dX, dg>)``.

    Without convexity the denominator may be negative or nearly zero: the step then points uphill or explodes. That is
    kept visible on purpose; see `SBB` for the remedy.

    Parameters
    ----------
    first_step : float, optional
        The step of the first epoch, positive; measured by default.
    """

    first_step: float | None = None

    def after(self, curvature: float, n_inner: int, previous: float) -> float:
        return previous if math.isnan(curvature) else _inverse(n_inner * curvature)


@dataclass
class SBB(StepSize):
    """The stabilised Barzilai-Borwein step ``|dX|^2 / (m (|<dX, dg>| + epsilon |dX|^2))``.

    If the gradient is L-Lipschitz, it lies between ``1 / (m (L + epsilon))`` and ``1 / (m epsilon)``.

    Parameters
    ----------
    epsilon : float, optional
        At least 0; 0 is SBB_0, the absolute value of the BB step. By default ``(relative + 2 n_objects / m)`` times the
        curvature c of the objective at the start, which falls as 1/n and differs between losses. The first
        term limits an epoch to ``1 / relative`` times a gradient step at the start; the second limits an inner step to
        ``1 / (2 n c)``, the scale of a single comparison.
    first_step : float, optional
        The step of the first epoch, positive; by default from the same formula with c as the curvature.
    relative : float, default 0.1
        At least 0, used when epsilon is None.
    """

    epsilon: float | None = None
    first_step: float | None = None
    relative: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.epsilon, "SBB: epsilon", allow_none=True, zero=True)
        check_number(self.relative, "SBB: relative", zero=True)

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> SBB:
        epsilon = self.epsilon
        if epsilon is None:
            epsilon = (self.relative + 2.0 * n_objects / n_inner) * curvature
        return replace(self, epsilon=epsilon, first_step=self.first_step or 1.0 / (n_inner * (curvature + epsilon)))

    def after(self, curvature: float, n_inner: int, previous: float) -> float:
        return previous if math.isnan(curvature) else _inverse(n_inner * (abs(curvature) + (self.epsilon or 0.0)))


def as_rule(step: Any) -> Any:
    """A rule whose parameters are checked; a number stands for a constant step."""
    if isinstance(step, numbers.Real):
        return Constant(float(step))
    return replace(step) if isinstance(step, (Decaying, StepSize)) else step


def curvature_between(X: np.ndarray, X_old: np.ndarray, g: np.ndarray, g_old: np.ndarray) -> float:
    """``<dX, dg> / |dX|^2`` of the changes dX of a point and dg of its gradient; NaN if the point did not move."""
    dX = X - X_old
    squared_length = float(np.vdot(dX, dX))
    return float(np.vdot(dX, g - g_old)) / squared_length if squared_length > 0 else math.nan


def curvature_along_gradient(objective: Objective, start: Snapshot) -> float:
    """Local Lipschitz constant ``|dg| / |dX|`` of the gradient over a short step down; costs one full gradient."""
    length = float(np.linalg.norm(start.gradient))
    if length == 0.0:
        return 1.0  # a stationary start: any step will do
    size = max(float(np.linalg.norm(start.X)), 1e-3)
    X = start.X - (1e-2 * size / length) * start.gradient
    moved = objective.snapshot(X)
    return max(float(np.linalg.norm(moved.gradient - start.gradient)), 1e-12 * length) / (1e-2 * size)


def _inverse(x: float) -> float:
    return 1.0 / x if x != 0 else math.inf
