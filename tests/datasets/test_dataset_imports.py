"""Importing metrics and datasets stays light."""

from __future__ import annotations

import subprocess
import sys


def test_no_heavy_imports():
    heavy = ("sklearn", "pandas", "matplotlib", "dask", "h5py", "click", "rich")
    code = f"import sys, nearer.metrics, nearer.datasets; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
