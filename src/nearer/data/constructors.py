"""Arrays of object numbers checked, and answers, sets and rankings turned into the rows of `Comparisons`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearer.data.answers import Answers, Flow, check_details
from nearer.data.coded import check_coded
from nearer.data.messages import counted
from nearer.data.validate import (
    INDEX_LIMIT,
    as_array,
    check_bool,
    check_integer,
    check_objects,
    check_weights,
    not_whole,
    refuse_rows,
    take,
)

# Kind of input -> its name in messages and allowed numbers of columns; () is any from 3.
_SHAPES = {
    "comparisons": ("comparisons", (3, 4)), "questions": ("questions", (3, 4)), "triplets": ("comparisons", (3,)),
    "quadruplets": ("comparisons", (4,)), "odd-one-out": ("sets", (3,)), "most-central": ("sets", (3,)),
    "rankings": ("rankings", ()),
}  # fmt: skip


def _kind(what: str, rows: np.ndarray) -> str:
    return ("triplets", "quadruplets")[rows.shape[1] - 3] if what in ("comparisons", "questions") else what


def degenerate(rows: np.ndarray, kind: str) -> np.ndarray:
    """Which rows say nothing about distances: bool (n,). Candidates of a short ranking are followed by -1."""
    if kind == "quadruplets":
        i, j, l, k = rows.T  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
        return (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))
    found = np.zeros(len(rows), dtype=bool)
    for one, other in itertools.combinations(rows.T, 2):
        found |= (one == other) & (one >= 0) if kind == "rankings" else one == other
    return found


def check_rows(values: Any, what: str, n_objects: int | None = None, on_degenerate: str = "raise") -> np.ndarray:
    """Check rows (N, width) of object numbers: a copy, int32, C-contiguous, read-only."""
    if not isinstance(on_degenerate, str) or on_degenerate not in ("raise", "drop"):
        raise ValueError(f"on_degenerate: got {on_degenerate!r}, expected 'raise' or 'drop'")
    name, rows = _SHAPES[what][0], _as_matrix(values, *_SHAPES[what])
    limit = INDEX_LIMIT if n_objects is None else n_objects
    if rows.dtype.kind == "f" or rows.min() < 0 or rows.max() >= limit:
        below = "2**31" if limit == INDEX_LIMIT else f"the number of objects, {limit:,}"
        bad = ((rows < 0) | (rows >= limit) | not_whole(rows)).any(axis=1)
        refuse_rows(bad, rows, name, f"expected whole numbers from 0 on, less than {below}")
    if on_degenerate == "raise":
        kind = _kind(what, rows)
        why = "a pair of one object, or the same pair twice" if kind == "quadruplets" else "an object occurs twice"
        refuse_rows(degenerate(rows, kind), rows, name, why)
    highest = int(rows.max())
    if n_objects is None and highest > 100 * rows.size + 10_000:
        raise ValueError(
            f"{name}: the highest object number is {highest:,} in {counted(len(rows), 'row')}; a map would have a "
            "row for every number below it. Give n_objects= if that is meant; if the numbers are names, give a table"
        )
    index = np.array(rows, np.int32, order="C")
    index.flags.writeable = False
    return index


def _as_matrix(values: Any, name: str, widths: tuple[int, ...]) -> np.ndarray:
    from_table = "a table is read by nearer.read_comparisons"
    named = hasattr(values, "columns") or hasattr(values, "column_names") or isinstance(values, Mapping)
    if named or getattr(getattr(values, "dtype", None), "names", None):
        raise ValueError(f"{name}: got a {type(values).__name__} with named columns, expected an array; {from_table}")
    width = " or ".join(map(str, widths)) or "3 or more"
    expected = f"an array of shape (N, {width})"
    rows = as_array(values, name, expected)
    rows = as_array(rows.tolist(), name, expected) if rows.dtype.kind == "O" else rows
    if rows.size == 0 and rows.ndim in (1, 2):
        raise ValueError(f"{name}: no rows, expected at least one")
    if rows.dtype.kind not in "iuf":
        hint = f"; {from_table}" if rows.dtype.kind in "UST" else ""
        raise ValueError(f"{name}: got dtype {rows.dtype}, expected integers{hint}")
    if rows.ndim != 2 or rows.shape[1] not in (widths or range(3, rows.shape[1] + 1)):
        raise ValueError(f"{name}: got shape {rows.shape}, expected (N, {width})")
    # In native byte order: for others, NumPy 2.0 frees the number in `>= 2**31` once too often.
    return rows.astype(rows.dtype.newbyteorder("="), copy=False)


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
    flow: Flow | None = None  # None: no answer was left out


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
    number: np.ndarray | None = None  # (n,): the answer of each row, if rows are comparisons written by this package
    n_objects: int = 0
    labels: np.ndarray | None = None

    def selected(self, rows: np.ndarray) -> Asked:
        names = ("rows", "weights", "choice", "n_chosen", "ordered")
        known = {name: values[rows] for name, values in self.known.items()}
        return replace(self, known=known, **{name: take(getattr(self, name), rows) for name in names})


def ask(
    what: str,
    values: Any,
    n_objects: int | None = None,
    weights: Any = None,
    labels: Any = None,
    participants: Any = None,
    on_degenerate: str = "raise",
    details: Any = None,
) -> Asked:
    n_objects, labels = check_objects(n_objects, labels)
    rows = check_rows(values, what, n_objects, on_degenerate)
    known = check_details(details, len(rows))
    if participants is not None:
        known["participant"] = check_coded(participants, len(rows), "participants", "participant")
    n_objects = int(rows.max()) + 1 if n_objects is None else n_objects
    weights, clean = check_weights(weights, len(rows)), on_degenerate == "raise"
    return Asked(_kind(what, rows), rows, known, weights, clean=clean, n_objects=n_objects, labels=labels)


def assemble(asked: Asked) -> Parts:
    """Turn questions and what was answered into comparisons; attention checks are answers without comparisons."""
    if asked.number is not None:
        return _restored(asked)
    dropped: dict[str, int] = {}
    if asked.votes is not None:
        asked, dropped = _voted(asked)
    in_pairs = asked.kind in ("triplets", "quadruplets")
    if asked.choice is not None:
        rows = exchanged(asked.rows, np.flatnonzero(asked.choice)) if in_pairs else asked.rows
        asked = replace(asked, rows=rows, known={"side": asked.choice.astype(np.int8)} | asked.known)
    if not asked.clean and (shows := degenerate(asked.rows, asked.kind)).any():
        if asked.kind == "quadruplets":
            dropped["degenerate"] = int(np.count_nonzero(shows))
            asked = asked.selected(~shows)
        else:
            asked = _with_checks(asked, shows)
    answers, entries = Answers(asked.kind, len(asked.rows), **asked.known), None
    if answers.n_checks:
        entries = np.flatnonzero(~answers.is_check()).astype(np.int32)
        asked = asked.selected(entries)
    index, weights = asked.rows, asked.weights
    if not in_pairs:
        index, of_row = _ranked(asked) if asked.kind == "rankings" else _picked(asked)
        entries = of_row.astype(np.int32) if entries is None else entries[of_row]
        weights = take(weights, of_row)
    return Parts(index, asked.n_objects, answers, entries, weights, asked.labels, dropped)


def _restored(asked: Asked) -> Parts:
    """Comparisons as this package wrote them: rows of one number are one answer, a row without objects is a check."""
    _, first, entry = np.unique(np.asarray(asked.number), return_index=True, return_inverse=True)
    answers = Answers(n=len(first), **{name: values[first] for name, values in asked.known.items()})
    filled = asked.rows[:, 0] >= 0
    answer = None if np.array_equal(entry[filled], np.arange(len(first))) else entry[filled].astype(np.int32)
    return Parts(asked.rows[filled], asked.n_objects, answers, answer, take(asked.weights, filled), asked.labels)


def _with_checks(asked: Asked, shows: np.ndarray) -> Asked:
    """Mark questions that show an object twice, bool (n,), as attention checks, answered correctly or not."""
    few, known = asked.rows[shows], asked.known
    if asked.kind in ("odd-one-out", "most-central"):
        chosen, row = asked.choice[shows], np.arange(len(few))  # type: ignore[index]
        one, other = few[row, (chosen + 1) % 3], few[row, (chosen + 2) % 3]
        alike = one == other  # the object shown twice is not the chosen one
        right = alike if asked.kind == "odd-one-out" else ~alike
        correct = np.where(alike & (few[row, chosen] == one), -1, right)
    else:
        # The anchor is nearest to itself; where only an option is shown twice, there is no right answer.
        among = (few[:, 1:] == few[:, :1]).any(axis=1)
        correct = np.where(among, few[:, 1] == few[:, 0], -1)
    judged = known["correct"].copy() if "correct" in known else np.full(len(shows), -1, np.int8)
    judged[shows] = np.where(judged[shows] < 0, correct, judged[shows])
    return replace(asked, known=known | {"catch": known.get("catch", False) | shows, "correct": judged})


def _voted(asked: Asked) -> tuple[Asked, dict[str, int]]:
    """One entry for each side that has votes, weighted by them; a question without votes gives none."""
    votes = np.asarray(asked.votes)
    row, side = np.nonzero(votes)
    given = votes[row, side].astype(np.float64)
    found = asked.selected(row)
    weights = given if found.weights is None else given * found.weights
    unanswered = int(np.count_nonzero(~votes.any(axis=1)))
    found = replace(found, known=found.known | {"votes": given}, weights=weights, choice=side, votes=None)
    return found, {"without votes": unanswered} if unanswered else {}


def _picked(asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """The two triplets of each set with a picked object, and the row of `asked` that each comes from."""
    place, row = np.asarray(asked.choice), np.arange(len(asked.rows))
    others = np.array([[1, 2], [0, 2], [0, 1]])[place]
    picked, a, b = asked.rows[row, place], asked.rows[row, others[:, 0]], asked.rows[row, others[:, 1]]
    pair = [a, b, picked, b, a, picked] if asked.kind == "odd-one-out" else [a, picked, b, b, picked, a]
    return np.stack(pair, axis=1).reshape(-1, 3), np.repeat(row, 2)


def _ranked(asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Triplets (query, earlier, later) of rankings, each with its own candidates, number chosen and order."""
    rows = asked.rows
    n_shown = (rows[:, 1:] >= 0).sum(axis=1)[:, None]
    n_chosen = n_shown if asked.n_chosen is None else asked.n_chosen[:, None]
    ordered = True if asked.ordered is None else asked.ordered[:, None]
    near, far = np.triu_indices(rows.shape[1] - 1, 1)
    row, pair = np.nonzero((far < n_shown) & (near < n_chosen) & (ordered | (far >= n_chosen)))
    return np.stack([rows[row, 0], rows[row, 1 + near[pair]], rows[row, 1 + far[pair]]], axis=1), row


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
    if values.dtype.kind == "b":
        raise ValueError("answers: got votes of dtype bool, expected numbers")
    bad = ~((values >= 0) & (values < np.inf)).all(axis=1)
    refuse_rows(bad, values, "answers", "votes must be finite numbers, 0 or more")
    if not values.any():
        raise ValueError("answers: got no vote for any question, expected some")
    return replace(asked, votes=values)


def with_picked(asked: Asked, picked: Any, name: str) -> Asked:
    """Sets of three and the object picked from each, int (N,); errors refer to it as `name`."""
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
    queries = as_array(queries, "queries", "one object for each ranking")
    ranked = as_array(ranked, "ranked", "shape (N, m), m candidates for each query")
    if ranked.ndim != 2 or ranked.shape[1] < 2 or queries.shape != ranked.shape[:1]:
        got = f"{queries.shape} queries and {ranked.shape} candidates"
        raise ValueError(f"rankings: got shapes {got}, expected (N,) and (N, m) with m at least 2")
    return np.concatenate([queries[:, None], ranked], axis=1)
