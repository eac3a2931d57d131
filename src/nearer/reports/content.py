"""The content of a report as plain data, checked on entry, and how it is made from a model and its answers."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer import __version__
from nearer.data.messages import counted
from nearer.data.splits import answers_naming
from nearer.io.files import atomic_write, check_ending, refuse_unwritable
from nearer.metrics import WorstComparisons, worst_comparisons
from nearer.registry import PAGES
from nearer.reports.page import render
from nearer.reports.sentences import data_sentence, flow_sentences
from nearer.selection import Evaluation, evaluate, find_clusters
from nearer.selection.evaluate import answers_about

if TYPE_CHECKING:
    from nearer.alignment import Alignment
    from nearer.estimator import OrdinalEmbedding


_EXTRAPOLATE = 4  # the learning curve is continued to this multiple of the present number of answers
_KEPT = (
    "title", "command", "groups", "clusters", "covariances", "dimensions", "chosen_dimension", "learning_curve",
    "images", "facts", "people",
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """Everything that a report shows; only the title and the positions are needed."""

    title: str
    embedding: np.ndarray  # (n_objects, n_components); a row of NaN is an object without a position
    subtitle: str = ""  # one line on the data, such as "9,090 triplets over 400 objects"
    command: str = ""  # that repeats the result
    labels: Sequence | np.ndarray | None = None  # (n_objects,)
    groups: Sequence | np.ndarray | None = None  # (n_objects,); None, NaN, "" for no group
    clusters: Sequence | None = None  # (n_objects,); names of clusters found on the map, shown if there are no groups
    covariances: Any = None  # of the positions (n_objects, n_components, n_components); NaN: unknown
    evaluation: Evaluation = field(default_factory=Evaluation)  # its single figures are shown
    history: Mapping[str, Any] | None = None  # columns objective, step_size, ...: one entry per epoch
    dimensions: Mapping[str, Any] | None = None  # columns n_components, accuracy, perhaps standard_error
    chosen_dimension: int | None = None  # marked in the chart of dimensions
    learning_curve: Mapping[str, Any] | None = None  # n_comparisons, accuracy, perhaps low, high, extrapolated
    violations: WorstComparisons | None = None  # from worst_comparisons(merge=True)
    check: Mapping[str, Any] | None = None  # from check(comparisons, n_components).to_dict()
    people: Mapping[str, Any] | None = None  # from ParticipantTable.table()
    alignment: Alignment | None = None  # of models with the answers
    flow: Sequence[str] = ()  # from the answers collected to those analysed, in sentences
    n_answers: Sequence | np.ndarray | None = None  # (n_objects,): answers that name each object
    images: str | os.PathLike | None = None  # folder of pictures whose file names without ending are the labels
    facts: Mapping[str, Any] = field(default_factory=dict)  # anything else to show, such as loss, solver and seed

    def to_dict(self) -> dict[str, Any]:
        """The data that `from_dict` reads back, so that ``replace(describe(model), **fields)`` is this page."""
        values = {name: getattr(self, name) for name in _KEPT}
        values["images"] = None if self.images is None else os.path.abspath(self.images)
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that `to_dict` gave, read back from JSON; unknown ones are left out."""
        return {name: values[name] for name in _KEPT if values.get(name) is not None}

    def html(self) -> str:
        """The whole page as text."""
        return render(self)

    def save(self, path: str | os.PathLike, *, force: bool = False) -> Path:
        """Write the page as one HTML file (.html, .htm) that needs no network; `force` replaces an existing one."""
        check_ending(path, PAGES)
        with atomic_write(path, force) as file:
            file.write(self.html().encode("utf-8"))
        return Path(path)


