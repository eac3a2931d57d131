"""Accuracy against the number of comparisons, and its extrapolation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from nearer.data import Answers, Comparisons, as_generator, check_fraction, check_integer
from nearer.data.splits import question_of_rows, questions_of
from nearer.data.validate import take
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.metrics import AnswerLaw, comparison_accuracy, fit_answer_law, log_ratio
from nearer.refits import at_random, fit_best, quiet_map, simulated, template
from nearer.selection.bootstrap import Interval, interval_of
from nearer.selection.thresholds import ENOUGH, n_d_log_n

# The loss of accuracy is proportional to the error of the positions, n ** -1/2, or, if close calls are coin tosses
# anyway, to its square; exponents above 1 allow for the end of the steep part.
_EXPONENTS = np.linspace(0.5, 1.5, 21)
_N_LAWS = 400
_TEST_SIZE = 0.2  # fraction of the questions held out
# Simulated sizes, as multiples of the present one; factors by which the slope of the answer law of the true map may
# exceed that of a fitted one; sets of answers for each; questions that an accuracy is measured on.
_AHEAD = (0.5, 1.0, 2.0, 4.0, 8.0)
_LEEWAY = (4.0, 0.5, 1.0, 1.0, 1.0)  # standard errors of the fit at these sizes, relative to each other
_SHARPER = (1.0, 1.4, 2.0, 3.0, 6.0, 20.0)
_N_SIMULATED = 3
_N_QUESTIONS = 20_000
# Standard error of the logarithm of a simulated gain: the map simulated from is not the true one.
_GAIN_ERROR = 0.35
# Quantiles of values that may be infinite cannot be interpolated.
_BOUNDS = ("lower", "nearest", "higher")


@dataclass(frozen=True)
class PowerLaw:
    """A law of learning: ``accuracy(n) = ceiling - scale * n ** -exponent``."""

    ceiling: float
    scale: float
    exponent: float

    def accuracy(self, n: ArrayLike) -> np.ndarray:
        """Return the accuracy at n comparisons, of the shape of n."""
        return self.ceiling - self.scale * np.asarray(n, dtype=float) ** -self.exponent

    def needed_for(self, accuracy: float) -> float:
        """Return the number of comparisons at which an accuracy is reached; infinite if it never is."""
        room = self.ceiling - accuracy
        if room <= 0:
            return math.inf
        with np.errstate(over="ignore"):
            return float(np.float64(self.scale / room) ** (1.0 / self.exponent))


def fit_power_law(n: np.ndarray, accuracy: np.ndarray, se: np.ndarray | None = None) -> PowerLaw:
    """Weighted least squares over ceiling <= 1, scale >= 0 and exponents from 0.5 to 1.5.

    `n` and `accuracy` are (m,) with m >= 3; `se` (m,) are the standard errors, by default all the same.
    """
    se = np.ones(len(n)) if se is None else se
    laws = []
    for exponent in _EXPONENTS.tolist():
        decay = (n / n[-1]) ** -exponent  # relative to the last size, so that both columns are of one magnitude
        columns = np.column_stack([np.ones(len(n)), decay]) / se[:, None]
        (floor, scale), residual = nnls(columns, (1.0 - accuracy) / se)
        laws.append((residual, PowerLaw(float(1.0 - floor), float(scale * n[-1] ** exponent), exponent)))
    return min(laws, key=lambda one: one[0])[1]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Accuracy on held-out answers for m training sizes.

    Predictions are medians and quantiles of the `plausible_laws`, which are simulated and agree with the accuracies
    measured. With few training answers (`early`) the steep part of the curve may be yet to come, so upper bounds are 1.
    """

    n_comparisons: np.ndarray  # int (m,)
    accuracy: np.ndarray  # (m,), mean over the repeats
    accuracy_se: np.ndarray  # (m,)
    repeats: np.ndarray  # (n_repeats, m)
    law: PowerLaw  # fitted to the means
    plausible_laws: tuple[PowerLaw, ...]
    early: bool

    def predict(self, n: int, level: float = 0.9) -> Interval:
        """Return the accuracy to expect at n comparisons."""
        n = check_integer(n, "n", 1)
        found = interval_of([float(law.accuracy(n)) for law in self.plausible_laws], level, *_BOUNDS)
        return replace(found, high=1.0) if self.early and n > self.n_comparisons[-1] else found

    def needed_for(self, accuracy: float, level: float = 0.9) -> Interval:
        """Return the comparisons needed for an accuracy in (0.5, 1), roughly; infinite if the curve levels off below.

        Take it as an order of magnitude: in `benchmarks.verdicts` it is often off by more than a factor of two.
        """
        if not 0.5 < check_fraction(accuracy, "accuracy") < 1:
            raise ValueError(f"accuracy: got {accuracy}, expected a number between 0.5 (guessing) and 1")
        found = interval_of([law.needed_for(accuracy) for law in self.plausible_laws], level, *_BOUNDS)
        return replace(found, low=min(found.low, float(self.n_comparisons[-1]))) if self.early else found

    def to_dict(self, extrapolate_to: int | None = None) -> dict[str, list[Any]]:
        """Return the columns of a table: the sizes measured, then a predicted curve up to `extrapolate_to`."""
        n = self.n_comparisons.tolist()
        table: dict[str, list[Any]] = {
            "n_comparisons": n,
            "accuracy": self.accuracy.tolist(),
            "low": (self.accuracy - self.accuracy_se).tolist(),
            "high": (self.accuracy + self.accuracy_se).tolist(),
            "extrapolated": [False] * len(n),
        }
        if extrapolate_to is not None:
            sizes = np.geomspace(n[-1], check_integer(extrapolate_to, "extrapolate_to", n[-1] + 1), 25)
            for size in np.unique(sizes.round().astype(int))[1:].tolist():
                found = self.predict(size)
                for column, value in zip(table.values(), (size, found.estimate, found.low, found.high, True)):
                    column.append(value)
        return table

    def __repr__(self) -> str:
        return (
            f"LearningCurve: {self.accuracy[-1]:.1%} at {self.n_comparisons[-1]:,} comparisons"
            f"{', too few to extrapolate' if self.early else ''}"
        )


