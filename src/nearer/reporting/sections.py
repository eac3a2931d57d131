"""The parts of the page that are text: they can be read, searched and printed without a script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.metrics import spread_shares
from nearer.people.quality import shown_cells
from nearer.reporting import words
from nearer.reporting.display import clean_text, decimals_of, label_texts

if TYPE_CHECKING:
    from nearer.reporting.content import Report
    from nearer.reporting.studies import Scores

# A table of more rows slows the page down; the download has them all.
MAX_TABLE = 500
# A square table of more objects is too much for a spreadsheet.
MAX_DISTANCES = 1500
# People listed, the most doubtful first.
MAX_PEOPLE = 100
_LINKS = {
    "map": "Map",
    "fit": "Fit",
    "dimensions": "Dimensions",
    "learning": "How many answers",
    "violations": "Violations",
    "check": "Data",
    "people": "People",
    "convergence": "Computation",
    "repeat": "Repeat it",
}


def make_sections(report: Report, notes: list[str]) -> dict[str, str]:
    """Return the HTML of each placeholder of the template but those of scripts and style."""
    n_objects, n_components = report.embedding.shape
    parts = {
        "title": _text(report.title),
        "subtitle": f'<p class="subtitle">{_text(report.subtitle)}</p>' if report.subtitle else "",
        "headline": _sentence(words.headline(report.scores)),
        "scores": _scores(report.scores, _tried(report)),
        "map_text": _sentence(words.map_sentence(n_objects, n_components, spread_shares(report.embedding).tolist())),
        "notes": "".join(f"<p>{_text(note)}</p>" for note in notes),
        "coordinates": _coordinates(report),
        "dimensions": _dimensions(report),
        "learning": _learning(report),
        "convergence": _convergence(report),
        "violations": _violations(report),
        "check": _check(report.check),
        "people": _people(report.people),
        "repeat": _repeat(report),
    }
    links = (f'<a href="#{name}">{title}</a>' for name, title in _LINKS.items() if parts.get(name, "always there"))
    return parts | {"links": "".join(links)}


def _text(value: object) -> str:
    return html.escape(clean_text(value))


def _sentence(text: str) -> str:
    """Words of ours: a percent sign stays with its number."""
    return _text(text).replace(" %", "\u00a0%")


def _name(value: object) -> str:
    """A label: kept apart from the direction of the text around it."""
    return f"<bdi>{_text(value)}</bdi>"


def _section(name: str, title: str, body: str) -> str:
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{body}</section>'


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """An HTML table; `head` and the cells are HTML already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0"><table class="{kind}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _tried(report: Report) -> words.Tried | None:
    """How the map's dimension compares with the one chosen; None if it was not among those tried."""
    accuracy = {d: value for d, value, _ in _by_dimension(report)}
    shown, chosen = report.embedding.shape[1], report.chosen_dimension
    if chosen is None or not {shown, chosen} <= set(accuracy):
        return None
    return words.Tried(shown, chosen, accuracy[shown], accuracy[chosen])


def _by_dimension(report: Report) -> list[tuple[int, float, float | None]]:
    """The dimensions tried whose accuracy is known, that accuracy, and its standard error."""
    table = report.dimensions or {"n_components": (), "accuracy": ()}
    errors = table.get("standard_error", [None] * len(table["accuracy"]))
    rows = zip(table["n_components"], table["accuracy"], errors)
    return [(int(d), float(a), e) for d, a, e in rows if a is not None and np.isfinite(a)]


def _scores(scores: Scores, tried: words.Tried | None = None) -> str:
    rows = []
    if scores.held_out is not None:
        told = "answers it has not seen" + (", to random questions" if scores.random_only else "")
        if scores.held_out_low is not None and scores.held_out_high is not None:
            told += f"; {100 * scores.level:g} % interval {words.interval(scores.held_out_low, scores.held_out_high)}"
        track = _track(scores.held_out, scores.held_out_low, scores.held_out_high, "held")
        rows.append(("On new answers", words.percent(scores.held_out), told, track))
    if scores.training is not None:
        track = _track(scores.training, None, None, "train")
        rows.append(("On its own answers", words.percent(scores.training), "answers the map was made from", track))
    if scores.ceiling is not None:
        low = scores.ceiling_low
        value = words.percent(scores.ceiling) if low in (None, scores.ceiling) else words.interval(low, scores.ceiling)
        track = _track(None, scores.ceiling_least, scores.ceiling, "limit")
        rows.append(("Best possible", value, words.ceiling_source(scores), track))
    body = "".join(
        f'<div class="score"><dt>{name}</dt><dd class="value">{_sentence(value)}</dd>'
        f'<dd class="track">{track}</dd><dd class="told">{_sentence(told)}</dd></div>'
        for name, value, told, track in rows
    )
    board = f'<dl class="scores">{body}</dl>' if rows else ""
    sentences = " ".join(words.fit_sentences(scores, tried)) if rows else "No score was computed for this map."
    scale = '<p class="scale" aria-hidden="true"><span>50 % (guessing)</span><span>100 %</span></p>' if rows else ""
    return f"{board}{scale}<p>{_sentence(sentences)}</p>"


def _track(value: float | None, low: float | None, high: float | None, kind: str) -> str:
    """A line from 50 to 100 % with a dot for the value and a bar for its interval."""

    def position(fraction: float) -> float:
        return round(min(max(200 * fraction - 100, 0.0), 100.0), 2)

    bar = dot = ""
    if low is not None and high is not None:
        width = max(position(high) - position(low), 0.6)
        left = min(position(low), 100 - width)
        bar = f'<rect class="bar" x="{left:g}%" y="5" width="{width:g}%" height="8" rx="4"/>'
    if value is not None:
        dot = f'<circle class="dot" cx="{position(value)}%" cy="9" r="6"/>'
    return (
        f'<svg class="{kind}" width="100%" height="18" aria-hidden="true"><line class="rail" x1="0" y1="9" x2="100%" '
        f'y2="9"/>{bar}{dot}</svg>'
    )


