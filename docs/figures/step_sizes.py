"""Step sizes by epoch on the synthetic problem of the paper: BB, its absolute value, and the stabilised step."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save
from experiments.problems import make_table1
from experiments.theory.bounds import estimate_lipschitz

from nearer.objective import LocalObjective
from nearer.solvers import BB, SBB, SVRG

data = make_table1(0, n_test=1)
objective = LocalObjective(data.train, "tste", 10, n_jobs=1)
start = np.random.default_rng(1).random((100, 10))
m, epsilon = objective.n_comparisons, 0.005
rules = {
    "BB": BB(first_step=0.05), "SBB, epsilon = 0": SBB(0.0, 0.05), "SBB, epsilon = 0.005": SBB(epsilon, 0.05),
    "SBB, default epsilon": SBB(None, 0.05),
}  # fmt: skip
curvatures = []


def watch(row, state):
    if row.epoch % 5 == 0:
        curvatures.append(estimate_lipschitz(objective, state.X, np.random.default_rng(0), 15))


figure, (left, right) = panels(2, width=4.8)
for (name, rule), colour in zip(rules.items(), PALETTE):
    callbacks = [watch] if rule == rules["SBB, epsilon = 0.005"] else []
    run = SVRG(step=rule, max_epochs=60, tol=0).solve(objective, start, 0, callbacks)
    steps, epochs = run.history.column("step_size"), run.history.column("epoch")
    negative = steps < 0
    left.plot(epochs, np.abs(steps), color=colour, marker="o", markersize=3, linewidth=1.3, label=name)
    left.plot(epochs[negative], np.abs(steps[negative]), "x", color=colour, markersize=8, mew=2)
    right.plot(epochs, run.history.column("objective"), color=colour, linewidth=1.6, label=name)
L = max(curvatures)
left.axhspan(1 / (m * (L + epsilon)), 1 / (m * epsilon), color=PALETTE[2], alpha=0.12, linewidth=0)
left.set(yscale="log", xlabel="Epoch", ylabel="Step size (crosses: negative)")
right.set(yscale="log", xlabel="Epoch", ylabel="Objective")
left.set_ylim(top=200)
left.legend(frameon=False, fontsize=8)
save(figure, __file__)
