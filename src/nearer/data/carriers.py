"""What carries a table in memory: frames, Arrow, columns by name, rows that name their cells, arrays of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from nearer.data.cells import are_numbered, is_unicode
from nearer.data.columns import MemoryTable, Table
from nearer.data.errors import FileFormatError, listed, shown
from nearer.data.roles import detail_of, role_of


def is_table(X: Any) -> bool:
    """Tell whether X has named columns or holds names: a frame, an Arrow table, a dict, records, an array of text."""
    if _names_cells(type(X)) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "column_names"):
        return True
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return True
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None or X.dtype.kind in "UT" or (X.dtype.kind == "O" and _first_is_text(X))
    if not isinstance(X, Sequence) or isinstance(X, (str, bytes, memoryview)) or not X:
        return False
    if _has_records(X):
        return True
    return isinstance(X[0], (list, tuple, np.ndarray)) and np.ndim(X[0]) > 0 and any(map(_is_text, X[0]))


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _first_is_text(X: np.ndarray) -> bool:
    return X.size > 0 and isinstance(np.asarray(X).flat[0], str)


def _names_cells(kind: type) -> bool:
    """Tell whether what is of a type names its cells: mappings, named tuples, dataclasses, rows of a database."""
    if issubclass(kind, Mapping) or hasattr(kind, "_fields") or is_dataclass(kind):
        return True
    return callable(getattr(kind, "keys", None)) and not hasattr(kind, "columns")


def _has_records(X: Any) -> bool:
    """Tell whether some rows name their cells."""
    return isinstance(X, Sequence) and not isinstance(X, memoryview) and any(map(_names_cells, set(map(type, X))))


def _cells(row: Any, where: str) -> Mapping[Any, Any]:
    """Give the cells of what names them, by name."""
    if isinstance(row, Mapping):
        return row
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    names = list(row._fields if hasattr(row, "_fields") else row.keys())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FileFormatError(f"{where}: the name {twice!r} occurs {names.count(twice)} times, expected each once")
    return dict(zip(names, row))


def as_table(X: Any, name: str = "table") -> Table:
    """Wrap whatever carries named columns.

    Parameters
    ----------
    X : pandas or polars DataFrame, pyarrow Table, mapping of columns, structured array, array of text, list of rows
        Also anything with ``__arrow_c_stream__``. Rows that name their cells (dicts, named tuples, dataclasses,
        ``sqlite3.Row``, Series) are read by these names. Columns called 0, 1, 2, ... count as columns without names.
    name : str
        For messages.
    """
    if isinstance(X, Table):
        return X
    names, columns = _named_columns(X, name)
    if not names:
        raise FileFormatError(f"{name}: got no columns, expected at least 3")
    titles = list(map(str, names))
    broken = next((title for title in titles if not is_unicode(title)), None)
    if broken is not None:
        raise FileFormatError(f"{name}: the name of column {broken!r} holds half a character, expected whole ones")
    return MemoryTable(name, f"{type(X).__name__}", titles, not are_numbered(names), columns=columns)


def refuse_named(values: Any, what: str) -> None:
    """Refuse named columns where columns are known by their position."""
    if is_table(values) and (table := as_table(values, what)).header:
        raise ValueError(
            f"{what}: got a {table.form} with columns {listed(map(repr, table.names))}, expected an array, whose "
            "columns have no names; tables are read by name: Comparisons.from_labels_table, nearer.io.read_comparisons"
        )


def refuse_columns(values: Any, what: str) -> None:
    """Refuse a tuple of three or four columns, or rows: others keep anchors, positives and negatives so."""
    columns = isinstance(values, tuple) and len(values) in (3, 4) and not hasattr(values, "_fields")
    if columns and all(isinstance(one, list) or getattr(one, "ndim", 0) == 1 for one in values):
        raise FileFormatError(
            f"{what}: got a tuple of {len(values)} arrays: are they its columns or its rows? Give "
            "np.column_stack(arrays) for columns, or list(arrays) for rows"
        )


def _named_columns(X: Any, name: str) -> tuple[Sequence[Any], Sequence[Any]]:
    kind = type(X).__name__
    refuse_columns(X, name)
    if hasattr(X, "__dask_graph__"):
        raise FileFormatError(
            f"{name}: got a Dask {kind}, whose rows are not there yet; say .compute() first, or give it to fit, where "
            "a client reads it"
        )
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):  # polars
        raise FileFormatError(f"{name}: got a {kind}, whose rows are not there yet; say .collect() first")
    if kind == "Series":
        raise FileFormatError(f"{name}: got a {kind}, which is one column, expected a table of at least 3")
    if hasattr(X, "iloc"):
        return _pandas_columns(X)
    if not hasattr(X, "column_names") and hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            X = pa.RecordBatchReader.from_stream(X).read_all()
        except pa.ArrowException as error:
            if not hasattr(X, "get_columns"):
                raise FileFormatError(f"{name}: a {kind} that cannot be read: {error}") from error
            return list(X.columns), X.get_columns()  # polars: one by one, what is not needed may stay unread
    if hasattr(X, "column_names"):
        index = index_of_pandas(name, X.schema, X.num_rows)
        columns = [X.column(spot) for spot in range(len(X.column_names))]
        return [*X.column_names, *index], [*columns, *map(numbers_of, index.values())]
    if _names_cells(type(X)):
        by_name = _cells(X, name)
        _refuse_other_rows(by_name, name)
        return list(by_name), list(by_name.values())
    if isinstance(X, np.ndarray) and X.dtype.names:
        return list(X.dtype.names), [X[name] for name in X.dtype.names]
    if _has_records(X):
        strange = next((spot for spot, row in enumerate(X) if not _names_cells(type(row))), None)
        if strange is not None:
            raise FileFormatError(
                f"{name}, row {strange + 1} is {shown(X[strange])}, expected names of its cells, as others have"
            )
        rows = [_cells(row, f"{name}, row {spot + 1}") for spot, row in enumerate(X)]
        names = list(dict.fromkeys(key for row in rows for key in row))
        return names, [[row.get(name) for row in rows] for name in names]
    if isinstance(X, np.ma.MaskedArray):  # NumPy would drop the mask
        cells = X.data.astype(object)
        cells[np.ma.getmaskarray(X)] = None
        X = cells
    ragged = FileFormatError(f"{name}: the rows differ in length, expected the same number of cells in each")
    try:
        array = np.asarray(X, dtype=object)
    except ValueError:
        raise ragged from None
    except TypeError:
        raise FileFormatError(f"{name}: got {kind}, expected a table or rows of at least 3 cells") from None
    if array.ndim == 1 and len(array) and isinstance(array[0], (list, tuple, np.ndarray)):
        raise ragged
    if array.ndim != 2:
        raise FileFormatError(f"{name}: got shape {array.shape}, expected a table or rows of at least 3 cells")
    return list(range(array.shape[1])), list(array.T)


def _refuse_other_rows(columns: Mapping[Any, Any], name: str) -> None:
    """Refuse pandas columns whose rows have different names or another order: which go together cannot be told."""
    indexes = {title: column.index for title, column in columns.items() if hasattr(column, "iloc")}
    for title, index in indexes.items():
        first = next(iter(indexes))
        if not index.equals(indexes[first]):
            raise FileFormatError(
                f"{name}: the index of column {title!r} differs from that of {first!r}, expected the same rows in "
                "both; make one DataFrame of them, or give .to_numpy() of each to go by position"
            )


def refuse_other_order(X: Any, beside: Any, name: str) -> None:
    """Refuse a pandas column beside a pandas table whose rows have the same names in another order."""
    if not hasattr(X, "iloc") or not hasattr(beside, "iloc") or len(X) != len(beside) or X.index.equals(beside.index):
        return
    if X.index.nlevels == beside.index.nlevels and X.index.is_unique and X.index.isin(beside.index).all():
        raise ValueError(
            f"{name}: its index has the rows of the table in another order, expected the same; give "
            f"{name}.loc[table.index] to go by the index, or .to_numpy() to go by position"
        )


def _pandas_columns(X: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Give the columns of a pandas frame and, after them as in Parquet, the parts of an index that have names."""
    names = list(X.columns)
    columns = [X.iloc[:, spot] for spot in range(X.shape[1])]  # by position, since names may occur twice
    for level, title in enumerate(X.index.names):
        if title is None or not counts_beside(title, X.columns):
            continue
        cells = X.index.get_level_values(level).to_series().reset_index(drop=True)
        if names.count(title) == 1 and cells.equals(columns[names.index(title)].reset_index(drop=True)):
            continue  # the same column twice, as set_index(..., drop=False) gives
        names.append(title)
        columns.append(cells)
    return names, columns


