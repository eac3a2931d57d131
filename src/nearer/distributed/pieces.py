"""Pieces of the comparisons, described so that any worker can read them, once or at every pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nearer.data import Comparisons, as_comparisons
from nearer.data.validate import EITHER
from nearer.distributed.coding import Coding
from nearer.io import FileFormatError
from nearer.io.columns import Column, column_from_arrow, column_from_numpy

__all__ = ["ChunkPiece", "Columns", "DelayedPiece", "MemoryPiece", "ParquetPiece", "Piece"]


@dataclass
class Columns:
    """Comparisons before their objects are numbered.

    Attributes
    ----------
    objects : 3 or 4 columns (N,) of names or numbers
    weights : float (N,) or None
    answers : (N,) or None, as in `Comparisons.from_answers`
    """

    objects: list[Column]
    weights: np.ndarray | None = None
    answers: np.ndarray | None = None

    def coded(self, coding: Coding) -> Comparisons | None:
        """The comparisons over `coding`; None if there are none, or none that counts."""
        if not len(self.objects[0]) or (self.weights is not None and not np.any(self.weights)):
            return None
        index = coding.encode(self.objects)
        try:
            return as_comparisons(index, self.answers, self.weights, len(coding))
        except ValueError:
            self._refuse_degenerate(index)
            raise

    def _refuse_degenerate(self, index: np.ndarray) -> None:
        """Name the first degenerate row by its own cells rather than by their codes."""
        for mask, why in EITHER.faults(index):
            if mask.any():
                row = int(np.argmax(mask))
                cells = ", ".join(str(column.cell(row)) for column in self.objects)
                raise ValueError(f"row {row} is ({cells}): {why} ({int(mask.sum()):,} such rows)")


class Piece(Protocol):
    """Some comparisons that a worker can get hold of."""

    def read(self, coding: Coding | None) -> Comparisons | None:
        """The comparisons over the objects of `coding` (None: they are numbered already)."""
        ...

    def scan(self) -> tuple[Coding | None, Comparisons | None]:
        """The objects that occur, and the comparisons over those."""
        ...


class _ColumnsPiece:
    """A piece whose objects have names."""

    def columns(self) -> Columns:
        raise NotImplementedError

    def where(self) -> str:
        raise NotImplementedError

    def read(self, coding: Coding | None) -> Comparisons | None:
        columns = self.columns()
        try:
            return columns.coded(Coding.of(columns.objects) if coding is None else coding)
        except ValueError as error:
            raise FileFormatError(f"{self.where()}: {error}") from error

    def scan(self) -> tuple[Coding | None, Comparisons | None]:
        columns = self.columns()
        if not len(columns.objects[0]):
            return None, None
        try:
            coding = Coding.of(columns.objects)
            return coding, columns.coded(coding)
        except ValueError as error:
            raise FileFormatError(f"{self.where()}: {error}") from error


@dataclass(frozen=True)
class MemoryPiece:
    """Comparisons that the client sent along."""

    comparisons: Comparisons

    def read(self, coding: Coding | None) -> Comparisons | None:
        return self.comparisons

    def scan(self) -> tuple[Coding | None, Comparisons | None]:
        return None, self.comparisons

    def __sizeof__(self) -> int:
        weights = self.comparisons.weights
        return self.comparisons.index.nbytes + (0 if weights is None else weights.nbytes)


@dataclass(frozen=True)
class ParquetPiece(_ColumnsPiece):
    """Some row groups of a Parquet file.

    Attributes
    ----------
    url : path, or URL that fsspec knows
    row_groups : which of the file
    first_row : rows of the file before them, for messages
    n_rows : int
    names : the 3 or 4 columns of objects
    weight : the column of weights, or None
    """

    url: str
    row_groups: tuple[int, ...]
    first_row: int
    n_rows: int
    names: tuple[str, ...]
    weight: str | None = None

    def where(self) -> str:
        return f"{self.url}, rows counted after the first {self.first_row:,}" if self.first_row else self.url

    def columns(self) -> Columns:
        import pyarrow as pa

        wanted = [*self.names, *([self.weight] if self.weight else [])]
        with open_parquet_file(self.url, self.names) as file:
            schema = file.schema_arrow
            missing = [name for name in wanted if name not in schema.names]
            if missing:
                raise FileFormatError(f"{self.url}: no column {missing[0]!r}, the columns are {schema.names}")
            try:
                table = file.read_row_groups(list(self.row_groups), columns=wanted, use_threads=False)
            except (OSError, pa.ArrowException) as error:
                raise unreadable(self.url, error) from error
        objects = [_objects(self.url, name, table.column(name)) for name in self.names]
        if len({column.is_text for column in objects}) > 1:
            kinds = ", ".join(f"{name!r} {table.schema.field(name).type}" for name in self.names)
            raise FileFormatError(f"{self.url}: expected objects by text or by number throughout, got {kinds}")
        return Columns(objects, None if self.weight is None else _weights(self.url, self.weight, table))


class open_parquet_file:
    """Context of a pyarrow.parquet.ParquetFile at a path or fsspec URL; errors name the file.

    Columns `names` that hold text are read as codes.
    """

    def __init__(self, url: str, names: Sequence[str] = ()) -> None:
        self.url = url
        self.names = names

    def __enter__(self) -> Any:
        import fsspec  # type: ignore[import-untyped]
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._stream = None
        try:
            if "://" in self.url:
                self._stream = fsspec.open(self.url, "rb").open()
            schema = pq.read_schema(self._stream or self.url)
            found = [(name, schema.field(name).type) for name in self.names if name in schema.names]
            text = [name for name, kind in found if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
            if self._stream:
                self._stream.seek(0)
            self._file = pq.ParquetFile(self._stream or self.url, read_dictionary=text)
        except (OSError, pa.ArrowException) as error:
            self._close()
            raise unreadable(self.url, error) from error
        return self._file

    def __exit__(self, *exception: object) -> None:
        self._file.close()
        self._close()

    def _close(self) -> None:
        if self._stream:
            self._stream.close()


def unreadable(url: str, error: Exception) -> FileFormatError:
    """The error for a partition that cannot be read, with the file's name first."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return FileFormatError(f"{url}: cannot be read as Parquet: {reason}")


