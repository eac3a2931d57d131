"""Where the names of columns stand: in the first row, or, by mistake, among the rows; one rule for every carrier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.columns import Column, MemoryTable, Table, are_numbered, distinct, number_in
from nearer.data.errors import FileFormatError, listed, shown
from nearer.data.roles import complete_layout, is_header, normalise, role_of

if TYPE_CHECKING:
    from nearer.data.tables import Rows

_ROWS_LOOKED_AT = 10_000
_ROWS_BELOW = 200  # enough to see whether names of columns are objects too
_MOST_ABOVE = 10  # rows above the names of columns: a title, a date, remarks

Cells = Sequence[Sequence[str]]


def find_header(cells: Sequence[str], other_rows: Callable[[], Cells]) -> tuple[bool, str]:
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
        if not cells[0] or any(all(number_in(cell) is None for cell in column) for column in zip(*others)):
            return True, ""
        return False, f"the first row, {', '.join(cells)}, is taken as data; if it numbers the columns, say header=True"
    if not words or any(number_in(word) is not None for word in words):
        return False, ""
    others = other_rows()
    if not others or any(cell.strip() in words for row in others for cell in row):
        return False, ""
    return True, "the first row is taken as names, since its words occur nowhere else; if it is data, say header=False"


def refuse_lines_above(name: str, cells: Sequence[str], other_rows: Callable[[], Cells], place: Callable) -> None:
    """Refuse a table with a title or a remark above the names of its columns: they would be read as a comparison.

    Names are known by their roles, and stand in no other row. `place` says where a row of `other_rows` is.
    """
    if is_header(cells):
        return
    rows = other_rows()
    for spot, row in enumerate(rows[:_MOST_ABOVE]):
        if not complete_layout({role for cell in row if (role := role_of(cell))}):
            continue
        words = {cell.strip() for cell in row if cell.strip()}
        others = {cell.strip() for other in (cells, *rows) if list(other) != list(row) for cell in other}
        # i, j, k are no sign where other objects are letters too.
        letters = min(map(len, words)) == 1 and any(len(cell) == 1 and cell.isalpha() for cell in others)
        if letters or words & others:
            continue
        raise FileFormatError(
            f"{name}, {place(spot)}: {listed(map(shown, row))} are names of columns, but above them stands "
            f"{listed(map(shown, cells))}; remove what stands above the names, or say header=False if every row is data"
        )


def refuse_told_header(name: str, header: bool | None) -> None:
    """Refuse what was said about the first row of a table whose columns are known without it."""
    if header is not None:
        raise FileFormatError(f"{name}: got header={header}, but no row of this table could hold names of columns")


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
    if table.header:
        refuse_told_header(table.name, header)
    if table.header or header is False or not isinstance(table, MemoryTable) or not table.columns:
        return table
    first = [_first_cell(column) for column in table.columns]
    texts = ["" if cell is None else str(cell).strip() for cell in first]
    hint = ""
    if header is None:
        if not all(cell is None or isinstance(cell, str) for cell in first):
            return table

        def below(n_rows: int = _ROWS_LOOKED_AT) -> Cells:
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


def refuse_header(table: Table) -> None:
    """Refuse known names in the first row of a table without names that is read in parts: none could leave it out."""
    if table.header or table.first_is_data or isinstance(table, MemoryTable):
        return  # in memory, `with_header` uses them
    rows = table.head(_ROWS_LOOKED_AT)
    first = [cell.strip() for cell in rows[0]] if rows else []
    refuse_lines_above(table.name, first, lambda: rows[1 : _ROWS_BELOW + 1], lambda spot: table.place(spot + 1))
    if _are_known(first, lambda: rows[1:]):
        raise FileFormatError(
            f"{table.name}, {table.place(0)}: {listed(map(shown, first))} are names of columns, but the columns are "
            f"called {listed(table.names)}; write the table with these names and without this row"
        )


def _are_known(cells: Sequence[str], other_rows: Callable[[], Cells]) -> bool:
    """Tell whether cells are known names of columns and no objects."""
    if not is_header(cells):
        return False
    if complete_layout({role for cell in cells if len(normalise(cell)) > 1 and (role := role_of(cell))}):
        return True
    words = {cell for cell in cells if cell}
    return not any(cell.strip() in words for row in other_rows() for cell in row)


def _first_cell(column: Any) -> Any:
    if isinstance(column, (str, Mapping)):
        return 0
    try:
        cell = column.iloc[0] if hasattr(column, "iloc") else column[0]
    except (TypeError, LookupError):
        return 0  # what is no column is refused when it is read
    cell = cell.as_py() if hasattr(cell, "as_py") else cell
    return None if isinstance(cell, float) and cell != cell else cell


# ---- names of columns among the rows ------------------------------------------------------------------------------

# A second table is looked for below so many rows of the first, and known by names of columns that hold objects.
_LEAST_ABOVE = 3
_MOST_ALONE = 3  # rows of words that stand in no other, as of headers, remarks and totals; more are data
_OBJECT_ROLES = ("anchor", "near", "far", "a", "b", "c", "odd", "central")
_SURE = [spot for spot, role in enumerate(_OBJECT_ROLES) if role not in ("a", "b", "c")]


def leave_out_headers(rows: Rows) -> None:
    """Leave out a header repeated among the rows, as joining files end to end gives, and its further rows."""
    import pyarrow.compute as pc

    columns = [rows.columns[role] for role in rows.roles.layout.objects]
    if not all(column.is_text for column in columns):
        return
    imported: Any = True
    for column in columns:
        marked = pc.indices_nonzero(pc.match_substring(column.values, '"ImportId"')).to_numpy()
        imported = imported & np.isin(column.cells, marked) if len(marked) else False
    if np.any(imported):  # Qualtrics: the texts of the questions, then identifiers
        rows.leave_out({"further header row": imported | np.append(imported[1:], False)})
    repeated: Any = True
    # Not the objects alone: a, b and c may be objects below a, b, c.
    for role in (*rows.roles.layout.roles, "participant", "weight"):
        if role in rows.columns:
            repeated = repeated & _holds_name(rows, role)
        if not np.any(repeated):
            return
    rows.leave_out({"header repeated": repeated})


def _holds_name(rows: Rows, role: str) -> np.ndarray:
    """Mark the cells of a role that say the name of their column.

    Blanks and a byte order mark do not matter, nor does case but for letters: I, J, K may be objects below i, j, k.
    """
    import pyarrow.compute as pc

    column, name = rows.columns[role], rows.table.names[rows.roles.at[role]].strip(" \ufeff")
    if not column.is_text:
        return np.zeros(len(column), bool)
    blank = r"[\s\pZ\x{FEFF}]"
    # After the mark of a file joined to another, quotes stay as they are.
    pattern = rf'^{blank}*"?{f"{blank}+".join(map(re.escape, name.split()))}"?{blank}*$'
    found = pc.match_substring_regex(column.values, pattern, ignore_case=len(normalise(name)) > 2)
    codes = pc.indices_nonzero(found).to_numpy()
    return np.isin(column.cells, codes) if len(codes) else np.zeros(len(column), bool)


def refuse_second_table(rows: Rows) -> None:
    """Refuse what looks like the header of a second table below the first.

    That is a row of nothing but names of columns, or the first whose words stand in no other row, after a gap.
    """
    columns = rows.objects()
    if not all(column.is_text for column in columns):
        return
    named = _named_rows(rows)
    if named is not None:
        raise _second_table(rows, named, "names of columns among the rows")
    if len(columns[0]) <= _LEAST_ABOVE:
        return
    alone = _lone_rows(rows)
    if len(alone) and alone[0] >= _LEAST_ABOVE and _after_gap(rows, int(alone[0])):
        raise _second_table(rows, int(alone[0]), "after a gap, names that stand in no other row")
    _tell_lone_rows(rows, alone)


def _tell_lone_rows(rows: Rows, alone: np.ndarray) -> None:
    """Tell of a few rows whose words stand in no other row, where the others say much about the same objects."""
    columns = rows.objects()
    if not 0 < len(alone) <= _MOST_ALONE:
        return
    n_names = len({text for column in columns for text in column.texts()})
    if (len(columns[0]) - len(alone)) * len(columns) < 2 * (n_names - len(alone) * len(columns)):
        return
    first = int(alone[0])
    cells = listed(shown(str(column.cell(first))) for column in columns)
    where = listed(map(rows.place, alone.tolist()))
    what = "a further row of the header" if rows.at(first) == 0 else "a remark or a total"
    rows.alarms.append(
        f"{where} ({cells}): objects that stand in no other row; if that is {what}, take it out of the data"
    )


def _second_table(rows: Rows, row: int, why: str) -> FileFormatError:
    cells = listed(shown(str(column.cell(row))) for column in rows.objects())
    doubt = "is it the header of a second table? Give one table in each file"
    if rows.at(row) == 0:
        doubt = "is it a second row of the header? Take it out of the data"
    return FileFormatError(f"{rows.table.name}, {rows.place(row)}: {cells}: {why}; {doubt}")


def _named_rows(rows: Rows) -> int | None:
    """Find the first row of nothing but names of columns, if they stand in such rows alone.

    Names of columns may be objects: then they stand in other rows too, or in most of all.
    """
    columns = rows.objects()
    named = np.ones(len(columns[0]), bool)
    roles: list[np.ndarray] = []  # of each cell, by its place among `_OBJECT_ROLES`
    for column in columns:
        found = _named_roles(column)
        if found is None:
            return None
        roles.append(found[column.cells])
        named &= roles[-1] >= 0
    for spot, one in enumerate(roles):
        for other in roles[:spot]:
            named &= one != other
    if not named.any():
        return None
    # Item 1, item 2 and item 3 are names of columns, but also of objects: alone they say nothing.
    sure = np.logical_or.reduce([np.isin(one, _SURE) for one in roles])
    for role in rows.roles.layout.extra:
        column = rows.columns[role]
        if column.is_text:
            sure |= np.array([*(role_of(text) == role for text in column.texts()), False])[column.cells]
    found = named & sure
    if rows.table.first_is_data and len(found):
        found[0] = False
    if not found.any() or 2 * np.count_nonzero(found) >= len(found):
        return None
    inside, outside = ({*_words(columns, mask)} for mask in (found, ~found))
    return None if inside & outside else int(np.argmax(found))


def _lone_rows(rows: Rows) -> np.ndarray:
    """Find the rows whose words stand in no other row."""
    import pyarrow.compute as pc

    columns: list[Any] = rows.objects()
    alone: Any = True
    for column in columns:
        codes, values = column.cells, column.values
        once = np.bincount(codes[codes >= 0], minlength=len(values)) == 1
        if not once.any():
            return np.empty(0, np.int64)  # as in all large tables
        for other in columns:
            if other is not column:
                once &= ~pc.is_in(values, value_set=other.values).to_numpy(zero_copy_only=False)
        alone = alone & (codes >= 0) & once[codes]
    return np.flatnonzero(alone)


def _after_gap(rows: Rows, row: int) -> bool:
    """Whether an empty line or row stands above a row."""
    return rows.table.follows_gap(rows.at(row)) or all(column.empty()[row - 1] for column in rows.objects())


def _named_roles(column: Column) -> np.ndarray | None:
    """Role of each text of a column: its place among `_OBJECT_ROLES`, -1 for none and at the end; or None."""
    import pyarrow.compute as pc

    # A first look without Python: such names are short, and have a digit at most at their end.
    likely = pc.match_substring_regex(column.values, r"^[^0-9]{3,40}[0-9]?[^0-9]{0,2}$")
    found = np.full(len(likely) + 1, -1, np.int8)
    for code, text in zip(pc.indices_nonzero(likely).to_pylist(), pc.filter(column.values, likely).to_pylist()):
        role = role_of(text) if len(normalise(text)) > 2 else None
        if role in _OBJECT_ROLES:
            found[code] = _OBJECT_ROLES.index(role)
    return found if (found >= 0).any() else None


def _words(columns: Sequence[Column], rows: np.ndarray) -> Iterable[str]:
    """List the texts that occur in some rows."""
    for column in columns:
        texts = column.texts()
        yield from (texts[code] for code in distinct(column.cells[rows]).tolist() if code >= 0)
