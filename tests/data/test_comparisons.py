"""The class itself: what it holds, rows taken, merged, flipped, split, joined and relabelled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from nearer.data import Comparisons
from nearer.io import read_comparisons

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


def test_a_frame_is_read_as_the_same_comparisons(cmp):
    details = {"seconds": [1.5, np.nan, 2, 3], "side": [0, 1, 1, -1], "order": [1, 2, -1, 4]}
    timed = Comparisons(T, labels=cmp.labels, weights=cmp.weights, participants=cmp.participants, details=details)
    odd = Comparisons.from_odd_one_out([[0, 1, 2], [3, 1, 0]], [2, 3], labels=list("abcd"), participants=["p", "q"])
    for held in (timed, odd):
        read = read_comparisons(held.to_frame()).comparisons
        assert read.labels[read.index].tolist() == held.labels[held.index].tolist()
        assert read.answers == held.answers
        np.testing.assert_array_equal(read.weights, held.weights)
        np.testing.assert_array_equal(read.answer, held.answer)
    assert Comparisons(T).to_frame().to_numpy().tolist() == T.tolist()


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32])
def test_writing_to_the_array_given_changes_nothing(dtype):
    rows, weights, people = T.astype(dtype), np.array([1.0, 2, 3, 4]), np.array(["p", "q", "p", "q"], object)
    cmp = Comparisons(rows, weights=weights, participants=people)
    before = pickle.loads(pickle.dumps(cmp))
    for array in (rows, weights, people):
        array[:] = array[::-1].copy()
    assert cmp == before
    assert cmp.index.tolist() == T.tolist()


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
def test_rows_taken_keep_what_is_known_of_them(cmp, rows):
    expected = Comparisons(T[1:3], weights=[2, 3], labels=list("abcde"), participants=["q", "p"])
    assert cmp[rows] == expected


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
    assert merged.aggregate() == merged


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
    both = cmp.concat(plain)
    assert both.index.tolist() == [*T.tolist(), *T[:2].tolist()]
    assert both.weights.tolist() == [1, 2, 3, 4, 1, 1]
    assert both.participants.tolist() == ["p", "q", "p", "q", "r", "r"]
    assert Comparisons.concat([cmp, plain]) == both
    assert cmp.concat([plain]) == both
    assert Comparisons(T).concat([Comparisons(T, n_objects=9)]).n_objects == 9
    dropping = Comparisons([[0, 1, 2, 3], [0, 0, 1, 2]], on_degenerate="drop")
    assert dropping.concat(dropping).dropped == {"degenerate": 2}


def test_relabelled_puts_given_labels_first_and_unknown_ones_after_them_sorted():
    given = Comparisons([[0, 1, 2], [2, 0, 3]], labels=["d", "z", "a", "b"], weights=[1, 2])
    new = given.relabelled(["a", "q", "z"])
    assert new.labels.tolist() == ["a", "q", "z", "b", "d"]
    assert new.labels[new.index].tolist() == [["d", "z", "a"], ["a", "d", "b"]]
    assert new.weights.tolist() == [1, 2]
    assert new.index.dtype == np.int32
    numbers = Comparisons([[0, 1, 2]]).relabelled(["2", "7"])  # objects without labels are called by their numbers
    assert (numbers.labels.tolist(), numbers.index.tolist()) == (["2", "7", "0", "1"], [[2, 3, 0]])
    with pytest.raises(ValueError, match=r"^relabelled: got names"):
        Comparisons([[0, 1, 2]]).relabelled(["a"])


# ---- what must hold for any comparisons ----------------------------------------------------------------------------


@st.composite
def comparisons(draw, min_rows=1):
    n_objects = draw(st.integers(4, 8))
    width = draw(st.sampled_from([3, 4]))
    row = st.permutations(range(n_objects)).map(lambda order: order[:width])
    if width == 4:  # pairs may share an object
        row |= st.permutations(range(n_objects)).map(lambda o: [o[0], o[1], o[1], o[2]])
        row |= st.permutations(range(n_objects)).map(lambda o: [o[0], o[1], o[0], o[2]])
    rows = draw(st.lists(row, min_size=min_rows, max_size=30))
    weights = draw(st.none() | npst.arrays(float, len(rows), elements=st.floats(0.125, 1000)))
    return Comparisons(rows, n_objects=n_objects, weights=weights, participants=np.arange(len(rows)))


@given(comparisons(min_rows=5), st.integers(2, 5), st.floats(0.3, 0.7), st.integers(0, 2**32))
def test_splits_and_folds_are_partitions(cmp, n_folds, size, seed):
    for groups in (None, "rows"):
        split = cmp.split(size, random_state=seed, groups=groups)
        assert split == cmp.split(size, random_state=seed, groups=groups)
        assert len(split[1]) == round(size * len(cmp))
        folds = list(cmp.folds(n_folds, random_state=seed, groups=groups))
        assert sorted(np.concatenate([test.participants for _, test in folds]).tolist()) == list(range(len(cmp)))
        assert all(abs(len(test) - len(cmp) / n_folds) < 1 for _, test in folds)
        for train, test in (split, *folds):
            order = np.concatenate([train.participants, test.participants])
            assert sorted(order.tolist()) == list(range(len(cmp)))
            assert train.concat(test) == cmp[order]
            assert train.n_objects == test.n_objects == cmp.n_objects
    assert len(cmp.split(3, random_state=seed)[1]) == 3


@given(comparisons(), st.integers(0, 2**32))
def test_quadruplets_say_the_same(cmp, seed):
    X = np.random.default_rng(seed).normal(size=(cmp.n_objects, 2))
    as_four = Comparisons.from_quadruplets(cmp.quadruplets(), n_objects=cmp.n_objects, weights=cmp.weights)

    def satisfied(rows):
        i, j, l, k = rows.T if rows.shape[1] == 4 else rows.T[[0, 1, 0, 2]]  # noqa: E741
        return np.linalg.norm(X[i] - X[j], axis=1) < np.linalg.norm(X[l] - X[k], axis=1)

    assert (satisfied(cmp.index) == satisfied(as_four.index)).all()
    assert np.allclose(np.sort(as_four.aggregate().weights), np.sort(cmp.aggregate().weights), rtol=1e-12)
