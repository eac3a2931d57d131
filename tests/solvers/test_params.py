"""Parameters of solvers by name."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from nearer.solvers import BB, SBB, SGD, SVRG, Decaying, get_solver, solver_names
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


def test_what_cannot_be_set_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'eps' for estimator SBB"):
        SBB(epsilon=0.5).set_params(eps=1.0)
    problem = random_problem("ste")
    with pytest.raises(ValueError, match=r"SBB: epsilon: got -1\.0, expected"):  # by the run, as in scikit-learn
        SVRG(step=SBB(epsilon=0.5)).set_params(step__epsilon=-1.0).solve(problem.objective, problem.X)


def test_solvers_do_not_share_a_default_step():
    one, other = SVRG(), SVRG()
    one.set_params(step__first_step=3.0)
    assert other.step.first_step is None
