"""Accuracy against the number of answers, and beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.data.splits import questions_of
from nearer.datasets import make_comparisons, make_points
from nearer.metrics import AnswerLaw
from nearer.plots import plot_learning_curve
from nearer.refits import template
from nearer.selection import LearningCurve, PowerLaw, fit_power_law, learning_curve
from nearer.selection.learning_curve import _Questions, _simulated_laws, _split


def curve_of(law, noise=0.0, early=False, n=None):
    n = np.array([250, 500, 1000, 2000, 4000]) if n is None else n
    rng = np.random.default_rng(0)
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


def test_needed_is_the_inverse_of_accuracy():
    law = PowerLaw(0.9, 5.0, 0.5)
    assert law.accuracy(law.needed_for(0.85)) == pytest.approx(0.85)
    assert law.needed_for(0.85) == pytest.approx(10_000)
    assert law.needed_for(0.9) == math.inf
    assert PowerLaw(0.9, 0.0, 1.0).needed_for(0.8) == 0


def test_without_noise_the_extrapolation_is_exact_and_with_noise_it_is_inside():
    law = PowerLaw(0.9, 5.0, 0.5)
    exact = curve_of(law)
    assert exact.predict(20_000).estimate == pytest.approx(float(law.accuracy(20_000)), abs=2e-3)
    assert exact.needed_for(0.85).estimate == pytest.approx(10_000, rel=0.1)
    noisy = curve_of(law, noise=0.01)
    found = noisy.predict(20_000)
    assert found.low < law.accuracy(20_000) < found.high
    needed = noisy.needed_for(0.85)
    assert needed.low < 10_000 < needed.high
    assert noisy.needed_for(0.99).high == math.inf


def test_before_the_rise_the_upper_bound_is_open():
    early = curve_of(PowerLaw(0.9, 5.0, 0.5), noise=0.01, early=True)
    assert early.predict(20_000).high == 1
    assert early.predict(1000).high < 1
    assert early.needed_for(0.85).low == 4000
    assert "too few" in repr(early)


def simulated(accuracy, size=600, factor=1):
    X = make_points(15, 2, random_state=0)
    data = make_comparisons(X, size, 10, 0.1, random_state=0).train
    base = template(OrdinalEmbedding(2, loss="ste"))
    law = AnswerLaw(4.0, 0.1)
    laws = _simulated_laws(base, data, X, law, round(factor * size), accuracy, size, np.random.default_rng(0), 1)
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
    data = make_comparisons(make_points(12, 2, random_state=0), 60, 10, random_state=0).train
    new = _Questions(data).draw(3000, rng)
    assert len(np.unique(questions_of(new))) > 500  # of 660
    assert all(len(set(row)) == 3 for row in new.index.tolist())
    repeated = _Questions(data.concat([data] * 9)).draw(3000, rng)
    known = {(a, *sorted((b, c))) for a, b, c in data.index.tolist()}
    share = np.mean([(a, *sorted((b, c))) in known for a, b, c in repeated.index.tolist()])
    assert share == pytest.approx(0.9 + 0.1 * 60 / 660, abs=0.03)
    pairs = Comparisons.from_quadruplets([[0, 1, 2, 0], [0, 1, 0, 2]])
    assert (_Questions(pairs).draw(50, rng).index.max(axis=1) <= 2).all()


def test_the_curve_rises_and_foretells_what_more_answers_give():
    data = make_comparisons(make_points(25, 2, random_state=0), 12_000 // 2, 10, 0.1, random_state=0).train
    est = OrdinalEmbedding(2, loss="ste")
    found = learning_curve(est, data[:1500], n_repeats=6, random_state=0)
    assert not found.early
    assert found.accuracy[-1] > found.accuracy[0]
    assert found.n_comparisons[-1] == 1200
    assert found.repeats.shape == (6, 7)
    later = learning_curve(est, data, sizes=[1200, 2400, 4500], n_repeats=2, random_state=1)
    ahead = found.predict(4500)
    assert ahead.low - 0.01 <= later.accuracy[-1] <= ahead.high + 0.01


def test_early_is_told_and_threads_do_not_matter():
    data = make_comparisons(make_points(30, 2, random_state=0), 300, 10, 0.1, random_state=0).train
    one, many = (learning_curve(OrdinalEmbedding(), data, n_repeats=3, random_state=1, n_jobs=k) for k in (1, 3))
    assert one.early
    np.testing.assert_array_equal(one.repeats, many.repeats)
    assert one.predict(1000) == many.predict(1000)


def test_training_sets_are_nested_and_questions_stay_together():
    data = make_comparisons(make_points(12, 2, random_state=0), 200, 10, random_state=0).train
    twice = data.concat([data])
    order, test = _split(twice, 0.25, np.random.default_rng(0))
    assert len(order) == 300
    assert len(np.unique(order)) == 300
    asked = {tuple(row) for row in twice.index[order].tolist()}
    assert not asked & {tuple(row) for row in test.index.tolist()}


def test_bad_arguments_are_refused():
    data = make_comparisons(make_points(10, 2, random_state=0), 100, 10, random_state=0).train
    with pytest.raises(ValueError, match="test_size"):
        learning_curve(OrdinalEmbedding(), data, test_size=1.0)
    with pytest.raises(ValueError, match="sizes: got 101"):
        learning_curve(OrdinalEmbedding(), data, sizes=[10, 20, 101])
    with pytest.raises(ValueError, match="at least 3"):
        learning_curve(OrdinalEmbedding(), data, sizes=[10, 20])
    with pytest.raises(ValueError, match="n_repeats"):
        learning_curve(OrdinalEmbedding(), data, n_repeats=1)
    curve = curve_of(PowerLaw(0.9, 5.0, 0.5))
    with pytest.raises(ValueError, match=r"between 0\.5"):
        curve.needed_for(0.4)
    with pytest.raises(ValueError, match="level"):
        curve.predict(10, level=0)


def test_the_table_is_what_the_plot_takes():
    table = curve_of(PowerLaw(0.9, 5.0, 0.5), noise=0.01).to_dict(extrapolate_to=40_000)
    assert table["n_comparisons"][-1] == 40_000
    assert table["extrapolated"].count(False) == 5
    assert len({len(column) for column in table.values()}) == 1
    plot_learning_curve(table)


def test_rows_of_an_odd_one_out_answer_do_not_make_it_late():
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(12, 2)), np.array([rng.permutation(12)[:3] for _ in range(180)])
    apart = np.stack([np.linalg.norm(X[sets[:, (k + 1) % 3]] - X[sets[:, (k + 2) % 3]], axis=1) for k in range(3)])
    data = Comparisons.from_odd_one_out(sets, sets[np.arange(180), apart.argmin(axis=0)])
    needed = 2 * 12 * 2 * np.log2(12)  # 172 answers show two dimensions of 12 objects
    assert 0.8 * data.n_answers < needed < 0.8 * len(data)
    assert learning_curve(OrdinalEmbedding(2), data, n_repeats=2, random_state=0).early
