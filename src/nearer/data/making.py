"""Rows made from something else: answers, sets and rankings; classes, distances, points, a neighbourhood graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nearer._memory import check_memory
from nearer.data.carriers import refuse_named
from nearer.data.rules import Parts, exchanged
from nearer.data.values import (
    Details,
    as_array,
    check_bool,
    check_integer,
    check_objects,
    check_people,
    check_weights,
    first_of,
    refuse_rows,
)

_ANSWERS = "+1/-1, bool, or votes (N, 2)"


def answered(questions: Parts, answers: Any) -> Parts:
    """Rows from questions and answers; see `Comparisons.from_answers`."""
    n_rows = len(questions.index) if questions.keep is None else len(questions.keep)
    values = as_array(answers, "answers", _ANSWERS)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"answers: got dtype {values.dtype}, expected {_ANSWERS}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape not in ((n_rows,), (n_rows, 2)):
        raise ValueError(f"answers: got shape {values.shape}, expected ({n_rows},) or ({n_rows}, 2)")
    if values.ndim == 2:
        refuse_named(answers, "answers")
        return voted(questions, values)
    if values.dtype.kind != "b":
        refuse_rows(~((values == 1) | (values == -1)), values, "answers", f"expected {_ANSWERS}")
    first_is_nearer = values > 0
    if questions.keep is not None:
        first_is_nearer = first_is_nearer[questions.keep]
    return replace(
        questions,
        index=exchanged(questions.index, np.flatnonzero(~first_is_nearer)),
        keep=None,
        details=_with_side(questions.details, ~first_is_nearer),
    )


def _with_side(details: Details | None, side: np.ndarray) -> Details:
    """Details with the position of what was chosen, unless that is known already, as from a column of its own."""
    known = {} if details is None else details.known()
    return Details(**({"side": side.astype(np.int8)} | known))


def voted(questions: Parts, votes: np.ndarray) -> Parts:
    """One row for each side that has votes, weighted by them; a question without votes gives no row."""
    if votes.dtype.kind == "b":
        raise ValueError("answers: got votes of dtype bool, expected numbers")
    refuse_rows(
        ~((votes >= 0) & (votes < np.inf)).all(axis=1), votes, "answers", "votes must be finite numbers, 0 or more"
    )
    if questions.keep is not None:
        votes = votes[questions.keep]
    row, side = np.nonzero(votes)
    if not len(row):
        raise ValueError("answers: no question has a vote")
    beside = questions.beside(row)
    weights = votes[row, side].astype(np.float64)
    if beside["weights"] is not None:
        weights *= beside["weights"]
    unanswered = int(np.count_nonzero(~votes.any(axis=1)))
    return replace(
        questions,
        index=exchanged(questions.index[row], np.flatnonzero(side)),
        dropped={**questions.dropped, "without votes": unanswered},
        keep=None,
        **beside | {"weights": check_weights(weights, None)},
    )


def odd_one_out(sets: Parts, odd: Any) -> Parts:
    """Two triplets (a, b, odd), (b, a, odd) for each set; see `Comparisons.from_odd_one_out`."""
    place, picked, a, b = _picked(sets, odd, "odd")
    return _doubled(sets, place, np.stack([a, b, picked, b, a, picked], axis=1))


def most_central(sets: Parts, central: Any) -> Parts:
    """Two triplets (a, c, b), (b, c, a) for each set with central object c; see `Comparisons.from_most_central`."""
    place, picked, a, b = _picked(sets, central, "central")
    return _doubled(sets, place, np.stack([a, picked, b, b, picked, a], axis=1))


def _picked(sets: Parts, choice: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The place of the chosen object in its set, the object, and the other two in the order of the set."""
    n_rows = len(sets.index) if sets.keep is None else len(sets.keep)
    values = as_array(choice, name, "one object for each set")
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
    return place, sets.index[row, place], sets.index[row, others[:, 0]], sets.index[row, others[:, 1]]


