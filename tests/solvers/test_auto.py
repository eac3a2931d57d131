"""The default solver: its adaptive passes, its batches, and what a run on parts of the data may claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oracles
from nearer import kernels
from nearer.solvers import LBFGS, Auto, auto
from problems import FORMS, noisy_problem, random_problem

LOSSES = oracles.LOSSES


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_adagrad_pass_matches_oracle(loss, form):
    problem = random_problem(loss, form, seed=13)
    memory = np.random.default_rng(0).random(9)
    draws = kernels.draw_many(21, 5, 90, len(problem.Q))
    expected = oracles.adagrad(*problem.oracle, problem.X, memory, 0.2, draws)
    X, got_memory, mean = problem.objective.adagrad_pass(problem.X, memory, 0.2, 90, seed=21, first=5)
    np.testing.assert_allclose(X, expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(got_memory, expected[1], rtol=1e-8)
    assert mean == pytest.approx(expected[2], rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_result_is_about_all_comparisons(loss, monkeypatch):
    problem = noisy_problem(loss, "weighted triplets", size=3000)
    monkeypatch.setattr(auto, "AUTO", replace(auto.AUTO, first_batch=2.0))  # several batches
    result = Auto().solve(problem.objective, np.random.default_rng(0).normal(size=problem.X.shape), 0)
    assert result.converged
    assert result.objective == pytest.approx(problem.objective.value(result.embedding), rel=1e-12)
    assert (np.diff(result.history.column("n_gradients")) >= 0).all()
    floor = LBFGS(tol=1e-8).solve(problem.objective, result.embedding).objective
    assert result.objective <= floor + 0.01 * problem.objective.value_at_zero()


@pytest.mark.parametrize("output", ["last", "best", "uniform"])
@pytest.mark.parametrize("max_epochs", [1, 3])
def test_a_run_stopped_among_the_batches_tells_the_objective_of_all(output, max_epochs, monkeypatch):
    problem = noisy_problem("ste", size=3000)
    monkeypatch.setattr(auto, "AUTO", replace(auto.AUTO, first_batch=2.0))
    solver = Auto(max_epochs=max_epochs, output=output)
    result = solver.solve(problem.objective, problem.X, 0)
    assert not result.converged
    assert result.objective == pytest.approx(problem.objective.value(result.embedding), rel=1e-12)


@pytest.mark.parametrize(("loss", "kept"), [("hinge", 0.001), ("ste", 0.0), ("soe", 0.0)])
def test_of_few_comparisons_a_kinked_loss_keeps_some_penalty(loss, kept):
    problem = noisy_problem(loss, d=5)
    found, expected = (Auto(penalty=penalty).solve(problem.objective, problem.X, 0) for penalty in (None, kept))
    assert found.message.count("L-BFGS") == 2
    np.testing.assert_array_equal(found.embedding, expected.embedding)


@pytest.mark.parametrize(("loss", "batches"), [("hinge", 3), ("ste", 2)])
def test_of_many_comparisons_a_kinked_loss_meets_all_smoothed_first(loss, batches):
    problem = noisy_problem(loss, d=4, size=12_000)
    found = Auto().solve(problem.objective, problem.X, 0)
    assert found.message.count("L-BFGS") == batches
    assert found.message.count("on 12,000, eased") == batches - 2
    assert found.objective <= LBFGS().solve(problem.objective, problem.X).objective + 1e-3
    endless = Auto(tol=0.0, max_epochs=60).solve(problem.objective, problem.X, 0)
    assert endless.message.count("L-BFGS") == batches  # no stage but the last is without an end
