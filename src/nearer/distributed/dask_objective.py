"""`DaskObjective`: what solvers need, computed by the workers of a Dask cluster.

On the workers run plain functions of a shard and the points, float64 (n_objects, n_components), built on
`LocalObjective`. Which shard takes which stochastic steps depends only on the arguments, not on the scheduling.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.distributed.cluster import ClusterError, can_import, connected
from nearer.distributed.partitions import ClusterData, open_data, place
from nearer.io.blocks import BlockPlan, total_weight
from nearer.losses import CustomLoss, Loss
from nearer.machine import available_memory
from nearer.objective import LocalObjective, Objective, Snapshot, resolve_jobs
from nearer.solvers.checkpoint import Checkpoint
from nearer.warning_types import PerformanceWarning

logger = logging.getLogger(__name__)

_SMALL_BATCH = 20
_WARM_UP = 3  # passes before the cluster is judged: the first ones load and compile
_NOTICEABLY = 1.25

# ---- on the workers --------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """A share of a sum over comparisons."""

    total: float  # NaN where there is none
    array: Any  # of the shape of the points; None where only the total was asked for
    seconds: float = 0.0  # processor time spent on it, of full passes


Kept = tuple[Part, Any]  # a share of the full gradient, with the slopes (of a `Snapshot`) of a held shard


class Shard:
    """The comparisons of one task: held in memory as one objective, or read piece by piece in every pass."""

    def __init__(self, pieces: Sequence[Any], plan: BlockPlan | None, loss: Loss, n_components: int, hold: bool):
        self.pieces = pieces
        self.plan = plan
        self.loss = loss
        self.n_components = n_components
        self._held: LocalObjective | None = None
        if hold:
            read = [part for piece in pieces if (part := self._read(piece)) is not None]
            if not read:
                raise ValueError("a shard has no comparison that counts, though it had when it was looked at first")
            self._held = self._objective(read[0] if len(read) == 1 else Comparisons.concat(read))
            self.pieces = ()

    def blocks(self, order: Sequence[int] | None = None) -> Iterator[tuple[int, LocalObjective]]:
        """The blocks of the shard with their numbers: all, or some in a given order; without those of no weight."""
        if self._held is not None:
            yield 0, self._held
            return
        for number in range(len(self.pieces)) if order is None else order:
            comparisons = self._read(self.pieces[number])
            if comparisons is not None:
                yield number, self._objective(comparisons)

    def _read(self, piece: Any) -> Comparisons | None:
        return piece if self.plan is None else self.plan.comparisons(piece)

    def _objective(self, comparisons: Comparisons) -> LocalObjective:
        # One thread: Dask runs as many tasks as a worker has threads.
        return LocalObjective(comparisons, self.loss, self.n_components, n_jobs=1)

    def __sizeof__(self) -> int:
        """For Dask, which spills and moves data by their size."""
        if self._held is None:
            return 1024
        comparisons = self._held.comparisons
        return comparisons.index.nbytes + (0 if comparisons.weights is None else 2 * comparisons.weights.nbytes)

    def __reduce__(self) -> tuple:
        held = self._held
        pieces, plan = (self.pieces, self.plan) if held is None else ([held.comparisons], None)
        return Shard, (pieces, plan, self.loss, self.n_components, held is not None)


def evaluate(shard: Shard, X: np.ndarray, what: str) -> Part:
    """Weighted sums over a shard: "value", "error", or "gradient", which includes the value."""
    started = time.thread_time()
    total, array = 0.0, np.zeros_like(X, dtype=np.float64) if what == "gradient" else None
    for _, objective in shard.blocks():
        weight = total_weight(objective.comparisons)
        if array is not None:
            value, gradient = objective.value_and_gradient(X)
            gradient *= weight
            array += gradient
        else:
            value = objective.value(X) if what == "value" else objective.error(X)
        total += weight * value
    return Part(total, array, time.thread_time() - started)


def take_snapshot(shard: Shard, X: np.ndarray) -> Kept:
    """As `evaluate` for the gradient of a held shard, with the slopes of every comparison."""
    started = time.thread_time()
    ((_, objective),) = shard.blocks()
    weight = total_weight(objective.comparisons)
    taken = objective.snapshot(X)
    return Part(weight * taken.value, weight * taken.gradient, time.thread_time() - started), taken.slopes


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
    """The stochastic steps of one shard in one pass, for each block: how many, seed, first step."""

    step: float
    share: float  # weight of this shard's movement in the combined one
    steps: tuple[int, ...]
    seeds: tuple[int, ...]
    firsts: tuple[int, ...]
    order: tuple[int, ...]  # in which the blocks are visited

    def of(self, block: int) -> tuple[float, int, int, int]:
        """The arguments of a pass over a block: step size, number of steps, seed, first step."""
        return self.step, self.steps[block], self.seeds[block], self.firsts[block]


def split(count: int, sizes: Sequence[Sequence[float]]) -> list[list[int]]:
    """A count divided over the blocks of shards in proportion to their sizes."""
    flat = np.concatenate([np.asarray(blocks, dtype=np.float64) for blocks in sizes])
    ends = np.concatenate([[0.0], np.cumsum(flat)])
    shares = np.diff(np.rint(ends / ends[-1] * count).astype(np.int64)).tolist()
    starts = np.cumsum([0, *map(len, sizes)])
    return [shares[start : start + len(blocks)] for start, blocks in zip(starts, sizes)]


def plan_steps(
    weights: Sequence[Sequence[float]], step: float, n_steps: int, seed: int, first: int, same_length: bool
) -> list[tuple[int, Inner]]:
    """For every shard that takes steps: its number and its steps, given those of a serial pass.

    Blocks get steps in proportion to their weights, so that on average every comparison counts as in the objective.
    With `same_length` a shard's path is as long as that of the serial pass: fewer steps, each longer.
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
    """Displacement by SVRG steps on a shard from X (None: from S); slopes at S are recomputed unless `kept`."""
    start = S if X is None else X
    point = start
    for number, objective in shard.blocks(inner.order):
        slopes = objective.snapshot(S).slopes if kept is None else kept[1]
        point = objective.svrg_pass(point, Snapshot(S, np.nan, gradient, slopes), *inner.of(number))
    return Part(np.nan, inner.share * (point - start))


