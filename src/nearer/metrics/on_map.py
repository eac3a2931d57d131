"""Comparisons with their objects numbered as on a map."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.validate import is_whole
from nearer.io.coerce import as_comparisons, is_named
from nearer.machine import check_memory
from nearer.warning_types import InputWarning


def comparisons_on_map(
    X: Any, labels: np.ndarray | None, n_objects: int, y: Any = None, sample_weight: Any = None
) -> Comparisons:
    """Comparisons in any form that `fit` takes, with objects numbered as on a map; further objects follow."""
    comparisons = on_labels(as_comparisons(X, y, sample_weight), labels, is_named(X))
    seen = comparisons.seen
    if not seen[:n_objects].any():
        found = f"none of the objects compared, {int(seen.sum()):,} in all, is on the map"
        warnings.warn(found, InputWarning, stacklevel=4)
    from_one = len(seen) == n_objects + 1 and not seen[0] and seen[1:].all()
    if from_one and (labels is None or labels.tolist() == list(map(str, range(n_objects)))):
        found = f"the comparisons use the numbers 1 to {n_objects}, the objects of the map are 0 to {n_objects - 1}"
        warnings.warn(f"{found}: are they counted from 1?", InputWarning, stacklevel=4)
    return comparisons


def on_labels(comparisons: Comparisons, labels: Any, named: bool) -> Comparisons:
    """The same comparisons with objects numbered as on a map with these labels (n,); further objects follow.

    In comparisons without labels, numbers are labels if `named`, as in a table. Otherwise, as in an array, they are
    rows of the map; numbers that could be either are refused.
    """
    if labels is None:
        return comparisons if comparisons.labels is None else _by_number(comparisons)
    if comparisons.labels is None:
        rows = np.arange(len(labels)).astype(str)
        if not named and not np.array_equal(labels, rows):
            number = next(filter(is_whole, map(str, labels)), None)
            if number is None:
                return comparisons
            raise ValueError(
                f"comparisons: got numbers without names: are they rows of the map or its labels, such as {number!r}? "
                "For labels give a table of them, for rows Comparisons(index, labels=labels of the map)"
            )
        comparisons = comparisons.replaced(labels=np.arange(comparisons.n_objects).astype(str))
    return comparisons.relabelled(labels)


def _by_number(comparisons: Comparisons) -> Comparisons:
    """The same without labels, for a map without any: labels that are numbers are its rows."""
    labels = [] if comparisons.labels is None else comparisons.labels.tolist()
    if not labels or not all(map(is_whole, labels)):
        raise ValueError("comparisons: got labels, but the map has none; give numbers, the rows of embedding_")
    n_objects = max(map(int, labels)) + 1
    what = f"comparisons: object number {n_objects - 1:,}"
    check_memory(100.0 * n_objects, what, "are the numbers those of the map?")
    return comparisons.relabelled(np.arange(n_objects).astype(str)).replaced(labels=None)


def joined(earlier: Comparisons, further: Comparisons) -> Comparisons:
    """All comparisons over the objects of the further ones, equal rows merged; quadruplets if either has them.

    The first objects of the further ones are those of the earlier ones, in the same order.
    """
    kinds = {earlier.kind, further.kind}
    n_objects = max(earlier.n_objects, further.n_objects)
    labels = earlier.labels if further.labels is None else further.labels
    parts = [
        Comparisons(part.index if len(kinds) == 1 else part.quadruplets(), n_objects, part.weights, labels)
        for part in (earlier, further)
    ]
    return Comparisons.concat(parts).aggregate()
