"""Comparisons on a cluster: counted, their objects known, cut into shards that workers read for themselves."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nearer.data import Comparisons, as_comparisons
from nearer.distributed import sources, tasks
from nearer.distributed.cluster import Engine
from nearer.distributed.coding import Coding
from nearer.distributed.pieces import ChunkPiece, DelayedPiece, MemoryPiece
from nearer.distributed.sources import Source
from nearer.io import FileFormatError

logger = logging.getLogger(__name__)

__all__ = ["ClusterData", "is_remote", "open_data"]

# Shares of the workers' memory, beyond what the programs themselves take up: what may be held for the whole fit, and
# what one thread may read at a time.
_WORKER_BYTES = 350 * 2**20
_HELD_SHARE = 0.5
_READ_SHARE = 0.15
# Bytes for one comparison: two snapshots' slopes (the old and the new overlap), and all of one read with its slopes.
_SLOPE_BYTES = 2 * 16
_READ_BYTES = 64


@dataclass
class ClusterData:
    """Comparisons on a cluster.

    Attributes
    ----------
    engine : Engine
    shards : for each shard, its pieces
    rows, weights : for each shard, the number of comparisons and the total weight of each piece
    coding : Coding, or None if the objects are numbered already
    n_objects : rows of the points, one for each object that occurs
    n_comparisons : int
    n_columns : 3 or 4
    seen : int (n_objects,), the place of each of them among all objects
    n_all : number of all objects
    labels : str (n_all,) or None
    hold_rows, hold_slopes : whether rows, and slopes at the snapshot, stay in the workers' memory
    """

    engine: Engine
    shards: list[list[Any]]
    rows: list[list[int]]
    weights: list[list[float]]
    coding: Coding | None
    n_objects: int
    n_comparisons: int
    n_columns: int
    seen: np.ndarray
    n_all: int
    labels: np.ndarray | None
    hold_rows: bool
    hold_slopes: bool

    @property
    def n_bytes(self) -> int:
        """Bytes of rows and of the slopes of one snapshot, were they in one place."""
        return self.n_comparisons * (4 * self.n_columns + _SLOPE_BYTES // 2)

    def place(self, shard: int, home: str) -> list[Any]:
        """The pieces of a shard in the form to hand to a task at `home`."""
        return _place(self.engine, self.shards[shard], self.hold_rows, home)


def is_remote(X: Any) -> bool:
    """Whether X is data for a cluster: a path or pattern of Parquet files, or a Dask collection."""
    return isinstance(X, (str, os.PathLike)) or hasattr(X, "__dask_graph__")


def open_data(
    X: Any,
    client: Any,
    *,
    y: Any = None,
    sample_weight: Any = None,
    n_objects: int | None = None,
    n_shards: int | None = None,
    hold: bool | None = None,
    worker_timeout: float | None = None,
) -> ClusterData:
    """Look at comparisons on a cluster: count them, find their objects, decide what stays in memory.

    Parameters
    ----------
    X : path or pattern of Parquet files (anything fsspec opens), Dask array (N, 3 or 4), Dask dataframe, or whatever
        `as_comparisons` takes
        Files are read by the workers, so the workers must be able to reach them. Columns are found by name: anchor,
        near, far or i, j, l, k, of whole numbers or text, and weight.
    client : distributed.Client
    y, sample_weight : as in `OrdinalEmbedding.fit`; for a Dask collection, Dask collections with the same partitions
    n_objects : int, optional
        As in `OrdinalEmbedding`.
    n_shards : int, optional
        Tasks in a pass; default: one for each thread of the cluster. Equal numbers of shards give equal bits.
    hold : bool, optional
        Keep comparisons in the workers' memory, rather than read them anew at every pass; default: if they fit.
    worker_timeout : float, optional
        Seconds to wait for a worker when all are gone; default: Dask's configuration ``nearer.worker-timeout``, or 60.
    """
    engine = Engine(client, worker_timeout)
    threads = sum(engine.workers().values())
    count = threads if n_shards is None else n_shards
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueError(f"n_shards: got {n_shards!r}, expected a whole number of at least 1")
    if not is_remote(X):
        return _from_memory(as_comparisons(X, y, sample_weight, n_objects), engine, count, hold)
    if hasattr(X, "__dask_graph__"):
        source = sources.from_collection(X, y, sample_weight)
    else:
        if y is not None or sample_weight is not None:
            raise ValueError("fit from files takes no y or sample_weight: use the files' columns (weight for weights)")
        most_rows = int(_READ_SHARE * _room(engine) / max(threads, 1) / _READ_BYTES)
        source = sources.from_parquet(os.fspath(X), engine, count, max(most_rows, 1 << 16))
    held = _what_fits(engine, source.n_rows or 0, source.n_columns, hold)
    return _scanned(engine, source, source.dealt_out(count), held, n_objects)


def _from_memory(comparisons: Comparisons, engine: Engine, n_shards: int, hold: bool | None) -> ClusterData:
    n, width, n_all = len(comparisons), comparisons.index.shape[1], comparisons.n_objects
    cuts = np.linspace(0, n, min(n_shards, n) + 1).astype(int)
    seen = np.flatnonzero(comparisons.seen)
    bare = Comparisons(comparisons.index, n_objects=n_all, weights=comparisons.weights)
    if len(seen) < n_all:
        number = np.zeros(n_all, dtype=np.int32)
        number[seen] = np.arange(len(seen), dtype=np.int32)
        bare = Comparisons(number[comparisons.index], n_objects=len(seen), weights=comparisons.weights)
    shards, rows, weights = [], [], []
    for start, stop in pairwise(cuts):
        total = stop - start if bare.weights is None else bare.weights[start:stop].sum()
        if total > 0:
            shards.append([MemoryPiece(bare[start:stop])])
            rows.append([int(stop - start)])
            weights.append([float(total)])
    _, slopes = _what_fits(engine, n, width, hold)
    return ClusterData(
        engine, shards, rows, weights, None, len(seen), n, width, seen, n_all, comparisons.labels, True, slopes,
    )  # fmt: skip


def _room(engine: Engine) -> float:
    """Bytes for data in the memory of all workers."""
    return max(engine.memory() - _WORKER_BYTES * len(engine.workers()), 0)


def _what_fits(engine: Engine, n_rows: int, width: int, hold: bool | None) -> tuple[bool, bool]:
    """Whether the rows, and the slopes besides, may stay in the workers' memory."""
    room = _HELD_SHARE * _room(engine)
    rows = n_rows * 4 * width
    keep_rows = rows <= room if hold is None else bool(hold)
    return keep_rows, keep_rows and rows + n_rows * _SLOPE_BYTES <= room


