"""How often intervals about models are right, and how often a useless transform is said to gain.

    python -m benchmarks.alignment [--studies 200] [--jobs 2] [--quick] [--only "odd"]

Each study has a true configuration, answers to random questions by simulated participants, and six models: a rotated
copy of the truth, a noisy one, a very noisy one, and three unrelated ones: a few features, 60, and classes. Intervals
by question are to hold the accuracy on other questions to the same participants, those by participant that on questions
to others; both are measured on 40 times as many answers. A transform has nothing to gain where the features are a
rotated copy or unrelated. Kinds marked "aside" were not looked at while the
method was written.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import common
from nearer import Comparisons
from nearer.alignment import align


@dataclass(frozen=True)
class Kind:
    """How the answers of a study come about."""

    ask: str  # triplets, odd-one-out, quadruplets, rankings (the two nearest of five)
    n: int  # objects
    d: int
    answers: int
    people: int
    lapse: float  # mean share of random answers; participants differ
    chosen_on: bool = False
    clusters: int = 0  # of objects; 0: a Gaussian cloud
    certain: bool = True  # False: answers by the law of ste
    unequal: bool = False  # some participants answer many times more than others
    questions: int = 0  # different ones; 0: any


KINDS = {
    "triplets, 40 objects": Kind("triplets", 40, 3, 1500, 20, 0.1, chosen_on=True),
    "odd one out, 30 objects": Kind("odd-one-out", 30, 5, 1200, 12, 0.2),
    "triplets, few participants": Kind("triplets", 50, 4, 2500, 6, 0.1),
    "triplets, unequal participants": Kind("triplets", 40, 3, 1500, 15, 0.2, unequal=True),
    "triplets, clusters, ste": Kind("triplets", 60, 2, 2000, 20, 0.1, clusters=5, certain=False),
    "odd one out, 12 objects": Kind("odd-one-out", 12, 3, 500, 10, 0.1, certain=False),
    "quadruplets, ste, unequal": Kind("quadruplets", 30, 3, 1000, 12, 0.1, certain=False, unequal=True),
    "rankings": Kind("rankings", 30, 3, 500, 10, 0.1, certain=False),
    "triplets, 60 questions": Kind("triplets", 25, 3, 900, 15, 0.1, certain=False, questions=60),
    "odd one out, 120 answers": Kind("odd-one-out", 20, 3, 120, 5, 0.1, certain=False),
}
NOISE = {"copy": 0.0, "noisy": 0.5, "very noisy": 1.0}
USELESS = ("copy", "unrelated", "unrelated, wide", "unrelated classes")


def _study(name: str, seed: int) -> dict[str, Any]:
    kind = KINDS[name]
    n, d = kind.n, kind.d
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind.clusters:
        X = 2.0 * rng.normal(size=(kind.clusters, d))[rng.integers(kind.clusters, size=n)] + 0.5 * X
    models = {name: X + noise * rng.normal(size=X.shape) for name, noise in NOISE.items()}
    models = {name: values @ np.linalg.qr(rng.normal(size=(d, d)))[0] for name, values in models.items()}
    models |= {"unrelated": rng.normal(size=(n, 2 * d)), "unrelated, wide": rng.normal(size=(n, 60))}
    models["unrelated classes"] = np.eye(5)[rng.integers(5, size=n)]
    rates = kind.lapse * rng.exponential(size=1000).clip(max=5.0)  # participants differ in care
    often = rng.lognormal(sigma=1.0, size=1000) if kind.unequal else np.ones(1000)
    own, others = slice(None, kind.people), slice(kind.people, None)
    asked = _sets(kind, kind.questions, rng) if kind.questions else None
    answers = _answers(kind, X, kind.answers, rates[own], often[own], rng, asked)
    found = align(answers, models, "euclidean", transform=True, best_map=None)
    true = {}
    for by, some, same in (("question", own, None), ("participant", others, asked)):
        more = _answers(kind, X, 40 * kind.answers, rates[some], often[some], rng, same)
        true[by] = {one.name: one.accuracy for one in align(more, models, "euclidean", best_map=None).scores}
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


def _sets(kind: Kind, n: int, rng: np.random.Generator) -> np.ndarray:
    """Random questions: the objects shown."""
    shown = {"quadruplets": 4, "rankings": 6}.get(kind.ask, 3)
    return np.argpartition(rng.random((n, kind.n)), shown, axis=1)[:, :shown]


def _answers(
    kind: Kind, X: np.ndarray, n: int, rates: np.ndarray, often: np.ndarray, rng: np.random.Generator,
    asked: np.ndarray | None,
) -> Comparisons:  # fmt: skip
    """Answers of participants who answer at random at these rates, each as often as said, to questions `asked`."""
    sets = _sets(kind, n, rng) if asked is None else asked[rng.integers(len(asked), size=n)]
    person = np.arange(n) % len(rates)
    if kind.unequal:
        person = rng.choice(len(rates), size=n, p=often / often.sum())
    lapses = rng.random(n) < rates[person]

    def near(a: int, b: int) -> np.ndarray:
        """How near two of the objects shown seem: the largest of several is chosen by the law of ste."""
        exact = -((X[sets[:, a]] - X[sets[:, b]]) ** 2).sum(axis=1)
        noise = 0.0 if kind.certain else rng.gumbel(size=n)
        return np.where(lapses, rng.random(n), exact + noise)

    about = {"n_objects": len(X), "participants": person}
    if kind.ask == "odd-one-out":
        picked = np.argmax([near(1, 2), near(0, 2), near(0, 1)], axis=0)
        return Comparisons.from_odd_one_out(sets, sets[np.arange(n), picked], **about)
    if kind.ask == "quadruplets":
        return Comparisons.from_answers(sets, near(0, 1) > near(2, 3), **about)
    if kind.ask == "rankings":
        order = np.argsort([-near(0, other) for other in range(1, 6)], axis=0).T
        return Comparisons.from_rankings(sets[:, 0], np.take_along_axis(sets[:, 1:], order, axis=1), k=2, **about)
    return Comparisons.from_answers(sets, near(0, 1) > near(0, 2), **about)


def _row(kind: str, studies: list[dict[str, Any]]) -> dict[str, Any]:
    shares = np.array([one for study in studies for one in study["shares"]])
    differences = np.array([one for study in studies for one in study["differences"]])
    order = np.array([one for study in studies for one in study["order"]])

    def gained(name: str) -> list[tuple[bool, float]]:
        return [study["gains"][name] for study in studies if name in study["gains"]]

    useless = [bool(low) for name in USELESS for low, _ in gained(name)]
    return {
        "answers": kind,
        "data": "chosen on" if KINDS[kind].chosen_on else "aside",
        "studies": len(studies),
        "share, by question": shares[:, 0].mean(),
        "share, by participant": shares[:, 1].mean(),
        "difference, by question": differences[:, 0].mean(),
        "difference, by participant": differences[:, 1].mean(),
        "differences above 0": order[:, 0].mean(),
        "of these in the wrong order": 1.0 - order[order[:, 0], 1].mean(),
        "gain reported where there is none": np.mean(useless),
        "mean gain where there is none": np.mean([gain for name in USELESS for _, gain in gained(name)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="a few studies, nothing is saved")
    parser.add_argument("--only", default="", help="kinds whose name contains this; nothing is saved")
    options = parser.parse_args()
    n_studies = 3 if options.quick else options.studies
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, kind in enumerate(KINDS):
            if options.only not in kind:
                continue
            seeds = range(1000 * number, 1000 * number + n_studies)
            rows.append(_row(kind, list(pool.map(_study, [kind] * n_studies, seeds))))
            print(common.table(rows[-1:]))
    if not options.quick and not options.only:
        print(common.save("alignment", rows))


if __name__ == "__main__":
    main()
