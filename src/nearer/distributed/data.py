"""Comparisons on a cluster: counted, their objects known, cut into shards that workers read for themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np

from nearer.data import Comparisons, FileFormatError, as_comparisons, check_integer, renumbered
from nearer.data.carriers import as_table
from nearer.data.cells import are_numbered
from nearer.data.columns import Coding, Column, Table, column_of
from nearer.data.errors import listed
from nearer.data.roles import INDEX_COLUMNS, Layout, Roles, find_roles, role_of
from nearer.data.values import Options, refuse_masked
from nearer.distributed.cluster import Engine
from nearer.io.blocks import (
    Counts,
    Recipe,
    RowGroups,
    Scanned,
    look_into,
    open_row_groups,
    parquet_among,
    parquet_files,
    refuse_versions,
    scan_block,
    settle,
    total_weight,
)

__all__ = ["ClusterData", "open_data"]

# Shares of the workers' memory, beyond what the programs themselves take up: what may be held for the whole fit, and
# what one thread may read at a time.
_WORKER_BYTES = 350 * 2**20
_HELD_SHARE = 0.5
_READ_SHARE = 0.15
# Bytes for one comparison: two snapshots' slopes (the old and the new overlap), and all of one read with its slopes.
_SLOPE_BYTES = 2 * 16
_READ_BYTES = 64


_PIECES_PER_SHARD = 8


@dataclass
class ClusterData:
    """Comparisons on a cluster.

    Attributes
    ----------
    engine : Engine
    shards : for each shard, its pieces
    rows, weights : for each shard, the number of comparisons and the total weight of each piece
    recipe : Recipe, or None if the pieces are comparisons already
    n_objects : rows of the points, one for each object that occurs
    n_comparisons : int
    n_columns : 3 or 4
    seen : int (n_objects,), the place of each of them among all objects
    n_all : number of all objects
    labels : str (n_all,) or None
    participants : str objects or int64 (n_people,), who answered, each once; None if that is not known
    hold_rows, hold_slopes : whether rows, and slopes at the snapshot, stay in the workers' memory
    """

    engine: Engine
    shards: list[list[Any]]
    rows: list[list[int]]
    weights: list[list[float]]
    recipe: Recipe | None
    n_objects: int
    n_comparisons: int
    n_columns: int
    seen: np.ndarray
    n_all: int
    labels: np.ndarray | None
    participants: np.ndarray | None
    hold_rows: bool
    hold_slopes: bool

    def blocks(self) -> Iterator[Comparisons]:
        """Yield the comparisons with who gave them, piece by piece, read by this process; objects are as in `seen`."""
        for piece in chain.from_iterable(self.shards):
            made = piece if self.recipe is None else self.recipe.comparisons(piece)
            if made is not None:
                yield made

    @property
    def n_bytes(self) -> int:
        """Bytes of rows and of the slopes of one snapshot, were they in one place."""
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
    """Look at comparisons on a cluster: count them, find their objects, decide what stays in memory.

    Parameters
    ----------
    X : path or pattern of Parquet files (anything fsspec opens), Dask array (N, 3 or 4), Dask dataframe, or whatever
        `as_comparisons` takes
        Files are read by the workers, so the workers must be able to reach them. Columns are found by name, as in
        `nearer.io.read_comparisons`. An array holds object numbers, and no row that compares an object with itself.
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
    count = threads if n_shards is None else check_integer(n_shards, "n_shards", 1)
    is_dask = hasattr(X, "__dask_graph__")
    if not is_dask and not isinstance(X, (str, os.PathLike)):
        return _from_memory(as_comparisons(X, y, sample_weight, n_objects), engine, count, hold)
    options = Options(n_objects=n_objects)
    if is_dask:
        pieces, roles = _partitions(X, y, sample_weight, options)
        if not hasattr(X, "columns"):
            # An array holds object numbers, and comparisons alone.
            options = replace(options, index_base=0, on_degenerate="raise")
    else:
        if y is not None or sample_weight is not None:
            raise ValueError("fit from files takes no y or sample_weight: use the files' columns (weight for weights)")
        most_rows = int(_READ_SHARE * _room(engine) / max(threads, 1) / _READ_BYTES)
        pieces = _row_groups(os.fspath(X), engine, count, max(most_rows, 1 << 16))
        roles = find_roles(pieces[0], options).without_details()
    sizes = [piece.n_rows for piece in pieces]
    known = [size for size in sizes if size is not None]
    held = _what_fits(engine, sum(known) if len(known) == len(sizes) else 0, len(roles.layout.objects), hold)
    return _scanned(engine, pieces, _dealt_out(pieces, sizes, count), roles, options, held)


