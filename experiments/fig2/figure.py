"""Draw Figure 2 from its table."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import GROWING, LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.tables import Row, read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw test error against work, once for tuned settings and once for the authors'; returns the files written."""
    rows = read_csv(folder / "curves.csv")
    return [*_draw(folder, rows, "tuned", "fig2"), *_draw(folder, rows, "authors", "fig2_authors")]


def _draw(folder: Path, rows: list[Row], settings: str, name: str) -> list[Path]:
    figure, axes = panels(3, width=4.4, height=4.0, sharey=True)
    for ax, (loss, title) in zip(axes, LOSSES.items()):
        for method in (*METHODS, *GROWING):
            mine = where(rows, settings=settings, loss=loss, method=method)
            if not mine:
                continue
            work = [row["work"] for row in mine]
            style = look(method)
            ax.fill_between(
                work, [r["q25"] for r in mine], [r["q75"] for r in mine], color=style["color"], alpha=0.2, linewidth=0
            )
            ax.plot(work, [row["median"] for row in mine], label=LABELS[method], **style)
        ax.set_ylim(0, 0.52)
        ax.set_xlim(left=0)
        ax.set(title=title, xlabel="Gradients of single triplets / N")
    axes[0].set_ylabel("Test error (median, 25-75 % band)")
    shared_legend(figure, axes)
    return save(figure, folder, name)
