"""Strategies to choose questions: the pool of questions, the information of an answer, a class for each strategy."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from scipy.special import entr, expit

from nearer import kernels
from nearer.data import Comparisons
from nearer.data.coded import distinct
from nearer.metrics import fit_answer_law
from nearer.registry import SUGGESTED
from nearer.selection.common import answers_naming
from nearer.solvers.starts import in_threads

__all__ = [
    "Balanced", "CrowdKernel", "Odds", "Pool", "Posterior", "Predictive", "Random", "Situation", "Strategy",
    "Uncertainty", "check_kind", "fit_odds",
]  # fmt: skip

# Candidates scored in one go by a thread.
_BLOCK = 8192
# How a difference of distances may count, see `Odds`: powers, and offsets as fractions of the mean squared distance.
_POWERS = (0.0, 0.5, 1.0)
_OFFSETS = (0.02, 0.2)
# Questions considered in a round; those considered again after each choice; random questions that represent all.
_CANDIDATES = 20_000
_SHORT_LIST = 1000
_N_TARGETS = 2000
_TINY = np.finfo(float).tiny
# The crowd-kernel rule looks at every place for every candidate.
_CANDIDATES_EVERYWHERE = 5000
# Largest covariance, in coordinates; of a larger map, a round considers a part of the objects.
_MOST_COORDINATES = 2000


def check_kind(kind: str) -> None:
    """Raise if the kind of question is not known."""
    if kind not in SUGGESTED:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(SUGGESTED)}")


class Pool:
    """Questions about three of the given `objects`; `among` (q, 3) lists all that there are, default every one.

    Of triplets ``head, a, b`` the order of a and b does not matter, of odd-one-out questions no order.
    """

    def __init__(self, n_objects: int, objects: np.ndarray, kind: str = "triplets", among: np.ndarray | None = None):
        self.n_objects, self.objects, self.kind = n_objects, objects, kind
        self.closed = np.zeros(0, dtype=np.int64)
        self.among = among
        if among is not None:
            rows = among[np.isin(among, objects).all(axis=1)]
            self._listed, first = np.unique(self.keys(rows), return_index=True)
            self.among = rows[first]

    def without(self, *closed: np.ndarray) -> Pool:
        """The same without the questions `closed`, each (m, 3)."""
        smaller = copy.copy(self)
        smaller.closed = distinct(np.concatenate([self.closed, *map(self.keys, closed)]))
        return smaller

    def within(self, objects: np.ndarray) -> Pool:
        """The same about some of the objects alone."""
        smaller = Pool(self.n_objects, objects, self.kind, self.among)
        smaller.closed = self.closed
        return smaller

    def keys(self, questions: np.ndarray) -> np.ndarray:
        """Numbers (m,) that are equal for the same questions (m, 3)."""
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
        return math.comb(len(self.objects), 3) * (1 if self.kind == "odd-one-out" else 3)

    def is_open(self, questions: np.ndarray) -> np.ndarray:
        """Which questions (m, 3) may be asked: bool (m,)."""
        keys = self.keys(questions)
        found = ~_among(keys, self.closed)
        return found if self.among is None else found & _among(keys, self._listed)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Different questions at random, uniformly, int32 (at most count, 3); a and b in random order."""
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
        """The same questions (m, 3), with a and b (or all three) in random order."""
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


