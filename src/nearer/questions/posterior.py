"""How sure a map is, and what an answer would tell: the map as the mean of a normal distribution."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nearer import kernels
from nearer.data import Comparisons
from nearer.losses import Loss
from nearer.solvers.starts import in_threads

__all__ = ["Posterior", "logits"]

# Candidates scored in one go by a thread.
_BLOCK = 8192


def logits(X: np.ndarray, questions: np.ndarray, loss: Loss) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log odds, under the model of a loss, that the first pair is said to be the nearer one.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    questions : ndarray of int32, shape (m, 3) or (m, 4)
    loss : Loss
        With a probability model.

    Returns
    -------
    logit, by_near, by_far : ndarray of float64, shape (m,)
        And its derivatives by the two squared distances.
    """
    near, far = np.empty(len(questions)), np.empty(len(questions))
    kernels.squared_distances(np.ascontiguousarray(questions), X, 0, near, far)
    value, d_near, d_far = loss.terms(near, far)
    other, d_far_other, d_near_other = loss.terms(far, near)  # as if the answer had been the other
    return other - value, d_near_other - d_near, d_far_other - d_far


class Posterior:
    """Places of objects as a normal distribution about the map (a Laplace approximation).

    An answer to a question whose log odds have the gradient g, and chance p, adds ``p (1 - p) g g^T`` to the inverse of
    the covariance, whichever answer it is: so what questions tell together is known before they are asked.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        The map, without gaps.
    loss : Loss
        With a probability model, and its parameters resolved.
    objects : ndarray of int, shape (m,)
        Whose places count as unknown; the others stay where they are.
    """

    def __init__(self, X: np.ndarray, loss: Loss, objects: np.ndarray):
        self.X, self.loss = np.ascontiguousarray(X), loss
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
        logit, by_near, by_far = logits(self.X, questions, self.loss)
        worth = fisher(logit) if weights is None else fisher(logit) * weights
        self._add(questions, by_near, by_far, worth, self.precision)

    def add_answers(self, comparisons: Comparisons) -> None:
        """Count answers.

        Parameters
        ----------
        comparisons : Comparisons
        """
        self.add(comparisons.index, comparisons.weights)

    def covariance(self) -> np.ndarray:
        """Of all coordinates of the objects, one object after the other.

        Returns
        -------
        ndarray of float64, shape (m * d, m * d)
        """
        return cho_solve(cho_factor(self.precision, lower=True), np.eye(len(self.precision)))

    def sum_of_squares(self, questions: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Sum of ``weight * g g^T`` over questions.

        Parameters
        ----------
        questions : ndarray of int32, shape (r, 3)
        weight : ndarray of float64, shape (r,)

        Returns
        -------
        ndarray of float64, shape (m * d, m * d)
        """
        _, by_near, by_far = logits(self.X, questions, self.loss)
        total = np.zeros_like(self.precision)
        self._add(questions, by_near, by_far, weight, total)
        return total

    def _add(
        self, questions: np.ndarray, by_near: np.ndarray, by_far: np.ndarray, weight: np.ndarray, A: np.ndarray
    ) -> None:
        index = np.ascontiguousarray(questions, dtype=np.int32)
        kernels.add_information(index, self.X, self.slot, by_near, by_far, np.ascontiguousarray(weight), A)

    def forms(
        self, questions: np.ndarray, S: np.ndarray, M: np.ndarray, n_jobs: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log odds of questions, and ``g^T S g`` and ``g^T M g`` of their gradients.

        Parameters
        ----------
        questions : ndarray of int32, shape (c, 3)
            About objects whose places count as unknown.
        S, M : ndarray of float64, shape (m * d, m * d)
        n_jobs : int, default 1
            Threads; the result does not depend on it.

        Returns
        -------
        logit, by_S, by_M : ndarray of float64, shape (c,)
        """
        index = np.ascontiguousarray(questions, dtype=np.int32)
        logit, by_S, by_M = (np.empty(len(index)) for _ in range(3))

        def run(number: int) -> None:
            start, stop = number * _BLOCK, min((number + 1) * _BLOCK, len(index))
            part = index[start:stop]
            logit[start:stop], by_near, by_far = logits(self.X, part, self.loss)
            kernels.quadratic_forms(
                part, self.X, self.slot, by_near, by_far, S, M, 0, stop - start, by_S[start:stop], by_M[start:stop]
            )

        in_threads(run, -(-len(index) // _BLOCK), n_jobs)
        return logit, by_S, by_M

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of the log odds of triplets.

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
        _, by_near, by_far = logits(self.X, questions, self.loss)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)


def fisher(logit: np.ndarray) -> np.ndarray:
    """What an answer tells about its own log odds: p (1 - p).

    Parameters
    ----------
    logit : ndarray of float64, any shape

    Returns
    -------
    ndarray of float64, of the same shape
    """
    e = np.exp(-np.abs(logit))
    return e / (1.0 + e) ** 2
