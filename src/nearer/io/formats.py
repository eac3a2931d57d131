"""Files that are not delimited text, as tables: JSON, spreadsheets, Parquet, NumPy and MATLAB arrays."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from nearer._apart import read_matlab, read_sheets
from nearer._memory import available_memory
from nearer.data.carriers import as_table, counts_beside, index_of_pandas, numbers_of
from nearer.data.cells import are_numbered, normalise, whole_number
from nearer.data.columns import INEXACT, Column, MemoryTable, Table, column_from_arrow, column_of, exact_below, is_text
from nearer.data.errors import SHOWN, FileFormatError, counted, listed, shown
from nearer.data.roles import (
    DETAILS,
    INDEX_COLUMNS,
    detail_of,
    find_header,
    find_roles,
    is_header,
    layout_of,
    refuse_lines_above,
    refuse_told_header,
    role_of,
    with_header,
)
from nearer.data.tables import ONE_TYPE
from nearer.data.values import check_objects
from nearer.io.files import refuse_impossible_text
from nearer.io.text import decode_head, encoding_problem, open_bytes

META_KEY = b"nearer"

# ---- JSON ----------------------------------------------------------------------------------------------------------


def open_json(
    path: str,
    *,
    kind: str | None = None,
    variable: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Table:
    """Open a JSON file: ``[{"anchor": ..}, ..]``, ``[[0, 1, 2], ..]``, ``{"anchor": [..], ..}``, ``{"rows": [..]}``."""
    with open_bytes(path) as file:
        text, _ = decode_head(path, file.read(), True, encoding)
    if not text.strip():
        raise FileFormatError(f"{path}: is empty")
    try:
        data = _parsed(path, text)
    except RecursionError as error:
        raise FileFormatError(f"{path}: is not a table: brackets nested too deeply") from error
    if isinstance(data, dict):
        return open_arrays(path, "JSON", data, kind=kind, variable=variable, header=header)
    if isinstance(data, list):
        _refuse_variable(path, variable)
        return with_header(_open_rows(path, "JSON", data), header)
    raise FileFormatError(f"{path}: holds {shown(str(data))}, expected an array of rows or an object of columns")


def _parsed(path: str, text: str, line: int | None = None) -> Any:
    """Read JSON: the text of a whole file, or one `line` of it."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except FileFormatError as error:
        raise FileFormatError(f"{path}{f', line {line}' if line else ''}: {error}") from None
    except json.JSONDecodeError as error:
        spare = error.msg == "Extra data" and line is None
        hint = "; if each line is a JSON value of its own, say format='jsonl'" if spare else ""
        raise FileFormatError(
            f"{path}, line {line or error.lineno}, column {error.colno}: not JSON: {error.msg}{hint}"
        ) from error


def _unfolded(
    path: str, form: str, data: Mapping[str, Any], variable: str | None
) -> tuple[str, Mapping[str, Any] | list[Any], str | None]:
    """Make columns, or rows, of a table that stands under a name, or cell by cell.

    Gives its form in words, the data, and the name that has yet to be looked for.
    """
    tables = {name: columns for name, value in data.items() if (columns := _columns_in(value))}
    if variable in tables:
        tables = {variable: tables[variable]}
    elif variable is not None or any(map(_is_matrix, data.values())):
        return form, data, variable
    if len(tables) > 1:
        raise FileFormatError(f"{path}: several values hold rows: {listed(map(repr, tables))}; say variable=")
    for name, columns in tables.items():
        both = [key for key in columns if key in data and key != name]
        if both:
            where = f"among the columns of {name!r} and beside them"
            raise FileFormatError(f"{path}: {listed(map(repr, both))}: {where}, expected in one place")
        return f"{form}, rows of {name!r}", {key: data[key] for key in data if key != name} | columns, None
    inner = [list(cells) for cells in data.values() if isinstance(cells, dict)]
    if inner and len(inner) == len(data):  # cell by cell, as pandas writes them
        if is_header(inner[0]) and not is_header(list(data)):  # orient="index"
            return form + _named_rows(list(data)), list(data.values()), None
        if all(names == inner[0] for names in inner):  # orient="columns"
            return form + _named_rows(inner[0]), {name: list(cells.values()) for name, cells in data.items()}, None
    return form, data, None


def _named_rows(names: list[str]) -> str:
    """Say that the names of rows are left out, unless they count them."""
    return "" if are_numbered(names) else f" (the names of its rows left out: {listed(map(shown, names[:SHOWN]))}, ...)"


def _is_matrix(value: Any) -> bool:
    return list in map(type, value) if isinstance(value, list) else getattr(value, "ndim", 0) == 2


