"""Time of an inner SVRG step by number of objects: the dense loop, and the one that puts the dense term off."""

from __future__ import annotations

import time

import numpy as np
from _common import PALETTE, panels, save
from numba import njit

from nearer import Comparisons
from nearer.objective import LocalObjective

D = 5


@njit
def dense_pass(index, X, S, g, d_near, d_far, step, draws):
    """The steps as the algorithm is written, with the logistic loss."""
    for p in draws:
        i, j, k = index[p]
        near, far, u, v = 0.0, 0.0, X[i] - X[j], X[i] - X[k]
        for c in range(X.shape[1]):
            near += u[c] * u[c]
            far += v[c] * v[c]
        slope = 2.0 / (1.0 + np.exp(far - near))
        a0, b0 = 2.0 * d_near[p], 2.0 * d_far[p]
        for c in range(X.shape[1]):
            du = slope * u[c] - a0 * (S[i, c] - S[j, c])
            dv = -slope * v[c] - b0 * (S[i, c] - S[k, c])
            X[i, c] -= step * (du + dv)
            X[j, c] += step * du
            X[k, c] += step * dv
        for r in range(X.shape[0]):
            for c in range(X.shape[1]):
                X[r, c] -= step * g[r, c]


def timed(task, *args) -> float:
    """Seconds of the fastest of three calls."""
    best = np.inf
    for _ in range(3):
        begun = time.perf_counter()
        task(*args)
        best = min(best, time.perf_counter() - begun)
    return best


sizes, dense, lazy = (30, 100, 300, 1_000, 3_000, 10_000), [], []
for n in sizes:
    rng = np.random.default_rng(n)
    answers = Comparisons.from_points(rng.normal(size=(n, D)), 20 * n, random_state=rng)
    objective = LocalObjective(answers, "ste", D, n_jobs=1)
    snapshot = objective.snapshot(rng.normal(size=(n, D)))
    draws = rng.integers(len(answers), size=max(200, 1_000_000 // n))
    args = (answers.index, snapshot.X.copy(), snapshot.X, snapshot.gradient, *snapshot.slopes, 1e-6)
    dense_pass(*args, draws[:1])
    dense.append(1e9 * timed(dense_pass, *args, draws) / len(draws))
    steps = 200_000
    objective.svrg_pass(snapshot.X, snapshot, 1e-6, 1, 0)
    lazy.append(1e9 * timed(objective.svrg_pass, snapshot.X, snapshot, 1e-6, steps, 0) / steps)

figure, (ax,) = panels(width=6.0)
ax.plot(sizes, dense, color=PALETTE[1], marker="o", label="as written: O(n d)")
ax.plot(sizes, lazy, color=PALETTE[0], marker="o", label="dense term put off: O(d)")
ax.set(xscale="log", yscale="log", xlabel="Objects", ylabel="Nanoseconds for an inner step")
ax.legend(frameon=False)
save(figure, __file__)
