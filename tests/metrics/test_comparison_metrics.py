"""Accuracy, log-loss, calibration and worst comparisons against hand-computed values and plain NumPy."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import norm

import oracles
from nearer import metrics
from nearer.data import Comparisons
from nearer.metrics import comparison

LINE = np.array([[0.0], [1.0], [3.0], [-1.0]])  # positions on a line


def test_accuracy_by_hand_with_tie_and_nan():
    points = np.vstack([LINE, [[np.nan]]])
    triplets = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 4], [4, 0, 1]])  # yes, no, tie, no position twice
    assert metrics.comparison_accuracy(points, triplets) == pytest.approx(1 / 5)
    assert metrics.comparison_error(points, triplets) == pytest.approx(4 / 5)
    assert metrics.comparison_accuracy(points, triplets, [2, 1, 5, 1, 1]) == pytest.approx(2 / 10)
    weighted = Comparisons(triplets, weights=[1, 2, 1, 1, 1])  # weights multiply
    assert metrics.comparison_accuracy(points, weighted, [2, 1, 5, 1, 1]) == pytest.approx(2 / 11)


@pytest.mark.parametrize("width", [3, 4])
def test_weighted_means_are_those_of_numpy_however_many_rows_are_taken_at_once(monkeypatch, width):
    monkeypatch.setattr(comparison, "CHUNK_ROWS", 7)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 3))
    rows = np.array([rng.choice(20, width, replace=False) for _ in range(500)])
    weights = rng.random(500)
    near, far = oracles.squared_distances(points, oracles.as_quadruplets(rows))
    np.testing.assert_allclose(metrics.comparison_distances(points, rows), (near, far), rtol=1e-12)
    np.testing.assert_allclose(metrics.log_ratio(points, rows), np.log(np.sqrt(far) / np.sqrt(near)))
    expected = np.average(near < far, weights=weights)
    assert metrics.comparison_accuracy(points, rows, weights) == pytest.approx(expected, rel=1e-12)
    expected = np.average(np.logaddexp(0, near - far), weights=weights)
    assert metrics.log_loss(points, rows, "ste", weights) == pytest.approx(expected, rel=1e-12)


def test_log_loss_by_hand_and_without_overflow():
    # ste on the line: near 1, far 9, and the reverse
    one, other = math.log1p(math.exp(-8)), math.log1p(math.exp(8))
    assert metrics.log_loss(LINE, np.array([[0, 1, 2], [0, 2, 1]]), "ste") == pytest.approx((one + other) / 2)
    # ckl: P = (9 + 0.05) / (1 + 9 + 0.1)
    assert metrics.log_loss(LINE, np.array([[0, 1, 2]]), "ckl") == pytest.approx(-math.log(9.05 / 10.1))
    assert metrics.log_loss(LINE * 100, np.array([[0, 2, 1]]), "ste") == pytest.approx(80_000)


def test_object_without_position_gets_probability_one_half():
    points = np.vstack([LINE, [[np.nan]]])
    rows = np.array([[0, 1, 4]])
    assert metrics.log_loss(points, rows, "tste") == pytest.approx(math.log(2))
    table = metrics.calibration(points, rows, "tste")
    assert table.ece == 0
    assert table.predicted[0] == table.observed[0] == 0.5


@pytest.mark.parametrize("name", ["hinge", "soe"])
def test_losses_without_model_are_refused(name):
    for function in (metrics.log_loss, metrics.calibration):
        with pytest.raises(ValueError, match=rf"'{name}' is not a probability model, expected one of: ckl, ste, tste"):
            function(LINE, np.array([[0, 1, 2]]), name)


def test_calibration_by_hand():
    # ste: confidences 1 / (1 + exp(-|far - near|)) with |far - near| = 1, 1, 8 and a tie; answers right, wrong, right
    points = np.array([[0.0], [1.0], [math.sqrt(2)], [3.0], [-1.0]])
    rows = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 4]])
    table = metrics.calibration(points, rows, "ste", n_bins=5, sample_weight=[3, 1, 1, 2])
    p1, p8 = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-8))
    np.testing.assert_allclose(table.bins, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert table.count.tolist() == [1, 0, 2, 0, 1]
    np.testing.assert_allclose(table.predicted, [0.5, np.nan, p1, np.nan, p8])
    np.testing.assert_allclose(table.observed, [0.5, np.nan, 0.75, np.nan, 1.0])
    np.testing.assert_allclose(table.weight, [2 / 7, 0, 4 / 7, 0, 1 / 7])
    assert table.ece == pytest.approx(4 / 7 * abs(0.75 - p1) + 1 / 7 * (1 - p8))


@pytest.mark.parametrize(
    ("embedding", "rows", "weight", "message"),
    [
        ([0.0, 1.0], [[0, 1, 2]], None, r"embedding: got shape \(2,\)"),
        (LINE, [[0, 1, 4]], None, "row 0"),
        (LINE, Comparisons([[0, 1, 4]]), None, "has 4 rows, but the comparisons are over 5 objects"),
        (LINE, [[0, 1, 2]], [1, 2], r"weights: got shape \(2,\), expected \(1,\)"),
        (LINE, [[0, 1, 2]], [-1.0], "weights: row 0 is -1.0"),
        (LINE, np.empty((0, 3), dtype=int), None, "comparisons"),
    ],
)
def test_bad_input(embedding, rows, weight, message):
    with pytest.raises(ValueError, match=message):
        metrics.comparison_accuracy(embedding, rows, weight)


def test_memory_does_not_grow_with_the_comparisons():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(100, 8))
    rows = np.tile(np.array([rng.choice(100, 3, replace=False) for _ in range(100)], dtype=np.int32), (5_000, 1))
    data = Comparisons.from_triplets(rows)
    tracemalloc.start()
    metrics.comparison_accuracy(points, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.shape[0] * points.shape[1] * 8  # less than the coordinates of one column of objects


def test_wilson_interval_by_hand():
    # 5 of 10 with z = 2: centre 1/2, half width 2/(1.4) * sqrt(0.025 + 0.01).
    low, high = metrics.wilson_interval([0.5], [10.0], level=2 * norm.cdf(2.0) - 1)
    half = 2 / 1.4 * np.sqrt(0.035)
    assert (low[0], high[0]) == pytest.approx((0.5 - half, 0.5 + half))
    low, high = metrics.wilson_interval([0.0, 1.0], [7.0, 7.0])
    assert low[0] == 0.0
    assert high[1] == 1.0


# ---- the worst comparisons ----

MAP = np.array([[0.0], [1.0], [3.0], [7.0], [np.nan]])


def test_the_largest_difference_of_distances_comes_first():
    rows = [[0, 1, 2], [0, 3, 1], [0, 2, 1], [1, 3, 2], [0, 4, 1]]
    labels = ["a", "b", "c", "d", "e"]
    data = Comparisons(rows, 5, weights=[1, 2, 3, 4, 5], labels=labels, participants=["p", "q", "r", "s", "t"])
    found = metrics.worst_comparisons(MAP, data, n=2)
    assert found.to_dict() == {
        "anchor": ["a", "b"],
        "near": ["d", "d"],
        "far": ["b", "c"],
        "near_distance": [7.0, 6.0],
        "far_distance": [1.0, 2.0],
        "weight": [2.0, 4.0],
        "participant": ["q", "s"],
    }
    assert (found.n_violated, found.n_comparisons) == (3, 4)
    assert found.to_frame().index.tolist() == [1, 3]
    assert repr(found) == "WorstComparisons: 2 of 3 violated among 4"


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
    found = metrics.worst_comparisons(X, Comparisons(index, 8, weights=weights), n=15, merge=True)
    assert list(zip(map(tuple, found.objects.tolist()), found.weights)) == [
        (row, weight) for row, (_, weight) in expected[:15]
    ]
    assert found.near - found.far == pytest.approx([margin for _, (margin, _) in expected[:15]])
    assert found.share == sum(weight for _, (_, weight) in expected) / weights.sum()


def test_comparisons_of_objects_without_a_position_are_counted():
    data = Comparisons([[0, 1, 2], [0, 1, 3], [1, 2, 0], [1, 0, 2]], 4)
    found = metrics.worst_comparisons([[0.0], [1.0], [-1.0], [np.nan]], data, merge=True)
    assert (found.n_violated, found.n_comparisons, found.n_unplaced) == (2, 3, 1)
    assert found.objects.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert found.share is None


def test_violated_and_satisfied_comparisons_are_all_comparisons():
    angle = 2 * np.pi * np.arange(12) / 12  # many ties but for the last bits
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    index = np.array(list(itertools.permutations(range(12), 3)))
    n_satisfied = round(len(index) * metrics.comparison_accuracy(X, index))
    assert metrics.worst_comparisons(X, index).n_violated == len(index) - n_satisfied
