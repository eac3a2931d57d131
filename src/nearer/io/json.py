"""JSON and JSON lines as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearer.data.messages import FileFormatError, listed, shown
from nearer.io.files import chosen_sheet
from nearer.io.frames import from_rows
from nearer.io.text import decode_head, decoded_lines, open_bytes
from nearer.tables.table import MemoryTable, Table


def open_json(path: str, *, encoding: str | None = None, sheet: str | None = None) -> Table:
    """Open ``[{"anchor": ..}, ..]``, ``[[0, 1, 2], ..]``, ``{"anchor": [..], ..}`` or ``{"rows": [{..}, ..], ..}``."""
    with open_bytes(path) as file:
        text, _ = decode_head(path, file.read(), True, encoding)
    data = _parsed(path, text)
    if isinstance(data, list) and sheet is None:
        return _from_rows(MemoryTable(path, "JSON", []), data)
    if not isinstance(data, dict) or not data:
        expected = "an array of rows or an object of columns" if sheet is None else f"an object with the key {sheet!r}"
        raise FileFormatError(f"{path}: got {shown(str(data))}, expected {expected}")
    found = [key for key, value in data.items() if isinstance(value, list) and {*map(type, value)} == {dict}]
    if found or sheet is not None:
        key = chosen_sheet(path, sheet, found, "arrays of objects")
        table = _from_rows(MemoryTable(path, f"JSON, {key!r}", []), data[key])
        table.notes += [f"not used: {listed(one for one in data if one != key)}"] if len(data) > 1 else []
        return table
    if wrong := [f"{key!r}: {shown(str(value))}" for key, value in data.items() if not isinstance(value, list)]:
        raise FileFormatError(f"{path}: got {wrong[0]}, expected a list of cells for each column")
    return MemoryTable(path, "JSON", list(data), columns=list(data.values()))


def _parsed(path: str, text: str, line: int | None = None) -> Any:
    try:
        return _DECODER.decode(text)
    except (RecursionError, ValueError) as error:
        is_lines = line is None and str(error).startswith("Extra data")
        hint = "; if each line is separate JSON, call it .jsonl" if is_lines else ""
        where = path if line is None else f"{path}, line {line}"
        raise FileFormatError(f"{where}: is not readable JSON: {error}{hint}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, where each key must occur once; `json` would keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"got an object with the keys {listed(key for key, _ in pairs)}, expected each once")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once: slow


def _from_rows(table: MemoryTable, rows: list[Any]) -> MemoryTable:
    if not rows:
        raise FileFormatError(f"{table.name}: is empty")
    if not isinstance(rows[0], (list, dict)):
        raise FileFormatError(f"{table.name}, {table.place(0)}: got {shown(str(rows[0]))}, expected an object or array")
    table = from_rows(table, rows)
    texts = [
        [json.dumps(cell, ensure_ascii=False) if type(cell) is dict else cell for cell in column]
        for column in table.columns
    ]  # objects in cells
    return replace(table, columns=texts)


@dataclass
class _JsonLinesTable(MemoryTable):
    lines: Sequence[int] = ()  # the line of each row

    def place(self, row: int) -> str:
        return f"line {self.lines[row]}"


def open_jsonl(path: str, *, encoding: str | None = None) -> Table:
    with open_bytes(path) as file:
        _, encoding = decode_head(path, file.read(1 << 16), False, encoding)
    texts = ((number, text.strip("\ufeff \t\r\n")) for number, text in decoded_lines(path, encoding))
    rows = {number: _parsed(path, text, number) for number, text in texts if text}
    return _from_rows(_JsonLinesTable(path, "JSON lines", [], lines=list(rows)), list(rows.values()))
