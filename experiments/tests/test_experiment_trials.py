"""Trials: resumed after an interruption, the same on any number of processes, known by parameters and code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from experiments import trials
from experiments.growing import GrowingSVRG
from experiments.methods import AUTHORS, GRIDS, absolute, make_solver
from experiments.tables import only, read_csv, where, write_csv
from experiments.trials import Lab

from nearer.solvers import SBB

pytestmark = pytest.mark.tools

CALLS: list[int] = []


def square(params):
    CALLS.append(params["k"])
    if params["k"] == params.get("fails_at") and len(CALLS) <= params["fails_at"] + 1:
        raise KeyboardInterrupt
    return {"value": float(np.random.default_rng(params["k"]).random()), "k": params["k"]}


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def test_a_trial_runs_once(tmp_path):
    told = []
    lab = Lab(tmp_path, progress=lambda *args: told.append(args))
    params = [{"k": k} for k in range(3)]
    first = lab.collect("e", "title", square, params)
    again = lab.collect("e", "title", square, [*params, {"k": 3}])
    assert CALLS == [0, 1, 2, 3]
    assert again[:3] == first
    assert told[0] == ("title", 0, 3)
    assert told[-1] == ("title", 4, 4)
    assert lab.trials_read == {"e": 3}


def test_an_interrupted_run_goes_on_and_gives_the_same(tmp_path):
    params = [{"k": k, "fails_at": 2} for k in range(5)]
    whole = [{"value": float(np.random.default_rng(k).random()), "k": k} for k in range(5)]
    with pytest.raises(KeyboardInterrupt):
        Lab(tmp_path).collect("e", "t", square, params)
    assert len(list((tmp_path / "e" / "shards").iterdir())) == 2
    assert Lab(tmp_path).collect("e", "t", square, params) == whole
    assert CALLS == [0, 1, 2, 2, 3, 4]


def test_processes_do_not_change_results(tmp_path):
    params = [{"k": k} for k in range(4)]
    one = Lab(tmp_path / "one").collect("e", "t", square, params)
    with Lab(tmp_path / "two", jobs=2) as lab:
        two = lab.collect("e", "t", square, params)
    assert one == two


def test_trials_of_other_code_are_not_used(tmp_path, monkeypatch):
    lab = Lab(tmp_path)
    lab.collect("e", "t", square, [{"k": 1}])
    monkeypatch.setattr(trials, "_code", lambda: "another")
    lab.collect("e", "t", square, [{"k": 1}])
    assert CALLS == [1, 1]


def test_settings_of_the_authors_at_their_size():
    assert absolute("svrg", AUTHORS["hinge"]["svrg"], 100, 10_000) == {"step": 5e-4, "inner_steps": 10_000}
    assert absolute("sbb", AUTHORS["tste"]["sbb"], 100, 10_000) == {
        "epsilon": 0.005, "first_step": 0.05, "inner_steps": 10_000,
    }  # fmt: skip
    grown = make_solver("sbb-grow", GRIDS["sbb-grow"][0], 100, 10_000)
    options = {"inner_steps": 5_000, "first_snapshot": 0.005, "max_epochs": 10**9, "tol": 0.0}
    assert grown == GrowingSVRG(step=SBB(0.0002, 0.02), **options)
    assert make_solver("sbb0", AUTHORS["ste"]["sbb0"], 100, 10_000).step == SBB(0.0, 5e-4)


def test_settings_carry_over_to_another_size():
    assert absolute("batch", {"step": 0.5}, 40, 1000) == {"step": 20.0}
    assert absolute("svrg", {"step": 0.5, "inner": 0.25}, 40, 1000) == {"step": 0.08, "inner_steps": 250}
    assert absolute("sgd", {"step": 0.5, "decay": 0.1}, 40, 1000) == {"step": 0.5, "decay": 0.1}


def test_a_table_comes_back_as_it_was(tmp_path):
    rows = [
        {"a": 1, "b": 0.1 + 0.2, "c": None, "d": "text", "e": {"x": None, "y": 1.5}},
        {"a": -2, "b": 1e-300, "c": 3, "d": "", "e": {}},
    ]
    write_csv(tmp_path / "t.csv", rows)
    back = read_csv(tmp_path / "t.csv")
    assert back[0] == rows[0]
    assert back[1] == {**rows[1], "d": None}
    assert where(back, a=-2) == [back[1]]
    with pytest.raises(ValueError, match="0 rows with"):
        only(back, a=5)
    with pytest.raises(FileNotFoundError, match="run the experiment before"):
        read_csv(tmp_path / "absent.csv")


PARENT = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from experiments.trials import end_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent)
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(60)
"""


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    ) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    raise AssertionError("the worker outlived its parent")
