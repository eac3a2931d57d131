"""Columns of cells, and the only coder: cells that name objects or people become numbers."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._memory import available_cores
from nearer.data.cells import MISSING, is_unicode, is_whole, whole_number
from nearer.data.errors import FileFormatError, shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Coding", "Column", "MemoryTable", "Table", "column_from_arrow", "column_of"]

INEXACT = "numbers of this size and kind lose their last digits; give them as text"


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or texts as codes of their distinct `values`."""

    # (n_rows,): int, float or bool, NaN for an empty cell; with values their codes, int32, -1 for an empty cell.
    cells: np.ndarray
    values: pa.Array | None = None  # of strings; None for numbers
    all_occur: bool = False  # whether each of the distinct texts is known to occur

    def __len__(self) -> int:
        return len(self.cells)

    @staticmethod
    def are_text(columns: Iterable[Column]) -> bool:
        """Whether all of some columns hold text."""
        return all(column.is_text for column in columns)

    @property
    def is_text(self) -> bool:
        """Whether the cells are text."""
        return self.values is not None

    def empty(self, words: Sequence[str] = ("",)) -> np.ndarray:
        """Mark the cells without a value; texts that count as empty are `words`, whatever the blanks around them."""
        if self.is_text:
            import pyarrow as pa
            import pyarrow.compute as pc

            plain = pc.utf8_trim_whitespace(self.values) if self._may_be_padded else self.values
            held = _mask(pc.is_in(plain, value_set=pa.array(words)))
            if not held.any() and self.cells.min(initial=0) >= 0:
                return np.zeros(len(self), bool)
            return np.append(held, True)[self.cells]
        if self.cells.dtype.kind == "f":
            return np.isnan(self.cells)
        return np.zeros(len(self), bool)

    def saying(self, words: Sequence[str]) -> np.ndarray:
        """Mark the cells that say one of some words, whatever their case, blanks and marks, or are it to the letter."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.values is None:
            return np.zeros(len(self), bool)
        wanted = pa.array(words, pa.string())
        plain = pc.replace_substring_regex(pc.utf8_lower(self.values), r"[^\pL\pN]+", "")
        exact = pc.is_in(pc.utf8_trim_whitespace(self.values), value_set=wanted)
        return self.holding(pc.or_(exact, pc.is_in(plain, value_set=wanted)))

    def holding(self, marked: Any) -> np.ndarray:
        """Mark the cells whose text is marked, given an Arrow mask of the distinct texts."""
        held = _mask(marked)
        return np.append(held, False)[self.cells] if held.any() else np.zeros(len(self), bool)

    def may_hold(self, letter: str) -> bool:
        """Whether some text may hold an ASCII letter: a first look, much faster than one at each text."""
        data = None if self.values is None else self.values.buffers()[2]
        return data is not None and bool((np.frombuffer(data, np.uint8) == ord(letter)).any())

    @staticmethod
    def some_may_hold(columns: Iterable[Column], letter: str) -> bool:
        """Whether some text of some columns may hold an ASCII letter."""
        return any(column.may_hold(letter) for column in columns)

    @property
    def _may_be_padded(self) -> bool:
        data = None if self.values is None else self.values.buffers()[2]
        letters = np.frombuffer(b"" if data is None else data, np.uint8)
        return bool(((letters <= ord(" ")) | (letters > 127)).any())

    def first_nul(self) -> int | None:
        """Find the first text that holds a NUL, which NumPy would cut off at the end of a name."""
        if not self.may_hold("\0"):
            return None
        import pyarrow.compute as pc

        held = self.holding(pc.match_substring(self.values, "\0"))
        return int(np.argmax(held)) if held.any() else None

    def take(self, rows: np.ndarray | slice) -> Column:
        """Select cells by a mask, by positions or by a slice."""
        return Column(self.cells[rows], self.values)

    def cell(self, row: int) -> Any:
        """Give one cell as a Python value, None if it is empty."""
        if self.values is not None:
            code = int(self.cells[row])
            return None if code < 0 else self.values[code].as_py()
        value = self.cells[row].item()
        return None if value != value else int(value) if isinstance(value, float) and value.is_integer() else value

    def texts(self) -> list[str]:
        """List the distinct texts of a column of text."""
        return [] if self.values is None else self.values.to_pylist()

    def used(self) -> Any:
        """The distinct texts that occur, which may be fewer than there are values; numbers are spelled out."""
        import pyarrow as pa

        column = self.spelled()
        if column.all_occur or column.values is None:
            return pa.array([], pa.string()) if column.values is None else column.values
        used = np.zeros(len(column.values) + 1, dtype=bool)
        used[column.cells] = True
        return column.values.filter(pa.array(used[:-1]))

    def filled(self, empty: np.ndarray, other: Column) -> Column:
        """The same with the cells of another column where a mask says so."""
        if not self.is_text and not other.is_text:
            return Column(np.where(empty, other.cells, self.cells))
        import pyarrow as pa

        one, two = self.spelled(), other.spelled()
        texts = pa.concat_arrays([one.values, two.values])
        return Column(np.where(empty, two.cells + len(one.texts()), one.cells).astype(np.int32), texts)

    def spelled(self) -> Column:
        """Turn numbers into text: whole numbers without a decimal point."""
        if self.is_text:
            return self
        numbers, codes = np.unique(self.cells[~self.empty()], return_inverse=True)
        import pyarrow as pa

        filled = np.full(len(self), -1, np.int32)
        filled[~self.empty()] = codes
        return Column(filled, pa.array([_spell(number) for number in numbers.tolist()], pa.string()))

    def plain(self) -> Column:
        """Take off what does not matter in answers: blanks around texts, the decimal point of whole numbers."""
        if not self.is_text:
            return self
        import pyarrow as pa
        import pyarrow.compute as pc

        values = pc.utf8_trim_whitespace(self.values)
        whole = [whole_number(text) for text in values.to_pylist()]
        if None not in whole:
            values = pa.array(list(map(str, whole)), pa.string())
        return Column(self.cells, values)

    def as_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Read the column as numbers, NaN where a cell is empty or none; and mark cells that are neither."""
        if self.values is None:
            if self.cells.dtype.kind == "b":  # as the texts true and false in a file
                return np.full(len(self), np.nan), np.ones(len(self), bool)
            return self.cells.astype(np.float64), np.zeros(len(self), bool)
        import pyarrow as pa
        import pyarrow.compute as pc

        stripped = pc.utf8_trim_whitespace(self.values)
        blank = pc.is_in(stripped, value_set=pa.array(MISSING))
        is_number = pc.match_substring_regex(stripped, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
        digits = pc.replace_substring_regex(stripped, r"^\+", "")  # Arrow's cast takes no leading plus sign
        parsed = pc.cast(pc.if_else(is_number, digits, None), pa.float64())
        values = np.append(parsed.to_numpy(zero_copy_only=False).astype(np.float64), np.nan)
        wrong = np.append(~(_mask(is_number) | _mask(blank)), False)
        return values[self.cells], wrong[self.cells]


def _mask(array: Any) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False).astype(bool)


