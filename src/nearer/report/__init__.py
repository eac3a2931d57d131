"""One self-contained HTML file: the map, how far to trust it, and how to repeat it.

``build_report(ReportData(...), "report.html")`` takes plain arrays and mappings, so anything that made a map can
have a report. The file opens offline: scripts, styles, data and pictures are inside, and its content security
policy forbids it to load anything.
"""

from __future__ import annotations

from nearer.report.build import build_report, render_report
from nearer.report.data import ReportData, Scores
from nearer.report.violations import Violation, Violations, worst_violations

__all__ = ["ReportData", "Scores", "Violation", "Violations", "build_report", "render_report", "worst_violations"]
