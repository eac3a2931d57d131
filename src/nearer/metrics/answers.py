"""How sure an answer is, given how much farther the far pair is than the near pair on a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from nearer.data import Comparisons
from nearer.metrics.comparison import comparison_distances

__all__ = ["AnswerLaw", "fit_answer_law", "log_ratio"]

# A far pair e^10 times as far says no more than that, and a distance of 0 not infinitely much.
_MOST = 10.0
_BINS_PER_UNIT = 50
# Of the fit: most steps, what keeps a flat direction from a step too long, and where log slope and logit end.
_MOST_STEPS = 50
_RIDGE = 1e-6
_LIMITS = (np.array([-5.0, -12.0]), np.array([5.0, 12.0]))


def log_ratio(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> np.ndarray:
    """Logarithm of the ratio of the far to the near distance of every comparison.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
    comparisons : Comparisons or int array (N, 3) or (N, 4)

    Returns
    -------
    float64 array (N,)
        Positive where the comparison is satisfied; NaN where an object has no position.
    """
    near, far = comparison_distances(embedding, comparisons)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 0.5 * (np.log(far) - np.log(near))


@dataclass(frozen=True)
class AnswerLaw:
    """``P[answer] = lapse + (1 - 2 lapse) / (1 + exp(-slope * log_ratio))``.

    It serves maps of every loss alike: close calls are uncertain (a finite slope), and any answer may be a slip.

    Attributes
    ----------
    slope : float > 0
    lapse : float in [0, 1/2]
        Probability of the wrong answer however clear the question.
    """

    slope: float
    lapse: float

    def probability(self, ratio: np.ndarray) -> np.ndarray:
        """Probability of answers whose far pair is e^ratio times as far as the near pair; 1/2 where that is NaN.

        Parameters
        ----------
        ratio : float array, any shape

        Returns
        -------
        float64 array of the same shape
        """
        x = np.clip(np.nan_to_num(ratio, nan=0.0), -_MOST, _MOST)
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(self.slope * x)


def fit_answer_law(ratio: np.ndarray, weights: np.ndarray | None = None) -> AnswerLaw:
    """The law that makes given answers most likely.

    Parameters
    ----------
    ratio : float64 array (N,)
        Of answers that the map was not fitted to.
    weights : float64 array (N,), optional

    Returns
    -------
    AnswerLaw
    """
    exact = np.clip(np.nan_to_num(ratio, nan=0.0), -_MOST, _MOST)
    # Answers of about the same ratio count as one of their mean: two parameters need no more.
    place = ((exact + _MOST) * _BINS_PER_UNIT).astype(np.intp)
    w = np.bincount(place, weights=weights)
    x = np.bincount(place, weights=exact if weights is None else exact * weights)[w > 0] / w[w > 0]
    w = w[w > 0] / w.sum()

    theta, step = np.array([1.0, -2.0]), np.zeros(2)  # log slope, logit of twice the lapse
    value, gradient, information = _law_terms(theta, x, w)
    for _ in range(_MOST_STEPS):
        a, b, c = information[0] + _RIDGE, information[1], information[2] + _RIDGE
        step = np.array([c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]]) / (a * c - b * b)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        while True:
            tried = np.clip(theta - step, *_LIMITS)
            new = _law_terms(tried, x, w)
            if new[0] <= value or np.abs(step).max() < 1e-6:
                break
            step *= 0.5
        moved = float(np.abs(tried - theta).max())
        theta, (value, gradient, information) = tried, new
        if moved < 1e-4:
            break
    return AnswerLaw(float(np.exp(theta[0])), float(0.5 / (1.0 + np.exp(-theta[1]))))


def _law_terms(theta: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray, tuple[float, float, float]]:
    """Mean of -log P, its gradient in theta, and the expected second derivatives (of 11, 12 and 22)."""
    slope, lapse = np.exp(theta[0]), 0.5 / (1.0 + np.exp(-theta[1]))
    s = expit(slope * x)
    p = np.clip(lapse + (1.0 - 2.0 * lapse) * s, 1e-12, 1.0 - 1e-12)
    by_slope = (1.0 - 2.0 * lapse) * s * (1.0 - s) * x * slope
    by_lapse = (1.0 - 2.0 * s) * lapse * (1.0 - 2.0 * lapse)
    v = w / (p * (1.0 - p))
    gradient = np.array([-(w / p * by_slope).sum(), -(w / p * by_lapse).sum()])
    information = [float((v * left * right).sum()) for left, right in
                   ((by_slope, by_slope), (by_slope, by_lapse), (by_lapse, by_lapse))]  # fmt: skip
    return float(-(w * np.log(p)).sum()), gradient, (information[0], information[1], information[2])
