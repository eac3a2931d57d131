"""Arrays of NumPy and MATLAB as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.messages import FileFormatError, listed, shown
from nearer.data.validate import check_objects
from nearer.io.files import chosen_sheet, refuse_impossible_text
from nearer.io.sandbox import read_in_child
from nearer.machine import available_memory
from nearer.tables.table import MemoryTable


def open_numpy(path: str, *, sheet: str | None = None) -> MemoryTable:
    try:
        loaded: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays: Any = {"": _decoded(loaded)}
        else:
            with loaded:
                _refuse_strange(loaded.zip)
                arrays = {key: _decoded(loaded[key]) for key in loaded.files}
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except Exception as error:  # NumPy and zip raise many types of errors for a damaged file
        raise FileFormatError(f"{path}: is not a readable NumPy file: {error}") from error
    if sheet is None and isinstance(loaded, np.ndarray):
        return open_matrix(path, "NumPy array", arrays[""])
    return _open_arrays(path, "NumPy archive", arrays, sheet)


def open_matlab(path: str, *, sheet: str | None = None) -> MemoryTable:
    form, arrays, others = read_in_child("MATLAB file", path)
    table = _open_arrays(path, form, arrays, sheet)
    table.notes += [f"variables of other kinds not used: {listed(others)}"] if others else []
    return table


def open_matrix(name: str, form: str, array: np.ndarray) -> MemoryTable:
    """Make a table of a structured array (n_rows,), or of (n_rows, n_columns), integers being object numbers."""
    if array.dtype.names:
        return MemoryTable(name, form, list(array.dtype.names), columns=list(_columns("", array).values()))
    if array.ndim != 2 or not array.size:
        raise FileFormatError(f"{name}: the array has shape {array.shape}, expected (n_rows, n_columns), not empty")
    is_index = array.dtype.kind in "iu" and array.shape[1] in INDEX_COLUMNS
    names = list(INDEX_COLUMNS[array.shape[1]]) if is_index else [""] * array.shape[1]
    return MemoryTable(name, form, names, is_index=is_index, columns=list(array.T))


def _open_arrays(path: str, form: str, arrays: Mapping[str, np.ndarray], sheet: str | None) -> MemoryTable:
    """Make a table of arrays of one length; `x` of shape (n_rows, w) gives ``x_1`` to ``x_w``."""
    shapes = listed(f"{name!r} {array.shape}" for name, array in arrays.items()) or "none"
    if sheet is not None:
        sheet = chosen_sheet(path, sheet, list(arrays), "arrays")
        return open_matrix(f"{path}, array {sheet!r}", form, arrays[sheet])
    rest = dict(arrays)
    stored = rest.pop("labels") if "labels" in rest and rest["labels"].dtype.kind in "UT" else None
    n_objects: Any = rest.pop("n_objects", None)
    flow = rest.pop("flow") if "flow" in rest and not rest["flow"].ndim else None
    try:
        n_objects = None if n_objects is None else n_objects.item()
        n_objects = int(n_objects) if isinstance(n_objects, float) and n_objects.is_integer() else n_objects
        _, labels = check_objects(n_objects, stored)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error
    rows = {name: array for name, array in rest.items() if array.ndim in (1, 2) and array.size}
    if len({*map(len, rows.values())}) != 1:
        what = "several lengths" if rows else "no array of rows"
        raise FileFormatError(f"{path}: got {what}: {shapes}; expected columns of one length, or the option `sheet`")
    columns: dict[str, Any] = {}
    for name, array in rows.items():
        columns |= _columns(name, array)
    unused = [name for name in rest if name not in rows]
    if flow is not None:  # a text for the first row, as in other formats
        n_rows = len(next(iter(rows.values())))
        codes = pa.array([0, *[None] * (n_rows - 1)], pa.int32())
        columns["flow"] = pa.DictionaryArray.from_arrays(codes, pa.array([str(flow)]))
    notes = [f"arrays not used: {listed(unused)}"] if unused else []
    return MemoryTable(path, form, list(columns), labels, n_objects, notes=notes, columns=list(columns.values()))


def _columns(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    if array.dtype.names:
        return {field: array.reshape(-1)[field] for field in array.dtype.names}
    return {name: array} if array.ndim == 1 else {f"{name}_{number}": part for number, part in enumerate(array.T, 1)}


def _decoded(array: np.ndarray) -> np.ndarray:
    array = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    refuse_impossible_text(array)
    return array


def _refuse_strange(archive: Any) -> None:
    """Refuse an archive of other files, or one larger than the free memory."""
    held = archive.namelist()
    if not all(name.endswith(".npy") for name in held):
        raise FileFormatError(f"is a zip archive of {listed(map(shown, held[:3]))}: unpack it first")
    size, available = sum(member.file_size for member in archive.infolist()), available_memory()
    if available is not None and size > available:
        raise FileFormatError(f"holds arrays of {size / 1e9:,.1f} GB, and {available / 1e9:,.1f} GB are free")
