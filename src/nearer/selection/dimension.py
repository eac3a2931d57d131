"""How many dimensions: cross-validated prediction of held-out answers, and a rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.data import as_comparisons, as_generator, check_integer
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy, log_loss
from nearer.objective import resolve_jobs
from nearer.selection.common import fit_best, questions_of, quiet_threads, template, with_one_model

__all__ = ["DimensionSelection", "choose_dimension", "cross_validate_dimensions"]

# A difference of so many standard errors is called clear.
_CLEAR = 2.0


@dataclass(frozen=True, eq=False)
class DimensionSelection:
    """Cross-validated quality by dimension, and the dimension chosen.

    Attributes
    ----------
    dims : ndarray of int, shape (m,)
        Dimensions tried, ascending.
    accuracy, accuracy_se : ndarray of float64, shape (m,)
        Mean over the folds of the fraction of held-out answers satisfied, and its standard error.
    log_loss, log_loss_se : ndarray of float64, shape (m,)
        The same for the mean of -log P[answer]; NaN for a loss without a model.
    shortfall, shortfall_se : ndarray of float64, shape (m,)
        By how much the criterion is worse than at the best dimension: mean over the folds of the difference within a
        fold, and its standard error. The folds differ in difficulty; their differences do not, so they tell more.
    fold_accuracy, fold_log_loss, fold_train_accuracy : ndarray of float64, shape (n_folds, m)
    criterion : {"accuracy", "log_loss"}
    chosen : int
        The smallest dimension whose shortfall is at most one standard error.
    decisive : bool
        Whether the data single out the chosen dimension; `reasons` says why not.
    reasons : tuple of str
    """

    dims: np.ndarray
    accuracy: np.ndarray
    accuracy_se: np.ndarray
    log_loss: np.ndarray
    log_loss_se: np.ndarray
    shortfall: np.ndarray
    shortfall_se: np.ndarray
    fold_accuracy: np.ndarray
    fold_log_loss: np.ndarray
    fold_train_accuracy: np.ndarray
    criterion: str
    chosen: int
    decisive: bool
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The result in words.

        Returns
        -------
        str
        """
        at = int(np.flatnonzero(self.dims == self.chosen)[0])
        found = f"{self.accuracy[at]:.1%} ± {self.accuracy_se[at]:.1%} of held-out answers satisfied"
        if self.decisive:
            return f"{_dimensions(self.chosen)}: {found}; fewer predict worse, more do not predict better"
        return f"the data cannot tell the dimension: {'; '.join(self.reasons)}. The rule gives {self.chosen} ({found})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each dimension.

        Returns
        -------
        dict of str to list
        """
        return {
            "n_components": self.dims.tolist(),
            "accuracy": self.accuracy.tolist(),
            "standard_error": self.accuracy_se.tolist(),
            "log_loss": self.log_loss.tolist(),
            "log_loss_standard_error": self.log_loss_se.tolist(),
            "shortfall": self.shortfall.tolist(),
            "shortfall_standard_error": self.shortfall_se.tolist(),
        }

    def __repr__(self) -> str:
        return f"DimensionSelection: {self.verdict}"


def cross_validate_dimensions(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    dims: Iterable[int] = range(1, 7),
    *,
    n_folds: int = 5,
    criterion: str = "accuracy",
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> DimensionSelection:
    """Cross-validate the dimension of the map.

    In every fold the largest dimension is fitted first. Its map, cut down to its main axes, is one of the starting
    points of the next smaller dimension, beside the estimator's `n_init` random ones; the lowest training objective
    decides, so no held-out answer is ever looked at. Parameters of the loss that follow the dimension by default are
    held at their value for the largest one, so that nothing but the dimension varies.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit; its `n_components` is not used.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
    dims : iterable of int, default range(1, 7)
        Dimensions to try.
    n_folds : int, default 5
    criterion : {"accuracy", "log_loss"}, default "accuracy"
        What the rule looks at.
    groups : array-like, shape (N,), or "participants", optional
        Answers that stay in one fold. Default: answers to the same question, so that no held-out answer is known.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Folds side by side; the result does not depend on it.

    Returns
    -------
    DimensionSelection
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    tried = np.unique([check_integer(d, "dims", 1) for d in dims])
    if not len(tried):
        raise ValueError("dims: got none, expected at least one dimension")
    if criterion not in ("accuracy", "log_loss"):
        raise ValueError(f"criterion: got {criterion!r}, expected 'accuracy' or 'log_loss'")
    with_one_model(base, int(tried[-1]))
    has_model = base._make_loss().has_model
    if criterion == "log_loss" and not has_model:
        raise ValueError(f"criterion: loss {base.loss!r} has no model of the answers, so no log-loss; use 'accuracy'")
    rng = as_generator(random_state)
    folds = list(data.folds(n_folds, rng, questions_of(data) if groups is None else groups))
    generators = rng.spawn(len(folds))

    def run(number: int) -> list[tuple[float, float, float]]:
        train, test = folds[number]
        rows: list[tuple[float, float, float]] = []
        starts: list[np.ndarray] = []
        for d in tried[::-1].tolist():
            starts = [_main_axes(X, d) for X in starts]
            sized = clone(base).set_params(n_components=d)
            fit = fit_best(sized, train, starts, base.n_init, generators[number])
            X = fit.embedding_
            starts = [X]
            lost = log_loss(X, test, fit.loss_) if has_model else math.nan
            rows.append((comparison_accuracy(X, test), lost, comparison_accuracy(X, train)))
        return rows[::-1]

    table = np.array(quiet_threads(run, len(folds), resolve_jobs(n_jobs)))
    return choose_dimension(tried, *np.moveaxis(table, 2, 0), criterion=criterion, n_objects=int(data.seen.sum()),
                            n_comparisons=len(folds[0][0]))  # fmt: skip


