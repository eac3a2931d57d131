"""What a report shows: as plain data, checked on entry; and how a model and its answers become that."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer import __version__
from nearer.data import as_comparisons
from nearer.data.answers import tally
from nearer.data.columns import distinct
from nearer.io.files import atomic_write, check_ending, refuse_unwritable
from nearer.reporting.display import group_codes, label_texts
from nearer.reporting.page import render
from nearer.reporting.studies import Findings, Monitor, Scores, Violations, answers_about, study, worst_violations
from nearer.reporting.words import data_sentence, reliability_sentence

if TYPE_CHECKING:
    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding


ENDINGS = (".html", ".htm")
# The learning curve is continued to this many times the answers there are.
_EXTRAPOLATE = 4
_KEPT = (
    "title", "command", "groups", "covariances", "level", "scores", "dimensions", "chosen_dimension", "learning_curve",
    "images", "facts", "people",
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """Everything that a report shows; only the title and the positions are needed.

    `save` writes it as one HTML file, `html` returns the same as text.

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
    in_stages : bool, default False
        Whether the objective of the history changes between stages, as it does with the solver auto.
    dimensions : mapping of columns, optional
        ``n_components, accuracy`` and optionally ``standard_error``, one entry per dimension tried.
    chosen_dimension : int, optional
        Marked in the dimension chart.
    learning_curve : mapping of columns, optional
        ``n_comparisons, accuracy`` and optionally ``low, high, extrapolated``.
    violations : Violations, optional
        From `worst_violations`.
    check : mapping, optional
        What ``comparisons.check(n_components).to_dict()`` gives.
    people : mapping of columns, optional
        What `nearer.people.ParticipantTable.table` gives.
    n_answers : array (n_objects,), optional
        Answers that name each object.
    images : path-like, optional
        Folder of pictures whose file names without ending are the labels.
    facts : mapping
        Anything else worth telling, such as loss, solver, seed and versions.
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
    people: Mapping[str, Any] | None = None
    n_answers: Sequence | np.ndarray | None = None
    images: str | os.PathLike | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    in_stages: bool = False

    def __post_init__(self) -> None:
        X = np.asarray(self.embedding, dtype=float)
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"embedding: got shape {X.shape}, expected (n_objects, n_components)")
        if np.isinf(X).any():
            row = int(np.flatnonzero(np.isinf(X).any(axis=1))[0])
            raise ValueError(f"embedding: got {X[row].tolist()} in row {row}, expected finite numbers or NaN")
        object.__setattr__(self, "embedding", X)
        if not 0 < self.level < 1:
            raise ValueError(f"level: got {self.level}, expected a number between 0 and 1")
        label_texts(self.labels, len(X))
        if self.groups is not None:
            group_codes(self.groups, len(X))
        if self.covariances is not None:
            C = np.asarray(self.covariances, dtype=float)
            expected = (*X.shape, X.shape[1])
            if C.shape != expected:
                raise ValueError(f"covariances: got shape {C.shape}, expected {expected}")
            object.__setattr__(self, "covariances", C)
        self._check_columns("history", "objective")
        self._check_columns("people", "participant", "answers", "agreement", "guesses", "p_chance")
        self._check_columns("dimensions", "n_components", "accuracy")
        self._check_columns("learning_curve", "n_comparisons", "accuracy")
        if self.chosen_dimension is not None and self.dimensions is not None:
            tried = [int(d) for d in self.dimensions["n_components"]]
            if self.chosen_dimension not in tried:
                raise ValueError(f"chosen_dimension: got {self.chosen_dimension}, expected one of {tried}")

    def _check_columns(self, name: str, *needed: str) -> None:
        table = getattr(self, name)
        if table is None:
            return
        missing = [column for column in needed if column not in table]
        if missing:
            there = ", ".join(map(str, table))
            raise ValueError(f"{name}: got the columns {there}, expected {', '.join(missing)} among them")
        lengths = {column: len(values) for column, values in table.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{name}: got columns of unequal length, {lengths}, expected one length")

    @property
    def has_few_answers(self) -> np.ndarray:
        """Which objects are in too few questions to have a certain place, bool (n_objects,), as `check` says."""
        few = {entry["object"] for entry in (self.check or {}).get("too_few") or ()}
        names = range(len(self.embedding)) if self.labels is None else self.labels
        return np.array([name in few for name in names])

    def to_dict(self) -> dict[str, Any]:
        """What a fitted model and its answers do not tell: all that a later page needs to be the same.

        Returns
        -------
        dict
            Plain values and arrays; ``dataclasses.replace(describe(model), **Report.from_dict(values))`` is this page.
        """
        values = {name: getattr(self, name) for name in _KEPT}
        values["scores"] = asdict(self.scores)
        values["images"] = None if self.images is None else os.path.abspath(self.images)
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that `to_dict` gave, read back from JSON.

        Parameters
        ----------
        values : mapping
            Entries that are not known are left out.

        Returns
        -------
        dict
        """
        known = {name: values[name] for name in _KEPT if values.get(name) is not None}
        if "scores" in known:
            known["scores"] = Scores(**known["scores"])
        if "covariances" in known:
            known["covariances"] = np.array(known["covariances"], dtype=float)
        return known

    def html(self) -> str:
        """Return the whole page as text."""
        return render(self)

    def save(self, path: str | os.PathLike, *, force: bool = False) -> Path:
        """Write the page as one HTML file that needs no network.

        Parameters
        ----------
        path : path-like
            File to write, ending in .html or .htm; its folder must exist.
        force : bool
            Replace an existing file.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        check_ending(path, ENDINGS)
        with atomic_write(path, force) as file:
            file.write(self.html().encode("utf-8"))
        return Path(path)


def report(
    model: OrdinalEmbedding,
    comparisons: Any = None,
    path: str | os.PathLike | None = None,
    *,
    title: str = "Map",
    groups: Sequence | np.ndarray | None = None,
    images: str | os.PathLike | None = None,
    command: str = "",
    facts: Mapping[str, Any] | None = None,
    cv: int | None = None,
    cv_by: str = "question",
    dims: Iterable[int] | None = None,
    learning_curve: bool = False,
    bootstrap: int | None = None,
    people: bool | None = None,
    monitor: Monitor | None = None,
    force: bool = False,
) -> Report:
    """Find out how far to trust a map, and write it down as one HTML file.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted, or loaded from a file.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes, optional
        Answers to judge the map by. Default: those it was made from.
    path : path-like, optional
        HTML file to write; without it, nothing is written.
    title : str
        Heading of the page.
    groups : sequence (n_objects,), optional
        A group for the colour of each object; None, NaN and "" mean "no group".
    images : path-like, optional
        Folder of pictures whose file names without ending are the labels.
    command : str
        The command that repeats the result.
    facts : mapping, optional
        Anything else worth telling.
    cv, cv_by, dims, learning_curve, bootstrap, people, monitor
        As in `study`: which studies to make.
    force : bool
        Replace an existing file.

    Returns
    -------
    Report
        ``report.save(path)`` writes it again, ``report.html()`` is its text.
    """
    if path is not None:
        check_ending(path, ENDINGS)
        refuse_unwritable(path, force)
    if comparisons is not None:
        comparisons = as_comparisons(comparisons)
    findings = study(
        model, comparisons, cv=cv, cv_by=cv_by, dims=dims, learning_curve=learning_curve, bootstrap=bootstrap,
        people=people, monitor=monitor,
    )  # fmt: skip
    made = describe(
        model, comparisons, findings, title=title, groups=groups, images=images, command=command, facts=facts
    )
    if path is not None:
        made.save(path, force=force)
    return made


def describe(
    model: OrdinalEmbedding,
    comparisons: Any = None,
    findings: Findings | None = None,
    *,
    title: str = "Map",
    groups: Sequence | np.ndarray | None = None,
    images: str | os.PathLike | None = None,
    command: str = "",
    facts: Mapping[str, Any] | None = None,
) -> Report:
    """Put all that is known about a map into a report, without computing anything costly; parameters as in `report`."""
    found = Findings() if findings is None else findings
    answers = answers_about(model, comparisons)
    history = getattr(model, "history_", None)
    shown: dict[str, Any] = {}
    if answers is not None:
        violations = worst_violations(model.embedding_, answers.index, answers.weights, model.labels_)
        shown |= {"subtitle": repr(answers), "violations": violations, "n_answers": _answers_naming(answers)}
    if found.check is not None:
        shown["check"] = found.check.to_dict()
        shown["subtitle"] = data_sentence(shown["check"])
    if found.dimensions is not None:
        shown |= {"dimensions": found.dimensions.to_dict(), "chosen_dimension": found.dimensions.chosen}
    if found.learning_curve is not None:
        most = int(found.learning_curve.n_comparisons[-1]) * _EXTRAPOLATE
        shown["learning_curve"] = found.learning_curve.to_dict(most)
    if found.people is not None:
        shown["people"] = found.people.table()
    if found.bootstrap is not None:
        shown["covariances"] = found.bootstrap.covariance
    return Report(
        title=title,
        embedding=model.embedding_,
        labels=model.labels_,
        groups=groups,
        images=images,
        command=command,
        scores=found.scores,
        history=history.to_dict() if history is not None and len(history) else None,
        facts=_facts(model, found) | dict(facts or {}),
        in_stages=_solver_name(model) == "auto",
        **shown,
    )


def _answers_naming(answers: Comparisons) -> np.ndarray:
    """How many answers name each object; whole-number weights count answers, and rows of one answer once."""
    told, n_objects = tally(answers), answers.n_objects
    cells = told.answer[:, None] * n_objects + answers.index
    answer, named = np.divmod(distinct(cells), n_objects)
    return np.bincount(named, weights=told.n_answers[answer], minlength=n_objects)


def _solver_name(model: OrdinalEmbedding) -> str:
    return getattr(model.solver, "name", model.solver)


def _facts(model: OrdinalEmbedding, found: Findings) -> dict[str, Any]:
    """Loss, solver and outcome of a fit, for the end of the report."""
    facts: dict[str, Any] = {}
    if hasattr(model, "loss_"):
        params = [f"{item.name}={getattr(model.loss_, item.name):g}" for item in fields(model.loss_)]
        facts["Loss"] = model.loss_.name + (f" ({', '.join(params)})" if params else "")
    facts |= {"Solver": _solver_name(model), "Starts": model.n_init, "Seed": model.random_state}
    if hasattr(model, "result_"):
        facts |= {"Outcome": model.result_.message, "Epochs": model.result_.n_iter}
        facts["Gradients of single comparisons"] = f"{model.result_.n_gradients:,}"
    if hasattr(model, "objective_"):
        facts["Objective"] = f"{model.objective_:.6g}"
    weighed = getattr(model, "reliability_", None)
    if weighed is not None:
        facts["Reliability"] = reliability_sentence(weighed.guesses)
    if found.cross_validation is not None:
        facts["Cross-validation"] = f"{found.cross_validation.n_folds} folds"
    return facts | {"nearer": __version__, "Python": platform.python_version()}
