"""Curves: convergence, step sizes, dimensions, calibration, learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from nearer.display import PALETTE, shorten
from nearer.metrics import Calibration, wilson_interval
from nearer.plots.figure import GREY, chart_axes, columns, literal

_X_TITLES = {"epoch": "Epoch", "n_gradients": "Gradients of single comparisons", "seconds": "Seconds"}
_Y_TITLES = {
    "objective": "Objective",
    "grad_norm": "Norm of the gradient",
    "train_error": "Training comparisons not satisfied",
    "step_size": "Step size",
}
_LOG_SPAN = 30.0  # ratio of values above which the vertical axis is logarithmic
_MEASURED: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "markersize": 5, "linewidth": 1.7}
_BARS = _MEASURED | {"capsize": 3, "elinewidth": 1.1}


def plot_convergence(history: Any, *, x: str = "n_gradients", y: str = "objective", ax: Axes | None = None) -> Axes:
    """Draw the objective of a fit, or another column of its history; a further fit on the same Axes as another line.

    Parameters
    ----------
    history : mapping of columns, data frame, or object with ``to_dict()``
    x : {"n_gradients", "epoch", "seconds"}
        The horizontal axis.
    y : {"objective", "grad_norm", "train_error", "step_size"}
        The vertical axis, logarithmic if the values are positive and span a factor of 30; rows without a value are
        omitted.
    """
    if x not in _X_TITLES:
        raise ValueError(f"x: got {x!r}, expected one of {', '.join(_X_TITLES)}")
    if y not in _Y_TITLES:
        raise ValueError(f"y: got {y!r}, expected one of {', '.join(_Y_TITLES)}")
    table = columns(history, "history", (x, y))
    known = np.isfinite(table[x]) & np.isfinite(table[y])
    values = table[y][known]
    ax = chart_axes(ax)
    colour = PALETTE[len(ax.get_lines()) % len(PALETTE)]
    marker = "o" if known.sum() <= 40 else None
    ax.plot(table[x][known], values, color=colour, marker=marker, linewidth=1.7, markersize=3)
    if len(values) and values.min() > 0 and values.max() / values.min() > _LOG_SPAN:
        ax.set_yscale("log")
    if x == "epoch":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif x == "n_gradients":
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.set(xlabel=_X_TITLES[x], ylabel=_Y_TITLES[y])
    return ax


def plot_step_sizes(history: Any, *, x: str = "epoch", ax: Axes | None = None) -> Axes:
    """Draw the step size of each epoch; parameters as in `plot_convergence`."""
    return plot_convergence(history, x=x, y="step_size", ax=ax)


def plot_dimensions(
    scores: Any,
    *,
    chosen: int | None = None,
    ceiling: float | tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cross-validated accuracy by number of dimensions.

    Parameters
    ----------
    scores : mapping of columns, data frame, or object with ``to_dict()``
        Columns ``n_components``, ``accuracy`` and optionally ``standard_error``, drawn as bars of one standard error.
    chosen : int, optional
        The dimension to mark.
    ceiling : float or (float, float), optional
        Noise ceiling, drawn as a line, or as a band between two bounds.
    """
    table = columns(scores, "scores", ("n_components", "accuracy"), ("standard_error",))
    order = np.argsort(table["n_components"])
    dims, accuracy, *error = (column[order] for column in table.values())
    ax = chart_axes(ax)
    ax.errorbar(dims, accuracy, yerr=error[0] if error else None, **_BARS)
    if chosen is not None:
        if chosen not in dims:
            raise ValueError(f"chosen: got {chosen}, expected one of {dims.astype(int).tolist()}")
        ring: dict[str, Any] = {"markersize": 13, "mfc": "none", "mec": PALETTE[1], "mew": 1.8, "zorder": 5}
        ax.plot(chosen, accuracy[dims == chosen], "o", label=f"chosen: {chosen}", **ring)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("Dimensions")
    _show_accuracy(ax, ceiling)
    return ax


