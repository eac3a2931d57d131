"""Coordinates written to and read from CSV: label, x1, x2, ...; written for NumPy and MATLAB too."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearer.data.errors import FileFormatError, counted
from nearer.io.files import atomic_write, check_ending, refuse_irregular
from nearer.io.text import text_cells, unguard

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
    if labels is not None and len(labels) != len(X):
        raise ValueError(f"labels: got {len(labels):,} for {len(X):,} objects")
    names = [str(row) for row in range(len(X))] if labels is None else np.asarray(labels).astype(str).tolist()
    suffix = check_ending(path, ENDINGS)
    if suffix != ".csv":
        with atomic_write(path, force) as file:
            _write_arrays(file, suffix, X, np.array(names))
        return
    with atomic_write(path, force, mode="w") as file:
        file.write(",".join(["label", *(f"x{axis + 1}" for axis in range(X.shape[1]))]) + "\n")
        for name, row in zip(names if labels is None else text_cells(names, "label"), X.tolist()):
            file.write(",".join([name, *("" if value != value else repr(value) for value in row)]) + "\n")


def _write_arrays(file: Any, suffix: str, embedding: np.ndarray, labels: np.ndarray) -> None:
    if suffix == ".npz":
        np.savez(file, embedding=embedding, labels=labels)
        return
    from scipy.io import savemat

    # A column of objects becomes a cell array; an array of text would be padded with blanks.
    savemat(file, {"embedding": embedding, "labels": labels.astype(object)[:, None]})


def read_embedding(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Read coordinates written by `write_embedding`.

    Parameters
    ----------
    path : path-like
        A CSV file whose first column is the label and whose other columns are coordinates.

    Returns
    -------
    embedding : ndarray float64 (n_objects, n_components)
        NaN where cells are empty.
    labels : ndarray of str (n_objects,) or None
        None if the labels are just 0, 1, ..., n_objects - 1.
    """
    name = os.fspath(path)
    refuse_irregular(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, None)
            lines, rows = [], []
            for row in reader:
                if row:
                    lines.append(reader.line_num)
                    rows.append(row)
    except FileNotFoundError as error:
        raise FileFormatError(f"{name}: no such file") from error
    except IsADirectoryError as error:
        raise FileFormatError(f"{name}: is a directory, expected a file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{name}: is not a CSV file in UTF-8: {error}") from error
    if not header or not rows:
        raise FileFormatError(f"{name}: {'has a header but no rows' if header else 'is empty'}")
    if len(header) < 2 or header[0].strip().casefold() != "label":
        raise FileFormatError(f"{name}, line 1: got columns {header}, expected label, x1, x2, ...")
    for line, row in zip(lines, rows):
        if len(row) != len(header):
            raise FileFormatError(
                f"{name}, line {line}: {counted(len(row), 'cell')} where the header has {len(header)}"
            )
    labels = np.array([unguard(row[0]) for row in rows])
    X = np.empty((len(rows), len(header) - 1))
    for spot, (line, row) in enumerate(zip(lines, rows)):
        for axis, cell in enumerate(row[1:]):
            X[spot, axis] = _coordinate(name, line, header[axis + 1], cell)
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < len(labels):
        raise FileFormatError(f"{name}: label {str(values[np.argmax(counts > 1)])!r} occurs twice")
    is_count = np.array_equal(labels, np.arange(len(labels)).astype(str))
    return X, None if is_count else labels


def _coordinate(name: str, line: int, column: str, cell: Any) -> float:
    if not cell.strip():
        return np.nan
    try:
        return float(cell)
    except ValueError as error:
        raise FileFormatError(f"{name}, line {line}, column {column!r}: {cell!r} is not a number") from error
