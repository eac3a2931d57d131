"""The page: a report as one HTML text, with its style, scripts, data and pictures."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.messages import answer_sentence
from nearer.display import clean_text, decimals_of, label_texts
from nearer.drawing import make_page, map_data, rounded
from nearer.people.participants import shown_cells
from nearer.reports import sentences
from nearer.reports.thumbnails import load_thumbnails

if TYPE_CHECKING:
    from nearer.alignment import Alignment, ModelScore
    from nearer.metrics import WorstComparisons
    from nearer.reports.content import Report

MAX_TABLE = 500  # rows; the download has them all
MAX_DISTANCES = 1500  # objects in a square table
MAX_PEOPLE = 100  # listed, the most doubtful first
_CHARTED = (
    "epoch", "n_gradients", "objective", "step_size", "n_components", "n_comparisons", "accuracy", "standard_error",
    "low", "high", "extrapolated",
)  # fmt: skip


def render(report: Report) -> str:
    values, notes = script_data(report)
    parts = {
        "title": _text(report.title),
        "subtitle": f'<p class="subtitle">{_text(report.subtitle)}</p>' if report.subtitle else "",
        "headline": _sentence(sentences.headline(report.evaluation)),
        "scores": _scores(report),
        "map_text": _sentence(sentences.map_sentence(*report.embedding.shape)),
        "notes": "".join(f"<p>{_text(note)}</p>" for note in notes),
        "coordinates": _coordinates(report),
        **_sections(report),
    }
    scripts = [_asset("charts.js"), _asset("main.js")]
    return make_page(_asset("template.html"), values, parts, scripts, _asset("report.css"))


def script_data(report: Report) -> tuple[dict[str, Any], list[str]]:
    """The data for the scripts of the page, ready for JSON, and sentences on what is not shown."""
    n_objects, n_components = report.embedding.shape
    notes: list[str] = []
    # As given: file names may hold what a printable label cannot.
    given = range(n_objects) if report.labels is None else list(report.labels)
    too_few = {entry["object"] for entry in (report.check or {}).get("too_few") or ()}
    groups = report.clusters if report.groups is None else report.groups
    values = map_data(report.embedding, report.labels, groups, report.covariances)
    values["few"] = [i for i, name in enumerate(given) if name in too_few]
    if report.n_answers is not None:
        values["answers"] = [round(float(number), 1) for number in report.n_answers]
    if values["few"]:
        notes.append(sentences.few_answers_sentence(len(values["few"]), n_components))
    unplaced = int((~np.isfinite(report.embedding).all(axis=1)).sum())
    if unplaced:
        notes.append(sentences.unplaced_sentence(unplaced, n_objects))
    if report.groups is None and report.clusters is not None:
        notes.append(sentences.CLUSTERS)
    if report.clusters is not None and report.covariances is not None:
        notes.append(sentences.CLUSTERED_REGIONS)
    if report.images is not None:
        values["thumbs"], missing = load_thumbnails(report.images, given)
        notes += missing
    for name in ("history", "dimensions", "learning_curve"):
        if (table := getattr(report, name)) is not None:
            values[name] = {key: rounded(table[key]) for key in _CHARTED if key in table}
    values["chosen"] = report.chosen_dimension
    if report.evaluation.ceiling is not None and not report.evaluation.ceiling_is_rough:
        values["ceiling"] = [report.evaluation.ceiling_least, report.evaluation.ceiling]
    return values, notes


def _asset(name: str) -> str:
    return files("nearer.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _sections(report: Report) -> dict[str, str]:
    """The optional sections, "" for one that is missing, and links to all that are shown."""
    parts = {"links": '<a href="#map">Map</a><a href="#fit">Fit</a>'}
    for name, (link, title, needed, make_body) in _SECTIONS.items():
        found = getattr(report, needed)
        body = "" if found is None else make_body(report, found)
        parts[name] = body and (
            f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{body}</section>'
        )
        parts["links"] += body and f'<a href="#{name}">{link}</a>'
    return parts


def _text(value: object) -> str:
    return html.escape(clean_text(value))


def _sentence(text: str) -> str:
    """Our own text as HTML, without line breaks between numbers and percent signs."""
    return _text(text).replace(" %", "\u00a0%")


def _name(value: object) -> str:
    """A label, isolated from the text direction around it."""
    return f"<bdi>{_text(value)}</bdi>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """An HTML table; `head` and the cells are HTML already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0"><table class="{kind}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _by_dimension(report: Report) -> list[tuple[int, float, float | None]]:
    """The dimensions tried whose accuracy is known, that accuracy, and its standard error."""
    table = report.dimensions or {"n_components": (), "accuracy": ()}
    errors = table.get("standard_error", [None] * len(table["accuracy"]))
    rows = zip(table["n_components"], table["accuracy"], errors)
    return [(int(d), float(a), e) for d, a, e in rows if a is not None and np.isfinite(a)]


