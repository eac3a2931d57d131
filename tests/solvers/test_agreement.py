"""All non-convex solvers on one problem: they reach the objective of a long L-BFGS run, whatever the loss."""

from __future__ import annotations

import functools

import pytest

import oracles
from nearer.solvers import BB, GD, LBFGS, SBB, SGD, SVRG, Auto, Decaying
from problems import noisy_problem

LOSSES = oracles.LOSSES
LONG = {"tol": 1e-6, "patience": 20, "max_epochs": 1000}

SOLVERS = {
    "gd": GD(tol=1e-7, patience=20, max_epochs=3000),
    # The default first step suits one pass over many comparisons; an even lower floor needs a smaller one.
    "sgd": SGD(step=Decaying(0.05, decay=0.2), tol=0.0, max_epochs=400),
    "svrg": SVRG(**LONG),
    "svrg-sbb": SVRG(step=SBB(), **LONG),
    # Without stabilisation a late step may throw the iterate far off: the best point is what these methods found.
    "svrg-sbb0": SVRG(step=SBB(epsilon=0.0), output="best", **LONG),
    "svrg-bb": SVRG(step=BB(), output="best", **LONG),
    "lbfgs": LBFGS(),
    "auto": Auto(),
}
# Backtracking demands a fall at every step and jams at the kinks of the hinge; a fixed step walks over them.
GD_ACROSS_KINKS = GD(step=0.2, tol=0.0, max_epochs=2000)


@functools.cache
def _problem_and_floor(loss, form):
    problem = noisy_problem(loss, form, n=12, d=3, size=2000, noise=0.25)
    floor = LBFGS(max_epochs=20_000, tol=1e-12, patience=50).solve(problem.objective, problem.X)
    assert floor.converged
    return problem, floor.objective


@pytest.mark.parametrize(
    ("loss", "form"), [*((loss, "triplets") for loss in LOSSES), ("tste", "quadruplets"), ("ste", "weighted triplets")]
)
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_reach_the_same_objective(name, loss, form):
    problem, floor = _problem_and_floor(loss, form)
    solver = GD_ACROSS_KINKS if (name, loss) == ("gd", "hinge") else SOLVERS[name]
    result = solver.solve(problem.objective, problem.X, 0)
    assert result.objective <= 1.01 * floor
    assert result.objective == pytest.approx(problem.objective.value(result.embedding), rel=1e-12)
    assert result.objective < problem.objective.value(problem.X)
