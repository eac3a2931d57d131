"""The uncertainty of positions on a map, and how answers reduce it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri

from nearer import kernels
from nearer.metrics.answer_law import DistanceLaw
from nearer.solvers.multistart import in_threads

# Candidates per task of a thread.
_BLOCK = 8192


class Posterior:
    """Laplace approximation of the posterior of the positions of `objects` at the map X (n, d); others are fixed.

    An answer adds ``worth * g g^T`` to the precision, where g is the gradient of its margin. This does not depend on
    which answer is given, so the joint information of questions is known before they are asked.
    """

    def __init__(self, X: np.ndarray, law: DistanceLaw, objects: np.ndarray):
        self.X, self.law = np.ascontiguousarray(X), law
        self.slot = np.full(len(X), -1, dtype=np.int32)
        self.slot[objects] = np.arange(len(objects), dtype=np.int32)
        self.d = X.shape[1]
        # Prior: an object may be anywhere on the map.
        self.precision = np.eye(len(objects) * self.d) / max(float(X.var(axis=0).mean()), np.finfo(float).tiny)

    def add(self, questions: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add answers to questions (m, 3) or (m, 4), each counted `weights` (m,) times."""
        margin, by_near, by_far = self.law.margin(self.X, questions)
        worth = self.law.worth(margin) if weights is None else self.law.worth(margin) * weights
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
        parameters = (self.law.power, self.law.offset, self.law.slope)
        m, d = len(S) // self.d, self.d
        blocks = np.ascontiguousarray(np.stack([S, M]).reshape(2, m, d, m, d).transpose(1, 3, 0, 2, 4))

        def run(number: int) -> None:
            rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
            kernels.question_forms(index[rows], self.X, self.slot, *parameters, blocks, *found[:, rows])

        in_threads(run, -(-len(index) // _BLOCK), n_jobs)
        return found[0], found[1], found[2]

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Indices of coordinates, int (c, 3 * d), and the derivatives of the margins in them, float (c, 3 * d)."""
        _, by_near, by_far = self.law.margin(self.X, questions)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)
