"""One self-contained HTML file: the map, how well it fits, and how to repeat it."""

from __future__ import annotations
