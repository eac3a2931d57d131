"""The only rules for rows: which say nothing, which are refused, and which say or ask the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nearer.data.carriers import refuse_columns, refuse_named
from nearer.data.columns import INEXACT, exact_below
from nearer.data.errors import counted
from nearer.data.values import (
    INDEX_LIMIT,
    Details,
    People,
    check_details,
    check_objects,
    check_people,
    check_weights,
    first_of,
    refuse_masked,
    take,
)

# Rows looked at in one go: temporary arrays stay at a few megabytes, however long the data.
CHUNK = 1 << 18

Faults = list[tuple[Any, str]]  # mask of rows, reason


@dataclass(frozen=True)
class Parts:
    """What a `Comparisons` is made of, already valid; `keep` (N,) marks the input rows that were kept, None for all."""

    index: np.ndarray
    n_objects: int
    weights: np.ndarray | None = None
    labels: np.ndarray | None = None
    people: People | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    keep: np.ndarray | None = None
    details: Details | None = None

    def beside(self, rows: Any) -> dict[str, Any]:
        """What goes with some of the rows (slice, mask or integer array), by name."""
        return {name: take(getattr(self, name), rows) for name in ("weights", "people", "details")}


def _triplet_faults(rows: np.ndarray) -> Faults:
    anchor, near, far = rows[:, 0], rows[:, 1], rows[:, 2]
    return [
        ((anchor == near) | (anchor == far), "an object cannot be compared with itself"),
        (near == far, "near and far are the same object"),
    ]


def _quadruplet_faults(rows: np.ndarray) -> Faults:
    i, j, l, k = rows.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    return [
        ((i == j) | (l == k), "an object cannot be compared with itself"),
        (((i == l) & (j == k)) | ((i == k) & (j == l)), "both pairs are the same"),
    ]


def _row_faults(rows: np.ndarray) -> Faults:
    return _triplet_faults(rows) if rows.shape[1] == 3 else _quadruplet_faults(rows)


def _set_faults(rows: np.ndarray) -> Faults:
    a, b, c = rows.T
    return [((a == b) | (a == c) | (b == c), "the three objects of a set must differ")]


def _ranking_faults(rows: np.ndarray) -> Faults:
    ranked = np.sort(rows[:, 1:], axis=1)
    return [
        ((rows[:, :1] == rows[:, 1:]).any(axis=1), "the query (first) cannot be among its own candidates"),
        ((ranked[:, 1:] == ranked[:, :-1]).any(axis=1), "a candidate occurs twice"),
    ]


class Shape(NamedTuple):
    """A kind of input: its name in messages, its numbers of columns (None: at least 3), its degenerate rows."""

    name: str
    widths: tuple[int, ...] | None
    faults: Callable[[np.ndarray], Faults]


TRIPLETS = Shape("comparisons", (3,), _triplet_faults)
QUADRUPLETS = Shape("comparisons", (4,), _quadruplet_faults)
EITHER = Shape("comparisons", (3, 4), _row_faults)
QUESTIONS = Shape("questions", (3, 4), _row_faults)
SETS = Shape("sets", (3,), _set_faults)
RANKINGS = Shape("rankings", None, _ranking_faults)


def check_rows(
    values: Any,
    shape: Shape,
    n_objects: int | None = None,
    weights: Any = None,
    labels: Any = None,
    participants: Any = None,
    on_degenerate: str = "raise",
    details: Any = None,
) -> Parts:
    """Check rows (N, width) of object indices, and all that belongs to them as in `Comparisons`.

    Whole numbers in a float array are accepted. Rows are copied, unless nobody can write to them.
    """
    if not isinstance(on_degenerate, str) or on_degenerate not in ("raise", "drop"):
        raise ValueError(f"on_degenerate: got {on_degenerate!r}, expected 'raise' or 'drop'")
    n_objects, labels = check_objects(n_objects, labels)
    rows = _as_matrix(values, shape)
    weights = check_weights(weights, len(rows))
    people = check_people(participants, len(rows))
    details = check_details(details, len(rows))
    index, highest, keep = _check_index(rows, shape, n_objects, on_degenerate)
    if n_objects is None:
        n_objects = highest + 1
    if keep is None:
        return Parts(index, n_objects, weights, labels, people, details=details)
    dropped = {"degenerate": int(len(keep) - keep.sum())}
    if dropped["degenerate"] == len(keep):
        raise ValueError(f"{shape.name}: no row is left, all {len(keep):,} are degenerate")
    weights = check_weights(take(weights, keep), None)
    people, details = take(people, keep), take(details, keep)
    return Parts(index[keep], n_objects, weights, labels, people, dropped, keep, details)


def as_array(values: Any) -> np.ndarray:
    """An array; numbers in an array of objects are numbers."""
    array = np.asarray(values)
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array


def _as_matrix(values: Any, shape: Shape) -> np.ndarray:
    """A two-dimensional array of int or float of the right width, or a ValueError that says what came instead."""
    refuse_named(values, shape.name)
    refuse_columns(values, shape.name)
    expected = f"expected an array of shape (N, {_width(shape)})"
    try:
        rows = as_array(values)
    except ValueError as error:
        raise ValueError(f"{shape.name}: the rows differ in length, {expected}") from error
    except TypeError:
        raise ValueError(f"{shape.name}: got {type(values).__name__}, {expected}") from None
    refuse_masked(values, shape.name, "a number in each")
    if rows.size == 0 and rows.ndim in (1, 2):
        raise ValueError(f"{shape.name}: no rows, expected at least one")
    if rows.dtype.kind in "UST":
        raise ValueError(
            f"{shape.name}: got text (dtype {rows.dtype}), expected integers; for labels use from_labels_table"
        )
    if rows.dtype.kind not in "iuf":
        raise ValueError(f"{shape.name}: got dtype {rows.dtype}, expected integers")
    wide_enough = rows.ndim == 2 and (rows.shape[1] in shape.widths if shape.widths else rows.shape[1] >= 3)
    if not wide_enough:
        raise ValueError(f"{shape.name}: got shape {rows.shape}, expected (N, {_width(shape)})")
    return rows


def _width(shape: Shape) -> str:
    return " or ".join(map(str, shape.widths)) if shape.widths else "3 or more"


def _check_index(
    rows: np.ndarray, shape: Shape, n_objects: int | None, on_degenerate: str
) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Pass once over the rows, chunk by chunk: int32 index, highest index, mask of kept rows (None: all)."""
    limit = INDEX_LIMIT if n_objects is None else n_objects
    as_is = rows.dtype == np.int32 and rows.flags.c_contiguous and _is_constant(rows)
    index = rows if as_is else np.empty(rows.shape, dtype=np.int32)
    keep: np.ndarray | None = None
    highest, n_bad, first = 0, 0, ""
    for start in range(0, len(rows), CHUNK):
        # In the byte order of this machine: of others, NumPy 2.0 frees the number in `>= 2**31` once too often.
        block = rows[start : start + CHUNK].astype(rows.dtype.newbyteorder("="), copy=False)
        in_range = _in_range(block, limit)
        faults = [] if in_range else _value_faults(block, n_objects)
        fatal = _any(faults, len(block))
        degenerate = [(mask & ~fatal, why) for mask, why in shape.faults(block)]
        if on_degenerate == "raise":
            faults, fatal = faults + degenerate, fatal | _any(degenerate, len(block))
        else:
            bad = _any(degenerate, len(block))
            if bad.any():
                keep = np.ones(len(rows), dtype=bool) if keep is None else keep
                keep[start : start + len(block)] = ~bad
        n_block = int(np.count_nonzero(fatal))
        if n_block and not n_bad:
            row = int(np.argmax(fatal))
            why = next(why for mask, why in faults if mask[row])
            cells = ", ".join(_show(value) for value in block[row].tolist())
            first = f"{shape.name}: row {start + row} is ({cells}): {why}"
        n_bad += n_block
        if not n_bad:
            highest = max(highest, int(block.max()))
            if not as_is:
                index[start : start + len(block)] = block
    if n_bad:
        raise ValueError(first + first_of(n_bad, "bad rows"))
    if n_objects is None and highest > 100 * rows.size + 10_000:
        raise ValueError(
            f"{shape.name}: the highest object number is {highest:,} in {counted(len(rows), 'row')}; a map would have "
            "a row for every number below it. Give n_objects= if that is meant, or the numbers as names: "
            "from_labels_table"
        )
    index.flags.writeable = False
    return index, highest, keep


