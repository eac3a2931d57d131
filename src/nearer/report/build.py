"""Join template, style, scripts and data into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from importlib.resources import files
from pathlib import Path

from nearer.io.files import atomic_write
from nearer.report.data import ReportData
from nearer.report.payload import embed_json, make_payload
from nearer.report.sections import make_sections

__all__ = ["build_report", "render_report"]

_SCRIPTS = ("base.js", "view.js", "draw.js", "map.js", "pairs.js", "charts.js", "main.js")


def build_report(payload: ReportData, path: str | os.PathLike, force: bool = False) -> Path:
    """Write a report as one HTML file that needs no network.

    Parameters
    ----------
    payload : ReportData
        What to show.
    path : path-like
        Where to write; its folder must exist.
    force : bool
        Replace an existing file.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    with atomic_write(path, force) as file:
        file.write(render_report(payload).encode("utf-8"))
    return Path(path)


def render_report(payload: ReportData) -> str:
    """Return the report as HTML text."""
    script = '(function () {\n"use strict";\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();\n"
    style = _asset("report.css")
    values, notes = make_payload(payload)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = make_sections(payload, notes)
    parts |= {"policy": policy, "style": style, "script": script, "data": embed_json(values)}
    # One pass, so that nothing inside a value is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("template.html"))


def _asset(name: str) -> str:
    return files("nearer.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