def _spell(number: Any) -> str:
    measured = isinstance(number, (float, np.floating, Decimal))
    return str(int(number)) if measured and math.isfinite(number) and number == int(number) else str(number)


def column_from_arrow(data: Any) -> Column:
    """Make a column of a pyarrow (Chunked)Array; TypeError for a type without cells, ArrowInvalid for broken UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    chunked = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
    kind = chunked.type
    if types.is_dictionary(kind) and not is_text(kind):
        try:
            chunked, kind = chunked.cast(kind.value_type), kind.value_type
        except pa.ArrowNotImplementedError:  # categories that are intervals, say
            raise TypeError(f"a column of type {kind.value_type} holds neither text nor numbers") from None
    if is_text(kind) or types.is_null(kind):
        return _text_column(chunked)
    if types.is_boolean(kind):
        if chunked.null_count:
            return _text_column(pc.if_else(chunked, "True", "False"))  # not 1 and 0: they are no numbers
        return Column(chunked.to_numpy())
    if types.is_decimal(kind):
        with contextlib.suppress(pa.ArrowInvalid):  # not whole, or too large
            chunked, kind = chunked.cast(pa.int64()), pa.int64()
    if types.is_integer(kind):
        if chunked.null_count and types.is_uint64(kind):
            _whole_column(chunked.drop_null().to_numpy())  # refuses what does not fit
        if chunked.null_count:
            try:
                return Column(chunked.cast(pa.float64()).to_numpy())
            except pa.ArrowInvalid:  # beyond 2^53, where floats would give neighbours one name
                return _text_column(chunked.cast(pa.string()))
        return _whole_column(chunked.to_numpy())
    if types.is_floating(kind) or types.is_decimal(kind):
        return Column((chunked.cast(pa.float64()) if types.is_decimal(kind) else chunked).to_numpy())
    raise TypeError(f"a column of type {kind} holds neither text nor numbers")


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow type is text, coded or not."""
    import pyarrow.types as types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def _whole_column(array: np.ndarray) -> Column:
    """Keep int32 and int64 as they are; narrower types overflow in arithmetic, wider ones do not fit."""
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise TypeError(f"the integer {array.max()} is beyond the signed 64-bit range")
    return Column(array if array.dtype in (np.int32, np.int64) else array.astype(np.int64))


