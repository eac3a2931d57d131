"""What the scripts of this folder share: saving beside the script, small Markdown tables, axes of one style."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rcParams
from matplotlib.figure import Figure

from nearer.display import PALETTE
from nearer.plots.figure import style_axes

__all__ = ["PALETTE", "panels", "save", "write_table"]

# What only the paper needs is in `experiments`, which is a package of the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
# The same figure gives the same file, so that a commit shows what has changed.
rcParams["svg.hashsalt"] = "nearer"
rcParams["svg.fonttype"] = "none"
rcParams["font.family"] = "sans-serif"


def panels(n: int = 1, width: float = 5.0, height: float = 3.6, **options: Any) -> tuple[Figure, list[Any]]:
    """A figure with n axes side by side."""
    figure = Figure(figsize=(width * n, height), layout="constrained")
    axes = figure.subplots(1, n, squeeze=False, **options)[0].tolist()
    for ax in axes:
        style_axes(ax)
    return figure, axes


def save(figure: Any, script: str, ending: str = ".svg") -> None:
    """Write a figure (or the figure of an Axes) beside the script that made it."""
    figure = getattr(figure, "figure", figure)
    path = Path(script).with_suffix(ending)
    metadata = {"Date": None} if ending == ".svg" else None
    figure.savefig(path, metadata=metadata, dpi=140, facecolor="white")


def write_table(script: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a Markdown table beside the script; the first column is text, the others are set to the right."""
    lines = [" | ".join(header), " | ".join([":--", *["--:"] * (len(header) - 1)])]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    Path(script).with_suffix(".md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")
