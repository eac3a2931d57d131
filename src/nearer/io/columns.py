"""What every format gives: named columns, each as numbers or as codes into its distinct texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_EMPTY_NUMBERS = ["", "na", "n/a", "nan", "null", "none"]


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    numbers : ndarray (n_rows,), optional
        int64, float64 (NaN = empty cell) or bool; None for a column of text.
    codes : ndarray int32 (n_rows,), optional
        For text: the position in `values` of each cell, -1 for an empty one.
    values : pyarrow string array, optional
        For text: the distinct texts.
    """

    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    values: pa.Array | None = None

    def __len__(self) -> int:
        return len(self._cells)

    @property
    def _cells(self) -> np.ndarray:
        cells = self.codes if self.numbers is None else self.numbers
        return cells if cells is not None else np.empty(0, np.int32)

    @property
    def is_text(self) -> bool:
        return self.numbers is None

    def empty(self) -> np.ndarray:
        """Return the mask (n_rows,) of empty cells."""
        if self.codes is not None:
            return self.codes < 0
        if self._cells.dtype.kind == "f":
            return np.isnan(self._cells)
        return np.zeros(len(self), bool)

    def take(self, rows: np.ndarray) -> Column:
        """Return the cells of `rows` (mask or positions)."""
        if self.codes is not None:
            return Column(codes=self.codes[rows], values=self.values)
        return Column(numbers=self._cells[rows])

    def texts(self) -> list[str]:
        """Return the distinct texts of a column of text."""
        return [] if self.values is None else self.values.to_pylist()

    def cell(self, row: int) -> Any:
        """Return one cell as a Python value (None if empty)."""
        if self.codes is not None and self.values is not None:
            code = int(self.codes[row])
            return None if code < 0 else self.values[code].as_py()
        return self._cells[row].item()

    def as_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Read the column as numbers.

        Returns
        -------
        numbers : ndarray float64 (n_rows,)
            NaN where empty (also NA, NaN, null, none) or not a number.
        bad : ndarray bool (n_rows,)
            Cells that are neither empty nor a number.
        """
        if self.numbers is not None:
            return self.numbers.astype(np.float64), np.zeros(len(self), bool)
        import pyarrow as pa
        import pyarrow.compute as pc

        stripped = pc.utf8_trim_whitespace(self.values)
        blank = pc.is_in(pc.utf8_lower(stripped), value_set=pa.array(_EMPTY_NUMBERS))
        is_number = pc.match_substring_regex(stripped, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
        # Arrow's cast takes no leading plus sign.
        digits = pc.replace_substring_regex(stripped, r"^\+", "")
        parsed = pc.cast(pc.if_else(is_number, digits, None), pa.float64())
        values = np.append(parsed.to_numpy(zero_copy_only=False).astype(np.float64), np.nan)
        wrong = np.append(~(_mask(is_number) | _mask(blank)), False)
        return values[self.codes], wrong[self.codes]


def _mask(array: Any) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False).astype(bool)


def column_from_arrow(data: Any) -> Column:
    """Make a column of a pyarrow Array or ChunkedArray; raise TypeError for a type that holds no cells."""
    import pyarrow as pa
    import pyarrow.types as types

    chunked = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
    kind = chunked.type
    if types.is_dictionary(kind) and not _is_text(kind.value_type):
        chunked, kind = chunked.cast(kind.value_type), kind.value_type
    if types.is_dictionary(kind) or _is_text(kind) or types.is_null(kind):
        return _text_column(chunked)
    if types.is_boolean(kind):
        if chunked.null_count:
            return Column(numbers=chunked.cast(pa.int8()).cast(pa.float64()).to_numpy())
        return Column(numbers=chunked.to_numpy())
    if types.is_integer(kind):
        return Column(numbers=chunked.cast(pa.float64() if chunked.null_count else pa.int64()).to_numpy())
    if types.is_floating(kind) or types.is_decimal(kind):
        return Column(numbers=chunked.cast(pa.float64()).to_numpy())
    raise TypeError(f"a column of type {kind} holds neither text nor numbers")


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def _text_column(chunked: Any) -> Column:
    """Encode chunks of text; equal texts get equal codes across chunks."""
    import pyarrow as pa

    wanted = pa.dictionary(pa.int32(), pa.string())
    if not pa.types.is_dictionary(chunked.type):
        chunked = chunked.cast(pa.string()).dictionary_encode()
    elif chunked.type != wanted:
        chunked = chunked.cast(wanted)
    if chunked.num_chunks == 0:
        return Column(codes=np.empty(0, np.int32), values=pa.array([], pa.string()))
    chunked = chunked.unify_dictionaries()
    codes = np.empty(len(chunked), np.int32)
    start = 0
    for chunk in chunked.chunks:
        indices = chunk.indices
        codes[start : start + len(chunk)] = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
        start += len(chunk)
    return Column(codes=codes, values=chunked.chunk(0).dictionary)


def column_from_numpy(array: np.ndarray) -> Column:
    """Make a column of a 1-D array of integers, floats, bools or str; raise TypeError for anything else."""
    import pyarrow as pa

    array = np.asarray(array)
    if array.dtype.kind == "b":
        return Column(numbers=array)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise TypeError("a column holds integers beyond the 64-bit signed range")
        return Column(numbers=array.astype(np.int64, copy=False))
    if array.dtype.kind == "f":
        return Column(numbers=array.astype(np.float64, copy=False))
    if array.dtype.kind == "U":
        return _text_column(pa.chunked_array([pa.array(array.astype(object), pa.string())]))
    if array.dtype.kind == "O":
        return column_of(array.tolist())
    raise TypeError(f"a column of dtype {array.dtype} holds neither text nor numbers")


def column_of(cells: Any) -> Column:
    """Make a column of a 1-D array or a list of Python values (None = empty)."""
    import pyarrow as pa

    if isinstance(cells, np.ndarray):
        return column_from_numpy(cells)
    try:
        return column_from_arrow(pa.array(cells, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        kinds = [type(cell) for cell in cells if cell is not None]
        row = next((row for row, cell in enumerate(cells) if cell is not None and type(cell) is not kinds[0]), 0)
        raise TypeError(
            f"mixes kinds of cells: row {row + 1} is {cells[row]!r}, others are {kinds[0].__name__}"
        ) from error


@dataclass
class Source(ABC):
    """A file opened just far enough to know its columns.

    Parameters
    ----------
    path : str
        As shown in messages.
    form : str
        What the file is, e.g. ``"comma-separated"``.
    names : list of str
        One per column; ``""`` for a column without a name.
    header : bool
        Whether the file itself names its columns.
    numbers_are_text : bool
        Whether numbers come as text (CSV), so that text made of digits only counts as a number.
    header_line : int, optional
        The line (from 1) of a text file that holds the names.
    labels, n_objects
        As stored by a file that this package wrote, else None.
    notes : list of str
        Things the user should know.
    """

    path: str
    form: str
    names: list[str]
    header: bool
    numbers_are_text: bool = False
    labels: np.ndarray | None = None
    n_objects: int | None = None
    header_line: int | None = None
    notes: list[str] = field(default_factory=list)

    @abstractmethod
    def read(self, positions: Sequence[int]) -> list[Column]:
        """Read the columns at `positions`, each of n_rows cells."""

    def sample(self, position: int) -> list[str]:
        """Return the first cells of a column as text, to recognise what it holds."""
        column = self.read([position])[0]
        return [str(column.cell(row)) for row in range(min(len(column), 1000))]

    def place(self, row: int) -> str:
        """Say where data row `row` (from 0) is, in the user's terms."""
        return f"row {row + 1}"

    def title(self, position: int) -> str:
        """Name a column for a message."""
        name = self.names[position]
        return f"column {name!r}" if name and self.header else f"column {position + 1}"


@dataclass
class MemorySource(Source):
    """Columns already in memory, each a 1-D array or a list (n_rows,)."""

    arrays: list[Any] = field(default_factory=list)

    def read(self, positions: Sequence[int]) -> list[Column]:
        from .errors import FileFormatError

        columns = []
        for position in positions:
            try:
                columns.append(column_of(self.arrays[position]))
            except TypeError as error:
                raise FileFormatError(f"{self.path}: {self.title(position)}: {error}") from error
        return columns
