"""The group: help without the library, names, options, errors in one line."""

from __future__ import annotations

import inspect
import json
import logging
import subprocess
import sys
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import nearer as package
from nearer.cli.app import cli, commands, explain
from nearer.cli.output import json_text, visible
from nearer.distributed.cluster import ClusterError
from nearer.estimator import OrdinalEmbedding
from nearer.io import FileFormatError
from nearer.reports import write_report
from nearer.selection import evaluate

HEAVY = (
    "numpy", "numba", "scipy", "sklearn", "pyarrow", "matplotlib", "dask", "rich", "starlette", "uvicorn", "sqlalchemy",
)  # fmt: skip


def test_help_imports_nothing_heavy():
    calls = [[], *([name] for name in sorted(commands()))]
    code = (  # one process for all
        "import sys\n"
        "from nearer.cli import main\n"
        f"for args in {calls!r}:\n"
        "    try:\n        main([*args, '--help'])\n"
        "    except SystemExit as end:\n        assert end.code == 0, (args, end.code)\n"
        f"    heavy = [module for module in {HEAVY!r} if module in sys.modules]\n"
        "    assert not heavy, (args, heavy)\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", sorted(commands()))
def test_each_command_is_listed_and_has_an_example(nearer, name):
    assert commands()[name] in nearer("--help").out
    text = nearer(name, "--help").out
    assert f"  nearer {name}" in text.split("Example", 1)[1]
    assert name == "collect" or ("--json" in text and "--quiet" in text)


def test_options_have_the_names_and_defaults_of_the_library():
    options = cli.get_command(None, "fit").make_context("fit", ["answers.csv", "-o", "out"]).params
    for function, names in (
        (OrdinalEmbedding, ("n_components", "loss", "solver", "n_init", "max_seconds", "n_jobs")),
        (evaluate, ("cv", "cv_by", "dims", "learning_curve", "bootstrap")),
        (write_report, ("groups", "images")),
    ):
        library = inspect.signature(function).parameters
        assert {name: options[name] or None for name in names} == {
            name: library[name].default or None for name in names
        }
    assert options["random_state"] == 0  # None in the library; a command is to be repeatable


def test_version_and_unknown_commands(nearer):
    assert nearer("--version").out == f"nearer {package.__version__}\n"
    assert nearer("chekc", "x.csv").code == 2


def test_a_shell_gets_its_script_of_completions():
    called = CliRunner().invoke(cli, [], prog_name="nearer", env={"_NEARER_COMPLETE": "bash_source"})
    assert "_NEARER_COMPLETE=bash_complete" in called.stdout


def test_errors_are_one_line_with_code_2_or_raised_with_debug(nearer):
    called = nearer("check", "nowhere.csv")
    assert (called.code, called.out) == (2, "")
    assert called.err == "nearer check: nowhere.csv: no such file\n"
    assert isinstance(nearer("check", "nowhere.csv", "--debug").exception, FileFormatError)
    assert explain(PermissionError(13, "Permission denied", "out")) == "out: Permission denied"
    assert explain(MemoryError()) == "MemoryError"
    assert explain(ClusterError("lost")) == "lost"
    assert explain(ZeroDivisionError()) is None


def test_broken_pipe_is_no_traceback(answers):
    command = [sys.executable, "-m", "nearer", "check", str(answers), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # long before anything is written
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_visible_spells_out_what_could_command_a_terminal():
    assert visible("a\x1b[31mred\u202eder") == "a\\x1b[31mred\\u202eder"
    assert visible("שלום 🎈\n\tx") == "שלום 🎈\n\tx"


def test_arrays_become_json_and_what_is_not_finite_null():
    values = {"a": np.float32(1.5), "b": np.array([1.0, np.nan]), 3: (np.int32(4), float("inf")), "e": np.bool_(True)}
    assert json.loads(json_text(values)) == {"a": 1.5, "b": [1.0, None], "3": [4, None], "e": True}


def test_warnings_and_log_messages_are_lines_of_the_command_each_once(nearer, monkeypatch, answers):
    def check(comparisons, n_components=None):
        for _ in range(2):
            warnings.warn("odd\x1b", stacklevel=2)
            logging.getLogger("nearer.io").warning("%s: strange", "x")
        raise ValueError("check: no more")

    monkeypatch.setattr("nearer.check.check", check)
    called = nearer("check", "answers.csv", "--quiet")
    assert called.code == 2
    assert called.err.splitlines() == [
        "nearer check: warning: odd\\x1b",
        "nearer check: warning: x: strange",
        "nearer check: no more",
    ]
