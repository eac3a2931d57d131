"""The data that the page's script reads, as compact JSON that is safe inside HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearer.report.common import PALETTE, group_codes, label_texts
from nearer.report.data import ReportData
from nearer.report.thumbnails import load_thumbnails

__all__ = ["embed_json", "make_payload"]

# Numbers in the covariances beyond which they are left out: the file would grow past what a browser opens with ease.
MAX_COVARIANCE_NUMBERS = 600_000
MAX_ROWS = 600


def make_payload(data: ReportData) -> tuple[dict[str, Any], list[str]]:
    """Return what the script needs, and sentences on what is not shown.

    Positions keep six digits relative to the largest coordinate.
    """
    n_objects, n_components = data.embedding.shape
    notes: list[str] = []
    labels = label_texts(data.labels, n_objects, "report")
    payload: dict[str, Any] = {
        "n": n_objects,
        "d": n_components,
        "labels": labels,
        "x": [_numbers(column, 6, _scale(data.embedding)) for column in data.embedding.T],
        "level": data.level,
        "palette": list(PALETTE),
    }
    unplaced = int((~np.isfinite(data.embedding).all(axis=1)).sum())
    if unplaced:
        notes.append(f"Without a position, and so not shown: {unplaced:,} of {n_objects:,} objects.")
    if data.groups is not None:
        codes, names = group_codes(data.groups, n_objects, "report")
        payload["groups"] = {"codes": codes.tolist(), "names": names}
    if data.covariances is not None:
        if n_objects * n_components * (n_components + 1) // 2 > MAX_COVARIANCE_NUMBERS:
            notes.append("Regions of uncertainty are not shown: too many objects and dimensions for one file.")
        else:
            scale = _scale(data.covariances)
            upper = [data.covariances[:, a, b] for a in range(n_components) for b in range(a, n_components)]
            payload["cov"] = [_numbers(column, 5, scale) for column in upper]
    if data.thumbnails is not None:
        # The labels as given: file names may hold what a printable label cannot.
        given = labels if data.labels is None else list(data.labels)
        thumbnails = load_thumbnails(data.thumbnails, given)
        payload["thumbs"] = {str(number): uri for number, uri in thumbnails.uris.items()}
        notes += thumbnails.notes
    if data.history is not None:
        payload["history"] = _thin(data.history)
    if data.dimensions is not None:
        payload["dimensions"] = _table(data.dimensions)
        payload["chosen"] = data.chosen_dimension
    if data.learning_curve is not None:
        payload["learning"] = _table(data.learning_curve)
    if data.scores.ceiling is not None:
        payload["ceiling"] = data.scores.ceiling
    return payload, notes


def embed_json(value: Any) -> str:
    """JSON for a ``<script type="application/json">`` element: ASCII only, without ``<``, ``>`` or ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scale(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


def _numbers(column: Sequence | np.ndarray, digits: int, scale: float) -> list[float | None]:
    """Round to `digits` digits of `scale`; what is not finite becomes None."""
    decimals = digits - 1 - int(np.floor(np.log10(scale)))
    values = np.round(np.asarray(column, dtype=float), decimals)
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _table(table: Mapping[str, Any]) -> dict[str, list]:
    """Numeric columns; None and what is not finite become None."""
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
    table = _table(history)
    n_rows = len(table["objective"])
    rows = np.unique(np.linspace(0, max(n_rows - 1, 0), min(n_rows, MAX_ROWS)).round().astype(int))
    return {"rows": n_rows, **{name: [column[i] for i in rows] for name, column in table.items()}}
