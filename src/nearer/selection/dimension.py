"""Choose the number of dimensions by cross-validation, and say how certain the choice is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.auto_dimension import Evidence, held_out_ratios, weigh
from nearer.data import Comparisons, as_generator, check_integer
from nearer.data.messages import counted
from nearer.data.splits import fold_of_rows, groups_of, question_of_rows
from nearer.data.validate import take
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.losses import loss_with
from nearer.metrics import comparison_accuracy, comparison_distances, log_loss
from nearer.refits import Interrupted, at_random, fit_best, quiet_map, template
from nearer.selection.thresholds import ENOUGH, FEWEST_PEOPLE, n_d_log_n
from nearer.solvers import Auto, get_solver

# Standard errors by which the chosen dimension beats a smaller, and a larger one, that is ruled out;
# `benchmarks.verdicts` measures how often the verdict holds.
_RULED_OUT_BELOW = 2.0
_RULED_OUT_ABOVE = 3.5


@dataclass(frozen=True, eq=False)
class DimensionSelection:
    """Cross-validated quality of m dimensions, and the dimension chosen.

    The standard errors are those of the mean over the folds. After ctrl-C, maps that were not made are NaN.
    """

    dims: np.ndarray  # (m,), ascending
    fold_accuracy: np.ndarray  # (n_folds, m), fraction of held-out answers satisfied by maps made as `fit` makes them
    fold_log_loss: np.ndarray  # (n_folds, m), mean of -log P[answer]; NaN for a loss without a model
    evidence: Evidence | None = None  # None if a single dimension was tried, or after ctrl-C
    chosen: int | None = None  # the smallest dimension that no larger one beats, see `Evidence`; None after ctrl-C
    candidates: tuple[int, ...] = ()  # dimensions that the answers do not rule out, the chosen one among them
    reasons: tuple[str, ...] = ("interrupted",)  # why the choice is uncertain
    sampling_se: np.ndarray | None = None  # (m,), of the accuracy, see `sampling_error`; None after ctrl-C
    accuracy: np.ndarray = field(init=False)  # (m,), mean over the folds, as is the log-loss
    accuracy_se: np.ndarray = field(init=False)
    log_loss: np.ndarray = field(init=False)
    log_loss_se: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        for name in ("accuracy", "log_loss"):
            for end, values in zip(("", "_se"), _mean_and_se(getattr(self, f"fold_{name}"))):
                object.__setattr__(self, name + end, values)

    @property
    def decisive(self) -> bool:
        """Whether the chosen dimension is the only candidate, and no reason to doubt it was found."""
        return not self.reasons

    @property
    def n_folds(self) -> np.ndarray:
        """Finished folds of each dimension, int (m,): all of them, unless interrupted by ctrl-C."""
        return np.isfinite(self.fold_accuracy).sum(axis=0)

    @property
    def verdict(self) -> str:
        """The result in words."""
        if self.chosen is None:
            return f"interrupted: {self.n_folds.sum()} of {self.fold_accuracy.size} maps were finished, none is chosen"
        at = int(np.searchsorted(self.dims, self.chosen))
        found = f"{self.accuracy[at]:.1%} ± {self.accuracy_se[at]:.1%} of held-out answers satisfied"
        if self.decisive:
            fewer = "fewer predict worse, " if at else ""
            return f"{counted(self.chosen, 'dimension')}: {found}; {fewer}more add nothing that can be seen"
        doubts = "; ".join(self.reasons)
        if len(self.candidates) > 1:
            return f"{_listed(self.candidates)} dimensions, {self.chosen} if in doubt ({found}): {doubts}"
        return f"the answers do not determine the dimension: {doubts}. The rule gives {self.chosen} ({found})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each dimension."""
        return {
            "n_components": self.dims.tolist(),
            "accuracy": self.accuracy.tolist(),
            "standard_error": self.accuracy_se.tolist(),
            "log_loss": self.log_loss.tolist(),
            "log_loss_standard_error": self.log_loss_se.tolist(),
            "n_folds": self.n_folds.tolist(),
        }

    def __repr__(self) -> str:
        return f"DimensionSelection: {self.verdict}"


