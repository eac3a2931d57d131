"""Loss + comparisons -> value, gradient, stochastic passes: all that a solver may ask for.

Solvers rely on the protocols below and on nothing else, so the same solver runs on threads, on data that stay on disk
or on a cluster.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nearer import kernels
from nearer.data import Comparisons
from nearer.losses import Loss, get_loss

__all__ = [
    "GramObjective",
    "LocalObjective",
    "Objective",
    "SampledObjective",
    "Snapshot",
    "StochasticObjective",
    "resolve_jobs",
    "worker_pool",
]

# Blocks of a full pass: their number depends on the data alone, never on the threads, and sums run in block order,
# so a result has the same bits on any number of cores.
_MIN_BLOCK = 16_384
_MAX_BLOCKS = 16


class Objective(Protocol):
    """What a batch solver needs: ``F(X) = mean over comparisons of f(near, far)``."""

    n_objects: int
    n_components: int
    n_comparisons: int

    def value(self, X: np.ndarray) -> float: ...

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]: ...

    def error(self, X: np.ndarray) -> float: ...


@dataclass(frozen=True)
class Snapshot:
    """A point with its gradient, of all comparisons or of a part, and what `svrg_pass` wants to find again there.

    Attributes
    ----------
    X, gradient : float64 (n, d)
    value : objective at X, of the same comparisons
    slopes : the objective's own memory of the pass; solvers pass it on without looking
    """

    X: np.ndarray
    value: float
    gradient: np.ndarray
    slopes: Any


@runtime_checkable
class StochasticObjective(Protocol):
    """What a stochastic solver needs on top of `Objective`."""

    n_objects: int
    n_components: int
    n_comparisons: int

    def value(self, X: np.ndarray) -> float: ...

    def error(self, X: np.ndarray) -> float: ...

    def snapshot(self, X: np.ndarray) -> Snapshot: ...

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray: ...

    def sgd_pass(
        self,
        X: np.ndarray,
        step: float,
        n_steps: int,
        seed: int,
        first: int = 0,
        decay: float = 0.0,
        power: float = 1.0,
    ) -> np.ndarray: ...


@runtime_checkable
class SampledObjective(Objective, Protocol):
    """What the default solver likes to have on top of `Objective`: random parts of the data, and adaptive steps."""

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective: ...

    def value_at_zero(self) -> float: ...


@runtime_checkable
class GramObjective(Protocol):
    """What the convex solver needs: the same loss as a function of an n x n Gram matrix."""

    n_objects: int
    n_components: int
    n_comparisons: int
    loss: Loss

    def smoothed(self, width: float) -> GramObjective: ...

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]: ...

    def gram_dual(self, slopes: np.ndarray) -> float: ...


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: None and -1 mean every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a positive integer, None or negative (-1: all cores), got {n_jobs!r}")
    return max(1, cores + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


class LocalObjective:
    """The objective on this machine; full passes run on threads.

    Parameters
    ----------
    comparisons : Comparisons
    loss : name or Loss
    n_components : dimension of the points
    n_jobs : threads; None means all cores. The result does not depend on it.
    """

    def __init__(self, comparisons: Comparisons, loss: str | Loss, n_components: int, n_jobs: int | None = None):
        self.comparisons = comparisons
        self.n_components = int(n_components)
        self.loss = get_loss(loss).resolve(self.n_components)
        self.n_objects = comparisons.n_objects
        self.n_comparisons = len(comparisons)
        self.n_jobs = resolve_jobs(n_jobs)
        # Read-only views: one Numba type, whether the data are in memory, shared or memory-mapped.
        self._index = _read_only(comparisons.index)
        self._scale = _read_only(_mean_one(comparisons.weights))
        self._blocks = _block_bounds(self.n_comparisons, self.n_objects)

    def value(self, X: np.ndarray) -> float:
        """F(X)."""
        X = self._points(X)
        kind, param = self.loss.kind, self.loss.param
        parts = self._map(
            lambda start, stop: kernels.value_block(self._index, self._scale, kind, param, X, start, stop)
        )
        return sum(parts) / self.n_comparisons

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """F(X) and its gradient (n, d)."""
        empty = np.empty(0)
        return self._gradient(self._points(X), empty, empty)

    def error(self, X: np.ndarray) -> float:
        """Weighted fraction of comparisons without near < far; ties and NaN count as errors."""
        X = self._points(X)
        parts = self._map(lambda start, stop: kernels.satisfied_block(self._index, self._scale, X, start, stop))
        return max(0.0, 1.0 - sum(parts) / self.n_comparisons)  # scaled counts may add up to a hair above N

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """Full gradient at X, with the slope of every comparison kept for `svrg_pass`."""
        X = self._points(X).copy()
        d_near = np.empty(self.n_comparisons)
        d_far = np.empty(self.n_comparisons)
        value, gradient = self._gradient(X, d_near, d_far)
        return Snapshot(X, value, gradient, (d_near, d_far))

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        """`n_steps` variance-reduced steps from X; returns the new point.

        `first` is the number of steps already taken with this seed, so one pass may be run in pieces.
        """
        return self.mixed_pass(X, snapshot, step, n_steps, seed, first)[0]

    def part_snapshot(self, X: np.ndarray, known: np.ndarray, new: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        """A snapshot of some comparisons only, for `mixed_pass`: value and gradient are means over them.

        Parameters
        ----------
        X : (n, d)
        known, new : row numbers of the comparisons that an earlier snapshot covers, and of further ones; ascending
            numbers are read fastest

        Returns
        -------
        snapshot, gradient (n, d) of the known alone (zeros if there are none), to be compared with the earlier one
        """
        X = self._points(X).copy()
        total, sums = 0.0, []
        slopes = np.full((2, self.n_comparisons), np.nan)
        for part in (known, new):
            index, scale = self._index[part], self._scale[part] if self._scale.size else self._scale
            found = np.empty((2, len(part)))
            value, gradient = self._gradient_sum(_read_only(index), _read_only(scale), X, *found)
            slopes[:, part] = found
            total += value
            sums.append(gradient)
        count = len(known) + len(new)
        snapshot = Snapshot(X, total / count, (sums[0] + sums[1]) / count, tuple(slopes))
        return snapshot, sums[0] / max(len(known), 1)

    def mixed_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, int]:
        """As `svrg_pass`; steps over comparisons that the snapshot does not cover are plain ones.

        With g the mean over those that it covers, the mean step is still along the full gradient at X.

        Returns
        -------
        X (n, d), how many steps were variance-reduced
        """
        rows = np.stack([self._points(X), snapshot.gradient, snapshot.X], axis=1)
        d_near, d_far = snapshot.slopes
        reduced = kernels.svrg_pass(
            self._index, self._scale, self.loss.kind, self.loss.param, rows, d_near, d_far,
            float(step), int(seed), int(first), int(n_steps),
        )  # fmt: skip
        return rows[:, 0] - (step * reduced) * snapshot.gradient, reduced

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
        """`n_steps` plain stochastic steps of size ``step / (1 + decay * t) ** power``, t counted from `first`."""
        X = self._points(X).copy()
        kernels.sgd_pass(
            self._index, self._scale, self.loss.kind, self.loss.param, X,
            float(step), float(decay), float(power), int(seed), int(first), int(n_steps),
        )  # fmt: skip
        return X

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """`n_steps` stochastic steps whose length adapts to each object.

        Parameters
        ----------
        X : (n, d) starting point. memory : (n,) squared pulls so far, zeros at first. step : length of a first step.

        Returns
        -------
        X (n, d), memory (n,), mean loss met on the way
        """
        rows = np.column_stack([self._points(X), memory])
        total = kernels.adagrad_pass(
            self._index, self._scale, self.loss.kind, self.loss.param, rows,
            float(step), int(seed), int(first), int(n_steps),
        )  # fmt: skip
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), total / n_steps

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective:
        """The objective of `size` random comparisons, the data in memory."""
        rows = rng.choice(self.n_comparisons, size, replace=False, shuffle=False)
        if self._scale.size and not self._scale[rows].any():  # weights of zero only: nothing to learn from
            rows = np.append(rows[1:], np.argmax(self._scale))
        return LocalObjective(self.comparisons[rows], self.loss, self.n_components, self.n_jobs)

    def value_at_zero(self) -> float:
        """The objective of all points in one place: the natural unit of progress."""
        return float(self.loss.terms(0.0, 0.0)[0])

    def smoothed(self, width: float) -> LocalObjective:
        """The same objective with a differentiable loss (see `Loss.smoothed`)."""
        return LocalObjective(self.comparisons, self.loss.smoothed(width), self.n_components, self.n_jobs)

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The objective as a function of a Gram matrix.

        Returns
        -------
        value, gradient (n, n), slopes (N,) : slopes are d loss / d near of each comparison, not weighted.
        """
        slopes = np.empty(self.n_comparisons)
        kind, param = self.loss.kind, self.loss.param

        def block(start: int, stop: int) -> tuple[float, np.ndarray]:
            G = np.zeros_like(K)
            return kernels.gram_block(self._index, self._scale, kind, param, K, start, stop, G, slopes), G

        total, gradient = _sum_parts(self._map(block))
        gradient /= self.n_comparisons
        return total / self.n_comparisons, gradient, slopes

    def gram_dual(self, slopes: np.ndarray) -> float:
        """Dual value of the convex problem at slopes (N,); see `Loss.dual`."""
        dual = self.loss.dual(slopes)
        return float(np.mean(dual * self._scale if self._scale.size else dual))

    def _gradient(self, X: np.ndarray, d_near: np.ndarray, d_far: np.ndarray) -> tuple[float, np.ndarray]:
        total, gradient = self._gradient_sum(self._index, self._scale, X, d_near, d_far)
        gradient /= self.n_comparisons
        return total / self.n_comparisons, gradient

    def _gradient_sum(
        self, index: np.ndarray, scale: np.ndarray, X: np.ndarray, d_near: np.ndarray, d_far: np.ndarray
    ) -> tuple[float, np.ndarray]:
        kind, param = self.loss.kind, self.loss.param

        def block(start: int, stop: int) -> tuple[float, np.ndarray]:
            G = np.zeros_like(X)
            return kernels.gradient_block(index, scale, kind, param, X, start, stop, G, d_near, d_far), G

        return _sum_parts(self._map(block, _block_bounds(len(index), self.n_objects)))

    def _map(self, block: Callable[[int, int], Any], blocks: list[tuple[int, int]] | None = None) -> list[Any]:
        """`block` on every block, on threads where that pays; results in block order."""
        blocks = blocks or self._blocks
        if self.n_jobs == 1 or len(blocks) == 1:
            return [block(start, stop) for start, stop in blocks]
        return list(worker_pool(self.n_jobs).map(lambda bounds: block(*bounds), blocks))

    def _points(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.shape != (self.n_objects, self.n_components):
            raise ValueError(f"points have shape {X.shape}, expected ({self.n_objects}, {self.n_components})")
        return X if X.flags.writeable else X.copy()


@functools.cache
def worker_pool(n_jobs: int) -> ThreadPoolExecutor:
    """One lasting pool per number of threads: starting threads would cost more than a small pass."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="nearer")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=worker_pool.cache_clear)


def _read_only(a: np.ndarray) -> np.ndarray:
    view = a.view()
    view.flags.writeable = False
    return view


def _mean_one(weights: np.ndarray | None) -> np.ndarray:
    if weights is None:
        return np.empty(0)
    relative = np.asarray(weights, dtype=np.float64) / weights.max()  # equal weights become exactly one
    return np.ascontiguousarray(relative * (relative.shape[0] / relative.sum()))


def _block_bounds(n_comparisons: int, n_objects: int) -> list[tuple[int, int]]:
    # A block sums into an (n, d) array of its own, so it should hold clearly more comparisons than objects.
    n_blocks = min(n_comparisons // max(_MIN_BLOCK, 8 * n_objects), _MAX_BLOCKS)
    if n_blocks <= 1:
        return [(0, n_comparisons)]
    cuts = np.linspace(0, n_comparisons, n_blocks + 1).astype(int).tolist()
    return list(itertools.pairwise(cuts))


def _sum_parts(parts: list[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    total, gradient = parts[0]
    for value, part in parts[1:]:
        total += value
        gradient += part
    return total, gradient
