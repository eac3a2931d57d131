"""Coordinates of a map in a file: CSV, NumPy or MATLAB."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearer.data.messages import listed
from nearer.data.validate import check_objects
from nearer.io.files import atomic_write, check_ending
from nearer.io.objects import read_objects
from nearer.io.text import csv_text
from nearer.registry import POSITIONS


def write_embedding(
    path: str | os.PathLike[str],
    embedding: np.ndarray,
    labels: Sequence[str] | np.ndarray | None = None,
    *,
    force: bool = False,
) -> None:
    """Write coordinates (n_objects, n_components) to .csv, with the columns label, x1, x2, ..., or to .npz or .mat.

    In CSV, objects without a position (NaN) get empty cells. Reading gives the same bits and labels.
    """
    X = np.asarray(embedding, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"embedding: got shape {X.shape}, expected (n_objects, n_components)")
    bad = np.isinf(X).any(axis=1) | (np.isnan(X).any(axis=1) & ~np.isnan(X).all(axis=1))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"embedding: got {X[row].tolist()} in row {row}, expected finite numbers, or only NaN")
    _, checked = check_objects(len(X), labels)
    names = [str(row) for row in range(len(X))] if checked is None else checked.tolist()
    suffix = check_ending(path, POSITIONS)
    with atomic_write(path, force, mode="w" if suffix == ".csv" else "wb") as file:
        if suffix == ".npz":
            np.savez(file, embedding=X, labels=np.array(names))
        elif suffix == ".mat":
            from scipy.io import savemat

            # A column of objects becomes a cell array; an array of text would be padded with blanks.
            savemat(file, {"embedding": X, "labels": np.array(names, dtype=object)[:, None]})
        else:
            file.write(csv_text(columns_of_map(X, names)))


def columns_of_map(X: np.ndarray, names: Sequence[str]) -> dict[str, Sequence[Any]]:
    return {"label": names} | {f"x{axis}": column for axis, column in enumerate(X.T.tolist(), 1)}


def read_embedding(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Read coordinates written by `write_embedding`: the columns label and x1, x2, ... (or x, y, z), and no others.

    Gives an array (n_objects, n_components), NaN for objects without a position, and labels (n_objects,), None if they
    are just 0, 1, ..., n_objects - 1.
    """
    table = read_objects(path)
    axes = [name.casefold() for name in table.values]
    wanted = [*"xyz"] if "x" in axes else [f"x{axis + 1}" for axis in range(len(axes))]
    order = [axes.index(axis) for axis in wanted[: len(axes)] if axis in axes]
    if table.names_at is None or not axes or len(order) < len(axes):
        got = listed(map(repr, table.rows[0]))
        raise table.refusal(f"got the columns {got}, expected label, x1, x2, ... and no others")
    X = table.numbers(empty=True)[:, order]
    half = np.isnan(X).any(axis=1) & ~np.isnan(X).all(axis=1)
    if half.any():
        row = int(np.argmax(half))
        raise table.refusal(f"got {X[row].tolist()}, expected numbers, or only empty cells for no position", row + 1)
    is_count = table.labels.tolist() == [str(row) for row in range(len(X))]
    return X, None if is_count else table.labels
