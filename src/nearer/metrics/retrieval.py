"""Retrieval by distance: Precision@K, Recall@K, average precision truncated at K, and MAP.

Each item queries all others, ranked by Euclidean distance, equal distances in their order. An item is relevant if it
has the label of the query. Within the first K ranks, with R relevant items in all,

    precision(K) = hits(K) / K
    recall(K)    = hits(K) / R
    AP(K)        = sum over q <= K of precision(q) (recall(q) - recall(q - 1))

If fewer than K items can be listed, precision(K) divides by the number listed. A query without a relevant item is left
out of all means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from nearer.data import check_integer
from nearer.data.validate import refuse_rows
from nearer.metrics.comparison import check_points

CHUNK_DISTANCES = 1 << 21  # held at once (16 MB, and a few times that in work space)


@dataclass(frozen=True, eq=False)
class RetrievalScores:
    """Result of one ranking pass for m cut-offs; the means are over the queries that have relevant items."""

    precision: np.ndarray  # (m,), mean Precision@K
    recall: np.ndarray  # (m,), mean Recall@K
    mean_average_precision: np.ndarray  # (m,), mean AP truncated at K
    average_precision: np.ndarray  # (n, m), AP truncated at K; NaN for a query without relevant items


def retrieval_scores(embedding: ArrayLike, labels: ArrayLike, k: ArrayLike = 40) -> RetrievalScores:
    """Rank all other items for every item, some queries at a time.

    Parameters
    ----------
    embedding : array (n, d)
        Finite positions or features.
    labels : array (n,)
        The class of each item.
    k : int or int array (m,)
        Cut-offs, at least 1.
    """
    points = check_points(embedding)
    refuse_rows(~np.isfinite(points).all(axis=1), points, "embedding", "expected finite numbers")
    cutoffs = np.array([check_integer(one, "k", 1) for one in np.atleast_1d(k).tolist()])
    n = len(points)
    if np.shape(labels) != (n,):
        raise ValueError(f"labels: got shape {np.shape(labels)}, expected ({n},)")
    codes = np.unique(labels, return_inverse=True)[1]
    n_relevant = np.bincount(codes)[codes] - 1
    answerable = n_relevant > 0
    if not answerable.any():
        raise ValueError("labels: no query has a relevant item, so there is nothing to score")
    listed = np.minimum(cutoffs, n - 1)
    depth = int(listed.max())
    hits = np.empty((n, len(cutoffs)), dtype=np.int64)
    average = np.empty((n, len(cutoffs)))
    step = max(1, CHUNK_DISTANCES // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        distances = cdist(points[rows], points, "sqeuclidean")
        distances[np.arange(len(distances)), np.arange(n)[rows]] = np.inf  # an item is not its own answer
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :depth]
        relevant = codes[nearest] == codes[rows, None]
        found = np.cumsum(relevant, axis=1)
        gain = np.cumsum(found / np.arange(1, depth + 1) * relevant, axis=1)
        gain /= np.maximum(n_relevant[rows, None], 1)
        hits[rows], average[rows] = found[:, listed - 1], gain[:, listed - 1]
    average[~answerable] = np.nan
    hits = hits[answerable]
    return RetrievalScores(
        precision=(hits / listed).mean(axis=0),
        recall=(hits / n_relevant[answerable, None]).mean(axis=0),
        mean_average_precision=average[answerable].mean(axis=0),
        average_precision=average,
    )
