"""The map itself: objects as points, with labels, groups and regions of uncertainty; and its axes for each person."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from PIL import Image
from scipy.spatial import cKDTree

from nearer.metrics import spread_shares
from nearer.plots.figure import GREY, chart_axes, literal, literal_legend, new_axes
from nearer.reports.display import N_SHAPES, PALETTE, group_codes, label_texts, merge_small_groups, shorten_apart

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")[:N_SHAPES]
_NAMED = 30  # people; names of more would cover each other
_NEAR = np.deg2rad([0, 180, 90, 270, 35, 145, 215, 325])
_FAR = np.deg2rad(np.arange(0, 360, 30))
_STRIP = np.deg2rad([90, 270, 70, 110, 250, 290])
_FULL_AFTER = 100
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
    """Draw a map: one point per object, nearness as on paper.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; rows of NaN are left out and counted in a note. One column gives a strip.
    labels : sequence (n_objects,), optional
        Shown verbatim beside the points, without collisions; those without room are counted in a note.
    groups : sequence (n_objects,), optional
        Colours and markers, with a legend; None, NaN and "" mean "no group". Beyond 56, the smallest are "other".
    covariances : array (n_objects, n_components, n_components) or (n_objects, 2, 2), optional
        Of each position, or of the two columns shown; drawn as normal regions. Rows of NaN draw nothing.
    level : float
        Probability of the regions.
    axes : tuple of two ints
        The columns to show when there are more than two.
    max_labels : int, optional
        At most this many labels; as many as there is room for when None.
    size : tuple of two floats, optional
        Width and height of a new figure in inches; by default the shape of the map, 6.8 inches wide.
    font_size : float
        Of the labels, in points.
    images : sequence (n_objects,) of paths, optional
        Pictures, framed in the colour of the group; None for an object without one.

    Returns
    -------
    Axes
        With equal aspect and without ticks: only relative distances have a meaning.
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
    if n_components > 1:  # about the shape of the map
        across, up = np.ptp(xy, axis=0) if len(xy) else (1.0, 1.0)
        height = float(np.clip(6.4 * up / max(across, 1e-300), 4.0, 8.0))
    grouped = None if groups is None else merge_small_groups(*group_codes(groups, n_objects))
    if grouped is not None:  # about the width of the legend
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
        _draw_pictures(ax, xy, [images[row] for row in np.flatnonzero(keep)], codes[keep])
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
        ax.set_aspect("equal", adjustable="box", anchor="C" if grouped is None else "W")  # a legend stands to the right
        for spine in ax.spines.values():
            spine.set_color("#d1d5db")
    ax.set(xticks=[], yticks=[])
    if title is not None:
        literal(ax.set_title(" ", loc="left"), title)
    return ax


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


def _draw_pictures(ax: Axes, xy: np.ndarray, paths: Sequence[Any], codes: np.ndarray) -> None:
    for place, path, code in zip(xy, paths, codes):
        if path is not None:
            with Image.open(path) as file:
                picture = OffsetImage(np.asarray(file.convert("RGB")), zoom=_PICTURE / max(file.size))
            colour = GREY if code < 0 else PALETTE[code % len(PALETTE)]
            frame = {"edgecolor": colour, "linewidth": 1.2}
            ax.add_artist(AnnotationBbox(picture, place, pad=0.05, bboxprops=frame, zorder=5))


def _legend_shape(n_entries: int) -> tuple[int, int]:
    """Columns of a legend, and letters of a name in it."""
    columns = 1 + (n_entries - 1) // 28
    return columns, 32 if columns == 1 else 22


