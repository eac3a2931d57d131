"""The default solver on 500,000 comparisons of 1,000 objects: true error by time, beside two of its rivals."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save

from nearer.datasets import make_comparisons, make_points
from nearer.metrics import comparison_error
from nearer.objective import LocalObjective
from nearer.solvers import get_solver

data = make_comparisons(make_points(1_000, 5, 0.05**0.5, 0), 500_000, 100_000, 0.1, 0)
objective = LocalObjective(data.train, "tste", 5)
start = np.random.default_rng(1).normal(size=(1_000, 5))
figure, (ax,) = panels(width=6.4)
for name, colour in zip(("auto", "lbfgs", "svrg-sbb"), PALETTE):
    for timed in (False, True):  # once before, so that no time goes into compiling
        seen: list[tuple[float, float]] = []
        solver = get_solver(name)
        solver.max_seconds = 6.0 if timed else 0.5
        watch = [lambda row, state, seen=seen: seen.append((row.seconds, comparison_error(state.X, data.test)))]
        run = solver.solve(objective, start, 0, watch)
    seconds, error = np.array(seen).T
    ax.plot(np.maximum(seconds, 0.005), 100 * error, color=colour, marker="o", markersize=3, linewidth=1.5, label=name)
    if run.converged:
        ax.plot(seconds[-1], 100 * error[-1], "*", color=colour, markersize=13)
ax.set(xscale="log", yscale="log", xlabel="Seconds (star: met its tolerance)", ylabel="Wrong on new answers, %")
ax.set_yticks([4, 6, 10, 20, 50], ["4", "6", "10", "20", "50"])
ax.minorticks_off()
ax.legend(frameon=False)
save(figure, __file__)
