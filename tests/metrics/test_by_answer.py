"""Accuracy by answer, and the level of chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer import Comparisons
from nearer.metrics import answer_accuracy, chance_level, comparison_accuracy
from nearer.metrics.by_answer import sampling_error

POINTS = np.random.default_rng(0).normal(size=(6, 2))


def test_an_answer_is_satisfied_if_all_of_its_comparisons_are():
    line = np.array([[0.0], [1.0], [3.0], [7.0]])
    made = Comparisons.from_most_central([[0, 1, 2], [0, 1, 2], [1, 2, 3], [1, 2, 3]], [1, 0, 2, 2])
    assert answer_accuracy(line, made) == 0.75
    assert comparison_accuracy(line, made) == 7 / 8
    line[0] = np.nan  # the answers about it are left out, not wrong
    assert answer_accuracy(line, made) == 1.0
    assert np.isnan(answer_accuracy(np.full((4, 1), np.nan), made))


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_where_every_answer_is_one_comparison_it_is_the_same(weights):
    data = Comparisons([[0, 1, 2], [3, 1, 5], [2, 4, 0]], weights=weights)
    assert answer_accuracy(POINTS, data) == pytest.approx(comparison_accuracy(POINTS, data))


@pytest.mark.parametrize(
    ("made", "chance"),
    [
        (Comparisons([[0, 1, 2]]), 1 / 2),
        (Comparisons([[0, 1, 2, 3]]), 1 / 2),
        (Comparisons.from_odd_one_out([[0, 1, 2]], [2]), 1 / 3),
        (Comparisons.from_most_central([[0, 1, 2]], [2]), 1 / 3),
        (Comparisons.from_rankings([0], [[1, 2, 3, 4]]), 1 / 24),
        (Comparisons.from_rankings([0, 1], [[1, 2, 3, 4], [2, 3, 4, 5]], k=2), 1 / 12),
        (Comparisons.from_rankings([0], [[1, 2, 3, 4]], k=2, ordered=False), 1 / 6),
        (Comparisons([[0, 1, 2]]).concat(Comparisons.from_odd_one_out([[0, 1, 2]], [2])), 5 / 12),
    ],
)
def test_chance_is_the_accuracy_of_maps_in_random_order(made, chance):
    assert chance_level(made) == pytest.approx(chance)
    orders = itertools.permutations(range(6)) if made.kind == "triplets" else ()
    points = np.random.default_rng(1).normal(size=(6, 2))
    found = [answer_accuracy(points[list(order)], made) for order in orders]
    if "odd-one-out" not in made.answers.kinds():  # there, permutations of one map are not all that chance is
        assert not found or np.mean(found) == pytest.approx(chance, abs=0.12)


def test_sampling_errors_of_answers_that_go_together():
    rng = np.random.default_rng(1)
    right, rows = rng.random(300) < 0.8, np.arange(300)
    once = sampling_error(right, np.ones(300), [rows])
    assert once == pytest.approx(np.std(right, ddof=1) / 300**0.5)
    copies = np.tile(right, 3)
    assert sampling_error(copies, np.ones(900), [np.tile(rows, 3)]) == pytest.approx(once)
    assert sampling_error(right, np.full(300, 3.0), [rows]) == pytest.approx(once)
    unknown = np.append(right.astype(float), [np.nan] * 9)
    assert sampling_error(unknown, np.ones(309), [np.arange(309)]) == pytest.approx(once)
    # 30 people answer the same 40 questions; both differ, and the mean is that of other people and other questions
    means = []
    for _ in range(200):
        easy, careful = rng.normal(size=40), rng.normal(size=30)
        table = rng.normal(size=(30, 40)) < 1.0 + easy + careful[:, None]
        means.append(table.mean())
    person, question = np.divmod(np.arange(1200), 40)
    found = sampling_error(table.ravel(), np.ones(1200), [question, person])
    assert found == pytest.approx(np.std(means), rel=0.35)
    assert found > max(sampling_error(table.ravel(), np.ones(1200), [units]) for units in (question, person))
