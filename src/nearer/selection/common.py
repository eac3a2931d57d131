"""What the studies share: fits of copies of an estimator, from starting points that are honest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.data import Comparisons
from nearer.data.rules import group, same_question
from nearer.estimator import OrdinalEmbedding
from nearer.losses import Loss
from nearer.solvers.starts import in_threads

__all__ = ["fit_best", "questions_of", "quiet_threads", "template", "with_one_model"]


def template(estimator: OrdinalEmbedding) -> OrdinalEmbedding:
    """Copy an estimator for a study: one thread each, as many run side by side, and no progress lines.

    Parameters
    ----------
    estimator : OrdinalEmbedding

    Returns
    -------
    OrdinalEmbedding
        Not fitted.
    """
    if not isinstance(estimator, OrdinalEmbedding):
        kind = type(estimator).__name__
        raise ValueError(f"estimator: got {kind}, expected an OrdinalEmbedding; the comparisons come second")
    return clone(estimator).set_params(n_jobs=1, verbose=0, callbacks=None, warm_start=False)


def with_one_model(estimator: OrdinalEmbedding, n_components: int) -> OrdinalEmbedding:
    """Give the estimator a loss whose parameters do not depend on the dimension.

    The tails of the Student-t loss follow the dimension by default; fits of different dimensions can only be compared
    if nothing else differs.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        Changed in place.
    n_components : int
        Dimension for which the parameters are filled in.

    Returns
    -------
    OrdinalEmbedding
        The same.
    """
    loss = estimator._make_loss()
    fixed = loss.resolve(n_components)
    if fixed == loss:
        return estimator
    if isinstance(estimator.loss, Loss):
        return estimator.set_params(loss=fixed)
    params = {field.name: getattr(fixed, field.name) for field in fields(fixed)}
    named = "loss" not in estimator.get_params(deep=False)
    return estimator.set_params(**params) if named else estimator.set_params(loss_params=params)


def fit_best(
    estimator: OrdinalEmbedding,
    comparisons: Comparisons,
    starts: Sequence[np.ndarray],
    n_init: int,
    rng: np.random.Generator,
) -> OrdinalEmbedding:
    """Fit copies of the estimator from several starts; the lowest objective wins.

    Parameters
    ----------
    estimator : OrdinalEmbedding
    comparisons : Comparisons
    starts : sequence of ndarray of float64, shape (n_objects, n_components)
        Starts to try beside the random ones.
    n_init : int
        Random starts.
    rng : Generator

    Returns
    -------
    OrdinalEmbedding
        Fitted.
    """
    fitted = []
    for start in [*starts, *[None] * n_init]:
        copy = clone(estimator).set_params(random_state=int(rng.integers(2**31)), n_init=1)
        copy.set_params(init="random" if start is None else start)
        fitted.append(copy.fit(comparisons))
    return min(fitted, key=lambda one: np.inf if np.isnan(one.objective_) else one.objective_)


def quiet_threads(task: Callable[[int], Any], count: int, n_jobs: int) -> list[Any]:
    """Run tasks in threads, without the warnings about objects that a part of the data does not name.

    Parameters
    ----------
    task, count, n_jobs : callable, int, int
        As in `in_threads`.

    Returns
    -------
    list
    """
    with warnings.catch_warnings():  # once, around all threads: the filters are not theirs alone
        warnings.filterwarnings("ignore", message=".*occur in no comparison", category=UserWarning)
        return in_threads(task, count, n_jobs)


def questions_of(comparisons: Comparisons) -> np.ndarray:
    """Number the questions.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    ndarray of int, shape (N,)
        The question that each row answers; rows that ask the same have the same number.
    """
    return group(same_question(comparisons.index)[0], comparisons.n_objects)[1]
