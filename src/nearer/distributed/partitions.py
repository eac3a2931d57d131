"""Comparisons on a cluster: shards that the workers read, with consistent object numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from typing import Any

import numpy as np

from nearer.data import Comparisons, FileFormatError, check_integer
from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.constructors import check_rows
from nearer.data.messages import listed
from nearer.data.validate import refuse_masked
from nearer.distributed.cluster import Engine
from nearer.io.blocks import BlockPlan, Counts, count_block, plan_blocks, settle, total_weight
from nearer.io.coerce import as_comparisons
from nearer.io.frames import as_table
from nearer.io.parquet import RowGroups, look_into, open_row_groups, parquet_among, parquet_files
from nearer.io.read import as_layouts
from nearer.tables.layout import Layout
from nearer.tables.resolve import Plan
from nearer.tables.table import MemoryTable, Table

__all__ = ["ClusterData", "open_data"]

_WORKER_BYTES = 350 * 2**20  # memory of the worker process itself
_HELD_SHARE = 0.5  # of the remaining memory, held during the fit
_READ_SHARE = 0.15  # of the remaining memory, for blocks being read
_SLOPE_BYTES = 2 * 16  # per comparison: slopes of the old and the new snapshot
_READ_BYTES = 64  # per comparison that is read, with its slopes
_PIECES_PER_SHARD = 8


@dataclass
class ClusterData:
    """Comparisons on a cluster."""

    engine: Engine
    shards: list[list[Any]]  # pieces of each shard
    rows: list[list[int]]  # comparisons in each piece
    weights: list[list[float]]  # total weight of each piece
    plan: BlockPlan | None  # None if the pieces are comparisons already
    n_objects: int  # rows of the points: objects that occur
    n_comparisons: int
    n_columns: int  # 3 or 4
    seen: np.ndarray  # int, shape (n_objects,): their numbers among all objects
    n_all: int  # number of all objects
    labels: np.ndarray | None  # str, shape (n_all,)
    participants: np.ndarray | None  # str or int64, shape (n_people,): each once; None if not known
    hold_rows: bool  # rows stay in the workers' memory
    hold_slopes: bool  # slopes at the snapshot too

    def blocks(self) -> Iterator[Comparisons]:
        """Comparisons with participants, piece by piece, read by this process; objects are numbered as in `seen`."""
        for piece in chain.from_iterable(self.shards):
            made = piece if self.plan is None else self.plan.comparisons(piece)
            if made is not None:
                yield made

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows and of the slopes of one snapshot."""
        return self.n_comparisons * (4 * self.n_columns + _SLOPE_BYTES // 2)


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
    """Count comparisons on a cluster, number their objects, and decide what to hold in memory.

    Parameters
    ----------
    X : path or pattern of Parquet files, Dask array (N, 3 or 4), Dask dataframe, or data in memory as for `fit`
        The workers must be able to read the files, through fsspec. Columns have the meaning of
        `nearer.read_comparisons`. An array holds object numbers; no row may compare an object with itself.
    client : distributed.Client
    y, sample_weight : as in `OrdinalEmbedding.fit`; for a Dask collection, Dask collections with the same partitions
    n_objects : int, optional
        As in `OrdinalEmbedding`.
    n_shards : int, optional
        Tasks per pass; default: one per thread of the cluster. Equal numbers of shards give equal bits.
    hold : bool, optional
        Hold comparisons in the workers' memory instead of reading them in every pass; default: if they fit.
    worker_timeout : float, optional
        Seconds to wait for a worker when all are lost; default: Dask's setting ``nearer.worker-timeout``, or 60.
    """
    engine = Engine(client, worker_timeout)
    threads = sum(engine.workers().values())
    count = threads if n_shards is None else check_integer(n_shards, "n_shards", 1)
    is_dask = hasattr(X, "__dask_graph__")
    if not is_dask and not isinstance(X, (str, os.PathLike)):
        return _from_memory(as_comparisons(X, y, sample_weight, n_objects), engine, count, hold)
    pieces: Sequence[Any]
    if is_dask:
        pieces, plans = _partitions(X, y, sample_weight)
    else:
        if y is not None or sample_weight is not None:
            raise ValueError("fit from files takes no y or sample_weight: use the files' columns (weight for weights)")
        most_rows = int(_READ_SHARE * _room(engine) / max(threads, 1) / _READ_BYTES)
        pieces = _row_groups(os.fspath(X), engine, count, max(most_rows, 1 << 16))
        plans = plan_blocks(pieces[0], as_layouts(None, os.fspath(X)) or None)
    sizes = [piece.n_rows for piece in pieces]
    known = [size for size in sizes if size is not None]
    held = _what_fits(engine, sum(known) if len(known) == len(sizes) else 0, len(plans[0].form.objects), hold)
    name = _DASK if is_dask else os.fspath(X)
    return _counted(name, engine, pieces[0], _dealt_out(pieces, sizes, count), plans, n_objects, held)


def _from_memory(comparisons: Comparisons, engine: Engine, n_shards: int, hold: bool | None) -> ClusterData:
    n, width, n_all = len(comparisons), comparisons.index.shape[1], comparisons.n_objects
    seen = np.flatnonzero(comparisons.seen)
    whole = comparisons.replaced(
        index=_places(seen, n_all)[comparisons.index], n_objects=len(seen), labels=None, dropped={}
    )
    cuts = np.linspace(0, n, min(n_shards, n) + 1).astype(int)
    if whole.answer is not None:  # no answer is cut in two
        ends = np.append(np.flatnonzero(np.diff(whole.answer, prepend=-1)), n)
        cuts = np.unique(ends[np.searchsorted(ends, cuts)])
    parts = [part for cut in pairwise(cuts) if total_weight(part := whole.take(slice(*cut))) > 0]
    _, slopes = _what_fits(engine, n, width, hold)
    people = None if whole.people is None else whole.people.names
    return ClusterData(
        engine, [[part] for part in parts], [[len(part)] for part in parts], [[total_weight(part)] for part in parts],
        None, len(seen), n, width, seen, n_all, comparisons.labels, people, True, slopes,
    )  # fmt: skip


def _places(seen: np.ndarray, n_all: int) -> np.ndarray:
    """Position of each object among those that occur, int32 (n_all,)."""
    places = np.zeros(n_all, dtype=np.int32)
    places[seen] = np.arange(len(seen), dtype=np.int32)
    return places


def _room(engine: Engine) -> float:
    """Memory of all workers that is available for data, in bytes."""
    return max(engine.memory() - _WORKER_BYTES * len(engine.workers()), 0)


def _what_fits(engine: Engine, n_rows: int, width: int, hold: bool | None) -> tuple[bool, bool]:
    """Whether the rows, and also the slopes, fit into the workers' memory."""
    room = _HELD_SHARE * _room(engine)
    rows = n_rows * 4 * width
    keep_rows = rows <= room if hold is None else bool(hold)
    return keep_rows, keep_rows and rows + n_rows * _SLOPE_BYTES <= room


def place(engine: Engine, pieces: list[Any], hold: bool, home: str) -> list[Any]:
    """The pieces of a shard as an argument for a task at `home`."""
    if isinstance(pieces[0], Comparisons):
        # Passes do not need the participants.
        bare = [piece.replaced(answers=replace(piece.answers, participant=None)) for piece in pieces]
        return engine.client.scatter(bare, workers=[home], hash=False)
    if hold and isinstance(pieces[0], Partition):
        # Futures: Dask recomputes lost partitions.
        bare = [replace(piece, data=None) for piece in pieces]
        data = [engine.client.compute(piece.data) for piece in pieces]
        return [engine.submit("take-partition", piece.holding, part) for piece, part in zip(bare, data)]
    return pieces


def _dealt_out(pieces: Sequence[Any], sizes: list[int | None], n_shards: int) -> list[list[Any]]:
    """Consecutive pieces grouped into at most `n_shards` non-empty shards of about equal size."""
    n_shards = min(n_shards, len(pieces))
    weights = np.array([1.0 if size is None else size for size in sizes])
    middles = (np.cumsum(weights) - weights / 2) / max(weights.sum(), 1.0)
    owners = np.minimum((middles * n_shards).astype(int), n_shards - 1).tolist()
    shards: list[list[Any]] = [[] for _ in range(n_shards)]
    for piece, owner in zip(pieces, owners):
        shards[owner].append(piece)
    return [shard for shard in shards if shard]


def _counted(
    name: str, engine: Engine, first: Table, shards: list[list[Any]], plans: list[Plan], n_objects: int | None,
    held: tuple[bool, bool],
) -> ClusterData:  # fmt: skip
    """Count the comparisons of every piece on the cluster, and number the objects that occur."""

    def build(attempt: int) -> list[Any]:
        return [
            engine.submit("count-shard", count_pieces, place(engine, pieces, held[0], home), plans, home=home)
            for pieces, home in zip(shards, engine.homes(len(shards)))
        ]

    found = engine.run(build)
    total = reduce(Counts.join, (counts for counts, _ in found))
    plan, seen = settle(name, total, first, plans, None, n_objects)
    objects, places = plan.objects, _places(seen, plan.objects.n_objects)
    compact = replace(objects, numbers=places[objects.numbers], labels=None, n_objects=len(seen))
    kept = [(pieces, sizes) for pieces, (_, sizes) in zip(shards, found) if sum(weight for _, weight in sizes) > 0]
    return ClusterData(
        engine,
        [pieces for pieces, _ in kept],
        [[count for count, _ in sizes] for _, sizes in kept],
        [[weight for _, weight in sizes] for _, sizes in kept],
        replace(plan, objects=compact),
        len(seen), total.n_comparisons, total.width, seen, objects.n_objects, objects.labels, plan.people, *held,
    )  # fmt: skip


def count_pieces(pieces: Sequence[Table], plans: Sequence[Plan]) -> tuple[Counts, list[tuple[int, float]]]:
    """Total counts of a shard, and the number of comparisons and the weight of each piece."""
    found = [count_block(piece, plans) for piece in pieces]
    return reduce(Counts.join, found), [(one.n_comparisons, one.weight) for one in found]


# ---- Parquet files -------------------------------------------------------------------------------------------------


def _row_groups(path: str, engine: Engine, n_shards: int, most_rows: int) -> list[RowGroups]:
    """Parquet files as pieces of whole row groups, of about equal size and at most `most_rows` rows."""
    # The workers look into the files: the client may not have access.
    files, left_out = _list_files(path)
    found = engine.run(lambda _: [engine.submit("look-into-file", look_into, file) for file in files])
    tables = open_row_groups(path, found, left_out)
    fair = -(-sum(table.n_rows for table in tables) // (_PIECES_PER_SHARD * n_shards))
    pieces = []
    for table in tables:
        if max(table.lengths, default=0) > most_rows:
            raise FileFormatError(
                f"{table.name}: a row group has {max(table.lengths):,} rows, a thread of this cluster can read "
                f"{most_rows:,} at a time; write the file with smaller row groups, or use workers with more memory"
            )
        pieces += [replace(table, row_groups=run) for run in _runs(table.lengths, min(most_rows, fair))]
    return pieces


def _runs(lengths: Sequence[int], most_rows: int) -> list[tuple[int, ...]]:
    """Runs of consecutive row groups with at most `most_rows` rows each (or a single longer row group)."""
    runs: list[list[int]] = []
    size = 0
    for number, length in enumerate(lengths):
        if not length:
            continue
        if not runs or size + length > most_rows:
            runs.append([])
            size = 0
        runs[-1].append(number)
        size += length
    return [tuple(run) for run in runs]


def _list_files(path: str) -> tuple[list[str], list[str]]:
    """The sorted files of a path, folder, pattern or fsspec URL, and those left out."""
    left_out: list[str] = []
    if "://" not in path:
        found, left_out = parquet_files(path)
        return list(map(os.path.abspath, found)), left_out
    import fsspec  # type: ignore[import-untyped]

    try:
        filesystem, inside = fsspec.core.url_to_fs(path)
        found = sorted(filesystem.glob(inside) if "*" in inside else [inside])
        if len(found) == 1 and filesystem.isdir(found[0]):
            found, left_out = parquet_among(found[0], filesystem.find(found[0]))
    except FileFormatError:
        raise
    except (OSError, ValueError, ImportError) as error:
        raise FileFormatError(f"{path}: cannot be listed: {error}") from error
    if not found:
        raise FileFormatError(f"{path}: no such file")
    return list(map(filesystem.unstrip_protocol, found)), left_out


# ---- Dask collections ----------------------------------------------------------------------------------------------

_DASK = "the Dask collection"


@dataclass
class Partition(Table):
    """A partition of a Dask array or dataframe, with `y` and `sample_weight` as further columns."""

    data: Any = None  # a MemoryTable, or a delayed one that is computed at every read
    n_rows: int | None = None  # if known
    first_row: int = 0  # 0 for the first partition only, which may have further header rows

    def holding(self, data: Any) -> Partition:
        return replace(self, data=data)

    def head(self, n_rows: int) -> list[list[str]]:
        return []  # nothing is computed to show it

    def read(self, positions: Sequence[int]) -> list[Any]:
        data = self.data if isinstance(self.data, MemoryTable) else self.data.compute(scheduler="synchronous")
        return data.read(positions)


def _partitions(X: Any, y: Any, sample_weight: Any) -> tuple[list[Partition], list[Plan]]:
    """A piece for each partition of a Dask array (N, 3 or 4) or dataframe, and the plans to read them."""
    from dask import delayed

    values = _delayed(X, "comparisons", 2, "a Dask dataframe, or a Dask array of shape (N, 3 or 4)")
    is_array, layout = not hasattr(X, "columns"), Layout()
    lengths: Sequence[int | None] = [None] * len(values)
    if is_array:
        if X.shape[1] not in INDEX_COLUMNS:
            raise ValueError(f"comparisons: got a Dask array of shape {X.shape}, expected (N, 3 or 4)")
        X = X.rechunk({1: -1})
        values = _delayed(X, "comparisons", 2)
        lengths = [None if np.isnan(length) else int(length) for length in X.chunks[0]]
        names = ["anchor", "a", "b"] if y is not None and X.shape[1] == 3 else [*INDEX_COLUMNS[X.shape[1]]]
        layout = Layout(index_base=0)
    else:
        names = as_table(X._meta, _DASK).names
    beside = {}
    for name, collection in (("y", y), ("sample_weight", sample_weight)):
        if collection is None:
            continue
        if not hasattr(collection, "__dask_graph__"):
            raise ValueError(f"{name}: got {type(collection).__name__}, expected a Dask collection like X")
        beside[name] = _delayed(collection, name, 1, "one column, a Dask array of shape (N,) or a series")
        if len(beside[name]) != len(values):
            count = len(beside[name])
            raise ValueError(f"{name}: has {count} partitions and X {len(values)}; expected the same partitions")
        own = plan_blocks(Partition(_DASK, "Dask", names), layout)[0].at.get("weight") if name != "y" else None
        if own is not None:
            raise ValueError(f"sample_weight: given, but the dataframe has a column {names[own]!r} of weights too")
        names = [*names, name]
        said = {"answer": len(names), "answers": {"+1": "a", "-1": "b"}} if name == "y" else {"weight": len(names)}
        layout = layout.updated(Layout(**said))
    look = Partition(_DASK, "Dask", names, is_index=is_array)
    pieces = []
    for number, length in enumerate(lengths):
        name = f"partition {number} of {_DASK}"
        more = {key: parts[number] for key, parts in beside.items()}
        data = delayed(tabled, pure=False)(name, names, is_array, values[number], **more)
        pieces.append(replace(look, name=name, data=data, n_rows=length, first_row=number))
    return pieces, plan_blocks(look, layout)


def _delayed(collection: Any, name: str, n_dimensions: int, expected: str = "") -> list[Any]:
    """A delayed object for each partition of rows; raises unless the collection has `n_dimensions`."""
    found = getattr(collection, "ndim", None)
    if not isinstance(found, int) or found != n_dimensions:  # a Delayed has no ndim
        raise ValueError(f"{name}: got a Dask {type(collection).__name__}, expected {expected}")
    return np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist()


def tabled(name: str, names: list[str], is_array: bool, values: Any, **beside: Any) -> MemoryTable:
    """A partition of an array or a frame, with `y` and `sample_weight`, as a table with the columns `names`."""
    columns = _columns_of_array(name, values) if is_array else _columns_of_frame(name, names, values, len(beside))
    for what, part in beside.items():
        refuse_masked(part, f"{name}, {what}", "a value for each row")
        if len(part) != len(values):
            counts = f"{what} has {len(part):,} rows and X {len(values):,}"
            raise FileFormatError(f"{name}: {counts}; expected the same partitions")
        columns.append(_words(name, part) if what == "y" else part)
    return MemoryTable(name, "Dask", names, columns=columns)


def _columns_of_array(name: str, values: Any) -> list[Any]:
    if not len(values):
        return list(np.empty((values.shape[1], 0), np.int32))
    try:
        return list(check_rows(values, "comparisons").T)
    except ValueError as error:
        raise FileFormatError(f"{name}: {error}") from error


def _columns_of_frame(name: str, names: list[str], frame: Any, n_beside: int) -> list[Any]:
    """The columns of a partition in the order of the dataframe, which Dask does not guarantee."""
    table, expected = as_table(frame, name), names[: len(names) - n_beside]
    assert isinstance(table, MemoryTable)
    if sorted(table.names) != sorted(expected):
        found = listed(table.names) or "none"
        raise FileFormatError(f"{name}: got the columns {found}, expected {listed(expected)} as in the dataframe")
    order = range(len(expected)) if not any(expected) else map(table.names.index, expected)
    return [table.columns[position] for position in order]


def _words(name: str, answers: Any) -> np.ndarray:
    values = np.asarray(answers)
    expected = (0, 1) if values.dtype.kind == "b" else (-1, 1)
    if values.ndim != 1 or values.dtype.kind not in "bif" or not np.isin(values, expected).all():
        raise FileFormatError(f"{name}: y must hold +1 and -1, or True and False, one for each row")
    return np.where(values > 0, "+1", "-1")
