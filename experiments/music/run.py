"""Run the music experiment: fit on 80 % of the judgements, predict the rest."""

from __future__ import annotations

import functools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.data import load_music
from experiments.methods import Settings, absolute, grid, pairs
from experiments.music.config import AUTHORS, FULL, QUICK, Config
from experiments.search import Point, search, untried
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.data import Comparisons
from nearer.metrics import comparison_error
from nearer.objective import LocalObjective

EXPERIMENT = "music"


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, splits=lab.trials)


@functools.lru_cache(maxsize=2)
def parts(seed: int, split: int, tuning: bool) -> tuple[Comparisons, Comparisons]:
    """Training and test judgements of a split; while tuning, its training part is split once more."""
    train, test = load_music().split(0.2, random_state=np.random.default_rng([seed, 7, split]))
    return train.split(0.2, random_state=np.random.default_rng([seed, 8, split])) if tuning else (train, test)


def trial(params: Params) -> dict[str, Any]:
    """Test error and training error of one fit at several amounts of work, (gradients / N)."""
    seed, split = params["seed"], params["split"]
    train, test = parts(seed, split, params["tuning"])
    objective = LocalObjective(train, params["loss"], params["n_components"], n_jobs=1)
    X0 = np.random.default_rng([seed, 9, split]).random((train.n_objects, params["n_components"]))
    arguments = params["method"], params["settings"], objective, X0, [seed, 10, split]

    def errors(X: np.ndarray) -> dict[str, float]:
        return {"test_error": comparison_error(X, test), "train_error": objective.error(X)}

    found, _, spent = trace(*arguments, at=params["budgets"], measure=errors)
    return {"at": found, "seconds": spent["seconds"]}


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    grids = [row for split in range(config.splits) for row in tuning(lab, config, split)]
    cases, horizons = [], dict(config.horizons)
    for row in grids:
        if row["chosen"]:
            longer = [config.more * config.budget] if row["method"] == "cvx" else []
            cases.append(("tuned", row["loss"], row["method"], row["settings"], row["split"], longer))
    for split in range(config.splits):
        for loss, method in pairs():
            longer = [] if method == "cvx" else [horizons[loss]]
            cases.append(("authors", loss, method, AUTHORS[loss][method], split, longer))
    params = [
        _params(lab, config, loss, method, settings, split, [config.budget, *longer])
        for _, loss, method, settings, split, longer in cases
    ]
    results = lab.collect(EXPERIMENT, "Music", trial, params)
    runs: list[Row] = [
        {"settings": source, "budget": budget, "loss": loss, "method": method, "split": split,
         **{name: round(error, 5) for name, error in found.items()}}
        for (source, loss, method, _, split, _), one, r in zip(cases, params, results)
        for budget, found in zip(one["budgets"], r["at"])
    ]  # fmt: skip
    groups: dict[tuple, list[Row]] = {}
    for row in runs:
        groups.setdefault(tuple(row[name] for name in ("settings", "budget", "loss", "method")), []).append(row)
    summary = [
        {
            **dict(zip(("settings", "budget", "loss", "method"), key)),
            "splits": len(mine),
            **spread([row["test_error"] for row in mine], "test_error"),
            **spread([row["train_error"] for row in mine], "train_error"),
        }
        for key, mine in groups.items()
    ]
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grids)
    write_csv(folder / "runs.csv", runs)
    write_csv(folder / "music.csv", summary)
    return asdict(config)


def tuning(lab: Lab, config: Config, split: int) -> list[Row]:
    """Search on the training part of a split: least error on a fifth of it that is not fitted."""
    train = parts(lab.seed, split, True)[0]

    def attempt(points: list[Point]) -> list[Row]:
        params = [_params(lab, config, *point, split, [config.budget], tuning=True) for point in points]
        results = lab.collect(EXPERIMENT, "tuning on music", trial, params)
        return [
            {
                "split": split, "loss": loss, "method": method, "settings": settings,
                "absolute": absolute(method, settings, train.n_objects, len(train)),
                "validation_error": round(r["at"][0]["test_error"], 5), "chosen": False, "untried": "",
            }
            for (loss, method, settings), r in zip(points, results)
        ]  # fmt: skip

    points = [(*pair, s) for pair in pairs() for s in grid(pair[1], config.tuning_every)]
    rows = search(points, attempt, [lambda row: row["validation_error"]], config.tuning_rounds)
    for loss, method in pairs():
        mine = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
        chosen = min(mine, key=lambda row: row["validation_error"])
        chosen |= {"chosen": True, "untried": " ".join(untried(mine, chosen))}
    return rows


def _params(
    lab: Lab, config: Config, loss: str, method: str, settings: Settings, split: int, budgets: list[int],
    tuning: bool = False,
) -> Params:  # fmt: skip
    return {
        "loss": loss, "method": method, "settings": settings, "seed": lab.seed, "split": split, "tuning": tuning,
        "n_components": config.n_components, "budgets": budgets,
    }  # fmt: skip
