"""How sure a map is, and what an answer would tell: the map as the mean of a normal distribution."""

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

# Candidates scored in one go by a thread.
_BLOCK = 8192
# How a difference of distances may count, see `Odds`: powers, and offsets as fractions of the mean squared distance.
_POWERS = (0.0, 0.5, 1.0)
_OFFSETS = (0.02, 0.2)


@dataclass(frozen=True)
class Odds:
    """How sure answers are: the chance that the first pair is said to be the nearer one.

    ``lapse + (1 - 2 lapse) / (1 + exp(-m))`` with ``m = slope * ((far + offset) ** power - (near + offset) ** power)
    / power`` of the squared distances, a difference of logarithms where the power is 0. Powers 0 and 1 are the laws of
    tste and ste.

    Attributes
    ----------
    power, offset, slope, lapse : float
    """

    power: float
    offset: float
    slope: float
    lapse: float

    def margin(self, X: np.ndarray, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The number m of questions, and its derivatives by the two squared distances.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
        questions : ndarray of int32, shape (m, 3) or (m, 4)

        Returns
        -------
        margin, by_near, by_far : ndarray of float64, shape (m,)
        """
        near, far = np.empty(len(questions)), np.empty(len(questions))
        kernels.squared_distances(np.ascontiguousarray(questions), X, 0, near, far)
        by_near = -self.slope * (near + self.offset) ** (self.power - 1.0)
        by_far = self.slope * (far + self.offset) ** (self.power - 1.0)
        return self.likeness(near) - self.likeness(far), by_near, by_far

    def likeness(self, squared: np.ndarray) -> np.ndarray:
        """What a margin is the difference of, near pair less far pair.

        Parameters
        ----------
        squared : ndarray of float64, any shape
            Squared distances.

        Returns
        -------
        ndarray of float64, of the same shape
        """
        x = squared + self.offset
        return -self.slope * (np.log(x) if self.power == 0.0 else x**self.power / self.power)

    def probability(self, margin: np.ndarray) -> np.ndarray:
        """Chance of the first answer.

        Parameters
        ----------
        margin : ndarray of float64, any shape

        Returns
        -------
        ndarray of float64, of the same shape
        """
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(margin)

    def stretched(self, factor: float) -> Odds:
        """The same odds for a map whose squared distances are so many times as large.

        Parameters
        ----------
        factor : float
            Above 0.

        Returns
        -------
        Odds
        """
        return Odds(self.power, self.offset * factor, self.slope * factor**-self.power, self.lapse)

    def worth(self, margin: np.ndarray, variance: np.ndarray | float = 0.0) -> np.ndarray:
        """What an answer tells about its own margin (Fisher information); a slip may be behind a sure one.

        Parameters
        ----------
        margin : ndarray of float64, any shape
        variance : ndarray of float64 of the same shape, or float, default 0
            Of the margin, if it is uncertain: the mean over what it may be, to a good approximation.

        Returns
        -------
        ndarray of float64, of the same shape
        """
        flatter = 1.0 / np.sqrt(1.0 + math.pi / 8.0 * variance)
        margin = flatter * margin
        s = expit(-np.abs(margin))  # small, so that s (1 - s) keeps its digits
        p = self.lapse + (1.0 - 2.0 * self.lapse) * s
        told = ((1.0 - 2.0 * self.lapse) * s * (1.0 - s)) ** 2 / np.maximum(p * (1.0 - p), np.finfo(float).tiny)
        return flatter * told


def fit_odds(X: np.ndarray, comparisons: Comparisons) -> Odds:
    """The odds under which given answers, that the map was not fitted to, are most likely."""
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
    """Places of objects as a normal distribution about the map (a Laplace approximation).

    An answer to a question whose margin has the gradient g adds ``worth * g g^T`` to the inverse of the covariance,
    whichever answer it is: so what questions tell together is known before they are asked.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        The map, without gaps.
    odds : Odds
    objects : ndarray of int, shape (m,)
        Whose places count as unknown; the others stay where they are.
    """

    def __init__(self, X: np.ndarray, odds: Odds, objects: np.ndarray):
        self.X, self.odds = np.ascontiguousarray(X), odds
        self.slot = np.full(len(X), -1, dtype=np.int32)
        self.slot[objects] = np.arange(len(objects), dtype=np.int32)
        self.d = X.shape[1]
        # Before any answer, an object is anywhere on the map.
        self.precision = np.eye(len(objects) * self.d) / max(float(X.var(axis=0).mean()), np.finfo(float).tiny)

    def add(self, questions: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Count questions as answered.

        Parameters
        ----------
        questions : ndarray of int32, shape (m, 3) or (m, 4)
        weights : ndarray of float64, shape (m,), optional
            Answers to each.
        """
        if not len(questions):
            return
        margin, by_near, by_far = self.odds.margin(self.X, questions)
        worth = self.odds.worth(margin) if weights is None else self.odds.worth(margin) * weights
        index = np.ascontiguousarray(questions, dtype=np.int32)
        kernels.add_information(index, self.X, self.slot, by_near, by_far, worth, self.precision)

    def covariance(self) -> np.ndarray:
        """Of all coordinates of the objects, one object after the other.

        Returns
        -------
        ndarray of float64, shape (m * d, m * d)
        """
        factor, _ = cho_factor(self.precision, lower=True)
        inverse, _ = dpotri(factor, lower=True)
        lower = np.tril(inverse)
        return lower + np.tril(lower, -1).T

    def forms(
        self, questions: np.ndarray, S: np.ndarray, M: np.ndarray, n_jobs: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margins of questions, and ``g^T S g`` and ``g^T M g`` of their gradients.

        Parameters
        ----------
        questions : ndarray of int32, shape (c, 3)
            About objects whose places count as unknown.
        S, M : ndarray of float64, shape (m * d, m * d)
        n_jobs : int, default 1
            Threads; the result does not depend on it.

        Returns
        -------
        margin, by_S, by_M : ndarray of float64, shape (c,)
        """
        index = np.ascontiguousarray(questions, dtype=np.int32)
        margin, by_S, by_M = (np.empty(len(index)) for _ in range(3))
        m, d = len(S) // self.d, self.d
        blocks = np.ascontiguousarray(np.stack([S, M]).reshape(2, m, d, m, d).transpose(1, 3, 0, 2, 4))

        def run(number: int) -> None:
            start, stop = number * _BLOCK, min((number + 1) * _BLOCK, len(index))
            law = (self.odds.power, self.odds.offset, self.odds.slope)
            out = (margin[start:stop], by_S[start:stop], by_M[start:stop])
            kernels.question_forms(index[start:stop], self.X, self.slot, *law, blocks, *out)

        in_threads(run, -(-len(index) // _BLOCK), n_jobs)
        return margin, by_S, by_M

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of the margins of triplets.

        Parameters
        ----------
        questions : ndarray of int32, shape (c, 3)
            About objects whose places count as unknown.

        Returns
        -------
        where : ndarray of int, shape (c, 3 * d)
            Rows of the covariance that an entry belongs to.
        gradient : ndarray of float64, shape (c, 3 * d)
        """
        _, by_near, by_far = self.odds.margin(self.X, questions)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)
