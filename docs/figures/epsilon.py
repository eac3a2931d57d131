"""The right epsilon falls with the curvature: objective after 15 epochs of SVRG-SBB, for three numbers of objects."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save

from nearer import Comparisons
from nearer.objective import LocalObjective
from nearer.solvers import SBB, SVRG
from nearer.solvers.step_sizes import curvature_along_gradient

figure, (left, right) = panels(2, width=4.6, sharey=True)
relative = np.geomspace(0.01, 100.0, 9)
for n, colour in zip((100, 1_000, 10_000), PALETTE):
    rng = np.random.default_rng(n)
    answers = Comparisons.from_points(rng.normal(scale=0.05**0.5, size=(n, 5)), 50 * n, random_state=rng)
    objective = LocalObjective(answers, "ste", 5)
    start = rng.normal(size=(n, 5))
    curvature = curvature_along_gradient(objective, objective.snapshot(start))
    epsilons = relative * curvature
    reached = [SVRG(step=SBB(e), max_epochs=15, tol=0).solve(objective, start, 0).objective for e in epsilons]
    for ax, x in ((left, epsilons), (right, relative)):
        ax.plot(x, reached, color=colour, marker="o", markersize=4, label=f"n = {n:,}")
default = SBB().measured(1.0, 50, 1).epsilon  # m = 50 n
right.axvline(default, color="#6b7280", linestyle=":")
right.text(default * 1.15, 0.75, "default", rotation=90, color="#6b7280", transform=right.get_xaxis_transform())
left.set(xscale="log", xlabel="epsilon", ylabel="Objective after 15 epochs")
right.set(xscale="log", xlabel="epsilon / curvature at the start")
left.legend(frameon=False)
save(figure, __file__)
