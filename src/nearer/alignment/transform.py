"""A linear transform of features, learned from answers about some objects and tried on others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.special import expit
from scipy.stats import t
from threadpoolctl import threadpool_limits

from nearer.alignment.asked import Asked
from nearer.alignment.object_models import pair_similarities
from nearer.metrics.by_answer import sampling_error


@dataclass(frozen=True)
class Setting:
    """How transforms are learned; tried on simulated studies by `python -m benchmarks.alignment`."""

    n_folds: int = 3  # of objects, outer and inner; answers about objects of one fold alone are for test
    n_repeats: int = 3  # partitions of the objects
    n_directions: int = 50  # number of principal directions that the transform acts on
    penalties: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)  # on the squared distance of the transform to identity
    margin: float = 1.0  # standard errors by which a penalty must be better than no transform, in the inner folds
    fewest: int = 30  # answers for test and for training


SETTING = Setting()


@dataclass(frozen=True)
class Gain:
    """What a learned linear transform gains on objects that it was not learned from."""

    name: str
    before: float  # accuracy of the features as they are, on the held-out answers
    after: float  # accuracy of the transformed features
    gain: float
    low: float  # 95 % interval of the gain
    high: float
    n_answers: int  # different held-out answers; those about objects on both sides cannot be used
    share_learned: float  # fraction of the fits in which a transform was better than none in the inner folds


def learned_gain(name: str, X: np.ndarray, measure: str, asked: Asked, rng: np.random.Generator) -> Gain | None:
    """Learn transforms of X (n_objects, n_features) with folds over objects; None if there are too few answers."""
    if X.shape[1] > X.shape[0]:  # rotated: as many numbers as there are objects say the same
        left, length, _ = np.linalg.svd(X, full_matrices=False)
        X = left * length
    with threadpool_limits(1):  # the matrices are small
        return _learned_gain(name, _Problem(X, measure, asked), np.unique(asked.pairs), rng)


def _learned_gain(name: str, problem: _Problem, objects: np.ndarray, rng: np.random.Generator) -> Gain | None:
    asked = problem.asked
    sums, times, was_learned, of_fold = np.zeros((2, asked.n)), np.zeros(asked.n), [], []
    plain = asked.predicted(pair_similarities(problem.X, asked.pairs, problem.measure))
    for _ in range(SETTING.n_repeats):
        for inside, outside in _parts(objects, rng):
            test = asked.within(outside)
            if min(asked.within(inside).sum(), test.sum()) < SETTING.fewest:
                continue
            penalty = _best_penalty(problem, plain, inside, rng)
            was_learned.append(penalty is not None)
            after = plain if penalty is None else problem.predicted(inside)[penalty]
            sums[:, test] += plain[test], after[test]
            times[test] += 1
            of_fold.append(np.average((after - plain)[test], weights=asked.weights[test]))
    held_out = np.flatnonzero(times)
    if len(of_fold) < 2:
        return None
    weights = asked.weights[held_out]
    before, after = sums[:, held_out] / times[held_out]
    gain = float(np.average(after - before, weights=weights))
    error = sampling_error(after - before, weights, [asked.question[held_out]])
    # Fits to overlapping parts are not independent: the corrected variance of Nadeau and Bengio (2003).
    overlap = 1.0 / len(of_fold) + 1.0 / (SETTING.n_folds - 1)
    error = max(error, float(np.std(of_fold, ddof=1)) * overlap**0.5)
    half = float(t.ppf(0.975, len(of_fold) - 1)) * error
    first, last = (float(np.average(each, weights=weights)) for each in (before, after))
    learned = float(np.mean(was_learned))
    return Gain(name, first, last, gain, gain - half, gain + half, len(held_out), learned)


def _parts(objects: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Objects to learn from and others, in folds."""
    fold = rng.permutation(len(objects)) % SETTING.n_folds
    for number in range(SETTING.n_folds):
        yield objects[fold != number], objects[fold == number]


def _best_penalty(problem: _Problem, plain: np.ndarray, objects: np.ndarray, rng: np.random.Generator) -> int | None:
    """Number of the penalty with the best accuracy on held-out objects; None if no transform is clearly better."""
    gains, weights = [], []
    for inside, outside in _parts(objects, rng):
        test = problem.asked.within(outside)
        if problem.asked.within(inside).any() and test.any():
            gains.append([(after - plain)[test] for after in problem.predicted(inside)])
            weights.append(problem.asked.weights[test])
    if not gains:
        return None
    each, share = np.concatenate(gains, axis=1), np.concatenate(weights)
    share /= share.sum()
    mean = each @ share
    best = int(mean.argmax())
    error = np.linalg.norm(share * (each[best] - mean[best]))
    return best if mean[best] > SETTING.margin * error else None


