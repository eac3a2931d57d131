"""Draw Figure 1 from its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.fig1.run import RULES
from experiments.methods import LOSSES
from experiments.style import look, panels, save, shared_legend
from experiments.tables import Row, read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw the step sizes of t-STE, as in the paper, and the test errors of all losses; returns the files written."""
    rows = read_csv(folder / "steps.csv")
    return [*_draw_steps(folder, where(rows, loss="tste")), *_draw_errors(folder, rows)]


def _draw_steps(folder: Path, rows: list[Row]) -> list[Path]:
    figure, axes = panels(len(RULES), width=4.2, height=3.7, sharey=True)
    for ax, (rule, title) in zip(axes, RULES.items()):
        mine = where(rows, rule=rule)
        epochs, (low, middle, high) = _quantiles(mine, "step_size", [0.0, 0.5, 1.0])
        colour = look(rule)["color"]
        ax.fill_between(epochs, low, high, color=colour, alpha=0.2, linewidth=0, label="smallest to largest")
        ax.plot(epochs, middle, color=colour, linewidth=1.2, label="median over the starts")
        first = where(mine, draw=0, start=0)
        ax.plot(
            [r["epoch"] for r in first],
            np.abs([r["step_size"] for r in first]),
            color="black",
            linewidth=1.2,
            label="one start",
        )
        below = [row for row in mine if (row["step_size"] or 0) < 0]
        if below:
            x, y = [r["epoch"] for r in below], [-r["step_size"] for r in below]
            ax.plot(x, y, "v", color="red", markersize=5, linestyle="", label="negative step (its size)")
        ax.set_yscale("log")
        ax.set(title=f"t-STE, {title}", xlabel="Epoch")
    axes[0].set_ylabel("Step size $|η_s|$")
    shared_legend(figure, axes)
    return save(figure, folder, "fig1")


def _draw_errors(folder: Path, rows: list[Row]) -> list[Path]:
    figure, axes = panels(len(LOSSES), width=4.2, height=3.7, sharey=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        for rule in ("sbb0", "sbb"):
            mine = where(rows, loss=loss, rule=rule)
            epochs, (low, middle, high) = _quantiles(mine, "test_error", [0.25, 0.5, 0.75])
            ax.fill_between(epochs, low, high, color=look(rule)["color"], alpha=0.2, linewidth=0)
            ax.plot(epochs, middle, label=f"{RULES[rule]}: median, 25-75 % band", **look(rule))
            first = where(mine, draw=0, start=0)
            ax.plot(
                [r["epoch"] for r in first],
                [r["test_error"] for r in first],
                color=look(rule)["color"],
                linewidth=0.8,
                linestyle=":",
                label=f"{RULES[rule]}: one start",
            )
        ax.set_ylim(bottom=0)
        ax.set(title=title, xlabel="Epoch")
    axes[0].set_ylabel("Test error")
    shared_legend(figure, axes)
    return save(figure, folder, "errors")


def _quantiles(rows: list[Row], column: str, levels: list[float]) -> tuple[list[int], np.ndarray]:
    """Epochs, and quantiles of the absolute values of a column in each of them."""
    epochs = sorted({row["epoch"] for row in rows})
    values = [np.abs([row[column] for row in where(rows, epoch=epoch) if row[column] is not None]) for epoch in epochs]
    return epochs, np.array([np.quantile(v, levels) for v in values]).T
