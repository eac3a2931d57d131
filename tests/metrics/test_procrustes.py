"""Procrustes and principal axes against known transforms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nearer import OrdinalEmbedding, metrics


def random_similarity(points, rng, scale=2.5):
    rotation, _ = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))
    return scale * points @ rotation + rng.normal(size=points.shape[1])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_align_undoes_a_similarity(d):
    rng = np.random.default_rng(d)
    reference = rng.normal(size=(12, d))
    moved = random_similarity(reference, rng)
    np.testing.assert_allclose(metrics.procrustes_align(moved, reference), reference, atol=1e-12)
    assert metrics.procrustes_distance(moved, reference) == pytest.approx(0, abs=1e-12)
    assert metrics.fit_procrustes(moved, reference).scale == pytest.approx(1 / 2.5)
    # The distance is what alignment leaves, relative to the spread of the reference.
    other = rng.normal(size=(12, d))
    left = np.sum((metrics.procrustes_align(other, reference) - reference) ** 2)
    left /= np.sum((reference - reference.mean(0)) ** 2)
    assert metrics.procrustes_distance(other, reference) == pytest.approx(left, rel=1e-10)


def test_without_scaling_only_a_rigid_motion_is_undone():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(12, 3))
    rigid, scaled = random_similarity(reference, rng, 1.0), random_similarity(reference, rng, 2.0)
    np.testing.assert_allclose(metrics.procrustes_align(rigid, reference, scaling=False), reference, atol=1e-12)
    left = metrics.procrustes_align(scaled, reference, scaling=False)
    np.testing.assert_allclose(left - left.mean(0), 2 * (reference - reference.mean(0)), atol=1e-12)


def test_rows_with_nan_are_left_out_of_the_fit_but_transformed():
    rng = np.random.default_rng(3)
    reference = rng.normal(size=(10, 2))
    moved = random_similarity(reference, rng)
    truth = reference.copy()
    reference[3] = np.nan  # unknown in the reference: still transformed
    moved[7] = np.nan  # unknown in X: stays unknown
    aligned = metrics.procrustes_align(moved, reference)
    np.testing.assert_allclose(np.delete(aligned, 7, axis=0), np.delete(truth, 7, axis=0), atol=1e-12)
    assert np.isnan(aligned[7]).all()
    assert metrics.procrustes_distance(moved, reference) == pytest.approx(0, abs=1e-12)


def test_different_numbers_of_columns():
    rng = np.random.default_rng(4)
    flat = rng.normal(size=(10, 2))
    space = random_similarity(np.pad(flat, ((0, 0), (0, 1))), rng)
    np.testing.assert_allclose(metrics.procrustes_align(flat, space), space, atol=1e-12)
    aligned = metrics.procrustes_align(space, flat)
    assert aligned.shape == (10, 3)
    np.testing.assert_allclose(aligned, np.pad(flat, ((0, 0), (0, 1))), atol=1e-12)
    assert metrics.procrustes_distance(flat, space) == pytest.approx(0, abs=1e-12)


def test_coinciding_points():
    reference = np.random.default_rng(5).normal(size=(6, 2))
    aligned = metrics.procrustes_align(np.ones((6, 2)), reference)
    np.testing.assert_allclose(aligned, np.tile(reference.mean(0), (6, 1)))
    with pytest.raises(ValueError, match="unique points"):
        metrics.procrustes_distance(np.ones((6, 2)), reference)


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.zeros((3, 2)), np.zeros((4, 2)), "3 and 4 rows"),
        (np.zeros(3), np.zeros((3, 2)), r"X: got shape \(3,\)"),
        (np.full((3, 2), np.nan), np.zeros((3, 2)), "no object has a position in both"),
        (np.array([[0.0], [np.inf]]), np.zeros((2, 1)), "row 1 is .*expected finite"),
    ],
)
def test_bad_maps(X, Y, message):
    with pytest.raises(ValueError, match=message):
        metrics.procrustes_align(X, Y)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_principal_axes_keep_distances_and_lie_one_way(d, size):
    rng = np.random.default_rng(d)
    points = rng.normal(size=(30, d)) * np.arange(1, d + 1) * size
    turned = metrics.principal_axes(points)
    apart = np.linalg.norm((points[:, None] - points) / size, axis=2)
    np.testing.assert_allclose(np.linalg.norm((turned[:, None] - turned) / size, axis=2), apart, atol=1e-12)
    np.testing.assert_allclose(turned.mean(axis=0) / size, 0, atol=1e-12)
    covariance = (turned / size).T @ (turned / size)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    assert (np.diff(np.diag(covariance)) <= 0).all()
    assert (turned.max(axis=0) >= -turned.min(axis=0)).all()
    # However the map was turned, mirrored and moved before, it lies the same way after.
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    again = metrics.principal_axes(points @ rotation + size)
    np.testing.assert_allclose(again / size, turned / size, atol=1e-11)
    np.testing.assert_array_equal(metrics.principal_axes(points), turned)


def test_principal_axes_leave_out_what_has_no_place():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 2))
    points[4] = np.nan
    turned = metrics.principal_axes(points)
    assert np.isnan(turned[4]).all()
    np.testing.assert_array_equal(np.delete(turned, 4, axis=0), metrics.principal_axes(np.delete(points, 4, axis=0)))
    assert np.isnan(metrics.principal_axes(np.full((3, 2), np.nan))).all()
    np.testing.assert_array_equal(metrics.principal_axes(np.ones((3, 2))), np.zeros((3, 2)))


def test_spread_shares():
    points = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0], [np.nan, np.nan]])
    np.testing.assert_allclose(metrics.spread_shares(points), [0.9, 0.1])
    np.testing.assert_array_equal(metrics.spread_shares(np.ones((3, 2))), [0, 0])
    np.testing.assert_array_equal(metrics.spread_shares(np.full((3, 2), np.nan)), [0, 0])


def test_maps_of_different_objects_are_compared_on_those_they_share():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(6, 2)), rng.normal(size=(7, 3))
    second[[5, 4, 3, 2], :] = np.pad(random_similarity(first[:4], rng), ((0, 0), (0, 1)))
    first[5] = np.nan
    found = metrics.compare_maps(
        OrdinalEmbedding.from_embedding(first, labels=list("abcdef")), pd.DataFrame(second, index=list("xydcbaf"))
    )
    assert found.labels.tolist() == list("abcd")
    assert found.distance == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.first, found.second, atol=1e-12)
    np.testing.assert_array_equal(found.second, second[[5, 4, 3, 2]])
    assert (found.only_first, found.only_second) == (("e",), ("x", "y", "f"))
    assert all(part in repr(found) for part in ("4 shared objects", "1 only", "(e)", "3 only", "(x, y, f)"))
    second[4] += 1.0
    apart = metrics.compare_maps(pd.DataFrame(second, index=list("xydcbaf")), pd.DataFrame(first, index=list("abcdef")))
    assert apart.labels[np.linalg.norm(apart.first - apart.second, axis=1).argmax()] == "b"
    assert apart.distance == pytest.approx(metrics.procrustes_distance(second[[2, 3, 4, 5]], first[[3, 2, 1, 0]]))


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.zeros((4, 2)), np.zeros((4, 2)), "first: got a ndarray without labels"),
        (
            pd.DataFrame(np.eye(3), index=list("abc")),
            pd.DataFrame(np.eye(3), index=list("bcd")),
            "2 shared objects of 3",
        ),
    ],
)
def test_maps_that_cannot_be_compared(X, Y, message):
    with pytest.raises(ValueError, match=message):
        metrics.compare_maps(X, Y)
