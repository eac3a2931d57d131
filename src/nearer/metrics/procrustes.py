"""The shape of maps: principal axes of one, Procrustes alignment and distance of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import procrustes

from nearer.data import check_bool, in_order_of, row_names
from nearer.data.messages import counted, listed
from nearer.data.validate import refuse_rows
from nearer.metrics.comparison import check_points


@dataclass(frozen=True, eq=False)
class Similarity:
    """A similarity transform x -> scale * x @ rotation + shift, with x padded by zero columns where needed."""

    rotation: np.ndarray  # (d, d), orthogonal: a rotation, possibly with a reflection
    scale: float
    shift: np.ndarray  # (d,)

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Transform points (m, at most d columns) into (m, d); rows with NaN become NaN."""
        return self.scale * _padded(check_map(X, "X"), len(self.shift)) @ self.rotation + self.shift


def fit_procrustes(X: ArrayLike, reference: ArrayLike, scaling: bool = True) -> Similarity:
    """The similarity transform that brings X (n, d1) nearest to the reference (n, d2), in least squares.

    The narrower of the two is padded with zero columns; rows with NaN in either are left out. Without `scaling`, only
    rotation, reflection and translation.
    """
    check_bool(scaling, "scaling")
    points, target = _paired(X, reference)
    mean, target_mean = points.mean(axis=0), target.mean(axis=0)
    centred = points - mean
    u, singular, vt = np.linalg.svd(centred.T @ (target - target_mean))
    rotation = u @ vt
    size = float(np.sum(centred**2))
    scale = float(singular.sum()) / size if scaling and size > 0 else 1.0
    return Similarity(rotation, scale, target_mean - scale * mean @ rotation)


def procrustes_align(X: ArrayLike, reference: ArrayLike, scaling: bool = True) -> np.ndarray:
    """X (n, d1) moved onto the reference (n, d2), see `fit_procrustes`: array (n, max(d1, d2)).

    Row i of both is the same object, or, in two pandas tables, rows of the same name. A row of X with NaN is NaN.
    """
    return fit_procrustes(X, reference, scaling).apply(X)


def principal_axes(X: ArrayLike) -> np.ndarray:
    """Rotate a map (n, d) to its principal axes; the farthest object on each is positive.

    A map may be rotated and mirrored freely; this is a canonical form, centred. A row with NaN is left out and is NaN.
    """
    points = check_map(X, "X")
    placed = ~np.isnan(points).any(axis=1)
    if not placed.any():
        return points
    centred = points[placed] - points[placed].mean(axis=0)
    unit = centred / (np.abs(centred).max() or 1.0)  # squares of very large or small numbers would over- or underflow
    # Plain sums, not BLAS, whose order of summation may depend on the number of threads.
    axes = np.linalg.eigh(np.einsum("ni,nj->ij", unit, unit))[1][:, ::-1]
    out = np.full(points.shape, np.nan)
    out[placed] = np.einsum("ni,ij->nj", centred, axes)
    return mirrored(out)


def mirrored(X: np.ndarray) -> np.ndarray:
    """Flip axes so that the farthest object on each is on the positive side."""
    farthest = np.nan_to_num(np.abs(X)).argmax(axis=0)
    return X * np.where(X[farthest, np.arange(X.shape[1])] < 0, -1.0, 1.0)


def spread_shares(X: ArrayLike) -> np.ndarray:
    """Fraction (d,) of the variance of a map (n, d) that lies along each axis.

    Rows with NaN are left out; zeros if all objects coincide.
    """
    points = check_map(X, "X")
    known = points[~np.isnan(points).any(axis=1)]
    if not len(known):
        return np.zeros(points.shape[1])
    squares = ((known - known.mean(axis=0)) ** 2).sum(axis=0)
    return squares / (squares.sum() or 1.0)


