"""The synthetic problem of Table 1 and Figures 1 and 2: its draws, their random starts, and the tuning they share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from experiments.methods import METHODS, Settings, absolute, grid, pairs
from experiments.problems import make_table1
from experiments.search import Point, search, untried
from experiments.tables import Row
from experiments.trials import Lab, Params
from experiments.watch import reach, trace
from nearer.datasets import SyntheticData
from nearer.objective import LocalObjective

N_OBJECTS, N_COMPONENTS, N_TRAIN = 100, 10, 10_000
TARGET = 0.15
# A draw is a problem with a tuning of its own, on another problem: none of those is one of an experiment.
TUNING_DRAW = 1_000_000


@functools.lru_cache(maxsize=4)
def data(seed: int, draw: int = 0, n_objects: int = N_OBJECTS) -> SyntheticData:
    """The problem of a draw, with 100 n training triplets and, at the paper's size, all others as test triplets."""
    n_train = N_TRAIN * n_objects // N_OBJECTS
    n_test = None if n_objects == N_OBJECTS and draw < TUNING_DRAW else 1
    rng = np.random.default_rng([seed, 0, draw])
    return make_table1(rng, n=n_objects, d=N_COMPONENTS, n_train=n_train, n_test=n_test)


def problem(params: Params) -> tuple[LocalObjective, np.ndarray, list[int]]:
    """Objective, start (n, d) and seed of the run for a trial.

    The start is uniform on [0, 1), as in the authors' scripts.
    """
    seed, draw, start = params["seed"], params["draw"], params["start"]
    n_objects = params.get("n_objects", N_OBJECTS)
    train = data(seed, draw, n_objects).train
    X0 = np.random.default_rng([seed, 1, draw, start]).random((n_objects, N_COMPONENTS))
    return LocalObjective(train, params["loss"], N_COMPONENTS, n_jobs=1), X0, [seed, 2, draw, start]


def tuning_trial(params: Params) -> dict[str, Any]:
    """Work to the target, and training error at each multiple of N gradients up to the budget."""
    objective, X0, seed = problem(params)
    arguments = params["method"], params["settings"], objective, X0, seed
    work = reach(*arguments, target=TARGET, most=params["budget"], repeats=0)["work"]
    at = [float(k) for k in range(1, params["budget"] + 1)]
    errors, _, _ = trace(*arguments, at=at, measure=objective.error)
    return {"work": work, "mean_error": float(np.mean(errors))}


def tune(lab: Lab, draw: int, *, budget: int, starts: int, every: int, rounds: int) -> list[Row]:
    """Search the settings of every loss and method for a draw, on a problem of its own.

    Returns
    -------
    list of rows
        One for each point tried: mean work to the target over the starts that reach it, how many do, and the
        mean training error over the budget. ``chosen_for`` says which point is best by the first (most starts, then
        least work: "target") and by the second ("curve"). Both count work, never time, so a seed decides them.
        ``untried`` names the axes on which a chosen point was not passed on both sides.
    """

    def attempt(points: list[Point]) -> list[Row]:
        params = [
            {
                "loss": loss,
                "method": method,
                "settings": settings,
                "seed": lab.seed,
                "draw": TUNING_DRAW + draw,
                "start": start,
                "budget": budget,
            }
            for loss, method, settings in points
            for start in range(starts)
        ]
        results = lab.collect("table1", "tuning on the synthetic data", tuning_trial, params)
        return [_tried(draw, point, results[p * starts : (p + 1) * starts]) for p, point in enumerate(points)]

    points = [(*pair, s) for pair in pairs(tuple(METHODS)) for s in grid(pair[1], every)]
    rows = search(points, attempt, [_to_target, _over_budget], rounds)
    for loss, method in pairs(tuple(METHODS)):
        mine = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
        by_target, by_curve = min(mine, key=_to_target), min(mine, key=_over_budget)
        by_target["chosen_for"] = "target"
        by_curve["chosen_for"] = "target and curve" if by_curve is by_target else "curve"
        for best in (by_target, by_curve):
            best["untried"] = " ".join(untried(mine, best))
    return rows


def _tried(draw: int, point: Point, results: list[dict[str, Any]]) -> Row:
    """The row of a point from the results of its starts."""
    loss, method, settings = point
    works = [r["work"] / N_TRAIN for r in results if r["work"] is not None]
    return {
        "draw": draw,
        "loss": loss,
        "method": method,
        "settings": settings,
        "absolute": absolute(method, settings, N_OBJECTS, N_TRAIN),
        "starts": len(results),
        "reached": len(works),
        "work": float(np.mean(works)) if works else None,
        "mean_error": float(np.mean([r["mean_error"] for r in results])),
        "chosen_for": "",
        "untried": "",
    }


def _to_target(row: Row) -> tuple:
    return -row["reached"], row["work"] or np.inf, row["mean_error"]


def _over_budget(row: Row) -> float:
    return row["mean_error"]


def chosen(rows: list[Row], purpose: str) -> dict[tuple[int, str, str], Settings]:
    """The settings chosen for a purpose ("target" or "curve"), by draw, loss and method."""
    return {(row["draw"], row["loss"], row["method"]): row["settings"] for row in rows if purpose in row["chosen_for"]}
