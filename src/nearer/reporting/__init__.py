"""One self-contained HTML file: the map, how far to trust it, and how to repeat it.

``nearer.report(model, comparisons, "report.html")`` does it all: it makes the studies asked for and writes the page.
`Report` takes plain arrays and mappings, so that anything that made a map can have one. The file opens offline:
scripts, styles, data and pictures are inside, and its content security policy forbids it to load anything.

The package is not called ``nearer.report`` because that is the name of the function.
"""

from __future__ import annotations

from nearer.reporting.content import Report, describe, report
from nearer.reporting.studies import (
    CrossValidation,
    Findings,
    Judgement,
    Scores,
    Violation,
    Violations,
    default_cv,
    judge,
    study,
    worst_violations,
)

__all__ = [
    "CrossValidation",
    "Findings",
    "Judgement",
    "Report",
    "Scores",
    "Violation",
    "Violations",
    "default_cv",
    "describe",
    "judge",
    "report",
    "study",
    "worst_violations",
]
