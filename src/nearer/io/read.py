"""`read_comparisons`: any file or table of comparisons, and what was understood of it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.carriers import as_table, is_table
from nearer.data.columns import Table
from nearer.data.errors import FileFormatError, answer_sentence, closest, counted, listed, shown_cell, told_dropped
from nearer.data.roles import DETAILS, INDEX_COLUMNS, OPTIONS_SHOWN, PLAIN_NAMES, with_header
from nearer.data.rows import Rows
from nearer.data.tables import read_table, warn_of
from nearer.data.values import Options, check_bool
from nearer.io import formats
from nearer.io.blocks import open_parquet
from nearer.io.files import is_pattern, refuse_irregular
from nearer.io.text import COMPRESSED, open_bytes, open_text

FORMATS = {
    "table": (".csv", ".tsv", ".txt", ".tab", ".dat"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "numpy": (".npy", ".npz"),
    "matlab": (".mat",),
    "excel": (".xlsx", ".xlsm", ".xls", ".ods"),
}
# What can be said about a file beside what its rows mean, and of which formats; of what is in memory, the header.
_SAID_OF = {
    "delimiter": ("table",),
    "header": ("table", "json", "jsonl", "parquet", "numpy", "excel", "memory"),
    "encoding": ("table", "json", "jsonl"),
    "variable": ("json", "numpy", "matlab", "excel"),
}
_HOLD_ARRAYS = ("json", "numpy", "matlab")  # where the kind of rows tells what an array beside them is
_FORMAT_OF = {ending: name for name, endings in FORMATS.items() for ending in endings}
_SYNONYMS = {
    "csv": "table", "tsv": "table", "npy": "numpy", "npz": "numpy", "mat": "matlab", "ndjson": "jsonl", "xlsx": "excel",
}  # fmt: skip
_MAGIC = ((b"PAR1", "parquet"), (b"\x93NUMPY", "numpy"), (b"PK\x03\x04", "numpy"), (b"MATLAB", "matlab"))
_PACKED = ((b"\x1f\x8b", ".gz"), (b"\x28\xb5\x2f\xfd", ".zst"))
_COUNTED_AS = {
    "answers": "answer",
    "votes": "voted question",
    "odd-one-out": "odd-one-out answer",
    "most-central": "most-central answer",
    "rankings": "ranking",
}


@dataclass(frozen=True)
class ReadResult:
    """Comparisons from a file, and how the file was understood.

    Attributes
    ----------
    comparisons : Comparisons
    understood : str
        One line for the user, e.g. ``music.csv: comma-separated, header anchor/near/far: 9,090 triplets over 400
        objects, the first: Abba is nearer to Roxette than to Slayer; 17 rows dropped: an object cannot be compared with
        itself (first at line 812)``.
    path : str
    format : str
        table, json, jsonl, parquet, numpy, matlab, excel, or memory for a table in memory.
    form : str
        The format in words, e.g. ``comma-separated``.
    kind : str
        What the rows are: triplets, quadruplets, answers, votes, odd-one-out, most-central or rankings.
    columns : dict of str to str
        Role -> column of the file.
    n_rows : int
        Rows of data in the file.
    dropped : dict of str to int
        Reason -> rows left out.
    notes : tuple of str
        What else to know, e.g. how numbers were taken.
    alarms : tuple of str
        What may be wrong with the data, such as names that differ by case alone.
    places : dict of str to (int, str)
        Reason -> rows left out, and where the first is.
    """

    comparisons: Comparisons
    understood: str
    path: str
    format: str
    form: str
    kind: str
    columns: dict[str, str]
    n_rows: int
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    places: dict[str, tuple[int, str]] = field(default_factory=dict)

    def warn(self) -> None:
        """Warn of what is doubtful about the data, and of rows left out."""
        warn_of(self.path, self.alarms, self.places)

    def facts(self) -> dict[str, Any]:
        """Return everything but the comparisons themselves, as plain values."""
        names = ("path", "format", "form", "kind", "columns", "n_rows", "dropped", "understood")
        facts = {name: getattr(self, name) for name in names} | {"notes": list(self.notes), "alarms": list(self.alarms)}
        comparisons = self.comparisons
        return facts | {"n_comparisons": len(comparisons), "n_objects": int(comparisons.n_objects)}


def read_comparisons(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str | int] | Sequence[str] | str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    kind: str | None = None,
    participant: str | int | None = None,
    weight: str | int | None = None,
    labels: Sequence[str] | np.ndarray | None = None,
    n_objects: int | None = None,
    index_base: int | None = None,
    answers: str | Mapping[Any, str] | None = None,
    on_degenerate: str = "drop",
    on_missing: str = "raise",
    keep_na: bool = False,
    fold_names: bool = False,
    encoding: str | None = None,
    variable: str | None = None,
) -> ReadResult:
    """Read a file or a table of comparisons.

    Objects may be text, sorted by code point, or whole numbers, sorted by size; what they are called is what they are
    called in every output. What is said of a file that its format does not have, such as the delimiter of Parquet, is
    refused.

    Parameters
    ----------
    source : path-like, or a table in memory
        CSV, TSV or otherwise delimited text, JSON, JSON lines, Parquet (also a folder or a pattern such as
        ``parts/*.parquet``; folders below it such as ``weight=2`` are columns), NumPy .npy/.npz, MATLAB .mat,
        spreadsheets .xlsx/.xls/.ods; "-" for standard input.
        Or a pandas or polars DataFrame, a pyarrow Table, a dict of columns, a list of dicts.
    format : {"table", "json", "jsonl", "parquet", "numpy", "matlab", "excel"}, optional
        Found from the name, then from the content, if not given.
    columns : mapping, sequence or str, optional
        Which column is what: ``{"anchor": "head", "near": "winner", "far": "loser"}`` (a name, or a position counted
        from 1), or roles in the order of the file: ``["anchor", "near", "far"]``, ``"-"`` for a column to leave out.
        As text: ``"anchor=head,near=winner,far=loser"`` or ``"anchor,near,far"``. Found by name if not given; so are
        the objects if it names details alone: ``{"milliseconds": "rt"}`` (side, seconds, milliseconds, order, catch,
        correct, chosen_by; see `nearer.data.Details`).
    delimiter : str, optional
        One character, its name ("tab"), or "whitespace".
    header : bool, optional
        Whether the first line or row holds column names.
    kind : {"triplets", "quadruplets", "answers", "votes", "odd-one-out", "most-central", "rankings"}, optional
        What a row is; found from the columns if not given.
    participant, weight : str or int, optional
        Column of who answered and of the weight; found by name if not given, ``""`` for none.
    labels : sequence of str, optional
        All objects, in order. Another name in the file is an error. With whole numbers in the file, the names of
        objects 0, 1, ... (in a MATLAB file where 0 does not occur, of objects 1, 2, ...), unless labels are such
        numbers themselves: then those in the file are names too, and `index_base` says otherwise.
    n_objects : int, optional
        Says that whole numbers are object numbers 0..n_objects-1.
    index_base : {0, 1}, optional
        Says that whole numbers count the objects from 0 or from 1, so that numbers left out are objects too.
    answers : str or mapping, optional
        What an answer column holds: "object" (the one chosen), "sign" (1 first option, -1 second), "bool" (1 first, 0
        second), "index0" (0 first, 1 second), "index1" (1 first, 2 second), or what each cell says, as a mapping
        ``{"f": "a", "j": "b", "equal": "skip"}`` or as text, "f=a,j=b,equal=skip". Found out if there is only one way.
    on_degenerate : {"drop", "raise"}
        Leave out and count rows that compare an object with itself, or refuse the file.
    on_missing : {"raise", "drop"}
        Refuse a file with empty cells in the columns needed, or leave those rows out and count them. Rows without any
        object, and questions without an answer, are left out and counted in any case.
    keep_na : bool
        Take NA, NaN, None, null and the like as names of objects and people; otherwise they are empty cells.
    fold_names : bool
        Join names that differ only by case, blanks or form; otherwise they are told.
    encoding : str, optional
        Of text; UTF-8 if not given.
    variable : str, optional
        The array or the rows of a .npz, .mat or .json file, or the sheet of a spreadsheet, that holds the comparisons.

    Raises
    ------
    FileFormatError
        Naming file, line or row (counted from 1; line 1 is the header) and column.
    """
    check_bool(header, "header", allow_none=True)
    options = Options(
        columns=columns, kind=kind, participant=participant, weight=weight, labels=labels, n_objects=n_objects,
        index_base=index_base, answers=answers, on_degenerate=on_degenerate, on_missing=on_missing, keep_na=keep_na,
        fold_names=fold_names,
    )  # fmt: skip
    how: dict[str, Any] = {"delimiter": delimiter, "header": header, "encoding": encoding, "variable": variable}
    if not isinstance(source, (str, os.PathLike)):
        if format is not None:
            raise ValueError(f"format: got {format!r}, expected none for what is no file")
        _refuse_not_of("table", "memory", how)
        return _result(with_header(_in_memory(source), header, only_known=True), "memory", options, header)
    name = os.fspath(source)
    return _read_standard_input(format, how, options) if name == "-" else _read_file(name, format, how, options)


def _in_memory(source: Any) -> Table:
    """Wrap a table; an array of integers holds object numbers by its width, as one in a file does."""
    if isinstance(source, (np.ndarray, list)) and not np.ma.isMaskedArray(source) and not is_table(source):
        with contextlib.suppress(TypeError, ValueError):  # ragged, or no table at all
            array = np.asarray(source)
            if array.ndim == 2 and array.dtype.kind in "iu" and array.shape[1] in INDEX_COLUMNS and len(array):
                return formats.open_matrix("table", type(source).__name__, array)
    return as_table(source)


def _read_file(name: str, format: str | None, how: dict[str, Any], options: Options) -> ReadResult:
    format = find_format(name, format)
    return _result(open_table(name, format, kind=options.kind, **how), format, options, how["header"])


def _result(table: Table, format: str, options: Options, header: bool | None) -> ReadResult:
    table.first_is_data = header is False
    parts, rows, notes, alarms = read_table(table, options)
    comparisons, notes = Comparisons._make(parts), [*notes, *alarms]
    return ReadResult(
        comparisons=comparisons,
        understood=_understood(comparisons, rows, notes),
        path=table.name,
        format=format,
        form=table.form,
        kind=rows.roles.layout.kind,
        columns={role: table.names[spot] or f"column {spot + 1}" for role, spot in rows.roles.at.items()},
        n_rows=rows.n_rows,
        dropped={reason: count for reason, (count, _) in rows.dropped.items()},
        notes=tuple(notes),
        alarms=tuple(alarms),
        places=rows.dropped,
    )


def _read_standard_input(format: str | None, how: dict[str, Any], options: Options) -> ReadResult:
    """Read what comes on standard input, kept in a file meanwhile."""
    block = sys.stdin.buffer.read(1 << 20)
    packed = next((ending for magic, ending in _PACKED if block.startswith(magic)), "")
    with tempfile.NamedTemporaryFile(prefix="nearer-", suffix=".input" + packed) as file:
        while block:
            file.write(block)
            block = sys.stdin.buffer.read(1 << 20)
        file.flush()
        try:
            result = _read_file(file.name, format, how, options)
        except ValueError as error:
            raise type(error)(str(error).replace(file.name, "standard input")) from error
    told = result.understood.replace(Path(file.name).name, "standard input")
    return replace(result, path="-", understood=told)


def find_format(name: str, format: str | None) -> str:
    """Settle the format from what was said, the ending of the name, or the first bytes; refuse what is not there."""
    path = Path(name)
    if format is not None:
        format = _SYNONYMS.get(format, format)
        if format not in FORMATS:
            raise ValueError(f"format: got {format!r}, expected one of {listed(FORMATS)}")
    if path.is_dir() or is_pattern(name):
        if format not in (None, "parquet"):
            raise FileFormatError(f"{name}: is a directory or a pattern, which only Parquet files may be")
        return "parquet"
    if not path.exists():
        near = closest(path.name, [file.name for file in path.parent.iterdir()]) if path.parent.is_dir() else None
        raise FileFormatError(f"{name}: no such file" + (f"; did you mean {near!r}?" if near else ""))
    refuse_irregular(path)
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read: {error.strerror}") from error
    if not head:
        raise FileFormatError(f"{name}: is empty")
    endings = [ending.lower() for ending in path.suffixes]
    packed = bool(endings) and endings[-1] in COMPRESSED
    if packed:
        endings.pop()
        with open_bytes(name) as unpacked:
            head = unpacked.read(4096)
    format = format or _format_of(endings, head)
    if packed and format not in ("table", "json", "jsonl"):
        raise FileFormatError(f"{name}: compressed files are read as text or JSON alone: unpack it first")
    return format


def _format_of(endings: list[str], head: bytes) -> str:
    if endings and endings[-1] in _FORMAT_OF:
        return _FORMAT_OF[endings[-1]]
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return "excel" if b"[Content_Types].xml" in head else found
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] not in (b"[", b"{"):
        return "table"
    line, _, rest = start.partition(b"\n")
    try:
        json.loads(line)
    except ValueError:
        return "json"
    return "jsonl" if rest.strip() else "json"


_OPENERS: dict[str, Callable[..., Table]] = {
    "table": open_text,
    "json": formats.open_json,
    "jsonl": formats.open_jsonl,
    "parquet": open_parquet,
    "numpy": formats.open_numpy,
    "matlab": formats.open_matlab,
    "excel": formats.open_spreadsheet,
}


def open_table(name: str, format: str, *, kind: str | None = None, **how: Any) -> Table:
    """Open a file as a table; `how` is its delimiter, header, encoding, variable, as in `read_comparisons`."""
    _refuse_not_of(name, format, how)
    said = {option: value for option, value in how.items() if format in _SAID_OF[option]}
    if format in _HOLD_ARRAYS:
        said["kind"] = kind
    return _OPENERS[format](name, **said)


def _refuse_not_of(name: str, format: str, how: Mapping[str, Any]) -> None:
    """Refuse what was said about a file that a file of its format does not have."""
    for option, value in how.items():
        if value is not None and format not in _SAID_OF[option]:
            found = "a table in memory" if format == "memory" else f"the format {format!r}"
            others = listed([other for other in _SAID_OF[option] if other != "memory"])
            raise FileFormatError(f"{name}: got {option}={value!r} for {found}, expected it for {others} alone")


def _understood(comparisons: Comparisons, rows: Rows, notes: Sequence[str]) -> str:
    """Say in one line what the table is, what came of it, and what was left out."""
    table, layout, at = rows.table, rows.roles.layout, rows.roles.at
    used = [at[role] for role in layout.roles]
    parts = [table.form]
    if table.header:
        names = [table.names[spot] for spot in used]
        parts.append(("header " if table.header_line else "columns ") + "/".join(names))
        if layout.kind in ("triplets", "quadruplets") and not set(names) <= PLAIN_NAMES:
            parts.append(f"taken as {'/'.join(layout.roles)}")
    for role in ("participant", "weight", *DETAILS):
        if role in at:
            parts.append(f"{role} {table.names[at[role]] or at[role] + 1}")
        if role == "weight" and role in at:
            weights = rows.columns[role].as_numbers()[0]
            parts[-1] += f" ({weights.min():g} to {weights.max():g})"
    if all(role in at for role in OPTIONS_SHOWN):
        parts.append("side from " + "/".join(table.names[at[role]] for role in OPTIONS_SHOWN))
    said = repr(comparisons)
    if layout.kind in _COUNTED_AS:
        said = f"{counted(rows.n_rows, _COUNTED_AS[layout.kind])}: {said}"
    first = comparisons.index[0] if comparisons.labels is None else comparisons.labels[comparisons.index[0]]
    said += f", the first: {answer_sentence([shown_cell(str(name)) for name in first])}"
    told = [said, *told_dropped(rows.dropped)]
    if table.header:
        spare = set(range(len(table.names))) - set(at.values()) - set(rows.roles.names_at)
        unused = [_with_values(rows, spot) for spot in sorted(spare) if table.names[spot]]
        if unused:
            few = sorted(unused, key=lambda text: "(" not in text)
            told.append(f"columns not used: {listed(few, _MOST_SHOWN)}")
    return f"{Path(table.name).name}: {', '.join(parts)}: " + "; ".join([*told, *notes])


_MOST_SHOWN = 12


def _with_values(rows: Rows, spot: int) -> str:
    """Name a column that is not used, with its values if these are two or three, or words that are in all rows."""
    name = rows.table.names[spot]
    if spot not in rows.beside:
        return name
    column = rows.beside[spot]
    cells = [shown_cell(cell) for cell in column.used().to_pylist() if cell.strip()]
    words = len(cells) == 1 and any(map(str.isalpha, cells[0]))
    cells += ["empty"] if column.empty().any() else []
    recur = 1 < len(cells) < 4 and 2 * len(cells) <= len(column)
    return f"{name} ({listed(cells)})" if words or recur else name
