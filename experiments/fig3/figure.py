"""Draw Figure 3 from its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.table2.config import TITLES
from experiments.tables import Row, read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw Recall@K by each procedure, one row of panels for each dataset; returns the files written."""
    rows = read_csv(folder / "recall.csv")
    return [
        *_draw(folder, where(rows, procedure="printed"), "fig3"),
        *_draw(folder, where(rows, procedure="authors"), "fig3_authors"),
    ]


def _draw(folder: Path, rows: list[Row], name: str) -> list[Path]:
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = panels(3, len(datasets), width=4.2, height=3.4, sharex=True, sharey="row")
    for k, ax in enumerate(axes):
        dataset, (loss, title) = datasets[k // 3], list(LOSSES.items())[k % 3]
        for method in ["raw", *METHODS]:
            mine = where(rows, dataset=dataset, loss=None if method == "raw" else loss, method=method)
            if not mine:
                continue
            K = [row["k"] for row in mine]
            mean = np.array([row["recall_mean"] for row in mine])
            spread = np.array([row["recall_std"] or 0.0 for row in mine])
            style = look(method)
            ax.fill_between(K, mean - spread, mean + spread, color=style["color"], alpha=0.12, linewidth=0)
            ax.plot(K, mean, marker="o", markersize=3, label=LABELS[method], **style)
        ax.set_title(f"{TITLES[dataset]}, {title}")
        if k // 3 == len(datasets) - 1:
            ax.set_xlabel("K")
        if k % 3 == 0:
            ax.set_ylabel("Recall@K (mean ± s.d.)")
    shared_legend(figure, axes)
    return save(figure, folder, name)
