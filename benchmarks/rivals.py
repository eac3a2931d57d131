"""Starting competitors in environments of their own, and talking to them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT

ADAPTERS = Path(__file__).resolve().parent / "adapters"
RIVALS = {"cblearn": "cblearn==0.4.0"}


def python_for(name: str) -> str:
    """The interpreter of a competitor; its environment is made on first use."""
    if name == "ours":
        return sys.executable
    home = ROOT / f".venv-{name}"
    python = home / "bin" / "python"
    if not (home / ".installed").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", RIVALS[name]], check=True)
        (home / ".installed").touch()
    return str(python)


class Competitor:
    """A running worker; `fit` returns seconds and embedding, and leaves the processor time in `processor_seconds`."""

    processor_seconds: float

    def __init__(self, name: str, folder: Path):
        self.folder = folder
        command = [python_for(name), str(ADAPTERS / f"{name}.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about: dict[str, Any] = json.loads(self._line())

    def fit(self, data: Path, loss: str, n_components: int, seed: int) -> tuple[float, np.ndarray]:
        out = self.folder / f"{self.about['name']}.npy"
        request = {"data": str(data), "loss": loss, "n_components": n_components, "seed": seed, "out": str(out)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self._line())
        if "error" in answer:
            raise RuntimeError(f"{self.about['name']}: {answer['error']}")
        self.processor_seconds = answer["processor_seconds"]
        return answer["seconds"], np.load(out)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a competitor ended early (exit code {self.process.wait()})")
        return line


def scratch() -> Path:
    """A folder for data handed to competitors."""
    return Path(tempfile.mkdtemp(prefix="nearer-bench-"))
