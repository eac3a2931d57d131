"""The data check behind `Comparisons.check`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.data import questions
from nearer.data.report import CheckReport, Contradiction, ParticipantCheck
from nearer.data.validate import CHUNK
from nearer.data.values import check_integer

# A participant is judged on at least this many shared answers, and doubted where so low an agreement has less than
# this probability, shared out over all participants judged.
MIN_SHARED = 10
SIGNIFICANCE = 0.01


def check(comparisons: Any, n_components: int | None = None) -> CheckReport:
    """Look for faults in comparisons.

    Parameters
    ----------
    comparisons : Comparisons
    n_components : int, optional
        The dimension asked for.

    Returns
    -------
    CheckReport
    """
    if n_components is not None:
        n_components = check_integer(n_components, "n_components", 1)
    index, n_objects = comparisons.index, comparisons.n_objects
    columns, answer = questions.same_question(index)
    first, member = questions.group(columns, n_objects)
    votes, are_votes = _votes(comparisons.weights, len(index))
    counts = np.stack([np.bincount(member, weights=votes * side, minlength=len(first)) for side in (~answer, answer)])
    total = counts.sum(axis=0)
    repeated = total > 1
    ceiling, low = noise_ceiling(counts[:, repeated])
    asked = [column[first] for column in columns]
    names = np.arange(n_objects) if comparisons.labels is None else comparisons.labels
    seen = comparisons.seen
    groups = components(index, n_objects, seen)
    return CheckReport(
        kind=comparisons.kind,
        n_comparisons=len(index),
        n_objects=n_objects,
        dropped=comparisons.dropped,
        n_degenerate=comparisons.dropped.get("degenerate", 0),
        n_answers=float(total.sum()),
        weights_are_votes=are_votes,
        n_questions=int(np.count_nonzero(total)),
        n_repeated_questions=int(np.count_nonzero(repeated)),
        n_repeated_answers=float(total[repeated].sum()),
        contradictions=_contradictions(asked, counts, names),
        noise_ceiling=ceiling,
        noise_ceiling_low=low,
        unseen=names[~seen].tolist(),
        components=[len(group) for group in groups],
        islands=[names[group].tolist() for group in groups[1:]],
        n_components=n_components,
        too_few=None if n_components is None else _too_few(asked, total > 0, seen, names, n_components),
        participants=_participants(comparisons.participants, member, answer, votes, counts),
    )


def _votes(weights: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, bool]:
    """Answers that each row stands for, and whether they come from the weights (whole numbers are votes)."""
    if weights is None or not (weights == np.floor(weights)).all():
        return np.ones(n_rows), False
    return weights, True


def noise_ceiling(counts: np.ndarray) -> tuple[float | None, float | None]:
    """Upper and lower estimate of the best accuracy possible on repeated questions.

    Upper: agreement with the majority of all answers to the same question. Lower: agreement of each answer with the
    majority of the others, a tie counting one half. If answers to a question are independent draws with probability
    p, the best accuracy max(p, 1 - p) is at most the mean of the first and at least the mean of the second.

    Parameters
    ----------
    counts : ndarray, shape (2, n_questions)
        Answers each way, two or more in all for each question.

    Returns
    -------
    (float, float), or (None, None) without questions
    """
    if not counts.size:
        return None, None
    more, less = counts.max(axis=0), counts.min(axis=0)
    total = counts.sum()
    upper = more.sum() / total
    # An answer of the minority always meets a majority against it; so does every answer to an evenly divided question.
    agreeing = np.where(more - 1 > less, more, np.where(more - 1 == less, more / 2, 0.0))
    return float(upper), float(agreeing.sum() / total)


def _contradictions(asked: list[np.ndarray], counts: np.ndarray, names: np.ndarray) -> list[Contradiction]:
    """Questions answered both ways, the most evenly divided with the most answers first."""
    both = np.flatnonzero((counts > 0).all(axis=0))
    less = counts[:, both].min(axis=0)
    both = both[np.lexsort((both, counts[:, both].max(axis=0), -less))]
    rows = np.stack([column[both] for column in asked], axis=1)
    rows = questions.exchanged(rows, np.flatnonzero(counts[1, both] > counts[0, both]))
    high, low = counts[:, both].max(axis=0).tolist(), counts[:, both].min(axis=0).tolist()
    return [Contradiction(tuple(row), up, down) for row, up, down in zip(names[rows].tolist(), high, low)]


def components(index: np.ndarray, n_objects: int, seen: np.ndarray) -> list[np.ndarray]:
    """Connected components of the graph that links the objects of each comparison.

    Parameters
    ----------
    index : ndarray of int32, shape (N, 3) or (N, 4)
    n_objects : int
    seen : ndarray of bool, shape (n_objects,)
        Objects that occur; the others are left out.

    Returns
    -------
    list of ndarrays of int
        The objects of each component, the largest component first.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    label, n_labels = np.arange(n_objects), n_objects
    for start in range(0, len(index), CHUNK):  # each chunk joins components found so far: memory stays small
        block = label[index[start : start + CHUNK]]
        ends = np.concatenate([block[:, column] for column in range(1, block.shape[1])])
        starts = np.tile(block[:, 0], block.shape[1] - 1)
        apart = starts != ends
        if apart.any():
            links = coo_matrix((np.ones(int(apart.sum()), bool), (starts[apart], ends[apart])), (n_labels, n_labels))
            n_labels, joined = connected_components(links, directed=False)
            label = joined[label]
    members = np.flatnonzero(seen)
    members = members[np.argsort(label[members], kind="stable")]
    breaks = np.flatnonzero(np.diff(label[members])) + 1
    return sorted(np.split(members, breaks), key=lambda group: (-len(group), group[0]))


