"""How often `nearer.check.suspicions` suspects good answers, and how often it finds what is wrong with bad ones.

    python -m benchmarks.suspicion [--quick]

Everything is simulated, so that the truth is known: kinds of maps and noise as in `benchmarks.verdicts`, ten people,
response times to the millisecond, trial numbers, and three columns that are not used: one with two values, one with
five, and the age group of each person. Prints a table and saves it under ``benchmarks/results``. People who answer the
other way round are in `benchmarks.people`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks import common
from benchmarks.verdicts import KINDS, answers_of, points_of
from nearer import Comparisons
from nearer.check import suspicions
from nearer.metrics import comparison_distances

SEED = 9000
SIZES = ((12, 300), (30, 1000), (60, 2000))
N_PEOPLE = 10
SUSPECTED = ("names", "column", "doubled")


@dataclass(frozen=True)
class Given:
    """What a table holds: triplets, who answered, columns that are not used, times and trial numbers."""

    rows: np.ndarray
    people: np.ndarray
    labels: np.ndarray
    columns: dict[str, np.ndarray]
    details: dict[str, np.ndarray]
    comparisons: Comparisons | None = field(default=None)

    def made(self) -> Comparisons:
        if self.comparisons is not None:
            return self.comparisons
        return Comparisons(self.rows, labels=self.labels, participants=self.people, details=self.details)

    def flipped(self, mask: np.ndarray, **changes: Any) -> Given:
        return replace(self, rows=np.where(mask[:, None], self.rows[:, [0, 2, 1]], self.rows), **changes)

    def taken(self, rows: np.ndarray) -> Given:
        columns, details = ({name: one[rows] for name, one in all_.items()} for all_ in (self.columns, self.details))
        return replace(self, rows=self.rows[rows], people=self.people[rows], columns=columns, details=details)


def _given(rows: np.ndarray, n: int, rng: np.random.Generator) -> Given:
    people = np.arange(len(rows)) % N_PEOPLE
    columns = {
        "side": rng.choice(["left", "right"], len(rows)), "block": rng.choice(list("abcde"), len(rows)),
        "age": np.array(["20s", "30s", "40s"])[people % 3],
    }  # fmt: skip
    details = {"seconds": rng.lognormal(0.5, 0.5, len(rows)).round(3), "order": np.arange(len(rows)) // N_PEOPLE}
    names = np.array([f"p{number}" for number in range(N_PEOPLE)])[people]
    return Given(rows, names, np.array([f"object {number}" for number in range(n)]), columns, details)


def _triplets(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    return _given(answers_of(kind, points_of(kind, n, 2, rng), count, rng).index, n, rng)


def _odd_one_out(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    points = points_of(kind, n, 2, rng)
    sets = np.array([rng.choice(n, 3, replace=False) for _ in range(count)])
    pairs = ((1, 2), (0, 2), (0, 1))
    apart = np.stack([np.linalg.norm(points[sets[:, a]] - points[sets[:, b]], axis=1) for a, b in pairs])
    noisy = np.log(apart + 1e-9) + 0.3 * rng.gumbel(size=apart.shape)
    given = _given(np.zeros((count, 3), int), n, rng)
    odd = sets[np.arange(count), noisy.argmin(axis=0)]
    known = {"labels": given.labels, "participants": given.people, "details": given.details}
    return replace(given, comparisons=Comparisons.from_odd_one_out(sets, odd, **known))


def _repeated(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    points = points_of(kind, n, 2, rng)
    few = answers_of(kind, points, max(count // 8, 20), rng).index[rng.integers(max(count // 8, 20), size=count)]
    near, far = comparison_distances(points, few)
    wrong = rng.random(count) < 0.05 + 0.3 * np.exp(-np.abs(np.log(far / near)))
    return _given(few, n, rng).flipped(wrong)


def _two_sessions(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    """The same list of questions twice, with the same trial numbers; times are not known."""
    given = _triplets(kind, n, count // 2, rng)
    both = given.taken(np.tile(np.arange(count // 2), 2))
    flip = (rng.random(len(both.rows)) < 0.1) & (np.arange(len(both.rows)) >= count // 2)
    return replace(both.flipped(flip), details={"order": both.details["order"]})


def _guessers(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    given = _triplets(kind, n, count, rng)
    return given.flipped(np.isin(given.people, ["p1", "p4", "p7"]) & (rng.random(count) < 0.5))


def _coarse_times(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    given = _repeated(kind, n, count, rng)
    return replace(given, details={"seconds": given.details["seconds"].round(0)})


def _own_questions(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    """Half of the people get questions with both options near the anchor, the others with both far away."""
    points = points_of(kind, n, 2, rng)
    answers = answers_of(kind, points, 20 * count, rng)
    near, far = comparison_distances(points, answers)
    low, high = np.quantile(np.concatenate([near, far]), (0.4, 0.6))
    both_near, both_far = np.maximum(near, far) < high, np.minimum(near, far) > low
    rows = np.concatenate([np.flatnonzero(mask)[: count // 2] for mask in (both_near, both_far)])
    given = _given(answers.index[rows], n, rng)
    people = np.where(both_near[rows], np.char.add("near ", given.people), np.char.add("far ", given.people))
    columns = given.columns | {"side": np.where(both_near[rows], "near", "far")}
    return replace(given, people=people, columns=columns)


def _close_calls_only(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    points = points_of(kind, n, 2, rng)
    answers = answers_of(kind, points, 5 * count, rng)
    near, far = comparison_distances(points, answers)
    return _given(answers.index[np.argsort(np.abs(np.log(far / near)))[:count]], n, rng)


def _two_maps(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    """Half of the people, and the column with two values, have another map."""
    one, two = (_triplets(kind, n, count, rng) for _ in range(2))
    other = np.isin(one.people, ["p0", "p1", "p2", "p3", "p4"])
    columns = one.columns | {"side": np.where(other, "left", "right")}
    return replace(one, rows=np.where(other[:, None], one.rows, two.rows), columns=columns)


def _turned_column(share: float) -> Callable[..., Given]:
    def turned(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
        given, least = _triplets(kind, n, count, rng), rng.random(count) < share
        return given.flipped(least, columns=given.columns | {"side": np.where(least, "least", "most")})

    return turned


def _doubled(share: float, known: str) -> Callable[..., Given]:
    def doubled(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
        given = _triplets(kind, n, count, rng)
        twice = given.taken(np.concatenate([np.arange(count), rng.permutation(count)[: round(share * count)]]))
        return replace(twice, details={known: twice.details[known]})

    return doubled


def _spelled(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    """One object is written in capitals in the second half of the table."""
    given = _triplets(kind, n, count, rng)
    late = (np.arange(count) >= count // 2)[:, None]
    rows = np.where(late & (given.rows == 0), n, given.rows)
    return replace(given, rows=rows, labels=np.append(given.labels, "OBJECT 0"))


def _capitals(kind: str, n: int, count: int, rng: np.random.Generator) -> Given:
    """Letters as objects: small ones and capitals differ."""
    labels = np.array([chr(ord("a" if number % 2 else "A") + number // 2) for number in range(n)])
    return replace(_triplets(kind, n, count, rng), labels=labels)


CASES: dict[str, Callable[..., Given]] = {
    "good: random triplets": _triplets,
    "good: odd one out": _odd_one_out,
    "good: repeated questions": _repeated,
    "good: repeated questions, times in seconds": _coarse_times,
    "good: one list of questions twice": _two_sessions,
    "good: three of ten guess": _guessers,
    "good: questions of one's own": _own_questions,
    "good: close calls only": _close_calls_only,
    "good: two maps": _two_maps,
    "good: letters and capitals": _capitals,
    "bad: half reversed by a column": _turned_column(0.5),
    "bad: one in ten reversed by a column": _turned_column(0.1),
    "bad: file doubled, times known": _doubled(1.0, "seconds"),
    "bad: one in twenty doubled, times known": _doubled(0.05, "seconds"),
    "bad: file doubled, trial numbers known": _doubled(1.0, "order"),
    "bad: an object in two spellings": _spelled,
}


def _case(case: tuple[str, str, int, int, int]) -> dict[str, Any]:
    name, kind, n, count, seed = case
    given = CASES[name](kind, n, count, np.random.default_rng([SEED, seed, n, list(CASES).index(name)]))
    made = given.made()
    found = suspicions(made, given.columns)
    row: dict[str, Any] = {"case": name, "objects": n, "answers": count}
    return row | {what: any(one.kind == what for one in found) for what in SUSPECTED}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Tables in which each kind is suspected."""
    cases = [
        (name, kind, *size, seed)
        for name in CASES
        for size in (SIZES[:1] if quick else SIZES)
        for kind in KINDS
        for seed in range(1 if quick else 20)
    ]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_case, cases, chunksize=20))
    rows = []
    for name, n, count in dict.fromkeys((row["case"], row["objects"], row["answers"]) for row in found):
        own = [row for row in found if (row["case"], row["objects"]) == (name, n)]
        row = {"case": name, "objects": n, "answers": count, "tables": len(own)}
        rows.append(row | {what: sum(one[what] for one in own) / len(own) for what in SUSPECTED})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few tables, nothing saved")
    args = parser.parse_args()
    started = time.perf_counter()
    rows = run(args.quick)
    print(common.table(rows), flush=True)
    if not args.quick:
        common.save("suspicion", rows, about=run.__doc__, seconds=round(time.perf_counter() - started, 1))


if __name__ == "__main__":
    main()
