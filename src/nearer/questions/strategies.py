"""Strategies to choose questions, one class each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import entr

from nearer.data import Comparisons
from nearer.data.splits import answers_naming
from nearer.metrics.answer_law import DistanceLaw
from nearer.questions.pool import Pool
from nearer.questions.posterior import Posterior

_TINY = np.finfo(float).tiny
# Candidates scored per round; candidates scored again after each choice; random questions to be informative about.
_CANDIDATES = 20_000
_SHORT_LIST = 1000
_N_TARGETS = 2000
# The crowd-kernel rule evaluates every position for every candidate.
_CANDIDATES_EVERYWHERE = 5000
# Size limit of the covariance matrix; for a larger map, a round considers a subset of the objects.
_MOST_COORDINATES = 2000


@dataclass(frozen=True, eq=False)
class Situation:
    """Data available to a strategy."""

    pool: Pool  # the questions that may be asked
    comparisons: Comparisons | None  # answers so far
    pending: np.ndarray  # (p, 3), questions asked but not yet answered
    embedding: Any = None  # (n_objects, n_components), without NaN; None if the strategy needs no map
    law: Any = None  # DistanceLaw: probability of answers, given the map
    n_jobs: int = 1

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of questions asked about each object, and of those with it as the head: two int (n_objects,)."""
        n = self.pool.n_objects
        asked, as_head = (np.bincount(which, minlength=n) for which in (self.pending.ravel(), self.pending[:, 0]))
        if self.comparisons is not None:
            asked = asked + answers_naming(self.comparisons).astype(np.int64)
            as_head = as_head + np.bincount(self.comparisons.index[:, 0], minlength=n)
        return asked, as_head

    def asked(self, questions: np.ndarray) -> Situation:
        """The situation after further questions (m, 3) have been asked."""
        return replace(self, pool=self.pool.without(questions), pending=np.concatenate([self.pending, questions]))


