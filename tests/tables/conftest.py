"""Spreadsheets are read in this process: starting another for each would take most of the time."""

import pytest

from nearer.io import sandbox


@pytest.fixture(autouse=True)
def _reader_in_this_process(monkeypatch):
    monkeypatch.setattr("nearer.io.sheets.read_in_child", lambda kind, path: sandbox._READERS[kind](path))
