"""What the authors' published programs do in retrieval, where that differs from the paper.

Each difference is a switch of its own, so that its effect can be measured: how steps are taken, which eigenpairs become
the embedding of the convex method, how features are mapped, and how a ranking is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from nearer.featuremap import FeatureMap
from nearer.objective import Snapshot
from nearer.solvers.convex import Convex, project_psd
from nearer.solvers.solver import Solver, State

PENALTY = 0.1  # lambda of the regularised least squares, in the paper's programs as here


@dataclass(frozen=True, eq=False)
class Embedding:
    """Places of the training objects; a coordinate may be imaginary: the root of a negative eigenvalue."""

    places: np.ndarray  # (n, d)
    imaginary: np.ndarray  # (d,) bool

    @classmethod
    def real(cls, places: np.ndarray) -> Embedding:
        return cls(places, np.zeros(places.shape[1], dtype=bool))


def first_eigenpairs(A: np.ndarray, n_components: int, symmetric: bool = True) -> Embedding:
    """The eigenvectors that the authors' programs return: the first ones, scaled by the roots of their eigenvalues.

    Those of a symmetric matrix come in ascending order, so these are the smallest, negative ones first.
    """
    values, vectors = np.linalg.eigh(A) if symmetric else (part.real for part in np.linalg.eig(A))
    values, vectors = values[:n_components], vectors[:, :n_components]
    return Embedding(vectors * np.sqrt(np.abs(values)), values < 0)


def squared_distances(points: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """|p|^2 + |q|^2 - 2 p q*, as the programs compute it: of imaginary coordinates, -|p + q|^2."""
    real, other = points[:, ~imaginary], points[:, imaginary]
    return cdist(real, real, "sqeuclidean") - cdist(other, -other, "sqeuclidean")


def gaussian(X: np.ndarray, Y: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * cdist(X, Y, "sqeuclidean"))


def width(squared: np.ndarray, authors: bool) -> float:
    """Kernel width gamma from squared distances: one over their mean s, or the authors' 1 / (2 s^2)."""
    n, mean = len(squared), squared.mean()
    with np.errstate(over="ignore"):  # of a run that diverged: a kernel of ones
        return float(1 / (2 * mean**2) if authors else (n - 1) / (n * mean))


def map_features(
    embedding: Embedding, train: np.ndarray, test: np.ndarray, own_kernel: bool, authors_width: bool
) -> np.ndarray:
    """Places of test objects (m, d), from features of training and test objects.

    Parameters
    ----------
    own_kernel : fit the coefficients with the kernel of the embedding, then apply them to that of the features, instead
        of using the kernel of the features for both.
    authors_width : as in `width`; that of the features is from all objects.
    """
    features = np.concatenate([train, test])
    gamma = width(cdist(features, features, "sqeuclidean"), True) if authors_width else None
    if not own_kernel:
        return FeatureMap(gamma, PENALTY).fit(train, embedding.places).predict(test)
    if gamma is None:
        gamma = width(cdist(train, train, "sqeuclidean"), False)
    places = embedding.places
    inner = width(squared_distances(places, embedding.imaginary), authors_width)
    kernel = gaussian(places, places, inner)
    coefficients = np.linalg.solve(kernel + PENALTY * np.eye(len(places)), places)
    return gaussian(test, train, gamma) @ coefficients


def scores_with_query(squared: np.ndarray, labels: np.ndarray, cutoffs: Sequence[int]) -> dict[str, Any]:
    """MAP and precision at the first cut-off, recall at each, with the query in its own ranking.

    An average precision is divided by the number of objects of the class.
    """
    order = np.argsort(squared, axis=1, kind="stable")[:, : max(cutoffs)]
    relevant = labels[order] == labels[:, None]
    found = np.cumsum(relevant, axis=1)
    of_class = (labels[:, None] == labels).sum(axis=1)
    first = min(cutoffs[0], len(labels))
    precision = (found / np.arange(1, order.shape[1] + 1))[:, :first]
    last = np.minimum(cutoffs, len(labels)) - 1
    return {
        "map": float(((precision * relevant[:, :first]).sum(axis=1) / of_class).mean()),
        "precision_at_40": float((found[:, last[0]] / first).mean()),
        "recall": (found[:, last] / of_class[:, None]).mean(axis=0).tolist(),
    }


