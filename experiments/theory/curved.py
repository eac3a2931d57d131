"""SBB_0 where curvature is bounded below, as its bounds require: STE with a ridge, by Algorithm 1 to the letter.

The losses of the paper never meet that condition by themselves: moving all points alike changes no distance, so the
Hessian is singular everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.problems import make_table1
from nearer.objective import LocalObjective

N_OBJECTS, N_COMPONENTS, N_TRAIN = 12, 2, 200


def run(seed: int, draw: int, epochs: int, ridge: float) -> dict[str, Any]:
    """Steps of SBB_0 with m = N, and between which curvatures the objective lies on the way.

    Returns
    -------
    dict
        ``steps`` times m, from the second epoch on; ``lowest`` and ``highest`` eigenvalue (by size) of the Hessian
        anywhere looked at between two snapshots.
    """
    rng = np.random.default_rng([seed, 11, draw])
    train = make_table1(rng, n=N_OBJECTS, d=N_COMPONENTS, n_train=N_TRAIN, n_test=1).train
    whole = LocalObjective(train, "ste", N_COMPONENTS, n_jobs=1)
    i, j, k = train.index.T

    def gradient(X: np.ndarray) -> np.ndarray:
        return whole.value_and_gradient(X)[1] + ridge * X

    def one(X: np.ndarray, p: int) -> np.ndarray:
        near, far = X[i[p]] - X[j[p]], X[i[p]] - X[k[p]]
        slope = 2.0 / (1.0 + np.exp(far @ far - near @ near))
        G = ridge * X
        G[i[p]] += slope * (near - far)
        G[j[p]] -= slope * near
        G[k[p]] += slope * far
        return G

    X = rng.random((N_OBJECTS, N_COMPONENTS))
    m, eta, steps, sizes = N_TRAIN, 1.0 / (2 * ridge * N_TRAIN), [], []
    snapshot, g = X, gradient(X)
    for _ in range(epochs):
        for p in rng.integers(N_TRAIN, size=m):
            X = X - eta * (one(X, p) - one(snapshot, p) + g)
        old, before = snapshot, g
        snapshot, g = X, gradient(X)
        dX, dg = X - old, g - before
        if np.linalg.norm(dX) < 1e-6:  # at the optimum, where rounding decides
            break
        eta = float(np.vdot(dX, dX) / abs(np.vdot(dX, dg))) / m
        steps.append(m * eta)
        sizes += [np.abs(np.linalg.eigvalsh(_hessian(gradient, old + t * dX))) for t in np.linspace(0, 1, 5)]
    return {"steps": steps, "lowest": float(np.min(sizes)), "highest": float(np.max(sizes))}


def _hessian(gradient: Any, X: np.ndarray, h: float = 1e-5) -> np.ndarray:
    rows = [(gradient(X + h * e) - gradient(X - h * e)).ravel() / (2 * h) for e in np.eye(X.size).reshape(-1, *X.shape)]
    return 0.5 * (np.array(rows) + np.array(rows).T)
