"""The dimension: the rule on tables made by hand, and on synthetic answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nearer import GNMDS, TSTE, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.losses import TSTELoss
from nearer.plots import plot_dimensions
from nearer.selection import cross_validate_dimensions
from nearer.selection.common import fit_best, questions_of, template, with_one_model
from nearer.selection.dimension import _main_axes, choose_dimension


def noisy(n, d, n_comparisons, seed=0, noise=0.1):
    return make_comparisons(make_points(n, d, random_state=seed), n_comparisons, 10, noise, random_state=seed).train


def choose(accuracy, dims=None, n_objects=20, n_comparisons=10_000, criterion="accuracy", log_loss=None):
    accuracy = np.asarray(accuracy, dtype=float)
    dims = np.arange(1, accuracy.shape[1] + 1) if dims is None else np.array(dims)
    lost = np.full_like(accuracy, np.nan) if log_loss is None else np.asarray(log_loss)
    return choose_dimension(
        dims, accuracy, lost, accuracy, criterion=criterion, n_objects=n_objects, n_comparisons=n_comparisons
    )


def test_the_rule_takes_the_smallest_dimension_within_one_standard_error_of_the_best():
    # differences to the best (d = 3), fold by fold: d = 1 far behind, d = 2 level within a standard error
    found = choose([[0.6, 0.80, 0.80, 0.79], [0.6, 0.90, 0.92, 0.90], [0.6, 0.71, 0.70, 0.69]])
    assert found.chosen == 2
    np.testing.assert_allclose(found.shortfall, np.array([2.42 - 1.8, 2.42 - 2.41, 0, 2.42 - 2.38]) / 3)
    assert found.shortfall_se[1] == pytest.approx(np.std([0, 0.02, -0.01], ddof=1) / np.sqrt(3))
    assert found.accuracy_se[1] == pytest.approx(np.std([0.80, 0.90, 0.71], ddof=1) / np.sqrt(3))
    assert found.decisive
    assert found.verdict.startswith("2 dimensions: 80.3%")


def test_differences_within_folds_count_where_the_folds_themselves_differ_widely():
    found = choose([[0.70, 0.72, 0.70], [0.80, 0.82, 0.81], [0.90, 0.92, 0.91]])
    assert found.accuracy_se[0] > 0.05
    assert found.chosen == 2


def test_it_says_why_the_data_cannot_tell():
    coin = choose([[0.50, 0.51, 0.49], [0.49, 0.47, 0.52], [0.51, 0.52, 0.49]])
    assert not coin.decisive
    assert "no better than a coin" in coin.verdict
    assert coin.verdict.startswith("the data cannot tell")
    edge = choose([[0.6, 0.7, 0.8], [0.6, 0.7, 0.81], [0.61, 0.7, 0.8]])
    assert "the largest dimension tried, 3, is the best" in edge.verdict
    close = choose([[0.80, 0.82, 0.80, 0.7], [0.80, 0.80, 0.8, 0.7], [0.78, 0.805, 0.8, 0.7]])
    assert close.chosen == 2
    assert "1 predict almost as well as 2" in close.verdict
    few = choose([[0.6, 0.8, 0.7], [0.61, 0.8, 0.7], [0.6, 0.8, 0.71]], n_comparisons=100)
    assert "a training set of 100 answers about 20 objects is too small to see more than 2 dimensions" in few.verdict


def test_log_loss_may_be_the_criterion():
    accuracy = [[0.8, 0.8, 0.8]] * 3
    lost = np.array([[0.6, 0.5, 0.55], [0.6, 0.5, 0.56], [0.61, 0.5, 0.55]])
    found = choose(accuracy, criterion="log_loss", log_loss=lost)
    assert found.chosen == 2
    assert found.log_loss[1] == pytest.approx(0.5)


@pytest.mark.parametrize("true", [1, 2, 3])
def test_the_true_dimension_is_found_in_noisy_answers(true):
    found = cross_validate_dimensions(OrdinalEmbedding(), noisy(30, true, 2500 * true), range(1, 6), random_state=0)
    assert found.chosen == true
    assert found.decisive
    assert (found.fold_train_accuracy.shape, found.fold_log_loss.shape) == ((5, 5), (5, 5))
    assert np.isfinite(found.fold_log_loss).all()


def test_few_answers_are_not_enough_and_it_says_so():
    found = cross_validate_dimensions(OrdinalEmbedding(), noisy(40, 3, 250), range(1, 5), random_state=0)
    assert not found.decisive
    assert "cannot tell" in repr(found)


def test_the_result_does_not_depend_on_the_threads():
    data = noisy(20, 2, 600)
    est = OrdinalEmbedding(n_init=2)
    one, many = (cross_validate_dimensions(est, data, [1, 2, 3], random_state=3, n_jobs=k) for k in (1, 4))
    np.testing.assert_array_equal(one.fold_accuracy, many.fold_accuracy)
    np.testing.assert_array_equal(one.fold_log_loss, many.fold_log_loss)


def test_answers_to_one_question_stay_in_one_fold():
    data = noisy(15, 2, 300)
    repeated = data.concat([data.flipped(np.arange(300) % 3 == 0)])
    question = questions_of(repeated)
    np.testing.assert_array_equal(question[:300], question[300:])
    assert len(np.unique(question)) == 300
    for train, test in repeated.folds(5, 0, question):
        asked = {(a, *sorted((b, c))) for a, b, c in train.index.tolist()}
        assert not asked & {(a, *sorted((b, c))) for a, b, c in test.index.tolist()}


def test_losses_without_a_model_have_no_log_loss():
    data = noisy(15, 2, 300)
    found = cross_validate_dimensions(GNMDS(random_state=0), data, [1, 2], n_folds=3, random_state=0)
    assert np.isnan(found.log_loss).all()
    with pytest.raises(ValueError, match="no model"):
        cross_validate_dimensions(GNMDS(), data, [1, 2], criterion="log_loss")


def test_objects_missing_from_a_fold_make_no_noise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate_dimensions(OrdinalEmbedding(), noisy(60, 2, 60), [1, 2], n_folds=3, random_state=0)


def test_bad_arguments_are_refused():
    data = noisy(15, 2, 100)
    for arguments, message in (
        ({"dims": []}, "dims: got none"),
        ({"dims": [0]}, "dims: got 0"),
        ({"criterion": "beauty"}, "criterion: got 'beauty'"),
        ({"n_folds": 1}, "n_folds"),
    ):
        with pytest.raises(ValueError, match=message):
            cross_validate_dimensions(OrdinalEmbedding(), data, **arguments)
    with pytest.raises(ValueError, match="estimator: got Comparisons, expected an OrdinalEmbedding"):
        cross_validate_dimensions(data, [1, 2])


def test_the_table_is_what_the_plot_takes():
    found = choose([[0.6, 0.8, 0.7], [0.61, 0.8, 0.7], [0.6, 0.8, 0.71]])
    assert found.to_dict()["n_components"] == [1, 2, 3]
    ax = plot_dimensions(found, chosen=found.chosen)
    assert len(ax.get_lines()) >= 1


def test_the_tails_of_the_loss_do_not_follow_the_dimension():
    assert with_one_model(OrdinalEmbedding(), 6).loss_params == {"alpha": 5.0}
    assert with_one_model(OrdinalEmbedding(loss_params={"alpha": 2.0}), 6).loss_params == {"alpha": 2.0}
    assert with_one_model(OrdinalEmbedding(loss=TSTELoss()), 6).loss == TSTELoss(5.0)
    assert with_one_model(TSTE(), 6).alpha == 5.0
    assert with_one_model(TSTE(alpha=2.0), 6).alpha == 2.0
    assert with_one_model(GNMDS(), 6).get_params() == GNMDS().get_params()


def test_as_many_random_starts_as_the_estimator_says(monkeypatch):
    data = noisy(10, 2, 200)
    tried = []

    def counting(estimator, train, starts, n_init, rng):
        tried.append(n_init)
        return fit_best(estimator, train, starts, n_init, rng)

    monkeypatch.setattr("nearer.selection.dimension.fit_best", counting)
    cross_validate_dimensions(OrdinalEmbedding(n_init=3), data, [1, 2], n_folds=2, random_state=0, n_jobs=1)
    assert tried == [3] * 4


def test_main_axes_are_those_of_the_largest_spread():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(30, 2)) * [5, 3]
    X = np.column_stack([0.01 * rng.normal(size=30), plane])
    X[4] = np.nan
    flat = _main_axes(X, 2)
    known = np.isfinite(flat).all(axis=1)
    assert known.sum() == 29
    distances = [np.linalg.norm(A[0] - A[1:4], axis=1) for A in (flat, plane)]
    np.testing.assert_allclose(*distances, rtol=1e-2)


def test_fit_best_keeps_the_lowest_objective():
    data = noisy(15, 2, 300)
    base = template(OrdinalEmbedding(2, n_jobs=4, verbose=1))
    assert (base.n_jobs, base.verbose) == (1, 0)
    good = OrdinalEmbedding(2, n_init=5, random_state=0).fit(data)
    best = fit_best(
        base, data, [good.embedding_, np.random.default_rng(0).normal(size=(15, 2))], 1, np.random.default_rng(1)
    )
    assert best.objective_ <= good.objective_ + 1e-3
