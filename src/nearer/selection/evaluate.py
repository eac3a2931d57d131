"""Held-out figures of a map, computed once: report, methods section, summary and command line read them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import norm, t

from nearer.check import CheckResult, check
from nearer.data import Comparisons, check_bool
from nearer.data.messages import counted
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import Calibration, answer_accuracy, calibration, chance_level, log_loss, wilson_interval
from nearer.metrics.agreement import ceiling_is_rough
from nearer.metrics.comparison import filled
from nearer.people import ParticipantTable, participants
from nearer.people.participants import FEWEST
from nearer.refits import Interrupted
from nearer.selection.bootstrap import Bootstrap
from nearer.selection.bootstrap import bootstrap as resample
from nearer.selection.dimension import DimensionSelection, cross_validate_dimensions
from nearer.selection.learning_curve import LearningCurve
from nearer.selection.learning_curve import learning_curve as measure_learning_curve
from nearer.selection.thresholds import (
    FOLDS,
    GAIN_OF_ALL,
    LEVEL,
    can_compare_people,
    default_folds,
    default_resamples,
    why_no_folds,
)
from nearer.warning_types import InputWarning

# Figures in summary.json: of the cross-validation, with the field of `Evaluation` that holds each, and of `check`.
_CROSS_VALIDATION = {
    "accuracy": "held_out",
    "standard_error": "standard_error",
    "low": "held_out_low",
    "high": "held_out_high",
    "level": "level",
    "fold_accuracy": "fold_accuracy",
    "folds_by": "folds_by",
    "n_unplaced": "n_unplaced",
}
_CHECKED = (
    "n_questions",
    "n_repeated_questions",
    "noise_ceiling",
    "noise_ceiling_low",
    "components",
    "problems",
    "n_adaptive",
)


@dataclass(frozen=True)
class Evaluation:
    """What is known about a map beyond its positions; None for what was not measured.

    Accuracies are fractions of answers satisfied; an answer with several comparisons is satisfied if all hold.
    """

    training: float | None = None  # accuracy on the answers the map was made from
    held_out: float | None = None  # accuracy on answers it has not seen, by cross-validation or on a test set
    held_out_low: float | None = None  # interval for the map's accuracy on new answers, of confidence level
    held_out_high: float | None = None
    level: float = LEVEL
    chance: float = 0.5  # accuracy of a map made without the answers
    ceiling: float | None = None  # repeated answers that agree with the majority: an upper bound for any map
    ceiling_low: float | None = None  # each answer compared with the others only: a lower bound for the best map
    ceiling_questions: int | None = None  # repeated questions that the ceiling was found from
    random_only: bool = False  # held_out is of answers to random questions alone: others were chosen by earlier answers
    standard_error: float | None = None  # of held_out, for other questions and, where known, other participants
    fold_accuracy: tuple[float, ...] = ()
    folds_by: str = "question"  # what stayed in one fold
    n_unplaced: float = 0.0  # held-out answers about objects that no other answer names; no map can predict them
    declined: str = ""  # why held_out is not known
    check: CheckResult | None = None
    dimensions: DimensionSelection | None = None
    learning_curve: LearningCurve | None = None
    bootstrap: Bootstrap | None = None
    people: ParticipantTable | None = None

    @property
    def ceiling_least(self) -> float | None:
        """Lower bound for the best possible map."""
        return self.ceiling if self.ceiling_low is None else self.ceiling_low

    @property
    def ceiling_bound(self) -> float | None:
        """Lower end of Wilson's interval for `ceiling_least`, each repeated question counting once."""
        if self.ceiling_least is None or self.ceiling_questions is None:
            return self.ceiling_least
        return float(wilson_interval(self.ceiling_least, self.ceiling_questions, self.level)[0])

    @property
    def ceiling_is_rough(self) -> bool:
        """Whether the ceiling is too uncertain to be given, see `nearer.metrics.agreement.ceiling_is_rough`."""
        least, high, n_questions = self.ceiling_least, self.ceiling, self.ceiling_questions
        if least is None or high is None:
            return False
        return high <= 0.5 if n_questions is None else ceiling_is_rough(least, high, n_questions, self.level)

    def summary(self) -> dict[str, Any]:
        """All results as plain values, as in summary.json; `figures_of` reads individual figures back."""
        values: dict[str, Any] = {
            "training_accuracy": self.training, "chance_level": self.chance, "cross_validation": None, "check": None
        }  # fmt: skip
        if self.fold_accuracy:
            figures = {name: getattr(self, field) for name, field in _CROSS_VALIDATION.items()}
            values["cross_validation"] = {"n_folds": len(self.fold_accuracy)} | figures
        elif self.declined:
            values["cross_validation"] = {"declined": self.declined}
        if self.dimensions is not None:
            found = self.dimensions
            values["dimensions"] = found.to_dict() | {"chosen": found.chosen, "verdict": found.verdict}
        if self.learning_curve is not None:
            values["learning_curve"] = self.learning_curve.to_dict() | {"ceiling": self.learning_curve.law.ceiling}
        if self.bootstrap is not None:
            values["bootstrap"] = {
                "n_resamples": len(self.bootstrap.samples),
                "by": self.bootstrap.by,
                "accuracy": asdict(self.bootstrap.accuracy()) if self.bootstrap.tested else None,
            }
        if self.people is not None:
            values["people"] = self.people.table()
        if self.check is not None:
            values["check"] = {name: getattr(self.check, name) for name in _CHECKED}
        return values


