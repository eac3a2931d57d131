"""The benchmark of starts: its data are what they say, and failures are counted against the lowest objective."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import starts

from nearer.losses import loss_names

pytestmark = pytest.mark.tools


@pytest.mark.parametrize(
    ("group", "kind"), [(group, kind) for group in starts.GROUPS for kind in starts.GROUPS[group][0]]
)
def test_no_question_is_in_both_parts_and_noise_is_in_training_alone(group, kind):
    case = starts.Case(group, kind, 25, 2, 60, 0.1)
    train, test = starts.data(case)
    clean, _ = starts.data(starts.Case(group, kind, 25, 2, 60, 0.0))
    assert len(train) == 1500
    assert len(test) > 1000

    def questions(part):
        return {(i, *sorted((j, k))) for i, j, k in part.index.tolist()}

    assert not questions(train) & questions(test)
    distances = starts.GROUPS[group][0][kind](25, 2, np.random.default_rng([1, 25, 2, 10]))
    wrong = [
        np.mean(distances[part.index[:, 0], part.index[:, 1]] > distances[part.index[:, 0], part.index[:, 2]])
        for part in (train, test)
    ]
    assert wrong == [pytest.approx(0.1, abs=0.01), 0.0]
    assert len(clean) == len(train)


def test_distances_in_a_tree_are_those_of_a_tree():
    D = starts.tree(9, 2, np.random.default_rng(0))
    assert (D == D.T).all()
    assert (D.diagonal() == 0).all()
    for i, j, k, m in np.random.default_rng(1).integers(9, size=(50, 4)):  # the two largest of three sums are equal
        sums = sorted([D[i, j] + D[k, m], D[i, k] + D[j, m], D[i, m] + D[j, k]])
        assert sums[1] == pytest.approx(sums[2])


def test_failures_are_more_than_a_point_above_the_lowest_objective():
    made = starts.Outcome
    plain = [made(0.5, 0.20, 1.0), made(0.4, 0.10, 1.0), made(0.6, 0.095, 1.0), made(0.6, 0.50, 1.0)]
    runs = {"plain": plain, "guided": [made(0.41, 0.106, 2.0), made(0.45, 0.12, 4.0)]}
    case = starts.Case("aside", "spiral", 20)
    found = {case: {(d, loss): runs for d in starts.DIMENSIONS for loss in loss_names()}}
    rows = starts.rows_of(found, {case: {(d, "soe"): 0.3 for d in starts.DIMENSIONS}})
    by_start = {row["start"]: row for row in rows if row["d"] == 2}
    assert by_start["plain"]["tste"] == 50.0
    assert by_start["plain"]["strict"] == pytest.approx(50.0)
    assert by_start["guided"]["mean"] == pytest.approx(50.0)
    assert by_start["guided"]["strict"] == pytest.approx(100.0)
    assert by_start["guided"]["time"] == 3.0
    assert (by_start["plain"]["stuck"], by_start["guided"]["stuck"]) == (50.0, 50.0)
    assert by_start["guided"]["points above"] == pytest.approx(1.3)
    assert (by_start["cblearn"]["soe"], by_start["cblearn"]["ckl"], by_start["cblearn"]["fits"]) == (100.0, None, 1)
