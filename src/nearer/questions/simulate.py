"""Studies that never took place: people who answer questions about points, and answers that are played back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.data import Comparisons, as_comparisons, as_generator, check_fraction, check_integer, check_numbers
from nearer.dimensions import questions_of
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy
from nearer.questions.pool import Pool, check_kind
from nearer.questions.strategies import Strategy
from nearer.questions.suggest import State, suggest
from nearer.selection.common import gaps_in_the_middle

__all__ = ["LAWS", "Crowd", "Recorded", "Study", "simulate_study"]

LAWS = ("ste", "tste", "ratio")
"""How likeness falls with distance; see `Crowd`."""

_N_TEST = 5000


@dataclass(frozen=True, eq=False)
class Crowd:
    """Simulated people who see objects as points.

    "Is the head more like a or like b?": a is chosen with probability ``s(head, a) / (s(head, a) + s(head, b))``; the
    odd one out of three is the one not in the pair that is chosen in proportion to s. By `law` the likeness s of two
    objects at distance t (times `scale`) is

    - "ste": ``exp(-t ** 2)``: far things are told apart surely, near ones hardly;
    - "tste": ``(1 + t ** 2 / alpha) ** (-(alpha + 1) / 2)`` with ``alpha = max(d - 1, 1)``;
    - "ratio": ``t ** -scale``: what counts is how many times as far (the scale of the map does not).

    Parameters
    ----------
    points : array-like of float, shape (n_objects, d)
    law : {"ste", "tste", "ratio"}, default "ste"
    scale : float, default 1
        The larger, the surer the answers.
    lapse : float, default 0
        Fraction of answers given at random whatever the question.
    n_people : int, default 1
        Each answers the next question in turn.
    spread : float, default 0
        People differ: ``log s`` of each is multiplied by ``exp(spread * z)``, z standard normal.
    random_state : int or Generator, optional
        Of the people.
    """

    points: Any
    law: str = "ste"
    scale: float = 1.0
    lapse: float = 0.0
    n_people: int = 1
    spread: float = 0.0
    random_state: Any = None

    def __post_init__(self) -> None:
        X = check_numbers(self.points, "points")
        if X.ndim != 2 or len(X) < 3 or not np.isfinite(X).all():
            raise ValueError(f"points: got shape {X.shape}, expected at least 3 rows of finite coordinates")
        if self.law not in LAWS:
            raise ValueError(f"law: got {self.law!r}, expected one of {', '.join(LAWS)}")
        for name, least in (("scale", 0.0), ("spread", -math.inf)):
            if not least < float(getattr(self, name)) < math.inf:
                raise ValueError(f"{name}: got {getattr(self, name)!r}, expected a finite number above {least:g}")
        check_fraction(self.lapse, "lapse")
        count = check_integer(self.n_people, "n_people", 1)
        sharpness = np.exp(self.spread * as_generator(self.random_state).normal(size=count))
        object.__setattr__(self, "points", X)
        object.__setattr__(self, "_sharpness", sharpness)

    @property
    def n_objects(self) -> int:
        """How many objects there are."""
        return len(self.points)

    def log_likeness(self, pairs: np.ndarray) -> np.ndarray:
        """Logarithm of the likeness of pairs of objects.

        Parameters
        ----------
        pairs : ndarray of int, shape (..., 2)

        Returns
        -------
        ndarray of float64, shape (...)
        """
        squared = np.sum((self.points[pairs[..., 0]] - self.points[pairs[..., 1]]) ** 2, axis=-1)
        if self.law == "ratio":
            return -0.5 * self.scale * np.log(np.maximum(squared, np.finfo(float).tiny))
        squared = squared * self.scale**2
        if self.law == "ste":
            return -squared
        alpha = max(self.points.shape[1] - 1, 1)
        return -0.5 * (alpha + 1) * np.log1p(squared / alpha)

    def probability(self, questions: np.ndarray) -> np.ndarray:
        """Chance of the answer "a", averaged over the people.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)
            ``head, a, b``.

        Returns
        -------
        ndarray of float64, shape (m,)
        """
        logit = self.log_likeness(questions[:, :2]) - self.log_likeness(questions[:, [0, 2]])
        each = 1.0 / (1.0 + np.exp(-np.clip(logit[:, None] * self._sharpness, -700, 700)))  # type: ignore[attr-defined]
        return 0.5 * self.lapse + (1.0 - self.lapse) * each.mean(axis=1)

    def answer(self, questions: np.ndarray, kind: str, rng: np.random.Generator) -> Comparisons:
        """Answer questions.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)
        kind : {"triplets", "odd-one-out"}
        rng : Generator

        Returns
        -------
        Comparisons
            One row for each triplet, two for each odd-one-out question; with who answered.
        """
        person = np.arange(len(questions)) % self.n_people
        pairs = [[0, 1], [0, 2]] if kind == "triplets" else [[1, 2], [0, 2], [0, 1]]
        log = np.stack([self.log_likeness(questions[:, pair]) for pair in pairs], axis=1)
        log = np.where((rng.random(len(questions)) < self.lapse)[:, None], 0.0, log * self._sharpness[person, None])  # type: ignore[attr-defined]
        pick = np.argmax(log + rng.gumbel(size=log.shape), axis=1)
        if kind == "odd-one-out":
            odd = questions[np.arange(len(questions)), pick]
            return Comparisons.from_odd_one_out(questions, odd, n_objects=self.n_objects, participants=person)
        rows = np.where((pick == 0)[:, None], questions, questions[:, [0, 2, 1]])
        return Comparisons.from_triplets(rows, n_objects=self.n_objects, participants=person)

    def truth(self, count: int, rng: np.random.Generator) -> Comparisons:
        """Random questions with the answers that the points give.

        Parameters
        ----------
        count : int
        rng : Generator

        Returns
        -------
        Comparisons
        """
        return Comparisons.from_points(self.points, count, random_state=rng)


class Recorded:
    """Answers given before, played back: only questions that were asked can be asked again.

    Parameters
    ----------
    comparisons : Comparisons
        Triplets. Of several answers to one question one is drawn.
    test_size : float, default 0.2
        Fraction of the questions that accuracy is measured on, and that are not asked.
    random_state : int or Generator, optional

    Attributes
    ----------
    test, asked : Comparisons
        The answers held out, and the others.
    among : ndarray of int32, shape (q, 3)
        The questions that can be asked, each once.
    """

    def __init__(self, comparisons: Any, test_size: float = 0.2, random_state: Any = None):
        data = as_comparisons(comparisons)
        if data.kind != "triplets":
            raise ValueError(f"comparisons: got {data.kind}, expected triplets, which can be played back")
        question = questions_of(data)
        n_questions = int(question.max()) + 1
        n_test = round(check_fraction(test_size, "test_size") * n_questions)
        if not 0 < n_test < n_questions:
            raise ValueError(f"test_size: got {test_size}, which of {n_questions:,} questions leaves one side empty")
        test = np.isin(question, as_generator(random_state).permutation(n_questions)[:n_test])
        self.n_objects = data.n_objects
        self.test, self.asked = data[test], data[~test]
        self._pool = Pool(data.n_objects, np.arange(data.n_objects), among=self.asked.index)
        self.among = self._pool.among

    def answer(self, questions: np.ndarray, kind: str, rng: np.random.Generator) -> Comparisons:
        """Answer questions as they were answered.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)
        kind : {"triplets"}
        rng : Generator

        Returns
        -------
        Comparisons
        """
        missing = ~self._pool.is_open(questions)
        if missing.any():
            row = questions[int(np.argmax(missing))].tolist()
            raise ValueError(f"questions: got {row}, expected one that was recorded")
        order = rng.permutation(len(self.asked))
        known, first = np.unique(self._pool.keys(self.asked.index[order]), return_index=True)
        return self.asked[order[first[np.searchsorted(known, self._pool.keys(questions))]]]

    def truth(self, count: int, rng: np.random.Generator) -> Comparisons:
        """The answers held out.

        Parameters
        ----------
        count, rng : Any
            As in `Crowd.truth`; not used.

        Returns
        -------
        Comparisons
        """
        return self.test


@dataclass(frozen=True, eq=False)
class Study:
    """How a simulated study went.

    Attributes
    ----------
    n_answers : ndarray of int, shape (m,)
        Answers at hand when the map was measured.
    error : ndarray of float64, shape (m,)
        Fraction of random questions about the true points that the map gets wrong; of a replay, of held-out answers.
    comparisons : Comparisons
        All answers, with who gave them and how each question was chosen (``details.chosen_by``).
    """

    n_answers: np.ndarray
    error: np.ndarray
    comparisons: Comparisons


def simulate_study(
    people: Crowd | Recorded,
    checkpoints: Sequence[int],
    *,
    strategy: str | Strategy = "auto",
    batch: int | None = None,
    in_flight: int = 0,
    random_share: float = 0.2,
    kind: str = "triplets",
    estimator: OrdinalEmbedding | None = None,
    random_state: Any = None,
) -> Study:
    """Ask and answer round by round, and measure the map on the way.

    Parameters
    ----------
    people : Crowd or Recorded
        Who answers.
    checkpoints : sequence of int
        Numbers of answers at which a map is fitted from scratch to all of them and measured.
    strategy, random_share, kind
        As in `suggest`.
    batch : int, optional
        Questions in a round; default: as many as objects, at least 20.
    in_flight : int, default 0
        So many questions are always out: the answers of a round arrive that much later, in random order.
    estimator : OrdinalEmbedding, optional
        What to fit; default: 2 dimensions.
    random_state : int or Generator, optional

    Returns
    -------
    Study
    """
    check_kind(kind)
    marks = sorted({check_integer(mark, "checkpoints", 1) for mark in checkpoints})
    n = people.n_objects
    batch = max(n, 20) if batch is None else check_integer(batch, "batch", 1)
    check_integer(in_flight, "in_flight", 0)
    base = OrdinalEmbedding(2, n_jobs=1) if estimator is None else estimator
    rng = as_generator(random_state)
    test = people.truth(_N_TEST, rng)
    among = people.among if isinstance(people, Recorded) else None
    rows_each = 1 if kind == "triplets" else 2
    data: Comparisons | None = None
    waiting: list[tuple[np.ndarray, str]] = []  # questions and how they were chosen
    state: State | None = None
    found: list[tuple[int, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # objects not yet asked about, questions that come again
        while marks:
            asked = suggest(
                data, batch, strategy=strategy, random_share=random_share, objects=n, among=among, kind=kind,
                pending=np.array([row for row, _ in waiting]).reshape(-1, 3), state=state, random_state=rng,
                n_components=int(base.n_components), n_jobs=1,
            )  # fmt: skip
            state = asked.state
            waiting += list(zip(asked.index, asked.strategy.tolist()))
            arrived, waiting = waiting[: max(len(waiting) - in_flight, 0)], waiting[max(len(waiting) - in_flight, 0) :]
            if not arrived:
                continue
            rng.shuffle(waiting)
            new = people.answer(np.array([row for row, _ in arrived]), kind, rng)
            ways = np.repeat([name for _, name in arrived], rows_each)
            new = Comparisons(new.index, n, participants=new.participants, details={"chosen_by": ways})
            data = new if data is None else data.concat([new])
            while marks and len(data) >= marks[0] * rows_each:
                rows = data[: marks[0] * rows_each]
                fitted = clone(base).set_params(random_state=int(rng.integers(2**31))).fit(rows)
                error = 1.0 - comparison_accuracy(gaps_in_the_middle(fitted.embedding_), test)
                found.append((marks.pop(0), error))
    assert data is not None
    return Study(np.array([count for count, _ in found]), np.array([error for _, error in found]), data)
