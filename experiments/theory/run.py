"""Run the theory experiment: measure what the theorem bounds, compute the bound, and ask what it would demand."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.growing import Parts
from experiments.methods import make_solver
from experiments.synthetic import N_COMPONENTS, N_OBJECTS, N_TRAIN, data, problem
from experiments.tables import Row, write_csv
from experiments.theory import curved
from experiments.theory.bounds import estimate_lipschitz, proof_conditions, smallest_gamma, theorem_inner_steps
from experiments.theory.config import FULL, QUICK, Config
from experiments.trials import Lab, Params
from experiments.watch import Watched
from nearer.objective import LocalObjective

EXPERIMENT = "theory"
_ROUNDING = 1e-9  # bounds are reached, up to rounding, where the curvature vanishes


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def trial(params: Params) -> dict[str, Any]:
    """Step size, objective and squared gradient norm by epoch; curvature at some points on the way.

    The squared norm is the mean over evenly spaced iterates of the epoch: those among which the theorem draws its
    output.
    """
    objective, X0, seed = problem(params)
    solver = make_solver("sbb", params["settings"], objective.n_objects, objective.n_comparisons)
    solver.max_epochs = params["epochs"]
    rng = np.random.default_rng([*seed, 1])
    curvature: list[float] = []
    squared: list[float] = []

    def look(X: np.ndarray, work: int) -> None:
        squared.append(float(np.linalg.norm(objective.value_and_gradient(X)[1])) ** 2)

    def at_the_end(row: Any, state: Any) -> None:
        every = params["curvature_every"]
        # the way is longest at the beginning, so every early point is measured
        if row.epoch <= every or row.epoch % every == 0:
            curvature.append(estimate_lipschitz(objective, state.X, rng))

    watched = Watched(Parts(objective), look, 2 * objective.n_comparisons // params["looks"])
    result = solver.solve(watched, X0, np.random.default_rng(seed), callbacks=[at_the_end])
    values = [row.objective for row in result.history]
    return {
        "steps": [row.step_size for row in result.history[1:]],
        "squared_gradient": np.reshape(squared, (-1, params["looks"])).mean(axis=1).tolist(),
        "fall": values[0] - min(values),
        "lipschitz": max(curvature),
        "single_lipschitz": _single_lipschitz(params, [X0, result.embedding], rng),
    }


def _single_lipschitz(params: Params, points: list[np.ndarray], rng: np.random.Generator) -> float:
    """Largest curvature of single comparisons at some points: the lemma behind the theorem is about these."""
    comparisons = data(params["seed"], params["draw"]).train
    drawn = rng.choice(len(comparisons), params["singles"], replace=False).tolist()
    singles = (LocalObjective(comparisons[[p]], params["loss"], N_COMPONENTS, n_jobs=1) for p in drawn)
    return max(estimate_lipschitz(one, X, rng, 10) for one in singles for X in points)


def curved_trial(params: Params) -> dict[str, Any]:
    """SBB_0 where curvature is bounded below."""
    return curved.run(params["seed"], params["draw"], params["epochs"], params["ridge"])


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    cases = [(loss, e) for loss in config.losses for e in config.epsilons]
    runs_of = [(draw, start) for draw in range(config.draws) for start in range(config.starts)]
    params = [
        {
            "loss": loss,
            "settings": {"epsilon": e, "first": None, "inner": 1.0},
            "seed": lab.seed,
            "draw": draw,
            "start": start,
            **{name: getattr(config, name) for name in ("epochs", "looks", "curvature_every", "singles")},
        }
        for loss, e in cases
        for draw, start in runs_of
    ]
    results = lab.collect(EXPERIMENT, "Theory", trial, params)
    curves, bounds = [], []
    for c, (loss, e) in enumerate(cases):
        found = results[c * len(runs_of) : (c + 1) * len(runs_of)]
        head = {"loss": loss, "epsilon": e / N_OBJECTS}
        L, single = (max(r[name] for r in found) for name in ("lipschitz", "single_lipschitz"))
        by_epoch = rate(found, L, single)
        curves += [{**head, **row} for row in by_epoch]
        last = {name: by_epoch[-1][name] for name in ("mean_squared_gradient", "bound", "bound_single")}
        bounds.append(
            {
                **head,
                "lipschitz": L,
                "single_lipschitz": single,
                **step_bounds([r["steps"] for r in found], 1 / (L + e / N_OBJECTS), N_OBJECTS / e),
                **last,
                **demands(L, e / N_OBJECTS),
            }
        )
    folder = lab.results(EXPERIMENT)
    write_csv(folder / "curves.csv", curves)
    write_csv(folder / "bounds.csv", bounds)
    write_csv(folder / "curved.csv", curved_runs(lab, config))
    return asdict(config)


def rate(runs: list[dict[str, Any]], lipschitz: float, single: float) -> list[Row]:
    """By epoch: the mean of |grad F|^2 over all iterates so far, and what the theorem bounds it by.

    The bound is ``(F(X_0) - F*) / (T gamma_S)``, with the lowest F of a run for F*, which makes it too small if
    anything; once with L of F, once with that of single comparisons. It is empty where gamma_S is not positive.
    """
    rows = []
    average = np.mean([np.cumsum(r["squared_gradient"]) / np.arange(1, len(r["steps"]) + 1) for r in runs], axis=0)
    steps = np.median([r["steps"] for r in runs], axis=0).tolist()
    for s, (value, step) in enumerate(zip(average.tolist(), steps), 1):
        row: Row = {"epoch": s, "inner_steps": s * N_TRAIN, "step_size_median": step, "mean_squared_gradient": value}
        for name, L in (("bound", lipschitz), ("bound_single", single)):
            gammas = [smallest_gamma(L, r["steps"][:s], N_TRAIN) for r in runs]
            limits = [r["fall"] / (s * N_TRAIN * gamma) for r, gamma in zip(runs, gammas)]
            row[name] = float(np.mean(limits)) if min(gammas) > 0 else None
        rows.append(row)
    return rows


def step_bounds(runs: list[list[float]], lower: float, upper: float) -> Row:
    """How m times the steps after the first, which is measured, lie between two bounds.

    L in the lower bound is the largest curvature found on the way: an estimate from below, so a step under the bound
    may mean that the sharpest point was missed.
    """
    scaled = np.concatenate([N_TRAIN * np.array(steps[1:], dtype=float) for steps in runs])
    return {
        "steps": len(scaled),
        "below": int(np.sum(scaled < lower * (1 - _ROUNDING))),
        "above": int(np.sum(scaled > upper * (1 + _ROUNDING))),
        "smallest_to_lower_bound": float((scaled / lower).min()),
        "largest_to_upper_bound": float((scaled / upper).max()),
    }


def demands(lipschitz: float, epsilon: float) -> Row:
    """The m that the theorem asks for, as printed and corrected, and what its proof's second condition is there."""
    out: Row = {}
    for name, corrected in (("printed", False), ("corrected", True)):
        m = theorem_inner_steps(lipschitz, epsilon, corrected)
        out[f"m_{name}"] = m
        out[f"condition1_{name}"], out[f"condition2_{name}"] = proof_conditions(lipschitz, 1 / (m * epsilon), m)
    return out


def curved_runs(lab: Lab, config: Config) -> list[Row]:
    """Steps of SBB_0 where curvature is bounded below, against both of their bounds."""
    params = [
        {"seed": lab.seed, "draw": draw, "epochs": config.curved_epochs, "ridge": config.ridge}
        for draw in range(config.draws)
    ]
    rows = []
    for p, r in zip(params, lab.collect(EXPERIMENT, "Theory, SBB_0", curved_trial, params)):
        steps = np.array(r["steps"])
        outside = (steps < (1 - 1e-6) / r["highest"]) | (steps > (1 + 1e-6) / r["lowest"])
        rows.append(
            {
                "draw": p["draw"],
                "steps": len(steps),
                "outside": int(outside.sum()),
                "mu": r["lowest"],
                "lipschitz": r["highest"],
                "smallest": float(steps.min()),
                "largest": float(steps.max()),
            }
        )
    return rows