def plot_calibration(calibration: Calibration, *, ax: Axes | None = None) -> Axes:
    """Draw predicted probability against observed frequency, with 95 % Wilson intervals; empty bins are omitted.

    Parameters
    ----------
    calibration : Calibration
        From `nearer.metrics.calibration`.
    """
    full = calibration.count > 0
    predicted, observed, count = (x[full] for x in (calibration.predicted, calibration.observed, calibration.count))
    low, high = wilson_interval(observed, count)
    ax = chart_axes(ax, (4.8, 4.6))
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2)
    ax.errorbar(predicted, observed, yerr=[observed - low, high - observed], **_BARS)
    start = min(0.5, float(low.min(initial=0.5)))  # predictions are of the closer pair
    ax.set(xlim=(start - 0.02, 1.02), ylim=(start - 0.02, 1.02), aspect="equal")
    ax.set(xlabel="Predicted probability", ylabel="Observed frequency")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    note = f"{count.sum():,.0f} answers\ncalibration error {calibration.ece:.3f}"
    ax.text(0.04, 0.96, note, transform=ax.transAxes, va="top", fontsize=9, color="#374151")
    return ax


def plot_learning_curve(
    curve: Any, *, ceiling: float | tuple[float, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw accuracy against the number of comparisons, measured and extrapolated.

    Parameters
    ----------
    curve : mapping of columns, data frame, or object with ``to_dict()``
        Columns ``n_comparisons`` and ``accuracy``; optionally ``low`` and ``high`` (an interval, drawn as a band)
        and ``extrapolated`` (bool: drawn as a dashed line).
    ceiling
        As in `plot_dimensions`.
    """
    table = columns(curve, "curve", ("n_comparisons", "accuracy"), ("low", "high", "extrapolated"))
    order = np.argsort(table["n_comparisons"], kind="stable")
    table = {name: column[order] for name, column in table.items()}
    xs, ys = table["n_comparisons"], table["accuracy"]
    measured = table.get("extrapolated", np.zeros(len(xs))) == 0
    ax = chart_axes(ax)
    if "low" in table and "high" in table:
        ax.fill_between(xs, table["low"], table["high"], color=PALETTE[4], alpha=0.3, linewidth=0)
    ax.plot(xs[measured], ys[measured], label="measured", **_MEASURED)
    if not measured.all():
        tail = slice(np.count_nonzero(measured) - 1, None)  # from the last measured point on
        ax.plot(xs[tail], ys[tail], "--", color=PALETTE[1], linewidth=1.7, label="extrapolated")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.set_xlabel("Comparisons")
    _show_accuracy(ax, ceiling)
    return ax


def _show_accuracy(ax: Axes, ceiling: float | tuple[float, float] | None) -> None:
    """Format the vertical axis as accuracies; draw the noise ceiling, and a legend of what is named."""
    if isinstance(ceiling, tuple) and ceiling[0] < ceiling[1]:
        ax.axhspan(*ceiling, color=PALETTE[2], alpha=0.16, linewidth=0, label="noise ceiling")
    elif ceiling is not None:
        ax.axhline(np.max(ceiling), color=GREY, linestyle="--", linewidth=1.2, label="noise ceiling")
    ax.set_ylabel("Held-out answers satisfied")
    ax.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, ncols=3, frameon=False)


def plot_alignment(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the share of answers that each model predicts, with 95 % intervals by question, chance and noise ceiling.

    Parameters
    ----------
    found : Alignment
        Result of `nearer.alignment.align`.
    """
    scores = sorted(found.scores, key=lambda score: score.accuracy)
    accuracy = np.array([score.accuracy for score in scores])
    bounds = np.abs(np.array([score.by_question for score in scores]).T - accuracy)
    ax = chart_axes(ax, (6.4, 1.4 + 0.42 * len(scores)))
    if found.ceiling is not None:
        ax.axvspan(found.ceiling_low, found.ceiling, color=GREY, alpha=0.2, linewidth=0, label="Noise ceiling")
    ax.axvline(found.chance, color=GREY, linestyle="--", linewidth=1.2, label="Guessing")
    ax.barh(range(len(scores)), accuracy, xerr=bounds, color=PALETTE[0], height=0.6, ecolor="black", capsize=3)
    ax.set_yticks(range(len(scores)))
    names = [literal(tick, shorten(score.name, 40)) for tick, score in zip(ax.get_yticklabels(), scores)]
    ax.set_yticklabels([name.get_text() for name in names])
    ax.set(xlabel="Answers predicted", xlim=(0, 1))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax
