"""The questions that may be asked."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np

from nearer.data.coded import distinct


class Pool:
    """Questions about three of the given `objects`.

    The order of a and b in a triplet ``head, a, b`` does not matter, nor does any order in an odd-one-out question.
    """

    def __init__(self, n_objects: int, objects: np.ndarray, kind: str = "triplets"):
        self.n_objects, self.objects, self.kind = n_objects, objects, kind
        self.closed = np.zeros(0, dtype=np.int64)

    def without(self, *closed: np.ndarray) -> Pool:
        """Copy without the questions `closed`, each (m, 3)."""
        smaller = copy.copy(self)
        smaller.closed = distinct(np.concatenate([self.closed, *map(self.keys, closed)]))
        return smaller

    def within(self, objects: np.ndarray) -> Pool:
        """Copy restricted to questions about `objects`."""
        smaller = copy.copy(self)
        smaller.objects = objects
        return smaller

    def keys(self, questions: np.ndarray) -> np.ndarray:
        """Integer keys (m,), equal if and only if two questions (m, 3) are the same."""
        rows = np.asarray(questions, dtype=np.int64).reshape(-1, 3)
        rows = np.sort(rows, axis=1) if self.kind == "odd-one-out" else np.c_[rows[:, 0], np.sort(rows[:, 1:], axis=1)]
        return (rows[:, 0] * self.n_objects + rows[:, 1]) * self.n_objects + rows[:, 2]

    @property
    def n_open(self) -> int:
        """Number of different questions that may be asked."""
        head, rest = np.divmod(self.closed, self.n_objects**2)
        inside = np.isin(np.c_[head, rest // self.n_objects, rest % self.n_objects], self.objects).all(axis=1)
        return self._n_all() - int(inside.sum())

    def _n_all(self) -> int:
        return math.comb(len(self.objects), 3) * (1 if self.kind == "odd-one-out" else 3)

    def is_open(self, questions: np.ndarray) -> np.ndarray:
        """Bool (m,): which of the questions (m, 3) may be asked."""
        keys = self.keys(questions)
        return np.append(self.closed, -1)[np.searchsorted(self.closed, keys)] != keys

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw up to `count` different questions uniformly, int32 (count, 3), with a and b in random order."""
        if self._n_all() < 4 * count + 2 * len(self.closed):  # too few for rejection sampling
            rows = self._all()
            rows = rows[self.is_open(rows)]
            rows = rows[rng.permutation(len(rows))[:count]]
        else:
            rows = np.zeros((0, 3), dtype=np.int32)
            while len(rows) < count:
                more = self.objects[rng.integers(len(self.objects), size=(2 * (count - len(rows)) + 8, 3))]
                different = (more[:, 0] != more[:, 1]) & (more[:, 0] != more[:, 2]) & (more[:, 1] != more[:, 2])
                more = more[different]
                rows = np.concatenate([rows, more[self.is_open(more)]])
                rows = rows[np.sort(np.unique(self.keys(rows), return_index=True)[1])][:count]  # without duplicates
        return self.shuffled(rows.astype(np.int32), rng)

    def shuffled(self, questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The questions (m, 3) with a and b (or all three objects) in random order."""
        if self.kind == "odd-one-out":
            return rng.permuted(questions, axis=1)
        return np.c_[questions[:, :1], rng.permuted(questions[:, 1:], axis=1)]

    def _all(self) -> np.ndarray:
        sets = np.array(list(itertools.combinations(self.objects.tolist(), 3)), dtype=np.int32).reshape(-1, 3)
        return sets if self.kind == "odd-one-out" else np.concatenate([np.roll(sets, -k, axis=1) for k in range(3)])
