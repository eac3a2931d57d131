"""Arrays of object numbers checked, and answers, sets and rankings turned into the rows of `Comparisons`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from nearer.data.answers import Answers, check_details
from nearer.data.coded import check_coded
from nearer.data.messages import counted, first_of
from nearer.data.validate import (
    INDEX_LIMIT,
    as_array,
    check_bool,
    check_integer,
    check_objects,
    check_weights,
    exact_below,
    refuse_rows,
    take,
)

# Rows looked at in one go: temporary arrays stay at a few megabytes, however long the data.
CHUNK = 1 << 18

Faults = list[tuple[Any, str]]  # mask of rows, reason


def _row_faults(rows: np.ndarray) -> Faults:
    itself = "an object cannot be compared with itself"
    if rows.shape[1] == 3:
        anchor, near, far = rows.T
        return [((anchor == near) | (anchor == far), itself), (near == far, "near and far are the same object")]
    i, j, l, k = rows.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    same = ((i == l) & (j == k)) | ((i == k) & (j == l))
    return [((i == j) | (l == k), itself), (same, "both pairs are the same")]


def _set_faults(rows: np.ndarray) -> Faults:
    a, b, c = rows.T
    return [((a == b) | (a == c) | (b == c), "the three objects of a set must differ")]


def _ranking_faults(rows: np.ndarray) -> Faults:
    """Candidates of a short ranking are followed by -1."""
    place = np.arange(rows.shape[1] - 1)
    ranked = np.sort(np.where(rows[:, 1:] < 0, -1 - place, rows[:, 1:]), axis=1)
    return [
        ((rows[:, :1] == rows[:, 1:]).any(axis=1), "the query (first) cannot be among its own candidates"),
        ((ranked[:, 1:] == ranked[:, :-1]).any(axis=1), "a candidate occurs twice"),
    ]


class Shape(NamedTuple):
    """A kind of input: its name in messages, its numbers of columns (None: at least 3), its degenerate rows."""

    name: str
    widths: tuple[int, ...] | None
    faults: Callable[[np.ndarray], Faults]


TRIPLETS = Shape("comparisons", (3,), _row_faults)
QUADRUPLETS = Shape("comparisons", (4,), _row_faults)
EITHER = Shape("comparisons", (3, 4), _row_faults)
QUESTIONS = Shape("questions", (3, 4), _row_faults)
SETS = Shape("sets", (3,), _set_faults)
RANKINGS = Shape("rankings", None, _ranking_faults)


def degenerate(rows: np.ndarray, shape: Shape) -> np.ndarray:
    found = np.zeros(len(rows), dtype=bool)
    for start in range(0, len(rows), CHUNK):
        block = slice(start, start + CHUNK)
        for mask, _ in shape.faults(rows[block]):
            found[block] |= mask
    return found


def check_rows(values: Any, shape: Shape, n_objects: int | None = None, on_degenerate: str = "raise") -> np.ndarray:
    """Check rows (N, width) of object numbers: int32, C-contiguous; copied unless read-only."""
    if not isinstance(on_degenerate, str) or on_degenerate not in ("raise", "drop"):
        raise ValueError(f"on_degenerate: got {on_degenerate!r}, expected 'raise' or 'drop'")
    rows = _as_matrix(values, shape)
    limit = INDEX_LIMIT if n_objects is None else n_objects
    as_is = rows.dtype == np.int32 and rows.flags.c_contiguous and _is_constant(rows)
    index = rows if as_is else np.empty(rows.shape, dtype=np.int32)
    highest, n_bad, first = 0, 0, ""
    for start in range(0, len(rows), CHUNK):
        # In the byte order of this machine: of others, NumPy 2.0 frees the number in `>= 2**31` once too often.
        block = rows[start : start + CHUNK].astype(rows.dtype.newbyteorder("="), copy=False)
        faults = _number_faults(block, limit) + (shape.faults(block) if on_degenerate == "raise" else [])
        bad = np.logical_or.reduce([np.zeros(len(block), bool), *(mask for mask, _ in faults)])
        if bad.any() and not n_bad:
            row = int(np.argmax(bad))
            why = next(why for mask, why in faults if mask[row])
            first = f"{shape.name}: row {start + row} is {tuple(block[row].tolist())}: {why}"
        n_bad += int(np.count_nonzero(bad))
        if not n_bad:
            highest = max(highest, int(block.max()))
            if not as_is:
                index[start : start + len(block)] = block
    if n_bad:
        raise ValueError(first + first_of(n_bad, "bad rows"))
    if n_objects is None and highest > 100 * rows.size + 10_000:
        raise ValueError(
            f"{shape.name}: the highest object number is {highest:,} in {counted(len(rows), 'row')}; a map would have "
            "a row for every number below it. Give n_objects= if that is meant; if the numbers are names, give a table"
        )
    index.flags.writeable = False
    return index


_TABLE = "a table is read by nearer.read_comparisons"


def refuse_table(values: Any, name: str) -> None:
    named = hasattr(values, "columns") or hasattr(values, "column_names") or isinstance(values, Mapping)
    if named or getattr(getattr(values, "dtype", None), "names", None):
        raise ValueError(f"{name}: got a {type(values).__name__} with named columns, expected an array; {_TABLE}")


def _as_matrix(values: Any, shape: Shape) -> np.ndarray:
    if isinstance(values, tuple) and len(values) in (3, 4) and all(np.ndim(one) == 1 for one in values):
        raise ValueError(
            f"{shape.name}: got a tuple of {len(values)} arrays: are they its columns or its rows? Give "
            "np.column_stack(arrays) for columns, or list(arrays) for rows"
        )
    refuse_table(values, shape.name)
    width = " or ".join(map(str, shape.widths)) if shape.widths else "3 or more"
    expected = f"an array of shape (N, {width})"
    rows = as_array(values, shape.name, expected)
    rows = as_array(rows.tolist(), shape.name, expected) if rows.dtype.kind == "O" else rows
    if rows.size == 0 and rows.ndim in (1, 2):
        raise ValueError(f"{shape.name}: no rows, expected at least one")
    if rows.dtype.kind in "UST":
        raise ValueError(f"{shape.name}: got text (dtype {rows.dtype}), expected integers; {_TABLE}")
    if rows.dtype.kind not in "iuf":
        raise ValueError(f"{shape.name}: got dtype {rows.dtype}, expected integers")
    wide_enough = rows.ndim == 2 and (rows.shape[1] in shape.widths if shape.widths else rows.shape[1] >= 3)
    if not wide_enough:
        raise ValueError(f"{shape.name}: got shape {rows.shape}, expected (N, {width})")
    return rows


def _is_constant(array: Any) -> bool:
    """Whether nobody can write to an array; comparisons own their data, so any other is copied."""
    return not isinstance(array, np.ndarray) or (not array.flags.writeable and _is_constant(array.base))


def _number_faults(block: np.ndarray, limit: int) -> Faults:
    top = min(limit, exact_below(block))
    if block.dtype.kind != "f" and block.min() >= 0 and block.max() < top:  # a fast look, since most data are fine
        return []
    good = (block >= 0) & (block < top) & (block == np.trunc(block))
    below = "2**31" if limit == INDEX_LIMIT else f"the number of objects, {limit:,}"
    return [(~good.all(axis=1), f"expected whole numbers from 0 on, less than {below}")]


def exchanged(index: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A copy of an index (N, 3) or (N, 4) with the near and the far pair exchanged in some rows."""
    index = index.copy()
    index[rows] = index[rows][:, [0, 2, 1] if index.shape[1] == 3 else [2, 3, 0, 1]]
    return index


