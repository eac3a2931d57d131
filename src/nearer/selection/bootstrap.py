"""Bootstrap: resample the answers, fit again, and measure the variation of the map."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, norm, t
from sklearn.base import clone

from nearer.data import Answers, Comparisons, as_generator, check_fraction, check_integer
from nearer.data.coded import Coded
from nearer.data.splits import first_rows, question_of_rows
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.io.frames import is_table
from nearer.losses import Loss, STELoss, TSTELoss
from nearer.metrics import (
    answer_accuracy,
    comparison_distances,
    fit_answer_law,
    log_ratio,
    procrustes_align,
)
from nearer.metrics.answer_law import log_odds
from nearer.metrics.by_answer import answer_weights, sampling_error, satisfied_answers
from nearer.metrics.comparison import on_labels
from nearer.notebook import html_table
from nearer.refits import fit_best, fit_quietly, quiet_map, simulated, template
from nearer.selection.thresholds import GAIN_OF_ALL, REACH, WEIGHT_OF_TRAINING

# Resamples whose left-out answers give the answer law; sets of simulated answers; maximum number of questions used to
# widen the intervals; level at which the widened intervals are exact for simulated answers.
_N_JUDGES = 10
_N_SIMULATED = 16
_MOST_ASKED = 2000
_LEVEL = 0.9
# Candidates for the likely map: from models of the ratio of two distances to that of the difference of their squares.
_MODELS: tuple[Loss, ...] = (*(TSTELoss(alpha) for alpha in (1.0, 3.0, 10.0, 30.0)), STELoss())
_LEAST = 1e-12

# The weights (N,) of the answers drawn, and a mask (N,) of those left out.
Resample = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.estimate:.4g} ({self.level:.0%} interval {self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, eq=False)
class NearerIntervals:
    """Confidence intervals of ``log(far / near)``, the log ratio of two distances, for m questions.

    Positive if the near pair is nearer, log 2 if the far pair is twice as far apart. The interval is normal; its
    squared standard error is the variance over the resamples plus the squared bias, times the squared `widening`.
    Where it reaches beyond log 3 (one distance is three times the other), it is open on that side: if some
    answers are wrong, they hardly show how much farther the farther pair is.
    """

    log_ratio: np.ndarray  # (m,), on the map fitted to all answers; NaN where an object has no position
    low: np.ndarray  # (m,), as are the others; -inf beyond -log 3
    high: np.ndarray  # inf beyond log 3
    support: np.ndarray  # fraction of the resamples in which the near pair is nearer
    level: float

    @property
    def settled(self) -> np.ndarray:
        """Which pair is nearer, if certain at this level, int (m,): 1 the near pair, -1 the far pair, 0 not certain."""
        return np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """A map and its resamples.

    Resamples scatter about the map fitted to all answers, which is biased, since the loss does not model wrong
    answers. `likely` is the maximum-likelihood map of models with lapses, and `simulated` are fits to answers drawn
    from it; the bias is the mean of `simulated` minus `likely`. `covariance` includes the bias, and by how much these
    models differ, since answers hardly determine where clusters lie or how flat a map is. `widening` is chosen so that
    90 % of the intervals about the simulated fits contain `likely`.
    """

    embedding: np.ndarray  # (n_objects, n_components), fitted to all answers
    samples: np.ndarray  # (n_resamples, n_objects, n_components), aligned with `embedding`; NaN where not placed
    covariance: np.ndarray  # (n_objects, n_components, n_components); NaN with fewer than 2 resamples
    training_accuracy: float  # of `embedding`, on the answers it was fitted to
    left_out_accuracy: float  # of resamples, on the answers that each leaves out; NaN if too few are ever left out
    accuracy_se: float  # standard error of `accuracy`, for other questions or other participants
    by: str  # "comparison" or "participant"
    n_units: int  # fraction of what is drawn
    labels: np.ndarray | None  # (n_objects,)
    widening: float
    likely: np.ndarray  # (n_objects, n_components)
    simulated: np.ndarray  # (m, n_objects, n_components), aligned with `embedding`

    @property
    def tested(self) -> bool:
        """Whether resamples left out answers whose objects they place, so that `accuracy` is known."""
        return math.isfinite(self.left_out_accuracy)

    def accuracy(self, level: float = 0.9) -> Interval:
        """Accuracy of the map on new answers, by the .632 rule (Efron, 1983).

        A resample holds about 63 % of the answers, so its accuracy on those left out is too low. The estimate is 63.2 %
        of that and 36.8 % of the training accuracy. The interval is for other questions, or for other participants if
        these were drawn; it allows for what such a correction may miss.
        """
        if not self.tested:
            raise ValueError("accuracy: nearly all resamples contain all answers, so too few are left to test on")
        check_fraction(level, "level")
        gap = self.training_accuracy - self.left_out_accuracy
        new = self.training_accuracy - (1.0 - WEIGHT_OF_TRAINING) * gap
        sampling = float(t.ppf((1 + level) / 2, self.n_units - 1)) * self.accuracy_se
        half = math.hypot(sampling, float(norm.ppf((1 + level) / 2)) * GAIN_OF_ALL * gap)
        return Interval(new, max(new - half, 0.0), min(new + half, 1.0), level)

    def nearer(self, questions: Any, level: float = 0.9) -> NearerIntervals:
        """Is i nearer to j than to k?

        Questions are rows i, j, k or i, j, l, k, int (m, 3) or (m, 4), or comparisons, matched by label: is the
        distance of i and j less than that of i (or l) and k? Each has its own interval of confidence `level`.
        """
        check_fraction(level, "level")
        asked = on_labels(as_comparisons(questions), self.labels, is_table(questions))
        if asked.n_objects > len(self.embedding):
            raise ValueError(f"questions: name an object beyond the {len(self.embedding):,} of the map")
        estimate = log_ratio(self.embedding, asked)
        samples = _log_ratios(self.samples, asked)
        bias = _off(self.likely, self.simulated, asked).mean(axis=0).filled(0.0)
        error = np.sqrt(samples.var(axis=0, ddof=1).filled(0.0) + bias**2)
        half = self.widening * float(norm.ppf((1 + level) / 2)) * error
        half[samples.count(axis=0) < 2] = np.nan
        support = (samples > 0).mean(axis=0).filled(np.nan)
        low, high = estimate - half, estimate + half
        low, high = np.where(low < -REACH, -np.inf, low), np.where(high > REACH, np.inf, high)
        return NearerIntervals(estimate, low, high, support, level)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each object: its coordinates and their standard errors."""
        table = {"object": list(range(len(self.embedding))) if self.labels is None else self.labels.tolist()}
        errors = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        for axis, (column, error) in enumerate(zip(self.embedding.T, errors.T), start=1):
            table |= {f"x{axis}": column.tolist(), f"error of x{axis}": error.tolist()}
        return table

    def _repr_html_(self) -> str:
        return html_table(self.to_dict(), repr(self))

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

    Every resample starts from the map fitted to all answers, or from random points if that map satisfies all of them.
    The bias of the map is estimated by simulation, see `Bootstrap`. Intervals and regions assume that the dimension is
    right, and regions are too small in tight clusters; docs/conclusions.md says how often they contain the truth.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        What to fit. If it is fitted already, its map is taken as the map of all answers.
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
        Votes are drawn one by one; any other answer is drawn with all its rows and their weights.
    n_resamples : int, default 200
    by : {"comparison", "participant"}, default "comparison"
        What is drawn: single answers, or participants with all of theirs, which is safer where they are known.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Resamples side by side; the result does not depend on it.
    """
    base = template(estimator)
    data = as_comparisons(comparisons)
    check_integer(n_resamples, "n_resamples", 2)
    draw, n_units, alike = _draws(data, by)
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
    # A map that satisfies all answers is a minimum for every resample, which would hide the uncertainty.
    training = answer_accuracy(full.embedding_, data)
    perfect = training == 1.0
    starts, fresh = ([], base.n_init) if perfect else ([full.embedding_], 0)
    first = first_rows(data)[0]
    right, tested = np.zeros((2, len(first)), dtype=np.int64)  # times each answer was satisfied, and left out
    counting = threading.Lock()

    def run(number: int, own: np.random.Generator) -> tuple[np.ndarray, Resample | None]:
        weights, left_out = draw(own)
        drawn = data[weights > 0].replaced(weights=weights[weights > 0])
        X = fit_best(base, drawn, starts, fresh, own).embedding_
        satisfied, placed = satisfied_answers(X, data)
        with counting:
            np.add(right, satisfied & placed & left_out[first], out=right)
            np.add(tested, placed & left_out[first], out=tested)
        kept = (weights, left_out) if number < _N_JUDGES else None
        return procrustes_align(X, full.embedding_), kept

    maps, drawn = zip(*quiet_map(run, n_jobs, range(n_resamples), rng.spawn(n_resamples)))
    left_out = np.divide(right, tested, out=np.full(len(first), np.nan), where=tested > 0)
    accuracy = training, *_accuracy(left_out, satisfied_answers(full.embedding_, data)[0], data, alike[first])
    samples = np.array(maps)
    likely, chance, others = likely_map(full.embedding_, data, drawn[:_N_JUDGES], rng, n_jobs)

    def simulate(own: np.random.Generator) -> np.ndarray:
        X = fit_best(base, simulated(data, chance, own), starts, fresh, own).embedding_
        return procrustes_align(X, full.embedding_)

    generators = rng.spawn(_N_SIMULATED)
    asked = data if len(data) <= _MOST_ASKED else data[rng.permutation(len(data))[:_MOST_ASKED]]
    fits = np.array(quiet_map(simulate, n_jobs, generators))
    widening, covariance = _widened(full.embedding_, samples, likely, fits, asked)
    away = np.array([procrustes_align(X, full.embedding_) for X in others]) - procrustes_align(likely, full.embedding_)
    covariance += _outer(away).mean(axis=0)
    measured = *accuracy, by, n_units
    return Bootstrap(full.embedding_, samples, covariance, *measured, full.labels_, widening, likely, fits)


def _accuracy(left_out: np.ndarray, satisfied: np.ndarray, data: Comparisons, alike: np.ndarray) -> tuple[float, float]:
    """Mean accuracy of answers left out, and the standard error of the .632 rule; `alike` groups the m answers."""
    known, weights = np.isfinite(left_out), answer_weights(data)
    if len(np.unique(alike[known & (weights > 0)])) < 2:
        return math.nan, math.nan
    mean = float(np.average(left_out[known], weights=weights[known]))
    values = (1.0 - WEIGHT_OF_TRAINING) * left_out + WEIGHT_OF_TRAINING * satisfied
    return mean, sampling_error(values, weights, [alike])


def likely_map(
    start: np.ndarray, comparisons: Comparisons, resamples: Sequence[Resample], rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:  # fmt: skip
    """Maximum-likelihood map of models with lapses, probability (N,) of each answer, and the maps of all the models."""
    # A model without lapses distorts the map to accommodate wrong answers: ste, for example, makes a flat map round.
    everybody = Answers(comparisons.kind, len(comparisons), Coded.constant("all", len(comparisons)))
    data = comparisons.replaced(answers=everybody, answer=None, labels=None)
    lowest, loss, X, no_slip = math.inf, _MODELS[0], np.nan_to_num(start), np.ones(len(data))
    point, maps = X, []
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
        maps.append(fit.embedding_)
    base = OrdinalEmbedding(start.shape[1], loss=loss, n_jobs=1)
    own = np.ones(len(data)) if data.weights is None else data.weights

    def held_out(resample: Resample, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        weights, left_out = resample
        drawn = data[weights > 0].replaced(weights=np.maximum(weights * no_slip, _LEAST)[weights > 0])
        Y = fit_best(base, drawn, [np.nan_to_num(X)], 0, rng).embedding_
        unseen = left_out & (own > 0)
        unseen = unseen if unseen.any() else own > 0
        return log_odds(loss, *comparison_distances(Y, data[unseen])), own[unseen]

    # On training answers the law would be overconfident.
    judged = quiet_map(held_out, n_jobs, resamples, rng.spawn(len(resamples)))
    odds, counts = map(np.concatenate, zip(*judged))
    law = fit_answer_law(odds, counts)
    return X, law.probability(log_odds(loss, *comparison_distances(X, comparisons))), maps


def _widened(
    embedding: np.ndarray, samples: np.ndarray, likely: np.ndarray, fits: np.ndarray, asked: Comparisons
) -> tuple[float, np.ndarray]:
    """The factor that makes intervals about simulated fits wide enough, and widened covariances with the bias."""
    off = _off(likely, fits, asked)
    variance = _log_ratios(samples, asked).var(axis=0, ddof=1)
    away = np.abs(off) / np.ma.sqrt(variance + _of_the_others(off) ** 2)
    intervals = _times(away.compressed(), float(norm.ppf((1 + _LEVEL) / 2)))
    covariance = _covariances(samples)
    known = np.isfinite(covariance).all(axis=(1, 2)) & np.isfinite(fits).all(axis=(0, 2))
    errors = np.array([procrustes_align(likely, X) for X in fits])[:, known] - fits[:, known]
    apart = [
        np.einsum("ni,nij,nj->n", error, np.linalg.pinv(about, hermitian=True), error)
        for error, about in zip(errors, covariance[known] + _outer(_of_the_others(errors)))
    ]
    expected = math.sqrt(chi2.ppf(_LEVEL, embedding.shape[1]))
    regions = _times(np.sqrt(np.maximum(apart, 0.0)), expected)
    return intervals, (covariance + _outer(procrustes_align(likely, embedding) - embedding)) * regions**2


def _log_ratios(maps: np.ndarray, asked: Comparisons) -> np.ma.MaskedArray:
    """The `log_ratio` (m, N) of questions on m maps; masked if an object has no position."""
    return np.ma.masked_invalid([log_ratio(X, asked) for X in maps])


def _off(likely: np.ndarray, fits: np.ndarray, asked: Comparisons) -> np.ma.MaskedArray:
    """Log ratios (m, N) of simulated fits minus log ratios of the map from which their answers were simulated."""
    return _log_ratios(fits, asked) - np.ma.masked_invalid(log_ratio(likely, asked))


def _of_the_others(values: np.ndarray) -> np.ndarray:
    """For each row, the mean of the other rows."""
    return (values.sum(axis=0) - values) / (len(values) - 1)


def _outer(vectors: np.ndarray) -> np.ndarray:
    return vectors[..., :, None] * vectors[..., None, :]


def _times(away: np.ndarray, expected: float) -> float:
    """Factor by which bounds are widened, at least 1; `away` in standard errors, `expected` its normal quantile."""
    return max(float(np.quantile(away, _LEVEL)) / expected, 1.0) if away.size else 1.0


def _draws(data: Comparisons, by: str) -> tuple[Callable[[np.random.Generator], Resample], int, np.ndarray]:
    """A function that draws answers or participants, their number, and what is left out as a whole (N,)."""
    own, votes = np.ones(len(data)) if data.weights is None else data.weights, None
    if by == "comparison":
        (first, unit), together = first_rows(data), question_of_rows(data)
        n = len(first)
        if data.answers.votes is not None and (data.votes == np.round(data.votes)).all():
            votes = data.votes[first]
            own = own / np.maximum(votes, 1.0)[unit]
    elif by == "participant":
        if data.people is None or len(data.people.names) < 2:
            raise ValueError("by: got 'participant', expected comparisons that name at least 2 participants")
        unit = together = data.people.codes
        n = len(data.people.names)
    else:
        raise ValueError(f"by: got {by!r}, expected 'comparison' or 'participant'")

    def draw(rng: np.random.Generator) -> Resample:
        if votes is None:
            times = np.bincount(rng.integers(n, size=n), minlength=n)
        else:
            times = rng.multinomial(round(votes.sum()), votes / votes.sum())
        weights = own * times[unit]
        return weights, np.bincount(together, weights=weights)[together] == 0

    return draw, n, together


def _covariances(samples: np.ndarray) -> np.ndarray:
    """Covariance (n, d, d) of each object over the resamples that place it; NaN where these are fewer than 2."""
    known = np.ma.masked_invalid(samples)
    count = known.count(axis=0)[:, 0]  # a position is known in all coordinates or in none
    away = (known - known.mean(axis=0)).filled(0.0)
    covariance = np.einsum("bni,bnj->nij", away, away) / np.maximum(count - 1, 1)[:, None, None]
    covariance[count < 2] = np.nan
    return covariance


def interval_of(values: Any, level: float, *methods: str) -> Interval:
    """Median and quantiles; values with infinities need methods of `np.quantile` that do not interpolate."""
    check_fraction(level, "level")
    low, middle, high = (
        float(np.quantile(values, q, method=method))  # type: ignore[call-overload]
        for q, method in zip(((1 - level) / 2, 0.5, (1 + level) / 2), methods or ("linear",) * 3)
    )
    return Interval(middle, low, high, level)
