"""Means of values that come in clusters."""

from __future__ import annotations

import numpy as np


def clustered_mean(values: np.ndarray, weights: np.ndarray, cluster: np.ndarray) -> tuple[float, float, int]:
    """Weighted mean of values (n,), its standard error if clusters are independent, and the number of clusters."""
    of_cluster = np.unique(cluster, return_inverse=True)[1]
    n = int(of_cluster.max()) + 1
    total = weights.sum()
    mean = float(values @ weights / total)
    if n < 2:
        return mean, 0.0, n
    residual = np.bincount(of_cluster, weights=weights * (values - mean))
    return mean, float(np.sqrt(n / (n - 1) * (residual @ residual)) / total), n
