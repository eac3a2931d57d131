"""The parts of the page that are text: they can be read, searched and printed without a script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from nearer.report.common import clean_text, label_texts
from nearer.report.data import ReportData, Scores
from nearer.report.violations import Violation, Violations
from nearer.report.words import PERCENT, count, fit_sentences, headline, percent

__all__ = ["make_sections"]

# A table of more rows slows the page down; the download has them all.
MAX_TABLE = 500


def make_sections(data: ReportData, notes: list[str]) -> dict[str, str]:
    """Return the HTML of each placeholder of the template."""
    n_objects, n_components = data.embedding.shape
    parts = {
        "title": _text(data.title),
        "subtitle": f'<p class="subtitle">{_text(data.subtitle)}</p>' if data.subtitle else "",
        "headline": _text(headline(data.scores)),
        "scores": _scores(data.scores),
        "map_text": _map_text(n_objects, n_components),
        "notes": "".join(f"<p>{_text(note)}</p>" for note in notes),
        "coordinates": _coordinates(data),
        "dimensions": _dimensions(data),
        "learning": _learning(data),
        "convergence": _convergence(data),
        "violations": _violations(data.violations, data.embedding),
        "check": _check(data.check),
        "repeat": _repeat(data),
    }
    links = [("map", "Map", True), ("fit", "Fit", True)] + [
        (name, title, bool(parts[name]))
        for name, title in (
            ("dimensions", "Dimensions"),
            ("learning", "How many answers"),
            ("violations", "Violations"),
            ("check", "Data"),
            ("convergence", "Computation"),
            ("repeat", "Repeat it"),
        )
    ]
    parts["links"] = "".join(f'<a href="#{name}">{title}</a>' for name, title, there in links if there)
    return parts


def _text(value: object) -> str:
    return html.escape(clean_text(value))


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


def _map_text(n_objects: int, n_components: int) -> str:
    how = {
        1: "Objects close to each other on the line were judged similar.",
        2: "Objects close to each other were judged similar; directions and absolute size mean nothing.",
        3: "Drag to turn the map. Objects close to each other in space were judged similar.",
    }
    text = how.get(
        n_components,
        f"The map has {n_components} dimensions; two are shown at a time. Choose them here or in the pair plot below.",
    )
    return _text(f"{count(n_objects, 'object', 'objects')}. {text}")


def _scores(scores: Scores) -> str:
    rows = []
    if scores.held_out is not None:
        told = "answers it has not seen"
        if scores.held_out_low is not None and scores.held_out_high is not None:
            interval = f"{100 * scores.held_out_low:.1f} to {100 * scores.held_out_high:.1f}{PERCENT}"
            told += f"; {100 * scores.level:g}{PERCENT} interval {interval}"
        track = _track(scores.held_out, scores.held_out_low, scores.held_out_high, "held")
        rows.append(("On new answers", percent(scores.held_out), told, track))
    if scores.training is not None:
        track = _track(scores.training, None, None, "train")
        rows.append(("On its own answers", percent(scores.training), "answers the map was made from", track))
    if scores.ceiling is not None:
        low = scores.ceiling_low
        value = percent(scores.ceiling) if low is None else f"{100 * low:.1f} to {100 * scores.ceiling:.1f}{PERCENT}"
        track = _track(None, scores.ceiling if low is None else low, scores.ceiling, "limit")
        rows.append(("Best possible", value, "noise ceiling, from repeated questions", track))
    body = "".join(
        f'<div class="score"><dt>{name}</dt><dd class="value">{_text(value)}</dd>'
        f'<dd class="track">{track}</dd><dd class="told">{_text(told)}</dd></div>'
        for name, value, told, track in rows
    )
    board = f'<dl class="scores">{body}</dl>' if rows else ""
    sentences = " ".join(fit_sentences(scores)) if rows else "No score was computed for this map."
    scale = '<p class="scale" aria-hidden="true"><span>50 % (guessing)</span><span>100 %</span></p>' if rows else ""
    return f"{board}{scale}<p>{_text(sentences)}</p>"


def _track(value: float | None, low: float | None, high: float | None, kind: str) -> str:
    """A line from 50 to 100 % with a dot for the value and a bar for its interval."""

    def place(fraction: float) -> float:
        return round(min(max(200 * fraction - 100, 0.0), 100.0), 2)

    bar = dot = ""
    if low is not None and high is not None:
        width = max(place(high) - place(low), 0.6)
        bar = f'<rect class="bar" x="{place(low)}%" y="5" width="{width:g}%" height="8" rx="4"/>'
    if value is not None:
        dot = f'<circle class="dot" cx="{place(value)}%" cy="9" r="6"/>'
    return (
        f'<svg class="{kind}" width="100%" height="18" aria-hidden="true"><line class="rail" x1="0" y1="9" x2="100%" '
        f'y2="9"/>{bar}{dot}</svg>'
    )


def _coordinates(data: ReportData) -> str:
    n_objects, n_components = data.embedding.shape
    button = '<p><button type="button" id="download">Download coordinates (CSV)</button></p>'
    if n_objects > MAX_TABLE:
        return (
            button
            + f'<p class="small">With {n_objects:,} objects the table of coordinates is in the download only.</p>'
        )
    labels = label_texts(data.labels, n_objects, "report")
    head = ["Object", *(f"x{k + 1}" for k in range(n_components))]
    scale = float(np.nanmax(np.abs(data.embedding), initial=0)) or 1.0
    decimals = max(0, 4 - int(np.floor(np.log10(scale))))
    rows = (
        [_name(label), *(f"{value:.{decimals}f}" if np.isfinite(value) else "–" for value in row)]
        for label, row in zip(labels, data.embedding)
    )
    return button + f"<details><summary>Table of coordinates</summary>{_table(head, rows, 'numbers')}</details>"


def _chart(name: str, label: str) -> str:
    return f'<figure class="chart"><div id="{name}" role="img" aria-label="{_text(label)}"></div></figure>'


def _dimensions(data: ReportData) -> str:
    if data.dimensions is None:
        return ""
    table = data.dimensions
    errors = table.get("standard_error", [None] * len(table["accuracy"]))
    scores = list(zip(table["n_components"], table["accuracy"], errors))
    chosen = data.chosen_dimension
    told = "How well maps of different dimension satisfy answers they have not seen. Bars are one standard error."
    if chosen is not None:
        told += f" The chosen dimension is marked: {chosen}."
    rows = (
        [f"{int(d)}", percent(float(a)), "–" if e is None or not np.isfinite(e) else f"± {100 * e:.1f}"]
        for d, a, e in scores
        if a is not None and np.isfinite(a)
    )
    label = "Held-out accuracy by dimension: " + ", ".join(f"{int(d)}: {percent(float(a))}" for d, a, _ in scores)
    body = f'<p>{_text(told)}</p><div class="two">{_chart("chart-dimensions", label)}'
    body += _table(["Dimensions", "Held-out", "Standard error"], rows, "numbers") + "</div>"
    return _section("dimensions", "How many dimensions?", body)


def _learning(data: ReportData) -> str:
    if data.learning_curve is None:
        return ""
    told = "Accuracy on answers not seen, by the number of answers used. The dashed part is extrapolated."
    body = f"<p>{told}</p>" + _chart("chart-learning", "Held-out accuracy by number of comparisons")
    return _section("learning", "Would more answers help?", body)


def _convergence(data: ReportData) -> str:
    if data.history is None:
        return ""
    objective = [value for value in data.history["objective"] if value is not None]
    told = "How the computation came down. A flat end means that it had finished."
    label = f"Objective from {objective[0]:.4g} to {objective[-1]:.4g}" if objective else "Objective"
    charts = _chart("chart-objective", label)
    if "step_size" in data.history:
        charts += _chart("chart-steps", "Step size by epoch")
    return _section("convergence", "The computation", f'<p>{told}</p><div class="two">{charts}</div>')


def _violations(violations: Violations | None, embedding: np.ndarray) -> str:
    if violations is None:
        return ""
    many = count(violations.n_comparisons, "comparison", "comparisons")
    told = f"The map contradicts {violations.n_violated:,} of {many}."
    if violations.n_unplaced:
        told += f" {violations.n_unplaced:,} more concern objects without a position."
    if not violations.worst:
        return _section("violations", "Answers the map contradicts", f"<p>{_text(told)}</p>")
    told += " The worst, by the difference of the two distances:"
    placed = embedding[np.isfinite(embedding).all(axis=1)]
    width = float(np.ptp(placed, axis=0).max())
    rows = ([_said(v), _shown(v, width), f"{v.weight:g}"] for v in violations.worst)
    body = f"<p>{_text(told)}</p>" + _table(["People said", "On the map", "Answers"], rows, "violations")
    return _section("violations", "Answers the map contradicts", body)


def _said(violation: Violation) -> str:
    names = [_name(label) for label in violation.objects]
    if len(names) == 3:
        return f"{names[0]} is nearer to {names[1]} than to {names[2]}"
    return f"{names[0]} and {names[1]} are nearer to each other than {names[2]} and {names[3]}"


def _shown(violation: Violation, width: float) -> str:
    """The two distances: their ratio, and each in percent of the map's width, since the scale of a map is arbitrary."""
    shares = [f"{100 * distance / width if width else 0:.3g}" for distance in (violation.near, violation.far)]
    distances = f"({shares[0]} against {shares[1]}{PERCENT} of the map's width)"
    if violation.near == violation.far:
        return f"equally far {distances}"
    ratio = violation.near / violation.far if violation.far > 0 else np.inf
    return f"{ratio:.3g} times as far {distances}" if ratio < 1000 else f"much farther {distances}"


