"""ctrl-C: the best map so far is kept; pressed twice, nothing is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import nearer.selection.dimension as dimension
from forked import Forked
from nearer.cli import main
from nearer.cli.interrupt import Interrupt
from nearer.coordinates import read_embedding
from nearer.solvers.checkpoint import Checkpoint

ENDLESS = ("--solver", "svrg-sbb", "--max-epochs", "100000000", "--tol", "0")
FILES = ["out", "out/embedding.csv", "out/model.nearer", "out/report.html", "out/summary.json"]


def pressed(process):
    """What a process says after ctrl-C; its exit code is 130, and nobody sees a traceback."""
    out, err = process.interrupted()
    assert process.wait() == 130
    assert "Traceback" not in err
    return out, err


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.fixture
def fold_of_ctrl_c(monkeypatch):
    """ctrl-C comes when the eighth map of a cross-validation is to be made."""
    real, made = dimension.fit_best, []

    def counted(*args):
        if len(made) == 7:
            raise KeyboardInterrupt
        made.append(1)
        return real(*args)

    monkeypatch.setattr(dimension, "fit_best", counted)
    return made


@pytest.mark.parametrize(("starts", "checkpoint"), [("1", []), ("3", ["--checkpoint", "run"])])
def test_ctrl_c_keeps_the_best_map(answers, tmp_path, tree, starts, checkpoint):
    command = ["fit", "answers.csv", "-o", "out", "--n-init", starts, *checkpoint, *ENDLESS]
    with Forked(*command, folder=tmp_path) as process:
        assert any(line.startswith("fitting") for line in process.stderr)
        out, err = pressed(process)
    assert ("--resume" in err) == bool(checkpoint)
    if checkpoint:
        assert Checkpoint(tmp_path / "run", resume=True).found
        (tmp_path / "run").unlink()
    assert "wrote out/embedding.csv" in out
    assert tree(tmp_path) == ["answers.csv", *FILES]
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["interrupted"] is True
    assert summary["cross_validation"] is None
    assert read_embedding(tmp_path / "out/embedding.csv")[0].shape == (12, 2)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_a_study_at_once(answers, tmp_path, jobs):
    """Folds that would run for hours, side by side or one after the other."""
    command = ["dims", "answers.csv", "--n-jobs", jobs, *ENDLESS]
    with Forked(*command, folder=tmp_path) as process:
        assert any(line.startswith("cross-validating") for line in process.stderr)
        assert process.wait(0.5) is None
        assert pressed(process)[0] == ""


def test_ctrl_c_in_dims_and_in_those_of_a_fit_keeps_what_is_known(nearer, answers, tmp_path, tree, fold_of_ctrl_c):
    called = nearer("dims", "answers.csv", "--dims", "1-3", "--plot", "dims.png", "--n-jobs", 1, "--json")
    assert (called.code, called.json["partial"]) == (130, True)
    assert tree(tmp_path) == ["answers.csv"]
    assert 0.5 < called.json["table"]["accuracy"][0] <= 1
    fold_of_ctrl_c.clear()
    called = nearer("fit", "answers.csv", "-o", "out", "--dims", "1-3", "--bootstrap", 5, "--n-jobs", 1, "--json")
    assert (called.code, called.json["interrupted"], called.json["cross_validation"]) == (130, True, None)
    assert "bootstrap" not in called.json
    assert (called.json["dimensions"]["n_folds"], called.json["dimensions"]["chosen"]) == ([3, 2, 2], None)
    assert nearer("report", "out", "-o", "again.html").code == 0
    for page in ("out/report.html", "again.html"):
        assert "some maps are missing, and no dimension is chosen" in (tmp_path / page).read_text()
    assert "dimension" not in nearer("methods", "out").out.replace("placed in 2 dimensions", "")


@pytest.mark.parametrize(
    ("where", "left"),
    [("nearer.selection.dimension.fit_best", ["answers.csv", *FILES]), ("nearer.reports.Report.save", ["answers.csv"])],
)
def test_ctrl_c_after_the_fit(nearer, answers, tmp_path, tree, monkeypatch, where, left):
    """In a study: it is left out. While writing: nothing is left."""
    monkeypatch.setattr(where, interrupted)
    assert nearer("fit", "answers.csv", "-o", "out", "--bootstrap", 5, "--n-init", 1).code == 130
    assert tree(tmp_path) == left


def test_twice_stops_a_fit_at_once(nearer, answers, tmp_path, tree, monkeypatch):
    epochs = []

    def pressing(self, row, state):
        epochs.append(row.epoch)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Interrupt, "__call__", pressing)
    called = nearer("fit", "answers.csv", "-o", "out", "--n-init", 1, "--n-jobs", 1, *ENDLESS)
    assert called.code == 130
    assert len(epochs) == 1
    assert tree(tmp_path) == ["answers.csv"]


def test_ctrl_c_in_a_finaliser_is_not_lost(monkeypatch):
    class Pressed:
        def __del__(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # to put it back
    main(["--version"], standalone_mode=False)
    Pressed()
    with pytest.raises(KeyboardInterrupt):
        time.sleep(30)


_STARTING = """
import sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == WHERE:
            import signal
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Press())
from nearer.cli import main
main()
"""


@pytest.mark.parametrize("module", ["click", "nearer.cli.app", "nearer.cli.check"])
def test_ctrl_c_at_the_start_is_one_line(answers, tmp_path, module):
    command = [sys.executable, "-c", _STARTING.replace("WHERE", repr(module)), "check", "answers.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("nearer")
    assert done.stderr.count("\n") == 1


def test_progress_on_a_terminal(answers, tmp_path, monkeypatch):
    """In a terminal of its own: objective, error and time left are shown, and gone at the end."""
    pty = pytest.importorskip("pty")
    quick = ("--n-init", "1", "--cv", "0", "--bootstrap", "0", "--max-seconds", "0.8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    process, terminal = pty.fork()
    if process == 0:
        code = 1
        try:
            sys.stderr = os.fdopen(2, "w", closefd=False)  # pytest replaced it
            code = main(["fit", "answers.csv", "-o", "out", *quick, *ENDLESS], standalone_mode=False) or 0
        finally:
            os._exit(code)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(terminal, 65536):
            shown += chunk
    os.close(terminal)
    assert os.waitpid(process, 0)[1] == 0
    text = shown.decode("utf-8", "replace")
    for word in ("epoch ", "objective ", "error ", "left"):
        assert word in text
