"""The settings of loss "auto", chosen without a set of human answers and judged on it.

    python -m benchmarks.left_out [--splits 5] [--studies 4] [--quick]

For each set of `benchmarks.human`, the design of highest mean gain in accuracy on `tste` over the other sets and over
simulated studies (`benchmarks.auto_loss`; all of these groups count the same) is judged on the answers of this set,
held out by question in 1, 2, 3, 5 and 8 dimensions. Gains are in points, ± half the width of the 95 % interval over
questions; "over cblearn" is the mean difference to its best entry in each cell, from ``results/human.csv``.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from benchmarks.auto_loss import CHOSEN_ON, MUST
from benchmarks.common import RESULTS, save, table
from benchmarks.human.entries import Outcome, measures
from benchmarks.human.sets import Split, declared, load, split_of
from nearer import Comparisons, OrdinalEmbedding
from nearer.auto_loss import CHOICE, Constants, choose_loss
from nearer.losses import CKLLoss, STELoss, TSTELoss
from nearer.metrics import comparison_error
from nearer.metrics.by_answer import sampling_error
from nearer.objective import LocalObjective
from nearer.solvers import Auto

DIMENSIONS = (1, 2, 3, 5, 8)
DESIGNS = {
    "as it is": CHOICE,
    "ckl as well": replace(CHOICE, losses=(*CHOICE.losses, CKLLoss())),
    "tste with alpha 10 as well": replace(CHOICE, losses=(TSTELoss(), TSTELoss(alpha=10.0), STELoss())),
    "more penalties": replace(CHOICE, penalties=(0.1, 0.03, 0.01, 0.003, 0.001)),
    "closer to the optimum": replace(CHOICE, tol=5e-4, patience=4),
    "15 % held out": replace(CHOICE, held_out=0.15, enough_held_out=300),
}


def fitted(train: Comparisons, d: int, seed: int, design: Constants | None) -> OrdinalEmbedding:
    """A map by a design, or with the loss `tste`."""
    loss: Any = "tste"
    solver: Any = "auto"
    if design is not None:
        objective = LocalObjective(train, loss, d, 1)
        loss, penalty, scale = choose_loss(objective, int(train.seen.sum()), 1, design)
        solver = Auto(penalty=penalty, scale=scale)
    return OrdinalEmbedding(d, loss=loss, solver=solver, n_jobs=1, random_state=seed).fit(train)


def right(split: Split, model: OrdinalEmbedding) -> np.ndarray:
    """Which answers of a test set a map satisfies, float (m,)."""
    return measures(split, Outcome(model.predict(split.test), None, 0.0))[0].astype(float)


def gains_on(name: str, d: int, n_splits: int) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]]:
    """For each split: gains of the designs and, as "tste", its accuracy, by answer (m,); weights and questions (m,)."""
    for number in range(n_splits):
        split = split_of(load(name), "question", number)
        before = right(split, fitted(split.train, d, number, None))
        gains = {key: right(split, fitted(split.train, d, number, how)) - before for key, how in DESIGNS.items()}
        yield gains | {"tste": before}, split.weights, split.unit


def simulated(n_studies: int) -> dict[str, float]:
    """Mean gain of each design on simulated studies."""
    found: dict[str, list[float]] = {key: [] for key in DESIGNS}
    for study in [*MUST, *CHOSEN_ON]:
        for seed in range(n_studies):
            train, test = study.answers(seed)
            before = comparison_error(fitted(train, study.d, seed, None).embedding_, test)
            for key, how in DESIGNS.items():
                found[key].append(before - comparison_error(fitted(train, study.d, seed, how).embedding_, test))
    return {key: float(np.mean(gains)) for key, gains in found.items()}


def best_of_cblearn(name: str, d: int, n_splits: int) -> float | None:
    """Accuracy of the best entry of cblearn in a cell; None if it was not run on all of the splits."""
    accuracies: dict[str, list[float]] = {}
    with (RESULTS / "human.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            cell = row["set"], row["grouping"], row["d"], row["entry"].startswith("cblearn")
            if cell == (name, "question", str(d), True) and int(row["split"]) < n_splits and row["accuracy"]:
                accuracies.setdefault(row["entry"], []).append(float(row["accuracy"]))
    complete = [float(np.mean(found)) for found in accuracies.values() if len(found) == n_splits]
    return max(complete, default=None)


def judged(names: list[str], n_splits: int, n_studies: int) -> list[dict[str, Any]]:
    """A row for each set that is left out."""
    groups = {"simulations": simulated(n_studies)}
    cells: dict[str, list[Any]] = {}
    for name in names:
        cells[name] = [list(gains_on(name, d, n_splits)) for d in DIMENSIONS]
        parts = [part for cell in cells[name] for part in cell]
        groups[name] = {key: float(np.mean([np.average(g[key], weights=w) for g, w, _ in parts])) for key in DESIGNS}
        print(name, {key: round(100 * gain, 2) for key, gain in groups[name].items()}, flush=True)
    rows = []
    for name in names:
        others = [gains for group, gains in groups.items() if group != name]
        chosen = max(DESIGNS, key=lambda key: sum(gains[key] for gains in others))
        # Cells of a set share their answers: their errors are taken as fully dependent.
        errors = [
            sampling_error(*(np.concatenate(each) for each in zip(*[(g[chosen], w) for g, w, _ in cell])),
                           [np.concatenate([unit for *_, unit in cell])])
            for cell in cells[name]
        ]  # fmt: skip
        over = []
        for d, cell in zip(DIMENSIONS, cells[name]):
            if (best := best_of_cblearn(name, d, n_splits)) is not None:
                over.append(np.mean([np.average(g["tste"] + g[chosen], weights=w) for g, w, _ in cell]) - best)
        rows.append({
            "left out": name, "chosen": chosen, "gain on tste": 100 * groups[name][chosen],
            "±": 100 * float(norm.ppf(0.975) * np.mean(errors)), "as it is": 100 * groups[name]["as it is"],
            "best on this set": 100 * max(groups[name].values()),
            "over cblearn": 100 * float(np.mean(over)) if over else None, "splits": n_splits,
        })  # fmt: skip
    mean = {key: float(np.mean([row[key] for row in rows])) for key in ("gain on tste", "as it is", "best on this set")}
    rows.append({"left out": "mean", **mean})
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5, help="of five folds over questions")
    parser.add_argument("--studies", type=int, default=4, help="simulated studies of each kind")
    parser.add_argument("--quick", action="store_true", help="cars only, one split; nothing is saved")
    options = parser.parse_args(arguments)
    names = ["cars"] if options.quick else list(declared())
    n_splits, n_studies = (1, 1) if options.quick else (options.splits, options.studies)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = judged(names, n_splits, n_studies)
    print(table(rows))
    if not options.quick:
        print(f"written to {save('left_out', rows)}")


if __name__ == "__main__":
    main()
