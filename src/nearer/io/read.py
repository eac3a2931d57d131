"""`read_comparisons`: any file of comparisons, and what was understood of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .build import Built, build
from .columns import Source
from .errors import FileFormatError, closest, counted, listed
from .roles import FORMS, Roles, find_roles

if TYPE_CHECKING:
    from nearer.data import Comparisons

FORMATS = {
    "table": (".csv", ".tsv", ".txt", ".tab", ".dat"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "numpy": (".npy", ".npz"),
    "matlab": (".mat",),
}
_FORMAT_OF = {ending: name for name, endings in FORMATS.items() for ending in endings}
_SYNONYMS = {"csv": "table", "tsv": "table", "npy": "numpy", "npz": "numpy", "mat": "matlab", "ndjson": "jsonl"}
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
_MAGIC = ((b"PAR1", "parquet"), (b"\x93NUMPY", "numpy"), (b"PK\x03\x04", "numpy"), (b"MATLAB", "matlab"))
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_COUNTED_AS = {
    "answers": "answer",
    "votes": "voted question",
    "odd-one-out": "odd-one-out answer",
    "most-central": "most-central answer",
}


@dataclass(frozen=True)
class ReadResult:
    """Comparisons from a file, and how the file was understood.

    Attributes
    ----------
    comparisons : Comparisons
    understood : str
        One line for the user, e.g. ``music.csv: comma-separated, header anchor/near/far: 9,090 triplets over 400
        objects; 17 rows dropped: anchor repeated (first at line 812)``.
    path : str
    format : str
        table, json, jsonl, parquet, numpy or matlab.
    form : str
        The format in words, e.g. ``comma-separated``.
    kind : str
        What the rows are: triplets, quadruplets, answers, votes, odd-one-out or most-central.
    columns : dict of str to str
        Role -> column of the file.
    n_rows : int
        Rows of data in the file.
    dropped : dict of str to int
        Reason -> rows left out.
    notes : tuple of str
        What else to know, e.g. how numbers were taken.
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

    def facts(self) -> dict[str, Any]:
        """Return everything but the comparisons themselves, as plain values."""
        names = ("path", "format", "form", "kind", "columns", "n_rows", "dropped", "understood")
        facts = {name: getattr(self, name) for name in names} | {"notes": list(self.notes)}
        comparisons = self.comparisons
        return facts | {"n_comparisons": len(comparisons), "n_objects": int(comparisons.n_objects)}


def read_comparisons(
    path: str | os.PathLike[str],
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
    encoding: str | None = None,
    strip: bool | None = None,
    variable: str | None = None,
) -> ReadResult:
    """Read a file of comparisons.

    Objects may be text or whole numbers. Numbers that are exactly 0..n-1 are object numbers; other whole numbers are
    taken as names, in numeric order, and the result says so. Text names are sorted.

    Parameters
    ----------
    path : path-like
        CSV, TSV or otherwise delimited text, JSON, JSON lines, Parquet (also a folder or a pattern such as
        ``parts/*.parquet``), NumPy .npy/.npz, MATLAB .mat.
    format : {"table", "json", "jsonl", "parquet", "numpy", "matlab"}, optional
        Found from the name, then from the content, if not given.
    columns : mapping, sequence or str, optional
        Which column is what: ``{"anchor": "head", "near": "winner", "far": "loser"}`` (a name, or a position counted
        from 1), or roles in the order of the file: ``["anchor", "near", "far"]``, ``"-"`` for a column to leave out.
        As text: ``"anchor=head,near=winner,far=loser"`` or ``"anchor,near,far"``. Found by name if not given.
    delimiter : str, optional
        One character, its name ("tab"), or "whitespace".
    header : bool, optional
        Whether the first line holds column names.
    kind : {"triplets", "quadruplets", "answers", "votes", "odd-one-out", "most-central"}, optional
        What a row is; found from the columns if not given.
    participant, weight : str or int, optional
        Column of who answered and of the weight; found by name if not given, ``""`` for none.
    labels : sequence of str, optional
        All objects, in order. Another name in the file is an error. With whole numbers in the file, the names of
        objects 0, 1, ...
    n_objects : int, optional
        Says that whole numbers are object numbers 0..n_objects-1.
    index_base : {0, 1}, optional
        Says that whole numbers are object numbers counted from 0 or 1.
    answers : str or mapping, optional
        What an answer column holds: "object" (the one chosen), "sign" (1 first option, -1 second), "bool" (1 first, 0
        second), "index0" (0 first, 1 second), "index1" (1 first, 2 second), or a mapping such as ``{"x": "a"}``.
        Found out if there is only one way to read it.
    on_degenerate : {"drop", "raise"}
        Leave out and count rows that compare an object with itself, or refuse the file.
    on_missing : {"raise", "drop"}
        Refuse a file with empty cells in the columns needed, or leave those rows out and count them.
    encoding : str, optional
        Of text; UTF-8 if not given.
    strip : bool, optional
        Take off spaces around names. Not given: only in delimited text, and only if names differ by nothing else.
    variable : str, optional
        The array of a .npz, .mat or .json file that holds the comparisons.

    Returns
    -------
    ReadResult

    Raises
    ------
    FileFormatError
        Naming file, line or row (counted from 1; line 1 is the header) and column.
    """
    _check_options(index_base, on_degenerate, on_missing)
    name = os.fspath(path)
    format = _find_format(name, format)
    source = _open(name, format, delimiter, header, encoding, kind, variable)
    names = source.names
    if not source.header:
        while len(names) > 3 and not any(cell not in ("", "None") for cell in source.sample(len(names) - 1)):
            names = names[:-1]
    roles = find_roles(
        name,
        names,
        source.header,
        columns=columns,
        kind=kind,
        participant=participant,
        weight=weight,
        last_is_answer=not source.header and len(names) == 4 and _are_answers(source.sample(3)),
        where=f"{name}, line {source.header_line}" if source.header_line else name,
    )
    built = build(
        source,
        roles,
        labels=None if labels is None else np.array([str(label) for label in labels]),
        n_objects=n_objects,
        index_base=index_base,
        answers=answers,
        on_degenerate=on_degenerate,
        on_missing=on_missing,
        strip=strip,
    )
    notes = (*source.notes, *roles.notes, *built.notes)
    return ReadResult(
        comparisons=built.comparisons,
        understood=_understood(source, roles, built, notes),
        path=name,
        format=format,
        form=source.form,
        kind=roles.form.kind,
        columns={role: source.names[spot] or f"column {spot + 1}" for role, spot in roles.at.items()},
        n_rows=built.n_rows,
        dropped={reason: count for reason, (count, _) in built.dropped.items()},
        notes=notes,
    )


