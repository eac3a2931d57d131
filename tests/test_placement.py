"""Places for new objects on a fixed map."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.losses import get_loss
from nearer.metrics import comparison_accuracy
from nearer.objective import LocalObjective
from nearer.placement import _FreeRows, extended, place_objects
from nearer.warning_types import UnplacedObjectsWarning

STE = get_loss("ste")


def questions_about(P, objects, count, others, rng):
    """`count` true triplets for each object, in which it is the anchor or one of the two compared."""
    rows = []
    for o in objects:
        a, b = np.array([rng.choice(others, 2, replace=False) for _ in range(count)]).T
        anchor = rng.random(count) < 0.5
        rows.append(np.column_stack([np.where(anchor, o, a), np.where(anchor, a, o), b]))
    T = np.concatenate(rows)
    near, far = (np.sum((P[T[:, 0]] - P[T[:, k]]) ** 2, axis=1) for k in (1, 2))
    T[near > far] = T[near > far][:, [0, 2, 1]]
    return T


def test_an_object_said_to_be_between_two_goes_there():
    line = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    rows = [[4, 1, 0], [4, 2, 3], [4, 1, 3], [4, 2, 0], [1, 4, 3], [2, 4, 0]]
    placed = place_objects(line, Comparisons(rows), STE, rng=np.random.default_rng(0))
    assert abs(placed.embedding[0, 0]) < 0.3
    assert placed.objects.tolist() == [4]
    assert (placed.n_comparisons.tolist(), placed.n_satisfied.tolist()) == ([6], [6])


def test_known_points_stay_bit_by_bit_and_rows_without_a_place_are_new():
    X = make_points(10, 2, random_state=0)
    X[3] = np.nan
    placed = place_objects(X, Comparisons([[3, 0, 1], [10, 2, 3], [4, 5, 6]]), STE, rng=np.random.default_rng(0))
    assert placed.objects.tolist() == [3, 10]
    assert placed.n_unused == 1
    np.testing.assert_array_equal(np.delete(placed.full_embedding[:10], 3, axis=0), np.delete(X, 3, axis=0))
    np.testing.assert_array_equal(placed.full_embedding[[3, 10]], placed.embedding)
    assert placed.n_comparisons.tolist() == [2, 1]


@pytest.mark.parametrize("loss", ["hinge", "ckl", "ste", "tste", "soe"])
def test_free_rows_gradient_matches_finite_differences(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 2))
    rows = np.array([rng.choice(8, 3, replace=False) for _ in range(40)])
    objective = LocalObjective(Comparisons(rows, n_objects=8), get_loss(loss), 2)
    free = _FreeRows(objective, X, np.array([2, 7]), 0.03, np.array([0.1, -0.2]))
    at = rng.normal(size=(2, 2))
    value, gradient = free.value_and_gradient(at)
    assert value == pytest.approx(free.value(at), rel=1e-12)
    for place in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[place] = 1e-6
        slope = (free.value(at + step) - free.value(at - step)) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_hidden_objects_satisfy_held_out_comparisons_about_as_well_as_in_a_full_fit():
    n, d, rng = 60, 2, np.random.default_rng(0)
    P = make_points(n, d, random_state=0)
    hidden, known = np.arange(48, 60), np.arange(48)
    base = make_comparisons(P[:48], 2000, 100, random_state=0).train
    train = questions_about(P, hidden, 10 * d, known, rng)
    test = questions_about(P, hidden, 200, known, rng)
    placed = OrdinalEmbedding(d, n_init=3, random_state=0).fit(base).place(train)
    full = OrdinalEmbedding(d, n_init=3, random_state=0).fit(np.concatenate([base.index, train]))
    assert comparison_accuracy(placed.full_embedding, test) >= full.score(test) - 0.02


def test_each_independent_object_gets_what_it_would_get_alone():
    P = make_points(40, 2, random_state=2)
    rng = np.random.default_rng(2)
    rows = [questions_about(P, [o], 30, np.arange(36), rng) for o in (36, 37, 38)]
    together = place_objects(P[:36], Comparisons(np.concatenate(rows)), STE, rng=np.random.default_rng(0))
    for k, own in enumerate(rows):
        alone = place_objects(P[:36], Comparisons(own), STE, rng=np.random.default_rng(0), n_init=20)
        np.testing.assert_allclose(together.embedding[k], alone.embedding[0], atol=0.05)


def test_new_objects_are_placed_relative_to_each_other():
    line = np.array([[-3.0, 0], [3.0, 0], [0, 3.0]])
    rows = [[3, 0, 1], [3, 0, 2], [4, 3, 0], [4, 3, 1], [4, 3, 2], [0, 3, 4]]
    placed = place_objects(line, Comparisons(rows), STE, rng=np.random.default_rng(0))
    assert (placed.n_satisfied == placed.n_comparisons).all()
    assert placed.n_comparisons.tolist() == [6, 4]


def test_objects_tied_to_nothing_on_the_map_get_no_place():
    X = make_points(5, 2, random_state=0)
    rows = [[5, 0, 1], [6, 7, 8], [7, 6, 8]]
    with pytest.warns(UnplacedObjectsWarning, match="3 of 4"):
        placed = place_objects(X, Comparisons(rows), STE)
    assert np.isfinite(placed.embedding[0]).all()
    assert np.isnan(placed.embedding[1:]).all()
    assert placed.n_satisfied[1:].tolist() == [0, 0, 0]


def test_a_distance_between_new_objects_alone_does_not_tie_them():
    X = make_points(4, 2, random_state=0)
    with pytest.warns(UnplacedObjectsWarning, match="2 of 2"):
        place_objects(X, Comparisons([[4, 5, 0, 1]]), STE)


def test_an_object_only_ever_far_does_not_fly_away():
    X = make_points(30, 2, random_state=0)
    rng = np.random.default_rng(0)
    rows = [[*rng.choice(30, 2, replace=False), 30] for _ in range(40)]
    placed = place_objects(X, Comparisons(rows), get_loss("tste", alpha=1.0), rng=rng)
    assert np.linalg.norm(placed.embedding) < 30 * np.linalg.norm(X, axis=1).max()
    assert placed.satisfied[0] == 1


def test_labels_name_the_new_objects():
    labels = [f"city {k}" for k in range(12)]
    data = Comparisons.from_points(make_points(12, 2, random_state=0), 300, random_state=0, labels=labels)
    est = OrdinalEmbedding(2, random_state=0).fit(data)
    cells = [["new", "city 3", "city 7"], ["city 3", "new", "city 9"], ["city 1", "city 2", "city 4"]]
    table = dict(zip(("anchor", "near", "far"), map(list, zip(*cells))))
    placed = est.place(table)
    np.testing.assert_array_equal(est.set_params(n_jobs=1).place(table).embedding, placed.embedding)
    assert placed.labels.tolist() == ["new"]
    assert placed.n_unused == 1
    assert placed.full_labels.tolist() == [*labels, "new"]
    assert placed.to_dict()["object"] == ["new"]


def test_what_cannot_be_placed_is_refused_in_words():
    data = Comparisons.from_points(make_points(12, 2, random_state=0), 300, random_state=0, labels=list("abcdefghijkl"))
    est = OrdinalEmbedding(2, random_state=0).fit(data)
    with pytest.raises(ValueError, match="none of the 1 comparisons names an object that is not on the map"):
        est.place([[0, 1, 2]])
    with pytest.raises(ValueError, match="object 12 is not on the map, whose 12 objects have labels"):
        est.place([[12, 1, 2]])
    with pytest.raises(ValueError, match="got labels, but the map has none"):
        OrdinalEmbedding(2, random_state=0).fit(data.index).place(data)
    with pytest.raises(ValueError, match="with a weight above 0"):
        place_objects(est.embedding_, Comparisons([[12, 0, 1], [0, 1, 2]], weights=[0, 1]), STE)


def test_extended_keeps_known_rows_and_fills_all_others():
    X = make_points(6, 2, random_state=0)
    X[2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start = extended(X, Comparisons([[6, 0, 1], [7, 8, 9]]), STE, (10, 2), np.random.default_rng(0))
    assert np.isfinite(start).all()
    np.testing.assert_array_equal(np.delete(start[:6], 2, axis=0), np.delete(X, 2, axis=0))
