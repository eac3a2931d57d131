"""How many answers a map satisfies: an answer that gave several comparisons only if all of them hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from nearer.data import Comparisons
from nearer.data.splits import first_rows
from nearer.metrics.comparison import comparison_distances

# Probability that an unrelated map satisfies an answer; for a ranking it depends on the number of objects.
_BY_CHANCE = {"triplets": 1 / 2, "quadruplets": 1 / 2, "odd-one-out": 1 / 3, "most-central": 1 / 3}


def satisfied_answers(embedding: ArrayLike, comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Which of the m answers with comparisons are satisfied, and which have a position for every object: bool (m,)."""
    near, far = comparison_distances(embedding, comparisons)
    answer = first_rows(comparisons)[1]
    return np.bincount(answer, ~(near < far)) == 0, np.bincount(answer, np.isnan(near + far)) == 0


def answer_accuracy(embedding: ArrayLike, comparisons: Comparisons) -> float:
    """Weighted fraction of the answers that an embedding satisfies, in all their comparisons.

    Answers about an object that has no position are left out; NaN if no other is left. Where every answer is one
    comparison and every object has a position, this is `comparison_accuracy`.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; NaN for an object without one.
    comparisons : Comparisons
        Their objects are the rows of the embedding.
    """
    satisfied, placed = satisfied_answers(embedding, comparisons)
    weights = answer_weights(comparisons) * placed
    total = weights.sum()
    return float((weights * satisfied).sum() / total) if total else float("nan")


def chance_level(comparisons: Comparisons) -> float:
    """Chance level: the average fraction of answers that an unrelated map satisfies.

    One half for a choice of two, a third for the odd one out or the most central of three; for a ranking, one divided
    by the number of ways in which its objects could have been ranked.
    """
    kind, first = comparisons.answers.kind, first_rows(comparisons)[0]
    if isinstance(kind, str) and kind in _BY_CHANCE:
        return _BY_CHANCE[kind]
    if isinstance(kind, str):
        chance = _of_rankings(comparisons)
    else:
        kinds = comparisons.of_rows(kind).each()[first]
        chance = np.array([_BY_CHANCE.get(str(one), np.nan) for one in kinds])
        chance = np.where(np.isnan(chance), _of_rankings(comparisons), chance)
    return float(np.average(chance, weights=answer_weights(comparisons)))


def answer_weights(comparisons: Comparisons) -> np.ndarray:
    """The weight of each answer with comparisons, float (m,)."""
    first = first_rows(comparisons)[0]
    return np.ones(len(first)) if comparisons.weights is None else comparisons.weights[first]


def _of_rankings(comparisons: Comparisons) -> np.ndarray:
    """One divided by the number of possible rankings of each answer's objects, those chosen together in any order."""
    answer, n_objects = first_rows(comparisons)[1], comparisons.n_objects
    near, far = (answer * n_objects + column for column in comparisons.index.T[-2:])
    objects, place = np.unique(np.concatenate([near, far]), return_inverse=True)
    n_behind = np.bincount(place, np.repeat([1, 0], len(near))).astype(np.int64)  # equal within a rank
    owner = objects // n_objects
    ranks, sizes = np.unique(owner * (len(near) + 1) + n_behind, return_counts=True)
    ways = np.bincount(ranks // (len(near) + 1), gammaln(sizes + 1.0))
    return np.exp(ways - gammaln(np.bincount(owner) + 1.0))


def sampling_error(values: np.ndarray, weights: np.ndarray, alike: Sequence[np.ndarray]) -> float:
    """Standard error of the weighted mean of `values` (m,) that are not independent; NaN are left out.

    Values with an equal entry in one of `alike`, one or two int (m,), form a group (Cameron, Gelbach and Miller, 2011).
    """
    known = np.isfinite(values)
    share = weights[known] / weights[known].sum()
    away = share * (values[known] - share @ values[known])

    def variance(units: np.ndarray) -> float:
        sums = np.bincount(np.unique(units, return_inverse=True)[1], weights=away)
        return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)

    units = [one[known] for one in alike]
    variances = [variance(one) for one in units]
    if len(units) == 2:
        both = np.unique(units[0], return_inverse=True)[1] * len(values) + np.unique(units[1], return_inverse=True)[1]
        variances.append(sum(variances) - variance(both))
    return math.sqrt(max(variances))
