"""Which comparisons go where: the rows of one answer, and all answers to one question, stay together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.coded import Coded, check_coded, distinct
from nearer.data.validate import as_generator, check_integer

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons

_IN_SETS = {"odd-one-out", "most-central"}


def unplaceable(comparisons: Comparisons, fold: np.ndarray) -> np.ndarray:
    """Which answers with comparisons name an object that occurs in no other fold: bool (m,)."""
    answer, lacking = first_rows(comparisons)[1], np.zeros(len(comparisons), dtype=bool)
    for number in range(int(fold.max()) + 1):
        held_out = fold == number
        seen = np.zeros(comparisons.n_objects, dtype=bool)
        seen[comparisons.index[~held_out]] = True
        lacking |= held_out & ~seen[comparisons.index].all(axis=1)
    return np.bincount(answer, lacking) > 0


def same_statement(index: np.ndarray) -> list[np.ndarray]:
    """Columns that are equal for two rows of an index (N, 3) or (N, 4) exactly if the rows say the same."""
    if index.shape[1] == 3:
        return list(index.T)
    # Distances are symmetric, so the order inside a pair does not matter.
    i, j, l, k = index.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    return [np.minimum(i, j), np.maximum(i, j), np.minimum(l, k), np.maximum(l, k)]


def same_question(index: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Columns that are equal for two rows exactly if they answer the same question, and which answer each row gives."""
    columns = same_statement(index)
    if len(columns) == 3:
        anchor, near, far = columns
        return [anchor, np.minimum(near, far), np.maximum(near, far)], near > far
    a, b, c, d = columns
    swap = (a > c) | ((a == c) & (b > d))
    return [np.where(swap, c, a), np.where(swap, d, b), np.where(swap, a, c), np.where(swap, b, d)], swap


