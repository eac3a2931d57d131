"""Parameters of solvers by name."""

from __future__ import annotations

import math
import re

import pytest
from sklearn.base import clone

from nearer.solvers import BB, GD, LBFGS, SBB, SGD, SVRG, Auto, Constant, Convex, Decaying, get_solver, solver_names
from problems import random_problem


@pytest.mark.parametrize("name", solver_names())
def test_every_solver_can_be_cloned(name):
    solver = get_solver(name)
    copy = clone(solver)
    assert copy == solver
    assert copy is not solver
    assert type(solver)(**solver.get_params(deep=False)) == solver


def test_parameters_of_parameters():
    solver = SVRG(step=SBB(epsilon=0.5), max_epochs=3)
    assert solver.get_params(deep=False)["step"] == SBB(epsilon=0.5)
    assert solver.get_params()["step__epsilon"] == 0.5
    assert solver.set_params(max_epochs=4, step__epsilon=0.1) is solver
    assert solver == SVRG(step=SBB(epsilon=0.1), max_epochs=4)
    assert solver.set_params(step=BB(), step__first_step=2.0) == SVRG(step=BB(2.0), max_epochs=4)
    assert SGD().set_params(step__decay=0.0).step == Decaying(decay=0.0)


NAN = float("nan")


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (LBFGS, "output", "first"), (LBFGS, "max_epochs", -1), (LBFGS, "max_epochs", 2.5), (LBFGS, "max_epochs", True),
        (LBFGS, "patience", 0), (LBFGS, "tol", -1e-3), (LBFGS, "tol", NAN), (LBFGS, "grad_tol", "small"),
        (LBFGS, "max_seconds", 0), (LBFGS, "memory", 0), (LBFGS, "validation_fraction", 1.1),
        (LBFGS, "validation_fraction", "a tenth"), (LBFGS, "validation_fraction", None), (GD, "step", 0),
        (GD, "step", True), (SGD, "step", Constant()), (SGD, "step", SBB()), (SGD, "step", 0.0), (SGD, "step", "fast"),
        (SVRG, "inner_steps", 0), (SVRG, "inner_steps", 2.5), (SVRG, "step", Decaying()), (SVRG, "step", "sbb"),
        (SVRG, "step", -0.1), (Auto, "guide", -1), (Auto, "penalty", NAN), (Convex, "lam", -1), (SBB, "epsilon", -1.0),
        (SBB, "epsilon", NAN), (SBB, "first_step", 0.0), (SBB, "relative", None), (BB, "first_step", -1),
        (Constant, "first_step", math.inf), (Decaying, "step", 0), (Decaying, "decay", -1),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(cls, name, value):
    problem = random_problem("ste")
    with pytest.raises(ValueError, match=re.escape(f": got {value!r}, expected")):
        cls(**{name: value}).solve(problem.objective, problem.X)  # a step size refuses it at once


def test_what_is_set_later_is_checked_by_the_run():
    problem = random_problem("ste")
    with pytest.raises(ValueError, match=r"SBB: epsilon: got -1\.0, expected"):
        SVRG(step=SBB(epsilon=0.5)).set_params(step__epsilon=-1.0).solve(problem.objective, problem.X)


def test_solvers_do_not_share_a_default_step():
    one, other = SVRG(), SVRG()
    one.set_params(step__first_step=3.0)
    assert other.step.first_step is None
