"""How often one start ends in a poor place: plain starts, guided ones, and a rival's.

    python -m benchmarks.starts [--quick] [--sizes 20,80,300] [--starts 10] [--no-rival]

Data sets of twelve kinds with 20 to 300 objects, 60 or 150 answers per object, none or 10 % of them wrong, and human
answers where `NEARER_DATA` is set, each fitted in one, two and three dimensions with every loss. The settings of the
guide were chosen on the first six kinds and two of those "seen", with other seeds; failures on the kinds "seen" and on
human answers were looked at. The kinds "aside" were first used when all settings were final.

A failure is a held-out error more than a point above that of the map with the lowest objective, of all starts of
nearer, guided or not. The held-out answers are right ones (of people: other answers of theirs). "Strict" counts
against the lowest held-out error of any start instead, which no rule could choose. "Stuck" are the failures whose
objective is also above the lowest by more than a thousandth of that of no map, ten times the tolerance of the solver:
the others are maps about as good, by what the fit can see, that happen to do worse on the answers held out. Times are
processor times, taken in turns, as the median over data sets of the ratio to a plain start. The rival fits the sets of
up to 80 objects only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from experiments.data import load_materials, load_music

from benchmarks.common import save, table
from benchmarks.rivals import RIVALS, Competitor, scratch
from nearer import Comparisons, OrdinalEmbedding
from nearer.losses import get_loss, loss_names
from nearer.metrics import comparison_error
from nearer.solvers import Auto

DIMENSIONS = (1, 2, 3)
SIZES, QUICK_SIZES = (20, 80, 300), (20,)
POINT = 0.01
GUIDED_RUNS = 2
LARGEST_FOR_RIVAL = 80


def tree(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Lengths of the ways (n, n) in a random tree."""
    distances = np.zeros((n, n))
    for new in range(1, n):
        parent = rng.integers(max(new // 2 - 1, 0), new)
        distances[new, :new] = distances[:new, new] = distances[parent, :new] + rng.uniform(0.5, 1.5)
    return distances


def between(points: np.ndarray) -> np.ndarray:
    """Distances (n, n) between points (n, d)."""
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def ring(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    angles = rng.uniform(0, 2 * np.pi, size=n)
    return between(np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(n, 2)))


def spiral(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(2, 12, size=n)
    return between(np.column_stack([t * np.cos(t), t * np.sin(t), 0.3 * t]))


def clusters(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    centres = 3 * rng.normal(size=(5, d))
    return between(centres[rng.integers(5, size=n)] + 0.4 * rng.normal(size=(n, d)))


def sphere(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    points = rng.normal(size=(n, 3))
    return between(points / np.linalg.norm(points, axis=1, keepdims=True))


def lattice(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    side = int(np.ceil(n ** (1 / d)))
    sites = np.stack(np.meshgrid(*[np.arange(side)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return between(rng.permutation(sites)[:n] + 0.15 * rng.normal(size=(n, d)))


def star(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    angles = 2 * np.pi * rng.integers(3, size=n) / 3
    arms = rng.uniform(0, 1, size=n)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return between(arms + 0.05 * rng.normal(size=(n, 2)))


Kind = Callable[[int, int, np.random.Generator], np.ndarray]
"""(objects, dimensions where the kind has a choice, generator) -> true distances (n, n)"""
CHOSEN_ON: dict[str, Kind] = {
    "normal": lambda n, d, rng: between(rng.normal(size=(n, d))),
    "uniform": lambda n, d, rng: between(rng.uniform(size=(n, d))),
    "clusters": clusters,
    "ring": ring,
    "tree": tree,
    "six dimensions": lambda n, d, rng: between(rng.normal(size=(n, 6))),
}
SEEN: dict[str, Kind] = {
    "heavy tails": lambda n, d, rng: between(rng.standard_t(2, size=(n, d))),
    "spiral": spiral,
    "sphere": sphere,
    "uneven axes": lambda n, d, rng: between(rng.normal(size=(n, 4)) * [1.0, 0.7, 0.5, 0.35]),
}
ASIDE: dict[str, Kind] = {"lattice": lattice, "star": star}
GROUPS = {"chosen on": (CHOSEN_ON, (1,)), "seen": (SEEN, (1,)), "aside": (ASIDE, (1, 2))}
"""Kinds of data, and seeds for each."""


@dataclass(frozen=True)
class Case:
    """One data set: `group` is one of `GROUPS`, or "people"."""

    group: str
    kind: str
    n: int = 0
    d: int = 0
    per_object: int = 0
    noise: float = 0.0
    seed: int = 1


def cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    """The synthetic sets; true dimensions and numbers of answers take turns."""
    count = 0
    for group, (kinds, seeds) in GROUPS.items():
        for kind in kinds:
            for n in sizes:
                for noise in (0.0, 0.1):
                    for seed in seeds:
                        count += 1
                        yield Case(group, kind, n, 1 + count % 3, (60, 150)[(count // 2 + count // 5) % 2], noise, seed)


def data(case: Case) -> tuple[Comparisons, Comparisons]:
    """Training and held-out comparisons; no question is in both."""
    if case.group == "people":
        answers = load_music() if case.kind == "music" else load_materials()
        return answers.split(0.2, random_state=case.seed)
    rng = np.random.default_rng([case.seed, case.n, case.d, round(100 * case.noise)])
    distances = GROUPS[case.group][0][case.kind](case.n, case.d, rng)
    n_train = min(case.per_object * case.n, int(0.3 * case.n * (case.n - 1) * (case.n - 2)))
    drawn = rng.integers(case.n, size=(5 * n_train + 20_000, 3))
    distinct = (drawn[:, 0] != drawn[:, 1]) & (drawn[:, 0] != drawn[:, 2]) & (drawn[:, 1] < drawn[:, 2])
    rows = rng.permutation(np.unique(drawn[distinct], axis=0))[: n_train + 4000]
    near, far = (distances[rows[:, 0], rows[:, column]] for column in (1, 2))
    rows = Comparisons(np.where((near > far)[:, None], rows[:, [0, 2, 1]], rows)[near != far], n_objects=case.n)
    train = rows[np.arange(min(n_train, len(rows) * 3 // 4))]
    return train.with_noise(case.noise, rng) if case.noise else train, rows[np.arange(len(train), len(rows))]


@dataclass(frozen=True)
class Outcome:
    objective: float
    error: float
    seconds: float


def one(train: Comparisons, test: Comparisons, loss: str, d: int, solver: Auto, seed: int) -> Outcome:
    """One fit on one thread."""
    model = OrdinalEmbedding(d, loss=loss, solver=solver, n_objects=train.n_objects, n_jobs=1, random_state=seed)
    started = time.process_time()
    model.fit(train)
    seconds = time.process_time() - started
    return Outcome(model.objective_, comparison_error(model.embedding_, test), seconds)


def outcomes(case: Case, starts: int) -> dict[tuple[int, str], dict[str, list[Outcome]]]:
    """By dimension and loss: plain and guided fits, in turns."""
    train, test = data(case)
    found: dict[tuple[int, str], dict[str, list[Outcome]]] = {}
    for d in DIMENSIONS:
        for loss in loss_names():
            runs: dict[str, list[Outcome]] = {"plain": [], "guided": []}
            for seed in range(starts):
                runs["plain"].append(one(train, test, loss, d, Auto(guide=0, penalty=0.0), seed))
                if seed < GUIDED_RUNS:
                    runs["guided"].append(one(train, test, loss, d, Auto(), seed))
            found[d, loss] = runs
    return found


def of_rival(all_cases: list[Case], folder: Path) -> dict[Case, dict[tuple[int, str], float]]:
    """Held-out errors of a rival's single start on the smaller sets."""
    errors: dict[Case, dict[tuple[int, str], float]] = {}
    runner = Competitor("cblearn", folder)
    for case in all_cases:
        if not 0 < case.n <= LARGEST_FOR_RIVAL:
            continue
        train, test = data(case)
        np.savez(folder / "starts.npz", train=train.index, n_objects=train.n_objects)
        errors[case] = {}
        for d in DIMENSIONS:
            for loss in ("hinge", "ckl", "ste", "tste", "soe"):
                _, X = runner.fit(folder / "starts.npz", loss, d, seed=0)
                errors[case][d, loss] = comparison_error(X, test)
    runner.close()
    return errors


def rows_of(found: dict[Case, Any], rival: dict[Case, Any]) -> list[dict[str, Any]]:
    """Failures in percent by group, dimension, kind of start and loss."""
    rows = []
    for group in dict.fromkeys(case.group for case in found):
        members = [case for case in found if case.group == group]
        for d in DIMENSIONS:
            for who, name in (("plain", "plain"), ("guided", "guided"), ("cblearn", "cblearn")):
                excess: dict[str, list[float]] = {loss: [] for loss in loss_names()}
                strict, stuck, ratios = [], [], []
                for case in members:
                    for loss in loss_names():
                        runs = found[case][d, loss]
                        every = runs["plain"] + runs["guided"]
                        deepest = min(every, key=lambda outcome: outcome.objective)
                        best = deepest.error
                        lowest = min(outcome.error for outcome in every)
                        if who == "cblearn":
                            known = rival.get(case, {})
                            errors = [known[d, loss]] if (d, loss) in known else []
                        else:
                            errors = [outcome.error for outcome in runs[who]]
                            much = deepest.objective + 1e-3 * get_loss(loss).resolve(d).terms(0.0, 0.0)[0]
                            stuck += [o.error > best + POINT and o.objective > much for o in runs[who]]
                            ratios.append(seconds(runs[who]) / seconds(runs["plain"]))
                        excess[loss] += [error - best for error in errors]
                        strict += [error - lowest for error in errors]
                if not strict:
                    continue
                percent = {loss: 100 * float(np.mean(np.array(e) > POINT)) if e else None for loss, e in excess.items()}
                mean = float(np.mean([value for value in percent.values() if value is not None]))
                rows.append({
                    "data": group, "d": d, "start": name, **percent, "mean": mean,
                    "stuck": 100 * float(np.mean(stuck)) if stuck else None,
                    "strict": 100 * float(np.mean(np.array(strict) > POINT)),
                    "points above": 100 * float(np.mean([e for loss in excess for e in excess[loss]])),
                    "time": float(np.median(ratios)) if ratios else None, "fits": len(strict),
                })  # fmt: skip
    return rows


def seconds(runs: list[Outcome]) -> float:
    return float(np.median([outcome.seconds for outcome in runs[:GUIDED_RUNS]]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest sets and few starts; nothing is saved")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of objects; people only with all")
    parser.add_argument("--starts", type=int, help="plain starts of each fit, default 10")
    parser.add_argument("--no-rival", action="store_true", help="without cblearn")
    options = parser.parse_args(arguments)
    starts = options.starts or (3 if options.quick else 10)
    sizes = QUICK_SIZES if options.quick else tuple(map(int, options.sizes.split(",")))
    chosen = list(cases(sizes))
    if os.environ.get("NEARER_DATA") and sizes == SIZES:
        chosen += [Case("people", name, seed=seed) for name in ("music", "materials") for seed in (1, 2)]
    started = time.perf_counter()
    folder = scratch()
    # Spawned: a forked process would inherit the pipe to the rival and keep it open.
    pool = ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))
    with pool, ThreadPoolExecutor(1) as beside:
        theirs = None if options.no_rival else beside.submit(of_rival, chosen, folder)
        found = dict(zip(chosen, pool.map(outcomes, chosen, [starts] * len(chosen))))
        rival = {} if theirs is None else theirs.result()
    shutil.rmtree(folder)
    rows = rows_of(found, rival)
    print(table(rows))
    if not options.quick:
        more = {"data sets": len(chosen), "starts": starts, "minutes": round((time.perf_counter() - started) / 60, 1)}
        name = "starts" if sizes == SIZES else f"starts-{'-'.join(map(str, sizes))}"
        print(f"written to {save(name, rows, **more, rivals={} if options.no_rival else RIVALS)}")


if __name__ == "__main__":
    main()
