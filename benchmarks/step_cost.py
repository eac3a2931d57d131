"""What an inner SVRG step costs as the number of objects grows: lazy (as in the library) against a dense loop.

``python -m benchmarks.step_cost`` measures both in one run and in turns, and saves the tables under
``benchmarks/results``. Inner steps run on one thread; the full gradient of an epoch, the same for both, on one thread
and on all cores. The dense loop is written as well as we can: compiled like the library's kernel, slopes at the
snapshot kept, the dense term scaled beforehand, and one contiguous subtraction per step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from benchmarks import common
from nearer import kernels
from nearer.data import Comparisons
from nearer.datasets import make_points
from nearer.metrics import comparison_distances
from nearer.objective import LocalObjective

Rows = list[dict[str, Any]]
LOSS = "tste"


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def dense_pass(index, kind, param, lapse, X, S, g, d_near, d_far, step, seed, first, n_steps):
    """Inner SVRG steps on triplets, the dense term applied to every row at every step; X (n, d) in place."""
    n_rows, d = X.shape
    shift = step * g
    flat, flat_shift = X.reshape(-1), shift.reshape(-1)
    near_diff, far_diff = np.empty(d), np.empty(d)
    for t in range(first, first + n_steps):
        p = kernels.draw(seed, t, index.shape[0])
        i, j, k = index[p, 0], index[p, 1], index[p, 2]
        near, far = 0.0, 0.0
        for c in range(d):
            near_diff[c] = X[i, c] - X[j, c]
            far_diff[c] = X[i, c] - X[k, c]
            near += near_diff[c] * near_diff[c]
            far += far_diff[c] * far_diff[c]
        a, b = kernels.loss_slopes(kind, param, lapse, near, far)
        for c in range(n_rows * d):
            flat[c] -= flat_shift[c]
        for c in range(d):
            u = 2.0 * step * (a * near_diff[c] - d_near[p] * (S[i, c] - S[j, c]))
            v = 2.0 * step * (b * far_diff[c] - d_far[p] * (S[i, c] - S[k, c]))
            X[i, c] -= u + v
            X[j, c] += u
            X[k, c] += v


class Problem:
    """Triplets by true distance over n random points, a starting point, and both ways to take inner steps."""

    def __init__(self, n: int, d: int, n_comparisons: int, loss: str = LOSS, n_jobs: int | None = 1, seed: int = 0):
        rng = np.random.default_rng(seed)
        points = make_points(n, d, random_state=rng)
        anchor = rng.integers(n, size=n_comparisons)
        one, other = rng.integers(1, n, size=n_comparisons), rng.integers(1, n - 1, size=n_comparisons)
        other += other >= one  # the three differ
        index = np.column_stack([anchor, (anchor + one) % n, (anchor + other) % n])
        near, far = comparison_distances(points, index)
        index[near > far] = index[near > far][:, [0, 2, 1]]
        self.objective = LocalObjective(Comparisons(index, n_objects=n), loss, d, n_jobs)
        self.X = rng.normal(size=(n, d))
        self.snapshot = self.objective.snapshot(self.X)
        self.step = 1e-3 / len(index)

    def lazy(self, n_steps: int) -> float:
        """Seconds of the library's kernel for so many steps, what happens once an epoch left out."""
        loss, snapshot = self.objective.loss, self.snapshot
        rows = np.stack([self.X, snapshot.gradient, snapshot.X], axis=1)
        return _seconds(
            lambda: kernels.svrg_pass(
                self.objective._index, self.objective._scale, *loss.code, rows, *snapshot.slopes,
                self.step, 1, 0, n_steps,
            )
        )  # fmt: skip

    def dense(self, n_steps: int) -> float:
        X = self.X.copy()
        return _seconds(lambda: self._dense_steps(X, n_steps))

    def lazy_epoch(self) -> float:
        """Seconds of a whole epoch: full gradient, then as many steps as comparisons."""
        return _seconds(lambda: self.end_of_lazy_epoch())

    def dense_epoch(self) -> float:
        return _seconds(lambda: self.end_of_dense_epoch())

    def end_of_lazy_epoch(self) -> np.ndarray:
        snapshot = self.objective.snapshot(self.X)
        return self.objective.svrg_pass(self.X, snapshot, self.step, self.objective.n_comparisons, seed=1)

    def end_of_dense_epoch(self) -> np.ndarray:
        X = self.X.copy()
        self.snapshot = self.objective.snapshot(self.X)
        self._dense_steps(X, self.objective.n_comparisons)
        return X

    def _dense_steps(self, X: np.ndarray, n_steps: int) -> None:
        loss, snapshot = self.objective.loss, self.snapshot
        dense_pass(
            self.objective._index, *loss.code, X, snapshot.X, snapshot.gradient, *snapshot.slopes,
            self.step, 1, 0, n_steps,
        )  # fmt: skip


