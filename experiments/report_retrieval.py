"""The generated parts of the pages that are about retrieval and music."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.claims_retrieval import RIVALS, SETTINGS, cells, matched
from experiments.claims_synthetic import name_of
from experiments.decision import compare
from experiments.methods import LOSSES, METHODS
from experiments.table2.config import TITLES
from experiments.table2.switches import COLUMNS, PRINTED, agreement, read_grid
from experiments.tables import read_csv
from experiments.trials import Lab

Lines = tuple[Iterable[str], list[tuple[Any, ...]]]
"""Header and rows of a table."""


def switches(lab: Lab) -> Lines:
    """MAP of every method by what is switched on; below, how far the order of methods is that of the paper."""
    grid = read_grid(lab.results("table2"))
    columns = [*COLUMNS, PRINTED]
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _, _ in grid):
        for loss, title in LOSSES.items():
            for method in METHODS:
                found = grid.get((dataset, loss, method))
                if found:
                    values = (f"{found[name]:.3f}" if name in found else "-" for name in columns)
                    rows.append((TITLES[dataset], title, name_of(method), *values))
            taus = (agreement(grid, dataset, loss, name) for name in COLUMNS)
            order = ("-" if tau is None else f"{tau:+.2f}" for tau in taus)
            rows.append((TITLES[dataset], title, "order as in the paper (Kendall's τ)", *order, ""))
    return ("data", "loss", "method", *columns), rows


def duels(lab: Lab) -> Lines:
    """MAP of SBB_ε against every rival, as printed: median gain, pairs won, outcome."""
    runs = [row for row in read_csv(lab.results("table2") / "runs.csv") if row["procedure"] is None]
    rows = []
    for settings in SETTINGS:
        for dataset, loss, noise, cell in cells(runs, settings):
            outcomes = []
            for rival in (*RIVALS, "sbb0"):
                values = matched(cell, "sbb", rival, "map")
                case = compare("", *values, "score") if values[0] else None
                outcomes.append(f"{case.gain:+.3f} ({case.wins}/{case.pairs}) {case.outcome}" if case else "-")
            rows.append((settings, TITLES[dataset], LOSSES[loss], f"{100 * noise:g} %", *outcomes))
    return ("settings", "data", "loss", "noise", *(name_of(rival) for rival in (*RIVALS, "sbb0"))), rows


def music(lab: Lab) -> Lines:
    """Test error of every method by work."""
    rows = read_csv(lab.results("music") / "music.csv")
    lines = [
        (row["settings"], LOSSES[row["loss"]], name_of(row["method"]), row["budget"],
         f"{row['test_error_mean']:.3f} ± {row['test_error_std']:.3f}", f"{row['train_error_mean']:.3f}")
        for row in sorted(rows, key=lambda row: (list(LOSSES).index(row["loss"]), SETTINGS.index(row["settings"])))
    ]  # fmt: skip
    return ("settings", "loss", "method", "N gradients", "test error: mean ± std", "training error"), lines
