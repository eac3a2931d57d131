"""Checks at the border: whatever enters a `Comparisons` passes here once, and is not checked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nearer.data.values import (
    INDEX_LIMIT,
    check_objects,
    check_participants,
    check_weights,
    first_of,
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
    participants: np.ndarray | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    keep: np.ndarray | None = None


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


class Form(NamedTuple):
    """A kind of input: its name in messages, its numbers of columns (None: at least 3), its degenerate rows."""

    name: str
    widths: tuple[int, ...] | None
    faults: Callable[[np.ndarray], Faults]


TRIPLETS = Form("comparisons", (3,), _triplet_faults)
QUADRUPLETS = Form("comparisons", (4,), _quadruplet_faults)
EITHER = Form("comparisons", (3, 4), _row_faults)
QUESTIONS = Form("questions", (3, 4), _row_faults)
SETS = Form("sets", (3,), _set_faults)
RANKINGS = Form("rankings", None, _ranking_faults)


def check_rows(
    values: Any,
    form: Form,
    n_objects: int | None = None,
    weights: Any = None,
    labels: Any = None,
    participants: Any = None,
    on_degenerate: str = "raise",
) -> Parts:
    """Check rows of object indices and all that belongs to them.

    Parameters
    ----------
    values : array-like of int, shape (N, width)
        Whole numbers in a float array are accepted. A C-contiguous int32 array is taken as it is, not copied.
    form : Form
        What the rows are, hence how wide and when degenerate.
    n_objects, weights, labels, participants, on_degenerate
        As in `Comparisons.from_triplets`.

    Returns
    -------
    Parts
    """
    if on_degenerate not in ("raise", "drop"):
        raise ValueError(f"on_degenerate: got {on_degenerate!r}, expected 'raise' or 'drop'")
    n_objects, labels = check_objects(n_objects, labels)
    rows = _as_matrix(values, form)
    weights = check_weights(weights, len(rows))
    participants = check_participants(participants, len(rows))
    index, highest, keep = _check_index(rows, form, n_objects, on_degenerate)
    if n_objects is None:
        n_objects = highest + 1
    if keep is None:
        return Parts(index, n_objects, weights, labels, participants)
    dropped = {"degenerate": int(len(keep) - keep.sum())}
    if dropped["degenerate"] == len(keep):
        raise ValueError(f"{form.name}: no row is left, all {len(keep):,} are degenerate")
    weights = check_weights(take(weights, keep), None)
    return Parts(index[keep], n_objects, weights, labels, take(participants, keep), dropped, keep)


def _as_matrix(values: Any, form: Form) -> np.ndarray:
    """A two-dimensional array of int or float of the right width, or a ValueError that says what came instead."""
    try:
        rows = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{form.name}: the rows differ in length, expected an array of shape (N, {_width(form)})"
        ) from error
    if rows.size == 0 and rows.ndim in (1, 2):
        raise ValueError(f"{form.name}: no rows, expected at least one")
    if rows.dtype.kind in "UST":
        raise ValueError(
            f"{form.name}: got text (dtype {rows.dtype}), expected integers; for labels use from_labels_table"
        )
    if rows.dtype.kind not in "iuf":
        raise ValueError(f"{form.name}: got dtype {rows.dtype}, expected integers")
    wide_enough = rows.ndim == 2 and (rows.shape[1] in form.widths if form.widths else rows.shape[1] >= 3)
    if not wide_enough:
        raise ValueError(f"{form.name}: got shape {rows.shape}, expected (N, {_width(form)})")
    return rows


def _width(form: Form) -> str:
    return " or ".join(map(str, form.widths)) if form.widths else "3 or more"


def _check_index(
    rows: np.ndarray, form: Form, n_objects: int | None, on_degenerate: str
) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Pass once over the rows, chunk by chunk: int32 index, highest index, mask of kept rows (None: all)."""
    limit = INDEX_LIMIT if n_objects is None else n_objects
    as_is = rows.dtype == np.int32 and rows.flags.c_contiguous
    index = rows if as_is else np.empty(rows.shape, dtype=np.int32)
    keep: np.ndarray | None = None
    highest, n_bad, first = 0, 0, ""
    for start in range(0, len(rows), CHUNK):
        block = rows[start : start + CHUNK]
        in_range = _in_range(block, limit)
        faults = [] if in_range else _value_faults(block, n_objects)
        fatal = _any(faults, len(block))
        degenerate = [(mask & ~fatal, why) for mask, why in form.faults(block)]
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
            first = f"{form.name}: row {start + row} is ({cells}): {why}"
        n_bad += n_block
        if not n_bad:
            highest = max(highest, int(block.max()))
            if not as_is:
                index[start : start + len(block)] = block
    if n_bad:
        raise ValueError(first + first_of(n_bad, "bad rows"))
    return index, highest, keep


def _any(faults: Faults, length: int) -> np.ndarray:
    total = np.zeros(length, dtype=bool)
    for mask, _ in faults:
        total |= mask
    return total


def _in_range(block: np.ndarray, limit: int) -> bool:
    """Whether all values are whole numbers in [0, limit); NaN fails every comparison."""
    if not (block.min() >= 0 and block.max() < limit):
        return False
    return block.dtype.kind != "f" or bool((block == np.trunc(block)).all())


def _value_faults(block: np.ndarray, n_objects: int | None) -> Faults:
    faults: Faults = []
    if block.dtype.kind == "f":
        finite = np.isfinite(block)
        faults.append((~finite.all(axis=1), "an index must be a finite number"))
        faults.append(((finite & (block != np.floor(block))).any(axis=1), "an index must be a whole number"))
    faults.append(((block < 0).any(axis=1), "an index cannot be negative"))
    if n_objects is None:
        faults.append(((block >= INDEX_LIMIT).any(axis=1), "an index must be less than 2**31"))
    else:
        why = f"an index must be less than the number of objects, {n_objects:,}"
        faults.append(((block >= n_objects).any(axis=1), why))
    return faults


def _show(value: int | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
