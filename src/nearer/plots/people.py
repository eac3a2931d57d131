"""How much the axes of a map count for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nearer.plots.figure import GREY, chart_axes, literal, literal_legend
from nearer.reporting.display import PALETTE, clean_text

__all__ = ["plot_weights"]

_NAMED = 30  # with more people than this, their names would cover each other


def plot_weights(
    model: Any, *, axes: tuple[int, int] = (0, 1), groups: Mapping[Any, Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the weights of two axes of an individual map, a point for each person; 1 on both is the group.

    Parameters
    ----------
    model : IndividualEmbedding
        Fitted.
    axes : (int, int)
        Which axes, counted from 0. For a map of one axis, people stand side by side.
    groups : mapping of participant to group, optional
        For the colour.
    ax : Axes, optional
        Where to draw; a new figure when None.

    Returns
    -------
    Axes
    """
    weights, names = np.asarray(model.weights_), [str(name) for name in model.participants_.tolist()]
    one = weights.shape[1] == 1
    if not one and not all(0 <= axis < weights.shape[1] for axis in axes):
        raise ValueError(f"axes: got {axes}, expected two numbers from 0 to {weights.shape[1] - 1}")
    x = np.arange(len(names), dtype=float) if one else weights[:, axes[0]]
    y = weights[:, 0 if one else axes[1]]
    ax = chart_axes(ax)
    if not one:
        ax.axvline(1.0, color=GREY, linewidth=0.8, zorder=0)
    ax.axhline(1.0, color=GREY, linewidth=0.8, zorder=0)
    of = {str(name): str(group) for name, group in (groups or {}).items()}
    kinds = sorted({of.get(name, "") for name in names})
    handles = []
    for number, kind in enumerate(kinds):
        own = np.array([of.get(name, "") == kind for name in names])
        colour = PALETTE[number % len(PALETTE)]
        handles.append(ax.scatter(x[own], y[own], s=28, color=colour, edgecolor="white", linewidth=0.5))
    if len(names) <= _NAMED:
        for name, a, b in zip(names, x, y):
            text = ax.annotate("", (a, b), xytext=(4, 3), textcoords="offset points", fontsize=8)
            literal(text, clean_text(name))
    ax.set_xlabel("Person" if one else f"Weight of axis {axes[0] + 1}")
    ax.set_ylabel("Weight of the axis" if one else f"Weight of axis {axes[1] + 1}")
    if len(kinds) > 1:
        literal_legend(ax, handles, [kind or "others" for kind in kinds])
    return ax
