"""What held-out answers are good for where there are few: to stop early, to choose a penalty, or nothing.

    python -m benchmarks.held_out [--repeats 4]

Maps of more than three dimensions from 2 to 7 answers per coordinate, synthetic and, where `NEARER_DATA` is set, human,
with every loss. The penalty is what the default solver does. How it is chosen was decided on the problems "chosen on";
those "aside" were not used before, but for tste, which was left without a penalty until it did well on them. Those of
"fewer than 1,000" answers are aside, too, and made five times as often; there tste goes without a penalty.

Errors are in per cent of answers not seen, which are right ones (of people: other answers of theirs); times are
processor times, as the median ratio to a fit with all answers and no penalty.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from experiments.data import load_music

from benchmarks.common import save, table
from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.losses import loss_names
from nearer.metrics import comparison_error
from nearer.solvers import Auto

Data = tuple[Comparisons, Comparisons, int]


def synthetic(n: int, d: int, per_object: int, noise: float, clusters: bool = False) -> Callable[[int], Data]:
    """Normal points, or five clusters of them: train, test and dimension by number of the repeat."""

    def made(repeat: int) -> Data:
        points = make_points(n, d, random_state=repeat)
        if clusters:
            points = 0.4 * points + 3.0 * make_points(5, d, random_state=100 + repeat)[np.arange(n) % 5]
        left = n * (n - 1) * (n - 2) // 2 - n * per_object  # questions not asked
        data = make_comparisons(points, n * per_object, min(20_000, left), noise=noise, random_state=repeat)
        return data.train, data.test, d

    return made


CHOSEN_ON = {
    "200 objects, 5-d, 30 each": synthetic(200, 5, 30, 0.0),
    "200 objects, 5-d, 30 each, 10 % wrong": synthetic(200, 5, 30, 0.1),
    "1000 objects, 5-d, 20 each, 5 % wrong": synthetic(1000, 5, 20, 0.05),
}
ASIDE = {
    "150 objects, 6-d, 25 each, 10 % wrong": synthetic(150, 6, 25, 0.1),
    "400 objects, 8-d, 40 each": synthetic(400, 8, 40, 0.0),
    "400 objects, 4-d, 25 each, 20 % wrong": synthetic(400, 4, 25, 0.2),
    "250 objects in clusters, 6-d, 30 each, 5 % wrong": synthetic(250, 6, 30, 0.05, clusters=True),
}
VERY_FEW = {
    "25 objects, 4-d, 20 each, 10 % wrong": synthetic(25, 4, 20, 0.1),
    "40 objects, 5-d, 20 each, 15 % wrong": synthetic(40, 5, 20, 0.15),
    "30 objects, 6-d, 12 each": synthetic(30, 6, 12, 0.0),
    "20 objects in clusters, 4-d, 15 each, 5 % wrong": synthetic(20, 4, 15, 0.05, clusters=True),
}
WAYS = {
    "all": Auto(penalty=0.0),
    "penalty": Auto(),
    "early stopping": Auto(penalty=0.0, validation_fraction=0.1),
}


def music(repeat: int) -> Data:
    return *load_music().split(0.2, random_state=repeat), 9


def rows_of(name: str, group: str, data: Callable[[int], Data], repeats: int) -> list[dict[str, Any]]:
    """One row per loss."""
    rows = []
    problems = [data(repeat) for repeat in range(repeats)]
    for loss in loss_names():
        errors: dict[str, list[float]] = {way: [] for way in WAYS}
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        for repeat, (train, test, d) in enumerate(problems):
            for way, solver in WAYS.items():
                model = OrdinalEmbedding(
                    d, loss=loss, solver=solver, n_objects=train.n_objects, n_jobs=1, random_state=repeat
                )
                started = time.process_time()
                model.fit(train)
                seconds[way].append(time.process_time() - started)
                errors[way].append(comparison_error(model.embedding_, test))
        ratio = {way: float(np.median(np.array(seconds[way]) / seconds["all"])) for way in WAYS}
        rows.append({
            "data": group, "problem": name, "loss": loss,
            **{f"{way} %": 100 * float(np.mean(errors[way])) for way in WAYS},
            "penalty time": ratio["penalty"], "early stopping time": ratio["early stopping"], "repeats": repeats,
        })  # fmt: skip
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args(arguments)
    rows = []
    groups = {"chosen on": dict(CHOSEN_ON), "aside": ASIDE, "fewer than 1,000": VERY_FEW}
    if os.environ.get("NEARER_DATA"):
        groups["chosen on"]["music, 9-d"] = music
    for group, problems in groups.items():
        for name, data in problems.items():
            rows += rows_of(name, group, data, options.repeats * (5 if problems is VERY_FEW else 1))
    print(table(rows))
    print(f"written to {save('held_out', rows)}")


if __name__ == "__main__":
    main()
