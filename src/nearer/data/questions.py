"""What was asked, apart from how it was answered: groups of rows that ask or say the same."""

from __future__ import annotations

import numpy as np


def same_statement(index: np.ndarray) -> list[np.ndarray]:
    """Columns that are equal for two rows exactly if the rows say the same.

    Distances are symmetric, so in a quadruplet the order inside a pair does not matter.

    Parameters
    ----------
    index : ndarray of int32, shape (N, 3) or (N, 4)

    Returns
    -------
    list of 3 or 4 ndarrays, each of shape (N,)
    """
    if index.shape[1] == 3:
        return [index[:, 0], index[:, 1], index[:, 2]]
    i, j, l, k = index.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    return [np.minimum(i, j), np.maximum(i, j), np.minimum(l, k), np.maximum(l, k)]


def same_question(index: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Columns that are equal for two rows exactly if they answer the same question, and which answer each row gives.

    Parameters
    ----------
    index : ndarray of int32, shape (N, 3) or (N, 4)

    Returns
    -------
    columns : list of 3 or 4 ndarrays, each of shape (N,)
        Written as a row that gives answer 0.
    answer : ndarray of bool, shape (N,)
        Two rows with equal columns agree if their answers are equal, and contradict each other if not.
    """
    columns = same_statement(index)
    if len(columns) == 3:
        anchor, near, far = columns
        return [anchor, np.minimum(near, far), np.maximum(near, far)], near > far
    a, b, c, d = columns
    swap = (a > c) | ((a == c) & (b > d))
    return [np.where(swap, c, a), np.where(swap, d, b), np.where(swap, a, c), np.where(swap, b, d)], swap


def group(columns: list[np.ndarray], n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of some columns, in lexicographic order.

    Parameters
    ----------
    columns : list of ndarrays of int, each of shape (N,), values in [0, n_objects)
    n_objects : int

    Returns
    -------
    first : ndarray of int, shape (n_groups,)
        The first row of each group.
    member : ndarray of int, shape (N,)
        The group of each row.
    """
    key, span = columns[0].astype(np.int64), n_objects
    for column in columns[1:]:
        if span * n_objects >= 2**63:  # ranks keep the order and need no more room than there are rows
            first, key = _rank(key)
            span = len(first)
        key *= n_objects
        key += column
        span *= n_objects
    return _rank(key)


def _rank(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First place of each distinct value, in order, and the rank of every value; faster than `np.unique`."""
    order = np.argsort(key)
    ordered = key[order]
    new = np.empty(len(key), dtype=bool)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    first = np.minimum.reduceat(order, np.flatnonzero(new))
    rank = np.empty(len(key), dtype=np.int64)
    rank[order] = np.cumsum(new) - 1
    return first, rank


def exchanged(index: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A copy of an index (N, 3) or (N, 4) with the near and the far pair exchanged in some rows."""
    index = index.copy()
    index[rows] = index[rows][:, [0, 2, 1] if index.shape[1] == 3 else [2, 3, 0, 1]]
    return index