def learning_curve(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    *,
    n_repeats: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Measure accuracy against the number of comparisons, and predict it for more.

    In every repeat all answers to a fifth of the questions are held out, and the rest is put in random order. Of the 7
    training sets, from a quarter of it to all, each contains the smaller ones. A fit starts from the map of the next
    smaller set and from `n_init` random points; the one with the lowest training objective is kept.

    The effect of more answers is simulated: answers are drawn from the map fitted to all answers, at the noise level
    that reproduces the measured accuracy, for multiples of the present number, and maps are fitted to them.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
    n_repeats : int, default 10
    random_state : int or Generator, optional
    n_jobs : int, optional
        Repeats side by side; the result does not depend on it.
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    check_integer(n_repeats, "n_repeats", 2)
    rng = as_generator(random_state)
    orders, tests = zip(*(_split(data, one) for one in rng.spawn(n_repeats)))
    n_train = min(map(len, orders))
    n = np.unique(np.geomspace(max(n_train / 4, 1), n_train, 7).round().astype(int))
    if len(n) < 3:
        raise ValueError(f"comparisons: got {n_train} to train with, too few for a curve")

    def run(order: np.ndarray, test: Comparisons, own: np.random.Generator) -> tuple[list[float], np.ndarray]:
        starts: list[np.ndarray] = []
        scores = []
        for size in n.tolist():
            X = fit_best(base, data[order[:size]], starts, base.n_init, own).embedding_
            starts = [_without_gaps(X, own)]
            scores.append(comparison_accuracy(X, test))
        return scores, log_ratio(X, test)

    scores, ratios = zip(*quiet_map(run, n_jobs, orders, tests, rng.spawn(n_repeats)))
    repeats = np.array(scores)
    mean, se = repeats.mean(axis=0), repeats.std(axis=0, ddof=1) / math.sqrt(n_repeats)
    weights = None if data.weights is None else np.concatenate([test.weights for test in tests])
    law = fit_answer_law(np.concatenate(ratios), weights)
    full = _without_gaps(fit_best(base, data, [], base.n_init, rng).embedding_, rng)
    each = data.n_answers / len(data)  # answers for a row
    n_held_out = data.n_answers * (1.0 - (1.0 - _TEST_SIZE) ** n_repeats)  # at least once
    laws = _simulated_laws(base, data, full, law, int(n[-1]), float(mean[-1]), n_held_out, rng, n_jobs)
    early = bool(each * n[-1] < ENOUGH * n_d_log_n(int(data.seen.sum()), full.shape[1]))
    return LearningCurve(n, mean, se, repeats, fit_power_law(n, mean), tuple(laws), early)


def _simulated_laws(
    base: OrdinalEmbedding, data: Comparisons, X: np.ndarray, law: AnswerLaw, n: int, accuracy: float,
    n_held_out: float, rng: np.random.Generator, n_jobs: int | None,
) -> list[PowerLaw]:  # fmt: skip
    """Power laws for answers like these about objects at X, given accuracy and answer law of maps of n answers."""
    # The law of the true map is sharper: with its slope, n simulated answers give the measured accuracy.
    draw = _questions_like(data)
    asked = draw(_N_QUESTIONS, rng)
    seen = log_ratio(X, asked)

    def curve(sharper: float, sizes: Sequence[float], rng: np.random.Generator) -> np.ndarray:
        sharp = replace(law, slope=law.slope * sharper)
        chance = sharp.probability(seen)
        found = []
        for size in sizes:
            answers = draw(max(round(size * n), 1), rng)
            answers = simulated(answers, sharp.probability(log_ratio(X, answers)), rng)
            ratio = log_ratio(fit_best(base, answers, [X], 0, rng).embedding_, asked)
            found.append(np.where(np.isnan(ratio), 0.5, np.where(ratio > 0, chance, 1.0 - chance)).mean())
        return np.array(found)

    def curves(sharper: Sequence[float], sizes: Sequence[float]) -> np.ndarray:
        each = np.repeat(sharper, _N_SIMULATED).tolist()
        found = quiet_map(lambda one, own: curve(one, sizes, own), n_jobs, each, rng.spawn(len(each)))
        return np.array(found).reshape(len(sharper), _N_SIMULATED, -1)

    present = curves(_SHARPER, (1.0,))[:, :, 0]
    # Error of the measured accuracy: from the number of held-out answers, and from the choice of training answers.
    luck = float(present.var(axis=1, ddof=1).mean())
    error = math.sqrt(max(accuracy * (1.0 - accuracy), 1e-6) / n_held_out + luck)
    now = np.maximum.accumulate(present.mean(axis=1))
    wanted = accuracy + error * np.array([-1.0, 0.0, 1.0])
    sharper = np.exp(np.interp(wanted, now, np.log(_SHARPER)))
    ahead = curves(sharper.tolist(), _AHEAD).mean(axis=1)
    low, middle, high = ahead - ahead[:, [_AHEAD.index(1.0)]]  # gains over the present accuracy
    sizes = n * np.array(_AHEAD)
    laws = []
    for level, gain in rng.normal(size=(_N_LAWS, 2)).tolist():
        slope = high - middle if level > 0 else middle - low
        drawn = accuracy + error * level + (middle + level * slope) * math.exp(_GAIN_ERROR * gain)
        laws.append(fit_power_law(sizes, np.clip(drawn, 0.0, 1.0), np.array(_LEEWAY)))
    return laws


def _questions_like(data: Comparisons) -> Callable[[int, np.random.Generator], Comparisons]:
    """Draw questions like those asked, with the same fraction of repeats; near and far are arbitrary."""
    objects = np.flatnonzero(data.seen)
    few = len(objects) < data.index.shape[1]
    repeated = 1.0 if few else 1.0 - (int(questions_of(data).max()) + 1) / len(data)

    def draw(count: int, rng: np.random.Generator) -> Comparisons:
        rows = rng.integers(len(data), size=count)
        index = data.index[rows]
        new = rng.random(count) >= repeated
        while new.any():
            index[new] = rng.choice(objects, size=(int(new.sum()), index.shape[1]))
            new = (np.diff(np.sort(index, axis=1), axis=1) == 0).any(axis=1) & new
        votes = None if data.answers.votes is None else data.votes[rows]
        answers = Answers(data.kind, count, take(data.people, rows), votes)
        return data.replaced(index=index, weights=take(data.weights, rows), answers=answers, answer=None)

    return draw


def _split(data: Comparisons, rng: np.random.Generator) -> tuple[np.ndarray, Comparisons]:
    """Training rows in random order, and the test set; rows of one answer, and answers to one question, on one side."""
    question = question_of_rows(data, 2)
    n_questions = int(question.max()) + 1
    n_test = round(_TEST_SIZE * n_questions)
    if not n_test:
        raise ValueError(f"comparisons: got answers to {n_questions} questions, too few to hold some out")
    held_out = np.isin(question, rng.choice(n_questions, n_test, replace=False))
    order = rng.permutation(np.flatnonzero(~held_out))
    if n_questions < int(questions_of(data).max()) + 1:  # keep the rows of an answer together
        _, first, place = np.unique(question[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[place], kind="stable")]
    return order, data[at_random(data, np.flatnonzero(held_out))]


def _without_gaps(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A map with random positions for the objects that have none."""
    return np.where(np.isnan(X), rng.normal(scale=np.nanstd(X), size=X.shape), X)
