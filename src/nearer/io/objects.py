"""Cells that name objects become object numbers 0, 1, ..., n - 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .columns import Column, Source
from .errors import FileFormatError, counted, shown

_INTEGER = r"^(0|[1-9][0-9]{0,17})$"
_DECIMAL_INTEGER = r"^[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?$"
_RISKY = "[=+\\-@\t\r\n＝＋－＠]"
_BLANKS = " \u00a0"  # as left around a delimiter; tabs and line ends belong to the label
INT32_LIMIT = 2**31


@dataclass
class Objects:
    """Coded objects.

    Parameters
    ----------
    index : ndarray int32 (n_rows, n_columns)
    labels : ndarray of str (n_objects,) or None
        None: the objects are called by their numbers.
    n_objects : int
    notes : list of str
        What to tell the user.
    numbered : str, optional
        For objects given by number in the file: how those numbers were taken ("" if there is nothing to say).
    """

    index: np.ndarray
    labels: np.ndarray | None
    n_objects: int
    notes: list[str] = field(default_factory=list)
    numbered: str | None = None


def code_objects(
    source: Source,
    columns: Sequence[Column],
    positions: Sequence[int],
    place: Any,
    *,
    labels: np.ndarray | None = None,
    n_objects: int | None = None,
    index_base: int | None = None,
    strip: bool | None = None,
    whole: bool = False,
) -> Objects:
    """Give every object a number.

    Whole numbers that are exactly 0..n-1 are object numbers. Other whole numbers are names of objects, in numeric
    order; text is names of objects, in alphabetical (code point) order. `n_objects` or `index_base` say that whole
    numbers are object numbers; `labels` says which objects there are.

    Parameters
    ----------
    columns : sequence of Column
        Without empty cells, each (n_rows,).
    positions : sequence of int
        Where they are in the file, for messages.
    place : callable
        Row -> where it is, for messages.
    whole : bool
        Whether no row of the file was left out, so that every distinct text occurs.

    Returns
    -------
    Objects
    """
    notes: list[str] = []
    if any(column.is_text for column in columns):
        columns = [column if column.is_text else _spelled(column) for column in columns]
        if source.numbers_are_text:
            columns = _clean(columns, strip, notes)
            numbers = (
                None if labels is not None and not _are_positions(labels, columns) else _as_integers(columns, notes)
            )
        else:
            columns = _clean(columns, strip, notes) if strip else columns
            numbers = None
        if numbers is None:
            if index_base is not None:
                raise FileFormatError(f"{source.path}: index_base is for object numbers, but the objects have names")
            if labels is None and n_objects is not None:
                raise FileFormatError(
                    f"{source.path}: n_objects={n_objects} is for object numbers, but the objects have names; "
                    "pass labels="
                )
            return _from_text(source, columns, positions, place, labels, whole, notes)
    else:
        numbers = [_whole(source, column, position, place) for column, position in zip(columns, positions)]
    return _from_numbers(source, numbers, positions, place, labels, n_objects, index_base, notes)


def _spelled(column: Column) -> Column:
    """Turn a column of numbers into text, for a file that mixes both."""
    from .columns import column_from_numpy

    return column_from_numpy(np.array([str(number) for number in column._cells.tolist()]))


def _clean(columns: Sequence[Column], strip: bool | None, notes: list[str]) -> list[Column]:
    """Take off protecting apostrophes, and spaces around labels if asked or if they set equal labels apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = [column.values for column in columns]
    distinct = pc.unique(pa.chunked_array(values))
    guarded = pc.match_substring_regex(distinct, "^'+" + _RISKY)
    if pc.any(guarded).as_py() and not pc.any(pc.match_substring_regex(distinct, "^" + _RISKY)).as_py():
        count = pc.sum(guarded).as_py()
        notes.append(f"{counted(count, 'label')} read without the apostrophe that keeps a spreadsheet from running it")
        values = [pc.replace_substring_regex(value, f"^'('*{_RISKY})", r"\1") for value in values]
        distinct = pc.unique(pa.chunked_array(values))
    trimmed = pc.utf8_trim(distinct, characters=_BLANKS)
    if strip is None:
        strip = len(pc.unique(trimmed)) < len(distinct)
    if strip:
        count = pc.sum(pc.not_equal(trimmed, distinct)).as_py() or 0
        if count:
            notes.append(f"spaces around {counted(count, 'label')} removed")
        values = [pc.utf8_trim(value, characters=_BLANKS) for value in values]
    return [Column(codes=column.codes, values=value) for column, value in zip(columns, values)]


def _are_positions(labels: np.ndarray, columns: Sequence[Column]) -> bool:
    """Tell whether whole-number cells are positions in `labels` rather than labels themselves."""
    known = set(labels.tolist())
    return not any(text in known for column in columns for text in column.texts()[:50])


