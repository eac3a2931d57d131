"""Do people, or groups of people, see the objects differently? A test that says no when they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import Comparisons, as_comparisons, as_generator, check_integer
from nearer.data.answers import answer_of_rows
from nearer.estimator import OrdinalEmbedding
from nearer.lapses import log_likelihoods, population, responsibilities
from nearer.metrics import comparison_distances
from nearer.people.individual import metric_slopes, sums_of, units_of

__all__ = ["Difference", "differ"]


@dataclass(frozen=True)
class Difference:
    """Whether people, or groups, differ in how much the axes of the map count for them.

    Attributes
    ----------
    p_value : float
        Probability of answers that speak at least as much for a difference, if there is none.
    statistic : float
        How much they speak for it, in standard deviations of what there is without a difference.
    n_units, n_resamples : int
        People or groups compared, and data sets without a difference that these answers were held against.
    of : str
        "people" or "groups".
    """

    p_value: float
    statistic: float
    n_units: int
    n_resamples: int
    of: str

    def __str__(self) -> str:
        found = "differ" if self.p_value < 0.05 else "were not found to differ"
        least = 1.0 / (self.n_resamples + 1)
        p = f"p < {2 * least:.2g}" if self.p_value <= least else f"p = {self.p_value:.2g}"
        return f"The {self.n_units:,} {self.of} {found} in how much the axes of the map count for them ({p})."


def differ(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    groups: Any = None,
    *,
    n_resamples: int = 999,
    random_state: Any = None,
) -> Difference:
    """Test whether people, or groups of people, differ in how much the axes of the map count for them.

    Under the map of all, the answers of each person (or group) are asked how they would change the metric of the map;
    the statistic is how far those wishes agree within people (for groups: among the people of a group) and differ
    between them. That somebody guesses now and then, or is less sure, moves a wish in a known direction, which is left
    out. Without a difference, wishes of single answers are as likely to point one way as the other: the signs of a
    person's answers are drawn at random. For groups of known people, people are dealt out to groups at random instead.

    Parameters
    ----------
    estimator : OrdinalEmbedding
        With a loss that is a probability model; fitted to the comparisons if it is not yet. With ``reliability=True``
        answers count by how probably they were no guesses, and more differences are found.
    comparisons : Comparisons
        With participants, unless `groups` are given.
    groups : array-like of str or int, shape (N,), or mapping of participant to group, optional
    n_resamples : int
    random_state : None, int or Generator

    Returns
    -------
    Difference
    """
    check_integer(n_resamples, "n_resamples", 19)
    data = as_comparisons(comparisons)
    units = units_of(data, groups)
    if len(units.names) < 2:
        raise ValueError(f"differ: got 1 of {'people' if groups is None else 'groups'}, expected at least 2")
    if not hasattr(estimator, "embedding_"):
        estimator = estimator.fit(data)
    if not estimator.loss_.has_model:
        raise ValueError(f"differ: loss {estimator.loss_.name!r} is not a probability model, expected ckl, ste or tste")
    X, data = estimator._on_map(comparisons)
    no_guess = _no_guess(data, X, estimator.loss_) if estimator.reliability else np.ones((2, len(data)))
    if X.shape[1] < 2:
        raise ValueError("differ: got a map of 1 dimension, expected at least 2: one axis can only count more or less")
    wishes, guess = _wishes(data, X, estimator.loss_, no_guess)
    rng = as_generator(random_state)
    answer = answer_of_rows(data)
    first = np.flatnonzero(np.diff(answer, prepend=-1))
    wishes, guess = np.add.reduceat(wishes, first), np.add.reduceat(guess, first)
    unit = units.codes[first]
    if groups is not None and data.people is not None:
        value, others = _by_people(wishes, guess, data.people.codes[first], unit, n_resamples, rng)
    else:
        value, others = _by_signs(_cleaned(wishes, guess, unit), unit, n_resamples, rng)
    p_value = (1 + int(np.count_nonzero(others >= value))) / (n_resamples + 1)
    spread = float(others.std()) or 1.0
    return Difference(
        p_value, float((value - others.mean()) / spread), len(units.names), n_resamples,
        "people" if groups is None else "groups",
    )  # fmt: skip


def _no_guess(data: Comparisons, X: np.ndarray, loss: Any) -> np.ndarray:
    """Probability that each answer, and that its opposite if it were given, is no guess: (2, N)."""
    if data.people is None:
        return np.ones((2, len(data)))
    chance = np.nan_to_num(loss.probability(*comparison_distances(X, data)), nan=0.5)
    _, posterior = population(log_likelihoods(chance, data.people, data.weights))
    return np.array([responsibilities(one, data.people, posterior) for one in (chance, 1.0 - chance)])


def _wishes(data: Comparisons, X: np.ndarray, loss: Any, no_guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each answer asks of the metric, and what a guess would ask on average: whitened, (N, d (d + 1) / 2)."""
    swap = [0, 2, 1] if data.index.shape[1] == 3 else [2, 3, 0, 1]
    upper = np.triu_indices(X.shape[1])
    factor = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    ways = (data.index, np.ascontiguousarray(data.index[:, swap]))  # the answers, and their opposites
    both = np.stack([metric_slopes(index, loss, X)[:, upper[0], upper[1]] for index in ways]) * factor
    both = np.where(np.isfinite(both[0]).all(axis=1)[:, None], both, 0.0) * no_guess[:, :, None]
    if data.weights is not None:
        both *= data.weights[:, None]
    guess = 0.5 * (both[0] + both[1])
    said = both[0] - both[0].mean(axis=0)  # what all ask for is no difference between them
    scale, turn = np.linalg.eigh(said.T @ said / len(said))
    whiten = turn / np.sqrt(np.maximum(scale, 1e-12 * scale.max()))
    return said @ whiten, guess @ whiten


