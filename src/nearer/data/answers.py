"""The only rule for which rows belong together: rows of one answer, and answers to one question.

An odd-one-out answer gives two rows, a ranking several. Whoever splits data and parts them tests on what the training
rows have told. So every split of this package asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nearer.data.rules import group, same_question

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons

__all__ = ["Tally", "answer_of_rows", "asked_together", "kept_together", "tally", "votes_of_rows"]

# Share of rows that continue the one before from which on data are taken as rankings: with three candidates of which
# one is chosen it is a half, with random questions about ten objects some 4 %, and 40 % if they are sorted by anchor.
# Of the answers made up in this way, so many rows have to be all that such an answer tells.
_RANKED, _WHOLE = 0.4, 0.8
# Share of rows that go with the one before from which on they are taken as pairs, which it takes more than chance to
# make: at least so many, and no more than so many, as every other row does where all are pairs.
_PAIRS = 0.1, 0.45
# Share of rows with a counterpart from which on data are taken as choices within sets of three. All of them have one
# there; where every triplet is asked singly, two of three have.
_SETS = 0.95
# Looked at in so many rows, evenly spaced.
_SAMPLE = 1000
# So many rows in rising order are no accident.
_SORTED = 20


def answer_of_rows(comparisons: Comparisons) -> np.ndarray:
    """Number the answers that rows come from: an odd-one-out answer or a ranking gives several rows.

    Rows one after the other, of one person, are of one answer if their order says so. Where that is not known, they
    are if they are what an odd-one-out or a most-central answer gives, or all that a ranking of some candidates by
    their distance from one anchor gives, if most of the data are such and not merely sorted.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    ndarray of int, shape (N,)
        Counted from 0, in the order of the rows.
    """
    index = comparisons.index
    same = np.zeros(len(index), dtype=bool)
    order = None if comparisons.details is None else comparisons.details.order
    if index.shape[1] == 3 and len(index) > 1:
        ranked = _ranked(index)
        same[1:] = _paired(index, int(comparisons.seen.sum())) if ranked is None else ranked
    if order is not None:
        known = (order[1:] >= 0) & (order[:-1] >= 0)
        same[1:] = np.where(known, order[1:] == order[:-1], same[1:])
    if comparisons.people is not None:
        same[1:] &= np.diff(comparisons.people.codes) == 0
    return np.cumsum(~same) - 1


def asked_together(comparisons: Comparisons, n_parts: int = 1) -> np.ndarray:
    """Number what was asked: rows of one answer have the same number, and so have all answers to the same question.

    A question is told by what was shown. Of a triplet that is the anchor and two objects, so (a; b, c) and (b; a, c)
    are two: neither answer gives away the other more than any triplet with a pair in common does. Of a ranking it is
    the anchor and its candidates; of an odd-one-out or most-central answer three objects, with whichever of them the
    rows begin, and also where the rows of an answer have been shuffled apart.

    Parameters
    ----------
    comparisons : Comparisons
    n_parts : int, default 1
        How many parts are to be made. Where fewer questions were asked, answers are numbered instead.

    Returns
    -------
    ndarray of int, shape (N,)
        Counted from 0.
    """
    index, n_objects = comparisons.index, comparisons.n_objects
    if _choices_in_sets(index, n_objects):
        unit = group(list(np.sort(index, axis=1).T), n_objects)[1]
    else:
        unit = _questions(index, answer_of_rows(comparisons), group(same_question(index)[0], n_objects)[1])
    if int(unit.max()) + 1 < n_parts:
        unit = kept_together(comparisons)
    return unit


def kept_together(comparisons: Comparisons) -> np.ndarray:
    """Number the answers, for a split that may part answers to the same question but not the rows of one answer.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    ndarray of int, shape (N,)
        Counted from 0. Where the rows of odd-one-out or most-central answers have been shuffled apart, the sets of
        objects are numbered, as nobody can tell whose rows they are.
    """
    answer = answer_of_rows(comparisons)
    alone = np.bincount(answer)[answer] == 1
    if alone.any() and _choices_in_sets(comparisons.index, comparisons.n_objects):
        return group(list(np.sort(comparisons.index, axis=1).T), comparisons.n_objects)[1]
    return answer


class Tally(NamedTuple):
    """Rows counted as people gave and were asked them."""

    answer: np.ndarray
    """Number of the answer that each row comes from, int (N,)."""
    question: np.ndarray
    """Number of the question that it answers, int (N,)."""
    n_answers: np.ndarray
    """How many answers each number of `answer` stands for, float."""
    by_rows: bool
    """Whether each row is an answer of its own."""


def tally(comparisons: Comparisons, question: np.ndarray | None = None) -> Tally:
    """Count answers and questions, where an odd-one-out answer or a ranking gives several rows.

    For a split it is safe to keep together what may be of one answer. Here, rows are put together only if the number of
    the question says so, if nearly all rows are of such answers, or if they pair up without a remainder, as those of
    odd-one-out or most-central answers do in any order.

    Parameters
    ----------
    comparisons : Comparisons
    question : ndarray of int, shape (N,), optional
        Number of the triplet or quadruplet that each row answers, if that is known already.

    Returns
    -------
    Tally
        A row each where that is not so.
    """
    index, n_objects = comparisons.index, comparisons.n_objects
    votes, _ = votes_of_rows(comparisons)
    answer = answer_of_rows(comparisons)
    if comparisons.weights is not None:
        answer = _of_one_weight(answer, comparisons.weights)
    n_rows = np.bincount(answer)
    known = comparisons.details is not None and comparisons.details.order is not None
    if not known and (n_rows[answer] > 1).mean() < _SETS:
        answer, n_rows = np.arange(len(index)), np.ones(len(index), dtype=int)
    if question is None:
        question = group(same_question(index)[0], n_objects)[1]
    if len(n_rows) < len(index):
        return Tally(answer, _questions(index, answer, question), np.bincount(answer, weights=votes) / n_rows, False)
    if _choices_in_sets(index, n_objects) and _pair_up(index, votes, n_objects):
        unit = group(list(np.sort(index, axis=1).T), n_objects)[1]
        return Tally(unit, unit, np.bincount(unit, weights=votes) / 2.0, False)
    return Tally(answer, question, votes, True)


def votes_of_rows(comparisons: Comparisons) -> tuple[np.ndarray, bool]:
    """How often each row was said, float (N,), and whether its weight says so: whole numbers are votes."""
    weights = comparisons.weights
    if weights is None or not (weights == np.floor(weights)).all():
        return np.ones(len(comparisons)), False
    return weights, True


def _questions(index: np.ndarray, answer: np.ndarray, question: np.ndarray) -> np.ndarray:
    """Number what was asked: all that was shown where an answer has several rows, else what the one row asks."""
    several = np.bincount(answer)[answer] > 1
    if not several.any():
        return question
    question = question.copy()
    question[several] = len(question) + _shown(index[several], answer[several])
    return np.unique(question, return_inverse=True)[1]


def _of_one_weight(answer: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Number answers anew: rows that differ in weight are not of one answer."""
    same = np.diff(answer, prepend=-1) == 0
    differs = same & (np.diff(weights, prepend=0.0) != 0)
    same &= ~(np.bincount(answer, weights=differs) > 0)[answer]
    return np.cumsum(~same) - 1


