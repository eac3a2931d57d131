"""Plots of maps and of their quality, drawn on the Axes ``ax``, or on a new figure by default.

pyplot is not used, so the functions are safe in scripts, servers and threads.
"""

from __future__ import annotations

from nearer.plots.curves import (
    plot_alignment,
    plot_calibration,
    plot_convergence,
    plot_dimensions,
    plot_learning_curve,
    plot_step_sizes,
)
from nearer.plots.figure import save_figure
from nearer.plots.maps import plot_map, plot_weights

__all__ = [
    "plot_alignment",
    "plot_calibration",
    "plot_convergence",
    "plot_dimensions",
    "plot_learning_curve",
    "plot_map",
    "plot_step_sizes",
    "plot_weights",
    "save_figure",
]