def figures_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Single figures from the result of `Evaluation.summary`, as arguments of `Evaluation`."""
    figures = {"chance": summary["chance_level"]} if "chance_level" in summary else {}
    if summary.get("training_accuracy") is not None:
        figures["training"] = summary["training_accuracy"]
    found = summary.get("cross_validation")
    if found is not None and "declined" in found:
        figures["declined"] = found["declined"]
    elif found is not None:
        figures |= {field: found[name] for name, field in _CROSS_VALIDATION.items() if name in found}
        figures["fold_accuracy"] = tuple(figures["fold_accuracy"])
    checked = summary.get("check")
    return figures if checked is None else figures | _ceiling(checked)


def _ceiling(checked: Mapping[str, Any]) -> dict[str, Any]:
    """What a check found about the noise ceiling and about adaptive questions, as arguments of `Evaluation`."""
    return {
        "ceiling": checked.get("noise_ceiling"),
        "ceiling_low": checked.get("noise_ceiling_low"),
        "ceiling_questions": checked.get("n_repeated_questions") or None,
        "random_only": bool(checked.get("n_adaptive")),
    }


def evaluate(
    model: OrdinalEmbedding,
    comparisons: Any = None,
    *,
    cv: int | None = None,
    cv_by: str | None = None,
    dims: Iterable[int] | None = None,
    learning_curve: bool = False,
    bootstrap: int | None = None,
    people: bool | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure how far to trust a map. What cannot be measured is left out, with a warning.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted; copies of it are fitted to parts of the answers, with its number of starts.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes, optional
        Answers to evaluate the map on. Default: those it was made from.
    cv : int, optional
        Folds of the cross-validation, 0 for none. Default: 5 where that is informative and quick.
    cv_by : {"question", "participant"}, optional
        What stays together in a fold: all answers to a question, or all of a person. Default: the former, unless most
        held-out answers then name an object that occurs in no other question.
    dims : iterable of int, optional
        Dimensions to try.
    learning_curve : bool
        Whether more answers would help.
    bootstrap : int, optional
        Number of resamples, for regions of uncertainty, 0 for none; by participant where these are known. Default: 100
        for up to 20,000 comparisons of up to 500 objects, with solver "auto" or "lbfgs" and without `reliability`.
    people : bool, optional
        How each person answered. Default: where that is known of at least 3 people, and quick.
    progress : callable, optional
        Called with a line about each study when it begins.

    Raises
    ------
    Interrupted
        By ctrl-C; `found` has the results so far.
    """
    if cv_by not in (None, "question", "participant"):
        raise ValueError(f"cv_by: got {cv_by!r}, expected 'question' or 'participant'")
    check_bool(learning_curve, "learning_curve")
    check_bool(people, "people", allow_none=True)
    answers = answers_about(model, comparisons)
    if answers is None:  # out of reach, but the solver may have recorded their error
        history = getattr(model, "history_", None)
        error = history[-1].train_error if history else None
        return Evaluation(None if error is None else 1.0 - error)

    def attempt(name: str, details: str, study: Callable[..., Any], *given: Any, **how: Any) -> Any:
        if progress is not None:
            progress(f"{name}: {details}")
        try:
            return study(*given, **how, random_state=model.random_state, n_jobs=model.n_jobs)
        except ValueError as error:
            warnings.warn(f"{name} left out: {error}", InputWarning, stacklevel=3)
            reasons[name] = str(error)
            return None

    checked, reasons = check(answers, model.n_components_), dict[str, str]()
    found: dict[str, Any] = {
        "training": answer_accuracy(filled(model.embedding_, answers.n_objects), answers),
        "chance": chance_level(answers), "check": checked, **_ceiling(vars(checked)),
    }  # fmt: skip
    usual = default_folds(answers)
    folds = usual if cv is None else cv
    how = {"n_folds": folds or FOLDS, "groups": None if cv_by is None else f"{cv_by}s"}
    tried, own = [] if dims is None else list(dims), model.n_components_

    def by_dimension(*given: Any, **how: Any) -> DimensionSelection:
        try:
            return cross_validate_dimensions(*given, **how)
        except Interrupted as stopped:  # some of its maps are finished
            found["dimensions"] = stopped.found
            raise

    try:
        if tried:
            names = ", ".join(map(str, tried))
            found["dimensions"] = attempt("accuracy by dimension", names, by_dimension, model, answers, tried, **how)
        if folds:
            measured = found.get("dimensions")
            # If `dims` has evaluated this dimension, its held-out accuracy is used.
            if own not in tried or measured is None:
                details = f"{folds} folds"
                measured = attempt("cross-validation", details, cross_validate_dimensions, model, answers, [own], **how)
            if measured is None:
                found["declined"] = " ".join(reasons.values())
            else:
                found |= _held_out(measured, own, found["training"], answers)
        elif cv is None:
            found["declined"] = why_no_folds(answers)
        if learning_curve:
            found["learning_curve"] = attempt("learning curve", "10 repeats", measure_learning_curve, model, answers)
        n_resamples = default_resamples(answers, model.solver, model.reliability) if bootstrap is None else bootstrap
        if n_resamples:
            by = "comparison" if answers.people is None or len(answers.people.names) < 2 else "participant"
            details = f"{n_resamples} resamples by {by}"
            found["bootstrap"] = attempt("bootstrap", details, resample, model, answers, n_resamples=n_resamples, by=by)
        if people is None:
            people = can_compare_people(answers)
        if people:
            details = "each against a map of the others"
            found["people"] = attempt("participants", details, _people, answers)
    except KeyboardInterrupt as stopped:
        raise Interrupted(Evaluation(**found)) from stopped
    return Evaluation(**found)


