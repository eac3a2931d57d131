"""`DaskObjective`: what solvers need, computed by the workers of a Dask cluster.

The workers run plain functions of a shard and the points, float64 (n_objects, n_components), built on
`LocalObjective`. Which shard takes which stochastic steps depends only on the arguments, not on the scheduling.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.distributed.cluster import ClusterError, can_import, connected
from nearer.distributed.partitions import ClusterData, Shard, open_data, place, row_bytes
from nearer.io.blocks import BlockPlan
from nearer.losses import Loss
from nearer.machine import available_memory
from nearer.objective import LocalObjective, Objective, Snapshot, StreamedObjective, resolve_jobs
from nearer.solvers.checkpoint import Checkpoint

_SMALL_BATCH = 20

# ---- on the workers --------------------------------------------------------------------------------------------------

Part = tuple[float, Any]  # part of a total, and of an array; 0 without one
Steps = tuple[float, int, int, int]  # of a stochastic pass: step size, number of steps, seed, first step


class Loaded:
    """The objective of a shard on its worker, and the last snapshot with the slopes of its comparisons."""

    def __init__(self, pieces: list[Any], shard: Shard, plan: BlockPlan | None, loss: Loss, shape: tuple, hold: bool):
        self.shard = replace(shard, pieces=pieces, plan=plan)
        self._given = loss, shape, hold
        n_objects, n_components = shape
        # One thread: Dask runs as many tasks as a worker has threads.
        self.objective: LocalObjective | StreamedObjective
        if hold:
            read = list(self.shard.blocks())
            comparisons = read[0] if len(read) == 1 else Comparisons.concat(read)
            self.objective = LocalObjective(comparisons, loss, n_components, n_jobs=1)
            self.shard = replace(shard, pieces=[comparisons])
        else:
            self.objective = StreamedObjective(self.shard, loss, n_components, n_objects, n_jobs=1)
        self._taken: Snapshot | None = None

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """The snapshot at X; computed again only if the last one was at another point."""
        taken = self._taken
        if taken is None or not np.array_equal(taken.X, X):
            taken = self._taken = self.objective.snapshot(X)
        return taken

    def __sizeof__(self) -> int:
        """Size in bytes, by which Dask spills and moves data."""
        return self.shard.n_comparisons * row_bytes(self.shard.n_columns) if self._given[-1] else 1024

    def __reduce__(self) -> tuple:
        return Loaded, (self.shard.pieces, self.shard, self.shard.plan, *self._given)


def evaluate(loaded: Loaded, X: np.ndarray, what: str) -> Part:
    """Weighted sums over a shard: "value", "error", or the value and gradient, kept for `svrg` if "snapshot"."""
    weight, objective = loaded.shard.total_weight, loaded.objective
    if what in ("value", "error"):
        return weight * getattr(objective, what)(X), 0.0
    if what == "snapshot":
        taken = loaded.snapshot(X)
        return weight * taken.value, weight * taken.gradient
    value, gradient = objective.value_and_gradient(X)
    return weight * value, weight * gradient


def combine(parts: Sequence[Part]) -> Part:
    """Sum of parts, in the order given."""
    totals, arrays = zip(*parts)
    return sum(totals), reduce(np.add, arrays)


def svrg(loaded: Loaded, X: np.ndarray, S: np.ndarray, gradient: np.ndarray, share: float, steps: Steps) -> Part:
    """Weighted displacement by SVRG steps on a shard from X, with the snapshot at S and the full gradient there."""
    snapshot = Snapshot(S, np.nan, gradient, loaded.snapshot(S).slopes)
    return 0.0, share * (loaded.objective.svrg_pass(X, snapshot, *steps) - X)


def sgd(loaded: Loaded, X: np.ndarray, share: float, steps: Steps, decay: float) -> Part:
    """Weighted displacement by plain stochastic steps on a shard, see `Objective.sgd_pass`."""
    return 0.0, share * (loaded.objective.sgd_pass(X, *steps, decay) - X)


def adagrad(loaded: Loaded, X: np.ndarray, memory: np.ndarray, share: float, steps: Steps) -> Part:
    """Weighted mean loss, displacement (n, d) and growth of the memory (n, 1) by AdaGrad steps on a shard."""
    point, pulls, value = loaded.objective.adagrad_pass(X, memory, *steps)
    return share * value, np.column_stack([share * (point - X), pulls - memory])


def sample(loaded: Loaded, size: int, seed: int) -> Comparisons:
    """Random comparisons of a shard; pieces without weight are omitted."""
    objective = loaded.objective
    return objective.subset(min(size, objective.n_comparisons), np.random.default_rng(seed)).comparisons


def take(loaded: Loaded, rows: np.ndarray) -> Comparisons:
    """Some comparisons of a shard, see `Objective.comparisons_at`."""
    return loaded.objective.comparisons_at(rows)


# ---- on this machine -------------------------------------------------------------------------------------------------


def split(count: int, sizes: Sequence[float]) -> list[int]:
    """A count divided in proportion to some sizes."""
    ends = np.concatenate([[0.0], np.cumsum(sizes, dtype=np.float64)])
    return np.diff(np.rint(ends / ends[-1] * count).astype(np.int64)).tolist()


def plan_steps(
    weights: Sequence[float], step: float, n_steps: int, seed: int, first: int, same_length: bool
) -> dict[int, tuple[float, Steps]]:
    """For every shard that takes steps: its share, and its `Steps`, given the steps of a serial pass.

    Shards get steps in proportion to their weights, so that on average every comparison counts as in the objective.
    With `same_length` a shard's path is as long as that of the serial pass: fewer steps, each longer.
    """
    plan = {}
    for number, (own, before) in enumerate(zip(split(n_steps, weights), split(first, weights))):
        if own:
            share = own / n_steps
            word = np.random.SeedSequence([int(seed), number]).generate_state(1, np.uint64)[0]
            plan[number] = share, (step / share if same_length else step, own, int(word >> np.uint64(1)), before)
    return plan


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
        self._engine = comparisons.engine
        self._check_loss()
        self._weights = [shard.total_weight for shard in comparisons.shards]
        self._total = float(sum(self._weights))
        self._homes: list[str] = []
        self._loaded: list[Any] = []
        self.n_shards = len(comparisons.shards)  # tasks in a pass

    def value(self, X: np.ndarray) -> float:
        return self._mean(X, "value")[0]

    def error(self, X: np.ndarray) -> float:
        return self._mean(X, "error")[0]

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        return self._mean(X, "gradient")

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """The slopes of the comparisons stay on the workers."""
        X = self._points(X).copy()
        return Snapshot(X, *self._mean(X, "snapshot"), None)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        X = self._points(X)
        jobs = plan_steps(self._weights, step, n_steps, seed, first, same_length=True)
        return X + self._sum(svrg, [X, snapshot.X, snapshot.gradient], jobs)[1]

    def sgd_pass(
        self, X: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0, decay: float = 0
    ) -> np.ndarray:
        X = self._points(X)
        plan = plan_steps(self._weights, step, n_steps, seed, first, same_length=False)
        # A shard counts its own steps: the decay over a pass is as in a serial run.
        jobs = {number: (*own, decay * self.n_shards) for number, own in plan.items()}
        return X + self._sum(sgd, [X], jobs)[1]

    def adagrad_pass(
        self, X: np.ndarray, memory: np.ndarray, step: float, n_steps: int, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        X = self._points(X)
        jobs = plan_steps(self._weights, step, n_steps, seed, first, same_length=False)
        value, moved = self._sum(adagrad, [X, memory], jobs)
        return X + moved[:, :-1], memory + moved[:, -1], value

    def subset(self, size: int, rng: np.random.Generator) -> Any:
        """A sample on this machine, if it fits and is no slower than full passes on the cluster; else all."""
        small = _SMALL_BATCH * self.n_objects * self.n_components
        slow = size > max(self.n_comparisons * resolve_jobs(None) // self._engine.n_threads, small)
        if slow or size * row_bytes(self.data.n_columns) > (available_memory() or 0) / 4:
            return self
        rows = [shard.n_comparisons for shard in self.data.shards]
        seeds = rng.integers(2**63, size=self.n_shards).tolist()
        jobs = {number: own for number, own in enumerate(zip(split(size, rows), seeds)) if own[0]}
        parts = self._engine.run(lambda: self._started(sample, jobs), self._forget)
        return LocalObjective(Comparisons.concat(parts), self.loss, self.n_components)

    def comparisons_at(self, rows: np.ndarray) -> Comparisons:
        ends = np.cumsum([shard.n_comparisons for shard in self.data.shards])
        cuts = np.searchsorted(rows, [0, *ends])
        starts = [0, *ends]
        jobs = {k: (rows[cuts[k] : cuts[k + 1]] - starts[k],) for k in range(self.n_shards) if cuts[k] < cuts[k + 1]}
        return Comparisons.concat(self._engine.run(lambda: self._started(take, jobs), self._forget))

    def with_loss(self, loss: Loss, n_components: int) -> DaskObjective:
        return DaskObjective(self.data, loss, n_components)

    def _check_loss(self) -> None:
        """Refuse a loss whose module the workers cannot import; a class of the main script is sent to them."""
        module = type(self.loss).__module__
        if not all(self._engine.ask(can_import, module).values()):
            raise ValueError(
                f"loss {self.loss.name!r}: got a class of module {module!r}, which workers cannot import; install the "
                "module there, or define the class in the script itself"
            )

    def _mean(self, X: np.ndarray, what: str) -> tuple[float, Any]:
        total, array = self._sum(evaluate, [self._points(X)], dict.fromkeys(range(self.n_shards), (what,)))
        return total / self._total, array / self._total

    def _sum(self, task: Callable[..., Part], arrays: list[np.ndarray], jobs: dict[int, tuple]) -> Part:
        """Sum of a task over shards; `arrays` go to all, `jobs` are further arguments by number of the shard."""

        def build() -> Any:
            # An array that is given twice is sent once.
            sent = {id(array): self._engine.shared(array, self.n_shards) for array in arrays}
            same = [sent[id(array)] for array in arrays]
            parts = self._started(task, {number: (*same, *own) for number, own in jobs.items()})
            return self._engine.tree(combine, parts)

        return self._engine.run(build, self._forget)

    def _started(self, task: Callable[..., Any], jobs: dict[int, tuple]) -> list[Any]:
        """Futures of a task on shards, each on its own worker."""
        self._load()
        return [
            self._engine.submit(task, self._loaded[number], *arguments, home=self._homes[number])
            for number, arguments in jobs.items()
        ]

    def _load(self) -> None:
        """Load the shards on their workers, on first use and again after data were lost."""
        if self._loaded:
            return
        engine, data, shape = self._engine, self.data, (self.n_objects, self.n_components)
        self._homes = engine.homes(self.n_shards)
        plan = None if data.plan is None else engine.client.scatter(data.plan, hash=False)
        for shard, home in zip(data.shards, self._homes):
            pieces, bare = place(engine, shard.pieces, data.hold, home), replace(shard, pieces=[])
            self._loaded.append(engine.submit(Loaded, pieces, bare, plan, self.loss, shape, data.hold, home=home))

    def _forget(self) -> None:
        self._loaded = []


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
            cut |= {"n_shards": data.engine.n_threads, "hold": data.hold}
        objective = DaskObjective(data, loss, n_components)
        try:
            yield objective
        except ClusterError as error:
            if checkpoint is None or not checkpoint.found:
                raise
            path = checkpoint.path
            raise ClusterError(f"{error}; the fit so far is in {path}: continue with resume=True") from error
