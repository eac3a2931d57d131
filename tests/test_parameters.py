"""Parameters of a wrong type are refused in words, and those of NumPy are taken."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.data import Comparisons, check_bool
from nearer.datasets import make_comparisons, make_points
from nearer.estimator import OrdinalEmbedding
from nearer.io import atomic_write
from nearer.metrics import nearest_neighbours, procrustes_align
from nearer.people import ExclusionRules, IndividualEmbedding
from nearer.selection import evaluate
from nearer.solvers import Auto

X = np.random.default_rng(0).normal(size=(6, 2))
TOLD = Comparisons.from_points(X, 60, random_state=0)


def _written(path):
    with atomic_write(path, force="no"):
        pass


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: nearest_neighbours(X, "3"), "k: got '3', expected an integer"),
        (lambda: make_points(5, 2, scale="1"), "scale: got '1', expected a positive number"),
        (lambda: make_points(5, 2, random_state="x"), "random_state: got 'x', expected an integer"),
        (lambda: make_comparisons(X, 9, 0), "n_test: got 0, expected at least 1"),
        (lambda: OrdinalEmbedding(callbacks=print).fit(TOLD), "callbacks: got <built-in function print>, expected"),
        (lambda: OrdinalEmbedding(loss="tste", loss_params=["a"]).fit(TOLD), "loss_params: got ['a'], expected values"),
        (lambda: OrdinalEmbedding(reliability="no").fit(TOLD), "reliability: got 'no', expected True or False"),
        (lambda: OrdinalEmbedding().fit(TOLD, resume="no"), "resume: got 'no', expected True or False"),
        (lambda: OrdinalEmbedding(solver=Auto(keep_start="no")).fit(TOLD), "keep_start: got 'no', expected True or"),
        (lambda: IndividualEmbedding(reliability="no").fit(TOLD), "reliability: got 'no', expected True or False"),
        (lambda: Comparisons.from_rankings([0], [[1, 2]], k=1, ordered="no"), "ordered: got 'no', expected True or"),
        (lambda: evaluate(None, learning_curve="no"), "learning_curve: got 'no', expected True or False"),
        (lambda: evaluate(None, people="no"), "people: got 'no', expected True, False or None"),
        (lambda: _written("nowhere"), "force: got 'no', expected True or False"),
        (lambda: check_bool(None, "x"), "x: got None, expected True or False"),
    ],
)
def test_a_wrong_type_is_refused_in_words(call, told):
    with pytest.raises(ValueError) as refused:
        call()
    assert told in str(refused.value)


def test_numbers_and_truths_of_numpy_are_taken():
    rules = ExclusionRules(
        min_answers=np.int64(3), min_seconds=np.float32(0.5), max_same_side=np.float64(0.9), better_than_chance=np.True_
    )
    assert rules.min_answers == 3
    assert rules == ExclusionRules(3, 0.5, 0.9, better_than_chance=True)
    assert nearest_neighbours(X, np.int32(2))[0].shape == (6, 2)
    assert make_points(np.int64(3), np.int8(2), scale=np.float32(1)).shape == (3, 2)
    np.testing.assert_allclose(procrustes_align(X, X, scaling=np.True_), X)
