"""How a map was made, as a methods section says it; every figure comes from the map and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nearer import __version__
from nearer.data.messages import counted
from nearer.registry import LOSSES, Work
from nearer.reports.sentences import (
    best_possible,
    chance_text,
    cross_validation_text,
    flow_sentences,
    percent,
    unplaced_answers,
)
from nearer.selection.thresholds import WORTHWHILE

if TYPE_CHECKING:
    from nearer.estimator import OrdinalEmbedding
    from nearer.selection import Evaluation


def methods_paragraph(model: OrdinalEmbedding, found: Evaluation, summary: Mapping[str, Any]) -> str:
    """The paragraph, on one line; dimensions and resamples are those of `Evaluation.summary`, which may be empty."""
    sentences = [_data(model, found), _placement(model)]
    if (summary.get("dimensions") or {}).get("chosen") is not None:
        sentences.append(_dimensions(model.embedding_.shape[1], summary["dimensions"]))
    sentences += [_accuracy(found), _ceiling(found)]
    if resamples := summary.get("bootstrap"):
        by = "participants" if resamples["by"] == "participant" else "answers"
        sentences.append(
            f"Regions of uncertainty (90 %) are from {resamples['n_resamples']:,} bootstrap resamples of {by}."
        )
    return " ".join(filter(None, sentences))


def _data(model: OrdinalEmbedding, found: Evaluation) -> str:
    answers = getattr(model, "comparisons_", None)
    if found.check is None or answers is None:
        return f"Comparisons of {counted(model.n_objects_, 'object')} were collected."
    return " ".join(flow_sentences(answers.flow, answers.answers.kinds(), found.check.to_dict()))


def _placement(model: OrdinalEmbedding) -> str:
    method = f"an ordinal embedding with the loss {model.loss_.name}"
    if work := _work(model.loss_.name):
        families = [family for family, _ in _people(work)]
        authors = " & ".join(families) if len(families) < 3 else f"{families[0]} et al."
        method = f"{LOSSES[model.loss_.name].help} ({authors}, {work.year})"
    if lapse := getattr(model.loss_, "lapse", 0.0):
        method += f" with a lapse rate of {percent(lapse)}"
    if getattr(model, "penalty_", None) is not None:
        method += f" (loss, lapse rate and ridge penalty, {model.penalty_:.2g}, chosen on held-out answers)"
    seed = "" if model.random_state is None else f", seed {model.random_state}"
    starts = counted(int(model.n_init), "random start")
    dimensions = counted(model.embedding_.shape[1], "dimension")
    text = f"The objects were placed in {dimensions} by {method}, computed with nearer {__version__} ({starts}{seed})."
    if getattr(model, "reliability_", None) is None:
        return text
    return f"{text} Answers were weighted by the probability that they are not guesses, estimated for each participant."


def _dimensions(shown: int, table: Mapping[str, Any]) -> str:
    is_shown = table["chosen"] == shown
    why = "" if is_shown else f"; a map of {shown} is shown for [give your reason]"
    text = (
        f"Of {', '.join(map(str, table['n_components']))} dimensions, {'this' if is_shown else table['chosen']} is the "
        "smallest number that no larger one clearly beats on held-out answers (by 2.5 standard errors in likelihood "
        f"and half a point in accuracy), by maps of the softplus loss made for this comparison{why}."
    )
    accuracy = dict(zip(table["n_components"], table.get("accuracy", ())))
    best = max(accuracy, key=lambda d: accuracy[d], default=shown)
    if best > table["chosen"] and accuracy[best] - accuracy[table["chosen"]] >= WORTHWHILE:
        text += f" Maps of {counted(best, 'dimension')} satisfy more held-out answers ({percent(accuracy[best])})."
    return text if table["chosen"] < max(table["n_components"]) else f"{text} More dimensions were not tried."


_HELD_OUT = {
    "question": ", in which all answers to a question were held out together",
    "participant": ", in which all answers of a participant were held out together",
}


def _accuracy(found: Evaluation) -> str:
    parts = [] if found.training is None else [f"{percent(found.training)} of the answers"]
    if found.fold_accuracy:
        parts.append(cross_validation_text(found) + _HELD_OUT.get(found.folds_by, ""))
    if not parts:
        return ""
    several = found.check is not None and not found.check.answers_are_rows
    text = f"The map satisfies {' and '.join(parts)} (chance level {chance_text(found)})."
    text += " An answer is satisfied if all of its comparisons are." if several else ""
    if found.declined:
        text += f" Accuracy on new answers is not reported: {found.declined.removeprefix('comparisons: ')}."
    return f"{text} Of the held-out answers, {unplaced_answers(found)}." if found.n_unplaced else text


def _ceiling(found: Evaluation) -> str:
    if found.ceiling is None or found.ceiling_is_rough:
        return ""
    questions = counted(found.ceiling_questions or 0, "repeated question")
    return f"By the agreement of answers to {questions}, {best_possible(found)}."


def references(loss: str) -> list[str]:
    """The works that the paragraph cites, one line each."""
    lines = [f"The nearer developers. nearer: maps from comparisons (version {__version__}) [Computer software]."]
    if work := _work(loss):
        *others, last = (f"{family}, {' '.join(f'{name[0]}.' for name in given)}" for family, given in _people(work))
        authors = ", ".join([*others, f"& {last}" if others else last])
        lines.insert(0, f"{authors} ({work.year}). {work.title}. {work.venue}.")
    return lines


def bibliography(loss: str) -> str:
    """The same as BibTeX."""
    software = {"title": "nearer: maps from comparisons", "version": __version__}
    entries = [_bibtex("software{nearer", {"author": "{The nearer developers}", **software})]
    if work := _work(loss):
        key = f"{_people(work)[0][0].replace(' ', '').lower()}{work.year}"
        fields = {"author": work.authors, "title": work.title, "booktitle": work.venue, "year": work.year}
        entries.insert(0, _bibtex(f"inproceedings{{{key}", fields))
    return "\n\n".join(entries)


def _bibtex(head: str, fields: Mapping[str, Any]) -> str:
    lines = [f"@{head}", *(f"  {name} = {{{value}}}" for name, value in fields.items())]
    return ",\n".join(lines) + "\n}"


def _work(loss: str) -> Work | None:
    """The paper that introduced a loss, if the loss is built in."""
    return LOSSES[loss].work if loss in LOSSES else None


def _people(work: Work) -> list[tuple[str, list[str]]]:
    """Family and given names of the authors."""
    names = (name.split(", ") for name in work.authors.split(" and "))
    return [(family, given.split()) for family, given in names]