def _columns_in(value: Any) -> dict[str, np.ndarray]:
    """Make columns of rows with named cells, or of an object of columns; none if `value` is neither."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return {name: value.reshape(-1)[name] for name in value.dtype.names}
    if isinstance(value, list) and set(map(type, value)) == {dict}:
        names = dict.fromkeys(name for row in value for name in row)
        return {name: _cells([row.get(name) for row in value]) for name in names}
    if isinstance(value, dict) and is_header(list(value)) and set(map(type, value.values())) == {list}:
        return {name: _cells(cells) for name, cells in value.items()}
    return {}


def _refuse_variable(path: str, variable: str | None) -> None:
    """Refuse the name of one of several arrays where there is a single one without a name."""
    if variable is not None:
        raise FileFormatError(f"{path}: got variable={variable!r}, but it holds one array, which has no name")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, where each key must occur once; JSON itself would take the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        times = f"{keys.count(twice)} times in one object, expected each once"
        raise FileFormatError(f"the key {shown(twice)} occurs {times}")
    return found


def _open_rows(path: str, form: str, rows: list[Any], word: str = "row") -> MemoryTable:
    if not rows:
        raise FileFormatError(f"{path}: is an empty array")
    kinds = set(map(type, rows))
    if kinds == {dict}:
        return replace(as_table(rows, path), form=form, row_word=word)  # type: ignore[call-arg, return-value]
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
    return MemoryTable(path, form, [""] * len(columns), False, columns=columns, row_word=word)


@dataclass
class _JsonLinesTable(MemoryTable):
    """Objects, one per line, read by pyarrow in blocks."""

    def place(self, row: int) -> str:
        with open_bytes(self.name) as file:
            filled = (number for number, line in enumerate(file, 1) if line.strip())
            row += self.first_row
            return next((f"line {number}" for spot, number in enumerate(filled) if spot == row), f"row {row + 1}")


_DEEPEST = 50  # brackets; pyarrow's reader goes down once for each of them


def open_jsonl(path: str, *, header: bool | None = None, encoding: str | None = None) -> Table:
    """Open JSON lines: an object or an array on each line."""
    import pyarrow as pa

    with open_bytes(path) as file:
        head = file.read(1 << 16)
    text, encoding = decode_head(path, head, len(head) < 1 << 16, encoding)
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise FileFormatError(f"{path}: is empty")
    _refuse_deep(path)
    table: Table | None = None
    if start[0] == "{" and encoding.startswith("utf-8"):
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            table = _quick_lines(path)
    return with_header(table or _loose_lines(path, encoding), header)


def _quick_lines(path: str) -> Table:
    """Read lines by pyarrow: objects whose cells are of one kind in each column."""
    import pyarrow as pa
    import pyarrow.json as pajson

    def read(schema: Any = None) -> Any:
        parse = pajson.ParseOptions(explicit_schema=schema)
        return pajson.read_json(path, read_options=pajson.ReadOptions(block_size=8 << 20), parse_options=parse)

    table = read()
    dates = [column.name for column in table.schema if pa.types.is_temporal(column.type)]
    if dates:  # texts that pyarrow took for points in time
        table = read(pa.schema([(name, pa.string()) for name in dates]))
    table.validate(full=True)  # that text is UTF-8
    names = table.column_names
    return _JsonLinesTable(path, "JSON lines", names, not are_numbered(names), columns=table.columns)


def _refuse_deep(path: str) -> None:
    """Refuse brackets nested so deeply that a reader would run out of stack."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if line.count(b"[") + line.count(b"{") > _DEEPEST:
                depth = deepest = 0
                for letter in line:
                    depth += (letter in b"[{") - (letter in b"]}")
                    deepest = max(deepest, depth)
                if deepest > _DEEPEST:
                    raise FileFormatError(
                        f"{path}, line {number}: brackets nested {deepest:,} deep, expected a flat row"
                    )


def _loose_lines(path: str, encoding: str) -> Table:
    """Read lines one by one: cells of several kinds, or rows as arrays; the first line that is not JSON is named."""
    rows: list[Any] = []
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = _parsed(path, line.decode(encoding).removeprefix("\ufeff").rstrip(), number)
            except UnicodeDecodeError as problem:
                raise FileFormatError(encoding_problem(path, encoding, line, problem.start, number)) from None
            if rows and type(value) is not type(rows[0]):
                raise FileFormatError(f"{path}, line {number}: {shown(str(value))}: expected the same as on line 1")
            rows.append(value)
    return _JsonLinesTable(**vars(_open_rows(path, "JSON lines", rows, "line")))


# ---- spreadsheets --------------------------------------------------------------------------------------------------


def open_spreadsheet(path: str, *, variable: str | None = None, header: bool | None = None) -> MemoryTable:
    """Open a sheet of a spreadsheet (.xlsx, .xls, .ods); needs the extra ``nearer[excel]``."""
    filled = {name: sheet for name, sheet in read_sheets(path).items() if sheet[1]}
    if variable is not None and variable not in filled:
        raise FileFormatError(
            f"{path}: no sheet {variable!r} with cells; there are {listed(map(repr, filled)) or 'none'}"
        )
    if variable is None and len(filled) != 1:
        what = f"sheets {listed(map(repr, filled))}; say variable= for one of them" if filled else "no cells"
        raise FileFormatError(f"{path}: has {what}")
    name = next(iter(filled)) if variable is None else variable
    above, rows, dates = filled[name]
    first = [_cell_text(cell).strip() for cell in rows[0]]
    hint = ""
    if header is None:

        def others() -> list[list[str]]:
            return [list(map(_cell_text, row)) for row in rows[1:]]

        refuse_lines_above(f"{path}, sheet {name!r}", first, others, lambda spot: f"row {above + spot + 2}")
        header, hint = find_header(first, others)
    notes = [hint] if hint and not header else []
    below = rows[1:] if header else rows
    if not below:
        raise FileFormatError(f"{path}: sheet {name!r} has a header but no rows")
    columns = [[row[spot] for row in below] for spot in range(len(first))]
    names = first if header else [""] * len(first)
    return MemoryTable(
        path, f"spreadsheet, sheet {name!r}", names, header and not are_numbered(names), notes=notes, hint=hint,
        columns=columns, first_row=above + int(header),
        alarms=[
            f"column {names[spot] or spot + 1}: the spreadsheet keeps {shown(turned[0])} as no text but a date, a time "
            f"or a truth value ({counted(len(turned), 'cell')}); was it a name, such as MAR1 or true?"
            for spot, cells in enumerate(columns)
            if (turned := _turned(names[spot], cells, dates.get(str(spot), [])))
        ],
    )  # fmt: skip


def _turned(name: str, cells: list[Any], dates: list[str]) -> list[str]:
    """Cells of a column of names, or of texts beside, that a spreadsheet keeps as dates or truth values."""
    truths = [str(cell) for cell in cells if isinstance(cell, bool)]
    n_filled = sum(cell is not None for cell in cells)
    mixed = 0 < len(dates) + len(truths) < n_filled
    return [*dates, *truths] if mixed or (dates and role_of(name) in (*_OBJECTS, "participant")) else []


def _cell_text(cell: Any) -> str:
    return "" if cell is None else str(cell)


# ---- Parquet -------------------------------------------------------------------------------------------------------


_UNREADABLE = "cannot be read as Parquet"


@contextlib.contextmanager
def _told_by(url: str, otherwise: str = _UNREADABLE) -> Iterator[None]:
    """Turn errors of the Parquet reader into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except FileFormatError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{url}: {otherwise}: {reason}") from error


@dataclass
class RowGroups(Table):
    """Some row groups of a Parquet file, at a path or an fsspec URL; small, so that workers can be told of it."""

    row_groups: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()  # rows of all row groups of the file
    has_text: bool = False  # whether a column holds text
    # Columns that the file itself lacks: an index of pandas (a range), or what a folder is called (a text or None).
    beside: dict[str, range | str | None] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of these row groups."""
        return sum(self.lengths[group] for group in self.row_groups)

    @property
    def first_row(self) -> int:
        """Rows of the file before these."""
        return sum(self.lengths[: self.row_groups[0]]) if self.row_groups else 0

    def part(self, groups: Sequence[int]) -> RowGroups:
        """Give some of the row groups."""
        return replace(self, row_groups=tuple(groups))

    def place(self, row: int) -> str:
        return f"row {self.first_row + row + 1}"

    def read(self, positions: Sequence[int]) -> list[Column]:
        return self._table(self.arrays(positions)).read(positions)

    def arrays(self, positions: Sequence[int], use_threads: bool = False) -> dict[str, Any]:
        """Read the columns at some positions, as Arrow arrays by name."""
        names = self._own(positions)
        with _open_file(self.name, names) as file, _told_by(self.name):
            data = file.read_row_groups(list(self.row_groups), columns=names, use_threads=use_threads)
            data.validate(full=True)  # text that is not UTF-8 would fail later, anywhere
        return self._with_beside(data, self.first_row)

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        rows: list[list[str]] = []
        once = [spot for spot, name in enumerate(self.names[:n_columns]) if self.names.count(name) == 1]
        for table in self.batches(n_rows, once):
            rows += table.head(n_rows - len(rows), n_columns)
            if len(rows) == n_rows:
                break
        return rows

    def batches(self, size: int, positions: Sequence[int]) -> Iterator[Table]:
        """Yield tables of at most `size` rows that hold the columns at some positions."""
        names, start = self._own(positions), self.first_row
        with _open_file(self.name, names) as file, _told_by(self.name):
            for batch in file.iter_batches(batch_size=size, row_groups=list(self.row_groups), columns=names):
                batch.validate(full=True)
                yield replace(self._table(self._with_beside(batch, start)), first_row=start)
                start += batch.num_rows

    def _own(self, positions: Sequence[int]) -> list[str]:
        """Names of the columns at some positions that the file itself has; they must tell the columns apart."""
        names = [self.names[position] for position in positions]
        twice = next((name for name in names if self.names.count(name) > 1), None)
        if twice is not None:
            raise FileFormatError(f"{self.name}: two columns are called {twice!r}, expected a name for each")
        return [name for name in names if name not in self.beside]

    def _with_beside(self, data: Any, start: int) -> dict[str, Any]:
        """The columns of a part of the file that begins at row `start`, by name, and those beside it."""
        import pyarrow as pa

        found = dict(zip(data.schema.names, data.columns))
        for name, cells in self.beside.items():
            if isinstance(cells, range):
                array = pa.array(numbers_of(cells[start : start + data.num_rows]))
            else:
                array = pa.repeat(pa.scalar(cells, pa.string()), data.num_rows)
            found[name] = pa.chunked_array([array])
        return found

    def _table(self, columns: dict[str, Any]) -> MemoryTable:
        import pyarrow as pa

        unread = pa.nulls(len(next(iter(columns.values()), ())))
        return MemoryTable(
            self.name, self.form, self.names, self.header, labels=self.labels, n_objects=self.n_objects,
            columns=[columns.get(name, unread) for name in self.names],
        )  # fmt: skip


def open_row_groups(path: str, found: Sequence[RowGroups], left_out: Sequence[str] = ()) -> list[RowGroups]:
    """Parquet files that were looked into, called `path` together; all must have the same columns."""
    found = [_with_folders(path, table) for table in found]
    first = found[0]
    for table in found:
        if sorted(table.names) != sorted(first.names):
            differ = f"columns {listed(table.names)} differ from {listed(first.names)} of {first.name}"
            raise FileFormatError(f"{table.name}: {differ}")
    if not any(table.n_rows for table in found):
        raise FileFormatError(f"{path}: has no rows")
    alarms = [f"{counted(len(left_out), 'file')} left out, not read as Parquet: {listed(left_out)}"] if left_out else []
    together = _stored_together(path, found)
    return [replace(table, names=first.names, header=first.header, alarms=alarms, **together) for table in found]


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def _with_folders(path: str, table: RowGroups) -> RowGroups:
    """Add the columns that folders below `path` stand for, as in weight=2/a.parquet, unless the file has them."""
    given, parts = (
        Path(one if "://" in one else os.path.abspath(one)).parts for one in (path, os.path.dirname(table.name))
    )
    pairs = (part.partition("=") for part in parts if part not in given)
    keys = {
        unquote(key): None if value == _NO_VALUE else unquote(value) for key, equals, value in pairs if key and equals
    }
    keys = {key: text for key, text in keys.items() if key not in table.names and counts_beside(key, table.names)}
    names = [*table.names, *keys]
    return replace(table, names=names, header=not are_numbered(names), beside={**table.beside, **keys})


def _stored_together(path: str, found: Sequence[RowGroups]) -> dict[str, Any]:
    """The objects stored with Parquet files, put together where they differ."""
    first = found[0]
    stored = [None if table.labels is None else tuple(table.labels.tolist()) for table in found]
    if len(set(stored)) > 1:
        if not all(table.has_text for table in found):
            raise FileFormatError(
                f"{path}: the files store different lists of objects, and their numbers count them; "
                "write them with the names of the objects"
            )
        labels = list(dict.fromkeys(label for part in stored for label in part or ()))
        return {"labels": np.array(labels, dtype=str), "n_objects": len(labels)}
    sizes = [table.n_objects for table in found if table.n_objects is not None]
    return {"labels": first.labels, "n_objects": max(sizes) if len(sizes) == len(found) else first.n_objects}


def look_into(url: str, otherwise: str = _UNREADABLE) -> RowGroups:
    """Read the footer of a Parquet file; what to say if that cannot be done is up to the caller."""
    with _open_file(url, otherwise=otherwise) as file:
        lengths = tuple(file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups))
        schema = file.schema_arrow
    stored = _stored_objects(url, schema.metadata)
    ranges, groups = index_of_pandas(url, schema, sum(lengths)), tuple(range(len(lengths)))
    names = [*schema.names, *ranges]
    return RowGroups(
        url, "Parquet", names, not are_numbered(names), row_groups=groups, lengths=lengths,
        has_text=any(is_text(field.type) for field in schema), beside=dict(ranges), **stored,
    )  # fmt: skip


@contextlib.contextmanager
def _open_file(url: str, names: Sequence[str] = (), otherwise: str = _UNREADABLE) -> Iterator[Any]:
    """Open a Parquet file at a path or fsspec URL; columns `names` that hold text are read as codes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        with _told_by(url, otherwise):
            stream: Any = url
            if "://" in url:
                import fsspec  # type: ignore[import-untyped]

                stream = stack.enter_context(fsspec.open(url, "rb"))
            schema = pq.read_schema(stream)
            missing = [name for name in names if name not in schema.names]
            if missing:
                raise FileFormatError(f"{url}: no column {missing[0]!r}, the columns are {schema.names}")
            text = [field.name for field in schema if field.name in names and pa.types.is_string(field.type)]
            if stream is not url:
                stream.seek(0)
            # pyarrow would otherwise fetch all row groups at once
            file = stack.enter_context(pq.ParquetFile(stream, read_dictionary=text, pre_buffer=False))
        yield file


def _is_void(part: Any) -> bool:
    """Tell whether no cell of a column holds anything; its type then says nothing."""
    return part.null_count == len(part)


def _refuse_inexact(part: Any) -> None:
    """Refuse what a narrow float could not tell apart before it becomes a wide one, which could."""
    import pyarrow as pa

    if pa.types.is_floating(part.type) and (np.abs(cells := part.to_numpy()) >= exact_below(cells)).any():
        raise ValueError(INEXACT)


@dataclass
class ParquetTable(Table):
    """One or more Parquet files with the same columns, read one after the other."""

    files: list[RowGroups] = field(default_factory=list)

    def read(self, positions: Sequence[int]) -> list[Column]:
        parts = [file.arrays(positions, use_threads=True) for file in self.files]
        return [self._column(position, [part[self.names[position]] for part in parts]) for position in positions]

    def _column(self, position: int, parts: list[Any]) -> Column:
        import pyarrow as pa

        kind = self._common_type(position, parts)
        chunks = []
        for file, part in zip(self.files, parts):
            try:
                if part.type != kind:
                    _refuse_inexact(part)
                    # No text becomes a number here: what has another type is a number too, or empty.
                    part = pa.chunked_array([pa.nulls(len(part), kind)]) if _is_void(part) else part.cast(kind)
                chunks += part.chunks
            except (ValueError, pa.ArrowException) as error:
                raise FileFormatError(f"{file.name}: {self.title(position)}: {str(error).splitlines()[0]}") from error
        try:
            return column_from_arrow(pa.chunked_array(chunks, kind))
        except (TypeError, pa.ArrowException) as error:
            raise FileFormatError(f"{self.name}: {self.title(position)}: {str(error).splitlines()[0]}") from error

    def _common_type(self, position: int, parts: list[Any]) -> Any:
        """The type that holds a column of every file as it is; parts without a cell have no say."""
        import pyarrow as pa

        types: dict[Any, str] = {}  # type -> the first file that has it
        for file, part in zip(self.files, parts):
            if not _is_void(part):
                types.setdefault(part.type, file.name)
        kinds = list(types)
        if len(kinds) < 2:
            return kinds[0] if kinds else parts[0].type
        if all(pa.types.is_integer(kind) for kind in kinds):
            return pa.int64()
        if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds):
            return pa.float64()
        if all(map(is_text, kinds)):
            return pa.string()
        texts = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        held = listed(f"{kind} in {file}" for kind, file in zip(texts, types.values()))
        raise FileFormatError(
            f"{self.name}: {self.title(position)}: the files hold it as different types: {held}; {ONE_TYPE}"
        )

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        return next(file for file in self.files if file.n_rows).head(n_rows, n_columns)

    def place(self, row: int) -> str:
        if len(self.files) == 1:
            return super().place(row)
        for file in self.files:
            if row < file.n_rows:
                return f"{Path(file.name).name} row {row + 1}"
            row -= file.n_rows
        return super().place(row)


def parquet_files(path: str | Path) -> tuple[list[str], list[str]]:
    """List the Parquet files that `path` (a file, a folder or a pattern such as ``data/*.parquet``) stands for.

    The second list holds the files of a folder that are left out and should be told.
    """
    import glob

    path = Path(path)
    left_out: list[str] = []
    if path.is_dir():
        files, left_out = parquet_among(str(path), (str(file) for file in path.rglob("*") if file.is_file()))
    elif path.exists():
        return [str(path)], []
    else:
        files = sorted(glob.glob(str(path), recursive=True))
    if not files:
        raise FileFormatError(f"{path}: no such file")
    refuse_versions(map(os.path.abspath, files), lambda folder, mark: glob.glob(f"{glob.escape(folder)}/{mark}"))
    return files, left_out


# What stands beside the Parquet files of a table that has versions -> whose table it is, and how to get one of them.
_LOGS = {
    "_delta_log": ("Delta Lake", "DeltaTable(folder).to_pandas()"),
    ".hoodie": ("Hudi", "spark.read.format('hudi').load(folder).toPandas()"),
    "metadata/*.metadata.json": ("Iceberg", "table.scan().to_pandas()"),
}


def refuse_versions(files: Iterable[str], find: Callable[[str, str], Any]) -> None:
    """Refuse files of which a log beside them says which still count; `find` looks for a pattern in a folder."""
    folders = dict.fromkeys(str(folder) for file in files for folder in Path(file).parents if "=" not in folder.name)
    for folder, (mark, (whose, how)) in itertools.product(folders, _LOGS.items()):
        if find(folder, mark):
            raise FileFormatError(
                f"{folder}: is a table of {whose}, whose log ({mark}) says which of its files still count, expected "
                f"plain Parquet files; export the current version, such as {how}, and read that"
            )


def parquet_among(folder: str, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Sort the files below a folder into those to read, known by their endings, and those left out.

    Hidden files are left out, and told only if they may be data; other programs keep their notes in them.
    """
    read, left_out = [], []
    for file in sorted(files):
        inside = os.path.relpath(file, folder)
        is_parquet = Path(file).suffix.lower() in (".parquet", ".pq")
        hidden = any(part[0] in "._" for part in Path(inside).parts)
        if is_parquet and not hidden:
            read.append(file)
        elif is_parquet or not hidden:
            left_out.append(inside)
    if not read:
        raise FileFormatError(f"{folder}: is a directory without Parquet files; expected a file")
    return read, left_out


def _stored_objects(url: str, metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Read what this package wrote beside the columns of a Parquet file: `labels`, `n_objects`."""
    try:
        known = json.loads((metadata or {}).get(META_KEY, b"{}"))
        labels, n_objects = known.get("labels"), known.get("n_objects")
        if labels is not None and not (isinstance(labels, list) and all(isinstance(label, str) for label in labels)):
            raise ValueError("labels")
        labels = check_objects(None, labels)[1]
        if n_objects is not None and not (isinstance(n_objects, int) and n_objects > 0):
            raise ValueError("n_objects")
    except (ValueError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(f"{url}: the stored list of objects is damaged ({error})") from error
    return {"labels": labels, "n_objects": n_objects}


def open_parquet(path: str, *, header: bool | None = None) -> ParquetTable:
    """Open Parquet files far enough to know their columns."""
    names, left_out = parquet_files(path)
    files = open_row_groups(path, [look_into(file, "is not a Parquet file") for file in names], left_out)
    first = files[0]
    form = "Parquet" if len(files) == 1 else f"{len(files):,} Parquet files"
    if first.header or header:
        refuse_told_header(path, header)
    return ParquetTable(
        path, form, first.names, first.header, labels=first.labels, n_objects=first.n_objects,
        alarms=first.alarms, files=files,
    )  # fmt: skip


# ---- named arrays: NumPy, MATLAB, JSON -----------------------------------------------------------------------------

# Where the comparisons themselves are usually kept, plainest name first.
_MAIN = (
    "index", "triplets", "triplet", "quadruplets", "comparisons", "queries", "query", "questions", "data", "x", "t",
    "answers", "arr0",
)  # fmt: skip
_SPLIT = {"columns", "index", "data"}  # pandas, orient="split"; its index names the rows
_ANSWERS = ("y", "arr1")
_LABELS = ("labels", "names", "objects", "labelnames", "objectnames")
_VOTES = ("votes", "agreement", "counts")
_OBJECTS = ("anchor", "near", "far", "a", "b", "c", "odd", "central", "i", "j", "k", "l")


def open_numpy(path: str, *, kind: str | None = None, variable: str | None = None, header: bool | None = None) -> Table:
    """Open a .npy array (memory-mapped) or the arrays of a .npz archive."""
    try:
        loaded: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays: Any = _decoded(loaded)
        else:
            with loaded:
                _refuse_strange(loaded.zip)
                arrays = {key: _decoded(loaded[key]) for key in loaded.files}
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except Exception as error:  # NumPy and zip raise many kinds for a damaged file
        pickled = any(word in str(error) for word in ("pickle", "Object arrays", "Python objects"))
        why = "it holds Python objects (pickled), which are not read: loading them could run code" if pickled else error
        raise FileFormatError(f"{path}: is not a readable NumPy file: {why}") from error
    if isinstance(arrays, np.ndarray):
        _refuse_variable(path, variable)
        return with_header(open_matrix(path, "NumPy array", arrays), header)
    if {"coords", "data", "shape"} <= set(arrays) and arrays["coords"].ndim == 2:
        # A sparse tensor: entry (i, j, k) counts the answers that j is nearer to i than k, negative for the contrary.
        arrays = {"triplets": arrays["coords"].T, "response": arrays["data"]}
    return open_arrays(path, "NumPy archive", arrays, kind=kind, variable=variable, header=header)


def _decoded(array: np.ndarray) -> np.ndarray:
    """Read bytes as text."""
    array = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    refuse_impossible_text(array)
    return array


def _refuse_strange(archive: Any) -> None:
    """Refuse an archive of no arrays, or of members that lie over each other or hold more than memory does."""
    held = archive.namelist()
    if not all(name.endswith(".npy") for name in held):
        raise FileFormatError(f"is a zip archive of {listed(map(shown, held[:SHOWN]))}: unpack it first")
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    size = sum(member.file_size for member in members)
    if packed > Path(archive.filename or archive.fp.name).stat().st_size:
        raise FileFormatError("is not a readable NumPy file: its members lie over each other")
    available = available_memory()
    if available is not None and size > available:
        raise FileFormatError(f"holds arrays of {size / 1e9:,.1f} GB, and {available / 1e9:,.1f} GB are free")


def open_matrix(path: str, form: str, matrix: np.ndarray) -> MemoryTable:
    """Make columns without names of one array (n_rows, n_columns), or named ones of a structured array (n_rows,)."""
    if fields := _columns_in(matrix):
        return MemoryTable(path, form, list(fields), True, columns=list(fields.values()))
    if matrix.ndim != 2 or matrix.shape[1] < 3:
        raise FileFormatError(f"{path}: the array has shape {matrix.shape}, expected (n, 3) or (n, 4)")
    if not len(matrix):
        raise FileFormatError(f"{path}: the array has no rows")
    names = list(INDEX_COLUMNS.get(matrix.shape[1], ())) if matrix.dtype.kind in "iuf" else []
    return MemoryTable(
        path, form, names or [""] * matrix.shape[1], bool(names), is_index=bool(names), columns=list(matrix.T)
    )


def open_arrays(
    path: str,
    form: str,
    arrays: Mapping[str, Any],
    *,
    kind: str | None = None,
    variable: str | None = None,
    header: bool | None = None,
) -> Table:
    """Find the comparisons among named arrays.

    One array of shape (n, 3), (n, 4) or wider holds the comparisons, unless 1-D arrays do by their names: then they are
    columns. Arrays of length n beside either may hold answers, weights, participants, details; one participant or
    weight holds for all rows; an array called ``labels`` or ``names`` names the objects. The names of the columns of
    one array may stand beside it, as ``columns`` or ``fields``, or in its first row.

    Parameters
    ----------
    path, form : str
    arrays : mapping of str to array-like
    kind : str, optional
        As told by the user: for odd-one-out and most-central an answer beside the array is the object picked.
    variable : str, optional
        The array that holds the comparisons.
    header : bool, optional
        Whether its first row holds the names of its columns, as told by the user.
    """
    form, found, variable = _unfolded(path, form, arrays, variable)
    if isinstance(found, list):
        return with_header(_open_rows(path, form, found), header)
    shaped = {name: _as_array(path, name, array) for name, array in found.items()}
    main = _find_main(path, shaped, variable)
    shaped = {name: array if name == main else _as_vector(name, array) for name, array in shaped.items()}
    if main is None:
        refuse_told_header(path, header)
        return _flat_columns(path, form, shaped)
    named = _names_beside(path, shaped, main)
    titles = list(map(str, shaped.pop(named).reshape(-1).tolist())) if named else []
    matrix = shaped.pop(main)
    plain = MemoryTable(f"{path}, array {main!r}", form, [""] * matrix.shape[1], False, columns=list(matrix.T))
    if matrix.dtype.kind in "UTO" and not named:
        plain = with_header(plain, header)  # type: ignore[assignment]
        titles = plain.names if any(plain.names) else []
    else:
        refuse_told_header(path, header)
        plain.notes += [f"the columns of {main!r} are named by {named!r}"] if named else []
    titles = [] if are_numbered(titles) else titles
    beside, known = _beside(path, shaped, len(plain.columns[0]), f"rows of {main!r}")
    if kind in ("odd-one-out", "most-central") and "answer" in beside:
        beside["odd" if kind == "odd-one-out" else "central"] = beside.pop("answer")
    names = titles or _main_names(plain, main, {role_of(name) or "" for name in beside}, kind)
    if beside and not names:
        names = [f"column {spot + 1}" for spot in range(matrix.shape[1])]
    return MemoryTable(
        name=path,
        form=f"{form}, array {main!r} of shape {len(plain.columns[0]):,} x {matrix.shape[1]}",
        names=[*names, *beside] or plain.names,
        header=bool(names),
        first_is_data=header is False,
        is_index=not titles,
        hint=plain.hint,
        columns=[*plain.columns, *beside.values()],
        first_row=plain.first_row,
        **known | {"notes": plain.notes + known["notes"]},
    )


def _as_array(path: str, name: str, array: Any) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, list) and array and isinstance(array[0], list):
        for row, cells in enumerate(array):
            if not isinstance(cells, list) or len(cells) != len(array[0]):
                got = f"{len(cells)} cells" if isinstance(cells, list) else shown(str(cells))
                raise FileFormatError(f"{path}, {name!r}, row {row + 1}: {got} where row 1 has {len(array[0])} cells")
        matrix = np.empty((len(array), len(array[0])), object)
        for spot, column in enumerate(zip(*array)):
            matrix[:, spot] = column
        return matrix
    return _cells(array)


def _as_vector(name: str, array: np.ndarray) -> np.ndarray:
    """Make one row or one column, as MATLAB keeps vectors, 1-D; two votes stay a row."""
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape and normalise(name) not in _VOTES else array


def _cells(cells: Any) -> np.ndarray:
    """Make a 1-D array of a list, whatever it holds, and one without dimensions of anything else."""
    array = np.fromiter(cells if isinstance(cells, list) else [cells], object)
    return array if isinstance(cells, list) else array.reshape(())


def _find_main(path: str, arrays: Mapping[str, np.ndarray], variable: str | None) -> str | None:
    wide = [name for name, array in arrays.items() if array.ndim == 2 and array.shape[1] >= 3]
    if variable is not None:
        if variable not in wide:
            raise FileFormatError(
                f"{path}: no array {variable!r} of shape (n, 3) or wider; there are {_shapes(arrays)}"
            )
        return variable
    if arrays.keys() >= _SPLIT:
        wide = [name for name in wide if name != "index"]
    vectors = [name for name, array in arrays.items() if _as_vector(name, array).ndim < 2]
    if layout_of(vectors):
        return None
    # MATLAB writes a vector as one row: it is no comparison if another array has many.
    wide = [name for name in wide if len(arrays[name]) > 1] or wide
    if len(wide) == 1:
        return wide[0]
    for name in _MAIN:
        found = [array for array in wide if normalise(array) == name]
        if len(found) == 1:
            return found[0]
    if wide:
        raise FileFormatError(f"{path}: several arrays could hold the comparisons: {_shapes(arrays)}; say variable=")
    return None


def _shapes(arrays: Mapping[str, np.ndarray]) -> str:
    return listed(f"{name!r} {array.shape}" for name, array in arrays.items()) or "none"


_TITLES = ("columns", "columnnames", "colnames", "fields", "fieldnames", "header", "headers", "names")


def _names_beside(path: str, arrays: Mapping[str, np.ndarray], main: str) -> str | None:
    """Find the array that names the columns of the main one, as pandas writes beside its rows."""
    width, found = arrays[main].shape[1], []
    for name, array in arrays.items():
        if name == main or normalise(name) not in _TITLES or not array.ndim:
            continue
        texts = array.reshape(-1).tolist()
        if not any(isinstance(text, str) for text in texts):
            continue
        texts = list(map(str, texts))
        if normalise(name) == "names" and not layout_of(texts):
            continue  # the names of the objects
        if len(texts) == width:
            found.append(name)
        elif is_header(texts):
            raise FileFormatError(f"{path}: {name!r} holds {len(texts)} names for {width} columns of {main!r}")
    if len(found) > 1:
        raise FileFormatError(f"{path}: {listed(map(repr, found))} all could name the columns of {main!r}; keep one")
    return found[0] if found else None


_BESIDE = ("answer", "weight", "participant", "odd", "central", "votes_a", "votes_b", *DETAILS)
_FOR_ALL = ("participant", "weight")  # where one value holds for all rows


def _beside(path: str, arrays: Mapping[str, np.ndarray], length: int, of: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sort arrays that stand beside rows: into columns by name, and what is known of the objects, with notes."""
    beside: dict[str, Any] = {}
    unused: list[str] = []
    labels: Any = None
    n_objects: int | None = None
    for name, array in arrays.items():
        word = normalise(name)
        role = "answer" if word in _ANSWERS else role_of(name) or detail_of(name)
        if not array.ndim and (role in _FOR_ALL or length == 1):
            array = np.full(length, array[()], array.dtype)
        if word == "nobjects" and array.size == 1:
            n_objects = whole_number(str(array.reshape(-1)[0]))
            unused += [name] if n_objects is None else []
        elif word in _LABELS and (found := _object_names(path, name, array)) is not None:
            labels = found
        elif role in _BESIDE and (array.ndim == 1 or (array.ndim == 0 and role not in DETAILS)):
            if array.shape != (length,):
                count = f"{len(array):,} entries" if array.ndim else "one value"
                raise FileFormatError(f"{path}: array {name!r} has {count} for {length:,} {of}")
            if role == "answer" and "answer" in beside:
                raise FileFormatError(f"{path}: array {name!r} is not the only one that holds answers, expected one")
            beside |= _signs(array) if role == "answer" else {name: array}
        elif role in _OBJECTS and array.shape == (length,) and len(word) > 1:
            raise FileFormatError(f"{path}: array {name!r} holds objects and would be left out beside the {of}")
        elif array.shape == (length, 2) and word in _VOTES:
            beside["votes_a"], beside["votes_b"] = array[:, 0], array[:, 1]
        else:
            unused.append(name)
    try:
        n_objects, labels = check_objects(n_objects, labels)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    notes = [f"arrays not used: {listed(unused)}"] if unused else []
    return beside, {"labels": labels, "n_objects": n_objects, "notes": notes}


def _object_names(path: str, name: str, array: np.ndarray) -> list[Any] | None:
    """Give the names of objects that an array holds, None if it holds none: numbers that recur are classes."""
    if array.ndim != 1:
        return None
    try:
        column = column_of(array)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: array {name!r}: {error}") from error
    spelled = column.spelled()
    names = [spelled.cell(row) for row in range(len(spelled))]
    return names if column.is_text or len(set(names)) == len(names) else None


def _signs(answers: np.ndarray) -> dict[str, Any]:
    """Give columns for answers beside an array of questions: True and +n are for the first option, -n the second."""
    kind = answers.dtype.kind
    if kind == "b" or (kind in "if" and (np.abs(answers) == 1).all()):
        return {"answer": np.where(answers > 0, "first", "second")}
    if kind in "if" and answers.min() < 0:
        return {"votes_a": np.maximum(answers, 0), "votes_b": np.maximum(-answers, 0)}
    return {"answer": answers}


_WIDTHS = {"triplet": 3, "triplets": 3, "quadruplets": 4}


def _main_names(plain: MemoryTable, main: str, beside: set[str], kind: str | None) -> list[str]:
    """Name the columns of the main array, given the roles of what stands beside it; [] if they must be told.

    An array of numbers holds object numbers, by its width. What else it may hold is judged as columns without names.
    """
    width, asked = len(plain.names), bool(beside & {"answer", "votes_a"})
    if kind is None and _WIDTHS.get(normalise(main), width) != width:
        return []  # the name says something else than the width
    names: tuple[str, ...] | None = None
    by_width = plain.columns[0].dtype.kind in "iuf" or normalise(main) == "quadruplets"
    if width == 3 and beside & {"odd", "central"}:
        names = ("a", "b", "c")
    elif width == 3 and asked:
        names = ("anchor", "a", "b")
    elif (by_width and kind is None) or (width == 4 and asked and kind in ("answers", "votes")):
        names = INDEX_COLUMNS.get(width)
    if not beside and names is None:
        return []
    if names is None or (width == 3 and not by_width):
        try:
            found = find_roles(plain, kind=kind if names is None or kind is None else "triplets")
        except FileFormatError:
            return []
        names = names or tuple(found.at)
    return list(names)


def _flat_columns(path: str, form: str, arrays: Mapping[str, np.ndarray]) -> MemoryTable:
    if not any(array.ndim for array in arrays.values()):  # one row, cell by cell
        arrays = {name: array.reshape(1) if role_of(name) else array for name, array in arrays.items()}
    flat = {name: array for name, array in arrays.items() if array.ndim == 1 and len(array)}
    lengths = {len(array) for name, array in flat.items() if role_of(name)} or {len(array) for array in flat.values()}
    if not lengths:
        raise FileFormatError(
            f"{path}: no array of shape (n, 3) or (n, 4) and no known columns; there are {_shapes(arrays)}"
        )
    if len(lengths) > 1:
        raise FileFormatError(f"{path}: the columns differ in length: {_shapes(flat)}")
    length = lengths.pop()
    columns = {name: array for name, array in flat.items() if len(array) == length}
    _refuse_doubtful_labels(path, columns)
    beside, known = _beside(path, {name: arrays[name] for name in arrays if name not in columns}, length, "rows")
    columns |= beside
    return MemoryTable(path, form, list(columns), True, columns=list(columns.values()), **known)


def _refuse_doubtful_labels(path: str, columns: Mapping[str, np.ndarray]) -> None:
    """Refuse names that may be those of numbered objects, or one for each row, since there are as many of both."""
    cells = {name: array.tolist() for name, array in columns.items() if normalise(name) in _LABELS}
    objects = [array.tolist() for name, array in columns.items() if cells and role_of(name) in _OBJECTS]
    numbered = bool(objects) and not any(isinstance(cell, str) for column in objects for cell in column)
    for name, texts in cells.items():
        if numbered and all(isinstance(text, str) for text in texts) and len(set(texts)) == len(texts):
            raise FileFormatError(
                f"{path}: {name!r} holds as many names as there are rows: those of the numbered objects, or one for "
                f"each row? Put the comparisons into one array, or give {name!r} another name"
            )


def open_matlab(path: str, *, kind: str | None = None, variable: str | None = None) -> Table:
    """Open the variables of a .mat file.

    MATLAB counts from 1. Nothing is subtracted: numbers 1..n are the names of the objects, so that every output shows
    the numbers that MATLAB knows; where there are labels, the numbers count them from 1. A scalar is an array of one.
    """
    form, arrays, structs = read_matlab(path)
    arrays = {name: array.reshape(()) if array.shape == (1,) else array for name, array in arrays.items()}
    table = open_arrays(path, form, arrays, kind=kind, variable=variable)
    table.counts_from = 1
    if structs:
        table.notes.append(f"variables of other kinds not used: {listed(structs)}")
    return table