def _too_few(
    asked: list[np.ndarray], answered: np.ndarray, seen: np.ndarray, names: np.ndarray, n_components: int
) -> dict[str | int, int]:
    """Objects in fewer than `n_components` + 1 distinct questions, with the number of questions."""
    count = np.zeros(len(seen), dtype=np.int64)
    for place, column in enumerate(asked):
        new = answered.copy()  # an object that occurs twice in a question counts once
        for earlier in asked[:place]:
            new &= column != earlier
        count += np.bincount(column[new], minlength=len(seen))
    few = np.flatnonzero(seen & (count < n_components + 1))
    few = few[np.argsort(count[few], kind="stable")]
    return dict(zip(names[few].tolist(), count[few].tolist()))


def _participants(
    participants: np.ndarray | None, member: np.ndarray, answer: np.ndarray, votes: np.ndarray, counts: np.ndarray
) -> list[ParticipantCheck] | None:
    """Agreement of each participant with the majority of the others, the most doubtful first.

    An answer counts where the others have a majority on its question. The expected agreement is that of all other
    participants together (with one agreeing and one disagreeing answer added, so that it is never 0 or 1); the p-value
    is the binomial probability of so few agreeing answers.
    """
    if participants is None:
        return None
    from scipy.stats import binom

    people, person = np.unique(participants, return_inverse=True)
    # The participant's own answers to the question do not count among the others'.
    _, cell = questions.group([member, person], max(int(member.max()), len(people)) + 1)
    own = np.stack([np.bincount(cell, weights=votes * side) for side in (~answer, answer)])
    others = counts[:, member] - own[:, cell]
    same, opposite = np.where(answer, others[::-1], others)
    n_answers = np.bincount(person, weights=votes)
    n_shared = np.bincount(person, weights=votes * (same != opposite))
    n_agree = np.bincount(person, weights=votes * (same > opposite))
    expected = (n_agree.sum() - n_agree + 1) / (n_shared.sum() - n_shared + 2)
    p_value = binom.cdf(n_agree, n_shared, expected)
    judged = n_shared >= MIN_SHARED
    suspicious = judged & (p_value < SIGNIFICANCE / max(int(judged.sum()), 1))
    with np.errstate(invalid="ignore"):
        agreement = n_agree / n_shared
    order = np.lexsort((np.where(judged, p_value, 2.0), ~suspicious))
    return [
        ParticipantCheck(
            participant=people[i].item(),
            n_answers=int(n_answers[i]),
            n_shared=int(n_shared[i]),
            agreement=float(agreement[i]) if n_shared[i] else None,
            expected=float(expected[i]) if n_shared[i] else None,
            p_value=float(p_value[i]) if judged[i] else None,
            suspicious=bool(suspicious[i]),
        )
        for i in order.tolist()
    ]
