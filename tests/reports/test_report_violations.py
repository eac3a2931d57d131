"""The worst violated comparisons against a plain loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer.metrics import comparison_accuracy, worst_comparisons
from nearer.reports import worst_violations


def slow_violations(X, index, weights):
    """Every violated row by margin, largest first, equal rows merged."""
    rows = {}
    for row, weight in zip(index.tolist(), weights):
        i, j, *rest = row
        a, b = rest if len(rest) == 2 else (i, rest[0])
        near, far = np.linalg.norm(X[i] - X[j]), np.linalg.norm(X[a] - X[b])
        if near >= far:
            rows.setdefault(tuple(row), [near - far, 0.0])[1] += weight
    return sorted(rows.items(), key=lambda item: -item[1][0])


@pytest.mark.parametrize("width", [3, 4])
def test_against_a_plain_loop(width):
    rng = np.random.default_rng(width)
    X = rng.normal(size=(8, 2))
    index = np.array([rng.permutation(8)[:width] for _ in range(900)])
    weights = rng.integers(1, 4, 900).astype(float)
    expected = slow_violations(X, index, weights)
    found = worst_violations(X, index, weights, limit=15, votes=weights)
    assert len(found.worst) == 15
    assert [(v.objects, v.weight) for v in found.worst] == [
        (tuple(map(str, row)), weight) for row, (_, weight) in expected[:15]
    ]
    assert [v.near - v.far for v in found.worst] == pytest.approx([margin for _, (margin, _) in expected[:15]])
    assert found.n_answers == weights.sum()
    assert found.share is None
    assert found.n_unplaced == 0


def test_ties_count_and_missing_positions_are_told():
    X = np.array([[0.0], [1.0], [-1.0], [np.nan]])
    found = worst_violations(X, np.array([[0, 1, 2], [0, 1, 3], [1, 2, 0], [1, 0, 2]]), labels=list("abcd"))
    assert found.n_violated == 2
    assert found.n_answers == 3
    assert found.n_unplaced == 1
    assert [v.objects for v in found.worst] == [("b", "c", "a"), ("a", "b", "c")]
    assert (found.worst[0].near, found.worst[0].far, found.worst[0].weight) == (2.0, 1.0, 1.0)


@pytest.mark.parametrize("unit", [0.5, 2.0])
def test_weights_that_are_not_votes_give_a_share(unit):
    X = np.array([[0.0], [1.0], [3.0]])
    found = worst_violations(X, np.array([[0, 1, 2], [0, 2, 1], [2, 0, 1]]), unit * np.array([5.0, 1.0, 2.0]))
    assert (found.n_violated, found.n_answers) == (2, 3)
    assert found.share == 1.5 / 4


def test_no_comparison():
    found = worst_violations(np.zeros((3, 2)), np.empty((0, 3), dtype=int))
    assert found.worst == ()
    assert found.n_violated == 0


@pytest.mark.parametrize(
    ("index", "message"),
    [(np.zeros((4, 2), int), r"shape \(4, 2\)"), (np.array([[0, 1, 9]]), "objects 0 to 9, expected 0 to 2")],
)
def test_errors(index, message):
    with pytest.raises(ValueError, match=message):
        worst_violations(np.zeros((3, 2)), index)


def test_contradicted_and_satisfied_answers_are_all_answers():
    angle = 2 * np.pi * np.arange(12) / 12  # many ties but for the last bits
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    index = np.array(list(itertools.permutations(range(12), 3)))
    n_satisfied = round(len(index) * comparison_accuracy(X, index))
    assert worst_violations(X, index).n_violated == worst_comparisons(X, index).n_violated == len(index) - n_satisfied
