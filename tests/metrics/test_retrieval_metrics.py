"""Nearest neighbours against a plain sort; retrieval against a loop written from the definition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from nearer import metrics
from nearer.metrics import nearest_neighbours, retrieval
from nearer.warning_types import InputWarning

# positions on a line; the query at 0 sees the classes  a b a b a a
LINE = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
CLASSES = np.array(list("ababaa"))


@pytest.mark.parametrize("d", [1, 3])
def test_against_a_plain_sort(d):
    X = np.random.default_rng(d).normal(size=(40, d))
    X[[3, 20]] = np.nan
    found, distances = nearest_neighbours(X, 7)
    for i in range(40):
        if i in (3, 20):
            assert (found[i] == -1).all()
            assert np.isnan(distances[i]).all()
            continue
        apart = np.linalg.norm(X - X[i], axis=1)
        apart[i] = np.nan
        expected = np.argsort(apart)[:7]  # NaN comes last
        assert found[i].tolist() == expected.tolist()
        np.testing.assert_allclose(distances[i], apart[expected])


def test_objects_in_one_place_are_each_others_neighbours():
    found, distances = nearest_neighbours(np.zeros((5, 2)), 2)
    assert all(i not in row for i, row in enumerate(found.tolist()))
    assert (distances == 0).all()


def test_few_objects():
    assert nearest_neighbours(np.array([[0.0], [1.0], [3.0]]), 10)[0].tolist() == [[1, 2], [0, 2], [1, 0]]
    assert nearest_neighbours(np.array([[0.0]]), 10)[0].shape == (1, 0)
    assert nearest_neighbours(np.full((2, 2), np.nan), 1)[0].shape == (2, 0)
    with pytest.raises(ValueError, match="k: got 0"):
        nearest_neighbours(np.zeros((3, 2)), 0)
    with pytest.raises(ValueError, match=r"embedding: got shape \(3,\)"):
        nearest_neighbours(np.zeros(3))


def reference(database, labels, queries, query_labels, k, inside):
    """Precision, recall, AP of each query at k, literally from the definition."""
    rows = []
    for number, (point, label) in enumerate(zip(queries, query_labels)):
        others = [i for i in range(len(database)) if not inside or i != number]
        others.sort(key=lambda i: (np.sum((database[i] - point) ** 2), i))
        relevant = [labels[i] == label for i in others]
        total = sum(relevant)
        average, recall = 0.0, 0.0
        for q in range(1, min(k, len(others)) + 1):
            precision, new_recall = sum(relevant[:q]) / q, sum(relevant[:q]) / max(total, 1)
            average += precision * (new_recall - recall)
            recall = new_recall
        rows.append((sum(relevant[:k]) / min(k, len(others)), recall, average if total else np.nan))
    return np.array(rows)


def test_one_query_by_hand():
    scores = metrics.retrieval_scores(LINE, CLASSES, [[0.0]], ["a"], k=[1, 2, 3, 4, 5, 9])
    np.testing.assert_allclose(scores.precision, [1, 1 / 2, 2 / 3, 2 / 4, 3 / 5, 4 / 6])  # only 6 can be listed
    np.testing.assert_allclose(scores.recall, [1 / 4, 1 / 4, 2 / 4, 2 / 4, 3 / 4, 1])
    full = (1 + 2 / 3 + 3 / 5 + 4 / 6) / 4
    np.testing.assert_allclose(scores.mean_average_precision[[0, 2, 5]], [1 / 4, (1 + 2 / 3) / 4, full])
    assert metrics.mean_average_precision(LINE, CLASSES, [[0.0]], ["a"], 3) == pytest.approx((1 + 2 / 3) / 4)


@pytest.mark.filterwarnings("ignore::nearer.warning_types.InputWarning")
@pytest.mark.parametrize("k", [1, 3, 10, 1000])
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_against_the_definition(monkeypatch, k, inside, ties):
    monkeypatch.setattr(retrieval, "CHUNK_DISTANCES", 200)  # several chunks
    rng = np.random.default_rng(k)
    database = rng.integers(0, 3, size=(60, 2)).astype(float) if ties else rng.normal(size=(60, 2))
    labels = rng.integers(0, 4, size=60)
    labels[5] = 9  # the only one of its class
    queries = () if inside else (database[:10] + (0 if ties else 0.1), labels[10:20])
    scores = metrics.retrieval_scores(database, labels, *queries, k=k)
    expected = reference(database, labels, *(queries or (database, labels)), k, inside)
    np.testing.assert_allclose(scores.average_precision[:, 0], expected[:, 2])
    found = [scores.precision[0], scores.recall[0], scores.mean_average_precision[0]]
    np.testing.assert_allclose(found, expected[np.isfinite(expected[:, 2])].mean(axis=0))


def test_queries_without_relevant_items_are_left_out_with_a_warning():
    with pytest.warns(InputWarning, match="1 of 6"):
        scores = metrics.retrieval_scores(LINE, np.array(list("aabbcb")), k=2)
    assert np.isnan(scores.average_precision[:, 0]).tolist() == [False] * 4 + [True, False]
    for more in ((), ([[0.0]], ["z"])):
        with pytest.raises(ValueError, match="no query has a relevant item"):
            metrics.retrieval_scores(LINE, np.arange(6).astype(str), *more, k=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"database": LINE[:, 0]}, r"database: got shape \(6,\)"),
        ({"database": np.where(LINE == 2, np.nan, LINE)}, "database: row 2 is .*expected finite"),
        ({"labels": CLASSES[:5]}, r"labels: got shape \(5,\), expected \(6,\)"),
        ({"queries": [[0.0]]}, r"query_labels: got shape \(\)"),
        ({"queries": [[0.0, 1.0]], "query_labels": ["a"]}, r"queries: got shape \(1, 2\)"),
        ({"k": 0}, "k: got 0"),
        ({"database": LINE[:1], "labels": ["a"]}, "no query has a relevant item"),
    ],
)
def test_bad_retrieval_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.retrieval_scores(**{"database": LINE, "labels": CLASSES, **arguments})


def test_memory_stays_below_the_distance_matrix(monkeypatch):
    monkeypatch.setattr(retrieval, "CHUNK_DISTANCES", 1 << 17)
    rng = np.random.default_rng(4)
    database, labels = rng.normal(size=(1500, 2)), rng.integers(0, 5, 1500)
    tracemalloc.start()
    metrics.retrieval_scores(database, labels, k=40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1500**2 * 8 / 3
