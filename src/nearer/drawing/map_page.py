"""A page with the drawing of a map: one HTML text with its style, scripts and data, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from nearer.display import PALETTE, decimals_of, group_codes, label_texts, merge_small_groups, shorten
from nearer.metrics import spread_shares

_SCRIPTS = ("base.js", "view.js", "draw.js", "map.js", "pairs.js", "start.js")
MAX_NAME = 40


def map_data(
    embedding: np.ndarray,
    labels: Sequence | np.ndarray | None = None,
    groups: Sequence | np.ndarray | None = None,
    covariances: Any = None,
) -> dict[str, Any]:
    """The data for the scripts of the drawing, ready for JSON; parameters are as in `nearer.plots.plot_map`."""
    n_objects, n_components = embedding.shape
    texts = label_texts(labels, n_objects)
    values: dict[str, Any] = {
        "n": n_objects,
        "d": n_components,
        "labels": texts,
        "short": {i: shorten(text, MAX_NAME) for i, text in enumerate(texts) if len(text) > MAX_NAME},
        "x": [rounded(column, decimals_of(embedding, 6)) for column in embedding.T],
        "few": [],
        "palette": PALETTE,
        "shares": [round(float(share), 3) for share in spread_shares(embedding)],
    }
    if groups is not None:
        codes, names, other = merge_small_groups(*group_codes(groups, n_objects))
        values["groups"] = {"codes": codes.tolist(), "names": names, "other": other}
    if covariances is not None:
        covariances = np.array(covariances, dtype=float)
        decimals, upper = decimals_of(covariances, 5), zip(*np.triu_indices(n_components))
        values["cov"] = [rounded(covariances[:, a, b], decimals) for a, b in upper]
    return values


def make_page(
    template: str,
    values: Mapping[str, Any],
    parts: Mapping[str, str],
    scripts: Sequence[str] = (),
    style: str = "",
) -> str:
    """Fill a template with HTML `parts` and the drawing of `values`; scripts and style are added to its own."""
    script = "\n".join(['(function () {\n"use strict";', *map(_asset, _SCRIPTS), *scripts, "})();\n"])
    style = _asset("map.css") + style
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    drawing = _filled(_asset("map.html"), {"notes": "", **parts})
    own = {"policy": policy, "style": style, "script": script, "data": embed_json(values), "map": drawing}
    return _filled(template or _asset("frame.html"), {**parts, **own})


def _filled(template: str, parts: Mapping[str, str]) -> str:
    # One pass, so that nothing inside a value is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def embed_json(value: Any) -> str:
    """JSON for a ``<script type="application/json">`` element: ASCII only, without ``<``, ``>`` or ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def rounded(column: Iterable[Any], decimals: int = 99) -> list[float | None]:
    """Rounded numbers; None and non-finite values become None."""
    values = np.array(list(column), dtype=float).tolist()
    return [round(value, decimals) if np.isfinite(value) else None for value in values]


def _asset(name: str) -> str:
    return files("nearer.drawing").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
