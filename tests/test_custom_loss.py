"""A user's own loss: the same numbers as a built-in one, every solver, and early refusals."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import oracles
from contracts import Squared, assert_same_objective
from nearer import OrdinalEmbedding
from nearer.losses import CustomLoss, get_loss
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import get_solver
from problems import FORMS, MemorySource, noisy_problem, random_problem


@dataclass(frozen=True)
class OwnLogistic(CustomLoss):
    """`STELoss`, written by a user."""

    name = "own logistic"
    convex_in_gram = True
    has_model = True

    @staticmethod
    def formula(near, far, param):
        slope = 1.0 / (1.0 + math.exp(far - near))
        return math.log1p(math.exp(near - far)), slope, -slope

    def dual(self, slope):
        return get_loss("ste").dual(slope)


@pytest.mark.parametrize("form", FORMS)
def test_equals_the_built_in_loss(form):
    problem = random_problem("ste", form)
    built_in, X = problem.objective, problem.X
    own = LocalObjective(built_in.comparisons, OwnLogistic(), 3, n_jobs=1)
    assert_same_objective(own, built_in, X)
    memory = np.linspace(0, 1, len(X))
    pairs = [
        (own.svrg_pass(X, own.snapshot(X), 0.1, 50, 3), built_in.svrg_pass(X, built_in.snapshot(X), 0.1, 50, 3)),
        (own.sgd_pass(X, 0.1, 50, 3), built_in.sgd_pass(X, 0.1, 50, 3)),
        *zip(own.adagrad_pass(X, memory, 0.1, 50, 3), built_in.adagrad_pass(X, memory, 0.1, 50, 3)),
        *zip(own.gram_value_and_gradient(X @ X.T), built_in.gram_value_and_gradient(X @ X.T)),
    ]
    for got, expected in pairs:
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", [Squared(), Squared(2.5), OwnLogistic()], ids=repr)
def test_gradient_by_finite_differences_in_memory_and_in_blocks(loss, form):
    problem = random_problem(loss, form)
    streamed = StreamedObjective(MemorySource(problem.objective.comparisons), loss, 3, 9, block_size=11)
    for objective in (problem.objective, streamed):
        value, gradient = objective.value_and_gradient(problem.X)
        numeric = oracles.numeric_gradient(objective.value, problem.X, h=1e-5)
        assert value > 0
        assert np.abs(gradient - numeric).max() <= 1e-6 * np.abs(numeric).max()
    assert_same_objective(streamed, problem.objective, problem.X)


def test_every_kernel_that_takes_a_loss_is_compiled_for_it_once():
    own = vars(Squared(1.0).kernels)
    assert own is vars(Squared(2.0).kernels)
    assert Squared().kernels is not OwnLogistic().kernels


SOLVERS = ["auto", "svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_take_it_as_they_take_a_built_in_one(solver):
    problem = noisy_problem("ste")
    own = LocalObjective(problem.objective.comparisons, OwnLogistic(), 2, n_jobs=1)
    chosen = get_solver(solver)
    chosen.max_epochs = 100 if solver == "auto" else 10  # a guide takes some of them
    result, expected = (chosen.solve(objective, problem.X, 0) for objective in (own, problem.objective))
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)
    assert result.objective < own.value(problem.X)


def test_the_convex_solver_takes_one_that_says_it_is_convex():
    problem = noisy_problem("ste", n=8, d=3, size=200)
    own = LocalObjective(problem.objective.comparisons, OwnLogistic(), 3)
    result, expected = (get_solver("convex").solve(objective, problem.X) for objective in (own, problem.objective))
    assert result.converged
    assert result.objective == pytest.approx(expected.objective, rel=1e-3)
    with pytest.raises(ValueError, match="convex: loss 'squared' is not a convex function of the Gram matrix"):
        get_solver("convex").solve(LocalObjective(problem.objective.comparisons, Squared(), 3), problem.X)


def test_an_estimator_takes_it(tmp_path):
    comparisons = noisy_problem("ste").objective.comparisons
    estimator = OrdinalEmbedding(2, loss=OwnLogistic(), random_state=0)
    own = clone(estimator).fit(comparisons)
    built_in = OrdinalEmbedding(2, loss="ste", random_state=0).fit(comparisons)
    assert own.objective_ == pytest.approx(built_in.objective_, rel=1e-6)
    assert own.predict_proba(comparisons).shape == (len(comparisons), 2)
    again = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(again.predict_proba(comparisons), own.predict_proba(comparisons))
    with pytest.raises(ValueError, match="OwnLogistic"):
        own.save(tmp_path / "own.nearer")


def own_loss(name, formula=None, **parameters):
    members = {"__annotations__": dict.fromkeys(parameters, float), **parameters}
    if formula is not None:
        members["formula"] = staticmethod(formula)
    return type(name, (CustomLoss,), members)


def linear(near, far, param):
    return near, 1.0, 0.0


@pytest.mark.parametrize(("cls", "message"), [
    (dataclass(frozen=True)(own_loss("NoFormula")), "NoFormula: got no formula, expected a static method"),
    (dataclass(frozen=True)(own_loss("Two", linear, width=1.0, height=1.0)),
     "Two: got the parameters width, height, expected at most one"),
    (dataclass(frozen=True)(own_loss("NoSlopes", lambda near, far, param: near - far)),
     "formula: got -1.0 at .*, expected three numbers: value, d_near, d_far"),
    (dataclass(frozen=True)(own_loss("Strange", lambda near, far, param: (near, {}.setdefault("x", object()), 0.0))),
     "formula: Numba cannot compile it"),
    (own_loss("Plain", linear, width=2.0), r"Plain: got a plain class, expected a dataclass; add @dataclass"),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_mistakes_are_refused_before_the_fit(cls, message):
    with pytest.raises(ValueError, match=message):
        OrdinalEmbedding(2, loss=cls()).fit([[0, 1, 2]])


def test_a_built_in_name_is_refused():
    with pytest.raises(ValueError, match="Mine: got the name 'ste' of a built-in loss"):
        type("Mine", (CustomLoss,), {"name": "ste"})
