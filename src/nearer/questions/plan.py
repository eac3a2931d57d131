"""How many answers a study needs, before anything is asked: many small studies that never took place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from nearer.data import as_generator, check_fraction, check_integer
from nearer.data.errors import counted
from nearer.estimator import OrdinalEmbedding
from nearer.objective import resolve_jobs
from nearer.questions.pool import Pool, check_kind
from nearer.questions.simulate import Crowd, simulate_study
from nearer.selection.common import n_d_log_n, quiet_threads

__all__ = ["Plan", "plan_study"]

# Sizes of study that are tried, in n d log2 n answers, until all runs have reached the target.
_TIMES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)
_N_QUESTIONS = 4000


@dataclass(frozen=True, eq=False)
class Plan:
    """How accurate maps become with the number of answers.

    Attributes
    ----------
    n_objects, n_components : int
    wrong : float
        Fraction of answers to random questions that are not what the true distances say.
    target : float
    strategy : str
    n_answers : ndarray of int, shape (m,)
    runs : ndarray of float64, shape (n_runs, m)
        Fraction of random questions that each run's map is right about.
    """

    n_objects: int
    n_components: int
    wrong: float
    target: float
    strategy: str
    n_answers: np.ndarray
    runs: np.ndarray

    @property
    def accuracy(self) -> np.ndarray:
        """Mean over the runs, never falling, shape (m,)."""
        return np.maximum.accumulate(self.runs.mean(axis=0))

    @property
    def needed(self) -> float:
        """Answers at which the mean accuracy reaches the target; infinite if none of the sizes tried does."""
        return _crossing(self.n_answers, self.accuracy, self.target)

    @property
    def range(self) -> tuple[float, float]:
        """Answers that the luckiest and the unluckiest run needed."""
        found = [_crossing(self.n_answers, np.maximum.accumulate(run), self.target) for run in self.runs]
        return min(found), max(found)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each size of study; as a learning curve is drawn.

        Returns
        -------
        dict of str to list
        """
        return {
            "n_comparisons": self.n_answers.tolist(),
            "accuracy": self.accuracy.tolist(),
            "low": self.runs.min(axis=0).tolist(),
            "high": self.runs.max(axis=0).tolist(),
        }

    def __str__(self) -> str:
        about = f"{self.n_objects:,} objects in {counted(self.n_components, 'dimension')}"
        noise = f"if {self.wrong:.0%} of the answers are wrong"
        if math.isinf(self.needed):
            most = f"{self.n_answers[-1]:,}"
            return (
                f"{about} need more than {most} answers for a map that is right about {self.target:.0%} of all "
                f"questions, {noise}: with {most} it is right about {self.accuracy[-1]:.0%}"
            )
        low, high = (f"{_round(value):,}" if math.isfinite(value) else "more" for value in self.range)
        return (
            f"{about} need about {_round(self.needed):,} answers for a map that is right about {self.target:.0%} of "
            f"all questions, {noise} (from {low} to {high} in {len(self.runs)} simulated studies)"
        )


def plan_study(
    n_objects: int,
    n_components: int = 2,
    *,
    wrong: float = 0.15,
    target: float = 0.9,
    strategy: str = "random",
    kind: str = "triplets",
    n_runs: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Plan:
    """Simulate studies of growing size until their maps are good enough.

    The objects are points from a normal distribution, which is harder than most real sets; close calls are answered
    wrongly most often (the law "ste" of `Crowd`), and one answer in a hundred is a slip.

    Parameters
    ----------
    n_objects : int
    n_components : int, default 2
        Of the objects and of the map.
    wrong : float, default 0.15
        Fraction of answers to random questions that are not what the true distances say; above 0.01, below 0.45.
    target : float, default 0.9
        Fraction of random questions that the map is to be right about.
    strategy : str, default "random"
        As in `suggest`.
    kind : {"triplets", "odd-one-out"}
    n_runs : int, default 5
        Simulated studies.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Studies side by side; the result does not depend on it.

    Returns
    -------
    Plan
    """
    n = check_integer(n_objects, "n_objects", 4)
    d = check_integer(n_components, "n_components", 1, n - 1)
    if not 0.01 < check_fraction(wrong, "wrong") < 0.45:
        raise ValueError(f"wrong: got {wrong}, expected a fraction above 0.01 and below 0.45")
    if not 0.5 < check_fraction(target, "target") < 1:
        raise ValueError(f"target: got {target}, expected a fraction above 0.5 (guessing) and below 1")
    check_kind(kind)
    check_integer(n_runs, "n_runs", 2)
    rng = as_generator(random_state)
    most = Pool(n, np.arange(n), kind).n_open
    sizes = sorted({min(round(times * n_d_log_n(n, d)), most) for times in _TIMES})
    crowds = [_crowd(n, d, wrong, one) for one in rng.spawn(n_runs)]
    seeds = rng.integers(2**31, size=n_runs).tolist()
    base = OrdinalEmbedding(d, n_init=2, n_jobs=1)

    def accuracy(number: int, tried: list[int]) -> np.ndarray:
        return 1.0 - simulate_study(
            crowds[number], tried, strategy=strategy, kind=kind, batch=max(tried[0] // 2, 1), estimator=base,
            random_state=seeds[number],
        ).error  # fmt: skip

    for stop in range(3, len(sizes) + 3, 3):
        run = partial(accuracy, tried=sizes[:stop])
        found = np.array(quiet_threads(run, n_runs, resolve_jobs(n_jobs)))
        if found[:, -1].min() >= target:
            break
    return Plan(n, d, wrong, target, strategy, np.array(sizes[:stop]), found)


def _crowd(n: int, d: int, wrong: float, rng: np.random.Generator) -> Crowd:
    """Points, and people who answer so many random questions about them wrongly."""
    points = rng.normal(size=(n, d)) / math.sqrt(d)
    lapse = 0.01
    questions = Crowd(points).truth(_N_QUESTIONS, rng).index

    def excess(log_scale: float) -> float:
        crowd = Crowd(points, "ste", math.exp(log_scale), lapse)
        return float(1.0 - crowd.probability(questions).mean()) - wrong

    return Crowd(points, "ste", math.exp(brentq(excess, math.log(1e-3), math.log(1e3), xtol=1e-3)), lapse)


def _crossing(n: np.ndarray, accuracy: np.ndarray, target: float) -> float:
    """Where a curve reaches a target, by a straight line over log n."""
    above = np.flatnonzero(accuracy >= target)
    if not len(above):
        return math.inf
    at = int(above[0])
    if at == 0:
        return float(n[0])
    share = (target - accuracy[at - 1]) / (accuracy[at] - accuracy[at - 1])
    return float(n[at - 1] * (n[at] / n[at - 1]) ** share)


def _round(value: float) -> int:
    """Two digits are as many as such a number has."""
    digits = max(math.floor(math.log10(value)) - 1, 0)
    return int(round(value / 10**digits) * 10**digits)
