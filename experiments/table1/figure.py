"""Draw Table 1: work and seconds to the target, how they depend on the step size, and on the number of objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.tables import PAPER, Row, read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw all figures from the tables in `folder`; returns the files written."""
    return [
        *_draw_speed(folder, read_csv(folder / "runs.csv")),
        *_draw_tuning(folder, read_csv(folder / "tuning.csv")),
        *_draw_scaling(folder, read_csv(folder / "scaling.csv")),
    ]


def _draw_speed(folder: Path, runs: list[Row]) -> list[Path]:
    paper = read_csv(PAPER / "table1.csv")
    figure, axes = panels(3, width=4.4, height=4.0, sharex=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        methods = [m for m in METHODS if where(runs, loss=loss, method=m, settings="tuned")]
        for y, method in enumerate(methods):
            for settings, offset, marker, colour in (
                ("tuned", 0.16, "o", "#D55E00"),
                ("authors", -0.16, "s", "#0072B2"),
            ):
                seconds = [r["seconds"] for r in where(runs, loss=loss, method=method, settings=settings)]
                if not seconds or None in seconds:  # some never got there
                    continue
                label = {"tuned": "here, settings tuned", "authors": "here, authors' settings"}[settings]
                low, high = np.min(seconds), np.max(seconds)
                ax.plot([low, high], [y + offset] * 2, color=colour, linewidth=1.4)
                ax.plot(np.mean(seconds), y + offset, marker, color=colour, markersize=6, linestyle="", label=label)
            for printed in where(paper, loss=loss, method=method):
                ax.plot([printed["min"], printed["max"]], [y, y], color="black", linewidth=1.4)
                label = "paper (MATLAB and C)"
                ax.plot(printed["mean"], y, "x", color="black", markersize=7, linestyle="", label=label)
        ax.set_yticks(range(len(methods)), [LABELS[m] for m in methods])
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_xscale("log")
        ax.set(title=title, xlabel="Seconds to training error 0.15")
    shared_legend(figure, axes)
    return save(figure, folder, "table1")


def _draw_tuning(folder: Path, rows: list[Row]) -> list[Path]:
    """Best work over the other settings, by step size: how much depends on choosing it well."""
    figure, axes = panels(3, width=4.2, height=3.9, sharey=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        for method in ("svrg", "sbb0", "sbb"):
            name = "step" if method.startswith("svrg") else "first"
            best: dict[float, float] = {}
            for row in where(rows, draw=0, loss=loss, method=method):
                step = row["settings"][name]
                if step is not None:
                    reached = row["reached"] == row["starts"]
                    best[step] = min(best.get(step, np.inf), row["work"] if reached else np.inf)
            steps = sorted(best)
            ax.plot(steps, [best[s] for s in steps], marker="o", markersize=4, label=LABELS[method], **look(method))
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set(title=title, xlabel="First (SBB) or fixed (SVRG) step × m / n")
    axes[0].set_ylabel("Gradients / N to training error 0.15")
    shared_legend(figure, axes)
    return save(figure, folder, "tuning")


def _draw_scaling(folder: Path, rows: list[Row]) -> list[Path]:
    figure, axes = panels(2, width=4.6, height=3.8, sharey=True)
    for ax, loss in zip(axes, ("hinge", "ste")):
        for method in ("cvx", "sbb"):
            mine = [row for row in where(rows, loss=loss, method=method) if row["seconds"] is not None]
            n = sorted({row["n_objects"] for row in mine})
            seconds = [[row["seconds"] for row in where(mine, n_objects=size)] for size in n]
            ax.plot(n, [np.median(s) for s in seconds], marker="o", label=LABELS[method], **look(method))
            low, high = [min(s) for s in seconds], [max(s) for s in seconds]
            ax.fill_between(n, low, high, color=look(method)["color"], alpha=0.18, linewidth=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ticks = sorted({row["n_objects"] for row in rows})
        ax.set_xticks(ticks, [str(n) for n in ticks])
        ax.minorticks_off()
        ax.set(title=LOSSES[loss], xlabel="Objects n (100 n triplets)")
    axes[0].set_ylabel("Seconds to training error 0.15")
    shared_legend(figure, axes)
    return save(figure, folder, "scaling")
