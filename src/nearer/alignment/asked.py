"""What answers compare, and which of them similarities predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer.data import Comparisons
from nearer.data.splits import first_rows, question_of_rows
from nearer.metrics.by_answer import answer_weights

_GUESSES = 20  # random orders of equal similarities


@dataclass(frozen=True)
class Asked:
    """The pairs of objects whose similarities the answers compare."""

    pairs: np.ndarray  # (n_pairs, 2), each once
    near: np.ndarray  # pair of each comparison, (N,)
    far: np.ndarray
    answer: np.ndarray  # of each comparison, (N,)
    weights: np.ndarray  # of each answer, (n,)
    question: np.ndarray  # (n,)

    @classmethod
    def of(cls, answers: Comparisons) -> Asked:
        first, answer = first_rows(answers)
        both = np.sort(answers.quadruplets().reshape(-1, 2).astype(np.int64), axis=1)
        codes, number = np.unique(both[:, 0] * answers.n_objects + both[:, 1], return_inverse=True)
        pairs = np.stack(np.divmod(codes, answers.n_objects), axis=1)
        near, far = number.reshape(-1, 2).T
        return cls(pairs, near, far, answer, answer_weights(answers), question_of_rows(answers)[first])

    @property
    def n(self) -> int:
        """Number of answers."""
        return len(self.weights)

    def within(self, objects: np.ndarray) -> np.ndarray:
        """Which answers are about these objects alone: bool, (n,)."""
        inside = np.asarray(np.isin(self.pairs, objects).all(axis=1))
        return self._all_of(inside[self.near] & inside[self.far])

    def _all_of(self, holds: np.ndarray) -> np.ndarray:
        return np.bincount(self.answer, weights=~holds) == 0

    def predicted(self, similar: np.ndarray) -> np.ndarray:
        """Which answers similarities (n_pairs,) predict, float (n,); between equal ones they guess, on average."""
        near, far = similar[self.near], similar[self.far]
        holds, tied = near > far, near == far
        if not tied.any():
            return self._all_of(holds).astype(float)
        rng, total = np.random.default_rng(0), np.zeros(self.n)
        for _ in range(_GUESSES):
            order = rng.random(len(similar))
            total += self._all_of(holds | (tied & (order[self.near] > order[self.far])))
        return total / _GUESSES
