"""The test whether people, or groups, differ in how much the axes of a map count for them."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_people import answers_of

from nearer import Comparisons, OrdinalEmbedding
from nearer.people import differ
from nearer.people.difference import _by_signs


def test_the_difference_is_found_and_not_found(differing, points):
    found = differ(OrdinalEmbedding(2, loss="ste", random_state=0), differing[0], n_resamples=99, random_state=0)
    assert found.p_value == 0.01
    assert str(found) == "The 24 people differ in how much the axes of the map count for them (p < 0.02)."
    alarms = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = answers_of(points, 20, 40, rng, ["random"] * 3 + ["careful"] * 17)
        model = OrdinalEmbedding(2, loss="ste", random_state=0)
        alarms.append(differ(model, data, n_resamples=39, random_state=seed).p_value <= 0.05)
        assert not hasattr(model, "embedding_")  # what is fitted is a copy
    assert sum(alarms) <= 4


def test_guesses_are_weighted_unless_asked_not_to(points):
    W = np.where(np.arange(24)[:, None] % 2, [[1.5, 0.7]], [[0.7, 1.5]])
    data = answers_of(points, 24, 60, np.random.default_rng(4), ["random"] * 8 + ["careful"] * 16, weights=W)
    plain = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    weighted = OrdinalEmbedding(2, loss="ste", reliability=True, random_state=0).fit(data)
    how = {"n_resamples": 99, "random_state": 0}
    usual = differ(plain, data, **how)
    assert usual == differ(weighted, data, **how)
    assert differ(plain, data, reliability=False, **how).statistic < usual.statistic
    halves = np.repeat([0, 1], len(data) // 2)
    alone = Comparisons(data.index, data.n_objects)  # without participants there is nothing to weight
    assert differ(plain, alone, halves, **how) == differ(plain, alone, halves, reliability=False, **how)


def test_agreement_is_that_of_all_pairs_of_answers():
    rng = np.random.default_rng(3)
    unit, scores = np.repeat([0, 2, 3], [4, 1, 5])[rng.permutation(10)], rng.normal(size=(10, 2))
    value, others = _by_signs(scores, unit, 19, rng)
    about = scores - scores.mean(axis=0)
    expected = 0.0
    for one in (0, 2, 3):
        own = about[unit == one]
        expected += sum(own[a] @ own[b] for a in range(len(own)) for b in range(len(own)) if a != b) / len(own)
    assert value == pytest.approx(expected)
    assert others.shape == (19,)


def test_groups_are_told_apart_by_their_people(points):
    rng = np.random.default_rng(2)
    W = np.where(np.arange(24)[:, None] % 2, [[2.2, 0.3]], [[0.3, 2.2]])
    data = answers_of(points, 24, 60, rng, weights=W)
    fitted = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    found = differ(fitted, data, {person: person % 2 for person in range(24)}, n_resamples=99, random_state=0)
    assert (found.p_value, found.of, found.n_units) == (0.01, "groups", 2)
    # people differ, but not by this grouping
    mixed = differ(fitted, data, {person: person // 2 % 2 for person in range(24)}, n_resamples=99, random_state=0)
    assert mixed.p_value > 0.05
    assert "were not found to differ" in str(mixed)


def test_what_the_test_needs(differing):
    data = differing[0]
    with pytest.raises(ValueError, match="map of 1 dimension"):
        differ(OrdinalEmbedding(1, loss="ste", random_state=0), data)
    with pytest.raises(ValueError, match="not a probability model"):
        differ(OrdinalEmbedding(2, loss="soe", random_state=0), data)
    with pytest.raises(ValueError, match="expected at least 2"):
        differ(OrdinalEmbedding(2), data, np.zeros(len(data), int))
