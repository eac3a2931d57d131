"""How much an answer says about the map: the law of answers, and the uncertainty of positions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri
from scipy.special import expit

from nearer import kernels
from nearer.data import Comparisons
from nearer.metrics import fit_answer_law
from nearer.solvers.starts import in_threads

__all__ = ["Odds", "Posterior", "fit_odds"]

_TINY = np.finfo(float).tiny
# Grid of exponents, and of offsets as fractions of the mean squared distance; see `Odds`.
_POWERS = (0.0, 0.5, 1.0)
_OFFSETS = (0.02, 0.2)
# Candidates per task of a thread.
_BLOCK = 8192


@dataclass(frozen=True)
class Odds:
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

    def stretched(self, factor: float) -> Odds:
        """The same law for a map whose squared distances are `factor` times as large."""
        return Odds(self.power, self.offset * factor, self.slope * factor**-self.power, self.lapse)

    def worth(self, margin: np.ndarray, variance: np.ndarray | float = 0.0) -> np.ndarray:
        """Fisher information of an answer about its margin, approximately averaged over a margin with `variance`."""
        flatter = 1.0 / np.sqrt(1.0 + math.pi / 8.0 * variance)
        margin = flatter * margin
        s = expit(-np.abs(margin))  # at most 1/2: s (1 - s) keeps its precision
        p = self.lapse + (1.0 - 2.0 * self.lapse) * s
        return flatter * (((1.0 - 2.0 * self.lapse) * s * (1.0 - s)) ** 2 / np.maximum(p * (1.0 - p), _TINY))


def fit_odds(X: np.ndarray, comparisons: Comparisons) -> Odds:
    """Maximum-likelihood law, given answers that the map was not fitted to."""
    typical = max(2.0 * float(X.var(axis=0).sum()), np.finfo(float).tiny)
    weights, best, found = comparisons.weights, -np.inf, Odds(0.0, typical, 1.0, 0.0)
    for power, offset in itertools.product(_POWERS, _OFFSETS):
        tried = Odds(power, offset * typical, typical**-power, 0.0)
        margin = tried.margin(X, comparisons.index)[0]
        law = fit_answer_law(margin, weights)
        likely = float(np.average(np.log(law.probability(margin)), weights=weights))
        if likely > best:
            best, found = likely, replace(tried, slope=law.slope * tried.slope, lapse=law.lapse)
    return found


class Posterior:
    """Laplace approximation of the posterior of the positions of `objects` at the map X (n, d); others are fixed.

    An answer adds ``worth * g g^T`` to the precision, where g is the gradient of its margin. This does not depend on
    which answer is given, so the joint information of questions is known before they are asked.
    """

    def __init__(self, X: np.ndarray, odds: Odds, objects: np.ndarray):
        self.X, self.odds = np.ascontiguousarray(X), odds
        self.slot = np.full(len(X), -1, dtype=np.int32)
        self.slot[objects] = np.arange(len(objects), dtype=np.int32)
        self.d = X.shape[1]
        # Prior: an object may be anywhere on the map.
        self.precision = np.eye(len(objects) * self.d) / max(float(X.var(axis=0).mean()), np.finfo(float).tiny)

    def add(self, questions: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add answers to questions (m, 3) or (m, 4), each counted `weights` (m,) times."""
        margin, by_near, by_far = self.odds.margin(self.X, questions)
        worth = self.odds.worth(margin) if weights is None else self.odds.worth(margin) * weights
        index = np.ascontiguousarray(questions, dtype=np.int32)
        kernels.add_information(index, self.X, self.slot, by_near, by_far, worth, self.precision)

    def covariance(self) -> np.ndarray:
        """Covariance (m * d, m * d) of the coordinates, object by object."""
        factor, _ = cho_factor(self.precision, lower=True)
        inverse, _ = dpotri(factor, lower=True)
        lower = np.tril(inverse)
        return lower + np.tril(lower, -1).T

    def forms(
        self, questions: np.ndarray, S: np.ndarray, M: np.ndarray, n_jobs: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margins of questions (c, 3), and ``g^T S g`` and ``g^T M g`` of their gradients: three (c,)."""
        index = np.ascontiguousarray(questions, dtype=np.int32)
        found = np.empty((3, len(index)))
        law = (self.odds.power, self.odds.offset, self.odds.slope)
        m, d = len(S) // self.d, self.d
        blocks = np.ascontiguousarray(np.stack([S, M]).reshape(2, m, d, m, d).transpose(1, 3, 0, 2, 4))

        def run(number: int) -> None:
            rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
            kernels.question_forms(index[rows], self.X, self.slot, *law, blocks, *found[:, rows])

        in_threads(run, -(-len(index) // _BLOCK), n_jobs)
        return found[0], found[1], found[2]

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of coordinates, int (c, 3 * d), and the derivatives of the margins in them, float (c, 3 * d)."""
        _, by_near, by_far = self.odds.margin(self.X, questions)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)
