"""All that a solver may ask of an objective.

A solver names the protocol it needs (`Solver.needs`) and relies on nothing else, so that it runs unchanged on
comparisons in memory, on disk or on a cluster. Whether an objective offers a protocol is asked by `isinstance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nearer.losses import Loss

__all__ = [
    "GramObjective",
    "GrowingObjective",
    "Objective",
    "SampledObjective",
    "SmoothableObjective",
    "Snapshot",
    "SplittableObjective",
    "StochasticObjective",
]


@runtime_checkable
class Objective(Protocol):
    """What every solver needs: ``F(X) = mean over comparisons of f(near, far)``.

    Points X and gradients are float64 of shape (n_objects, n_components), here and in all that builds on this.
    """

    n_objects: int
    n_components: int
    n_comparisons: int

    def value(self, X: np.ndarray) -> float:
        """F(X)."""

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """F(X) and its gradient."""

    def error(self, X: np.ndarray) -> float:
        """Weighted fraction of comparisons without near < far; ties and NaN count as errors."""


@dataclass(frozen=True)
class Snapshot:
    """A point and its gradient over all comparisons or a part of them, with what `svrg_pass` needs to know about it.

    Attributes
    ----------
    X : ndarray of float64, shape (n_objects, n_components)
    value : float
        Objective at X, of the same comparisons.
    gradient : ndarray of float64, shape (n_objects, n_components)
    slopes : Any
        The objective's own memory of the pass; solvers hand it back without looking.
    """

    X: np.ndarray
    value: float
    gradient: np.ndarray
    slopes: Any


@runtime_checkable
class StochasticObjective(Objective, Protocol):
    """What stochastic solvers need: full gradients to come back to, and passes of `n_steps` single-comparison steps.

    A pass starts at X and gives the point after its last step. Step t draws its comparison from `seed` and t alone, and
    `first` is the number of steps already taken with this seed: a pass may be run in pieces.
    """

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """Full gradient at X, remembered for `svrg_pass`."""

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        """Variance-reduced steps ``X <- X - step (grad f_p(X) - grad f_p(S) + g)``; the snapshot holds S and g."""

    def sgd_pass(
        self,
        X: np.ndarray,
        step: float,
        n_steps: int,
        seed: int,
        first: int = 0,
        decay: float = 0.0,
        power: float = 1.0,
    ) -> np.ndarray:
        """Plain stochastic steps; step t has size ``step / (1 + decay * t) ** power``, t counted from `first`."""

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Stochastic steps whose length adapts to each object.

        Parameters
        ----------
        memory : ndarray of float64, shape (n_objects,)
            Squared pulls that each object has felt so far; zeros at first.
        step : float
            Length of a first step.

        Returns
        -------
        X : ndarray of float64, shape (n_objects, n_components)
        memory : ndarray of float64, shape (n_objects,)
        loss : float
            Mean loss during the pass.
        """


@runtime_checkable
class SampledObjective(StochasticObjective, Protocol):
    """What the default solver would like: random parts of the data, and a unit of progress."""

    def subset(self, size: int, rng: np.random.Generator) -> SampledObjective:
        """The objective of random comparisons, held in memory.

        Parameters
        ----------
        size : int
            How many; an objective may give fewer, or itself, where that many would not fit or not pay.
        """

    def value_at_zero(self) -> float:
        """The objective when all points are in one place: the natural unit of progress."""


@runtime_checkable
class GrowingObjective(StochasticObjective, Protocol):
    """What snapshots that grow need: gradients of a part of the comparisons, and steps that know which part."""

    def part_snapshot(self, X: np.ndarray, known: np.ndarray, new: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        """A snapshot of some comparisons only, for `mixed_pass`: value and gradient are means over them.

        Parameters
        ----------
        known : ndarray of int, shape (n_known,)
            Rows of the comparisons that an earlier snapshot covers; ascending numbers are read fastest.
        new : ndarray of int, shape (n_new,)
            Rows of further ones.

        Returns
        -------
        snapshot : Snapshot
        gradient : ndarray of float64, shape (n_objects, n_components)
            Of the known ones alone (zeros if there are none), to be compared with that of the earlier snapshot.
        """

    def mixed_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, int]:
        """As `svrg_pass`; steps over comparisons that the snapshot does not cover are plain ones.

        With g the mean over those that it covers, the mean step is still along the full gradient at X.

        Returns
        -------
        X : ndarray of float64, shape (n_objects, n_components)
        n_reduced : int
            How many of the steps were variance-reduced.
        """


@runtime_checkable
class SmoothableObjective(Objective, Protocol):
    """An objective that can do without the kinks of its loss."""

    loss: Loss

    def smoothed(self, width: float) -> SmoothableObjective:
        """The same objective with a differentiable loss: kinks are rounded to a width (see `Loss.smoothed`)."""


@runtime_checkable
class SplittableObjective(Objective, Protocol):
    """An objective of which some comparisons can be held out."""

    loss: Loss

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[Objective, Objective]:
        """The objectives of two parts; no question and no answer is in both, and every object is in the first.

        About a `fraction` between 0 and 1 is in the second part, which is to be held out.
        """


@runtime_checkable
class GramObjective(SmoothableObjective, Protocol):
    """What the convex solver needs: the same loss as a function of a Gram matrix."""

    def smoothed(self, width: float) -> GramObjective: ...

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The objective as a function of a Gram matrix K, float64 (n_objects, n_objects).

        Returns
        -------
        value : float
        gradient : ndarray of float64, shape (n_objects, n_objects)
        slopes : ndarray of float64, shape (n_comparisons,)
            d loss / d near of each comparison, not weighted.
        """

    def gram_dual(self, slopes: np.ndarray) -> float:
        """Dual value of the convex problem at slopes (n_comparisons,); see `Loss.dual`."""
