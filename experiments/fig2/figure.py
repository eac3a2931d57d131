"""Draw Figure 2 from its table."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.tables import Row, read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw test error against work, once for tuned settings and once for the authors'; returns the files written."""
    rows = read_csv(folder / "curves.csv")
    short = min(row["work"] for row in _ends(rows))
    return [
        *_draw(folder, where(rows, settings="tuned"), "fig2", None),
        *_draw(folder, where(rows, settings="authors"), "fig2_authors", short),
    ]


def _ends(rows: list[Row]) -> list[Row]:
    """The last row of each curve."""
    last = {(row["settings"], row["loss"], row["method"]): row for row in rows}
    return list(last.values())


def _draw(folder: Path, rows: list[Row], name: str, horizon: float | None) -> list[Path]:
    """One panel for each loss; a line marks the shorter horizon."""
    figure, axes = panels(3, width=4.4, height=4.0, sharey=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        for method in METHODS:
            mine = where(rows, loss=loss, method=method)
            if not mine:
                continue
            work = [row["work"] for row in mine]
            style = look(method)
            ax.fill_between(
                work, [r["q25"] for r in mine], [r["q75"] for r in mine], color=style["color"], alpha=0.2, linewidth=0
            )
            ax.plot(work, [row["median"] for row in mine], label=LABELS[method], **style)
        if horizon is not None:
            ax.axvline(horizon, color="black", linewidth=0.8, linestyle=":")
            ax.set_xscale("log")
        else:
            ax.set_xlim(left=0)
        ax.set_ylim(0, 0.52)
        ax.set(title=title, xlabel="Gradients of single triplets / N")
    axes[0].set_ylabel("Test error (median, 25-75 % band)")
    shared_legend(figure, axes)
    return save(figure, folder, name)
