"""What solvers may ask of an objective, whether its comparisons are in memory, on disk or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.losses import Loss, get_loss


@dataclass(frozen=True)
class Snapshot:
    """A point with its value and gradient over all or some comparisons, for `svrg_pass`."""

    X: np.ndarray  # float64, shape (n_objects, n_components)
    value: float  # at X, of the same comparisons
    gradient: np.ndarray  # of the shape of X
    slopes: Any  # private to the objective


def offers(objective: object, *methods: str) -> bool:
    """Whether an objective has all of some methods; what it inherits from `Objective` unchanged does not count."""
    found = {name: getattr(objective, name, None) for name in methods}
    return all(
        method is not None and getattr(method, "__func__", method) is not vars(Objective).get(name)
        for name, method in found.items()
    )


class Objective:
    """The objective ``F(X) = mean over comparisons of f(near, far)``, f being the loss.

    Points X and gradients are float64 of shape (n_objects, n_components). Every objective has `value`,
    `value_and_gradient` and `error`; a solver names what else it needs (`Solver.needs`), and `offers` says whether an
    objective has it. Objectives need not be of this class.

    A stochastic pass takes `n_steps` single-comparison steps from X and returns the point after the last. Step t draws
    its comparison from `seed` and t alone, and `first` is the number of steps already taken with this seed: a pass may
    be run in pieces.
    """

    n_columns: int  # 3 for triplets, 4 for quadruplets
    pays_in_one_call: bool = False  # whether `descend` is worthwhile

    def __init__(self, loss: str | Loss, n_components: int, n_objects: int, n_comparisons: int):
        self.n_components = int(n_components)
        self.n_objects = int(n_objects)
        self.n_comparisons = int(n_comparisons)
        self.loss = get_loss(loss).resolve(self.n_components)

    def value(self, X: np.ndarray) -> float:
        """F(X)."""
        raise NotImplementedError

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """F(X) and its gradient."""
        raise NotImplementedError

    def error(self, X: np.ndarray) -> float:
        """Weighted fraction of comparisons without near < far; ties and NaN count as errors."""
        raise NotImplementedError

    def value_at_zero(self) -> float:
        """The objective when all points are equal: the unit of progress."""
        return float(self.loss.terms(0.0, 0.0)[0])

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """Full gradient at X, for `svrg_pass`."""
        raise NotImplementedError

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        """Variance-reduced steps ``X <- X - step (grad f_p(X) - grad f_p(S) + g)``; the snapshot holds S and g."""
        raise NotImplementedError

    def sgd_pass(
        self, X: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0, decay: float = 0
    ) -> np.ndarray:
        """Plain stochastic steps; step t has size ``step / (1 + decay * t)``, t counted from `first`."""
        raise NotImplementedError

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """AdaGrad steps; `memory` (n_objects,) sums squared gradients. Returns X, memory and the mean loss."""
        raise NotImplementedError

    def subset(self, size: int, rng: np.random.Generator) -> Objective:
        """The objective of `size` random comparisons in memory; fewer if they do not fit, all if that is no slower."""
        raise NotImplementedError

    def comparisons_at(self, rows: np.ndarray) -> Comparisons:
        """Some of the comparisons, in memory: `rows` are ascending numbers in the order of the data."""
        raise NotImplementedError

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[Objective, Objective]:
        """Training and held-out part (about `fraction`): no question is in both, every object is in the first."""
        raise NotImplementedError

    def smoothed(self, width: float = 1.0) -> Objective:
        """The same objective with kinks of its loss rounded to a width (see `Loss.smoothed`)."""
        raise NotImplementedError

    def with_loss(self, loss: Loss, n_components: int) -> Objective:
        """The same comparisons with another loss, in another dimension."""
        raise NotImplementedError

    def best_places(self, X: np.ndarray, places: np.ndarray, order: np.ndarray, least: float) -> tuple[np.ndarray, int]:
        """The points of a 1-D map after `nearer.kernels.best_places`, and how many moved."""
        raise NotImplementedError

    def descend(self, X: np.ndarray, least: float, patience: int, most: int) -> tuple[np.ndarray, float, int]:
        """L-BFGS in one compiled call on one thread, for many small problems; see `nearer.kernels.descend`."""
        raise NotImplementedError

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value and gradient at a Gram matrix (n, n), and d loss / d near (n_comparisons,), not weighted."""
        raise NotImplementedError

    def gram_dual(self, slopes: np.ndarray) -> float:
        """Dual value of the convex problem at slopes (n_comparisons,); see `Loss.dual`."""
        raise NotImplementedError

    def _points(self, X: np.ndarray) -> np.ndarray:
        """X as the kernels need it: float64, C-contiguous, writeable; copied only if necessary."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.shape != (self.n_objects, self.n_components):
            raise ValueError(f"points: got shape {X.shape}, expected ({self.n_objects}, {self.n_components})")
        return X if X.flags.writeable else X.copy()
