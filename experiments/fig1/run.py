"""Run Figure 1: follow the step size of each rule over the epochs."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.fig1.config import FULL, QUICK, Config
from experiments.methods import Settings, make_solver
from experiments.synthetic import N_OBJECTS, N_TRAIN, problem
from experiments.tables import Row, write_csv
from experiments.trials import Lab, Params

EXPERIMENT = "fig1"
RULES = {"bb": "BB", "sbb0": "SBB$_0$", "sbb": "SBB$_{0.005}$"}


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def trial(params: Params) -> dict[str, Any]:
    """Step sizes of the epochs of one run, and how it ended."""
    objective, X0, seed = problem(params)
    solver = make_solver(params["method"], params["settings"], objective.n_objects, objective.n_comparisons)
    solver.max_epochs = params["epochs"]
    result = solver.solve(objective, X0, np.random.default_rng(seed))
    steps = [row.step_size for row in result.history[1:]]
    return {"steps": steps, "message": result.message, "error": objective.error(result.embedding)}


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    first = config.first_step * N_TRAIN / N_OBJECTS
    settings: dict[str, Settings] = {
        "bb": {"first": first, "inner": 1.0},
        "sbb0": {"first": first, "inner": 1.0},
        "sbb": {"epsilon": config.epsilon * N_OBJECTS, "first": first, "inner": 1.0},
    }
    params = [
        {
            "loss": config.loss,
            "method": rule,
            "settings": settings[rule],
            "seed": lab.seed,
            "start": start,
            "epochs": config.epochs,
        }
        for rule in RULES
        for start in range(config.starts)
    ]
    results = lab.collect(EXPERIMENT, "Figure 1", trial, params)
    steps: list[Row] = []
    for p, r in zip(params, results):
        head = {"rule": p["method"], "start": p["start"]}
        steps += [{**head, "epoch": epoch, "step_size": step} for epoch, step in enumerate(r["steps"], 1)]
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "steps.csv", steps)
    summary = []
    for k, rule in enumerate(RULES):
        mine = results[k * config.starts : (k + 1) * config.starts]
        summary.append({"rule": rule, **summarise([r["steps"] for r in mine], config), **_endings(mine, config)})
    write_csv(folder / "summary.csv", summary)
    return asdict(config)


def summarise(runs: list[list[float]], config: Config) -> Row:
    """How much the step sizes jump: ratio of neighbouring sizes (the larger to the smaller), early and later.

    The first step is given, not computed, so ratios start with the second.
    """
    early: list[float] = []
    late: list[float] = []
    for steps in runs:
        sizes = np.abs(np.array(steps[1:], dtype=float))
        jumps = np.exp(np.abs(np.diff(np.log(sizes)))) if len(sizes) > 1 else np.empty(0)
        early += jumps[: config.early].tolist()
        late += jumps[config.early :].tolist()
    negative = sum(step < 0 for steps in runs for step in steps[1:])
    return {
        "starts": len(runs),
        "steps": sum(max(len(steps) - 1, 0) for steps in runs),
        "negative_steps": negative,
        "early_jump_median": float(np.median(early)) if early else None,
        "early_jump_max": float(np.max(early)) if early else None,
        "late_jump_median": float(np.median(late)) if late else None,
        "late_jump_max": float(np.max(late)) if late else None,
    }


def _endings(results: list[dict[str, Any]], config: Config) -> Row:
    finished = sum(len(r["steps"]) == config.epochs for r in results)
    return {"runs_to_the_end": finished, "median_error": float(np.median([r["error"] for r in results]))}