@dataclass
class PlainConvex(Convex):
    """Projected gradient with a fixed step times n and no penalty, as the paper describes; one gradient an iteration.

    Parameters
    ----------
    step : of the mean loss, times n.
    as_published : as the programs do it: for the hinge loss gradients add up over the iterations, off the diagonal
        they are four times too large, and a slack is that before the projection; for the logistic loss the gradient is
        not symmetric.
    """

    step: float = 1.0
    as_published: bool = False

    def init(self, objective: Any, X0: np.ndarray, rng: Any, progress: Any) -> State:
        K = X0 @ X0.T
        memory = {"K": K, "at": K, "before": K, "sum": np.zeros_like(K)}
        return State(X0, 0.0, 0, memory=memory)

    def advance(self, objective: Any, state: State) -> State:
        """The state after another iteration; `before` is the matrix before its projection."""
        memory = dict(state.memory)
        G = self._gradient(objective, memory)
        memory["before"] = K = memory["K"] - self.step * objective.n_objects * G
        if self.symmetric(objective):
            memory["K"] = project_psd(K)
        else:
            values, vectors = (part.real for part in np.linalg.eig(K))
            kept = values > 0
            memory["K"] = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
        memory["at"] = K if self.as_published and objective.loss.name == "hinge" else memory["K"]
        return replace(state, n_gradients=state.n_gradients + objective.n_comparisons, memory=memory)

    def symmetric(self, objective: Any) -> bool:
        return not (self.as_published and objective.loss.name == "ste")

    def _gradient(self, objective: Any, memory: dict[str, Any]) -> np.ndarray:
        _, G, slopes = objective.gram_value_and_gradient(memory["at"])
        if not self.as_published:
            return G
        if objective.loss.name == "hinge":
            memory["sum"] = memory["sum"] + 4 * G - 3 * np.diag(np.diag(G))
            return memory["sum"]
        anchor, near, far = objective.comparisons.index.T
        n, weights = len(G), slopes / objective.n_comparisons
        cells = [(anchor, near, -2), (anchor, far, 2), (near, near, 1), (far, far, -1)]
        return sum(c * np.bincount(n * a + b, weights, n * n) for a, b, c in cells).reshape(n, n)


def before_projection(solver: Convex, objective: Any, state: State) -> tuple[np.ndarray, bool]:
    """The matrix whose projection ends an iteration, and whether it is symmetric.

    That of `PlainConvex` is of the last iteration; that of the accelerated method of the one to come.
    """
    at = state.memory
    if isinstance(solver, PlainConvex):
        return at["before"], solver.symmetric(objective)
    G = objective.smoothed(at["width"]).gram_value_and_gradient(at["Y"])[1]
    return at["Y"] - at["step"] * (G + at["lam"] * np.eye(len(G))), True


@dataclass
class GrowingBatch(Solver):
    """Gradient descent as the authors' programs take it: a step grows by 1 % while the objective falls, or is halved.

    Parameters
    ----------
    step : the first, of the mean loss.
    """

    step: float = 1.0
    name = "batch"

    def init(self, objective: Any, X0: np.ndarray, rng: Any, progress: Any) -> State:
        return self._at(objective, X0, np.inf, self.step, 0)

    def epoch(self, objective: Any, state: State, rng: Any) -> State:
        memory, value = state.memory, float(state.value)
        X = state.X - memory["eta"] * memory["gradient"]
        falls = memory["previous"] - value > 1e-5 / objective.n_comparisons
        return self._at(objective, X, value, memory["eta"] * (1.01 if falls else 0.5), state.n_gradients)

    def _at(self, objective: Any, X: np.ndarray, previous: float, eta: float, work: int) -> State:
        value, gradient = objective.value_and_gradient(X)
        memory = {"previous": previous, "eta": eta, "gradient": gradient}
        norm = float(np.linalg.norm(gradient))
        return State(X, value, work + objective.n_comparisons, eta, norm, memory=memory)


class WeakCorrections:
    """An objective whose stochastic corrections of SVRG are n / m of Algorithm 1's, with m = N, as in the programs."""

    def __init__(self, objective: Any):
        self.objective = objective

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        share = self.objective.n_objects / self.objective.n_comparisons
        strong = replace(snapshot, gradient=snapshot.gradient / share)  # so that g itself keeps its step
        return self.objective.svrg_pass(X, strong, share * step, n_steps, seed, first=first)
