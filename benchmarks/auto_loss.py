"""Loss "auto", which is chosen from the answers, beside every loss by name on simulated studies.

    python -m benchmarks.auto_loss [--quick] [--studies 8]

Answers are certain or follow a law of `nearer.questions.Crowd`; "flipped" of them are then reversed, a lapse rate twice
as high. Errors are in per cent of right answers to random questions, ± a standard error over studies. Times are
processor times of one thread, next to those of `tste`, the default before. The settings of `nearer.auto_loss`
were chosen on studies like those "chosen on", with seeds below 50, and on human answers; seeds here begin at 50.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import save, table
from nearer import Comparisons, OrdinalEmbedding
from nearer.losses import loss_names
from nearer.metrics import comparison_error
from nearer.questions import Crowd

FIRST_SEED, N_TEST = 50, 4000
TIMED = ((100, 2, 20), (100, 2, 100), (100, 5, 50), (300, 2, 30), (300, 5, 50), (1000, 2, 20), (1000, 5, 50))


def clouds(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d))


def clusters(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Five clusters of unequal size."""
    which = rng.choice(5, n, p=rng.dirichlet(np.ones(5)))
    return 3.0 * rng.normal(size=(5, d))[which] + 0.4 * rng.normal(size=(n, d))


def hierarchy(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters in clusters, three each, four levels deep."""
    X, group = np.zeros((n, d)), np.zeros(n, dtype=int)
    for spread in (3.0, 1.5, 0.7, 0.3):
        group = np.unique(3 * group + rng.integers(3, size=n), return_inverse=True)[1]
        X += spread * rng.normal(size=(group.max() + 1, d))[group]
    return X


def circle(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X, angle = 0.2 * rng.normal(size=(n, d)), rng.uniform(0.0, 2.0 * np.pi, n)
    X[:, :2] += 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X


def spectrum(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Each axis half as long as the one before."""
    return rng.normal(size=(n, d)) * 2.0 ** (1.0 - np.arange(d))


@dataclass(frozen=True)
class Study:
    """Objects, dimensions, answers per object, the law of `Crowd` (none: certain), and the flipped fraction."""

    shape: Any
    n: int
    d: int
    per_object: int
    law: str = ""
    wrong: float = 0.0

    def __str__(self) -> str:
        law = f", law {self.law}" if self.law else ""
        return f"{self.shape.__name__}, {self.n} objects, {self.d}-d, {self.per_object} each{law}"

    def answers(self, seed: int) -> tuple[Comparisons, Comparisons]:
        """Answers to fit, and right answers to further random questions."""
        rng = np.random.default_rng([seed, 7])
        X, count = self.shape(self.n, self.d, rng), self.n * self.per_object
        right = Crowd(X).truth(count + N_TEST, rng)
        given, test = right[:count], right[count:]
        if self.law:
            crowd = Crowd(X, self.law, scale=3.0 if self.law == "ratio" else 1.5)
            given = given.flipped(rng.random(count) > crowd.probability(given.index))
        return given.flipped(rng.random(count) < self.wrong), test


MUST = [Study(clouds, 60, 3, 83, wrong=wrong) for wrong in (0.0, 0.05, 0.1)]
CHOSEN_ON = [
    Study(clouds, 60, 3, 20), Study(clouds, 60, 3, 20, wrong=0.1), Study(clusters, 60, 3, 40, wrong=0.05),
    Study(clouds, 80, 4, 30, "ste", 0.05), Study(clouds, 100, 2, 40, "ratio"), Study(spectrum, 100, 5, 20),
    Study(circle, 100, 2, 30, wrong=0.05), Study(hierarchy, 81, 3, 30, wrong=0.05),
]  # fmt: skip
ASIDE = [
    Study(clusters, 100, 4, 60, wrong=0.1), Study(hierarchy, 150, 2, 50), Study(circle, 60, 3, 50, "ste", 0.1),
    Study(spectrum, 120, 6, 60, wrong=0.05), Study(clouds, 150, 5, 50, "tste", 0.1), Study(clouds, 50, 2, 25, "ste"),
    Study(clusters, 200, 3, 25, "ratio", 0.05), Study(clouds, 200, 8, 40, wrong=0.05),
]  # fmt: skip


def row_of(group: str, study: Study, n_studies: int) -> dict[str, Any]:
    """Mean errors of "auto" and of each loss; the lapse rates found."""
    losses = ("auto", *loss_names())
    errors, lapses = np.empty((n_studies, len(losses))), []
    for number in range(n_studies):
        train, test = study.answers(FIRST_SEED + number)
        for place, loss in enumerate(losses):
            model = OrdinalEmbedding(study.d, loss=loss, n_jobs=1, n_objects=study.n, random_state=number).fit(train)
            errors[number, place] = 100 * comparison_error(model.embedding_, test)
            if loss == "auto":
                lapses.append(getattr(model.loss_, "lapse", 0.0))
    gain = errors[:, losses.index("tste")] - errors[:, 0]
    best = errors[:, 1:].mean(axis=0).min()
    means = dict(zip([f"{loss} %" for loss in losses], errors.mean(axis=0)))
    row = {"data": group, "study": str(study), "flipped": study.wrong, **means, "gain on tste": gain.mean()}
    row |= {"±": gain.std(ddof=1) / n_studies**0.5, "best loss - auto": best - errors[:, 0].mean()}
    near = np.abs(np.array(lapses) - 2.0 * study.wrong) <= 0.03
    return row | {"lapse rate": np.mean(lapses), "within .03": near.mean(), "studies": n_studies}


def seconds(loss: str, train: Comparisons, d: int) -> float:
    """Processor time of a fit, the better of two."""
    found = []
    for _ in range(2):
        started = time.process_time()
        OrdinalEmbedding(d, loss=loss, n_jobs=1, random_state=0).fit(train)
        found.append(time.process_time() - started)
    return min(found)


def times(sizes: tuple[tuple[int, int, int], ...]) -> list[dict[str, Any]]:
    rows = []
    for n, d, per_object in sizes:
        train, _ = Study(clouds, n, d, per_object, wrong=0.05).answers(FIRST_SEED)
        chosen, before = seconds("auto", train, d), seconds("tste", train, d)
        rows.append({"objects": n, "dimensions": d, "answers per object": per_object, "seconds": chosen,
                     "tste": before, "ratio": chosen / before})  # fmt: skip
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two studies of the first kind; nothing is saved")
    parser.add_argument("--studies", type=int, default=8)
    options = parser.parse_args(arguments)
    groups = {"must": MUST, "chosen on": CHOSEN_ON, "aside": ASIDE}
    if options.quick:
        print(table([row_of("must", MUST[2], 2)]), table(times(TIMED[:1])), sep="\n")
        return
    rows = [row_of(group, study, options.studies) for group, studies in groups.items() for study in studies]
    print(table(rows))
    print(f"written to {save('auto_loss', rows)}")
    timed = times(TIMED)
    print(table(timed))
    print(f"written to {save('auto_loss_times', timed)}")


if __name__ == "__main__":
    main()
