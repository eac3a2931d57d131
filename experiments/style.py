"""How figures look: one colour and one line style for each method, everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.methods import NAMES
from nearer.display import PALETTE
from nearer.plots.figure import save_figure, style_axes

LABELS = {**NAMES, "raw": "raw features", "bb": "BB"}
_LOOKS = {
    "cvx": (PALETTE[6], ":"),
    "batch": (PALETTE[3], "--"),
    "sgd": (PALETTE[2], "-."),
    "svrg": (PALETTE[4], "-"),
    "sbb0": (PALETTE[5], "-"),
    "sbb": (PALETTE[1], "-"),
    "svrg-grow": (PALETTE[4], (0, (5, 1))),
    "sbb-grow": (PALETTE[1], (0, (5, 1))),
    "batch-bb": (PALETTE[0], "--"),
    "sbb-default": (PALETTE[1], "--"),
    "sbb-warm": (PALETTE[1], ":"),
    "auto": (PALETTE[0], "-"),
    "raw": ("#6b7280", ":"),
    "bb": (PALETTE[0], "-"),
}


def look(method: str) -> dict[str, Any]:
    """Colour, line style and width for a method."""
    colour, line = _LOOKS[method]
    return {"color": colour, "linestyle": line, "linewidth": 2.2 if method == "sbb" else 1.6}


def panels(
    columns: int, rows: int = 1, *, width: float = 4.2, height: float = 3.6, **kwargs: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels, row by row, without any pyplot state."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False, **kwargs).flat)
    for ax in axes:
        style_axes(ax)
    return figure, axes


def shared_legend(figure: Figure, axes: list[Axes], most_columns: int = 8) -> None:
    """One legend below all panels, with each entry once."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=min(len(entries), most_columns),
        frameon=False,
    )


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG, and as SVG for print."""
    return [save_figure(figure, folder / f"{name}{end}", dpi=150, force=True) for end in (".png", ".svg")]
