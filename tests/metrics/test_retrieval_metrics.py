"""Retrieval scores against a loop written from the definition."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.metrics import retrieval
from nearer.metrics.retrieval import retrieval_scores


def reference(points, labels, k):
    """Precision, recall, AP of each query at k, literally from the definition."""
    rows = []
    for number, (point, label) in enumerate(zip(points, labels)):
        others = [i for i in range(len(points)) if i != number]
        others.sort(key=lambda i: (np.sum((points[i] - point) ** 2), i))
        relevant = [labels[i] == label for i in others]
        total = sum(relevant)
        average, recall = 0.0, 0.0
        for q in range(1, min(k, len(others)) + 1):
            precision, new_recall = sum(relevant[:q]) / q, sum(relevant[:q]) / max(total, 1)
            average += precision * (new_recall - recall)
            recall = new_recall
        rows.append((sum(relevant[:k]) / min(k, len(others)), recall, average if total else np.nan))
    return np.array(rows)


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
@pytest.mark.parametrize("ties", [True, False])
def test_against_the_definition(monkeypatch, k, ties):
    monkeypatch.setattr(retrieval, "CHUNK_DISTANCES", 200)  # several chunks
    rng = np.random.default_rng(k)
    points = rng.integers(0, 3, size=(60, 2)).astype(float) if ties else rng.normal(size=(60, 2))
    labels = rng.integers(0, 4, size=60)
    labels[5] = 9  # the only one of its class
    scores = retrieval_scores(points, labels, k)
    expected = reference(points, labels, k)
    np.testing.assert_allclose(scores.average_precision[:, 0], expected[:, 2])
    found = [scores.precision[0], scores.recall[0], scores.mean_average_precision[0]]
    np.testing.assert_allclose(found, expected[np.isfinite(expected[:, 2])].mean(axis=0))


@pytest.mark.parametrize(
    ("points", "labels", "k", "message"),
    [
        (np.zeros((3, 1)), np.arange(3), 1, "no query has a relevant item"),
        (np.zeros((3, 1)), np.zeros(2), 1, r"labels: got shape \(2,\), expected \(3,\)"),
        (np.full((3, 1), np.nan), np.zeros(3), 1, "embedding"),
        (np.zeros((3, 1)), np.zeros(3), 0, "k: got 0"),
    ],
)
def test_refusals(points, labels, k, message):
    with pytest.raises(ValueError, match=message):
        retrieval_scores(points, labels, k)
