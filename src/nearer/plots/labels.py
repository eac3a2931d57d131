"""Labels of a map, placed without overlaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from scipy.spatial import cKDTree

from nearer.display import shorten
from nearer.plots.figure import GREY, literal

# Directions tried for labels next to a point, at the end of a leader line, and on a strip.
_NEAR = np.deg2rad([0, 180, 90, 270, 35, 145, 215, 325])
_FAR = np.deg2rad(np.arange(0, 360, 30))
_STRIP = np.deg2rad([90, 270, 70, 110, 250, 290])
_FULL_AFTER = 100  # consecutive labels without room
_MAX_LABEL = 32  # characters


class LabelBox(NamedTuple):
    """A placed label: its point, its box (x0, y0, x1, y1), and the end of its leader line, if any."""

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
) -> list[LabelBox]:
    """Place labels next to points (n, 2), isolated points first; no box overlaps a point, a line or another box.

    Positions are in pixels; `measure` returns the width and height of a label, (0, 0) for none. On a `strip` all
    points are on a horizontal line: labels are above or below it, and leader lines may be long.
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
        if failures >= _FULL_AFTER:
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
    """Which boxes (n, 4), or points (n, 2), are closer to a box than the gap."""
    return np.all((others[:, :2] < box[2:] + gap) & (others[:, -2:] > box[:2] - gap), axis=1)


def _leader_path(point: np.ndarray, box: np.ndarray, radius: float) -> np.ndarray:
    """Points every two pixels from the edge of the marker to the nearest point of the box."""
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
    """The labels of a map and the note below it, placed at each draw; `shown` lists the labelled points."""

    def __init__(
        self, ax: Axes, positions: np.ndarray, texts: Sequence[str], marker_radius: float, fontsize: float, strip: bool,
        notes: Sequence[str],
    ) -> None:  # fmt: skip
        super().__init__()
        self.set_zorder(6)
        self._ax, self._positions = ax, positions
        self._labels = [shorten(text, _MAX_LABEL) for text in texts]
        self._marker_radius, self._fontsize, self._strip, self._notes = marker_radius, fontsize, strip, notes
        self._texts: dict[int, Text] = {}
        self.shown: list[int] = []
        ax.add_artist(self)
        below_the_name = ("axes fraction", ax.xaxis.label)
        self.note = ax.annotate(  # drawn after the labels; the empty line is for the number of those without room
            "\n".join([*notes, " "]), (0, 0), (0, -2), xycoords=below_the_name, textcoords="offset points", va="top",
            fontsize=fontsize, color=GREY, zorder=7,
        )  # fmt: skip

    def draw(self, renderer) -> None:
        if self._labels:
            hidden = len(self._labels) - self._draw_labels(renderer, self._ax.get_window_extent(renderer))
            last = f"{hidden:,} of {len(self._labels):,} labels not shown: no room" if hidden else " "
            self.note.set_text("\n".join([*self._notes, last]))
        self.stale = False

    def _draw_labels(self, renderer, box: Bbox) -> int:
        points = self._ax.transData.transform(self._positions)
        unit = self._ax.figure.dpi / 72  # pixels per point

        def measure(index: int) -> tuple[float, float]:
            if not self._labels[index].strip():
                return 0.0, 0.0
            extent = self._text(index).get_window_extent(renderer)
            return extent.width + 2 * unit, extent.height + unit

        bounds = (box.x0 + unit, box.y0 + unit, box.x1 - unit, box.y1 - unit)
        radius = max(self._marker_radius, 2.0) * unit
        placed = arrange_labels(points, measure, bounds, radius=radius, strip=self._strip)
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
