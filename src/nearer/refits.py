"""Fits of copies of an estimator to parts of the answers, or to simulated ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.data import Comparisons
from nearer.estimator import OrdinalEmbedding
from nearer.objective import resolve_jobs
from nearer.solvers.multistart import in_threads
from nearer.warning_types import UnseenObjectsWarning


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a study that was partly finished; `found` is the result so far."""

    def __init__(self, found: Any):
        super().__init__("interrupted")
        self.found = found


def template(estimator: OrdinalEmbedding, choose_again: bool = False) -> OrdinalEmbedding:
    """Copy an estimator for a study, without progress lines and with one thread.

    It has the dimension and, unless each fit is to `choose_again`, the loss and penalty that a fit chose.
    """
    if not isinstance(estimator, OrdinalEmbedding):
        kind = type(estimator).__name__
        raise ValueError(f"estimator: got {kind}, expected an OrdinalEmbedding; the comparisons come second")
    copy = clone(estimator).set_params(n_jobs=1, verbose=0, callbacks=None, warm_start=False)
    if copy.n_components == "auto" and hasattr(estimator, "embedding_"):
        copy.set_params(n_components=estimator.n_components_)
    return copy if choose_again or not hasattr(estimator, "embedding_") else with_loss_of(estimator, copy)


def with_loss_of(fitted: OrdinalEmbedding, copy: OrdinalEmbedding) -> OrdinalEmbedding:
    """Give a copy of a fitted estimator the loss and the penalty that it chose, if it did."""
    if isinstance(copy.loss, str) and copy.loss == "auto" and hasattr(fitted, "loss_"):
        copy.set_params(loss=fitted.loss_)
        if fitted.penalty_ is not None:
            copy.set_params(solver__penalty=fitted.penalty_, solver__scale=fitted.scale_)
    return copy


def fit_best(
    estimator: OrdinalEmbedding,
    comparisons: Comparisons,
    starts: Sequence[np.ndarray],
    n_init: int,
    rng: np.random.Generator,
) -> OrdinalEmbedding:
    """Fit copies of the estimator from the starts given and `n_init` random ones; the lowest objective wins."""
    fitted: list[OrdinalEmbedding] = []
    for start in [*starts, *[None] * n_init]:
        copy = clone(estimator).set_params(random_state=int(rng.integers(2**31)), n_init=1)
        copy.set_params(init="random" if start is None else start)
        fitted.append((with_loss_of(fitted[0], copy) if fitted else copy).fit(comparisons))
    return min(fitted, key=lambda one: np.inf if np.isnan(one.objective_) else one.objective_)


def gaps_in_the_middle(X: np.ndarray) -> np.ndarray:
    """Replace missing positions (NaN) by the centre of the map."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def at_random(comparisons: Comparisons, rows: np.ndarray) -> np.ndarray:
    """Those of `rows` that answer random questions; accuracy on questions chosen by earlier answers is biased."""
    blind = comparisons.at_random
    if blind is None:
        return rows
    if not blind[rows].any():
        raise ValueError(
            f"comparisons: got {comparisons[rows].n_answers:,.0f} held-out answers, all to questions chosen by earlier "
            "answers, expected some to random questions, which alone show how well the map predicts"
        )
    return rows[blind[rows]]


def simulated(comparisons: Comparisons, chance: np.ndarray, rng: np.random.Generator) -> Comparisons:
    """Draw new answers to the same questions; `chance` (N,) is the probability of the answer in each row.

    In rows with votes, each vote is drawn separately; any other row is a single answer.
    """
    votes = comparisons.votes
    if comparisons.answers.votes is None or (votes != np.round(votes)).any():
        return comparisons.flipped(rng.random(len(comparisons)) > chance)
    against = rng.binomial(votes.astype(np.int64), 1.0 - chance)
    each = 1.0 if comparisons.weights is None else comparisons.weights / np.maximum(votes, 1.0)
    both = comparisons.concat([comparisons.flipped(np.ones(len(comparisons), dtype=bool))])
    counts = np.concatenate([(votes - against) * each, against * each]).astype(float)
    return both.replaced(weights=counts)[counts > 0]


def quiet_map(task: Callable[..., Any], n_jobs: int | None, *given: Iterable[Any]) -> list[Any]:
    """Like `map`, in threads, and without warnings about objects that occur in no comparison of a part."""
    calls = list(zip(*given))
    with warnings.catch_warnings():  # around all threads, which share the filters
        warnings.simplefilter("ignore", UnseenObjectsWarning)
        return in_threads(lambda number: task(*calls[number]), len(calls), resolve_jobs(n_jobs))


def fit_quietly(*given: Any) -> OrdinalEmbedding:
    """Like `fit_best`, without those warnings."""
    return quiet_map(fit_best, 1, *([one] for one in given))[0]
