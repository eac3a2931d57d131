"""Named arrays, as NumPy, MATLAB and JSON files hold them, become columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .aliases import normalise, role_of
from .columns import MemorySource
from .errors import FileFormatError, listed

# Where the comparisons themselves are usually kept, plainest name first.
_MAIN = ("index", "triplets", "triplet", "quadruplets", "comparisons", "queries", "query", "questions", "data")
_MAIN_SHORT = ("x", "t", "answers", "arr0")
_ANSWERS = ("y", "arr1")
_LABELS = ("labels", "names", "objects", "labelnames", "objectnames")
_VOTES = ("votes", "agreement", "counts")


def open_arrays(
    path: str, form: str, arrays: Mapping[str, Any], *, kind: str | None = None, variable: str | None = None
) -> MemorySource:
    """Find the comparisons among named arrays.

    One array of shape (n, 3), (n, 4) or wider holds the comparisons; arrays of length n beside it may hold answers,
    weights, participants; an array of text called ``labels`` or ``names`` names the objects. Without such an array,
    1-D arrays of one length are columns.

    Parameters
    ----------
    kind : str, optional
        As told by the user: for odd-one-out and most-central an answer beside the array is the object picked.
    variable : str, optional
        The array that holds the comparisons.

    Returns
    -------
    MemorySource
    """
    shaped = {name: _as_array(path, name, array) for name, array in arrays.items()}
    main = _find_main(path, shaped, variable)
    if main is None:
        return _flat_columns(path, form, shaped)
    matrix = shaped[main]
    beside, unused, labels, n_objects = _beside(path, shaped, main, len(matrix))
    if kind in ("odd-one-out", "most-central") and "answer" in beside:
        beside["odd" if kind == "odd-one-out" else "central"] = beside.pop("answer")
    names = _main_names(matrix.shape[1], set(beside), kind)
    notes = [f"arrays not used: {listed(unused)}"] if unused else []
    return MemorySource(
        path=path,
        form=f"{form}, array {main!r} of shape {matrix.shape[0]:,} x {matrix.shape[1]}",
        names=[*names, *beside] if names else [""] * matrix.shape[1],
        header=bool(names),
        labels=labels,
        n_objects=n_objects,
        notes=notes,
        arrays=[*matrix.T, *(beside.values() if names else ())],
    )


def open_matrix(path: str, form: str, matrix: np.ndarray) -> MemorySource:
    """Make columns without names of one array (n_rows, n_columns), or named ones of a structured array (n_rows,)."""
    if matrix.dtype.names:
        names = list(matrix.dtype.names)
        return MemorySource(path, form, names, True, arrays=[matrix[name] for name in names])
    if matrix.ndim != 2 or matrix.shape[1] < 3:
        raise FileFormatError(f"{path}: the array has shape {matrix.shape}, expected (n, 3) or (n, 4)")
    if not len(matrix):
        raise FileFormatError(f"{path}: the array has no rows")
    return MemorySource(path, form, [""] * matrix.shape[1], False, arrays=list(matrix.T))


def _as_array(path: str, name: str, array: Any) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, list) and array and isinstance(array[0], list):
        widths = set(map(len, array))
        if len(widths) > 1:
            row = next(row for row, cells in enumerate(array) if len(cells) != len(array[0]))
            raise FileFormatError(
                f"{path}, {name!r}, row {row + 1}: {len(array[row])} cells where row 1 has {len(array[0])}"
            )
        matrix = np.empty((len(array), widths.pop()), object)
        for spot, column in enumerate(zip(*array)):
            matrix[:, spot] = column
        return matrix
    cells = np.empty(len(array) if isinstance(array, list) else (), object)
    cells[...] = array
    return cells


def _find_main(path: str, arrays: Mapping[str, np.ndarray], variable: str | None) -> str | None:
    wide = [name for name, array in arrays.items() if array.ndim == 2 and array.shape[1] >= 3]
    if variable is not None:
        if variable not in wide:
            raise FileFormatError(
                f"{path}: no array {variable!r} of shape (n, 3) or wider; there are {_shapes(arrays)}"
            )
        return variable
    # MATLAB writes a vector as one row: it is no comparison if another array has many.
    wide = [name for name in wide if len(arrays[name]) > 1] or wide
    if len(wide) == 1:
        return wide[0]
    for name in (*_MAIN, *_MAIN_SHORT):
        found = [array for array in wide if normalise(array) == name]
        if len(found) == 1:
            return found[0]
    if wide:
        raise FileFormatError(f"{path}: several arrays could hold the comparisons: {_shapes(arrays)}; say variable=")
    return None


def _shapes(arrays: Mapping[str, np.ndarray]) -> str:
    return listed(f"{name!r} {array.shape}" for name, array in arrays.items()) or "none"


def _beside(
    path: str, arrays: Mapping[str, np.ndarray], main: str, length: int
) -> tuple[dict[str, Any], list[str], np.ndarray | None, int | None]:
    """Sort the other arrays into columns by role, names left over, labels and number of objects."""
    beside: dict[str, Any] = {}
    unused, labels, n_objects = [], None, None
    for name, array in arrays.items():
        word = normalise(name)
        role = "answer" if word in _ANSWERS else role_of(name)
        if name == main:
            continue
        if array.shape == (1, length):
            array = array[0]
        if word == "nobjects" and array.size == 1:
            n_objects = int(array.reshape(-1)[0])
        elif word in _LABELS and array.ndim == 1 and array.dtype.kind in "UO":
            labels = np.array([str(label) for label in array.tolist()])
        elif array.ndim == 1 and role in ("answer", "weight", "participant", "odd", "central", "votes_a", "votes_b"):
            if len(array) != length:
                raise FileFormatError(
                    f"{path}: array {name!r} has {len(array):,} entries for {length:,} rows of {main!r}"
                )
            beside[role] = array
        elif array.shape == (length, 2) and word in _VOTES:
            beside["votes_a"], beside["votes_b"] = array[:, 0], array[:, 1]
        else:
            unused.append(name)
    return beside, unused, labels, n_objects


def _main_names(width: int, beside: set[str], kind: str | None) -> list[str]:
    """Name the columns of the main array; [] if its width alone does not say."""
    asked = beside & {"answer", "votes_a"}
    if width == 3:
        if kind in ("odd-one-out", "most-central") or beside & {"odd", "central"}:
            return ["a", "b", "c"]
        return ["anchor", "a", "b"] if asked else ["anchor", "near", "far"]
    if (
        width == 4
        and (asked or beside & {"weight", "participant"})
        and kind in (None, "quadruplets", "answers", "votes")
    ):
        return ["i", "j", "l", "k"]
    return []


def _flat_columns(path: str, form: str, arrays: Mapping[str, np.ndarray]) -> MemorySource:
    flat = {name: array for name, array in arrays.items() if array.ndim == 1 and len(array)}
    lengths = {len(array) for name, array in flat.items() if role_of(name)}
    if not lengths:
        raise FileFormatError(
            f"{path}: no array of shape (n, 3) or (n, 4) and no known columns; there are {_shapes(arrays)}"
        )
    if len(lengths) > 1:
        raise FileFormatError(f"{path}: the columns differ in length: {_shapes(flat)}")
    length = lengths.pop()
    flat = {name: array for name, array in flat.items() if len(array) == length}
    return MemorySource(path, form, list(flat), True, arrays=list(flat.values()))
