"""Work in a fresh process, with its own peak of memory."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT


def in_child(task: str, **arguments: Any) -> dict[str, Any]:
    """Call ``module:function`` in a new process.

    The function takes keywords and returns a dict, both made of what JSON can hold; `peak_gib` is added to the answer
    unless it is there.
    """
    with tempfile.TemporaryDirectory(prefix="nearer-bench-") as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "benchmarks.measure", task, json.dumps(arguments), str(answer)]
        subprocess.run(command, cwd=ROOT, check=True)
        return json.loads(answer.read_text())


def peak_gib() -> float:
    """Most memory that this process has held so far.

    Linux counts the memory of the process that started this one into ``ru_maxrss``, so its own high-water mark is read
    where there is one.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 1024 if sys.platform == "darwin" else 1
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    return kib / 2**20


def answer_to(task: str, arguments: str) -> str:
    """Call ``module:function`` here; arguments and answer are JSON."""
    module, function = task.split(":")
    result = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    return json.dumps({"peak_gib": peak_gib(), **result})


def main() -> None:
    task, arguments, answer = sys.argv[1:]
    Path(answer).write_text(answer_to(task, arguments))


if __name__ == "__main__":
    main()
