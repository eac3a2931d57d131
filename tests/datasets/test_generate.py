"""Generated comparisons: true answers, no question twice, sizes, noise, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import datasets
from nearer.datasets.generate import _n_questions, _questions
from nearer.metrics import comparison_accuracy


def question_set(data):
    return {(a, *sorted((b, c))) for a, b, c in data.index.tolist()}


@pytest.mark.parametrize("n", [3, 7])
def test_question_numbers_cover_every_question_once(n):
    total = _n_questions(n)
    rows = _questions(np.arange(total), n)
    expected = {(a, b, c) for a in range(n) for c in range(n) for b in range(c) if a not in (b, c)}
    assert total == len(expected)
    assert {tuple(row) for row in rows.tolist()} == expected


def test_question_numbers_at_a_million_objects():
    n = 1_000_000  # the largest n for which questions can be numbered is 2.6 times that
    pairs = (n - 1) * (n - 2) // 2
    # first and last pair of an anchor, and both sides of the step from b to b + 1 for large b
    b = 999_000
    numbers = np.array([0, pairs - 1, 5 * pairs + b * (b - 1) // 2 - 1, 5 * pairs + b * (b - 1) // 2, n * pairs - 1])
    expected = [[0, 1, 2], [0, n - 2, n - 1], [5, b - 1, b], [5, 0, b + 1], [n - 1, n - 3, n - 2]]
    assert _questions(numbers, n).tolist() == expected


def made(seed, n=20, n_train=100, n_test=50, noise=0.0):
    rng = np.random.default_rng(seed)
    points = datasets.make_points(n, 3, random_state=rng)
    return datasets.make_comparisons(points, n_train, n_test, noise, rng)


def test_same_seed_same_data():
    a, b, c = (made(seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.points, b.points)
    assert a.train == b.train
    assert a.test == b.test
    assert a.train != c.train


def test_noise_swaps_training_answers_only():
    clean = made(3, n=30, n_train=1000, n_test=500)
    noisy = made(3, n=30, n_train=1000, n_test=500, noise=0.1)
    assert comparison_accuracy(noisy.points, noisy.train) == pytest.approx(0.9)
    assert comparison_accuracy(noisy.points, noisy.test) == 1
    assert question_set(clean.train) == question_set(noisy.train)
    assert clean.test == noisy.test


def test_large_n_needs_no_matrix():
    points = datasets.make_points(200_000, 2, random_state=0)
    data = datasets.make_comparisons(points, 5_000, 1_000, random_state=0)
    assert data.train.n_objects == 200_000
    assert comparison_accuracy(points, data.test) == 1
    assert not question_set(data.train) & question_set(data.test)
    assert np.ptp(data.train.index, axis=0).min() > 190_000  # all objects are asked about, in every place


def test_ties_are_left_out_and_counted():
    points = np.array([[0.0], [1.0], [-1.0], [3.0]])
    data = datasets.make_comparisons(points, 11, None, random_state=0)
    tied = {(0, 1, 2), (1, 2, 3)}  # 1 and -1 seen from 0; -1 and 3 seen from 1
    assert sum(data.train.dropped.values()) + sum(data.test.dropped.values()) == len(tied)
    assert len(data.train) + len(data.test) == 12 - len(tied)
    assert not (question_set(data.train) | question_set(data.test)) & tied


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train: got 0, expected at least 1"),
        ({"n_train": 10, "n_test": 3}, "at most 12 together"),
        ({"points": [[0.0], [1.0]]}, r"points: got shape \(2, 1\)"),
        ({"points": np.zeros((4, 2))}, "all distances asked about are equal"),
        ({"points": np.zeros((3_000_000, 1))}, "got 3,000,000 rows, more than"),
        ({"noise": 1.5}, "got 1.5"),
    ],
)
def test_bad_arguments(arguments, message):
    points = [[0.0], [1.0], [3.0], [7.0]]
    with pytest.raises(ValueError, match=message):
        datasets.make_comparisons(**{"points": points, "n_train": 10, "n_test": None, **arguments})
