"""Comparisons put together or seen over fewer objects."""

from __future__ import annotations

import numpy as np

from nearer.comparisons.core import Comparisons

__all__ = ["joined", "renumbered"]


def joined(earlier: Comparisons, further: Comparisons) -> Comparisons:
    """All comparisons over the objects of the further ones, equal rows merged; quadruplets if either has them.

    Parameters
    ----------
    earlier : Comparisons
    further : Comparisons
        The first objects are those of the earlier ones, in the same order.
    """
    kinds = {earlier.kind, further.kind}
    n_objects = max(earlier.n_objects, further.n_objects)
    labels = earlier.labels if further.labels is None else further.labels
    parts = [
        Comparisons(part.index if len(kinds) == 1 else part.quadruplets(), n_objects, part.weights, labels)
        for part in (earlier, further)
    ]
    return Comparisons.concat(parts).aggregate()


def renumbered(comparisons: Comparisons, objects: np.ndarray) -> Comparisons:
    """The same comparisons over some objects alone, int (m,), which are all that occur in them; without labels."""
    number = np.zeros(comparisons.n_objects, dtype=np.int32)
    number[objects] = np.arange(len(objects), dtype=np.int32)
    return Comparisons(number[comparisons.index], n_objects=len(objects), weights=comparisons.weights)
