"""JSON (an array of objects or arrays, or an object of columns) and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from .arrays import open_arrays
from .columns import Column, MemorySource, Source, column_from_arrow
from .errors import FileFormatError, shown
from .sniff import decode_head


def open_json(
    path: str | Path, *, kind: str | None = None, variable: str | None = None, encoding: str | None = None
) -> MemorySource:
    """Open a JSON file: ``[{"anchor": ..}, ..]``, ``[[0, 1, 2], ..]`` or ``{"anchor": [..], ..}``.

    Returns
    -------
    MemorySource
    """
    name = str(path)
    text, _ = decode_head(name, Path(path).read_bytes(), True, encoding)
    if not text.strip():
        raise FileFormatError(f"{name}: is empty")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        hint = "; if each line is a JSON value of its own, say format='jsonl'" if error.msg == "Extra data" else ""
        raise FileFormatError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}{hint}"
        ) from error
    except RecursionError as error:
        raise FileFormatError(f"{name}: not a table: brackets nested too deeply") from error
    if isinstance(data, dict):
        return open_arrays(name, "JSON", data, kind=kind, variable=variable)
    if isinstance(data, list):
        return _open_rows(name, "JSON", data)
    raise FileFormatError(f"{name}: holds {shown(str(data))}, expected an array of rows or an object of columns")


def _open_rows(path: str, form: str, rows: list[Any], word: str = "row") -> MemorySource:
    if not rows:
        raise FileFormatError(f"{path}: is an empty array")
    kinds = set(map(type, rows))
    if kinds == {dict}:
        return _open_records(path, form, rows, word)
    if kinds != {list}:
        row = next((row for row, value in enumerate(rows) if type(value) is not type(rows[0])), 0)
        raise FileFormatError(
            f"{path}, {word} {row + 1}: {shown(str(rows[row]))}: expected an object or an array like the others"
        )
    if len(set(map(len, rows))) > 1:
        row = next(row for row, cells in enumerate(rows) if len(cells) != len(rows[0]))
        raise FileFormatError(
            f"{path}, {word} {row + 1}: {len(rows[row])} cells where {word} 1 has {len(rows[0])}: "
            f"{shown(str(rows[row]))}"
        )
    columns = [list(column) for column in zip(*rows)]
    return RowsSource(path, form, [""] * len(columns), False, arrays=columns, word=word)


def _open_records(path: str, form: str, rows: list[dict[str, Any]], word: str) -> MemorySource:
    names = list(rows[0])
    return RecordSource(path, form, names, True, arrays=rows, word=word)


@dataclass
class RowsSource(MemorySource):
    """Columns in memory whose rows are called `word`."""

    word: str = "row"

    def place(self, row: int) -> str:
        return f"{self.word} {row + 1}"


@dataclass
class RecordSource(RowsSource):
    """A list of dicts in `arrays`; a column is taken out only when it is read."""

    def read(self, positions: Sequence[int]) -> list[Column]:
        columns = []
        for position in positions:
            name = self.names[position]
            try:
                cells = list(map(itemgetter(name), self.arrays))
            except KeyError:
                cells = [row.get(name) for row in self.arrays]
            taken = MemorySource(self.path, self.form, [name], True, arrays=[cells])
            columns += taken.read([0])
        return columns


@dataclass
class JsonLinesSource(Source):
    """Objects, one per line, read by pyarrow in blocks."""

    table: Any = field(default=None)

    def read(self, positions: Sequence[int]) -> list[Column]:
        columns = []
        for position in positions:
            try:
                columns.append(column_from_arrow(self.table.column(position)))
            except TypeError as error:
                raise FileFormatError(f"{self.path}: {self.title(position)}: {error}") from error
        return columns

    def place(self, row: int) -> str:
        with open(self.path, "rb") as file:
            filled = (number for number, line in enumerate(file, 1) if line.strip())
            return next((f"line {number}" for spot, number in enumerate(filled) if spot == row), f"row {row + 1}")


def open_jsonl(path: str | Path) -> Source:
    """Open JSON lines: an object or an array on each line.

    Returns
    -------
    Source
    """
    import pyarrow as pa
    import pyarrow.json as pajson

    name = str(path)
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    text, _ = decode_head(name, head, len(head) < 1 << 16, None)
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise FileFormatError(f"{name}: is empty")
    if start[0] == "{":
        try:
            table = pajson.read_json(name, read_options=pajson.ReadOptions(block_size=8 << 20))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _bad_line(name, error) from error
        return JsonLinesSource(name, "JSON lines", table.column_names, True, table=table)
    lines = [line for line in Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    try:
        rows = json.loads(b"[" + b",".join(lines) + b"]")
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _bad_line(name, error) from error
    return _open_rows(name, "JSON lines", rows, "line")


def _bad_line(path: str, error: Exception) -> FileFormatError:
    """Find the first line that is not JSON; only run once reading has failed."""
    kinds: dict[str, tuple[type, int]] = {}
    first_kind: type | None = None
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig").rstrip())
            except json.JSONDecodeError as problem:
                return FileFormatError(f"{path}, line {number}, column {problem.colno}: not JSON: {problem.msg}")
            except UnicodeDecodeError:
                return FileFormatError(f"{path}, line {number}: is not UTF-8 text")
            first_kind = first_kind or type(value)
            if type(value) is not first_kind:
                return FileFormatError(f"{path}, line {number}: {shown(str(value))}: expected the same as on line 1")
            for name, cell in value.items() if isinstance(value, dict) else ():
                if cell is None:
                    continue
                kind, first = kinds.setdefault(name, (type(cell), number))
                if type(cell) is not kind and {type(cell), kind} != {int, float}:
                    return FileFormatError(
                        f"{path}, line {number}, column {name!r}: {shown(str(cell))} is {type(cell).__name__}, "
                        f"on line {first} it is {kind.__name__}"
                    )
    return FileFormatError(f"{path}: cannot be read as JSON lines: {str(error).splitlines()[0]}")
