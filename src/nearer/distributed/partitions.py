"""Comparisons on a cluster: shards that the workers read, with consistent object numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from nearer.data import Comparisons, FileFormatError, check_integer
from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.messages import listed
from nearer.data.validate import refuse_masked
from nearer.distributed.cluster import Engine
from nearer.io.blocks import BlockPlan, Counts, count_block, plan_blocks, settle, total_weight
from nearer.io.coerce import as_comparisons, refuse_beside_file
from nearer.io.frames import as_table
from nearer.io.parquet import RowGroups, look_into, open_row_groups, parquet_among, parquet_files
from nearer.io.read import as_layouts
from nearer.tables.layout import Layout
from nearer.tables.resolve import Plan
from nearer.tables.table import MemoryTable, Table

_WORKER_BYTES = 350 * 2**20  # memory of the worker process itself
_HELD_SHARE = 0.5  # of the remaining memory, held during the fit
_SLOPE_BYTES = 2 * 16  # per comparison: slopes of the old and the new snapshot
_PIECES_PER_SHARD = 8
_MOST_ROWS = 1 << 20  # in a piece, unless a row group has more


@dataclass
class Shard:
    """The comparisons of one task; a `BlockSource` where they are read piece by piece in every pass."""

    pieces: Sequence[Any]  # tables, or one of comparisons
    n_comparisons: int
    total_weight: float
    n_columns: int
    has_weights: bool
    plan: BlockPlan | None = None  # None if the pieces are comparisons already

    def blocks(self, size: int = 0, rng: np.random.Generator | None = None) -> Iterator[Comparisons]:
        """All comparisons, a piece in each block; in order, or by `rng` in random order."""
        numbers = range(len(self.pieces)) if rng is None else rng.permutation(len(self.pieces)).tolist()
        return filter(None, (self._read(self.pieces[number]) for number in numbers))

    def _read(self, piece: Any) -> Comparisons | None:
        return piece if self.plan is None else self.plan.comparisons(piece)


@dataclass
class ClusterData:
    """Comparisons on a cluster."""

    engine: Engine
    shards: list[Shard]
    plan: BlockPlan | None  # how the shards are read; they do not hold it
    n_objects: int  # rows of the points: objects that occur
    n_comparisons: int
    n_columns: int  # 3 or 4
    seen: np.ndarray  # int, shape (n_objects,): their numbers among all objects
    n_all: int  # number of all objects
    labels: np.ndarray | None  # str, shape (n_all,)
    hold: bool  # whether comparisons stay in the workers' memory


def open_data(
    X: Any,
    client: Any,
    *,
    y: Any = None,
    sample_weight: Any = None,
    n_objects: int | None = None,
    n_shards: int | None = None,
    hold: bool | None = None,
) -> ClusterData:
    """Count comparisons on a cluster, number their objects, and decide whether to hold them in memory.

    Parameters
    ----------
    X : path or pattern of Parquet files, Dask array (N, 3 or 4), Dask dataframe, or data in memory as for `fit`
        The workers must be able to read the files, through fsspec. Columns have the meaning of
        `nearer.read_comparisons`. An array holds object numbers; no row may compare an object with itself.
    client : distributed.Client
    y, sample_weight : as in `OrdinalEmbedding.fit`; for a Dask array, Dask arrays (N,)
    n_objects : int, optional
        As in `OrdinalEmbedding`.
    n_shards : int, optional
        Tasks per pass; default: one per thread of the cluster. Equal numbers of shards give equal bits.
    hold : bool, optional
        Hold comparisons in the workers' memory instead of reading them in every pass; default: if they fit.
    """
    engine = Engine(client)
    count = engine.n_threads if n_shards is None else check_integer(n_shards, "n_shards", 1)
    is_dask = hasattr(X, "__dask_graph__")
    if not is_dask and not isinstance(X, (str, os.PathLike)):
        return _from_memory(as_comparisons(X, y, sample_weight, n_objects), engine, count)
    pieces: Sequence[Any]
    if is_dask:
        name = _DASK
        pieces, plans = _partitions(X, y, sample_weight)
    else:
        name = os.fspath(X)
        refuse_beside_file(y, sample_weight)
        pieces = _row_groups(name, engine, count)
        plans = plan_blocks(pieces[0], as_layouts(None, name))
    if hold is None:  # partitions of unknown length, in a dataframe, are assumed to fit
        room = engine.memory() - _WORKER_BYTES * engine.n_workers
        n_bytes = sum(piece.n_rows or 0 for piece in pieces) * row_bytes(len(plans[0].form.objects))
        hold = n_bytes <= _HELD_SHARE * max(room, 0)
    return _counted(name, engine, _dealt_out(pieces, count), plans, n_objects, hold)


def row_bytes(n_columns: int) -> int:
    """Memory for a comparison that is held."""
    return 4 * n_columns + _SLOPE_BYTES


def _from_memory(comparisons: Comparisons, engine: Engine, n_shards: int) -> ClusterData:
    n, n_all = len(comparisons), comparisons.n_objects
    seen = np.flatnonzero(comparisons.seen)
    # Passes do not need the participants.
    whole = comparisons.replaced(
        index=_places(seen, n_all)[comparisons.index], n_objects=len(seen), labels=None, dropped={},
        answers=replace(comparisons.answers, participant=None),
    )  # fmt: skip
    cuts = np.linspace(0, n, min(n_shards, n) + 1).astype(int)
    if whole.answer is not None:  # no answer is cut in two
        ends = np.append(np.flatnonzero(np.diff(whole.answer, prepend=-1)), n)
        cuts = np.unique(ends[np.searchsorted(ends, cuts)])
    parts = [part for cut in pairwise(cuts) if total_weight(part := whole.take(slice(*cut))) > 0]
    width, has_weights = whole.index.shape[1], whole.weights is not None
    shards = [Shard([part], len(part), total_weight(part), width, has_weights) for part in parts]
    return ClusterData(engine, shards, None, len(seen), n, width, seen, n_all, comparisons.labels, True)


def _places(seen: np.ndarray, n_all: int) -> np.ndarray:
    """Position of each object among those that occur, int32 (n_all,)."""
    places = np.zeros(n_all, dtype=np.int32)
    places[seen] = np.arange(len(seen), dtype=np.int32)
    return places


def place(engine: Engine, pieces: Sequence[Any], hold: bool, home: str) -> Any:
    """The pieces of a shard as an argument for a task at `home`."""
    if isinstance(pieces[0], Comparisons):
        return engine.client.scatter(list(pieces), workers=[home], hash=False)
    if hold and isinstance(pieces[0], Partition):
        # Futures: Dask recomputes lost partitions.
        bare = [replace(piece, data=None) for piece in pieces]
        data = [engine.client.compute(piece.data) for piece in pieces]
        return [engine.submit(piece.holding, part) for piece, part in zip(bare, data)]
    return pieces


def _dealt_out(pieces: Sequence[Any], n_shards: int) -> list[list[Any]]:
    """Consecutive pieces grouped into at most `n_shards` non-empty shards of about equal size."""
    n_shards = min(n_shards, len(pieces))
    weights = np.array([1.0 if piece.n_rows is None else piece.n_rows for piece in pieces])
    middles = (np.cumsum(weights) - weights / 2) / max(weights.sum(), 1.0)
    owners = np.minimum((middles * n_shards).astype(int), n_shards - 1).tolist()
    return [[piece for piece, _ in group] for _, group in groupby(zip(pieces, owners), key=itemgetter(1))]


def _counted(
    name: str, engine: Engine, shards: list[list[Any]], plans: list[Plan], n_objects: int | None, hold: bool
) -> ClusterData:
    """Count the comparisons of every shard on the cluster, and number the objects that occur."""

    def build() -> list[Any]:
        return [
            engine.submit(count_pieces, place(engine, pieces, hold, home), plans, home=home)
            for pieces, home in zip(shards, engine.homes(len(shards)))
        ]

    found = engine.run(build)
    total = reduce(Counts.join, found)
    plan, seen = settle(name, total, shards[0][0], plans, n_objects)
    objects, places = plan.objects, _places(seen, plan.objects.n_objects)
    compact = replace(objects, numbers=places[objects.numbers], labels=None, n_objects=len(seen))
    kept = [
        Shard(pieces, counts.n_comparisons, counts.weight, total.width, total.weighted)
        for pieces, counts in zip(shards, found)
        if counts.weight > 0
    ]
    return ClusterData(
        engine, kept, replace(plan, objects=compact), len(seen), total.n_comparisons, total.width, seen,
        objects.n_objects, objects.labels, hold,
    )  # fmt: skip


def count_pieces(pieces: Sequence[Table], plans: Sequence[Plan]) -> Counts:
    return reduce(Counts.join, (count_block(piece, plans) for piece in pieces))


# ---- Parquet files -------------------------------------------------------------------------------------------------


def _row_groups(path: str, engine: Engine, n_shards: int) -> list[RowGroups]:
    """Parquet files as pieces of whole row groups, of about equal size."""
    # The workers look into the files: the client may not have access.
    files, left_out = _list_files(path)
    found = engine.run(lambda: [engine.submit(look_into, file) for file in files])
    tables = open_row_groups(path, found, left_out)
    size = min(-(-sum(table.n_rows for table in tables) // (_PIECES_PER_SHARD * n_shards)), _MOST_ROWS)
    pieces = []
    for table in tables:
        starts, filled = np.cumsum([0, *table.lengths]), np.flatnonzero(table.lengths).tolist()
        runs = groupby(filled, key=lambda group: starts[group] // size)
        pieces += [replace(table, row_groups=tuple(run)) for _, run in runs]
    return pieces


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
    """A partition of a Dask array or dataframe."""

    data: Any = None  # a MemoryTable, or a delayed one that is computed at every read
    n_rows: int | None = None  # if known
    first_row: int = 0  # 0 for the first partition only, which may have further header rows

    def holding(self, data: Any) -> Partition:
        return replace(self, data=data)

    def head(self, n_rows: int) -> list[list[str]]:
        return []  # nothing is computed to show it

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        data: Table = self.data if isinstance(self.data, Table) else self.data.compute(scheduler="synchronous")
        return data.read(positions)


def _partitions(X: Any, y: Any, sample_weight: Any) -> tuple[list[Partition], list[Plan]]:
    """A piece for each partition of a Dask array (N, 3 or 4) or dataframe, and the plans to read them."""
    import dask

    found = getattr(X, "_meta", None)
    is_array = isinstance(found, np.ndarray)
    if getattr(found, "ndim", 0) != 2 or (is_array and X.shape[1] not in INDEX_COLUMNS):
        shape = f" of shape {X.shape}" if is_array else ""
        what = f"got a Dask {type(X).__name__}{shape}"
        raise ValueError(f"comparisons: {what}, expected a Dask dataframe, or a Dask array of shape (N, 3 or 4)")
    read: Callable[..., MemoryTable]
    beside = {name: values for name, values in (("y", y), ("weights", sample_weight)) if values is not None}
    if is_array:
        X = X.rechunk({1: -1})
        names = [*INDEX_COLUMNS[X.shape[1]], *(["weight"] if "weights" in beside else [])]
        look = Partition(_DASK, "Dask", names, is_index=True)
        plans, read = plan_blocks(look, [Layout(index_base=0)]), _table_of_array
        lengths = [None if np.isnan(length) else int(length) for length in X.chunks[0]]
    else:
        refuse_beside_file(y, sample_weight)
        look = Partition(_DASK, "Dask", as_table(found, _DASK).names)
        plans, read, lengths = plan_blocks(look), _table_of_frame, [None] * X.npartitions
    parts = [np.ravel(X.to_delayed()).tolist()]
    for name, values in beside.items():
        try:
            parts.append(values.rechunk(X.chunks[:1]).to_delayed().tolist())
        except (AttributeError, ValueError) as error:
            raise ValueError(f"{name}: got {values!r}, expected a Dask array of shape (N,) ({error})") from error
    pieces = []
    for number, (length, values, *more) in enumerate(zip(lengths, *parts)):
        name = f"partition {number} of {_DASK}"
        data = dask.delayed(read, pure=False)(name, look.names, values, **dict(zip(beside, more)))
        pieces.append(replace(look, name=name, data=data, n_rows=length, first_row=number))
    return pieces, plans


def _table_of_array(name: str, names: list[str], values: Any, y: Any = None, weights: Any = None) -> MemoryTable:
    columns = list(np.empty((values.shape[1], 0), np.int32))
    if len(values):
        try:
            columns = [*as_comparisons(values, y).index.T]
            refuse_masked(weights, "weights", "a value for each row")
        except ValueError as error:
            raise FileFormatError(f"{name}: {error}") from error
    return MemoryTable(name, "Dask", names, columns=columns if weights is None else [*columns, weights])


def _table_of_frame(name: str, names: list[str], frame: Any) -> MemoryTable:
    """The columns of a partition in the order of the dataframe, which Dask does not guarantee."""
    table = as_table(frame, name)
    if sorted(table.names) != sorted(names):
        found = listed(table.names) or "none"
        raise FileFormatError(f"{name}: got the columns {found}, expected {listed(names)} as in the dataframe")
    order = range(len(names)) if not any(names) else map(table.names.index, names)
    return MemoryTable(name, "Dask", names, columns=[table.columns[position] for position in order])
