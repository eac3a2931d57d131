"""ctrl-C: the best map so far is kept; pressed twice, nothing is."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from numba.core import config

from nearer import kernels
from nearer.cli.interrupt import Interrupt
from nearer.cli.progress import Watch
from nearer.coordinates import read_embedding
from nearer.solvers.checkpoint import Checkpoint
from nearer.solvers.multistart import in_threads
from nearer.solvers.solver import check_stop

ENDLESS = ("--solver", "svrg-sbb", "--max-epochs", "100000000", "--tol", "0")


@contextlib.contextmanager
def running(command, folder):
    """A process that does not outlive its test."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *command], cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _until(process, start):
    """Read standard error up to a line that starts so; all lines read."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(start):
            return lines
    raise AssertionError(f"ended before {start!r}: {lines}")


@pytest.mark.parametrize(("starts", "checkpoint"), [("1", []), ("3", ["--checkpoint", "run"])])
def test_ctrl_c_keeps_the_best_map(answers, tmp_path, tree, starts, checkpoint):
    command = ["-m", "nearer.cli", "fit", "answers.csv", "-o", "out", "--n-init", starts, *checkpoint]
    with running([*command, *ENDLESS], tmp_path) as process:
        _until(process, "fitting")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the best map so far is kept" in err
    lines = err.splitlines()
    if checkpoint:
        assert lines.pop() == "nearer fit: continue with --checkpoint run --resume --force"
        assert Checkpoint(tmp_path / "run", resume=True).found
        (tmp_path / "run").unlink()
    assert lines[-1] == "nearer fit: interrupted; wrote the best map so far to out"
    assert "Traceback" not in err
    assert "wrote out/embedding.csv" in out
    assert tree(tmp_path) == [
        "answers.csv", "out", "out/embedding.csv", "out/model.nearer", "out/report.html", "out/summary.json",
    ]  # fmt: skip
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["interrupted"] is True
    assert summary["cross_validation"] is None
    assert summary["result"]["message"].startswith("stopped by a callback")
    assert read_embedding(tmp_path / "out/embedding.csv")[0].shape == (12, 2)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_a_study_at_once(answers, tmp_path, jobs):
    """Folds that would run for hours, side by side or one after the other."""
    command = ["-m", "nearer.cli", "dims", "answers.csv", "--n-jobs", jobs, *ENDLESS]
    with running(command, tmp_path) as process:
        _until(process, "cross-validating")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "nearer dims: interrupted; nothing more was written"  # after "compiling", perhaps


# Says when some maps were made, so that ctrl-C comes in the middle.
_TELLING = """
import sys
import nearer.selection.dimension as dimension
from nearer.cli import main

real, made = dimension.fit_best, []

def telling(*args):
    made.append(1)
    if len(made) == 10:
        print("10 maps", file=sys.stderr, flush=True)
    return real(*args)

