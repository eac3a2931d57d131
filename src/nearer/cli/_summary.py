"""What there is to tell about a map: scores, and the data of its report."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nearer import __version__
from nearer.cli._say import percent

if TYPE_CHECKING:
    from nearer.data import Comparisons
    from nearer.data.report import CheckReport
    from nearer.estimator import OrdinalEmbedding
    from nearer.report import ReportData, Scores
    from nearer.selection import DimensionSelection

__all__ = ["cross_validated", "facts_of", "repeat_command", "report_data", "scores_of", "scores_text"]

_LEVEL = 0.95


def repeat_command() -> str:
    """The command line as it was given, fit to be pasted in a shell."""
    return shlex.join(["nearer", *click.get_current_context().meta.get("nearer.arguments", [])])


def cross_validated(comparisons: Comparisons, estimator: OrdinalEmbedding, n_folds: int) -> dict[str, Any]:
    """Accuracy on held-out answers: mean over the folds, its standard error and a Student-t interval."""
    from scipy.stats import t

    from nearer.selection import cross_validate_dimensions

    found: DimensionSelection = cross_validate_dimensions(
        estimator, comparisons, [estimator.n_components], n_folds=n_folds, random_state=estimator.random_state,
        n_jobs=estimator.n_jobs,
    )  # fmt: skip
    mean, error = float(found.accuracy[0]), float(found.accuracy_se[0])
    half = float(t.ppf((1 + _LEVEL) / 2, n_folds - 1)) * error
    return {
        "n_folds": n_folds,
        "accuracy": mean,
        "standard_error": error,
        "low": max(mean - half, 0.0),
        "high": min(mean + half, 1.0),
        "level": _LEVEL,
        "fold_accuracy": found.fold_accuracy[:, 0].tolist(),
    }


def scores_of(training: float | None, held_out: Mapping[str, Any] | None, check: CheckReport | None) -> Scores:
    """The scores that a report shows."""
    from nearer.report import Scores

    return Scores(
        training=training,
        held_out=None if held_out is None else held_out["accuracy"],
        held_out_low=None if held_out is None else held_out["low"],
        held_out_high=None if held_out is None else held_out["high"],
        level=_LEVEL,
        ceiling=None if check is None else check.noise_ceiling,
        ceiling_low=None if check is None else check.noise_ceiling_low,
    )


def scores_text(scores: Scores, held_out: Mapping[str, Any] | None) -> str:
    """The scores in one line."""
    parts = []
    if scores.training is not None:
        parts.append(f"{percent(scores.training)} of the answers satisfied")
    if held_out is not None:
        spread = f"{percent(held_out['low'])} to {percent(held_out['high'])}"
        told = f"{percent(held_out['accuracy'])} of held-out answers ({held_out['n_folds']}-fold cross-validation"
        parts.append(f"{told}, {percent(held_out['level'])} interval {spread})".replace(".0 % interval", " % interval"))
    if scores.ceiling is not None:
        parts.append(f"noise ceiling {percent(scores.ceiling)}")
    return "; ".join(parts)


def facts_of(model: OrdinalEmbedding) -> dict[str, Any]:
    """Loss, solver and outcome of a fit, for the report."""
    from dataclasses import fields

    facts: dict[str, Any] = {}
    if hasattr(model, "loss_"):
        params = [f"{item.name}={getattr(model.loss_, item.name):g}" for item in fields(model.loss_)]
        facts["Loss"] = model.loss_.name + (f" ({', '.join(params)})" if params else "")
    solver = getattr(model.solver, "name", model.solver)
    facts |= {"Solver": solver, "Starts": model.n_init, "Seed": model.random_state}
    if hasattr(model, "result_"):
        facts |= {"Outcome": model.result_.message, "Epochs": model.result_.n_iter}
        facts["Gradients of single comparisons"] = f"{model.result_.n_gradients:,}"
    if hasattr(model, "objective_"):
        facts["Objective"] = f"{model.objective_:.6g}"
    return facts | {"nearer": __version__, "Python": platform.python_version()}


def report_data(
    model: OrdinalEmbedding,
    comparisons: Comparisons | None,
    *,
    title: str,
    scores: Scores,
    check: CheckReport | None = None,
    facts: Mapping[str, Any] | None = None,
    **more: Any,
) -> ReportData:
    """Everything known about a map, for its report; `more` are fields of ReportData."""
    from nearer.report import ReportData, worst_violations

    violations = None
    if comparisons is not None:
        violations = worst_violations(model.embedding_, comparisons.index, comparisons.weights, model.labels_)
    history = getattr(model, "history_", None)
    return ReportData(
        title=title,
        embedding=model.embedding_,
        labels=model.labels_,
        subtitle="" if comparisons is None else repr(comparisons),
        scores=scores,
        history=history.to_dict() if history is not None and len(history) else None,
        violations=violations,
        check=None if check is None else check.to_dict(),
        facts=facts_of(model) | dict(facts or {}),
        **more,
    )
