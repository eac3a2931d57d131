"""Columns of cells, and names as codes: cells that name objects, participants or strategies become numbers."""

from __future__ import annotations

import contextlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from nearer.data.messages import first_of, shown
from nearer.data.validate import NUMBER, frozen, is_number_text, is_whole, not_whole

UNKNOWN = "unknown"  # a participant or a strategy that is not known
_SOME_ROWS = 1 << 16


def _some_rows(n_rows: int) -> list[slice]:
    """Pieces of a column, so that what is computed in between stays in the caches of a core."""
    return [slice(start, start + _SOME_ROWS) for start in range(0, n_rows, _SOME_ROWS)]


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or texts as codes of their distinct `values`."""

    # (n_rows,): int or float, NaN for an empty cell; if there are values, int32 codes, -1 for an empty cell.
    cells: np.ndarray
    values: Any = None  # a pyarrow array of strings; None for numbers

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def is_text(self) -> bool:
        return self.values is not None

    def empty(self) -> np.ndarray:
        """Mark the cells without a value."""
        if self.is_text:
            return self.cells < 0
        return np.isnan(self.cells) if self.cells.dtype.kind == "f" else np.zeros(len(self), bool)

    def without(self, missing: Sequence[str]) -> Column:
        """A copy in which codes for a missing value are empty cells."""
        if not self.is_text:
            marked = np.isin(self.cells, [float(code) for code in missing if is_number_text(code)])
            return Column(np.where(marked, np.nan, self.cells)) if marked.any() else self
        marked = self.is_among(missing)
        return Column(np.where(marked, np.int32(-1), self.cells), self.values) if marked.any() else self

    def is_among(self, texts: Sequence[str], any_case: bool = False) -> np.ndarray:
        """Mark the cells that hold one of some texts, with or without blanks around it."""
        if not self.is_text:
            return np.zeros(len(self), bool)
        values = pc.utf8_trim_whitespace(self.values)
        if any_case:
            values, texts = pc.utf8_lower(values), [text.lower() for text in texts]
        held = _mask(pc.is_in(values, value_set=pa.array(texts, pa.string())))
        return np.append(held, False)[self.cells] if held.any() else np.zeros(len(self), bool)

    def filled(self, text: str) -> Column:
        """A copy as text, with a text in the empty cells."""
        column = self.spelled()
        values = pa.array([*column.texts(), text], pa.string())
        return Column(np.where(column.cells < 0, np.int32(len(values) - 1), column.cells), values)

    def take(self, rows: np.ndarray | slice) -> Column:
        return Column(self.cells[rows], self.values)

    def cell(self, row: int) -> Any:
        value = self.cells[row].item()
        if self.is_text:
            return None if value < 0 else self.values[value].as_py()
        return None if value != value else int(value) if isinstance(value, float) and value.is_integer() else value

    def texts(self) -> list[str]:
        return self.values.to_pylist() if self.is_text else []

    def used(self) -> Any:
        """The distinct texts that occur, which may be fewer than there are values; numbers are spelled out."""
        column = self.spelled()
        used = np.zeros(len(column.values) + 1, dtype=bool)
        for rows in _some_rows(len(column)):
            used[column.cells[rows]] = True
            if used[:-1].all():
                return column.values
        return column.values.filter(pa.array(used[:-1]))

    def spelled(self) -> Column:
        """Turn numbers into text: whole numbers without a decimal point."""
        if self.is_text:
            return self
        filled, cells = ~self.empty(), np.full(len(self), -1, np.int32)
        numbers, cells[filled] = np.unique(self.cells[filled], return_inverse=True)
        return Column(cells, pa.array(map(_spell, numbers.tolist()), pa.string()))

    def as_numbers(self, decimal_comma: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Read the column as numbers, NaN where a cell is empty or not a number; and mark the latter."""
        if not self.is_text:
            return self.cells.astype(np.float64), np.zeros(len(self), bool)
        stripped = pc.utf8_trim_whitespace(self.values)
        if decimal_comma:
            stripped = pc.replace_substring(stripped, ",", ".")
        is_number = pc.match_substring_regex(stripped, f"^{NUMBER}$")
        digits = pc.replace_substring_regex(stripped, r"^\+", "")  # Arrow's cast takes no leading plus sign
        parsed = pc.cast(pc.if_else(is_number, digits, None), pa.float64())
        values = np.append(parsed.to_numpy(zero_copy_only=False).astype(np.float64), np.nan)
        return values[self.cells], np.append(~_mask(is_number), False)[self.cells]

    def find(self, column: Column) -> np.ndarray:
        """The position of each cell in these names (see `names_in`), int32; -1 if unknown or empty."""
        if not self.is_text and not column.is_text:
            return self._places(whole_numbers(column))
        column = column.spelled()
        if self.is_text:
            places = pc.index_in(column.values, value_set=self.values).fill_null(-1).to_numpy().astype(np.int32)
        else:
            numbers = np.array([int(text) if is_whole(text) else -1 for text in column.texts()], np.int64)
            places = np.where(numbers < 0, np.int32(-1), self._places(numbers))
        places, found = np.append(places, np.int32(-1)), np.empty(len(column), np.int32)
        for rows in _some_rows(len(column)):
            found[rows] = places.take(column.cells[rows], mode="wrap")  # -1 takes the last: faster than a check
        return found

    def _places(self, numbers: np.ndarray) -> np.ndarray:
        if not len(numbers) or not len(self):
            return np.full(len(numbers), -1, np.int32)
        low, high = int(self.cells[0]), int(self.cells[-1])
        inside = low <= int(numbers.min()) and int(numbers.max()) <= high
        if inside and self._table is not None:
            return self._table[numbers - low]
        found = np.minimum(np.searchsorted(self.cells, numbers), len(self) - 1)
        return np.where(self.cells[found] == numbers, found, -1).astype(np.int32)

    @cached_property
    def _table(self) -> np.ndarray | None:
        """Table from number, less the lowest, to position; only if numbers are dense enough."""
        low = int(self.cells[0])
        size = int(self.cells[-1]) - low + 1
        if size > 16 * len(self) + 1024:
            return None
        table = np.full(size, -1, dtype=np.int32)
        table[self.cells - low] = np.arange(len(self), dtype=np.int32)
        return table


