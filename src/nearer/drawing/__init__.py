"""Maps drawn by scripts of a web page, as in the report and in notebooks."""

from __future__ import annotations

from nearer.drawing.map_page import make_page, map_data, rounded
from nearer.drawing.shown_map import ShownMap

__all__ = ["ShownMap", "make_page", "map_data", "rounded"]
