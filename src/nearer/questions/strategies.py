"""Ways to choose questions; each is a class with one method, `choose`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from scipy.special import entr

from nearer.data import Comparisons
from nearer.questions.pool import Pool
from nearer.questions.posterior import Odds, Posterior

__all__ = ["Balanced", "CrowdKernel", "Predictive", "Random", "Situation", "Strategy", "Uncertainty"]

# Questions looked at in a round; those that are looked at again after each choice; random questions that stand for all.
_CANDIDATES = 20_000
_SHORT_LIST = 1000
_N_TARGETS = 2000
_TINY = np.finfo(float).tiny
# The crowd-kernel rule looks at every place for every candidate.
_CANDIDATES_EVERYWHERE = 5000
# A covariance of so many coordinates is no trouble; of a larger map, a part of the objects is looked at in a round.
_MOST_COORDINATES = 2000


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when questions are chosen.

    Attributes
    ----------
    pool : Pool
        The questions that may be asked.
    comparisons : Comparisons or None
        The answers so far.
    pending : ndarray of int32, shape (p, 3)
        Questions asked whose answers have not come yet.
    embedding : ndarray of float64, shape (n_objects, n_components), or None
        The map, without gaps; None if there is no answer yet, or the strategy needs no map.
    odds : Odds or None
        How sure answers are, given the map.
    n_jobs : int
        Threads.
    """

    pool: Pool
    comparisons: Comparisons | None
    pending: np.ndarray
    embedding: np.ndarray | None = None
    odds: Odds | None = None
    n_jobs: int = 1

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

    def map(self) -> tuple[np.ndarray, Odds]:
        """The map and its odds, where there are answers.

        Returns
        -------
        embedding : ndarray of float64, shape (n_objects, n_components)
        odds : Odds
        """
        assert self.embedding is not None
        assert self.odds is not None
        return self.embedding, self.odds

    def asked(self, questions: np.ndarray) -> Situation:
        """The situation once further questions have been asked.

        Parameters
        ----------
        questions : ndarray of int32, shape (m, 3)

        Returns
        -------
        Situation
        """
        return replace(self, pool=self.pool.without(questions), pending=np.concatenate([self.pending, questions]))


class Strategy(Protocol):
    """A way to choose questions."""

    name: str
    needs_map: bool

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
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
    needs_map = False

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return situation.pool.draw(size, rng), np.full(size, np.nan)


class Balanced:
    """Every object as often as every other, and as often the head; otherwise at random."""

    name = "balanced"
    needs_map = False

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        pool = situation.pool
        asked, as_head = situation.counts()
        chosen: dict[int, np.ndarray] = {}
        while len(chosen) < size:
            # A question about the three objects asked about least, if that leads to one that is open.
            for leeway in (1.0, 1.0, 1.0, 2.0, 4.0, 8.0):
                rank = asked[pool.objects] + leeway * rng.random(len(pool.objects))
                three = pool.objects[np.argpartition(rank, 2)[:3]]
                row = three[np.argsort(as_head[three] + rng.random(3))]
                if int(pool.keys(row)[0]) not in chosen and pool.is_open(row)[0]:
                    break
            else:  # what is left is where it is
                row = pool.without(*(one[None] for one in chosen.values())).draw(1, rng)[0]
            chosen[int(pool.keys(row)[0])] = row
            asked[row] += 1
            as_head[row[0]] += 1
        return pool.shuffled(np.array(list(chosen.values())), rng), np.full(size, np.nan)


class Uncertainty:
    """The closest calls on the map: the answers that are least foreseen."""

    name = "uncertainty"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, odds = situation.map()

        def unforeseen(questions: np.ndarray) -> np.ndarray:
            return _bits(odds.probability(odds.margin(X, questions)[0]))

        return _best(situation.pool, _CANDIDATES, unforeseen, size, rng)


