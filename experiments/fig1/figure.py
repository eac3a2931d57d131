"""Draw Figure 1 from its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.fig1.run import RULES
from experiments.style import look, panels, save, shared_legend
from experiments.tables import read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw the step sizes from the table in `folder`; returns the files written."""
    rows = read_csv(folder / "steps.csv")
    figure, axes = panels(len(RULES), width=4.2, height=3.7, sharey=True)
    for ax, (rule, title) in zip(axes, RULES.items()):
        mine = where(rows, rule=rule)
        epochs = sorted({row["epoch"] for row in mine})
        sizes = [np.abs([row["step_size"] for row in where(mine, epoch=epoch)]) for epoch in epochs]
        low, middle, high = np.array([np.quantile(s, [0.0, 0.5, 1.0]) for s in sizes]).T
        colour = look(rule)["color"]
        ax.fill_between(epochs, low, high, color=colour, alpha=0.2, linewidth=0, label="smallest to largest")
        ax.plot(epochs, middle, color=colour, linewidth=1.2, label="median over the starts")
        first = where(mine, start=0)
        ax.plot(
            [r["epoch"] for r in first],
            np.abs([r["step_size"] for r in first]),
            color="black",
            linewidth=1.2,
            label="one start",
        )
        below = [row for row in mine if row["step_size"] < 0]
        if below:
            x, y = [r["epoch"] for r in below], [-r["step_size"] for r in below]
            ax.plot(x, y, "v", color="red", markersize=5, linestyle="", label="negative step (its size)")
        ax.set_yscale("log")
        ax.set(title=title, xlabel="Epoch")
    axes[0].set_ylabel("Step size $|η_s|$")
    shared_legend(figure, axes)
    return save(figure, folder, "fig1")
