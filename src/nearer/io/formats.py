"""Files that are neither delimited text nor Parquet, as tables: JSON, spreadsheets, NumPy and MATLAB arrays."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer._apart import read_matlab, read_sheets
from nearer._memory import available_memory
from nearer.data.carriers import as_table
from nearer.data.cells import are_numbered, normalise, whole_number
from nearer.data.columns import MemoryTable, Table, column_of
from nearer.data.errors import SHOWN, FileFormatError, counted, listed, shown
from nearer.data.roles import (
    DETAILS,
    INDEX_COLUMNS,
    detail_of,
    find_header,
    find_roles,
    is_header,
    layout_of,
    refuse_told_header,
    role_of,
    with_header,
)
from nearer.data.values import Options, check_objects
from nearer.io.files import refuse_impossible_text
from nearer.io.text import decode_head, encoding_problem, open_bytes

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
        for row in rows:  # those that do not count may hold objects, which become text as in a file of text
            row |= {name: json.dumps(cell, ensure_ascii=False) for name, cell in row.items() if isinstance(cell, dict)}
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
    first = [cell_text(cell).strip() for cell in rows[0]]
    hint = ""
    if header is None:

        def below(n_rows: int) -> list[list[str]]:
            return [list(map(cell_text, row)) for row in rows[1 : n_rows + 1]]

        header, hint = find_header(f"{path}, sheet {name!r}", first, below, lambda spot: f"row {above + spot + 2}")
    notes = [hint] if hint and not header else []
    data = rows[1:] if header else rows
    if not data:
        raise FileFormatError(f"{path}: sheet {name!r} has a header but no rows")
    columns = [[row[spot] for row in data] for spot in range(len(first))]
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


def cell_text(cell: Any) -> str:
    """Write a cell as text, an empty one as none."""
    return "" if cell is None else str(cell)


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
_SIZES = ("count", "total", "totalcount", "nrows", "nrecords")  # how many rows there are, said beside them
_FOR_ALL = ("participant", "weight")  # where one value holds for all rows


def _beside(path: str, arrays: Mapping[str, np.ndarray], length: int, of: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sort arrays that stand beside rows: into columns by name, and what is known of the objects, with notes."""
    beside: dict[str, Any] = {}
    unused: list[str] = []
    alarms: list[str] = []
    labels: Any = None
    n_objects: int | None = None
    for name, array in arrays.items():
        word = normalise(name)
        role = "answer" if word in _ANSWERS else role_of(name) or detail_of(name)
        if not array.ndim and word in _SIZES:
            count = whole_number(str(array[()]))
            alarms += (
                [f"{name!r} is {count:,}, but there are {length:,} {of}; is a part missing?"] if count != length else []
            )
            continue
        if not array.ndim and (role in _FOR_ALL or length == 1):
            array = np.full(length, array[()], array.dtype)
        if word == "nobjects" and array.size == 1:
            n_objects = whole_number(str(array.reshape(-1)[0]))
            unused += [name] if n_objects is None else []
        elif word in _LABELS and (found := _object_names(path, name, array)) is not None:
            labels = found
        elif role in _BESIDE and (array.ndim == 1 or (array.ndim == 0 and role not in DETAILS)):
            if array.shape != (length,):
                held = f"{len(array):,} entries" if array.ndim else "one value"
                raise FileFormatError(f"{path}: array {name!r} has {held} for {length:,} {of}")
            if role == "answer" and "answer" in beside:
                raise FileFormatError(f"{path}: array {name!r} is not the only one that holds answers, expected one")
            beside |= _signs(array) if role == "answer" else {name: array}
        elif role in _OBJECTS and array.shape == (length,) and len(word) > 1:
            raise FileFormatError(f"{path}: array {name!r} holds objects and would be left out beside the {of}")
        elif array.shape == (length, 2) and word in _VOTES:
            beside["votes_a"], beside["votes_b"] = array[:, 0], array[:, 1]
        elif array.shape == (length,):
            beside[name] = array  # a column that is not used, and told of as in any table
        else:
            unused.append(name)
    try:
        _, labels = check_objects(n_objects, labels)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    notes = [f"arrays not used: {listed(unused)}"] if unused else []
    return beside, {"labels": labels, "n_objects": n_objects, "notes": notes, "alarms": alarms}


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
            found = find_roles(plain, Options(kind=kind if names is None or kind is None else "triplets"))
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
