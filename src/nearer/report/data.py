"""What a report shows, as plain data, checked on entry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from nearer.report.common import group_codes, label_texts
from nearer.report.violations import Violations

__all__ = ["ReportData", "Scores"]


@dataclass(frozen=True)
class Scores:
    """Fractions of answers that the map satisfies; what was not measured is None.

    Attributes
    ----------
    training : float, optional
        Of the answers the map was made from.
    held_out : float, optional
        Of answers it has not seen, by cross-validation or on a test set.
    held_out_low, held_out_high : float, optional
        An interval for `held_out`, of confidence `level`.
    level : float
        Confidence of the interval.
    ceiling : float, optional
        Fraction of repeated answers that agree with the majority: an upper bound for any map.
    ceiling_low : float, optional
        The same with each answer held against the others only: a lower bound for the best map on new answers.
    """

    training: float | None = None
    held_out: float | None = None
    held_out_low: float | None = None
    held_out_high: float | None = None
    level: float = 0.95
    ceiling: float | None = None
    ceiling_low: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"Scores: {item.name} is {value}; a fraction between 0 and 1 is expected")
        if (self.held_out_low is None) != (self.held_out_high is None):
            raise ValueError("Scores: held_out_low and held_out_high are given together or not at all")


@dataclass(frozen=True)
class ReportData:
    """Everything that a report can show; only the title and the positions are needed.

    Attributes
    ----------
    title : str
        Heading of the page.
    embedding : array (n_objects, n_components)
        Positions; a row of NaN is an object without a position.
    subtitle : str
        One line on the data, for instance "9,090 triplets over 400 objects".
    command : str
        The exact command that repeats the result.
    labels, groups : sequence (n_objects,), optional
        Names, and a group for the colour (None, NaN, "" for no group).
    covariances : array (n_objects, n_components, n_components), optional
        Uncertainty of the positions, as from a bootstrap; NaN where unknown.
    level : float
        Probability of the regions drawn from `covariances`.
    scores : Scores
        How well the map fits.
    history : mapping of columns, optional
        ``epoch, n_gradients, seconds, objective, step_size, ...``, one entry per epoch; None and NaN for missing.
    dimensions : mapping of columns, optional
        ``n_components, accuracy`` and optionally ``standard_error``, one entry per dimension tried.
    chosen_dimension : int, optional
        Marked in the dimension chart.
    learning_curve : mapping of columns, optional
        ``n_comparisons, accuracy`` and optionally ``low, high, extrapolated``.
    violations : Violations, optional
        From `worst_violations`.
    check : mapping, optional
        ``CheckResult.to_dict()``.
    thumbnails : path, optional
        Folder of pictures whose file names without ending are the labels.
    facts : mapping
        Anything worth telling: loss, solver, seed, versions.
    """

    title: str
    embedding: np.ndarray
    subtitle: str = ""
    command: str = ""
    labels: Sequence | np.ndarray | None = None
    groups: Sequence | np.ndarray | None = None
    covariances: np.ndarray | None = None
    level: float = 0.9
    scores: Scores = field(default_factory=Scores)
    history: Mapping[str, Any] | None = None
    dimensions: Mapping[str, Any] | None = None
    chosen_dimension: int | None = None
    learning_curve: Mapping[str, Any] | None = None
    violations: Violations | None = None
    check: Mapping[str, Any] | None = None
    thumbnails: str | os.PathLike | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        X = np.asarray(self.embedding, dtype=float)
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"report: embedding has shape {X.shape}; (n_objects, n_components) is expected")
        if np.isinf(X).any():
            row = int(np.flatnonzero(np.isinf(X).any(axis=1))[0])
            raise ValueError(f"report: embedding: row {row} is {X[row].tolist()}: not finite")
        object.__setattr__(self, "embedding", X)
        if not 0 < self.level < 1:
            raise ValueError(f"report: level is {self.level}; a number between 0 and 1 is expected")
        label_texts(self.labels, len(X), "report")
        if self.groups is not None:
            group_codes(self.groups, len(X), "report")
        if self.covariances is not None:
            C = np.asarray(self.covariances, dtype=float)
            expected = (*X.shape, X.shape[1])
            if C.shape != expected:
                raise ValueError(f"report: covariances has shape {C.shape}; {expected} is expected")
            object.__setattr__(self, "covariances", C)
        for name, needed in (
            ("history", ("objective",)),
            ("dimensions", ("n_components", "accuracy")),
            ("learning_curve", ("n_comparisons", "accuracy")),
        ):
            self._check_columns(name, needed)
        if self.chosen_dimension is not None and self.dimensions is not None:
            tried = [int(d) for d in self.dimensions["n_components"]]
            if self.chosen_dimension not in tried:
                raise ValueError(f"report: chosen_dimension is {self.chosen_dimension}; the dimensions are {tried}")

    def _check_columns(self, name: str, needed: tuple[str, ...]) -> None:
        table = getattr(self, name)
        if table is None:
            return
        missing = [column for column in needed if column not in table]
        if missing:
            raise ValueError(f"report: {name}: no column {', '.join(missing)}; there are {', '.join(map(str, table))}")
        lengths = {column: len(values) for column, values in table.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"report: {name}: columns of unequal length: {lengths}")
