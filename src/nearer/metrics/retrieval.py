"""Nearest neighbours, and retrieval by distance: Precision@K, Recall@K, average precision truncated at K, and MAP.

Each query ranks the database by Euclidean distance, nearest first, equal distances in database order. An item is
relevant if it has the query's label. Within the first K ranks, with R relevant items in the whole database,

    precision(K) = hits(K) / K
    recall(K)    = hits(K) / R
    AP(K)        = sum over q <= K of precision(q) (recall(q) - recall(q - 1))

If fewer than K items can be listed, precision(K) divides by the number listed. A query without a relevant item is left
out of all means, with a warning.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from nearer.data import check_integer
from nearer.data.validate import refuse_rows
from nearer.metrics.comparison import check_points
from nearer.warning_types import InputWarning

CHUNK_DISTANCES = 1 << 21  # query-to-item distances held at once (16 MB, and a few times that in work space)


def nearest_neighbours(embedding: ArrayLike, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Find the k objects nearest to each object of a map (n, d): their numbers and distances, each (n, m).

    The nearest come first, of equals the one of lower number; m is k, or less if there are fewer objects. Objects
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


@dataclass(frozen=True, eq=False)
class RetrievalScores:
    """Result of one ranking pass for m cut-offs; the means are over the queries that have relevant items."""

    k: np.ndarray  # (m,), the cut-offs
    precision: np.ndarray  # (m,), mean Precision@K
    recall: np.ndarray  # (m,), mean Recall@K
    mean_average_precision: np.ndarray  # (m,), mean AP truncated at K
    average_precision: np.ndarray  # (n_queries, m), AP truncated at K; NaN for a query without relevant items


def retrieval_scores(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> RetrievalScores:
    """Rank the database for every query once, and compute all the retrieval metrics.

    Memory is bounded: some queries at a time.

    Parameters
    ----------
    database : array (n, d)
    labels : array (n,)
    queries : array (n_queries, d), optional
        Default: every item of the database queries the others.
    query_labels : array (n_queries,)
        Needed if there are queries.
    k : int or int array (m,)
        Cut-offs K >= 1.
    """
    items, names = _finite_points(database, "database"), np.asarray(labels)
    points, query_names = items, names
    if queries is not None:
        points, query_names = _finite_points(queries, "queries"), np.asarray(query_labels)
    for name, given, count in (("labels", names, len(items)), ("query_labels", query_names, len(points))):
        if given.shape != (count,):
            raise ValueError(f"{name}: got shape {given.shape}, expected ({count},)")
    if points.shape[1] != items.shape[1]:
        raise ValueError(f"queries: got shape {points.shape}, expected (n_queries, {items.shape[1]})")
    codes = np.unique(np.concatenate([names, query_names]), return_inverse=True)[1]
    codes, query_codes = np.split(codes, [len(items)])
    cutoffs = np.array([check_integer(one, "k", 1) for one in np.atleast_1d(k).tolist()])
    itself = int(queries is None)  # an item is not its own answer
    n_relevant = np.bincount(codes, minlength=codes.size + query_codes.size)[query_codes] - itself
    answerable = n_relevant > 0
    if not answerable.any():
        raise ValueError("labels: no query has a relevant item in the database, so there is nothing to score")

    listed = np.minimum(cutoffs, len(items) - itself)
    depth = int(listed.max())
    hits = np.empty((len(points), len(cutoffs)), dtype=np.int64)
    average = np.empty((len(points), len(cutoffs)))
    step = max(1, CHUNK_DISTANCES // len(items))
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        distances = cdist(points[rows], items, "sqeuclidean")
        if itself:
            distances[np.arange(len(distances)), np.arange(len(items))[rows]] = np.inf
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :depth]
        relevant = codes[nearest] == query_codes[rows, None]
        found = np.cumsum(relevant, axis=1)
        gain = np.cumsum(found / np.arange(1, depth + 1) * relevant, axis=1)
        gain /= np.maximum(n_relevant[rows, None], 1)
        hits[rows], average[rows] = found[:, listed - 1], gain[:, listed - 1]
    average[~answerable] = np.nan
    if not answerable.all():
        n = np.count_nonzero(~answerable)
        message = f"{n} of {len(points)} queries have no relevant item in the database: left out of the means"
        warnings.warn(message, InputWarning, stacklevel=2)
    hits = hits[answerable]
    return RetrievalScores(
        k=cutoffs,
        precision=(hits / listed).mean(axis=0),
        recall=(hits / n_relevant[answerable, None]).mean(axis=0),
        mean_average_precision=average[answerable].mean(axis=0),
        average_precision=average,
    )


def mean_average_precision(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: int = 40
) -> float:
    """Mean over the queries of the average precision truncated at K; see `retrieval_scores`."""
    return float(retrieval_scores(database, labels, queries, query_labels, k).mean_average_precision[0])


def _finite_points(points: ArrayLike, name: str) -> np.ndarray:
    array = check_points(points, name)
    refuse_rows(~np.isfinite(array).all(axis=1), array, name, "expected finite numbers")
    return array
