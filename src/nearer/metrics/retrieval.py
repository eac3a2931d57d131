"""Retrieval by distance: Precision@K, Recall@K, average precision truncated at K, and its mean (MAP).

Each query ranks the database by Euclidean distance, nearest first, equal distances in database order. An item is
relevant if it has the query's label. Within the first K ranks, with R relevant items in the whole database,

    precision(K) = hits(K) / K
    recall(K)    = hits(K) / R
    AP(K)        = sum over q <= K of precision(q) (recall(q) - recall(q - 1))

A query that is part of the database is never its own answer. If fewer than K items can be listed, precision(K) divides
by the number listed. A query without any relevant item has no recall: it is left out of all means, counted, and warned
about.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from nearer.data import check_integer
from nearer.metrics.comparison import check_points
from nearer.warning_types import InputWarning

CHUNK_DISTANCES = 1 << 21  # query-to-item distances held at once (16 MB, and a few times that in work space)


@dataclass(frozen=True, eq=False)
class RetrievalScores:
    """Result of one ranking pass, for each query and each of m cut-offs."""

    k: np.ndarray  # (m,), the cut-offs
    n_relevant: np.ndarray  # (n_queries,), relevant items in the database, the query itself left out
    n_listed: np.ndarray  # (m,), items listed for each cut-off: K, or all candidates if there are fewer
    hits: np.ndarray  # (n_queries, m), relevant items among the first K
    average_precision: np.ndarray  # (n_queries, m), AP truncated at K; NaN for a query without relevant items

    @property
    def precision(self) -> np.ndarray:
        """Precision@K, array (m,): mean over the queries that have relevant items."""
        return (self.hits[self.answerable] / self.n_listed).mean(axis=0)

    @property
    def recall(self) -> np.ndarray:
        """Recall@K, array (m,): mean over the queries that have relevant items."""
        return (self.hits[self.answerable] / self.n_relevant[self.answerable, None]).mean(axis=0)

    @property
    def mean_average_precision(self) -> np.ndarray:
        """MAP truncated at K, array (m,): mean over the queries that have relevant items."""
        return self.average_precision[self.answerable].mean(axis=0)

    @property
    def answerable(self) -> np.ndarray:
        """Mask (n_queries,) of the queries with at least one relevant item."""
        return self.n_relevant > 0

    @property
    def n_unanswerable(self) -> int:
        """Number of queries without a relevant item, left out of the means."""
        return int(np.count_nonzero(~self.answerable))


def retrieval_scores(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> RetrievalScores:
    """Rank the database for every query once, and count what all the retrieval metrics need.

    Memory is bounded: some queries at a time.

    Parameters
    ----------
    database : array (n, d)
    labels : array (n,)
    queries : array, optional
        None: every database item queries the others. Int array (n_queries,): these rows of the database query the
        others. Array (n_queries, d): points apart from the database.
    query_labels : array (n_queries,)
        Needed for, and only for, queries apart from the database.
    k : int or int array (m,)
        Cut-offs K >= 1.
    """
    items = _finite_points(database, "database")
    codes, query_codes, points, inside = _checked_queries(items, labels, queries, query_labels)
    cutoffs = np.array([check_integer(one, "k", 1) for one in np.atleast_1d(k).tolist()])
    n_candidates = len(items) - (inside is not None)
    if n_candidates < 1:
        raise ValueError(f"database: got {len(items)} rows, which leaves nothing to rank")
    n_relevant = np.bincount(codes, minlength=int(query_codes.max()) + 1)[query_codes] - (inside is not None)

    listed = np.minimum(cutoffs, n_candidates)
    depth = int(listed.max())
    hits = np.empty((len(query_codes), len(cutoffs)), dtype=np.int64)
    average = np.empty((len(query_codes), len(cutoffs)))
    ranks = np.arange(1, depth + 1)
    step = max(1, CHUNK_DISTANCES // len(items))
    for start in range(0, len(query_codes), step):
        rows = slice(start, min(start + step, len(query_codes)))
        distances = cdist(points[rows], items, "sqeuclidean")
        if inside is not None:
            distances[np.arange(len(distances)), inside[rows]] = np.inf  # not its own answer
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :depth]
        relevant = codes[nearest] == query_codes[rows, None]
        found = np.cumsum(relevant, axis=1)
        gain = np.cumsum(found / ranks * relevant, axis=1) / np.maximum(n_relevant[rows, None], 1)
        hits[rows], average[rows] = found[:, listed - 1], gain[:, listed - 1]
    average[n_relevant == 0] = np.nan
    scores = RetrievalScores(cutoffs, n_relevant, listed, hits, average)
    missing = scores.n_unanswerable
    if missing == len(n_relevant):
        raise ValueError("labels: no query has a relevant item in the database, so there is nothing to score")
    if missing:
        warnings.warn(
            f"{missing} of {len(n_relevant)} queries have no relevant item in the database: left out of the means",
            InputWarning,
            stacklevel=2,
        )
    return scores


def precision_at_k(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> float | np.ndarray:
    """Mean fraction of relevant items among the first K, (m,) if k is an array; see `retrieval_scores`."""
    return _as_given(retrieval_scores(database, labels, queries, query_labels, k).precision, k)


def recall_at_k(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> float | np.ndarray:
    """Mean fraction of the relevant items found among the first K, (m,) if k is an array; see `retrieval_scores`."""
    return _as_given(retrieval_scores(database, labels, queries, query_labels, k).recall, k)


def average_precision_at_k(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> np.ndarray:
    """Average precision of each query, truncated at K; parameters as in `retrieval_scores`.

    Of shape (n_queries,), or (n_queries, m) if k is an array; NaN for a query without relevant items.
    """
    average = retrieval_scores(database, labels, queries, query_labels, k).average_precision
    return average[:, 0] if np.ndim(k) == 0 else average


def mean_average_precision(
    database: ArrayLike, labels: ArrayLike, queries: Any = None, query_labels: Any = None, k: ArrayLike = 40
) -> float | np.ndarray:
    """Mean over the queries of `average_precision_at_k`, (m,) if k is an array; see `retrieval_scores`."""
    return _as_given(retrieval_scores(database, labels, queries, query_labels, k).mean_average_precision, k)


def _as_given(values: np.ndarray, k: ArrayLike) -> float | np.ndarray:
    return float(values[0]) if np.ndim(k) == 0 else values


def _finite_points(points: ArrayLike, name: str) -> np.ndarray:
    array = check_points(points, name)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(f"{name}: row {bad[0]} has a value that is not finite ({len(bad)} such rows)")
    return array


def _checked_queries(
    items: np.ndarray, labels: ArrayLike, queries: Any, query_labels: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Label codes of items and queries, query points, and the queries' rows if they are inside the database."""
    names = np.asarray(labels)
    if names.shape != (len(items),):
        raise ValueError(f"labels: got shape {names.shape}, expected ({len(items)},), one for each row of the database")
    given = np.arange(len(items)) if queries is None else np.asarray(queries)
    if given.ndim == 1:
        if query_labels is not None:
            raise ValueError("query_labels: given for queries inside the database, whose labels are known already")
        if given.dtype.kind not in "iu" or not len(given) or given.min() < 0 or given.max() >= len(items):
            raise ValueError(f"queries: got {queries!r}, expected rows of the database, from 0 to {len(items) - 1}")
        codes = np.unique(names, return_inverse=True)[1]
        return codes, codes[given], items[given], given
    points = _finite_points(given, "queries")
    if points.shape[1] != items.shape[1] or len(points) == 0:
        raise ValueError(f"queries: got shape {points.shape}, expected (at least 1, {items.shape[1]})")
    query_names = np.asarray(query_labels)
    if query_names.shape != (len(points),):
        raise ValueError(f"query_labels: got shape {query_names.shape}, expected ({len(points)},), one for each query")
    kinds = {names.dtype.kind, query_names.dtype.kind}
    if kinds & set("US") and kinds - set("USO"):  # numpy would turn numbers into text
        raise ValueError(f"query_labels: got {query_names.dtype}, but the database's labels are {names.dtype}")
    codes = np.unique(np.concatenate([names, query_names]), return_inverse=True)[1]
    return codes[: len(items)], codes[len(items) :], points, None