def _mask(array: Any) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False).astype(bool)


def _spell(number: Any) -> str:
    measured = isinstance(number, (float, np.floating, Decimal))
    return str(int(number)) if measured and math.isfinite(number) and number == int(number) else str(number)


def column_from_arrow(data: Any) -> Column:
    """Make a column of a pyarrow (Chunked)Array; TypeError for a type without cells, ArrowInvalid for broken UTF-8."""
    chunked = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
    if types.is_dictionary(chunked.type) and not is_text(chunked.type):
        with contextlib.suppress(pa.ArrowNotImplementedError):  # categories that are intervals, say, refused below
            chunked = chunked.cast(chunked.type.value_type)
    if types.is_decimal(chunked.type):
        chunked = chunked.cast(pa.float64())
    kind = chunked.type
    if types.is_boolean(kind):
        chunked = pc.if_else(chunked, "True", "False")  # as in a file: not the numbers 1 and 0
    elif types.is_integer(kind):
        if kind != pa.int32():  # narrower types overflow in arithmetic, wider ones do not fit
            chunked = chunked.cast(pa.int64())
        if chunked.null_count:  # floats would merge neighbours beyond 2^53
            chunked = chunked.cast(pa.string())
    if is_text(chunked.type) or types.is_null(kind):
        return _text_column(chunked)
    if types.is_integer(kind) or types.is_floating(kind):
        return Column(chunked.to_numpy())
    raise TypeError(f"a column of type {kind} holds neither text nor numbers")


def is_text(kind: Any) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def _text_column(chunked: Any) -> Column:
    """Encode chunks of text, in Unicode NFC: one name is one name however its accents are written; blank is empty."""
    coded = pa.types.is_dictionary(chunked.type)
    if not coded or any(chunk.dictionary.null_count for chunk in chunked.chunks):  # an empty cell may have a code
        chunked = chunked.cast(pa.string()).dictionary_encode()
    chunked = chunked.cast(pa.dictionary(pa.int32(), pa.string()))
    joined = chunked.unify_dictionaries().combine_chunks()
    joined.dictionary.validate(full=True)  # that text is UTF-8
    held = pc.index(pc.match_substring(joined.dictionary, "\0"), True).as_py()
    if held >= 0:  # NumPy would cut it off at the end of a name
        raise TypeError(f"{shown(joined.dictionary[held].as_py())} is not text (holds a NUL)")
    texts = joined.dictionary
    if not pc.all(pc.string_is_ascii(texts)).as_py():  # Arrow's own NFC decomposes in versions up to 21
        texts = pa.array([unicodedata.normalize("NFC", text) for text in texts.to_pylist()], pa.string())
    return Column(joined.indices.fill_null(-1).to_numpy(), texts).without([""])


