"""Comparisons made from what is known already: classes, distances, points, a neighbourhood graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nearer.data.answers import Answers
from nearer.data.coded import check_coded
from nearer.data.constructors import Parts, exchanged
from nearer.data.validate import as_array, check_integer, check_objects
from nearer.machine import check_memory

# Comparisons drawn in one go; the gathered points of a chunk stay in cache. Part of what a seed means: do not change.
_DRAW = 1 << 16
_MAX_ROWS = 2**31

Compare = Callable[[np.ndarray], np.ndarray]


def _made(index: np.ndarray, n_objects: int, labels: Any, dropped: dict[str, int] | None = None) -> Parts:
    kind = "triplets" if index.shape[1] == 3 else "quadruplets"
    return Parts(index, n_objects, Answers(kind, len(index)), labels=labels, dropped=dropped or {})


def _sizes(n_objects: int, n_comparisons: Any, labels: Any) -> tuple[int, np.ndarray | None]:
    n_comparisons = check_integer(n_comparisons, "n_comparisons", 1)
    check_memory(12.0 * n_comparisons, f"n_comparisons = {n_comparisons:,}", "ask for fewer")
    return n_comparisons, check_objects(n_objects, labels)[1]


def from_classes(y: Any, n_comparisons: Any, rng: np.random.Generator, labels: Any) -> Parts:
    classes = check_coded(y, None, "classes", "class")
    if classes is None:
        raise ValueError("classes: got None, expected a class for each object")
    codes, n_objects = classes.codes, len(classes)
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
        index[begin : begin + count] = members[np.stack([anchor, near, far], axis=1)]
    return _made(index, n_objects, labels)


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
        found = _ordered(rows, compare)
        ties += len(rows) - len(found)
        index[filled : filled + len(found)] = found
        filled += len(found)
        barren = 0 if len(found) else barren + len(rows)
        if barren >= 1000 + 10 * n_objects:
            raise ValueError(f"distances: {barren:,} random comparisons in a row are ties, nothing to compare")
    return _made(index, n_objects, labels, {"ties": ties})


def _ordered(rows: np.ndarray, compare: Compare) -> np.ndarray:
    difference = compare(rows)
    return exchanged(rows, np.flatnonzero(difference > 0))[difference != 0]


def _width(kind: str) -> int:
    if not isinstance(kind, str) or kind not in ("triplets", "quadruplets"):
        raise ValueError(f"kind: got {kind!r}, expected 'triplets' or 'quadruplets'")
    return 3 if kind == "triplets" else 4


def _as_matrix(values: Any, name: str, square: bool) -> np.ndarray:
    expected = "a square matrix of numbers" if square else "numbers of shape (n_objects, d)"
    matrix = as_array(values, name, expected)
    fits = matrix.ndim == 2 and (matrix.shape[0] == matrix.shape[1] if square else matrix.shape[1] > 0)
    if matrix.dtype.kind not in "biuf" or not fits:
        raise ValueError(f"{name}: got dtype {matrix.dtype}, shape {matrix.shape}, expected {expected}")
    return matrix


def _refuse_cells(bad: np.ndarray, values: np.ndarray, name: str, why: str) -> None:
    if bad.any():
        row, column = divmod(int(np.argmax(bad)), bad.shape[1])
        raise ValueError(f"{name}: entry ({row}, {column}) is {values[row, column]}: {why}")


def from_distances(D: Any, n_comparisons: Any, kind: str, rng: np.random.Generator, labels: Any) -> Parts:
    distances = _as_matrix(D, "distances", square=True).astype(np.float64, copy=False)
    _refuse_cells(~np.isfinite(distances), distances, "distances", "a distance must be finite")
    _refuse_cells(distances < 0, distances, "distances", "a distance cannot be negative")
    own = np.diag(abs(np.diag(distances)) > 1e-6 * distances.max(initial=0.0))
    why = "the distance of an object to itself must be 0; similarities have to be turned into distances first"
    _refuse_cells(own, distances, "distances", why)
    scale = 1e-9 * np.maximum(distances, distances.T)
    _refuse_cells(abs(distances - distances.T) > scale, distances, "distances", "the matrix is not symmetric")
    distances = np.maximum(distances, distances.T)  # rounding must not decide which of two is nearer

    def compare(rows: np.ndarray) -> np.ndarray:
        c, d = (0, 2) if rows.shape[1] == 3 else (2, 3)
        return distances[rows[:, 0], rows[:, 1]] - distances[rows[:, c], rows[:, d]]

    if n_comparisons is None:
        return _all_comparisons(len(distances), kind, compare, labels)
    return _sample(len(distances), n_comparisons, kind, compare, rng, labels)


def _all_comparisons(n: int, kind: str, compare: Compare, labels: Any) -> Parts:
    width = _width(kind)
    _, labels = check_objects(n, labels)
    first, second = np.triu_indices(n, 1)
    n_pairs = len(first)
    total = n * (n - 1) * (n - 2) // 2 if width == 3 else n_pairs * (n_pairs - 1) // 2
    if total < 1:
        raise ValueError(f"distances: {n} objects have no {kind}")
    if total >= _MAX_ROWS:
        raise ValueError(f"distances: {total:,} {kind} do not fit in memory; set n_comparisons to draw a sample")
    index = np.empty((total, width), dtype=np.int32)
    filled = 0
    for turn in range(n if width == 3 else n_pairs - 1):
        if width == 3:
            others = (first != turn) & (second != turn)
            columns = [turn, first[others], second[others]]
        else:
            columns = [first[turn], second[turn], first[turn + 1 :], second[turn + 1 :]]
        rows = _ordered(np.stack(np.broadcast_arrays(*columns), axis=1), compare)
        index[filled : filled + len(rows)] = rows
        filled += len(rows)
    if not filled:
        raise ValueError("distances: all comparisons are ties, nothing to compare")
    return _made(index[:filled], n, labels, {"ties": total - filled})


def from_points(X: Any, n_comparisons: Any, kind: str, rng: np.random.Generator, labels: Any) -> Parts:
    points = np.ascontiguousarray(_as_matrix(X, "points", square=False), dtype=np.float64)
    _refuse_cells(~np.isfinite(points), points, "points", "a coordinate must be finite")
    _refuse_cells(abs(points) > 1e150, points, "points", "too large, its square overflows")

    def compare(rows: np.ndarray) -> np.ndarray:
        ends = [points.take(column, axis=0) for column in rows.T]  # take is several times as fast as points[column]
        pairs = ((0, 1), (0, 2)) if len(ends) == 3 else ((0, 1), (2, 3))
        near, far = (ends[a] - ends[b] for a, b in pairs)
        return np.einsum("nd,nd->n", near, near) - np.einsum("nd,nd->n", far, far)

    return _sample(len(points), n_comparisons, kind, compare, rng, labels)


def from_knn_graph(A: Any, n_comparisons: Any, rng: np.random.Generator, labels: Any) -> Parts:
    from scipy import sparse

    graph = sparse.csr_matrix(A if sparse.issparse(A) else _as_matrix(A, "graph", square=True), copy=True)
    n = graph.shape[0]
    if graph.shape[1] != n:
        raise ValueError(f"graph: got shape {graph.shape}, expected a square matrix")
    if np.isnan(graph.data).any():
        raise ValueError("graph: got an entry that is not a number")
    graph.sum_duplicates()  # and sorts them
    graph.eliminate_zeros()
    row, column = np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices.astype(np.int64)
    loops = row == column
    row, column = row[~loops], column[~loops]
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
            raise ValueError(f"graph: {total:,} triplets do not fit in memory; set n_comparisons to draw a sample")
    else:
        count, labels = _sizes(n, n_comparisons, labels)
    # Neighbourhoods with the object itself: what k must avoid.
    closed_row, closed_column = divmod(np.sort(np.concatenate([row * n + column, np.arange(n) * (n + 1)])), n)
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
        index[start:stop] = np.stack([anchor, column[edge], rank + skipped], axis=1)
    return _made(index, n, labels, {"self-neighbours": int(loops.sum())})
