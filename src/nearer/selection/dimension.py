"""Choose the number of dimensions by cross-validation, and say how certain the choice is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.auto_dimension import Evidence, held_out_ratios, weigh
from nearer.data import Comparisons, as_generator, check_integer
from nearer.data.coded import Coded
from nearer.data.messages import counted
from nearer.data.splits import first_rows, fold_of_rows, groups_of, question_of_rows, unplaceable
from nearer.data.validate import take
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.metrics import answer_accuracy, chance_level, log_loss
from nearer.metrics.by_answer import answer_weights, sampling_error, satisfied_answers
from nearer.notebook import html_table
from nearer.people.participants import FEWEST
from nearer.refits import Interrupted, at_random, fit_best, quiet_map, template
from nearer.selection.thresholds import ENOUGH, MOST_UNPLACED, WORTHWHILE, n_d_log_n
from nearer.solvers import Auto, get_solver

# Standard errors by which the chosen dimension must beat another one to rule it out; `benchmarks.verdicts` measures how
# often the verdict holds.
_RULED_OUT = 2.0


@dataclass(frozen=True, eq=False)
class DimensionSelection:
    """Cross-validated quality of m dimensions, and the dimension chosen.

    The standard errors are those of the mean over the folds. After ctrl-C, maps that were not made are NaN.
    """

    dims: np.ndarray  # (m,), ascending
    # (n_folds, m), fraction of held-out answers satisfied, each with all of its comparisons, by maps made as by `fit`
    fold_accuracy: np.ndarray
    fold_log_loss: np.ndarray  # (n_folds, m), mean of -log P[answer]; NaN for a loss without a model
    evidence: Evidence | None = None  # None if a single dimension was tried, or after ctrl-C
    chosen: int | None = None  # the smallest dimension that no larger one beats, see `Evidence`; None after ctrl-C
    candidates: tuple[int, ...] = ()  # dimensions that the answers do not rule out, the chosen one among them
    reasons: tuple[str, ...] = ("interrupted",)  # why the choice is uncertain
    folds_by: str = "groups"  # what stayed in one fold: answers to a question, answers of a participant, or groups
    n_unplaced: float = 0.0  # held-out answers left out, since they name an object of no answer of the other folds
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

    def _repr_html_(self) -> str:
        return html_table(self.to_dict(), repr(self))


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
    groups : array-like, shape (N,), "questions" or "participants", optional
        Answers that stay in one fold. "questions": those to the same question; where fewer questions than folds were
        asked, the rows of one answer. "participants": the answers of a person. Default: the former, unless most
        held-out answers then name an object that occurs in no other question; then the latter, where they are known.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Folds side by side; the result does not depend on it.

    Raises
    ------
    ValueError
        Most held-out answers name an object of which the other folds say nothing.
    Interrupted
        By ctrl-C, once a fold is finished; `found` has the results so far, without a choice.
    """
    base = template(estimator, choose_again=True)  # by the answers of other folds alone
    data = as_comparisons(comparisons)
    tried = np.unique([check_integer(d, "dims", 1) for d in dims])
    if not len(tried):
        raise ValueError("dims: got none, expected at least one dimension")
    has_model = base.has_model
    rng = as_generator(random_state)
    by, units, fold = _evaluable_folds(data, n_folds, groups, rng)
    tested = [at_random(data, np.flatnonzero(fold == number)) for number in range(n_folds)]
    trains, tests = [data[fold != number] for number in range(n_folds)], [data[rows] for rows in tested]
    # The random numbers of a map depend on its fold and dimension only, not on the other dimensions tried.
    roots = [one.bit_generator.seed_seq for one in rng.spawn(n_folds)]
    several = len(tried) > 1
    table = np.full((2, n_folds, len(tried)), np.nan)  # accuracy and log-loss
    first, answer = first_rows(data)
    right = np.full((len(tried), len(first)), np.nan)  # whether each answer is satisfied, NaN where that is not known

    def run(number: int, train: Comparisons, test: Comparisons, root: Any) -> np.ndarray | None:
        for place, d in enumerate(tried.tolist()):
            start = _generator(root, d)
            fit = fit_best(_as_of_all(base, d, len(train) / len(data)), train, [], base.n_init, start)
            lost = log_loss(fit.embedding_, test, fit.loss_) if has_model else math.nan
            table[:, number, place] = answer_accuracy(fit.embedding_, test), lost
            satisfied, placed = satisfied_answers(fit.embedding_, test)
            right[place, np.unique(answer[tested[number]])] = np.where(placed, satisfied, np.nan)
        return held_out_ratios(train, test, tried.tolist(), _generator(root, 0)) if several else None

    try:
        results = quiet_map(run, n_jobs, range(n_folds), trains, tests, roots)
    except KeyboardInterrupt:
        if np.isnan(table[0]).all():
            raise
        raise Interrupted(DimensionSelection(tried, table[0], table[1], folds_by=by)) from None
    evidence, rows = None, np.concatenate(tested)
    if several:
        ratios = np.concatenate(results, axis=2)
        evidence = weigh(tried, ratios, units.codes[rows], take(data.weights, rows))
    n_answers = min(train.n_answers for train in trains)
    found = conclude(
        tried, table, evidence, n_objects=int(data.seen.sum()), n_answers=n_answers, chance=chance_level(data)
    )
    lost = unplaceable(data, fold) & np.isin(first, rows)
    n_unplaced = float(data.votes[first][lost].sum())
    alike = [question_of_rows(data)[first]]
    if data.people is not None and len(data.people.names) >= FEWEST:
        alike.append(data.people.codes[first])
    errors = [sampling_error(satisfied, answer_weights(data), alike) for satisfied in right]
    return replace(found, folds_by=by, n_unplaced=n_unplaced, sampling_se=np.array(errors))


