"""Simulated studies of people who answer by a law."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from nearer.data import Comparisons, as_generator, check_fraction, check_integer, check_numbers
from nearer.data.coded import check_coded
from nearer.data.validate import check_number
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy
from nearer.metrics.answer_law import DistanceLaw
from nearer.questions.strategies import Strategy
from nearer.questions.suggest import suggest
from nearer.refits import gaps_in_the_middle
from nearer.warning_types import ConvergenceWarning, InputWarning, UnseenObjectsWarning

_LAWS = ("ste", "tste", "ratio")
_N_TEST = 5000
_N_CALIBRATION = 4000


class Crowd:
    """Simulated participants who perceive objects as points.

    To "is the head more like a or like b?" they answer a with probability ``s(head, a) / (s(head, a) + s(head, b))``.
    Of three objects, the pair that belongs together is chosen with probability proportional to s; the third is the odd
    one out. The similarity s of two objects at distance t (times `scale`) depends on `law`:

    - "ste": ``exp(-t ** 2)``;
    - "tste": ``(1 + t ** 2 / alpha) ** (-(alpha + 1) / 2)`` with ``alpha = max(d - 1, 1)``;
    - "ratio": ``t ** -scale``: only ratios of distances matter.

    Parameters
    ----------
    points : array-like of float, shape (n_objects, d)
    law : {"ste", "tste", "ratio"}, default "ste"
    scale : float, default 1
        Larger values make answers more certain.
    lapse : float, default 0
        Fraction of answers given at random.
    n_people : int, default 1
        They take turns in answering.
    spread : float, default 0
        Individual differences: ``log s`` of each person is multiplied by ``exp(spread * z)``, z standard normal.
    random_state : int or Generator, optional
        Draws the individual differences.
    """

    def __init__(
        self,
        points: Any,
        law: str = "ste",
        scale: float = 1.0,
        lapse: float = 0.0,
        n_people: int = 1,
        spread: float = 0.0,
        random_state: Any = None,
    ):
        self.points = X = check_numbers(points, "points")
        if X.ndim != 2 or len(X) < 3 or not np.isfinite(X).all():
            raise ValueError(f"points: got shape {X.shape}, expected at least 3 rows of finite coordinates")
        if law not in _LAWS:
            raise ValueError(f"law: got {law!r}, expected one of {', '.join(_LAWS)}")
        check_number(scale, "scale")
        self.n_objects = len(X)
        self.lapse = check_fraction(lapse, "lapse")
        self.n_people = check_integer(n_people, "n_people", 1)
        self._sharpness = np.exp(spread * as_generator(random_state).normal(size=n_people))
        alpha = max(X.shape[1] - 1, 1)
        power, offset, slope = {
            "ste": (1.0, 0.0, scale**2),
            "tste": (0.0, alpha / scale**2, 0.5 * (alpha + 1)),
            "ratio": (0.0, np.finfo(float).tiny, 0.5 * scale),
        }[law]
        self._distance_law = DistanceLaw(power, offset, slope, 0.5 * lapse)

    @classmethod
    def calibrated(cls, points: np.ndarray, wrong: float, rng: np.random.Generator) -> Crowd:
        """People of the law "ste" with 1 % lapses who answer a fraction `wrong` of random questions wrongly."""
        if not 0.01 < check_fraction(wrong, "wrong") < 0.45:
            raise ValueError(f"wrong: got {wrong}, expected a fraction above 0.01 and below 0.45")
        lapse = 0.01
        questions = cls(points).truth(_N_CALIBRATION, rng).index

        def excess(log_scale: float) -> float:
            crowd = cls(points, "ste", math.exp(log_scale), lapse)
            return float(1.0 - crowd.probability(questions).mean()) - wrong

        return cls(points, "ste", math.exp(brentq(excess, math.log(1e-3), math.log(1e3), xtol=1e-3)), lapse)

    def log_likeness(self, pairs: np.ndarray) -> np.ndarray:
        """Logarithm of the similarity (...) of pairs of objects (..., 2), up to a constant."""
        squared = np.sum((self.points[pairs[..., 0]] - self.points[pairs[..., 1]]) ** 2, axis=-1)
        return self._distance_law.likeness(squared)

    def probability(self, questions: np.ndarray) -> np.ndarray:
        """Probability (m,) of the answer "a" to questions ``head, a, b`` (m, 3), averaged over the people."""
        logit = self.log_likeness(questions[:, :2]) - self.log_likeness(questions[:, [0, 2]])
        return self._distance_law.probability(logit[:, None] * self._sharpness).mean(axis=1)

    def answer(self, questions: np.ndarray, kind: str, rng: np.random.Generator) -> Comparisons:
        """Answers to questions (m, 3) with their participants: one row per triplet, two per odd-one-out question."""
        person = np.arange(len(questions)) % self.n_people
        pairs = [[0, 1], [0, 2]] if kind == "triplets" else [[1, 2], [0, 2], [0, 1]]
        log = np.stack([self.log_likeness(questions[:, pair]) for pair in pairs], axis=1)
        log = np.where((rng.random(len(questions)) < self.lapse)[:, None], 0.0, log * self._sharpness[person, None])
        pick = np.argmax(log + rng.gumbel(size=log.shape), axis=1)
        if kind == "odd-one-out":
            odd = questions[np.arange(len(questions)), pick]
            return Comparisons.from_odd_one_out(questions, odd, n_objects=self.n_objects, participants=person)
        rows = np.where((pick == 0)[:, None], questions, questions[:, [0, 2, 1]])
        return Comparisons.from_triplets(rows, n_objects=self.n_objects, participants=person)

    def truth(self, count: int, rng: np.random.Generator) -> Comparisons:
        """Random questions answered by the true distances."""
        return Comparisons.from_points(self.points, count, random_state=rng)


@dataclass(frozen=True, eq=False)
class SimulatedStudy:
    """Accuracy of a simulated study at m checkpoints."""

    n_answers: np.ndarray  # (m,), answers that the map was fitted to
    error: np.ndarray  # (m,), fraction of random questions that the map gets wrong
    comparisons: Comparisons  # all answers, with participants and strategies (`answers.chosen_by`)


def simulate_study(
    people: Crowd,
    checkpoints: Sequence[int],
    *,
    strategy: str | Strategy = "auto",
    batch: int | None = None,
    in_flight: int = 0,
    random_share: float = 0.2,
    kind: str = "triplets",
    estimator: OrdinalEmbedding | None = None,
    random_state: Any = None,
) -> SimulatedStudy:
    """Simulate a study round by round, and measure the accuracy of its map.

    Parameters
    ----------
    people : Crowd
        The participants.
    checkpoints : sequence of int
        Numbers of answers at which a map is fitted from scratch and measured.
    strategy, random_share, kind
        As in `suggest`.
    batch : int, optional
        Questions per round; default: the number of objects, at least 20.
    in_flight : int, default 0
        Number of questions always waiting for an answer; answers arrive that much later, in random order.
    estimator : OrdinalEmbedding, optional
        The model to fit; default: 2 dimensions.
    random_state : int or Generator, optional
    """
    marks = sorted({check_integer(mark, "checkpoints", 1) for mark in checkpoints})
    n = people.n_objects
    batch = max(n, 20) if batch is None else check_integer(batch, "batch", 1)
    check_integer(in_flight, "in_flight", 0)
    base = OrdinalEmbedding(2, loss="tste", n_jobs=1) if estimator is None else estimator
    rng = as_generator(random_state)
    test = people.truth(_N_TEST, rng)
    rows_each = 1 if kind == "triplets" else 2
    data: Comparisons | None = None
    waiting: list[tuple[np.ndarray, str]] = []  # questions and how they were chosen
    found: list[tuple[int, float]] = []
    with warnings.catch_warnings():
        for expected in (UnseenObjectsWarning, InputWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", expected)
        while marks:
            asked = suggest(
                data, batch, strategy=strategy, random_share=random_share, objects=n, kind=kind,
                pending=np.array([row for row, _ in waiting]).reshape(-1, 3), random_state=rng,
                n_components=int(base.n_components), n_jobs=1,
            )  # fmt: skip
            waiting += list(zip(asked.index, asked.strategy.tolist()))
            arrived, waiting = waiting[: max(len(waiting) - in_flight, 0)], waiting[max(len(waiting) - in_flight, 0) :]
            if not arrived:
                continue
            rng.shuffle(waiting)
            new = people.answer(np.array([row for row, _ in arrived]), kind, rng)
            ways = check_coded([name for _, name in arrived], len(arrived), "chosen_by", "strategy")
            new = new.replaced(n_objects=n, answers=replace(new.answers, chosen_by=ways))
            data = new if data is None else data.concat([new])
            while marks and len(data.answers) >= marks[0]:
                rows = data[: marks[0] * rows_each]
                fitted = clone(base).set_params(random_state=int(rng.integers(2**31))).fit(rows)
                error = 1.0 - comparison_accuracy(gaps_in_the_middle(fitted.embedding_), test)
                found.append((marks.pop(0), error))
    assert data is not None
    return SimulatedStudy(np.array([count for count, _ in found]), np.array([error for _, error in found]), data)
