"""Beyond the fit: how many dimensions, how sure of each point, how many answers are still needed."""

from __future__ import annotations

from nearer.refits import Interrupted
from nearer.selection.bootstrap import Bootstrap, Interval, NearerIntervals, bootstrap
from nearer.selection.dimension import DimensionSelection, cross_validate_dimensions
from nearer.selection.learning_curve import LearningCurve, PowerLaw, fit_power_law, learning_curve

__all__ = [
    "Bootstrap",
    "DimensionSelection",
    "Interrupted",
    "Interval",
    "LearningCurve",
    "NearerIntervals",
    "PowerLaw",
    "bootstrap",
    "cross_validate_dimensions",
    "fit_power_law",
    "learning_curve",
]
