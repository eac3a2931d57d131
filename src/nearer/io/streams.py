"""Integer comparisons read a block at a time, for data that need not fit in memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.validate import Parts

from .columnar import open_parquet
from .errors import FileFormatError
from .roles import find_roles

INT32_LIMIT = 2**31


class IndexSource(ABC):
    """Comparisons by object number, in a file.

    Attributes
    ----------
    path : str
    n_comparisons : int
    n_columns : int
        3 (anchor, near, far) or 4 (i, j, l, k: d(i, j) < d(l, k)).
    """

    path: str
    n_comparisons: int
    n_columns: int
    has_weights = False

    _checked = False

    @abstractmethod
    def _raw_blocks(self, size: int) -> Iterator[np.ndarray]:
        """Yield arrays (at most size, n_columns) of any integer type."""

    @abstractmethod
    def _raw_shuffled(self, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """As `_raw_blocks`, in random order."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights, all of which are one."""
        return float(self.n_comparisons)

    def blocks(self, size: int = 1 << 18) -> Iterator[Comparisons]:
        """Yield the comparisons in order; the last block may be shorter."""
        for block in self._rows_in_order(size):
            yield self._comparisons(block)

    def _comparisons(self, block: np.ndarray) -> Comparisons:
        return Comparisons._make(Parts(block, self.n_objects))

    def _rows_in_order(self, size: int) -> Iterator[np.ndarray]:
        """int32 C-contiguous (size, n_columns); the first complete pass checks every row."""
        if size < 1:
            raise ValueError(f"size: got {size}, expected at least 1")
        start = 0
        for block in self._raw_blocks(size):
            if not self._checked:
                self._check(block, start)
            yield np.ascontiguousarray(block, dtype=np.int32)
            start += len(block)
        self._checked = True

    def shuffled_blocks(self, size: int, rng: np.random.Generator) -> Iterator[Comparisons]:
        """Yield all comparisons once, in blocks of about `size` whose order is random.

        Parquet files are shuffled by row group, so a block mixes distant parts of the data if row groups are smaller.
        """
        for block in self._raw_shuffled(size, rng):
            yield self._comparisons(np.ascontiguousarray(block, dtype=np.int32))

    @cached_property
    def _seen(self) -> np.ndarray:
        seen = np.zeros(0, dtype=bool)
        for block in self._rows_in_order(1 << 18):
            highest = int(block.max())
            if highest >= len(seen):
                seen = np.pad(seen, (0, max(highest + 1, 2 * len(seen)) - len(seen)))
            seen[block] = True
        return seen[: int(np.flatnonzero(seen)[-1]) + 1]

    def seen(self, n_objects: int | None = None) -> np.ndarray:
        """Which objects occur, bool (n_objects,); the first use passes once over the file and checks every row."""
        if n_objects is None or n_objects == self.n_objects:
            return self._seen
        if n_objects < self.n_objects:
            raise FileFormatError(f"{self.path}: names object {self.n_objects - 1}, but n_objects is {n_objects}")
        return np.pad(self._seen, (0, n_objects - self.n_objects))

    @property
    def n_objects(self) -> int:
        """The highest object number plus one; the first use passes once over the file."""
        return len(self._seen)

    def _check(self, block: np.ndarray, start: int) -> None:
        """Refuse numbers out of range and rows that compare an object with itself."""
        if block.min() < 0 or block.max() >= INT32_LIMIT:
            bad, why = ((block < 0) | (block >= INT32_LIMIT)).any(axis=1), "an object number is outside 0..2**31 - 1"
        else:
            bad, why = _degenerate(block), "an object cannot be compared with itself"
        if bad.any():
            row = int(np.argmax(bad))
            raise FileFormatError(f"{self.path}, row {start + row + 1} is {tuple(block[row].tolist())}: {why}")


def _degenerate(block: np.ndarray) -> np.ndarray:
    if block.shape[1] == 3:
        anchor, near, far = block.T
        return (anchor == near) | (anchor == far) | (near == far)
    i, j, other, k = block.T
    same = ((i == other) & (j == k)) | ((i == k) & (j == other))
    return (i == j) | (other == k) | same