def by_objects(repeats: int, d: int = 10, n_comparisons: int = 200_000) -> Rows:
    """One inner step at d = 10, 200,000 triplets whatever the number of objects; nanoseconds, median and quartiles."""
    sizes = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
    problems = {n: Problem(n, d, n_comparisons) for n in sizes}
    lazy: dict[int, list[float]] = {n: [] for n in sizes}
    dense: dict[int, list[float]] = {n: [] for n in sizes}
    lazy_steps = 200_000
    for turn in range(repeats + 1):
        for n, problem in problems.items():  # in turns, so that a slow spell of the machine hits all alike
            dense_steps = max(50, int(1e8 / (n * d)))
            pair = problem.lazy(lazy_steps) / lazy_steps, problem.dense(dense_steps) / dense_steps
            if turn > 0:  # the first turn warms up
                lazy[n].append(1e9 * pair[0])
                dense[n].append(1e9 * pair[1])
    least = min(np.median(values) for values in lazy.values())
    rows = []
    for n in sizes:
        one, other = common.spread(lazy[n]), common.spread(dense[n])
        rows.append({
            "objects": n, "lazy ns": one["median"], "lazy q25": one["q25"], "lazy q75": one["q75"],
            "dense ns": other["median"], "dense q25": other["q25"], "dense q75": other["q75"],
            "dense / lazy": other["median"] / one["median"], "lazy / least lazy": one["median"] / least,
        })  # fmt: skip
    return rows


def by_epoch(repeats: int, n: int = 1080, d: int = 18, n_comparisons: int = 60_000) -> Rows:
    """A whole epoch at n = 1080, d = 18, 60,000 triplets, by loss and cores; milliseconds, median and quartiles."""
    cases = [(loss, n_jobs) for loss in ("hinge", "ste", "tste") for n_jobs in (1, None)]
    problems = {case: Problem(n, d, n_comparisons, *case) for case in cases}
    far_apart = {
        case: float(np.abs(problem.end_of_lazy_epoch() - problem.end_of_dense_epoch()).max())
        for case, problem in problems.items()
    }
    times: dict[tuple[str, int | None], list[tuple[float, float]]] = {case: [] for case in cases}
    for _ in range(repeats):
        for case, problem in problems.items():
            times[case].append((1e3 * _steady(problem.lazy_epoch), 1e3 * _steady(problem.dense_epoch)))
    rows = []
    for (loss, n_jobs), problem in problems.items():
        one, other = (common.spread(list(column)) for column in zip(*times[loss, n_jobs]))
        rows.append({
            "loss": loss, "cores": problem.objective.n_jobs, "lazy ms": one["median"],
            "lazy q25": one["q25"], "lazy q75": one["q75"], "dense ms": other["median"], "dense q25": other["q25"],
            "dense q75": other["q75"], "dense / lazy": other["median"] / one["median"],
            "largest difference of a coordinate": far_apart[loss, n_jobs],
        })  # fmt: skip
    return rows


def _steady(epoch: Callable[[], float]) -> float:
    """Seconds of an epoch that follows one of its kind, as in a fit: the first warms the caches."""
    epoch()
    return epoch()


def _seconds(task: Callable[[], Any]) -> float:
    started = time.perf_counter()
    task()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="measurements of each figure (default 15)")
    repeats = parser.parse_args().repeats
    for name, part in (("step_cost", by_objects), ("epoch_cost", by_epoch)):
        rows = part(repeats)
        print(f"{part.__doc__}\n\n{common.table(rows)}", flush=True)
        common.save(name, rows, about=part.__doc__, loss=LOSS, repeats=repeats)


if __name__ == "__main__":
    main()
