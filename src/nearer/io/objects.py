"""Side tables, with a row for each object: coordinates, features, groups, or names alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearer.data.coded import column_of
from nearer.data.messages import FileFormatError, counted, listed, shown
from nearer.io.read import open_table
from nearer.io.text import TextTable
from nearer.tables.decode import columns_of
from nearer.tables.table import Table

_LABEL = ("label", "name", "object", "item", "id")  # the first one is preferred
_GROUP = ("group", "class", "category")
NUMBERS, WORDS, LIST = "label, x1, x2", "label, group", "label"  # content of a table -> the names of its columns


@dataclass(frozen=True)
class Cells:
    rows: list[list[str]]  # the first holds the names of the columns
    table: Table
    at: list[int]  # where each row is in `table`; -1 for the names

    def place(self, row: int) -> str:
        header = f"line {self.table.skip}" if isinstance(self.table, TextTable) else "header"
        return self.table.place(self.at[row]) if row else header

    def refusal(self, why: str, row: int = 0, column: str | None = None) -> FileFormatError:
        return FileFormatError(f"{self.table.name}, {self.place(row)}{f', column {column!r}' if column else ''}: {why}")

    def labels_of(self, cells: Sequence[str], rows: Sequence[int]) -> np.ndarray:
        """Names of objects, each once, from cells that are in some rows."""
        seen: dict[str, int] = {}
        for row, label in zip(rows, cells):
            if not label.strip():
                raise self.refusal("got no name for an object, expected one", row)
            if label in seen:
                first = self.place(seen[label])
                raise self.refusal(f"got label {shown(label)} twice, first in {first}; expected each once", row)
            seen[label] = row
        return np.array(list(seen))

    def numbers_at(self, at: Sequence[int], empty: bool = False) -> np.ndarray:
        """Columns as float64 (n_rows, n_columns); with `empty`, a cell may be blank: NaN."""
        rows = self.rows[1:]
        values = np.empty((len(rows), len(at)))
        for axis, position in enumerate(at):
            values[:, axis], wrong = column_of([row[position] for row in rows]).as_numbers()
            wrong |= np.isinf(values[:, axis]) | (np.isnan(values[:, axis]) & (not empty))
            if wrong.any():
                row = int(np.argmax(wrong))
                why = f"got {shown(rows[row][position])}, expected a number; only the column 'label' may hold names"
                raise self.refusal(why, 1 + row, self.rows[0][position])
        return values


@dataclass(frozen=True)
class ObjectTable(Cells):
    """A table with a row for each object."""

    names_at: int | None  # the column of the names of objects
    values: dict[str, int]  # the other columns, and where they are
    labels: np.ndarray  # of str (n_objects,); 0, 1, ... where no column names the objects

    def numbers(self, empty: bool = False) -> np.ndarray:
        """The values as float64 (n_objects, n_columns); with `empty`, NaN for a cell without a number."""
        if not self.values or "" in self.values:
            raise self.refusal(f"got {listed(map(repr, self.rows[0]))}, expected names of columns of numbers")
        return self.numbers_at([*self.values.values()], empty)

    def words(self, column: str | None = None) -> tuple[list[str], str]:
        """One word for each object, "" for an empty cell, and its column: `column`, or else a column of groups."""
        names = list(self.values)
        found = _called(names, _GROUP) if column is None else [name for name in names if name == column]
        if len(found) != 1:
            wanted = "one called group, class or category" if column is None else repr(column)
            got = listed(map(repr, names)) or "no other column"
            raise self.refusal(f"got {got} besides the names of the objects, expected {wanted}")
        return [row[self.values[found[0]]].strip() for row in self.rows[1:]], found[0]

    def understood(self, used: Sequence[str] | None = None) -> str:
        named = "numbered by row" if self.names_at is None else f"named by {self.rows[0][self.names_at]!r}"
        used = list(self.values) if used is None else used
        spare = [name for name in self.values if name and name not in used]
        parts = [f"{counted(len(self.labels), 'object')}, {named}"]
        parts += [f"values in {listed(map(repr, used))}"] if used else []
        parts += [f"not used: {listed(map(repr, spare))}"] if spare else []
        return f"{Path(self.table.name).name}: {'; '.join(parts)}"


def _called(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    found = [name for name in names if name.casefold() in wanted]
    return [name for name in found if name.casefold() == wanted[0]] or found


def read_cells(path: str | os.PathLike[str]) -> Cells:
    """Read a small table with names of columns, in any format; empty rows are skipped."""
    table = open_table(os.fspath(path))
    every = range(len(table.names))
    spelled = [column.spelled() for column in columns_of(table, table.read(every)).values()]
    texts = [np.array([*column.texts(), ""], dtype=object)[column.cells].tolist() for column in spelled]
    filled = [(at, list(row)) for at, row in enumerate(zip(*texts)) if any(map(str.strip, row))]
    if not filled:
        raise FileFormatError(f"{table.name}: has no rows below the names of its columns")
    return Cells([list(table.names), *(row for _, row in filled)], table, [-1, *(at for at, _ in filled)])


def read_objects(path: str | os.PathLike[str], holds: str = NUMBERS, column: str | None = None) -> ObjectTable:
    """Read a table of objects with numbers (names are optional), with words (in `column`), or of names alone."""
    cells = read_cells(path)
    titles = cells.rows[0]
    if twice := [title for title in titles if title and titles.count(title) > 1]:
        raise cells.refusal(f"got two columns called {twice[0]!r}, expected each name once")
    named = _called([title for title in titles if title != column], _LABEL)
    if len(named) > 1 or (not named and holds != NUMBERS):
        expected = f"expected names such as {holds}; write 'label' above the names of the objects"
        raise cells.refusal(f"got the columns {listed(map(repr, titles))}, {expected}")
    names_at = titles.index(named[0]) if named else None
    columns = list(zip(*cells.rows[1:]))
    filled = {title: at for at, title in enumerate(titles) if title or any(map(str.strip, columns[at]))}
    values = {title: at for title, at in filled.items() if at != names_at}
    found = list(map(str, range(len(columns[0])))) if names_at is None else columns[names_at]
    labels = cells.labels_of(found, range(1, len(cells.rows)))
    return ObjectTable(cells.rows, cells.table, cells.at, names_at, values, labels)


def read_features(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers, float64 (n_objects, n_columns), and labels, None if they are not known, of an array file or a table."""
    name = os.fspath(path)
    if not name.lower().endswith((".npy", ".npz", ".mat")):
        found = read_objects(path)
        return found.numbers(), None if found.names_at is None else found.labels
    table = open_table(name)
    labels, at = table.labels, list(range(len(table.names)))
    if labels is None and (named := _called(table.names, _LABEL)):
        position = table.names.index(named[0])
        labels, at = table.read([position])[position].astype(str), [one for one in at if one != position]
    # The columns of an array x of shape (n_objects, p) are called x_1 to x_p.
    arrays = [table.names[one][:-2] for one in at if table.names[one].endswith("_1")]
    others = [table.names[one] for one in at if arrays and not table.names[one].startswith(f"{arrays[0]}_")]
    if others:
        got = f"got {listed(others, 3)} beside the array {arrays[0]!r}"
        raise FileFormatError(f"{name}: {got}, expected one array of numbers, and perhaps labels")
    columns = table.read(at)
    for position, column in columns.items():
        if column.dtype.kind not in "biuf":
            got = f"got an array of {column.dtype}"
            raise FileFormatError(f"{name}: column {table.names[position]!r}: {got}, expected numbers")
    return np.stack([columns[position] for position in at], axis=1).astype(np.float64), labels


def rows_on_map(name: str, names: np.ndarray, on_map: np.ndarray) -> np.ndarray:
    """The row of a map for each name, int (n_names,), -1 for none; names that count from 1, not 0, are refused."""
    counts = [str(number) for number in range(len(names) + 1)]
    if len(names) >= len(on_map) and on_map.tolist() == counts[: len(on_map)] and {*names.tolist()} == {*counts[1:]}:
        raise FileFormatError(f"{name}: counts its objects from 1 to {len(names)}, but the map from 0; count from 0")
    row_of = {label: row for row, label in enumerate(on_map.tolist())}
    return np.array([row_of.get(label, -1) for label in names.tolist()])
