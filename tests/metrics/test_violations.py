"""The worst comparisons, on a map made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import Comparisons
from nearer.metrics import worst_comparisons

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
