"""Small tables beside the answers: points, features, distances, classes, groups."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._say import Say

if TYPE_CHECKING:
    import numpy as np

__all__ = ["give_positions", "read_distances", "read_numbers", "read_words"]

_LABEL_HEADERS = {"", "label", "labels", "name", "object", "id"}


def read_numbers(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a table of numbers, one row for each object.

    Parameters
    ----------
    path : CSV file with a header, optionally with labels in the first column, or a .npy file (n_objects, n_columns)

    Returns
    -------
    values : float64 array (n_objects, n_columns)
    labels : str array (n_objects,), or None
    """
    import numpy as np

    if path.lower().endswith(".npy"):
        return _npy(path, 2).astype(float), None
    header, lines, rows = _csv(path)
    named = header[0].strip().casefold() in _LABEL_HEADERS or not all(_is_number(row[0]) for row in rows)
    first = 1 if named else 0
    if len(header) == first:
        raise ValueError(f"{path}: has no column of numbers, only {header[0]!r}")
    if not named and all(_is_number(cell) for cell in header):
        raise ValueError(f"{path}, line 1: is numbers {header[:4]}, expected names of columns")
    values = np.empty((len(rows), len(header) - first))
    for spot, (line, row) in enumerate(zip(lines, rows)):
        for column in range(first, len(header)):
            try:
                values[spot, column - first] = float(row[column])
            except ValueError:
                where = f"{path}, line {line}, column {header[column]!r}"
                raise ValueError(f"{where}: got {row[column]!r}, expected a number") from None
    return values, _labels(path, [row[0] for row in rows]) if named else None


def read_distances(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a square table of distances: CSV with the labels in the first line and column, or a .npy file.

    Returns
    -------
    distances : float64 array (n_objects, n_objects)
    labels : str array (n_objects,), or None
    """
    if path.lower().endswith(".npy"):
        return _npy(path, 2).astype(float), None
    header, _, _ = _csv(path)
    values, labels = read_numbers(path)
    if len(values) != values.shape[1]:
        raise ValueError(
            f"{path}: has {len(values)} rows and {values.shape[1]} columns of distances, expected a square"
        )
    if labels is not None and [name.strip() for name in header[1:]] != [name.strip() for name in labels.tolist()]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    return values, labels


def read_words(path: str, column: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of one word for each object, such as its class.

    Parameters
    ----------
    path : CSV file with a header and the labels in the first column
    column : name of the column of words; the second if not given

    Returns
    -------
    words, labels : str arrays (n_objects,)
    """
    import numpy as np

    header, _, rows = _csv(path)
    if len(header) < 2:
        raise ValueError(f"{path}, line 1: has one column, {header[0]!r}; expected a label and a word")
    if column is not None and column not in header[1:]:
        raise ValueError(f"{path}, line 1: no column {column!r}; there are {', '.join(header[1:])}")
    at = 1 if column is None else header.index(column, 1)
    return np.array([row[at] for row in rows]), _labels(path, [row[0] for row in rows])


def _npy(path: str, n_dims: int) -> np.ndarray:
    import numpy as np

    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{path}: is not a NumPy file of numbers: {error}") from error
    if values.ndim != n_dims or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: holds {values.dtype} of shape {values.shape}, expected numbers in {n_dims} dimensions"
        )
    return values


def _csv(path: str) -> tuple[list[str], list[int], list[list[str]]]:
    """Header, line numbers and rows of a CSV file; every row is as wide as the header."""
    if not Path(path).exists():
        raise ValueError(f"{path}: no such file")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            numbered = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: is not a CSV file in UTF-8: {error}") from error
    if len(numbered) < 2:
        raise ValueError(f"{path}: {'has a header but no rows' if numbered else 'is empty'}")
    header = numbered[0][1]
    for line, row in numbered[1:]:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: has {len(row)} cells, the header has {len(header)}")
    return header, [line for line, _ in numbered[1:]], [row for _, row in numbered[1:]]


def _labels(path: str, cells: list[str]) -> np.ndarray:
    import numpy as np

    from nearer.io.text import unguard

    labels = np.array([unguard(cell) for cell in cells])
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < len(labels):
        raise ValueError(f"{path}: label {str(values[np.argmax(counts > 1)])!r} occurs twice")
    return labels


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True


def give_positions(
    say: Say, positions: np.ndarray, labels: Any, out: str | None, force: bool, values: Mapping[str, Any]
) -> None:
    """Write positions (n, n_components) to a CSV file, or print them as one.

    Parameters
    ----------
    labels : (n,)
    out : file, or None to print
    values : what else JSON should say
    """
    from nearer.io import write_embedding
    from nearer.io.text import text_cells

    table = {"label": [str(label) for label in labels]}
    table |= {f"x{axis + 1}": column.tolist() for axis, column in enumerate(positions.T)}
    text = None
    if out is not None:
        write_embedding(out, positions, table["label"], force=force)
        say.note(f"wrote {out}: {len(positions):,} objects")
    else:
        cells = text_cells(table["label"], "label")
        rows = (",".join([cell, *map(_cell, row)]) for cell, row in zip(cells, positions.tolist()))
        text = "\n".join([",".join(table), *rows])
    say.result({"positions": table, **values}, text, is_data=True)


def _cell(value: float) -> str:
    return "" if value != value else repr(value)
