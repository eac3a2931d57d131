"""The retrieval experiment's data: sizes, classes, triplets, noise."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.data import load_letters
from experiments.problems import retrieval_problem

from nearer import FeatureMap, OrdinalEmbedding
from nearer.metrics.retrieval import retrieval_scores

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def letters():
    return load_letters()


def test_paper_sizes(letters):
    problem = retrieval_problem(letters.features, letters.labels, random_state=0)
    assert problem.train_features.shape == (1080, 16)
    assert problem.test_features.shape == (720, 16)
    assert len(problem.comparisons) == 70_000
    assert problem.comparisons.n_objects == 1080
    assert len(problem.classes) == 18
    for labels, each in ((problem.train_labels, 60), (problem.test_labels, 40)):
        names, counts = np.unique(labels, return_counts=True)
        assert names.tolist() == problem.classes.tolist()
        assert set(counts) == {each}
    assert not set(problem.train_rows) & set(problem.test_rows)
    np.testing.assert_array_equal(letters.features[problem.train_rows], problem.train_features)
    np.testing.assert_array_equal(letters.labels[problem.test_rows], problem.test_labels)
    anchor, near, far = problem.train_labels[problem.comparisons.index].T
    assert (anchor == near).all()
    assert (anchor != far).all()


def test_noise_changes_only_the_swaps(letters):
    clean, noisy, other = (
        retrieval_problem(letters.features, letters.labels, 4, 10, 5, 2000, noise, seed)
        for noise, seed in ((0.0, 1), (0.1, 1), (0.0, 2))
    )
    np.testing.assert_array_equal(clean.train_rows, noisy.train_rows)
    changed = (clean.comparisons.index != noisy.comparisons.index).any(axis=1)
    assert changed.sum() == 200
    swapped = noisy.comparisons.index[changed][:, [0, 2, 1]]
    np.testing.assert_array_equal(swapped, clean.comparisons.index[changed])
    assert clean.train_rows.tolist() != other.train_rows.tolist()


def test_small_classes_are_not_drawn():
    labels = np.repeat(["a", "b", "c"], [5, 3, 5])
    features = np.arange(26.0).reshape(13, 2)
    problem = retrieval_problem(features, labels, 2, 3, 2, 10, random_state=0)
    assert problem.classes.tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="only 2 of 3 classes have the 5 objects"):
        retrieval_problem(features, labels, 3, 3, 2, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, r"got shapes \(4, 1\) and \(2,\)"),
        ({"n_classes": 1}, "got 1, 1, 1, expected at least 2, 2 and 1"),
    ],
)
def test_bad_arguments_of_the_problem(arguments, message):
    base = {"features": np.zeros((4, 1)), "labels": [0, 0, 1, 1], "n_classes": 2, "n_train": 1, "n_test": 1}
    with pytest.raises(ValueError, match=message):
        retrieval_problem(**{**base, **arguments})


def test_mapped_letters_are_retrieved_far_better_than_by_their_raw_features(letters):
    problem = retrieval_problem(
        letters.features, letters.labels, n_classes=10, n_train=40, n_test=30, n_triplets=15_000, random_state=0
    )
    raw = retrieval_scores(problem.test_features, problem.test_labels).mean_average_precision[0]
    estimator = OrdinalEmbedding(10, loss="tste", random_state=0).fit(problem.comparisons)
    mapped = FeatureMap().fit(problem.train_features, estimator).transform(problem.test_features)
    assert retrieval_scores(mapped, problem.test_labels).mean_average_precision[0] > 2 * raw
