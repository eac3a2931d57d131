"""Spreadsheets as tables."""

from __future__ import annotations

from nearer.data.messages import FileFormatError
from nearer.io.files import chosen_sheet
from nearer.io.sandbox import read_in_child
from nearer.tables.table import MemoryTable


def open_spreadsheet(path: str, *, sheet: str | None = None, header_row: int = 1) -> MemoryTable:
    """Open a sheet (.xlsx, .xls, .ods), the only one with cells; `header_row` counts rows with cells, 0 for none."""
    filled = {name: found for name, found in read_in_child("spreadsheet", path).items() if found[1]}
    sheet = chosen_sheet(path, sheet, list(filled), "sheets with cells")
    above, rows = filled[sheet]
    ends = [0, *(number for number, row in enumerate(rows, 1) if any(cell is not None for cell in row))]
    start = ends[header_row] if header_row < len(ends) else len(rows)
    if start == len(rows):
        raise FileFormatError(f"{path}: sheet {sheet!r} has no rows below row {header_row}, the names of the columns")
    names = ["" if cell is None else str(cell).strip() for cell in rows[start - 1]] if start else [""] * len(rows[0])
    form = f"spreadsheet, sheet {sheet!r}"
    columns = list(zip(*rows[start:]))
    return MemoryTable(path, form, names, columns=columns, above=above + start)