class _NumpySource(IndexSource):
    def __init__(self, path: str) -> None:
        try:
            data = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise FileFormatError(f"{path}: is not a readable NumPy array: {error}") from error
        if data.ndim != 2 or data.shape[1] not in (3, 4) or data.dtype.kind not in "iu":
            raise FileFormatError(f"{path}: got {data.dtype} of shape {data.shape}, expected integers (n, 3) or (n, 4)")
        if not len(data):
            raise FileFormatError(f"{path}: the array has no rows")
        self.path, self._data = path, data
        self.n_comparisons, self.n_columns = data.shape

    def _raw_blocks(self, size: int) -> Iterator[np.ndarray]:
        for start in range(0, self.n_comparisons, size):
            yield np.asarray(self._data[start : start + size])

    def _raw_shuffled(self, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for start in rng.permutation(np.arange(0, self.n_comparisons, size)):
            yield np.asarray(self._data[start : start + size])


class _ParquetSource(IndexSource):
    def __init__(self, path: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = open_parquet(path)
        roles = find_roles(path, source.names, True)
        if roles.form.kind not in ("triplets", "quadruplets"):
            raise FileFormatError(
                f"{path}: holds {roles.form.kind}; only triplets and quadruplets can be read in blocks"
            )
        self.path, self._files = path, source.files
        self._names = [source.names[roles.at[role]] for role in roles.form.roles]
        self.n_comparisons, self.n_columns = sum(source.lengths), len(self._names)
        for file in self._files:
            schema = pq.read_schema(file)
            for name in self._names:
                if not pa.types.is_integer(schema.field(name).type):
                    kind = schema.field(name).type
                    raise FileFormatError(f"{file}: column {name!r} is {kind}, expected integers (object numbers)")

    def _raw_blocks(self, size: int) -> Iterator[np.ndarray]:
        return _joined(self._batches(size), size)

    def _batches(self, size: int) -> Iterator[np.ndarray]:
        import pyarrow.parquet as pq

        for file in self._files:
            # pyarrow would otherwise fetch all row groups at once
            with pq.ParquetFile(file, pre_buffer=False) as part:
                for batch in part.iter_batches(batch_size=size, columns=self._names):
                    yield self._rows(file, batch)

    def _raw_shuffled(self, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        return _joined(self._row_groups(rng), size)

    def _row_groups(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        import pyarrow.parquet as pq

        groups = [(file, k) for file in self._files for k in range(pq.read_metadata(file).num_row_groups)]
        for number in rng.permutation(len(groups)):
            file, group = groups[number]
            with pq.ParquetFile(file, pre_buffer=False) as part:
                yield self._rows(file, part.read_row_group(group, columns=self._names).combine_chunks())

    def _rows(self, file: str, batch: Any) -> np.ndarray:
        for name in self._names:
            if batch.column(name).null_count:
                raise FileFormatError(f"{file}: column {name!r} has empty cells")
        return np.stack([batch.column(name).to_numpy() for name in self._names], axis=1)


def _joined(parts: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The rows of all parts in blocks of `size`; only the last may be shorter."""
    kept: list[np.ndarray] = []
    count = 0
    for rows in parts:
        while count + len(rows) >= size:
            cut = size - count
            yield np.concatenate([*kept, rows[:cut]]) if kept else rows[:cut]
            kept, count, rows = [], 0, rows[cut:]
        if len(rows):
            kept.append(rows)
            count += len(rows)
    if kept:
        yield np.concatenate(kept)


def open_index(path: str | os.PathLike[str]) -> IndexSource:
    """Open comparisons by object number for reading block by block.

    Parameters
    ----------
    path : path-like
        A .npy file (memory-mapped), or Parquet: a file, a folder or a pattern.

    Returns
    -------
    IndexSource
    """
    name = os.fspath(path)
    if Path(name).suffix.lower() == ".npy":
        if not Path(name).is_file():
            raise FileFormatError(f"{name}: no such file")
        return _NumpySource(name)
    if Path(name).is_file() and Path(name).suffix.lower() not in (".parquet", ".pq"):
        raise FileFormatError(f"{name}: can be read in blocks only as .npy or Parquet; convert it first")
    return _ParquetSource(name)