def _people(answers: Comparisons, *, random_state: Any, n_jobs: int | None) -> ParticipantTable:
    """Always with the defaults of `participants`, so that the figures of a person are the same everywhere."""
    return participants(answers, n_jobs=n_jobs)


def _held_out(found: DimensionSelection, n_components: int, training: float, answers: Comparisons) -> dict[str, Any]:
    """The figures of one dimension; the interval is for the map of all answers, by people and questions like these."""
    at = found.dims.tolist().index(n_components)
    assert found.sampling_se is not None
    folds = tuple(found.fold_accuracy[:, at].tolist())
    mean, n_people = float(found.accuracy[at]), 0 if answers.people is None else len(answers.people.names)
    error, normal = float(found.sampling_se[at]), float(norm.ppf((1 + LEVEL) / 2))
    errors = normal if n_people < FEWEST else float(t.ppf((1 + LEVEL) / 2, n_people - 1))
    gain = GAIN_OF_ALL * max(training - mean, 0.0)
    half = math.hypot(errors * error, normal * gain)
    bounds = {"held_out_low": max(mean + gain - half, 0.0), "held_out_high": min(mean + gain + half, 1.0)}
    how = {"folds_by": found.folds_by, "n_unplaced": found.n_unplaced, "standard_error": error}
    return {"held_out": mean, "fold_accuracy": folds, **bounds, **how}


def score_map(model: OrdinalEmbedding, comparisons: Any) -> dict[str, Any]:
    """Evaluate a map on answers: how many it satisfies, and how well its loss (if any) predicts them.

    Returns ``accuracy`` (by weight), ``n_comparisons`` and ``n_satisfied`` (rows); with weights also ``weight``,
    ``weight_satisfied`` and ``weights_are_votes``; for a loss with a model its name, ``log_loss`` and
    ``calibration_error``.
    """
    data = model.comparisons_on_map(comparisons)
    satisfied = model.predict(data)
    found: dict[str, Any] = {
        "accuracy": model.score(data), "n_comparisons": len(data), "n_satisfied": int(satisfied.sum())
    }  # fmt: skip
    are_votes = data.answers.votes is not None
    weights = data.votes if are_votes else data.weights
    if weights is not None:
        found |= {"weight": float(weights.sum()), "weight_satisfied": float(weights[satisfied].sum())}
        found["weights_are_votes"] = are_votes
    loss = getattr(model, "loss_", None)
    if loss is not None and loss.has_model:
        embedding = filled(model.embedding_, data.n_objects)
        found |= {"loss": loss.name, "log_loss": log_loss(embedding, data, loss)}
        found["calibration_error"] = calibrate(model, data).ece
    return found


def calibrate(model: OrdinalEmbedding, comparisons: Any) -> Calibration:
    """Calibration of the probabilities of a map on some answers."""
    data = model.comparisons_on_map(comparisons)
    return calibration(filled(model.embedding_, data.n_objects), data, model.loss_)


def answers_about(model: OrdinalEmbedding, comparisons: Any) -> Comparisons | None:
    """The answers to evaluate a map on (default: its own, or None), with objects numbered as on the map."""
    if comparisons is None:
        return getattr(model, "comparisons_", None)
    answers = model.comparisons_on_map(comparisons)
    n_unknown = answers.n_objects - model.n_objects_
    if n_unknown > 0:
        are = counted(n_unknown, "object that is", "objects that are")
        raise ValueError(f"comparisons: got {are} not on the map, expected objects of the map only")
    return answers