def procrustes_distance(X: ArrayLike, Y: ArrayLike) -> float:
    """Disparity of two maps (n, d1) and (n, d2) up to rotation, reflection, translation and scale, in [0, 1].

    That of `scipy.spatial.procrustes`: 0 for the same shape, 1 for nothing in common. Rows are matched as in
    `procrustes_align`; those with NaN in either map are left out.
    """
    return float(procrustes(*_paired(X, Y))[2])


@dataclass(frozen=True, eq=False)
class MapComparison:
    """Two maps, compared on the m objects that have a position on both."""

    labels: np.ndarray  # (m,)
    first: np.ndarray  # (m, d), aligned with `second` as by `procrustes_align`
    second: np.ndarray  # (m, d)
    distance: float  # as by `procrustes_distance`
    only_first: tuple[str, ...]  # objects without a position on the second map
    only_second: tuple[str, ...]

    def __repr__(self) -> str:
        found = f"MapComparison: {len(self.labels):,} shared objects, Procrustes distance {self.distance:.3g}"
        for which, missing in (("first", self.only_first), ("second", self.only_second)):
            found += f"; {len(missing):,} only on the {which} map" + f" ({listed(missing)})" * bool(missing)
        return found


def compare_maps(first: Any, second: Any) -> MapComparison:
    """Compare two maps on the objects they share, matched by label; objects on only one map are listed.

    Parameters
    ----------
    first, second : fitted estimator, or pandas.DataFrame indexed by label
        The dimensions may differ. An estimator without labels names its objects by number.
    """
    (own, X), (others, Y) = _named_points(first, "first"), _named_points(second, "second")
    place = {name: row for row, name in enumerate(others)}
    shared = [(row, place[name]) for row, name in enumerate(own) if name in place]
    if len(shared) < 3:
        raise ValueError(
            f"compare_maps: got {counted(len(shared), 'shared object')} of {len(own):,} and {len(others):,}, expected "
            f"at least 3; the labels start with {own[:1]} and {others[:1]}"
        )
    rows, same = map(list, zip(*shared))
    labels = np.array(own, dtype=object)[rows]
    width, known = max(X.shape[1], Y.shape[1]), set(labels.tolist())
    only = [tuple(name for name in names if name not in known) for names in (own, others)]
    aligned, target = procrustes_align(X[rows], Y[same]), _padded(Y[same], width)
    return MapComparison(labels, aligned, target, procrustes_distance(X[rows], Y[same]), *only)


def _named_points(X: Any, what: str) -> tuple[list[str], np.ndarray]:
    """The names and positions of objects that have a position."""
    names, points = row_names(X), X
    if hasattr(X, "embedding_"):
        points = X.embedding_
        names = [str(name) for name in (range(len(points)) if X.labels_ is None else X.labels_)]
    if names is None:
        got = type(X).__name__
        raise ValueError(
            f"{what}: got a {got} without labels, expected a fitted estimator or a frame with labels as index"
        )
    points = check_map(points, what)
    placed = ~np.isnan(points).any(axis=1)
    return [name for name, known in zip(names, placed) if known], points[placed]


def check_map(X: ArrayLike, name: str) -> np.ndarray:
    """Finite positions as float64 (n, d); rows may be NaN."""
    points = check_points(X, name)
    refuse_rows(np.isinf(points).any(axis=1), points, name, "expected finite numbers")
    return points


def _paired(X: ArrayLike, Y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The rows without NaN in either, padded to the same number of columns."""
    X = in_order_of(X, row_names(Y), "X")
    Y = in_order_of(Y, row_names(X), "reference")
    a, b = check_map(X, "X"), check_map(Y, "reference")
    if len(a) != len(b):
        raise ValueError(f"the two maps have {len(a)} and {len(b)} rows, expected the same objects in both")
    known = ~(np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1))
    if not known.any():
        raise ValueError("no object has a position in both maps")
    width = max(a.shape[1], b.shape[1])
    return _padded(a[known], width), _padded(b[known], width)


def _padded(points: np.ndarray, width: int) -> np.ndarray:
    """Points (n, width), filled up with zero columns."""
    return np.pad(points, ((0, 0), (0, width - points.shape[1])))
