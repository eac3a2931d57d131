"""Clusters of a map: found where there are some and they are stable, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.selection import Bootstrap, find_clusters

CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])


def resampled(X, spread, seed=0):
    """A bootstrap whose resamples scatter about a map."""
    samples = X + spread * np.random.default_rng(seed).normal(size=(30, *X.shape))
    samples[:10, -1] = np.nan  # not placed in all
    unknown = np.full((len(X), X.shape[1], X.shape[1]), np.nan)
    return Bootstrap(
        embedding=X, samples=samples, covariance=unknown, training_accuracy=1.0, left_out_accuracy=1.0,
        accuracy_se=0.0, by="comparison", n_units=30, labels=None, widening=1.0, likely=X, simulated=X[None],
    )  # fmt: skip


def test_clusters_that_are_there_are_found_with_their_stability():
    truth = np.repeat([0, 1, 2], [16, 11, 7])
    X = CENTRES[truth] + 0.5 * np.random.default_rng(1).normal(size=(34, 2))
    X[4] = np.nan
    found = find_clusters(resampled(X, 0.1))
    assert found.codes.tolist() == np.where(np.arange(34) == 4, -1, truth).tolist()
    np.testing.assert_allclose(found.stability, 1.0)
    assert (found.names()[0], found.names()[4]) == ("cluster 1 (stability 1.00)", None)
    mixed = find_clusters(resampled(X, 1.4))
    assert mixed is None or mixed.stability.max() < 1.0
    assert find_clusters(resampled(X, 8.0)) is None  # as separate on the map, but not on other answers


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_clusters_are_found_where_there_are_none(d):
    rng = np.random.default_rng(d)
    found = [find_clusters(resampled(draw(size=(60, d)), 0.01)) for draw in (rng.normal, rng.random) for _ in range(10)]
    assert found == [None] * 20
    turn = np.linspace(0, 2 * np.pi, 60, endpoint=False)  # a colour circle, and a strip
    for X in (np.column_stack([np.cos(turn), np.sin(turn)]), np.column_stack([turn, np.sin(9 * turn)])):
        assert find_clusters(resampled(X, 0.01)) is None
    outlier = np.vstack([rng.normal(size=(40, d)), np.full((1, d), 100.0)])
    assert find_clusters(resampled(outlier, 0.01)) is None
    assert find_clusters(resampled(np.repeat(np.eye(3, d), 9, axis=0), 0.0)) is None  # too few to say
