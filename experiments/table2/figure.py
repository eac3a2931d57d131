"""Draw Table 2: MAP of every method by noise."""

from __future__ import annotations

from pathlib import Path

from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.table2.config import TITLES
from experiments.tables import read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw mean and standard deviation of MAP, one row of panels for each dataset; returns the files written."""
    rows = read_csv(folder / "table2.csv")
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = panels(3, len(datasets), width=4.2, height=3.4, sharex=True, sharey="row")
    for k, ax in enumerate(axes):
        dataset, (loss, title) = datasets[k // 3], list(LOSSES.items())[k % 3]
        for m, method in enumerate(["raw", *METHODS]):
            mine = where(rows, dataset=dataset, loss=None if method == "raw" else loss, method=method)
            if not mine:
                continue
            x = [100 * row["noise"] + 0.12 * (m - 3) for row in mine]  # side by side, so that bars do not overlap
            y, spread = [row["map_mean"] for row in mine], [row["map_std"] or 0.0 for row in mine]
            ax.errorbar(x, y, yerr=spread, marker="o", markersize=4, capsize=2, label=LABELS[method], **look(method))
        ax.set_xticks([100 * noise for noise in sorted({row["noise"] for row in rows})])
        ax.set_title(f"{TITLES[dataset]}, {title}")
        if k // 3 == len(datasets) - 1:
            ax.set_xlabel("Triplets swapped, %")
        if k % 3 == 0:
            ax.set_ylabel("MAP (mean ± s.d.)")
    shared_legend(figure, axes)
    return save(figure, folder, "table2")
