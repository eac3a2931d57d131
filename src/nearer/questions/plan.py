"""Sample-size planning: simulated studies of growing size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import as_generator, check_fraction, check_integer
from nearer.data.messages import counted
from nearer.estimator import OrdinalEmbedding
from nearer.questions.pool import Pool
from nearer.questions.simulate import Crowd, simulate_study
from nearer.refits import quiet_map
from nearer.selection.thresholds import n_d_log_n

# Sizes of study, in units of n d log2 n answers, tried until all runs have reached the target.
_TIMES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)


@dataclass(frozen=True, eq=False)
class Plan:
    """Accuracy against the number of answers, from n_runs simulated studies of m sizes."""

    n_objects: int
    n_components: int
    wrong: float  # fraction of answers to random questions that contradict the true distances
    target: float
    n_answers: np.ndarray  # (m,)
    runs: np.ndarray  # (n_runs, m), accuracy on random questions

    @property
    def accuracy(self) -> np.ndarray:
        """Running maximum of the mean over the runs, shape (m,)."""
        return np.maximum.accumulate(self.runs.mean(axis=0))

    @property
    def needed(self) -> float:
        """Answers at which the mean accuracy reaches the target; infinite if no size does."""
        return _crossing(self.n_answers, self.accuracy, self.target)

    @property
    def range(self) -> tuple[float, float]:
        """Fewest and most answers that a run needed."""
        found = [_crossing(self.n_answers, np.maximum.accumulate(run), self.target) for run in self.runs]
        return min(found), max(found)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row per size, as `plot_learning_curve` takes it."""
        return {
            "n_comparisons": self.n_answers.tolist(),
            "accuracy": self.accuracy.tolist(),
            "low": self.runs.min(axis=0).tolist(),
            "high": self.runs.max(axis=0).tolist(),
        }

    def __str__(self) -> str:
        about = f"{self.n_objects:,} objects in {counted(self.n_components, 'dimension')}"
        goal = f"answers for a map that is right about {self.target:.0%} of all questions"
        goal += f", if {self.wrong:.0%} of the answers are wrong"
        if math.isinf(self.needed):
            most = f"{self.n_answers[-1]:,}"
            return f"{about} need more than {most} {goal}: with {most} it is right about {self.accuracy[-1]:.0%}"
        low, high = (f"{_round(value):,}" if math.isfinite(value) else "more" for value in self.range)
        runs = f"from {low} to {high} in {len(self.runs)} simulated studies"
        return f"{about} need about {_round(self.needed):,} {goal} ({runs})"


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
    """Simulate studies of growing size until their maps reach the target accuracy.

    The objects are normally distributed points, which are harder to map than most real sets of objects. Answers follow
    the law "ste" of `Crowd`, with 1 % lapses.

    Parameters
    ----------
    n_objects, n_components : int
        Number of simulated objects, and dimension of objects and map.
    wrong : float, default 0.15
        Fraction of answers to random questions that contradict the true distances; above 0.01, below 0.45.
    target : float, default 0.9
        Accuracy of the map on random questions.
    strategy, kind
        As in `suggest`.
    n_runs : int, default 5
        Simulated studies.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Parallel simulations; the result does not depend on it.
    """
    n = check_integer(n_objects, "n_objects", 4)
    d = check_integer(n_components, "n_components", 1, n - 1)
    if not 0.5 < check_fraction(target, "target") < 1:
        raise ValueError(f"target: got {target}, expected a fraction above 0.5 (guessing) and below 1")
    check_integer(n_runs, "n_runs", 2)
    rng = as_generator(random_state)
    most = Pool(n, np.arange(n), kind).n_open
    sizes = sorted({min(round(times * n_d_log_n(n, d)), most) for times in _TIMES})
    crowds = [Crowd.calibrated(one.normal(size=(n, d)) / math.sqrt(d), wrong, one) for one in rng.spawn(n_runs)]
    seeds = rng.integers(2**31, size=n_runs).tolist()
    base = OrdinalEmbedding(d, loss="tste", n_jobs=1)

    def accuracy(tried: list[int], crowd: Crowd, seed: int) -> np.ndarray:
        batch = max(tried[0] // 2, 1)
        found = simulate_study(
            crowd, tried, strategy=strategy, kind=kind, batch=batch, estimator=base, random_state=seed
        )
        return 1.0 - found.error

    for stop in range(3, len(sizes) + 3, 3):
        runs = np.array(quiet_map(accuracy, n_jobs, [sizes[:stop]] * n_runs, crowds, seeds))
        if runs[:, -1].min() >= target:
            break
    return Plan(n, d, wrong, target, np.array(sizes[:stop]), runs)


def _crossing(n: np.ndarray, accuracy: np.ndarray, target: float) -> float:
    """Where a curve reaches a target, by linear interpolation over log n."""
    above = np.flatnonzero(accuracy >= target)
    if not len(above):
        return math.inf
    at = int(above[0])
    if at == 0:
        return float(n[0])
    share = (target - accuracy[at - 1]) / (accuracy[at] - accuracy[at - 1])
    return float(n[at - 1] * (n[at] / n[at - 1]) ** share)


def _round(value: float) -> int:
    """Round to two significant digits."""
    return int(float(f"{value:.2g}"))
