"""Nearest neighbours against a plain sort."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.metrics import nearest_neighbours


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
