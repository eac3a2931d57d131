"""Simulated studies, sample-size planning, stopping rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from nearer.auto_dimension import questions_of
from nearer.data import Comparisons, as_generator, check_fraction, check_integer, check_numbers
from nearer.data.coded import check_coded
from nearer.data.messages import counted
from nearer.data.splits import question_of_rows
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy, log_ratio
from nearer.metrics.neighbours import first_rows
from nearer.questions.strategies import Pool, Strategy, check_kind
from nearer.questions.suggest import State, suggest
from nearer.selection.bootstrap import Interval, check_level, interval_of
from nearer.selection.common import fit_best, gaps_in_the_middle, n_d_log_n, quiet_map, template
from nearer.sources import as_comparisons
from nearer.warning_types import ConvergenceWarning, RepeatedQuestionsWarning, UnseenObjectsWarning

__all__ = ["LAWS", "Crowd", "Forecast", "Plan", "Recorded", "Study", "forecast", "plan_study", "simulate_study"]

LAWS = ("ste", "tste", "ratio")
"""How likeness falls with distance; see `Crowd`."""

_N_TEST = 5000


@dataclass(frozen=True, eq=False)
class Crowd:
    """Simulated people who see objects as points.

    "Is the head more like a or like b?": a is chosen with probability ``s(head, a) / (s(head, a) + s(head, b))``; the
    odd one out of three is the one not in the pair that is chosen in proportion to s. By `law` the likeness s of two
    objects at distance t (times `scale`) is

    - "ste": ``exp(-t ** 2)``: far things are distinguished reliably, near ones hardly;
    - "tste": ``(1 + t ** 2 / alpha) ** (-(alpha + 1) / 2)`` with ``alpha = max(d - 1, 1)``;
    - "ratio": ``t ** -scale``: only the ratio of distances counts (the scale of the map does not).

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
        """Logarithm of the likeness (...) of pairs of objects (..., 2)."""
        squared = np.sum((self.points[pairs[..., 0]] - self.points[pairs[..., 1]]) ** 2, axis=-1)
        if self.law == "ratio":
            return -0.5 * self.scale * np.log(np.maximum(squared, np.finfo(float).tiny))
        squared = squared * self.scale**2
        if self.law == "ste":
            return -squared
        alpha = max(self.points.shape[1] - 1, 1)
        return -0.5 * (alpha + 1) * np.log1p(squared / alpha)

    def probability(self, questions: np.ndarray) -> np.ndarray:
        """Chance (m,) of the answer "a" to questions ``head, a, b`` (m, 3), averaged over the people."""
        logit = self.log_likeness(questions[:, :2]) - self.log_likeness(questions[:, [0, 2]])
        each = 1.0 / (1.0 + np.exp(-np.clip(logit[:, None] * self._sharpness, -700, 700)))  # type: ignore[attr-defined]
        return 0.5 * self.lapse + (1.0 - self.lapse) * each.mean(axis=1)

    def answer(self, questions: np.ndarray, kind: str, rng: np.random.Generator) -> Comparisons:
        """Answer questions (m, 3): one row for each triplet, two for each odd-one-out question; with who answered."""
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
        """Random questions with the answers that the points give."""
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
        """Answer questions (m, 3) as they were answered."""
        missing = ~self._pool.is_open(questions)
        if missing.any():
            row = questions[int(np.argmax(missing))].tolist()
            raise ValueError(f"questions: got {row}, expected one that was recorded")
        order = rng.permutation(len(self.asked))
        known, first = np.unique(self._pool.keys(self.asked.index[order]), return_index=True)
        return self.asked[order[first[np.searchsorted(known, self._pool.keys(questions))]]]

    def truth(self, count: int, rng: np.random.Generator) -> Comparisons:
        """The answers held out; `count` and `rng` are not used."""
        return self.test


@dataclass(frozen=True, eq=False)
class Study:
    """How a simulated study went, measured at m checkpoints."""

    n_answers: np.ndarray  # (m,), answers at hand when the map was measured
    error: np.ndarray  # (m,), fraction of random questions that the map gets wrong; of a replay, of held-out answers
    comparisons: Comparisons  # all answers, with who gave them and how each question was chosen (`answers.chosen_by`)


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
        Number of questions always out: the answers of a round arrive that much later, in random order.
    estimator : OrdinalEmbedding, optional
        What to fit; default: 2 dimensions.
    random_state : int or Generator, optional
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
        for expected in (UnseenObjectsWarning, RepeatedQuestionsWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", expected)
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
            ways = check_coded([name for _, name in arrived], len(arrived), "chosen_by", "strategy")
            new = new.replaced(n_objects=n, answers=replace(new.answers, chosen_by=ways))
            data = new if data is None else data.concat([new])
            while marks and len(data.answers) >= marks[0]:
                rows = data[: marks[0] * rows_each]
                fitted = clone(base).set_params(random_state=int(rng.integers(2**31))).fit(rows)
                error = 1.0 - comparison_accuracy(gaps_in_the_middle(fitted.embedding_), test)
                found.append((marks.pop(0), error))
    assert data is not None
    return Study(np.array([count for count, _ in found]), np.array([error for _, error in found]), data)


# Sizes of study that are tried, in n d log2 n answers, until all runs have reached the target.
_TIMES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)
_N_QUESTIONS = 4000


