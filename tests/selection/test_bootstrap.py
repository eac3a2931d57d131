"""Resampled maps and what they say about certainty."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.metrics import comparison_distances, log_ratio, procrustes_align, procrustes_distance
from nearer.plots import plot_map
from nearer.selection import Bootstrap, bootstrap
from nearer.selection.bootstrap import _covariances, _draws, _widened, likely_map
from nearer.selection.thresholds import GAIN_OF_ALL
from problems import odd_one_out


def problem(n=20, d=2, size=1200, seed=0, noise=0.1):
    return make_comparisons(make_points(n, d, random_state=seed), size, 400, noise, random_state=seed)


def made_by_hand(samples, embedding, likely=None, fits=None, asked=None):
    """A bootstrap of these maps; without a likely map it has no bias and is not widened."""
    samples, embedding = np.asarray(samples, dtype=float), np.asarray(embedding, dtype=float)
    widening, covariance = 1.0, _covariances(samples)
    if likely is None:
        likely, fits = embedding, embedding[None]
    else:
        widening, covariance = _widened(embedding, samples, likely, fits, asked)
    accuracy = 0.9, 0.8, 0.01
    return Bootstrap(embedding, samples, covariance, *accuracy, "comparison", 500, None, widening, likely, fits)


def test_covariances_are_those_of_numpy_over_the_resamples_that_place_the_object():
    samples = np.random.default_rng(0).normal(size=(10, 3, 2))
    samples[:4, 1] = np.nan
    samples[1:, 2] = np.nan
    covariance = _covariances(samples)
    np.testing.assert_allclose(covariance[:2], [np.cov(samples[:, 0].T), np.cov(samples[4:, 1].T)])
    assert np.isnan(covariance[2]).all()


def test_nearer_is_the_log_ratio_with_a_normal_interval():
    # object 0 at 0, object 1 at 1, object 2 at 2 on all of the data; 1.5, 2 and 3 in the resamples
    samples = [[[0], [1], [1.5]], [[0], [1], [2]], [[0], [1], [3]]]
    found = made_by_hand(samples, [[0], [1], [1.6]]).nearer([[0, 1, 2]], level=0.9)
    spread = np.std(np.log([1.5, 2, 3]), ddof=1)
    np.testing.assert_allclose(found.log_ratio, [np.log(1.6)])
    np.testing.assert_allclose([found.low[0], found.high[0]], np.log(1.6) + 1.6448536 * spread * np.array([-1, 1]))
    assert found.support.tolist() == [1.0]
    assert found.settled.tolist() == [0]
    tight = made_by_hand([[[0], [1], [2]], [[0], [1], [2.1]]], [[0], [1], [2]])
    assert tight.nearer([[0, 1, 2], [0, 2, 1]]).settled.tolist() == [1, -1]
    assert tight.nearer([[0, 2, 1]]).support.tolist() == [0.0]
    # beyond three times the distance, how much farther is not known
    far = made_by_hand([[[0], [1], [2.9]], [[0], [1], [3]]], [[0], [1], [2.95]]).nearer([[0, 1, 2], [0, 2, 1]])
    assert (far.high[0], far.low[1]) == (np.inf, -np.inf)
    assert far.low[0] == -far.high[1] > 1.0
    assert far.settled.tolist() == [1, -1]


def test_accuracy_is_between_that_of_training_and_of_answers_left_out():
    found = made_by_hand(np.zeros((5, 3, 1)), np.zeros((3, 1)))
    told = found.accuracy(0.9)
    assert told.estimate == pytest.approx(0.632 * 0.8 + 0.368 * 0.9)
    exact = replace(found, left_out_accuracy=0.9).accuracy(0.9)  # nothing to gain from more answers
    assert exact.high - exact.estimate == pytest.approx(1.648 * 0.01, rel=1e-3)
    assert told.high - told.estimate == pytest.approx(np.hypot(1.648 * 0.01, 1.645 * GAIN_OF_ALL * 0.1), rel=1e-3)
    few = replace(found, left_out_accuracy=0.9, n_units=4).accuracy(0.9)  # Student's t with 3 degrees of freedom
    assert few.high - few.estimate == pytest.approx(2.353 * 0.01, rel=1e-3)
    with pytest.raises(ValueError, match="accuracy: "):
        replace(found, left_out_accuracy=np.nan).accuracy()


def test_the_accuracy_of_resamples_is_that_of_each_answer_on_maps_made_without_it():
    data = problem(12, 2, 200).train
    people = Comparisons(data.index, 12, participants=np.arange(200) % 8)
    model = OrdinalEmbedding(2, loss="tste", random_state=0).fit(people)
    found = bootstrap(model, people, n_resamples=20, by="participant", random_state=3)
    rng = np.random.default_rng(3)
    draw, *_ = _draws(people, "participant")
    kept = np.array([draw(own)[0] for own in rng.spawn(20)])  # (20, 200)
    holds = np.array([log_ratio(X, people) > 0 for X in found.samples])
    left_out = np.average(holds, axis=0, weights=kept == 0)
    assert found.left_out_accuracy == pytest.approx(left_out.mean())
    own = 0.632 * left_out + 0.368 * model.predict(people)
    by_person = own.reshape(25, 8).mean(axis=0)
    assert found.accuracy_se == pytest.approx(by_person.std(ddof=1) / 8**0.5)


@pytest.mark.parametrize("loss", ["tste", "soe"])
def test_intervals_cover_the_truth_about_as_often_as_they_say(loss):
    covered = []
    for seed in range(3):
        data = problem(25, 2, 2000, seed)
        asked = data.test.index.copy()
        asked[::2] = asked[::2][:, [0, 2, 1]]
        near, far = comparison_distances(data.points, asked)
        model = OrdinalEmbedding(2, loss=loss, n_init=3, random_state=0)
        resampled = bootstrap(model, data.train, n_resamples=50, random_state=seed)
        found, accuracy = resampled.nearer(asked, level=0.9), resampled.accuracy(0.9)
        assert accuracy.low < accuracy.estimate < accuracy.high
        assert accuracy.estimate == pytest.approx(model.fit(data.train[:1600]).score(data.train[1600:]), abs=0.05)
        truth = 0.5 * np.log(far / near)
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert 0.8 <= np.mean(covered) <= 0.97


def test_repeated_questions_do_not_leak_into_the_answers_left_out():
    data = problem(size=300).train
    draw, n_units, _ = _draws(data.concat([data]), "comparison")
    weights, left_out = draw(np.random.default_rng(0))
    assert weights.sum() == n_units == 600
    drawn = weights > 0
    np.testing.assert_array_equal(left_out[:300], ~(drawn[:300] | drawn[300:]))


def test_votes_are_drawn_one_by_one_and_weights_as_a_whole():
    votes = Comparisons.from_answers([[0, 1, 2], [1, 2, 3]], [[90, 0], [9, 1]])
    weights, _ = _draws(votes, "comparison")[0](np.random.default_rng(0))
    assert weights.sum() == 100
    assert 0 < weights[1] < 25
    odd = Comparisons([[0, 1, 2], [1, 2, 3]], weights=[0.5, 2.5])
    for seed in range(5):
        weights, _ = _draws(odd, "comparison")[0](np.random.default_rng(seed))
        assert weights.tolist() in ([1.0, 0.0], [0.5, 2.5], [0.0, 5.0])


def test_an_odd_one_out_answer_is_drawn_with_both_its_rows():
    data = odd_one_out(200, 12)
    weights, left_out = _draws(data, "comparison")[0](np.random.default_rng(0))
    assert weights.sum() == len(data) == 400  # 200 answers are drawn
    np.testing.assert_array_equal(weights[::2], weights[1::2])
    np.testing.assert_array_equal(left_out[::2], left_out[1::2])


def test_participants_are_drawn_with_all_their_answers():
    who = np.repeat(["ann", "bob", "eve", "joe"], 50)
    data = Comparisons(problem(size=200).train.index, 20, participants=who)
    draw, n_units, _ = _draws(data, "participant")
    weights, left_out = draw(np.random.default_rng(1))
    assert n_units == 4
    for name in np.unique(who):
        mine = weights[who == name]
        assert (mine == mine[0]).all()
        assert (left_out[who == name] == (mine[0] == 0)).all()
    assert weights.sum() == 200
    found = bootstrap(OrdinalEmbedding(2, random_state=0), data, n_resamples=4, by="participant", random_state=0)
    assert repr(found) == "Bootstrap: 4 resamples by participant of a map of 20 objects"


def test_resamples_lie_on_the_map_and_threads_do_not_matter():
    data = problem().train
    est = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    one, many = (bootstrap(est, data, n_resamples=8, random_state=5, n_jobs=k) for k in (1, 4))
    np.testing.assert_array_equal(one.samples, many.samples)
    np.testing.assert_array_equal(one.embedding, est.embedding_)
    error = np.linalg.norm(one.samples - one.embedding, axis=2).mean()
    assert error < 0.3 * np.linalg.norm(one.embedding, axis=1).mean()
    plot_map(one.embedding, covariances=one.covariance)


def test_labels_are_matched():
    points = make_points(10, 2, random_state=0)
    data = Comparisons.from_points(points, 300, random_state=0, labels=list("abcdefghij"))
    found = bootstrap(OrdinalEmbedding(), data, n_resamples=4, random_state=0)
    by_label = found.nearer({"anchor": ["j"], "near": ["a"], "far": ["c"]})
    np.testing.assert_array_equal(by_label.low, found.nearer([[9, 0, 2]]).low)
    with pytest.raises(ValueError, match="beyond the 10"):
        found.nearer([[0, 1, 10]])


def test_bad_arguments_are_refused():
    data = problem(size=200).train
    alone = Comparisons(data.index, participants=["a"] * 200)
    for answers, arguments in ((data, {"by": "moon"}), (data, {"by": "participant"}), (alone, {"by": "participant"})):
        with pytest.raises(ValueError, match="by: got"):
            bootstrap(OrdinalEmbedding(), answers, **arguments)
    with pytest.raises(ValueError, match="n_resamples"):
        bootstrap(OrdinalEmbedding(), data, n_resamples=1)
    with pytest.raises(ValueError, match="map has 20 objects, the comparisons are over 9"):
        bootstrap(OrdinalEmbedding(2, random_state=0).fit(data), [[0, 1, 8]])
    with pytest.raises(ValueError, match="level"):
        made_by_hand(np.zeros((2, 3, 1)), np.zeros((3, 1))).nearer([[0, 1, 2]], level=2)


def test_bounds_are_widened_by_what_simulated_fits_ask_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    asked = Comparisons.from_points(X, 400, random_state=0)
    samples = X + 0.01 * rng.normal(size=(200, 12, 2))
    as_far = made_by_hand(samples, X, X, X + 0.01 * rng.normal(size=(30, 12, 2)), asked)
    assert as_far.widening == pytest.approx(1.0, abs=0.1)
    thrice = made_by_hand(samples, X, X, X + 0.03 * rng.normal(size=(200, 12, 2)), asked)
    assert thrice.widening == pytest.approx(3.0, rel=0.15)
    found = made_by_hand(samples, X)
    np.testing.assert_allclose(np.linalg.det(thrice.covariance) / np.linalg.det(found.covariance), 3.0**4, rtol=0.4)
    plain, wide = (b.nearer([[0, 1, 2]]) for b in (found, thrice))
    assert (wide.high - wide.low) == pytest.approx(thrice.widening * (plain.high - plain.low), rel=0.05)


def test_bounds_hold_the_bias_that_simulated_fits_show():
    """The loss makes maps rounder than they are: twice as wide across."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(15, 2)) * [1.0, 0.3]
    bent = truth * [1.0, 2.0]
    asked = Comparisons.from_points(truth, 500, random_state=0)
    samples = bent + 0.01 * rng.normal(size=(300, 15, 2))
    plain = made_by_hand(samples, bent)
    found = made_by_hand(samples, bent, truth, bent + 0.01 * rng.normal(size=(40, 15, 2)), asked)
    told = found.nearer(asked)
    variance = np.var([log_ratio(X, asked) for X in found.samples], axis=0, ddof=1)
    bias = log_ratio(bent, asked) - log_ratio(truth, asked)
    half = np.minimum(told.high - told.log_ratio, told.log_ratio - told.low)  # at most one side is open
    np.testing.assert_allclose(half, 1.645 * np.sqrt(variance + bias**2), rtol=0.1, atol=0.01)
    assert np.mean((told.low <= log_ratio(truth, asked)) & (log_ratio(truth, asked) <= told.high)) > 0.95
    away = procrustes_align(truth, bent) - bent
    outside = [
        np.einsum("ni,nij,nj->n", away, np.linalg.inv(b.covariance), away) > chi2.ppf(0.9, 2) for b in (plain, found)
    ]
    assert outside[0].mean() > 0.8
    assert outside[1].mean() < 0.1


