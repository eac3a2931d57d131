"""Accuracy against the number of answers, and beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.data.splits import questions_of
from nearer.datasets import make_comparisons, make_points
from nearer.metrics import AnswerLaw
from nearer.refits import template
from nearer.selection import LearningCurve, PowerLaw, fit_power_law, learning_curve
from nearer.selection.learning_curve import _questions_like, _simulated_laws, _split
from problems import odd_one_out


def answers(n_objects, count):
    """Answers about random points; a tenth of them is wrong."""
    return make_comparisons(make_points(n_objects, 2, random_state=0), count, 10, 0.1, random_state=0).train


def curve_of(law, noise=0.0, early=False):
    n, rng = np.array([250, 500, 1000, 2000, 4000]), np.random.default_rng(0)
    repeats = law.accuracy(n) + noise * rng.normal(size=(10, len(n)))
    laws = [fit_power_law(n, law.accuracy(n) + noise * rng.normal(size=len(n))) for _ in range(200)]
    mean = repeats.mean(axis=0)
    return LearningCurve(n, mean, repeats.std(axis=0), repeats, fit_power_law(n, mean), tuple(laws), early)


@pytest.mark.parametrize("law", [PowerLaw(0.9, 5.0, 0.5), PowerLaw(0.97, 40.0, 1.0), PowerLaw(1.0, 9.0, 0.75)])
def test_a_power_law_is_found_again(law):
    n = np.array([250, 500, 1000, 2000, 4000])
    found = fit_power_law(n, law.accuracy(n))
    assert found.exponent == pytest.approx(law.exponent)
    assert found.ceiling == pytest.approx(law.ceiling, abs=1e-9)
    assert found.scale == pytest.approx(law.scale, rel=1e-6)
    assert law.accuracy(law.needed_for(0.85)) == pytest.approx(0.85)
    assert law.needed_for(law.ceiling) == math.inf


def test_without_noise_the_extrapolation_is_exact_and_with_noise_it_is_inside():
    law = PowerLaw(0.9, 5.0, 0.5)
    exact = curve_of(law)
    assert exact.predict(20_000).estimate == pytest.approx(float(law.accuracy(20_000)), abs=2e-3)
    assert exact.needed_for(0.85).estimate == pytest.approx(10_000, rel=0.1)
    noisy = curve_of(law, noise=0.01)
    found, needed = noisy.predict(20_000), noisy.needed_for(0.85)
    assert found.low < law.accuracy(20_000) < found.high
    assert needed.low < 10_000 < needed.high
    assert noisy.needed_for(0.99).high == math.inf
    early = curve_of(law, noise=0.01, early=True)  # the upper bound is open
    assert early.predict(20_000).high == 1 > early.predict(1000).high
    assert early.needed_for(0.85).low == 4000
    table = noisy.to_dict(extrapolate_to=40_000)
    assert table["n_comparisons"][-1] == 40_000
    assert table["extrapolated"].count(False) == 5
    assert len({len(column) for column in table.values()}) == 1


def simulated(accuracy, size=600, factor=1):
    X = make_points(15, 2, random_state=0)
    base, rng = template(OrdinalEmbedding(2, loss="ste")), np.random.default_rng(0)
    laws = _simulated_laws(
        base, answers(15, size), X, AnswerLaw(4.0, 0.1), round(factor * size), accuracy, size, rng, 1
    )
    return np.array([[float(law.accuracy(k * factor * size)) for k in (1, 2, 4)] for law in laws])


def test_simulated_laws_pass_through_the_accuracy_measured_and_rise():
    found = simulated(0.84)
    now, twice, fourfold = np.median(found, axis=0)
    assert now == pytest.approx(0.84, abs=0.005)
    assert now < twice < fourfold < 0.9  # a tenth of the answers are slips
    assert np.std(found[:, 0]) == pytest.approx(math.sqrt(0.84 * 0.16 / 600), rel=0.4)


def test_the_more_answers_there_are_the_less_is_left_to_gain():
    few, many = (np.median(simulated(0.84, 1000, factor), axis=0) for factor in (0.2, 3))
    assert few[1] - few[0] > 2 * (many[1] - many[0]) > 0


def test_questions_are_drawn_like_those_asked():
    rng = np.random.default_rng(0)
    data = answers(12, 60)
    new = _questions_like(data)(3000, rng)
    assert len(np.unique(questions_of(new))) > 500  # of 660
    assert all(len(set(row)) == 3 for row in new.index.tolist())
    repeated = _questions_like(data.concat([data] * 9))(3000, rng)
    known = {(a, *sorted((b, c))) for a, b, c in data.index.tolist()}
    share = np.mean([(a, *sorted((b, c))) in known for a, b, c in repeated.index.tolist()])
    assert share == pytest.approx(0.9 + 0.1 * 60 / 660, abs=0.03)
    pairs = Comparisons.from_quadruplets([[0, 1, 2, 0], [0, 1, 0, 2]])
    assert (_questions_like(pairs)(50, rng).index.max(axis=1) <= 2).all()


def test_the_curve_rises_and_predicts_what_more_answers_give():
    data, est = answers(25, 6000), OrdinalEmbedding(2, loss="ste")
    found = learning_curve(est, data[:1500], n_repeats=6, random_state=0)
    assert not found.early
    assert found.accuracy[-1] > found.accuracy[0]
    assert found.n_comparisons[[0, -1]].tolist() == [300, 1200]
    assert found.repeats.shape == (6, 7)
    later = learning_curve(est, data, n_repeats=2, random_state=1)
    ahead = found.predict(int(later.n_comparisons[-1]))
    assert ahead.low - 0.01 <= later.accuracy[-1] <= ahead.high + 0.01


def test_early_is_told_and_threads_do_not_matter():
    one, many = (
        learning_curve(OrdinalEmbedding(), answers(20, 80), n_repeats=2, random_state=1, n_jobs=k) for k in (1, 2)
    )
    assert one.early
    assert "too few" in repr(one)
    np.testing.assert_array_equal(one.repeats, many.repeats)
    assert one.predict(1000) == many.predict(1000)


def test_questions_stay_together():
    data = answers(12, 200)
    twice = data.concat([data])
    order, test = _split(twice, np.random.default_rng(0))
    assert len(np.unique(order)) == len(order) == 320
    asked = {tuple(row) for row in twice.index[order].tolist()}
    assert not asked & {tuple(row) for row in test.index.tolist()}


def test_bad_arguments_are_refused():
    curve = curve_of(PowerLaw(0.9, 5.0, 0.5))
    for call, message in (
        (lambda: learning_curve(OrdinalEmbedding(), answers(10, 100), n_repeats=1), "n_repeats"),
        (lambda: learning_curve(OrdinalEmbedding(), answers(10, 2)), "too few"),
        (lambda: learning_curve(OrdinalEmbedding(), answers(10, 3)), "too few for a curve"),
        (lambda: curve.needed_for(0.4), r"between 0\.5"),
        (lambda: curve.predict(10, level=2), "level"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_rows_of_an_odd_one_out_answer_do_not_make_it_late():
    data = odd_one_out(180, 12)
    needed = 2 * 12 * 2 * np.log2(12)  # 172 answers show two dimensions of 12 objects
    assert 0.8 * data.n_answers < needed < 0.8 * len(data)
    assert learning_curve(OrdinalEmbedding(2), data, n_repeats=2, random_state=0).early
