"""Draw the music experiment from its table."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import EXTRAS, GROWING, LOSSES, METHODS
from experiments.style import LABELS, look, panels, save
from experiments.tables import read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw the test error of every method; returns the files written."""
    rows = read_csv(folder / "runs.csv")
    figure, axes = panels(3, width=4.2, height=3.9, sharex=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        methods = [m for m in (*METHODS, *GROWING, *EXTRAS) if where(rows, loss=loss, method=m)]
        for y, method in enumerate(methods):
            errors = [row["test_error"] for row in where(rows, loss=loss, method=method)]
            ax.plot(errors, [y] * len(errors), "o", color=look(method)["color"], alpha=0.45, markersize=5, linestyle="")
            ax.plot(sum(errors) / len(errors), y, "|", color="black", markersize=14, markeredgewidth=2)
        ax.set_yticks(range(len(methods)), [LABELS[m] for m in methods])
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set(title=title, xlabel="Test error (dots: splits; bar: mean)")
    return save(figure, folder, "music")