def _is_constant(rows: np.ndarray) -> bool:
    """Tell whether nobody can write to an array; comparisons own their data, so any other is copied."""
    array: Any = rows
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _any(faults: Faults, length: int) -> np.ndarray:
    total = np.zeros(length, dtype=bool)
    for mask, _ in faults:
        total |= mask
    return total


def _in_range(block: np.ndarray, limit: int) -> bool:
    """Whether all values are whole numbers in [0, limit); NaN fails every comparison."""
    if not (block.min() >= 0 and block.max() < min(limit, exact_below(block))):
        return False
    return block.dtype.kind != "f" or bool((block == np.trunc(block)).all())


def _value_faults(block: np.ndarray, n_objects: int | None) -> Faults:
    faults: Faults = []
    limit = exact_below(block)
    if block.dtype.kind == "f":
        block = block.astype(np.float64, copy=False)
        finite = np.isfinite(block)
        faults.append((~finite.all(axis=1), "an index must be a finite number"))
        faults.append(((finite & (block != np.floor(block))).any(axis=1), "an index must be a whole number"))
    faults.append(((block < 0).any(axis=1), "an index cannot be negative"))
    if n_objects is None:
        faults.append(((block >= INDEX_LIMIT).any(axis=1), "an index must be less than 2**31"))
    else:
        why = f"an index must be less than the number of objects, {n_objects:,}"
        faults.append(((block >= n_objects).any(axis=1), why))
    return [*faults, ((block >= limit).any(axis=1), INEXACT)]


def _show(value: int | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def same_statement(index: np.ndarray) -> list[np.ndarray]:
    """Columns that are equal for two rows of an index (N, 3) or (N, 4) exactly if the rows say the same.

    Distances are symmetric, so in a quadruplet the order inside a pair does not matter.
    """
    if index.shape[1] == 3:
        return [index[:, 0], index[:, 1], index[:, 2]]
    i, j, l, k = index.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    return [np.minimum(i, j), np.maximum(i, j), np.minimum(l, k), np.maximum(l, k)]


def same_question(index: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Columns that are equal for two rows exactly if they answer the same question, and which answer each row gives.

    The columns are written as a row that gives answer False. Two rows with equal columns agree if their answers are
    equal, and contradict each other if not.
    """
    columns = same_statement(index)
    if len(columns) == 3:
        anchor, near, far = columns
        return [anchor, np.minimum(near, far), np.maximum(near, far)], near > far
    a, b, c, d = columns
    swap = (a > c) | ((a == c) & (b > d))
    return [np.where(swap, c, a), np.where(swap, d, b), np.where(swap, a, c), np.where(swap, b, d)], swap


def group(columns: list[np.ndarray], n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of columns with values in [0, n_objects), in lexicographic order.

    Gives the first row of each group (n_groups,), and the group of each row (N,).
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
