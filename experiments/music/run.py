"""Run the music experiment: fit on 80 % of the judgements, predict the rest."""

from __future__ import annotations

import functools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.data import load_music
from experiments.methods import EXTRAS, GROWING, METHODS, Settings, absolute, grid, pairs
from experiments.music.config import FULL, QUICK, Config
from experiments.search import Point, search, untried
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.data import Comparisons
from nearer.metrics import comparison_error
from nearer.objective import LocalObjective

EXPERIMENT = "music"
# The split on which the grids are tried has this number; those of the experiment count from 0.
TUNING_SPLIT = 1_000_000


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, splits=lab.trials)


@functools.lru_cache(maxsize=2)
def parts(seed: int, split: int) -> tuple[Comparisons, Comparisons]:
    """Training and test judgements of a split."""
    return load_music().split(0.2, random_state=np.random.default_rng([seed, 7, split]))


def trial(params: Params) -> dict[str, Any]:
    """Test error of one fit; in tuning, the error on a fifth of the training part, whose rest is fitted."""
    train, test = parts(params["seed"], params["split"])
    if params["split"] == TUNING_SPLIT:
        train, test = train.split(0.2, random_state=np.random.default_rng([params["seed"], 8, params["split"]]))
    objective = LocalObjective(train, params["loss"], params["n_components"], n_jobs=1)
    X0 = np.random.default_rng([params["seed"], 9, params["split"]]).random((train.n_objects, params["n_components"]))
    arguments = params["method"], params["settings"], objective, X0, [params["seed"], 10, params["split"]]
    _, X, spent = trace(*arguments, at=[params["budget"]], measure=lambda X: None)
    spent["work"] /= len(train)
    return {"test_error": comparison_error(X, test), "train_error": objective.error(X), **spent}


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    train = parts(lab.seed, TUNING_SPLIT)[0]
    tuned = pairs((*METHODS, *GROWING))

    def attempt(points: list[Point]) -> list[Row]:
        params = [_params(lab, config, *point, TUNING_SPLIT) for point in points]
        return [
            {
                "loss": loss,
                "method": method,
                "settings": settings,
                "absolute": absolute(method, settings, train.n_objects, len(train) - round(0.2 * len(train))),
                "validation_error": r["test_error"],
                "train_error": r["train_error"],
                "chosen": False,
                "untried": "",
            }
            for (loss, method, settings), r in zip(points, lab.collect(EXPERIMENT, "tuning on music", trial, params))
        ]

    points = [(*pair, s) for pair in tuned for s in grid(pair[1], config.tuning_every)]
    grids = search(points, attempt, [lambda row: row["validation_error"]], config.tuning_rounds)
    for loss, method in tuned:
        mine = [row for row in grids if (row["loss"], row["method"]) == (loss, method)]
        chosen = min(mine, key=lambda row: row["validation_error"])
        chosen |= {"chosen": True, "untried": " ".join(untried(mine, chosen))}
    best = {(row["loss"], row["method"]): row["settings"] for row in grids if row["chosen"]}
    cases = [(*pair, split) for pair in pairs((*METHODS, *GROWING, *EXTRAS)) for split in range(config.splits)]
    params = [_params(lab, config, loss, m, best.get((loss, m), {}), k) for loss, m, k in cases]
    results = lab.collect(EXPERIMENT, "Music", trial, params)
    runs: list[Row] = [{"loss": loss, "method": m, "split": k, **r} for (loss, m, k), r in zip(cases, results)]
    summary = []
    for loss, method in pairs((*METHODS, *GROWING, *EXTRAS)):
        mine = [row for row in runs if (row["loss"], row["method"]) == (loss, method)]
        line: Row = {"loss": loss, "method": method, "splits": len(mine)}
        for name in ("test_error", "train_error", "work", "seconds"):
            line |= spread([row[name] for row in mine], name)
        summary.append(line)
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grids)
    write_csv(folder / "runs.csv", runs)
    write_csv(folder / "music.csv", summary)
    return asdict(config)


def _params(lab: Lab, config: Config, loss: str, method: str, settings: Settings, split: int) -> Params:
    return {
        "loss": loss,
        "method": method,
        "settings": settings,
        "seed": lab.seed,
        "split": split,
        "n_components": config.n_components,
        "budget": config.cvx_budget if method == "cvx" else config.budget,
    }
