"""The map itself: objects as points, with labels, groups and regions of uncertainty; and its axes for each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D

from nearer.metrics import spread_shares
from nearer.plots.figure import GREY, chart_axes, literal, literal_legend, new_axes
from nearer.plots.labels import LabelLayer
from nearer.reporting.display import (
    N_SHAPES,
    PALETTE,
    group_codes,
    label_texts,
    merge_small_groups,
    shorten_apart,
)

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")[:N_SHAPES]
_NAMED = 30  # with more people than this, their names would cover each other


def plot_map(
    embedding: np.ndarray,
    labels: Sequence | np.ndarray | None = None,
    groups: Sequence | np.ndarray | None = None,
    covariances: np.ndarray | None = None,
    *,
    level: float = 0.9,
    axes: tuple[int, int] = (0, 1),
    max_labels: int | None = None,
    title: str | None = None,
    size: tuple[float, float] | None = None,
    font_size: float = 8.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map: one point per object, nearness as on paper.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; rows of NaN (objects without a position) are left out and counted in a note. One column gives
        a strip, of more than two columns `axes` are shown.
    labels : sequence (n_objects,), optional
        Shown to the letter beside the points, without collisions; those without room are counted in a note.
    groups : sequence (n_objects,), optional
        Colours and markers, with a legend; None, NaN and "" mean "no group". Beyond 56 groups the smallest are
        drawn as one, "other".
    covariances : array (n_objects, n_components, n_components) or (n_objects, 2, 2), optional
        Covariance of each position; drawn as the region that holds the object with probability `level` under a
        normal distribution. (n_objects, 2, 2) belongs to the two columns shown. Rows of NaN draw nothing.
    level : float
        Between 0 and 1.
    axes : tuple of two ints
        The columns to show when there are more than two.
    max_labels : int, optional
        At most this many labels; as many as there is room for when None.
    title : str, optional
        Shown to the letter.
    size : tuple of two floats, optional
        Width and height of a new figure in inches; by default the shape of the map, 6.8 inches wide, and room for
        the legend.
    font_size : float
        Of the labels, in points.
    ax : Axes, optional
        Where to draw; a new figure when None.

    Returns
    -------
    Axes
        With equal aspect and without ticks: only relative distances have a meaning. A notebook shows it as a picture.
    """
    X = np.asarray(embedding, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"embedding: got shape {X.shape}, expected (n_objects, n_components)")
    if not 0 < level < 1:
        raise ValueError(f"level: got {level}, expected a number between 0 and 1")
    n_objects, n_components = X.shape
    shown = [0] if n_components == 1 else list(axes)
    if n_components > 1 and (len(set(shown)) != 2 or not all(0 <= k < n_components for k in shown)):
        raise ValueError(f"axes: got {axes}, expected two different columns of 0 to {n_components - 1}")
    texts = [] if labels is None else label_texts(labels, n_objects)
    regions = None if covariances is None else _regions(covariances, X.shape, shown)
    keep = np.isfinite(X).all(axis=1)
    xy = np.column_stack([X[keep, 0], np.zeros(keep.sum())]) if n_components == 1 else X[keep][:, shown]

    width, height = _figure_size(xy) if n_components > 1 else (6.8, 3.4)
    grouped = None if groups is None else merge_small_groups(*group_codes(groups, n_objects))
    if grouped is not None:
        width += _legend_width(grouped[1])
    ax = new_axes(ax, (width, height) if size is None else size)
    dot = float(np.clip(9.0 - 1.6 * np.log10(max(len(xy), 1)), 2.5, 8.0))
    if regions is not None:
        _draw_regions(ax, xy, regions[keep], level)
    if grouped is None:
        ax.plot(xy[:, 0], xy[:, 1], "o", color=PALETTE[0], markersize=dot, markeredgecolor="white", mew=0.4, zorder=4)
    else:
        codes, names, other = grouped
        _draw_groups(ax, xy, codes[keep], names, other, dot)
    notes = [f"{(~keep).sum():,} of {n_objects:,} objects not shown: no position"] if not keep.all() else []
    if regions is not None:
        notes.insert(0, f"{'bars' if n_components == 1 else 'ellipses'}: {100 * level:g} % regions")
    if n_components > 2:
        notes.insert(0, f"dimensions {shown[0] + 1} and {shown[1] + 1} of {n_components}")
    LabelLayer(
        ax,
        xy,
        [text for text, kept in zip(texts, keep) if kept],
        marker_radius=dot / 2,
        fontsize=font_size,
        max_labels=len(xy) if max_labels is None else max_labels,
        notes=notes,
        strip=n_components == 1,
    )
    ax.margins(0.08)
    if n_components == 1:
        ax.set_ylim(-1, 1)
        ax.axhline(0, color="#d1d5db", linewidth=1, zorder=1)
        ax.spines[:].set_visible(False)
    else:
        shares = spread_shares(X)
        for name, k in zip(("x", "y"), shown):
            text = f"{'dimension' if n_components > 2 else 'axis'} {k + 1}: {100 * shares[k]:.0f} % of the spread"
            ax.set(**{f"{name}label": text})
            getattr(ax, f"{name}axis").label.set(color=GREY, fontsize=font_size)
        ax.set_aspect("equal", adjustable="box", anchor="C" if grouped is None else "W")  # a legend stands to the right
        for spine in ax.spines.values():
            spine.set_color("#d1d5db")
    ax.set(xticks=[], yticks=[])
    if title is not None:
        literal(ax.set_title(" ", loc="left"), title)
    return ax


