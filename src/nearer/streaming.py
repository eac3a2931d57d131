"""The objective over comparisons that stay on disk: memory is set by the points and the block size, not by the data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from nearer import kernels
from nearer.data import Comparisons
from nearer.losses import Loss, get_loss
from nearer.objective import LocalObjective, Snapshot, resolve_jobs, worker_pool

__all__ = ["BlockSource", "StreamedObjective"]

_NOTHING = np.empty(0)


class BlockSource(Protocol):
    """Comparisons by object number that can be read again and again, a block at a time."""

    n_comparisons: int
    n_columns: int

    def blocks(self, size: int) -> Iterator[np.ndarray]: ...

    def shuffled_blocks(self, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]: ...


class StreamedObjective:
    """As `LocalObjective`, for comparisons read block by block in every pass.

    Parameters
    ----------
    source : see `BlockSource`; `nearer.io.open_index` makes one from .npy or Parquet files.
    loss : name or Loss
    n_components : dimension of the points
    n_objects : number of objects
    n_jobs : threads; None means all cores. The result does not depend on it.
    block_size : comparisons in a block; None means four per object, between 2^18 and 2^22.
    max_in_memory : most comparisons that `subset` may hold in memory; None means eight per coordinate of a map, at
        least 2^20: memory then follows the points and not the data.
    """

    def __init__(
        self,
        source: BlockSource,
        loss: str | Loss,
        n_components: int,
        n_objects: int,
        n_jobs: int | None = None,
        block_size: int | None = None,
        max_in_memory: int | None = None,
    ):
        self.source = source
        self.n_components = int(n_components)
        self.loss = get_loss(loss).resolve(self.n_components)
        self.n_objects = int(n_objects)
        self.n_comparisons = int(source.n_comparisons)
        self.n_jobs = resolve_jobs(n_jobs)
        self.block_size = int(np.clip(4 * self.n_objects, 1 << 18, 1 << 22)) if block_size is None else int(block_size)
        per_map = max(1 << 20, 8 * self.n_objects * self.n_components)
        self.max_in_memory = per_map if max_in_memory is None else int(max_in_memory)

    def value(self, X: np.ndarray) -> float:
        """F(X)."""
        X = self._points(X)
        kind, param = self.loss.kind, self.loss.param
        parts = self._each(lambda b: kernels.value_block(b, _NOTHING, kind, param, X, 0, len(b)))
        return sum(parts) / self.n_comparisons

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """F(X) and its gradient (n, d)."""
        X = self._points(X)
        kind, param = self.loss.kind, self.loss.param

        def part(block: np.ndarray) -> tuple[float, np.ndarray]:
            G = np.zeros_like(X)
            args = block, _NOTHING, kind, param, X, 0, len(block), G, _NOTHING, _NOTHING
            return kernels.gradient_block(*args), G

        total, gradient = 0.0, np.zeros_like(X)
        for value, G in self._each(part):
            total += value
            gradient += G
        gradient /= self.n_comparisons
        return total / self.n_comparisons, gradient

    def error(self, X: np.ndarray) -> float:
        """Fraction of comparisons without near < far; ties and NaN count as errors."""
        X = self._points(X)
        return 1.0 - sum(self._each(lambda b: kernels.satisfied_block(b, _NOTHING, X, 0, len(b)))) / self.n_comparisons

    def value_at_zero(self) -> float:
        """The objective of all points in one place: the natural unit of progress."""
        return float(self.loss.terms(0.0, 0.0)[0])

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective:
        """The objective of random comparisons in memory: `size` of them, or `max_in_memory` if that is less.

        They are drawn evenly from all blocks, each part without replacement.
        """
        size = min(size, self.max_in_memory, self.n_comparisons)
        index = np.empty((size, self.source.n_columns), dtype=np.int32)
        taken, passed = 0, 0
        for block in self.source.blocks(self.block_size):
            passed += len(block)
            upto = round(size * passed / self.n_comparisons)
            index[taken:upto] = block[np.sort(rng.choice(len(block), upto - taken, replace=False, shuffle=False))]
            taken = upto
        part = Comparisons(index, n_objects=self.n_objects)
        return LocalObjective(part, self.loss, self.n_components, self.n_jobs)

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """As `LocalObjective.adagrad_pass`, drawing from blocks in random order, as many steps as a block is long."""
        rows = np.column_stack([self._points(X), memory])
        total = 0.0
        for block, t, steps in self._pieces(n_steps, seed, first):
            total += kernels.adagrad_pass(
                block, _NOTHING, self.loss.kind, self.loss.param, rows, float(step), int(seed), t, steps
            )
        return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), total / n_steps

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
        """As `LocalObjective.sgd_pass`, drawing from blocks in random order."""
        X = self._points(X).copy()
        for block, t, steps in self._pieces(n_steps, seed, first):
            kernels.sgd_pass(
                block, _NOTHING, self.loss.kind, self.loss.param, X,
                float(step), float(decay), float(power), int(seed), t, steps,
            )  # fmt: skip
        return X

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """Full gradient at X; the slopes are found again block by block in `svrg_pass` instead of being kept."""
        X = self._points(X).copy()
        value, gradient = self.value_and_gradient(X)
        return Snapshot(X, value, gradient, None)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        """As `LocalObjective.svrg_pass`, drawing from blocks in random order."""
        X = self._points(X)
        kind, param = self.loss.kind, self.loss.param
        for block, t, steps in self._pieces(n_steps, seed, first):
            d_near, d_far = np.empty(len(block)), np.empty(len(block))
            scratch = np.zeros_like(X)
            kernels.gradient_block(block, _NOTHING, kind, param, snapshot.X, 0, len(block), scratch, d_near, d_far)
            rows = np.stack([X, snapshot.gradient, snapshot.X], axis=1)
            kernels.svrg_pass(block, _NOTHING, kind, param, rows, d_near, d_far, float(step), int(seed), t, steps)
            X = rows[:, 0] - (step * steps) * snapshot.gradient
        return X

    def _each(self, task: Callable[[np.ndarray], Any]) -> Iterator[Any]:
        """`task` of every block in order, some blocks ahead on threads."""
        return _ahead(task, map(_read_only, self.source.blocks(self.block_size)), self.n_jobs)

    def _pieces(self, n_steps: int, seed: int, first: int) -> Iterator[tuple[np.ndarray, int, int]]:
        """Blocks in random order with the number of the first step and the steps to take in each."""
        done, rng = 0, np.random.default_rng([seed, first])
        while done < n_steps:
            for block in self.source.shuffled_blocks(self.block_size, rng):
                steps = min(len(block), n_steps - done)
                yield _read_only(block), first + done, steps
                done += steps
                if done == n_steps:
                    return

    def _points(self, X: np.ndarray) -> np.ndarray:
        X = np.array(X, dtype=np.float64, order="C")
        if X.shape != (self.n_objects, self.n_components):
            raise ValueError(f"points have shape {X.shape}, expected ({self.n_objects}, {self.n_components})")
        return X


def _read_only(block: np.ndarray) -> np.ndarray:
    view = block.view()
    view.flags.writeable = False
    return view


def _ahead(task: Callable[[np.ndarray], Any], blocks: Iterable[np.ndarray], n_jobs: int) -> Iterator[Any]:
    """Results in block order while at most `n_jobs` + 1 blocks are in flight, so memory stays bounded."""
    pool = worker_pool(n_jobs)
    flight: deque[Any] = deque()
    try:
        for block in blocks:
            flight.append(pool.submit(task, block))
            if len(flight) > n_jobs:
                yield flight.popleft().result()
        while flight:
            yield flight.popleft().result()
    finally:
        for future in flight:
            future.cancel()
