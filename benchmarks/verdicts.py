"""How often verdicts about answers and maps hold: dimension, accuracy, answers needed, certainty of places, people.

    python -m benchmarks.verdicts [dimension] [accuracy] [needed] [intervals] [participants] [page]
                                  [--quick] [--jobs J] [--studies S] [--keep FOLDER]

Everything is simulated, so that the truth is known. Kinds of data marked "aside" were not looked at while the rules
were chosen, and the seeds are not those that the rules were chosen on. Every part prints its table and saves it under
``benchmarks/results``. With ``--keep``, each study is kept when it is done and not run again: a part can be broken off
and taken up, or extended by more studies of each kind, until the code changes.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import chi2, t

from benchmarks import common
from benchmarks.figures import fill
from benchmarks.synthetic import answered
from nearer import Comparisons, OrdinalEmbedding
from nearer.check import check
from nearer.data.splits import questions_of
from nearer.losses import get_loss
from nearer.metrics import comparison_distances, log_ratio, procrustes_align
from nearer.selection import NearerIntervals, bootstrap, cross_validate_dimensions, evaluate, learning_curve

Rows = list[dict[str, Any]]

SEED = 5000
LOSSES = ("tste", "ste", "soe")
HALF_A_POINT = 0.005


@dataclass(frozen=True)
class Run:
    """How studies are run."""

    quick: bool = False
    jobs: int = 2
    studies: int | None = None  # of each kind
    keep: Path | None = None

    def seeds(self, default: int) -> range:
        return range(1 if self.quick else self.studies or default)

    def each(self, work: Callable[[Any], dict[str, Any]], cases: Sequence[Any]) -> list[dict[str, Any]]:
        """The result of each case, in so many processes; those that were kept are not run again."""
        if self.keep is None:
            with ProcessPoolExecutor(self.jobs) as pool:
                return list(pool.map(work, cases))
        self.keep.mkdir(parents=True, exist_ok=True)
        path, done = self.keep / f"{work.__name__}.pickle", {}
        with open(path, "ab+") as file, ProcessPoolExecutor(self.jobs) as pool:
            file.seek(0)
            with suppress(EOFError):
                while True:
                    done.update([pickle.load(file)])
            missing = [case for case in cases if case not in done]
            for case, result in zip(missing, pool.map(work, missing)):
                done[case] = result
                pickle.dump((case, result), file)
                file.flush()
        return [done[case] for case in cases]


# ---- data ------------------------------------------------------------------------------------------------------------


def _even(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d))


def _uneven(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d)) * np.linspace(1.0, 0.35 if d > 1 else 1.0, d)


def _cube(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, size=(n, d))


def _clumps(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(8, d))[rng.integers(8, size=n)] + 0.35 * rng.normal(size=(n, d))


def _ball(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def _heavy(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(size=(n, d)) * 0.7 ** np.arange(d)


def _flips(share: float) -> Callable[..., np.ndarray]:
    return lambda near, far, rng: rng.random(len(near)) < share


def _close_calls(near: np.ndarray, far: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(near)) > 1.0 / (1.0 + np.exp(2.5 * (near - far)))


def _misjudged(by: float) -> Callable[..., np.ndarray]:
    """Each distance is misjudged by a factor of about e^by."""
    return lambda near, far, rng: np.log(far / near) / 2.0 < by * math.sqrt(2.0) * rng.normal(size=len(near))


def _heavy_tails(near: np.ndarray, far: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    odds = ((1.0 + 4.0 * far) / (1.0 + 4.0 * near)) ** 1.5
    return rng.random(len(near)) > 0.025 + 0.95 * odds / (1.0 + odds)


def _skewed(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(size=(n, d))


def _lattice(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(4, size=(n, d)) + 0.3 * rng.normal(size=(n, d))


def _two_clouds(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X[:, 0] += np.where(rng.random(n) < 0.5, -1.5, 1.5)
    return X


def _slips_and_close_calls(near: np.ndarray, far: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _close_calls(near, far, rng) ^ (rng.random(len(near)) < 0.05)


# name: points, which answers are wrong, kept aside
KINDS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray], bool]] = {
    "even, flips": (_even, _flips(0.1), False),
    "uneven, flips": (_uneven, _flips(0.1), False),
    "cube, close calls": (_cube, _close_calls, False),
    "clumps, flips": (_clumps, _flips(0.05), False),
    "ball, misjudged": (_ball, _misjudged(0.3), False),
    "heavy and uneven, heavy tails": (_heavy, _heavy_tails, False),
    "even, no noise": (_even, _flips(0.0), False),
    "skewed, slips and close calls": (_skewed, _slips_and_close_calls, True),
    "lattice, many flips": (_lattice, _flips(0.2), True),
    "two clouds, misjudged": (_two_clouds, _misjudged(0.2), True),
}


def _pancake(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d)) * np.append(np.ones(d - 1), 0.25)


def _arc(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    turn = rng.uniform(0.0, math.pi, size=n)
    return np.column_stack([np.cos(turn), np.sin(turn), *np.zeros((d - 2, n))]) + 0.15 * rng.normal(size=(n, d))


def _blade(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, size=(n, d)) * 0.5 ** np.arange(d)


def _misjudged_and_slips(near: np.ndarray, far: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _misjudged(0.2)(near, far, rng) ^ (rng.random(len(near)) < 0.08)


# For intervals alone, which suffer most where a map is flat.
FLAT_KINDS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray], bool]] = {
    "pancake, flips": (_pancake, _flips(0.15), True),
    "arc, misjudged and slips": (_arc, _misjudged_and_slips, True),
    "blade, slips and close calls": (_blade, _slips_and_close_calls, True),
}


def _tight_clumps(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(5, d))[rng.integers(5, size=n)] + 0.08 * rng.normal(size=(n, d))


def _core(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d)) * np.where(np.arange(n) < n // 3, 0.1, 1.0)[:, None]


def _clusters_and_ring(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    quarter = n // 4
    turn = rng.uniform(0.0, 2.0 * math.pi, size=n)
    X = np.column_stack([np.cos(turn), np.sin(turn), *np.zeros((d - 2, n))])
    X[: 2 * quarter] = np.append([0.4], np.zeros(d - 1))
    X[:quarter] *= -1.0
    return X + 0.055 * rng.normal(size=(n, d))


def _unequal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return 1.5 * rng.normal(size=(4, d))[rng.choice(4, n, p=(0.7, 0.15, 0.1, 0.05))] + 0.3 * rng.normal(size=(n, d))


# For intervals alone: how tight a cluster is hardly shows in answers of which some are wrong.
CLUSTERED_KINDS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray], bool]] = {
    "tight clumps, flips": (_tight_clumps, _flips(0.1), False),
    "core, flips": (_core, _flips(0.15), False),
    "clusters and ring, flips": (_clusters_and_ring, _flips(0.1), True),
    "unequal clusters, flips": (_unequal, _flips(0.1), True),
}
ALL_KINDS = KINDS | FLAT_KINDS | CLUSTERED_KINDS


def points_of(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Points (n, d) of total variance 1."""
    X = ALL_KINDS[kind][0](n, d, rng)
    return X / math.sqrt(X.var(axis=0).sum())