def _figure_size(xy: np.ndarray) -> tuple[float, float]:
    """Inches for a new figure: about the shape of the map."""
    width, height = np.ptp(xy, axis=0) if len(xy) else (1.0, 1.0)
    return 6.8, float(np.clip(6.4 * height / max(width, 1e-300), 4.0, 8.0))


def ellipse_axes(covariances: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Longer and shorter axis of the regions of probability `level`, and direction of the longer in degrees."""
    values, vectors = np.linalg.eigh(covariances)
    # The squared radius of a bivariate normal is exponential with mean 2.
    lengths = 2 * np.sqrt(-2 * np.log1p(-level) * np.maximum(values, 0))
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    return lengths[:, 1], lengths[:, 0], angles


def _regions(covariances: np.ndarray, shape: tuple[int, int], axes: list[int]) -> np.ndarray:
    """The covariances of the columns shown, checked."""
    C = np.asarray(covariances, dtype=float)
    n, d = shape
    if C.shape == (n, d, d):
        C = C[:, axes][:, :, axes]
    elif C.shape != (n, 2, 2) or d < 2:
        raise ValueError(f"covariances: got shape {C.shape}, expected ({n}, {d}, {d})")
    known = np.isfinite(C).all(axis=(1, 2))
    bad = np.zeros(n, dtype=bool)
    bad[known] = np.abs(C[known] - C[known].transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-8 * np.abs(C[known]).max((1, 2))
    bad[known] |= np.linalg.eigvalsh(C[known])[:, 0] < -1e-8 * np.abs(C[known]).max(axis=(1, 2))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"covariances: got {C[row].tolist()} for object {row}, expected a covariance matrix")
    return C


def _draw_regions(ax: Axes, xy: np.ndarray, covariances: np.ndarray, level: float) -> None:
    known = np.isfinite(covariances).all(axis=(1, 2))
    xy, covariances = xy[known], covariances[known]
    if covariances.shape[1] == 1:
        from scipy.stats import norm

        reach = norm.ppf((1 + level) / 2) * np.sqrt(covariances[:, 0, 0])
        ax.hlines(xy[:, 1], xy[:, 0] - reach, xy[:, 0] + reach, color=PALETTE[4], alpha=0.4, linewidth=4, zorder=2)
        return
    widths, heights, angles = ellipse_axes(covariances, level)
    ax.add_collection(
        EllipseCollection(
            widths, heights, angles, units="xy", offsets=xy, offset_transform=ax.transData,
            facecolor=to_rgba(PALETTE[4], 0.14), edgecolor=to_rgba(PALETTE[0], 0.45), linewidth=0.7, zorder=2,
        )
    )  # fmt: skip
    # The collection does not count for the limits; its extreme points do.
    reach = np.sqrt(-2 * np.log1p(-level) * np.diagonal(covariances, axis1=1, axis2=2))
    ax.update_datalim(np.vstack([xy - reach, xy + reach]))


def _draw_groups(ax: Axes, xy: np.ndarray, codes: np.ndarray, names: list[str], other: int | None, size: float) -> None:
    handles: list[Line2D] = []
    for code in range(-1, len(names)):
        member = codes == code
        if code < 0 and not member.any():
            continue
        colour = GREY if code < 0 or code == other else PALETTE[code % len(PALETTE)]
        marker = "." if code < 0 else _MARKERS[code // len(PALETTE)]
        handles += ax.plot(
            xy[member, 0], xy[member, 1], marker, color=colour, markersize=size,
            markeredgecolor=GREY if colour == PALETTE[-1] else "white", markeredgewidth=0.4, zorder=4,
        )  # fmt: skip
    texts = (["no group"] if len(handles) > len(names) else []) + names
    columns, limit = _legend_shape(len(texts))
    literal_legend(
        ax, handles, shorten_apart(texts, limit),
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, ncols=columns, fontsize=8.5,
        handletextpad=0.3, markerscale=max(1.0, 6 / size),
    )  # fmt: skip


def _legend_shape(n_entries: int) -> tuple[int, int]:
    """Columns of a legend, and letters of a name in it."""
    columns = 1 + (n_entries - 1) // 28
    return columns, 32 if columns == 1 else 22


def _legend_width(names: list[str]) -> float:
    """Inches that a legend takes up beside the map, about."""
    columns, limit = _legend_shape(len(names) + 1)
    longest = min(max((len(name) for name in names), default=0), limit)
    return columns * (0.45 + 0.075 * max(longest, len("no group")))


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
            literal(text, name)
    ax.set_xlabel("Person" if one else f"Weight of axis {axes[0] + 1}")
    ax.set_ylabel("Weight of the axis" if one else f"Weight of axis {axes[1] + 1}")
    if len(kinds) > 1:
        literal_legend(ax, handles, [kind or "others" for kind in kinds])
    return ax
