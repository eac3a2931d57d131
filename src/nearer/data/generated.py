"""Comparisons made from what is known already: classes, distances, points, a neighbourhood graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nearer.data.coded import check_coded
from nearer.data.constructors import exchanged
from nearer.data.validate import as_array, check_integer
from nearer.machine import check_memory

# Comparisons drawn in one go; the gathered points of a chunk stay in cache. Part of what a seed means: do not change.
_DRAW = 1 << 16
Made = tuple[np.ndarray, int, dict[str, int]]  # index, number of objects, reason -> rows left out
Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]  # from the ends i, j of pairs, each (n,), to (n,)


def _empty(n_comparisons: Any, width: int) -> np.ndarray:
    n_comparisons = check_integer(n_comparisons, "n_comparisons", 1)
    check_memory(4.0 * width * n_comparisons, f"n_comparisons = {n_comparisons:,}", "ask for fewer")
    return np.empty((n_comparisons, width), dtype=np.int32)


def _blocks(index: np.ndarray) -> Iterator[np.ndarray]:
    """The parts of an index, as views, that are drawn in one go."""
    return (index[start : start + _DRAW] for start in range(0, len(index), _DRAW))


def from_classes(y: Any, n_comparisons: Any, rng: np.random.Generator) -> Made:
    classes = check_coded(y, None, "classes", "class")
    if classes is None:
        raise ValueError("classes: got None, expected a class for each object")
    codes, n_objects = classes.codes, len(classes)
    size = np.bincount(codes)
    if len(size) < 2:
        raise ValueError("classes: all objects are of one class, expected at least two classes")
    members = np.argsort(codes, kind="stable")  # objects class by class
    start = np.cumsum(size) - size
    able = np.flatnonzero(size[codes[members]] > 1)  # places of objects that are not alone in their class
    if not len(able):
        raise ValueError("classes: every object is alone in its class, expected a class with two or more")
    index = _empty(n_comparisons, 3)
    for block in _blocks(index):
        anchor = able[rng.integers(len(able), size=len(block))]
        own = codes[members[anchor]]
        near = start[own] + rng.integers(size[own] - 1)
        near += near >= anchor
        far = rng.integers(n_objects - size[own])
        far += np.where(far >= start[own], size[own], 0)
        block[:] = members[np.stack([anchor, near, far], axis=1)]
    return index, n_objects, {}


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


def _sample(n_objects: int, n_comparisons: Any, kind: str, apart: Distance, rng: Any) -> Made:
    width = _width(kind)
    if n_objects < width:
        raise ValueError(f"n_objects: got {n_objects}, expected at least {width} for {kind}")
    index = _empty(n_comparisons, width)
    filled = ties = barren = 0
    while filled < len(index):
        rows = _draw(n_objects, width, min(_DRAW, len(index) - filled), rng)
        found = _ordered(rows, apart)
        ties += len(rows) - len(found)
        index[filled : filled + len(found)] = found
        filled += len(found)
        barren = 0 if len(found) else barren + len(rows)
        if barren >= 1000 + 10 * n_objects:
            raise ValueError(f"distances: {barren:,} random comparisons in a row are ties, nothing to compare")
    return index, n_objects, {"ties": ties}


def _ordered(rows: np.ndarray, apart: Distance) -> np.ndarray:
    """The rows with the nearer pair first, without ties."""
    difference = apart(rows[:, 0], rows[:, 1]) - apart(rows[:, -2 if rows.shape[1] == 4 else 0], rows[:, -1])
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


def from_distances(D: Any, n_comparisons: Any, kind: str, rng: np.random.Generator) -> Made:
    distances = _as_matrix(D, "distances", square=True).astype(np.float64, copy=False)
    good = (distances >= 0) & (distances < np.inf)
    _refuse_cells(~good, distances, "distances", "a distance must be a finite number, 0 or more")
    own = np.diag(abs(np.diag(distances)) > 1e-6 * distances.max(initial=0.0))
    why = "the distance of an object to itself must be 0; similarities have to be turned into distances first"
    _refuse_cells(own, distances, "distances", why)
    scale = 1e-9 * np.maximum(distances, distances.T)
    _refuse_cells(abs(distances - distances.T) > scale, distances, "distances", "the matrix is not symmetric")
    distances = np.maximum(distances, distances.T)  # rounding must not decide which of two is nearer

    def apart(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return distances[i, j]

    if n_comparisons is None:
        return _all_comparisons(len(distances), kind, apart)
    return _sample(len(distances), n_comparisons, kind, apart, rng)


def _all_comparisons(n: int, kind: str, apart: Distance) -> Made:
    width, pairs = _width(kind), np.stack(np.triu_indices(n, 1))
    total = n * (n - 1) * (n - 2) // 2 if width == 3 else pairs.shape[1] * (pairs.shape[1] - 1) // 2
    if total < 1:
        raise ValueError(f"distances: {n} objects have no {kind}")
    index, filled = _empty(total, width), 0
    for turn in range(n if width == 3 else pairs.shape[1]):
        if width == 3:
            columns = [turn, *pairs[:, (pairs != turn).all(axis=0)]]
        else:
            columns = [*pairs[:, turn], *pairs[:, turn + 1 :]]
        rows = _ordered(np.stack(np.broadcast_arrays(*columns), axis=1), apart)
        index[filled : filled + len(rows)] = rows
        filled += len(rows)
    if not filled:
        raise ValueError("distances: all comparisons are ties, nothing to compare")
    return index[:filled], n, {"ties": total - filled}


def from_points(X: Any, n_comparisons: Any, kind: str, rng: np.random.Generator) -> Made:
    points = np.ascontiguousarray(_as_matrix(X, "points", square=False), dtype=np.float64)
    _refuse_cells(~(abs(points) < 1e150), points, "points", "a coordinate and its square must be finite")

    def apart(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        between = points.take(i, axis=0) - points.take(j, axis=0)  # several times as fast as points[i] - points[j]
        return np.einsum("nd,nd->n", between, between)

    return _sample(len(points), n_comparisons, kind, apart, rng)


def from_knn_graph(A: Any, n_comparisons: Any, rng: np.random.Generator) -> Made:
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
    # Neighbourhoods with the object itself: what k must avoid.
    closed_row, closed_column = divmod(np.sort(np.concatenate([row * n + column, np.arange(n) * (n + 1)])), n)
    begin = np.cumsum(degree + 1) - (degree + 1)
    free_before = closed_column - (np.arange(len(closed_row)) - begin[closed_row])
    key = closed_row * (n + 1) + free_before
    index = _empty(total if n_comparisons is None else n_comparisons, 3)
    for start, block in zip(range(0, len(index), _DRAW), _blocks(index)):
        every = np.arange(start, start + len(block))
        number = every if n_comparisons is None else rng.integers(total, size=len(block))
        edge = np.searchsorted(ends, number, side="right")
        anchor = row[edge]
        rank = number - (ends[edge] - (n - 1 - degree[anchor]))  # which of the non-neighbours
        skipped = np.searchsorted(key, anchor * (n + 1) + rank, side="right") - begin[anchor]
        block[:] = np.stack([anchor, column[edge], rank + skipped], axis=1)
    return index, n, {"self-neighbours": int(loops.sum())}
