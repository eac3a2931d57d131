"""The default solver with each of its ingredients off in turn.

    python -m benchmarks.ablation [--quick] [--problems table1,medium,large] [--losses ...] [--repeats 3] [--limit 120]

Times are of the solver alone, taken in turn on the same data; the work is in gradients of single comparisons over N.
"""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from experiments.growing import WarmSVRG
from experiments.problems import make_table1

from benchmarks.common import save, spread, table
from nearer import OrdinalEmbedding
from nearer.datasets import SyntheticData, make_comparisons, make_points
from nearer.losses import HingeLoss, loss_names
from nearer.metrics import comparison_error
from nearer.solvers import LBFGS, SBB, SVRG, Auto, Progress, Solver, State, auto, penalty


def _all_data_begin(row: Any, state: Any) -> bool:
    """Stops a run where it would turn to all comparisons as they are."""
    return not state.provisional


@dataclass
class SmallStart(Auto):
    """The default solver from a start a hundred times smaller; the losses set the scale of a map to about one."""

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        return super().init(objective, 0.01 * X0, rng, progress)


VARIANTS: dict[str, tuple[Callable[[], Solver], dict[str, Any]]] = {
    "auto": (Auto, {}),
    "no stochastic start": (Auto, {}),
    "no growing batches": (Auto, {}),
    "no shrinkage": (Auto, {}),
    "no smoothing": (Auto, {}),
    "no last mile": (Auto, {"callbacks": [_all_data_begin]}),
    "small start": (SmallStart, {}),
    "one thread": (Auto, {"n_jobs": 1}),
    "L-BFGS alone": (LBFGS, {}),
    "SVRG-SBB alone": (lambda: SVRG(step=SBB()), {}),
    "SVRG-SBB, warm-up": (lambda: WarmSVRG(step=SBB()), {}),
}


def _without_warm_up() -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for module in (auto, penalty):
        stack.enter_context(patch.object(module, "adaptive_start", lambda batch, X, *_: State(X, None, 0)))
    return stack


WITHOUT: dict[str, Callable[[], Any]] = {  # what is replaced while a variant runs
    "no stochastic start": _without_warm_up,
    "no growing batches": lambda: patch.object(auto, "AUTO", replace(auto.AUTO, first_batch=math.inf)),
    "no shrinkage": lambda: patch.object(auto, "AUTO", replace(auto.AUTO, shrinkage=0.0)),
    "no smoothing": lambda: patch.object(HingeLoss, "smoothed", lambda loss, width=1.0: loss),
}


def problem(name: str, seed: int) -> tuple[SyntheticData, int]:
    """Data and dimension."""
    if name == "table1":
        return make_table1(random_state=seed), 10
    n, n_train = {"tiny": (60, 2_000), "medium": (1_000, 500_000), "large": (10_000, 2_000_000)}[name]
    points = make_points(n, 5, random_state=seed)
    return make_comparisons(points, n_train=n_train, n_test=min(50_000, n_train), random_state=seed), 5


def trial(data: SyntheticData, d: int, loss: str, variant: str, seed: int, limit: float) -> tuple[float, float, float]:
    """Seconds of solving, work, test error."""
    solver, more = VARIANTS[variant]
    model = OrdinalEmbedding(
        d, loss=loss, solver=solver(), n_objects=data.train.n_objects, random_state=seed, max_seconds=limit, **more
    )
    with WITHOUT.get(variant, contextlib.nullcontext)():
        result = model.fit(data.train).result_
    error = comparison_error(model.embedding_, data.test)
    return result.history[-1].seconds, result.n_gradients / len(data.train), error


def ablate(name: str, losses: list[str], repeats: int, limit: float) -> list[dict[str, Any]]:
    """One row per loss and variant."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for repeat in range(repeats):
        data, d = problem(name, repeat)
        for loss in losses:
            for variant in VARIANTS:
                found.setdefault((loss, variant), []).append(trial(data, d, loss, variant, repeat, limit))
            said = ", ".join(f"{variant} {found[loss, variant][-1][0]:.2f} s" for variant in VARIANTS)
            print(f"{name} {repeat} {loss}: {said}", flush=True)
    return [summary(name, loss, variant, found) for loss in losses for variant in VARIANTS]


def summary(name: str, loss: str, variant: str, found: dict[Any, list[tuple[float, float, float]]]) -> dict[str, Any]:
    """Medians, and ratios to the full solver on the same data."""
    mine, full = np.array(found[loss, variant]), np.array(found[loss, "auto"])
    ratio = spread(list(mine[:, 0] / full[:, 0]))
    return {
        "problem": name,
        "loss": loss,
        "variant": variant,
        "seconds": float(np.median(mine[:, 0])),
        "time ratio": ratio["median"],
        "ratio q25-q75": f"{ratio['q25']:.2f}-{ratio['q75']:.2f}",
        "work": float(np.median(mine[:, 1])),
        "work ratio": float(np.median(mine[:, 1] / full[:, 1])),
        "test error": float(np.median(mine[:, 2])),
        "error difference": float(np.median(mine[:, 2] - full[:, 2])),
        "repeats": len(mine),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny size")
    parser.add_argument("--problems", default="table1,medium,large")
    parser.add_argument("--losses", default=",".join(loss_names()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="most seconds of a run")
    options = parser.parse_args(arguments)
    losses = options.losses.split(",")
    tiny, d = problem("tiny", 0)
    for loss in losses:
        for variant in VARIANTS:
            trial(tiny, d, loss, variant, 0, options.limit)  # compiles
    rows: list[dict[str, Any]] = []
    for name in ["tiny"] if options.quick else options.problems.split(","):
        rows += ablate(name, losses, options.repeats, options.limit)
        path = save("ablation-quick" if options.quick else "ablation", rows, limit_seconds=options.limit)
    print(table(rows), f"\nwritten to {path}", sep="")


if __name__ == "__main__":
    main()
