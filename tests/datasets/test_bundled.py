"""Bundled data: shapes, known entries, descriptions."""

from __future__ import annotations

import numpy as np

from nearer import datasets


def test_eurodist():
    data = datasets.load_eurodist()
    assert data.names.shape == (21,)
    assert data.distances.shape == (21, 21)
    np.testing.assert_array_equal(data.distances, data.distances.T)
    assert not data.distances.diagonal().any()
    athens, barcelona = (data.names.tolist().index(name) for name in ("Athens", "Barcelona"))
    assert data.distances[athens, barcelona] == 3313
    assert "kilometres" in data.DESCR


def test_cars():
    data = datasets.load_cars()
    assert data.comparisons.n_objects == 60
    assert len(data.comparisons) == 14_194
    assert data.comparisons.n_answers == 7_097
    assert len(data.comparisons.people.names) == 146
    class_of = dict(zip(data.comparisons.labels.tolist(), data.classes.tolist()))
    assert [class_of[label] for label in ("2", "15", "1", "53")] == ["ordinary", "sports", "off-road", "outlier"]
    assert all(picture.is_file() for picture in data.pictures)
    assert data.pictures[0].stem == data.comparisons.labels[0]
    assert "Kleindessner" in data.DESCR
