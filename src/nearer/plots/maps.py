"""Maps: objects as points with labels, groups and confidence regions; weights of the axes by participant."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnchoredOffsetbox, AnnotationBbox, DrawingArea, OffsetImage
from matplotlib.text import Text
from PIL import Image
from scipy.special import ndtri

from nearer.display import N_SHAPES, PALETTE, group_codes, label_texts, merge_small_groups, shorten
from nearer.metrics import spread_shares
from nearer.plots.figure import GREY, chart_axes, literal, new_axes
from nearer.plots.labels import LabelLayer

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")[:N_SHAPES]
_NAMED = 30  # people; more names would overlap
_PICTURE = 34.0  # points, the longer side
# Three dimensions as the report first shows them, turned by 0.5 and then by 0.35: rows across, up, towards the viewer.
_TURN = (math.cos(0.5), math.sin(0.5)), (math.cos(0.35), math.sin(0.35))
_VIEW = np.array([
    [_TURN[0][0], 0.0, _TURN[0][1]],
    [_TURN[1][1] * _TURN[0][1], _TURN[1][0], -_TURN[1][1] * _TURN[0][0]],
    [-_TURN[1][0] * _TURN[0][1], _TURN[1][1], _TURN[1][0] * _TURN[0][0]],
])  # fmt: skip


def plot_map(
    embedding: Any,
    labels: Sequence | np.ndarray | None = None,
    groups: Sequence | np.ndarray | None = None,
    covariances: np.ndarray | None = None,
    *,
    level: float = 0.9,
    axes: tuple[int, int] | None = None,
    title: str | None = None,
    size: tuple[float, float] | None = None,
    font_size: float = 8.0,
    images: Sequence[str | os.PathLike | None] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map, one point per object.

    Parameters
    ----------
    embedding : array (n_objects, n_components), or fitted estimator
        Positions; rows of NaN are omitted and counted in a note. One column is drawn as a strip, three are seen from
        an angle as in the report: what is nearer is larger.
    labels : sequence (n_objects,), optional
        Drawn verbatim next to the points, without overlaps; labels that do not fit are counted in a note. Default:
        the labels of the estimator.
    groups : sequence (n_objects,), optional
        Shown by colour and marker; None, NaN and "" mean no group. Beyond 56, the smallest are merged.
    covariances : array (n_objects, n_components, n_components), optional
        Covariances of the positions, drawn as normal regions; NaN: none.
    level : float
        Probability of the regions.
    axes : tuple of two ints, optional
        The columns to show when there are more than two. Default: all of three, else the first two.
    size : tuple of two floats, optional
        Width and height of a new figure in inches; default: 6.8 wide, in proportion to the map.
    font_size : float
        Size of the labels in points.
    images : sequence (n_objects,) of paths, optional
        Pictures that Pillow reads (not SVG), framed in the colour of the group; None for an object without one.

    Returns
    -------
    Axes
        With equal aspect and no ticks: only relative distances are meaningful.
    """
    if hasattr(embedding, "embedding_"):
        labels = embedding.labels_ if labels is None else labels
        embedding = embedding.embedding_
    X = np.asarray(embedding, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"embedding: got shape {X.shape}, expected (n_objects, n_components)")
    if not 0 < level < 1:
        raise ValueError(f"level: got {level}, expected a number between 0 and 1")
    n_objects, n_components = X.shape
    is_strip, is_space = n_components == 1, n_components == 3 and axes is None
    shown = [0] if is_strip else [0, 1] if axes is None else list(axes)
    if not is_strip and (len(set(shown)) != 2 or not all(0 <= k < n_components for k in shown)):
        raise ValueError(f"axes: got {axes}, expected two different columns of 0 to {n_components - 1}")
    covariances = None if covariances is None else np.asarray(covariances, dtype=float)
    if covariances is not None and covariances.shape != (n_objects, n_components, n_components):
        expected = (n_objects, n_components, n_components)
        raise ValueError(f"covariances: got shape {covariances.shape}, expected {expected}")
    if images is not None and len(images) != n_objects:
        raise ValueError(f"images: got {len(images)}, expected {n_objects}, one for each object")
    keep = np.isfinite(X).all(axis=1)
    # Rows are directions in the space of the map: across, up, and towards the viewer.
    view = _VIEW if is_space else np.eye(n_components)[shown]
    seen = (X[keep] - (X[keep].mean(axis=0) if is_space else 0)) @ view.T
    xy = np.column_stack([seen[:, 0], np.zeros(len(seen))]) if is_strip else seen[:, :2]
    texts = [] if labels is None else [text for text, kept in zip(label_texts(labels, n_objects), keep) if kept]
    codes, names, other = np.full(n_objects, -1), list[str](), None
    if groups is not None:
        codes, names, other = merge_small_groups(*group_codes(groups, n_objects))

    width, height = 6.8, 3.4
    if not is_strip:  # roughly in proportion to the map
        across, up = np.ptp(xy, axis=0) if len(xy) else (1.0, 1.0)
        height = float(np.clip(6.4 * up / max(across, 1e-300), 4.0, 8.0))
    if groups is not None:  # room for the legend
        columns, limit = _legend_shape(len(names) + 1)
        width += columns * (0.45 + 0.075 * min(max(map(len, ["no group", *names])), limit))
    ax = new_axes(ax, (width, height) if size is None else size)
    dot = float(np.clip(9.0 - 1.6 * np.log10(max(len(xy), 1)), 2.5, 8.0))
    notes = [f"dimensions {shown[0] + 1} and {shown[1] + 1} of {n_components}"] if n_components > 2 else []
    sizes = np.full(len(xy), dot)
    if is_space:
        notes = ["three dimensions, seen from an angle: larger points are nearer"]
        depth = seen[:, 2] / (np.abs(seen[:, 2]).max(initial=0) or 1.0)
        sizes *= 1 + 0.4 * np.round(4 * depth) / 4
    if covariances is not None:
        _draw_regions(ax, xy, view[:2] @ covariances[keep] @ view[:2].T, level)
        notes.append(f"{'bars' if is_strip else 'ellipses'}: {100 * level:g} % regions")
    if not keep.all():
        notes.append(f"{(~keep).sum():,} of {n_objects:,} objects not shown: no position")
    if groups is None:
        _draw_points(ax, xy, sizes, "o", PALETTE[0])
    else:
        _draw_groups(ax, xy, codes[keep], names, other, sizes)
    if images is not None:
        colours = [PALETTE[0] if groups is None else _colour(code, other) for code in codes[keep].tolist()]
        paths = [images[row] for row in np.flatnonzero(keep).tolist()]
        order = np.argsort(sizes, kind="stable").tolist()  # in three dimensions, what is nearer hides what is not
        _draw_pictures(ax, xy[order], [paths[k] for k in order], [colours[k] for k in order])
    LabelLayer(ax, xy, texts, dot / 2, font_size, is_strip, notes)
    ax.margins(0.08)
    if is_strip:
        ax.set_ylim(-1, 1)
        ax.axhline(0, color="#d1d5db", linewidth=1, zorder=1)
        ax.spines[:].set_visible(False)
    else:
        name = "dimension" if n_components > 2 else "axis"
        held = [f"{name} {k + 1}: {100 * share:.0f} %" for k, share in enumerate(spread_shares(X))]
        across_and_up = [", ".join(held), ""] if is_space else [f"{held[k]} of the spread" for k in shown]
        for axis, text in zip((ax.xaxis, ax.yaxis), across_and_up):
            axis.set_label_text(text, color=GREY, fontsize=font_size)
        if is_space:
            _draw_directions(ax, font_size)
        ax.set_aspect("equal", adjustable="box", anchor="C" if groups is None else "W")  # legends are on the right
        ax.spines[:].set_color("#d1d5db")
    ax.set(xticks=[], yticks=[])
    if title is not None:
        literal(ax.set_title(" ", loc="left"), title)
    return ax


