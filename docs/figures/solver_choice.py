"""Every solver on one problem from one start: how far down for how much work, and how it does on new answers."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save, write_table

from nearer.datasets import make_comparisons, make_points
from nearer.metrics import comparison_error
from nearer.objective import LocalObjective
from nearer.solvers import get_solver, solver_names

rng = np.random.default_rng(0)
points = make_points(200, 5, scale=0.05**0.5, random_state=rng)
data = make_comparisons(points, n_train=50_000, n_test=50_000, noise=0.05, random_state=rng)
objective = LocalObjective(data.train, "ste", 5, n_jobs=1)
start = np.random.default_rng(1).normal(size=(200, 5))
N = objective.n_comparisons
runs, curves = {}, {}
for name in solver_names():
    solver = get_solver(name)
    solver.max_epochs = 2
    solver.solve(objective, start, 0)  # once before, so that no time goes into compiling
    solver = get_solver(name)
    solver.max_seconds = 20.0
    # The objective of all comparisons at every point: early stages of auto work on a part of them.
    seen: list[tuple[float, float]] = []
    watch = [lambda row, state, seen=seen: seen.append((row.n_gradients / N, objective.value(state.X)))]
    runs[name], curves[name] = solver.solve(objective, start, 0, watch), seen

lowest = min(value for seen in curves.values() for _, value in seen)
figure, (ax,) = panels(width=6.8, height=4.0)
rows = []
for (name, run), colour in zip(runs.items(), PALETTE):
    work, value = np.array(curves[name]).T
    style = {"color": colour, "marker": "o", "markersize": 2.5, "linewidth": 1.4, "label": name}
    ax.plot(np.maximum(work, 0.1), np.maximum(value - lowest, 1e-6), **style)
    error = comparison_error(run.embedding, data.test)
    cells = [f"{work[-1]:,.0f}", f"{run.history[-1].seconds:.2f}", f"{objective.value(run.embedding):.4f}"]
    rows.append([f"`{name}`", *cells, f"{100 * error:.2f}", "yes" if run.converged else "no"])
ax.set(xscale="log", yscale="log", xlabel="Gradients of single comparisons / number of comparisons")
ax.set(ylabel="Objective above the lowest found")
ax.legend(frameon=False, fontsize=8, loc="lower left")
save(figure, __file__)
write_table(__file__, ["solver", "work", "seconds", "objective", "wrong on new answers, %", "met its tolerance"], rows)