def _check_options(index_base: int | None, on_degenerate: str, on_missing: str) -> None:
    if index_base not in (None, 0, 1):
        raise ValueError(f"index_base: got {index_base!r}, expected 0 or 1")
    for option, value in (("on_degenerate", on_degenerate), ("on_missing", on_missing)):
        if value not in ("drop", "raise"):
            raise ValueError(f"{option}: got {value!r}, expected 'drop' or 'raise'")


def _are_answers(cells: Sequence[str]) -> bool:
    found = {cell.casefold() for cell in cells}
    return found <= {"-1", "1", "+1", "-1.0", "1.0", "true", "false"} and bool(found & {"-1", "-1.0", "false", "true"})


def _find_format(name: str, format: str | None) -> str:
    """Settle the format from what was said, the ending of the name, or the first bytes; refuse what is not there."""
    path = Path(name)
    if format is not None:
        format = _SYNONYMS.get(format, format)
        if format not in FORMATS:
            raise ValueError(f"format: got {format!r}, expected one of {listed(FORMATS)}")
    is_pattern = not path.exists() and any(mark in name for mark in "*?[")
    if path.is_dir() or is_pattern:
        if format not in (None, "parquet"):
            raise FileFormatError(f"{name}: is a directory or a pattern, which only Parquet files may be")
        return "parquet"
    if not path.exists():
        near = closest(path.name, [file.name for file in path.parent.iterdir()]) if path.parent.is_dir() else None
        raise FileFormatError(f"{name}: no such file" + (f"; did you mean {near!r}?" if near else ""))
    if not path.is_file():
        raise FileFormatError(f"{name}: is not a regular file")
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read: {error.strerror}") from error
    if not head:
        raise FileFormatError(f"{name}: is empty")
    if format is not None:
        return format
    if path.suffix.lower() in _SPREADSHEETS:
        raise FileFormatError(f"{name}: is a spreadsheet: save it as CSV (comma-separated, UTF-8) and read that")
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in _COMPRESSED:
        endings.pop()
    if endings and endings[-1] in _FORMAT_OF:
        return _FORMAT_OF[endings[-1]]
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return found
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return "json" if start in (b"[", b"{") else "table"


def _open(
    name: str,
    format: str,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    kind: str | None,
    variable: str | None,
) -> Source:
    if format == "table":
        from .tables import open_table

        return open_table(name, delimiter=delimiter, header=header, encoding=encoding)
    if format == "json":
        from .jsonlines import open_json

        return open_json(name, kind=kind, variable=variable, encoding=encoding)
    if format == "jsonl":
        from .jsonlines import open_jsonl

        return open_jsonl(name)
    if format == "parquet":
        from .columnar import open_parquet

        return open_parquet(name)
    if format == "numpy":
        from .columnar import open_numpy

        return open_numpy(name, kind=kind, variable=variable)
    from .matlab import open_matlab

    return open_matlab(name, kind=kind, variable=variable)


def _understood(source: Source, roles: Roles, built: Built, notes: Sequence[str]) -> str:
    """Say in one line what the file is, what came of it, and what was left out."""
    used = [roles.at[role] for role in roles.form.roles]
    parts = [source.form]
    if source.header:
        names = [source.names[spot] for spot in used]
        parts.append(("header " if source.header_line else "columns ") + "/".join(names))
        plain = {role for form in FORMS for role in form.roles}
        if roles.form.kind in ("triplets", "quadruplets") and not set(names) <= plain:
            parts.append(f"taken as {'/'.join(roles.form.roles)}")
    for role in ("participant", "weight"):
        if role in roles.at:
            parts.append(f"{role} {source.names[roles.at[role]] or roles.at[role] + 1}")
    said = repr(built.comparisons)
    if roles.form.kind in _COUNTED_AS:
        said = f"{counted(built.n_rows, _COUNTED_AS[roles.form.kind])}: {said}"
    told = [said]
    for reason, (count, first) in built.dropped.items():
        where = f"at {first}" if count == 1 else f"first at {first}"
        told.append(f"{counted(count, 'row')} dropped: {reason} ({where})")
    if source.header:
        spare = set(range(len(source.names))) - set(roles.at.values()) - set(roles.names_at)
        unused = [source.names[spot] for spot in sorted(spare) if source.names[spot]]
        if unused:
            told.append(f"columns not used: {listed(unused, 5)}")
    return f"{Path(source.path).name}: {', '.join(parts)}: " + "; ".join([*told, *notes])
