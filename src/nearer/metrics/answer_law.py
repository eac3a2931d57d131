"""How certain an answer is: its probability as a function of how far apart the two pairs are on the map."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from nearer import kernels
from nearer.data import Comparisons
from nearer.losses import Loss

# Log ratios are clipped here: a larger one is not more informative, and a distance of 0 makes it infinite.
_MOST = 10.0
_BINS_PER_UNIT = 50
# Fit: most steps, ridge against long steps in flat directions, and bounds of log slope and logit.
_MOST_STEPS = 50
_RIDGE = 1e-6
_LIMITS = (np.array([-5.0, -12.0]), np.array([5.0, 12.0]))
# Grid of exponents, and of offsets as fractions of the mean squared distance; see `DistanceLaw`.
_POWERS = (0.0, 0.5, 1.0)
_OFFSETS = (0.02, 0.2)
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class AnswerLaw:
    """Close calls are uncertain, and any answer may be a lapse, whatever the loss of the map.

    ``P[answer] = lapse + (1 - 2 lapse) / (1 + exp(-slope * log_ratio))`` with a lapse rate of at most 1/2.
    """

    slope: float
    lapse: float

    def probability(self, ratio: np.ndarray) -> np.ndarray:
        """Probability of answers whose far pair is e^ratio times as far as the near pair; 1/2 where that is NaN."""
        x = np.clip(np.nan_to_num(ratio, nan=0.0), -_MOST, _MOST)
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(self.slope * x)


def fit_answer_law(ratio: np.ndarray, weights: np.ndarray | None = None) -> AnswerLaw:
    """The law of highest likelihood, given the log ratios (N,) of answers that the map was not fitted to."""
    exact = np.clip(np.nan_to_num(ratio, nan=0.0), -_MOST, _MOST)
    # Binning answers by their ratio is accurate enough for two parameters.
    place = ((exact + _MOST) * _BINS_PER_UNIT).astype(np.intp)
    w = np.bincount(place, weights=weights)
    x = np.bincount(place, weights=exact if weights is None else exact * weights)[w > 0] / w[w > 0]
    w = w[w > 0] / w.sum()

    theta, step = np.array([1.0, -2.0]), np.zeros(2)  # log slope, logit of twice the lapse
    value, gradient, information = _law_terms(theta, x, w)
    for _ in range(_MOST_STEPS):
        a, b, c = information[0, 0] + _RIDGE, information[0, 1], information[1, 1] + _RIDGE
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


def _law_terms(theta: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of -log P, its gradient (2,) in theta, and the expected second derivatives (2, 2)."""
    slope, lapse = np.exp(theta[0]), 0.5 / (1.0 + np.exp(-theta[1]))
    s = expit(slope * x)
    p = np.clip(lapse + (1.0 - 2.0 * lapse) * s, 1e-12, 1.0 - 1e-12)
    by_slope = (1.0 - 2.0 * lapse) * s * (1.0 - s) * x * slope
    by_lapse = (1.0 - 2.0 * s) * lapse * (1.0 - 2.0 * lapse)
    by_theta = np.stack([by_slope, by_lapse])
    information = (w / (p * (1.0 - p)) * by_theta[:, None] * by_theta).sum(axis=2)
    return float(-(w * np.log(p)).sum()), -(w / p * by_theta).sum(axis=1), information


def log_odds(loss: Loss, near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Log odds of answers (N,) under the model of a loss, given the squared distances of the two pairs."""
    return logit(np.clip(loss.probability(near, far), 1e-15, 1.0 - 1e-15))


def logistic_slopes(features: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Slopes b of ``P[answer] = 1 / (1 + exp(-features @ b))`` of highest likelihood, by Newton's method."""
    slopes = start.copy()
    ridge = 1e-3 * np.eye(len(slopes))
    for _ in range(30):
        p = expit(features @ slopes)
        gradient = features.T @ (weights * (1.0 - p)) - ridge @ slopes
        curvature = (features * (weights * p * (1.0 - p))[:, None]).T @ features + ridge
        step = np.linalg.solve(curvature, gradient)
        slopes += step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-6:
            break
    return slopes


@dataclass(frozen=True)
class DistanceLaw:
    """Probability that the first pair is called the nearer one, as a function of the two squared distances.

    ``lapse + (1 - 2 lapse) / (1 + exp(-m))`` with the margin ``m = slope * ((far + offset) ** power - (near + offset)
    ** power) / power``, or a difference of logarithms if power is 0. Powers 0 and 1 are the models of tste and ste.
    """

    power: float
    offset: float
    slope: float
    lapse: float

    def margin(self, X: np.ndarray, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margins of questions (m, 3) or (m, 4), and their derivatives in the two squared distances: three (m,)."""
        near, far = np.empty(len(questions)), np.empty(len(questions))
        kernels.squared_distances(np.ascontiguousarray(questions), X, 0, near, far)
        by_near = -self.slope * (near + self.offset) ** (self.power - 1.0)
        by_far = self.slope * (far + self.offset) ** (self.power - 1.0)
        return self.likeness(near) - self.likeness(far), by_near, by_far

    def likeness(self, squared: np.ndarray) -> np.ndarray:
        """Term of the margin that depends on one pair; the margin is the near pair's minus the far pair's."""
        x = squared + self.offset
        return -self.slope * (np.log(x) if self.power == 0.0 else x**self.power / self.power)

    def probability(self, margin: np.ndarray) -> np.ndarray:
        """Probability of the first answer."""
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(margin)

    def stretched(self, factor: float) -> DistanceLaw:
        """The same law for a map whose squared distances are `factor` times as large."""
        return DistanceLaw(self.power, self.offset * factor, self.slope * factor**-self.power, self.lapse)

    def worth(self, margin: np.ndarray, variance: np.ndarray | float = 0.0) -> np.ndarray:
        """Fisher information of an answer about its margin, approximately averaged over a margin with `variance`."""
        flatter = 1.0 / np.sqrt(1.0 + math.pi / 8.0 * variance)
        margin = flatter * margin
        s = expit(-np.abs(margin))  # at most 1/2: s (1 - s) keeps its precision
        p = self.lapse + (1.0 - 2.0 * self.lapse) * s
        return flatter * (((1.0 - 2.0 * self.lapse) * s * (1.0 - s)) ** 2 / np.maximum(p * (1.0 - p), _TINY))


def fit_distance_law(X: np.ndarray, comparisons: Comparisons) -> DistanceLaw:
    """Maximum-likelihood law, given answers that the map was not fitted to."""
    typical = max(2.0 * float(X.var(axis=0).sum()), _TINY)
    weights, best, found = comparisons.weights, -np.inf, DistanceLaw(0.0, typical, 1.0, 0.0)
    for power, offset in itertools.product(_POWERS, _OFFSETS):
        tried = DistanceLaw(power, offset * typical, typical**-power, 0.0)
        margin = tried.margin(X, comparisons.index)[0]
        law = fit_answer_law(margin, weights)
        likely = float(np.average(np.log(law.probability(margin)), weights=weights))
        if likely > best:
            best, found = likely, replace(tried, slope=law.slope * tried.slope, lapse=law.lapse)
    return found