def _text_column(chunked: Any) -> Column:
    """Encode chunks of text; equal texts get equal codes across chunks."""
    import pyarrow as pa

    wanted = pa.dictionary(pa.int32(), pa.string())
    coded = pa.types.is_dictionary(chunked.type)
    if not coded or any(chunk.dictionary.null_count for chunk in chunked.chunks):  # an empty cell may have a code
        texts = chunked.cast(pa.string())
        column = _looked_up(texts)
        if column is not None:
            return column
        chunked = texts.dictionary_encode()
    elif chunked.type != wanted:
        chunked = chunked.cast(wanted)
    if chunked.num_chunks == 0:
        return Column(np.empty(0, np.int32), pa.array([], pa.string()))
    chunked = chunked.unify_dictionaries()
    codes = np.empty(len(chunked), np.int32)
    start = 0
    for chunk in chunked.chunks:
        indices = chunk.indices
        codes[start : start + len(chunk)] = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
        start += len(chunk)
    values = chunked.chunk(0).dictionary
    values.validate(full=True)  # that text is UTF-8
    return Column(codes, values)


_FIRST_ROWS = 1 << 17


def _looked_up(texts: Any) -> Column | None:
    """Encode many texts by those of the first rows, in several threads, and what is left after that.

    Where texts recur often, looking them up takes half the time of collecting them; None where many differ.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    n_rows = len(texts)
    if n_rows < 4 * _FIRST_ROWS:
        return None
    first = _text_column(texts.slice(0, _FIRST_ROWS))
    values = first.values
    if values is None or 4 * len(values) > _FIRST_ROWS:
        return None
    n_threads = min(available_cores(), n_rows // _FIRST_ROWS)
    step = -(-(n_rows - _FIRST_ROWS) // n_threads)
    codes = np.empty(n_rows, np.int32)
    codes[:_FIRST_ROWS] = first.cells

    def look_up(start: int) -> int:
        found = pc.index_in(texts.slice(start, step), value_set=values)
        codes[start : start + step] = (found.fill_null(-1) if found.null_count else found).to_numpy()
        return found.null_count

    with ThreadPoolExecutor(n_threads) as pool:
        n_missing = sum(pool.map(look_up, range(_FIRST_ROWS, n_rows, step)))
    if n_missing > texts.slice(_FIRST_ROWS).null_count:
        missing = codes < 0
        left = texts.filter(pa.array(missing))
        others = pc.unique(left).drop_null()
        codes[missing] = pc.add(pc.index_in(left, value_set=others), len(values)).fill_null(-1).to_numpy()
        values = pa.concat_arrays([values, others])
    values.validate(full=True)  # that text is UTF-8
    return Column(codes, values)


def column_of(cells: Any) -> Column:
    """Make a column of anything one-dimensional: an array, a pandas or polars column, a list (None is empty).

    Cells of several kinds (text and numbers) become text; what is neither is a TypeError.
    """
    import pyarrow as pa

    no_cells = isinstance(cells, (str, bytes, set, frozenset, Mapping))  # letters, or cells in no order
    if no_cells or not hasattr(cells, "__iter__"):
        raise TypeError(f"got {shown(cells)} ({type(cells).__name__}), expected a list or an array of cells")
    if len(shape := getattr(cells, "shape", (0,))) != 1:
        raise TypeError(f"got shape {shape}, expected one cell for each row")
    if isinstance(cells, (pa.Array, pa.ChunkedArray)):
        return column_from_arrow(cells)
    if isinstance(cells, np.ma.MaskedArray):
        cells = cells.filled(np.nan) if cells.dtype.kind == "f" else cells.tolist()
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "iu":
            return _whole_column(cells)
        if cells.dtype.kind in "bf":
            native = cells.dtype.kind == "b" or cells.dtype in (np.float16, np.float32)  # see `exact_below`
            return Column(cells.astype(cells.dtype.newbyteorder("=") if native else np.float64, copy=False))
        if cells.dtype.kind not in "UTO":
            raise TypeError(f"a column of dtype {cells.dtype} holds neither text nor numbers")
        cells = cells.tolist()
    elif hasattr(cells, "to_arrow"):  # polars
        try:
            return column_from_arrow(cells.to_arrow())
        except pa.ArrowException:
            kind = getattr(cells, "dtype", type(cells).__name__)
            raise TypeError(f"a column of type {kind} holds neither text nor numbers that can be read") from None
    try:
        array = pa.array(cells, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array([_as_text(cell, row) for row, cell in enumerate(cells)], pa.string())
    return column_from_arrow(array)


HOLDS_NUL = "is not text (holds a NUL)"


def _as_text(cell: Any, row: int) -> str | None:
    """Read one of cells of several kinds as text, None if it is empty."""
    kind = type(cell).__name__
    if cell is None or kind == "NAType":  # of pandas
        return None
    if isinstance(cell, str):
        if not is_unicode(cell):
            raise TypeError(f"row {row + 1} is {cell!r}, which holds half a character, expected whole ones")
        return cell
    if not isinstance(cell, (int, float, np.integer, np.floating, np.bool_, Decimal)):
        raise TypeError(f"row {row + 1} is {cell!r} ({kind}), expected text or a number")
    if isinstance(cell, (float, np.floating)) and exact_below(np.asarray(cell)) <= abs(float(cell)) < np.inf:
        raise TypeError(f"row {row + 1} is {cell:.17g}: {INEXACT}")
    return _spell(cell) if cell == cell else None


class Coding:
    """The distinct names that occur, sorted: whole numbers (int64) by size, texts (a pyarrow array) by code point."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether the names are texts rather than whole numbers."""
        return not isinstance(self.values, np.ndarray)

    def names(self) -> np.ndarray:
        """The names as text, shape (n,)."""
        return np.array(self.values.to_pylist() if self.is_text else self.values.tolist(), dtype=str)

    def some(self, places: np.ndarray) -> list[str]:
        """The names at some places, as text."""
        return [str(name) for name in (self.values.take(places).to_pylist() if self.is_text else self.values[places])]

    def as_column(self) -> Column:
        """A column that holds each name once, in order."""
        if self.is_text:
            return Column(np.arange(len(self), dtype=np.int32), self.values, all_occur=True)
        return Column(self.values)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Coding:
        """Collect the names that occur in some columns without empty cells; ValueError if a number is not whole."""
        if any(column.is_text for column in columns):
            import pyarrow as pa

            numbers = [column.cells for column in columns if not column.is_text]
            if any((np.abs(cells) >= exact_below(cells)).any() for cells in numbers):
                raise ValueError(INEXACT)
            return cls(_sorted_texts([column.used() for column in columns], pa))
        numbers = [whole_numbers(column) for column in columns]
        if not sum(map(len, numbers)):
            return cls(np.empty(0, np.int64))
        lowest = min(int(column.min()) for column in numbers if len(column))
        size = max(int(column.max()) for column in numbers if len(column)) - lowest + 1
        if size > 16 * sum(map(len, numbers)) + 1024:
            return cls(distinct(np.concatenate([distinct(column) for column in numbers])).astype(np.int64))
        seen = np.zeros(size, dtype=bool)
        for column in numbers:
            seen[column - lowest if lowest else column] = True
        return cls(np.flatnonzero(seen) + lowest)

    @classmethod
    def union(cls, codings: Iterable[Coding]) -> Coding:
        """Collect the names of several codings; numbers are spelled out where others are texts."""
        codings = [coding for coding in codings if len(coding)] or [cls(np.empty(0, np.int64))]
        if not any(coding.is_text for coding in codings):
            if len(codings) == 1:
                return codings[0]
            return cls.of([coding.as_column() for coding in codings])
        import pyarrow as pa

        texts = [
            coding.values if coding.is_text else pa.array(list(map(str, coding.values.tolist()))) for coding in codings
        ]
        return codings[0] if len(codings) == 1 else cls(_sorted_texts(texts, pa))

    def encode(self, column: Column, numbers: np.ndarray | None = None) -> np.ndarray:
        """Number the cells of a column: int32, shape (n_rows,), -1 for one not among the names, and for an empty text.

        `numbers` (n,) says what to write for each name; by default its position.
        """
        return self.encoder(column, numbers)(slice(None))

    def encoder(self, column: Column, numbers: np.ndarray | None = None) -> Callable[[slice], np.ndarray]:
        """Give what numbers some of the rows of a column, as `encode` does for all."""
        written = None if numbers is None else np.append(numbers, np.int32(-1))
        if not self.is_text and not column.is_text:
            cells = whole_numbers(column)
            if written is None:
                return lambda rows: self._places(cells[rows])
            return lambda rows: written[self._places(cells[rows])]
        column = column.spelled()
        if self.is_text:
            import pyarrow.compute as pc

            places = pc.index_in(column.values, value_set=self.values).fill_null(-1).to_numpy().astype(np.int32)
        else:
            places = np.array([self._place(text) for text in column.texts()], np.int32)
        places = np.append(places if written is None else written[places], np.int32(-1))
        return lambda rows: np.take(places, column.cells[rows], mode="wrap")  # -1 is the last, faster than a check

    def _place(self, text: str) -> int:
        number = int(text) if is_whole(text) else -1
        place = int(np.searchsorted(self.values, number))
        return place if place < len(self) and self.values[place] == number and is_whole(text) else -1

    def _places(self, numbers: np.ndarray) -> np.ndarray:
        if not len(numbers) or not len(self):
            return np.full(len(numbers), -1, np.int32)
        low, high = int(self.values[0]), int(self.values[-1])
        inside = low <= int(numbers.min()) and int(numbers.max()) <= high
        if inside and self._table is not None:
            if high - low + 1 == len(self):
                return (numbers - low if low else numbers).astype(np.int32, copy=False)
            return self._table[numbers - low]
        found = np.minimum(np.searchsorted(self.values, numbers), len(self) - 1)
        return np.where(self.values[found] == numbers, found, -1).astype(np.int32)

    @cached_property
    def _table(self) -> np.ndarray | None:
        """Number, counted from the lowest, to place, where the numbers are dense enough for a table."""
        low = int(self.values[0])
        size = int(self.values[-1]) - low + 1
        if size > 16 * len(self) + 1024:
            return None
        table = np.full(size, -1, dtype=np.int32)
        table[self.values - low] = np.arange(len(self), dtype=np.int32)
        return table

    def __reduce__(self) -> tuple:
        return Coding, (self.values,)


