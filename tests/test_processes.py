"""What only a fresh process can show: the compilation cache and what an import loads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

from numba.core import config

import compiled
from nearer import kernels


def _run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_a_second_process_compiles_nothing(tmp_path, monkeypatch):
    """In a folder for compiled code that nobody else writes to, with what the first one compiled."""
    so_far = kernels.draw_many._cache.cache_path
    with monkeypatch.context() as patch:
        patch.setattr(config, "CACHE_DIR", str(tmp_path))
        own = Path(kernels._jit(kernels.draw_many.py_func)._cache.cache_path)
    if so_far is None:  # none can be kept where it usually is
        first = json.loads(_run("compiled.py", NUMBA_CACHE_DIR=str(tmp_path)))["numbers"]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # poor maps on purpose
            first = compiled.work()
        own.mkdir(parents=True, exist_ok=True)
        for path in Path(so_far).glob("kernels.*.nb?"):
            shutil.copy(path, own)
    second = json.loads(_run("compiled.py", NUMBA_CACHE_DIR=str(tmp_path)))
    assert {name: misses for name, (_, misses) in second["stats"].items() if misses} == {}
    assert sum(hits for hits, _ in second["stats"].values()) > 5
    assert first == second["numbers"]


# One after the other in one process: what may not be loaded yet, after each.
STEPS = {
    "import nearer": ["numpy", "scipy", "sklearn", "numba"],
    "import nearer.io": ["scipy.io", "pandas", "sklearn"],
    "import nearer.metrics, nearer.datasets": ["pandas", "sklearn"],
    "from nearer import OrdinalEmbedding": [],
    "from nearer import Comparisons, OrdinalEmbedding; import nearer.solvers, nearer.metrics": [],
    "from nearer import *; import nearer.model_file, nearer.reports": [],
    "from nearer import reports, write_report; assert write_report is reports.write_report": [],
}
# The last two are loaded by parts of scikit-learn that a feature map alone needs.
HEAVY = ["dask", "distributed", "matplotlib", "click", "h5py", "rich", "sklearn.model_selection"]


def test_imports_stay_light():
    code = "import json, sys\nloaded = {}\n"
    for statement, heavy in STEPS.items():
        heavy = [*heavy, *HEAVY]
        code += f"{statement}\nloaded[{statement!r}] = [name for name in {heavy!r} if name in sys.modules]\n"
    assert json.loads(_run("-c", code + "print(json.dumps(loaded))")) == {statement: [] for statement in STEPS}
