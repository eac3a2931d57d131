"""What is in .mat files and spreadsheets, read in a process of its own: a damaged file can crash their readers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data.errors import FileFormatError

__all__ = ["read_matlab", "read_sheets"]

_SECONDS = 600
_CHILD = "import sys; from nearer._apart import main; main(*sys.argv[1:])"


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
    with _read_by_child("MATLAB file", path) as out, np.load(out, allow_pickle=False) as loaded:
        form, *structs = loaded[""].tolist()
        return form, {name[1:]: loaded[name] for name in loaded.files if name}, structs


def read_sheets(path: str) -> dict[str, list[list[Any]]]:
    """Read the cells of a spreadsheet (.xlsx, .xls, .ods); needs the extra ``nearer[excel]``.

    Returns
    -------
    dict of str to list of list
        The rows of each sheet; cells are texts, numbers, truth values, or None where they are empty.
    """
    with _read_by_child("spreadsheet", path) as out:
        return json.loads(out.read_text(encoding="ascii"))


@contextlib.contextmanager
def _read_by_child(kind: str, path: str) -> Iterator[Path]:
    """The file that a child wrote about `path`."""
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