def _doubled(sets: Parts, place: np.ndarray, pairs_of_rows: np.ndarray) -> Parts:
    return _repeated(replace(sets, details=_with_side(sets.details, place)), pairs_of_rows.reshape(-1, 3), 2)


def _repeated(rows: Parts, index: np.ndarray, times: int) -> Parts:
    """Give every row's weight, person and details to the `times` rows that came of it."""
    weights = None if rows.weights is None else np.repeat(rows.weights, times)
    people = None if rows.people is None else rows.people.repeated(times)
    details = None if rows.details is None else rows.details.repeated(times)
    return replace(rows, index=index, weights=weights, people=people, details=details, keep=None)


def stack_rankings(queries: Any, ranked: Any) -> np.ndarray:
    """Queries (N,) and their candidates (N, m) as one array (N, 1 + m), still unchecked."""
    refuse_named(ranked, "ranked")
    queries = as_array(queries, "queries", "one object for each ranking")
    ranked = as_array(ranked, "ranked", "shape (N, m), m candidates for each query")
    for name, values in (("queries", queries), ("ranked", ranked)):
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{name}: got dtype {values.dtype}, expected integers")
    if ranked.ndim != 2 or ranked.shape[1] < 2 or queries.shape != ranked.shape[:1]:
        got = f"{queries.shape} queries and {ranked.shape} candidates"
        raise ValueError(f"rankings: got shapes {got}, expected (N,) and (N, m) with m at least 2")
    return np.concatenate([queries[:, None], ranked], axis=1)


def ranked_pairs(rankings: Parts, k: int | None, ordered: bool) -> Parts:
    """Triplets (query, earlier, later) from rankings (N, 1 + m); see `Comparisons.from_rankings`."""
    check_bool(ordered, "ordered")
    near, far = _ranked_columns(rankings.index.shape[1] - 1, k, ordered)
    return _repeated(rankings, _ranked_rows(rankings.index, near, far), len(near))


def ranked_each(rankings: Parts, n_shown: np.ndarray, k: np.ndarray, ordered: np.ndarray) -> Parts:
    """Likewise with `k`, `ordered` and the number of candidates of each ranking, shape (N,)."""
    told, group = np.unique(np.stack([n_shown, k, ordered], axis=1), axis=0, return_inverse=True)
    pieces, origins = [], []
    for number, (n_candidates, count, in_order) in enumerate(told.tolist()):
        members = np.flatnonzero(group.reshape(-1) == number)
        near, far = _ranked_columns(n_candidates, count, bool(in_order))
        pieces.append(_ranked_rows(rankings.index[members], near, far))
        origins.append(np.repeat(members, len(near)))
    origin = np.concatenate(origins)
    order = np.argsort(origin, kind="stable")
    origin, index = origin[order], np.concatenate(pieces)[order]
    return replace(rankings, index=index, keep=None, **rankings.beside(origin))


