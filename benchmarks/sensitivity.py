"""SVRG-SBB and fixed-step SVRG over three decades of epsilon, of the inner length m and of the first step.

    python -m benchmarks.sensitivity [--quick] [--only scans,sizes] [--losses ...] [--repeats 3]

Every run may spend the same work, `BUDGET` gradients per comparison; where it stands then is what counts: its
objective, as a fraction of the objective of no map (all points in one place), and its test error. Factors are relative
to the defaults: epsilon to that of `SBB` at m = N, m to the number of comparisons N, the first step to one over the
measured curvature. A fixed step is that first step throughout; with another m it stays what it is at m = N.

``sizes`` compares ways to choose epsilon without tuning, from 10 to a million objects.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from experiments.problems import make_table1

from benchmarks.common import save, table
from nearer.datasets import SyntheticData, make_comparisons, make_points
from nearer.losses import loss_names
from nearer.objective import LocalObjective
from nearer.solvers import SBB, SVRG, Constant, StepSize
from nearer.solvers.step_sizes import curvature_along_gradient

BUDGET = 66
FACTORS = tuple(float(f) for f in 10.0 ** np.arange(-1.5, 1.75, 0.5))
LENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SCANNED, QUICK_SCANNED = ("table1", "1000"), ("60",)
SIZES, QUICK_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000), (10, 60)
# Per object; the largest are there to see whether a rule carries over, so they get less data and fewer losses.
PER_OBJECT, PER_OBJECT_LARGEST = 40, 10
LARGE = 100_000
FEW_LOSSES = ("tste", "soe")
# Ways to choose epsilon, given the case; c is the curvature at the start.
EPSILONS: dict[str, Callable[[Case], float]] = {
    "default": lambda case: case.epsilon,
    "0.01 c": lambda case: 0.01 * case.curvature,
    "c": lambda case: case.curvature,
    "0.5 / n": lambda case: 0.5 / case.n,
    "0.005": lambda case: 0.005,
    "0": lambda case: 0.0,
}


def problem(name: str, seed: int) -> tuple[SyntheticData, int]:
    """Data and dimension; a name other than "table1" is the number of objects."""
    if name == "table1":
        return make_table1(random_state=seed), 10
    n = int(name)
    d = 2 if n < 100 else 5
    n_train = n * (PER_OBJECT if n < 1_000_000 else PER_OBJECT_LARGEST)
    n_test = min(20_000, n * (n - 1) * (n - 2) // 2 - n_train)
    n_train, n_test = (200, 160) if n == 10 else (n_train, n_test)
    return make_comparisons(make_points(n, d, random_state=seed), n_train, n_test, random_state=seed), d


class Case:
    """One problem with one loss and one start."""

    def __init__(self, name: str, loss: str, seed: int):
        data, d = problem(name, seed)
        self.objective = LocalObjective(data.train, loss, d)
        self.test = LocalObjective(data.test, loss, d)
        self.n, self.N, self.seed = data.train.n_objects, len(data.train), seed
        self.X0 = np.random.default_rng(seed).normal(size=(self.n, d))
        self.curvature = curvature_along_gradient(self.objective, self.objective.snapshot(self.X0))
        self.epsilon = float(SBB().measured(self.curvature, self.N, self.n).epsilon or 0.0)

    def run(self, step: StepSize, m: int | None = None, budget: float = BUDGET) -> tuple[float, float, bool]:
        """Objective over that of no map, test error, and whether the run stayed finite, when the budget is spent."""
        last: list[tuple[float, np.ndarray]] = []

        def watch(row: Any, state: Any) -> bool:
            if row.n_gradients <= budget * self.N:
                last[:] = [(row.objective, state.X.copy())]
            return row.n_gradients + self.N + 2 * (m or self.N) > budget * self.N

        solver = SVRG(step=step, inner_steps=m, max_epochs=10**9, tol=0)
        result = solver.solve(self.objective, self.X0, self.seed, [watch])
        value, X = last[0]
        return value / self.objective.value_at_zero(), self.test.error(X), "finite" not in result.message


def scans(case: Case) -> Iterator[tuple[str, str, float, StepSize, int | None]]:
    """What is varied, method, factor, step rule, m."""
    N = case.N
    first = 1.0 / (N * case.curvature)
    for factor in FACTORS:
        yield "epsilon", "svrg-sbb", factor, SBB(factor * case.epsilon), None
        yield "first step", "svrg-sbb", factor, SBB(first_step=factor * first), None
        yield "first step", "svrg", factor, Constant(factor * first), None
    for factor in LENGTHS:
        m = max(1, round(factor * N))
        yield "m", "svrg-sbb", factor, SBB(), m
        yield "m", "svrg", factor, Constant(first), m


def scan(names: tuple[str, ...], losses: list[str], repeats: int, budget: float) -> list[dict[str, Any]]:
    """One row per problem, loss, method and factor: medians over seeds."""
    found: dict[tuple[Any, ...], list[tuple[float, float, bool]]] = {}
    for name in names:
        for loss in losses:
            started = time.perf_counter()
            for seed in range(repeats):
                case = Case(name, loss, seed)
                for varied, method, factor, step, m in scans(case):
                    found.setdefault((name, loss, varied, method, factor), []).append(case.run(step, m, budget))
            print(f"{name} {loss}: {time.perf_counter() - started:.0f} s", flush=True)
    return [
        {
            "problem": name, "loss": loss, "varied": varied, "method": method, "factor": factor, "budget": budget,
            **medians(runs),
        }
        for (name, loss, varied, method, factor), runs in found.items()
    ]  # fmt: skip


def medians(runs: list[tuple[float, float, bool]]) -> dict[str, Any]:
    """Medians of objective and test error; runs that ceased to be finite are counted."""
    return {
        "objective": float(np.median([value for value, _, _ in runs])),
        "test error": float(np.median([error for _, error, _ in runs])),
        "diverged": sum(not finite for _, _, finite in runs),
        "repeats": len(runs),
    }


def over_sizes(sizes: tuple[int, ...], losses: list[str], repeats: int, budget: float) -> list[dict[str, Any]]:
    """One row per size, loss and way to choose epsilon."""
    rows = []
    for n in sizes:
        for loss in losses if n < LARGE else [loss for loss in losses if loss in FEW_LOSSES]:
            seeds = range(repeats if n < LARGE else 1)
            cases = [Case(str(n), loss, seed) for seed in seeds]
            for name, epsilon in EPSILONS.items():
                runs = [case.run(SBB(epsilon(case)), budget=budget) for case in cases]
                rows.append({"n": n, "loss": loss, "epsilon": name, "budget": budget, **medians(runs)})
            said = ", ".join(f"{row['epsilon']}: {row['objective']:.4f}" for row in rows[-len(EPSILONS) :])
            print(f"n = {n:,} {loss}: {said}", flush=True)
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", default="scans,sizes")
    parser.add_argument("--losses", default=",".join(loss_names()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--budget", type=float, default=BUDGET)
    options = parser.parse_args(arguments)
    suffix, losses = "-quick" if options.quick else "", options.losses.split(",")
    if "scans" in options.only:
        names = QUICK_SCANNED if options.quick else SCANNED
        rows = scan(names, losses, options.repeats, options.budget)
        print(table(rows), f"\nwritten to {save(f'sensitivity-scans{suffix}', rows)}", sep="")
    if "sizes" in options.only:
        sizes = QUICK_SIZES if options.quick else SIZES
        rows = over_sizes(sizes, losses, options.repeats, options.budget)
        print(table(rows), f"\nwritten to {save(f'sensitivity-sizes{suffix}', rows)}", sep="")


if __name__ == "__main__":
    main()