def _scores(report: Report) -> str:
    found, board = report.evaluation, ""
    if found.held_out is not None:
        text, caption = sentences.percent(found.held_out), sentences.held_out_source(found)
        bounds = (found.held_out_low, found.held_out_high)
        board += _score("On new answers", text, caption, "held", found.chance, found.held_out, *bounds)
    if found.training is not None:
        text, caption = sentences.percent(found.training), sentences.OWN_ANSWERS
        board += _score("On its own answers", text, caption, "train", found.chance, found.training)
    if found.ceiling is not None and not found.ceiling_is_rough:
        text, caption = sentences.ceiling_text(found), sentences.ceiling_source(found)
        board += _score("Best possible", text, caption, "limit", found.chance, None, found.ceiling_least, found.ceiling)
    if not board:
        return f"<p>{sentences.NO_SCORES}</p>"
    accuracy = {d: value for d, value, _ in _by_dimension(report)}
    preferred = sentences.preferred_dimension(report.embedding.shape[1], report.chosen_dimension, accuracy)
    text = " ".join(sentences.fit_sentences(found, preferred))
    return (
        f'<dl class="scores">{board}</dl><p class="scale" aria-hidden="true">'
        f"<span>{_sentence(sentences.chance_text(found))} (guessing)</span>"
        f"<span>100 %</span></p><p>{_sentence(text)}</p>"
    )


def _score(
    name: str, text: str, caption: str, kind: str, chance: float, value: float | None, low: float | None = None,
    high: float | None = None,
) -> str:  # fmt: skip
    """A score as text, and a line from chance to 100 % with a dot for the value and a bar for its interval."""

    def position(fraction: float) -> float:
        return round(100 * min(max((fraction - chance) / (1 - chance), 0.0), 1.0), 2)

    bar = dot = ""
    if low is not None and high is not None:
        width = max(position(high) - position(low), 0.6)
        left = min(position(low), 100 - width)
        bar = f'<rect class="bar" x="{left:g}%" y="5" width="{width:g}%" height="8" rx="4"/>'
    if value is not None:
        dot = f'<circle class="dot" cx="{position(value)}%" cy="9" r="6"/>'
    return (
        f'<div class="score"><dt>{name}</dt><dd class="value">{_sentence(text)}</dd><dd class="track">'
        f'<svg class="{kind}" width="100%" height="18" aria-hidden="true"><line class="rail" x1="0" y1="9" x2="100%" '
        f'y2="9"/>{bar}{dot}</svg></dd><dd class="caption">{_sentence(caption)}</dd></div>'
    )


def _coordinates(report: Report) -> str:
    n_objects, n_components = report.embedding.shape
    names = {"download": "coordinates", "download-neighbours": "nearest neighbours"}
    if n_objects <= MAX_DISTANCES:
        names["download-distances"] = "distances"
    buttons = " ".join(f'<button type="button" id="{name}">{what}</button>' for name, what in names.items())
    button = f'<p class="downloads">Download (CSV): {buttons}</p>'
    if n_objects > MAX_TABLE:
        return button
    labels = label_texts(report.labels, n_objects)
    head = ["Object", *(f"x{k + 1}" for k in range(n_components))]
    decimals = max(0, decimals_of(report.embedding, 5))
    rows = (
        [_name(label), *(f"{value:.{decimals}f}" if np.isfinite(value) else "–" for value in row)]
        for label, row in zip(labels, report.embedding)
    )
    return button + f"<details><summary>Table of coordinates</summary>{_table(head, rows, 'numbers')}</details>"


