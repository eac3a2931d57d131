"""Maps: objects as points with labels, groups and confidence regions; weights of the axes by participant."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image

from nearer.display import N_SHAPES, PALETTE, group_codes, label_texts, merge_small_groups, shorten_apart
from nearer.metrics import spread_shares
from nearer.plots.figure import GREY, chart_axes, literal, literal_legend, new_axes
from nearer.plots.labels import LabelLayer

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")[:N_SHAPES]
_NAMED = 30  # people; more names would overlap
_PICTURE = 34.0  # points, the longer side


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
    images: Sequence[str | os.PathLike | None] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map, one point per object.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; rows of NaN are omitted and counted in a note. One column is drawn as a strip.
    labels : sequence (n_objects,), optional
        Drawn verbatim next to the points, without overlaps; labels that do not fit are counted in a note.
    groups : sequence (n_objects,), optional
        Shown by colour and marker; None, NaN and "" mean no group. Beyond 56, the smallest are merged.
    covariances : array (n_objects, n_components, n_components) or (n_objects, 2, 2), optional
        Covariances of the positions, or of the two columns shown, drawn as normal regions; NaN: none.
    level : float
        Probability of the regions.
    axes : tuple of two ints
        The columns to show when there are more than two.
    max_labels : int, optional
        Largest number of labels; default: as many as fit.
    size : tuple of two floats, optional
        Width and height of a new figure in inches; default: 6.8 wide, in proportion to the map.
    font_size : float
        Size of the labels in points.
    images : sequence (n_objects,) of paths, optional
        Pictures, framed in the colour of the group; None for an object without one.

    Returns
    -------
    Axes
        With equal aspect and no ticks: only relative distances are meaningful.
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

    width, height = 6.8, 3.4
    if n_components > 1:  # roughly in proportion to the map
        across, up = np.ptp(xy, axis=0) if len(xy) else (1.0, 1.0)
        height = float(np.clip(6.4 * up / max(across, 1e-300), 4.0, 8.0))
    grouped = None if groups is None else merge_small_groups(*group_codes(groups, n_objects))
    if grouped is not None:  # room for the legend
        columns, limit = _legend_shape(len(grouped[1]) + 1)
        longest = max(map(len, ["no group", *grouped[1]]))
        width += columns * (0.45 + 0.075 * min(longest, limit))
    ax = new_axes(ax, (width, height) if size is None else size)
    dot = float(np.clip(9.0 - 1.6 * np.log10(max(len(xy), 1)), 2.5, 8.0))
    if regions is not None:
        _draw_regions(ax, xy, regions[keep], level)
    if grouped is None:
        ax.plot(xy[:, 0], xy[:, 1], "o", color=PALETTE[0], markersize=dot, markeredgecolor="white", mew=0.4, zorder=4)
    else:
        codes, names, other = grouped
        _draw_groups(ax, xy, codes[keep], names, other, dot)
    if images is not None:
        if len(images) != n_objects:
            raise ValueError(f"images: got {len(images)}, expected {n_objects}, one for each object")
        codes = np.zeros(n_objects, int) if grouped is None else np.where(grouped[0] == grouped[2], -1, grouped[0])
        _draw_pictures(ax, xy, [images[row] for row in np.flatnonzero(keep).tolist()], codes[keep])
    notes = [f"{(~keep).sum():,} of {n_objects:,} objects not shown: no position"] if not keep.all() else []
    if regions is not None:
        notes.insert(0, f"{'bars' if n_components == 1 else 'ellipses'}: {100 * level:g} % regions")
    if n_components > 2:
        notes.insert(0, f"dimensions {shown[0] + 1} and {shown[1] + 1} of {n_components}")
    most = len(xy) if max_labels is None else max_labels
    labels_shown = [text for text, kept in zip(texts, keep) if kept]
    LabelLayer(ax, xy, labels_shown, dot / 2, font_size, most, n_components == 1, notes)
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
        ax.set_aspect("equal", adjustable="box", anchor="C" if grouped is None else "W")  # legends are on the right
        for spine in ax.spines.values():
            spine.set_color("#d1d5db")
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


def _regions(covariances: np.ndarray, shape: tuple[int, int], axes: list[int]) -> np.ndarray:
    """Validated covariances of the columns shown."""
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
    # Matplotlib ignores the collection in the axis limits: add its extreme points.
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


def _draw_pictures(ax: Axes, xy: np.ndarray, paths: Sequence[Any], codes: np.ndarray) -> None:
    for place, path, code in zip(xy, paths, codes):
        if path is not None:
            with Image.open(path) as file:
                picture = OffsetImage(np.asarray(file.convert("RGB")), zoom=_PICTURE / max(file.size))
            colour = GREY if code < 0 else PALETTE[code % len(PALETTE)]
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
        The axes, counted from 0. With a single axis, people are drawn side by side.
    groups : mapping of participant to group, optional
        Shown by colour.
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
