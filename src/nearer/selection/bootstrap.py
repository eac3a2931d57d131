"""How sure we are: resample the answers, fit again, and look at how far things move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import chi2, norm
from sklearn.base import clone

from nearer.data import Comparisons, as_comparisons, as_generator, check_fraction, check_integer, is_table, on_labels
from nearer.data.answers import asked_together, kept_together
from nearer.data.values import People
from nearer.estimator import OrdinalEmbedding
from nearer.losses import Loss, STELoss, TSTELoss
from nearer.metrics import (
    AnswerLaw,
    comparison_accuracy,
    comparison_distances,
    fit_answer_law,
    log_ratio,
    procrustes_align,
)
from nearer.selection.common import fit_best, fit_quietly, quiet_map, simulated, template

# Resamples whose left-out answers show how sure answers are, sets of answers simulated, questions looked at, and the
# level at which the widened bounds are exact for simulated answers.
_N_JUDGES = 10
_N_SIMULATED = 16
_MOST_ASKED = 2000
_LEVEL = 0.9
# From answers that follow the ratio of two distances to answers that follow the difference of their squares.
_MODELS: tuple[Loss, ...] = (*(TSTELoss(alpha) for alpha in (1.0, 3.0, 10.0, 30.0)), STELoss())
_LEAST = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate with bounds that hold it at a confidence level.

    Attributes
    ----------
    estimate, low, high, level : float
    """

    estimate: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.estimate:.4g} ({self.level:.0%} interval {self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, eq=False)
class NearerIntervals:
    """How sure it is that one pair is nearer than another.

    The quantity is ``log(far / near)``, the logarithm of the ratio of the two distances: positive if the near pair is
    nearer, log 2 if the far pair is twice as far apart. It does not depend on the scale, rotation or place of the map.

    Attributes
    ----------
    log_ratio : ndarray of float64, shape (m,)
        On the map fitted to all answers; NaN where an object has no place.
    low, high : ndarray of float64, shape (m,)
        Bounds: the estimate -+ as many standard errors as a normal distribution asks for at `level`. Its square is the
        variance over the resamples plus the square of the bias, times the `widening` of the bootstrap squared.
    support : ndarray of float64, shape (m,)
        Fraction of the resamples in which the near pair is nearer.
    level : float
    """

    log_ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    support: np.ndarray
    level: float

    @property
    def settled(self) -> np.ndarray:
        """What is certain at this level: 1 that the near pair is nearer, -1 that the far pair is, 0 neither.

        Returns
        -------
        ndarray of int, shape (m,)
        """
        return np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each question.

        Returns
        -------
        dict of str to list
        """
        names = ("log_ratio", "low", "high", "support", "settled")
        return {name: getattr(self, name).tolist() for name in names}


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """A map and its resamples.

    Attributes
    ----------
    embedding : ndarray of float64, shape (n_objects, n_components)
        Fitted to all answers.
    samples : ndarray of float64, shape (n_resamples, n_objects, n_components)
        Fitted to resampled answers and moved onto `embedding` by rotation, reflection, shift and scale. NaN where an
        object is in no answer of a resample.
    covariance : ndarray of float64, shape (n_objects, n_components, n_components)
        Of each object's place about the true one: over the resamples that have it, plus the outer product of its
        distance from where `likely` has it, widened like the intervals; NaN with fewer than 2 resamples.
    n_placed : ndarray of int, shape (n_objects,)
        Resamples that have a place for the object.
    accuracy_samples : ndarray of float64, shape (n_resamples,)
        Fraction of the answers left out of a resample that its map satisfies; NaN if none was left out.
    by : {"comparison", "participant"}
    labels : ndarray of str, shape (n_objects,), or None
    widening : float
        Bounds are this much wider than scatter and bias say, so that nine of ten would hold `likely` if the simulated
        fits were the map.
    likely : ndarray of float64, shape (n_objects, n_components), or None
        Resamples move about the map fitted to all answers, which may be off the truth by what the loss makes of wrong
        answers. This is a map by models that know slips, under which the answers are most likely.
    simulated : ndarray of float64, shape (m, n_objects, n_components), or None
        Fits to answers simulated from `likely`, moved onto `embedding`: where they are off `likely` on average, the
        map is taken to be off the truth. That is the bias.
    """

    embedding: np.ndarray
    samples: np.ndarray
    covariance: np.ndarray
    n_placed: np.ndarray
    accuracy_samples: np.ndarray
    by: str
    labels: np.ndarray | None
    widening: float = 1.0
    likely: np.ndarray | None = None
    simulated: np.ndarray | None = None

    def accuracy(self, level: float = 0.9) -> Interval:
        """Accuracy on answers that were not used: mean over the resamples, and quantiles of them.

        A resample holds about 63 % of the answers, so this is a little below what all of them give.

        Parameters
        ----------
        level : float, default 0.9
        """
        known = self.accuracy_samples[np.isfinite(self.accuracy_samples)]
        if not len(known):
            raise ValueError("accuracy: no resample left an answer out")
        return replace(interval_of(known, level), estimate=float(known.mean()))

    def nearer(self, questions: Any, level: float = 0.9) -> NearerIntervals:
        """Is i nearer to j than to k?

        Parameters
        ----------
        questions : array-like of int, shape (m, 3) or (m, 4), or Comparisons
            Rows i, j, k or i, j, l, k: is the distance of i and j less than that of i (or l) and k? Comparisons with
            labels are matched by label.
        level : float, default 0.9
            Of the interval for each question on its own.
        """
        check_level(level)
        single = not isinstance(questions, Comparisons) and np.ndim(questions) == 1
        rows = np.atleast_2d(questions) if single else questions
        asked = on_labels(as_comparisons(rows), self.labels, is_table(rows))
        if asked.n_objects > len(self.embedding):
            raise ValueError(f"questions: name an object beyond the {len(self.embedding):,} of the map")
        estimate = log_ratio(self.embedding, asked)
        samples = np.array([log_ratio(X, asked) for X in self.samples])
        variance, count = _variances(samples)
        bias = np.zeros(len(estimate))
        if self.likely is not None and self.simulated is not None:
            bias = _means(_off(self.likely, self.simulated, asked))[0]
        error = np.sqrt(variance + bias**2)
        half = np.where(count > 1, self.widening * float(norm.ppf((1 + level) / 2)) * error, np.nan)
        nearer = np.where(np.isfinite(samples), samples > 0, False).sum(axis=0)
        support = np.where(count > 0, nearer / np.maximum(count, 1), np.nan)
        return NearerIntervals(estimate, estimate - half, estimate + half, support, level)

    def __repr__(self) -> str:
        return f"Bootstrap: {len(self.samples):,} resamples by {self.by} of a map of {len(self.embedding):,} objects"


def bootstrap(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    *,
    n_resamples: int = 200,
    by: str = "comparison",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Bootstrap:
    """Fit the map again to answers drawn with replacement.

    Every resample starts from the map fitted to all answers, so what differs is the answers and not the start. Only if
    that map satisfies all of them do resamples start anew. How far the map itself is off the truth, because its loss
    makes something of its own of wrong answers, is simulated: answers are drawn from a map that was fitted by models
    that know slips, and the fits to them, made by the loss, are held against that map.

    In simulations 90 % intervals held the truth in 88 to 98 % of cases, whatever the noise, and 90 % regions in 88 to
    100 %, but with ste and hinge on very flat maps of three dimensions only in 82 to 84 %. They know nothing of a wrong
    dimension. See docs/trust.md.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit. If it is fitted already, its map is taken as the one of all answers; otherwise a copy is fitted,
        for which several starts (``n_init=4``) are worth their time.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
        Whole-number weights count answers, each drawn on its own; a row with any other weight is drawn as a whole.
    n_resamples : int, default 200
    by : {"comparison", "participant"}, default "comparison"
        What is drawn: single answers, or participants with all of theirs (answers of one person are seldom
        independent, so this is the safer choice where participants are known).
    random_state : int or Generator, optional
    n_jobs : int, optional
        Resamples side by side; the result does not depend on it.
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    check_integer(n_resamples, "n_resamples", 2)
    if by not in ("comparison", "participant"):
        raise ValueError(f"by: got {by!r}, expected 'comparison' or 'participant'")
    draw = _by_participant(data) if by == "participant" else _by_comparison(data)
    rng = as_generator(random_state)
    full = estimator
    if not hasattr(estimator, "embedding_"):
        full = clone(estimator)
        if full.random_state is None:
            full.set_params(random_state=int(rng.integers(2**31)))
        full.fit(data)
    data = on_labels(data, full.labels_, is_table(comparisons))
    if data.n_objects != full.n_objects_:
        raise ValueError(
            f"estimator: its map has {full.n_objects_:,} objects, the comparisons are over {data.n_objects:,}"
        )
    # From a map that satisfies all answers no fit moves away, though many other maps do as well: begin anew there.
    perfect = comparison_accuracy(full.embedding_, data) == 1.0
    starts, fresh = ([], base.n_init) if perfect else ([full.embedding_], 0)

    def run(number: int, own: np.random.Generator) -> tuple[np.ndarray, float, tuple[np.ndarray, np.ndarray] | None]:
        weights, left_out = draw(own)
        drawn = data[weights > 0]._with(weights=weights[weights > 0])
        X = fit_best(base, drawn, starts, fresh, own).embedding_
        score = comparison_accuracy(X, data[left_out]) if left_out.any() else math.nan
        return X, score, (weights, left_out) if number < _N_JUDGES else None

    maps, scores, drawn = zip(*quiet_map(run, n_jobs, range(n_resamples), rng.spawn(n_resamples)))
    samples = np.array([procrustes_align(X, full.embedding_) for X in maps])
    found = Bootstrap(full.embedding_, samples, *_covariances(samples), np.array(scores), by, full.labels_)
    likely = likely_map(full.embedding_, data, drawn[:_N_JUDGES], rng, n_jobs)
    chance = likely.chance(data)

    def simulate(own: np.random.Generator) -> np.ndarray:
        return fit_best(base, simulated(data, chance, own), starts, fresh, own).embedding_

    generators = rng.spawn(_N_SIMULATED)
    asked = data if len(data) <= _MOST_ASKED else data[rng.permutation(len(data))[:_MOST_ASKED]]
    return _widened(found, likely.embedding, quiet_map(simulate, n_jobs, generators), asked)


@dataclass(frozen=True, eq=False)
class LikelyMap:
    """A map, and how answers follow from it.

    The model of the loss says how sure answers are; the law, found from answers that maps had not seen, by how much
    less, and how often people slip.
    """

    embedding: np.ndarray
    loss: Loss
    law: AnswerLaw

    def chance(self, comparisons: Comparisons) -> np.ndarray:
        """Return the probability of each answer, float64 (N,)."""
        return self.law.probability(_log_odds(self.loss, self.embedding, comparisons))


def likely_map(
    start: np.ndarray,
    comparisons: Comparisons,
    resamples: Sequence[tuple[np.ndarray, np.ndarray]],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> LikelyMap:
    """Fit a map by models that know slips, and take the one under which the answers are most likely.

    Losses without slips in their model bend a map to make room for wrong answers: ste, for one, makes a flat map round.
    The fits begin at `start`, which is NaN for objects in no comparison. Of each resample are given the weights (N,) of
    the answers drawn, and which answers (N,) were left out: maps of the drawn ones show how sure answers are that a map
    has not seen; those that it has seen look surer than they are.
    """
    everybody = People(np.zeros(len(comparisons), np.int32), np.array(["all"], dtype=object))
    data = comparisons._with(people=everybody, details=None, labels=None)
    lowest, loss, X, no_slip = math.inf, _MODELS[0], np.nan_to_num(start), np.ones(len(data))
    point = X
    for model in _MODELS:
        forgiving = OrdinalEmbedding(start.shape[1], loss=model, reliability=True, n_jobs=n_jobs)
        fit = fit_quietly(forgiving, data, [point], 0, rng)
        assert fit.reliability_ is not None
        guesses = float(fit.reliability_.guesses[0])
        by_map = (1.0 - guesses) * model.probability(*comparison_distances(fit.embedding_, data))
        chance = np.maximum(0.5 * guesses + by_map, _LEAST)
        lost = -float(np.average(np.log(chance), weights=data.weights))
        if lost < lowest:
            lowest, loss, X, no_slip = lost, model, fit.embedding_, by_map / chance
        point = np.nan_to_num(fit.embedding_)
    base = OrdinalEmbedding(start.shape[1], loss=loss, n_jobs=1)
    own = np.ones(len(data)) if data.weights is None else data.weights

    def judge(drawn_and_left: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        weights, left_out = drawn_and_left
        drawn = data[weights > 0]._with(weights=np.maximum(weights * no_slip, _LEAST)[weights > 0])
        Y = fit_best(base, drawn, [np.nan_to_num(X)], 0, rng).embedding_
        unseen = left_out & (own > 0)
        unseen = unseen if unseen.any() else own > 0
        return _log_odds(loss, Y, data[unseen]), own[unseen]

    odds, counts = map(np.concatenate, zip(*quiet_map(judge, n_jobs, resamples, rng.spawn(len(resamples)))))
    return LikelyMap(X, loss, fit_answer_law(odds, counts))


def _log_odds(loss: Loss, X: np.ndarray, comparisons: Comparisons) -> np.ndarray:
    chance = loss.probability(*comparison_distances(X, comparisons))
    return logit(np.clip(chance, 1e-15, 1.0 - 1e-15))


def _widened(found: Bootstrap, likely: np.ndarray, maps: Sequence[np.ndarray], asked: Comparisons) -> Bootstrap:
    """Take up the bias that simulated fits show, and widen bounds that would then hold too little.

    Each fit is judged by the bias that the others show, as the map is.
    """
    fits = np.array([procrustes_align(X, found.embedding) for X in maps])
    off = _off(likely, fits, asked)
    variance, _ = _variances(np.array([log_ratio(X, asked) for X in found.samples]))
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(off) / np.sqrt(variance + _of_the_others(off) ** 2)
    intervals = _times(away, float(norm.ppf((1 + _LEVEL) / 2)))
    known = np.isfinite(found.covariance).all(axis=(1, 2)) & np.isfinite(fits).all(axis=(0, 2))
    errors = np.array([procrustes_align(likely, X) for X in fits])[:, known] - fits[:, known]
    apart = [
        np.einsum("ni,nij,nj->n", error, np.linalg.pinv(about, hermitian=True), error)
        for error, about in zip(errors, found.covariance[known] + _outer(_of_the_others(errors)))
    ]
    regions = _times(np.sqrt(np.maximum(np.array(apart), 0.0)), math.sqrt(chi2.ppf(_LEVEL, found.embedding.shape[1])))
    # Of a place more is known than how far fits are off on average: how far this map is off the likely one.
    covariance = found.covariance + _outer(procrustes_align(likely, found.embedding) - found.embedding)
    return replace(found, likely=likely, simulated=fits, widening=intervals, covariance=covariance * regions**2)


def _off(likely: np.ndarray, fits: np.ndarray, asked: Comparisons) -> np.ndarray:
    """By how much the log-ratios (m, N) of simulated fits are above those they were simulated from."""
    with np.errstate(invalid="ignore"):  # two objects in one place, on both maps
        return np.array([log_ratio(X, asked) for X in fits]) - log_ratio(likely, asked)


def _means(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the finite values of each column, 0 without any, and their number."""
    known = np.isfinite(samples)
    count = known.sum(axis=0)
    return np.where(known, samples, 0.0).sum(axis=0) / np.maximum(count, 1), count


def _variances(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance of the finite values of each column, and their number."""
    mean, count = _means(samples)
    squares = np.where(np.isfinite(samples), (samples - mean) ** 2, 0.0)
    return squares.sum(axis=0) / np.maximum(count - 1, 1), count


def _of_the_others(values: np.ndarray) -> np.ndarray:
    """For each row, the mean of the other rows."""
    return (values.sum(axis=0) - values) / (len(values) - 1)


def _outer(vectors: np.ndarray) -> np.ndarray:
    return vectors[..., :, None] * vectors[..., None, :]


def _times(away: np.ndarray, expected: float) -> float:
    """How much wider bounds have to be, at least 1; `away` in standard errors, `expected` its quantile."""
    known = away[np.isfinite(away)]
    return max(float(np.quantile(known, _LEVEL)) / expected, 1.0) if len(known) else 1.0


def _by_comparison(data: Comparisons):
    """Draws answers one by one, with all their rows; left out are those to questions that were not drawn at all."""
    question, answer = asked_together(data), kept_together(data)
    rows = np.ones(len(data)) if data.weights is None else data.weights
    own = rows[np.unique(answer, return_index=True)[1]]
    if (rows != own[answer]).any():  # rows that were merged are no longer one answer's
        own, answer = rows, np.arange(len(data))
    n, counted = len(own), data.weights is not None and bool((own == np.round(own)).all())

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if counted:
            weights = rng.multinomial(round(own.sum()), own / own.sum()).astype(float)[answer]
        else:
            weights = (own * np.bincount(rng.integers(n, size=n), minlength=n))[answer]
        asked = np.bincount(question, weights=weights) > 0
        return weights, ~asked[question]

    return draw


def _by_participant(data: Comparisons):
    """Draws participants with all their answers; left out are the answers of those who were not drawn."""
    if data.people is None:
        raise ValueError("by: got 'participant', but the comparisons do not say who answered")
    names, who = data.people.names, data.people.codes
    if len(names) < 2:
        raise ValueError("by: got 'participant', but all answers are from one participant")
    own = np.ones(len(data)) if data.weights is None else data.weights

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        return times[who] * own, times[who] == 0

    return draw


def _covariances(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariance (n, d, d) of each object over the resamples that place it, and their number (n,)."""
    mean, counts = _means(samples)
    count = counts[:, 0]  # a place is known in all coordinates or in none
    away = np.where(np.isfinite(samples), samples - mean, 0.0)
    covariance = np.einsum("bni,bnj->nij", away, away) / np.maximum(count - 1, 1)[:, None, None]
    covariance[count < 2] = np.nan
    return covariance, count


def interval_of(values: Any, level: float, *methods: str) -> Interval:
    """Median and quantiles; where there are infinities, methods of `np.quantile` that do not interpolate."""
    check_level(level)
    low, middle, high = (
        float(np.quantile(values, q, method=method))  # type: ignore[call-overload]
        for q, method in zip(((1 - level) / 2, 0.5, (1 + level) / 2), methods or ("linear",) * 3)
    )
    return Interval(middle, low, high, level)


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0 < check_fraction(level, "level") < 1:
        raise ValueError(f"level: got {level}, expected a number between 0 and 1")