def group(columns: list[np.ndarray], n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of columns of objects, in lexicographic order: first row of each group, group of each row."""
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
    """Index of the first occurrence of each distinct value, in order, and the rank of every value."""
    order = np.argsort(key)
    ordered = key[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    first = np.minimum.reduceat(order, np.flatnonzero(new))
    rank = np.empty(len(key), dtype=np.int64)
    rank[order] = np.cumsum(new) - 1
    return first, rank


def answer_of_rows(comparisons: Comparisons) -> np.ndarray:
    return np.arange(len(comparisons)) if comparisons.answer is None else comparisons.answer


def first_rows(comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each answer that gave comparisons, int (m,), and the answer of each row, from 0 on, int (N,)."""
    if comparisons.answer is None:
        every = np.arange(len(comparisons))
        return every, every
    return np.unique(comparisons.answer, return_index=True, return_inverse=True)[1:]


def shares_of_answers(comparisons: Comparisons) -> np.ndarray:
    """How many answers each row stands for, float (N,): the votes, divided among the rows of one answer."""
    if comparisons.answer is None:
        return comparisons.votes
    return comparisons.votes / np.bincount(comparisons.answer)[comparisons.answer]


def responses(comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Number the question and the response of each answer that gave comparisons, two int (m,)."""
    first, answer = first_rows(comparisons)
    said = group(same_statement(comparisons.index), comparisons.n_objects)[1]
    return question_of_rows(comparisons)[first], _number_sets(answer, said, len(first))


def answers_naming(comparisons: Comparisons) -> np.ndarray:
    """How many answers name each object, float (n_objects,)."""
    first, answer = first_rows(comparisons)
    cells = distinct(answer[:, None] * np.int64(comparisons.n_objects) + comparisons.index)
    answer, named = np.divmod(cells, comparisons.n_objects)
    return np.bincount(named, weights=comparisons.votes[first][answer], minlength=comparisons.n_objects)


def questions_of(comparisons: Comparisons) -> np.ndarray:
    """The number of the question that each row answers, int (N,); rows of one answer may have different ones."""
    return group(same_question(comparisons.index)[0], comparisons.n_objects)[1]


def question_of_rows(comparisons: Comparisons, n_parts: int = 1) -> np.ndarray:
    """Number the questions (what was shown), int (N,); or the answers, if there are fewer questions than `n_parts`."""
    index, n_objects = comparisons.index, comparisons.n_objects
    if index.shape[1] == 3 and _IN_SETS.issuperset(comparisons.answers.kinds()):
        question = group(list(np.sort(index, axis=1).T), n_objects)[1]
    else:
        question = questions_of(comparisons)
        answer = answer_of_rows(comparisons)
        several = np.bincount(answer)[answer] > 1
        if several.any():  # these ask about all that was shown
            question[several] = len(question) + _shown(index[several], answer[several])
            question = np.unique(question, return_inverse=True)[1]
    if int(question.max()) + 1 < n_parts:
        return np.unique(answer_of_rows(comparisons), return_inverse=True)[1]
    return question


def _shown(index: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Number what answers are about: the objects, and the anchor if all rows of the answer have the same."""
    _, first, answer = np.unique(answer, return_index=True, return_inverse=True)
    n_objects = int(index.max()) + 1
    cells = np.unique(np.repeat(answer, index.shape[1]) * n_objects + index.ravel())
    owner, member = np.divmod(cells, n_objects)
    if index.shape[1] == 3:
        anchor = index[first, 0]
        same = np.flatnonzero(np.bincount(answer, weights=index[:, 0] != anchor[answer]) == 0)
        owner, member = np.append(owner, same), np.append(member, n_objects + anchor[same])
    return _number_sets(owner, member, len(first))[answer]


def _number_sets(owner: np.ndarray, member: np.ndarray, n_sets: int) -> np.ndarray:
    """Number sets by their members, int (n_sets,): sums of 64-bit random numbers distinguish different sets."""
    number = np.random.default_rng(0).integers(2**63, size=int(member.max()) + 1, dtype=np.uint64)
    known = np.zeros(n_sets, dtype=np.uint64)
    np.add.at(known, owner, number[member])
    return np.unique(known, return_inverse=True)[1]


def units_of(comparisons: Comparisons, groups: Any, n_parts: int) -> Coded | None:
    """What a split keeps together: the groups asked for, else answers with several rows; None: each row on its own."""
    if groups is not None and not (isinstance(groups, str) and groups in ("answers", "rows")):
        return groups_of(comparisons, groups)
    if comparisons.answer is None or groups == "rows":
        return None
    names, codes = np.unique(comparisons.answer, return_inverse=True)
    if len(names) == len(codes) or (groups is None and len(names) < n_parts):
        return None
    return Coded(codes.astype(np.int32), names)


def groups_of(comparisons: Comparisons, groups: Any) -> Coded:
    if isinstance(groups, str):
        if groups != "participants" or comparisons.people is None:
            raise ValueError(f"groups: got {groups!r}, expected an array or 'participants' of these comparisons")
        return comparisons.people
    units = check_coded(groups, len(comparisons), "groups", "group")
    if units is None:
        raise ValueError("groups: got None, expected a group for each row")
    return units


def mark_test_rows(n_rows: int, test_size: Any, random_state: Any, units: Coded | None) -> np.ndarray:
    n_units, what = (n_rows, "rows") if units is None else (len(units.names), "groups")
    if isinstance(test_size, float | np.floating):
        if not 0 < test_size < 1:
            raise ValueError(f"test_size: got {test_size}, expected a fraction between 0 and 1 or a number of {what}")
        n_test = round(float(test_size) * n_units)
    else:
        n_test = check_integer(test_size, "test_size", 1)
    if not 0 < n_test < n_units:
        left = f"{test_size} of {n_units:,} {what} leaves {n_test:,} for test"
        raise ValueError(f"test_size: {left}, need {what} on both sides")
    mask = np.zeros(n_units, dtype=bool)
    mask[as_generator(random_state).choice(n_units, n_test, replace=False, shuffle=False)] = True
    return mask if units is None else mask[units.codes]


def fold_of_rows(n_rows: int, n_folds: Any, random_state: Any, groups: Coded | None) -> np.ndarray:
    """The fold of each row, int (n_rows,): sizes as equal as possible, rows of one group together."""
    n_folds = check_integer(n_folds, "n_folds", 2)
    rng = as_generator(random_state)
    n_units, what = (n_rows, "row") if groups is None else (len(groups.names), "group")
    if n_folds > n_units:
        raise ValueError(f"n_folds: got {n_folds} folds for {n_units:,} {what}s, expected at most one fold per {what}")
    if groups is None:
        fold = np.arange(n_rows, dtype=np.int32) % n_folds
        rng.shuffle(fold)
        return fold
    # The largest group first, each into the fold with the fewest rows so far; ties in random order.
    sizes, order = np.bincount(groups.codes), rng.permutation(n_units)
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold_of_group = np.zeros(n_folds, dtype=np.int64), np.empty(n_units, dtype=np.int32)
    for number in order.tolist():
        fold_of_group[number] = filled.argmin()
        filled[fold_of_group[number]] += sizes[number]
    return fold_of_group[groups.codes]
