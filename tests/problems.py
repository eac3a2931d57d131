"""Small problems that the tests of the engine share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer.data import Comparisons
from nearer.losses import get_loss
from nearer.objective import LocalObjective
from oracles import as_quadruplets

FORMS = ("triplets", "quadruplets", "weighted triplets", "weighted quadruplets")


@dataclass
class Problem:
    """An objective with the same data in the form that `oracles` takes."""

    objective: LocalObjective
    Q: np.ndarray
    weights: np.ndarray | None
    X: np.ndarray

    @property
    def oracle(self):
        """First arguments of the oracle functions."""
        return self.objective.loss.name, self.objective.loss.param, self.Q, self.weights


class MemorySource:
    """Comparisons in memory that come in blocks, as if they were read."""

    def __init__(self, comparisons):
        self.comparisons = comparisons
        self.n_comparisons, self.n_columns = comparisons.shape
        self.has_weights = comparisons.weights is not None
        self.total_weight = float(comparisons.weights.sum()) if self.has_weights else float(self.n_comparisons)

    def blocks(self, size, rng=None):
        starts = np.arange(0, self.n_comparisons, size)
        bounds = np.column_stack([starts, np.minimum(starts + size, self.n_comparisons)])
        return map(self._block, *(bounds if rng is None else rng.permutation(bounds)).T)

    def _block(self, start, stop):
        whole = self.comparisons
        weights = None if whole.weights is None else whole.weights[start:stop]  # all of them may be zero
        return whole.replaced(index=whole.index[start:stop], weights=weights, answers=whole.answers[start:stop])


def random_rows(form, n, size, rng):
    """Legal random comparisons (size, 3 or 4), in which any two of the four objects may coincide."""
    rows = []
    while len(rows) < size:
        i, j, l, k = rng.integers(n, size=4)  # noqa: E741
        if "triplets" in form:
            if len({i, j, k}) == 3:
                rows.append((i, j, k))
        elif i != j and l != k and {i, j} != {l, k}:
            rows.append((i, j, l, k))
    return np.array(rows)


def random_problem(loss, form="triplets", n=9, d=3, size=40, seed=0, spread=0.6):
    """Random comparisons and points; weights include a zero."""
    rng = np.random.default_rng(seed)
    rows = random_rows(form, n, size, rng)
    weights = None
    if form.startswith("weighted"):
        weights = rng.uniform(0.2, 3.0, size)
        weights[0] = 0.0
    comparisons = Comparisons(rows, n_objects=n, weights=weights)
    objective = LocalObjective(comparisons, get_loss(loss), d, n_jobs=1)
    return Problem(objective, as_quadruplets(rows), weights, rng.normal(scale=spread, size=(n, d)))


def noisy_problem(loss, form="triplets", n=15, d=2, size=700, noise=0.15, seed=1):
    """True distances with some answers swapped, so that minima are finite; starts near the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, d))
    rows = random_rows(form, n, size, rng)
    Q = as_quadruplets(rows)
    near = np.sum((truth[Q[:, 0]] - truth[Q[:, 1]]) ** 2, axis=1)
    far = np.sum((truth[Q[:, 2]] - truth[Q[:, 3]]) ** 2, axis=1)
    weights = rng.uniform(0.5, 2.0, size) if form.startswith("weighted") else None
    comparisons = Comparisons(rows, n_objects=n, weights=weights).flipped((near > far) ^ (rng.random(size) < noise))
    objective = LocalObjective(comparisons, get_loss(loss), d, n_jobs=1)
    X0 = truth + 0.3 * rng.normal(size=truth.shape)
    return Problem(objective, as_quadruplets(comparisons.index), weights, X0)


def odd_one_out(n, n_objects, seed=0):
    """Odd-one-out answers about random points in two dimensions, without errors."""
    rng = np.random.default_rng(seed)
    X, sets = rng.normal(size=(n_objects, 2)), np.array([rng.permutation(n_objects)[:3] for _ in range(n)])
    apart = np.stack([np.linalg.norm(X[sets[:, (k + 1) % 3]] - X[sets[:, (k + 2) % 3]], axis=1) for k in range(3)])
    return Comparisons.from_odd_one_out(sets, sets[np.arange(n), apart.argmin(axis=0)])
