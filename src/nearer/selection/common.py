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
from nearer.estimator_base import BaseOrdinalEmbedding
from nearer.losses import get_loss
from nearer.starts import in_threads

__all__ = ["fit_best", "questions_of", "quiet_threads", "template", "with_one_model"]


def template(estimator: BaseOrdinalEmbedding | None, n_components: int | None = None) -> BaseOrdinalEmbedding:
    """A copy of the estimator for a study: one thread each, as many run side by side, and no progress lines."""
    copy = clone(OrdinalEmbedding() if estimator is None else estimator)
    copy.set_params(n_jobs=1, verbose=0, callbacks=None, warm_start=False)
    return copy if n_components is None else copy.set_params(n_components=n_components)


def with_one_model(estimator: BaseOrdinalEmbedding, n_components: int) -> BaseOrdinalEmbedding:
    """The estimator with a loss whose parameters no longer depend on the dimension, filled in for `n_components`.

    The tails of the Student-t loss follow the dimension by default; fits of different dimensions can only be compared
    if nothing else differs.
    """
    loss = get_loss(estimator.loss, **(estimator.loss_params or {}))
    fixed = loss.resolve(n_components)
    if fixed == loss:
        return estimator
    if isinstance(estimator.loss, str):
        return estimator.set_params(loss_params={field.name: getattr(fixed, field.name) for field in fields(fixed)})
    return estimator.set_params(loss=fixed)


def fit_best(
    estimator: BaseOrdinalEmbedding,
    comparisons: Comparisons,
    starts: Sequence[np.ndarray],
    n_init: int,
    rng: np.random.Generator,
) -> BaseOrdinalEmbedding:
    """Fit copies of the estimator from given starts (n, d) and from `n_init` random ones; the lowest objective wins."""
    fitted = []
    for start in [*starts, *[None] * n_init]:
        copy = clone(estimator).set_params(random_state=int(rng.integers(2**31)), n_init=1)
        copy.set_params(init="random" if start is None else start)
        fitted.append(copy.fit(comparisons))
    return min(fitted, key=lambda one: np.inf if np.isnan(one.objective_) else one.objective_)


def quiet_threads(task: Callable[[int], Any], count: int, n_jobs: int) -> list[Any]:
    """As `in_threads`, without the warnings about objects that a part of the data does not name."""
    with warnings.catch_warnings():  # once, around all threads: the filters are not theirs alone
        warnings.filterwarnings("ignore", message=".*occur in no comparison", category=UserWarning)
        return in_threads(task, count, n_jobs)


def questions_of(comparisons: Comparisons) -> np.ndarray:
    """The number of the question that each row answers, int (N,): rows that ask the same have the same number."""
    return group(same_question(comparisons.index)[0], comparisons.n_objects)[1]
