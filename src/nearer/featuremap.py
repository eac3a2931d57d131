"""`FeatureMap`: from features of an object to its place on the map, for objects that nobody has compared."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from nearer.data import as_generator, in_order_of, row_names
from nearer.data.validate import check_number
from nearer.warning_types import UnplacedObjectsWarning

__all__ = ["FeatureMap", "mean_squared_distance"]

# Kernel entries held at once when mapping (128 MB).
_CHUNK = 1 << 24
# What cross-validation tries: widths around the default one, and penalties.
_WIDTH_FACTORS = 2.0 ** np.arange(-4, 2)
_ALPHAS = 10.0 ** np.arange(-3, 1)


@dataclass(eq=False, repr=False)
class FeatureMap(RegressorMixin, TransformerMixin, BaseEstimator):
    """Regularised least squares with a radial basis function kernel, from features to places on a map.

    ``place(x) = offset + sum over training objects t of a_t exp(-gamma |x - t|^2)``, with a penalty `alpha` on a_t, by
    scikit-learn's `KernelRidge`. Standardise features on very different scales first, for instance in a pipeline.

    Parameters
    ----------
    gamma : float or "cv", optional
        Inverse width of the kernel. By default 1 / mean squared distance of the training objects, a choice of this
        package; "cv": chosen by cross-validation over objects.
    alpha : float or "cv", default 0.1
        Penalty; larger is smoother. "cv": chosen by cross-validation over objects.
    cv : int, default 5
        Folds of the cross-validation.
    random_state : int, Generator or RandomState, optional
        Of the folds.
    n_jobs : int, optional
        Processes of the cross-validation, as in scikit-learn.

    Attributes
    ----------
    gamma_, alpha_ : float
        Values used.
    offset_ : ndarray of float64, shape (n_components,)
        Mean place of the training objects, towards which the map falls off far from all of them.
    cv_results_ : dict or None
        Table of the cross-validation, as in scikit-learn.
    explained_ : float or None
        Fraction of the variance of held-out places that the features explain, by cross-validation.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the training features had names
    """

    gamma: Any = None
    alpha: Any = 0.1
    _: KW_ONLY
    cv: int = 5
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any) -> FeatureMap:
        """Learn the map.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n_objects, n_features)
            Features of the objects on the map, row by row. A pandas table with an index of names is matched by name
            with the labels of the map, or the index of y.
        y : array-like of float, shape (n_objects, n_components), or fitted OrdinalEmbedding
            Positions. Objects without a position (NaN) are left out, with a warning.
        """
        for name, value in (("gamma", self.gamma), ("alpha", self.alpha)):
            if value != "cv":
                check_number(value, name, allow_none=name == "gamma")
        if hasattr(y, "embedding_"):
            X = in_order_of(X, getattr(y, "labels_", None), "X")
        elif row_names(y) is not None:
            X = in_order_of(X, row_names(y), "X")
        features = validate_data(self, X, dtype=np.float64)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: give the places of the objects")
        given = getattr(y, "embedding_", y)
        places = check_array(given, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
        if len(places) != len(features):
            raise ValueError(f"y: got places of {len(places):,} objects, expected {len(features):,}, as X has")
        known = np.isfinite(places.reshape(len(places), -1)).all(axis=1)
        if known.sum() < min(2, len(known)):
            raise ValueError(f"Input y contains NaN: only {known.sum()} of {len(known):,} objects have a place")
        if not known.all():
            text = f"{int((~known).sum()):,} of {len(known):,} objects have no place: left out"
            warnings.warn(text, UnplacedObjectsWarning, stacklevel=2)
        features, places = features[known], places[known]
        self.offset_ = np.atleast_1d(places.mean(axis=0))
        places = places - self.offset_
        self._choose(features, places)
        self.ridge_ = kernel_ridge(gamma=self.gamma_, alpha=self.alpha_).fit(features, places)
        return self

    def _choose(self, features: np.ndarray, places: np.ndarray) -> None:
        """Set `gamma_` and `alpha_`: those given, the default width, or the best in a cross-validation."""
        width = 1.0 / (mean_squared_distance(features) or 1.0)
        self.gamma_ = width if self.gamma in (None, "cv") else float(self.gamma)
        self.alpha_ = _ALPHAS[0] if self.alpha == "cv" else float(self.alpha)
        self.cv_results_: dict[str, Any] | None = None
        self.explained_: float | None = None
        if "cv" not in (self.gamma, self.alpha):
            return
        from sklearn.model_selection import GridSearchCV, KFold

        tried = {
            "gamma": list(width / _WIDTH_FACTORS) if self.gamma == "cv" else [self.gamma_],
            "alpha": list(_ALPHAS) if self.alpha == "cv" else [self.alpha_],
        }
        seed = int(as_generator(self.random_state).integers(2**31))
        folds = KFold(self.cv, shuffle=True, random_state=seed)
        search = GridSearchCV(
            kernel_ridge(), tried, scoring="neg_mean_squared_error", cv=folds, n_jobs=self.n_jobs, refit=False
        ).fit(features, places)
        self.gamma_, self.alpha_ = (float(search.best_params_[name]) for name in ("gamma", "alpha"))
        self.cv_results_ = search.cv_results_
        self.explained_ = 1.0 + float(search.best_score_) / float(places.var(axis=0).mean())

    def predict(self, X: Any) -> np.ndarray:
        """Return the positions (m, n_components) of objects with features (m, n_features).

        The features are those of the fit and, where both have names, in the same order; (m,) if the positions in the
        fit had one dimension.
        """
        check_is_fitted(self, "ridge_")
        features = validate_data(self, X, dtype=np.float64, reset=False)
        step = max(1, _CHUNK // len(self.ridge_.X_fit_))
        batches = gen_batches(len(features), step)
        return np.concatenate([self.ridge_.predict(features[rows]) for rows in batches]) + self.offset_

    def transform(self, X: Any) -> np.ndarray:
        """Return the same as `predict`, always two-dimensional."""
        return self.predict(X).reshape(-1, len(self.offset_))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the coordinates: x1, x2, ..."""
        check_is_fitted(self, "ridge_")
        return np.array([f"x{c + 1}" for c in range(len(self.offset_))], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def mean_squared_distance(X: np.ndarray) -> float:
    """Mean squared distance of two different rows: twice the sum of the variances of the columns, 0 for one row."""
    return 2.0 * float(np.var(X, axis=0, ddof=1).sum()) if len(X) > 1 else 0.0


def kernel_ridge(**parameters: Any) -> Any:
    """The `KernelRidge` behind a feature map; imported here because the import takes half a second."""
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", **parameters)
