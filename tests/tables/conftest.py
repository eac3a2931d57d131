"""Spreadsheets are read in this process: starting another for each would take most of the time."""

import contextlib
import os

import pytest

from nearer.io import sandbox


@pytest.fixture(autouse=True)
def _reader_in_this_process(monkeypatch, tmp_path_factory):
    @contextlib.contextmanager
    def read(kind, path):
        out = tmp_path_factory.mktemp("sheets") / "content"
        sandbox._write_sheets(os.path.abspath(path), str(out))
        yield out

    monkeypatch.setattr(sandbox, "_read_by_child", read)
