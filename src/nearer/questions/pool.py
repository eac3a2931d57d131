"""Which questions may be asked: about which objects, and which not again."""

from __future__ import annotations

import copy
import itertools

import numpy as np

from nearer.data.columns import distinct

__all__ = ["KINDS", "Pool", "check_kind"]

KINDS = ("triplets", "odd-one-out")
"""What a question can be: "is the head nearer to a or to b?", or "which of three is the odd one out?"."""


def check_kind(kind: str) -> None:
    """Refuse what is no kind of question."""
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(KINDS)}")


class Pool:
    """Questions about three of some objects.

    Parameters
    ----------
    n_objects : int
        Objects are numbered from 0.
    objects : ndarray of int, shape (m,)
        Those that may be asked about.
    kind : {"triplets", "odd-one-out"}
        Of triplets ``head, a, b`` the order of a and b does not matter, of odd-one-out questions no order.
    among : ndarray of int32, shape (q, 3), optional
        All questions that there are; default: every one about those objects.
    """

    def __init__(
        self, n_objects: int, objects: np.ndarray, kind: str = "triplets", among: np.ndarray | None = None
    ):  # fmt: skip
        self.n_objects, self.objects, self.kind = n_objects, objects, kind
        self.closed = np.zeros(0, dtype=np.int64)
        self.among = among
        if among is not None:
            rows = among[np.isin(among, objects).all(axis=1)]
            self._listed, first = np.unique(self.keys(rows), return_index=True)
            self.among = rows[first]

    def without(self, *closed: np.ndarray) -> Pool:
        """The same without some questions.

        Parameters
        ----------
        *closed : ndarray of int, shape (m, 3)

        Returns
        -------
        Pool
        """
        smaller = copy.copy(self)
        smaller.closed = distinct(np.concatenate([self.closed, *map(self.keys, closed)]))
        return smaller

    def within(self, objects: np.ndarray) -> Pool:
        """The same about some of the objects alone.

        Parameters
        ----------
        objects : ndarray of int, shape (m,)

        Returns
        -------
        Pool
        """
        smaller = Pool(self.n_objects, objects, self.kind, self.among)
        smaller.closed = self.closed
        return smaller

    def keys(self, questions: np.ndarray) -> np.ndarray:
        """Numbers that are equal for the same questions.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)

        Returns
        -------
        ndarray of int64, shape (m,)
        """
        rows = np.asarray(questions, dtype=np.int64).reshape(-1, 3)
        rows = np.sort(rows, axis=1) if self.kind == "odd-one-out" else np.c_[rows[:, 0], np.sort(rows[:, 1:], axis=1)]
        return (rows[:, 0] * self.n_objects + rows[:, 1]) * self.n_objects + rows[:, 2]

    @property
    def n_open(self) -> int:
        """How many different questions may be asked."""
        if self.among is not None:
            return int(self.is_open(self.among).sum())
        head, rest = np.divmod(self.closed, self.n_objects**2)
        inside = np.isin(np.c_[head, rest // self.n_objects, rest % self.n_objects], self.objects).all(axis=1)
        return self._n_all() - int(inside.sum())

    def _n_all(self) -> int:
        m = len(self.objects)
        return m * (m - 1) * (m - 2) // (6 if self.kind == "odd-one-out" else 2)

    def is_open(self, questions: np.ndarray) -> np.ndarray:
        """Which of some questions may be asked.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)

        Returns
        -------
        ndarray of bool, shape (m,)
        """
        keys = self.keys(questions)
        found = ~_among(keys, self.closed)
        return found if self.among is None else found & _among(keys, self._listed)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Different questions at random, all of them alike; fewer if there are no more.

        Parameters
        ----------
        count : int
        rng : Generator

        Returns
        -------
        ndarray of int32, shape (at most count, 3)
            In random order, also of a and b.
        """
        if self.among is not None or self._n_all() < 4 * count + 2 * len(self.closed):  # too few to draw until open
            rows = self._all() if self.among is None else self.among
            rows = rows[self.is_open(rows)]
            rows = rows[rng.permutation(len(rows))[:count]]
        else:
            rows = np.zeros((0, 3), dtype=np.int32)
            while len(rows) < count:
                more = self.objects[rng.integers(len(self.objects), size=(2 * (count - len(rows)) + 8, 3))]
                different = (more[:, 0] != more[:, 1]) & (more[:, 0] != more[:, 2]) & (more[:, 1] != more[:, 2])
                more = more[different]
                rows = np.concatenate([rows, more[self.is_open(more)]])
                rows = rows[np.sort(np.unique(self.keys(rows), return_index=True)[1])][:count]  # the first of equals
        return self.shuffled(rows.astype(np.int32), rng)

    def shuffled(self, questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The same questions, with a and b (or all three) in random order.

        Parameters
        ----------
        questions : ndarray of int, shape (m, 3)
        rng : Generator

        Returns
        -------
        ndarray of int, shape (m, 3)
        """
        if self.kind == "odd-one-out":
            return rng.permuted(questions, axis=1)
        return np.c_[questions[:, :1], rng.permuted(questions[:, 1:], axis=1)]

    def _all(self) -> np.ndarray:
        sets = np.array(list(itertools.combinations(self.objects.tolist(), 3)), dtype=np.int32).reshape(-1, 3)
        return sets if self.kind == "odd-one-out" else np.concatenate([np.roll(sets, -k, axis=1) for k in range(3)])


def _among(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Which keys are among some in ascending order."""
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return ordered[place] == keys