@dataclass(frozen=True)
class ChunkPiece(_ColumnsPiece):
    """One chunk of a Dask collection, as an array (N, 3 or 4) or a table."""

    values: Any
    number: int
    names: tuple[Any, ...] | None = None
    weights: Any = None
    answers: Any = None

    def where(self) -> str:
        return f"partition {self.number} of the Dask collection"

    def columns(self) -> Columns:
        values = self.values
        if self.names is not None:
            objects = [_table_column(self.where(), name, values[name]) for name in self.names]
        else:
            values = np.asarray(values)
            if values.ndim != 2 or values.shape[1] not in (3, 4):
                raise FileFormatError(f"{self.where()}: got shape {values.shape}, expected (N, 3 or 4)")
            objects = [column_from_numpy(np.ascontiguousarray(values[:, c])) for c in range(values.shape[1])]
            objects = [_whole_numbers(self.where(), f"column {c}", column) for c, column in enumerate(objects)]
        for name, extra in (("sample_weight", self.weights), ("y", self.answers)):
            if extra is not None and len(extra) != len(values):
                message = f"{name} has {len(extra):,} rows and X {len(values):,}; expected the same partitions"
                raise FileFormatError(f"{self.where()}: {message}")
        weights = None if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return Columns(objects, weights, None if self.answers is None else np.asarray(self.answers))


@dataclass(frozen=True)
class DelayedPiece(_ColumnsPiece):
    """One partition of a Dask collection, made anew whenever it is read.

    Attributes
    ----------
    recipe : Dask delayed objects of values, weights and answers (None for what is not there)
    number : of the partition
    names : columns of objects, for a dataframe
    """

    recipe: tuple[Any, Any, Any]
    number: int
    names: tuple[Any, ...] | None = None

    def where(self) -> str:
        return f"partition {self.number} of the Dask collection"

    def columns(self) -> Columns:
        import dask

        values, weights, answers = dask.compute(*self.recipe, scheduler="synchronous")
        return ChunkPiece(values, self.number, self.names, weights, answers).columns()


def _objects(where: str, name: str, data: Any) -> Column:
    import pyarrow as pa

    if data.null_count:
        raise FileFormatError(f"{where}: column {name!r} has {data.null_count:,} empty cells, expected none")
    if pa.types.is_integer(data.type):
        return Column(numbers=data.to_numpy())  # kept narrow: int32 stays int32
    try:
        return _whole_numbers(where, f"column {name!r}", column_from_arrow(data))
    except (TypeError, pa.ArrowInvalid) as error:
        raise FileFormatError(f"{where}: column {name!r}: {error}") from error


def _table_column(where: str, name: Any, data: Any) -> Column:
    import pyarrow as pa

    try:
        column = pa.array(data, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise FileFormatError(f"{where}: column {name!r}: {str(error).splitlines()[0]}") from error
    return _objects(where, name, column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))


def _whole_numbers(where: str, name: str, column: Column) -> Column:
    numbers = column.numbers
    if numbers is None or numbers.dtype.kind in "iu":
        return column
    if numbers.dtype.kind != "f":
        raise FileFormatError(f"{where}: {name} holds {numbers.dtype}, expected text or whole numbers")
    bad = ~((numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**53))
    if bad.any():
        row = int(np.argmax(bad))
        raise FileFormatError(f"{where}: {name}, row {row} is {numbers[row]}, expected a whole number")
    return Column(numbers=numbers.astype(np.int64))


def _weights(where: str, name: str, table: Any) -> np.ndarray:
    import pyarrow as pa

    data = table.column(name)
    if data.null_count or not (pa.types.is_integer(data.type) or pa.types.is_floating(data.type)):
        raise FileFormatError(
            f"{where}: weights {name!r} are {data.type} with {data.null_count:,} empty cells, expected numbers"
        )
    return data.to_numpy().astype(np.float64)


def group_row_groups(lengths: Sequence[int], most_rows: int) -> list[tuple[int, ...]]:
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
