"""What can be found out about a map beyond making it, each study on request."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearer.cli._progress import Interrupt
from nearer.cli._say import Say, explain
from nearer.cli._summary import cross_validated

if TYPE_CHECKING:
    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding
    from nearer.selection import Bootstrap, DimensionSelection, LearningCurve

__all__ = ["Found", "Wanted", "study"]

# Cross-validation is done unasked for numbers of comparisons in this range: enough to tell, quick to do.
_CV_FROM, _CV_TO, _CV_FOLDS = 50, 200_000, 5
# The learning curve is carried on to so many times the answers there are.
_EXTRAPOLATE = 4


@dataclass(frozen=True)
class Wanted:
    """Studies asked for: folds of cross-validation (None: as seems fit), dimensions, learning curve, resamples."""

    cv: int | None = None
    dims: tuple[int, ...] | None = None
    learning_curve: bool = False
    bootstrap: int | None = None

    @property
    def any(self) -> bool:
        return bool(self.cv or self.dims or self.learning_curve or self.bootstrap)


@dataclass
class Found:
    """Results of the studies; None for those not made."""

    held_out: dict[str, Any] | None = None
    dimensions: DimensionSelection | None = None
    learning_curve: LearningCurve | None = None
    resampled: Bootstrap | None = None

    def for_report(self) -> dict[str, Any]:
        """Fields of ReportData."""
        fields: dict[str, Any] = {}
        if self.dimensions is not None:
            fields |= {"dimensions": self.dimensions.to_dict(), "chosen_dimension": self.dimensions.chosen}
        if self.learning_curve is not None:
            most = int(self.learning_curve.n_comparisons[-1]) * _EXTRAPOLATE
            fields["learning_curve"] = self.learning_curve.to_dict(most)
        if self.resampled is not None:
            fields["covariances"] = self.resampled.covariance
        return fields

    def summary(self) -> dict[str, Any]:
        """Results as plain values."""
        values: dict[str, Any] = {"cross_validation": self.held_out}
        if self.dimensions is not None:
            found = self.dimensions
            values["dimensions"] = found.to_dict() | {"chosen": found.chosen, "verdict": found.verdict}
        if self.learning_curve is not None:
            values["learning_curve"] = self.learning_curve.to_dict() | {"ceiling": self.learning_curve.law.ceiling}
        if self.resampled is not None:
            values["bootstrap"] = {
                "n_resamples": len(self.resampled.samples),
                "by": self.resampled.by,
                "accuracy": vars(self.resampled.accuracy()),
            }
        return values


def study(
    say: Say,
    comparisons: Comparisons,
    model: OrdinalEmbedding,
    wanted: Wanted,
    interrupt: Interrupt,
) -> Found:
    """Make the studies asked for. One that ctrl-C stops or that cannot be made is left out: the map is kept.

    Parameters
    ----------
    comparisons : Comparisons, those of the map
    model : OrdinalEmbedding, fitted
    """
    from nearer import selection

    options = {"random_state": model.random_state, "n_jobs": model.n_jobs}
    folds = wanted.cv
    if folds is None:
        folds = _CV_FOLDS if _CV_FROM <= len(comparisons) <= _CV_TO else 0
        if not folds:
            say.note(f"no cross-validation for {len(comparisons):,} comparisons unless asked for: --cv {_CV_FOLDS}")

    def attempt(what: str, how: str, task: Callable[[], Any]) -> Any:
        if interrupt.pressed:
            return None
        say.note(f"{what}: {how}")
        try:
            return task()
        except KeyboardInterrupt:
            interrupt.pressed = True
            say.note(f"{what} left out; press ctrl-C again to give up")
        except ValueError as error:
            warnings.warn(f"{what} left out: {explain(error)}", stacklevel=2)
        return None

    found = Found()
    if folds:
        found.held_out = attempt(
            "cross-validation", f"{folds} folds", lambda: cross_validated(comparisons, model, folds)
        )
    if wanted.dims is not None:
        dims = wanted.dims
        found.dimensions = attempt(
            "accuracy by dimension", ", ".join(map(str, dims)),
            lambda: selection.cross_validate_dimensions(
                model, comparisons, dims, n_folds=folds or _CV_FOLDS, **options
            ),
        )  # fmt: skip
    if wanted.learning_curve:
        found.learning_curve = attempt(
            "learning curve", "10 repeats",
            lambda: selection.learning_curve(model, comparisons, **options),
        )  # fmt: skip
    if wanted.bootstrap is not None:
        resamples, people = wanted.bootstrap, comparisons.participants
        by = "comparison" if people is None or len(set(people.tolist())) < 2 else "participant"
        found.resampled = attempt(
            "bootstrap", f"{resamples} resamples by {by}",
            lambda: selection.bootstrap(model, comparisons, n_resamples=resamples, by=by, **options),
        )  # fmt: skip
    return found
