"""When to stop asking: what further answers would still change."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.data import Comparisons, as_comparisons, as_generator, check_integer
from nearer.data.answers import asked_together
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import log_ratio
from nearer.objective import resolve_jobs
from nearer.selection.bootstrap import Interval, check_level
from nearer.selection.common import fit_best, gaps_in_the_middle, n_d_log_n, quiet_threads, template

__all__ = ["Forecast", "forecast"]

_N_FOLDS = 5
_N_HALVES = 2
_FEWEST = 50
# The error that more answers can remove falls as n ** -exponent.
_EXPONENTS = (0.5, 1.5)
_N_DRAWS = 4000


@dataclass(frozen=True)
class Forecast:
    """What further answers would change.

    Attributes
    ----------
    accuracy : Interval
        Fraction of held-out answers to random questions that the map foretells; a little more than was measured, on
        maps without the answers held out.
    gain : Interval
        By how much that fraction would change with `more` answers.
    more : int
    n_random : int
        Answers that the accuracy was measured on.
    early : bool
        With fewer than 2 n d log2 n answers the map may be about to form, and nothing measured so far shows how far it
        will get: the upper bound of the gain is then all that is missing.
    """

    accuracy: Interval
    gain: Interval
    more: int
    n_random: int
    early: bool = False

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
        now = f"it is {self.accuracy.estimate:.1%} now, measured on {self.n_random:,} answers to random questions"
        if self.early:
            return f"too few answers to say what another {self.more:,} would change: the map may only be forming; {now}"
        low, high = 100 * self.gain.low, 100 * self.gain.high
        largest = max(abs(low), abs(high))
        if largest < 1:
            told = f"change the held-out accuracy by less than {math.ceil(10 * largest) / 10:.1f} points"
        else:
            told = f"change the held-out accuracy by {low:+.1f} to {high:+.1f} points"
        return f"another {self.more:,} answers would {told} ({self.gain.level:.0%} interval); {now}"


def forecast(
    known: Any, more: int = 500, *, level: float = 0.9, n_components: int | None = None, random_state: Any = None,
    n_jobs: int | None = None,
) -> Forecast:  # fmt: skip
    """Foretell what further answers would do for the map.

    Accuracy is measured on answers to random questions alone, left out of the fit in turns: of maps fitted to all other
    answers, and of maps fitted to half of them. What the second half brought tells what more will bring: the error that
    answers can remove falls as n ** -g with g from 0.5 to 1.5. The interval also knows that the accuracies were
    measured on so many answers, and that other answers would have given another map.

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
    full, half = _held_out(base, data, rows, rng, resolve_jobs(n_jobs))
    right = float(full.mean())
    error = math.sqrt(max(right * (1 - right), 0.25 / len(rows)) / len(rows))
    n_objects, d = int(data.seen.sum()), int(base.n_components)
    brought = _brought(data, full, half, more, n_objects * d, rng)
    measured = right + rng.normal(0.0, error, size=_N_DRAWS)
    early = len(data) < 2 * n_d_log_n(n_objects, d)
    accuracy, gain = _interval(np.clip(measured + brought[0], 0.0, 1.0), level), _interval(brought[1], level)
    if early:
        gain = replace(gain, high=max(gain.high, 1.0 - accuracy.estimate))
    return Forecast(accuracy, gain, more, len(rows), early)


def _interval(drawn: np.ndarray, level: float) -> Interval:
    low, middle, high = np.quantile(drawn, [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
    return Interval(middle, low, high, level)


def _held_out(
    base: OrdinalEmbedding, data: Comparisons, rows: np.ndarray, rng: np.random.Generator, n_jobs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which random answers maps foretell that were made without their questions: of all others, and of halves."""
    question = asked_together(data, _N_FOLDS)
    fold = rng.permutation(int(question.max()) + 1)[question] % _N_FOLDS
    generators = rng.spawn(_N_FOLDS)

    def run(number: int) -> tuple[np.ndarray, np.ndarray]:
        test = rows[fold[rows] == number]
        others = np.flatnonzero(~np.isin(question, question[test]))
        if not len(test) or len(others) < 2:
            return np.full(len(test), 0.5), np.full(len(test), 0.5)
        own = generators[number]

        def foretold(train: np.ndarray) -> np.ndarray:
            X = fit_best(base, data[train], [], base.n_init, own).embedding_
            return log_ratio(gaps_in_the_middle(X), data[test]) > 0

        halves = [foretold(own.permutation(others)[: len(others) // 2]) for _ in range(_N_HALVES)]
        return foretold(others).astype(float), np.mean(halves, axis=0)

    found = quiet_threads(run, _N_FOLDS, n_jobs)
    return np.concatenate([full for full, _ in found]), np.concatenate([half for _, half in found])


def _brought(
    data: Comparisons, full: np.ndarray, half: np.ndarray, more: int, n_coordinates: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """What answers bring to the accuracy, drawn at random: those left out of the maps measured, and further ones."""
    n = len(data)
    trained = n * (1.0 - len(full) / n / _N_FOLDS)
    second = full - half  # what the second half did for each answer
    se = max(float(second.std(ddof=1)), 0.5 / math.sqrt(len(second))) / math.sqrt(len(second))
    g = rng.uniform(*_EXPONENTS, size=_N_DRAWS)
    # by_half = scale * ((trained / 2) ** -g - trained ** -g)
    scale = rng.normal(second.mean(), se, size=_N_DRAWS) / ((2.0**g - 1.0) * trained**-g)

    def between(first: float, last: float) -> np.ndarray:
        # Some answers turn the wrong way: those that change hang together, about as many ways as the map has
        # coordinates.
        changing = float(np.abs(second).mean()) * math.sqrt((last - first) / last)
        return scale * (first**-g - last**-g) + rng.normal(0.0, changing / math.sqrt(n_coordinates), size=_N_DRAWS)

    return between(trained, n), between(n, n + more)
