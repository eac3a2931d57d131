"""What can be found out about a map beyond making it: scores, studies, and the answers that it violates worst."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t

from nearer import selection
from nearer.check import check
from nearer.data import Comparisons, check_bool
from nearer.data.messages import counted
from nearer.data.splits import group
from nearer.display import label_texts
from nearer.metrics import Calibration, calibration, log_loss, wilson_interval
from nearer.metrics.comparison import judged
from nearer.people import participants
from nearer.placement import filled
from nearer.warning_types import InputWarning

if TYPE_CHECKING:
    from nearer.check import CheckResult
    from nearer.estimator import OrdinalEmbedding
    from nearer.people import ParticipantTable
    from nearer.selection import Bootstrap, DimensionSelection, LearningCurve

Monitor = Callable[[str, str, Callable[[], Any]], Any]

_FOLDS = 5
_FEWEST, _MOST = 50, 200_000  # comparisons for which cross-validation is the default
_FEWEST_PEOPLE = 3
_LEVEL = 0.95
_ROUGH = 0.1


@dataclass(frozen=True)
class Scores:
    """Fractions of answers that the map satisfies; None for what was not measured."""

    training: float | None = None  # of the answers the map was made from
    held_out: float | None = None  # of answers it has not seen, by cross-validation or on a test set
    held_out_low: float | None = None  # interval for held_out, of confidence level
    held_out_high: float | None = None
    level: float = 0.95
    ceiling: float | None = None  # repeated answers that agree with the majority: an upper bound for any map
    ceiling_low: float | None = None  # each answer compared with the others only: a lower bound for the best map
    ceiling_questions: int | None = None  # repeated questions that the ceiling was found from
    random_only: bool = False  # held_out is of answers to random questions alone: others were chosen by earlier answers

    @property
    def ceiling_least(self) -> float | None:
        """Lower bound for the best possible map."""
        return self.ceiling if self.ceiling_low is None else self.ceiling_low

    @property
    def ceiling_bound(self) -> float | None:
        """Lower end of Wilson's interval for `ceiling_low`, each repeated question a draw; itself without a number."""
        if self.ceiling_least is None or self.ceiling_questions is None:
            return self.ceiling_least
        return float(wilson_interval(self.ceiling_least, self.ceiling_questions, self.level)[0])

    @property
    def ceiling_is_rough(self) -> bool:
        """Whether too few questions were repeated: the bound is more than 10 points below."""
        least, bound = self.ceiling_least, self.ceiling_bound
        return least is not None and bound is not None and least - bound > _ROUGH

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name != "ceiling_questions" and value is not None and not 0 <= value <= 1:
                raise ValueError(f"{item.name}: got {value}, expected a fraction between 0 and 1")
        if (self.held_out_low is None) != (self.held_out_high is None):
            raise ValueError("held_out_low, held_out_high: got one of them, expected both or neither")


@dataclass(frozen=True)
class CrossValidation:
    """Accuracy on held-out answers."""

    n_folds: int
    accuracy: float  # mean over the folds
    standard_error: float  # of the mean
    low: float  # Student-t interval for the mean, of confidence level
    high: float
    level: float
    fold_accuracy: Sequence[float]  # (n_folds,)


