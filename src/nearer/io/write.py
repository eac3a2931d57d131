"""Comparisons written to CSV, JSON lines, Parquet or NumPy files; coordinates to CSV, and for NumPy and MATLAB."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.cells import MISSING
from nearer.data.errors import counted
from nearer.data.roles import INDEX_COLUMNS
from nearer.data.values import People, check_objects, detail_cells
from nearer.io.blocks import META_KEY
from nearer.io.files import atomic_write, check_ending
from nearer.io.text import text_cells

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
    ending = check_ending(path, WRITABLE)
    if ending == ".npz":
        with atomic_write(path, force) as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(comparisons))
    elif ending in (".parquet", ".pq"):
        _write_parquet(path, comparisons, force)
    else:
        _tell_lost(os.fspath(path), comparisons)
        if ending in _DELIMITERS:
            _write_table(path, comparisons, _DELIMITERS[ending], force)
        else:
            _write_jsonl(path, comparisons, force)


def _tell_lost(path: str, comparisons: Comparisons) -> None:
    """Tell what reading rows alone will not give back."""
    unseen = int(np.count_nonzero(~comparisons.seen))
    if unseen:
        logger.warning("%s: %s in no comparison cannot be kept in this format", path, counted(unseen, "object"))
    people = None if comparisons.people is None else comparisons.people.names
    for what, names in (("label", comparisons.labels), ("participant", people)):
        words = sorted(set(MISSING) & set(() if names is None else names.tolist()))
        if words:
            logger.warning(
                "%s: the %s %r looks like a missing value in this format; read it with keep_na=True",
                path, what, words[0],
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
        if name in ("seconds", "order"):
            arrays[name] = np.array([np.nan if cell is None else cell for cell in cells])
        else:
            arrays[name] = np.array(list(map(_cell, cells)))
    return arrays


def _columns(comparisons: Comparisons) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Columns of a table by name: values (N,) and None, or codes (N,) and the names they stand for."""
    index, people = comparisons.index, comparisons.people
    columns = {name: (column, comparisons.labels) for name, column in zip(INDEX_COLUMNS[index.shape[1]], index.T)}
    if comparisons.weights is not None:
        columns["weight"] = comparisons.weights, None
    if people is not None:
        columns["participant"] = people.codes, people.names
    return columns


def _blocks(comparisons: Comparisons) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of Python values by name, those of the details beside them, a block of rows at a time."""
    columns = _columns(comparisons)
    for start in range(0, len(comparisons), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cells = {
            name: (values[rows] if names is None else names[values[rows]]).tolist()
            for name, (values, names) in columns.items()
        }
        yield cells | detail_cells(comparisons.details, rows)


def _write_table(path: Any, comparisons: Comparisons, delimiter: str, force: bool) -> None:
    # Distinct texts are quoted once; the rows are then joined by C code.
    quoted = _quoted(comparisons, delimiter)
    with atomic_write(path, force, mode="w") as file:
        for number, block in enumerate(_blocks(quoted)):
            if not number:
                file.write(delimiter.join(block) + "\n")
            texts = [cells if isinstance(cells[0], str) and None not in cells else list(map(_cell, cells))
                     for cells in block.values()]  # fmt: skip
            file.write("\n".join(map(delimiter.join, zip(*texts))) + "\n")


def _quoted(comparisons: Comparisons, delimiter: str) -> Comparisons:
    """The same with names as cells of a text file."""

    def quoted(coded: People | None, what: str) -> People | None:
        if coded is None or coded.names.dtype.kind not in "UO":
            return coded
        return replace(coded, names=np.array(text_cells(coded.names.tolist(), what, delimiter), dtype=object))

    labels, people, details = comparisons.labels, comparisons.people, comparisons.details
    if labels is not None:
        labels = np.array(text_cells(labels.tolist(), "label", delimiter), dtype=object)
    people = quoted(people, "participant")
    if details is not None:
        details = replace(details, chosen_by=quoted(details.chosen_by, "chosen_by"))
    return comparisons._with(labels=labels, people=people, details=details)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _write_jsonl(path: Any, comparisons: Comparisons, force: bool) -> None:
    with atomic_write(path, force, mode="w") as file:
        for block in _blocks(comparisons):
            rows = (json.dumps(dict(zip(block, row)), ensure_ascii=False) for row in zip(*block.values()))
            file.writelines(row + "\n" for row in rows)


def _write_parquet(path: Any, comparisons: Comparisons, force: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {}
    for name, (values, names) in _columns(comparisons).items():
        array = pa.array(np.ascontiguousarray(values))
        arrays[name] = array if names is None else pa.DictionaryArray.from_arrays(array, pa.array(names.tolist()))
    for name, cells in detail_cells(comparisons.details).items():
        array = pa.array(cells)
        arrays[name] = array.dictionary_encode() if pa.types.is_string(array.type) else array
    known = {"n_objects": int(comparisons.n_objects)}
    if comparisons.labels is not None:
        known["labels"] = comparisons.labels.tolist()
    table = pa.table(arrays).replace_schema_metadata({META_KEY: json.dumps(known).encode()})
    with atomic_write(path, force) as file:
        pq.write_table(table, file, compression="zstd")


# ---- coordinates ---------------------------------------------------------------------------------------------------

ENDINGS = (".csv", ".npz", ".mat")


def write_embedding(
    path: str | os.PathLike[str],
    embedding: np.ndarray,
    labels: Sequence[str] | np.ndarray | None = None,
    *,
    force: bool = False,
) -> None:
    """Write coordinates to a CSV file with the columns label, x1, x2, ..., or the arrays embedding and labels.

    The ending of the name gives the format: .csv, .npz for NumPy or .mat for MATLAB (labels as a cell array of text).
    In CSV, objects without a position (NaN) get empty cells, and a label that a spreadsheet could run as a formula
    is guarded by an apostrophe, which `read_embedding` takes off. Numbers are written so that reading gives the same
    bits.

    Parameters
    ----------
    path : path-like
    embedding : array (n_objects, n_components)
    labels : sequence of str (n_objects,), optional
        The numbers 0, 1, ... if not given.
    force : bool, default=False
        Replace an existing file.
    """
    X = np.asarray(embedding, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"embedding: got shape {X.shape}, expected (n_objects, n_components)")
    bad = np.isinf(X).any(axis=1) | (np.isnan(X).any(axis=1) & ~np.isnan(X).all(axis=1))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"embedding: got {X[row].tolist()} in row {row}, expected finite numbers, or NaN alone")
    _, checked = check_objects(len(X), labels)
    names = [str(row) for row in range(len(X))] if checked is None else checked.tolist()
    suffix = check_ending(path, ENDINGS)
    with atomic_write(path, force, mode="w" if suffix == ".csv" else "wb") as file:
        if suffix == ".npz":
            np.savez(file, embedding=X, labels=np.array(names))
        elif suffix == ".mat":
            from scipy.io import savemat

            # A column of objects becomes a cell array; an array of text would be padded with blanks.
            savemat(file, {"embedding": X, "labels": np.array(names, dtype=object)[:, None]})
        else:
            file.write(",".join(["label", *(f"x{axis + 1}" for axis in range(X.shape[1]))]) + "\n")
            for name, row in zip(text_cells(names, "label"), X.tolist()):
                file.write(",".join([name, *("" if value != value else repr(value) for value in row)]) + "\n")
