"""Run the theory experiment: measure what the theorem bounds, and ask what it would demand."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from experiments.methods import make_solver
from experiments.synthetic import N_COMPONENTS, N_OBJECTS, N_TRAIN, TARGET, data, problem
from experiments.tables import Row, write_csv
from experiments.theory.bounds import estimate_lipschitz, theorem_inner_steps
from experiments.theory.config import FULL, QUICK, Config
from experiments.trials import Lab, Params
from nearer.objective import LocalObjective

EXPERIMENT = "theory"


def config_for(lab: Lab) -> Config:
    """The configuration in force."""
    config = QUICK if lab.quick else FULL
    return config if lab.trials is None else replace(config, starts=lab.trials)


def trial(params: Params) -> dict[str, Any]:
    """Step size, squared gradient norm and training error by epoch; curvature at some points on the way.

    The gradient norm is that at the snapshots, one in m of the iterates among which the theorem draws its output.
    """
    objective, X0, seed = problem(params)
    solver = make_solver("sbb", params["settings"], objective.n_objects, objective.n_comparisons)
    solver.max_epochs, solver.record_error = params["epochs"], True
    rng = np.random.default_rng([*seed, 1])
    curvature: list[float] = []

    def look(row: Any, state: Any) -> None:
        every = params["curvature_every"]
        # the way is longest at the beginning, so every early point is measured
        if every and (row.epoch <= every or row.epoch % every == 0):
            curvature.append(estimate_lipschitz(objective, state.X, rng))

    result = solver.solve(objective, X0, np.random.default_rng(seed), callbacks=[look])
    return {
        "steps": [row.step_size for row in result.history],
        "squared_gradient": [row.grad_norm**2 for row in result.history],
        "error": [row.train_error for row in result.history],
        "lipschitz": max(curvature, default=None),
        "single_lipschitz": _single_lipschitz(params, [X0, result.embedding], rng),
    }


def _single_lipschitz(params: Params, points: list[np.ndarray], rng: np.random.Generator) -> float | None:
    """Largest curvature of single comparisons at some points: the lemma behind the theorem is about these."""
    comparisons = data(params["seed"]).train
    drawn = rng.choice(len(comparisons), params["singles"], replace=False).tolist()
    singles = (LocalObjective(comparisons[[p]], params["loss"], N_COMPONENTS, n_jobs=1) for p in drawn)
    return max((estimate_lipschitz(one, X, rng, 10) for one in singles for X in points), default=None)


def run(lab: Lab) -> dict[str, Any]:
    """Run what is missing and write the tables; returns the settings in force."""
    config = config_for(lab)
    cases = [(loss, e, start) for loss in config.losses for e in config.epsilons for start in range(config.starts)]
    params = [
        _params(lab, loss, e, start, config.epochs, config.curvature_every, config.singles) for loss, e, start in cases
    ]
    results = lab.collect(EXPERIMENT, "Theory", trial, params)
    folder = lab.results(EXPERIMENT)
    steps, bounds, rates = [], [], []
    for c in range(0, len(cases), config.starts):
        loss, e, _ = cases[c]
        found = results[c : c + config.starts]
        head = {"loss": loss, "epsilon": e / N_OBJECTS}
        lipschitz = [r["lipschitz"] for r in found]
        bounds.append(
            {
                **head,
                **step_bounds([r["steps"] for r in found], e / N_OBJECTS, lipschitz),
                "single_lipschitz": max(r["single_lipschitz"] for r in found),
            }
        )
        curves, rate = rate_of_decay([r["squared_gradient"] for r in found])
        rates.append({**head, **rate})
        steps += [{**head, **row} for row in curves]
        for row, size in zip(steps[-len(curves) :], np.median([r["steps"][1:] for r in found], axis=0).tolist()):
            row["step_size_median"] = size
    write_csv(folder / "curves.csv", steps)
    write_csv(folder / "bounds.csv", bounds)
    write_csv(folder / "rates.csv", rates)
    write_csv(folder / "demands.csv", demands(lab, config, bounds))
    return asdict(config)


def step_bounds(runs: list[list[float]], epsilon: float, lipschitz: list[float]) -> Row:
    """How the steps after the first lie between 1 / (m (L + epsilon)) and 1 / (m epsilon).

    L is the largest curvature found on the way of a run: an estimate from below, so a step under the lower bound may
    mean that the sharpest point was missed.
    """
    below = above = total = 0
    lowest, highest = math.inf, 0.0
    for steps, L in zip(runs, lipschitz):
        scaled = N_TRAIN * np.array(steps[2:], dtype=float)
        lower, upper = 1.0 / (L + epsilon), 1.0 / epsilon
        rounding = 1e-9  # the bounds are reached, up to rounding, where the curvature vanishes
        below += int(np.sum(scaled < lower * (1 - rounding)))
        above += int(np.sum(scaled > upper * (1 + rounding)))
        total += len(scaled)
        lowest = min(lowest, float((scaled / lower).min()))
        highest = max(highest, float((scaled / upper).max()))
    return {
        "lipschitz": max(lipschitz),
        "steps": total,
        "below": below,
        "above": above,
        "smallest_to_lower_bound": lowest,
        "largest_to_upper_bound": highest,
    }


def rate_of_decay(runs: list[list[float]]) -> tuple[list[Row], Row]:
    """Mean of |grad F|^2 over the first s epochs, which is what the theorem bounds by C / T, T = m s.

    Returns
    -------
    rows by epoch (mean over the starts), {slope of log mean against log T in the second half of the epochs, ...}
    """
    average = np.mean([np.cumsum(g[1:]) / np.arange(1, len(g)) for g in runs], axis=0)
    epochs = np.arange(1, len(average) + 1)
    later = epochs > len(epochs) // 2
    slope = float(np.polyfit(np.log(epochs[later]), np.log(average[later]), 1)[0])
    scaled = epochs * average
    rows = [
        {"epoch": int(s), "inner_steps": int(s) * N_TRAIN, "mean_squared_gradient": float(a)}
        for s, a in zip(epochs, average)
    ]
    return rows, {
        "slope": slope,
        "constant_early": float(scaled[: max(1, len(scaled) // 10)].max()),
        "constant_late": float(scaled[later].max()),
    }


def demands(lab: Lab, config: Config, bounds: list[Row]) -> list[Row]:
    """What the theorem would need for the estimated L, and how far its settings get in practice.

    The theorem as printed speaks of the L of F. The lemma that it rests on needs the L of every single comparison,
    which is larger. Both are worked out, with m = N: the smallest epsilon that the theorem allows, against the 0.005
    that the authors used for t-STE.
    """
    rows: list[Row] = []
    for loss in config.losses:
        mine = [row for row in bounds if row["loss"] == loss]
        lipschitz = {name: max(row[name] for row in mine) for name in ("lipschitz", "single_lipschitz")}
        cases = {
            "0.005": 0.005,
            "theorem, L of F": smallest_epsilon(lipschitz["lipschitz"], N_TRAIN),
            "theorem, L of single comparisons": smallest_epsilon(lipschitz["single_lipschitz"], N_TRAIN),
        }
        params = [
            _params(lab, loss, epsilon * N_OBJECTS, start, config.practice_epochs)
            for epsilon in cases.values()
            for start in range(config.starts)
        ]
        results = lab.collect(EXPERIMENT, f"Theory in practice, {loss}", trial, params)
        for k, (case, epsilon) in enumerate(cases.items()):
            errors = [r["error"] for r in results[k * config.starts : (k + 1) * config.starts]]
            epochs = [next((s for s, e in enumerate(error) if e <= TARGET), None) for error in errors]
            reached = [s for s in epochs if s is not None]
            rows.append(
                {
                    "loss": loss,
                    "case": case,
                    **lipschitz,
                    "m": N_TRAIN,
                    "epsilon": epsilon,
                    "theorem_m": theorem_inner_steps(lipschitz["lipschitz"], epsilon),
                    "theorem_m_single": theorem_inner_steps(lipschitz["single_lipschitz"], epsilon),
                    "starts": config.starts,
                    "reached": len(reached),
                    "epochs_to_target": float(np.mean(reached)) if reached else None,
                    "epochs": config.practice_epochs,
                    "error_at_end": float(np.median([error[-1] for error in errors])),
                }
            )
    return rows


def smallest_epsilon(lipschitz: float, m: int) -> float:
    """The smallest epsilon for which m inner steps satisfy the theorem, by bisection on its logarithm."""
    low, high = 1e-12, 1.0
    while theorem_inner_steps(lipschitz, high) > m:
        high *= 2.0
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if theorem_inner_steps(lipschitz, middle) <= m else (middle, high)
    return high


def _params(
    lab: Lab, loss: str, epsilon: float, start: int, epochs: int, curvature_every: int = 0, singles: int = 0
) -> Params:
    return {
        "loss": loss,
        "settings": {"epsilon": epsilon, "first": None, "inner": 1.0},
        "seed": lab.seed,
        "start": start,
        "epochs": epochs,
        "curvature_every": curvature_every,
        "singles": singles,
    }
