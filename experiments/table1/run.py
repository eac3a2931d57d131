"""Run Table 1: tune every method on a grid, then measure it from many starts."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from experiments.methods import ABLATED, AUTHORS, EXTRAS, GROWING, METHODS, STOCHASTIC, absolute, pairs
from experiments.synthetic import N_OBJECTS, N_TRAIN, TARGET, chosen, problem, tune
from experiments.table1.config import FULL, QUICK, Config
from experiments.tables import Row, spread, write_csv
from experiments.trials import Lab, Params
from experiments.watch import reach

EXPERIMENT = "table1"
TUNED = (*METHODS, *GROWING, *ABLATED)


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def tuning(lab: Lab) -> list[Row]:
    """The grids, tried; Figure 2 uses them too."""
    config = config_for(lab)
    sizes = {"budget": config.tuning_budget, "starts": config.tuning_starts}
    return tune(lab, pairs(TUNED), **sizes, every=config.tuning_every, rounds=config.tuning_rounds)


def trial(params: Params) -> dict[str, Any]:
    """Work and seconds to the target from one start."""
    objective, X0, seed = problem(params)
    limits = {"most": params["most"], "repeats": params["repeats"]}
    return reach(params["method"], params["settings"], objective, X0, seed, target=TARGET, **limits)


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    grid_rows = tuning(lab)
    best = chosen(grid_rows, "target")
    cases = [("tuned", loss, method, best[loss, method]) for loss, method in pairs(TUNED)]
    cases += [("none to choose", loss, method, {}) for loss, method in pairs(tuple(EXTRAS))]
    cases += [("authors", loss, method, AUTHORS[loss][method]) for loss, method in pairs(STOCHASTIC)]
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": settings,
            "seed": lab.seed,
            "start": start,
            "most": config.most,
            "repeats": config.repeats,
        }
        for _, loss, method, settings in cases
        for start in range(config.starts)
    ]
    results = lab.collect(EXPERIMENT, "Table 1", trial, params, timed=True)
    runs: list[Row] = []
    summary: list[Row] = []
    for c, (source, loss, method, settings) in enumerate(cases):
        found = results[c * config.starts : (c + 1) * config.starts]
        head = {"settings": source, "loss": loss, "method": method}
        runs += [
            {**head, "start": k, "work": None if r["work"] is None else r["work"] / N_TRAIN, "seconds": r["seconds"]}
            for k, r in enumerate(found)
        ]
        mine = runs[-config.starts :]
        summary.append(
            {
                **head,
                "values": absolute(method, settings, N_OBJECTS, N_TRAIN),
                "starts": config.starts,
                "reached": sum(row["work"] is not None for row in mine),
                **spread([row["work"] for row in mine], "work"),
                **spread([row["seconds"] for row in mine], "seconds"),
            }
        )
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "tuning.csv", grid_rows)
    write_csv(folder / "runs.csv", runs)
    write_csv(folder / "table1.csv", summary)
    write_csv(folder / "scaling.csv", scaling(lab, config, best))
    return {"target": TARGET, **asdict(config)}


def scaling(lab: Lab, config: Config, best: dict) -> list[Row]:
    """The convex method against SVRG-SBB as the number of objects grows."""
    cases = [(loss, m, n) for n in config.scaling_objects for loss in ("hinge", "ste") for m in ("cvx", "sbb")]
    params = [
        {
            "loss": loss,
            "method": method,
            "settings": best[loss, method],
            "seed": lab.seed,
            "start": start,
            "most": config.most,
            "repeats": 1,
            "n_objects": n,
        }
        for loss, method, n in cases
        for start in range(config.scaling_starts)
    ]
    results = lab.collect(EXPERIMENT, "Table 1, more objects", trial, params, timed=True)
    rows = []
    for c, (loss, method, n) in enumerate(cases):
        found = results[c * config.scaling_starts : (c + 1) * config.scaling_starts]
        work = [None if r["work"] is None else r["work"] / (N_TRAIN * n // N_OBJECTS) for r in found]
        rows.append(
            {
                "loss": loss,
                "method": method,
                "n_objects": n,
                **spread(work, "work"),
                **spread([r["seconds"] for r in found], "seconds"),
            }
        )
    return rows
