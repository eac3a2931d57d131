"""`read_comparisons`: any file or table of comparisons, and what was understood of it."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data import Comparisons, FileFormatError, Flow
from nearer.data.coded import names_in
from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.messages import answer_sentence, counted, did_you_mean, dropped_lines, listed, shown_cell
from nearer.data.validate import check_objects, check_weights
from nearer.io.arrays import open_matrix
from nearer.io.files import is_pattern, refuse_irregular
from nearer.io.frames import as_table, is_table
from nearer.io.text import COMPRESSED, open_bytes
from nearer.registry import FORMATS
from nearer.tables.decode import Decoded, Dropped, decode, join_dropped, number_objects, unused_columns
from nearer.tables.layout import Layout, load_layouts
from nearer.tables.resolve import positions_of, resolve
from nearer.tables.table import Table
from nearer.warning_types import InputWarning

_FORMAT_OF = {ending: entry.name for entry in FORMATS.values() for ending in entry.endings}
_MAGIC = ((b"PAR1", "parquet"), (b"\x93NUMPY", "numpy"), (b"MATLAB", "matlab"), (b"PK\x03\x04", "numpy"))


@dataclass(frozen=True)
class ReadResult:
    """Comparisons from a file or table, and how it was understood."""

    comparisons: Comparisons
    understood: str  # one line for the user, which ends with what the first row says
    path: str
    form: str  # the format in words, such as "comma-separated"
    kind: str  # what a row is: triplets, quadruplets, answers, votes, odd-one-out, most-central or rankings
    columns: dict[str, str]  # role -> column
    layouts: tuple[Layout, ...]  # as declared, completed by what a known program fixes
    program: str  # whose columns were recognised; empty if none were
    n_rows: int  # of data
    dropped: Dropped = field(default_factory=dict)  # reason -> rows left out, and where the first is
    unused: tuple[str, ...] = ()  # columns that are not used, with their values if the first rows show only a few
    notes: tuple[str, ...] = ()  # what else was done to read it

    def facts(self) -> dict[str, Any]:
        """Everything but the comparisons themselves, as plain values."""
        made, names = self.comparisons, ("path", "form", "kind", "program", "columns", "n_rows", "understood")
        return {name: getattr(self, name) for name in names} | {
            "unused": list(self.unused), "notes": list(self.notes),
            "dropped": {reason: count for reason, (count, _) in self.dropped.items()},
            "n_comparisons": len(made), "n_answers": made.n_answers, "n_objects": int(made.n_objects),
            "n_attention_checks": made.answers.n_checks,
        }  # fmt: skip


def warn_dropped(name: str, dropped: Dropped) -> None:
    for line in dropped_lines(dropped):
        warnings.warn(f"{name}: {line}", InputWarning, stacklevel=3)


def read_comparisons(
    source: Any,
    layout: Layout | Sequence[Layout] | str | os.PathLike[str] | None = None,
    *,
    labels: Sequence[str] | np.ndarray | None = None,
    n_objects: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> ReadResult:
    """Read a file or a table of comparisons.

    What a row says is known from the names of its columns, from a program that is recognised by them, or from a
    layout; nothing else is taken into account. Objects are sorted by code point, or by size if all are whole numbers.

    Parameters
    ----------
    source : path-like, or a table in memory
        CSV, TSV or otherwise delimited text, JSON, JSON lines, Parquet (also a folder or a pattern such as
        ``parts/*.parquet``), NumPy .npy/.npz, MATLAB .mat, spreadsheets .xlsx/.xls/.ods, a .zip that holds one of
        these; "-" for standard input. Or a pandas or polars DataFrame, a pyarrow Table, a dict of columns, a list of
        dicts; an integer array of shape (N, 3) or (N, 4) holds triplets or quadruplets.
    layout : Layout, sequence of Layout, or path-like, optional
        What a row says, or a TOML file that says it. Default: the file ``answers.layout.toml`` next to
        ``answers.csv``, if there is one. Several layouts select different rows, each by its own `where`.
    labels : sequence of str, optional
        All objects, in order; another name is refused.
    n_objects : int, optional
        Says that objects are the numbers 0 to n_objects - 1.
    delimiter : str, optional
        Of text: one character, "tab" or "whitespace".
    encoding : str, optional
        Of text; UTF-8 if not given.
    sheet : str, optional
        The sheet of a workbook, or the variable of a .npz, .mat or .json file.

    Raises
    ------
    Refusal
        The columns do not say what a row means; its `remedies` are layouts to complete.
    FileFormatError
        Naming file, line or row (counted from 1; line 1 is the header) and column.
    """
    carrier = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    labels = check_objects(n_objects, labels)[1]
    if not isinstance(source, (str, os.PathLike)):
        for name, value in carrier.items():
            if value is not None:
                raise ValueError(f"{name}: got {value!r}, expected none for a table in memory")
        return read_table(_in_memory(source), as_layouts(layout), labels, n_objects)
    name = os.fspath(source)
    layouts = as_layouts(layout, name)
    if name == "-" or (name.lower().endswith(".zip") and os.path.isfile(name)):
        return _read_copy(name, layouts, carrier, labels, n_objects)
    return read_table(open_table(name, layouts, **carrier), layouts, labels, n_objects)


def _in_memory(source: Any) -> Table:
    if isinstance(source, (np.ndarray, list)) and not np.ma.isMaskedArray(source) and not is_table(source):
        try:
            array = np.asarray(source)
        except (TypeError, ValueError):  # ragged, or no table at all
            array = np.empty(0)
        if array.ndim == 2 and array.dtype.kind in "iu" and array.shape[1] in INDEX_COLUMNS and len(array):
            return open_matrix("table", type(source).__name__, array)
    return as_table(source)


def as_layouts(layout: Any, path: str | None = None) -> tuple[Layout, ...]:
    if layout is None:
        beside = None if path is None else layout_beside(path)
        return () if beside is None else load_layouts(beside)
    if isinstance(layout, (str, os.PathLike)):
        return load_layouts(layout)
    layouts = (layout,) if isinstance(layout, Layout) or not isinstance(layout, Sequence) else tuple(layout)
    if not layouts or not all(isinstance(one, Layout) for one in layouts):
        raise ValueError(f"layout: got {layout!r}, expected a Layout, a list of them, or the path of a file")
    return layouts


def layout_path(path: str) -> Path:
    name = Path(path).name
    while Path(name).suffix.lower() in (*_FORMAT_OF, *COMPRESSED, ".zip"):
        name = Path(name).stem
    return Path(path).with_name(f"{name}.layout.toml")


def layout_beside(path: str) -> Path | None:
    return layout_path(path) if Path(path).is_file() and layout_path(path).is_file() else None


def _read_copy(
    name: str, layouts: tuple[Layout, ...], carrier: dict[str, Any], labels: Any, n_objects: Any
) -> ReadResult:
    """Read standard input, or the one table of a zip archive, from a copy on disk."""
    with tempfile.TemporaryDirectory(prefix="nearer-") as folder:
        copy, called = _copied(name, folder)
        try:
            table = open_table(copy, layouts, **carrier)
            result = read_table(table, layouts, labels, n_objects, called)
        except FileFormatError as error:
            error.args = (str(error).replace(copy, called), *error.args[1:])
            if hasattr(error, "name"):
                error.name = called
            raise
    return replace(result, path=name)


def _copied(name: str, folder: str) -> tuple[str, str]:
    """Copy standard input, or the one file of a zip archive; gives the copy, and what messages call it."""
    called = copied = "standard input"
    source: Any = sys.stdin.buffer
    try:
        with contextlib.ExitStack() as stack:
            if name != "-":
                archive = stack.enter_context(zipfile.ZipFile(name))
                held = [one for one in archive.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
                if len(held) != 1:
                    names = listed(one.filename for one in held) or "nothing"
                    raise FileFormatError(f"{name}: holds {names}, expected one table; unpack it first")
                if held[0].file_size > shutil.disk_usage(folder).free:
                    raise FileFormatError(f"{name}: holds {held[0].file_size:,} bytes, more than are free")
                source = stack.enter_context(archive.open(held[0]))
                called, copied = f"{name}, {held[0].filename}", Path(held[0].filename).name
            with open(os.path.join(folder, copied), "wb") as file:
                shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise FileFormatError(f"{name}: is not a readable zip archive: {error}") from error
    return os.path.join(folder, copied), called


def open_table(name: str, layouts: Sequence[Layout] = (), **options: Any) -> Table:
    format = find_format(name)
    opener = FORMATS[format].load()
    taken = inspect.signature(opener).parameters
    for option, value in options.items():
        if value is not None and option not in taken:
            raise FileFormatError(f"{name}: got the option `{option}` as {value!r}, which the format {format!r} lacks")
    headers = {layout.header for layout in layouts} or {1}
    if len(headers) > 1:
        raise FileFormatError(f"{name}: the layouts name different header rows, expected one")
    options["header_row"] = headers.pop()
    return opener(name, **{option: value for option, value in options.items() if option in taken})


def find_format(name: str) -> str:
    """The format by the ending of the name or else by the first bytes; raises an error if there is no file."""
    path = Path(name)
    if path.is_dir() or (not path.exists() and is_pattern(name)):
        return "parquet"
    if not path.exists():
        there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileFormatError(f"{name}: no such file{did_you_mean(path.name, there)}")
    if not path.is_file():
        refuse_irregular(path)
    with open_bytes(name) as file:
        head = file.read(4096)
    if not head:
        raise FileFormatError(f"{name}: is empty")
    endings = [ending.lower() for ending in path.suffixes]
    packed = endings[-1:] and endings[-1] in COMPRESSED
    format = _format_of(endings[:-1] if packed else endings, head)
    if packed and format not in ("text", "json", "jsonl"):
        raise FileFormatError(f"{name}: compressed files are read as text or JSON alone: unpack it first")
    return format


def _format_of(endings: list[str], head: bytes) -> str:
    if endings and endings[-1] in _FORMAT_OF:
        return _FORMAT_OF[endings[-1]]
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return "spreadsheet" if b"[Content_Types].xml" in head else found
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] not in (b"[", b"{"):
        return "text"
    line, _, rest = start.partition(b"\n")
    try:
        json.loads(line)
    except ValueError:
        return "json"
    return "jsonl" if rest.strip() else "json"


def read_table(
    table: Table, layouts: Sequence[Layout] = (), labels: Any = None, n_objects: int | None = None, name: str = ""
) -> ReadResult:
    plans = [resolve(table, layout) for layout in layouts or (None,)]
    found, dropped = decode(table, plans, table.read(positions_of(plans)))
    names = [one.names for one in found if len(one.names)]
    if not names:
        raise FileFormatError(f"{table.name}: {nothing_left(dropped)}")
    objects = number_objects(
        names[0] if len(names) == 1 else names_in(names), table, plans[0].layout, labels, n_objects
    )
    made = [Comparisons.from_parts(one.parts(objects)) for one in found if len(one.names)]
    if len({part.kind for part in made}) > 1:
        made = [part.replaced(index=part.quadruplets()) for part in made]
    comparisons = made[0] if len(made) == 1 else Comparisons.concat(made)
    dropped = join_dropped(dropped, {reason: (count, "") for reason, count in comparisons.dropped.items()})
    flow = _flow(comparisons, found, dropped, are_answers=all(plan.form.kind != "votes" for plan in plans))
    if not len(comparisons) or (comparisons.weights is not None and not comparisons.weights.any()):
        why = nothing_left(dropped, comparisons.answers.n_checks, len(comparisons))
        raise FileFormatError(f"{table.name}: {why}")
    if comparisons.weights is not None:
        comparisons = comparisons.replaced(weights=check_weights(comparisons.weights, None))
    unused = unused_columns(table, plans)
    titles = {role: table.names[at] or f"column {at + 1}" for plan in plans for role, at in plan.at.items()}
    counts = {reason: count for reason, (count, _) in dropped.items()}
    result = ReadResult(
        comparisons.replaced(dropped=counts, flow=flow), "", table.name, table.form,
        plans[0].form.kind, titles, tuple(plan.layout for plan in plans), plans[0].program,
        found[0].n_rows, dropped, tuple(unused), (*table.notes, *(note for one in found for note in one.notes)),
    )  # fmt: skip
    return replace(result, understood=_understood(result, name or Path(table.name).name))


def _flow(made: Comparisons, found: Sequence[Decoded], dropped: Dropped, are_answers: bool) -> Flow:
    """The flow of answers: as stored in a file of this package, or from what reading left out."""
    kept = dict.fromkeys(json.dumps(flow.to_dict()) for one in found for flow in one.flows)
    if kept:
        stored = Flow.joined([(Flow.from_dict(json.loads(text)), 0) for text in kept], None)
        if made.n_answers <= stored.analysed:
            return stored
        text = "flow: got more answers than the file says were analysed; its flow is ignored"
        warnings.warn(text, InputWarning, stacklevel=4)
    people = [one.people for one in found if one.people is not None]
    n_people = len(frozenset().union(*people)) if people else None
    is_own = any(one.asked.number is not None for one in found)
    counts = {reason: count for reason, (count, _) in dropped.items() if reason not in made.flow.dropped}
    return made.flow.as_read(counts, n_people, are_answers and not is_own)


def nothing_left(dropped: Dropped, n_checks: int = 0, n_comparisons: int = 0) -> str:
    what = [f"{counted(count, 'row')} dropped: {reason}" for reason, (count, _) in sorted(dropped.items())]
    what += [counted(n_checks, "attention check")] if n_checks else []
    what += ["all weights or votes are 0"] if n_comparisons else []
    return f"no comparison is left ({listed(what)})" if what else "has columns but no rows"


def _understood(result: ReadResult, name: str) -> str:
    made, said = result.comparisons, [result.form]
    said += [f"written by {result.program}"] if result.program else []
    said.append(f"{result.kind} ({', '.join(dict.fromkeys(result.columns.values()))})")
    came = [repr(made)]
    if made.n_answers != len(made):
        came[0] = f"{counted(made.n_answers, 'answer')}: {came[0]}"
    came += [counted(made.answers.n_checks, "attention check")] if made.answers.n_checks else []
    came += dropped_lines(result.dropped)
    came += [f"not used: {listed(result.unused, 12)}"] if result.unused else []
    first = made.index[0] if made.labels is None else made.labels[made.index[0]]
    came.append(f"first row: {answer_sentence([shown_cell(str(object)) for object in first])}")
    return f"{name}: {', '.join(said)}: " + "; ".join([*came[:-1], *result.notes, came[-1]])
