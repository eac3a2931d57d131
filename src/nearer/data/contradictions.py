"""Parts of the answers that contradict each other: a sign that some are meant the other way round."""

from __future__ import annotations

import numpy as np

from nearer.data.beside import FEW_VALUES
from nearer.data.errors import shown
from nearer.data.rows import Rows
from nearer.data.rules import group, same_statement

# Standard deviations of chance, and the share of answers that are contradicted over those that are not.
_SURE, _MOST = 2.5, 0.2
_SURE_OF_SEVERAL = 4.0  # of values that were put together since they agree
_ENOUGH = 20_000  # rows to judge by


def told_contradicting(rows: Rows, index: np.ndarray) -> list[str]:
    """Tell of columns not used whose values split the answers into parts that contradict each other.

    So does whatever says that some answers are meant the other way round, in any words: what was asked for, where the
    options were shown, whether the answer agrees with the columns near and far. In people's answers, what is near for
    some is near for the others; nothing but that is needed to see it.

    Parameters
    ----------
    rows : Rows
    index : ndarray of int, shape (N, 3) or (N, 4)
        The comparisons, equally many of each row; else none are told.
    """
    n_rows = len(rows.objects()[0])
    times, rest = divmod(len(index), n_rows)
    if rest or rows.roles.layout.kind == "votes" or rows.n_shown is not None:
        return []
    some = slice(None, None, max(n_rows // _ENOUGH, 1))
    pair, n_pairs = _pairs(index.reshape(n_rows, times, -1)[some].reshape(-1, index.shape[1]))
    counts = _counts(pair, n_pairs)
    told = []
    for spot, column in rows.beside.items():
        column = column.take(some).spelled()
        codes = np.where(column.empty(), -1, column.cells)
        values = np.unique(codes)
        parts = [[code] for code in values.tolist()] if len(values) <= FEW_VALUES else []
        if len(parts) > 3:
            parts = [_camp(pair, counts.shape[1], np.repeat(codes, times), values), *parts]
        for part in parts:
            sure = _SURE if len(part) == 1 else _SURE_OF_SEVERAL
            if _contradict(pair, counts, np.repeat(np.isin(codes, part), times), sure):
                title = rows.table.title(spot)
                cells = " or ".join("empty" if code < 0 else shown(column.texts()[code]) for code in part)
                told.append(
                    f"{title} is not used, but answers where it is {cells} contradict the others: what is near there "
                    "is far in these; does it say how answers are meant?"
                )
                break
    return told


def _camp(pair: np.ndarray, n_pairs: int, codes: np.ndarray, values: np.ndarray) -> list[int]:
    """Find the values of a column whose answers agree with each other more than with those of the others."""
    near, far = np.stack([_counts(pair[codes == code], n_pairs) for code in values], axis=1)
    leaning = (near - far) / np.sqrt(np.maximum(near + far, 1))
    agreed = leaning @ leaning.T
    np.fill_diagonal(agreed, 0)
    first = np.linalg.eigh(agreed)[1][:, -1]
    return values[first * first[0] < 0].tolist()


def _pairs(index: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the near and the far pair of each row, (N, 2); and how many pairs there are."""
    columns = same_statement(index)
    near, far = (columns[:2], columns[2:]) if len(columns) == 4 else (columns[:2], [columns[0], columns[2]])
    both = [np.concatenate(ends) for ends in zip(near, far)]
    first, pair = group([np.minimum(*both), np.maximum(*both)], int(index.max()) + 1)
    return pair.reshape(2, -1).T, len(first)


def _counts(pair: np.ndarray, n_pairs: int) -> np.ndarray:
    """How often each pair is the near one and the far one, int (2, n_pairs)."""
    return np.stack([np.bincount(side, minlength=n_pairs) for side in pair.T])


def _contradict(pair: np.ndarray, counts: np.ndarray, own: np.ndarray, sure: float = _SURE) -> bool:
    """Whether some answers contradict the others, and the others them.

    An answer is judged by the others if both of its pairs occur among them: it agrees if its near pair was more often
    near than its far pair, each in standard deviations of a fair coin. Judged in both ways, what differs in what was
    asked, but not in what was meant, is no contradiction.

    Parameters
    ----------
    pair : ndarray of int, shape (N, 2)
    counts : ndarray of int, shape (2, n_pairs)
        Of all answers, see `_counts`.
    own : ndarray of bool, shape (N,)
    sure : float
        Standard deviations of chance.
    """
    if not 0 < np.count_nonzero(own) < len(own):
        return False
    mine = _counts(pair[own], counts.shape[1])
    for rows, (near, far) in ((own, counts - mine), (~own, mine)):
        leaning, occurs = (near - far) / np.sqrt(np.maximum(near + far, 1)), near + far > 0
        judged = pair[rows][occurs[pair[rows]].all(axis=1)]
        agreed = leaning[judged[:, 0]] - leaning[judged[:, 1]]
        size = np.sqrt(np.sum(agreed**2))
        if not size or agreed.sum() / size > -sure or np.sign(agreed).mean() > -_MOST:
            return False
    return True