@dataclass(frozen=True, eq=False, repr=False)
class Parts:
    """What `Comparisons` hold, already valid."""

    index: np.ndarray
    n_objects: int
    answers: Answers
    answer: np.ndarray | None = None
    weights: np.ndarray | None = None
    labels: np.ndarray | None = None
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """Questions as rows of objects, and what was answered, before they become comparisons."""

    kind: str  # what was asked: triplets, quadruplets, odd-one-out, most-central or rankings
    rows: np.ndarray  # int32 (n, width): options in any order, sets, or an anchor and its candidates, -1 for none
    known: dict[str, Any]  # fields of `Answers`, each of length n
    weights: np.ndarray | None = None  # (n,)
    choice: np.ndarray | None = None  # (n,): the nearer of two options, or the chosen object of a set, by position
    votes: np.ndarray | None = None  # (n, 2)
    n_chosen: np.ndarray | None = None  # (n,), of rankings: how many candidates were chosen
    ordered: np.ndarray | None = None  # (n,), of rankings: whether the chosen are in order
    clean: bool = False  # whether no row is degenerate
    number: np.ndarray | None = None  # (n,): the answer of each row, if rows are comparisons, as this package writes


def ask(
    kind: str,
    values: Any,
    shape: Shape,
    n_objects: int | None = None,
    weights: Any = None,
    labels: Any = None,
    participants: Any = None,
    on_degenerate: str = "raise",
    details: Any = None,
) -> tuple[Asked, int, np.ndarray | None]:
    n_objects, labels = check_objects(n_objects, labels)
    rows = check_rows(values, shape, n_objects, on_degenerate)
    if shape.widths == (3, 4):
        kind = "triplets" if rows.shape[1] == 3 else "quadruplets"
    known = check_details(details, len(rows))
    if participants is not None:
        known["participant"] = check_coded(participants, len(rows), "participants", "participant")
    asked = Asked(kind, rows, known, check_weights(weights, len(rows)), clean=on_degenerate == "raise")
    return asked, int(rows.max()) + 1 if n_objects is None else n_objects, labels


