"""The class itself: what it holds, rows taken, merged, flipped, split and joined."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from nearer.data import Comparisons

T = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])


@pytest.fixture
def cmp():
    return Comparisons.from_triplets(
        T, n_objects=5, weights=[1, 2, 3, 4], labels=list("abcde"), participants=["p", "q", "p", "q"]
    )


def test_what_it_holds(cmp):
    assert cmp.index.dtype == np.int32
    assert cmp.index.flags.c_contiguous
    assert cmp.weights.dtype == np.float64
    assert cmp.labels.tolist() == list("abcde")
    assert cmp.participants.tolist() == ["p", "q", "p", "q"]
    assert (cmp.kind, len(cmp), cmp.n_comparisons, cmp.n_objects, cmp.shape) == ("triplets", 4, 4, 5, (4, 3))
    assert cmp.seen.tolist() == [True, True, True, False, False]
    assert cmp.dropped == {}
    assert repr(Comparisons(np.tile(T, (1000, 1)), n_objects=1400)) == "4,000 triplets over 1,400 objects"
    assert Comparisons([[0, 1, 2, 3]]).kind == "quadruplets"


def test_a_notebook_shows_the_first_rows():
    shown = Comparisons([[0, 1, 2]] * 7, labels=["<a>", "b", "c"], weights=np.arange(7.0))._repr_html_()
    assert "<caption>7 triplets over 3 objects; the first 5</caption>" in shown
    assert "<th>anchor</th><th>near</th><th>far</th><th>weight</th>" in shown
    assert shown.count("<td>&lt;a&gt;</td>") == 5
    assert "the first" not in Comparisons([[0, 1, 2, 3]])._repr_html_()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64, np.float32])
def test_writing_to_the_array_given_changes_nothing(dtype):
    rows, weights = T.astype(dtype), np.array([1.0, 2, 3, 4])
    labels, people = np.array(["a", "b", "c"]), np.array([5, 6, 5, 6])
    codes = np.array(["p", "q", "p", "q"], object)
    cmp = Comparisons.from_triplets(rows, weights=weights, labels=labels, participants=people)
    assert cmp.index.tolist() == T.tolist()
    named = Comparisons.from_triplets(rows, participants=codes)
    before = pickle.loads(pickle.dumps((cmp, named)))
    for array in (rows, weights, people):
        assert array.flags.writeable
        array[:] = array[::-1].copy()
    labels[0], codes[0] = "z", "z"
    assert (cmp, named) == before


def test_an_array_that_nobody_can_write_to_is_not_copied():
    rows = T.astype(np.int32)
    rows.flags.writeable = False
    assert np.shares_memory(Comparisons.from_triplets(rows).index, rows)
    view = T.astype(np.int32)[:]
    view.flags.writeable = False  # its owner may still write
    assert not np.shares_memory(Comparisons.from_triplets(view).index, view)


def test_it_cannot_be_changed(cmp):
    with pytest.raises(AttributeError):
        cmp.n_objects = 3
    with pytest.raises(AttributeError):
        del cmp.weights
    for array in (cmp.index, cmp.weights, cmp.labels, cmp.participants, cmp.seen):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(TypeError, match="not iterable"):
        list(cmp)


@pytest.mark.parametrize("rows", [slice(1, 3), [False, True, True, False], [1, 2], np.array([1, -2])])
def test_rows_taken_keep_objects_labels_weights_participants(cmp, rows):
    part = cmp[rows]
    assert part.index.tolist() == T[1:3].tolist()
    assert part.weights.tolist() == [2, 3]
    assert part.participants.tolist() == ["q", "p"]
    assert part.n_objects == 5
    assert part.labels.tolist() == list("abcde")


def test_attention_checks_take_their_weights_and_participants_along():
    cmp = Comparisons.from_triplets(
        [[0, 1, 2], [4, 4, 1], [1, 2, 0]], weights=[1, 2, 3], participants=[7, 8, 9], on_degenerate="drop"
    )
    assert cmp.index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert cmp.weights.tolist() == [1, 3]
    assert cmp.participants.tolist() == [7, 9]
    assert cmp.answers.participant.each().tolist() == [7, 8, 9]
    assert cmp.answers.correct.tolist() == [-1, 1, -1]
    assert cmp.n_objects == 5  # an object of an attention check exists, unseen
    assert not cmp.seen[4]


def test_noise_flips_the_exact_number_of_rows():
    cmp = Comparisons.from_points(np.random.default_rng(0).normal(size=(30, 2)), 1001, random_state=1)
    noisy = cmp.with_noise(0.1, random_state=2)
    differs = (noisy.index != cmp.index).any(axis=1)
    assert differs.sum() == 100
    assert noisy == cmp.flipped(differs)
    assert noisy == cmp.with_noise(0.1, random_state=2)
    assert cmp.with_noise(1.0) == cmp.flipped(np.ones(1001, bool))
    assert cmp.with_noise(0.0) == cmp


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("top", [6, 2**31 - 1])  # the second needs ranks: its keys exceed 64 bits
def test_aggregate_matches_a_dictionary(width, top):
    rng = np.random.default_rng(0)
    names = np.r_[0:5, top - 1]
    rows = names[np.argsort(rng.random((400, 6)), axis=1)[:, :width]]
    weights = rng.integers(1, 9, 400)
    expected: dict[tuple, int] = {}
    for row, weight in zip(rows.tolist(), weights.tolist()):
        key = tuple(row) if width == 3 else (*sorted(row[:2]), *sorted(row[2:]))
        expected[key] = expected.get(key, 0) + weight
    merged = Comparisons(rows, n_objects=top, weights=weights).aggregate()
    keys = [tuple(r) if width == 3 else (*sorted(r[:2]), *sorted(r[2:])) for r in merged.index.tolist()]
    assert keys == sorted(expected)
    assert dict(zip(keys, merged.weights.tolist())) == expected


def test_split_stays_over_all_objects(cmp):
    train, test = cmp.split(0.25, random_state=0)
    assert (len(train), len(test)) == (3, 1)
    assert train.n_objects == test.n_objects == 5
    assert test.labels.tolist() == list("abcde")
    again = cmp.split(0.25, random_state=0)
    assert (train, test) == again
    assert len(cmp.split(3)[1]) == 3


def test_folds_keep_groups_together_and_even():
    who = np.repeat(["a", "b", "c", "d", "e"], [8, 4, 4, 2, 2])
    cmp = Comparisons(np.tile(T, (5, 1)), participants=who)
    parts = list(cmp.folds(2, random_state=0, groups="participants"))
    assert [len(test) for _, test in parts] == [10, 10]
    for train, test in parts:
        assert not set(train.participants) & set(test.participants)
    by_array = list(cmp.folds(2, random_state=0, groups=who))
    assert [test for _, test in by_array] == [test for _, test in parts]


def test_concat(cmp):
    plain = Comparisons.from_triplets(T[:2], n_objects=5, labels=list("abcde"), participants=["r", "r"])
    joined = cmp.concat(plain)
    assert joined.index.tolist() == [*T.tolist(), *T[:2].tolist()]
    assert joined.weights.tolist() == [1, 2, 3, 4, 1, 1]
    assert joined.participants.tolist() == ["p", "q", "p", "q", "r", "r"]
    assert Comparisons.concat([cmp, plain]) == joined
    assert cmp.concat([plain]) == joined
    assert Comparisons(T).concat([Comparisons(T, n_objects=9)]).n_objects == 9
    dropping = Comparisons([[0, 1, 2, 3], [0, 0, 1, 2]], on_degenerate="drop")
    assert dropping.concat(dropping).dropped == {"degenerate": 2}


class _CountsRows(BaseEstimator):
    def fit(self, X, y=None):
        self.kind_ = type(X).__name__
        return self

    def score(self, X, y=None):
        assert self.kind_ == type(X).__name__ == "Comparisons"
        assert X.n_objects == 7
        return len(X)


def test_scikit_learn_takes_rows():
    cmp = Comparisons(np.tile(T, (5, 1)), n_objects=7, weights=np.arange(1, 21))
    assert cross_val_score(_CountsRows(), cmp, cv=4).tolist() == [5, 5, 5, 5]
