"""Run Figure 2: test error of every method as its work grows."""

from __future__ import annotations

import functools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.fig2.config import FULL, QUICK, Config
from experiments.methods import pairs
from experiments.synthetic import N_COMPONENTS, chosen, data, problem
from experiments.table1 import run as table1
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.objective import LocalObjective

EXPERIMENT = "fig2"


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


@functools.lru_cache(maxsize=4)
def test_objectives(seed: int, draw: int, n_test: int) -> tuple[LocalObjective, LocalObjective]:
    """All test triplets, and a random part of them for the curves. The loss plays no part in an error."""
    held_out = data(seed, draw).test
    part = np.random.default_rng([seed, 3, draw]).choice(len(held_out), min(n_test, len(held_out)), replace=False)
    return tuple(LocalObjective(c, "hinge", N_COMPONENTS, n_jobs=1) for c in (held_out, held_out[np.sort(part)]))


def trial(params: Params) -> dict[str, Any]:
    """Test error of one run at the given amounts of work; at some, the horizons, on all test triplets."""
    objective, X0, seed = problem(params)
    everything, part = test_objectives(params["seed"], params["draw"], params["n_test"])
    arguments = params["method"], params["settings"], objective, X0, seed
    points, _, _ = trace(*arguments, at=params["at"], measure=lambda X: X)
    ends = {at: X for at, X in zip(params["at"], points) if at in params["horizons"]}
    return {
        "test_error": [part.error(X) for X in points],
        "ends": [{"horizon": at, "test": everything.error(X), "train": objective.error(X)} for at, X in ends.items()],
    }


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config, first = config_for(lab), table1.config_for(lab)
    best = chosen(table1.tuning(lab), "curve")
    cases = [(source, *pair) for source in ("tuned", "authors") for pair in pairs()]
    runs_of = [(draw, start) for draw in range(first.draws) for start in range(config.starts)]
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": table1.settings_of(source, draw, loss, method, best),
            "seed": lab.seed,
            "draw": draw,
            "start": start,
            "at": marks(config, config.end(source, loss)),
            "horizons": [config.horizon, config.end(source, loss)],
            "n_test": config.n_test,
        }
        for source, loss, method in cases
        for draw, start in runs_of
    ]
    results = lab.collect(EXPERIMENT, "Figure 2", trial, params)
    curves: list[Row] = []
    early: list[Row] = []
    ends: list[Row] = []
    for c, (source, loss, method) in enumerate(cases):
        mine = slice(c * len(runs_of), (c + 1) * len(runs_of))
        found, at = results[mine], params[mine][0]["at"]
        head = {"settings": source, "loss": loss, "method": method}
        quartiles = np.quantile([r["test_error"] for r in found], [0.25, 0.5, 0.75], axis=0)
        curves += [
            {**head, "work": w, "q25": q[0], "median": q[1], "q75": q[2]} for w, q in zip(at, quartiles.T.tolist())
        ]
        for (draw, start), r in zip(runs_of, found):
            one = {**head, "draw": draw, "start": start}
            ends += [
                {**one, "horizon": e["horizon"], "test_error": e["test"], "train_error": e["train"]} for e in r["ends"]
            ]
            early += [{**one, "work": w, "test_error": e} for w, e in zip(at, r["test_error"]) if w in config.early]
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "curves.csv", curves)
    write_csv(folder / "early.csv", early)
    write_csv(folder / "ends.csv", ends)
    write_csv(folder / "final.csv", summarise(ends))
    return {"tuning": "that of table1, by the mean training error over the budget", **asdict(config)}


def marks(config: Config, end: int) -> list[int]:
    """Amounts of work, in gradients / N, at which a run is looked at."""
    spaced = np.unique(np.round(np.geomspace(1, end, config.marks)).astype(int)).tolist()
    return sorted({*spaced, *config.early, min(config.horizon, end)})


def summarise(ends: list[Row]) -> list[Row]:
    """Mean and spread of the errors at each horizon."""
    groups: dict[tuple, list[Row]] = {}
    for row in ends:
        groups.setdefault((row["settings"], row["loss"], row["method"], row["horizon"]), []).append(row)
    return [
        {
            **dict(zip(("settings", "loss", "method", "horizon"), key)),
            **spread([row["test_error"] for row in rows], "test_error"),
            **spread([row["train_error"] for row in rows], "train_error"),
        }
        for key, rows in groups.items()
    ]
