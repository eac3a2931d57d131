"""What must hold for any comparisons."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from nearer.data import Comparisons


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


def _total(cmp):
    return float(len(cmp)) if cmp.weights is None else cmp.weights.sum()


@given(comparisons())
def test_aggregate_keeps_the_total_weight_and_happens_once(cmp):
    merged = cmp.aggregate()
    assert np.isclose(_total(merged), _total(cmp), rtol=1e-12)
    assert np.isclose(merged.n_answers, cmp.n_answers, rtol=1e-12)
    assert merged.aggregate() == merged
    assert (merged.seen == cmp.seen).all()


@given(comparisons(), st.randoms(use_true_random=False))
def test_aggregate_does_not_depend_on_the_order_of_rows(cmp, random):
    order = list(range(len(cmp)))
    random.shuffle(order)
    first, second = cmp.aggregate(), cmp[order].aggregate()
    assert len(first) == len(second)
    assert np.allclose(first.weights, second.weights, rtol=1e-12)
    if cmp.kind == "triplets":
        assert (first.index == second.index).all()


@given(comparisons(min_rows=4), st.integers(0, 2**32), st.floats(0.3, 0.7))
def test_split_is_a_partition(cmp, seed, size):
    for groups in (None, "rows"):
        train, test = cmp.split(size, random_state=seed, groups=groups)
        order = np.concatenate([train.participants, test.participants])
        assert sorted(order.tolist()) == list(range(len(cmp)))
        assert train.concat(test) == cmp[order]
        assert train.n_objects == test.n_objects == cmp.n_objects
    assert len(test) == round(size * len(cmp))


@given(comparisons(min_rows=5), st.integers(2, 5), st.integers(0, 2**32))
def test_folds_are_a_partition(cmp, n_folds, seed):
    for groups in (None, "rows"):
        parts = list(cmp.folds(n_folds, random_state=seed, groups=groups))
        assert sorted(np.concatenate([test.participants for _, test in parts]).tolist()) == list(range(len(cmp)))
        for train, test in parts:
            assert len(train) + len(test) == len(cmp)
            assert groups is None or abs(len(test) - len(cmp) / n_folds) < 1
            assert not set(train.participants.tolist()) & set(test.participants.tolist())


@given(comparisons(), st.integers(0, 2**32))
def test_quadruplets_say_the_same(cmp, seed):
    X = np.random.default_rng(seed).normal(size=(cmp.n_objects, 2))
    as_four = Comparisons.from_quadruplets(cmp.quadruplets(), n_objects=cmp.n_objects, weights=cmp.weights)

    def satisfied(rows):
        i, j, l, k = rows.T if rows.shape[1] == 4 else rows.T[[0, 1, 0, 2]]  # noqa: E741
        return np.linalg.norm(X[i] - X[j], axis=1) < np.linalg.norm(X[l] - X[k], axis=1)

    assert (satisfied(cmp.index) == satisfied(as_four.index)).all()
    assert np.allclose(np.sort(as_four.aggregate().weights), np.sort(cmp.aggregate().weights), rtol=1e-12)
