"""Convergence, step sizes, dimensions, calibration, learning."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from nearer import Comparisons
from nearer.alignment import align
from nearer.metrics import Calibration
from nearer.plots import (
    plot_alignment,
    plot_calibration,
    plot_convergence,
    plot_dimensions,
    plot_learning_curve,
    plot_step_sizes,
)

HISTORY = {
    "epoch": [0, 1, 2, 3], "n_gradients": [0, 10_000, 20_000, 30_000], "seconds": [0.0, 0.1, 0.2, 0.3],
    "objective": [100.0, 10.0, 1.0, 0.5], "step_size": [None, 0.5, 0.25, np.nan], "grad_norm": [1.0, 0.5, 0.4, 0.3],
}  # fmt: skip


def legend_texts(ax):
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("form", [dict, pd.DataFrame, lambda columns: SimpleNamespace(to_dict=lambda: columns)])
def test_convergence_takes_every_form_of_history(form):
    ax = plot_convergence(form(HISTORY))
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xydata().T, [HISTORY["n_gradients"], HISTORY["objective"]])
    assert ax.get_yscale() == "log"
    assert plot_convergence(HISTORY, y="grad_norm", x="seconds").get_yscale() == "linear"


def test_several_fits_are_drawn_on_the_same_axes():
    ax = Figure().add_subplot()
    for _ in range(2):
        assert plot_step_sizes(HISTORY, ax=ax) is ax
    one, other = ax.get_lines()
    assert one.get_color() != other.get_color()
    np.testing.assert_array_equal(one.get_xydata(), [[1, 0.5], [2, 0.25]])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"x": "time"}, "x: got 'time'"),
        ({"y": "loss"}, "y: got 'loss'"),
        ({"y": "train_error"}, "history: got the columns epoch.* expected n_gradients, train_error among them"),
    ],
)
def test_convergence_errors(kwargs, message):
    with pytest.raises(ValueError, match=message):
        plot_convergence(HISTORY, **kwargs)


def test_dimensions_marks_the_chosen_and_the_ceiling():
    scores = {"n_components": [3, 1, 2], "accuracy": [0.9, 0.7, 0.85], "standard_error": [0.01, 0.02, 0.01]}
    ax = plot_dimensions(scores, chosen=2, ceiling=0.95)
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata().T, [[1, 2, 3], [0.7, 0.85, 0.9]])
    assert legend_texts(ax) == ["chosen: 2", "noise ceiling"]
    assert [2, 0.85] in [line.get_xydata()[0].tolist() for line in ax.get_lines()]
    with pytest.raises(ValueError, match="chosen: got 7"):
        plot_dimensions(scores, chosen=7)
    ax = plot_dimensions(scores, ceiling=(0.85, 0.9))
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((0.85, 0.9))


def test_calibration_leaves_out_empty_bins():
    predicted, observed, count = np.array([[0.55, np.nan, 0.95], [0.5, np.nan, 0.9], [10, 0, 30]])
    ax = plot_calibration(Calibration(np.linspace(0.5, 1, 4), predicted, observed, count, count / 40, 0.05))
    np.testing.assert_array_equal(ax.get_lines()[1].get_xdata(), [0.55, 0.95])
    assert [text.get_text() for text in ax.texts] == ["40 answers\ncalibration error 0.050"]
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
    measured, extrapolated, _ = ax.get_lines()
    np.testing.assert_array_equal(measured.get_xdata(), [1000, 2000, 4000])
    np.testing.assert_array_equal(extrapolated.get_xdata(), [4000, 8000])
    assert legend_texts(ax) == ["measured", "extrapolated", "noise ceiling"]


def test_alignment_shows_every_model_by_name():
    rng = np.random.default_rng(0)
    answers = Comparisons.from_points(rng.normal(size=(12, 2)), 300, random_state=0)
    found = align(answers, {"$net$": rng.normal(size=(12, 3)), "other": rng.normal(size=(12, 3))}, best_map=2)
    ax = plot_alignment(found)
    ax.figure.canvas.draw()
    (bars,) = (one for one in ax.containers if isinstance(one, BarContainer))
    shown = dict(zip([tick.get_text() for tick in ax.get_yticklabels()], [bar.get_width() for bar in bars]))
    assert shown == pytest.approx({score.name: score.accuracy for score in found.scores})
