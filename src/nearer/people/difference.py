"""`differ`: a test whether people, or groups, differ in how much the axes of a map count for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import Comparisons, as_generator, check_bool, check_integer
from nearer.data.splits import first_rows
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.lapse_rates import log_likelihoods, population, responsibilities
from nearer.losses import Loss
from nearer.metrics import comparison_distances
from nearer.metrics.comparison import filled, require_model
from nearer.people.individual import metric_scores, sums_of, units_of
from nearer.people.participants import SIGNIFICANT
from nearer.refits import template


@dataclass(frozen=True)
class Difference:
    """Whether people, or groups, differ in how much the axes of the map count for them."""

    p_value: float  # under the null hypothesis that people do not differ
    statistic: float  # in standard deviations of its distribution under that hypothesis
    n_units: int  # people or groups compared
    n_resamples: int
    of: str  # "people" or "groups"

    def __str__(self) -> str:
        found = "differ" if self.p_value < SIGNIFICANT else "were not found to differ"
        least = 1.0 / (self.n_resamples + 1)
        p = f"p < {2 * least:.2g}" if self.p_value <= least else f"p = {self.p_value:.2g}"
        return f"The {self.n_units:,} {self.of} {found} in how much the axes of the map count for them ({p})."


def differ(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    groups: Any = None,
    *,
    reliability: bool = True,
    n_resamples: int = 999,
    random_state: Any = None,
) -> Difference:
    """Test whether people, or groups of people, differ in how much the axes of the map count for them.

    Each answer's score (gradient with respect to the metric) is computed under the common map. The statistic is the
    agreement of scores within people or groups. The direction in which lapses move the scores is projected out. Under
    the null hypothesis the signs of scores are random; for groups of known people, people are permuted instead.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        With a loss that is a probability model; a copy is fitted, unless it is fitted with this `reliability` already.
    comparisons : Comparisons
        With participants, unless `groups` are given.
    groups : array-like of str or int, shape (N,), or mapping of participant to group, optional
    reliability : bool, default True
        Whether to weight answers by the probability that they are not guesses, where participants are known. If some
        people guess, differences are then found three times as often, see `benchmarks.people`.
    n_resamples : int, default 999
    random_state : int or Generator, optional
    """
    check_integer(n_resamples, "n_resamples", 19)
    data = as_comparisons(comparisons)
    check_bool(reliability, "reliability")
    reliability = bool(reliability) and data.people is not None
    units, of = units_of(data, groups), "people" if groups is None else "groups"
    if len(units.names) < 2:
        raise ValueError(f"differ: got 1 of {of}, expected at least 2")
    if not hasattr(estimator, "embedding_") or estimator.reliability != reliability:
        estimator = template(estimator).set_params(reliability=reliability).fit(data)
    loss = require_model(estimator.loss_, "differ")
    data = estimator.comparisons_on_map(comparisons)
    X = filled(estimator.embedding_, data.n_objects)
    if X.shape[1] < 2:
        raise ValueError("differ: got a map of 1 dimension, expected at least 2: a single axis has no relative weight")
    scores, guess = _scores(data, X, loss, reliability)
    rng = as_generator(random_state)
    first, answer = first_rows(data)
    scores, guess = sums_of(scores, answer), sums_of(guess, answer)
    unit = units.codes[first]
    if groups is not None and data.people is not None:
        value, others = _by_people(scores, guess, data.people.codes[first], unit, n_resamples, rng)
    else:
        value, others = _by_signs(_cleaned(scores, guess, unit), unit, n_resamples, rng)
    p_value = (1 + int(np.count_nonzero(others >= value))) / (n_resamples + 1)
    statistic = float((value - others.mean()) / (others.std() or 1.0))
    return Difference(p_value, statistic, len(units.names), n_resamples, of)


def _scores(data: Comparisons, X: np.ndarray, loss: Loss, reliability: bool) -> tuple[np.ndarray, np.ndarray]:
    """Whitened score (N, d (d + 1) / 2) of each answer with respect to the metric, and its mean for a guess."""
    upper = np.triu_indices(X.shape[1])
    factor = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    opposite = data.flipped(np.ones(len(data), dtype=bool))
    scores = [metric_scores(one.quadruplets(), loss, X) for one in (data, opposite)]
    both = np.stack(scores)[:, :, upper[0], upper[1]] * factor
    both = np.where(np.isfinite(both[0]).all(axis=1)[:, None], both, 0.0)
    if reliability:
        assert data.people is not None
        chance = np.nan_to_num(loss.probability(*comparison_distances(X, data)), nan=0.5)
        _, posterior = population(log_likelihoods(chance, data.people, data.weights))
        no_guess = [responsibilities(one, data.people, posterior) for one in (chance, 1.0 - chance)]
        both *= np.array(no_guess)[:, :, None]
    if data.weights is not None:
        both *= data.weights[:, None]
    guess = 0.5 * (both[0] + both[1])
    said = both[0] - both[0].mean(axis=0)  # what all people share is not a difference
    scale, turn = np.linalg.eigh(said.T @ said / len(said))
    whiten = turn / np.sqrt(np.maximum(scale, 1e-12 * scale.max()))
    return said @ whiten, guess @ whiten


def _cleaned(scores: np.ndarray, guess: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The scores, with the direction in which guessing moves them in each unit projected out."""
    away = sums_of(guess, unit)
    length = np.linalg.norm(away, axis=1, keepdims=True)
    away = np.divide(away, length, out=np.zeros_like(away), where=length > 0)[unit]
    return scores - away * (scores * away).sum(axis=1, keepdims=True)


def _by_signs(
    scores: np.ndarray, unit: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Agreement of the answers within each unit, as observed and after random sign flips."""
    order = np.argsort(unit, kind="stable")
    scores = scores[order]
    start = np.flatnonzero(np.diff(unit[order], prepend=-1))
    counts = np.diff(np.append(start, len(scores))).astype(float)
    squares = np.add.reduceat((scores * scores).sum(axis=1), start)

    def agreement(values: np.ndarray) -> float:
        """Sum over units of the mean product of different answers, all centred."""
        sums = np.add.reduceat(values, start)
        mean = sums.sum(axis=0) / len(values)
        own = squares - 2.0 * sums @ mean + counts * (mean @ mean)
        about = sums - counts[:, None] * mean
        return float((((about * about).sum(axis=1) - own) / counts).sum())

    signs = (2.0 * rng.integers(0, 2, size=len(scores), dtype=np.int8) - 1.0 for _ in range(n_resamples))
    return agreement(scores), np.array([agreement(scores * sign[:, None]) for sign in signs])


def _by_people(
    scores: np.ndarray, guess: np.ndarray, person: np.ndarray, unit: np.ndarray, n_resamples: int, rng: Any
) -> tuple[float, np.ndarray]:
    """Agreement of the people of each group, and the same with the people permuted."""
    people, place = np.unique(np.stack([person, unit]), axis=1, return_inverse=True)
    place = place.ravel()
    sums = sums_of(_cleaned(scores, guess, place), place)
    counts = np.bincount(place).astype(float)
    group = people[1]

    def agreement(of: np.ndarray) -> float:
        total = np.maximum(np.bincount(of, weights=counts), 1.0)
        return float(((sums_of(sums, of) ** 2).sum(axis=1) / total).sum())

    return agreement(group), np.array([agreement(rng.permutation(group)) for _ in range(n_resamples)])
