"""How a map was made, as a methods section says it; every figure comes from the map and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nearer import __version__
from nearer.data.messages import counted
from nearer.registry import LOSSES, Work
from nearer.reports.sentences import interval, percent

if TYPE_CHECKING:
    from nearer.check import CheckResult
    from nearer.estimator import OrdinalEmbedding
    from nearer.selection import Evaluation


def methods_paragraph(model: OrdinalEmbedding, found: Evaluation, summary: Mapping[str, Any]) -> str:
    """The paragraph, on one line; dimensions and resamples are those of `Evaluation.summary`, which may be empty."""
    sentences = [_data(model.n_objects_, found.check), _placement(model)]
    if (summary.get("dimensions") or {}).get("chosen") is not None:
        sentences.append(_dimensions(model.embedding_.shape[1], summary["dimensions"]))
    are_rows = found.check is None or found.check.answers_are_rows
    sentences += [_accuracy(found, "answers" if are_rows else "comparisons"), _ceiling(found)]
    if summary.get("bootstrap"):
        resamples = summary["bootstrap"]
        by = "participants" if resamples["by"] == "participant" else "answers"
        sentences.append(
            f"Regions of uncertainty (90 %) are from {resamples['n_resamples']:,} bootstrap resamples of {by}."
        )
    return " ".join(filter(None, sentences))


def _data(n_objects: int, check: CheckResult | None) -> str:
    objects = counted(n_objects, "object")
    if check is None:
        return f"Comparisons of {objects} were collected."
    people = "" if check.participants is None else f" from {counted(len(check.participants), 'participant')}"
    several = "" if check.answers_are_rows else f", which give {check.n_comparisons:,} comparisons"
    questions = counted(check.n_questions, "question", "distinct questions")
    return f"We collected {counted(check.n_answers, 'answer')}{people} to {questions} about {objects}{several}."


def _placement(model: OrdinalEmbedding) -> str:
    loss = model.loss_.name
    method = f"an ordinal embedding with the loss {loss}"
    if (work := _work(loss)) is not None:
        families = [family for family, _ in _people(work)]
        authors = " & ".join(families) if len(families) < 3 else f"{families[0]} et al."
        method = f"{LOSSES[loss].help} ({authors}, {work.year})"
    seed = "" if model.random_state is None else f", seed {model.random_state}"
    starts = counted(int(model.n_init), "random start")
    dimensions = counted(model.embedding_.shape[1], "dimension")
    return f"The objects were placed in {dimensions} by {method}, computed with nearer {__version__} ({starts}{seed})."


def _dimensions(shown: int, table: Mapping[str, Any]) -> str:
    is_shown = table["chosen"] == shown
    why = "" if is_shown else f"; a map of {shown} is shown for [give your reason]"
    return (
        f"Of {', '.join(map(str, table['n_components']))} dimensions, {'this' if is_shown else table['chosen']} is the "
        f"smallest number that no larger one beats in the prediction of held-out answers{why}."
    )


def _accuracy(found: Evaluation, what: str) -> str:
    parts = []
    if found.training is not None:
        parts.append(f"{percent(found.training)} of the {what}")
    if found.held_out is not None and found.held_out_low is not None and found.held_out_high is not None:
        bounds = interval(found.held_out_low, found.held_out_high)
        parts.append(
            f"{percent(found.held_out)} ({100 * found.level:g} % interval {bounds}) of held-out {what} in "
            f"{len(found.fold_accuracy)}-fold cross-validation, in which all answers to a question were held out "
            "together"
        )
    return f"The map satisfies {' and '.join(parts)}." if parts else ""


def _ceiling(found: Evaluation) -> str:
    if found.ceiling is None or found.ceiling_least is None:
        return ""
    best = percent(found.ceiling)
    if percent(found.ceiling_least) != best:
        best = interval(found.ceiling_least, found.ceiling)
    repeated = "repeated questions"
    if found.ceiling_questions is not None:
        repeated = counted(found.ceiling_questions, "repeated question")
    return f"By the agreement of answers to {repeated}, the best possible accuracy is {best}."


def references(loss: str) -> list[str]:
    """The works that the paragraph cites, one line each."""
    software = f"The nearer developers. nearer: maps from comparisons (version {__version__}) [Computer software]."
    work = _work(loss)
    if work is None:
        return [software]
    initials = ((family, " ".join(f"{name[0]}." for name in given.split())) for family, given in _people(work))
    *others, last = map(", ".join, initials)
    authors = ", ".join([*others, f"& {last}" if others else last])
    return [f"{authors} ({work.year}). {work.title}. {work.venue}.", software]


def bibliography(loss: str) -> str:
    """The same as BibTeX."""
    software = (
        "@software{nearer,\n  author = {{The nearer developers}},\n  title = {nearer: maps from comparisons},\n"
        f"  version = {{{__version__}}}\n}}"
    )
    work = _work(loss)
    if work is None:
        return software
    key = _people(work)[0][0].replace(" ", "").lower() + str(work.year)
    return (
        f"@inproceedings{{{key},\n  author = {{{work.authors}}},\n  title = {{{work.title}}},\n"
        f"  booktitle = {{{work.venue}}},\n  year = {{{work.year}}}\n}}\n\n{software}"
    )


def _work(loss: str) -> Work | None:
    """The paper that introduced a loss; None if the loss is not built in."""
    return LOSSES[loss].work if loss in LOSSES else None


def _people(work: Work) -> list[tuple[str, str]]:
    """Family and given names of the authors."""
    return [(family, given) for family, _, given in (name.partition(", ") for name in work.authors.split(" and "))]