def assemble(asked: Asked, n_objects: int, labels: np.ndarray | None = None) -> Parts:
    """Turn questions and what was answered into comparisons; attention checks are answers without comparisons."""
    if asked.number is not None:
        return _restored(asked, n_objects, labels)
    dropped: dict[str, int] = {}
    if asked.votes is not None:
        asked, dropped = _voted(asked)
    rows, known, kind = asked.rows, asked.known, asked.kind
    in_pairs = kind in ("triplets", "quadruplets")
    if asked.choice is not None:
        if in_pairs:
            rows = exchanged(rows, np.flatnonzero(asked.choice))
        known = {"side": asked.choice.astype(np.int8)} | known
    if in_pairs and rows.shape[1] == 4:
        if not asked.clean and not (says := ~degenerate(rows, QUADRUPLETS)).all():
            dropped["degenerate"] = int(np.count_nonzero(~says))
            asked = replace(asked, weights=take(asked.weights, says))
            rows, known = rows[says], _selected(known, says)
        check = known.get("catch", np.zeros(len(rows), bool))
    else:
        check, known = _attention_checks(rows, known, asked)
    answers = Answers(kind, len(rows), **known)
    entries = np.flatnonzero(~check).astype(np.int32) if check.any() else None
    weights = asked.weights
    if entries is not None:
        rows, weights = rows[entries], take(weights, entries)
        said = {name: take(getattr(asked, name), entries) for name in ("choice", "n_chosen", "ordered")}
        asked = replace(asked, **said)
    index, of_row = (rows, None) if in_pairs else _several(kind, rows, asked)
    if of_row is not None:
        weights = take(weights, of_row)
        entries = of_row.astype(np.int32) if entries is None else entries[of_row]
    return Parts(index, n_objects, answers, entries, weights, labels, dropped)


