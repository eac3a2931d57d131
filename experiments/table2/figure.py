"""Draw Table 2: MAP by noise, by procedure, and what becomes of the convex method's eigenpairs."""

from __future__ import annotations

from pathlib import Path

from experiments.claims_retrieval import shortest
from experiments.methods import LOSSES, METHODS
from experiments.style import LABELS, look, panels, save, shared_legend
from experiments.table2.config import CATEGORIES, TITLES
from experiments.table2.switches import COLUMNS, PRINTED, read_grid
from experiments.tables import read_csv, where


def draw(folder: Path) -> list[Path]:
    """Draw all figures from the tables in `folder`; returns the files written."""
    files = [*_draw_noise(folder), *_draw_switches(folder)]
    return [*files, *_draw_eigenpairs(folder)] if read_csv(folder / "steps.csv") else files


def _draw_noise(folder: Path) -> list[Path]:
    """Mean and standard deviation of MAP after equal work, tuned and as printed."""
    rows = where(read_csv(folder / "table2.csv"), procedure=None)
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = panels(3, len(datasets), width=4.2, height=3.4, sharex=True, sharey="row")
    for k, ax in enumerate(axes):
        dataset, (loss, title) = datasets[k // 3], list(LOSSES.items())[k % 3]
        tuned = shortest(where(rows, dataset=dataset, loss=loss, settings="tuned"))
        for m, method in enumerate(["raw", *METHODS]):
            mine = where(rows, dataset=dataset, method="raw") if method == "raw" else where(tuned, method=method)
            x = [100 * row["noise"] + 0.12 * (m - 3) for row in mine]  # side by side, so that bars do not overlap
            y, spread = [row["map_mean"] for row in mine], [row["map_std"] or 0.0 for row in mine]
            if mine:
                ax.errorbar(
                    x, y, yerr=spread, marker="o", markersize=4, capsize=2, label=LABELS[method], **look(method)
                )
        ax.set_xticks([100 * noise for noise in sorted({row["noise"] for row in rows})])
        ax.set_title(f"{TITLES[dataset]}, {title}")
        if k // 3 == len(datasets) - 1:
            ax.set_xlabel("Triplets swapped, %")
        if k % 3 == 0:
            ax.set_ylabel("MAP (mean ± s.d.)")
    shared_legend(figure, axes)
    return save(figure, folder, "table2")


def _draw_switches(folder: Path) -> list[Path]:
    """MAP at the highest noise as one difference of the authors' programs after the other is switched on."""
    grid, columns = read_grid(folder), [*COLUMNS, PRINTED]
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in grid))
    figure, axes = panels(3, len(datasets), width=5.4, height=3.8, sharex=True, sharey="row")
    for k, ax in enumerate(axes):
        dataset, (loss, title) = datasets[k // 3], list(LOSSES.items())[k % 3]
        for method in METHODS:
            found = grid.get((dataset, loss, method), {})
            x = [columns.index(name) for name in found]
            style = {**look(method), "linewidth": 1.0}
            if found:
                ax.plot(x, list(found.values()), marker="o", markersize=4, label=LABELS[method], **style)
        ax.set_xticks(range(len(columns)), columns, fontsize=7, rotation=35, ha="right")
        ax.set_title(f"{TITLES[dataset]}, {title}")
        if k % 3 == 0:
            ax.set_ylabel("MAP at the highest noise")
    shared_legend(figure, axes)
    return save(figure, folder, "switches")


def _draw_eigenpairs(folder: Path) -> list[Path]:
    """The spectrum before the last projection, and MAP by step size from the largest and from the first eigenpairs."""
    steps, spectra = read_csv(folder / "steps.csv"), read_csv(folder / "spectrum.csv")
    dataset = steps[0]["dataset"]
    figure, axes = panels(2, 2, width=5.4, height=3.4)
    for k, loss in enumerate(("hinge", "ste")):
        values = [row["eigenvalue"] for row in where(spectra, dataset=dataset, loss=loss)]
        taken = CATEGORIES[dataset]
        left, right = axes[2 * k], axes[2 * k + 1]
        left.plot(range(1, len(values) + 1), values, ".", color="#6b7280", markersize=3)
        left.plot(range(1, taken + 1), values[:taken], "o", color="#D55E00", markersize=4, label="first (smallest)")
        top = range(len(values) - taken + 1, len(values) + 1)
        left.plot(top, values[-taken:], "o", color="#0072B2", markersize=4, label="largest")
        left.set_yscale("symlog", linthresh=1e-3)
        left.set(title=f"{TITLES[dataset]}, {LOSSES[loss]}, authors' step", ylabel="Eigenvalue", xlabel="Rank")
        for name, colour, line, label in (
            (None, "#0072B2", "-", "largest, map as printed"),
            ("eigenpairs", "#D55E00", "-", "first, map as printed"),
            ("kernel+width+query", "#0072B2", "--", "largest, authors' map"),
            ("kernel+width+query+eigenpairs", "#D55E00", "--", "first, authors' map"),
            ("kernel+width+query+eigenpairs+imaginary", "#D55E00", ":", "first, authors' map, imaginary"),
        ):
            mine = sorted(where(steps, dataset=dataset, loss=loss, procedure=name), key=lambda row: row["step"])
            x, y = [row["step"] for row in mine], [row["map"] for row in mine]
            right.plot(x, y, line, marker="o", markersize=3, color=colour, label=label)
        own = where(steps, dataset=dataset, loss=loss, authors=True)[0]["step"]
        right.axvline(own, color="#6b7280", linestyle=":", label="authors' step")
        right.set_xscale("log")
        right.set(title=f"{TITLES[dataset]}, {LOSSES[loss]}", xlabel="Step of projected gradient, over n", ylabel="MAP")
    shared_legend(figure, axes, most_columns=4)
    return save(figure, folder, "eigenpairs")