@dataclass(frozen=True)
class Odds:
    """How sure answers are: the chance that the first pair is said to be the nearer one.

    ``lapse + (1 - 2 lapse) / (1 + exp(-m))`` with ``m = slope * ((far + offset) ** power - (near + offset) ** power)
    / power`` of the squared distances, a difference of logarithms where the power is 0. Powers 0 and 1 are the laws of
    tste and ste.
    """

    power: float
    offset: float
    slope: float
    lapse: float

    def margin(self, X: np.ndarray, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The number m of questions (m, 3) or (m, 4), and its derivatives by the two squared distances: three (m,)."""
        near, far = np.empty(len(questions)), np.empty(len(questions))
        kernels.squared_distances(np.ascontiguousarray(questions), X, 0, near, far)
        by_near = -self.slope * (near + self.offset) ** (self.power - 1.0)
        by_far = self.slope * (far + self.offset) ** (self.power - 1.0)
        return self.likeness(near) - self.likeness(far), by_near, by_far

    def likeness(self, squared: np.ndarray) -> np.ndarray:
        """The term of the margin that squared distances contribute: near pair less far pair is the margin."""
        x = squared + self.offset
        return -self.slope * (np.log(x) if self.power == 0.0 else x**self.power / self.power)

    def probability(self, margin: np.ndarray) -> np.ndarray:
        """Chance of the first answer."""
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(margin)

    def stretched(self, factor: float) -> Odds:
        """The same odds for a map whose squared distances are `factor` times as large."""
        return Odds(self.power, self.offset * factor, self.slope * factor**-self.power, self.lapse)

    def worth(self, margin: np.ndarray, variance: np.ndarray | float = 0.0) -> np.ndarray:
        """Fisher information of an answer about its own margin; a slip may be behind a sure one.

        With a `variance` of the margin, approximately the mean over its distribution.
        """
        flatter = 1.0 / np.sqrt(1.0 + math.pi / 8.0 * variance)
        margin = flatter * margin
        s = expit(-np.abs(margin))  # small, so that s (1 - s) keeps its digits
        p = self.lapse + (1.0 - 2.0 * self.lapse) * s
        return flatter * (((1.0 - 2.0 * self.lapse) * s * (1.0 - s)) ** 2 / np.maximum(p * (1.0 - p), _TINY))


def fit_odds(X: np.ndarray, comparisons: Comparisons) -> Odds:
    """The odds of highest likelihood for answers that the map was not fitted to."""
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
    """Laplace approximation of the positions of `objects` about the map X (n, d); the others are fixed.

    An answer to a question whose margin has the gradient g adds ``worth * g g^T`` to the precision, whichever answer it
    is: the joint information of questions is known before they are asked.
    """

    def __init__(self, X: np.ndarray, odds: Odds, objects: np.ndarray):
        self.X, self.odds = np.ascontiguousarray(X), odds
        self.slot = np.full(len(X), -1, dtype=np.int32)
        self.slot[objects] = np.arange(len(objects), dtype=np.int32)
        self.d = X.shape[1]
        # Before any answer, an object is anywhere on the map.
        self.precision = np.eye(len(objects) * self.d) / max(float(X.var(axis=0).mean()), np.finfo(float).tiny)

    def add(self, questions: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Count questions (m, 3) or (m, 4) as answered, `weights` (m,) times each."""
        margin, by_near, by_far = self.odds.margin(self.X, questions)
        worth = self.odds.worth(margin) if weights is None else self.odds.worth(margin) * weights
        index = np.ascontiguousarray(questions, dtype=np.int32)
        kernels.add_information(index, self.X, self.slot, by_near, by_far, worth, self.precision)

    def covariance(self) -> np.ndarray:
        """Covariance (m * d, m * d) of all coordinates, one object after the other."""
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
        law = (self.odds.power, self.odds.offset, self.odds.slope)
        m, d = len(S) // self.d, self.d
        blocks = np.ascontiguousarray(np.stack([S, M]).reshape(2, m, d, m, d).transpose(1, 3, 0, 2, 4))

        def run(number: int) -> None:
            rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
            kernels.question_forms(index[rows], self.X, self.slot, *law, blocks, *found[:, rows])

        in_threads(run, -(-len(index) // _BLOCK), n_jobs)
        return found[0], found[1], found[2]

    def gradients(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the covariance, int (c, 3 * d), and the gradient of the margin there, float (c, 3 * d)."""
        _, by_near, by_far = self.odds.margin(self.X, questions)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when questions are chosen."""

    pool: Pool  # questions that may be asked
    comparisons: Comparisons | None  # answers so far
    pending: np.ndarray  # (p, 3), questions asked whose answers have not come yet
    embedding: np.ndarray | None = None  # (n_objects, n_components), no gaps; None without answers or if not needed
    odds: Odds | None = None  # how sure answers are, given the map
    n_jobs: int = 1

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each object was asked about, and how often as the head, answered or not: int (n_objects,)."""
        n = self.pool.n_objects
        asked, as_head = (np.bincount(which, minlength=n) for which in (self.pending.ravel(), self.pending[:, 0]))
        if self.comparisons is not None:
            asked = asked + answers_naming(self.comparisons).astype(np.int64)
            as_head = as_head + np.bincount(self.comparisons.index[:, 0], minlength=n)
        return asked, as_head

    def map(self) -> tuple[np.ndarray, Odds]:
        """The map (n_objects, n_components) and its odds, for strategies that need a map."""
        assert self.embedding is not None
        assert self.odds is not None
        return self.embedding, self.odds

    def asked(self, questions: np.ndarray) -> Situation:
        """The situation once further questions (m, 3) have been asked."""
        return replace(self, pool=self.pool.without(questions), pending=np.concatenate([self.pending, questions]))


class Strategy(Protocol):
    """A way to choose questions."""

    name: str
    needs_map: bool

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Choose `size` questions from the pool of a situation, which has at least as many.

        Returns
        -------
        questions : ndarray of int, shape (size, 3)
        information : ndarray of float64, shape (size,)
            Expected information of the answer, in bits; NaN where the strategy does not compute it.
        """


class Random:
    """Random questions, all equally likely: accuracy measured on their answers holds for questions in general."""

    name = "random"
    needs_map = False

    def choose(self, situation: Situation, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return situation.pool.draw(size, rng), np.full(size, np.nan)


class Balanced:
    """Every object equally often, and equally often as the head; otherwise at random."""

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
        X, odds = situation.map()

        def unforeseen(questions: np.ndarray) -> np.ndarray:
            return _bits(odds.probability(odds.margin(X, questions)[0]))

        return _best(situation.pool, _CANDIDATES, unforeseen, size, rng)


class CrowdKernel:
    """Highest information about the position of the head alone, which may be wherever an object is.

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

    The positions are normally distributed about the map, see `Posterior`. An answer narrows the margin of another
    question as far as both depend on the same positions: half their squared correlation, in bits, averaged over
    random questions, with more weight on those that the map leaves undecided. Questions of a round are chosen one by
    one, given those before them and those in flight, so that they do not all ask the same.
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
        """The matrix M: ``g^T M g`` is the information about random questions of a margin with gradient g."""
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
        """One after the other; S and M stay, and the changes by each choice are carried along."""
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
    """Information of the answers to candidates (c,) about random questions, in bits."""
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
