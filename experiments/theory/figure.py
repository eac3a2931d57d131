"""Draw the theory experiment from its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.style import panels, save, shared_legend
from experiments.tables import Row, only, read_csv, where
from nearer.display import PALETTE

_NAMES = {"ckl": "CKL", "ste": "STE", "tste": "t-STE"}


def draw(folder: Path) -> list[Path]:
    """Draw the rate and the bounds; returns the files written."""
    curves, bounds = read_csv(folder / "curves.csv"), read_csv(folder / "bounds.csv")
    return [*_draw_rate(folder, curves), *_draw_bounds(folder, curves, bounds)]


def _cases(curves: list[Row]) -> tuple[list[str], list[float]]:
    return list(dict.fromkeys(r["loss"] for r in curves)), list(dict.fromkeys(r["epsilon"] for r in curves))


def _draw_rate(folder: Path, curves: list[Row]) -> list[Path]:
    losses, epsilons = _cases(curves)
    figure, axes = panels(len(losses), width=4.2, height=3.8)
    for ax, loss in zip(axes, losses):
        for k, epsilon in enumerate(epsilons):
            mine = where(curves, loss=loss, epsilon=epsilon)
            T = [row["inner_steps"] for row in mine]
            ax.plot(T, [row["mean_squared_gradient"] for row in mine], color=PALETTE[k], label=f"ε = {epsilon:g}")
            limits = [np.nan if row["bound"] is None else row["bound"] for row in mine]
            ax.plot(T, limits, "--", color=PALETTE[k], linewidth=1)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set(title=_NAMES[loss], xlabel="Inner steps T")
    axes[0].set_ylabel("Mean of $|∇F|^2$ over the iterates")
    axes[0].plot([], [], "--", color="grey", linewidth=1, label="bound of the theorem, with L of F")
    shared_legend(figure, axes)
    return save(figure, folder, "rate")


def _draw_bounds(folder: Path, curves: list[Row], bounds: list[Row]) -> list[Path]:
    losses, epsilons = _cases(curves)
    figure, axes = panels(len(losses), width=4.2, height=3.8)
    for ax, loss in zip(axes, losses):
        for k, epsilon in enumerate(epsilons):
            # the first step is measured, not given by the rule
            mine = where(curves, loss=loss, epsilon=epsilon)[1:]
            L = only(bounds, loss=loss, epsilon=epsilon)["lipschitz"]
            m = mine[0]["inner_steps"] / mine[0]["epoch"]
            ax.plot(
                [r["epoch"] for r in mine],
                [m * r["step_size_median"] for r in mine],
                color=PALETTE[k],
                label=f"ε = {epsilon:g}",
            )
            for bound, line in ((1 / (L + epsilon), ":"), (1 / epsilon, "--")):
                ax.axhline(bound, color=PALETTE[k], linestyle=line, linewidth=1)
        ax.set_yscale("log")
        ax.set(title=_NAMES[loss], xlabel="Epoch")
    axes[0].set_ylabel("m × step size (median)")
    axes[0].plot([], [], "--", color="grey", linewidth=1, label="upper bound 1/ε")
    axes[0].plot([], [], ":", color="grey", linewidth=1, label="lower bound 1/(L+ε)")
    shared_legend(figure, axes)
    return save(figure, folder, "bounds")
