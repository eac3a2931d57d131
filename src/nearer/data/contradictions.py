"""Parts of the answers that contradict each other: a sign that some are meant the other way round."""

from __future__ import annotations

import numpy as np

from nearer.data.beside import FEW_VALUES
from nearer.data.errors import shown
from nearer.data.rows import Rows
from nearer.data.rules import group, same_statement

# Standard deviations: by chance, one column in some thousands splits answers so that its parts contradict each other.
_SURE = 3.5
_ENOUGH = 100_000  # rows to judge by


def told_contradicting(rows: Rows, index: np.ndarray) -> list[str]:
    """Tell of columns not used whose values split the answers into parts that contradict each other.

    So does whatever says that some answers are meant the other way round, in any words: what was asked for, where the
    options were shown, whether the answer agrees with the columns near and far. In people's answers, what is near for
    some is near for the others; nothing but that is needed to see it.

    Parameters
    ----------
    rows : Rows
    index : ndarray of int, shape (N, 3) or (N, 4)
        The comparisons; none are told where a row gives several.
    """
    n_rows = len(next(iter(rows.columns.values())))
    if len(index) != n_rows or not rows.beside:
        return []
    some = slice(None, None, max(n_rows // _ENOUGH, 1))
    pair, n_pairs = _pairs(index[some])
    told = []
    for spot, column in rows.beside.items():
        column = column.spelled().take(some)
        for code in np.unique(column.cells[column.cells >= 0])[: FEW_VALUES + 1]:
            own = column.cells == code
            if _agreement(pair, n_pairs, own) < -_SURE:
                title, cell = rows.table.title(spot), shown(column.texts()[code])
                told.append(
                    f"{title} is not used, but answers where it is {cell} contradict the others: what is near there is "
                    "far in these; does it say how answers are meant?"
                )
                break
    return told


def _pairs(index: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the near and the far pair of each row, (N, 2); and how many pairs there are."""
    columns = same_statement(index)
    near, far = (columns[:2], columns[2:]) if len(columns) == 4 else (columns[:2], [columns[0], columns[2]])
    both = [np.concatenate(ends) for ends in zip(near, far)]
    first, pair = group([np.minimum(*both), np.maximum(*both)], int(index.max()) + 1)
    return pair.reshape(2, -1).T, len(first)


def _agreement(pair: np.ndarray, n_pairs: int, own: np.ndarray) -> float:
    """How far some answers agree with the others on which pairs are near, in standard deviations of chance."""
    if not 0 < np.count_nonzero(own) < len(own):
        return 0.0
    near, far = ([np.bincount(side[rows], minlength=n_pairs) for rows in (own, ~own)] for side in pair.T)
    agreed = np.dot(near[0] - far[0], near[1] - far[1])
    chance = np.dot(near[0] + far[0], near[1] + far[1])
    return float(agreed / np.sqrt(chance)) if chance else 0.0
