"""How many answers: accuracy against the number of comparisons, and where it is going."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from nearer.data import Comparisons, as_comparisons, as_generator, check_fraction, check_integer
from nearer.dimensions import questions_of
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy
from nearer.objective import resolve_jobs
from nearer.selection.bootstrap import Interval, check_level
from nearer.selection.common import fit_best, quiet_threads, template

__all__ = ["LearningCurve", "PowerLaw", "fit_power_law", "learning_curve"]

# Misplaced points cost answers in proportion to their error, n ** -1/2, or, where close calls are coin tosses anyway,
# to its square; the steeper end leaves room for what is left of the first rise.
_EXPONENTS = np.linspace(0.5, 1.5, 21)
_N_LAWS = 400


@dataclass(frozen=True)
class PowerLaw:
    """A law of learning: ``accuracy(n) = ceiling - scale * n ** -exponent``.

    Attributes
    ----------
    ceiling, scale, exponent : float
    """

    ceiling: float
    scale: float
    exponent: float

    def accuracy(self, n: ArrayLike) -> np.ndarray:
        """Return the accuracy at n comparisons.

        Parameters
        ----------
        n : array-like of float, any shape

        Returns
        -------
        ndarray of float64, of the shape of n
        """
        return self.ceiling - self.scale * np.asarray(n, dtype=float) ** -self.exponent

    def needed_for(self, accuracy: float) -> float:
        """Return the number of comparisons at which an accuracy is reached.

        Parameters
        ----------
        accuracy : float

        Returns
        -------
        float
            Infinite if it never is.
        """
        room = self.ceiling - accuracy
        if room <= 0:
            return math.inf
        with np.errstate(over="ignore"):
            return float(np.float64(self.scale / room) ** (1.0 / self.exponent))


def fit_power_law(n: np.ndarray, accuracy: np.ndarray, se: np.ndarray | None = None) -> PowerLaw:
    """Weighted least squares over ceiling <= 1, scale >= 0 and exponents from 0.5 to 1.5.

    Parameters
    ----------
    n, accuracy : ndarray of float64, shape (m,)
        With m >= 3.
    se : ndarray of float64, shape (m,), optional
        Standard errors of the accuracies; default: all the same.

    Returns
    -------
    PowerLaw
    """
    laws, misfit = _laws(n, accuracy, np.ones(len(n)) if se is None else se)
    return laws[int(np.argmin(misfit))]


def _laws(n: np.ndarray, accuracy: np.ndarray, se: np.ndarray) -> tuple[list[PowerLaw], np.ndarray]:
    """For each exponent the best law, and its sum of squared residuals in units of the standard errors."""
    laws, misfit = [], []
    for exponent in _EXPONENTS.tolist():
        decay = (n / n[-1]) ** -exponent  # relative to the last size, so that both columns are of one magnitude
        columns = np.column_stack([np.ones(len(n)), decay]) / se[:, None]
        (floor, scale), residual = nnls(columns, (1.0 - accuracy) / se)
        laws.append(PowerLaw(float(1.0 - floor), float(scale * n[-1] ** exponent), exponent))
        misfit.append(residual**2)
    return laws, np.array(misfit)


def _plausible_laws(n: np.ndarray, repeats: np.ndarray, n_answers: int, rng: np.random.Generator) -> list[PowerLaw]:
    """Laws that the repeats allow: for resampled repeats, an exponent drawn by its likelihood.

    All repeats share the same answers, so on top comes the error of an accuracy measured on so many answers.
    """
    mean = repeats.mean(axis=0)
    residuals = repeats - mean
    residuals = residuals - residuals.mean(axis=1, keepdims=True)  # the difficulty of a test set moves a whole repeat
    se = np.maximum(residuals.std(axis=0, ddof=1) / math.sqrt(len(repeats)), 1e-4)
    level_se = math.sqrt(max(float(mean[-1] * (1.0 - mean[-1])), 1e-12) / n_answers)
    chosen = []
    for _ in range(_N_LAWS):
        drawn = mean + residuals[rng.integers(len(repeats), size=len(repeats))].mean(axis=0)
        laws, misfit = _laws(n, np.minimum(drawn + level_se * rng.normal(), 1.0), se)
        likelihood = np.exp(-0.5 * (misfit - misfit.min()))
        chosen.append(laws[rng.choice(len(laws), p=likelihood / likelihood.sum())])
    return chosen


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Accuracy on held-out answers by number of training comparisons.

    Attributes
    ----------
    n_comparisons : ndarray of int, shape (m,)
    accuracy, accuracy_se : ndarray of float64, shape (m,)
        Mean over the repeats and its standard error.
    repeats : ndarray of float64, shape (n_repeats, m)
    law : PowerLaw
        Fitted to the means.
    plausible_laws : tuple of PowerLaw
        What the data allow besides; estimates beyond the data are their medians, intervals their quantiles.
    early : bool
        With fewer than about 2 n d log n training answers the curve may still be about to rise, and nothing
        measured so far shows how far: upper bounds of the accuracy are then 1.
    """

    n_comparisons: np.ndarray
    accuracy: np.ndarray
    accuracy_se: np.ndarray
    repeats: np.ndarray
    law: PowerLaw
    plausible_laws: tuple[PowerLaw, ...]
    early: bool

    def predict(self, n: int, level: float = 0.9) -> Interval:
        """Return the accuracy to expect at n comparisons.

        Parameters
        ----------
        n : int
        level : float, default 0.9

        Returns
        -------
        Interval
        """
        check_level(level)
        n = check_integer(n, "n", 1)
        found = _interval([float(law.accuracy(n)) for law in self.plausible_laws], level)
        return replace(found, high=1.0) if self.early and n > self.n_comparisons[-1] else found

    def needed_for(self, accuracy: float, level: float = 0.9) -> Interval:
        """Return the comparisons needed for an accuracy.

        Parameters
        ----------
        accuracy : float
            Between 0.5 and 1.
        level : float, default 0.9

        Returns
        -------
        Interval
            Infinite where the curve levels off below the accuracy.
        """
        check_level(level)
        if not 0.5 < check_fraction(accuracy, "accuracy") < 1:
            raise ValueError(f"accuracy: got {accuracy}, expected a number between 0.5 (guessing) and 1")
        found = _interval([law.needed_for(accuracy) for law in self.plausible_laws], level)
        return replace(found, low=min(found.low, float(self.n_comparisons[-1]))) if self.early else found

    def to_dict(self, extrapolate_to: int | None = None, level: float = 0.9) -> dict[str, list[Any]]:
        """Return the columns of a table.

        Parameters
        ----------
        extrapolate_to : int, optional
            After the sizes measured, a curve from the last of them to this one.
        level : float, default 0.9
            Of the bounds of that curve.

        Returns
        -------
        dict of str to list
        """
        n = self.n_comparisons.tolist()
        table: dict[str, list[Any]] = {
            "n_comparisons": n,
            "accuracy": self.accuracy.tolist(),
            "low": (self.accuracy - self.accuracy_se).tolist(),
            "high": (self.accuracy + self.accuracy_se).tolist(),
            "extrapolated": [False] * len(n),
        }
        if extrapolate_to is not None:
            for size in np.unique(np.geomspace(n[-1], check_integer(extrapolate_to, "extrapolate_to", n[-1] + 1), 25)
                                  .round().astype(int))[1:].tolist():  # fmt: skip
                found = self.predict(size, level)
                row = (size, found.estimate, found.low, found.high, True)
                for column, value in zip(table.values(), row):
                    column.append(value)
        return table

    def __repr__(self) -> str:
        return (
            f"LearningCurve: {self.accuracy[-1]:.1%} at {self.n_comparisons[-1]:,} comparisons"
            f"{', too few to say where it is going' if self.early else ''}"
        )


