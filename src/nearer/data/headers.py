"""Whether the first row of a table holds the names of its columns: one rule for text, sheets, arrays and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nearer.data.columns import MemoryTable, Table, are_numbered
from nearer.data.errors import FileFormatError, listed, shown
from nearer.data.roles import complete_layout, is_header, normalise, role_of

_ROWS_LOOKED_AT = 10_000
_ROWS_BELOW = 200  # enough to see whether names of columns are objects too
_MOST_ABOVE = 10  # rows above the names of columns: a title, a date, remarks

Rows = Sequence[Sequence[str]]


def find_header(cells: Sequence[str], other_rows: Callable[[], Rows]) -> tuple[bool, str]:
    """Tell whether a first row of cells is a header.

    It is if a name is known, or if none of its words occurs in any other row, or if it numbers columns of words.
    `other_rows` gives the rows below, and is called only if the names do not tell. The second answer is what to say in
    case the first is wrong, "" if it is sure.
    """
    if is_header(cells):
        return True, ""
    words = {cell for cell in cells if cell}
    if are_numbered(cells):
        others = other_rows()
        if not others:
            return False, ""
        if not cells[0] or any(not any(map(is_number, column)) for column in zip(*others)):
            return True, ""
        return False, f"the first row, {', '.join(cells)}, is taken as data; if it numbers the columns, say header=True"
    if not words or any(is_number(word) for word in words):
        return False, ""
    others = other_rows()
    if not others or any(cell.strip() in words for row in others for cell in row):
        return False, ""
    return True, "the first row is taken as names, since its words occur nowhere else; if it is data, say header=False"


def is_number(cell: str) -> bool:
    """Tell whether a cell reads as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def refuse_lines_above(name: str, cells: Sequence[str], other_rows: Callable[[], Rows], place: Callable) -> None:
    """Refuse a table with a title or a remark above the names of its columns: they would be read as a comparison.

    Names are known by their roles, and stand in no other row. `place` says where a row of `other_rows` is.
    """
    if is_header(cells):
        return
    for spot, row in enumerate(other_rows()[:_MOST_ABOVE]):
        # One letter is no sign: it may well be an object.
        if not complete_layout({role for cell in row if len(normalise(cell)) > 1 and (role := role_of(cell))}):
            continue
        words = {cell.strip() for cell in row if cell.strip()}
        if any(cell.strip() in words for other in (cells, *other_rows()) if list(other) != list(row) for cell in other):
            continue
        raise FileFormatError(
            f"{name}, {place(spot)}: {listed(map(shown, row))} are names of columns, but above them stands "
            f"{listed(map(shown, cells))}; remove what stands above the names, or say header=False if every row is data"
        )


def with_header(table: Table, header: bool | None = None, *, only_known: bool = False) -> Table:
    """Take the names of columns from the first row of a table in memory that has none, where it holds them.

    Parameters
    ----------
    table : Table
    header : bool, optional
        As told by the user.
    only_known : bool
        Take known names alone. Rows made by a program seldom start with names, so words that occur once are objects.
    """
    if table.header or header is False or not isinstance(table, MemoryTable) or not table.columns:
        return table
    first = [_first_cell(column) for column in table.columns]
    texts = ["" if cell is None else str(cell).strip() for cell in first]
    hint = ""
    if header is None:
        if not all(cell is None or isinstance(cell, str) for cell in first):
            return table

        def below(n_rows: int = _ROWS_LOOKED_AT) -> Rows:
            return table.head(n_rows)[1:]

        refuse_lines_above(table.name, texts, lambda: below(_ROWS_BELOW), lambda spot: table.place(spot + 1))
        header, hint = (_are_known(texts, below), "") if only_known else find_header(texts, below)
    if not header:
        return table
    columns = [column.iloc[1:] if hasattr(column, "iloc") else column[1:] for column in table.columns]
    if not len(columns[0]):
        raise FileFormatError(f"{table.name}: has a header but no rows")
    return replace(
        table, names=texts, header=not are_numbered(texts), columns=columns, first_row=table.first_row + 1, hint=hint,
        notes=[*table.notes, f"the first {table.row_word} is taken as the names of the columns"],
    )  # fmt: skip


def _are_known(cells: Sequence[str], other_rows: Callable[[], Rows]) -> bool:
    """Tell whether cells are known names of columns and no objects."""
    if not is_header(cells):
        return False
    if complete_layout({role for cell in cells if len(normalise(cell)) > 1 and (role := role_of(cell))}):
        return True
    words = {cell for cell in cells if cell}
    return not any(cell.strip() in words for row in other_rows() for cell in row)


def _first_cell(column: Any) -> Any:
    if isinstance(column, (str, dict)):
        return 0
    try:
        cell = column.iloc[0] if hasattr(column, "iloc") else column[0]
    except (TypeError, LookupError):
        return 0  # what is no column is refused when it is read
    cell = cell.as_py() if hasattr(cell, "as_py") else cell
    return None if isinstance(cell, float) and cell != cell else cell