class CrowdKernel:
    """What an answer tells about the place of its head alone, which may be wherever an object is.

    References
    ----------
    Tamuz, Liu, Belongie, Shamir and Kalai, "Adaptively learning the crowd kernel", ICML 2011.
    """

    name = "crowd-kernel"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, odds = situation.map()
        likeness = odds.likeness(cdist(X, X, "sqeuclidean"))
        belief = self._belief(situation.comparisons, likeness, odds)

        def gain(questions: np.ndarray) -> np.ndarray:
            found = []
            for rows in _blocks(questions, len(X)):
                head, a, b = rows.T
                p = odds.probability(likeness[a] - likeness[b])  # if the head were at each of the places
                mean = (belief[head] * p).sum(axis=1)
                found.append(_bits(mean) - (belief[head] * _bits(p)).sum(axis=1))
            return np.concatenate(found)

        return _best(situation.pool, _CANDIDATES_EVERYWHERE, gain, size, rng)

    def _belief(self, data: Comparisons | None, likeness: np.ndarray, odds: Odds) -> np.ndarray:
        """Probability (n, n) that the object of a row is where the object of a column is on the map."""
        log = np.zeros(likeness.shape)
        if data is not None and data.kind == "triplets":
            weights = np.ones(len(data)) if data.weights is None else data.weights
            for rows, w in zip(_blocks(data.index, len(log)), _blocks(weights, len(log))):
                head, near, far = rows.T
                np.add.at(log, head, w[:, None] * np.log(odds.probability(likeness[near] - likeness[far]) + _TINY))
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)