def _as_integers(columns: Sequence[Column], notes: list[str]) -> list[np.ndarray] | None:
    """Read columns of text as whole numbers, or return None if any text is something else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if all(pc.all(pc.match_substring_regex(column.values, _INTEGER)).as_py() for column in columns):
        return [pc.cast(column.values, pa.int64()).to_numpy()[column.codes] for column in columns]
    if all(pc.all(pc.match_substring_regex(column.values, _DECIMAL_INTEGER)).as_py() for column in columns):
        decimals = [pc.cast(column.values, pa.float64()).to_numpy() for column in columns]
        if all((np.mod(numbers, 1) == 0).all() and (numbers < 2**53).all() for numbers in decimals):
            notes.append("whole numbers written with a decimal point are read as whole numbers")
            return [numbers.astype(np.int64)[column.codes] for numbers, column in zip(decimals, columns)]
    return None


def _whole(source: Source, column: Column, position: int, place: Any) -> np.ndarray:
    numbers = column._cells
    if numbers.dtype.kind == "b":
        raise FileFormatError(f"{source.path}: {source.title(position)} holds true/false, expected objects")
    if numbers.dtype.kind == "f":
        bad = ~((np.mod(numbers, 1) == 0) & (np.abs(numbers) < 2**53))
        if bad.any():
            row = int(np.argmax(bad))
            raise FileFormatError(
                f"{source.path}, {place(row)}, {source.title(position)}: {numbers[row]} is not a whole number"
            )
        return numbers.astype(np.int64)
    return numbers


def _from_text(
    source: Source,
    columns: Sequence[Column],
    positions: Sequence[int],
    place: Any,
    labels: np.ndarray | None,
    whole: bool,
    notes: list[str],
) -> Objects:
    import pyarrow as pa
    import pyarrow.compute as pc

    if labels is None:
        # Texts that only occur in rows left out are not objects.
        texts = [column.values for column in columns]
        if not whole:
            texts = [pc.take(column.values, pa.array(np.unique(column._cells))) for column in columns]
        distinct = pc.unique(pa.chunked_array(texts))
        known = distinct.take(pc.sort_indices(distinct))
    else:
        known = pa.array(labels.tolist(), pa.string())
    index = np.empty((len(columns[0]), len(columns)), np.int32)
    for number, column in enumerate(columns):
        spots = pc.index_in(column.values, value_set=known).fill_null(-1).to_numpy()
        index[:, number] = spots[column.codes]
        if labels is not None and spots.size and spots.min() < 0:
            _refuse_unknown(source, index[:, number], column, positions[number], place, len(known))
    return Objects(index, np.array(known.to_pylist(), dtype=str), len(known), notes)


def _refuse_unknown(
    source: Source, spots: np.ndarray, column: Column, position: int, place: Any, n_labels: int
) -> None:
    bad = spots < 0
    count = int(np.count_nonzero(bad))
    if count:
        row = int(np.argmax(bad))
        more = f" (and {counted(count - 1, 'more cell')} in this column)" if count > 1 else ""
        raise FileFormatError(
            f"{source.path}, {place(row)}, {source.title(position)}: {shown(column.cell(row))} is not one of the "
            f"{n_labels:,} known labels{more}"
        )


def _from_numbers(
    source: Source,
    numbers: Sequence[np.ndarray],
    positions: Sequence[int],
    place: Any,
    labels: np.ndarray | None,
    n_objects: int | None,
    index_base: int | None,
    notes: list[str],
) -> Objects:
    lowest = min(int(column.min()) for column in numbers)
    highest = max(int(column.max()) for column in numbers)
    told = labels is not None or n_objects is not None or index_base is not None
    if told:
        base = index_base or 0
        limit = len(labels) if labels is not None else n_objects
        top = (INT32_LIMIT if limit is None else limit) + base - 1
        for column, position in zip(numbers, positions):
            bad = (column < base) | (column > top)
            if bad.any():
                row = int(np.argmax(bad))
                hint = "; are they counted from 1? then say index_base=1" if limit and column[row] == limit else ""
                raise FileFormatError(
                    f"{source.path}, {place(row)}, {source.title(position)}: object number {column[row]} is outside "
                    f"{base}..{top}{hint} ({counted(int(np.count_nonzero(bad)), 'such cell')} in this column)"
                )
        size = limit if limit is not None else highest + 1 - base
        return Objects(
            _stacked(numbers, base), labels, size, notes, f"object numbers counted from {base}" if base else ""
        )
    size = highest - lowest + 1
    if size <= 4 * sum(len(column) for column in numbers) + 1024:
        seen = np.zeros(size, bool)
        for column in numbers:
            seen[column - lowest] = True
        values = np.flatnonzero(seen) + lowest
        index = _stacked(numbers, lowest)
        if len(values) < size:
            index = (np.cumsum(seen, dtype=np.int32) - 1)[index]
    else:
        values = np.unique(np.concatenate(numbers))
        index = np.stack([np.searchsorted(values, column) for column in numbers], axis=1).astype(np.int32)
    if lowest == 0 and len(values) == highest + 1:
        return Objects(index, None, len(values), notes, "")
    span = f"{lowest} to {highest}" + ("" if len(values) == size else " (with gaps)")
    told_how = f"the numbers {span} are names of objects (not 0 to n - 1; see index_base, n_objects)"
    return Objects(index, values.astype(str), len(values), notes, told_how)


def _stacked(numbers: Sequence[np.ndarray], base: int) -> np.ndarray:
    index = np.empty((len(numbers[0]), len(numbers)), np.int32)
    for spot, column in enumerate(numbers):
        np.subtract(column, base, out=index[:, spot], casting="unsafe")
    return index
