"""Strategies: what each asks, and that all keep to what may be asked."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.metrics.answer_law import DistanceLaw
from nearer.questions import CrowdKernel, Predictive, Situation, Uncertainty, strategies, suggest
from nearer.questions.pool import Pool
from nearer.registry import STRATEGIES

POINTS = np.random.default_rng(1).normal(size=(16, 2))
ANSWERS = Comparisons.from_points(POINTS, 300, random_state=2, noise=0.05)


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_to_the_rules(strategy, kind):
    pending = suggest(ANSWERS, 10, kind=kind, random_state=1)
    how = {"strategy": strategy, "kind": kind, "exclude": [0], "pending": pending, "random_state": 0}
    found, same = (suggest(ANSWERS, 25, **how, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(found.index, same.index)
    np.testing.assert_array_equal(found.information, same.information)
    assert (found.strategy == "random").sum() == (25 if strategy == "random" else 5)
    pool = Pool(16, np.arange(16), kind)
    keys = pool.keys(found.index)
    assert len(set(keys.tolist())) == 25
    assert not set(keys.tolist()) & {*pool.keys(pending.index).tolist(), *pool.keys(ANSWERS.index).tolist()}
    assert 0 not in found.index
    assert np.isfinite(found.information[~np.isin(found.strategy, ("random", "balanced"))]).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_answered_yet(strategy):
    found = suggest(objects=9, size=20, strategy=strategy, random_state=0)
    assert set(found.strategy.tolist()) <= {"random", "balanced"}


def test_auto_is_random_until_there_are_enough_answers():
    for n, expected in ((100, {"random"}), (300, {"random", "predictive"})):
        assert set(suggest(ANSWERS[:n], 30, random_state=0).strategy.tolist()) == expected


def test_uncertainty_asks_the_closest_calls():
    pool, law = Pool(16, np.arange(16)), DistanceLaw(0.0, 0.1, 3.0, 0.0)
    situation = Situation(pool, ANSWERS, np.zeros((0, 3), np.int32), POINTS, law)
    rows, bits = Uncertainty().choose(situation, 10, np.random.default_rng(0))
    every = np.abs(law.margin(POINTS, pool.draw(10**6, np.random.default_rng(1)))[0])
    np.testing.assert_allclose(np.sort(np.abs(law.margin(POINTS, rows)[0])), np.sort(every)[:10])
    assert (bits <= 1).all()


def test_the_crowd_kernel_gain_is_mutual_information():
    law = DistanceLaw(0.0, 0.1, 3.0, 0.02)
    data = ANSWERS[:60]
    situation = Situation(Pool(16, np.arange(16)), data, np.zeros((0, 3), np.int32), POINTS, law)
    rows, bits = CrowdKernel().choose(situation, 5, np.random.default_rng(0))

    def chance(place, a, b):
        near, far = (np.sum((POINTS[place] - POINTS[k]) ** 2) + law.offset for k in (a, b))
        return law.lapse + (1 - 2 * law.lapse) / (1 + np.exp(-law.slope * np.log(far / near)))

    def entropy(p):
        return -p * np.log2(p) - (1 - p) * np.log2(1 - p)

    for (head, a, b), told in zip(rows.tolist(), bits):
        own = [row for row in data.index.tolist() if row[0] == head]
        belief = np.array([np.prod([chance(place, near, far) for _, near, far in own]) for place in range(16)])
        belief /= belief.sum()
        p = np.array([chance(place, a, b) for place in range(16)])
        assert told == pytest.approx(entropy(belief @ p) - belief @ entropy(p), rel=1e-6)


def test_predictive_questions_tell_more_than_random_ones_and_more_than_those_in_flight_leave():
    law, pool = DistanceLaw(0.0, 0.1, 3.0, 0.0), Pool(16, np.arange(16))
    situation = Situation(pool, ANSWERS, np.zeros((0, 3), np.int32), POINTS, law)
    first, bits = Predictive().choose(situation, 20, np.random.default_rng(0))
    every = pool.draw(10**6, np.random.default_rng(5))
    only = Situation(pool.without(every[20:]), ANSWERS, situation.pending, POINTS, law)
    _, random_bits = Predictive().choose(only, 20, np.random.default_rng(0))
    assert bits.sum() > 2 * random_bits.sum()
    _, less = Predictive().choose(situation.asked(first), 20, np.random.default_rng(0))
    assert less[0] < bits[0]


@pytest.mark.parametrize("n", [16, 40])
def test_large_maps_are_looked_at_in_parts(monkeypatch, n):
    monkeypatch.setattr(strategies, "_MOST_COORDINATES", 24)
    points = np.random.default_rng(1).normal(size=(n, 2))
    data = Comparisons.from_points(points, 800, random_state=2)
    found = suggest(data, 30, strategy="predictive", random_share=0, random_state=0)
    assert len(np.unique(found.index)) <= 12
    assert len(suggest(data, 300, strategy="predictive", random_share=0, random_state=0)) == 300  # more than 12 allow


def test_models_weights_quadruplets_and_new_objects():
    model = OrdinalEmbedding(2, loss="soe", random_state=0).fit(ANSWERS)
    assert "predictive" in suggest(model, 20, random_state=0).strategy
    counted = Comparisons(ANSWERS.index, weights=np.full(len(ANSWERS), 2.0))
    assert "predictive" in suggest(counted, 20, random_state=0).strategy
    four = Comparisons.from_points(POINTS, 300, "quadruplets", random_state=0)
    assert "predictive" in suggest(four, 20, random_state=0).strategy
    new = suggest(ANSWERS, 60, objects=18, random_state=0)
    assert (np.bincount(new.index.ravel())[16:] >= 9).all()  # d log2 n
    assert {"balanced", "predictive", "random"} == set(new.strategy.tolist())


def test_a_strategy_of_ones_own():
    class First:
        name = "first"
        needs_map = False

        def choose(self, situation, size, rng):
            return situation.pool.draw(size, np.random.default_rng(0)), np.zeros(size)

    assert set(suggest(objects=9, size=10, strategy=First(), random_share=0).strategy) == {"first"}
