"""Readers of .mat files and spreadsheets, which a damaged file can crash, run in a child process, within limits.

The child runs this file by its path: it imports nothing else of the package.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np

_SECONDS = 600
_NEEDS = {  # module that may not be installed -> what to say
    "h5py": "is a MATLAB 7.3 file, which needs h5py: pip install 'nearer[mat73]', or save it with -v7",
    "python_calamine": "is a spreadsheet, which needs python-calamine: pip install 'nearer[excel]', or save it as CSV",
}
_CHILD = "import runpy, sys; runpy.run_path(sys.argv[1])['main'](*sys.argv[2:])"


def read_in_child(kind: str, path: str) -> Any:
    """What `_READERS[kind]` makes of a file; FileFormatError if it fails, crashes or takes too long."""
    from nearer.data.messages import FileFormatError
    from nearer.machine import available_memory

    free = available_memory()
    limit = -1 if free is None else free // 2 + (4 << 30)  # mapped libraries take some of it; -1: no limit
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, __file__, kind, os.path.abspath(path), str(limit)],
            capture_output=True, stdin=subprocess.DEVNULL, env=os.environ | environment, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise FileFormatError(f"{path}: is not a readable {kind}: still reading after {_SECONDS} s") from error
    if done.returncode == 1 and done.stdout:
        raise FileFormatError(f"{path}: {done.stdout.decode(errors='replace')}")
    if done.returncode:
        raise FileFormatError(f"{path}: is not a readable {kind}: it crashes the reader of this format")
    return pickle.loads(done.stdout)


# ---- in the child --------------------------------------------------------------------------------------------------


def main(kind: str, path: str, limit: str) -> None:
    """Write what is in `path` to standard output, or why not, and exit; `limit` is bytes of memory."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    try:
        sys.stdout.buffer.write(pickle.dumps(_READERS[kind](path)))
    except Exception as error:  # readers raise many types of errors for a damaged file
        why = f"is not a readable {kind}: {str(error) or type(error).__name__}"
        sys.stdout.buffer.write(_NEEDS.get(getattr(error, "name", ""), why).encode(errors="backslashreplace"))
        sys.exit(1)


def _sheets(path: str) -> dict[str, tuple[int, list[list[Any]]]]:
    """Read each sheet: the number of empty rows above the first, and rows of cells, None if empty."""
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_path(path)
    sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
    rows = {name: [list(map(_cell, row)) for row in sheet.to_python()] for name, sheet in sheets.items()}
    return {name: ((sheet.start or [0])[0], rows[name]) for name, sheet in sheets.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:  # beyond, digits are lost
        return int(value)
    return None if value == "" else value if isinstance(value, (str, int, float)) else str(value)


def _variables(path: str) -> tuple[str, dict[str, np.ndarray], list[str]]:
    """Read the format in words, arrays (vectors 1-D, scalars 0-D), and the names of other variables."""
    from scipy.io import loadmat, whosmat

    try:
        found = loadmat(path, mat_dtype=False, chars_as_strings=True)
        found |= {name: found[name].astype(bool) for name, _, kind in whosmat(path) if kind == "logical"}
        form, variables = "MATLAB", {name: _plain(value) for name, value in found.items() if not name.startswith("__")}
    except NotImplementedError:
        import h5py

        with h5py.File(path, "r") as file:
            held = {name: node for name, node in file.items() if isinstance(node, h5py.Dataset)}
            form, variables = "MATLAB 7.3", {name: _from_hdf5(file, held[name]) for name in held if name[:1] != "#"}
    arrays = {name: value for name, value in variables.items() if value is not None}
    return form, arrays, [name for name in variables if name not in arrays]


def _plain(value: Any) -> np.ndarray | None:
    """Turn a MATLAB value into an array: vectors 1-D, scalars 0-D, cell arrays of text into str; None for others."""
    value = np.asarray(value)
    if value.dtype.kind == "O" and not value.dtype.names:
        cells = [np.asarray(cell) for cell in value.reshape(-1)]
        if not all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells):
            return None
        value = np.array([str(cell.reshape(-1)[0]) if cell.size else "" for cell in cells]).reshape(value.shape)
    elif value.dtype.kind == "U":
        value = np.char.rstrip(value, " ")  # rows of a matrix of letters are padded
    if value.dtype.kind not in "biufU":
        return None
    return value.reshape(()) if value.size == 1 else value.reshape(-1) if 1 in value.shape else value


def _from_hdf5(file: Any, node: Any) -> np.ndarray | None:
    """Read one variable; HDF5 holds MATLAB's arrays transposed, text as UTF-16 code units, cells as references."""

    def texts(node: Any) -> list[str]:
        rows: Any = [[]] if node.attrs.get("MATLAB_empty", 0) else np.atleast_2d(np.asarray(node).T)
        return [np.array(row, "<u2").tobytes().decode("utf-16-le") for row in rows]

    kind, values = node.attrs.get("MATLAB_class", b"double"), np.asarray(node).T
    if kind == b"cell":
        cells = [file[reference] for reference in values.reshape(-1)]
        if not all(cell.attrs.get("MATLAB_class") == b"char" for cell in cells):
            return None
        return _plain(np.array(["".join(texts(cell)) for cell in cells]).reshape(values.shape))
    if kind == b"char":
        return _plain(np.array(texts(node)))
    return _plain(values.astype(bool) if kind == b"logical" else values)


_READERS = {"MATLAB file": _variables, "spreadsheet": _sheets}
