"""Tables of labels: columns of text (or integer names) become columns of object indices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

# Column names recognised when a table has more columns than labels.
KNOWN_COLUMNS = (("anchor", "near", "far"), ("i", "j", "l", "k"))


def encode_column(column: Any, name: Hashable, what: str = "label") -> tuple[np.ndarray, np.ndarray]:
    """Encode a column of names.

    Parameters
    ----------
    column : array-like, shape (N,)
        Text or integers (also whole numbers in a float column); pandas, pyarrow and NumPy columns alike.
    name : hashable
        The column's name, for messages.
    what : str
        What an entry is, for messages.

    Returns
    -------
    codes : ndarray of int, shape (N,)
    values : ndarray of str or int64, shape (n_values,)
        The distinct names in order of appearance; `values[codes]` is the column.
    """
    import pyarrow as pa

    encoded = _dictionary(column, name, what)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    kind = encoded.dictionary.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = encoded.dictionary.to_numpy(zero_copy_only=False)
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (abs(numbers) < 2.0**63)
        if not whole.all():
            row = int(np.argmax(~whole[codes]))
            raise ValueError(f"{_column(name)}row {row} is {numbers[codes[row]]}: a {what} must be text or an integer")
        return codes, numbers.astype(np.int64)
    values = np.array(encoded.dictionary.to_pylist(), dtype=str)
    blank = np.char.strip(values) == ""
    if blank.any():
        raise ValueError(f"{_column(name)}row {int(np.argmax(blank[codes]))} has no {what}")
    return codes, values


def _dictionary(column: Any, name: Hashable, what: str) -> Any:
    """A pyarrow DictionaryArray without missing entries, of text or numbers."""
    import pyarrow as pa

    if not isinstance(column, pa.Array | pa.ChunkedArray):
        if isinstance(column, np.ndarray):
            column = column.astype(object) if column.dtype.kind == "T" else np.ascontiguousarray(column)
        try:
            column = pa.array(column, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"{_column(name)}cannot be read as {what}s, expected text or integers ({reason})"
            ) from error
    chunked = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if pa.types.is_dictionary(chunked.type):
        chunked = chunked.cast(chunked.type.value_type)
    if not len(chunked):
        raise ValueError(f"{_column(name)}no rows, expected at least one")
    if chunked.null_count:
        row = int(np.argmax(chunked.is_null().to_numpy()))
        count = f" (first of {chunked.null_count:,} missing)" if chunked.null_count > 1 else ""
        raise ValueError(f"{_column(name)}row {row} has no {what}{count}")
    kind = chunked.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    if not (text or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise ValueError(f"{_column(name)}got type {kind}, expected text or integers")
    if str(kind) == "string_view":
        chunked = chunked.cast(pa.large_string())
    encoded = chunked.dictionary_encode().combine_chunks()
    return encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded


def _column(name: Hashable) -> str:
    return f"{name}: " if name in ("participants", "groups", "classes") else f"table: column {name!r}: "


def encode_table(
    table: Any, columns: Sequence[Hashable] | None, labels: np.ndarray | None, skip: Sequence[Hashable] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Encode the label columns of a table.

    Parameters
    ----------
    table : DataFrame, pyarrow.Table, mapping of columns, or array-like of shape (N, 3 or more)
    columns : sequence of 3 or 4 column names (positions for an array), optional
    labels : ndarray of str, shape (n_objects,), optional
        The objects in order; without it the labels found, sorted.
    skip : sequence of column names
        Columns known to be something else (weights, participants).

    Returns
    -------
    index : ndarray of int32, shape (N, 3) or (N, 4)
    labels : ndarray of str, shape (n_objects,)
    """
    table, names = _names(table)
    chosen = _choose(names, columns, skip)
    encoded = [encode_column(get_column(table, name), name) for name in chosen]
    lengths = {len(codes) for codes, _ in encoded}
    if len(lengths) > 1:
        raise ValueError(f"table: the columns differ in length: {[len(codes) for codes, _ in encoded]}")
    if not all(values.dtype.kind == "i" for _, values in encoded):
        encoded = [(codes, values.astype(str)) for codes, values in encoded]
    if labels is None:
        known = np.unique(np.concatenate([values for _, values in encoded]))
        places = [np.searchsorted(known, values) for _, values in encoded]
        labels = known.astype(str)
    else:
        position = {label: place for place, label in enumerate(labels.tolist())}
        places = [np.array([position.get(str(value), -1) for value in values.tolist()]) for _, values in encoded]
    index = np.empty((lengths.pop(), len(chosen)), dtype=np.int32)
    for column, ((codes, _), place) in enumerate(zip(encoded, places)):
        index[:, column] = place.astype(np.int32)[codes]
    if any((place < 0).any() for place in places):
        _refuse_unknown(index, chosen, encoded, len(labels))
    return index, labels


