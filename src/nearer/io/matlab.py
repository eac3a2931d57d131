"""The variables of .mat files, read in a process of their own: a damaged file can crash the readers of the format.

A child reads the file within limits of memory and time and writes plain arrays, which this process takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from nearer._memory import available_memory
from nearer.data.errors import FileFormatError

_SECONDS = 600
_CHILD = "import sys; from nearer.io.matlab import main; main(*sys.argv[1:])"


def read_matlab(path: str) -> tuple[str, dict[str, np.ndarray], list[str]]:
    """Read a .mat file: the old formats by scipy, version 7.3 (HDF5) by h5py.

    Parameters
    ----------
    path : str

    Returns
    -------
    form : str
        The format in words.
    arrays : dict of str to ndarray
        Numbers and text, vectors 1-D.
    structs : list of str
        Variables of other kinds.
    """
    with tempfile.TemporaryDirectory(prefix="nearer-") as folder:
        out = Path(folder) / "variables.npz"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, os.path.abspath(path), str(out)],
                capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, env=environment,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise FileFormatError(f"{path}: is not a readable MATLAB file: still reading after {_SECONDS} s") from error
        if done.returncode == 1 and done.stdout:
            raise FileFormatError(f"{path}: {done.stdout.strip()}")
        if done.returncode or not out.exists():
            raise FileFormatError(f"{path}: is not a readable MATLAB file: it crashes the reader of this format")
        with np.load(out, allow_pickle=False) as loaded:
            form, *structs = loaded[""].tolist()
            arrays = {name[1:]: loaded[name] for name in loaded.files if name}
    return form, arrays, structs


def main(path: str, out: str) -> None:
    """Be the child: write the arrays of `path` to `out`, or say on standard output why not and exit with 1."""
    _limit_memory()
    try:
        form, variables = _load(path)
        structs = [name for name, value in variables.items() if value is None]
        named: dict[str, Any] = {f"={name}": value for name, value in variables.items() if value is not None}
        np.savez(out, **named | {"": np.array([form, *structs])})
    except FileFormatError as error:
        sys.stdout.write(str(error))
        sys.exit(1)
    except (Exception, MemoryError) as error:  # scipy and h5py raise many kinds for a damaged file
        sys.stdout.write(f"is not a readable MATLAB file: {error or type(error).__name__}")
        sys.exit(1)


def _limit_memory() -> None:
    """Half of what is free is the most that a file may take; the child has mapped libraries already."""
    available = available_memory()
    try:
        import resource

        if available is not None:
            limit = available // 2 + (4 << 30)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass


def _load(path: str) -> tuple[str, dict[str, np.ndarray | None]]:
    from scipy.io import loadmat

    try:
        variables = loadmat(path, mat_dtype=False, chars_as_strings=True)
    except NotImplementedError:
        return "MATLAB 7.3", _load_hdf5(path)
    return "MATLAB", {name: _plain(value) for name, value in variables.items() if not name.startswith("__")}


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


def _load_hdf5(path: str) -> dict[str, np.ndarray | None]:
    try:
        import h5py
    except ImportError as error:
        raise FileFormatError(
            "is a MATLAB 7.3 file, which needs h5py: pip install 'nearer[mat73]', or save it with -v7"
        ) from error
    variables = {}
    with h5py.File(path, "r") as file:
        for name, node in file.items():
            if isinstance(node, h5py.Dataset) and not name.startswith("#"):
                variables[name] = _from_hdf5(file, node)
    return variables


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