@dataclass(frozen=True)
class Judgement:
    """How well a map satisfies some answers; None for what is not known."""

    accuracy: float  # fraction satisfied, by weight
    n_comparisons: int  # rows of the answers
    n_satisfied: int
    weight: float | None = None  # sum of the weights, None without them
    weight_satisfied: float | None = None
    weights_are_votes: bool | None = None  # whether the weights are whole numbers, which count answers
    loss: str | None = None  # name of the loss whose model gives the probabilities
    log_loss: float | None = None  # mean of -log P[answer]
    calibration_error: float | None = None  # expected error of the probabilities

    def to_dict(self) -> dict[str, Any]:
        """The figures that are known, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Violation:
    """One answer that the map contradicts."""

    objects: tuple[str, ...]  # (anchor, near, far), or (i, j, l, k) for d(i, j) < d(l, k)
    near: float  # distance on the map; the answer asks for near < far
    far: float
    weight: float  # how often, or with what weight, this answer was given


@dataclass(frozen=True)
class Violations:
    """The worst violations and how many there are in all; answers are votes, or else rows."""

    worst: tuple[Violation, ...]  # largest difference of distances first; equal answers are one entry
    n_violated: float  # ties included
    n_answers: float  # whose objects all have a position
    n_unplaced: float  # left out because an object has no position
    share: float | None = None  # part of the answers violated by weight, where weights are not votes


@dataclass(frozen=True)
class Findings:
    """What was found out about a map; None for what was not looked at."""

    training: float | None = None  # fraction satisfied of the answers the map was made from
    check: CheckResult | None = None  # faults in the answers
    cross_validation: CrossValidation | None = None
    dimensions: DimensionSelection | None = None
    learning_curve: LearningCurve | None = None
    bootstrap: Bootstrap | None = None
    people: ParticipantTable | None = None

    @property
    def scores(self) -> Scores:
        """The scores that a report shows."""
        held_out, check = self.cross_validation, self.check
        known: dict[str, Any] = {}
        if held_out is not None:
            known |= {"held_out": held_out.accuracy, "held_out_low": held_out.low, "held_out_high": held_out.high}
            known["level"] = held_out.level
        if check is not None:
            known |= {"ceiling": check.noise_ceiling, "ceiling_low": check.noise_ceiling_low}
            known |= {"ceiling_questions": check.n_repeated_questions or None, "random_only": check.n_adaptive > 0}
        return Scores(self.training, **known)

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        held_out, check = self.cross_validation, self.check
        values: dict[str, Any] = {
            "training_accuracy": self.training,
            "cross_validation": None if held_out is None else asdict(held_out),
        }
        if self.dimensions is not None:
            found = self.dimensions
            values["dimensions"] = found.to_dict() | {"chosen": found.chosen, "verdict": found.verdict}
        if self.learning_curve is not None:
            values["learning_curve"] = self.learning_curve.to_dict() | {"ceiling": self.learning_curve.law.ceiling}
        if self.bootstrap is not None:
            values["bootstrap"] = {
                "n_resamples": len(self.bootstrap.samples),
                "by": self.bootstrap.by,
                "accuracy": asdict(self.bootstrap.accuracy()),
            }
        if self.people is not None:
            values["people"] = self.people.table()
        shown = ("n_questions", "n_repeated_questions", "noise_ceiling", "noise_ceiling_low", "components", "problems",
                 "n_adaptive")  # fmt: skip
        values["check"] = None if check is None else {name: getattr(check, name) for name in shown}
        return values


def study(
    model: OrdinalEmbedding,
    comparisons: Any = None,
    *,
    cv: int | None = None,
    cv_by: str = "question",
    dims: Iterable[int] | None = None,
    learning_curve: bool = False,
    bootstrap: int | None = None,
    people: bool | None = None,
    monitor: Monitor | None = None,
) -> Findings:
    """Make the studies asked for. One that cannot be made is left out, with a warning.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted; the studies fit copies of it, with its number of starts.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes, optional
        Answers to judge the map by. Default: those it was made from.
    cv : int, optional
        Folds of the cross-validation, 0 for none. Default: `default_cv`.
    cv_by : {"question", "participant"}
        What stays together in a fold: all answers to a question, or all of a person.
    dims : iterable of int, optional
        Dimensions to try.
    learning_curve : bool
        Whether more answers would help.
    bootstrap : int, optional
        Number of resamples, for regions of uncertainty; by participant where these are known.
    people : bool, optional
        How each person answered. Default: where that is known of at least 3 people, and quick.
    monitor : callable, optional
        Called as ``monitor(study, details, run)`` for each study; returns ``run()``, or None to leave it out.
    """
    if cv_by not in ("question", "participant"):
        raise ValueError(f"cv_by: got {cv_by!r}, expected 'question' or 'participant'")
    check_bool(learning_curve, "learning_curve")
    check_bool(people, "people", allow_none=True)
    groups = "participants" if cv_by == "participant" else None
    answers = answers_about(model, comparisons)
    if answers is None:  # out of reach; what the solver last recorded of them may be known
        history = getattr(model, "history_", None)
        error = history[-1].train_error if history else None
        return Findings(None if error is None else 1.0 - error)

    def attempt(name: str, details: str, run: Callable[[], Any]) -> Any:
        try:
            return run() if monitor is None else monitor(name, details, run)
        except ValueError as error:
            warnings.warn(f"{name} left out: {error}", InputWarning, stacklevel=3)
            return None

    found: dict[str, Any] = {"training": model.score(answers), "check": check(answers, model.embedding_.shape[1])}
    options: dict[str, Any] = {"random_state": model.random_state, "n_jobs": model.n_jobs}
    usual = default_cv(len(answers)) if answers.n_answers >= _FEWEST else 0
    folds = usual if cv is None else cv
    tried = () if dims is None else tuple(dims)
    if tried:
        found["dimensions"] = attempt(
            "accuracy by dimension", ", ".join(map(str, tried)),
            lambda: selection.cross_validate_dimensions(
                model, answers, tried, n_folds=folds or _FOLDS, groups=groups, **options
            ),
        )  # fmt: skip
    if folds and model.n_components_ in tried and getattr(found.get("dimensions"), "chosen", None) is not None:
        # One figure for one dimension: the maps were made and judged already.
        found["cross_validation"] = _held_out(found["dimensions"], model.n_components_)
    elif folds:
        found["cross_validation"] = attempt(
            "cross-validation", f"{folds} folds", lambda: cross_validate(model, answers, folds, groups)
        )
    if learning_curve:
        found["learning_curve"] = attempt(
            "learning curve", "10 repeats", lambda: selection.learning_curve(model, answers, **options)
        )
    if bootstrap is not None:
        by = "comparison" if answers.people is None or len(answers.people.names) < 2 else "participant"
        found["bootstrap"] = attempt(
            "bootstrap", f"{bootstrap} resamples by {by}",
            lambda: selection.bootstrap(model, answers, n_resamples=bootstrap, by=by, **options),
        )  # fmt: skip
    if people is None:
        people = bool(usual) and answers.people is not None and len(answers.people.names) >= _FEWEST_PEOPLE
    if people:
        found["people"] = attempt(
            "participants", "each against a map of the others",
            lambda: participants(answers, model, n_folds=_FOLDS, **options),
        )  # fmt: skip
    return Findings(**found)


def default_cv(n_comparisons: int) -> int:
    """Folds of a cross-validation by default: 5 where it is informative and quick, else 0."""
    return _FOLDS if _FEWEST <= n_comparisons <= _MOST else 0


def cross_validate(
    model: OrdinalEmbedding, comparisons: Comparisons, cv: int = _FOLDS, groups: Any = None
) -> CrossValidation:
    """Accuracy of maps like this one on held-out answers; a fold has all answers to a question, or of a group."""
    try:
        found = selection.cross_validate_dimensions(
            model, comparisons, [model.n_components_], n_folds=cv, groups=groups, random_state=model.random_state,
            n_jobs=model.n_jobs,
        )  # fmt: skip
    except selection.Interrupted as stopped:  # some folds are no cross-validation
        raise KeyboardInterrupt from stopped
    return _held_out(found, model.n_components_)


def _held_out(found: DimensionSelection, n_components: int) -> CrossValidation:
    """One dimension's part of a cross-validation."""
    at = found.dims.tolist().index(n_components)
    folds = found.fold_accuracy[:, at].tolist()
    mean, error = float(found.accuracy[at]), float(found.accuracy_se[at])
    half = float(t.ppf((1 + _LEVEL) / 2, len(folds) - 1)) * error
    low, high = max(mean - half, 0.0), min(mean + half, 1.0)
    return CrossValidation(len(folds), mean, error, low, high, _LEVEL, folds)


