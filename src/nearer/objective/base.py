"""What objectives share: checks of points, threads, and all passes over comparisons that come in blocks."""

from __future__ import annotations

import functools
import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nearer.data.values import frozen
from nearer.losses import Loss, get_loss
from nearer.objective.protocols import SampledObjective, Snapshot

__all__ = ["BaseObjective", "Block", "BlockObjective", "in_order", "resolve_jobs", "worker_pool"]

T = TypeVar("T")
R = TypeVar("R")


_NOTHING = np.empty(0)
UNWEIGHTED = frozen(_NOTHING)


@dataclass(frozen=True)
class Block:
    """The rows ``start..stop - 1`` of some comparisons, a share of a full pass or what a stochastic one draws from.

    Arrays are read-only: one Numba type, whether the data are in memory, shared or memory-mapped.
    """

    index: np.ndarray  # int32, shape (m, 3) or (m, 4)
    scale: np.ndarray  # weights whose mean over all comparisons is one; empty where every comparison counts the same
    start: int
    stop: int


class BaseObjective:
    """Loss and shape of the points."""

    def __init__(self, loss: str | Loss, n_components: int, n_objects: int, n_comparisons: int):
        self.n_components = int(n_components)
        self.n_objects = int(n_objects)
        self.n_comparisons = int(n_comparisons)
        self.loss = get_loss(loss).resolve(self.n_components)

    def value_at_zero(self) -> float:
        return float(self.loss.terms(0.0, 0.0)[0])

    def _points(self, X: np.ndarray) -> np.ndarray:
        """X as the kernels want it: float64, C-contiguous, writeable; a copy only where needed."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.shape != (self.n_objects, self.n_components):
            raise ValueError(f"points have shape {X.shape}, expected ({self.n_objects}, {self.n_components})")
        return X if X.flags.writeable else X.copy()


class BlockObjective(BaseObjective, SampledObjective):
    """Passes over comparisons that come in blocks, from memory or from disk.

    Full passes run on threads and sum in the order of the blocks, so a result has the same bits on any number of them.
    """

    def __init__(
        self, loss: str | Loss, n_components: int, n_objects: int, n_comparisons: int, n_jobs: int | None
    ) -> None:
        super().__init__(loss, n_components, n_objects, n_comparisons)
        self.n_jobs = resolve_jobs(n_jobs)
        self._kernels = self.loss.kernels
        self._code = self.loss.kind, self.loss.param

    @abstractmethod
    def _blocks(self) -> Iterable[Block]:
        """All comparisons once, in order."""

    @abstractmethod
    def _draws(self, n_steps: int, seed: int, first: int) -> Iterable[tuple[Block, int, int]]:
        """What the steps first..first + n_steps - 1 draw from: a block, the first of its steps and their number."""

    @abstractmethod
    def _slopes(self, block: Block, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        """Scaled slopes (m,), (m,) of the comparisons at a snapshot; NaN for those that it does not cover."""

    def value(self, X: np.ndarray) -> float:
        return self._mean(self._kernels.value_block, *self._code, self._points(X))

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        return self._mean_gradient(self._kernels.gradient_block, self._points(X), _NOTHING, _NOTHING)

    def error(self, X: np.ndarray) -> float:
        # Scaled counts may add up to a hair above N.
        return max(0.0, 1.0 - self._mean(self._kernels.satisfied_block, self._points(X)))

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        return self._reduced_steps(X, snapshot, step, n_steps, seed, first)[0]

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
        X = self._points(X).copy()
        sizes = float(step), float(decay), float(power)
        for block, begin, count in self._draws(n_steps, seed, first):
            self._kernels.sgd_pass(block.index, block.scale, *self._code, X, *sizes, int(seed), begin, count)
        return X

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        rows = np.column_stack([self._points(X), memory])
        total = 0.0
        for block, begin, count in self._draws(n_steps, seed, first):
            total += self._kernels.adagrad_pass(
                block.index, block.scale, *self._code, rows, float(step), int(seed), begin, count
            )
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), total / n_steps

    def _reduced_steps(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int
    ) -> tuple[np.ndarray, int]:
        """Steps from X: the point after them, and how many were variance-reduced."""
        X, total = self._points(X), 0
        for block, begin, count in self._draws(n_steps, seed, first):
            rows = np.stack([X, snapshot.gradient, snapshot.X], axis=1)
            reduced = self._kernels.svrg_pass(
                block.index, block.scale, *self._code, rows, *self._slopes(block, snapshot),
                float(step), int(seed), begin, count,
            )  # fmt: skip
            X = rows[:, 0] - (step * reduced) * snapshot.gradient
            total += reduced
        return X, total

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
        """Sum of losses and gradients by a kernel, which keeps slopes in arrays unless those are empty."""

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
    """Results of a task in the order of its items, computed ahead on threads; by the caller if there is but one.

    Only so many are computed ahead as keep the threads busy, so that memory is bounded however many items there are.
    """
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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a positive integer, None or negative (-1: all cores), got {n_jobs!r}")
    return max(1, cores + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


@functools.cache
def worker_pool(n_jobs: int) -> ThreadPoolExecutor:
    """One lasting pool for each number of threads: starting threads would cost more than a small pass."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="nearer")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=worker_pool.cache_clear)
