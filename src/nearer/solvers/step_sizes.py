"""Step sizes: constant, decaying, BB and SBB; the curvature that they start from."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator

from nearer.data import check_number
from nearer.objective import Objective, Snapshot

__all__ = ["BB", "SBB", "Change", "Constant", "Decaying", "StepSize", "as_rule", "curvature_along_gradient"]


@dataclass(frozen=True)
class Change:
    """Change of snapshot dX and of full gradient dg over one epoch, reduced to what step sizes need."""

    squared_length: float  # |dX|^2
    curvature: float  # <dX, dg> / |dX|^2

    @classmethod
    def between(cls, X: np.ndarray, X_old: np.ndarray, g: np.ndarray, g_old: np.ndarray) -> Change:
        dX = X - X_old
        squared_length = float(np.vdot(dX, dX))
        return cls(squared_length, float(np.vdot(dX, g - g_old)) / squared_length if squared_length > 0 else math.nan)


@runtime_checkable
class StepSize(Protocol):
    """How long an inner step is."""

    @property
    def first_step(self) -> float | None:
        """Step of the first epoch; None: one over the curvature at the start, split over the inner steps."""

    @property
    def needs_curvature(self) -> bool:
        """Whether the rule needs the curvature at the start, which costs one full gradient."""

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> StepSize:
        """The rule with its defaults set from the curvature of the objective at the start."""

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        """Step size of the next epoch, given the last change of the snapshot and the previous step size."""


@dataclass
class _FirstStep(BaseEstimator):
    """Rules in which at most the first step is set from the curvature."""

    first_step: float | None = None

    def __post_init__(self) -> None:
        check_number(self.first_step, f"{type(self).__name__}: first_step", allow_none=True)

    @property
    def needs_curvature(self) -> bool:
        return self.first_step is None

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> Any:
        return replace(self, first_step=self.first_step or 1.0 / (n_inner * curvature))


@dataclass
class Constant(_FirstStep):
    """The same step throughout.

    Parameters
    ----------
    first_step : float, optional
        Positive; by default one over the curvature measured at the start, split over the inner steps.
    """

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        return previous


@dataclass
class Decaying(BaseEstimator):
    """For `SGD`: step ``step / (1 + decay * e) ** power`` after e epochs' worth of comparisons.

    Parameters
    ----------
    step : float, default 0.1
        The first step, positive.
    decay : float, default 0.5
        At least 0, per epoch.
    power : float, default 1
        In (0, 1].
    """

    step: float = 0.1
    decay: float = 0.5
    power: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.step, "Decaying: step")
        check_number(self.decay, "Decaying: decay", zero=True)
        check_number(self.power, "Decaying: power")


@dataclass
class BB(_FirstStep):
    """The original Barzilai-Borwein step ``|dX|^2 / (m <dX, dg>)``.

    Without convexity the denominator may be negative or nearly zero: the step then points uphill or explodes. That is
    kept visible on purpose; see `SBB` for the remedy.

    Parameters
    ----------
    first_step : float, optional
        The step of the first epoch, positive; measured by default.
    """

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        if change.squared_length == 0:
            return previous
        return 1.0 / (n_inner * change.curvature) if change.curvature != 0 else math.inf


@dataclass
class SBB(BaseEstimator):
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
        check_number(self.epsilon, "SBB: epsilon", allow_none=True, zero=True)
        check_number(self.first_step, "SBB: first_step", allow_none=True)
        check_number(self.relative, "SBB: relative", zero=True)

    @property
    def needs_curvature(self) -> bool:
        return self.epsilon is None or self.first_step is None

    def measured(self, curvature: float, n_inner: int, n_objects: int) -> SBB:
        epsilon, step = self.epsilon, self.first_step
        if epsilon is None:
            epsilon = (self.relative + 2.0 * n_objects / n_inner) * curvature
        if step is None:
            step = 1.0 / (n_inner * (curvature + epsilon))
        return replace(self, epsilon=epsilon, first_step=step)

    def after(self, change: Change, n_inner: int, previous: float) -> float:
        if self.epsilon is None:
            raise ValueError("SBB: epsilon: got None, expected a number; `measured` fills it in")
        if change.squared_length == 0:
            return previous
        denominator = n_inner * (abs(change.curvature) + self.epsilon)
        return 1.0 / denominator if denominator > 0 else math.inf


def as_rule(step: Any) -> Any:
    """A rule whose parameters are checked; a number stands for a constant step."""
    if isinstance(step, numbers.Real):
        return Constant(float(step))
    return replace(step) if isinstance(step, (Decaying, Constant, BB, SBB)) else step


def curvature_along_gradient(objective: Objective, start: Snapshot) -> float:
    """Local Lipschitz constant ``|dg| / |dX|`` of the gradient over a short step down; costs one full gradient."""
    length = float(np.linalg.norm(start.gradient))
    if length == 0.0:
        return 1.0  # a stationary start: any step will do
    size = max(float(np.linalg.norm(start.X)), 1e-3)
    X = start.X - (1e-2 * size / length) * start.gradient
    moved = objective.snapshot(X)
    return max(float(np.linalg.norm(moved.gradient - start.gradient)), 1e-12 * length) / (1e-2 * size)
