"""Which rows go where: train/test splits and folds."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from nearer.data.values import as_generator, check_integer


def test_mask(n_rows: int, test_size: Any, random_state: Any) -> np.ndarray:
    """Rows of a random test set.

    Parameters
    ----------
    n_rows : int
    test_size : float or int
        A fraction between 0 and 1 (rounded to whole rows) or a number of rows.
    random_state : None, int or Generator

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    if isinstance(test_size, float | np.floating):
        if not 0 < test_size < 1:
            raise ValueError(f"test_size: got {test_size}, expected a fraction between 0 and 1 or a number of rows")
        n_test = round(float(test_size) * n_rows)
    else:
        n_test = check_integer(test_size, "test_size", 1)
    if not 0 < n_test < n_rows:
        raise ValueError(
            f"test_size: {test_size} of {n_rows:,} rows leaves {n_test:,} for test, need rows on both sides"
        )
    mask = np.zeros(n_rows, dtype=bool)
    mask[as_generator(random_state).choice(n_rows, n_test, replace=False, shuffle=False)] = True
    return mask


def fold_of_rows(n_rows: int, n_folds: Any, random_state: Any, groups: np.ndarray | None) -> np.ndarray:
    """The fold of each row: sizes as equal as possible, rows of one group together.

    Parameters
    ----------
    n_rows : int
    n_folds : int
    random_state : None, int or Generator
    groups : ndarray, shape (n_rows,), optional

    Returns
    -------
    ndarray of int, shape (n_rows,)
    """
    n_folds = check_integer(n_folds, "n_folds", 2)
    rng = as_generator(random_state)
    if groups is None:
        if n_folds > n_rows:
            raise ValueError(f"n_folds: got {n_folds} folds for {n_rows:,} rows, expected at most one fold per row")
        fold = np.arange(n_rows, dtype=np.int32)
        fold %= n_folds
        rng.shuffle(fold)
        return fold
    names, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if n_folds > len(names):
        raise ValueError(f"n_folds: got {n_folds} folds for {len(names):,} groups, expected at most one fold per group")
    # The largest group first, each into the fold with the fewest rows so far; equals in random order.
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    heap = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.empty(len(names), dtype=np.int32)
    for group in order.tolist():
        filled, target = heapq.heappop(heap)
        fold_of_group[group] = target
        heapq.heappush(heap, (filled + int(sizes[group]), target))
    return fold_of_group[member]
