"""A command line to call, files of answers to call it with."""

from __future__ import annotations

import json
import shutil
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
    def refused(self):
        """Whether it ended with one line about a mistake of the user, and nothing else."""
        last = self.err.splitlines()[-1] if self.err else ""
        return self.code == 2 and not self.out and last.lstrip().startswith(("nearer ", "Error: ", "or complete "))

    @property
    def json(self):
        return json.loads(self.out)


def call(*args):
    return Called(CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="nearer"))


@pytest.fixture
def nearer(tmp_path, monkeypatch):
    """Call the command line in a folder of its own: ``nearer("check", "answers.csv")``."""
    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory, points):
    """A folder that `nearer fit` wrote for 11 of 12 objects; answers about the twelfth beside it."""
    folder = tmp_path_factory.mktemp("made")
    every = Comparisons.from_points(points, 900, random_state=1, labels=LABELS)
    about_last = (every.index == 11).any(axis=1)
    write_comparisons(folder / "known.csv", Comparisons(every[~about_last].index, 11, labels=LABELS[:11]))
    write_comparisons(folder / "new.csv", every[about_last])
    options = ("--loss", "ste", "--cv", 3, "--bootstrap", 0, "--title", "Eleven")
    fitted = call("fit", folder / "known.csv", "-o", folder / "out", *options)
    assert fitted.code == 0, fitted.err
    return folder


@pytest.fixture
def files(made, tmp_path):
    """A copy of the folder `made`, to call commands in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


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
