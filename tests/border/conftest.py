"""Tables by every carrier; that the readers of some run in a process of their own is tested with the formats."""

import contextlib
import os

import pytest

from nearer import _apart
from nearer.data import FileFormatError


@pytest.fixture(autouse=True)
def _readers_in_this_process(monkeypatch, tmp_path_factory):
    """Read .mat files and spreadsheets here: starting a process for each would take most of the time."""

    @contextlib.contextmanager
    def read(kind, path):
        out = tmp_path_factory.mktemp("apart") / "content"
        write = _apart._write_variables if kind == "MATLAB file" else _apart._write_sheets
        try:
            write(os.path.abspath(path), str(out))
        except _apart._ToldError as error:
            raise FileFormatError(f"{path}: {error}") from error
        yield out

    monkeypatch.setattr(_apart, "_read_by_child", read)