@dataclass(frozen=True)
class _Problem:
    """Answers about objects with features."""

    X: np.ndarray  # (n_objects, p)
    measure: str
    asked: Asked

    def predicted(self, objects: np.ndarray) -> list[np.ndarray]:
        """Which answers the best transform for each penalty predicts, learned from answers about these objects alone.

        Minimises the weighted mean of ``log(1 + exp(-exp(b) (s_near - s_far)))``, with b free, plus the penalty times
        the squared norm of ``A``, over the features ``x + V A V' x``; the columns of V are the principal directions.
        """
        rows = self.asked.within(objects)[self.asked.answer]
        near, far = self.asked.near[rows], self.asked.far[rows]
        weights = self.asked.weights[self.asked.answer[rows]]
        weights = weights / weights.sum()
        features = _Moving.of(self.X, self.measure, self.asked.pairs, objects)
        r = features.B.shape[1]
        plain = features.similarities(features.B)
        spread = float(np.std(plain[near] - plain[far])) or 1.0

        def value_and_gradient(free: np.ndarray, penalty: float) -> tuple[float, np.ndarray]:
            A, scale = free[:-1].reshape(r, r), np.exp(free[-1]) / spread
            Z = features.B + features.B @ A
            similar = features.similarities(Z)
            margin = scale * (similar[near] - similar[far])
            slope = -expit(-margin) * weights
            of_pairs = np.bincount(near, slope * scale, len(similar)) - np.bincount(far, slope * scale, len(similar))
            by_A = features.B.T @ features.pulled_back(Z, similar, of_pairs) + 2.0 * penalty * A
            value = float(weights @ np.logaddexp(0.0, -margin) + penalty * (A**2).sum())
            return value, np.append(by_A.ravel(), slope @ margin)

        found, free = [], np.zeros(r * r + 1)
        bounds = [(None, None)] * (r * r) + [(-10.0, 10.0)]
        for penalty in SETTING.penalties:  # each starts from the result of a stronger one
            options = {"args": (penalty,), "jac": True, "bounds": bounds, "options": {"maxiter": 100}}
            free = minimize(value_and_gradient, free, method="L-BFGS-B", **options).x
            found.append(self.asked.predicted(features.similarities(features.B + features.B @ free[:-1].reshape(r, r))))
        return found


@dataclass(frozen=True)
class _Moving:
    """Features in their principal directions, which a transform moves, and what it leaves as it is."""

    measure: str
    pairs: np.ndarray  # (n_pairs, 2)
    B: np.ndarray  # (n_objects, r)
    rest: np.ndarray  # similarities of the pairs in all other directions, (n_pairs,)
    squares: np.ndarray  # squared lengths in all other directions, (n_objects,)

    @classmethod
    def of(cls, X: np.ndarray, measure: str, pairs: np.ndarray, objects: np.ndarray) -> _Moving:
        V = np.linalg.svd(X[objects], full_matrices=False)[2][: SETTING.n_directions].T
        B = X @ V
        others = X - B @ V.T
        rest = pair_similarities(others, pairs, "dot" if measure == "cosine" else measure)
        return cls(measure, pairs, B, rest, (others**2).sum(axis=1))

    def similarities(self, Z: np.ndarray) -> np.ndarray:
        """Similarity of each pair for coordinates Z (n_objects, r) in the principal directions."""
        i, j = self.pairs.T
        if self.measure == "euclidean":
            return self.rest - ((Z[i] - Z[j]) ** 2).sum(axis=1)
        similar = self.rest + (Z[i] * Z[j]).sum(axis=1)
        if self.measure == "dot":
            return similar
        length = self._lengths(Z)
        return similar / (length[i] * length[j])

    def _lengths(self, Z: np.ndarray) -> np.ndarray:
        length = np.sqrt(self.squares + (Z**2).sum(axis=1))
        return np.where(length > 0, length, 1.0)

    def pulled_back(self, Z: np.ndarray, similar: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Gradient in Z, given the similarity of each pair and the derivatives by it."""

        def links(values: np.ndarray) -> Any:
            half = coo_array((values, self.pairs.T), shape=(len(Z), len(Z))).tocsr()
            return half + half.T

        if self.measure == "dot":
            return links(slope) @ Z
        if self.measure == "euclidean":
            return 2.0 * (links(slope) @ Z - links(slope).sum(axis=1)[:, None] * Z)
        length = self._lengths(Z)[:, None]
        return (links(slope) @ (Z / length) - links(slope * similar).sum(axis=1)[:, None] * Z / length) / length
