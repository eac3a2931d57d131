"""One self-contained HTML file: the map, how far to trust it, and how to repeat it.

The file opens offline: scripts, styles, data and pictures are inside, and its content security policy forbids it to
load anything. (``nearer.report`` is the name of the function.)
"""

from __future__ import annotations

from nearer.reports.content import Report, describe, report
from nearer.reports.studies import (
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