def write_report(
    model: OrdinalEmbedding, comparisons: Any = None, path: str | os.PathLike | None = None, *,
    title: str | None = None, groups: Sequence | np.ndarray | None = None, images: str | os.PathLike | None = None,
    command: str = "", facts: Mapping[str, Any] | None = None, alignment: Alignment | None = None, force: bool = False,
    **studies: Any,
) -> Report:  # fmt: skip
    """Measure how far to trust a map, and write one HTML file that shows both.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted, or loaded from a file.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes, optional
        Answers to evaluate the map on. Default: those it was made from.
    path : path-like, optional
        HTML file to write; without it, nothing is written.
    title, groups, images, command, facts
        As in `Report`.
    alignment : Alignment, optional
        From `nearer.alignment.align`; shown in a section of its own.
    force : bool
        Replace an existing file.
    **studies : Any
        What to measure: `cv`, `cv_by`, `dims`, `learning_curve`, `bootstrap`, `people`, `progress`, as in
        `nearer.selection.evaluate`.
    """
    if path is not None:
        check_ending(path, PAGES)
        refuse_unwritable(path, force)
    answers = answers_about(model, comparisons)
    found = evaluate(model, answers, **studies)
    page: dict[str, Any] = {"title": title, "groups": groups, "images": images, "command": command, "facts": facts}
    made = describe(model, answers, found, alignment=alignment, **page)
    if path is not None:
        made.save(path, force=force)
    return made


def describe(
    model: OrdinalEmbedding, comparisons: Any = None, evaluation: Evaluation | None = None, *, title: str | None = None,
    facts: Mapping[str, Any] | None = None, **page: Any,
) -> Report:  # fmt: skip
    """Put what is known about a map into a report, without fitting anything; `page` are further fields of it."""
    found = Evaluation() if evaluation is None else evaluation
    answers = answers_about(model, comparisons)
    history = getattr(model, "history_", None)
    shown: dict[str, Any] = {}
    if answers is not None:
        violations = worst_comparisons(model.embedding_, answers, merge=True)
        shown |= {"subtitle": repr(answers), "violations": violations, "n_answers": answers_naming(answers)}
    if found.check is not None:
        shown["check"] = found.check.to_dict()
        shown["subtitle"] = data_sentence(shown["check"])
        if answers is not None:
            shown["flow"] = flow_sentences(answers.flow, answers.answers.kinds(), shown["check"])
    if found.dimensions is not None:
        shown |= {"dimensions": found.dimensions.to_dict(), "chosen_dimension": found.dimensions.chosen}
    if found.learning_curve is not None:
        most = int(found.learning_curve.n_comparisons[-1]) * _EXTRAPOLATE
        shown["learning_curve"] = found.learning_curve.to_dict(most)
    if found.people is not None:
        shown["people"] = found.people.table()
    if found.bootstrap is not None:
        shown["covariances"] = found.bootstrap.covariance
        clusters = find_clusters(found.bootstrap)
        shown["clusters"] = None if clusters is None else clusters.names()
    return Report(
        title=title or f"Map of {counted(model.n_objects_, 'object')}",
        embedding=model.embedding_,
        labels=model.labels_,
        evaluation=found,
        history=history.to_dict() if history is not None and len(history) else None,
        facts=_facts(model, found) | dict(facts or {}),
        **shown | page,
    )


def outcome(model: OrdinalEmbedding) -> str:
    """How a fit ended: what matters to a reader is whether it converged."""
    return "converged" if model.result_.converged else model.result_.message


def loss_text(model: OrdinalEmbedding) -> str:
    """Name and parameters of the loss of a map."""
    return " ".join([model.loss_.name, *(f"{name}={value:.3g}" for name, value in model.loss_.parameters.items())])


def _facts(model: OrdinalEmbedding, found: Evaluation) -> dict[str, Any]:
    """Loss, solver and outcome of a fit, for the end of the report."""
    facts: dict[str, Any] = {}
    if hasattr(model, "loss_"):
        facts["Loss"] = loss_text(model)
    if getattr(model, "penalty_", None) is not None:
        facts["Penalty"] = f"{model.penalty_:.2g}, chosen with the loss on held-out answers"
    facts["Solver"] = getattr(model.solver, "name", model.solver)
    facts |= {"Starts": model.n_init, "Seed": model.random_state}
    if hasattr(model, "result_"):
        facts |= {"Outcome": outcome(model), "Epochs": model.result_.n_iter}
        facts["Gradients of single comparisons"] = f"{model.result_.n_gradients:,}"
        facts["Objective"] = f"{model.objective_:.6g}"
    if getattr(model, "reliability_", None) is not None:
        facts["Weights"] = "by how often each participant seems to guess"
    if found.fold_accuracy:
        facts["Cross-validation"] = f"{len(found.fold_accuracy)} folds"
    return facts | {"nearer": __version__, "Python": platform.python_version()}
