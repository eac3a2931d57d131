"""The objective of comparisons in memory, computed block by block: the same bits on any number of threads."""

from __future__ import annotations

import functools
import itertools
import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from nearer.data import Comparisons
from nearer.data.splits import question_of_rows
from nearer.data.validate import frozen
from nearer.kernels import check_inside
from nearer.losses import CustomLoss, Loss
from nearer.machine import available_cores
from nearer.objective.interface import Objective, Snapshot

T = TypeVar("T")
R = TypeVar("R")

_NOTHING = np.empty(0)
UNWEIGHTED = frozen(_NOTHING)
# Maximum number of blocks, and minimum of comparisons in each. 64 cores need many blocks, but small ones are slow.
_SOME, _MANY = (16, 16_384), (128, 65_536)
_MEMORY = 10  # of L-BFGS


@dataclass(frozen=True)
class Block:
    """The rows ``start..stop - 1`` of some comparisons; arrays are read-only, so that they have one Numba type."""

    index: np.ndarray  # int32, shape (m, 3) or (m, 4)
    scale: np.ndarray  # weights whose mean over all comparisons is one; empty where every comparison counts the same
    start: int
    stop: int


class BlockObjective(Objective):
    """Passes over blocks of comparisons, summed in their order: the same bits on any number of threads."""

    def __init__(
        self, loss: str | Loss, n_components: int, n_objects: int, n_comparisons: int, n_jobs: int | None
    ) -> None:
        super().__init__(loss, n_components, n_objects, n_comparisons)
        self.n_jobs = resolve_jobs(n_jobs)
        self._kernels = self.loss.kernels
        self._code = self.loss.code

    @abstractmethod
    def _blocks(self) -> Iterable[Block]:
        """All comparisons once, in order."""

    @abstractmethod
    def _draws(self, n_steps: int, seed: int, first: int) -> Iterable[tuple[Block, tuple[int, int, int]]]:
        """Blocks that the steps first..first + n_steps - 1 draw from, with seed, first step and number of steps."""

    @abstractmethod
    def _slopes(self, block: Block, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        """Scaled slopes (m,), (m,) of the comparisons at a snapshot; NaN for those that it does not cover."""

    def value(self, X: np.ndarray) -> float:
        return self._mean(self._kernels.value_block, *self._code, self._points(X))

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        return self._mean_gradient(self._kernels.gradient_block, self._points(X), _NOTHING, _NOTHING)

    def error(self, X: np.ndarray) -> float:
        return max(0.0, 1.0 - self._mean(self._kernels.satisfied_block, self._points(X)))  # may round to below 0

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        X = self._points(X)
        for block, steps in self._draws(n_steps, seed, first):
            rows = np.stack([X, snapshot.gradient, snapshot.X], axis=1)
            slopes = self._slopes(block, snapshot)
            reduced = self._kernels.svrg_pass(block.index, block.scale, *self._code, rows, *slopes, float(step), *steps)
            X = rows[:, 0] - (step * reduced) * snapshot.gradient
        return X

    def sgd_pass(
        self, X: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0, decay: float = 0
    ) -> np.ndarray:
        X = self._points(X).copy()
        for block, steps in self._draws(n_steps, seed, first):
            self._kernels.sgd_pass(block.index, block.scale, *self._code, X, float(step), float(decay), 1.0, *steps)
        return X

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        rows = np.column_stack([self._points(X), memory])
        total = 0.0
        for block, steps in self._draws(n_steps, seed, first):
            total += self._kernels.adagrad_pass(block.index, block.scale, *self._code, rows, float(step), *steps)
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), total / n_steps

    def _mean(self, kernel: Callable[..., float], *args: Any) -> float:
        """Mean over all comparisons of what a kernel sums up."""

        def part(block: Block) -> float:
            return kernel(block.index, block.scale, *args, block.start, block.stop)

        return sum(in_order(part, self._blocks(), self.n_jobs)) / self.n_comparisons

    def _mean_gradient(
        self, kernel: Callable[..., float], X: np.ndarray, *slopes: np.ndarray
    ) -> tuple[float, np.ndarray]:
        total, gradient = self._gradient_sum(kernel, self._blocks(), X, *slopes)
        gradient /= self.n_comparisons
        return total / self.n_comparisons, gradient

    def _gradient_sum(
        self, kernel: Callable[..., float], blocks: Iterable[Block], X: np.ndarray, *slopes: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Sum of losses and gradients by a kernel, which stores slopes unless the arrays for them are empty."""

        def part(block: Block) -> tuple[float, np.ndarray]:
            G = np.zeros_like(X)
            return kernel(block.index, block.scale, *self._code, X, block.start, block.stop, G, *slopes), G

        parts = in_order(part, blocks, self.n_jobs)
        total, gradient = next(parts)
        for value, of_part in parts:
            total += value
            gradient += of_part
        return total, gradient


def in_order(task: Callable[[T], R], items: Iterable[T], n_jobs: int) -> Iterator[R]:
    """Results of a task in the order of its items, a bounded number of them computed ahead on threads."""
    if n_jobs == 1 or (isinstance(items, Sequence) and len(items) == 1):
        yield from map(task, items)
        return
    pool = worker_pool(n_jobs)
    ahead: deque[Future[R]] = deque()
    try:
        for item in items:
            ahead.append(pool.submit(task, item))
            if len(ahead) > n_jobs + 1:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` stands for: None and -1 mean every core this process may use, -2 all but one."""
    cores = available_cores()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs: got {n_jobs!r}, expected a positive integer, None or a negative one (-1: all cores)")
    return max(1, cores + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


@functools.cache
def worker_pool(n_jobs: int) -> ThreadPoolExecutor:
    """One lasting pool for each number of threads: starting threads costs more than a small pass."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="nearer")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=worker_pool.cache_clear)


class LocalObjective(BlockObjective):
    """The objective of comparisons in memory.

    The result does not depend on `n_jobs`, the number of threads (None: all cores).
    """

    def __init__(self, comparisons: Comparisons, loss: str | Loss, n_components: int, n_jobs: int | None = None):
        super().__init__(loss, n_components, comparisons.n_objects, len(comparisons), n_jobs)
        self.comparisons = comparisons
        self.n_columns = comparisons.shape[1]
        self._index = frozen(comparisons.index)
        check_inside(self._index, self.n_objects)
        self._scale = UNWEIGHTED
        if comparisons.weights is not None:
            relative = np.asarray(comparisons.weights, dtype=np.float64) / comparisons.weights.max()
            # Mean one; equal weights become exactly one.
            self._scale = frozen(np.ascontiguousarray(relative * (len(relative) / relative.sum())))
        bounds = block_bounds(self.n_comparisons, self.n_objects)
        self._all_blocks = [Block(self._index, self._scale, start, stop) for start, stop in bounds]
        # A custom loss would have to be compiled for it, which takes seconds.
        self.pays_in_one_call = len(self._all_blocks) == 1 and not isinstance(self.loss, CustomLoss)

    def snapshot(self, X: np.ndarray) -> Snapshot:
        X = self._points(X).copy()
        slopes = np.empty((2, self.n_comparisons))
        value, gradient = self._mean_gradient(self._kernels.gradient_block, X, *slopes)
        return Snapshot(X, value, gradient, tuple(slopes))

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective:
        rows = rng.choice(self.n_comparisons, size, replace=False, shuffle=False)
        if self._scale.size and not self._scale[rows].any():  # weights of zero only: nothing to learn from
            rows = np.append(rows[1:], np.argmax(self._scale))
        return self._of(self.comparisons[rows])

    def comparisons_at(self, rows: np.ndarray) -> Comparisons:
        return self.comparisons.take(rows)

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[LocalObjective, LocalObjective]:
        asked = question_of_rows(self.comparisons, 2)
        out = (rng.random(int(asked.max(initial=-1)) + 1) < fraction)[asked]
        kept = np.zeros(self.n_objects, dtype=bool)
        kept[self._index[~out]] = True
        # An object may not be left without a comparison.
        out &= (np.bincount(asked, weights=~kept[self._index].all(axis=1)) == 0)[asked]
        counts = np.ones(len(out)) if self.comparisons.weights is None else self.comparisons.weights
        if not (counts[out].any() and counts[~out].any()):
            raise ValueError(
                f"validation_fraction: got {fraction:g} of {self.n_comparisons:,} comparisons, which holds "
                f"{int(out.sum()):,} out, expected some to hold out and some to keep; use 0"
            )
        return self._of(self.comparisons[~out]), self._of(self.comparisons[out])

    def smoothed(self, width: float = 1.0) -> LocalObjective:
        return self.with_loss(self.loss.smoothed(width), self.n_components)

    def with_loss(self, loss: Loss, n_components: int) -> LocalObjective:
        return LocalObjective(self.comparisons, loss, n_components, self.n_jobs)

    def best_places(self, X: np.ndarray, places: np.ndarray, order: np.ndarray, least: float) -> tuple[np.ndarray, int]:
        X = self._points(X).copy()
        moved = self._kernels.best_places(
            self._index, self._scale, *self._code, X, *self._rows_of_objects, order, places, least * self.n_comparisons
        )
        return X, moved

    def descend(self, X: np.ndarray, least: float, patience: int, most: int) -> tuple[np.ndarray, float, int]:
        X = self._points(X).copy()
        value, evaluations = self._kernels.descend(
            self._index, self._scale, *self._code, X, least, patience, _MEMORY, most
        )
        return X, value, evaluations

    @functools.cached_property
    def _rows_of_objects(self) -> tuple[np.ndarray, np.ndarray]:
        """The comparisons that name object o: ``rows[offsets[o]:offsets[o + 1]]``, each once."""
        n = self.n_comparisons
        rows = np.repeat(np.arange(n), self.n_columns)
        naming = csr_matrix((np.ones(len(rows), bool), (self._index.ravel(), rows)), (self.n_objects, n))
        return naming.indptr.astype(np.int64), naming.indices.astype(np.int64)

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        if K.shape != (self.n_objects, self.n_objects):
            raise ValueError(f"Gram matrix: got shape {K.shape}, expected {(self.n_objects, self.n_objects)}")
        slopes = np.empty(self.n_comparisons)
        return *self._mean_gradient(self._kernels.gram_block, K, slopes), slopes

    def gram_dual(self, slopes: np.ndarray) -> float:
        dual = self.loss.dual(slopes)
        return float(np.mean(dual * self._scale if self._scale.size else dual))

    def _of(self, part: Comparisons) -> LocalObjective:
        return LocalObjective(part, self.loss, self.n_components, self.n_jobs)

    def _blocks(self) -> list[Block]:
        return self._all_blocks

    def _draws(self, n_steps: int, seed: int, first: int) -> list[tuple[Block, tuple[int, int, int]]]:
        return [(Block(self._index, self._scale, 0, self.n_comparisons), (int(seed), int(first), int(n_steps)))]

    def _slopes(self, block: Block, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        if len(snapshot.slopes[0]) != self.n_comparisons:
            count = len(snapshot.slopes[0])
            raise ValueError(f"snapshot: got one of {count:,} comparisons, expected {self.n_comparisons:,}")
        return snapshot.slopes


def block_bounds(n_comparisons: int, n_objects: int) -> list[tuple[int, int]]:
    """First row and row after the last of each block: a function of the data alone, never of the threads."""
    # A block sums into an array of the shape of the points: it should hold clearly more comparisons than objects.
    some, many = (min(n_comparisons // max(least, 8 * n_objects), most) for most, least in (_SOME, _MANY))
    cuts = np.linspace(0, n_comparisons, max(some, many, 1) + 1).astype(int).tolist()
    return list(itertools.pairwise(cuts))
