"""Retrieval metrics against hand-computed cases, a loop written from the definition, and scikit-learn."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from nearer import metrics
from nearer.metrics import retrieval
from nearer.warning_types import InputWarning

# positions on a line; the query at 0 sees the classes  b a b a a  (a relevant)
LINE = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
CLASSES = np.array(list("ababaa"))


def reference(database, labels, queries, query_labels, k, own=None):
    """Precision, recall, AP of each query at k, literally from the definition."""
    rows = []
    for number, (point, label) in enumerate(zip(queries, query_labels)):
        others = [i for i in range(len(database)) if own is None or i != own[number]]
        others.sort(key=lambda i: (np.sum((database[i] - point) ** 2), i))
        relevant = [labels[i] == label for i in others]
        total = sum(relevant)
        average, recall = 0.0, 0.0
        for q in range(1, min(k, len(others)) + 1):
            precision, new_recall = sum(relevant[:q]) / q, sum(relevant[:q]) / total
            average += precision * (new_recall - recall)
            recall = new_recall
        rows.append((sum(relevant[:k]) / min(k, len(others)), recall, average))
    return np.array(rows)


def test_one_query_by_hand():
    scores = metrics.retrieval_scores(LINE, CLASSES, queries=[0], k=[1, 2, 3, 4, 5, 9])
    assert scores.n_relevant.tolist() == [3]
    assert scores.hits[0].tolist() == [0, 1, 1, 2, 3, 3]
    np.testing.assert_allclose(scores.precision, [0, 1 / 2, 1 / 3, 2 / 4, 3 / 5, 3 / 5])  # only 5 can be listed
    np.testing.assert_allclose(scores.recall, [0, 1 / 3, 1 / 3, 2 / 3, 1, 1])
    full = (1 / 2 + 2 / 4 + 3 / 5) / 3
    np.testing.assert_allclose(scores.mean_average_precision, [0, 1 / 6, 1 / 6, 1 / 3, full, full])


def test_scalar_functions():
    arguments = (LINE, CLASSES, [0])
    assert metrics.precision_at_k(*arguments, k=4) == pytest.approx(0.5)
    assert metrics.recall_at_k(*arguments, k=4) == pytest.approx(2 / 3)
    assert metrics.mean_average_precision(*arguments, k=4) == pytest.approx(1 / 3)
    np.testing.assert_allclose(metrics.average_precision_at_k(*arguments, k=4), [1 / 3])
    assert isinstance(metrics.precision_at_k(*arguments, k=4), float)
    assert metrics.recall_at_k(*arguments, k=[4, 5]).shape == (2,)
    assert metrics.average_precision_at_k(*arguments, k=[4, 5]).shape == (1, 2)


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_against_the_definition(monkeypatch, k, inside, ties):
    monkeypatch.setattr(retrieval, "CHUNK_DISTANCES", 200)  # several chunks
    rng = np.random.default_rng(k)
    database = rng.integers(0, 3, size=(60, 2)).astype(float) if ties else rng.normal(size=(60, 2))
    labels = rng.integers(0, 4, size=60)
    if inside:
        own = rng.permutation(60)[:25]
        scores = metrics.retrieval_scores(database, labels, own, k=k)
        expected = reference(database, labels, database[own], labels[own], k, own)
    else:
        points, names = database[:10] + (0 if ties else 0.1), labels[:10]
        scores = metrics.retrieval_scores(database, labels, points, names, k=k)
        expected = reference(database, labels, points, names, k)
    np.testing.assert_allclose(scores.hits[:, 0] / scores.n_listed, expected[:, 0])
    np.testing.assert_allclose(scores.average_precision[:, 0], expected[:, 2])
    found = [scores.precision[0], scores.recall[0], scores.mean_average_precision[0]]
    np.testing.assert_allclose(found, expected.mean(axis=0))


def test_all_items_query_by_default():
    rng = np.random.default_rng(0)
    database, labels = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    a = metrics.retrieval_scores(database, labels, k=[5, 10])
    b = metrics.retrieval_scores(database, labels, np.arange(30), k=[5, 10])
    np.testing.assert_array_equal(a.hits, b.hits)
    np.testing.assert_array_equal(a.average_precision, b.average_precision)


def test_full_length_average_precision_agrees_with_sklearn():
    rng = np.random.default_rng(1)
    database, labels = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    points, names = rng.normal(size=(20, 3)), rng.integers(0, 4, 20)
    average = metrics.average_precision_at_k(database, labels, points, names, k=50)
    expected = [
        average_precision_score(labels == name, -np.linalg.norm(database - point, axis=1))
        for point, name in zip(points, names)
    ]
    np.testing.assert_allclose(average, expected, rtol=1e-12)


def test_queries_without_relevant_items_are_left_out_and_told():
    labels = np.array(list("aabbcb"))
    with pytest.warns(InputWarning, match="1 of 6"):
        scores = metrics.retrieval_scores(LINE, labels, k=2)
    assert scores.n_unanswerable == 1
    assert np.isnan(scores.average_precision[4, 0])
    kept = [0, 1, 2, 3, 5]
    expected = reference(LINE, labels, LINE[kept], labels[kept], 2, kept).mean(axis=0)
    found = [scores.precision[0], scores.recall[0], scores.mean_average_precision[0]]
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="no query has a relevant item"):
        metrics.retrieval_scores(LINE, np.arange(6), k=2)
    with pytest.raises(ValueError, match="no query has a relevant item"):
        metrics.retrieval_scores(LINE, labels, [[0.0]], ["z"], k=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"database": LINE[:, 0]}, r"database: got shape \(6,\)"),
        ({"database": np.where(LINE == 2, np.nan, LINE)}, "database: row 2 has a value that is not finite"),
        ({"labels": CLASSES[:5]}, r"labels: got shape \(5,\), expected \(6,\)"),
        ({"queries": [6]}, "from 0 to 5"),
        ({"queries": [0.5]}, "from 0 to 5"),
        ({"queries": np.array([], dtype=int)}, "queries: got "),
        ({"queries": [0], "query_labels": ["a"]}, "query_labels: given for queries inside"),
        ({"queries": [[0.0]]}, r"query_labels: got shape \(\)"),
        ({"queries": [[0.0, 1.0]], "query_labels": ["a"]}, r"queries: got shape \(1, 2\)"),
        ({"queries": [[0.0]], "query_labels": ["a", "b"]}, r"query_labels: got shape \(2,\)"),
        ({"queries": [[0.0]], "query_labels": [1]}, "query_labels: got int64, but the database's labels are <U1"),
        ({"k": 0}, "k: got 0"),
        ({"k": 2.5}, "k: got 2.5"),
        ({"database": LINE[:1], "labels": ["a"]}, "leaves nothing to rank"),
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