def _chart(name: str, label: str) -> str:
    return f'<figure class="chart"><div id="{name}" role="img" aria-label="{_text(label)}"></div></figure>'


def _dimensions(report: Report, table: Mapping[str, Any]) -> str:
    scores = _by_dimension(report)
    accuracy = {d: a for d, a, _ in scores}
    text = sentences.dimensions_sentence(report.chosen_dimension, report.embedding.shape[1], accuracy)
    rows = (
        [str(d), _sentence(sentences.percent(a)), "–" if e is None or not np.isfinite(e) else f"± {100 * e:.1f}"]
        for d, a, e in scores
    )
    label = "Held-out accuracy by dimension: " + ", ".join(f"{d}: {sentences.percent(a)}" for d, a, _ in scores)
    body = f'<p>{_sentence(text)}</p><div class="two">{_chart("chart-dimensions", label)}'
    return body + _table(["Dimensions", "Held-out", "Standard error"], rows, "numbers") + "</div>"


def _learning(_report: Report, _curve: Mapping[str, Any]) -> str:
    return f"<p>{sentences.LEARNING}</p>" + _chart("chart-learning", "Held-out accuracy by number of comparisons")


def _convergence(report: Report, history: Mapping[str, Any]) -> str:
    label = f"Objective by epoch, {history['objective'][-1]:.4g} at the end"
    body = f"<p>{sentences.CONVERGENCE}</p>{_chart('chart-objective', label)}"
    if "step_size" in history:
        steps = _chart("chart-steps", "Step size by epoch")
        body += f"<details><summary>{sentences.STEP_SIZES}</summary>{steps}</details>"
    return body


def _alignment(_report: Report, found: Alignment) -> str:
    facts = " ".join(f"{line[:1].upper()}{line[1:]}." for line in sentences.alignment_facts(found))
    scores = sorted(found.scores, key=lambda score: -score.accuracy)
    board = "".join(_bar(score, found) for score in scores)
    body = (
        f'<p>{sentences.ALIGNMENT}</p><p>{_sentence(facts)}</p><dl class="scores bars">{board}'
        '</dl><p class="scale" aria-hidden="true"><span>0 %</span><span>100 %</span></p>'
    )
    body += "".join(f"<p>{_sentence(line[:1].upper() + line[1:])}.</p>" for line in sentences.alignment_gains(found))
    rows = [
        [f"{_name(one.name)} – {_name(one.other)}", sentences.signed_points(one.difference)]
        + [sentences.signed_points(*by) if by else "–" for by in (one.by_question, one.by_participant)]
        for one in found.differences
    ]
    head = ["Difference", "Points", "95 % interval", "For other participants"]
    return body + (_table(head, rows, "numbers") if rows else "")


def _bar(score: ModelScore, found: Alignment) -> str:
    """A model's accuracy as text and as a bar from 0 to 100 %."""
    low, high = (f"{100 * bound:.2f}%" for bound in score.by_question)
    drawn = f'<rect class="bar" width="{100 * score.accuracy:.2f}%" y="4" height="14"/>'
    if found.ceiling is not None and found.ceiling_low is not None:
        at, width = 100 * found.ceiling_low, 100 * (found.ceiling - found.ceiling_low)
        drawn += f'<rect class="ceiling" x="{at:.2f}%" width="{max(width, 0.4):.2f}%" height="22"/>'
    guess = f"{100 * found.chance:.2f}%"
    drawn += f'<line class="guess" x1="{guess}" x2="{guess}" y2="22"/><line x1="{low}" x2="{high}" y1="11" y2="11"/>'
    caption = sentences.interval(*score.by_question)
    if score.by_participant is not None:
        caption += f"; for other participants {sentences.interval(*score.by_participant)}"
    return (
        f'<div class="score"><dt>{_name(score.name)}</dt><dd class="value">'
        f'{_sentence(sentences.percent(score.accuracy))}</dd><dd class="track"><svg width="100%" height="22" '
        f'aria-hidden="true">{drawn}</svg></dd><dd class="caption">{_sentence(caption)}</dd></div>'
    )


