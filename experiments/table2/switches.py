"""How MAP at the highest noise changes as one difference of the authors' programs after the other is switched on."""

from __future__ import annotations

from pathlib import Path

from scipy.stats import kendalltau

from experiments.claims_retrieval import shortest
from experiments.methods import LOSSES, METHODS
from experiments.tables import PAPER, Row, read_csv, where

# Settings and procedure of every column; "all" is all that the programs do after the embedding.
COLUMNS: dict[str, tuple[str, str | None]] = {
    "tuned": ("tuned", None),
    "authors' settings": ("authors", None),
    "+ query": ("authors", "query"),
    "+ width": ("authors", "width"),
    "+ width, unit": ("authors", "width+unit"),
    "+ kernel": ("authors", "kernel"),
    "+ kernel, width": ("authors", "kernel+width"),
    "+ all": ("authors", "all"),
    "+ all, unit": ("authors", "all, unit"),
    "+ programs": ("programs", "all"),
    "+ imaginary": ("programs", "imaginary"),
}
_WHOLE = {"all": "", "all, unit": "+unit", "imaginary": "+imaginary"}  # only the convex method has eigenpairs
PRINTED = "paper"
Grid = dict[tuple[str, str, str], dict[str, float]]
"""MAP by dataset, loss and method, then by column; the paper's own figures are in a column too."""


def read_grid(folder: Path) -> Grid:
    """MAP of the longest runs at the authors' settings, and of tuned ones after equal work."""
    rows, paper = read_csv(folder / "switches.csv"), where(read_csv(PAPER / "table2.csv"), noise=0.1)
    grid: Grid = {}
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        for loss in LOSSES:
            cell = where(rows, dataset=dataset, loss=loss)
            for method in METHODS:
                found = {name: _value(cell, method, *column) for name, column in COLUMNS.items()}
                found[PRINTED] = next((row["map"] for row in where(paper, loss=loss, method=method)), None)
                known = {name: value for name, value in found.items() if value is not None}
                if known:
                    grid[dataset, loss, method] = known
    return grid


def agreement(grid: Grid, dataset: str, loss: str, column: str) -> float | None:
    """Kendall's tau between the order of methods in a column and that in the paper; None if there is no such column."""
    cells = [grid[dataset, loss, m] for m in METHODS if (dataset, loss, m) in grid]
    both = [cell for cell in cells if column in cell and PRINTED in cell]
    if len(both) < 2:
        return None
    return float(kendalltau([cell[column] for cell in both], [cell[PRINTED] for cell in both]).statistic)


def _value(cell: list[Row], method: str, settings: str, procedure: str | None) -> float | None:
    if procedure in _WHOLE:
        procedure = "kernel+width+query" + ("+eigenpairs" if method == "cvx" else "") + _WHOLE[procedure]
        procedure = procedure if method == "cvx" else procedure.replace("+imaginary", "")
    kept = shortest(where(cell, settings=settings)) if settings == "tuned" else where(cell, settings=settings)
    found = sorted(where(kept, procedure=procedure, method=method), key=lambda row: row["budget"])
    return found[-1]["map_mean"] if found else None
