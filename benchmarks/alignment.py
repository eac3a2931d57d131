"""How often intervals about models are right, and how often a useless transform is said to gain.

    python -m benchmarks.alignment [--studies 200] [--jobs 2] [--quick]

Each study has a true configuration, answers to random questions by simulated participants, and four models: a rotated
copy of the truth, a noisy one, a very noisy one, and an unrelated one. Intervals by question are to hold the accuracy
on other questions to the same participants, those by participant that on questions to others; both are measured on
60,000 answers. A transform has nothing to gain where the features are a rotated copy or unrelated. Kinds marked "aside"
were not looked at while the method was written.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks import common
from nearer import Comparisons
from nearer.alignment import align

KINDS = {  # name: (objects, dimensions, answers, participants, share of random answers, odd one out, chosen on)
    "triplets, 40 objects": (40, 3, 1500, 20, 0.1, False, True),
    "odd one out, 30 objects": (30, 5, 1200, 12, 0.2, True, False),
    "triplets, few participants": (50, 4, 2500, 6, 0.1, False, False),
}
NOISE = {"copy": 0.0, "noisy": 0.5, "very noisy": 1.0}


def _study(kind: str, seed: int) -> dict[str, Any]:
    n, d, n_answers, n_people, lapse, is_odd, _ = KINDS[kind]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    models = {name: X + noise * rng.normal(size=X.shape) for name, noise in NOISE.items()}
    models = {name: values @ np.linalg.qr(rng.normal(size=(d, d)))[0] for name, values in models.items()}
    models["unrelated"] = rng.normal(size=(n, 2 * d))
    rates = lapse * rng.exponential(size=1000).clip(max=5.0)  # participants differ in care
    answers = _answers(X, n_answers, rates[:n_people], is_odd, rng)
    found = align(answers, models, "euclidean", transform=True, best_map=None)
    true = {}
    for by, some in (("question", rates[:n_people]), ("participant", rates[n_people:])):
        more = align(_answers(X, 60_000, some, is_odd, rng), models, "euclidean", best_map=None)
        true[by] = {score.name: score.accuracy for score in more.scores}
    return {
        "shares": [_inside(one, {by: each[one.name] for by, each in true.items()}) for one in found.scores],
        "differences": [
            _inside(one, {by: each[one.name] - each[one.other] for by, each in true.items()})
            for one in found.differences
        ],
        "order": [
            (one.by_question[0] > 0, true["question"][one.name] > true["question"][one.other])
            for one in found.differences
        ],
        "gains": {gain.name: (gain.low > 0, gain.gain) for gain in found.gains},
    }


def _inside(found: Any, true: dict[str, float]) -> list[bool]:
    intervals = {"question": found.by_question, "participant": found.by_participant}
    return [low <= true[by] <= high for by, (low, high) in intervals.items()]


def _answers(X: np.ndarray, n: int, rates: np.ndarray, is_odd: bool, rng: np.random.Generator) -> Comparisons:
    """Answers of participants who answer at random at these rates."""
    sets = np.argpartition(rng.random((n, len(X))), 3, axis=1)[:, :3]
    person = np.arange(n) % len(rates)
    lapses = rng.random(n) < rates[person]
    a, b, c = (X[column] for column in sets.T)
    if is_odd:
        opposite = np.stack([((one - other) ** 2).sum(axis=1) for one, other in ((b, c), (a, c), (a, b))])
        picked = np.where(lapses, rng.integers(3, size=n), opposite.argmin(axis=0))
        return Comparisons.from_odd_one_out(sets, sets[np.arange(n), picked], n_objects=len(X), participants=person)
    is_first = ((a - b) ** 2).sum(axis=1) < ((a - c) ** 2).sum(axis=1)
    is_first = np.where(lapses, rng.random(n) < 0.5, is_first)
    return Comparisons.from_answers(sets, is_first, n_objects=len(X), participants=person)


def _row(kind: str, studies: list[dict[str, Any]]) -> dict[str, Any]:
    shares = np.array([one for study in studies for one in study["shares"]])
    differences = np.array([one for study in studies for one in study["differences"]])
    order = np.array([one for study in studies for one in study["order"]])

    def gained(name: str) -> list[tuple[bool, float]]:
        return [study["gains"][name] for study in studies if name in study["gains"]]

    useless = [bool(low) for name in ("copy", "unrelated") for low, _ in gained(name)]
    return {
        "answers": kind,
        "data": "chosen on" if KINDS[kind][-1] else "aside",
        "studies": len(studies),
        "share, by question": shares[:, 0].mean(),
        "share, by participant": shares[:, 1].mean(),
        "difference, by question": differences[:, 0].mean(),
        "difference, by participant": differences[:, 1].mean(),
        "differences above 0": order[:, 0].mean(),
        "of these in the wrong order": 1.0 - order[order[:, 0], 1].mean(),
        "gain reported where there is none": np.mean(useless),
        "mean gain where there is none": np.mean([gain for name in ("copy", "unrelated") for _, gain in gained(name)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="a few studies, nothing is saved")
    options = parser.parse_args()
    n_studies = 3 if options.quick else options.studies
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, kind in enumerate(KINDS):
            seeds = range(1000 * number, 1000 * number + n_studies)
            rows.append(_row(kind, list(pool.map(_study, [kind] * n_studies, seeds))))
            print(common.table(rows[-1:]))
    if not options.quick:
        print(common.save("alignment", rows))


if __name__ == "__main__":
    main()