class Strategy(Protocol):
    """A way to choose questions."""

    name: str
    needs_map: bool

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Choose `size` questions from the pool, which has at least as many.

        Returns
        -------
        questions : ndarray of int, shape (size, 3)
        information : ndarray of float64, shape (size,)
            Expected information of each answer in bits; NaN if the strategy does not compute it.
        """


class Random:
    """Uniformly random questions; accuracy measured on their answers is unbiased."""

    name = "random"
    needs_map = False

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return situation.pool.draw(size, rng), np.full(size, np.nan)


class Balanced:
    """Every object equally often, and equally often as the head; random otherwise."""

    name = "balanced"
    needs_map = False

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        pool = situation.pool
        asked, as_head = situation.counts()
        chosen: dict[int, np.ndarray] = {}
        while len(chosen) < size:
            # Try the three objects asked about least; loosen the ranking if that question is not open.
            for leeway in (1.0, 1.0, 1.0, 2.0, 4.0, 8.0):
                rank = asked[pool.objects] + leeway * rng.random(len(pool.objects))
                three = pool.objects[np.argpartition(rank, 2)[:3]]
                row = three[np.argsort(as_head[three] + rng.random(3))]
                if int(pool.keys(row)[0]) not in chosen and pool.is_open(row)[0]:
                    break
            else:
                row = pool.without(*(one[None] for one in chosen.values())).draw(1, rng)[0]
            chosen[int(pool.keys(row)[0])] = row
            asked[row] += 1
            as_head[row[0]] += 1
        return pool.shuffled(np.array(list(chosen.values())), rng), np.full(size, np.nan)


class Uncertainty:
    """Uncertainty sampling: the questions of highest predictive entropy."""

    name = "uncertainty"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, law = situation.embedding, situation.law

        def entropy(questions: np.ndarray) -> np.ndarray:
            return _bits(law.probability(law.margin(X, questions)[0]))

        return _best(situation.pool, _CANDIDATES, entropy, size, rng)


class CrowdKernel:
    """Highest mutual information with the position of the head, among the positions of all objects.

    References
    ----------
    Tamuz, Liu, Belongie, Shamir and Kalai, "Adaptively learning the crowd kernel", ICML 2011.
    """

    name = "crowd-kernel"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, law = situation.embedding, situation.law
        likeness = law.likeness(cdist(X, X, "sqeuclidean"))
        belief = self._belief(situation.comparisons, likeness, law)

        def gain(questions: np.ndarray) -> np.ndarray:
            head, a, b = questions.T
            p = law.probability(likeness[a] - likeness[b])  # for the head at each position
            mean = (belief[head] * p).sum(axis=1)
            return _bits(mean) - (belief[head] * _bits(p)).sum(axis=1)

        return _best(situation.pool, _CANDIDATES_EVERYWHERE, gain, size, rng)

    def _belief(self, data: Comparisons | None, likeness: np.ndarray, law: DistanceLaw) -> np.ndarray:
        """Probability (n, n) that the object of a row is where the object of a column is on the map."""
        log = np.zeros(likeness.shape)
        if data is not None and data.kind == "triplets":
            weights = np.ones(len(data)) if data.weights is None else data.weights
            step = max(200_000 // len(log), 1)  # rows at once, in a (rows, n) array that fits into the cache
            for start in range(0, len(data), step):
                rows = slice(start, start + step)
                head, near, far = data.index[rows].T
                chance = np.log(law.probability(likeness[near] - likeness[far]) + _TINY)
                np.add.at(log, head, weights[rows, None] * chance)
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)


class Predictive:
    """Highest information about the answers to random questions.

    Positions are normally distributed about the map (a Laplace approximation). The information of an answer about the
    margin of another question is half their squared correlation; it is averaged over random questions, with more
    weight on those that the map leaves undecided. The questions of a round are chosen greedily, each given those
    chosen before and those still pending, which avoids redundant questions.
    """

    name = "predictive"
    needs_map = True

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, law = situation.embedding, situation.law
        n, d = X.shape
        unknown, pool = np.arange(n), situation.pool
        if n * d > _MOST_COORDINATES:
            if len(pool.objects) * d > _MOST_COORDINATES:
                some = pool.within(rng.choice(pool.objects, max(_MOST_COORDINATES // d, 3), replace=False))
                pool = some if some.n_open >= size else pool
            unknown = pool.objects
        posterior = Posterior(X, law, unknown)
        if situation.comparisons is not None:
            posterior.add(situation.comparisons.index, situation.comparisons.weights)
        for rows in _by_head(situation.pending, pool.kind):
            posterior.add(rows, np.full(len(rows), _WORTH[pool.kind]))
        S = posterior.covariance()
        M = self._targets(posterior, S, Pool(n, pool.objects).draw(_N_TARGETS, rng))
        candidates = pool.draw(max(_CANDIDATES, size), rng)
        return self._greedy(posterior, S, M, candidates, size, pool.kind, situation.n_jobs)

    def _targets(self, posterior: Posterior, S: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """The matrix M: ``g^T M g`` is the information of a margin with gradient g about random questions."""
        margin, spread, _ = posterior.forms(asked, S, S)
        undecided = np.exp(-0.5 * margin**2 / spread) + _TINY
        weight = undecided / spread / float(undecided.sum()) / (2.0 * math.log(2.0))
        where, gradient = posterior.gradients(asked)
        rows = posterior.sparse(where, np.sqrt(weight)[:, None] * gradient)
        narrowed = rows @ S
        return narrowed.T @ narrowed

    def _greedy(
        self, posterior: Posterior, S: np.ndarray, M: np.ndarray, candidates: np.ndarray, size: int, kind: str,
        n_jobs: int,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Greedy choice; the rank-one updates of S and M by each choice are kept as vectors."""
        # Each (1, c), or (3, c) if every object is a head in turn.
        forms = (posterior.forms(rows, S, M, n_jobs) for rows in _by_head(candidates, kind))
        margin, by_S, by_M = map(np.array, zip(*forms))
        worth = _WORTH[kind] * posterior.law.worth(margin, by_S)
        short = np.argsort(-_gain(worth, by_S, by_M), kind="stable")[: max(_SHORT_LIST, 4 * size)]
        candidates, worth, by_S, by_M = candidates[short], worth[:, short], by_S[:, short], by_M[:, short]
        where, gradient = map(np.array, zip(*map(posterior.gradients, _by_head(candidates, kind))))
        n_changes = size * len(where)
        U, R = np.zeros((n_changes, len(S))), np.zeros((n_changes, len(S)))
        ks, kkms = np.zeros(n_changes), np.zeros(n_changes)  # k and k^2 m of each update
        done, bits = 0, np.zeros(size)
        chosen = np.zeros(size, dtype=np.intp)
        for turn in range(size):
            gain = _gain(worth, by_S, by_M)
            gain[chosen[:turn]] = -np.inf
            best = chosen[turn] = int(np.argmax(gain))
            bits[turn] = gain[best]
            for head in range(len(where)):
                at, g, w = where[head, best], gradient[head, best], worth[head, best]
                # S g and M g after the updates so far:
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


# An odd-one-out answer decides two of the three triplets about its objects.
_WORTH = {"triplets": 1.0, "odd-one-out": 2.0 / 3.0}


def _gain(worth: np.ndarray, by_S: np.ndarray, by_M: np.ndarray) -> np.ndarray:
    """Information of answers to candidates (c,) about random questions, in bits."""
    return (worth * by_M / (1.0 + worth * by_S)).sum(axis=0)


def _by_head(questions: np.ndarray, kind: str) -> list[np.ndarray]:
    """The triplets of questions: themselves, or three for odd-one-out, each object being the head of one."""
    rows = np.ascontiguousarray(questions, dtype=np.int32)
    return [rows] if kind == "triplets" else [np.ascontiguousarray(np.roll(rows, k, axis=1)) for k in range(3)]


def _best(
    pool: Pool, n_candidates: int, measure: Callable[[np.ndarray], np.ndarray], size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The `size` random candidates with the largest sum of `measure` over their triplets, in bits."""
    candidates = pool.draw(max(n_candidates, size), rng)
    bits = _WORTH[pool.kind] * np.sum([measure(rows) for rows in _by_head(candidates, pool.kind)], axis=0)
    best = np.argsort(-bits, kind="stable")[:size]
    return candidates[best], bits[best]


def _bits(p: np.ndarray) -> np.ndarray:
    """Entropy in bits of an answer with probability p."""
    return (entr(p) + entr(1.0 - p)) / math.log(2.0)