def index_of_pandas(name: str, schema: Any, n_rows: int) -> dict[str, range]:
    """Find an index that pandas kept beside an Arrow table, since it is a range: its name and cells, if it has a name.

    Of rows chosen since, or of one file of several, the range is that of other rows: if it matters, it is refused.
    """
    try:
        (level,) = schema.pandas_metadata["index_columns"]
        title, cells = level["name"], range(level["start"], level["stop"], level["step"])
    except (ValueError, LookupError, TypeError):  # none, one that is a column, or damaged
        return {}
    if title is None or title in schema.names or not counts_beside(title, schema.names):
        return {}
    if len(cells) == n_rows:
        return {str(title): cells}
    if role_of(str(title)) or detail_of(str(title)):
        raise FileFormatError(
            f"{name}: its index {title!r} was kept as a range of {len(cells):,} numbers, and there are {n_rows:,} "
            "rows; in pandas, say .reset_index() before the table is made"
        )
    return {}


def numbers_of(cells: range) -> np.ndarray:
    """A range as an array."""
    return np.arange(cells.start, cells.stop, cells.step)


def counts_beside(title: Any, names: Sequence[Any]) -> bool:
    """Tell whether a column with a name counts beside others; beside unnamed ones, only a name that means something."""
    return role_of(str(title)) is not None or not are_numbered(names)


