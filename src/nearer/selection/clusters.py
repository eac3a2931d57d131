"""Clusters of a map, and how stable they are when the answers are resampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from nearer.data import as_generator
from nearer.selection.bootstrap import Bootstrap

_SEPARATE = 0.6  # least mean silhouette
_STABLE = 0.85  # least stability of a "highly stable" cluster (Hennig, 2007)
_KEPT = 2 / 3  # of the objects, in each resample: a cut through a continuum depends on the objects
# Objects: fewer look clustered by chance, more take too long. With these limits, uniform and normal clouds, strips and
# rings of 30 to 120 points in two or three dimensions were taken for clusters in at most 1 of 25 draws each, three
# and five blobs found in 88 to 100 %; a line would be in up to 70 %, so maps of one dimension are left out.
_FEWEST, _MOST = 30, 2000
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


def find_clusters(resampled: Bootstrap, random_state: Any = 0) -> Clusters | None:
    """Find clusters that are separate on a map and stable under its bootstrap; None if there are none.

    Ward's method gives partitions into 2 to 8 clusters of 3 objects or more; the one of largest mean silhouette is
    taken if this is at least 0.6. The stability of a cluster is the mean Jaccard overlap with the most similar cluster
    of each resample, in which two thirds of the objects are partitioned in the same way: 1 if it always has the same
    objects. All must reach 0.85.

    Parameters
    ----------
    resampled : Bootstrap
        Of 30 to 2,000 objects with a position, in two or more dimensions.
    random_state : int or Generator, default 0
        Draws the two thirds.
    """
    from sklearn.metrics import silhouette_score  # takes long to import

    placed = np.isfinite(resampled.embedding).all(axis=1)
    X = resampled.embedding[placed]
    if not _FEWEST <= len(X) <= _MOST or X.shape[1] == 1:
        return None
    found = {k: codes for k in range(2, _MOST_CLUSTERS + 1) if np.bincount(codes := _ward(X, k)).min() >= _SMALLEST}
    score = {k: float(silhouette_score(X, codes)) for k, codes in found.items()}
    if max(score.values(), default=0.0) < _SEPARATE:
        return None
    n_clusters = max(score, key=score.__getitem__)
    codes = found[n_clusters]
    overlaps, rng = [], as_generator(random_state)
    for sample in resampled.samples[:, placed]:
        drawn = rng.permutation(len(X))[: int(_KEPT * len(X))]
        drawn = drawn[np.isfinite(sample[drawn]).all(axis=1)]
        overlaps.append(_overlaps(codes[drawn], _ward(sample[drawn], n_clusters), n_clusters))
    stability = np.nanmean(overlaps, axis=0)
    if not stability.min() >= _STABLE:
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
    """For each cluster, its largest Jaccard overlap with one of the others; NaN if it has no object."""
    both = np.zeros((n_clusters, others.max() + 1))
    np.add.at(both, (codes, others), 1)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0) - both
    return np.where(both.any(axis=1), (both / either).max(axis=1), np.nan)
