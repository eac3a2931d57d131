"""The comparisons that a map violates worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearer.data.rules import group
from nearer.reporting.display import label_texts

_CHUNK = 1_000_000


@dataclass(frozen=True)
class Violation:
    """One answer that the map contradicts.

    Attributes
    ----------
    objects : tuple of str
        (anchor, near, far), or (i, j, l, k) for "i and j are nearer to each other than l and k".
    near, far : float
        The two distances on the map; the answer asks for near < far.
    weight : float
        How often (or with what weight) this answer was given.
    """

    objects: tuple[str, ...]
    near: float
    far: float
    weight: float


@dataclass(frozen=True)
class Violations:
    """The worst violations and how many there are in all.

    Attributes
    ----------
    worst : tuple of Violation
        Largest difference of distances first; equal answers are one entry with their weights summed.
    n_violated, n_answers : float
        Answers violated (ties included), and answers whose objects all have a position. A row with a whole-number
        weight w counts as w answers; with other weights every row is one.
    n_unplaced : float
        Answers left out because an object has no position.
    share : float, optional
        Part of the answers violated by weight, where weights are no counts.
    """

    worst: tuple[Violation, ...]
    n_violated: float
    n_answers: float
    n_unplaced: float
    share: float | None = None


def worst_violations(
    embedding: np.ndarray,
    index: np.ndarray,
    weights: np.ndarray | None = None,
    labels: Sequence | np.ndarray | None = None,
    limit: int = 20,
) -> Violations:
    """Find the answers that a map contradicts most.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; NaN for objects without one.
    index : int array (N, 3) or (N, 4)
        Rows (anchor, near, far), or (i, j, l, k) for d(i, j) < d(l, k).
    weights : array (N,), optional
        Weight of each row, 1 by default.
    labels : sequence (n_objects,), optional
        Names; the numbers of the objects by default.
    limit : int
        Return at most this many.

    Returns
    -------
    Violations
    """
    X = np.asarray(embedding, dtype=float)
    index = np.asarray(index)
    if index.ndim != 2 or index.shape[1] not in (3, 4):
        raise ValueError(f"index: got shape {index.shape}, expected (N, 3) or (N, 4)")
    if len(index) and (index.min() < 0 or index.max() >= len(X)):
        raise ValueError(f"index: got objects {index.min()} to {index.max()}, expected 0 to {len(X) - 1}")
    names = label_texts(labels, len(X))
    others = index[:, [0, 2]] if index.shape[1] == 3 else index[:, 2:]
    near, far = _distances(X, index[:, :2]), _distances(X, others)
    placed = np.isfinite(near) & np.isfinite(far)
    violated = np.flatnonzero(placed & ~(near < far))
    order = violated[np.argsort(far[violated] - near[violated], kind="stable")]
    own = np.ones(len(index)) if weights is None else np.asarray(weights, dtype=float)
    first, answer = group(list(index[order].T), len(X)) if len(order) else (order, order)
    total = np.bincount(answer, weights=own[order])
    shown = np.argsort(first)[:limit]
    worst = tuple(
        Violation(tuple(names[i] for i in index[row]), float(near[row]), float(far[row]), float(weight))
        for row, weight in zip(order[first[shown]], total[shown])
    )
    share = None
    if not (own == np.floor(own)).all():
        share = float(own[violated].sum() / max(own[placed].sum(), 1e-300))
        own = np.ones(len(index))
    return Violations(worst, float(own[violated].sum()), float(own[placed].sum()), float(own[~placed].sum()), share)


def _distances(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), _CHUNK):
        part = pairs[start : start + _CHUNK]
        out[start : start + _CHUNK] = np.linalg.norm(X[part[:, 0]] - X[part[:, 1]], axis=1)
    return out
