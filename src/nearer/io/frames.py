"""Tables in memory: frames, Arrow, columns by name, rows that name their cells, rows of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from nearer.data.messages import FileFormatError, shown
from nearer.tables.table import MemoryTable


def is_table(X: Any) -> bool:
    """Whether X has named columns or holds names: a frame, an Arrow table, a dict, records, rows of text."""
    if isinstance(X, Mapping) or any(hasattr(X, name) for name in ("__arrow_c_stream__", "column_names", "iloc")):
        return True
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None or (X.size > 0 and isinstance(np.asarray(X).flat[0], str))
    if not isinstance(X, (list, tuple)) or not X:
        return False
    if isinstance(X[0], Mapping):
        return True
    return isinstance(X[0], (list, tuple)) and any(isinstance(cell, str) for cell in X[0])


def as_table(X: Any, name: str = "table") -> MemoryTable:
    """A table from a frame, an Arrow table, a mapping of columns, a structured array, or rows; messages use `name`."""
    found, columns = _named_columns(X, name)
    # Columns called by the numbers 0, 1, 2, ..., as pandas does, have no names.
    names = [""] * len(columns) if list(found) == list(range(len(columns))) else list(map(str, found))
    if not names:
        raise FileFormatError(f"{name}: got no columns, expected at least one")
    return MemoryTable(name, type(X).__name__, names, columns=columns)


def _named_columns(X: Any, name: str) -> tuple[Sequence[Any], Sequence[Any]]:
    kind = type(X).__name__
    if hasattr(X, "__dask_graph__") or hasattr(X, "collect") or kind == "Series":
        raise FileFormatError(f"{name}: got a {kind}, expected a table in memory; call .compute() or .collect() first")
    if hasattr(X, "iloc"):
        levels = [level for level, title in enumerate(X.index.names) if title is not None and title not in X.columns]
        columns = [X.iloc[:, position] for position in range(X.shape[1])]
        columns += [X.index.get_level_values(level).to_series().reset_index(drop=True) for level in levels]
        return [*X.columns, *(X.index.names[level] for level in levels)], columns
    if not hasattr(X, "column_names") and hasattr(X, "__arrow_c_stream__"):
        X = pa.RecordBatchReader.from_stream(X).read_all()
    if hasattr(X, "column_names"):
        return X.column_names, [X.column(position) for position in range(len(X.column_names))]
    if isinstance(X, Mapping):
        indexed = [column for column in X.values() if hasattr(column, "iloc")]
        if not all(column.index.equals(indexed[0].index) for column in indexed):
            raise FileFormatError(
                f"{name}: the columns differ in their index, expected the same, or .to_numpy() of each"
            )
        return list(X), list(X.values())
    if isinstance(X, np.ndarray) and X.dtype.names:
        return X.dtype.names, [X[field] for field in X.dtype.names]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return range(X.shape[1]), list(X.T)
    if not isinstance(X, (list, tuple)) or not X or not isinstance(X[0], (Mapping, list, tuple)):
        raise FileFormatError(f"{name}: got {kind}, expected a table, or rows with the same number of cells")
    table = from_rows(MemoryTable(name, kind, []), X)
    return table.names if isinstance(X[0], Mapping) else range(len(table.columns)), table.columns


def from_rows(table: MemoryTable, rows: Sequence[Any]) -> MemoryTable:
    """The table with the cells of rows: mappings, or sequences of the same length."""
    named, n_cells = isinstance(rows[0], Mapping), len(rows[0])
    for number, row in enumerate(rows):
        fits = isinstance(row, Mapping) if named else isinstance(row, (list, tuple)) and len(row) == n_cells
        if not fits:
            expected = f"{'named' if named else n_cells} cells, as other rows have"
            raise FileFormatError(f"{table.name}, {table.place(number)}: got {shown(str(row))}, expected {expected}")
    if not named:
        return replace(table, names=[""] * n_cells, columns=list(zip(*rows)))
    kinds = dict.fromkeys(map(tuple, rows))  # of keys
    names = list(dict.fromkeys(name for keys in kinds for name in keys))
    return replace(table, names=names, columns=[[row.get(name) for row in rows] for name in names])


def refuse_other_order(X: Any, beside: Any, name: str) -> None:
    """Refuse a pandas column next to a pandas table whose rows have the same names in another order."""
    if not hasattr(X, "iloc") or not hasattr(beside, "iloc"):
        return
    rows, others = X.index, beside.index
    if rows.is_unique and not rows.equals(others) and set(rows) == set(others):
        remedy = ".loc[table.index] to match by index, or .to_numpy() to match by position"
        raise ValueError(f"{name}: its index has the rows of the table in another order, expected the same; {remedy}")
