"""Clusters of a map, and how stable they are when the answers are resampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import silhouette_score

from nearer.selection.bootstrap import Bootstrap

_STRONG = 0.7  # silhouette of a "strong structure" (Kaufman and Rousseeuw, 1990)
_STABLE = 0.75  # least stability of a valid cluster (Hennig, 2007)
_FEWEST, _MOST = 20, 2000  # objects: fewer look clustered by chance, more take long
_SMALLEST, _MOST_CLUSTERS = 3, 8


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of the objects of a map, the largest first."""

    codes: np.ndarray  # (n_objects,), int; -1 for an object without a position
    stability: np.ndarray  # (n_clusters,), mean overlap of a cluster with the most similar one of each resample

    def names(self) -> list[str | None]:
        """The cluster of each object in words, None for none: groups for a plot or a report."""
        texts = [f"cluster {k + 1} (stability {value:.2f})" for k, value in enumerate(self.stability.tolist())]
        return [None if code < 0 else texts[code] for code in self.codes.tolist()]


def find_clusters(resampled: Bootstrap) -> Clusters | None:
    """Find clusters that are separate on a map and stable under its bootstrap; None if there are none.

    Ward's method gives partitions into 2 to 8 clusters of 3 objects or more; that of the largest mean silhouette is
    taken if this is at least 0.7. The stability of a cluster is the mean Jaccard overlap with the most similar cluster
    of each resample, partitioned in the same way: 1 if it is always made of the same objects. All must reach 0.75.

    Parameters
    ----------
    resampled : Bootstrap
        Of at least 20 objects with a position, and at most 2,000.
    """
    placed = np.isfinite(resampled.embedding).all(axis=1)
    X = resampled.embedding[placed]
    if not _FEWEST <= len(X) <= _MOST:
        return None
    found = {k: codes for k in range(2, _MOST_CLUSTERS + 1) if np.bincount(codes := _ward(X, k)).min() >= _SMALLEST}
    score = {k: float(silhouette_score(X, codes)) for k, codes in found.items()}
    if max(score.values(), default=0.0) < _STRONG:
        return None
    n_clusters = max(score, key=score.__getitem__)
    codes = found[n_clusters]
    overlaps = []
    for sample in resampled.samples[:, placed]:
        known = np.isfinite(sample).all(axis=1)
        overlaps.append(_overlaps(codes[known], _ward(sample[known], n_clusters), n_clusters))
    stability = np.mean(overlaps, axis=0)
    if stability.min() < _STABLE:
        return None
    every = np.full(len(placed), -1)
    every[placed] = codes
    return Clusters(every, stability)


def _ward(X: np.ndarray, n_clusters: int) -> np.ndarray:
    """Ward's partition, clusters numbered by their size, the largest first."""
    codes = fcluster(linkage(X, "ward"), n_clusters, "maxclust") - 1
    order = np.argsort(-np.bincount(codes), kind="stable")
    return np.argsort(order)[codes]


def _overlaps(codes: np.ndarray, others: np.ndarray, n_clusters: int) -> np.ndarray:
    """For each cluster, its largest Jaccard overlap with one of the others."""
    both = np.zeros((n_clusters, others.max() + 1))
    np.add.at(both, (codes, others), 1)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0) - both
    return (both / either).max(axis=1)
