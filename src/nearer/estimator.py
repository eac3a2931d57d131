"""`OrdinalEmbedding`: comparisons in, a map out, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearer.estimator_base import BaseOrdinalEmbedding
from nearer.solvers import Callback, Solver

__all__ = ["CKL", "GNMDS", "SOE", "STE", "TSTE", "OrdinalEmbedding"]


class OrdinalEmbedding(BaseOrdinalEmbedding):
    """Place objects as points so that comparisons of their distances hold.

    Parameters
    ----------
    n_components : int, default 2
        Dimension of the map.
    loss : str or Loss, default "tste"
        "hinge" ("gnmds"), "ckl", "ste" ("logistic"), "tste", "soe" or "softplus"; see `nearer.losses`.
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
        Time limit of each start; the point reached by then is kept.
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
    comparisons_ : Comparisons
        All that the map was fitted to; after `partial_fit` merged and without who answered.
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
