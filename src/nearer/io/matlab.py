"""MATLAB .mat files: the old ones by scipy, version 7.3 (HDF5) by h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .arrays import open_arrays
from .columns import MemorySource
from .errors import FileFormatError, listed


def open_matlab(path: str | Path, *, kind: str | None = None, variable: str | None = None) -> MemorySource:
    """Open the variables of a .mat file.

    MATLAB counts from 1. Nothing is subtracted unless told (``index_base=1``): numbers 1..n are taken as the names of
    the objects, so that every output shows the numbers that MATLAB knows.

    Returns
    -------
    MemorySource
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    name = str(path)
    try:
        variables = loadmat(name, mat_dtype=False, chars_as_strings=True)
    except NotImplementedError:
        return open_arrays(name, "MATLAB 7.3", _read_hdf5(name), kind=kind, variable=variable)
    except (MatReadError, ValueError, TypeError, OSError, KeyError, IndexError) as error:
        raise FileFormatError(f"{name}: is not a readable MATLAB file: {error}") from error
    arrays = {key: _plain(value) for key, value in variables.items() if not key.startswith("__")}
    return _open(name, "MATLAB", arrays, kind, variable)


def _open(path: str, form: str, arrays: dict[str, Any], kind: str | None, variable: str | None) -> MemorySource:
    structs = [key for key, value in arrays.items() if value is None]
    source = open_arrays(
        path, form, {key: value for key, value in arrays.items() if value is not None}, kind=kind, variable=variable
    )
    if structs:
        source.notes.append(f"variables of other kinds not used: {listed(structs)}")
    return source


def _plain(value: Any) -> np.ndarray | None:
    """Turn a MATLAB value into an array: vectors 1-D, cell arrays of text into arrays of str; None if it is neither."""
    value = np.asarray(value)
    if value.dtype.names or value.dtype.kind not in "biufUO":
        return None
    if value.dtype.kind == "O":
        cells = [np.asarray(cell) for cell in value.reshape(-1)]
        if not all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells):
            return None
        value = np.array([str(cell.reshape(-1)[0]) if cell.size else "" for cell in cells]).reshape(value.shape)
    if value.ndim == 2 and 1 in value.shape and value.shape not in ((1, 3), (1, 4)):
        value = value.reshape(-1)
    return value


def _read_hdf5(path: str) -> dict[str, np.ndarray]:
    try:
        import h5py
    except ImportError as error:
        raise FileFormatError(
            f"{path}: is a MATLAB 7.3 file, which needs h5py: pip install 'nearer[mat73]', or save it with -v7"
        ) from error
    arrays = {}
    try:
        with h5py.File(path, "r") as file:
            for key, node in file.items():
                if key.startswith("#") or not isinstance(node, h5py.Dataset):
                    continue
                value = _from_hdf5(file, node)
                if value is not None:
                    arrays[key] = value
    except OSError as error:
        raise FileFormatError(f"{path}: is not a readable MATLAB file: {error}") from error
    return arrays


def _from_hdf5(file: Any, node: Any) -> np.ndarray | None:
    """Read one variable; HDF5 holds MATLAB's arrays transposed, text as UTF-16 code units, cells as references."""
    kind = node.attrs.get("MATLAB_class", b"double")
    if kind == b"cell":
        cells = [file[reference] for reference in np.asarray(node).T.reshape(-1)]
        if not all(cell.attrs.get("MATLAB_class") == b"char" for cell in cells):
            return None
        return np.array([_text(cell) for cell in cells])
    if kind == b"char":
        return np.array([_text(node)])
    if node.dtype.kind not in "biuf":
        return None
    return _plain(np.asarray(node).T)


def _text(node: Any) -> str:
    if node.attrs.get("MATLAB_empty", 0):
        return ""
    return np.asarray(node).T.reshape(-1).astype("<u2").tobytes().decode("utf-16-le")