@dataclass(frozen=True, eq=False)
class Plan:
    """How accurate maps become with the number of answers, of n_runs simulated studies of m sizes."""

    n_objects: int
    n_components: int
    wrong: float  # fraction of answers to random questions that contradict the true distances
    target: float
    strategy: str
    n_answers: np.ndarray  # (m,)
    runs: np.ndarray  # (n_runs, m), fraction of random questions that each run's map is right about

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
        """Return the columns of a table, one row for each size of study; as a learning curve is drawn."""
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
    """Simulate studies of growing size until their maps are good enough.

    The objects are points from a normal distribution, which is harder than most real sets; close calls are answered
    wrongly most often (the law "ste" of `Crowd`), and one answer in a hundred is a slip.

    Parameters
    ----------
    n_objects, n_components : int
        Of the simulated objects; the map has the same dimension.
    wrong : float, default 0.15
        Fraction of answers to random questions that contradict the true distances; above 0.01, below 0.45.
    target : float, default 0.9
        Fraction of random questions that the map is to be right about.
    strategy, kind
        As in `suggest`.
    n_runs : int, default 5
        Simulated studies.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Studies side by side; the result does not depend on it.
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
    base = OrdinalEmbedding(d, n_jobs=1)

    def accuracy(tried: list[int], crowd: Crowd, seed: int) -> np.ndarray:
        batch = max(tried[0] // 2, 1)
        return (
            1.0
            - simulate_study(
                crowd, tried, strategy=strategy, kind=kind, batch=batch, estimator=base, random_state=seed
            ).error
        )

    for stop in range(3, len(sizes) + 3, 3):
        found = np.array(quiet_map(accuracy, n_jobs, [sizes[:stop]] * n_runs, crowds, seeds))
        if found[:, -1].min() >= target:
            break
    return Plan(n, d, wrong, target, strategy, np.array(sizes[:stop]), found)


def _crowd(n: int, d: int, wrong: float, rng: np.random.Generator) -> Crowd:
    """Points, and people who answer a fraction of random questions about them wrongly."""
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
    """To two significant digits."""
    digits = max(math.floor(math.log10(value)) - 1, 0)
    return int(round(value / 10**digits) * 10**digits)


_N_FOLDS = 5
_N_HALVES = 2
_FEWEST = 50
# The error that more answers can remove falls as n ** -exponent.
_EXPONENTS = (0.5, 1.5)
_N_DRAWS = 4000


@dataclass(frozen=True)
class Forecast:
    """Predicted effect of further answers.

    With fewer than 2 n d log2 n answers (`early`) the map may be about to form, and nothing measured so far shows how
    far it will get: the upper bound of the gain is then all that is missing.
    """

    accuracy: Interval  # on answers to random questions, of the map of all answers
    gain: Interval  # change of that accuracy with `more` answers
    more: int
    n_random: int  # answers that the accuracy was measured on
    early: bool = False

    def is_enough(self, least: float = 0.005) -> bool:
        """Whether further answers would change the accuracy by less than `least`, by the bounds of the gain."""
        return self.gain.high < least and self.gain.low > -least

    def __str__(self) -> str:
        now = f"it is {self.accuracy.estimate:.1%} now, measured on {self.n_random:,} answers to random questions"
        if self.early:
            return f"too few answers to say what another {self.more:,} would change: the map may only be forming; {now}"
        low, high = 100 * self.gain.low, 100 * self.gain.high
        largest = max(abs(low), abs(high))
        change = f"less than {math.ceil(10 * largest) / 10:.1f}" if largest < 1 else f"{low:+.1f} to {high:+.1f}"
        change = f"change the held-out accuracy by {change} points ({self.gain.level:.0%} interval)"
        return f"another {self.more:,} answers would {change}; {now}"


def forecast(
    known: Any, more: int = 500, *, level: float = 0.9, n_components: int | None = None, random_state: Any = None,
    n_jobs: int | None = None,
) -> Forecast:  # fmt: skip
    """Predict the effect of further answers on the map.

    Accuracy is measured on answers to random questions alone, left out of the fit in turns: of maps fitted to all other
    answers, and of maps fitted to half of them. The gain from the second half is extrapolated: the error that answers
    can remove falls as n ** -g with g from 0.5 to 1.5. The interval includes the sampling error of the accuracies, and
    the variation of the map with the answers.

    Parameters
    ----------
    known : OrdinalEmbedding, Comparisons or what `OrdinalEmbedding.fit` takes in memory
        The answers so far.
    more : int, default 500
        Further answers.
    level : float, default 0.9
        Of the intervals.
    n_components : int, optional
        Dimension of the map; default that of the model, else 2.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """
    more = check_integer(more, "more", 1)
    check_level(level)
    data = known.comparisons_ if hasattr(known, "comparisons_") else as_comparisons(known)
    base = template(known if isinstance(known, OrdinalEmbedding) else OrdinalEmbedding(2))
    if n_components is not None:
        base.set_params(n_components=check_integer(n_components, "n_components", 1))
    rng = as_generator(random_state)
    at_random = data.at_random
    rows = np.arange(len(data)) if at_random is None else np.flatnonzero(at_random)
    n_random = len(np.unique(first_rows(data)[1][rows]))
    if n_random < _FEWEST:
        raise ValueError(
            f"comparisons: got {n_random:,} answers to random questions, expected at least {_FEWEST} to measure "
            "accuracy on; ask a share of the questions at random"
        )
    full, half = _held_out(base, data, rows, rng, n_jobs)
    right = float(full.mean())
    error = math.sqrt(max(right * (1 - right), 0.25 / n_random) / n_random)
    n_objects, d = int(data.seen.sum()), int(base.n_components)
    brought = _brought(data, full, half, more, n_objects * d, rng)
    measured = right + rng.normal(0.0, error, size=_N_DRAWS)
    early = data.n_answers < 2 * n_d_log_n(n_objects, d)
    accuracy, gain = interval_of(np.clip(measured + brought[0], 0.0, 1.0), level), interval_of(brought[1], level)
    if early:
        gain = replace(gain, high=max(gain.high, 1.0 - accuracy.estimate))
    return Forecast(accuracy, gain, more, n_random, early)


def _held_out(
    base: OrdinalEmbedding, data: Comparisons, rows: np.ndarray, rng: np.random.Generator, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Which random answers are predicted by maps made without their questions: of all others, and of halves."""
    question, answer = question_of_rows(data, _N_FOLDS), first_rows(data)[1]
    fold = rng.permutation(int(question.max()) + 1)[question] % _N_FOLDS

    def run(number: int, own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        test = rows[fold[rows] == number]
        others = np.flatnonzero(~np.isin(question, question[test]))
        if not len(test) or len(others) < 2:
            unknown = np.full(len(np.unique(answer[test])), 0.5)
            return unknown, unknown

        def predicted(train: np.ndarray) -> np.ndarray:
            X = fit_best(base, data[train], [], base.n_init, own).embedding_
            right = (log_ratio(gaps_in_the_middle(X), data[test]) > 0).astype(float)
            if data.answer is None:
                return right
            _, place, count = np.unique(answer[test], return_inverse=True, return_counts=True)
            return np.bincount(place, weights=right) / count  # the mean over the rows of each answer

        halves = [predicted(own.permutation(others)[: len(others) // 2]) for _ in range(_N_HALVES)]
        return predicted(others), np.mean(halves, axis=0)

    full, half = zip(*quiet_map(run, n_jobs, range(_N_FOLDS), rng.spawn(_N_FOLDS)))
    return np.concatenate(full), np.concatenate(half)


def _brought(
    data: Comparisons, full: np.ndarray, half: np.ndarray, more: int, n_coordinates: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the gain in accuracy: from the answers left out of the maps measured, and from further ones."""
    n = data.n_answers
    trained = n * (1.0 - len(full) / len(first_rows(data)[0]) / _N_FOLDS)
    second = full - half  # gain from the second half, for each answer
    se = max(float(second.std(ddof=1)), 0.5 / math.sqrt(len(second))) / math.sqrt(len(second))
    g = rng.uniform(*_EXPONENTS, size=_N_DRAWS)
    # by_half = scale * ((trained / 2) ** -g - trained ** -g)
    scale = rng.normal(second.mean(), se, size=_N_DRAWS) / ((2.0**g - 1.0) * trained**-g)

    def between(first: float, last: float) -> np.ndarray:
        # Some predictions become wrong; changes are correlated, with about as many degrees of freedom as coordinates.
        changing = float(np.abs(second).mean()) * math.sqrt((last - first) / last)
        return scale * (first**-g - last**-g) + rng.normal(0.0, changing / math.sqrt(n_coordinates), size=_N_DRAWS)

    return between(trained, n), between(n, n + more)