class Predictive:
    """The questions whose answers tell most about the answers to random questions.

    The map is the mean of a normal distribution, see `Posterior`. An answer narrows the margin of another question as
    far as both depend on the same places. Counted is the mean of that over random questions, above all those that the
    map leaves undecided: half the squared correlation of their margin with the answer, as bits. The questions of a
    round are chosen one after the other, each in the light of those before it and of those in flight, so that they do
    not all ask the same.
    """

    name = "predictive"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, odds = situation.map()
        n, d = X.shape
        unknown, pool = np.arange(n), situation.pool
        if n * d > _MOST_COORDINATES:
            if len(pool.objects) * d > _MOST_COORDINATES:
                some = pool.within(rng.choice(pool.objects, max(_MOST_COORDINATES // d, 3), replace=False))
                pool = some if some.n_open >= size else pool
            unknown = pool.objects
        posterior = Posterior(X, odds, unknown)
        if situation.comparisons is not None:
            posterior.add(situation.comparisons.index, situation.comparisons.weights)
        for rows in _by_head(situation.pending, pool.kind):
            posterior.add(rows, np.full(len(rows), _WORTH[pool.kind]))
        S = posterior.covariance()
        M = self._targets(posterior, S, Pool(n, pool.objects).draw(_N_TARGETS, rng))
        candidates = pool.draw(max(_CANDIDATES, size), rng)
        return self._greedy(posterior, S, M, candidates, size, pool.kind, situation.n_jobs)

    def _targets(self, posterior: Posterior, S: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """The matrix M for which ``g^T M g`` is what margin with gradient g tell about random questions."""
        margin, spread, _ = posterior.forms(asked, S, S)
        undecided = np.exp(-0.5 * margin**2 / spread) + _TINY
        weight = undecided / spread / float(undecided.sum()) / (2.0 * math.log(2.0))
        where, gradient = posterior.gradients(asked)
        values = (np.sqrt(weight)[:, None] * gradient).ravel()
        rows = csr_matrix((values, where.ravel(), np.arange(len(asked) + 1) * where.shape[1]), (len(asked), len(S)))
        narrowed = rows @ S
        return narrowed.T @ narrowed

    def _greedy(
        self, posterior: Posterior, S: np.ndarray, M: np.ndarray, candidates: np.ndarray, size: int, kind: str,
        n_jobs: int,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """One after the other; S and M stay, and what each choice changes about the rest is carried along."""
        # Each (1, c), or (3, c) where every object is a head.
        forms = (posterior.forms(rows, S, M, n_jobs) for rows in _by_head(candidates, kind))
        margin, by_S, by_M = map(np.array, zip(*forms))
        worth = _WORTH[kind] * posterior.odds.worth(margin, by_S)
        short = np.argsort(-_gain(worth, by_S, by_M), kind="stable")[: max(_SHORT_LIST, 4 * size)]
        candidates, worth, by_S, by_M = candidates[short], worth[:, short], by_S[:, short], by_M[:, short]
        where, gradient = map(np.array, zip(*map(posterior.gradients, _by_head(candidates, kind))))
        n_changes = size * len(where)
        U, R = np.zeros((n_changes, len(S))), np.zeros((n_changes, len(S)))
        ks, kkms = np.zeros(n_changes), np.zeros(n_changes)  # k and k^2 m of each change
        done, bits = 0, np.zeros(size)
        chosen = np.zeros(size, dtype=np.intp)
        for turn in range(size):
            gain = _gain(worth, by_S, by_M)
            gain[chosen[:turn]] = -np.inf
            best = chosen[turn] = int(np.argmax(gain))
            bits[turn] = gain[best]
            for head in range(len(where)):
                at, g, w = where[head, best], gradient[head, best], worth[head, best]
                # S g and M g as they are after the changes so far:
                # S' = S - k u u^T and M' = M - k (u r^T + r u^T) + k^2 m u u^T, with u = S g, r = M g, m = g^T M g.
                along_u, along_r = U[:done][:, at] @ g, R[:done][:, at] @ g
                u = S[:, at] @ g - (ks[:done] * along_u) @ U[:done]
                r = M[:, at] @ g - (ks[:done] * along_u) @ R[:done]
                r -= (ks[:done] * along_r - kkms[:done] * along_u) @ U[:done]
                s, m = float(u[at] @ g), float(r[at] @ g)
                k = w / (1.0 + w * s)
                U[done], R[done], ks[done], kkms[done] = u, r, k, k * k * m
                done += 1
                on_u, on_r = ((gradient * vector[where]).sum(axis=2) for vector in (u, r))
                by_S = by_S - k * on_u**2
                by_M = by_M - 2.0 * k * on_u * on_r + k * k * m * on_u**2
        return candidates[chosen], bits


# The odd one out of three answers two of the three questions with one of them as the head.
_WORTH = {"triplets": 1.0, "odd-one-out": 2.0 / 3.0}


def _gain(worth: np.ndarray, by_S: np.ndarray, by_M: np.ndarray) -> np.ndarray:
    """What the answers to candidates (c,) tell about random questions, in bits."""
    return (worth * by_M / (1.0 + worth * by_S)).sum(axis=0)


def _by_head(questions: np.ndarray, kind: str) -> list[np.ndarray]:
    """The triplets that questions stand for: themselves, or three, each object being the head of one."""
    rows = np.ascontiguousarray(questions, dtype=np.int32)
    return [rows] if kind == "triplets" else [np.ascontiguousarray(np.roll(rows, k, axis=1)) for k in range(3)]


def _best(
    pool: Pool, n_candidates: int, measure: Callable[[np.ndarray], np.ndarray], size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Of random candidates, those whose triplets measure most in bits, each on its own."""
    candidates = pool.draw(max(n_candidates, size), rng)
    bits = _WORTH[pool.kind] * np.sum([measure(rows) for rows in _by_head(candidates, pool.kind)], axis=0)
    best = np.argsort(-bits, kind="stable")[:size]
    return candidates[best], bits[best]


def _bits(p: np.ndarray) -> np.ndarray:
    """Entropy of an answer of probability p."""
    return (entr(p) + entr(1.0 - p)) / math.log(2.0)


def _blocks(rows: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Parts small enough that a number for each row and each of n objects fits into the caches."""
    step = max(200_000 // n, 1)
    return (rows[start : start + step] for start in range(0, len(rows), step))
