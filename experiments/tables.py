"""Tables as lists of rows: tidy CSV files in and out, summaries, and a record of what was run where."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from nearer.io.files import atomic_write

Row = dict[str, Any]
PAPER = Path(__file__).parent / "paper"


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, whose keys are the columns: None as an empty field, mappings as JSON, floats with every digit."""
    with atomic_write(path, force=True, mode="w") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """Rows of a table; fields that look like numbers become numbers, empty ones None, JSON mappings mappings."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such table; run the experiment before drawing or reporting it")
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _parsed(text) for name, text in row.items()} for row in csv.DictReader(file)]


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """The rows with the given values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def only(rows: Iterable[Row], **values: Any) -> Row:
    """The one row with the given values."""
    found = where(rows, **values)
    if len(found) != 1:
        raise ValueError(f"table: {len(found)} rows with {values}, expected one")
    return found[0]


def spread(values: Iterable[float | None], name: str) -> Row:
    """min, mean, max and standard deviation as columns ``name_min`` and so on; all None if a value is None."""
    values = list(values)
    if not values or any(v is None for v in values):
        return {f"{name}_{part}": None for part in ("min", "mean", "max", "std")}
    a = np.array(values, dtype=float)
    std = float(a.std(ddof=1)) if len(a) > 1 else 0.0
    return {
        f"{name}_min": float(a.min()),
        f"{name}_mean": float(a.mean()),
        f"{name}_max": float(a.max()),
        f"{name}_std": std,
    }


def write_run(path: Path, **record: Any) -> None:
    """Write what was run (settings, seed, seconds), with commit, versions and machine, as JSON."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    content = {
        **record,
        "commit": _commit(),
        "versions": {
            "python": platform.python_version(),
            "nearer": nearer.__version__,
            **{name: version(name) for name in packages},
        },
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
    }
    with atomic_write(path, force=True, mode="w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def _commit() -> str:
    """The commit of this checkout, marked if the code differs from it; "unknown" outside of one."""

    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "*.py", "../src")
        return git("rev-parse", "--short", "HEAD") + ("+changes" if changed else "") or "unknown"
    except OSError:
        return "unknown"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _parsed(text: str) -> Any:
    if text == "":
        return None
    if text.startswith("{"):
        return json.loads(text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)
