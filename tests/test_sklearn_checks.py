"""scikit-learn's own estimator checks, on comparisons.

The checks fit matrices of features. Adapters read such a matrix as comparisons and hand these to the estimator itself:
what is checked is the estimator, what is adapted is the reading.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from nearer import CKL, GNMDS, SOE, STE, TSTE, OrdinalEmbedding
from nearer.losses import loss_with
from nearer.solvers import LBFGS

N_OBJECTS = 5
TRIPLETS = np.array(list(permutations(range(N_OBJECTS), 3)))


class Adapter:
    """Reads feature matrices; subclasses say which comparisons a matrix stands for."""

    def _read(self, X, reset=False):
        if not reset:
            check_is_fitted(self)
        return self._comparisons(validate_data(self, X, reset=reset, dtype=np.float64, ensure_non_negative=True))

    def fit(self, X, y=None, sample_weight=None):
        return self._keeping_width(super().fit, self._read(X, reset=True), y, sample_weight)

    def _keeping_width(self, method, rows, y, sample_weight):
        width = self.n_features_in_  # of the features
        method(rows, self._answers(y), sample_weight)
        self.n_features_in_ = width
        return self

    def _answers(self, y):
        return None

    def transform(self, X):
        self._read(X)
        return super().transform()


class RowsAreComparisons(Adapter):
    """Every row is the code of one triplet over five objects, whatever the other rows are; y holds the answers."""

    def _comparisons(self, X):
        return TRIPLETS[np.floor(X.sum(axis=1) * 97).astype(np.int64) % len(TRIPLETS)]

    def _answers(self, y):
        return None if y is None else np.asarray(y).astype(float).astype(int) % 2 == 0

    def partial_fit(self, X, y=None, sample_weight=None):
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, sample_weight)
        return self._keeping_width(super().partial_fit, self._read(X), y, sample_weight)

    def score(self, X, y=None, sample_weight=None):
        return super().score(self._read(X), self._answers(y), sample_weight)

    def predict(self, X):
        return super().predict(self._read(X))

    @available_if(lambda self: loss_with(self.loss, self.loss_params).has_model)
    def predict_proba(self, X):
        return super().predict_proba(self._read(X))


class RowsWithoutMap(RowsAreComparisons):
    """Without `transform`, for checks that want a row out for each row in from all methods alike."""

    @property
    def transform(self):
        raise AttributeError("transform")


class RowsAreObjects(Adapter):
    """Every row is an object; the comparisons are those of the distances of neighbours in the matrix."""

    def _comparisons(self, X):
        n = len(X)
        start = np.arange(n)
        rows = np.concatenate(
            [np.stack([start, (start + a) % n, (start + a + b) % n], 1) for a in (1, 2) for b in (1, 2)]
        )
        near, far = (np.linalg.norm(X[rows[:, 0]] - X[rows[:, side]], axis=1) for side in (1, 2))
        rows[near > far] = rows[near > far][:, [0, 2, 1]]
        return rows


def adapted(adapter, cls):
    """The class with an adapter, under a name by which pickle finds it."""
    name = f"{cls.__name__}{adapter.__name__}"
    globals()[name] = type(name, (adapter, cls), {"__module__": __name__})
    return globals()[name]


LOSSES = (OrdinalEmbedding, GNMDS, CKL, STE, TSTE, SOE)
CLASSES = {(adapter, cls): adapted(adapter, cls) for adapter in (RowsAreComparisons, RowsWithoutMap, RowsAreObjects)
           for cls in LOSSES}  # fmt: skip

CLASS_OF = {made: cls for (_, cls), made in CLASSES.items()}

# Checks that are run with another adapter than `RowsAreComparisons`.
OTHER_ADAPTER = {
    # The map has a row for each object, so those that compare the rows in and out of `transform` need rows of objects.
    "check_transformer_data_not_an_array": RowsAreObjects,
    "check_transformer_general": RowsAreObjects,
    "check_transformer_preserve_dtypes": RowsAreObjects,
    # And those that pass parts of X to every method need a class with methods by row only.
    "check_methods_sample_order_invariance": RowsWithoutMap,
    "check_methods_subset_invariance": RowsWithoutMap,
}

# check: (why it fails, the message it must fail with)
EXPECTED_FAILURES = {
    "check_all_zero_sample_weights_error": ("refused, but with the figure 0 for the word", "weights: all are 0")
}


def made(adapter, cls):
    # L-BFGS looks at all comparisons in every step, so their order matters no more than rounding does.
    n_objects = None if adapter is RowsAreObjects else N_OBJECTS
    return CLASSES[adapter, cls](n_objects=n_objects, solver=LBFGS(max_epochs=20), random_state=0)


@pytest.mark.filterwarnings(
    "ignore::nearer.warning_types.UnseenObjectsWarning", "ignore::nearer.warning_types.UnplacedObjectsWarning",
    "ignore::nearer.warning_types.ConvergenceWarning",
)  # fmt: skip
@parametrize_with_checks([made(RowsAreComparisons, cls) for cls in LOSSES])
def test_scikit_learn(estimator, check):
    name = check.func.__name__
    if name in OTHER_ADAPTER:
        estimator = made(OTHER_ADAPTER[name], CLASS_OF[type(estimator)])
    if name not in EXPECTED_FAILURES:
        check(estimator)
        return
    reason, message = EXPECTED_FAILURES[name]
    with pytest.raises(AssertionError, match=message):
        check(estimator)
    pytest.xfail(reason)


@pytest.mark.parametrize("cls", LOSSES)
def test_the_adapters_hand_over_what_they_say(cls):
    rng = np.random.default_rng(0)
    X = rng.random((40, 7))
    y = rng.integers(0, 3, 40)
    est = made(RowsAreComparisons, cls).fit(X, y)
    rows = TRIPLETS[np.floor(X.sum(axis=1) * 97).astype(int) % 60]
    plain = cls(n_objects=5, solver=LBFGS(max_epochs=20), random_state=0).fit(rows, y % 2 == 0)
    np.testing.assert_array_equal(est.embedding_, plain.embedding_)
    np.testing.assert_array_equal(est.predict(X), plain.predict(rows))
    assert est.score(X, y) == plain.score(rows, y % 2 == 0)
    assert made(RowsAreObjects, cls).fit_transform(X).shape == (40, 2)
