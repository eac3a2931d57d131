"""The dimension: the rule on tables made by hand, and on synthetic answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nearer
from nearer import GNMDS, TSTE, Comparisons, OrdinalEmbedding
from nearer.auto_dimension import Evidence, choose_components, weigh
from nearer.datasets import make_comparisons, make_points
from nearer.refits import at_random, fit_best, simulated, template
from nearer.selection import cross_validate_dimensions
from nearer.selection.dimension import _as_of_all, conclude
from problems import odd_one_out


def noisy(n, d, n_comparisons, seed=0, noise=0.1):
    return make_comparisons(make_points(n, d, random_state=seed), n_comparisons, 10, noise, random_state=seed).train


def evidence(better, chosen):
    """Evidence by hand: `better[k]` is by how much the chosen dimension beats the k-th."""
    better = np.asarray(better, dtype=float)
    table = np.zeros((len(better), len(better)))
    table[:, chosen - 1] = better
    table[chosen - 1, :] = -better
    return Evidence(np.arange(1, len(better) + 1), chosen, table)


def concluded(better, chosen, accuracy=0.8, n_answers=10_000, falling=0.02, beyond=0.0):
    found = None if better is None else evidence(better, chosen)
    dims = np.array([chosen]) if found is None else found.dims
    gain = falling * np.minimum(dims - chosen, 0) + beyond * (dims > chosen)
    table = np.full((5, len(dims)), accuracy) + gain + np.linspace(-0.01, 0.01, 5)[:, None]
    return conclude(dims, np.stack([table] * 2), found, n_objects=20, n_answers=n_answers)


def test_it_is_decisive_where_smaller_and_larger_dimensions_are_ruled_out():
    found = concluded([9.0, 0.0, 4.0, 5.0], 2)
    assert (found.decisive, found.candidates) == (True, (2,))
    assert found.verdict.startswith("2 dimensions: 80.0%")
    assert "fewer" not in concluded([0.0, 4.0], 1).verdict


@pytest.mark.parametrize(
    ("better", "chosen", "more", "candidates", "verdict"),
    [
        ([9.0, 1.5, 0.0, 4.0], 3, {}, (2, 3), "2 or 3 dimensions, 3 if in doubt (80.0%"),
        ([9.0, 1.5, 0.0, 4.0], 3, {}, (2, 3), "2 predicts almost as well as 3"),
        ([9.0, 0.0, 1.0, 5.0], 2, {}, (2, 3), "3 does not predict clearly worse than 2"),
        ([9.0, 0.0, 4.0, 1.0], 2, {}, (2, 4), "4 does not predict clearly worse than 2"),
        ([9.0, 0.0, 4.0, 5.0], 2, {"n_answers": 500}, (2, 3), "more than 2 dimensions (about 519 needed)"),
        (
            [9.0, 9.0, 0.0],
            3,
            {},
            (3,),
            "the answers do not determine the dimension: the largest dimension tried, 3, is the best; try larger ones",
        ),
        (
            [9.0, 9.0, 9.0, 0.0],
            4,
            {"falling": 0.004},
            (4,),
            "4, is the best; but going beyond 2 gains less",
        ),
        ([9.0, 0.0, 4.0], 2, {"accuracy": 0.5}, (2,), "no better than chance"),
        ([9.0, 0.0, 4.0], 2, {"beyond": 0.02}, (2,), "maps of 3 dimensions satisfy more held-out answers (82.0%)"),
        (None, 2, {}, (2,), "only one dimension was tried"),
    ],
)
def test_it_says_which_dimensions_are_left_and_why(better, chosen, more, candidates, verdict):
    found = concluded(better, chosen, **more)
    assert (found.decisive, found.candidates) == (False, candidates)
    assert verdict in found.verdict


def test_a_larger_dimension_has_to_make_answers_likelier_and_satisfy_more_of_them():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(4000) < 0.8, 0.5, -0.5)
    better = np.where((x < 0) & (rng.random(4000) < 0.3), 0.5, x)
    sharper = x * np.where(x > 0, rng.choice([1.0, 2.0], 4000), 1.0)  # surer where right, yet no more are right
    lucky = x.copy()  # a gain within a standard error
    lucky[np.flatnonzero(x < 0)[:16]], lucky[np.flatnonzero(x > 0)[:14]] = 0.5, -0.5
    little = np.where(np.cumsum(x < 0) <= 19, 0.5, x)  # a gain of four standard errors, but under half a point
    for y, chosen in ((better, 2), (sharper, 1), (lucky, 1), (little, 1), (x, 1), (-x, 1)):
        assert weigh(np.array([1, 2]), np.array([[x], [y]]), np.arange(4000)).chosen == chosen
    some = x.copy()  # a gain of two standard errors: enough where it comes from two of five folds
    some[np.flatnonzero(x < 0)[:66]], some[np.flatnonzero(x > 0)[:44]] = 0.5, -0.5
    for share, chosen in ((1.0, 1), (0.4, 2)):
        assert weigh(np.array([1, 2]), np.array([[x], [some]]), np.arange(4000), share=share).chosen == chosen
    found = weigh(np.array([1, 2]), np.array([[x], [better]]), np.arange(4000))
    assert found.better[0, 1] == pytest.approx(-found.better[1, 0])
    assert found.better[0, 1] > 5


def test_answers_that_belong_together_count_once_and_weights_as_rows_would():
    rng = np.random.default_rng(0)
    dims, x, units = np.array([1, 2]), np.where(rng.random(400) < 0.7, 0.5, -0.5), np.arange(400)
    y = np.where((x < 0) & (rng.random(400) < 0.2), 0.5, x)
    once = weigh(dims, np.array([[x], [y]]), units).better[0, 1]
    copies = np.tile([[x], [y]], 4)
    assert weigh(dims, copies, np.tile(units, 4)).better[0, 1] == pytest.approx(once, rel=1e-3)
    assert weigh(dims, copies, np.arange(1600)).better[0, 1] == pytest.approx(2 * once, rel=1e-3)
    weights = rng.integers(1, 5, 400)
    weighted = weigh(dims, np.array([[x], [y]]), units, weights.astype(float))
    repeated = weigh(dims, np.repeat([[x], [y]], weights, axis=2), np.repeat(units, weights))
    assert weighted.better[0, 1] == pytest.approx(repeated.better[0, 1], rel=1e-3)


@pytest.mark.parametrize("true", [1, 2, 3])
def test_the_true_dimension_is_found_in_noisy_answers(true):
    found = cross_validate_dimensions(OrdinalEmbedding(), noisy(30, true, 2500 * true), range(1, 6), random_state=0)
    assert found.chosen == true
    assert true in found.candidates
    assert found.fold_log_loss.shape == (5, 5)
    assert np.isfinite(found.fold_log_loss).all()


def test_the_result_does_not_depend_on_the_threads():
    data = Comparisons(noisy(20, 2, 600).index, n_objects=21)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # also about the object without answers
        one, many = (
            cross_validate_dimensions(OrdinalEmbedding(n_init=2), data, [1, 2, 3], random_state=3, n_jobs=k)
            for k in (1, 4)
        )
    np.testing.assert_array_equal(one.fold_accuracy, many.fold_accuracy)
    np.testing.assert_array_equal(one.fold_log_loss, many.fold_log_loss)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dims": []}, "dims: got none"),
        ({"dims": [0]}, "dims: got 0"),
        ({"groups": "friends"}, "groups: got 'friends'"),
        ({"groups": [1, 2]}, "groups: got shape"),
        ({"n_folds": 1}, "n_folds"),
        ({"estimator": [0, 1]}, "estimator: got list, expected an OrdinalEmbedding"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cross_validate_dimensions(**{"estimator": OrdinalEmbedding(), "comparisons": noisy(15, 2, 100)} | arguments)


def test_the_maps_judged_are_those_that_fit_makes():
    data = noisy(20, 2, 1500)
    found = cross_validate_dimensions(TSTE(), data, [1, 2, 3], n_folds=4, random_state=0)
    fresh = Comparisons.from_points(make_points(20, 2, random_state=0), 3000, random_state=5)
    told = 0.1 + 0.8 * np.array([TSTE(d, random_state=0).fit(data).score(fresh) for d in (1, 2, 3)])
    np.testing.assert_allclose(found.accuracy, told, atol=0.05)


def test_one_figure_for_one_dimension_whatever_else_is_tried():
    alone, among = (
        cross_validate_dimensions(GNMDS(), noisy(15, 2, 600), dims, n_folds=3, random_state=0)
        for dims in ([2], [1, 2, 4])
    )
    np.testing.assert_array_equal(alone.fold_accuracy[:, 0], among.fold_accuracy[:, 1])
    assert np.isnan(among.log_loss).all()  # the loss has no model


@pytest.mark.parametrize("true", [1, 3])
def test_auto_finds_the_dimension(true):
    data = noisy(30, true, 2500 * true)
    model = OrdinalEmbedding("auto", loss="ste", random_state=0).fit(data)
    assert model.n_components_ == true
    same = OrdinalEmbedding(true, loss="ste", random_state=0).fit(data)
    np.testing.assert_array_equal(model.embedding_, same.embedding_)


def test_few_answers_are_no_evidence_against_many_dimensions():
    # Without a penalty they are overfitted in six dimensions, so that two seem to be as good.
    data = noisy(150, 6, 3000, seed=1, noise=0.0)
    found = cross_validate_dimensions(OrdinalEmbedding(), data, [2, 4, 6], n_folds=3, random_state=0)
    assert found.chosen == 6 == found.dims[found.accuracy.argmax()]


def test_auto_looks_further_where_the_largest_wins():
    assert choose_components(noisy(40, 8, 20_000, noise=0.0), np.random.default_rng(0)) in (7, 8, 9)


def test_auto_goes_on_with_its_dimension(tmp_path):
    data = noisy(20, 2, 1500)
    model = OrdinalEmbedding("auto", random_state=0).fit(data)
    assert model.partial_fit(data[:50]).embedding_.shape == (20, 2)
    model.save(tmp_path / "m.nearer")
    loaded = nearer.load(tmp_path / "m.nearer")
    assert (loaded.n_components, loaded.n_components_, template(model).n_components) == ("auto", 2, 2)


def test_auto_refuses_what_it_cannot_do(tmp_path):
    data = noisy(10, 2, 200)
    with pytest.raises(ValueError, match="n_components: got 'many', expected a number >= 1 or 'auto'"):
        OrdinalEmbedding("many").fit(data)
    with pytest.raises(ValueError, match="a starting point in init"):
        OrdinalEmbedding("auto", init=np.zeros((10, 2))).fit(data)
    with pytest.raises(ValueError, match="too few to hold some out"):
        OrdinalEmbedding("auto", random_state=0).fit(data[:2])
    np.save(tmp_path / "rows.npy", data.index)
    with pytest.raises(ValueError, match="needs the comparisons in memory"):
        OrdinalEmbedding("auto").fit(tmp_path / "rows.npy")


def test_as_many_random_starts_as_the_estimator_says(monkeypatch):
    tried = []

    def counting(estimator, train, starts, n_init, rng):
        tried.append(n_init)
        return fit_best(estimator, train, starts, n_init, rng)

    monkeypatch.setattr("nearer.selection.dimension.fit_best", counting)
    data = noisy(10, 2, 200)
    cross_validate_dimensions(OrdinalEmbedding(n_init=3), data, [1, 2], n_folds=2, random_state=0, n_jobs=1)
    assert tried == [3] * 4
    base, good = template(OrdinalEmbedding(2, n_jobs=4)), OrdinalEmbedding(2, n_init=5, random_state=0).fit(data)
    starts = [good.embedding_, np.random.default_rng(0).normal(size=(10, 2))]
    assert fit_best(base, data, starts, 1, np.random.default_rng(1)).objective_ <= good.objective_ + 1e-3
    assert base.n_jobs == 1


def test_answers_are_simulated_one_by_one():
    rng = np.random.default_rng(0)
    data = noisy(10, 2, 300)
    chance = np.linspace(0.5, 1.0, 300)
    changed = (simulated(data, chance, rng).index != data.index).any(axis=1)
    assert changed.mean() == pytest.approx(0.25, abs=0.08)
    assert changed[:100].sum() > changed[200:].sum()
    votes = simulated(Comparisons.from_answers(data.index, np.tile([40, 0], (300, 1))), chance, rng)
    assert votes.weights.sum() == 12_000
    kept = {tuple(row) for row in data.index.tolist()}
    share = sum(w for row, w in zip(votes.index.tolist(), votes.weights) if tuple(row) in kept) / 12_000
    assert share == pytest.approx(0.75, abs=0.02)


def test_a_fold_chooses_a_penalty_where_all_answers_would():
    data = make_comparisons(make_points(40, 5, random_state=0), 1800, 10, noise=0.1, random_state=0).train
    part = data[np.arange(1440)]  # 9 and 7.2 answers per coordinate
    base = OrdinalEmbedding(5, loss="ste", random_state=0)
    for model, answers, chosen in ((base, data, False), (_as_of_all(base, 5, 0.8), part, False), (base, part, True)):
        assert ("chosen by" in model.fit(answers).result_.message) == chosen
    assert _as_of_all(OrdinalEmbedding(solver="lbfgs"), 2, 0.8).get_params()["solver"] == "lbfgs"


def test_only_answers_to_random_questions_judge():
    rows = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]])
    data = Comparisons(rows, details={"chosen_by": ["random", "predictive", "random", "predictive"]})
    assert at_random(data, np.arange(1, 4)).tolist() == [2]
    assert at_random(Comparisons(rows), np.arange(1, 4)).tolist() == [1, 2, 3]


def test_a_training_set_is_counted_in_answers_not_in_rows():
    found = cross_validate_dimensions(OrdinalEmbedding(), odd_one_out(300, 20), [1, 2, 3], random_state=0)
    (said,) = [reason for reason in found.reasons if "training set" in reason]  # of 600 rows
    assert abs(int(said.split("training set of ")[1].split()[0]) - 240) < 10
    with pytest.raises(ValueError, match="got 1 answers, too few"):
        choose_components(Comparisons.from_odd_one_out([[0, 1, 2]], [0]), np.random.default_rng(0))


def test_the_dimension_is_chosen_from_whole_answers(monkeypatch):
    parts = []

    def ratios(train, test, dims, rng):
        parts.append((train, test))
        return np.zeros((len(dims), 1, len(test)))

    monkeypatch.setattr("nearer.auto_dimension.held_out_ratios", ratios)
    monkeypatch.setattr("nearer.auto_dimension._PER_COORDINATE", 1)  # a sample of 120 answers will do
    choose_components(odd_one_out(300, 20), np.random.default_rng(0))
    for train, test in parts:
        assert (np.bincount(train.answer) == 2).all()
        assert (np.bincount(test.answer) == 2).all()
        assert train.n_answers + test.n_answers == 120
