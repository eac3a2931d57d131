"""Beyond the fit: how many dimensions, how sure of each point, how many answers are still needed."""

from __future__ import annotations

from nearer.selection.dimension import DimensionSelection, cross_validate_dimensions

__all__ = ["DimensionSelection", "cross_validate_dimensions"]
