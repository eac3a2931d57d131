"""The uncertainty of positions on a map, and how answers reduce it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_matrix

from nearer.metrics.answer_law import DistanceLaw
from nearer.solvers.multistart import in_threads

# Candidates per task of a thread.
_BLOCK = 1024


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
        """Add answers to questions (m, 3) or (m, 4), with weights (m,)."""
        worth = self.law.worth(self.law.margin(self.X, questions)[0])
        if weights is not None:
            worth *= weights
        rows = self.sparse(*self.gradients(questions))
        self.precision += (rows.T @ rows.multiply(worth[:, None])).toarray()

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
        where, gradient = self.gradients(questions)
        by_S, by_M = np.empty((2, len(questions)))

        def run(number: int) -> None:
            rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
            g, at = gradient[rows], where[rows]
            entries = at[:, :, None], at[:, None, :]
            for matrix, out in ((S, by_S), (M, by_M)):
                out[rows] = np.einsum("ci,cij,cj->c", g, matrix[entries], g)

        in_threads(run, -(-len(questions) // _BLOCK), n_jobs)
        return self.law.margin(self.X, questions)[0], by_S, by_M

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the margins of questions (c, 3) or (c, 4), float (c, columns * d), and their coordinates."""
        _, by_near, by_far = self.law.margin(self.X, questions)
        points = [self.X[column] for column in questions.T]
        u = 2.0 * by_near[:, None] * (points[0] - points[1])
        v = 2.0 * by_far[:, None] * (points[-2 if len(points) == 4 else 0] - points[-1])
        parts = [u + v, -u, -v] if len(points) == 3 else [u, -u, v, -v]
        slot = self.slot[questions][:, :, None]
        where = np.where(slot < 0, -1, slot * self.d + np.arange(self.d))
        return where.reshape(len(questions), len(points) * self.d), np.concatenate(parts, axis=1)

    def sparse(self, where: np.ndarray, gradient: np.ndarray) -> csr_matrix:
        """The result of `gradients` as a matrix (c, m * d), without fixed objects."""
        known = where >= 0
        ends = np.append(0, np.cumsum(known.sum(axis=1)))
        return csr_matrix((gradient[known], where[known], ends), (len(where), len(self.precision)))
