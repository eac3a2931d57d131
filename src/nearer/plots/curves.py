"""Curves: convergence, step sizes, dimensions, calibration, learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from nearer.display import PALETTE
from nearer.metrics import wilson_interval
from nearer.plots.figure import GREY, chart_axes, columns, literal_legend

_X_TITLES = {"epoch": "Epoch", "n_gradients": "Gradients of single comparisons", "seconds": "Seconds"}
_Y_TITLES = {
    "objective": "Objective",
    "grad_norm": "Norm of the gradient",
    "train_error": "Training comparisons not satisfied",
    "step_size": "Step size",
}
_DASHES = ("-", "--", "-.", ":")
_LOG_SPAN = 30.0  # ratio of values above which a logarithmic axis is the default


def plot_convergence(
    history: Any, *, x: str = "n_gradients", y: str = "objective", log: bool | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the objective of a fit, or another column of its history.

    Parameters
    ----------
    history : history, or mapping of str to history
        A mapping of columns, an object with ``to_dict()`` or a list of rows; several give several lines.
    x : {"n_gradients", "epoch", "seconds"}
        The horizontal axis.
    y : {"objective", "grad_norm", "train_error"}
        The vertical axis; rows without a value are omitted.
    log : bool, optional
        Logarithmic vertical axis; default: if the values are positive and span a factor of 30.
    """
    if x not in _X_TITLES:
        raise ValueError(f"x: got {x!r}, expected one of {', '.join(_X_TITLES)}")
    if y not in _Y_TITLES:
        raise ValueError(f"y: got {y!r}, expected one of {', '.join(_Y_TITLES)}")
    several = isinstance(history, Mapping) and not (set(history) & (set(_X_TITLES) | set(_Y_TITLES)))
    named = history if several else {"": history}
    tables = [columns(one, (x, y), f"history {name!r}" if name else "history") for name, one in named.items()]
    ax = chart_axes(ax)
    handles: list[Line2D] = []
    values = np.empty(0)
    for k, table in enumerate(tables):
        known = np.isfinite(table[x]) & np.isfinite(table[y])
        values = np.append(values, table[y][known])
        handles += ax.plot(  # colours first, then dashes, so that up to 32 lines differ
            table[x][known], table[y][known], _DASHES[k // len(PALETTE) % len(_DASHES)], linewidth=1.7, markersize=3,
            color=PALETTE[k % len(PALETTE)], marker="o" if known.sum() <= 40 else None,
        )  # fmt: skip
    if log is None:
        log = bool(len(values) and values.min() > 0 and values.max() / values.min() > _LOG_SPAN)
    if log:
        ax.set_yscale("log")
    if x == "epoch":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif x == "n_gradients":
        ax.xaxis.set_major_formatter(FuncFormatter(_short_count))
    ax.set(xlabel=_X_TITLES[x], ylabel=_Y_TITLES[y])
    if several:
        literal_legend(ax, handles, list(map(str, named)))
    return ax


def plot_step_sizes(history: Any, *, x: str = "epoch", log: bool | None = None, ax: Axes | None = None) -> Axes:
    """Draw the step size of each epoch; parameters as in `plot_convergence`."""
    return plot_convergence(history, x=x, y="step_size", log=log, ax=ax)


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
    scores : mapping of columns, object with ``to_dict()``, or list of rows
        Columns ``n_components``, ``accuracy`` and optionally ``standard_error``, drawn as bars of one standard error.
    chosen : int, optional
        The dimension to mark.
    ceiling : float or (float, float), optional
        Noise ceiling, drawn as a line, or as a band between two bounds.
    """
    table = columns(scores, ("n_components", "accuracy"), "scores")
    dims, accuracy = table["n_components"], table["accuracy"]
    order = np.argsort(dims)
    ax = chart_axes(ax)
    error = table.get("standard_error")
    ax.errorbar(
        dims[order], accuracy[order], yerr=None if error is None else error[order], color=PALETTE[0], marker="o",
        markersize=5, linewidth=1.7, capsize=3, elinewidth=1.1,
    )  # fmt: skip
    named: dict[str, Any] = {}
    if chosen is not None:
        if chosen not in dims:
            raise ValueError(f"chosen: got {chosen}, expected one of {dims.astype(int).tolist()}")
        at = accuracy[dims == chosen]
        ring = ax.plot([chosen], at, "o", markersize=13, mfc="none", mec=PALETTE[1], mew=1.8, zorder=5)
        named[f"chosen: {chosen}"] = ring[0]
    ax.set_xticks(dims[order]) if len(dims) <= 15 else ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("Dimensions")
    _show_accuracy(ax, ceiling, named)
    return ax


def plot_calibration(calibration: Any, *, ax: Axes | None = None) -> Axes:
    """Draw predicted probability against observed frequency, with 95 % Wilson intervals.

    Parameters
    ----------
    calibration : object or mapping with ``predicted``, ``observed`` and ``count``
        One entry per bin; empty bins are omitted. ``ece`` (expected calibration error) is shown if present.
    """
    ece = calibration.get("ece") if isinstance(calibration, Mapping) else getattr(calibration, "ece", None)
    table = columns(calibration, ("predicted", "observed", "count"), "calibration")
    full = table["count"] > 0
    predicted, observed, count = (table[name][full] for name in ("predicted", "observed", "count"))
    low, high = wilson_interval(observed, count)
    ax = chart_axes(ax, (4.8, 4.6))
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2)
    ax.errorbar(
        predicted, observed, yerr=[observed - low, high - observed], color=PALETTE[0], marker="o", markersize=5,
        linewidth=1.5, capsize=3, elinewidth=1.1,
    )  # fmt: skip
    # Pairs ordered near first have no predictions below one half.
    start = 0.0 if (predicted.size and predicted.min() < 0.5) else 0.5
    start = min(start, float(low.min())) if low.size else start
    ax.set(xlim=(start - 0.02, 1.02), ylim=(start - 0.02, 1.02), aspect="equal")
    ax.set(xlabel="Predicted probability", ylabel="Observed frequency")
    for axis in (ax.xaxis, ax.yaxis):
        _percent(axis)
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    note = f"{count.sum():,.0f} answers"
    if ece is not None:
        note += f"\ncalibration error {float(ece):.3f}"
    ax.text(0.04, 0.96, note, transform=ax.transAxes, va="top", fontsize=9, color="#374151")
    return ax


def plot_learning_curve(
    curve: Any, *, ceiling: float | tuple[float, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw accuracy against the number of comparisons, measured and extrapolated.

    Parameters
    ----------
    curve : mapping of columns, object with ``to_dict()``, or list of rows
        Columns ``n_comparisons`` and ``accuracy``; optionally ``low`` and ``high`` (an interval, drawn as a band)
        and ``extrapolated`` (bool: drawn as a dashed line).
    ceiling
        As in `plot_dimensions`.
    """
    table = columns(curve, ("n_comparisons", "accuracy"), "curve")
    order = np.argsort(table["n_comparisons"], kind="stable")
    table = {name: column[order] for name, column in table.items() if len(column) == len(order)}
    xs, ys = table["n_comparisons"], table["accuracy"]
    extrapolated = table.get("extrapolated", np.zeros(len(xs))).astype(bool)
    ax = chart_axes(ax)
    if "low" in table and "high" in table:
        ax.fill_between(xs, table["low"], table["high"], color=PALETTE[4], alpha=0.3, linewidth=0)
    named = {
        "measured": ax.plot(xs[~extrapolated], ys[~extrapolated], "o-", color=PALETTE[0], markersize=5, linewidth=1.7)[
            0
        ]
    }
    if extrapolated.any():
        last = np.flatnonzero(~extrapolated)[-1:]
        tail = np.concatenate([last, np.flatnonzero(extrapolated)])
        named["extrapolated"] = ax.plot(xs[tail], ys[tail], "--", color=PALETTE[1], linewidth=1.7)[0]
    ax.xaxis.set_major_formatter(FuncFormatter(_short_count))
    ax.set_xlabel("Comparisons")
    _show_accuracy(ax, ceiling, named)
    return ax


def _show_accuracy(ax: Axes, ceiling: float | tuple[float, float] | None, named: dict[str, Any]) -> None:
    """Format the vertical axis as accuracies; draw the noise ceiling and a legend of `named` artists."""
    if ceiling is not None:
        low, high = ceiling if isinstance(ceiling, tuple) else (ceiling, ceiling)
        if high > low:
            named["noise ceiling"] = ax.axhspan(low, high, color=PALETTE[2], alpha=0.16, linewidth=0)
        else:
            named["noise ceiling"] = ax.axhline(high, color=GREY, linestyle="--", linewidth=1.2)
    ax.set_ylabel("Held-out answers satisfied")
    _percent(ax.yaxis)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    if named:
        literal_legend(ax, list(named.values()), list(named))


def _short_count(value: float, _position: int | None = None) -> str:
    """12,000 as 12k, 3,500,000 as 3.5M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def _percent(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 6):g} %"))
