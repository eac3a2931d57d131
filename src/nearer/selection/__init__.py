"""Beyond the fit: held-out accuracy, number of dimensions, uncertainty of each position, answers still needed."""

from __future__ import annotations

from nearer.refits import Interrupted
from nearer.selection.bootstrap import Bootstrap, Interval, NearerIntervals, bootstrap
from nearer.selection.clusters import Clusters, find_clusters
from nearer.selection.dimension import DimensionSelection, cross_validate_dimensions
from nearer.selection.evaluate import Evaluation, evaluate
from nearer.selection.learning_curve import LearningCurve, PowerLaw, fit_power_law, learning_curve

__all__ = [
    "Bootstrap", "Clusters", "DimensionSelection", "Evaluation", "Interrupted", "Interval", "LearningCurve",
    "NearerIntervals", "PowerLaw", "bootstrap", "cross_validate_dimensions", "evaluate", "find_clusters",
    "fit_power_law", "learning_curve",
]  # fmt: skip