def answers_of(kind: str, points: np.ndarray, count: int, rng: np.random.Generator) -> Comparisons:
    """Answers to random questions, some of them wrong."""
    right = Comparisons(answered(points, count, rng), n_objects=len(points))
    return right.flipped(ALL_KINDS[kind][1](*comparison_distances(points, right), rng))


def _unseen(test: Comparisons, train: Comparisons) -> Comparisons:
    """Answers to questions that the training set does not ask."""
    question = questions_of(train.concat([test]))
    return test[~np.isin(question[len(train) :], question[: len(train)])]


def _aside(kind: str) -> str:
    return "aside" if kind in ALL_KINDS and ALL_KINDS[kind][2] else "chosen on"


# ---- how many dimensions ---------------------------------------------------------------------------------------------


def _dimension_case(case: tuple[str, int, int]) -> dict[str, Any]:
    kind, d, seed = case
    rng = np.random.default_rng([SEED, seed, d, list(KINDS).index(kind)])
    n, times, loss = int(rng.choice([25, 40, 60])), float(rng.choice([5, 10, 20])), str(rng.choice(LOSSES))
    P = points_of(kind, n, d, rng)
    data = answers_of(kind, P, int(times * n * d * math.log2(n)), rng)
    test = _unseen(answers_of(kind, P, 30_000, rng), data)
    tried = list(range(1, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cross_validate_dimensions(OrdinalEmbedding(loss=loss), data, tried, random_state=seed, n_jobs=1)
        fits, seconds = [], []
        for k in tried:
            started = time.process_time()
            fits.append(OrdinalEmbedding(k, loss=loss, random_state=seed, n_jobs=1).fit(data).score(test))
            seconds.append(time.process_time() - started)
        started = time.process_time()
        auto = OrdinalEmbedding("auto", loss=loss, random_state=seed, n_jobs=1).fit(data).n_components_
        auto_seconds = time.process_time() - started
        judge = [OrdinalEmbedding(k, loss="softplus", random_state=seed, n_jobs=1).fit(data).score(test)
                 for k in range(1, d + 1)]  # fmt: skip
    promised = found.accuracy - np.array(fits)
    # Both are measured on a limited number of answers: the 95 % interval of a few folds, as a report gives it.
    errors = 2.0 * np.sqrt(found.accuracy_se**2 + 0.25 / len(test))
    slack = np.sqrt((t.ppf(0.975, len(found.fold_accuracy) - 1) * found.accuracy_se) ** 2 + 1.0 / len(test))
    return {
        "kind": kind, "d": d, "n": n, "answers": len(data), "loss": loss, "chosen": found.chosen, "auto": auto,
        "decisive": found.decisive, "candidates": list(found.candidates),
        # Are there enough answers that the true dimension predicts better than any smaller one?
        "enough": d == 1 or judge[-1] - max(judge[:-1]) > HALF_A_POINT,
        "broken promises": int((promised - slack > HALF_A_POINT).sum()), "promises": len(tried),
        "beyond two errors": int((promised - errors > HALF_A_POINT).sum()), "fit - table": float(-promised.mean()),
        "auto / one fit": auto_seconds / seconds[d - 1],
    }  # fmt: skip


def dimension(run: Run) -> Rows:
    """Dimensions 1 to 8 tried on true ones of 1 to 6, 5 to 20 n d log2 n answers about 25 to 60 objects."""
    cases = [(kind, d, seed) for seed in run.seeds(2) for kind in KINDS for d in range(1, 3 if run.quick else 7)]
    results = run.each(_dimension_case, cases)
    rows = []
    for name, chosen in (
        *((kind, [one for one in results if one["kind"] == kind]) for kind in KINDS),
        *((side, [one for one in results if _aside(one["kind"]) == side]) for side in ("chosen on", "aside")),
    ):
        enough = [one for one in chosen if one["enough"]]
        sure = [one for one in chosen if one["decisive"]]
        rows.append({
            "data": name, "sets": len(chosen), "enough answers": len(enough),
            "right": _share(one["chosen"] == one["d"] for one in enough),
            "auto right": _share(one["auto"] == one["d"] for one in enough),
            "said decisive": _share(one["decisive"] for one in enough),
            "decisive and wrong": sum(one["chosen"] != one["d"] for one in sure if one["enough"]),
            "of all sets": sum(one["chosen"] != one["d"] for one in sure),
            "decisive, of all sets": len(sure),
            "candidates hold it": _share(one["d"] in one["candidates"] for one in enough),
            "promises broken": sum(one["broken promises"] for one in chosen),
            "beyond two standard errors": sum(one["beyond two errors"] for one in chosen),
            "of": sum(one["promises"] for one in chosen),
            "fit above the table, points": 100 * float(np.mean([one["fit - table"] for one in chosen])),
            "auto / one fit (median)": float(np.median([one["auto / one fit"] for one in chosen])),
        })  # fmt: skip
    return rows


# ---- accuracy on new answers ----------------------------------------------------------------------------------------


def _answered_by(
    kind: str, points: np.ndarray, count: int, rng: np.random.Generator, guesses: np.ndarray | None, shared: np.ndarray
) -> Comparisons:
    """Answers by people with these lapse rates (None: people are unknown), a quarter to shared questions (m, 3)."""
    rows = np.argsort(rng.random((count, len(points))), axis=1)[:, :3].astype(np.int32)
    if len(shared):
        common = rng.random(count) < 0.25
        rows[common] = shared[rng.integers(len(shared), size=int(common.sum()))]
    one, two = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    first = (one < two) ^ ALL_KINDS[kind][1](np.minimum(one, two), np.maximum(one, two), rng)
    if guesses is None:
        return Comparisons.from_answers(rows, first, n_objects=len(points))
    who = np.arange(count) * len(guesses) // count
    first = np.where(rng.random(count) < guesses[who], rng.random(count) < 0.5, first)
    return Comparisons.from_answers(rows, first, n_objects=len(points), participants=who)


def _accuracy_case(case: tuple[str, int, int, bool]) -> dict[str, Any]:
    kind, n_people, seed, is_chosen = case
    rng = np.random.default_rng([SEED + 4, seed, n_people, list(ALL_KINDS).index(kind)])
    n, d, times = int(rng.choice([20, 30, 40, 60])), int(rng.choice([2, 2, 3])), float(rng.choice([1.5, 3, 6, 12]))
    loss = str(rng.choice(LOSSES))
    loss = "auto" if is_chosen else loss
    P = points_of(kind, n, d, rng)
    people, others = (rng.beta(0.4, 2.0, size=count) if n_people else None for count in (n_people, 3000))
    shared = np.argsort(rng.random((40 * (seed % 2), n)), axis=1)[:, :3].astype(np.int32)
    data = _answered_by(kind, P, int(times * n * d * math.log2(n)), rng, people, shared)
    fresh, alike = (_answered_by(kind, P, 30_000, rng, others, asked) for asked in (shared[:0], shared))
    found: dict[str, Any] = {"kind": kind, "people": n_people, "is_chosen": is_chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrdinalEmbedding(d, loss=loss, random_state=seed, n_jobs=1).fit(data)
        truth, told = model.score(fresh), evaluate(model, data, cv=5, bootstrap=0, people=False)
        half = t.ppf(0.975, 4) * float(np.std(told.fold_accuracy, ddof=1)) / math.sqrt(5)
        found |= {
            "held out": told.held_out_low <= truth <= told.held_out_high,
            "width": told.held_out_high - told.held_out_low,
            "before": abs(told.held_out - truth) <= half, "width before": 2 * half,
        }  # fmt: skip
        by = "participant" if n_people else "comparison"
        # Without the bias of positions, which takes most of the time: accuracies do not depend on it.
        unbiased = lambda X, comparisons, *_: (X, np.ones(len(comparisons)), [X])  # noqa: E731
        with mock.patch.object(sys.modules["nearer.selection.bootstrap"], "likely_map", unbiased):
            drawn = bootstrap(model, data, n_resamples=40, by=by, random_state=seed, n_jobs=1)
    # People are drawn, not questions: of others, the same share answers the questions that are shared.
    truth, told = model.score(alike if n_people else fresh), drawn.accuracy(0.9)
    return found | {"bootstrap": told.low <= truth <= told.high, "bootstrap width": told.high - told.low}


def accuracy(run: Run) -> Rows:
    """95 % interval of a report, and 90 % interval of a bootstrap, for a map's accuracy on answers by other people."""
    kinds = [kind for kind in ALL_KINDS if kind != "even, no noise"]
    cases = [
        (kind, n_people, seed, is_chosen)
        for is_chosen in (False, True)
        for kind in kinds
        for seed in run.seeds(25 if _aside(kind) == "aside" else 6)
        for n_people in (0, (8, 20, 50)[seed % 3])
    ]
    results = run.each(_accuracy_case, cases)
    rows = []
    for is_chosen, side in product((False, True), ("chosen on", "aside")):
        for name, people in (("unknown", (0,)), ("8", (8,)), ("20", (20,)), ("50", (50,)), ("8 to 50", (8, 20, 50))):
            mine = [one for one in results if _aside(one["kind"]) == side and one["people"] in people]
            mine = [one for one in mine if one["is_chosen"] == is_chosen]
            if not mine:
                continue
            rows.append({
                "loss": "auto" if is_chosen else "by name", "data": side, "participants": name, "studies": len(mine),
                "95 % by folds alone": _share(one["before"] for one in mine),
                "width by folds": float(np.mean([one["width before"] for one in mine])),
                "95 % of a report": _share(one["held out"] for one in mine),
                "width": float(np.mean([one["width"] for one in mine])),
                "90 % of a bootstrap": _share(one["bootstrap"] for one in mine),
                "width ": float(np.mean([one["bootstrap width"] for one in mine])),
            })  # fmt: skip
    return rows


# ---- answers needed --------------------------------------------------------------------------------------------------


def _needed_case(case: tuple[str, int]) -> dict[str, Any]:
    kind, seed = case
    rng = np.random.default_rng([SEED + 1, seed, list(ALL_KINDS).index(kind)])
    n, d, times = int(rng.choice([25, 40, 60])), int(rng.choice([2, 2, 3])), float(rng.choice([1.5, 3, 6]))
    loss = str(rng.choice(LOSSES))
    P = points_of(kind, n, d, rng)
    data = answers_of(kind, P, int(times * n * d * math.log2(n)), rng)
    test = answers_of(kind, P, 40_000, rng)
    found: dict[str, Any] = {"kind": kind}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve = learning_curve(OrdinalEmbedding(d, loss=loss), data, random_state=seed, n_jobs=1)
        last = int(curve.n_comparisons[-1])
        for factor in (2, 3):
            scores = []
            for again in range(4):
                train = data[rng.permutation(len(data))[:last]]
                train = train.concat([answers_of(kind, P, (factor - 1) * last, rng)])
                fit = OrdinalEmbedding(d, loss=loss, random_state=again, n_jobs=1).fit(train)
                scores.append(fit.score(_unseen(test, train)))
            came = float(np.mean(scores))
            told, needed = curve.predict(factor * last), curve.needed_for(came)
            found |= {
                f"inside {factor}": told.low <= came <= told.high, f"error {factor}": told.estimate - came,
                f"needed inside {factor}": needed.low <= factor * last <= needed.high,
                f"ratio {factor}": needed.estimate / (factor * last),
            }  # fmt: skip
    return found


def needed(run: Run) -> Rows:
    """90 % intervals for the accuracy at 2 and 3 times the answers, and for the answers that give that accuracy."""
    kinds = [kind for kind in ALL_KINDS if kind != "even, no noise"]
    results = run.each(_needed_case, [(kind, seed) for seed in run.seeds(12) for kind in kinds])
    rows = []
    for side in ("chosen on", "aside"):
        mine = [one for one in results if _aside(one["kind"]) == side]
        for factor in (2, 3):
            rows.append({
                "data": side, "sets": len(mine), "times the answers": factor,
                "accuracy inside": _share(one[f"inside {factor}"] for one in mine),
                "mean error": float(np.mean([one[f"error {factor}"] for one in mine])),
                "root mean square": float(np.sqrt(np.mean([one[f"error {factor}"] ** 2 for one in mine]))),
                "answers inside": _share(one[f"needed inside {factor}"] for one in mine),
                "median foretold / true": float(np.median([one[f"ratio {factor}"] for one in mine])),
                "within a factor 2": _share(0.5 <= one[f"ratio {factor}"] <= 2.0 for one in mine),
            })  # fmt: skip
    return rows


# ---- how sure is each place ------------------------------------------------------------------------------------------


def _half_width(told: NearerIntervals) -> np.ndarray:
    """Half widths (m,) before intervals are opened; where both sides are open, that is not known: infinite."""
    return np.minimum(told.high - told.log_ratio, told.log_ratio - told.low)


def _interval_case(case: tuple[str, str, int, int, int]) -> dict[str, Any]:
    noise, loss, d, count, seed = case
    rng = np.random.default_rng([SEED + 2, seed, d])
    kind = noise if noise in ALL_KINDS else "even, no noise"
    P = points_of(kind, 40, d, rng)
    if noise in LOSSES:  # answers as the model of a loss has them, at a scale where four of five are right
        P *= 3.0
    train, asked = (answers_of(kind, P, size, rng) for size in (count, 1000))
    if noise in LOSSES:
        law = get_loss(noise).resolve(d)
        train = train.flipped(rng.random(len(train)) > law.probability(*comparison_distances(P, train)))
    truth = log_ratio(P, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrdinalEmbedding(d, loss=loss, n_init=2, random_state=seed, n_jobs=1).fit(train)
        found = bootstrap(model, train, n_resamples=60, random_state=seed, n_jobs=1)
    told = found.nearer(asked, 0.9)
    half = 1.6449 * np.nanstd([log_ratio(X, asked) for X in found.samples], axis=0, ddof=1)
    away = procrustes_align(P, found.embedding) - found.embedding
    apart = np.einsum("ni,nij,nj->n", away, np.linalg.pinv(found.covariance, hermitian=True), away)
    return {
        "case": (noise, loss, d, count), "resamples alone": np.mean(np.abs(truth - told.log_ratio) <= half),
        "covered": np.mean((told.low <= truth) & (truth <= told.high)),
        "closed": np.mean(np.abs(truth - told.log_ratio) <= _half_width(told)),
        "open": np.mean(np.isinf(told.low) | np.isinf(told.high)),
        "regions": np.mean(apart <= chi2.ppf(0.9, d)), "settled": np.mean(told.settled != 0),
        "wrongly": np.mean((told.settled != 0) & (told.settled != np.sign(truth))),
    }  # fmt: skip


def intervals(run: Run) -> Rows:
    """90 % intervals for "i nearer to j than to k" and 90 % regions: how often they hold the truth; 40 objects."""
    cases = [
        ("even, flips", "tste", 2, 4000), ("even, flips", "tste", 3, 6000), ("even, flips", "ste", 2, 4000),
        ("even, flips", "soe", 2, 4000), ("ste", "ste", 2, 4000), ("tste", "tste", 2, 4000), ("ste", "tste", 2, 4000),
        ("ste", "soe", 2, 4000), ("uneven, flips", "ste", 2, 4000), ("uneven, flips", "tste", 2, 4000),
        ("uneven, flips", "soe", 2, 4000), ("ball, misjudged", "ste", 2, 4000),
        ("even, flips", "tste", 2, 800), ("uneven, flips", "ste", 2, 800), ("ste", "ste", 2, 800),
        ("even, no noise", "ste", 2, 800), ("even, no noise", "soe", 2, 4000),
        ("skewed, slips and close calls", "tste", 2, 4000), ("lattice, many flips", "ste", 2, 4000),
        ("two clouds, misjudged", "soe", 2, 4000), ("pancake, flips", "ckl", 3, 6000),
        ("pancake, flips", "ste", 3, 6000), ("arc, misjudged and slips", "soe", 2, 4000),
        ("arc, misjudged and slips", "ste", 2, 4000), ("blade, slips and close calls", "ste", 3, 6000),
        ("blade, slips and close calls", "hinge", 3, 6000), ("blade, slips and close calls", "ckl", 3, 6000),
        ("pancake, flips", "tste", 3, 6000), ("blade, slips and close calls", "tste", 3, 6000),
        *((kind, loss, 2, 4000) for kind in CLUSTERED_KINDS for loss in LOSSES),
        ("skewed, slips and close calls", "auto", 2, 4000), ("lattice, many flips", "auto", 2, 4000),
        ("two clouds, misjudged", "auto", 2, 4000), ("pancake, flips", "auto", 3, 6000),
        ("arc, misjudged and slips", "auto", 2, 4000), ("blade, slips and close calls", "auto", 3, 6000),
        *((kind, "auto", 2, 4000) for kind in CLUSTERED_KINDS),
    ][: 2 if run.quick else None]  # fmt: skip
    results = run.each(_interval_case, [(*case, seed) for seed in run.seeds(6) for case in cases])
    rows = []
    for case in cases:
        mine = [one for one in results if one["case"] == case]
        covered = [one["covered"] for one in mine]
        rows.append({
            "answers": case[0] if case[0] in ALL_KINDS else f"even, model of {case[0]}", "data": _aside(case[0]),
            "number": case[3], "loss": case[1], "d": case[2],
            "resamples alone": float(np.mean([one["resamples alone"] for one in mine])),
            "before": float(np.mean([one["closed"] for one in mine])),
            "covered": float(np.mean(covered)), "least": float(min(covered)), "most": float(max(covered)),
            "open": float(np.mean([one["open"] for one in mine])),
            "regions": float(np.mean([one["regions"] for one in mine])),
            "settled": float(np.mean([one["settled"] for one in mine])),
            "settled wrongly": float(np.mean([one["wrongly"] for one in mine])),
        })  # fmt: skip
    return rows


# ---- doubtful participants -------------------------------------------------------------------------------------------


def a_study(seed: int, n_careless: int, per_person: int, n_questions: int, n_harder: int, careless: float = 0.5):
    """Twenty people about 30 objects; the first get the hardest quarter of the questions, the last are careless."""
    rng = np.random.default_rng([SEED + 3, seed])
    points = rng.normal(size=(30, 2))
    questions = answered(points, n_questions, rng)
    near, far = (np.sqrt(d) for d in comparison_distances(points, questions))
    hardest = np.argsort(far / near)[: n_questions // 4]
    people = np.repeat(np.arange(20), per_person)
    asked = np.where(people < n_harder, rng.choice(hardest, len(people)), rng.integers(n_questions, size=len(people)))
    misjudged = far[asked] / near[asked] < np.exp(0.3 * math.sqrt(2.0) * rng.normal(size=len(people)))
    wrong = np.where(people >= 20 - n_careless, rng.random(len(people)) < careless, misjudged)
    return Comparisons(questions[asked], n_objects=30, participants=people).flipped(wrong)


def participants(run: Run) -> Rows:
    """Twenty people, distances misjudged by a third: honest ones flagged, and careless ones (coin tosses) found."""
    rows = []
    for n_harder, n_careless, per_person, n_questions in (
        (0, 0, 150, 1000), (5, 0, 150, 1000), (5, 0, 400, 1000), (5, 0, 60, 400), (5, 2, 150, 1000), (0, 2, 60, 400),
        (0, 2, 60, 1000), (0, 2, 150, 1000),
    ):  # fmt: skip
        honest, found, studies = [], [], 3 if run.quick else 100
        for seed in range(studies):
            report = check(a_study(seed, n_careless, per_person, n_questions, n_harder)).participants
            flagged = {int(person.participant) for person in report if person.suspicious}
            found.append(sum(person >= 20 - n_careless for person in flagged))
            honest.append(len(flagged) - found[-1])
        rows.append({
            "with harder questions": n_harder, "careless": n_careless, "answers each": per_person,
            "answers per question": 20 * per_person / n_questions, "studies": studies,
            "honest flagged per study": float(np.mean(honest)),
            "careless found": float(np.mean(found)) / n_careless if n_careless else None,
        })  # fmt: skip
    return rows


# ---- running ---------------------------------------------------------------------------------------------------------


def _share(values: Any) -> float:
    found = list(values)
    return sum(found) / len(found) if found else math.nan


ON_PAGE = ("accuracy", "intervals", "needed")


def blocks() -> dict[str, str]:
    """What stands between the markers of ``benchmarks/RESULTS.md``, from saved results."""
    made = {}
    for name in ON_PAGE:
        record = json.loads((common.RESULTS / f"verdicts_{name}.json").read_text())
        made[f"verdicts-{name}"] = f"{common.table(record['rows'])}\n{common.about(record)}.\n"
    return made


PARTS = {part.__name__: part for part in (dimension, accuracy, needed, intervals, participants)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "page", []], help="default: all, and the page")
    parser.add_argument("--quick", action="store_true", help="a few cases, nothing saved")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--studies", type=int, help="of each kind")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to keep studies that are done")
    args = parser.parse_args()
    for name in args.parts or [*PARTS, *([] if args.quick else ["page"])]:
        if name == "page":
            common.PAGE.write_text(fill(common.PAGE.read_text(), blocks()))
            continue
        started = time.perf_counter()
        rows = PARTS[name](Run(args.quick, args.jobs, args.studies, args.keep))
        print(f"{name}: {PARTS[name].__doc__}\n\n{common.table(rows)}", flush=True)
        if not args.quick:
            seconds = round(time.perf_counter() - started, 1)
            common.save(f"verdicts_{name}", rows, about=PARTS[name].__doc__, seconds=seconds)


if __name__ == "__main__":
    main()