def plot_weights(
    model: Any, *, axes: tuple[int, int] = (0, 1), groups: Mapping[Any, Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the weights of two axes of a fitted `IndividualEmbedding`, a point for each person; 1 on both is the group.

    Parameters
    ----------
    axes : (int, int)
        Which axes, counted from 0. For a map of one axis, people stand side by side.
    groups : mapping of participant to group, optional
        For the colour.
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


class LabelBox(NamedTuple):
    """Where one label stands: point, box (x0, y0, x1, y1), and the end of the leader line (None without one)."""

    item: int
    box: tuple[float, float, float, float]
    leader: tuple[float, float] | None


def arrange_labels(
    points: np.ndarray,
    measure: Callable[[int], tuple[float, float]],
    bounds: tuple[float, float, float, float],
    *,
    radius: float,
    strip: bool = False,
    max_labels: int = 200,
) -> list[LabelBox]:
    """Place boxes beside points (n, 2), isolated ones first, so that none meets a point, a line, a box or the bounds.

    Positions are pixels; `measure` gives width and height of a label, (0, 0) for none. On a `strip` the points lie on a
    horizontal line: labels keep off it, and leader lines may be long.
    """
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    inside = np.all((points >= low) & (points <= high), axis=1)
    spacing = cKDTree(points).query(points, k=2)[0][:, 1] if len(points) > 1 else np.zeros(len(points))
    steps = radius * np.array([1.6, *(np.arange(4.5, 35, 5.0) if strip else (4.0, 7.5, 11.0))])
    rings = [_STRIP] * len(steps) if strip else [_NEAR, *[_FAR] * (len(steps) - 1)]
    candidates = [(step, angle) for step, ring in zip(steps, rings) for angle in ring]  # in order of preference
    boxes, leaders = np.empty((0, 4)), np.empty((0, 2))
    placed: list[LabelBox] = []
    failures = 0
    for index in np.argsort(-spacing, kind="stable"):
        if len(placed) >= max_labels or failures >= _FULL_AFTER:
            break
        size = np.array(measure(int(index))) if inside[index] else np.zeros(2)
        if not size.all():
            continue
        point = points[index]
        near = points[(np.abs(points - point) <= size + steps[-1] + 2 * radius).all(axis=1)]
        for step, angle in candidates:
            centre = point + np.array([np.cos(angle), np.sin(angle)]) * (step + size / 2)
            box = np.concatenate([centre - size / 2, centre + size / 2])
            if (box[:2] < low).any() or (box[2:] > high).any():
                continue
            if any(_met(box, *obstacles).any() for obstacles in ((boxes, 1), (near, radius), (leaders, 1))):
                continue
            path = _leader_path(point, box, radius) if step > steps[0] else np.empty((0, 2))
            if len(path) and not _leader_is_free(path, point, near[:0] if strip else near, boxes, leaders, radius):
                continue
            placed.append(LabelBox(int(index), tuple(box.tolist()), tuple(path[-1].tolist()) if len(path) else None))
            boxes, leaders = np.vstack([boxes, box]), np.vstack([leaders, path])
            failures = 0
            break
        else:
            failures += 1
    return placed


def _met(box: np.ndarray, others: np.ndarray, gap: float) -> np.ndarray:
    """Which boxes (n, 4), or points (n, 2), are nearer to a box than the gap."""
    return np.all((others[:, :2] < box[2:] + gap) & (others[:, -2:] > box[:2] - gap), axis=1)


def _leader_path(point: np.ndarray, box: np.ndarray, radius: float) -> np.ndarray:
    """Points every two pixels along the line from the marker's rim to the nearest point of the box."""
    end = np.clip(point, box[:2], box[2:])
    length = float(np.hypot(*(end - point)))
    start = point + (end - point) * min(1.0, radius / max(length, 1e-9))
    return start + np.linspace(0, 1, max(2, int(length / 2)))[:, None] * (end - start)


def _leader_is_free(
    path: np.ndarray, point: np.ndarray, near: np.ndarray, boxes: np.ndarray, leaders: np.ndarray, radius: float
) -> bool:
    others = near[(near != point).any(axis=1)]
    around = np.concatenate([path.min(axis=0), path.max(axis=0)])
    for obstacle, margin in ((others, radius + 1.0), (leaders, 2.5)):
        obstacle = obstacle[_met(around, obstacle, margin)]
        if len(obstacle) and np.min(np.abs(path[:, None] - obstacle[None]).max(axis=2)) < margin:
            return False
    return not any(_met(box, path[:-1], 1).any() for box in boxes[_met(around, boxes, 1)])


class LabelLayer(Artist):
    """The labels of a map and the note below it, placed anew at each draw; `shown` are the points labelled then."""

    def __init__(
        self, ax: Axes, positions: np.ndarray, texts: Sequence[str], marker_radius: float, fontsize: float,
        max_labels: int, strip: bool, notes: Sequence[str],
    ) -> None:  # fmt: skip
        super().__init__()
        self.set_zorder(6)
        self._ax, self._positions, self._labels = ax, positions, shorten_apart(texts, 32)
        self._marker_radius, self._fontsize = marker_radius, fontsize
        self._max_labels, self._strip, self._notes = max_labels, strip, list(notes)
        self._texts: dict[int, Text] = {}
        self.note = Text(0, 0, "", fontsize=fontsize, va="top", color=GREY, parse_math=False)
        self.shown: list[int] = []
        ax.add_artist(self)
        self.set_clip_on(False)  # a clipped artist gets no room from the layout, and the note is outside
        self.note.set_figure(ax.figure)
        self.note.set_transform(IdentityTransform())

    def get_tightbbox(self, renderer=None) -> Bbox:
        """Room that a layout must leave: the Axes and the note below."""
        box = self._ax.get_window_extent(renderer)
        lines = len(self._notes) + bool(self._labels)
        height = lines * 1.5 * self._fontsize * self._pixels_per_point() + self._below(renderer)
        return Bbox.from_extents(box.x0, box.y0 - height, box.x1, box.y1)

    def _below(self, renderer) -> float:
        """Height of the axis label in pixels."""
        name = self._ax.xaxis.label
        return name.get_window_extent(renderer).height if name.get_text() else 0.0

    def draw(self, renderer) -> None:
        if not self.get_visible():
            return
        box = self._ax.get_window_extent(renderer)
        notes = list(self._notes)
        if self._labels:
            hidden = len(self._labels) - self._draw_labels(renderer, box)
            if hidden:
                notes.append(f"{hidden:,} of {len(self._labels):,} labels not shown: no room")
        self.note.set_text("\n".join(notes))
        self.note.set_position((box.x0, box.y0 - 4 * self._pixels_per_point() - self._below(renderer)))
        self.note.draw(renderer)
        self.stale = False

    def _draw_labels(self, renderer, box: Bbox) -> int:
        points = self._ax.transData.transform(self._positions)
        unit = self._pixels_per_point()

        def measure(index: int) -> tuple[float, float]:
            if not self._labels[index].strip():
                return 0.0, 0.0
            extent = self._text(index).get_window_extent(renderer)
            return extent.width + 2 * unit, extent.height + unit

        bounds = (box.x0 + unit, box.y0 + unit, box.x1 - unit, box.y1 - unit)
        radius = max(self._marker_radius, 2.0) * unit
        placed = arrange_labels(points, measure, bounds, radius=radius, strip=self._strip, max_labels=self._max_labels)
        for label in placed:
            if label.leader is not None:
                x, y = points[label.item]
                line = Line2D([x, label.leader[0]], [y, label.leader[1]], color="#9ca3af", linewidth=0.6)
                line.set_figure(self._ax.figure)
                line.draw(renderer)
            text = self._text(label.item)
            text.set_position((label.box[0] + unit, label.box[1] + unit / 2))
            text.draw(renderer)
        self.shown = [label.item for label in placed]
        return len(placed)

    def _text(self, index: int) -> Text:
        if index not in self._texts:
            text = literal(Text(0, 0, "", fontsize=self._fontsize, va="bottom", color="#1f2937"), self._labels[index])
            text.set_figure(self._ax.figure)
            text.set_transform(IdentityTransform())
            text.set_path_effects([withStroke(linewidth=2, foreground=self._ax.get_facecolor())])
            self._texts[index] = text
        return self._texts[index]

    def _pixels_per_point(self) -> float:
        return self._ax.figure.dpi / 72