def sgd(shard: Shard, X: np.ndarray, inner: Inner, decay: float, power: float) -> Part:
    """Weighted displacement by plain stochastic steps on a shard, see `Objective.sgd_pass`."""
    point = X
    for number, objective in shard.blocks(inner.order):
        point = objective.sgd_pass(point, *inner.of(number), decay, power)
    return Part(np.nan, inner.share * (point - X))


def adagrad(shard: Shard, X: np.ndarray, memory: np.ndarray, inner: Inner) -> Part:
    """Weighted mean loss, displacement (n, d) and growth of the memory (n, 1) by AdaGrad steps on a shard."""
    point, pulls, total = X, memory, 0.0
    for number, objective in shard.blocks(inner.order):
        point, pulls, value = objective.adagrad_pass(point, pulls, *inner.of(number))
        total += inner.share * value * inner.steps[number] / sum(inner.steps)
    return Part(total, np.column_stack([inner.share * (point - X), pulls - memory]))


def sample(shard: Shard, sizes: Sequence[int], seeds: Sequence[int]) -> Comparisons | None:
    """Random comparisons of a shard, a given number of each block; None if none has weight."""
    parts = []
    for number, objective in shard.blocks([number for number, size in enumerate(sizes) if size]):
        whole = objective.comparisons
        size = min(sizes[number], len(whole))
        rows = np.random.default_rng(seeds[number]).choice(len(whole), size, replace=False, shuffle=False)
        if whole.weights is None or whole.weights[rows].any():
            parts.append(whole[rows])
    return Comparisons.concat(parts) if parts else None


# ---- on this machine -------------------------------------------------------------------------------------------------


@dataclass
class Timings:
    """Time of full passes: elapsed, and processor time of all tasks."""

    n_evaluations: int = 0
    seconds: float = 0.0
    compute_seconds: float = 0.0
    best: tuple[float, float] = (float("inf"), 0.0)  # both, of the fastest pass

    def add(self, seconds: float, compute_seconds: float, n_comparisons: int, n_bytes: int) -> None:
        """Record a pass; after a few, warn once if this machine alone would be faster and could hold the data."""
        self.n_evaluations += 1
        self.seconds += seconds
        self.compute_seconds += compute_seconds
        self.best = min(self.best, (seconds, compute_seconds))
        if self.n_evaluations != _WARM_UP:
            return
        seconds, compute = self.best
        alone = compute / resolve_jobs(None)
        if seconds > _NOTICEABLY * alone and n_bytes < (available_memory() or 0) / 2:
            warnings.warn(
                f"a pass over {n_comparisons:,} comparisons takes {1e3 * seconds:.0f} ms on the cluster, of which "
                f"{1e3 * compute:.1f} ms are computing; this machine alone would need about {1e3 * alone:.1f} ms: "
                "fit without a cluster",
                PerformanceWarning,
                stacklevel=2,
            )


