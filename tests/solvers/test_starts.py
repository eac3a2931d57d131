"""Several starts, the best kept; a given start is not scattered."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nearer.solvers import GD, LBFGS, Auto, get_solver
from nearer.solvers.multistart import best_of_starts, in_threads, keeping_start
from nearer.solvers.solver import check_stop
from problems import noisy_problem


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_lowest_objective_wins_whatever_the_threads(n_jobs):
    problem = noisy_problem("ste")
    starts = [problem.X, np.zeros_like(problem.X) + 1e-3, problem.X + 5]
    generators = [np.random.default_rng(k) for k in range(3)]
    best = best_of_starts(problem.objective, [LBFGS()] * 3, starts, generators, n_jobs)
    alone = [LBFGS().solve(problem.objective, X).objective for X in starts]
    assert best.objective == min(alone)


def test_an_error_ends_the_other_threads_at_once():
    def task(number):
        if number:
            raise ValueError("wrong")
        while True:
            check_stop()
            time.sleep(0.001)

    with pytest.raises(ValueError, match="wrong"):
        in_threads(task, 2, 2)


def test_a_given_start_is_kept_by_the_default_solver():
    problem = noisy_problem("ste")
    optimum = LBFGS(tol=1e-12).solve(problem.objective, problem.X).embedding
    first = []
    keeping_start(Auto()).solve(problem.objective, optimum, 0, [lambda row, state: first.append(state.X.copy())])
    np.testing.assert_array_equal(first[0], optimum)
    assert keeping_start(GD()) == GD(output="best")
    assert keeping_start(GD(output="uniform")) == GD(output="uniform")


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "gd", "sgd", "svrg-sbb"])
@pytest.mark.parametrize("loss", ["hinge", "tste", "ckl", "softplus"])
def test_a_given_start_is_not_made_worse(loss, solver):
    problem = noisy_problem(loss, size=400)
    optimum = LBFGS(tol=1e-12).solve(problem.objective, problem.X).embedding
    for start in (optimum, problem.X, 8.0 * optimum):
        result = keeping_start(get_solver(solver)).solve(problem.objective, start, 0)
        assert result.objective <= problem.objective.value(start)
        assert result.objective == pytest.approx(problem.objective.value(result.embedding), rel=1e-12)
