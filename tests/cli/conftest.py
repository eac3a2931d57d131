"""A command line to call, files of answers to call it with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from nearer.cli.app import cli
from nearer.data import Comparisons
from nearer.io import write_comparisons

LABELS = [f"obj{number:02d}" for number in range(12)]


class Called:
    """What a call gave."""

    def __init__(self, result):
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr
        self.exception = result.exception

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def nearer(tmp_path, monkeypatch):
    """Call the command line in a folder of its own: ``nearer("check", "answers.csv")``."""
    monkeypatch.chdir(tmp_path)

    def call(*args):
        return Called(CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="nearer"))

    return call


@pytest.fixture(scope="session")
def points():
    return np.random.default_rng(5).normal(size=(12, 2))


@pytest.fixture
def answers(tmp_path, points):
    """answers.csv: 400 triplets over 12 named objects, without noise."""
    path = tmp_path / "answers.csv"
    write_comparisons(path, Comparisons.from_points(points, 400, random_state=1, labels=LABELS))
    return path


@pytest.fixture
def tree():
    """All files below a folder, hidden ones too."""

    def listed(folder: Path):
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    return listed