def _refuse_unknown(index: np.ndarray, names: Sequence[Hashable], encoded: list, n_labels: int) -> None:
    unknown = index < 0
    row, column = divmod(int(np.argmax(unknown)), index.shape[1])
    codes, values = encoded[column]
    count = int(np.count_nonzero(unknown))
    more = f" (first of {count:,} unknown labels)" if count > 1 else ""
    label = str(values[codes[row]])
    raise ValueError(
        f"table: column {names[column]!r}: row {row} is {label!r}: not one of the {n_labels:,} labels{more}"
    )


def holds_labels(values: Any) -> bool:
    """Whether an array or table holds names of objects (text) rather than indices."""
    try:
        columns = (
            [np.asarray(column) for column in values.values()] if isinstance(values, dict) else [np.asarray(values)]
        )
    except ValueError:  # ragged; whoever takes it as indices says so
        return False
    return any(
        column.dtype.kind in "UT" or (column.dtype.kind == "O" and column.size > 0 and isinstance(column.flat[0], str))
        for column in columns
    )


def _names(table: Any) -> tuple[Any, list[Hashable]]:
    """The table (an array if it has no named columns) and the names of its columns."""
    if isinstance(table, dict):
        return table, list(table)
    if hasattr(table, "column_names"):
        return table, list(table.column_names)
    if hasattr(table, "columns"):
        return table, list(table.columns)
    try:
        array = np.asarray(table)
    except ValueError as error:
        raise ValueError("table: the rows differ in length, expected 3 or 4 labels in each") from error
    if array.ndim != 2:
        raise ValueError(f"table: got shape {array.shape}, expected a table or an array of shape (N, 3 or 4)")
    return array, list(range(array.shape[1]))


def get_column(table: Any, name: Hashable) -> Any:
    """One column, by name (by position in an array)."""
    _, names = _names(table)
    if name not in names:
        raise ValueError(f"table: no column {name!r}, the columns are {names}")
    if isinstance(table, dict):
        return table[name]
    if hasattr(table, "column_names"):
        return table.column(name)
    return table[name] if hasattr(table, "columns") else np.asarray(table)[:, int(str(name))]


def _choose(names: list[Hashable], columns: Sequence[Hashable] | None, skip: Sequence[Hashable]) -> Sequence[Hashable]:
    """The label columns: those asked for, or the only possible ones."""
    if columns is not None:
        if isinstance(columns, str) or len(columns) not in (3, 4):
            raise ValueError(f"columns: got {columns!r}, expected 3 or 4 column names")
        return list(columns)
    rest = [name for name in names if name not in skip]
    known = [group for group in KNOWN_COLUMNS if set(group) <= set(rest)]
    if len(known) == 1:  # known names first: a fourth column beside them is not a label
        return known[0]
    if len(rest) in (3, 4):
        return rest
    raise ValueError(f"table: got columns {names}, expected 3 or 4 label columns; name them with columns=")