def _coordinates(report: Report) -> str:
    n_objects, n_components = report.embedding.shape
    names = {"download": "coordinates", "download-neighbours": "nearest neighbours"}
    if n_objects <= MAX_DISTANCES:
        names["download-distances"] = "distances"
    buttons = " ".join(f'<button type="button" id="{name}">{what}</button>' for name, what in names.items())
    button = f'<p class="downloads">Download (CSV): {buttons}</p>'
    if n_objects > MAX_TABLE:
        only = f"With {n_objects:,} objects the table of coordinates is in the download only."
        return f'{button}<p class="small">{only}</p>'
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


def _dimensions(report: Report) -> str:
    if report.dimensions is None:
        return ""
    scores = _by_dimension(report)
    is_partial = report.chosen_dimension is None and "n_folds" in report.dimensions
    accuracy = {d: a for d, a, _ in scores}
    told = words.dimensions_sentence(report.chosen_dimension, report.embedding.shape[1], accuracy, is_partial)
    rows = (
        [str(d), _sentence(words.percent(a)), "–" if e is None or not np.isfinite(e) else f"± {100 * e:.1f}"]
        for d, a, e in scores
    )
    label = "Held-out accuracy by dimension: " + ", ".join(f"{d}: {words.percent(a)}" for d, a, _ in scores)
    body = f'<p>{_sentence(told)}</p><div class="two">{_chart("chart-dimensions", label)}'
    body += _table(["Dimensions", "Held-out", "Standard error"], rows, "numbers") + "</div>"
    return _section("dimensions", "How many dimensions?", body)


def _learning(report: Report) -> str:
    if report.learning_curve is None:
        return ""
    told = "Accuracy on answers not seen, by the number of answers used. The dashed part is extrapolated."
    chart = _chart("chart-learning", "Held-out accuracy by number of comparisons")
    return _section("learning", "Would more answers help?", f"<p>{told}</p>{chart}")


def _convergence(report: Report) -> str:
    if report.history is None:
        return ""
    objective = [value for value in report.history["objective"] if value is not None]
    label = f"Objective from {objective[0]:.4g} to {objective[-1]:.4g}" if objective else "Objective"
    told = words.convergence_sentence(in_stages=report.facts.get("Solver") == "auto")
    body = f"<p>{_sentence(told)}</p>{_chart('chart-objective', label)}"
    if "step_size" in report.history:
        steps = _chart("chart-steps", "Step size by epoch")
        body += f"<details><summary>For the curious: the step sizes</summary>{steps}</details>"
    return _section("convergence", "The computation", body)


def _violations(report: Report) -> str:
    violations, embedding = report.violations, report.embedding
    if violations is None:
        return ""
    told = words.violations_sentence(
        violations.n_violated, violations.n_answers, violations.n_unplaced, violations.share,
        (report.check or {}).get("answers_are_rows", True),
    )  # fmt: skip
    if not violations.worst:
        return _section("violations", "Answers the map contradicts", f"<p>{_text(told)}</p>")
    told += " The worst, by the difference of the two distances:"
    placed = embedding[np.isfinite(embedding).all(axis=1)]
    width = float(np.ptp(placed, axis=0).max())
    rows = (
        [
            words.answer_sentence([_name(label) for label in v.objects]),
            _sentence(words.distances_sentence(v.near, v.far, width)),
            f"{v.weight:g}",
        ]
        for v in violations.worst
    )
    body = f"<p>{_text(told)}</p>" + _table(["People said", "On the map", "Answers"], rows, "violations")
    return _section("violations", "Answers the map contradicts", body)


def _check(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return ""
    problems = list(check.get("problems") or [])
    if problems:
        found = "".join(f"<li>{_text(problem)}</li>" for problem in problems)
        verdict = f'<ul class="problems">{found}</ul>'
    else:
        verdict = '<p class="good">No problem was found in the answers.</p>'
    return _section("check", "The answers", verdict + _facts(words.check_facts(check)))


def _people(people: Mapping[str, Any] | None) -> str:
    if people is None:
        return ""
    cells = shown_cells(people, MAX_PEOPLE)
    told = " ".join(words.people_sentences(people))
    rows = zip(*(map(_name if name == "participant" else _sentence, column) for name, column in cells.items()))
    n_people = len(people["participant"])
    which = f"the {MAX_PEOPLE} most doubtful of {n_people:,}" if n_people > MAX_PEOPLE else "the most doubtful first"
    head = [words.PEOPLE_TITLES.get(name, name) for name in cells]
    table = f"<details><summary>Table of people, {which}</summary>{_table(head, rows, 'numbers')}</details>"
    return _section("people", "The people", f"<p>{_sentence(told)}</p>{table}")


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<div><dt>{_text(name)}</dt><dd>{_name(value)}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{rows}</dl>'


def _repeat(report: Report) -> str:
    if not report.command and not report.facts:
        return ""
    body = ""
    if report.command:
        command = "\n".join(_text(line) for line in report.command.splitlines())
        body += (
            '<p>This command gives the same map again:</p><div class="command"><pre tabindex="0"><code id="command">'
            f'{command}</code></pre><button type="button" id="copy">Copy</button></div>'
        )
    return _section("repeat", "Repeat it", body + _facts(report.facts))
