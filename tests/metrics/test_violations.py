"""The worst comparisons, on a map made by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer import Comparisons
from nearer.metrics import comparison_accuracy, worst_comparisons

LINE = np.array([[0.0], [1.0], [3.0], [7.0], [np.nan]])


def test_the_largest_difference_of_distances_comes_first():
    rows = [[0, 1, 2], [0, 3, 1], [0, 2, 1], [1, 3, 2], [0, 4, 1]]
    labels = ["a", "b<", "c", "d", "e"]
    data = Comparisons(rows, 5, weights=[1, 2, 3, 4, 5], labels=labels, participants=["p", "q", "r", "s", "t"])
    found = worst_comparisons(LINE, data, n=2)
    assert found.to_dict() == {
        "anchor": ["a", "b<"],
        "near": ["d", "d"],
        "far": ["b<", "c"],
        "near_distance": [7.0, 6.0],
        "far_distance": [1.0, 2.0],
        "weight": [2.0, 4.0],
        "participant": ["q", "s"],
    }
    assert (found.n_violated, found.n_comparisons) == (3, 4)
    assert found.to_frame().index.tolist() == [1, 3]
    assert repr(found) == "WorstComparisons: 2 of 3 violated among 4"
    assert "<td>b&lt;</td>" in found._repr_html_()


def test_quadruplets_without_weights_labels_or_participants():
    found = worst_comparisons(LINE, Comparisons([[2, 3, 0, 1], [0, 1, 2, 3]], 5))
    assert found.to_dict() == {
        "i": [2], "j": [3], "l": [0], "k": [1], "near_distance": [4.0], "far_distance": [1.0], "weight": [1.0],
    }  # fmt: skip


def test_a_map_without_violations_and_a_bad_number():
    data = Comparisons([[0, 1, 2]], 5)
    assert len(worst_comparisons(LINE, data)) == 0
    assert worst_comparisons(LINE, data).to_dict()["anchor"] == []
    with pytest.raises(ValueError, match="n: got 0, expected at least 1"):
        worst_comparisons(LINE, data, n=0)


def test_ties_count_as_violated_in_the_order_of_the_rows():
    data = Comparisons([[1, 0, 2], [2, 1, 0]], 3)
    found = worst_comparisons([[-1.0], [0.0], [1.0]], data)
    assert found.rows.tolist() == [0]


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
def test_merged_rows_against_a_plain_loop(width):
    rng = np.random.default_rng(width)
    X = rng.normal(size=(8, 2))
    index = np.array([rng.permutation(8)[:width] for _ in range(900)])
    weights = rng.integers(1, 4, 900).astype(float)
    expected = slow_violations(X, index, weights)
    found = worst_comparisons(X, Comparisons(index, 8, weights=weights), n=15, merge=True)
    assert list(zip(map(tuple, found.objects.tolist()), found.weights)) == [
        (row, weight) for row, (_, weight) in expected[:15]
    ]
    assert found.near - found.far == pytest.approx([margin for _, (margin, _) in expected[:15]])
    assert found.share == sum(weight for _, (_, weight) in expected) / weights.sum()


def test_comparisons_of_objects_without_a_position_are_counted():
    data = Comparisons([[0, 1, 2], [0, 1, 3], [1, 2, 0], [1, 0, 2]], 4)
    found = worst_comparisons([[0.0], [1.0], [-1.0], [np.nan]], data, merge=True)
    assert (found.n_violated, found.n_comparisons, found.n_unplaced) == (2, 3, 1)
    assert found.objects.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert found.share is None


def test_violated_and_satisfied_comparisons_are_all_comparisons():
    angle = 2 * np.pi * np.arange(12) / 12  # many ties but for the last bits
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    index = np.array(list(itertools.permutations(range(12), 3)))
    n_satisfied = round(len(index) * comparison_accuracy(X, index))
    assert worst_comparisons(X, index).n_violated == len(index) - n_satisfied