def _violations(report: Report, violations: WorstComparisons) -> str:
    are_answers = (report.check or {}).get("answers_are_rows", True)
    text = sentences.violations_sentence(violations, "answer" if are_answers else "comparison")
    if not len(violations):
        return f"<p>{_text(text)}</p>"
    placed = np.isfinite(report.embedding).all(axis=1)
    width = float(np.ptp(report.embedding[placed], axis=0).max())
    rows = (
        [
            answer_sentence([_name(label) for label in objects]),
            _sentence(sentences.distances_sentence(near, far, width)),
            f"{weight:g}",
        ]
        for objects, near, far, weight in zip(violations.objects, violations.near, violations.far, violations.weights)
    )
    table = _table(["Answer" if are_answers else "Comparison", "On the map", "Times given"], rows, "violations")
    return f"<p>{_text(text)} {sentences.WORST}</p>{table}"


def _check(report: Report, check: Mapping[str, Any]) -> str:
    problems = "".join(f"<li>{_text(problem)}</li>" for problem in check.get("problems") or ())
    flow = "".join(f"<p>{_sentence(text)}</p>" for text in report.flow)
    verdict = f'<ul class="problems">{problems}</ul>'
    if not problems:
        stand_out = report.people is not None and sentences.people_standing_out(report.people)
        verdict = f'<p class="good">{sentences.NO_PROBLEM_BUT_PEOPLE if stand_out else sentences.NO_PROBLEM}</p>'
    facts = (check.get("facts") or {}).items()
    return flow + verdict + _facts({name[:1].upper() + name[1:]: text for name, text in facts})


def _people(report: Report, people: Mapping[str, Any]) -> str:
    cells = shown_cells(people, MAX_PEOPLE)
    text = " ".join(sentences.people_sentences(people))
    rows = zip(*(map(_name if name == "participant" else _sentence, column) for name, column in cells.items()))
    title = sentences.people_table_title(len(people["participant"]), MAX_PEOPLE)
    head = [sentences.PEOPLE_TITLES.get(name, name) for name in cells]
    table = f"<details><summary>{title}</summary>{_table(head, rows, 'numbers')}</details>"
    return f"<p>{_sentence(text)}</p>{table}"


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<div><dt>{_text(name)}</dt><dd>{_name(value)}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{rows}</dl>'


def _repeat(report: Report, facts: Mapping[str, Any]) -> str:
    command = "\n".join(_text(line) for line in report.command.splitlines())
    if report.command:
        command = (
            f'<p>{sentences.REPEAT}</p><div class="command"><pre tabindex="0"><code id="command">'
            f'{command}</code></pre><button type="button" id="copy">Copy</button></div>'
        )
    return command + _facts(facts)


# Sections in their order: text of the link, heading, field of the report that is needed, and the body.
_SECTIONS: dict[str, tuple[str, str, str, Callable[[Report, Any], str]]] = {
    "dimensions": ("Dimensions", "How many dimensions?", "dimensions", _dimensions),
    "learning": ("How many answers", "Would more answers help?", "learning_curve", _learning),
    "alignment": ("Models", "Which models predict the answers?", "alignment", _alignment),
    "violations": ("Violations", "Answers the map contradicts", "violations", _violations),
    "check": ("Data", "The answers", "check", _check),
    "people": ("People", "The people", "people", _people),
    "convergence": ("Computation", "The computation", "history", _convergence),
    "repeat": ("Repeat it", "Repeat it", "facts", _repeat),
}