def judge(model: OrdinalEmbedding, comparisons: Any) -> Judgement:
    """Judge a map by answers: how many it satisfies, and how well its loss (if any) predicts them."""
    data = model.comparisons_on_map(comparisons)
    embedding = filled(model.embedding_, data.n_objects)
    satisfied = model.predict(data)
    known: dict[str, Any] = {}
    are_votes = data.answers.votes is not None
    weights = data.votes if are_votes else data.weights
    if weights is not None:
        known = {"weight": float(weights.sum()), "weight_satisfied": float(weights[satisfied].sum())}
        known["weights_are_votes"] = are_votes
    loss = getattr(model, "loss_", None)
    if loss is not None and loss.has_model:
        known |= {"loss": loss.name, "log_loss": log_loss(embedding, data, loss)}
        known["calibration_error"] = calibration(embedding, data, loss).ece
    return Judgement(model.score(data), len(data), int(satisfied.sum()), **known)


def calibrate(model: OrdinalEmbedding, comparisons: Any) -> Calibration:
    """Compare the probabilities that a map gives with what was answered."""
    data = model.comparisons_on_map(comparisons)
    return calibration(filled(model.embedding_, data.n_objects), data, model.loss_)


def worst_violations(
    embedding: np.ndarray,
    index: np.ndarray,
    weights: np.ndarray | None = None,
    labels: Sequence | np.ndarray | None = None,
    limit: int = 20,
    votes: np.ndarray | None = None,
) -> Violations:
    """Find the answers that a map contradicts most.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; NaN for objects without one.
    index : int array (N, 3) or (N, 4)
        Rows (anchor, near, far), or (i, j, l, k) for d(i, j) < d(l, k).
    weights, votes : array (N,), optional
        Weight of each row, and how many answers it stands for; 1 by default.
    labels : sequence (n_objects,), optional
        Names; the numbers of the objects by default.
    limit : int
        Most violations to list.
    """
    X = np.asarray(embedding, dtype=float)
    index = np.asarray(index)
    if index.ndim != 2 or index.shape[1] not in (3, 4):
        raise ValueError(f"index: got shape {index.shape}, expected (N, 3) or (N, 4)")
    if len(index) and (index.min() < 0 or index.max() >= len(X)):
        raise ValueError(f"index: got objects {index.min()} to {index.max()}, expected 0 to {len(X) - 1}")
    names = label_texts(labels, len(X))
    near, far, placed, violated = judged(X, index)
    order = violated[np.argsort(far[violated] - near[violated], kind="stable")]
    own = np.ones(len(index)) if weights is None else np.asarray(weights, dtype=float)
    first, answer = group(list(index[order].T), len(X)) if len(order) else (order, order)
    total = np.bincount(answer, weights=own[order])
    shown = np.argsort(first)[:limit]
    worst = tuple(
        Violation(tuple(names[i] for i in index[row]), float(near[row]), float(far[row]), float(weight))
        for row, weight in zip(order[first[shown]], total[shown])
    )
    share = None
    if weights is not None and votes is None:
        share = float(own[violated].sum() / max(own[placed].sum(), 1e-300))
    count = np.ones(len(index)) if votes is None else votes
    n_violated, n_placed, n_unplaced = (float(count[rows].sum()) for rows in (violated, placed, ~placed))
    return Violations(worst, n_violated, n_placed, n_unplaced, share)


def answers_about(model: OrdinalEmbedding, comparisons: Any) -> Comparisons | None:
    """The answers to judge a map by (default: its own, or None), with the map's numbers for the objects."""
    if comparisons is None:
        return getattr(model, "comparisons_", None)
    answers = model.comparisons_on_map(comparisons)
    strangers = answers.n_objects - model.n_objects_
    if strangers > 0:
        are = counted(strangers, "object that is", "objects that are")
        raise ValueError(f"comparisons: got {are} not on the map, expected objects of the map only")
    return answers