class DaskObjective(Objective):
    """The objective on a Dask cluster, in place of `LocalObjective`.

    A full pass is one map-reduce: the points go out once, every shard is summed where it was loaded, and the sums are
    added in a tree whose shape depends on the number of shards alone. Stochastic passes run on the shards in
    parallel, and their displacements are averaged. Shards get steps in proportion to their weight. In SVRG (Cen et al.)
    step sizes are increased accordingly, so that steps times step size is as in the serial pass and rules such as SBB
    remain valid; SGD and AdaGrad keep their step sizes (McDonald et al.) and move less than a serial pass.

    Parameters
    ----------
    comparisons : ClusterData, or anything `open_data` takes
        The latter needs `client`, a distributed.Client, and takes `options`.
    loss : str or Loss
    n_components : int

    References
    ----------
    Cen et al., "Convergence of distributed stochastic variance reduced methods without sampling extra data", IEEE
    Transactions on Signal Processing 68, 2020.
    McDonald et al., "Distributed training strategies for the structured perceptron", NAACL 2010.
    """

    def __init__(
        self, comparisons: Any, loss: str | Loss, n_components: int, client: Any = None, **options: Any
    ) -> None:
        if not isinstance(comparisons, ClusterData):
            if client is None:
                raise ValueError("DaskObjective: needs client=, a distributed.Client")
            comparisons = open_data(comparisons, client, **options)
        super().__init__(loss, n_components, comparisons.n_objects, comparisons.n_comparisons)
        self.data = comparisons
        self.timings = Timings()
        self._engine = comparisons.engine
        self._check_loss()
        self._total = float(sum(map(sum, comparisons.weights)))
        # A shard in memory is one block, whatever it was read from.
        self._rows, self._weights = comparisons.rows, comparisons.weights
        if comparisons.hold_rows:
            self._rows = [[sum(blocks)] for blocks in comparisons.rows]
            self._weights = [[sum(blocks)] for blocks in comparisons.weights]
        self._homes: list[str] = []
        self._shards: list[Any] = []
        self.n_shards = len(comparisons.shards)  # tasks in a pass

    def value(self, X: np.ndarray) -> float:
        return self._sum(X, "value").total / self._total

    def error(self, X: np.ndarray) -> float:
        return self._sum(X, "error").total / self._total

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        part = self._sum(X, "gradient")
        return part.total / self._total, part.array / self._total

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """The slopes of the comparisons stay on the workers, if they fit there."""
        X = self._points(X).copy()
        if not self.data.hold_slopes:
            return Snapshot(X, *self.value_and_gradient(X), None)
        slopes: list[Any] = []  # on the cluster: the points, and those of each shard

        def build(attempt: int) -> Any:
            points = self._engine.broadcast(X, self.n_shards)
            taken = self._started("snapshot", take_snapshot, dict.fromkeys(range(self.n_shards), (points,)))
            slopes[:] = [points, taken]
            parts = [
                self._engine.submit("part-of-snapshot", itemgetter(0), kept, home=home)
                for kept, home in zip(taken, self._homes)
            ]
            return self._engine.tree("sum", combine, parts)

        part = self._timed(build)
        return Snapshot(X, part.total / self._total, part.array / self._total, slopes)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        X = self._points(X)
        plan = plan_steps(self._weights, step, n_steps, seed, first, same_length=True)
        sent = X.copy() if X is not snapshot.X else None

        def build(attempt: int) -> Any:
            engine, n = self._engine, self.n_shards
            S, kept = snapshot.slopes if snapshot.slopes and attempt == 0 else (engine.broadcast(snapshot.X, n), None)
            gradient = engine.broadcast(snapshot.gradient, n)
            start = None if sent is None else engine.broadcast(sent, n)
            jobs = {number: (start, S, gradient, kept and kept[number], inner) for number, inner in plan}
            return engine.tree("sum", combine, self._started("svrg-pass", svrg, jobs))

        return X + self._engine.run(build, self._forget).array

    def sgd_pass(
        self, X: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0, decay: float = 0, power: float = 1
    ) -> np.ndarray:
        X = self._points(X).copy()
        plan = plan_steps(self._weights, step, n_steps, seed, first, same_length=False)
        # A shard counts its own steps: the decay over a pass is that of the serial run.
        jobs = {number: (inner, decay * self.n_shards, power) for number, inner in plan}
        return X + self._engine.run(self._summing("sgd-pass", sgd, [X], jobs), self._forget).array

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        X = self._points(X).copy()
        plan = plan_steps(self._weights, step, n_steps, seed, first, same_length=False)
        jobs = {number: (inner,) for number, inner in plan}
        part = self._engine.run(self._summing("adagrad-pass", adagrad, [X, memory], jobs), self._forget)
        return X + part.array[:, :-1], memory + part.array[:, -1], part.total

    def subset(self, size: int, rng: np.random.Generator) -> Any:
        """Held on this machine if it fits and its passes are no slower than full ones on the cluster; else all."""
        threads = max(sum(self._engine.workers().values()), 1)
        small = _SMALL_BATCH * self.n_objects * self.n_components
        slow = size > max(self.n_comparisons * resolve_jobs(None) // threads, small)
        if slow or size * self.data.n_bytes / self.n_comparisons > (available_memory() or 0) / 4:
            return self
        seeds = [rng.integers(2**63, size=len(blocks)).tolist() for blocks in self._rows]
        jobs = dict(enumerate(zip(split(size, self._rows), seeds)))
        found = self._engine.run(lambda attempt: self._started("sample-shard", sample, jobs), self._forget)
        parts = [part for part in found if part is not None]
        return LocalObjective(Comparisons.concat(parts), self.loss, self.n_components)

    def _check_loss(self) -> None:
        """Refuse a custom loss whose module the workers cannot import; a class of the main script is sent to them."""
        module = type(self.loss).__module__
        if isinstance(self.loss, CustomLoss) and module != "__main__":
            found = self._engine.client.run(can_import, module)
            if not all(found.values()):
                raise ValueError(
                    f"loss {self.loss.name!r}: got a class of module {module!r}, which workers cannot import; install "
                    "the module there, or define the class in the script itself"
                )

    def _sum(self, X: np.ndarray, what: str) -> Part:
        jobs = dict.fromkeys(range(self.n_shards), (what,))
        return self._timed(self._summing(what, evaluate, [self._points(X)], jobs))

    def _summing(
        self, name: str, task: Callable[..., Part], arrays: list[np.ndarray], jobs: dict[int, tuple]
    ) -> Callable[[int], Any]:
        """A function that starts a task on shards, sends arrays to it, and sums its parts."""

        def build(attempt: int) -> Any:
            sent = [self._engine.broadcast(array, self.n_shards) for array in arrays]
            parts = self._started(name, task, {number: (*sent, *rest) for number, rest in jobs.items()})
            return self._engine.tree("sum", combine, parts)

        return build

    def _started(self, name: str, task: Callable[..., Any], jobs: dict[int, tuple]) -> list[Any]:
        """Futures of a task on shards, each on its own worker; `jobs` has further arguments by number of the shard."""
        shards = self._load()
        return [
            self._engine.submit(name, task, shards[number], *rest, home=self._homes[number])
            for number, rest in jobs.items()
        ]

    def _timed(self, build: Any) -> Part:
        started = time.perf_counter()
        part = self._engine.run(build, self._forget)
        self.timings.add(time.perf_counter() - started, part.seconds, self.n_comparisons, self.data.n_bytes)
        return part

    def _load(self) -> list[Any]:
        """Futures of the shards, loaded on their workers on first use and again after a worker was lost."""
        engine = self._engine
        if not self._shards:
            self._homes = engine.homes(self.n_shards)
            missing = list(range(self.n_shards))
            self._shards = [None] * self.n_shards
        else:
            missing = [number for number, home in enumerate(self._homes) if home not in engine.present]
            self._homes = engine.rehomed(self._homes)
        if missing:
            plan = self.data.plan
            if plan is not None:
                plan = engine.client.scatter(plan.without_people(), broadcast=True, hash=False)
            for number in missing:
                home = self._homes[number]
                pieces = place(engine, self.data.shards[number], self.data.hold_rows, home)
                self._shards[number] = engine.submit(
                    "load-shard", Shard, pieces, plan, self.loss, self.n_components, self.data.hold_rows, home=home
                )  # fmt: skip
        return self._shards

    def _forget(self) -> None:
        self._shards = []


@contextlib.contextmanager
def cluster_objective(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    client: Any,
    loss: Loss,
    n_components: int,
    n_objects: int | None,
    checkpoint: Checkpoint | None = None,
) -> Iterator[DaskObjective]:
    """The objective on a cluster while `OrdinalEmbedding.fit` runs; a checkpoint fixes how the data are divided."""
    with connected(client) as known:
        # The order of sums follows from how the data are cut, so a fit that is resumed cuts them as before.
        cut = {} if checkpoint is None else checkpoint.setting
        data = open_data(X, known, y=y, sample_weight=sample_weight, n_objects=n_objects, **cut)
        if not cut:
            cut |= {"n_shards": sum(data.engine.workers().values()), "hold": data.hold_rows}
        objective = DaskObjective(data, loss, n_components)
        try:
            yield objective
        except ClusterError as error:
            if checkpoint is None or not checkpoint.found:
                raise
            path = checkpoint.path
            raise ClusterError(f"{error}; the fit so far is in {path}: continue with resume=True") from error
        timings = objective.timings
        count = max(timings.n_evaluations, 1)
        logger.info(
            "%d passes, %.4g s each, %.4g s of it computing",
            timings.n_evaluations, timings.seconds / count, timings.compute_seconds / count,
        )  # fmt: skip