def flat(seed, count=4000, n=30):
    """A flat map, and answers of which a tenth is flipped."""
    points = np.random.default_rng(seed).normal(size=(n, 2)) * [1.0, 0.35]
    return points, Comparisons.from_points(points, count, random_state=seed, noise=0.1)


def resamples(data, count):
    draw, *_ = _draws(data, "comparison")
    return [draw(rng) for rng in np.random.default_rng(0).spawn(count)]


@pytest.mark.parametrize("loss", ["ste", "soe"])
def test_the_likely_map_is_not_bent_by_slips(loss):
    points, data = flat(1)
    X = OrdinalEmbedding(2, loss=loss, random_state=0).fit(data).embedding_
    found, chance, _ = likely_map(X, data, resamples(data, 5), np.random.default_rng(0), 1)
    assert procrustes_distance(found, points) < 0.5 * procrustes_distance(X, points)
    np.testing.assert_array_equal(chance > 0.5, log_ratio(found, data) > 0)
    assert 1 - chance.max() == pytest.approx(0.1, abs=0.03)  # the lapse rate
    assert np.maximum(chance, 1 - chance).mean() == pytest.approx(np.mean(chance > 0.5), abs=0.03)


def test_regions_hold_by_how_much_the_models_of_the_likely_map_differ(monkeypatch):
    _, data = flat(1, 600, 12)
    model = OrdinalEmbedding(2, random_state=0).fit(data)
    X, chance, maps = likely_map(model.embedding_, data, resamples(data, 2), np.random.default_rng(0), 1)
    assert len(maps) > 1
    assert any(one is X for one in maps)
    found = []
    for others in ([X], [X, X + [0.0, 1.0] * (np.arange(12) == 3)[:, None]]):
        monkeypatch.setattr(
            sys.modules["nearer.selection.bootstrap"], "likely_map", lambda *_, o=others: (X, chance, o)
        )
        found.append(bootstrap(model, data, n_resamples=5, random_state=0).covariance)
    more = np.trace(found[1] - found[0], axis1=1, axis2=2)
    assert more.argmax() == 3
    assert (more > 0).all()


