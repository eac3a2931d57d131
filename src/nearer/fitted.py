"""What a fitted map can do: answer comparisons, and find places for new objects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer.data import Comparisons, as_comparisons, as_generator
from nearer.losses import Loss, get_loss
from nearer.metrics import comparison_accuracy, comparison_distances
from nearer.placement import Placement, filled, place_objects

__all__ = ["FittedMap"]


def _has_model(estimator: FittedMap) -> bool:
    loss = get_loss(estimator.loss, **(estimator.loss_params or {}))
    if not loss.has_model:
        raise AttributeError(f"predict_proba: loss {loss.name!r} is not a probability model; use ckl, ste or tste")
    return True


class FittedMap:
    """Methods of an estimator that has `embedding_`, `labels_`, `n_objects_` and `loss_`."""

    loss: Any
    loss_params: dict[str, float] | None
    n_jobs: int | None
    random_state: Any
    embedding_: np.ndarray
    labels_: np.ndarray | None
    n_objects_: int
    loss_: Loss

    def transform(self, X: Any = None) -> np.ndarray:
        """The map (n_objects, n_components); X is not looked at."""
        check_is_fitted(self, "embedding_")
        return self.embedding_

    def predict(self, X: Any) -> np.ndarray:
        """Whether the map satisfies each comparison: bool (N,); ties and objects without a place give False."""
        near, far = comparison_distances(*self._on_map(X))
        return near < far

    @available_if(_has_model)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each answer under the model of the loss: (N, 2), columns "far is nearer" and "near is nearer".

        Comparisons with an object without a place get 1/2.
        """
        near, far = comparison_distances(*self._on_map(X))
        yes = np.full(near.shape, 0.5)
        known = np.isfinite(near) & np.isfinite(far)
        yes[known] = self.loss_.probability(near[known], far[known])
        return np.column_stack([1.0 - yes, yes])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Fraction of comparisons that the map satisfies (weighted); parameters as in `fit`.

        Comparisons with an object that has no place on the map count as not satisfied, with a warning.
        """
        embedding, comparisons = self._on_map(X, y, sample_weight)
        lost = np.isnan(embedding).any(axis=1)
        if lost.any():
            n_lost = int(lost[comparisons.index].any(axis=1).sum())
            if n_lost:
                warnings.warn(
                    f"{n_lost:,} of {len(comparisons):,} comparisons name an object without a place on the map; "
                    "they count as not satisfied",
                    stacklevel=2,
                )
        return comparison_accuracy(embedding, comparisons)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the coordinates: x1, x2, ..."""
        check_is_fitted(self, "embedding_")
        return np.array([f"x{c + 1}" for c in range(self.embedding_.shape[1])], dtype=object)

    def place(self, X: Any, y: Any = None, sample_weight: Any = None, *, n_init: int = 8) -> Placement:
        """Find places for objects that are not on the map; the map itself stays as it is.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Comparisons that name new objects, any number of them, beside known ones or each other. With labels if the
            map has labels; otherwise numbers from `n_objects_` on are new. Comparisons of known objects alone are left
            out, and counted.
        n_init : int
            Starts; the best is kept for each object (each group, where new objects are compared with each other).

        Returns
        -------
        Placement
        """
        embedding, comparisons = self._on_map(X, y, sample_weight)
        self._refuse_nameless(comparisons, "place")
        rng = as_generator(self.random_state)
        return place_objects(embedding, comparisons, self.loss_, n_init=n_init, rng=rng, n_jobs=self.n_jobs)

    def _on_map(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[np.ndarray, Comparisons]:
        """The map, with NaN rows for objects it has never heard of, and X as comparisons of its rows."""
        check_is_fitted(self, "embedding_")
        comparisons = as_comparisons(X, y, sample_weight)
        if comparisons.labels is not None:
            if self.labels_ is None:
                raise ValueError("comparisons: got labels, but the map has none; give numbers, the rows of embedding_")
            comparisons = comparisons.relabelled(self.labels_)
        return filled(self.embedding_, comparisons.n_objects), comparisons

    def _refuse_nameless(self, comparisons: Comparisons, what: str) -> None:
        if self.labels_ is not None and comparisons.labels is None and comparisons.n_objects > self.n_objects_:
            raise ValueError(
                f"{what}: object {comparisons.n_objects - 1} is not on the map, whose {self.n_objects_:,} objects have "
                "labels; give comparisons with labels, so that new objects have a name"
            )