def learning_curve(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    *,
    sizes: Sequence[int] | None = None,
    test_size: float = 0.2,
    n_repeats: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Measure accuracy against the number of comparisons, and fit a power law to it.

    In every repeat a new test set is held out (all answers to a question on the same side) and the rest is put in
    random order; each size takes the first so many, so smaller training sets are part of larger ones. A fit starts from
    the map of the next smaller set, and from the estimator's `n_init` random points; the lowest training objective
    decides.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
    sizes : sequence of int, optional
        At least 3. Default: 7 sizes from a quarter of the training answers to all of them, in equal ratios. Smaller
        ones would say little about where the curve is going.
    test_size : float, default 0.2
        Fraction held out.
    n_repeats : int, default 10
    random_state : int or Generator, optional
    n_jobs : int, optional
        Repeats side by side; the result does not depend on it.

    Returns
    -------
    LearningCurve
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    check_integer(n_repeats, "n_repeats", 2)
    if not 0 < check_fraction(test_size, "test_size") < 1:
        raise ValueError(f"test_size: got {test_size}, expected a fraction between 0 and 1")
    rng = as_generator(random_state)
    splits = [_split(data, test_size, one) for one in rng.spawn(n_repeats)]
    n_train = min(len(order) for order, _ in splits)
    n = _sizes(sizes, n_train)
    generators = rng.spawn(n_repeats)

    def run(number: int) -> list[float]:
        order, test = splits[number]
        scores: list[float] = []
        X: np.ndarray | None = None
        for size in n.tolist():
            train, start_rng = data[order[:size]], generators[number]
            starts = [] if X is None else [_without_gaps(X, start_rng)]
            X = fit_best(base, train, starts, base.n_init, start_rng).embedding_
            scores.append(comparison_accuracy(X, test))
        return scores

    repeats = np.array(quiet_threads(run, n_repeats, resolve_jobs(n_jobs)))
    mean, se = repeats.mean(axis=0), repeats.std(axis=0, ddof=1) / math.sqrt(n_repeats)
    laws = _plausible_laws(n, repeats, len(data), rng)
    n_objects = int(data.seen.sum())
    early = bool(n[-1] < 2 * n_objects * base.n_components * math.log2(max(n_objects, 2)))
    return LearningCurve(n, mean, se, repeats, fit_power_law(n, mean), tuple(laws), early)


def _split(data: Comparisons, test_size: float, rng: np.random.Generator) -> tuple[np.ndarray, Comparisons]:
    """Training rows in random order, and the test set; answers to one question are on one side."""
    question = questions_of(data)
    n_questions = int(question.max()) + 1
    n_test = round(test_size * n_questions)
    if not 0 < n_test < n_questions:
        raise ValueError(f"test_size: {test_size} of {n_questions:,} different questions leaves one side empty")
    held_out = np.zeros(n_questions, dtype=bool)
    held_out[rng.choice(n_questions, n_test, replace=False)] = True
    mask = held_out[question]
    return rng.permutation(np.flatnonzero(~mask)), data[mask]


def _sizes(sizes: Sequence[int] | None, n_train: int) -> np.ndarray:
    if sizes is None:
        n = np.unique(np.geomspace(max(n_train / 4, 1), n_train, 7).round().astype(int))
    else:
        n = np.unique([check_integer(size, "sizes", 1, n_train) for size in sizes])
    if len(n) < 3:
        raise ValueError(f"sizes: got {len(n)} different sizes, expected at least 3 for a curve")
    return n


def _without_gaps(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A map with objects that have no place yet put at random."""
    return np.where(np.isnan(X), rng.normal(scale=np.nanstd(X), size=X.shape), X)


def _interval(values: list[float], level: float) -> Interval:
    """Median and quantiles; there may be infinities, between which nothing can be interpolated."""
    ordered = np.asarray(values)
    low, middle, high = (
        float(np.quantile(ordered, q, method=method))  # type: ignore[call-overload]
        for q, method in (((1 - level) / 2, "lower"), (0.5, "nearest"), ((1 + level) / 2, "higher"))
    )
    return Interval(middle, low, high, level)
