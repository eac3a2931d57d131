"""From features to places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearer import FeatureMap, OrdinalEmbedding, featuremap
from nearer.featuremap import mean_squared_distance
from nearer.warning_types import UnplacedObjectsWarning


@parametrize_with_checks([FeatureMap()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def smooth_problem(n=120, seed=0):
    """Places that depend smoothly on features."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, 3))
    return F, np.column_stack([np.sin(F[:, 0]) + F[:, 1], F[:, 2] * F[:, 0]])


def test_mean_squared_distance_is_that_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(17, 4)) + 100
    pairs = [np.sum((X[a] - X[b]) ** 2) for a in range(17) for b in range(a)]
    assert mean_squared_distance(X) == pytest.approx(np.mean(pairs), rel=1e-12)
    assert mean_squared_distance(X[:1]) == 0


def test_it_solves_the_regularised_least_squares_problem():
    F, Y = smooth_problem(30)
    fitted = FeatureMap(alpha=0.3).fit(F, Y)
    assert fitted.gamma_ == pytest.approx(1 / mean_squared_distance(F))
    squared = np.sum((F[:, None] - F[None]) ** 2, axis=2)
    K = np.exp(-fitted.gamma_ * squared)
    by_hand = Y.mean(axis=0) + K @ np.linalg.solve(K + 0.3 * np.eye(30), Y - Y.mean(axis=0))
    np.testing.assert_allclose(fitted.predict(F), by_hand, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(fitted.transform(F), fitted.predict(F))


def test_cross_validation_over_objects_is_no_worse_than_the_defaults():
    F, Y = smooth_problem(150)
    plain = FeatureMap().fit(F[:100], Y[:100])
    tuned = FeatureMap(gamma="cv", alpha="cv", random_state=0).fit(F[:100], Y[:100])
    assert tuned.score(F[100:], Y[100:]) >= plain.score(F[100:], Y[100:])
    assert len(tuned.cv_results_["params"]) == 24
    one = FeatureMap(gamma="cv", alpha=0.5, random_state=0).fit(F, Y)
    assert one.alpha_ == 0.5
    again = FeatureMap(gamma="cv", alpha=0.5, random_state=0).fit(F, Y)
    assert one.gamma_ == again.gamma_


def test_it_takes_a_fitted_map_and_leaves_out_objects_without_a_place():
    F, Y = smooth_problem(20)
    estimator = OrdinalEmbedding()
    estimator.embedding_ = Y.copy()
    estimator.embedding_[4] = np.nan
    with pytest.warns(UnplacedObjectsWarning, match="1 of 20"):
        fitted = FeatureMap().fit(F, estimator)
    np.testing.assert_array_equal(
        fitted.predict(F), FeatureMap().fit(np.delete(F, 4, axis=0), np.delete(Y, 4, axis=0)).predict(F)
    )


def test_mapping_in_chunks_changes_nothing(monkeypatch):
    F, Y = smooth_problem(50)
    fitted = FeatureMap().fit(F, Y)
    whole = fitted.predict(F)
    monkeypatch.setattr(featuremap, "_CHUNK", 50 * 7)
    np.testing.assert_allclose(fitted.predict(F), whole, rtol=1e-12, atol=1e-14)


def test_features_that_do_not_match_are_refused():
    F, Y = smooth_problem(20)
    table = pd.DataFrame(F, columns=["red", "green", "blue"])
    fitted = FeatureMap().fit(table, Y)
    assert fitted.feature_names_in_.tolist() == ["red", "green", "blue"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(table.rename(columns={"blue": "violet"}))
    with pytest.raises(ValueError, match="y: got places of 19 objects, expected 20"):
        FeatureMap().fit(F, Y[:19])


@pytest.mark.parametrize(
    "parameters", [{"gamma": 0}, {"gamma": "wide"}, {"alpha": -1}, {"alpha": None}, {"alpha": True}]
)
def test_bad_parameters_are_refused(parameters):
    F, Y = smooth_problem(10)
    with pytest.raises(ValueError, match="expected a positive number"):
        FeatureMap(**parameters).fit(F, Y)


def test_it_lives_in_pipelines():
    F, Y = smooth_problem(300)
    pipe = make_pipeline(StandardScaler(), FeatureMap(alpha=1e-3)).fit(F[:200], Y[:200])
    assert pipe.score(F[200:], Y[200:]) > 0.9
    assert pipe.get_feature_names_out().tolist() == ["x1", "x2"]