def choose_dimension(
    dims: np.ndarray,
    fold_accuracy: np.ndarray,
    fold_log_loss: np.ndarray,
    fold_train_accuracy: np.ndarray,
    *,
    criterion: str,
    n_objects: int,
    n_comparisons: int,
) -> DimensionSelection:
    """Apply the one-standard-error rule to a table of folds.

    Parameters
    ----------
    dims : ndarray of int, shape (m,)
        Ascending.
    fold_accuracy, fold_log_loss, fold_train_accuracy : ndarray of float64, shape (n_folds, m)
    criterion : {"accuracy", "log_loss"}
    n_objects, n_comparisons : int
        Size of a training set; says whether another dimension could have been seen at all.

    Returns
    -------
    DimensionSelection
    """
    gain = fold_accuracy if criterion == "accuracy" else -fold_log_loss
    best = int(np.argmax(gain.mean(axis=0)))
    shortfall, shortfall_se = _mean_and_se(gain[:, [best]] - gain)
    at = int(np.argmax(shortfall <= shortfall_se))
    accuracy, accuracy_se = _mean_and_se(fold_accuracy)
    lost, lost_se = _mean_and_se(fold_log_loss)
    reasons = []
    if accuracy[at] - _CLEAR * accuracy_se[at] <= 0.5:
        reasons.append("the best map predicts held-out answers no better than a coin")
    if at == len(dims) - 1 and len(dims) > 1:
        reasons.append(f"the largest dimension tried, {dims[-1]}, is the best; try larger ones")
    close = [str(d) for d, lack, se in zip(dims[:at], shortfall, shortfall_se) if lack <= _CLEAR * se]
    if close:
        reasons.append(f"{_listed(close)} predict almost as well as {dims[at]}")
    # About n d log n answers are needed to see d dimensions (Jain, Jamieson and Nowak, NeurIPS 2016).
    needed = n_objects * (int(dims[at]) + 1) * math.log2(max(n_objects, 2))
    if n_comparisons < needed:
        reasons.append(
            f"a training set of {n_comparisons:,} answers about {n_objects:,} objects is too small to see more than "
            f"{_dimensions(int(dims[at]))} (about {needed:,.0f} needed)"
        )
    return DimensionSelection(
        dims, accuracy, accuracy_se, lost, lost_se, shortfall, shortfall_se, fold_accuracy, fold_log_loss,
        fold_train_accuracy, criterion, int(dims[at]), not reasons, tuple(reasons),
    )  # fmt: skip


def _mean_and_se(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the folds (first axis) and its standard error."""
    return table.mean(axis=0), table.std(axis=0, ddof=1) / math.sqrt(len(table))


def _main_axes(X: np.ndarray, d: int) -> np.ndarray:
    """The map (n, larger d) in its d main axes; rows of NaN stay."""
    known = np.isfinite(X).all(axis=1)
    centred = X - X[known].mean(axis=0)
    axes = np.linalg.svd(centred[known], full_matrices=False)[2]
    return centred @ axes[:d].T


def _dimensions(d: int) -> str:
    return "1 dimension" if d == 1 else f"{d} dimensions"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