def _from_memory(comparisons: Comparisons, engine: Engine, n_shards: int, hold: bool | None) -> ClusterData:
    n, width, n_all = len(comparisons), comparisons.index.shape[1], comparisons.n_objects
    cuts = np.linspace(0, n, min(n_shards, n) + 1).astype(int)
    seen = np.flatnonzero(comparisons.seen)
    whole = renumbered(comparisons, seen)._with(people=comparisons.people)
    parts = [part for cut in pairwise(cuts) if total_weight(part := whole._rows(slice(*cut))) > 0]
    _, slopes = _what_fits(engine, n, width, hold)
    people = None if whole.people is None else whole.people.names
    return ClusterData(
        engine, [[part] for part in parts], [[len(part)] for part in parts], [[total_weight(part)] for part in parts],
        None, len(seen), n, width, seen, n_all, comparisons.labels, people, True, slopes,
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


def place(engine: Engine, pieces: list[Any], hold: bool, home: str) -> list[Any]:
    """The pieces of a shard in the form to hand to a task at `home`."""
    if isinstance(pieces[0], Comparisons):
        bare = [piece._with(people=None) for piece in pieces]  # no pass asks who answered
        return engine.client.scatter(bare, workers=[home], hash=False)
    if hold and isinstance(pieces[0], Partition):
        # Futures, so that Dask itself makes a lost partition again, wherever it likes.
        parts = ([part if part is None else engine.client.compute(part) for part in piece.parts] for piece in pieces)
        return [engine.submit("take-partition", piece.holding, *data) for piece, data in zip(pieces, parts)]
    return pieces


def _dealt_out(pieces: list[Any], sizes: list[int | None], n_shards: int) -> list[list[Any]]:
    """Put neighbouring pieces together, in at most `n_shards` shards of about equal size, none of them empty."""
    n_shards = min(n_shards, len(pieces))
    weights = np.array([1.0 if size is None else size for size in sizes])
    middles = (np.cumsum(weights) - weights / 2) / max(weights.sum(), 1.0)
    owners = np.minimum((middles * n_shards).astype(int), n_shards - 1).tolist()
    shards: list[list[Any]] = [[] for _ in range(n_shards)]
    for piece, owner in zip(pieces, owners):
        shards[owner].append(piece)
    return [shard for shard in shards if shard]


def _scanned(
    engine: Engine,
    pieces: list[Table],
    shards: list[list[Any]],
    roles: Roles,
    options: Options,
    held: tuple[bool, bool],
) -> ClusterData:
    """Pass over the data on the cluster, decide what names and answers mean, and number the objects."""

    def each(name: str, function: Any, *arguments: Any) -> list[Any]:
        def build(attempt: int) -> list[Any]:
            return [
                engine.submit(name, function, place(engine, pieces, held[0], home), *arguments, home=home)
                for pieces, home in zip(shards, engine.homes(len(shards)))
            ]

        return engine.run(build)

    looked = each("scan-shard", look_at, scan_block, roles, options)
    counts = [shard for _, shard in looked]

    def count(recipe: Recipe) -> Iterator[Counts]:
        for number, (total, shard) in enumerate(each("count-shard", look_at, recipe.counts)):
            counts[number] = shard
            yield total

    scanned = reduce(Scanned.join, (one for one, _ in looked))
    recipe, total = settle(pieces[0].name, scanned, pieces[0], roles, options, lambda: (), count)
    meaning, seen = recipe.meaning, total.seen.values
    # Number only the objects that occur in comparisons that count; the others occur in rows left out alone.
    numbers = np.zeros(meaning.n_objects, dtype=np.int32)
    numbers[seen] = np.arange(len(seen), dtype=np.int32)
    compact = replace(meaning, numbers=numbers[meaning.numbers], labels=None, n_objects=len(seen))
    kept = [(pieces, shard) for pieces, shard in zip(shards, counts) if sum(one.weight for one in shard) > 0]
    return ClusterData(
        engine,
        [pieces for pieces, _ in kept],
        [[one.n_comparisons for one in shard] for _, shard in kept],
        [[one.weight for one in shard] for _, shard in kept],
        replace(recipe, meaning=compact),
        len(seen), total.n_comparisons, total.width, seen, meaning.n_objects, meaning.labels, recipe.people, *held,
    )  # fmt: skip


def look_at(pieces: Sequence[Table], look: Callable[..., Any], *arguments: Any) -> tuple[Any, list[Counts]]:
    """Look at every piece: what is found in all of them, and what each gives, where that can be told already."""
    found = [look(piece, *arguments) for piece in pieces]
    counts = ((one.counts if isinstance(one, Scanned) else one) or Counts() for one in found)
    # Names are left out: what remains is small whatever the number of objects.
    return reduce(type(found[0]).join, found), [
        replace(one, seen=Coding.of([]), people=Coding.of([])) for one in counts
    ]


# ---- Parquet files -------------------------------------------------------------------------------------------------


def _row_groups(path: str, engine: Engine, n_shards: int, most_rows: int) -> list[RowGroups]:
    """Cut Parquet files (a file, a folder, a pattern, an fsspec URL) into pieces of at most `most_rows` rows.

    Row groups are not cut: one with more rows than that is refused. Where they are small enough, pieces are too, so
    that `n_shards` shards get about the same number of rows.
    """

    # The workers look, not the client: it is they who must be able to read the files.
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
    """Runs of neighbouring row groups with at most `most_rows` rows each (a longer row group stays alone)."""
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
    """List the files that a path, folder, pattern or fsspec URL stands for, in order, and those left out."""
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
        if found != [inside]:
            refuse_versions(found, lambda folder, mark: filesystem.glob(f"{folder}/{mark}"))
    except FileFormatError:
        raise
    except (OSError, ValueError, ImportError) as error:
        raise FileFormatError(f"{path}: cannot be listed: {error}") from error
    if not found:
        raise FileFormatError(f"{path}: no such file")
    return list(map(filesystem.unstrip_protocol, found)), left_out


# ---- Dask collections ----------------------------------------------------------------------------------------------

_WEIGHT, _ANSWER = "sample_weight", "y"
_DASK = "the Dask collection"


@dataclass
class Partition(Table):
    """One partition of a Dask array or dataframe, with those of `sample_weight` and `y` as further columns.

    Its parts are values, weights and answers (None for what is not there): delayed objects, computed whenever the
    partition is read, or the data themselves.
    """

    parts: tuple[Any, Any, Any] = (None, None, None)
    n_rows: int | None = None  # if known

    def holding(self, values: Any, weights: Any, answers: Any) -> Partition:
        """The same with its data."""
        return replace(self, parts=(values, weights, answers))

    def read(self, positions: Sequence[int]) -> list[Column]:
        import dask

        values, weights, answers = dask.compute(*self.parts, scheduler="synchronous")
        for name, part in (("X", values), (_WEIGHT, weights), (_ANSWER, answers)):
            refuse_masked(part, f"{self.name}, {name}", "a value for each row")
            if part is not None and len(part) != len(values):
                raise FileFormatError(
                    f"{self.name}: {name} has {len(part):,} rows and X {len(values):,}; expected the same partitions"
                )
        columns = list(np.ascontiguousarray(np.asarray(values).T)) if self.is_index else self._by_name(values)
        columns += [] if weights is None else [weights]
        columns += [] if answers is None else [_words(self.name, answers)]
        try:
            return [column_of(columns[position]) for position in positions]
        except TypeError as error:
            raise FileFormatError(f"{self.name}: {error}") from error

    def _by_name(self, frame: Any) -> list[Any]:
        """The columns of a partition in the order of the dataframe's, which Dask does not see to."""
        expected = self.names[: len(self.names) - sum(part is not None for part in self.parts[1:])]
        found = list(map(str, getattr(frame, "columns", ())))
        if sorted(found) != sorted(expected):
            raise FileFormatError(
                f"{self.name}: columns {listed(found) or 'none'} differ from {listed(expected)} of the dataframe"
            )
        _refuse_index(self.name, frame)
        columns = as_table(frame, self.name).columns  # type: ignore[attr-defined]
        return [columns[found.index(name)] for name in expected]


def _refuse_index(name: str, frame: Any) -> None:
    """Refuse a dataframe whose index would be lost."""
    index = getattr(getattr(frame, "index", None), "name", None)
    if role_of(str(index)) is not None:
        raise ValueError(f"{name}: its index {index!r} would not be read; say .reset_index() first")


def _words(name: str, answers: Any) -> np.ndarray:
    values = np.asarray(answers)
    if (
        values.ndim != 1
        or values.dtype.kind not in "bif"
        or not np.isin(values, (-1, 1) if values.dtype.kind != "b" else (0, 1)).all()
    ):
        raise FileFormatError(f"{name}: y must hold +1 and -1, or True and False, one for each row")
    return np.where(values > 0, "first", "second")


def _partitions(X: Any, y: Any, sample_weight: Any, options: Options) -> tuple[list[Any], Roles]:
    """One piece for each partition of a Dask array (N, 3 or 4) or dataframe, and what its columns are."""
    _check_dimensions(X, "comparisons", 2, "a Dask dataframe, or a Dask array of shape (N, 3 or 4)")
    is_array = not hasattr(X, "columns")
    lengths: Iterable[int | None] = repeat(None)
    if is_array:
        if X.shape[1] not in (3, 4):
            raise ValueError(f"comparisons: got a Dask array of shape {X.shape}, expected (N, 3 or 4)")
        X = X.rechunk({1: -1})
        lengths = lengths if np.isnan(X.chunks[0]).any() else map(int, X.chunks[0])
        names = list(INDEX_COLUMNS[X.shape[1]])
    else:
        names = list(map(str, X.columns))
        _refuse_index(_DASK, X)
    values = _delayed(X)
    parts = list(zip(values, _delayed_beside(sample_weight, _WEIGHT, values), _delayed_beside(y, _ANSWER, values)))
    look = Partition(_DASK, "Dask", names, not are_numbered(names), is_index=is_array, parts=(values[0], None, None))
    roles = find_roles(look, replace(options, asked=y is not None)).without_details()
    if sample_weight is not None:
        if "weight" in roles.at:
            raise ValueError(
                f"sample_weight: given, but the dataframe has a column {names[roles.at['weight']]!r} of weights too"
            )
        roles.at["weight"] = len(names)
        names = [*names, _WEIGHT]
    if y is not None:
        roles.layout = Layout("answers", roles.layout.objects, ("answer",))
        roles.at["answer"] = len(names)
        names = [*names, _ANSWER]
    pieces = [
        replace(look, name=f"partition {number} of {_DASK}", names=names, parts=part, n_rows=length)
        for number, (part, length) in enumerate(zip(parts, lengths))
    ]
    return pieces, roles


def _check_dimensions(collection: Any, name: str, expected: int, what: str) -> None:
    """Refuse a Dask collection that is no table, or no column; of a Delayed nothing is known."""
    found = getattr(collection, "ndim", None)
    if not isinstance(found, int) or found != expected:
        raise ValueError(f"{name}: got a Dask {type(collection).__name__}, expected {what}")


def _delayed(collection: Any) -> list[Any]:
    """One delayed object for each partition of rows."""
    return np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist()


def _delayed_beside(collection: Any, name: str, values: list[Any]) -> list[Any]:
    """The same of a column beside those of X, `values`; None for each where there is none."""
    if collection is None:
        return [None] * len(values)
    if not hasattr(collection, "__dask_graph__"):
        raise ValueError(f"{name}: got {type(collection).__name__}, expected a Dask collection like X")
    _check_dimensions(collection, name, 1, "one column, a Dask array of shape (N,) or a series")
    parts = _delayed(collection)
    if len(parts) != len(values):
        raise ValueError(f"{name}: has {len(parts)} partitions and X {len(values)}; expected the same partitions")
    return parts
