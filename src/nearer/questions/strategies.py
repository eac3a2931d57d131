"""Ways to choose questions; each is a class with one method, `choose`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nearer.data import Comparisons
from nearer.questions.pool import Pool

__all__ = ["Balanced", "Random", "Situation", "Strategy"]


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when questions are chosen.

    Attributes
    ----------
    pool : Pool
        The questions that may be asked.
    comparisons : Comparisons or None
        The answers so far.
    pending : ndarray of int, shape (p, 3)
        Questions asked whose answers have not come yet.
    """

    pool: Pool
    comparisons: Comparisons | None
    pending: np.ndarray

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each object was asked about, and how often as the head, answered or not.

        Returns
        -------
        asked, as_head : ndarray of int, shape (n_objects,)
        """
        n = self.pool.n_objects
        rows = [self.pending] if self.comparisons is None else [self.pending, self.comparisons.index]
        asked = sum(np.bincount(one.ravel(), minlength=n) for one in rows)
        as_head = sum(np.bincount(one[:, 0], minlength=n) for one in rows)
        return np.asarray(asked), np.asarray(as_head)


class Strategy(Protocol):
    """A way to choose questions."""

    name: str

    def choose(
        self, situation: Situation, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Choose questions.

        Parameters
        ----------
        situation : Situation
            Its pool has at least `size` questions.
        size : int
        rng : Generator

        Returns
        -------
        questions : ndarray of int, shape (size, 3)
        information : ndarray of float64, shape (size,)
            What the answer is expected to tell, in bits; NaN where the strategy does not ask.
        """


class Random:
    """All questions alike: what is learned about accuracy holds for questions at large."""

    name = "random"

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return situation.pool.draw(size, rng), np.full(size, np.nan)


class Balanced:
    """Every object as often as every other, and as often the head; otherwise at random."""

    name = "balanced"

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        pool = situation.pool
        asked, as_head = situation.counts()
        chosen: list[np.ndarray] = []
        for _ in range(size):
            row = self._next(pool, asked, as_head, rng)
            chosen.append(row)
            pool = pool.without(row[None])
            asked[row] += 1
            as_head[row[0]] += 1
        return pool.shuffled(np.array(chosen), rng), np.full(size, np.nan)

    def _next(self, pool: Pool, asked: np.ndarray, as_head: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        for leeway in (1.0, 1.0, 1.0, 2.0, 4.0, 8.0):  # lest it insist on questions that are not open
            rank = asked[pool.objects] + leeway * rng.random(len(pool.objects))
            three = pool.objects[np.argpartition(rank, 2)[:3]]
            row = three[np.argsort(as_head[three] + rng.random(3))]
            if pool.is_open(row[None])[0]:
                return row
        return pool.draw(1, rng)[0]
