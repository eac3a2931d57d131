"""Readers of .mat files and spreadsheets, which a damaged file can crash, run in a process of their own.

The process reads within limits of memory and time, and writes what is in the file in a form that is safe to read. This
module imports little, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._memory import available_memory

if TYPE_CHECKING:
    import numpy as np

__all__ = ["main", "read_matlab", "read_sheets"]

_SECONDS = 600
# What to say where the library that reads a kind of file is not installed.
_NEEDS = {
    "MATLAB file": "is a MATLAB 7.3 file, which needs h5py: pip install 'nearer[mat73]', or save it with -v7",
    "spreadsheet": "is a spreadsheet, which needs python-calamine: pip install 'nearer[excel]', or save it as CSV",
}
_CHILD = "import sys; from nearer._apart import main; main(*sys.argv[1:])"


# ---- in this process -----------------------------------------------------------------------------------------------


def read_matlab(path: str) -> tuple[str, dict[str, np.ndarray], list[str]]:
    """Read a .mat file: the old formats by scipy, version 7.3 (HDF5) by h5py.

    Returns
    -------
    form : str
        The format in words.
    arrays : dict of str to ndarray
        Numbers and text, vectors 1-D.
    structs : list of str
        Variables of other kinds.
    """
    import numpy as np

    with _read_by_child("MATLAB file", path) as out, np.load(out, allow_pickle=False) as loaded:
        form, *structs = loaded[""].tolist()
        return form, {name[1:]: loaded[name] for name in loaded.files if name}, structs


def read_sheets(path: str) -> dict[str, tuple[int, list[list[Any]], dict[str, list[str]]]]:
    """Read each sheet of a spreadsheet (.xlsx, .xls, .ods): the number of empty rows above the first, and the rows.

    It needs the extra ``nearer[excel]``. Cells are texts, numbers, truth values, or None where they are empty. Dates
    and times are texts too; which cells these are stands beside the rows, by the number of their column.
    """
    with _read_by_child("spreadsheet", path) as out:
        return json.loads(out.read_text(encoding="ascii"))


@contextlib.contextmanager
def _read_by_child(kind: str, path: str) -> Iterator[Path]:
    """The file that a child wrote about `path`."""
    from nearer.data.errors import FileFormatError

    with tempfile.TemporaryDirectory(prefix="nearer-") as folder:
        out = Path(folder) / "content"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, kind, os.path.abspath(path), str(out)],
                capture_output=True, text=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL,
                env=environment | {"PYTHONIOENCODING": "utf-8:backslashreplace"}, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise FileFormatError(f"{path}: is not a readable {kind}: still reading after {_SECONDS} s") from error
        if done.returncode == 1 and done.stdout:
            raise FileFormatError(f"{path}: {done.stdout.strip()}")
        if done.returncode or not out.exists():
            raise FileFormatError(f"{path}: is not a readable {kind}: it crashes the reader of this format")
        yield out


# ---- in the child --------------------------------------------------------------------------------------------------


def main(kind: str, path: str, out: str) -> None:
    """Write what is in `path` ("MATLAB file" or "spreadsheet") to `out`, or say on standard output why not and exit."""
    _limit_memory()
    try:
        (_write_variables if kind == "MATLAB file" else _write_sheets)(path, out)
    except Exception as error:  # the readers raise many kinds for a damaged file
        why = f"is not a readable {kind}: {str(error) or type(error).__name__}"
        missing = isinstance(error, ImportError) and error.name in ("h5py", "python_calamine")
        sys.stdout.write(_NEEDS[kind] if missing else why)
        sys.exit(1)


def _limit_memory() -> None:
    """Half of what is free is the most that a file may take; the process has mapped libraries already."""
    available = available_memory()
    try:
        import resource

        if available is not None:
            limit = available // 2 + (4 << 30)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass


# ---- spreadsheets --------------------------------------------------------------------------------------------------


def _write_sheets(path: str, out: str) -> None:
    """Write the rows of every sheet as JSON."""
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_path(path)
    sheets = {}
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        cells = sheet.to_python(skip_empty_area=True)
        dates: dict[int, list[str]] = {}
        for spot, cell in ((spot, cell) for row in cells for spot, cell in enumerate(row)):
            if not isinstance(cell, (str, int, float)):
                dates.setdefault(spot, []).append(str(cell))
        sheets[name] = sheet.start[0] if sheet.start else 0, [list(map(_cell, row)) for row in cells], dates
    with open(out, "w", encoding="ascii") as file:
        json.dump(sheets, file)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:  # beyond, digits are lost
        return int(value)
    return None if value == "" else value if isinstance(value, (str, int, float)) else str(value)


# ---- MATLAB --------------------------------------------------------------------------------------------------------


def _write_variables(path: str, out: str) -> None:
    """Write arrays as .npz, with the format and the names of other variables under an empty name."""
    import numpy as np
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
    structs = [name for name, value in variables.items() if value is None]
    named: dict[str, Any] = {f"={name}": value for name, value in variables.items() if value is not None}
    with open(out, "wb") as file:
        np.savez(file, **named | {"": np.array([form, *structs])})


def _plain(value: Any) -> np.ndarray | None:
    """Turn a MATLAB value into an array: vectors 1-D, cell arrays of text into arrays of str; None if it is neither."""
    import numpy as np

    value = np.asarray(value)
    if value.dtype.names or value.dtype.kind not in "biufUO":
        return None
    if value.dtype.kind == "U":
        value = np.char.rstrip(value, " ")  # the rows of a matrix of letters are filled up
    if value.dtype.kind == "O":
        cells = [np.asarray(cell) for cell in value.reshape(-1)]
        if not all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells):
            return None
        value = np.array([str(cell.reshape(-1)[0]) if cell.size else "" for cell in cells]).reshape(value.shape)
    if value.ndim == 2 and 1 in value.shape and value.shape not in ((1, 3), (1, 4)):
        value = value.reshape(-1)
    return value


def _from_hdf5(file: Any, node: Any) -> np.ndarray | None:
    """Read one variable; HDF5 holds MATLAB's arrays transposed, text as UTF-16 code units, cells as references."""
    import numpy as np

    kind = node.attrs.get("MATLAB_class", b"double")
    if kind == b"cell":
        references = np.asarray(node).T
        cells = [file[reference] for reference in references.reshape(-1)]
        if not all(cell.attrs.get("MATLAB_class") == b"char" for cell in cells):
            return None
        return _plain(np.array(["".join(_texts(cell)) for cell in cells]).reshape(references.shape))
    if kind == b"char":
        return _plain(np.array(_texts(node)))
    if node.dtype.kind not in "biuf":
        return None
    return _plain(np.asarray(node).T.astype(bool if kind == b"logical" else node.dtype))


def _texts(node: Any) -> list[str]:
    """Read letters, one text for each row."""
    import numpy as np

    if node.attrs.get("MATLAB_empty", 0):
        return [""]
    rows = np.atleast_2d(np.asarray(node).T.astype("<u2"))
    return [np.ascontiguousarray(row).tobytes().decode("utf-16-le") for row in rows]
