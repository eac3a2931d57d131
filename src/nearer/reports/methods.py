"""How a map was made, in the words of a methods section; every figure comes from the map and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearer import __version__
from nearer.check import check as check_answers
from nearer.data.messages import counted
from nearer.registry import LOSSES, Work
from nearer.reports.sentences import interval, percent

if TYPE_CHECKING:
    from nearer.estimator import OrdinalEmbedding


@dataclass(frozen=True)
class Figures:
    """What the paragraph says; None for what is not known. Scores are fractions of answers satisfied."""

    n_objects: int
    n_components: int
    loss: str
    n_init: int
    seed: Any
    n_answers: float | None = None
    n_questions: int | None = None
    n_comparisons: int | None = None  # that the answers give, where each gives several
    n_people: int | None = None
    training: float | None = None  # of the answers the map was made from
    held_out: float | None = None
    held_out_low: float | None = None
    held_out_high: float | None = None
    level: float = 0.95  # of the interval
    n_folds: int | None = None
    ceiling: float | None = None  # noise ceiling
    ceiling_low: float | None = None
    n_repeated: int | None = None  # repeated questions, from which it was found
    dims_tried: tuple[int, ...] = ()
    chosen: int | None = None  # dimension, by cross-validation
    n_resamples: int | None = None  # of a bootstrap
    resampled_by: str | None = None  # "comparison" or "participant"


def told_of(model: OrdinalEmbedding, summary: Mapping[str, Any]) -> Figures:
    """Gather the figures of a fitted map, and of what `nearer fit` wrote to summary.json, which may be empty."""
    known: dict[str, Any] = {}
    if hasattr(model, "comparisons_"):
        check = check_answers(model.comparisons_)
        known = {"n_answers": check.n_answers, "n_questions": check.n_questions, "ceiling": check.noise_ceiling}
        known |= {"n_repeated": check.n_repeated_questions}
        known["n_comparisons"] = None if check.answers_are_rows else check.n_comparisons
        known |= {"ceiling_low": check.noise_ceiling_low, "training": model.score(model.comparisons_)}
        known["n_people"] = None if check.participants is None else len(check.participants)
    held_out = summary.get("cross_validation")
    if held_out is not None:
        known |= {"held_out": held_out.accuracy, "held_out_low": held_out.low, "held_out_high": held_out.high}
        known |= {"level": held_out.level, "n_folds": held_out.n_folds}
    if summary.get("dimensions"):
        known |= {"dims_tried": tuple(summary["dimensions"]["n_components"]), "chosen": summary["dimensions"]["chosen"]}
    if summary.get("bootstrap"):
        known |= {"n_resamples": summary["bootstrap"]["n_resamples"], "resampled_by": summary["bootstrap"]["by"]}
    d = model.embedding_.shape[1]
    return Figures(model.n_objects_, d, model.loss_.name, int(model.n_init), model.random_state, **known)


def methods_paragraph(figures: Figures) -> str:
    """The paragraph, on one line; what is not known is not mentioned."""
    n_answers, n_questions, n_comparisons = figures.n_answers, figures.n_questions, figures.n_comparisons
    objects = counted(figures.n_objects, "object")
    said = [f"Comparisons of {objects} were collected."]
    if n_answers is not None and n_questions is not None:
        people = "" if figures.n_people is None else f" from {counted(figures.n_people, 'participant')}"
        several = "" if n_comparisons is None else f", which give {n_comparisons:,} comparisons"
        questions = counted(n_questions, "question", "distinct questions")
        said = [f"We collected {counted(n_answers, 'answer')}{people} to {questions} about {objects}{several}."]

    method = f"an ordinal embedding with the loss {figures.loss}"
    if (work := _work(figures)) is not None:
        families = [family for family, _ in _people(work)]
        authors = " & ".join(families) if len(families) < 3 else f"{families[0]} et al."
        method = f"{LOSSES[figures.loss].help} ({authors}, {work.year})"
    seed = "" if figures.seed is None else f", seed {figures.seed}"
    starts = counted(figures.n_init, "random start")
    dimensions = counted(figures.n_components, "dimension")
    said.append(
        f"The objects were placed in {dimensions} by {method}, computed with nearer {__version__} ({starts}{seed})."
    )
    if figures.chosen is not None:
        is_shown = figures.chosen == figures.n_components
        why = "" if is_shown else f"; a map of {figures.n_components} is shown for [give your reason]"
        said.append(
            f"Of {', '.join(map(str, figures.dims_tried))} dimensions, {'this' if is_shown else figures.chosen} is the "
            f"smallest number that no larger one beats in the prediction of held-out answers{why}."
        )

    parts, what = [], "answers" if n_comparisons is None else "comparisons"
    if figures.training is not None:
        parts.append(f"{percent(figures.training)} of the {what}")
    if figures.held_out is not None and figures.held_out_low is not None and figures.held_out_high is not None:
        bounds = interval(figures.held_out_low, figures.held_out_high)
        parts.append(
            f"{percent(figures.held_out)} ({100 * figures.level:g} % interval {bounds}) of held-out {what} in "
            f"{figures.n_folds}-fold cross-validation, in which all answers to a question were held out together"
        )
    if parts:
        said.append(f"The map satisfies {' and '.join(parts)}.")
    if figures.ceiling is not None:
        low = figures.ceiling if figures.ceiling_low is None else figures.ceiling_low
        best = percent(figures.ceiling) if percent(low) == percent(figures.ceiling) else interval(low, figures.ceiling)
        repeated = "repeated questions"
        if figures.n_repeated is not None:
            repeated = counted(figures.n_repeated, "repeated question")
        said.append(f"By the agreement of answers to {repeated}, the best possible accuracy is {best}.")
    if figures.n_resamples is not None:
        by = "participants" if figures.resampled_by == "participant" else "answers"
        said.append(f"Regions of uncertainty (90 %) are from {figures.n_resamples:,} bootstrap resamples of {by}.")
    return " ".join(said)


def references(figures: Figures) -> list[str]:
    """The works that the paragraph cites, one line each."""
    software = f"The nearer developers. nearer: maps from comparisons (version {__version__}) [Computer software]."
    work = _work(figures)
    if work is None:
        return [software]
    initials = ((family, " ".join(f"{name[0]}." for name in given.split())) for family, given in _people(work))
    *others, last = map(", ".join, initials)
    authors = ", ".join([*others, f"& {last}" if others else last])
    return [f"{authors} ({work.year}). {work.title}. {work.venue}.", software]


def bibliography(figures: Figures) -> str:
    """The same as BibTeX."""
    software = (
        "@software{nearer,\n  author = {{The nearer developers}},\n  title = {nearer: maps from comparisons},\n"
        f"  version = {{{__version__}}}\n}}"
    )
    work = _work(figures)
    if work is None:
        return software
    key = _people(work)[0][0].replace(" ", "").lower() + str(work.year)
    return (
        f"@inproceedings{{{key},\n  author = {{{work.authors}}},\n  title = {{{work.title}}},\n"
        f"  booktitle = {{{work.venue}}},\n  year = {{{work.year}}}\n}}\n\n{software}"
    )


def _work(figures: Figures) -> Work | None:
    """The publication of the loss; None for a loss that is not built in."""
    return LOSSES[figures.loss].work if figures.loss in LOSSES else None


def _people(work: Work) -> list[tuple[str, str]]:
    """Family and given names of the authors."""
    return [(family, given) for family, _, given in (name.partition(", ") for name in work.authors.split(" and "))]
