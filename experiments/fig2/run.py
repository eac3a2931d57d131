"""Run Figure 2: test error of every method as its work grows."""

from __future__ import annotations

import functools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.fig2.config import FULL, QUICK, Config
from experiments.methods import AUTHORS, GROWING, METHODS, STOCHASTIC, pairs
from experiments.synthetic import N_COMPONENTS, chosen, data, problem
from experiments.table1.run import tuning
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import trace
from nearer.objective import LocalObjective

EXPERIMENT = "fig2"


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


@functools.lru_cache(maxsize=2)
def test_objectives(seed: int, n_test: int) -> tuple[LocalObjective, LocalObjective]:
    """All test triplets, and a random part of them for the curves. The loss plays no part in an error."""
    held_out = data(seed).test
    part = np.random.default_rng([seed, 3]).choice(len(held_out), min(n_test, len(held_out)), replace=False)
    return tuple(LocalObjective(c, "hinge", N_COMPONENTS, n_jobs=1) for c in (held_out, held_out[np.sort(part)]))


def trial(params: Params) -> dict[str, Any]:
    """Test error of one run at the given amounts of work, and at its end on all test triplets."""
    objective, X0, seed = problem(params)
    everything, part = test_objectives(params["seed"], params["n_test"])
    arguments = params["method"], params["settings"], objective, X0, seed
    errors, X, _ = trace(*arguments, at=params["at"], measure=part.error)
    return {"test_error": errors, "final_test_error": everything.error(X), "final_train_error": objective.error(X)}


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    best = chosen(tuning(lab), "curve")
    cases = [("tuned", loss, method, best[loss, method]) for loss, method in pairs((*METHODS, *GROWING))]
    cases += [("authors", loss, method, AUTHORS[loss][method]) for loss, method in pairs(STOCHASTIC)]
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": settings,
            "seed": lab.seed,
            "start": start,
            "at": list(config.at),
            "n_test": config.n_test,
        }
        for _, loss, method, settings in cases
        for start in range(config.starts)
    ]
    results = lab.collect(EXPERIMENT, "Figure 2", trial, params)
    curves: list[Row] = []
    final: list[Row] = []
    for c, (source, loss, method, _) in enumerate(cases):
        found = results[c * config.starts : (c + 1) * config.starts]
        head = {"settings": source, "loss": loss, "method": method}
        quartiles = np.quantile([r["test_error"] for r in found], [0.25, 0.5, 0.75], axis=0)
        curves += [
            {**head, "work": work, "q25": q[0], "median": q[1], "q75": q[2]}
            for work, q in zip(config.at, quartiles.T.tolist())
        ]
        final.append(
            {
                **head,
                "work": config.at[-1],
                **spread([r["final_test_error"] for r in found], "test_error"),
                **spread([r["final_train_error"] for r in found], "train_error"),
            }
        )
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "curves.csv", curves)
    write_csv(folder / "final.csv", final)
    return {"tuning": "the grids of table1, by the mean training error over the budget", **asdict(config)}
