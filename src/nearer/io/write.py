"""Comparisons written to CSV, JSON lines, Parquet or NumPy files."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.columns import MISSING
from nearer.data.details import detail_cells
from nearer.data.errors import counted
from nearer.data.roles import INDEX_COLUMNS
from nearer.data.values import Details, People
from nearer.io.files import atomic_write
from nearer.io.formats import META_KEY
from nearer.io.text import text_cells

if TYPE_CHECKING:
    from nearer.data import Comparisons

logger = logging.getLogger(__name__)
_BLOCK = 1 << 16
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
WRITABLE = (*_DELIMITERS, ".jsonl", ".ndjson", ".parquet", ".pq", ".npz")


def write_comparisons(path: str | os.PathLike[str], comparisons: Comparisons, *, force: bool = False) -> None:
    """Write comparisons to a file, the format by its ending.

    Parquet and .npz keep everything, also objects that occur in no comparison and the order of labels. CSV, TSV and
    JSON lines hold the rows only: reading them gives the same rows over the objects that occur, labels sorted. Labels
    that a spreadsheet could run as a formula are guarded by an apostrophe in CSV and TSV, which reading takes off.

    Parameters
    ----------
    path : path-like
        Ending .csv, .tsv, .txt, .jsonl, .parquet or .npz.
    comparisons : Comparisons
    force : bool, default=False
        Replace an existing file.
    """
    ending = Path(path).suffix.lower()
    if ending not in WRITABLE:
        raise ValueError(
            f"{os.fspath(path)}: cannot write {ending or 'a file without an ending'}; use {', '.join(WRITABLE)}"
        )
    if ending == ".npz":
        with atomic_write(path, force) as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(comparisons))
    elif ending in (".parquet", ".pq"):
        _write_parquet(path, comparisons, force)
    else:
        _tell_unseen(path, comparisons)
        _tell_missing(path, comparisons)
        if ending in _DELIMITERS:
            _write_table(path, comparisons, _DELIMITERS[ending], force)
        else:
            _write_jsonl(path, comparisons, force)


def _tell_unseen(path: Any, comparisons: Comparisons) -> None:
    unseen = int(np.count_nonzero(~comparisons.seen))
    if unseen:
        logger.warning(
            "%s: %s in no comparison cannot be kept in this format", os.fspath(path), counted(unseen, "object")
        )


def _tell_missing(path: Any, comparisons: Comparisons) -> None:
    words = sorted(set(MISSING) & set(() if comparisons.labels is None else comparisons.labels.tolist()))
    if words:
        logger.warning(
            "%s: the label %r looks like a missing value in this format; read it with keep_na=True",
            os.fspath(path), words[0],
        )  # fmt: skip


def _arrays(comparisons: Comparisons) -> dict[str, np.ndarray]:
    arrays = {"index": comparisons.index, "n_objects": np.array(comparisons.n_objects)}
    if comparisons.labels is not None:
        arrays["labels"] = comparisons.labels.astype(str)
    if comparisons.weights is not None:
        arrays["weights"] = comparisons.weights
    if comparisons.people is not None:
        names = comparisons.people.names
        arrays["participants"] = (names if names.dtype.kind == "i" else names.astype(str))[comparisons.people.codes]
    for name, cells in detail_cells(comparisons.details).items():
        numbers = [np.nan if cell is None else cell for cell in cells] if name in ("seconds", "order") else None
        texts = ["" if cell is None else str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
        arrays[name] = np.array(texts) if numbers is None else np.array(numbers)
    return arrays


def _blocks(
    comparisons: Comparisons, labels: np.ndarray | None, people: People | None, details: Details | None
) -> Iterator[list[list[Any]]]:
    """Yield columns of Python values, a block of rows at a time."""
    for start in range(0, len(comparisons), _BLOCK):
        stop = start + _BLOCK
        columns = []
        for column in comparisons.index[start:stop].T:
            columns.append((column if labels is None else labels[column]).tolist())
        if comparisons.weights is not None:
            columns.append(comparisons.weights[start:stop].tolist())
        if people is not None:
            columns.append(people.names[people.codes[start:stop]].tolist())
        columns += detail_cells(details, slice(start, stop)).values()
        yield columns


def _header(comparisons: Comparisons) -> list[str]:
    extra = [name for name in ("weight", "participant") if getattr(comparisons, name + "s") is not None]
    names = INDEX_COLUMNS[comparisons.index.shape[1]]
    return [*names, *extra, *({} if comparisons.details is None else comparisons.details.known())]


def _write_table(path: Any, comparisons: Comparisons, delimiter: str, force: bool) -> None:
    # Distinct texts are quoted once; the rows are then joined by C code.
    labels, people = None, comparisons.people
    if comparisons.labels is not None:
        labels = np.array(text_cells(comparisons.labels.tolist(), "label", delimiter), dtype=object)
    if people is not None:
        people = _as_cells(people, "participant", delimiter)
    details = comparisons.details
    if details is not None and details.chosen_by is not None:
        details = replace(details, chosen_by=_as_cells(details.chosen_by, "chosen_by", delimiter))
    with atomic_write(path, force, mode="w") as file:
        file.write(delimiter.join(_header(comparisons)) + "\n")
        for columns in _blocks(comparisons, labels, people, details):
            texts = [column if isinstance(column[0], str) and None not in column else list(map(_cell, column))
                     for column in columns]  # fmt: skip
            file.write("\n".join(map(delimiter.join, zip(*texts))) + "\n")


def _as_cells(people: People, what: str, delimiter: str) -> People:
    """The same with names as they are written in a table."""
    if people.names.dtype.kind != "O":
        return people
    return People(people.codes, np.array(text_cells(people.names.tolist(), what, delimiter), dtype=object))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _write_jsonl(path: Any, comparisons: Comparisons, force: bool) -> None:
    header = _header(comparisons)
    with atomic_write(path, force, mode="w") as file:
        for columns in _blocks(comparisons, comparisons.labels, comparisons.people, comparisons.details):
            rows = (json.dumps(dict(zip(header, row)), ensure_ascii=False) for row in zip(*columns))
            file.writelines(row + "\n" for row in rows)


def _write_parquet(path: Any, comparisons: Comparisons, force: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = None if comparisons.labels is None else pa.array(comparisons.labels.tolist(), pa.string())
    arrays = []
    for column in comparisons.index.T:
        codes = pa.array(np.ascontiguousarray(column))
        arrays.append(codes if labels is None else pa.DictionaryArray.from_arrays(codes, labels))
    if comparisons.weights is not None:
        arrays.append(pa.array(comparisons.weights))
    if comparisons.people is not None:
        codes, names = comparisons.people.codes, pa.array(comparisons.people.names.tolist())
        arrays.append(pa.DictionaryArray.from_arrays(pa.array(codes), names))
    for cells in detail_cells(comparisons.details).values():
        array = pa.array(cells)
        arrays.append(array.dictionary_encode() if pa.types.is_string(array.type) else array)
    known = {"n_objects": int(comparisons.n_objects)}
    if comparisons.labels is not None:
        known["labels"] = comparisons.labels.tolist()
    table = pa.Table.from_arrays(arrays, names=_header(comparisons))
    table = table.replace_schema_metadata({META_KEY: json.dumps(known).encode()})
    with atomic_write(path, force) as file:
        pq.write_table(table, file, compression="zstd")