def _place(engine: Engine, pieces: list[Any], hold: bool, home: str) -> list[Any]:
    if isinstance(pieces[0], MemoryPiece):
        return engine.client.scatter(pieces, workers=[home], hash=False)
    if hold and isinstance(pieces[0], DelayedPiece):
        # Futures, so that Dask itself makes a lost partition again, wherever it likes.
        return [
            engine.submit("take-partition", ChunkPiece, values, piece.number, piece.names, weights, answers)
            for piece in pieces
            for values, weights, answers in [
                [part if part is None else engine.client.compute(part) for part in piece.recipe]
            ]
        ]
    return pieces


def _scanned(
    engine: Engine, source: Source, shards: list[list[Any]], held: tuple[bool, bool], n_objects: int | None
) -> ClusterData:
    """Pass once over the data on the cluster, and number the objects."""
    n_told = n_objects if n_objects is not None else source.n_objects

    def build(attempt: int) -> list[Any]:
        found = []
        for pieces, home in zip(shards, engine.homes(len(shards))):
            placed = _place(engine, pieces, held[0], home)
            found.append(engine.submit("scan-shard", tasks.scan, placed, n_told, home=home))
        codings = [engine.submit("objects-of-shard", tasks.coding_of, facts) for facts in found]
        counts = [engine.submit("count-shard", tasks.without_coding, facts) for facts in found]
        return [engine.tree("collect-objects", tasks.union, codings), *counts]

    coding, *facts = engine.run(build)
    if coding is None:
        raise ValueError("comparisons: no rows, expected at least one")
    if not any(sum(one.weights) > 0 for one in facts):
        raise ValueError("weights: all are 0, expected at least one above 0")
    widths = {one.width for one in facts if one.width}
    if len(widths) > 1:
        raise ValueError("comparisons: some partitions hold triplets and some quadruplets, expected one kind")
    coding, seen, n_all, labels = _numbered(coding, source, n_told)
    kept = [(pieces, one) for pieces, one in zip(shards, facts) if sum(one.weights) > 0]
    return ClusterData(
        engine, [pieces for pieces, _ in kept], [one.rows for _, one in kept], [one.weights for _, one in kept], coding,
        len(coding), sum(sum(one.rows) for one in facts), widths.pop(), seen, n_all, labels, *held,
    )  # fmt: skip


def _numbered(coding: Coding, source: Source, n_told: int | None) -> tuple[Coding, np.ndarray, int, np.ndarray | None]:
    """The coding with its objects in order, their places among all objects, the number of all, and their labels."""
    everyone = np.arange(len(coding))
    if coding.is_text:
        if source.labels is None:
            return coding, everyone, len(coding), coding.texts()
        place = {label: number for number, label in enumerate(source.labels.tolist())}
        unknown = [text for text in coding.texts().tolist() if text not in place]
        if unknown:
            raise FileFormatError(
                f"{source.name}: label {unknown[0]!r} is not one of the {len(place):,} labels that the first file names"
            )
        seen = np.array([place[text] for text in coding.texts().tolist()])
        order = np.argsort(seen)
        return Coding(coding.values.take(order)), seen[order], len(place), source.labels
    if source.numbers_are_names and n_told is None and not np.array_equal(coding.values, everyone):
        logger.info("%s: the object numbers are not 0 to n - 1: taken as names", source.name)
        return coding, everyone, len(coding), coding.texts()
    if coding.values[0] < 0 or coding.values[-1] >= 2**31:
        span = f"{coding.values[0]} to {coding.values[-1]}"
        raise ValueError(f"comparisons: object numbers go from {span}, expected 0 to 2**31 - 1")
    return coding, coding.values, n_told or int(coding.values[-1]) + 1, source.labels