def _cleaned(wishes: np.ndarray, guess: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The wishes without the direction in which each unit's would move by guessing."""
    away = sums_of(guess, unit)
    length = np.linalg.norm(away, axis=1, keepdims=True)
    away = np.divide(away, length, out=np.zeros_like(away), where=length > 0)[unit]
    return wishes - away * (wishes * away).sum(axis=1, keepdims=True)


def _by_signs(
    wishes: np.ndarray, unit: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Agreement of the answers of each unit with one another, and the same with random signs."""
    order = np.argsort(unit, kind="stable")
    wishes = wishes[order]
    start = np.flatnonzero(np.diff(unit[order], prepend=-1))
    counts = np.diff(np.append(start, len(wishes))).astype(float)
    squares = np.add.reduceat((wishes * wishes).sum(axis=1), start)

    def agreement(values: np.ndarray) -> float:
        """Sum over units of the products of different answers, all taken from their mean, for each answer."""
        sums = np.add.reduceat(values, start)
        mean = sums.sum(axis=0) / len(values)
        own = squares - 2.0 * sums @ mean + counts * (mean @ mean)
        about = sums - counts[:, None] * mean
        return float((((about * about).sum(axis=1) - own) / counts).sum())

    signs = (2.0 * rng.integers(0, 2, size=len(wishes), dtype=np.int8) - 1.0 for _ in range(n_resamples))
    return agreement(wishes), np.array([agreement(wishes * sign[:, None]) for sign in signs])


def _by_people(
    wishes: np.ndarray, guess: np.ndarray, person: np.ndarray, unit: np.ndarray, n_resamples: int, rng: Any
) -> tuple[float, np.ndarray]:
    """Agreement of the people of each group, and the same with people dealt out to groups at random."""
    people, place = np.unique(np.stack([person, unit]), axis=1, return_inverse=True)
    place = place.ravel()
    sums = sums_of(_cleaned(wishes, guess, place), place)
    counts = np.bincount(place).astype(float)
    group = people[1]

    def agreement(of: np.ndarray) -> float:
        total = np.maximum(np.bincount(of, weights=counts), 1.0)
        return float(((sums_of(sums, of) ** 2).sum(axis=1) / total).sum())

    return agreement(group), np.array([agreement(rng.permutation(group)) for _ in range(n_resamples)])
