"""The default solver on 500,000 comparisons of 1,000 objects: true error by work, beside two of its rivals."""

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
for name, colour in zip(("auto", "lbfgs", "svrg-sbb", "sgd"), PALETTE):
    seen: list[tuple[float, float]] = []
    solver = get_solver(name)
    solver.max_seconds = 15.0
    watch = [lambda row, state, seen=seen: seen.append((row.n_gradients, comparison_error(state.X, data.test)))]
    run = solver.solve(objective, start, 0, watch)
    work, error = np.array(seen).T
    work = np.maximum(work / objective.n_comparisons, 0.1)
    shown = work <= 200
    ax.plot(work[shown], 100 * error[shown], color=colour, marker="o", markersize=3, linewidth=1.5, label=name)
    if run.converged and shown[-1]:
        ax.plot(work[-1], 100 * error[-1], "*", color=colour, markersize=13)
ax.set(xscale="log", yscale="log", xlabel="Gradients / number of answers (star: met its tolerance)")
ax.set(ylabel="Wrong on new answers, %")
ax.set_yticks([4, 6, 10, 20, 50], ["4", "6", "10", "20", "50"])
ax.minorticks_off()
ax.legend(frameon=False)
save(figure, __file__)