def cross_validate_dimensions(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    dims: Iterable[int] = range(1, 7),
    *,
    n_folds: int = 5,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> DimensionSelection:
    """Cross-validate the dimension of the map.

    Every fold fits two kinds of maps. Those of the estimator give the accuracy to expect. Those of the softplus loss
    decide: losses such as tste distort a map, and a further dimension may merely compensate for that.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit; its `n_components` is not used.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
    dims : iterable of int, default range(1, 7)
    n_folds : int, default 5
    groups : array-like, shape (N,), or "participants", optional
        Answers that stay in one fold. Default: those to the same question; where fewer questions than folds were
        asked, the rows of one answer.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Folds side by side; the result does not depend on it.

    Raises
    ------
    Interrupted
        By ctrl-C, once a fold is finished; `found` has the results so far, without a choice.
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    tried = np.unique([check_integer(d, "dims", 1) for d in dims])
    if not len(tried):
        raise ValueError("dims: got none, expected at least one dimension")
    has_model = loss_with(base.loss, base.loss_params).has_model
    rng = as_generator(random_state)
    if groups is None:
        groups = question_of_rows(data, check_integer(n_folds, "n_folds", 2))
    units = groups_of(data, groups)
    fold = fold_of_rows(len(data), n_folds, rng, units)
    tested = [at_random(data, np.flatnonzero(fold == number)) for number in range(n_folds)]
    trains, tests = [data[fold != number] for number in range(n_folds)], [data[rows] for rows in tested]
    # The random numbers of a map depend on its fold and dimension only, not on the other dimensions tried.
    roots = [one.bit_generator.seed_seq for one in rng.spawn(n_folds)]
    several = len(tried) > 1
    table = np.full((2, n_folds, len(tried)), np.nan)  # accuracy and log-loss
    right = np.zeros((len(tried), len(data)), dtype=bool)

    def run(number: int, train: Comparisons, test: Comparisons, root: Any) -> np.ndarray | None:
        for place, d in enumerate(tried.tolist()):
            start = _generator(root, d)
            fit = fit_best(_as_of_all(base, d, len(train) / len(data)), train, [], base.n_init, start)
            lost = log_loss(fit.embedding_, test, fit.loss_) if has_model else math.nan
            table[:, number, place] = comparison_accuracy(fit.embedding_, test), lost
            right[place, tested[number]] = np.less(*comparison_distances(fit.embedding_, test))
        return held_out_ratios(train, test, tried.tolist(), _generator(root, 0)) if several else None

    try:
        results = quiet_map(run, n_jobs, range(n_folds), trains, tests, roots)
    except KeyboardInterrupt:
        if np.isnan(table[0]).all():
            raise
        raise Interrupted(DimensionSelection(tried, *table)) from None
    evidence, rows = None, np.concatenate(tested)
    if several:
        ratios = np.concatenate(results, axis=1)
        evidence = weigh(tried, ratios, units.codes[rows], take(data.weights, rows))
    n_answers = min(train.n_answers for train in trains)
    found = conclude(tried, table, evidence, n_objects=int(data.seen.sum()), n_answers=n_answers)
    alike = [question_of_rows(data)[rows]]
    if data.people is not None and len(data.people.names) >= FEWEST_PEOPLE:
        alike.append(data.people.codes[rows])
    errors = [sampling_error(one[rows], take(data.weights, rows), alike) for one in right]
    return replace(found, sampling_se=np.array(errors))


def sampling_error(right: np.ndarray, weights: np.ndarray | None, alike: Sequence[np.ndarray]) -> float:
    """Standard error of the weighted mean of `right` (N,), whose rows are not independent.

    Rows with the same entry in one of `alike`, one or two arrays (N,), go together (Cameron, Gelbach and Miller, 2011).
    """
    share = np.full(len(right), 1.0 / len(right)) if weights is None else weights / weights.sum()
    away = share * (right - share @ right)

    def variance(units: np.ndarray) -> float:
        _, unit = np.unique(units, return_inverse=True)
        sums = np.bincount(unit, weights=away)
        return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)

    variances = [variance(units) for units in alike]
    if len(alike) == 2:
        one, other = (np.unique(units, return_inverse=True)[1] for units in alike)
        variances.append(sum(variances) - variance(one * len(right) + other))
    return math.sqrt(max(variances))


def conclude(
    dims: np.ndarray, table: np.ndarray, evidence: Evidence | None, *, n_objects: int, n_answers: float
) -> DimensionSelection:
    """Find the dimensions that the answers do not rule out, and why; `table` (2, n_folds, m): accuracy, log-loss."""
    chosen = int(dims[0]) if evidence is None else evidence.chosen
    at = int(np.searchsorted(dims, chosen))
    candidates, reasons = [chosen], []
    accuracy, error = _mean_and_se(table[0])
    if accuracy[at] - 2.0 * error[at] <= 0.5:
        reasons.append("the best map predicts held-out answers no better than a coin")
    if evidence is None:
        reasons.append("only one dimension was tried")
    else:
        close = [int(d) for d, z in zip(dims[:at], evidence.better[:at, at]) if z < _RULED_OUT_BELOW]
        if at == 0 and chosen > 1:
            reasons.append(f"the smallest dimension tried, {chosen}, is chosen; try smaller ones")
        if close:
            are = "predicts" if len(close) == 1 else "predict"
            reasons.append(f"{_listed(close)} {are} almost as well as {chosen}")
        candidates = [*close, chosen]
        needed = ENOUGH * n_d_log_n(n_objects, chosen + 1)
        if at == len(dims) - 1:
            reasons.append(f"the largest dimension tried, {chosen}, is the best; try larger ones")
        elif n_answers < needed:
            candidates.append(int(dims[at + 1]))
            reasons.append(
                f"a training set of {n_answers:,.0f} answers about {n_objects:,} objects is too small to see more "
                f"than {counted(chosen, 'dimension')} (about {needed:,.0f} needed)"
            )
        elif evidence.better[at, at + 1 :].max() > -_RULED_OUT_ABOVE:
            candidates.append(int(dims[at + 1]))
            reasons.append(f"{dims[at + 1]} does not predict clearly worse than {chosen}")
    return DimensionSelection(dims, table[0], table[1], evidence, chosen, tuple(candidates), tuple(reasons))


def _as_of_all(base: OrdinalEmbedding, d: int, share: float) -> OrdinalEmbedding:
    """The estimator for fits to a fraction of the answers; it chooses a penalty if a fit to all of them would."""
    estimator = clone(base).set_params(n_components=d)
    solver = get_solver(estimator.solver)
    if isinstance(solver, Auto):
        estimator.set_params(solver=replace(solver, few=share * solver.few))
    return estimator


def _generator(root: Any, key: int) -> np.random.Generator:
    """A generator of its own for each key, as a child of a seed sequence."""
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, key)))


def _mean_and_se(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the finished folds (first axis) and its standard error; NaN without folds enough."""
    n = np.isfinite(table).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(table, axis=0) / n
        return mean, np.sqrt(np.nansum((table - mean) ** 2, axis=0) / np.maximum(n - 1, 0) / n)


def _listed(items: Iterable[int]) -> str:
    *most, last = map(str, items)
    return f"{', '.join(most)} or {last}" if most else last
