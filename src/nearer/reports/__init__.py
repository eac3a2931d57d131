"""One self-contained HTML file: the map, how far to trust it, and how to repeat it.

The file opens offline: scripts, styles, data and pictures are inside, and its content security policy forbids it to
load anything.
"""

from __future__ import annotations

from nearer.reports.content import Report, describe, write_report

__all__ = ["Report", "describe", "write_report"]
