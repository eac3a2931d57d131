"""What competes: estimators of nearer with their defaults, those of cblearn, and baselines without a map."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.human.sets import HumanSet, Split
from benchmarks.rivals import Competitor
from nearer import Comparisons, OrdinalEmbedding
from nearer.data.splits import first_rows
from nearer.losses import loss_names
from nearer.metrics import comparison_distances
from nearer.metrics.comparison import filled
from nearer.people import IndividualEmbedding

Dimension = int | str | None
REFERENCE = "OrdinalEmbedding()"
OLD_DEFAULT = "tste"
_LEAST = 1e-15  # probability of an answer, so that one answer cannot make a mean infinite


@dataclass(frozen=True)
class Outcome:
    """What an entry predicts about the comparisons of a test set."""

    holds: np.ndarray  # bool (N,)
    probability: np.ndarray | None  # (N,) of each comparison as it was answered; None without a model
    seconds: float  # of processor time, for the fit
    n_components: int | None = None


@dataclass(frozen=True)
class Entry:
    """`run` takes the set, a split of it, the dimension and a seed."""

    name: str
    run: Callable[[HumanSet, Split, Any, int], Outcome]
    software: str  # "nearer", "cblearn" or "baseline"
    auto: bool = False  # whether it can choose the dimension
    needs_people: bool = False

    def dimensions(self, asked: list[Dimension]) -> list[Dimension]:
        if self.software == "baseline":
            return [None]
        return [d for d in asked if d != "auto" or self.auto]

    def lacks(self, human: HumanSet) -> str:
        """Why it cannot be used on a set; empty if it can."""
        if self.needs_people and human.answers.people is None:
            return "it needs participants"
        if self.software == "cblearn" and human.answers.kind != "triplets":
            return "it takes triplets only"
        if self.software == "cblearn" and not _are_counts(human.answers.weights):
            return "it takes no weights, and these are not numbers of votes"
        return ""


def entries_of(human: HumanSet) -> dict[str, Entry]:
    """All entries by name, with a baseline for each kind of features of the set."""
    maps = [
        Entry(REFERENCE, _nearer(OrdinalEmbedding), "nearer", auto=True),
        *(Entry(loss, _nearer(OrdinalEmbedding, loss=loss), "nearer") for loss in loss_names()),
        Entry("reliability=True", _nearer(OrdinalEmbedding, reliability=True), "nearer", needs_people=True),
        Entry("IndividualEmbedding()", _nearer(IndividualEmbedding), "nearer", needs_people=True),
        *(Entry(f"cblearn {name}", _cblearn(loss), "cblearn") for name, loss in CBLEARN.items()),
    ]
    baselines = [
        Entry("most frequent winner of the pair", functools.partial(_most_frequent, True), "baseline"),
        Entry("most frequent winner", functools.partial(_most_frequent, False), "baseline"),
        *(Entry(f"features: {name}", functools.partial(_features, name), "baseline") for name in human.features),
    ]
    return {entry.name: entry for entry in [*maps, *baselines]}


def outcome_of(entry: Entry, human: HumanSet, split: Split, d: Dimension, seed: int) -> Outcome:
    """What an entry predicts; what it loads or compiles on first use is not part of the seconds."""
    if entry.software != "baseline" and (entry.name, d) not in _warm:
        _warm.add((entry.name, d))
        rows = np.argsort(np.random.default_rng(0).random((400, 12)), axis=1)[:, :3]
        few = Comparisons(rows, participants=np.arange(400) % 2)
        entry.run(human, Split(few, few, np.arange(400), 0.0), d, 0)
    return entry.run(human, split, d, seed)


_warm: set[tuple[str, Dimension]] = set()


def measures(split: Split, outcome: Outcome) -> tuple[np.ndarray, dict[str, float | None]]:
    """Which of the m answers are satisfied, bool (m,), and figures of the entry on this test set."""
    answer, weights = first_rows(split.test)[1], split.test.weights
    right = np.bincount(answer, ~outcome.holds) == 0
    figures: dict[str, float | None] = {
        "accuracy": float(np.average(right, weights=split.weights)),
        "accuracy_by_comparison": float(np.average(outcome.holds, weights=weights)),
        "log_loss": None,
        "calibration_error": None,
    }
    if outcome.probability is not None:
        figures["log_loss"] = -float(np.average(np.log(np.maximum(outcome.probability, _LEAST)), weights=weights))
        figures["calibration_error"] = calibration_error(outcome.probability, weights)
    return right, figures


def calibration_error(probability: np.ndarray, weights: np.ndarray | None = None, n_bins: int = 10) -> float:
    """Expected calibration error, as `nearer.metrics.calibration` finds it from a map and a loss."""
    weights = np.ones(len(probability)) if weights is None else weights
    confidence = np.maximum(probability, 1.0 - probability)
    right = np.where(probability == 0.5, 0.5, probability > 0.5)
    which = np.minimum(((confidence - 0.5) * 2 * n_bins).astype(np.intp), n_bins - 1)
    return float(np.abs(np.bincount(which, weights * (right - confidence))).sum() / weights.sum())


# ---- nearer ----------------------------------------------------------------------------------------------------------


def _nearer(estimator: Callable[..., Any], **parameters: Any) -> Callable[..., Outcome]:
    def run(human: HumanSet, split: Split, d: int | str, seed: int) -> Outcome:
        model = estimator(d, n_jobs=1, random_state=seed, **parameters)
        started = time.process_time()
        model.fit(split.train)
        seconds = time.process_time() - started
        probability = model.predict_proba(split.test)[:, 1] if model.loss_.has_model else None
        return Outcome(model.predict(split.test), probability, seconds, model.embedding_.shape[1])

    return run


# ---- cblearn ---------------------------------------------------------------------------------------------------------

CBLEARN = {"SOE": "soe, 10 starts", "CKL": "ckl", "STE": "ste", "TSTE": "tste", "GNMDS": "hinge"}


def _cblearn(loss: str) -> Callable[..., Outcome]:
    """It takes no weights: a comparison with several votes is repeated."""

    def run(human: HumanSet, split: Split, d: int, seed: int) -> Outcome:
        worker, folder = _worker()
        data, train = Path(folder.name) / "train.npz", split.train
        rows = train.index if train.weights is None else np.repeat(train.index, train.weights.astype(int), axis=0)
        np.savez(data, train=rows, n_objects=train.n_objects)
        _, X = worker.fit(data, loss, d, seed)
        near, far = comparison_distances(filled(X, split.test.n_objects), split.test.replaced(labels=None))
        return Outcome(near < far, None, worker.processor_seconds, d)

    return run


@functools.cache
def _worker() -> tuple[Competitor, tempfile.TemporaryDirectory[str]]:
    """A process of cblearn, which ends with this one, and the folder of its files."""
    folder = tempfile.TemporaryDirectory(prefix="nearer-bench-")
    return Competitor("cblearn", Path(folder.name)), folder


def _are_counts(weights: np.ndarray | None) -> bool:
    return weights is None or bool((weights == np.rint(weights)).all())


# ---- baselines -------------------------------------------------------------------------------------------------------


def _most_frequent(by_pair: bool, human: HumanSet, split: Split, d: None, seed: int) -> Outcome:
    """The option that was chosen more often, against this one or against all; ties are broken at random.

    What is chosen is an object, or in a comparison of two pairs, a pair.
    """
    started = time.process_time()
    n, rng = split.train.n_objects, np.random.default_rng(seed)
    (near, far), (test_near, test_far) = _options(split.train), _options(split.test)
    weights = np.ones(len(near)) if split.train.weights is None else split.train.weights
    won, lost = (np.bincount(option, weights, minlength=n * n) for option in (near, far))
    rate = (won + 0.5) / (won + lost + 1.0) + 1e-9 * rng.random(n * n)
    margin = rate[test_near] - rate[test_far]
    if by_pair:
        said: dict[tuple[int, int], float] = {}
        for winner, loser, weight in zip(near.tolist(), far.tolist(), weights.tolist()):
            said[winner, loser] = said.get((winner, loser), 0.0) + weight
        direct = [said.get((a, b), 0.0) - said.get((b, a), 0.0) for a, b in zip(test_near.tolist(), test_far.tolist())]
        margin = np.where(np.array(direct) != 0, direct, margin)
    return Outcome(margin > 0, None, time.process_time() - started)


def _options(comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """The option called nearer and the other one, as a number below n * n: an object, or a pair of them."""
    if comparisons.kind == "triplets":
        return comparisons.index[:, 1], comparisons.index[:, 2]
    i, j, l, k = comparisons.index.T.astype(np.int64)  # noqa: E741 - the names of the convention d(i, j) < d(l, k)
    n = comparisons.n_objects
    return np.minimum(i, j) * n + np.maximum(i, j), np.minimum(l, k) * n + np.maximum(l, k)


def _features(name: str, human: HumanSet, split: Split, d: None, seed: int) -> Outcome:
    """Euclidean distances of features, which learn nothing from the answers; ties are broken at random."""
    X = human.features[name]
    jitter = 1e-6 * np.random.default_rng(seed).normal(size=(len(X), 4))
    near, far = comparison_distances(np.hstack([X, jitter]), split.test.replaced(labels=None))
    return Outcome(near < far, None, 0.0)
