"""A solver of one's own, made as CONTRIBUTING says, works wherever the built-in ones do."""

from __future__ import annotations

import inspect
import math
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from nearer import OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.solvers import LBFGS, Solver, State


@dataclass
class Momentum(Solver):
    """Gradient descent with momentum."""

    step: float = 2.0
    momentum: float = 0.9
    name = "momentum"

    def check_objective(self, objective):
        if not 0 <= self.momentum < 1:
            raise ValueError(f"{self.name}: momentum: got {self.momentum!r}, expected a number in [0, 1)")

    def init(self, objective, X0, rng, progress):
        return self._at(objective, X0, np.zeros_like(X0), 0)

    def epoch(self, objective, state, rng):
        velocity = self.momentum * state.memory["velocity"] - self.step * state.memory["gradient"]
        return self._at(objective, state.X + velocity, velocity, state.n_gradients)

    def _at(self, objective, X, velocity, work):
        value, gradient = objective.value_and_gradient(X)
        memory = {"velocity": velocity, "gradient": gradient}
        return State(X, value, work + objective.n_comparisons, self.step, np.linalg.norm(gradient), memory=memory)


@pytest.fixture(scope="module")
def data():
    return make_comparisons(make_points(20, 2, random_state=0), 600, 300, noise=0.1, random_state=0)


def test_it_is_the_one_that_contributors_are_shown():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"```python\n{inspect.getsource(Momentum)}```" in text


def test_it_finds_the_map(data):
    est = OrdinalEmbedding(2, loss="ste", solver=Momentum(max_epochs=2000, patience=20), n_init=4, random_state=0)
    est.fit(data.train)
    assert est.result_.converged
    assert est.score(data.test) > 0.75
    best = OrdinalEmbedding(2, loss="ste", solver=LBFGS(), n_init=4, random_state=0).fit(data.train)
    assert est.objective_ < 1.1 * best.objective_
    assert est.history_[0].n_gradients == 600


@pytest.mark.filterwarnings("ignore::nearer.warning_types.ConvergenceWarning")  # after five epochs
def test_it_has_all_that_solvers_have(data):
    est = OrdinalEmbedding(2, loss="ste", solver=Momentum(max_epochs=5), max_seconds=60, random_state=0)
    grid = {"solver__step": [1e-6, 2.0]}
    search = GridSearchCV(est, grid, cv=KFold(2)).fit(data.train)
    assert search.best_params_ == {"solver__step": 2.0}
    assert clone(est).solver == est.solver
    assert pickle.loads(pickle.dumps(est)).fit(data.train).n_iter_ == 5
    with pytest.raises(ValueError, match="momentum: got 1, expected"):
        est.set_params(solver__momentum=1).fit(data.train)
    assert math.isfinite(search.best_estimator_.objective_)


def test_it_streams_from_a_file(data, tmp_path):
    np.save(tmp_path / "rows.npy", data.train.index)
    est = OrdinalEmbedding(2, loss="ste", solver=Momentum(max_epochs=50), random_state=0)
    stored = clone(est).fit(tmp_path / "rows.npy").embedding_
    np.testing.assert_allclose(stored, est.fit(data.train).embedding_, rtol=1e-6, atol=1e-9)


def test_a_file_does_not_hold_code(data, tmp_path):
    est = OrdinalEmbedding(2, solver=Momentum(max_epochs=5), random_state=0).fit(data.train)
    with pytest.raises(ValueError, match="save: got Momentum"):
        est.save(tmp_path / "map.nearer")
