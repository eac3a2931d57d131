"""Draw the music experiment from its table."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save
from experiments.tables import read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw the test error of every method, tuned and with the authors' settings; returns the files written."""
    rows = read_csv(folder / "runs.csv")
    figure, axes = panels(3, 2, width=4.2, height=3.2, sharex="row")
    for k, ax in enumerate(axes):
        settings, (loss, title) = ("tuned", "authors")[k // 3], list(LOSSES.items())[k % 3]
        cell = where(rows, settings=settings, loss=loss)
        lines = [(m, b) for m in METHODS for b in sorted({row["budget"] for row in where(cell, method=m)})]
        for y, (method, budget) in enumerate(lines):
            errors = [row["test_error"] for row in where(cell, method=method, budget=budget)]
            ax.plot(errors, [y] * len(errors), "o", color=look(method)["color"], alpha=0.45, markersize=5, linestyle="")
            ax.plot(sum(errors) / len(errors), y, "|", color="black", markersize=12, markeredgewidth=2)
        ax.set_yticks(range(len(lines)), [f"{LABELS[m]}, {b} N" for m, b in lines], fontsize=8)
        ax.set_ylim(len(lines) - 0.5, -0.5)
        ax.set_title(f"{title}, " + {"tuned": "tuned", "authors": "authors' settings"}[settings])
        if k // 3 == 1:
            ax.set_xlabel("Test error (dots: splits; bar: mean)")
    return save(figure, folder, "music")