def exact_below(numbers: np.ndarray) -> float:
    """Where whole numbers of a type of float begin to share one value: 2**53, 2**24 or 2**11 by its width."""
    return 2.0 ** (np.finfo(numbers.dtype).nmant + 1) if numbers.dtype.kind == "f" else np.inf


def whole_numbers(column: Column) -> np.ndarray:
    """Read a column of numbers as integers; ValueError names the first that is not whole."""
    numbers = column.cells
    if numbers.dtype.kind == "b":
        raise ValueError("holds true and false, expected names or whole numbers")
    if numbers.dtype.kind != "f":
        return numbers
    bad = ~((np.trunc(numbers) == numbers) & (np.abs(numbers) < exact_below(numbers)))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row + 1} is {numbers[row]}, expected a name or a whole number")
    return numbers.astype(np.int64)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers, each once, ascending; `np.unique` of NumPy 2.3 and later takes 20 times as long if many differ."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]


def _sorted_texts(parts: list[Any], pa: Any) -> Any:
    import pyarrow.compute as pc

    distinct = pc.unique(pa.chunked_array(parts, pa.string()))
    return distinct.take(pc.sort_indices(distinct))


@dataclass
class Table(ABC):
    """Named columns, from whatever carries them."""

    name: str  # as shown in messages: the path of a file, or "table"
    form: str  # what carries it, in words, such as "comma-separated"
    names: list[str]  # one for each column; "" for a column without a name
    header: bool  # whether the columns have names
    header_line: int | None = None  # the line of a text file, counted from 1, that holds the names
    labels: np.ndarray | None = None  # all objects (n_objects,), as stored by a file that this package wrote
    n_objects: int | None = None  # likewise, where objects are numbers
    notes: list[str] = field(default_factory=list)  # what the user should know
    counts_from: int = 0  # what the numbers of objects count from, where there is a list of them and 0 does not occur
    hint: str = ""  # what else may be wrong if the columns are not understood
    alarms: list[str] = field(default_factory=list)  # what is doubtful about the whole of it
    first_is_data: bool = False  # whether the user said that the first row holds no names
    is_index: bool = False  # whether it is an array of object numbers, whose columns are known by their places alone

    @abstractmethod
    def read(self, positions: Sequence[int]) -> list[Column]:
        """Read the columns at some positions, each of n_rows cells."""

    def read_beside(self, positions: Sequence[int], others: Sequence[int]) -> tuple[list[Column], dict[int, Column]]:
        """Read columns, and with them others that are not used: of these, what cannot be read is left out."""
        found, beside = self.read(positions), {}
        for spot in others:
            with contextlib.suppress(FileFormatError):
                beside[spot] = self.read([spot])[0]
        return found, {spot: column for spot, column in beside.items() if len(column) == len(found[0])}

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        """Show the first rows as text, of the first columns or of all."""
        columns = self.read(range(len(self.names))[:n_columns])
        shown = range(min(n_rows, len(columns[0])))
        return [["" if (cell := column.cell(row)) is None else str(cell) for column in columns] for row in shown]

    def place(self, row: int) -> str:
        """Say where a row of data, counted from 0, is in the user's terms."""
        return f"row {row + 1}"

    def follows_gap(self, row: int) -> bool:
        """Whether there is an empty line between a row of data, counted from 0, and the one above."""
        return False

    def title(self, position: int) -> str:
        """Name a column for a message."""
        name = self.names[position]
        return f"column {name!r}" if name and self.header else f"column {position + 1}"

    def refusal(self, why: str, position: int, row: int | None = None) -> FileFormatError:
        """Refuse what is in a column, with the first row of it where known."""
        where = self.name if row is None else f"{self.name}, {self.place(row)}"
        return FileFormatError(f"{where}, {self.title(position)}: {why}")


@dataclass
class MemoryTable(Table):
    """Columns in memory, each anything that `column_of` takes."""

    columns: Sequence[Any] = ()
    row_word: str = "row"  # what a row is called in messages
    first_row: int = 0  # rows before the first, where this is a block of something larger

    def read(self, positions: Sequence[int]) -> list[Column]:
        found = []
        for position in positions:
            try:
                found.append(column_of(self.columns[position]))
            except (TypeError, ValueError) as error:
                raise FileFormatError(f"{self.name}: {self.title(position)}: {error}") from error
        lengths = {len(column) for column in found}
        if len(lengths) > 1:
            sizes = ", ".join(f"{self.title(spot)} {len(column):,}" for spot, column in zip(positions, found))
            raise FileFormatError(f"{self.name}: the columns differ in length: {sizes}")
        return found

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        shown = []
        for column in self.columns[:n_columns]:
            try:
                cells = column_of(column[:n_rows])
                shown.append(["" if (cell := cells.cell(row)) is None else str(cell) for row in range(len(cells))])
            except (TypeError, ValueError):
                shown.append(["?"] * n_rows)
        return [list(row) for row in zip(*shown)]

    def place(self, row: int) -> str:
        return f"{self.row_word} {self.first_row + row + 1}"