def ellipse_axes(covariances: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Major and minor axis of the regions of probability `level`, and direction of the major one in degrees."""
    values, vectors = np.linalg.eigh(covariances)
    # The squared radius of a bivariate normal is exponential with mean 2.
    lengths = 2 * np.sqrt(-2 * np.log1p(-level) * np.maximum(values, 0))
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    return lengths[:, 1], lengths[:, 0], angles


def _draw_regions(ax: Axes, xy: np.ndarray, covariances: np.ndarray, level: float) -> None:
    known = np.isfinite(covariances).all(axis=(1, 2))
    xy, covariances = xy[known], covariances[known]
    if covariances.shape[1] == 1:
        reach = ndtri((1 + level) / 2) * np.sqrt(covariances[:, 0, 0])
        ax.hlines(xy[:, 1], xy[:, 0] - reach, xy[:, 0] + reach, color=PALETTE[4], alpha=0.4, linewidth=4, zorder=2)
        return
    widths, heights, angles = ellipse_axes(covariances, level)
    ax.add_collection(
        EllipseCollection(
            widths, heights, angles, units="xy", offsets=xy, offset_transform=ax.transData,
            facecolor=to_rgba(PALETTE[4], 0.14), edgecolor=to_rgba(PALETTE[0], 0.45), linewidth=0.7, zorder=2,
        )
    )  # fmt: skip
    # Matplotlib ignores the collection in the axis limits: add its extreme points.
    reach = np.sqrt(-2 * np.log1p(-level) * np.diagonal(covariances, axis1=1, axis2=2))
    ax.update_datalim(np.vstack([xy - reach, xy + reach]))


def _draw_directions(ax: Axes, font_size: float) -> None:
    """Where the three dimensions point, in the lower left corner."""
    area = DrawingArea(52, 52)
    for k, direction in enumerate(_VIEW[:2].T):
        area.add_artist(Line2D(*np.column_stack([(26, 26), 26 + 17 * direction]), color=GREY, linewidth=1))
        x, y = 26 + 24 * direction
        area.add_artist(Text(x, y, str(k + 1), ha="center", va="center", color=GREY, size=font_size))
    ax.add_artist(AnchoredOffsetbox("lower left", child=area, frameon=False, pad=0.0))


def _draw_points(ax: Axes, xy: np.ndarray, sizes: np.ndarray, marker: str, colour: str) -> list[Line2D]:
    """Draw points of one kind, larger ones in front; the line of the largest is enough for a legend."""
    edge: dict[str, Any] = {"markeredgecolor": GREY if colour == PALETTE[-1] else "white", "markeredgewidth": 0.4}
    lines = []
    for size in np.unique(sizes) if len(sizes) else [1.0]:
        chosen = xy[sizes == size].T
        lines += ax.plot(*chosen, marker, color=colour, markersize=size, zorder=4, **edge)
    return lines[-1:]


def _draw_groups(
    ax: Axes, xy: np.ndarray, codes: np.ndarray, names: list[str], other: int | None, sizes: np.ndarray
) -> None:
    """Draw points by group, the code -1 for none, with a legend on the right."""
    codes_shown = [*([-1] if (codes == -1).any() else []), *range(len(names))]
    handles: list[Line2D] = []
    for code in codes_shown:
        marker = "." if code < 0 else _MARKERS[code // len(PALETTE)]
        handles += _draw_points(ax, xy[codes == code], sizes[codes == code], marker, _colour(code, other))
    columns, limit = _legend_shape(len(handles))
    legend = ax.legend(
        handles, list(map(str, codes_shown)), loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0,
        ncols=columns, fontsize=8.5, handletextpad=0.3, markerscale=max(1.0, 6 / sizes.max(initial=1.0)), frameon=False,
    )  # fmt: skip
    texts = ["no group", *names][-len(handles) :]
    for entry, text in zip(legend.get_texts(), texts):
        literal(entry, shorten(text, limit))


def _colour(code: int, other: int | None) -> str:
    """The colour of a group; grey for no group, and for the smallest ones merged."""
    return GREY if code in (-1, other) else PALETTE[code % len(PALETTE)]


def _draw_pictures(ax: Axes, xy: np.ndarray, paths: Sequence[Any], colours: Sequence[str]) -> None:
    for place, path, colour in zip(xy, paths, colours):
        if path is not None:
            with Image.open(path) as file:
                picture = OffsetImage(np.asarray(file.convert("RGB")), zoom=_PICTURE / max(file.size))
            frame = {"edgecolor": colour, "linewidth": 1.2}
            ax.add_artist(AnnotationBbox(picture, place, pad=0.05, bboxprops=frame, zorder=5))


def _legend_shape(n_entries: int) -> tuple[int, int]:
    """Columns of a legend, and length of the names in it."""
    columns = 1 + (n_entries - 1) // 28
    return columns, 32 if columns == 1 else 22


def plot_weights(
    model: Any, *, axes: tuple[int, int] = (0, 1), groups: Mapping[Any, Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the weights of two axes of a fitted `IndividualEmbedding`, one point per person; the group is at (1, 1).

    Parameters
    ----------
    axes : (int, int)
        The axes, counted from 0.
    groups : mapping of participant to group, optional
        Shown by colour and marker.
    """
    people, n_axes = model.participants_.tolist(), model.weights_.shape[1]
    if not all(0 <= axis < n_axes for axis in axes):
        raise ValueError(f"axes: got {axes}, expected two numbers from 0 to {n_axes - 1}")
    xy = model.weights_[:, list(axes)]
    ax = chart_axes(ax)
    ax.axvline(1.0, color=GREY, linewidth=0.8, zorder=0)
    ax.axhline(1.0, color=GREY, linewidth=0.8, zorder=0)
    if groups is None:
        ax.plot(*xy.T, "o", color=PALETTE[0], markeredgecolor="white", mew=0.5)
    else:
        sizes = np.full(len(people), 6.0)
        _draw_groups(ax, xy, *group_codes([groups.get(name) for name in people], len(people)), None, sizes)
    if len(people) <= _NAMED:
        for name, place in zip(people, xy):
            literal(ax.annotate("", place, xytext=(4, 3), textcoords="offset points", fontsize=8), name)
    ax.set(xlabel=f"Weight of axis {axes[0] + 1}", ylabel=f"Weight of axis {axes[1] + 1}")
    return ax
