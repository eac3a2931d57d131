"""Ways to choose questions: among which, by what an answer would tell, and a class with a method `choose` for each."""

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
from nearer.data.columns import distinct
from nearer.metrics import fit_answer_law
from nearer.registry import SUGGESTED
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
# Questions looked at in a round; those that are looked at again after each choice; random questions that stand for all.
_CANDIDATES = 20_000
_SHORT_LIST = 1000
_N_TARGETS = 2000
_TINY = np.finfo(float).tiny
# The crowd-kernel rule looks at every place for every candidate.
_CANDIDATES_EVERYWHERE = 5000
# A covariance of so many coordinates is no trouble; of a larger map, a part of the objects is looked at in a round.
_MOST_COORDINATES = 2000


# ---- which questions may be asked ------------------------------------------------------------------------------------


def check_kind(kind: str) -> None:
    """Refuse what is no kind of question."""
    if kind not in SUGGESTED:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(SUGGESTED)}")


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
        """
        smaller = copy.copy(self)
        smaller.closed = distinct(np.concatenate([self.closed, *map(self.keys, closed)]))
        return smaller

    def within(self, objects: np.ndarray) -> Pool:
        """The same about some of the objects alone.

        Parameters
        ----------
        objects : ndarray of int, shape (m,)
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
        return math.comb(len(self.objects), 3) * (1 if self.kind == "odd-one-out" else 3)

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


# ---- how sure a map is -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Odds:
    """How sure answers are: the chance that the first pair is said to be the nearer one.

    ``lapse + (1 - 2 lapse) / (1 + exp(-m))`` with ``m = slope * ((far + offset) ** power - (near + offset) ** power)
    / power`` of the squared distances, a difference of logarithms where the power is 0. Powers 0 and 1 are the laws of
    tste and ste.

    Attributes
    ----------
    power, offset, slope, lapse : float
    """

    power: float
    offset: float
    slope: float
    lapse: float

    def margin(self, X: np.ndarray, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The number m of questions, and its derivatives by the two squared distances.

        Parameters
        ----------
        X : ndarray of float64, shape (n, d)
        questions : ndarray of int32, shape (m, 3) or (m, 4)

        Returns
        -------
        margin, by_near, by_far : ndarray of float64, shape (m,)
        """
        near, far = np.empty(len(questions)), np.empty(len(questions))
        kernels.squared_distances(np.ascontiguousarray(questions), X, 0, near, far)
        by_near = -self.slope * (near + self.offset) ** (self.power - 1.0)
        by_far = self.slope * (far + self.offset) ** (self.power - 1.0)
        return self.likeness(near) - self.likeness(far), by_near, by_far

    def likeness(self, squared: np.ndarray) -> np.ndarray:
        """What a margin is the difference of, near pair less far pair.

        Parameters
        ----------
        squared : ndarray of float64, any shape
            Squared distances.

        Returns
        -------
        ndarray of float64, of the same shape
        """
        x = squared + self.offset
        return -self.slope * (np.log(x) if self.power == 0.0 else x**self.power / self.power)

    def probability(self, margin: np.ndarray) -> np.ndarray:
        """Chance of the first answer.

        Parameters
        ----------
        margin : ndarray of float64, any shape

        Returns
        -------
        ndarray of float64, of the same shape
        """
        return self.lapse + (1.0 - 2.0 * self.lapse) * expit(margin)

    def stretched(self, factor: float) -> Odds:
        """The same odds for a map whose squared distances are so many times as large.

        Parameters
        ----------
        factor : float
            Above 0.
        """
        return Odds(self.power, self.offset * factor, self.slope * factor**-self.power, self.lapse)

    def worth(self, margin: np.ndarray, variance: np.ndarray | float = 0.0) -> np.ndarray:
        """What an answer tells about its own margin (Fisher information); a slip may be behind a sure one.

        Parameters
        ----------
        margin : ndarray of float64, any shape
        variance : ndarray of float64 of the same shape, or float, default 0
            Of the margin, if it is uncertain: the mean over what it may be, to a good approximation.

        Returns
        -------
        ndarray of float64, of the same shape
        """
        flatter = 1.0 / np.sqrt(1.0 + math.pi / 8.0 * variance)
        margin = flatter * margin
        s = expit(-np.abs(margin))  # small, so that s (1 - s) keeps its digits
        p = self.lapse + (1.0 - 2.0 * self.lapse) * s
        told = ((1.0 - 2.0 * self.lapse) * s * (1.0 - s)) ** 2 / np.maximum(p * (1.0 - p), np.finfo(float).tiny)
        return flatter * told


def fit_odds(X: np.ndarray, comparisons: Comparisons) -> Odds:
    """The odds under which given answers, that the map was not fitted to, are most likely."""
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
    """Places of objects as a normal distribution about the map (a Laplace approximation).

    An answer to a question whose margin has the gradient g adds ``worth * g g^T`` to the inverse of the covariance,
    whichever answer it is: so what questions tell together is known before they are asked.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        The map, without gaps.
    odds : Odds
    objects : ndarray of int, shape (m,)
        Whose places count as unknown; the others stay where they are.
    """

    def __init__(self, X: np.ndarray, odds: Odds, objects: np.ndarray):
        self.X, self.odds = np.ascontiguousarray(X), odds
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
        margin, by_near, by_far = self.odds.margin(self.X, questions)
        worth = self.odds.worth(margin) if weights is None else self.odds.worth(margin) * weights
        index = np.ascontiguousarray(questions, dtype=np.int32)
        kernels.add_information(index, self.X, self.slot, by_near, by_far, worth, self.precision)

    def covariance(self) -> np.ndarray:
        """Of all coordinates of the objects, one object after the other.

        Returns
        -------
        ndarray of float64, shape (m * d, m * d)
        """
        factor, _ = cho_factor(self.precision, lower=True)
        inverse, _ = dpotri(factor, lower=True)
        lower = np.tril(inverse)
        return lower + np.tril(lower, -1).T

    def forms(
        self, questions: np.ndarray, S: np.ndarray, M: np.ndarray, n_jobs: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margins of questions, and ``g^T S g`` and ``g^T M g`` of their gradients.

        Parameters
        ----------
        questions : ndarray of int32, shape (c, 3)
            About objects whose places count as unknown.
        S, M : ndarray of float64, shape (m * d, m * d)
        n_jobs : int, default 1
            Threads; the result does not depend on it.

        Returns
        -------
        margin, by_S, by_M : ndarray of float64, shape (c,)
        """
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
        """Gradients of the margins of triplets.

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
        _, by_near, by_far = self.odds.margin(self.X, questions)
        head, a, b = (self.X[column] for column in questions.T)
        u, v = 2.0 * by_near[:, None] * (head - a), 2.0 * by_far[:, None] * (head - b)
        where = self.slot[questions][:, :, None] * self.d + np.arange(self.d)
        return where.reshape(len(questions), -1), np.concatenate([u + v, -u, -v], axis=1)


# ---- the strategies --------------------------------------------------------------------------------------------------


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