def _pair_up(index: np.ndarray, votes: np.ndarray, n_objects: int) -> bool:
    """Tell whether each triplet was said as often as the other one that the same choice among three gives."""
    for turned in ([1, 0, 2], [2, 1, 0]):
        number = group(list(np.concatenate([index, index[:, turned]]).T), n_objects)[1]
        said, turned_round = (
            np.bincount(part, weights=votes, minlength=int(number.max()) + 1) for part in np.split(number, 2)
        )
        if np.array_equal(said, turned_round):
            return True
    return False


def _paired(index: np.ndarray, n_objects: int) -> np.ndarray:
    """Which triplets are of the same odd-one-out or most-central answer as the one before, bool (N - 1,)."""
    (a, b, c), (d, e, f) = index[:-1].T, index[1:].T
    paired = ((a == e) & (b == d) & (c == f)) | ((a == f) & (c == d) & (b == e))
    place = np.arange(len(paired))
    in_run = place - np.maximum.accumulate(np.where(paired, -1, place))
    paired &= in_run % 2 == 1  # of the same answer given again, every other row begins anew
    by_chance = 2.0 / max(n_objects * (n_objects - 1) * (n_objects - 2), 1)
    return paired & (paired.mean() >= np.clip(4.0 * by_chance, *_PAIRS))


