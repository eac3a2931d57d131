"""`OrdinalEmbedding`: comparisons in, a map out, as a scikit-learn estimator."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons, as_comparisons
from nearer.losses import get_loss
from nearer.metrics import comparison_accuracy, comparison_distances
from nearer.objective import LocalObjective, resolve_jobs
from nearer.solvers import Callback, Result, Solver, get_solver
from nearer.solvers.monitor import ProgressLines

__all__ = ["CKL", "GNMDS", "SOE", "STE", "TSTE", "OrdinalEmbedding"]


def _has_model(estimator: BaseOrdinalEmbedding) -> bool:
    loss = get_loss(estimator.loss, **(estimator.loss_params or {}))
    if not loss.has_model:
        raise AttributeError(f"predict_proba: loss {loss.name!r} is not a probability model; use ckl, ste or tste")
    return True


class BaseOrdinalEmbedding(TransformerMixin, BaseEstimator):
    """All of an ordinal embedding but the choice of loss, which subclasses make; see `OrdinalEmbedding`."""

    loss: Any

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss_params: dict[str, float] | None = None,
        solver: str | Solver = "auto",
        n_init: int = 1,
        init: Any = "random",
        n_objects: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.loss_params = loss_params
        self.solver = solver
        self.n_init = n_init
        self.init = init
        self.n_objects = n_objects
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BaseOrdinalEmbedding:
        """Find the map.

        Parameters
        ----------
        X : Comparisons, int array (N, 3) anchor, near, far or (N, 4) i, j, l, k, or a table of labels
        y : answers (N,) to X taken as questions: +1 or True means X is right as it stands, -1 or False the opposite
        sample_weight : (N,), optional
        """
        solver = self._check_parameters()
        comparisons = as_comparisons(X, y, sample_weight, self.n_objects)
        seen = np.flatnonzero(comparisons.seen)
        n_unseen = comparisons.n_objects - len(seen)
        if n_unseen:
            first = int(np.flatnonzero(~comparisons.seen)[0])
            name = first if comparisons.labels is None else repr(str(comparisons.labels[first]))
            warnings.warn(
                f"{n_unseen:,} of {comparisons.n_objects:,} objects occur in no comparison (first: {name}); "
                "their rows of embedding_ are NaN",
                stacklevel=2,
            )
        placed = comparisons if not n_unseen else _renumbered(comparisons, seen)
        result, loss = self._best_of_starts(placed, solver, seen, comparisons.n_objects)

        embedding = np.full((comparisons.n_objects, self.n_components), np.nan)
        embedding[seen] = result.embedding - result.embedding.mean(axis=0)
        self.embedding_ = embedding
        self.labels_ = comparisons.labels
        self.n_objects_ = comparisons.n_objects
        self.n_features_in_ = comparisons.index.shape[1]
        self.loss_ = loss
        self.result_ = result
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        self.history_ = result.history
        return self

    def transform(self, X: Any = None) -> np.ndarray:
        """The map (n_objects, n_components); X is not looked at."""
        check_is_fitted(self, "embedding_")
        return self.embedding_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the map and return it, (n_objects, n_components)."""
        return self.fit(X, y, sample_weight).embedding_

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_parameters(self) -> Solver:
        for name in ("n_components", "n_init"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if isinstance(self.init, str) and self.init != "random":
            raise ValueError(f"init must be 'random' or an array (n_objects, n_components), got {self.init!r}")
        solver = get_solver(self.solver)
        if self.max_seconds is not None:
            solver = replace(solver, max_seconds=self.max_seconds)
        return solver

    def _best_of_starts(self, comparisons: Comparisons, solver: Solver, seen: np.ndarray, n_objects: int):
        """Result of the start with the lowest objective (the first of equals), and the loss."""
        loss = get_loss(self.loss, **(self.loss_params or {})).resolve(self.n_components)
        n_jobs = resolve_jobs(self.n_jobs)
        n_init = 1 if not isinstance(self.init, str) else self.n_init
        # Starts side by side use one thread each; a single start uses them all.
        objective = LocalObjective(comparisons, loss, self.n_components, n_jobs if n_init == 1 else 1)
        generators = _generator(self.random_state).spawn(n_init)

        def run(number: int) -> Result:
            rng = generators[number]
            X0 = self._starting_point(rng, seen, n_objects)
            callbacks = list(self.callbacks or ())
            if self.verbose:
                prefix = "nearer" if n_init == 1 else f"nearer: start {number + 1} of {n_init}"
                callbacks.append(ProgressLines(objective, every=0.5 if self.verbose == 1 else 0.0, prefix=prefix))
            return solver.solve(objective, X0, rng, callbacks)

        if min(n_jobs, n_init) == 1:
            results = [run(number) for number in range(n_init)]
        else:
            with ThreadPoolExecutor(min(n_jobs, n_init)) as pool:
                results = list(pool.map(run, range(n_init)))
        best = min(results, key=lambda result: np.inf if np.isnan(result.objective) else result.objective)
        return best, loss

    def _starting_point(self, rng: np.random.Generator, seen: np.ndarray, n_objects: int) -> np.ndarray:
        shape = (n_objects, int(self.n_components))
        if not isinstance(self.init, str):
            X0 = np.asarray(self.init, dtype=float)
            if X0.shape != shape:
                raise ValueError(f"init has shape {X0.shape}, expected {shape}")
            return X0[seen]
        X0 = rng.normal(size=shape)
        if self.warm_start and hasattr(self, "embedding_") and self.embedding_.shape[1] == shape[1]:
            known = self.embedding_[:n_objects]
            X0 *= np.nanstd(known)
            X0[: len(known)] = np.where(np.isnan(known), X0[: len(known)], known)
        return X0[seen]

    def _on_map(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[np.ndarray, Comparisons]:
        """The map, with NaN rows for objects it has never heard of, and X as comparisons of its rows."""
        check_is_fitted(self, "embedding_")
        comparisons = as_comparisons(X, y, sample_weight)
        if comparisons.labels is not None and self.labels_ is not None:
            comparisons = comparisons.relabelled(self.labels_)
        missing = comparisons.n_objects - self.n_objects_
        if missing <= 0:
            return self.embedding_, comparisons
        return np.vstack([self.embedding_, np.full((missing, self.embedding_.shape[1]), np.nan)]), comparisons


class OrdinalEmbedding(BaseOrdinalEmbedding):
    """Place objects as points so that comparisons of their distances hold.

    Parameters
    ----------
    n_components : int, default 2
        Dimension of the map.
    loss : str or Loss, default "tste"
        "hinge" ("gnmds"), "ckl", "ste" ("logistic"), "tste" or "soe"; see `nearer.losses`.
    loss_params : dict or None
        Parameters of the loss, such as ``{"alpha": 1}`` for tste.
    solver : str or Solver, default "auto"
        "auto", "svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs", "convex", or an instance with its own parameters.
    n_init : int, default 1
        Number of random starts, run in parallel; the one with the lowest objective is kept.
    init : "random" or array-like (n_objects, n_components)
        Starting point. An array is used as it is, once.
    n_objects : int or None
        Number of objects; None means the highest index plus one, or what the comparisons say.
    max_seconds : float or None
        Time limit of each start; the best point so far is kept.
    warm_start : bool, default False
        Start from the last `embedding_`; objects that are new since then start at random.
    callbacks : sequence of callables or None
        Called as ``callback(row, state)`` after every epoch; a true return value stops the fit.
    n_jobs : int or None
        Threads; None or -1 means all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Same seed, same bits.
    verbose : int, default 0
        1 shows progress on standard error about twice a second, 2 every epoch.

    Attributes
    ----------
    embedding_ : ndarray (n_objects, n_components)
        The map, centred. Objects that occur in no comparison are NaN.
    labels_ : ndarray (n_objects,) of str, or None
    objective_ : float
    n_objects_, n_iter_, n_features_in_ : int
    history_ : History, one row per epoch
    result_ : Result of the solver (its embedding is neither centred nor filled with NaN rows)
    loss_ : Loss, with its parameters resolved
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss: Any = "tste",
        loss_params: dict[str, float] | None = None,
        solver: str | Solver = "auto",
        n_init: int = 1,
        init: Any = "random",
        n_objects: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        super().__init__(
            n_components, loss_params=loss_params, solver=solver, n_init=n_init, init=init, n_objects=n_objects,
            max_seconds=max_seconds, warm_start=warm_start, callbacks=callbacks, n_jobs=n_jobs,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.loss = loss


class GNMDS(BaseOrdinalEmbedding):
    """Generalised non-metric multidimensional scaling: `OrdinalEmbedding` with the hinge loss."""

    loss = "hinge"


class CKL(BaseOrdinalEmbedding):
    """Crowd kernel learning: `OrdinalEmbedding` with the ckl loss."""

    loss = "ckl"


class STE(BaseOrdinalEmbedding):
    """Stochastic triplet embedding: `OrdinalEmbedding` with the ste loss."""

    loss = "ste"


class TSTE(BaseOrdinalEmbedding):
    """t-distributed stochastic triplet embedding: `OrdinalEmbedding` with the tste loss."""

    loss = "tste"


class SOE(BaseOrdinalEmbedding):
    """Soft ordinal embedding: `OrdinalEmbedding` with the soe loss."""

    loss = "soe"


def _renumbered(comparisons: Comparisons, seen: np.ndarray) -> Comparisons:
    """The same comparisons over the seen objects alone."""
    number = np.zeros(comparisons.n_objects, dtype=np.int32)
    number[seen] = np.arange(len(seen), dtype=np.int32)
    return Comparisons(number[comparisons.index], n_objects=len(seen), weights=comparisons.weights)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):  # scikit-learn's convention
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