# ---- rows that have names ------------------------------------------------------------------------------------------


def row_names(X: Any) -> list[str] | None:
    """Give the names of the rows of a pandas table; None for any other, and where they are just counted from 0."""
    index = X.index if hasattr(X, "iloc") else None
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    return list(map(str, index))


def in_order_of(X: Any, names: Sequence[str] | None, what: str) -> Any:
    """Put the rows of a pandas table in the order of the rows of another, by name.

    Rows without names, here or there, stay as they are, but for those named by their numbers there.
    """
    own = row_names(X)
    if own is None:
        return X
    if names is None:
        names = list(map(str, range(len(own))))
        if set(names) != set(own):
            return X
    place = {name: spot for spot, name in enumerate(own)}
    odd = sorted(set(own) ^ set(names)) or [name for name in place if own.count(name) > 1]
    if odd:
        raise ValueError(
            f"{what}: the index names other rows than there are objects, such as {str(odd[0])!r}, expected each object "
            "once; give .to_numpy() to go by position"
        )
    return X.iloc[[place[name] for name in names]]


def named_rows(X: Any, labels: Any, what: str) -> tuple[Any, Any]:
    """Name the objects by the rows of a pandas table that have names, other than numbers; or put them in order.

    A table whose columns have the same names, as one of distances, has these put in the same order.
    """
    names = row_names(X)
    if names is None or all(name.isdecimal() for name in names):
        return X, labels
    if labels is not None:
        X = in_order_of(X, list(map(str, labels)), what)
        names = list(map(str, labels))
    if hasattr(X, "columns") and sorted(map(str, X.columns)) == sorted(names) and len(set(names)) == len(names):
        place = {str(name): spot for spot, name in enumerate(X.columns)}
        X = X.iloc[:, [place[name] for name in names]]
    return X, names
