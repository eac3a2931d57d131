"""What runs on the workers: plain functions of a shard and the points, built on `LocalObjective`.

Points X are float64 of shape (n_objects, n_components). Who takes which stochastic steps is a function of the arguments
alone, nothing of the scheduling.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.columns import Coding, Table
from nearer.data.roles import Roles
from nearer.data.values import Options
from nearer.io.blocks import Counts, Recipe, Scanned, scan_block
from nearer.losses import Loss
from nearer.objective import LocalObjective, Snapshot

__all__ = ["Inner", "Kept", "Part", "Shard", "plan_steps", "split"]


@dataclass
class Part:
    """A share of a sum over comparisons."""

    total: float  # NaN where there is none
    array: Any  # of the shape of the points; None where only the total was asked for
    seconds: float  # processor time spent on it


@dataclass
class Kept:
    """A share of the full gradient, with the slopes (of a `Snapshot`) of a held shard; stays on its worker."""

    part: Part
    slopes: Any


Piece = Comparisons | Table


def _read(piece: Piece, recipe: Recipe | None) -> Comparisons | None:
    if isinstance(piece, Comparisons):
        return piece
    assert recipe is not None
    return recipe.comparisons(piece)


class Shard:
    """The comparisons of one task: held in memory as one objective, or read anew piece by piece at every pass."""

    def __init__(
        self, pieces: Sequence[Piece], recipe: Recipe | None, loss: Loss, n_objects: int, n_components: int, hold: bool
    ):
        self.pieces = pieces
        self.recipe = recipe
        self.loss = loss
        self.n_objects = n_objects
        self.n_components = n_components
        self._held: LocalObjective | None = None
        if hold:
            read = [part for piece in pieces if (part := _read(piece, recipe)) is not None]
            if not read:
                raise ValueError("a shard has no comparison that counts, though it had when it was looked at first")
            self._held = self._objective(read[0] if len(read) == 1 else Comparisons.concat(read))
            self.pieces = ()

    def blocks(self, order: Sequence[int] | None = None) -> Iterator[tuple[int, LocalObjective]]:
        """The blocks of the shard with their numbers, all or some in an order; none whose comparisons count nothing."""
        if self._held is not None:
            yield 0, self._held
            return
        for number in range(len(self.pieces)) if order is None else order:
            comparisons = _read(self.pieces[number], self.recipe)
            if comparisons is not None:
                yield number, self._objective(comparisons)

    def _objective(self, comparisons: Comparisons) -> LocalObjective:
        if comparisons.n_objects != self.n_objects:
            comparisons = Comparisons(comparisons.index, n_objects=self.n_objects, weights=comparisons.weights)
        # One thread: Dask runs as many tasks as a worker has threads.
        return LocalObjective(comparisons, self.loss, self.n_components, n_jobs=1)

    def __sizeof__(self) -> int:
        """So that Dask knows what a shard weighs, to spill it and not to move it about."""
        if self._held is None:
            return 1024
        comparisons = self._held.comparisons
        return comparisons.index.nbytes + (0 if comparisons.weights is None else 2 * comparisons.weights.nbytes)

    def __reduce__(self) -> tuple:
        held = self._held
        pieces, recipe = (self.pieces, self.recipe) if held is None else ([held.comparisons], None)
        return Shard, (pieces, recipe, self.loss, self.n_objects, self.n_components, held is not None)


def scan(pieces: Sequence[Table], roles: Roles, options: Options) -> tuple[Scanned | None, list[Counts]]:
    """Look at every piece once: what they hold together, and what each gives where that can be told already."""
    found = [scan_block(piece, roles, options) for piece in pieces]
    counts = [Counts() if one.counts is None else _without_names(one.counts) for one in found]
    return reduce(Scanned.join, found), counts


def count(pieces: Sequence[Table], recipe: Recipe) -> tuple[Counts, list[Counts]]:
    """Count what every piece gives: together, and each."""
    counts = [recipe.counts(piece) for piece in pieces]
    return reduce(Counts.join, counts), [_without_names(one) for one in counts]


def _without_names(counts: Counts) -> Counts:
    """What is small whatever the number of objects."""
    return replace(counts, seen=Coding(np.empty(0, np.int64)))


def evaluate(shard: Shard, X: np.ndarray, what: str) -> Part:
    """Weighted sums over a shard: "value", "error", or "gradient", which gives the value as well."""
    started = time.thread_time()
    total, array = 0.0, np.zeros_like(X, dtype=np.float64) if what == "gradient" else None
    for _, objective in shard.blocks():
        weight = _weight(objective.comparisons)
        if array is not None:
            value, gradient = objective.value_and_gradient(X)
            gradient *= weight
            array += gradient
        else:
            value = objective.value(X) if what == "value" else objective.error(X)
        total += weight * value
    return Part(total, array, time.thread_time() - started)


def snapshot(shard: Shard, X: np.ndarray) -> Kept:
    """As `evaluate` for the gradient of a held shard, keeping the slopes of every comparison."""
    started = time.thread_time()
    ((_, objective),) = shard.blocks()
    weight = _weight(objective.comparisons)
    taken = objective.snapshot(X)
    return Kept(Part(weight * taken.value, weight * taken.gradient, time.thread_time() - started), taken.slopes)


def combine(parts: Sequence[Part]) -> Part:
    """Sum of parts, in the order given."""
    total = parts[0].total
    array = None if parts[0].array is None else parts[0].array.copy()
    for part in parts[1:]:
        total += part.total
        if array is not None:
            array += part.array
    return Part(total, array, sum(part.seconds for part in parts))


@dataclass(frozen=True)
class Inner:
    """The stochastic steps of one shard in one pass: for each block how many, with which seed, from which step on."""

    step: float
    share: float  # weight of this shard's movement in the combined one
    steps: tuple[int, ...]
    seeds: tuple[int, ...]
    firsts: tuple[int, ...]
    order: tuple[int, ...]  # in which the blocks are visited

    def of(self, block: int) -> tuple[float, int, int, int]:
        """Step size, number of steps, seed and first step of a block, as a pass takes them."""
        return self.step, self.steps[block], self.seeds[block], self.firsts[block]


def split(count: int, sizes: Sequence[Sequence[float]]) -> list[list[int]]:
    """A count shared out over the blocks of shards in proportion to their sizes."""
    flat = np.concatenate([np.asarray(blocks, dtype=np.float64) for blocks in sizes])
    ends = np.concatenate([[0.0], np.cumsum(flat)])
    shares = np.diff(np.rint(ends / ends[-1] * count).astype(np.int64)).tolist()
    starts = np.cumsum([0, *map(len, sizes)])
    return [shares[start : start + len(blocks)] for start, blocks in zip(starts, sizes)]


def plan_steps(
    weights: Sequence[Sequence[float]], step: float, n_steps: int, seed: int, first: int, same_length: bool
) -> list[tuple[int, Inner]]:
    """Number and steps of every shard that takes any; `step`, `n_steps`, `seed` and `first` are of a serial pass.

    Parameters
    ----------
    weights : sequence of sequences of float
        For each shard, the weight of each block; blocks get steps in this proportion, so that on average every
        comparison counts as it does in the objective.
    same_length : bool
        Whether a shard's path is as long as that of the serial pass: fewer steps, each longer.
    """
    counts, before = split(n_steps, weights), split(first, weights)
    plan = []
    for number, own in enumerate(counts):
        if not sum(own):
            continue
        random = np.random.SeedSequence([int(seed), number])
        seeds = tuple(int(word >> np.uint64(1)) for word in random.generate_state(len(own), np.uint64))
        order = tuple(block for block in np.random.default_rng(random).permutation(len(own)).tolist() if own[block])
        share = sum(own) / n_steps
        size = step / share if same_length else step
        plan.append((number, Inner(size, share, tuple(own), seeds, tuple(before[number]), order)))
    return plan


def svrg(
    shard: Shard, X: np.ndarray | None, S: np.ndarray, gradient: np.ndarray, kept: Kept | None, inner: Inner
) -> Part:
    """Inner SVRG steps on a shard from X (None: from the snapshot S, which has the full `gradient`): its movement.

    Without the slopes that were `kept` at S, they are computed again, block by block.
    """
    started = time.thread_time()
    start = S if X is None else X
    point = start
    for number, objective in shard.blocks(inner.order):
        if kept is None:
            taken = replace(objective.snapshot(S), gradient=gradient)
        else:
            taken = Snapshot(S, np.nan, gradient, kept.slopes)
        point = objective.svrg_pass(point, taken, *inner.of(number))
    return Part(np.nan, inner.share * (point - start), time.thread_time() - started)


def sgd(shard: Shard, X: np.ndarray, inner: Inner, decay: float, power: float) -> Part:
    """Plain stochastic steps on a shard, as `StochasticObjective.sgd_pass`: its share of the movement."""
    started = time.thread_time()
    point = X
    for number, objective in shard.blocks(inner.order):
        point = objective.sgd_pass(point, *inner.of(number), decay, power)
    return Part(np.nan, inner.share * (point - X), time.thread_time() - started)


def adagrad(shard: Shard, X: np.ndarray, memory: np.ndarray, inner: Inner) -> Part:
    """Adaptive stochastic steps on a shard, as `StochasticObjective.adagrad_pass`.

    The total is this shard's share of the mean loss during the pass. The array, of one column more than X, is its share
    of the movement and, in the last column, its addition to the memory.
    """
    started = time.thread_time()
    point, pulls, total = X, memory, 0.0
    for number, objective in shard.blocks(inner.order):
        point, pulls, value = objective.adagrad_pass(point, pulls, *inner.of(number))
        total += inner.share * value * inner.steps[number] / sum(inner.steps)
    array = np.column_stack([inner.share * (point - X), pulls - memory])
    return Part(total, array, time.thread_time() - started)


def sample(shard: Shard, sizes: Sequence[int], seeds: Sequence[int]) -> Comparisons | None:
    """Random comparisons of a shard, of each block so many drawn with a seed; None if none of them counts."""
    parts = []
    for number, objective in shard.blocks([number for number, size in enumerate(sizes) if size]):
        whole = objective.comparisons
        size = min(sizes[number], len(whole))
        rows = np.random.default_rng(seeds[number]).choice(len(whole), size, replace=False, shuffle=False)
        if whole.weights is None or whole.weights[rows].any():
            parts.append(whole[rows])
    return Comparisons.concat(parts) if parts else None


def _weight(comparisons: Comparisons) -> float:
    return float(len(comparisons)) if comparisons.weights is None else float(comparisons.weights.sum())


def can_import(module: str) -> bool:
    """Whether a worker finds a module."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def version() -> str:
    """The version of this package on a worker."""
    import nearer

    return nearer.__version__