def column_of(cells: Any) -> Column:
    """Make a column of an array, a pandas or polars column or a list; TypeError for neither text nor numbers."""
    no_cells = isinstance(cells, (str, bytes, set, frozenset, Mapping))  # letters, or cells in no order
    if no_cells or not hasattr(cells, "__iter__"):
        raise TypeError(f"got {shown(cells)} ({type(cells).__name__}), expected a list or an array of cells")
    if len(shape := getattr(cells, "shape", (0,))) != 1:
        raise TypeError(f"got shape {shape}, expected one cell for each row")
    if isinstance(cells, (pa.Array, pa.ChunkedArray)):
        return column_from_arrow(cells)
    if isinstance(cells, np.ndarray):
        native = cells.astype(cells.dtype.newbyteorder("="), copy=False)
        cells = native.tolist() if cells.dtype.kind in "OT" else native
    try:
        array = cells.to_arrow() if hasattr(cells, "to_arrow") else pa.array(cells, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array([_as_text(cell, row) for row, cell in enumerate(cells)], pa.string())
    return column_from_arrow(array)


def _as_text(cell: Any, row: int) -> str | None:
    kind = type(cell).__name__
    if cell is None or kind == "NAType":  # of pandas
        return None
    if not isinstance(cell, (str, int, float, np.integer, np.floating, np.bool_, Decimal)):
        raise TypeError(f"row {row + 1} is {cell!r} ({kind}), expected text or a number")
    return cell if isinstance(cell, str) else _spell(cell) if cell == cell else None


def names_in(columns: Sequence[Column]) -> Column:
    """Distinct names in columns without empty cells, sorted: numbers by size; if there is text, all by code point."""
    if any(column.is_text for column in columns):
        texts = pc.unique(pa.chunked_array([column.used() for column in columns], pa.string()))
        return Column(np.arange(len(texts), dtype=np.int32), texts.take(pc.sort_indices(texts)))
    numbers = [whole_numbers(column) for column in columns if len(column)]
    lowest = min((int(column.min()) for column in numbers), default=0)
    size = max((int(column.max()) for column in numbers), default=-1) - lowest + 1
    if size > 16 * sum(map(len, numbers)) + 1024:
        return Column(distinct(np.concatenate([distinct(column) for column in numbers])).astype(np.int64))
    seen = np.zeros(size, dtype=bool)
    for column in numbers:
        seen[column - lowest] = True
    return Column(np.flatnonzero(seen) + lowest)


def whole_numbers(column: Column) -> np.ndarray:
    """Read a column of numbers as integers; ValueError names the first that is not whole."""
    numbers = column.cells
    if numbers.dtype.kind != "f":
        return numbers
    if (bad := not_whole(numbers)).any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row + 1} is {numbers[row]}, expected a name or a whole number")
    return numbers.astype(np.int64)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Distinct whole numbers, ascending; `np.unique` of NumPy 2.3 and later takes 20 times as long if many differ."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]


@dataclass(frozen=True, eq=False)
class Coded:
    """A name for every row, as codes into a table of names, so that a long name costs its length once."""

    codes: np.ndarray  # int32 (n,)
    names: np.ndarray  # str objects or int64 (n_names,), sorted; all occur

    def __post_init__(self) -> None:
        vars(self).update(codes=frozen(self.codes), names=frozen(self.names))

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coded):
            return NotImplemented
        return np.array_equal(self.names, other.names) and np.array_equal(self.codes, other.codes)

    @staticmethod
    def of(column: Column) -> Coded:
        names = names_in([column])
        return Coded(names.find(column), np.array(names.texts(), dtype=object) if names.is_text else names.cells)

    @staticmethod
    def constant(name: str, n_rows: int) -> Coded:
        return Coded(np.zeros(n_rows, np.int32), np.array([name] if n_rows else [], dtype=object))

    def each(self) -> np.ndarray:
        return frozen(self.names[self.codes])

    def __getitem__(self, rows: Any) -> Coded:
        codes = self.codes[rows]
        used = np.zeros(len(self.names), dtype=bool)
        used[codes] = True
        return Coded((np.cumsum(used, dtype=np.int32) - 1)[codes], self.names[used])

    @staticmethod
    def joined(parts: Sequence[Coded]) -> Coded:
        if len({part.names.dtype.kind for part in parts}) > 1:
            parts = [Coded(part.codes, part.names.astype(str).astype(object)) for part in parts]
        names = np.unique(np.concatenate([part.names for part in parts]))
        codes = [np.searchsorted(names, part.names).astype(np.int32)[part.codes] for part in parts]
        return Coded(np.concatenate(codes), names)


def check_coded(values: Any, n_rows: int | None, name: str, what: str) -> Coded | None:
    """Check names given for each row: text or integers, none missing; messages call one of them `what`."""
    if values is None or isinstance(values, Coded):
        return values
    try:
        column = column_of(values if hasattr(values, "__len__") else list(values))
        if n_rows is not None and len(column) != n_rows:
            raise ValueError(f"got shape ({len(column)},), expected ({n_rows},), one for each row")
        if not len(column):
            raise ValueError("got no rows, expected at least one")
        empty = column.empty()
        if empty.any():
            raise ValueError(f"row {int(np.argmax(empty))} has no {what}{first_of(int(empty.sum()), 'missing')}")
        return Coded.of(column)
    except (TypeError, ValueError, LookupError) as error:
        raise ValueError(f"{name}: {error}") from None
