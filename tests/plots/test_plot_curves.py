"""Convergence, step sizes, dimensions, calibration, learning."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from nearer.plots import plot_calibration, plot_convergence, plot_dimensions, plot_learning_curve, plot_step_sizes

HISTORY = {
    "epoch": [0, 1, 2, 3],
    "n_gradients": [0, 10_000, 20_000, 30_000],
    "seconds": [0.0, 0.1, 0.2, 0.3],
    "objective": [100.0, 10.0, 1.0, 0.5],
    "step_size": [None, 0.5, 0.25, np.nan],
    "grad_norm": [1.0, 0.5, 0.4, 0.3],
}


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def rows_of(history):
    return [dict(zip(history, values)) for values in zip(*history.values())]


@pytest.mark.parametrize(
    "history",
    [
        HISTORY,
        SimpleNamespace(to_dict=lambda: HISTORY),
        rows_of(HISTORY),
        [SimpleNamespace(**r) for r in rows_of(HISTORY)],
    ],
    ids=["columns", "to_dict", "rows", "objects"],
)
def test_convergence_takes_every_form_of_history(history):
    ax = plot_convergence(history)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), HISTORY["n_gradients"])
    np.testing.assert_array_equal(line.get_ydata(), HISTORY["objective"])
    assert ax.get_yscale() == "log"
    assert ax.get_legend() is None
    ax.figure.canvas.draw()


def test_small_span_is_linear_and_log_can_be_forced():
    assert plot_convergence(HISTORY, y="grad_norm", x="seconds").get_yscale() == "linear"
    assert plot_convergence(HISTORY, y="grad_norm", log=True).get_yscale() == "log"


def test_several_histories_get_a_literal_legend():
    ax = plot_step_sizes({"$sbb": HISTORY, "_bb": HISTORY})
    assert legend_texts(ax) == ["$sbb", "_bb"]
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [1, 2])
    ax.figure.canvas.draw()


def test_draws_on_given_axes():
    ax = Figure().add_subplot()
    assert plot_convergence(HISTORY, ax=ax) is ax


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"history": {"n_gradients": [1, 2], "objective": [1.0]}}, "unequal length"),
        ({"x": "time"}, "x: got 'time'"),
        ({"y": "loss"}, "y: got 'loss'"),
        ({"y": "train_error"}, "history: got the columns epoch.* expected train_error among them"),
    ],
)
def test_convergence_errors(kwargs, message):
    with pytest.raises(ValueError, match=message):
        plot_convergence(**{"history": HISTORY, **kwargs})


def test_dimensions_marks_the_chosen_and_the_ceiling():
    scores = {"n_components": [3, 1, 2], "accuracy": [0.9, 0.7, 0.85], "standard_error": [0.01, 0.02, 0.01]}
    ax = plot_dimensions(scores, chosen=2, ceiling=0.95)
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [0.7, 0.85, 0.9])
    assert legend_texts(ax) == ["chosen: 2", "noise ceiling"]
    ring = next(line for line in ax.get_lines() if line.get_markersize() == 13)
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2, 0.85)
    with pytest.raises(ValueError, match="chosen: got 7"):
        plot_dimensions(scores, chosen=7)


@dataclass
class Table:
    predicted: np.ndarray
    observed: np.ndarray
    count: np.ndarray
    ece: float


def test_calibration_leaves_out_empty_bins():
    table = Table(np.array([0.55, np.nan, 0.95]), np.array([0.5, np.nan, 0.9]), np.array([10, 0, 30]), 0.05)
    ax = plot_calibration(table)
    np.testing.assert_array_equal(ax.get_lines()[1].get_xdata(), [0.55, 0.95])
    (told,) = ax.texts
    assert told.get_text() == "40 answers\ncalibration error 0.050"
    assert ax.get_xlim() == ax.get_ylim()
    ax.figure.canvas.draw()


def test_learning_curve_continues_the_measured_part():
    curve = {
        "n_comparisons": [4000, 1000, 2000, 8000],
        "accuracy": [0.85, 0.7, 0.8, 0.87],
        "low": [0.84, 0.68, 0.79, 0.84],
        "high": [0.86, 0.72, 0.81, 0.9],
        "extrapolated": [False, False, False, True],
    }
    ax = plot_learning_curve(curve, ceiling=0.9)
    measured, guessed, _ = ax.get_lines()
    np.testing.assert_array_equal(measured.get_xdata(), [1000, 2000, 4000])
    np.testing.assert_array_equal(guessed.get_xdata(), [4000, 8000])
    assert legend_texts(ax) == ["measured", "extrapolated", "noise ceiling"]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("ceiling", [0.9, (0.85, 0.9)])
def test_the_ceiling_is_a_line_or_a_band(ceiling):
    table = {"n_components": [1, 2], "accuracy": [0.7, 0.8]}
    ax = plot_dimensions(table, ceiling=ceiling)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["noise ceiling"]
    drawn = ax.patches[0].get_extents().transformed(ax.transData.inverted()) if ax.patches else None
    assert (drawn is not None) == isinstance(ceiling, tuple)
    if drawn is not None:
        assert (drawn.y0, drawn.y1) == pytest.approx(ceiling)
