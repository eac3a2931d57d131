"""When to stop asking: what further answers would still change."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from nearer.data import Comparisons, as_comparisons, as_generator, check_integer
from nearer.dimensions import questions_of
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import log_ratio
from nearer.objective import resolve_jobs
from nearer.questions.pool import Pool
from nearer.questions.posterior import Odds, fit_odds
from nearer.questions.suggest import State, suggest
from nearer.selection.bootstrap import Interval, check_level
from nearer.selection.common import fit_best, quiet_threads, simulated, template

__all__ = ["Forecast", "forecast"]

_N_FOLDS = 5
_FEWEST = 50
# How much surer or less sure answers may be than they look from the map that was fitted to them; sets of answers
# simulated for each, and for the forecast; questions that a simulated accuracy is counted on.
_SHARPER = (0.2, 0.4, 0.7, 1.0, 1.5, 3.0)
_N_TRIALS, _N_SIMULATED = 3, 8
_N_QUESTIONS = 10_000
# Standard error of a simulated gain, relative to it: the map simulated from is not the true one.
_GAIN_ERROR = 0.5


@dataclass(frozen=True)
class Forecast:
    """What further answers would change.

    Attributes
    ----------
    accuracy : Interval
        Fraction of held-out answers to random questions that the map foretells.
    gain : Interval
        By how much that fraction would change with `more` answers.
    more : int
    n_random : int
        Answers that the accuracy was measured on.
    """

    accuracy: Interval
    gain: Interval
    more: int
    n_random: int

    def is_enough(self, least: float = 0.005) -> bool:
        """Whether further answers would change the accuracy by less than `least`, by the bounds of the gain.

        Parameters
        ----------
        least : float, default 0.005
            Half a percentage point.

        Returns
        -------
        bool
        """
        return self.gain.high < least and self.gain.low > -least

    def __str__(self) -> str:
        low, high = 100 * self.gain.low, 100 * self.gain.high
        largest = max(abs(low), abs(high))
        if largest < 1:
            told = f"change the held-out accuracy by less than {math.ceil(10 * largest) / 10:.1f} points"
        else:
            told = f"change the held-out accuracy by {low:+.1f} to {high:+.1f} points"
        return (
            f"another {self.more:,} answers would {told} ({self.gain.level:.0%} interval); it is "
            f"{self.accuracy.estimate:.1%} now, measured on {self.n_random:,} answers to random questions"
        )


def forecast(
    known: Any, more: int = 500, *, level: float = 0.9, n_components: int | None = None, random_state: Any = None,
    n_jobs: int | None = None,
) -> Forecast:  # fmt: skip
    """Foretell what further answers would do for the map.

    Accuracy is measured on answers to random questions alone, left out of the fit in turns. What more answers bring
    is simulated: answers to the questions asked are drawn from the map, as sure as makes the simulated accuracy equal
    to the one measured; then further questions are chosen as before, answered, and fitted.

    Parameters
    ----------
    known : OrdinalEmbedding, Comparisons or what `OrdinalEmbedding.fit` takes in memory
        The answers so far.
    more : int, default 500
    level : float, default 0.9
        Of the intervals.
    n_components : int, optional
        Dimension of the map; default that of the model, else 2.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    Forecast
    """
    more = check_integer(more, "more", 1)
    check_level(level)
    data = known.comparisons_ if hasattr(known, "comparisons_") else as_comparisons(known)
    model = known if isinstance(known, OrdinalEmbedding) else OrdinalEmbedding(2)
    base = template(model)
    if n_components is not None:
        base.set_params(n_components=check_integer(n_components, "n_components", 1))
    rng = as_generator(random_state)
    at_random = data.at_random
    rows = np.arange(len(data)) if at_random is None else np.flatnonzero(at_random)
    if len(rows) < _FEWEST:
        raise ValueError(
            f"comparisons: got {len(rows):,} answers to random questions, expected at least {_FEWEST} to measure "
            "accuracy on; ask a share of the questions at random"
        )
    jobs = resolve_jobs(n_jobs)
    X = _filled(fit_best(base, data, [], base.n_init, rng).embedding_)
    right = float(np.mean(_held_out(base, data, rows, rng, jobs)))
    error = math.sqrt(max(right * (1 - right), 0.25 / len(rows)) / len(rows))
    z = float(norm.ppf((1 + level) / 2))
    gains = _simulated_gains(base, data, X, fit_odds(X, data), right, error, more, rng, jobs)
    middle = float(np.mean(gains))
    half = z * math.sqrt(float(np.var(gains, ddof=1)) * (1 + 1 / len(gains)) + (_GAIN_ERROR * middle) ** 2)
    return Forecast(
        Interval(right, max(right - z * error, 0.0), min(right + z * error, 1.0), level),
        Interval(middle, middle - half, middle + half, level), more, len(rows),
    )  # fmt: skip


def _held_out(
    base: OrdinalEmbedding, data: Comparisons, rows: np.ndarray, rng: np.random.Generator, n_jobs: int
) -> np.ndarray:
    """Which random answers a map foretells that was fitted without the answers to their questions."""
    question = questions_of(data)
    fold = rng.permutation(int(question.max()) + 1)[question] % _N_FOLDS
    generators = rng.spawn(_N_FOLDS)

    def run(number: int) -> np.ndarray:
        test = rows[fold[rows] == number]
        train = np.ones(len(data), dtype=bool)
        train[np.isin(question, question[test])] = False
        if not len(test) or not train.any():
            return np.full(len(test), 0.5)
        X = fit_best(base, data[train], [], base.n_init, generators[number]).embedding_
        return log_ratio(_filled(X), data[test]) > 0

    return np.concatenate(quiet_threads(run, _N_FOLDS, n_jobs))


def _simulated_gains(
    base: OrdinalEmbedding, data: Comparisons, X: np.ndarray, odds: Odds, right: float, error: float, more: int,
    rng: np.random.Generator, n_jobs: int,
) -> np.ndarray:  # fmt: skip
    """Gains of accuracy by further answers, as often as studies are simulated, as if X were the truth."""
    pool = Pool(data.n_objects, np.flatnonzero(data.seen))
    asked = Comparisons(pool.draw(_N_QUESTIONS, rng), n_objects=data.n_objects)
    adaptive = data.at_random is not None and not data.at_random.all()

    def chances(sharp: Odds, questions: Comparisons) -> np.ndarray:
        return sharp.probability(sharp.margin(X, questions.index)[0])

    def accuracy(fitted: np.ndarray, sharp: Odds) -> float:
        chance = chances(sharp, asked)
        return float(np.where(log_ratio(_filled(fitted), asked) > 0, chance, 1.0 - chance).mean())

    def answered(sharp: Odds, rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
        answers = simulated(data, chances(sharp, data), rng)._with(details=None, people=None)
        return answers, fit_best(base, answers, [X], 0, rng).embedding_

    def trial(sharper: float, rng: np.random.Generator) -> float:
        sharp = replace(odds, slope=odds.slope * sharper)
        return accuracy(answered(sharp, rng)[1], sharp)

    def gain(sharper: float, rng: np.random.Generator) -> float:
        sharp = replace(odds, slope=odds.slope * sharper)
        answers, before = answered(sharp, rng)
        further = suggest(
            answers, min(more, Pool(data.n_objects, pool.objects).n_open), exclude=np.flatnonzero(~data.seen), n_jobs=1,
            strategy="auto" if adaptive else "random", state=State(before, None, len(answers)), random_state=rng,
            n_components=int(base.n_components),
        )  # fmt: skip
        questions = Comparisons(further.index, n_objects=data.n_objects)
        new = simulated(questions, chances(sharp, questions), rng)
        after = fit_best(base, _joined(answers, new), [X], 0, rng).embedding_
        return accuracy(after, sharp) - accuracy(before, sharp)

    generators = rng.spawn(len(_SHARPER) * _N_TRIALS)
    trials = quiet_threads(lambda k: trial(_SHARPER[k // _N_TRIALS], generators[k]), len(generators), n_jobs)
    levels = np.maximum.accumulate(np.reshape(trials, (-1, _N_TRIALS)).mean(axis=1))
    generators = rng.spawn(_N_SIMULATED)
    # The accuracy is known only so well: each study starts from another that it may be.
    targets = right + error * norm.ppf((np.arange(_N_SIMULATED) + 0.5) / _N_SIMULATED)
    sharper = np.exp(np.interp(targets, levels, np.log(_SHARPER)))
    return np.array(quiet_threads(lambda k: gain(float(sharper[k]), generators[k]), _N_SIMULATED, n_jobs))


def _joined(answers: Comparisons, further: Comparisons) -> Comparisons:
    if answers.kind == "quadruplets":
        further = Comparisons(further.quadruplets(), n_objects=further.n_objects)
    return answers._with(labels=None).concat([further])


def _filled(X: np.ndarray) -> np.ndarray:
    """A map whose objects without a place are put in the middle."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)