def _ranked_columns(n_candidates: int, k: int | None, ordered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give the nearer and the farther candidate of every pair that a ranking tells apart."""
    if k is None:
        if not ordered:
            raise ValueError("k: got None with ordered=False, expected the number of chosen candidates")
        k = n_candidates - 1
    k = check_integer(k, "k", 1, n_candidates if ordered else n_candidates - 1)
    near, far = np.triu_indices(n_candidates, 1)
    said = (near < k) if ordered else (near < k) & (far >= k)
    return near[said], far[said]


def _ranked_rows(rankings: np.ndarray, near: np.ndarray, far: np.ndarray) -> np.ndarray:
    index = np.empty((len(rankings), len(near), 3), dtype=np.int32)
    index[..., 0] = rankings[:, :1]
    index[..., 1] = rankings[:, 1 + near]
    index[..., 2] = rankings[:, 1 + far]
    return index.reshape(-1, 3)


# ---- from what is known already ------------------------------------------------------------------------------------

# Comparisons drawn in one go; the gathered points of a chunk stay in cache. Part of what a seed means: do not change.
_DRAW = 1 << 16
_MAX_ROWS = 2**31

Compare = Callable[[np.ndarray], np.ndarray]


def _sizes(n_objects: int, n_comparisons: Any, labels: Any) -> tuple[int, np.ndarray | None]:
    n_comparisons = check_integer(n_comparisons, "n_comparisons", 1)
    check_memory(12.0 * n_comparisons, f"n_comparisons = {n_comparisons:,}", "ask for fewer")
    return n_comparisons, check_objects(n_objects, labels)[1]


def from_classes(y: Any, n_comparisons: Any, rng: np.random.Generator, labels: Any) -> Parts:
    """Random (i, j same class, k other class); see `Comparisons.from_classes`."""
    people = check_people(y, None, "classes")
    if people is None:
        raise ValueError("classes: got None, expected a class for each object")
    codes, n_objects = people.codes, len(people)
    n_comparisons, labels = _sizes(n_objects, n_comparisons, labels)
    size = np.bincount(codes)
    if len(size) < 2:
        raise ValueError("classes: all objects are of one class, expected at least two classes")
    members = np.argsort(codes, kind="stable")  # objects class by class
    start = np.cumsum(size) - size
    able = np.flatnonzero(size[codes[members]] > 1)  # places of objects that are not alone in their class
    if not len(able):
        raise ValueError("classes: every object is alone in its class, expected a class with two or more")
    index = np.empty((n_comparisons, 3), dtype=np.int32)
    for begin in range(0, n_comparisons, _DRAW):
        count = min(_DRAW, n_comparisons - begin)
        anchor = able[rng.integers(len(able), size=count)]
        own = codes[members[anchor]]
        near = start[own] + rng.integers(size[own] - 1)
        near += near >= anchor
        far = rng.integers(n_objects - size[own])
        far += np.where(far >= start[own], size[own], 0)
        for column, place in enumerate((anchor, near, far)):
            index[begin : begin + count, column] = members[place]
    return Parts(index, n_objects, labels=labels)


def _draw(n_objects: int, width: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random rows of distinct objects: int32, shape (count, width)."""
    rows = np.empty((count, width), dtype=np.int32)
    taken: list[np.ndarray] = []  # the columns so far, each row in increasing order
    for column in range(width):
        value = rng.integers(n_objects - column, size=count, dtype=np.int32)
        for other in taken:  # stepping over those taken, lowest first, makes the choice uniform over the rest
            value += value >= other
        rows[:, column] = value
        if column + 1 < width:
            for place, other in enumerate(taken):
                taken[place], value = np.minimum(other, value), np.maximum(other, value)
            taken.append(value.copy())
    return rows


def _sample(n_objects: int, n_comparisons: Any, kind: str, compare: Compare, rng: Any, labels: Any) -> Parts:
    """Random comparisons put in order by `compare`: > 0 where the first distance is larger, 0 for a tie."""
    n_comparisons, labels = _sizes(n_objects, n_comparisons, labels)
    width = _width(kind)
    if n_objects < width:
        raise ValueError(f"n_objects: got {n_objects}, expected at least {width} for {kind}")
    index = np.empty((n_comparisons, width), dtype=np.int32)
    filled = ties = barren = 0
    while filled < n_comparisons:
        rows = _draw(n_objects, width, min(_DRAW, n_comparisons - filled), rng)
        difference = compare(rows)
        rows = _ordered(rows, difference)
        ties += len(difference) - len(rows)
        index[filled : filled + len(rows)] = rows
        filled += len(rows)
        barren = 0 if len(rows) else barren + len(difference)
        if barren >= 1000 + 10 * n_objects:
            raise ValueError(f"distances: {barren:,} random comparisons in a row are ties, nothing to compare")
    return Parts(index, n_objects, labels=labels, dropped={"ties": ties})


def _ordered(rows: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """Rows with the smaller distance first; ties left out."""
    rows = exchanged(rows, np.flatnonzero(difference > 0))
    tied = difference == 0
    return rows[~tied] if tied.any() else rows


def _width(kind: str) -> int:
    if not isinstance(kind, str) or kind not in ("triplets", "quadruplets"):
        raise ValueError(f"kind: got {kind!r}, expected 'triplets' or 'quadruplets'")
    return 3 if kind == "triplets" else 4


def _as_square(values: Any, name: str) -> np.ndarray:
    matrix = as_array(values, name, "a square matrix of numbers")
    if matrix.dtype.kind not in "biuf" or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        what = f"dtype {matrix.dtype}, shape {matrix.shape}"
        raise ValueError(f"{name}: got {what}, expected a square matrix of numbers")
    return matrix


def _refuse_cells(bad: np.ndarray, values: np.ndarray, name: str, why: str) -> None:
    if bad.any():
        row, column = divmod(int(np.argmax(bad)), bad.shape[1])
        raise ValueError(f"{name}: entry ({row}, {column}) is {values[row, column]}: {why}")


def from_distances(D: Any, n_comparisons: Any, kind: str, rng: np.random.Generator, labels: Any) -> Parts:
    """All or random comparisons of a distance matrix; see `Comparisons.from_distances`."""
    distances = _as_square(D, "distances").astype(np.float64, copy=False)
    _refuse_cells(~np.isfinite(distances), distances, "distances", "a distance must be finite")
    _refuse_cells(distances < 0, distances, "distances", "a distance cannot be negative")
    own = np.diag(abs(np.diag(distances)) > 1e-6 * distances.max(initial=0.0))
    why = "the distance of an object to itself must be 0; similarities have to be turned into distances first"
    _refuse_cells(own, distances, "distances", why)
    scale = 1e-9 * np.maximum(distances, distances.T)
    _refuse_cells(abs(distances - distances.T) > scale, distances, "distances", "the matrix is not symmetric")
    distances = np.maximum(distances, distances.T)  # rounding must not decide which of two is nearer
    if n_comparisons is None:
        return _all_comparisons(distances, kind, labels)

    def compare(rows: np.ndarray) -> np.ndarray:
        c, d = (0, 2) if rows.shape[1] == 3 else (2, 3)
        return distances[rows[:, 0], rows[:, 1]] - distances[rows[:, c], rows[:, d]]

    return _sample(len(distances), n_comparisons, kind, compare, rng, labels)


def _all_comparisons(distances: np.ndarray, kind: str, labels: Any) -> Parts:
    """Every triplet, or every comparison of two pairs, that is not a tie."""
    n = len(distances)
    width = _width(kind)
    _, labels = check_objects(n, labels)
    first, second = np.triu_indices(n, 1)
    n_pairs = len(first)
    total = n * (n - 1) * (n - 2) // 2 if width == 3 else n_pairs * (n_pairs - 1) // 2
    if total < 1:
        raise ValueError(f"distances: {n} objects have no {kind}")
    if total >= _MAX_ROWS:
        raise ValueError(f"distances: {total:,} {kind} are too many to hold; ask for some with n_comparisons")
    index = np.empty((total, width), dtype=np.int32)
    filled = ties = 0
    for turn in range(n if width == 3 else n_pairs - 1):
        if width == 3:
            others = (first != turn) & (second != turn)
            near, far = first[others], second[others]
            rows = np.stack([np.full(len(near), turn), near, far], axis=1)
            difference = distances[turn, near] - distances[turn, far]
        else:
            i, j, l, k = first[turn], second[turn], first[turn + 1 :], second[turn + 1 :]  # noqa: E741
            rows = np.stack([np.full(len(l), i), np.full(len(l), j), l, k], axis=1)
            difference = distances[i, j] - distances[l, k]
        rows = _ordered(rows, difference)
        ties += len(difference) - len(rows)
        index[filled : filled + len(rows)] = rows
        filled += len(rows)
    if not filled:
        raise ValueError("distances: all comparisons are ties, nothing to compare")
    return Parts(index[:filled], n, labels=labels, dropped={"ties": ties})


def from_points(X: Any, n_comparisons: Any, kind: str, rng: np.random.Generator, labels: Any) -> Parts:
    """Random comparisons of the distances between points; see `Comparisons.from_points`."""
    points = as_array(X, "points", "numbers of shape (n_objects, d)")
    if points.dtype.kind not in "biuf" or points.ndim != 2 or points.shape[1] < 1:
        what = f"dtype {points.dtype}, shape {points.shape}"
        raise ValueError(f"points: got {what}, expected numbers of shape (n_objects, d)")
    points = np.ascontiguousarray(points, dtype=np.float64)
    _refuse_cells(~np.isfinite(points), points, "points", "a coordinate must be finite")
    _refuse_cells(abs(points) > 1e150, points, "points", "too large, its square overflows")

    def compare(rows: np.ndarray) -> np.ndarray:
        ends = [points.take(column, axis=0) for column in rows.T]  # take is several times as fast as points[column]
        pairs = ((0, 1), (0, 2)) if len(ends) == 3 else ((0, 1), (2, 3))
        near, far = (ends[a] - ends[b] for a, b in pairs)
        return np.einsum("nd,nd->n", near, near) - np.einsum("nd,nd->n", far, far)

    return _sample(len(points), n_comparisons, kind, compare, rng, labels)


def from_knn_graph(A: Any, n_comparisons: Any, rng: np.random.Generator, labels: Any) -> Parts:
    """All or random (i, neighbour, other) of a directed graph; see `Comparisons.from_knn_graph`."""
    from scipy import sparse

    if not sparse.issparse(A):
        A = sparse.csr_matrix(_as_square(A, "graph"))
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"graph: got shape {A.shape}, expected a square matrix")
    n = A.shape[0]
    graph = sparse.coo_matrix(A)
    if np.isnan(graph.data).any():
        raise ValueError("graph: got an entry that is not a number")
    graph.sum_duplicates()
    linked = graph.data != 0
    row, column = graph.row[linked].astype(np.int64), graph.col[linked].astype(np.int64)
    loops = row == column
    row, column = row[~loops], column[~loops]
    order = np.lexsort((column, row))
    row, column = row[order], column[order]
    degree = np.bincount(row, minlength=n)
    # Comparisons are numbered edge by edge; the edges of i have n - 1 - degree(i) comparisons each.
    ends = np.cumsum((n - 1 - degree)[row])
    total = int(ends[-1]) if len(ends) else 0
    if not total:
        raise ValueError("graph: no object has both a neighbour and a non-neighbour, nothing to compare")
    if n_comparisons is None:
        count = total
        _, labels = check_objects(n, labels)
        if total >= _MAX_ROWS:
            raise ValueError(f"graph: {total:,} triplets are too many to hold; ask for some with n_comparisons")
    else:
        count, labels = _sizes(n, n_comparisons, labels)
    closed_row, closed_column = np.concatenate([row, np.arange(n)]), np.concatenate([column, np.arange(n)])
    order = np.lexsort((closed_column, closed_row))  # neighbourhoods with the object itself: what k must avoid
    closed_row, closed_column = closed_row[order], closed_column[order]
    begin = np.cumsum(degree + 1) - (degree + 1)
    free_before = closed_column - (np.arange(len(closed_row)) - begin[closed_row])
    key = closed_row * (n + 1) + free_before
    index = np.empty((count, 3), dtype=np.int32)
    for start in range(0, count, _DRAW):
        stop = min(start + _DRAW, count)
        number = np.arange(start, stop) if n_comparisons is None else rng.integers(total, size=stop - start)
        edge = np.searchsorted(ends, number, side="right")
        anchor = row[edge]
        rank = number - (ends[edge] - (n - 1 - degree[anchor]))  # which of the non-neighbours
        skipped = np.searchsorted(key, anchor * (n + 1) + rank, side="right") - begin[anchor]
        index[start:stop, 0] = anchor
        index[start:stop, 1] = column[edge]
        index[start:stop, 2] = rank + skipped
    return Parts(index, n, labels=labels, dropped={"self-neighbours": int(loops.sum())})
