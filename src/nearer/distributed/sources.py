"""Where comparisons come from, as lists of pieces: Parquet files and Dask collections."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data.table import KNOWN_COLUMNS
from nearer.distributed.cluster import Engine
from nearer.distributed.pieces import DelayedPiece, ParquetPiece, group_row_groups, open_parquet_file
from nearer.io import FileFormatError
from nearer.io.columnar import META_KEY, parquet_files
from nearer.io.roles import find_roles

_PIECES_PER_SHARD = 8

__all__ = ["Source", "from_collection", "from_parquet"]


@dataclass
class Source:
    """Comparisons as a list of pieces.

    Attributes
    ----------
    name : for messages
    pieces : list of Piece
    sizes : rows of each piece, or None if not known
    n_columns : 3 or 4
    numbers_are_names : whether numbers other than 0 to n - 1 are names of objects
    labels : str (n,) or None, n_objects : int or None; what the source says about its objects
    """

    name: str
    pieces: list[Any]
    sizes: list[int] | None
    n_columns: int
    numbers_are_names: bool
    labels: np.ndarray | None = None
    n_objects: int | None = None

    @property
    def n_rows(self) -> int | None:
        """Rows in all, if known."""
        return None if self.sizes is None else sum(self.sizes)

    def dealt_out(self, n_shards: int) -> list[list[Any]]:
        """Neighbouring pieces together, in at most `n_shards` shards of about equal size, none of them empty."""
        n_shards = min(n_shards, len(self.pieces))
        sizes = np.asarray(self.sizes or [1] * len(self.pieces), dtype=np.float64)
        middles = (np.cumsum(sizes) - sizes / 2) / max(sizes.sum(), 1.0)
        owners = np.minimum((middles * n_shards).astype(int), n_shards - 1).tolist()
        shards: list[list[Any]] = [[] for _ in range(n_shards)]
        for piece, owner in zip(self.pieces, owners):
            shards[owner].append(piece)
        return [shard for shard in shards if shard]


def from_parquet(path: str, engine: Engine, n_shards: int, most_rows: int) -> Source:
    """Parquet files (a file, a folder, a pattern, an fsspec URL), in pieces of at most `most_rows` rows.

    Row groups are not cut: one with more rows than that is refused. Where they are small enough, pieces are too, so
    that `n_shards` shards get about the same number of rows.
    """
    files = list_files(path)
    # The workers look, not the client: it is they who must be able to read the files.
    looks = engine.run(lambda _: [engine.submit("look-into-file", look_into, file) for file in files])
    first = looks[0]
    for file, look in zip(files, looks):
        if set(look.names) != set(first.names):
            raise FileFormatError(f"{file}: columns {look.names} differ from {first.names} of {files[0]}")
    roles = find_roles(files[0], first.names, True)
    if roles.form.kind not in ("triplets", "quadruplets"):
        raise FileFormatError(f"{path}: holds {roles.form.kind}; a cluster reads triplets and quadruplets only")
    columns = tuple(first.names[roles.at[role]] for role in roles.form.objects)
    weight = first.names[roles.at["weight"]] if "weight" in roles.at else None
    n_rows = sum(sum(look.lengths) for look in looks)
    fair = -(-n_rows // (_PIECES_PER_SHARD * n_shards))
    pieces = []
    for file, look in zip(files, looks):
        if max(look.lengths, default=0) > most_rows:
            raise FileFormatError(
                f"{file}: a row group has {max(look.lengths):,} rows, a thread of this cluster can read "
                f"{most_rows:,} at a time; write the file with smaller row groups, or use workers with more memory"
            )
        starts = np.concatenate([[0], np.cumsum(look.lengths)])
        for run in group_row_groups(look.lengths, min(most_rows, fair)):
            size = sum(look.lengths[number] for number in run)
            pieces.append(ParquetPiece(file, run, int(starts[run[0]]), size, columns, weight))
    if not pieces:
        raise FileFormatError(f"{path}: has no rows")
    told = json.loads(first.said or "{}")
    labels = None if told.get("labels") is None else np.array(told["labels"], dtype=str)
    sizes = [piece.n_rows for piece in pieces]
    return Source(path, pieces, sizes, len(columns), True, labels, told.get("n_objects"))


@dataclass
class Look:
    """The footer of a Parquet file: rows of each row group, column names, what this package wrote beside them."""

    lengths: list[int]
    names: list[str]
    said: bytes | None


def look_into(url: str) -> Look:
    """Read the footer of a Parquet file."""
    with open_parquet_file(url) as file:
        lengths = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        return Look(lengths, file.schema_arrow.names, (file.schema_arrow.metadata or {}).get(META_KEY))


def list_files(path: str) -> list[str]:
    """The files that a path, folder, pattern or fsspec URL stands for, in order."""
    if "://" not in path:
        return [os.path.abspath(file) for file in parquet_files(path)]
    import fsspec  # type: ignore[import-untyped]

    try:
        filesystem, inside = fsspec.core.url_to_fs(path)
        found = sorted(filesystem.glob(inside) if "*" in inside else [inside])
        if len(found) == 1 and filesystem.isdir(found[0]):
            found = sorted(filesystem.glob(found[0].rstrip("/") + "/*.parquet"))
    except (OSError, ValueError, ImportError) as error:
        raise FileFormatError(f"{path}: cannot be listed: {error}") from error
    if not found:
        raise FileFormatError(f"{path}: no such file")
    return [filesystem.unstrip_protocol(file) for file in found]


def from_collection(X: Any, y: Any, sample_weight: Any) -> Source:
    """A Dask array (N, 3 or 4) or dataframe, one piece for each of its partitions."""
    names: tuple[Any, ...] | None = None
    if hasattr(X, "columns"):
        names, weight = _frame_columns(list(X.columns))
        width, n_rows = len(names), None
        if weight is not None and sample_weight is not None:
            raise ValueError(f"sample_weight: given, but the dataframe has a column {weight!r} of weights too")
        if weight is not None:
            sample_weight = X[weight]
    else:
        if getattr(X, "ndim", 0) != 2 or X.shape[1] not in (3, 4):
            raise ValueError(f"comparisons: got a Dask array of shape {getattr(X, 'shape', '?')}, expected (N, 3 or 4)")
        X = X.rechunk({1: -1})
        width, n_rows = X.shape[1], X.chunks[0]
    values = _delayed(X, "X", 0)
    parts = zip(values, _delayed(sample_weight, "sample_weight", len(values)), _delayed(y, "y", len(values)))
    pieces = [DelayedPiece(part, number, names) for number, part in enumerate(parts)]
    sizes = None if n_rows is None or np.isnan(n_rows).any() else [int(rows) for rows in n_rows]
    return Source("the Dask collection", pieces, sizes, width, False)


def _frame_columns(columns: list[Any]) -> tuple[tuple[Any, ...], Any]:
    """The columns of objects and of weights of a dataframe."""
    weight = next((name for name in ("weight", "weights") if name in columns), None)
    rest = [name for name in columns if name != weight]
    known = [group for group in KNOWN_COLUMNS if set(group) <= set(rest)]
    if len(known) == 1:
        return known[0], weight
    if len(rest) in (3, 4):
        return tuple(rest), weight
    raise ValueError(f"comparisons: got columns {columns}, expected anchor, near, far or i, j, l, k (and weight)")


def _delayed(collection: Any, name: str, expected: int) -> Sequence[Any]:
    """One delayed object for each partition of rows; `expected` Nones for a collection that is not there."""
    if collection is None:
        return [None] * expected
    if not hasattr(collection, "__dask_graph__"):
        raise ValueError(f"{name}: got {type(collection).__name__}, expected a Dask collection like X")
    parts = np.ravel(np.asarray(collection.to_delayed(), dtype=object)).tolist()
    if expected and len(parts) != expected:
        raise ValueError(f"{name}: has {len(parts)} partitions and X {expected}; expected the same partitions")
    return parts
