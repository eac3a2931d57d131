"""Comparisons under other labels, joined, or over fewer objects."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.data import Comparisons, renumbered


def test_relabelled_puts_given_labels_first_and_unknown_ones_after_them_sorted():
    given = Comparisons([[0, 1, 2], [2, 0, 3]], labels=["d", "z", "a", "b"], weights=[1, 2])
    new = given.relabelled(["a", "q", "z"])
    assert new.labels.tolist() == ["a", "q", "z", "b", "d"]
    assert new.labels[new.index].tolist() == [["d", "z", "a"], ["a", "d", "b"]]
    assert new.weights.tolist() == [1, 2]
    assert new.index.dtype == np.int32


def test_relabelled_without_labels_takes_numbers_and_refuses_names():
    new = Comparisons([[0, 1, 2]]).relabelled(["2", "7"])
    assert new.labels.tolist() == ["2", "7", "0", "1"]
    assert new.index.tolist() == [[2, 3, 0]]
    with pytest.raises(ValueError, match=r"^relabelled: got names, but these comparisons have none$"):
        Comparisons([[0, 1, 2]]).relabelled(["a"])


def test_renumbered_keeps_rows_and_weights():
    some = renumbered(Comparisons([[5, 2, 9]], n_objects=12, weights=[3]), np.array([2, 5, 9]))
    assert some.index.tolist() == [[1, 0, 2]]
    assert (some.n_objects, some.weights.tolist()) == (3, [3.0])