dimension.fit_best = telling
main()
"""


def test_ctrl_c_in_dims_reports_what_is_known(answers, tmp_path):
    command = ["-c", _TELLING, "dims", "answers.csv", "--cv", "200", "--dims", "1-30", "--json"]
    with running([*command, "--plot", "dims.png"], tmp_path) as process:
        _until(process, "10 maps")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines() == ["nearer dims: interrupted; dims.png was not drawn"]
    assert sorted(os.listdir(tmp_path)) == ["answers.csv"]
    found = json.loads(out)
    assert found["partial"] is True
    assert found["chosen"] is None
    assert 0 < found["table"]["n_folds"][0] < 200
    assert 0.5 < found["table"]["accuracy"][0] <= 1


def test_ctrl_c_in_the_dimensions_of_a_fit_keeps_them(nearer, answers, tmp_path, monkeypatch):
    import nearer.selection.dimension as dimension

    made = []
    real = dimension.fit_best

    def interrupted(*args):
        if len(made) == 7:
            raise KeyboardInterrupt
        made.append(1)
        return real(*args)

    monkeypatch.setattr(dimension, "fit_best", interrupted)
    called = nearer("fit", "answers.csv", "-o", "out", "--dims", "1-3", "--bootstrap", 5, "--n-init", 1, "--n-jobs", 1)
    assert called.code == 130
    assert "accuracy by dimension kept as far as it is" in called.err
    assert "bootstrap" not in called.err
    found = json.loads((tmp_path / "out/summary.json").read_text())
    assert found["interrupted"] is True
    assert found["cross_validation"] is None
    assert found["dimensions"]["n_folds"] == [3, 2, 2]
    assert found["dimensions"]["chosen"] is None
    page = (tmp_path / "out/report.html").read_text()
    assert "some maps are missing, and no dimension is chosen" in page
    assert nearer("report", "out", "-o", "again.html").code == 0
    assert "some maps are missing, and no dimension is chosen" in (tmp_path / "again.html").read_text()
    assert "dimension" not in nearer("methods", "out").out.replace("placed in 2 dimensions", "")


_PRESSING = """
import sys
from nearer.cli import main

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            sys.meta_path.remove(self)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Press())
main()
"""


def test_ctrl_c_while_libraries_are_loaded_is_not_swallowed(answers, tmp_path):
    pytest.importorskip("pandas")
    command = [sys.executable, "-c", _PRESSING, "check", "answers.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "nearer check: interrupted; nothing more was written\n"


class Endless:
    """A task that does not end by itself."""

    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, number):
        self.begun.set()
        try:
            while True:
                check_stop()
                time.sleep(0.01)
        finally:
            self.ended.set()


def test_an_error_stops_the_other_threads():
    endless = Endless()

    def task(number):
        if number:
            endless(number)
        endless.begun.wait(30)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_threads(task, 6, 2)
    assert endless.ended.is_set()


def test_ctrl_c_while_tasks_are_handed_out_stops_those_that_run(monkeypatch):
    endless, real = Endless(), ThreadPoolExecutor.submit

    def pressed(*args):
        if endless.begun.is_set():
            raise KeyboardInterrupt
        try:
            return real(*args)
        finally:
            endless.begun.wait(30)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", pressed)
    with pytest.raises(KeyboardInterrupt):
        in_threads(endless, 6, 2)
    assert endless.ended.is_set()


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


def test_ctrl_c_in_a_study_leaves_it_out(nearer, answers, tmp_path, monkeypatch):
    module = importlib.import_module("nearer.selection.evaluate")  # the package exports a function of this name
    monkeypatch.setattr(module, "cross_validate_dimensions", interrupted)
    called = nearer("fit", "answers.csv", "-o", "out", "--bootstrap", 5, "--n-init", 1)
    assert called.code == 130
    assert "cross-validation left out" in called.err
    assert "bootstrap" not in called.err
    assert json.loads((tmp_path / "out/summary.json").read_text())["interrupted"] is True


def test_ctrl_c_while_writing_leaves_nothing(nearer, answers, tmp_path, tree, monkeypatch):
    monkeypatch.setattr("nearer.reports.Report.save", interrupted)
    called = nearer("fit", "answers.csv", "-o", "out", "--cv", 0, "--n-init", 1)
    assert called.code == 130
    assert called.err.endswith("nearer fit: interrupted; nothing more was written\n")
    assert tree(tmp_path) == ["answers.csv"]


def test_twice_stops_a_fit_at_once(nearer, answers, tmp_path, tree, monkeypatch):
    calls = []
    real = Watch.__call__

    def pressing(self, row, state):
        calls.append(row.epoch)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return real(self, row, state)

    monkeypatch.setattr(Watch, "__call__", pressing)
    called = nearer("fit", "answers.csv", "-o", "out", "--n-init", 1, "--n-jobs", 1, *ENDLESS)
    assert called.code == 130
    assert len(calls) == 1
    assert tree(tmp_path) == ["answers.csv"]


def test_the_first_fit_on_a_machine_says_that_it_compiles(nearer, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    told = []
    for _ in range(2):
        # As new as in a fresh process; one of the kernels that every fit needs.
        monkeypatch.setattr(kernels, "value_block", kernels._jit(kernels._sources["value_block"]))
        called = nearer("fit", "answers.csv", "-o", "out", "--force", "--cv", 0, "--n-init", 1)
        assert called.code == 0
        told.append(called.err.count("compiling for this machine, once"))
    assert told == [1, 0]


def test_progress_on_a_terminal(answers, tmp_path):
    """In a terminal of its own: objective, error and time left are shown, and gone at the end."""
    pty = pytest.importorskip("pty")
    command = ["fit", "answers.csv", "-o", "out", "--n-init", "1", "--cv", "0", "--max-seconds", "0.8", *ENDLESS]
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "nearer.cli", *command], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        while True:
            try:
                chunk = os.read(controller, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            shown += chunk
    os.close(controller)
    assert process.returncode == 0
    text = shown.decode("utf-8", "replace")
    for word in ("epoch ", "objective ", "error ", " s left"):
        assert word in text


_DROPPED = """
import gc
import sys
import time
import nearer.cli.check as commands
from nearer.cli import main

class Slow:
    def __del__(self):
        print("dropping", file=sys.stderr, flush=True)
        time.sleep(30)

def busy(*args):
    Slow()
    while True:
        time.sleep(0.01)

commands.inputs.read_answers = busy
main()
"""


def test_ctrl_c_in_a_finaliser_is_not_lost(answers, tmp_path):
    with running(["-c", _DROPPED, "check", "answers.csv"], tmp_path) as process:
        _until(process, "dropping")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "nearer check: interrupted; nothing more was written\n"


def test_ctrl_c_while_a_line_is_written_is_told_past_its_buffer(capfd):
    def reentered(text):
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name=2>")

    interrupt = Interrupt(reentered)
    with interrupt.deferred():
        signal.raise_signal(signal.SIGINT)
    assert interrupt.pressed
    assert capfd.readouterr().err == "stopping: the best map so far is kept; press ctrl-C again to give up\n"


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
    code = _STARTING.replace("WHERE", repr(module))
    command = [sys.executable, "-c", code, "check", "answers.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("nearer")
    assert done.stderr.count("\n") == 1
