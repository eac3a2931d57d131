"""What all benchmarks share: facts about the machine, medians with spread, results on disk."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import nearer

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
PAGE = Path(__file__).resolve().parent / "RESULTS.md"


def facts() -> dict[str, Any]:
    """Command, commit, machine and versions: what a result must name."""
    return {
        "command": "python -m " + shlex.join([_module_name(), *sys.argv[1:]]),
        "commit": _git("rev-parse", "--short", "HEAD") + ("+changes" if _git("status", "--porcelain", "-uno") else ""),
        "date": date.today().isoformat(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        # Of nearer, that of the code which was run: what is installed may be another.
        "versions": {"nearer": nearer.__version__}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")},
    }


def about(record: dict[str, Any]) -> str:
    """Command, commit and machine in one line."""
    machine = f"{record['cpu']}, {record['cores']} cores, {record['memory_gib']} GiB"
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    run = f"`{record['command']}` at {record['commit']}, {record['date']}"
    return f"{run}; {machine}; Python {record['python']}, {versions}"


def save(name: str, rows: list[dict[str, Any]], **more: Any) -> Path:
    """Write results/<name>.json with the facts beside the rows, and the rows as results/<name>.md."""
    RESULTS.mkdir(exist_ok=True)
    record = facts()
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**record, **more, "rows": rows}, indent=1, default=_plain) + "\n")
    (RESULTS / f"{name}.md").write_text(f"{about(record)}\n\n{table(rows)}")
    return path


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table, columns as in the first row."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def spread(values: list[float]) -> dict[str, float]:
    """Median with quartiles."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return {"median": float(middle), "q25": float(low), "q75": float(high)}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _module_name() -> str:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name.removesuffix(".__main__") if spec is not None else Path(sys.argv[0]).stem


def _git(*args: str) -> str:
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
