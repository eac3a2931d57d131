"""The page: template, style, scripts and their data joined into one HTML text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.metrics import spread_shares
from nearer.reporting.display import PALETTE, decimals_of, group_codes, label_texts, merge_small_groups, shorten_apart
from nearer.reporting.sections import make_sections
from nearer.reporting.thumbnails import load_thumbnails
from nearer.reporting.words import few_answers_sentence

if TYPE_CHECKING:
    from nearer.reporting.content import Report

_SCRIPTS = ("base.js", "view.js", "draw.js", "map.js", "pairs.js", "charts.js", "main.js")
# Numbers in the covariances beyond which they are left out: the file would grow past what a browser opens with ease.
MAX_COVARIANCE_NUMBERS = 600_000
MAX_ROWS = 600
MAX_NAME = 40


def render(report: Report) -> str:
    """Return a report as HTML text."""
    script = '(function () {\n"use strict";\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();\n"
    style = _asset("report.css")
    values, notes = script_data(report)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = make_sections(report, notes)
    parts |= {"policy": policy, "style": style, "script": script, "data": embed_json(values)}
    # One pass, so that nothing inside a value is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("template.html"))


def script_data(report: Report) -> tuple[dict[str, Any], list[str]]:
    """What the scripts of the page read, ready for JSON, and sentences on what is not shown.

    Positions keep six digits relative to the largest coordinate.
    """
    n_objects, n_components = report.embedding.shape
    notes: list[str] = []
    labels = label_texts(report.labels, n_objects)
    values: dict[str, Any] = {
        "n": n_objects,
        "d": n_components,
        "labels": labels,
        "x": [_numbers(column, decimals_of(report.embedding, 6)) for column in report.embedding.T],
        "level": report.level,
        "palette": list(PALETTE),
        "shares": [round(float(share), 3) for share in spread_shares(report.embedding)],
    }
    cut = shorten_apart(labels, MAX_NAME)
    values["short"] = {i: short for i, (short, label) in enumerate(zip(cut, labels)) if short != label}
    if report.n_answers is not None:
        values["answers"] = [round(float(number), 1) for number in report.n_answers]
    values["few"] = np.flatnonzero(report.has_few_answers).tolist()
    if values["few"]:
        notes.append(few_answers_sentence(len(values["few"]), n_components))
    unplaced = int((~np.isfinite(report.embedding).all(axis=1)).sum())
    if unplaced:
        notes.append(f"Without a position, and so not shown: {unplaced:,} of {n_objects:,} objects.")
    if report.groups is not None:
        codes, names, other = merge_small_groups(*group_codes(report.groups, n_objects))
        values["groups"] = {"codes": codes.tolist(), "names": names, "other": other}
    if report.covariances is not None:
        if n_objects * n_components * (n_components + 1) // 2 > MAX_COVARIANCE_NUMBERS:
            notes.append("Regions of uncertainty are not shown: too many objects and dimensions for one file.")
        else:
            decimals = decimals_of(report.covariances, 5)
            upper = [report.covariances[:, a, b] for a in range(n_components) for b in range(a, n_components)]
            values["cov"] = [_numbers(column, decimals) for column in upper]
    if report.images is not None:
        # The labels as given: file names may hold what a printable label cannot.
        given = labels if report.labels is None else list(report.labels)
        thumbnails = load_thumbnails(report.images, given)
        values["thumbs"] = {str(number): uri for number, uri in thumbnails.uris.items()}
        notes += thumbnails.notes
    if report.history is not None:
        values["history"] = _thin(report.history)
    if report.dimensions is not None:
        values["dimensions"] = _numeric(report.dimensions)
        values["chosen"] = report.chosen_dimension
    if report.learning_curve is not None:
        values["learning"] = _numeric(report.learning_curve)
    if report.scores.ceiling is not None and not report.scores.ceiling_is_rough:
        values["ceiling"] = [report.scores.ceiling_least, report.scores.ceiling]
    return values, notes


def embed_json(value: Any) -> str:
    """JSON for a ``<script type="application/json">`` element: ASCII only, without ``<``, ``>`` or ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("nearer.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _numbers(column: np.ndarray, decimals: int) -> list[float | None]:
    """Rounded; what is not finite becomes None."""
    return [value if np.isfinite(value) else None for value in np.round(column, decimals).tolist()]


def _numeric(table: Mapping[str, Any]) -> dict[str, list]:
    """Numeric columns of a table; None and what is not finite become None."""
    out: dict[str, list] = {}
    for name, column in table.items():
        try:
            values = np.asarray(column, dtype=float)
        except (TypeError, ValueError):
            continue  # a column of text has no place in a chart
        out[str(name)] = [float(f"{v:.7g}") if np.isfinite(v) else None for v in values.tolist()]
    return out


def _thin(history: Mapping[str, Any]) -> dict[str, Any]:
    """At most 600 rows, evenly taken, the last one included; the script tells how many there were."""
    table = _numeric(history)
    n_rows = len(table["objective"])
    rows = np.unique(np.linspace(0, max(n_rows - 1, 0), min(n_rows, MAX_ROWS)).round().astype(int))
    return {"rows": n_rows, **{name: [column[i] for i in rows] for name, column in table.items()}}