def _evaluable_folds(
    data: Comparisons, n_folds: int, groups: Any, rng: np.random.Generator
) -> tuple[str, Coded, np.ndarray]:
    """What stays in one fold, as a word and by row, and the fold of each row, so that most answers can be evaluated."""
    tries: list[tuple[str, Any]] = [("groups", groups)]
    if groups is None or (isinstance(groups, str) and groups == "questions"):
        tries = [("question", question_of_rows(data, check_integer(n_folds, "n_folds", 2)))]
        if groups is None and data.people is not None and len(data.people.names) >= n_folds:
            tries.append(("participant", "participants"))
    elif isinstance(groups, str):
        tries = [("participant", groups)]
    votes = data.votes[first_rows(data)[0]]
    for by, asked in tries:
        units = groups_of(data, asked)
        fold = fold_of_rows(len(data), n_folds, rng, units)
        lost = float(votes[unplaceable(data, fold)].sum() / votes.sum())
        if lost <= MOST_UNPLACED:
            return by, units, fold
    raise ValueError(
        f"comparisons: {lost:.0%} of the held-out answers name an object that occurs in no other answers, so no map "
        "made without them has a position for it; ask several questions about each object"
    )


def conclude(
    dims: np.ndarray,
    table: np.ndarray,
    evidence: Evidence | None,
    *,
    n_objects: int,
    n_answers: float,
    chance: float = 0.5,
) -> DimensionSelection:
    """Find the dimensions that the answers do not rule out, and why; `table` (2, n_folds, m): accuracy, log-loss."""
    chosen = int(dims[0]) if evidence is None else evidence.chosen
    at = int(np.searchsorted(dims, chosen))
    candidates, reasons = [chosen], []
    accuracy, error = _mean_and_se(table[0])
    if accuracy[at] - 2.0 * error[at] <= chance:
        reasons.append("the best map predicts held-out answers no better than chance")
    if evidence is None:
        reasons.append("only one dimension was tried")
    else:
        close = [int(d) for d, z in zip(dims[:at], evidence.better[:at, at]) if z < _RULED_OUT]
        if at == 0 and chosen > 1:
            reasons.append(f"the smallest dimension tried, {chosen}, is chosen; try smaller ones")
        if close:
            are = "predicts" if len(close) == 1 else "predict"
            reasons.append(f"{_listed(close)} {are} almost as well as {chosen}")
        candidates = [*close, chosen]
        needed = ENOUGH * n_d_log_n(n_objects, chosen + 1)
        if at == len(dims) - 1:
            flat = flat_from(dict(zip(dims.tolist(), accuracy.tolist())), chosen)
            larger = "try larger ones"
            if flat < chosen:
                larger = f"but going beyond {flat} gains less than {counted(round(100 * WORTHWHILE), 'point')}"
            reasons.append(f"the largest dimension tried, {chosen}, is the best; {larger}")
        elif n_answers < needed:
            candidates.append(int(dims[at + 1]))
            reasons.append(
                f"a training set of {n_answers:,.0f} answers about {n_objects:,} objects is small for more "
                f"than {counted(chosen, 'dimension')} (about {needed:,.0f} needed)"
            )
        elif (left := evidence.better[at, at + 1 :] > -_RULED_OUT).any():
            another = int(dims[at + 1 + int(np.argmax(left))])
            candidates.append(another)
            reasons.append(f"{another} does not predict clearly worse than {chosen}")
        gain, spread = _mean_and_se(table[0] - table[0][:, [at]])
        better = (np.arange(len(dims)) > at) & (gain >= WORTHWHILE) & (gain > 2.0 * spread)
        if better.any():  # with the loss of the estimator
            best = int(np.argmax(np.where(better, accuracy, 0.0)))
            reasons.append(f"maps of {dims[best]} dimensions satisfy more held-out answers ({accuracy[best]:.1%})")
    return DimensionSelection(dims, table[0], table[1], evidence, chosen, tuple(candidates), tuple(reasons))


def flat_from(accuracy: Mapping[int, float], chosen: int) -> int:
    """The smallest dimension whose accuracy is not clearly (by `WORTHWHILE`) below that of the chosen one."""
    return min(d for d, value in accuracy.items() if d <= chosen and accuracy[chosen] - value < WORTHWHILE)


def _as_of_all(base: OrdinalEmbedding, d: int, share: float) -> OrdinalEmbedding:
    """The estimator for fits to a fraction of the answers; it chooses a penalty if a fit to all of them would."""
    estimator = clone(base).set_params(n_components=d)
    solver = get_solver(estimator.solver)
    if isinstance(solver, Auto):
        estimator.set_params(solver=replace(solver, few=share * solver.few))
    return estimator


def _generator(root: Any, key: int) -> np.random.Generator:
    """A separate generator for each key, as a child of a seed sequence."""
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, key)))


def _mean_and_se(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the finished folds (first axis) and its standard error; NaN for too few folds."""
    n = np.isfinite(table).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(table, axis=0) / n
        return mean, np.sqrt(np.nansum((table - mean) ** 2, axis=0) / np.maximum(n - 1, 0) / n)


def _listed(items: Iterable[int]) -> str:
    *most, last = map(str, items)
    return f"{', '.join(most)} or {last}" if most else last
