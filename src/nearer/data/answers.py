"""Comparisons from what people answer: choices, votes, odd-one-out, most-central, rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nearer.data.questions import exchanged
from nearer.data.validate import Parts
from nearer.data.values import check_integer, check_weights, first_of, take

_ANSWERS = "+1/-1, bool, or votes (N, 2)"


def answered(questions: Parts, answers: Any) -> Parts:
    """Rows from questions and answers; see `Comparisons.from_answers`."""
    n_rows = len(questions.index) if questions.keep is None else len(questions.keep)
    values = _as_array(answers, "answers", _ANSWERS)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"answers: got dtype {values.dtype}, expected {_ANSWERS}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape not in ((n_rows,), (n_rows, 2)):
        raise ValueError(f"answers: got shape {values.shape}, expected ({n_rows},) or ({n_rows}, 2)")
    if values.ndim == 2:
        return _voted(questions, values)
    if values.dtype.kind != "b":
        _refuse(~((values == 1) | (values == -1)), values, "answers", f"expected {_ANSWERS}")
    first_is_nearer = values > 0
    if questions.keep is not None:
        first_is_nearer = first_is_nearer[questions.keep]
    return replace(questions, index=exchanged(questions.index, np.flatnonzero(~first_is_nearer)), keep=None)


def _voted(questions: Parts, votes: np.ndarray) -> Parts:
    """One row for each side that has votes, weighted by them; a question without votes gives no row."""
    if votes.dtype.kind == "b":
        raise ValueError("answers: got votes of dtype bool, expected numbers")
    _refuse(~((votes >= 0) & (votes < np.inf)).all(axis=1), votes, "answers", "votes must be finite numbers, 0 or more")
    if questions.keep is not None:
        votes = votes[questions.keep]
    row, side = np.nonzero(votes)
    if not len(row):
        raise ValueError("answers: no question has a vote")
    weights = votes[row, side].astype(np.float64)
    if questions.weights is not None:
        weights *= questions.weights[row]
    unanswered = int(np.count_nonzero(~votes.any(axis=1)))
    return replace(
        questions,
        index=exchanged(questions.index[row], np.flatnonzero(side)),
        weights=check_weights(weights, None),
        participants=take(questions.participants, row),
        dropped={**questions.dropped, "without votes": unanswered},
        keep=None,
    )


def odd_one_out(sets: Parts, odd: Any) -> Parts:
    """Two triplets (a, b, odd), (b, a, odd) for each set; see `Comparisons.from_odd_one_out`."""
    picked, a, b = _picked(sets, odd, "odd")
    return _doubled(sets, np.stack([a, b, picked, b, a, picked], axis=1))


def most_central(sets: Parts, central: Any) -> Parts:
    """Two triplets (a, c, b), (b, c, a) for each set with central object c; see `Comparisons.from_most_central`."""
    picked, a, b = _picked(sets, central, "central")
    return _doubled(sets, np.stack([a, picked, b, b, picked, a], axis=1))


def _picked(sets: Parts, choice: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen object of each set and the other two, in the order of the set."""
    n_rows = len(sets.index) if sets.keep is None else len(sets.keep)
    values = _as_array(choice, name, "one object for each set")
    if values.dtype.kind not in "iuf" or values.shape != (n_rows,):
        what = f"dtype {values.dtype}, shape {values.shape}"
        raise ValueError(f"{name}: got {what}, expected one object for each set, shape ({n_rows},)")
    rows = np.arange(n_rows) if sets.keep is None else np.flatnonzero(sets.keep)
    match = sets.index == values[rows, None]
    missing = ~match.any(axis=1)
    if missing.any():
        first = int(np.argmax(missing))
        members = tuple(sets.index[first].tolist())
        more = first_of(int(missing.sum()), "bad rows")
        raise ValueError(f"{name}: row {rows[first]} is {values[rows[first]]}: not in its set {members}{more}")
    place = match.argmax(axis=1)
    row = np.arange(len(place))
    others = np.array([[1, 2], [0, 2], [0, 1]])[place]
    return sets.index[row, place], sets.index[row, others[:, 0]], sets.index[row, others[:, 1]]


def _doubled(sets: Parts, pairs_of_rows: np.ndarray) -> Parts:
    weights, participants = (None if v is None else np.repeat(v, 2) for v in (sets.weights, sets.participants))
    index = pairs_of_rows.reshape(-1, 3)
    return replace(sets, index=index, weights=weights, participants=participants, keep=None)


def stack_rankings(queries: Any, ranked: Any) -> np.ndarray:
    """Queries (N,) and their candidates (N, m) as one array (N, 1 + m), still unchecked."""
    queries = _as_array(queries, "queries", "one object for each ranking")
    ranked = _as_array(ranked, "ranked", "shape (N, m), m candidates for each query")
    for name, values in (("queries", queries), ("ranked", ranked)):
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{name}: got dtype {values.dtype}, expected integers")
    if ranked.ndim != 2 or ranked.shape[1] < 2 or queries.shape != ranked.shape[:1]:
        got = f"{queries.shape} queries and {ranked.shape} candidates"
        raise ValueError(f"rankings: got shapes {got}, expected (N,) and (N, m) with m at least 2")
    return np.concatenate([queries[:, None], ranked], axis=1)


def ranked_pairs(rankings: Parts, k: int | None, ordered: bool) -> Parts:
    """Triplets (query, earlier, later) from rankings (N, 1 + m); see `Comparisons.from_rankings`."""
    n_candidates = rankings.index.shape[1] - 1
    if k is None:
        if not ordered:
            raise ValueError("k: got None with ordered=False, expected the number of chosen candidates")
        k = n_candidates - 1
    k = check_integer(k, "k", 1, n_candidates if ordered else n_candidates - 1)
    near, far = np.triu_indices(n_candidates, 1)
    said = (near < k) if ordered else (near < k) & (far >= k)
    near, far = near[said], far[said]
    index = np.empty((len(rankings.index), len(near), 3), dtype=np.int32)
    index[..., 0] = rankings.index[:, :1]
    index[..., 1] = rankings.index[:, 1 + near]
    index[..., 2] = rankings.index[:, 1 + far]
    repeated = (None if v is None else np.repeat(v, len(near)) for v in (rankings.weights, rankings.participants))
    weights, participants = repeated
    return replace(rankings, index=index.reshape(-1, 3), weights=weights, participants=participants, keep=None)


def _as_array(values: Any, name: str, expected: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: got a ragged list, expected {expected}") from error


def _refuse(bad: Any, values: np.ndarray, name: str, why: str) -> None:
    if bad.any():
        row, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        shown = values[row].tolist()
        shown = tuple(shown) if isinstance(shown, list) else shown
        raise ValueError(f"{name}: row {row} is {shown}: {why}{first_of(count, 'bad rows')}")
