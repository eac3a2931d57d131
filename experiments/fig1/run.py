"""Run Figure 1: follow the step size of each rule, and its test error, over the epochs."""

from __future__ import annotations

import itertools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.fig1.config import FULL, QUICK, Config
from experiments.fig2.run import test_objectives
from experiments.methods import AUTHORS, LOSSES, make_solver
from experiments.synthetic import problem
from experiments.tables import Row, write_csv
from experiments.trials import Lab, Params

EXPERIMENT = "fig1"
CHANCE = 0.5
RULES = {"bb": "BB", "sbb0": "SBB$_0$", "sbb": "SBB$_ε$"}


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def trial(params: Params) -> dict[str, Any]:
    """Step size and test error of the epochs of one run."""
    objective, X0, seed = problem(params)
    part = test_objectives(params["seed"], params["draw"], params["n_test"])[1]
    solver = make_solver(params["method"], params["settings"], objective.n_objects, objective.n_comparisons)
    solver.max_epochs = params["epochs"]
    errors: list[float] = []
    result = solver.solve(
        objective, X0, np.random.default_rng(seed), callbacks=[lambda row, state: errors.append(part.error(state.X))]
    )
    steps = [row.step_size for row in result.history[1:]]
    lost = params["epochs"] - len(steps)  # epochs after a run has diverged: its error is that of chance
    return {"steps": steps, "test_error": errors[1:] + [CHANCE] * lost, "diverged": lost > 0 and not result.converged}


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    params = [
        {
            "loss": loss,
            "method": rule,
            "settings": AUTHORS[loss]["sbb0" if rule == "bb" else rule],
            "seed": lab.seed,
            "draw": draw,
            "start": start,
            "epochs": config.epochs,
            "n_test": config.n_test,
        }
        for loss in LOSSES
        for rule in RULES
        for draw in range(config.draws)
        for start in range(config.starts)
    ]
    results = lab.collect(EXPERIMENT, "Figure 1", trial, params)
    steps: list[Row] = []
    jumps: list[Row] = []
    for p, r in zip(params, results):
        head = {"loss": p["loss"], "rule": p["method"], "draw": p["draw"], "start": p["start"]}
        steps += [
            {**head, "epoch": epoch, "step_size": step, "test_error": error}
            for epoch, (step, error) in enumerate(itertools.zip_longest(r["steps"], r["test_error"]), 1)
        ]
        jumps.append({**head, "diverged": r["diverged"], **summarise(r["steps"], r["test_error"], config.early)})
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "steps.csv", steps)
    write_csv(folder / "jumps.csv", jumps)
    return asdict(config)


def summarise(steps: list[float], errors: list[float], early: int) -> Row:
    """How much the step sizes of a run vary, and how often its error rises, at first and later.

    Returns
    -------
    dict
        ``range``: the largest step to the smallest. ``early_jump``, ``late_jump``: typical (geometric mean) ratio of
        neighbouring steps, the larger to the smaller. ``early_rise``, ``late_rise``: sum of all rises of the error from
        one epoch to the next. ``negative``: steps below 0. The first step is given, so ratios start with the second.
    """
    sizes = np.abs(np.array(steps[1:], dtype=float))
    logs, rises = np.abs(np.diff(np.log(sizes))), np.maximum(np.diff(errors), 0.0)
    return {
        "steps": len(steps),
        "epochs": len(errors),
        "negative": sum(step < 0 for step in steps[1:]),
        "range": float(sizes.max() / sizes.min()),
        "early_jump": float(np.exp(logs[: early - 1].mean())),
        "late_jump": float(np.exp(logs[early - 1 :].mean())) if len(logs) >= early else None,
        "early_rise": float(rises[: early - 1].sum()),
        "late_rise": float(rises[early - 1 :].sum()),
    }
