"""Side tables: what is known of objects beside the answers, such as coordinates, features, groups, or names alone.

There is one rule for all of them: whether the first row holds names of columns, which column holds the names of the
objects, what a number is, and what to say where those names are not the ones of a map.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearer.data.cells import MISSING, are_numbered, normalise, number_in, whole_number
from nearer.data.columns import column_of
from nearer.data.doubts import told_otherwise
from nearer.data.errors import FileFormatError, counted, listed, shown
from nearer.io.formats import cell_text
from nearer.io.read import find_format, open_table
from nearer.io.text import decode_head, open_bytes, unguard

_DELIMITERS = (",", "\t", ";", "|")  # not blanks, which stand inside names
# Names of columns that hold the names of objects, and of columns that hold groups, as `normalise` leaves them.
_THINGS = ("object", "item", "stimulus", "stimuli", "concept", "word", "image", "picture", "file")
_NAMES = frozenset(("label", "labels", "name", "names", "id", "ids", "index")).union(
    *({thing, f"{thing}s", f"{thing}id", f"{thing}name", f"{thing}label"} for thing in _THINGS)
)
_GROUPS = frozenset(("group", "groups", "class", "classes", "category", "categories"))
_COORDINATE = re.compile(r"[u-z]|(?!v[0-9])[a-z]+[0-9]+")  # V1, V2 are what R calls columns of any kind

HEADER = "header"  # the place of names of columns that a file keeps apart from its rows
NUMBERS, WORDS, LIST = "numbers", "words", "names alone"


@dataclass(frozen=True)
class Cells:
    """A small table as text."""

    name: str
    rows: list[list[str]]  # all of one width, the first perhaps names of columns
    places: list[str]  # where each row is, in the user's terms

    def refusal(self, why: str, row: int = 0, column: str | None = None) -> FileFormatError:
        """Refuse what stands in a row."""
        return FileFormatError(f"{self.name}, {self.places[row]}{f', column {column!r}' if column else ''}: {why}")


@dataclass(frozen=True)
class ObjectTable:
    """Objects, one in each row, and what is known of them."""

    cells: Cells
    first: int  # the first row of data: 1 below names of columns, else 0
    columns: list[str]
    names_at: int | None  # the column of the names of objects
    values_at: list[int]
    labels: np.ndarray  # of str (n_objects,); 0, 1, ... where no column names the objects

    @property
    def rows(self) -> list[list[str]]:
        """The rows of data."""
        return self.cells.rows[self.first :]

    def numbers(self, empty: bool = False) -> np.ndarray:
        """The values as float64 (n_objects, n_columns); with `empty`, NaN for a cell without a number."""
        if not self.values_at:
            raise self.cells.refusal(f"got {listed(map(repr, self.columns))} alone, expected a column of numbers too")
        nameless = [spot for spot in self.values_at if self.first and not self.cells.rows[0][spot].strip()]
        if nameless:
            title = self.columns[nameless[0]]
            raise self.cells.refusal("has no name; give it one, or take it out if it numbers the rows", column=title)
        return read_numbers(self.cells, self.first, self.columns, self.values_at, empty)

    def words(self, column: str | None = None, hint: str = "", empty: bool = False) -> tuple[list[str], str]:
        """One word for each object, and the column it comes from: the one told, the only one, or the one of groups.

        With `empty`, "" for a cell without a word.
        """
        named = [self.columns[spot] for spot in self.values_at]
        if column is not None:
            found, wanted = [name for name in named if name == column], f"{column!r} among them"
        else:
            found = [name for name in named if len(named) == 1 or normalise(name) in _GROUPS]
            wanted = f"one, or one alone called group, class or category{hint}"
        if len(found) != 1:
            beside = listed(map(repr, named)) or "no column"
            raise self.cells.refusal(f"got {beside} beside the names of the objects, expected {wanted}")
        at = self.columns.index(found[0])
        words = ["" if (word := row[at].strip()) in MISSING else word for row in self.rows]
        if not empty and "" in words:
            row = words.index("")
            raise self.cells.refusal(f"got {self.rows[row][at]!r}, expected a word", self.first + row, found[0])
        return words, found[0]

    def understood(self, used: Sequence[str] | None = None) -> str:
        """Say in one line what was taken for what; `used` are the columns of values that were."""
        objects = counted(len(self.rows), "object")
        named = "numbered by row" if self.names_at is None else f"named by {self.columns[self.names_at]!r}"
        used = [self.columns[spot] for spot in self.values_at] if used is None else used
        spare = [name for spot, name in enumerate(self.columns) if spot != self.names_at and name not in used]
        told = [f"{objects}, {named}", *([f"values in {listed(map(repr, used))}"] if used else [])]
        told += [f"columns not used: {listed(map(repr, spare))}"] if spare else []
        told += [] if self.first else ["no names of columns"]
        return f"{Path(self.cells.name).name}: {'; '.join(told)}"


def read_cells(path: str | os.PathLike[str]) -> Cells:
    """Read a small table: text, whatever separates its cells, a sheet, or Parquet; empty rows are skipped."""
    name = os.fspath(path)
    if os.path.isdir(name):
        raise FileFormatError(f"{name}: is a directory, expected a file")
    format = find_format(name, None)
    if format == "table":
        found = _split(name)
    elif format in ("excel", "parquet"):
        table = open_table(name, format, header=False if format == "excel" else None)
        columns = table.read(range(len(table.names)))
        found = [
            (table.place(row), [cell_text(column.cell(row)) for column in columns]) for row in range(len(columns[0]))
        ]
        found = [(HEADER, table.names), *found] if table.header else found
    else:
        raise FileFormatError(f"{name}: is {format}, expected a table: CSV or other text, .xlsx or .parquet")
    found = [(place, cells) for place, cells in found if any(map(str.strip, cells))]
    if not found:
        raise FileFormatError(f"{name}: is empty")
    read = Cells(name, [cells for _, cells in found], [place for place, _ in found])
    for row, cells in enumerate(read.rows):
        if len(cells) != len(read.rows[0]):
            many = f"{counted(len(cells), 'cell')}, expected {len(read.rows[0])} as in {read.places[0]}"
            raise read.refusal(f"got {many}; a cell that holds what separates cells is put in quotation marks", row)
    return read


def _split(path: str) -> list[tuple[str, list[str]]]:
    """Places and cells of the rows of a text file, by what splits all rows as the first one, into the most cells."""
    with open_bytes(path) as file:
        data = file.read()
    try:
        text, _ = decode_head(path, data, True, None)
    except FileFormatError as error:
        if not isinstance(error.__cause__, UnicodeDecodeError):
            raise
        line = data.count(b"\n", 0, error.__cause__.start) + 1
        raise FileFormatError(f"{path}, line {line}: is not UTF-8 text; save the file as UTF-8") from error
    best, score = None, (False, 1)
    for delimiter in _DELIMITERS:
        with contextlib.suppress(FileFormatError):  # quotation marks tell that another one separates
            width = len(next(_rows(path, text, delimiter), ("", []))[1])
            if width > 1:
                rows = list(_rows(path, text, delimiter))
                new = (all(len(cells) == width for _, cells in rows), width)
                best, score = (rows, new) if new > score else (best, score)
    return best or list(_rows(path, text, _DELIMITERS[0]))


def _rows(path: str, text: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    last = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield f"line {last + 1}", cells
            last = reader.line_num
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {last + 1}: cannot be split into cells: {error}") from error


def read_objects(
    path: str | os.PathLike[str],
    holds: str = NUMBERS,
    known: Collection[str] | None = None,
    column: str | None = None,
) -> ObjectTable:
    """Read a table of objects.

    The first row holds names of columns if it says so: a name for the names of objects (label, name, item, ...), one
    for groups, or words above numbers. Where it does not, nothing is guessed: the file is refused, or the objects of a
    map tell (`known`). The names of the objects stand in the column that is called so; else in the one that holds names
    that are known, or the only one of words beside numbers.

    Parameters
    ----------
    path : path-like
    holds : {"numbers", "words", "names alone"}
        What is known of the objects.
    known : collection of str, optional
        Names of objects that are looked for.
    column : str, optional
        A column that does not hold names of objects.

    Raises
    ------
    FileFormatError
        Naming file, line and column.
    """
    cells, known = read_cells(path), frozenset(() if known is None else known)
    first = int(_has_header(cells, holds, known, column))
    titles = [cell.strip() for cell in cells.rows[0]] if first else [""] * len(cells.rows[0])
    if len(cells.rows) == first:
        raise FileFormatError(f"{cells.name}: has a header but no rows")
    twice = [title for title in titles if title and titles.count(title) > 1]
    if twice:
        raise cells.refusal(f"got two columns called {twice[0]!r}, expected each name once")
    columns = list(zip(*cells.rows[first:]))
    # Beyond the names of a spreadsheet's columns there may be nothing at all.
    filled = [spot for spot, title in enumerate(titles) if title or not first or any(map(str.strip, columns[spot]))]
    called = [spot for spot in filled if normalise(titles[spot]) in _NAMES and titles[spot] != column]
    called = called or ([0] if first and not titles[0] else [])
    titles = [title or f"column {spot + 1}" for spot, title in enumerate(titles)]
    others = {
        spot: columns[spot] for spot in filled if normalise(titles[spot]) not in _GROUPS and titles[spot] != column
    }
    names_at = _find_names(cells, others, titles, called, holds, known)
    values_at = [spot for spot in filled if spot != names_at and spot not in called]
    if names_at is not None:
        labels = make_labels(cells, columns[names_at], range(first, len(cells.rows)))
    else:
        # Whole numbers, one for each row, in the first column, or a count of the rows in any, may be names.
        for spot, texts in enumerate(columns if len(columns) > 1 < len(columns[0]) else ()):
            numbers = [whole_number(text.strip()) for text in texts]
            doubtful = are_numbered(numbers) or (not spot and None not in numbers and len({*numbers}) == len(numbers))
            if doubtful and not _COORDINATE.fullmatch(normalise(titles[spot])):
                raise cells.refusal(
                    "each row has a whole number of its own, which may be the name of an object or a coordinate; call "
                    "the column 'label' or 'x1'",
                    column=titles[spot],
                )
        labels = np.arange(len(columns[0])).astype(str)
    return ObjectTable(cells, first, titles, names_at, values_at, labels)


def _has_header(cells: Cells, holds: str, known: Collection[str], column: str | None) -> bool:
    first, below = cells.rows[0], cells.rows[1:]
    titles = _NAMES | _GROUPS if holds == WORDS else _NAMES
    if cells.places[0] == HEADER or not titles.isdisjoint(map(normalise, first)):
        return True
    if not first[0].strip() or column in [cell.strip() for cell in first]:
        return True
    are_numbers = [number_in(cell) is not None for cell in first]
    if any(unguard(cell) in known for cell, is_number in zip(first, are_numbers) if holds != NUMBERS or not is_number):
        return False
    if holds == LIST and len(first) == 1:
        return False
    if holds == NUMBERS:
        numbers_below = any(all(number_in(cell) is not None for cell in column) for column in zip(*below))
        if not any(are_numbers) and (numbers_below or not below):
            return True
    elif known:
        return True  # it names no object that matters
    wanted = {NUMBERS: "label, x1, x2", WORDS: "label, group", LIST: "label"}[holds]
    raise cells.refusal(f"got {listed(map(shown, first))}, expected names of columns, such as {wanted}")


def _find_names(
    cells: Cells,
    columns: Mapping[int, Sequence[str]],
    titles: Sequence[str],
    called: Sequence[int],
    holds: str,
    known: Collection[str],
) -> int | None:
    """The column of the names of objects, None if there is none beside numbers; `called` are those called so."""

    def may_name(spot: int) -> bool:
        return holds != NUMBERS or not any(number_in(cell) is not None or not cell.strip() for cell in columns[spot])

    hits = [spot for spot, column in columns.items() if known and any(unguard(cell) in known for cell in column)]
    found = (
        [spot for spot in hits if spot in called]
        or [spot for spot in hits if len({*columns[spot]}) == len(columns[spot]) and may_name(spot)]
        or [*called]
        or [spot for spot in columns if may_name(spot)]
    )
    if len(found) > 1 or (not found and holds != NUMBERS):
        raise cells.refusal(
            f"got {listed(repr(titles[spot]) for spot in found or columns)}, and cannot tell which holds the names of "
            "the objects; call that one alone 'label'"
        )
    return found[0] if found else None


def make_labels(cells: Cells, found: Sequence[str], rows: Sequence[int]) -> np.ndarray:
    """Names of objects, found in some rows; an empty one, or one that comes twice, is refused."""
    seen: dict[str, int] = {}
    for row, cell in zip(rows, found):
        label = unguard(cell)
        if not label.strip():
            raise cells.refusal("got no name for an object, expected one", row)
        if label in seen:
            first = cells.places[seen[label]]
            raise cells.refusal(f"got label {shown(label)} twice, first in {first}; expected each once", row)
        seen[label] = row
    return np.array(list(seen))


def read_numbers(cells: Cells, first: int, titles: Sequence[str], at: Sequence[int], empty: bool = False) -> np.ndarray:
    """Columns of a table, from row `first` on, as float64 (n_rows, n_columns); a cell that is no number is refused."""
    rows = cells.rows[first:]
    values = np.empty((len(rows), len(at)))
    for axis, spot in enumerate(at):
        values[:, axis], wrong = column_of([row[spot] for row in rows]).as_numbers()
        wrong |= np.isinf(values[:, axis])
        if not empty:
            wrong |= np.isnan(values[:, axis])
        if wrong.any():
            row = int(np.argmax(wrong))
            raise cells.refusal(f"got {shown(rows[row][spot])}, expected a number", first + row, titles[spot])
    return values


def rows_on_map(name: str, names: np.ndarray, on_map: np.ndarray) -> np.ndarray:
    """The row of a map for each name, int (n_names,), -1 for none.

    Names counted from 1 beside a map that counts from 0 are refused; names that the map writes otherwise are told.
    """
    numbers = [str(number) for number in range(len(names) + 1)]
    if (
        len(names) >= len(on_map)
        and on_map.tolist() == numbers[: len(on_map)]
        and set(names.tolist()) == {*numbers[1:]}
    ):
        raise FileFormatError(
            f"{name}: counts its objects from 1 to {len(names)}, but the map from 0; count from 0, or add object 0"
        )
    if told := told_otherwise(names, on_map):
        warnings.warn(f"{name}: {told}", stacklevel=2)
    row_of = {label: row for row, label in enumerate(on_map.tolist())}
    return np.array([row_of.get(label, -1) for label in names.tolist()])


def read_embedding(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Read coordinates written by `write_embedding`.

    Parameters
    ----------
    path : path-like
        A table with a column of labels and the coordinates x1, x2, ... (or x, y, z), in any order, and nothing else.

    Returns
    -------
    embedding : ndarray float64 (n_objects, n_components)
        NaN for objects without a place, whose cells are empty.
    labels : ndarray of str (n_objects,) or None
        None if the labels are just 0, 1, ..., n_objects - 1.
    """
    table = read_objects(path)
    refuse, columns = table.cells.refusal, [table.columns[spot] for spot in table.values_at]
    axes = [column.casefold() for column in columns]
    wanted = [*"xyz"] if "x" in axes else [f"x{axis + 1}" for axis in range(len(axes))]
    order = [axes.index(axis) for axis in wanted[: len(axes)] if axis in axes]
    if table.names_at is None or not axes or len(order) < len(axes):
        raise refuse(f"got the columns {listed(map(repr, table.columns))}, expected label, x1, x2, ... and no others")
    X = table.numbers(empty=True)[:, order]
    half = np.isnan(X).any(axis=1) & ~np.isnan(X).all(axis=1)
    if half.any():
        row = int(np.argmax(half))
        raise refuse(f"got {X[row].tolist()}, expected numbers, or empty cells alone for an object without a place",
                     table.first + row)  # fmt: skip
    is_count = table.labels.tolist() == [str(row) for row in range(len(X))]
    return X, None if is_count else table.labels