def test_the_likely_map_takes_weights_for_answers():
    points, data = flat(2, 600, 15)
    doubled = data.concat([data])
    counted = data.replaced(weights=np.full(len(data), 2.0))
    nothing = data.replaced(weights=np.r_[np.zeros(100), np.ones(500)])
    for one, other in ((doubled, counted), (nothing, data[100:])):
        maps = [likely_map(points, d, resamples(d, 3), np.random.default_rng(0), 1)[0] for d in (one, other)]
        assert procrustes_distance(*maps) < 0.01


@pytest.mark.filterwarnings("ignore::nearer.warning_types.UnseenObjectsWarning")
def test_objects_without_answers_have_no_bounds():
    data = Comparisons(problem(n=14, size=300).train.index, n_objects=16)
    found = bootstrap(OrdinalEmbedding(2, random_state=0).fit(data), data, n_resamples=5, random_state=0)
    np.testing.assert_array_equal(np.isnan(found.covariance).any(axis=(1, 2)), np.arange(16) >= 14)
    told = found.nearer([[0, 1, 2], [0, 1, 15]])
    assert np.isnan(told.low).tolist() == [False, True]
    assert told.settled[1] == 0


def test_intervals_and_regions_hold_the_truth_on_a_flat_map_that_slips_make_round():
    covered, inside = [], []
    for seed in range(4):
        points, data = flat(seed)
        asked = Comparisons.from_points(points, 500, random_state=100 + seed)
        model = OrdinalEmbedding(2, loss="ste", random_state=seed).fit(data)
        found = bootstrap(model, data, n_resamples=40, random_state=seed)
        told, truth = found.nearer(asked), log_ratio(points, asked)
        covered.append(np.mean((told.low <= truth) & (truth <= told.high)))
        away = procrustes_align(points, found.embedding) - found.embedding
        apart = np.einsum("ni,nij,nj->n", away, np.linalg.inv(found.covariance), away)
        inside.append(np.mean(apart <= chi2.ppf(0.9, 2)))
    assert np.mean(covered) > 0.87
    assert np.mean(inside) > 0.8


def test_a_map_that_satisfies_all_answers_is_not_taken_for_sure():
    """Fits do not move from such a map; that does not make it right."""
    points = make_points(25, 2, random_state=0)
    data = Comparisons.from_points(points, 500, random_state=0)
    model = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    assert model.score(data) == 1.0
    found = bootstrap(model, data, n_resamples=20, random_state=0)
    asked = Comparisons.from_points(points, 500, random_state=1)
    told, truth = found.nearer(asked), log_ratio(points, asked)
    assert np.mean((told.low <= truth) & (truth <= told.high)) > 0.8
