"""The objective of comparisons that are read from disk in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from nearer.data import Comparisons
from nearer.data.coded import frozen
from nearer.kernels import check_inside
from nearer.losses import Loss
from nearer.objective.interface import Snapshot
from nearer.objective.local import UNWEIGHTED, Block, BlockObjective, LocalObjective


class BlockSource(Protocol):
    """Comparisons that can be read repeatedly, block by block; `nearer.io.BlockReader` is one."""

    n_comparisons: int
    n_columns: int
    has_weights: bool
    total_weight: float

    def blocks(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Comparisons]:
        """All comparisons once, about `size` in a block; in order, or the blocks in random order."""


class StreamedObjective(BlockObjective):
    """The objective of comparisons that are read block by block in every pass.

    Stochastic passes visit the blocks in random order and take as many steps in each as it has comparisons.

    `source` is from `nearer.io.open_blocks`. A block has `block_size` comparisons; None means four per object, between
    2^18 and 2^22. The result does not depend on `n_jobs`, the number of threads (None: all cores).
    """

    def __init__(
        self,
        source: BlockSource,
        loss: str | Loss,
        n_components: int,
        n_objects: int,
        n_jobs: int | None = None,
        block_size: int | None = None,
    ):
        super().__init__(loss, n_components, n_objects, source.n_comparisons, n_jobs)
        self.source = source
        self.block_size = int(np.clip(4 * self.n_objects, 1 << 18, 1 << 22)) if block_size is None else int(block_size)

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """As for any objective, but without slopes, which `svrg_pass` computes again."""
        X = self._points(X).copy()
        return Snapshot(X, *self.value_and_gradient(X), None)

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective:
        """At most 2^20 comparisons, or eight per coordinate of a map, drawn uniformly without replacement."""
        size = min(size, max(1 << 20, 8 * self.n_objects * self.n_components), self.n_comparisons)
        index = np.empty((size, self.source.n_columns), dtype=np.int32)
        weights = np.empty(size) if self.source.has_weights else None
        heaviest, most = index[:0], 0.0
        taken, passed = 0, 0
        for block in self.source.blocks(self.block_size):
            passed += len(block)
            upto = round(size * passed / self.n_comparisons)
            rows = np.sort(rng.choice(len(block), upto - taken, replace=False, shuffle=False))
            index[taken:upto] = block.index[rows]
            if weights is not None and block.weights is not None:
                weights[taken:upto] = block.weights[rows]
                if block.weights.max() > most:
                    row = int(np.argmax(block.weights))
                    heaviest, most = block.index[row], float(block.weights[row])
            taken = upto
        # A block without weight is not read.
        index, weights = index[:taken], None if weights is None else weights[:taken]
        if weights is not None and not weights.any():  # weights of zero only: nothing to learn from
            index[-1], weights[-1] = heaviest, most
        part = Comparisons(index, n_objects=self.n_objects, weights=weights)
        return LocalObjective(part, self.loss, self.n_components, self.n_jobs)

    def comparisons_at(self, rows: np.ndarray) -> Comparisons:
        parts, passed = [], 0
        for block in self.source.blocks(self.block_size):
            first, last = np.searchsorted(rows, [passed, passed + len(block)])
            parts.append(block.take(rows[first:last] - passed))
            passed += len(block)
        return Comparisons.concat(parts)

    def with_loss(self, loss: Loss, n_components: int) -> StreamedObjective:
        return StreamedObjective(self.source, loss, n_components, self.n_objects, self.n_jobs, self.block_size)

    def _blocks(self) -> Iterator[Block]:
        yield from map(self._block, self.source.blocks(self.block_size))

    def _draws(self, n_steps: int, seed: int, first: int) -> Iterator[tuple[Block, tuple[int, int, int]]]:
        done, rng = 0, np.random.default_rng([seed, first])
        while done < n_steps:
            for block in self.source.blocks(self.block_size, rng):
                steps = min(len(block), n_steps - done)
                yield self._block(block), (int(seed), first + done, steps)
                done += steps
                if done == n_steps:
                    return

    def _slopes(self, block: Block, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        d_near, d_far = np.empty((2, len(block.index)))
        self._gradient_sum(self._kernels.gradient_block, [block], snapshot.X, d_near, d_far)
        return d_near, d_far

    def _block(self, read: Comparisons) -> Block:
        """A block whose weights have mean one over all data."""
        check_inside(read.index, self.n_objects)
        scale = UNWEIGHTED
        if read.weights is not None:
            scale = frozen(read.weights * (self.n_comparisons / self.source.total_weight))
        return Block(read.index, scale, 0, len(read))
