"""The objective of comparisons in memory."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from nearer.data import Comparisons
from nearer.data.answers import asked_together
from nearer.data.values import frozen
from nearer.kernels import check_inside
from nearer.losses import CustomLoss, Loss
from nearer.objective.base import UNWEIGHTED, Block, BlockObjective
from nearer.objective.protocols import GramObjective, GrowingObjective, Snapshot, SplittableObjective

__all__ = ["LocalObjective"]

# Most blocks, and least comparisons in each. Some blocks pay early; many, as 64 cores need them, only where handing one
# out costs no more than about a hundredth of the work in it.
_SOME, _MANY = (16, 16_384), (128, 65_536)
_MEMORY = 10  # of L-BFGS


class LocalObjective(BlockObjective, GrowingObjective, SplittableObjective, GramObjective):
    """The objective of comparisons in memory.

    Parameters
    ----------
    comparisons : Comparisons
    loss : str or Loss
    n_components : int
        Dimension of the points.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
    """

    def __init__(self, comparisons: Comparisons, loss: str | Loss, n_components: int, n_jobs: int | None = None):
        super().__init__(loss, n_components, comparisons.n_objects, len(comparisons), n_jobs)
        self.comparisons = comparisons
        self._index = frozen(comparisons.index)
        check_inside(self._index, self.n_objects)
        self._scale = UNWEIGHTED if comparisons.weights is None else frozen(_mean_one(comparisons.weights))
        self._all_blocks = self._cut(self._index, self._scale)

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """As `StochasticObjective.snapshot`; the slopes of all comparisons are kept."""
        X = self._points(X).copy()
        slopes = np.empty((2, self.n_comparisons))
        value, gradient = self._mean_gradient(self._kernels.gradient_block, X, *slopes)
        return Snapshot(X, value, gradient, tuple(slopes))

    def part_snapshot(self, X: np.ndarray, known: np.ndarray, new: np.ndarray) -> tuple[Snapshot, np.ndarray]:
        X = self._points(X).copy()
        total, sums = 0.0, []
        slopes = np.full((2, self.n_comparisons), np.nan)
        for part in (known, new):
            index, scale = self._index[part], self._scale[part] if self._scale.size else self._scale
            found = np.empty((2, len(part)))
            blocks = self._cut(frozen(index), frozen(scale))
            value, gradient = self._gradient_sum(self._kernels.gradient_block, blocks, X, *found)
            slopes[:, part] = found
            total += value
            sums.append(gradient)
        count = len(known) + len(new)
        snapshot = Snapshot(X, total / count, (sums[0] + sums[1]) / count, tuple(slopes))
        return snapshot, sums[0] / max(len(known), 1)

    def mixed_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, int]:
        return self._reduced_steps(X, snapshot, step, n_steps, seed, first)

    def subset(self, size: int, rng: np.random.Generator) -> LocalObjective:
        rows = rng.choice(self.n_comparisons, size, replace=False, shuffle=False)
        if self._scale.size and not self._scale[rows].any():  # weights of zero only: nothing to learn from
            rows = np.append(rows[1:], np.argmax(self._scale))
        return LocalObjective(self.comparisons[rows], self.loss, self.n_components, self.n_jobs)

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[LocalObjective, LocalObjective]:
        asked = asked_together(self.comparisons, 2)
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
        parts = (self.comparisons[rows] for rows in (~out, out))
        kept_part, held_out = (LocalObjective(part, self.loss, self.n_components, self.n_jobs) for part in parts)
        return kept_part, held_out

    def smoothed(self, width: float) -> LocalObjective:
        return LocalObjective(self.comparisons, self.loss.smoothed(width), self.n_components, self.n_jobs)

    def best_places(self, X: np.ndarray, places: np.ndarray, order: np.ndarray, least: float) -> tuple[np.ndarray, int]:
        """Put one object of a line after the other at the best of some places, as `nearer.kernels.best_places`.

        An object moves if that lowers the objective by more than `least`. Gives the points and how many moved.
        """
        X = self._points(X).copy()
        moved = self._kernels.best_places(
            self._index, self._scale, *self._code, X, *self._rows_of_objects, order, places, least * self.n_comparisons
        )
        return X, moved

    @property
    def pays_in_one_call(self) -> bool:
        """Whether `descend` pays: few comparisons, and no loss for which it would be compiled anew, for seconds."""
        return len(self._all_blocks) == 1 and not isinstance(self.loss, CustomLoss)

    def descend(self, X: np.ndarray, least: float, patience: int, most: int) -> tuple[np.ndarray, float, int]:
        """L-BFGS in one compiled call, on one thread: for small problems, of which many are solved.

        Parameters and what comes with the point are those of `nearer.kernels.descend`.
        """
        X = self._points(X).copy()
        value, evaluations = self._kernels.descend(
            self._index, self._scale, *self._code, X, least, patience, _MEMORY, most
        )
        return X, value, evaluations

    @functools.cached_property
    def _rows_of_objects(self) -> tuple[np.ndarray, np.ndarray]:
        """The comparisons that name object o: ``rows[offsets[o]:offsets[o + 1]]``, each once."""
        width = self._index.shape[1]
        entry = np.argsort(self._index, axis=None, kind="stable")  # by object, then by row
        objects, rows = self._index.ravel()[entry], entry // width
        first = np.append(True, (np.diff(objects) != 0) | (np.diff(rows) != 0))
        return np.searchsorted(objects[first], np.arange(self.n_objects + 1)), rows[first]

    def gram_value_and_gradient(self, K: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        if K.shape != (self.n_objects, self.n_objects):
            raise ValueError(f"Gram matrix: got shape {K.shape}, expected {(self.n_objects, self.n_objects)}")
        slopes = np.empty(self.n_comparisons)
        return *self._mean_gradient(self._kernels.gram_block, K, slopes), slopes

    def gram_dual(self, slopes: np.ndarray) -> float:
        dual = self.loss.dual(slopes)
        return float(np.mean(dual * self._scale if self._scale.size else dual))

    def _blocks(self) -> list[Block]:
        return self._all_blocks

    def _cut(self, index: np.ndarray, scale: np.ndarray) -> list[Block]:
        return [Block(index, scale, start, stop) for start, stop in block_bounds(len(index), self.n_objects)]

    def _draws(self, n_steps: int, seed: int, first: int) -> list[tuple[Block, int, int]]:
        return [(Block(self._index, self._scale, 0, self.n_comparisons), int(first), int(n_steps))]

    def _slopes(self, block: Block, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        if len(snapshot.slopes[0]) != self.n_comparisons:
            raise ValueError(
                f"snapshot: got one of {len(snapshot.slopes[0]):,} comparisons, expected {self.n_comparisons:,}"
            )
        return snapshot.slopes


def block_bounds(n_comparisons: int, n_objects: int) -> list[tuple[int, int]]:
    """Where to cut comparisons into blocks for a full pass: a function of the data alone, never of the threads.

    A block sums into an array of the shape of the points, so it should hold clearly more comparisons than there are
    objects. Each block is given by its first row and the row after its last.
    """
    some, many = (min(n_comparisons // max(least, 8 * n_objects), most) for most, least in (_SOME, _MANY))
    cuts = np.linspace(0, n_comparisons, max(some, many, 1) + 1).astype(int).tolist()
    return list(itertools.pairwise(cuts))


def _mean_one(weights: np.ndarray) -> np.ndarray:
    relative = np.asarray(weights, dtype=np.float64) / weights.max()  # equal weights become exactly one
    return np.ascontiguousarray(relative * (len(relative) / relative.sum()))