def _selected(known: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    return {name: values[rows] for name, values in known.items()}


def _restored(asked: Asked, n_objects: int, labels: np.ndarray | None) -> Parts:
    """Comparisons as this package wrote them: rows of one number are one answer, a row without objects is a check."""
    _, first, entry = np.unique(np.asarray(asked.number), return_index=True, return_inverse=True)
    answers = Answers(n=len(first), **_selected(asked.known, first))
    filled = asked.rows[:, 0] >= 0
    answer = None if np.array_equal(entry[filled], np.arange(len(first))) else entry[filled].astype(np.int32)
    return Parts(asked.rows[filled], n_objects, answers, answer, take(asked.weights, filled), labels)


def _attention_checks(rows: np.ndarray, known: dict[str, Any], asked: Asked) -> tuple[np.ndarray, dict[str, Any]]:
    """Mark the attention checks among questions, and whether they were answered correctly."""
    shape = {"rankings": RANKINGS, "odd-one-out": SETS, "most-central": SETS}.get(asked.kind, TRIPLETS)
    shows = np.zeros(len(rows), dtype=bool) if asked.clean else degenerate(rows, shape)
    check = known.get("catch", False) | shows
    if not shows.any():
        return check, known
    few = rows[shows]
    if shape is SETS:
        chosen = asked.choice[shows]  # type: ignore[index]
        others = np.sort(np.stack([few[np.arange(len(few)), (chosen + turn) % 3] for turn in (1, 2)]), axis=0)
        picked = few[np.arange(len(few)), chosen]
        alike = others[0] == others[1]  # the object shown twice is not the chosen one
        right = alike if asked.kind == "odd-one-out" else ~alike
        correct = np.where(alike & (picked == others[0]), -1, right)
    else:
        # Nearest to itself is the anchor; where only an option is shown twice, there is no right answer.
        among = (few[:, 1:] == few[:, :1]).any(axis=1)
        correct = np.where(among, few[:, 1] == few[:, 0], -1)
    judged = known["correct"].copy() if "correct" in known else np.full(len(rows), -1, np.int8)
    judged[shows] = np.where(judged[shows] < 0, correct, judged[shows])
    return check, known | {"catch": check, "correct": judged}


def _voted(asked: Asked) -> tuple[Asked, dict[str, int]]:
    """One entry for each side that has votes, weighted by them; a question without votes gives none."""
    votes = np.asarray(asked.votes)
    row, side = np.nonzero(votes)
    given = votes[row, side].astype(np.float64)
    weights = given if asked.weights is None else given * asked.weights[row]
    unanswered = int(np.count_nonzero(~votes.any(axis=1)))
    known = _selected(asked.known, row) | {"votes": given}
    found = replace(asked, rows=asked.rows[row], known=known, weights=weights, choice=side, votes=None)
    return found, {"without votes": unanswered} if unanswered else {}


def _several(kind: str, rows: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    if kind == "rankings":
        return _ranked(rows, asked)
    place = np.asarray(asked.choice)
    row = np.arange(len(rows))
    others = np.array([[1, 2], [0, 2], [0, 1]])[place]
    picked, a, b = rows[row, place], rows[row, others[:, 0]], rows[row, others[:, 1]]
    pair = [a, b, picked, b, a, picked] if kind == "odd-one-out" else [a, picked, b, b, picked, a]
    return np.stack(pair, axis=1).reshape(-1, 3), np.repeat(row, 2)


def _ranked(rows: np.ndarray, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Triplets (query, earlier, later) of rankings, each with its own candidates, number chosen and order."""
    n_shown = (rows[:, 1:] >= 0).sum(axis=1)
    n_chosen = n_shown - 1 if asked.n_chosen is None else asked.n_chosen
    ordered = np.ones(len(rows), bool) if asked.ordered is None else asked.ordered
    forms, form = np.unique(np.stack([n_shown, n_chosen, ordered], axis=1), axis=0, return_inverse=True)
    pieces, origins = [], []
    for number, (n_candidates, count, in_order) in enumerate(forms.tolist()):
        members = np.flatnonzero(form.reshape(-1) == number)
        near, far = np.triu_indices(n_candidates, 1)
        said = (near < count) if in_order else (near < count) & (far >= count)
        near, far = near[said], far[said]
        index = np.empty((len(members), len(near), 3), dtype=np.int32)
        index[..., 0] = rows[members, :1]
        index[..., 1] = rows[members][:, 1 + near]
        index[..., 2] = rows[members][:, 1 + far]
        pieces.append(index.reshape(-1, 3))
        origins.append(np.repeat(members, len(near)))
    origin = np.concatenate([np.empty(0, np.int64), *origins])
    order = np.argsort(origin, kind="stable")
    return np.concatenate([np.empty((0, 3), np.int32), *pieces])[order], origin[order]


_ANSWERS = "+1/-1, bool, or votes (N, 2)"


def with_answers(asked: Asked, answers: Any) -> Asked:
    n_rows = len(asked.rows)
    values = as_array(answers, "answers", _ANSWERS)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"answers: got dtype {values.dtype}, expected {_ANSWERS}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape not in ((n_rows,), (n_rows, 2)):
        raise ValueError(f"answers: got shape {values.shape}, expected ({n_rows},) or ({n_rows}, 2)")
    if values.ndim == 1:
        if values.dtype.kind != "b":
            refuse_rows(~((values == 1) | (values == -1)), values, "answers", f"expected {_ANSWERS}")
        return replace(asked, choice=(values <= 0).astype(np.int8))
    refuse_table(answers, "answers")
    if values.dtype.kind == "b":
        raise ValueError("answers: got votes of dtype bool, expected numbers")
    bad = ~((values >= 0) & (values < np.inf)).all(axis=1)
    refuse_rows(bad, values, "answers", "votes must be finite numbers, 0 or more")
    if not values.any():
        raise ValueError("answers: got no vote for any question, expected some")
    return replace(asked, votes=values)


def with_picked(asked: Asked, picked: Any, name: str) -> Asked:
    """Sets of three and the object picked from each, int (N,); `name` is that of the argument."""
    values = as_array(picked, name, "one object for each set")
    if values.dtype.kind not in "iuf" or values.shape != (len(asked.rows),):
        what = f"dtype {values.dtype}, shape {values.shape}"
        raise ValueError(f"{name}: got {what}, expected one object for each set, shape ({len(asked.rows)},)")
    match = asked.rows == values[:, None]
    missing = ~match.any(axis=1)
    refuse_rows(missing, values, name, f"not in its set {tuple(asked.rows[np.argmax(missing)].tolist())}")
    return replace(asked, choice=match.argmax(axis=1))


def with_ranks(asked: Asked, k: int | None, ordered: bool) -> Asked:
    check_bool(ordered, "ordered")
    n_rows, n_candidates = len(asked.rows), asked.rows.shape[1] - 1
    if k is None and not ordered:
        raise ValueError("k: got None with ordered=False, expected the number of chosen candidates")
    most = n_candidates if ordered else n_candidates - 1
    k = n_candidates - 1 if k is None else check_integer(k, "k", 1, most)
    return replace(asked, n_chosen=np.full(n_rows, k), ordered=np.full(n_rows, bool(ordered)))


def stack_rankings(queries: Any, ranked: Any) -> np.ndarray:
    refuse_table(ranked, "ranked")
    queries = as_array(queries, "queries", "one object for each ranking")
    ranked = as_array(ranked, "ranked", "shape (N, m), m candidates for each query")
    for name, values in (("queries", queries), ("ranked", ranked)):
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{name}: got dtype {values.dtype}, expected integers")
    if ranked.ndim != 2 or ranked.shape[1] < 2 or queries.shape != ranked.shape[:1]:
        got = f"{queries.shape} queries and {ranked.shape} candidates"
        raise ValueError(f"rankings: got shapes {got}, expected (N,) and (N, m) with m at least 2")
    return np.concatenate([queries[:, None], ranked], axis=1)