def _is_sorted(index: np.ndarray) -> bool:
    """Tell whether triplets stand in rising order: then neighbours have much in common, whatever they come from."""
    columns = (tuple(index.T), tuple(same_question(index)[0]))
    return len(index) >= _SORTED and any(
        bool(((a[:-1] < a[1:]) | ((a[:-1] == a[1:]) & ((b[:-1] < b[1:]) | ((b[:-1] == b[1:]) & (c[:-1] <= c[1:])))))
             .all())
        for a, b, c in columns
    )  # fmt: skip


def _ranked(index: np.ndarray) -> np.ndarray | None:
    """Which triplets are of the same ranking as the one before, bool (N - 1,); None if the data are no rankings."""
    (a, b, c), (d, e, f) = index[:-1].T, index[1:].T
    anchor = a == d
    if anchor.mean() < _RANKED or _is_sorted(index):
        return None
    alike = anchor & ((b == e) | (b == f) | (c == e) | (c == f)) & ~((b == e) & (c == f))
    # Rankings about one anchor that follow each other make a run that is not whole: it is cut into as many rows as a
    # ranking has elsewhere, or where rows have little in common.
    run = np.append(0, np.cumsum(~anchor))
    n_rows, whole = np.bincount(run), _in_whole_runs(index, anchor)
    lengths = np.bincount(n_rows[np.unique(run[whole])], minlength=2)
    usual = int(lengths[2:].argmax()) + 2 if len(lengths) > 2 else 2
    place = np.arange(len(index)) - (np.cumsum(n_rows) - n_rows)[run]
    same = np.where(n_rows[run] % usual == 0, place % usual > 0, np.append(False, alike))
    same = np.where(whole, place > 0, same)[1:]
    several = np.append(same, False) | np.append(False, same)
    return same if same.mean() >= _RANKED and _in_whole_runs(index, same)[several].mean() >= _WHOLE else None


def _in_whole_runs(index: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Which triplets, bool (N,), are in runs that tell all the pairs that a ranking tells, or k chosen of n."""
    run = np.append(0, np.cumsum(~same))
    n_rows, n_objects = np.bincount(run), int(index.max()) + 1
    near, far = (np.unique(run * n_objects + index[:, column]) for column in (1, 2))
    n_near, n_far, n_all = (np.bincount(cells // n_objects) for cells in (near, far, np.union1d(near, far)))
    across = n_near * (n_all - n_near)
    whole = ((n_near + n_far == n_all) & (n_rows == across)) | (n_rows == across + n_near * (n_near - 1) // 2)
    return whole[run]


def _choices_in_sets(index: np.ndarray, n_objects: int) -> bool:
    """Tell whether triplets come from odd-one-out answers, (a, b, c) and (b, a, c), or from most-central ones."""
    if index.shape[1] != 3:
        return False
    some = index[:: max(len(index) // _SAMPLE, 1)]
    rows, odd, central = (  # beyond 64 bits numbers begin anew, and hardly two triplets have the same
        (part[:, 0].astype(np.int64) * n_objects + part[:, 1]) * n_objects + part[:, 2]
        for part in (index, some[:, [1, 0, 2]], some[:, [2, 1, 0]])
    )
    return bool(max(_among(odd, rows).mean(), _among(central, rows).mean()) >= _SETS)


def _among(few: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Which of a few numbers are among many, which are not sorted for it."""
    wanted, place = np.unique(few, return_inverse=True)
    at = np.minimum(np.searchsorted(wanted, many), len(wanted) - 1)
    found = np.zeros(len(wanted), dtype=bool)
    found[at[wanted[at] == many]] = True
    return found[place]


def _shown(index: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Number what the answers of some rows are about: the objects, and the anchor if all rows of the answer have it."""
    _, first, answer = np.unique(answer, return_index=True, return_inverse=True)
    n_objects = int(index.max()) + 1
    cells = np.unique(np.repeat(answer, index.shape[1]) * n_objects + index.ravel())
    # A set is known by the sum of random numbers of its members: 64 bits hold two sets apart.
    number = np.random.default_rng(0).integers(2**63, size=2 * n_objects, dtype=np.uint64)
    known = np.zeros(len(first), dtype=np.uint64)
    np.add.at(known, cells // n_objects, number[cells % n_objects])
    if index.shape[1] == 3:
        anchor = index[first, 0]
        changes = np.bincount(answer, weights=index[:, 0] != anchor[answer]) > 0
        known += np.where(changes, np.uint64(0), number[n_objects + anchor])
    return np.unique(known, return_inverse=True)[1][answer]
