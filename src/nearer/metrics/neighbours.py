"""Nearest neighbours on a map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from nearer.data import check_integer
from nearer.metrics.comparison import check_points


def nearest_neighbours(embedding: ArrayLike, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Find the k objects nearest to each object of a map (n, d): their numbers and distances, each (n, m).

    The nearest come first, ties by the lower number; m is k, or less if there are fewer objects. Objects
    without a position (NaN) are nobody's neighbours; their own are -1, at distance NaN.
    """
    points = check_points(embedding)
    k = check_integer(k, "k", 1)
    placed = np.flatnonzero(np.isfinite(points).all(axis=1))
    m = max(min(k, len(placed) - 1), 0)
    neighbours, distances = np.full((len(points), m), -1), np.full((len(points), m), np.nan)
    if not m:
        return neighbours, distances
    # One more than asked for: an object is among its own nearest, or as near as any that coincides with it.
    far, who = cKDTree(points[placed]).query(points[placed], k=m + 1)
    own = who == np.arange(len(placed))[:, None]
    own[~own.any(axis=1), -1] = True
    far, who = far[~own].reshape(-1, m), who[~own].reshape(-1, m)
    order = np.lexsort((who, far), axis=1)
    neighbours[placed] = placed[np.take_along_axis(who, order, axis=1)]
    distances[placed] = np.take_along_axis(far, order, axis=1)
    return neighbours, distances