def _check(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return ""
    problems = list(check.get("problems") or [])
    if problems:
        found = "".join(f"<li>{_text(problem)}</li>" for problem in problems)
        verdict = f'<ul class="problems">{found}</ul>'
    else:
        verdict = '<p class="good">No problem was found in the answers.</p>'
    return _section("check", "The answers", verdict + _facts(_check_facts(check)))


def _check_facts(check: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of a data check that readers ask for."""
    facts: dict[str, str] = {}
    if "n_comparisons" in check:
        facts["Comparisons"] = f"{check['n_comparisons']:,} {check.get('kind', '')}".strip()
    for reason, number in (check.get("dropped") or {}).items():
        facts[f"Left out: {reason}"] = f"{number:,}"
    if "n_objects" in check:
        facts["Objects"] = f"{check['n_objects']:,}"
    if check.get("unseen"):
        facts["Objects in no comparison"] = f"{len(check['unseen']):,}"
    if "n_questions" in check:
        facts["Distinct questions"] = f"{check['n_questions']:,}"
    if "n_repeated_questions" in check:
        facts["Asked more than once"] = f"{check['n_repeated_questions']:,}"
    if "contradictions" in check:
        facts["Answered both ways"] = f"{len(check['contradictions']):,}"
    if "components" in check:
        facts["Connected groups of objects"] = f"{len(check['components']):,}"
    if check.get("participants") is not None:
        people = check["participants"]
        doubtful = sum(bool(person.get("suspicious")) for person in people)
        facts["Participants"] = f"{len(people):,}, of whom {doubtful:,} disagree with the rest"
    return facts


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<div><dt>{_text(name)}</dt><dd>{_name(value)}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{rows}</dl>'


def _repeat(data: ReportData) -> str:
    if not data.command and not data.facts:
        return ""
    body = ""
    if data.command:
        command = "\n".join(_text(line) for line in data.command.splitlines())
        body += (
            '<p>This command gives the same map again:</p><div class="command"><pre tabindex="0"><code id="command">'
            f'{command}</code></pre><button type="button" id="copy">Copy</button></div>'
        )
    return _section("repeat", "Repeat it", body + _facts(data.facts))
