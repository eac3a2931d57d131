"""Entries of Table 1 recomputed from the paper's formulas in plain NumPy, without the kernels of the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.synthetic import N_COMPONENTS, TARGET, data
from experiments.tables import only, read_csv

pytestmark = pytest.mark.tools

RESULTS = Path(__file__).parents[1] / "table1" / "results"
N, n = 10_000, 100


@pytest.fixture(scope="module")
def triplets():
    return data(0, 0).train.index


@pytest.fixture
def start():
    return np.random.default_rng([0, 1, 0, 0]).random((n, N_COMPONENTS))


@pytest.fixture(scope="module")
def entry():
    if not (RESULTS / "runs.csv").is_file():
        pytest.skip("there is no saved table to compare with")
    rows = read_csv(RESULTS / "runs.csv")
    return lambda **values: only(rows, draw=0, start=0, **values)["work"]


def drawn(seed, first, count):
    """The comparisons of steps `first` and on: SplitMix64 of the step number."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(11)).astype(float) * 2.0**-53 * N).astype(int)


def slopes(loss, near, far):
    """df/dnear and df/dfar."""
    if loss == "hinge":
        active = (1 + near - far > 0) * 1.0
        return active, -active
    if loss == "ste":
        s = 1 / (1 + np.exp(far - near))
        return s, -s
    alpha = N_COMPONENTS - 1
    h = (alpha + 1) / 2
    s = 1 / (1 + ((1 + far / alpha) / (1 + near / alpha)) ** h)
    return s * h / (alpha + near), -s * h / (alpha + far)


def full_gradient(loss, X, T):
    a, b = X[T[:, 0]] - X[T[:, 1]], X[T[:, 0]] - X[T[:, 2]]
    u, v = (2 * s[:, None] / len(T) for s in slopes(loss, (a**2).sum(1), (b**2).sum(1)))
    parts = [(0, u * a + v * b), (1, -u * a), (2, -v * b)]
    columns = range(X.shape[1])
    return sum(np.stack([np.bincount(T[:, c], part[:, d], len(X)) for d in columns], axis=1) for c, part in parts)


def one_gradient(loss, X, t):
    i, j, k = t
    a, b = X[i] - X[j], X[i] - X[k]
    u, v = (2 * s for s in slopes(loss, a @ a, b @ b))
    return np.array([u * a + v * b, -u * a, -v * b])


def error(X, T):
    near, far = (((X[T[:, 0]] - X[T[:, c]]) ** 2).sum(1) for c in (1, 2))
    return np.mean(near >= far)


def test_svrg_sbb_by_algorithm_1(triplets, start, entry):
    epsilon, eta, m, rng = 0.005, 0.05, N, np.random.default_rng([0, 2, 0, 0])
    X, snapshot, g, work = start.copy(), None, None, 0
    while error(X, triplets) > TARGET:
        old, before = snapshot, g
        snapshot, g = X.copy(), full_gradient("tste", X, triplets)
        work += N
        if old is not None:
            dX, dg = snapshot - old, g - before
            size = (dX**2).sum()
            eta = size / (abs((dX * dg).sum()) + epsilon * size) / m
        for p in drawn(int(rng.integers(2**63)), 0, m):
            t = triplets[p]
            correction = one_gradient("tste", X, t) - one_gradient("tste", snapshot, t)
            X -= eta * g
            X[t] -= eta * correction
            work += 2
            if work % 1000 == 0 and error(X, triplets) <= TARGET:
                break
    assert work / N == pytest.approx(entry(settings="authors", loss="tste", method="sbb"), abs=0.11)


def test_sgd(triplets, start, entry):
    rows = read_csv(RESULTS / "tuning.csv")
    settings = only((r for r in rows if "target" in (r["chosen_for"] or "")), draw=0, loss="hinge", method="sgd")[
        "absolute"
    ]
    X, work = start.copy(), 0
    seed = int(np.random.default_rng([0, 2, 0, 0]).integers(2**63))
    while error(X, triplets) > TARGET:
        for p in drawn(seed, work, 1000):
            t = triplets[p]
            X[t] -= settings["step"] / (1 + settings["decay"] * work / N) * one_gradient("hinge", X, t)
            work += 1
    assert work / N == pytest.approx(entry(settings="tuned", loss="hinge", method="sgd"), abs=0.11)


def test_batch_with_the_authors_growing_step(triplets, start, entry):
    X, eta, last, work = start.copy(), 5e-4 * n, np.inf, N
    while error(X, triplets) > TARGET:
        a, b = (((X[triplets[:, 0]] - X[triplets[:, c]]) ** 2).sum(1) for c in (1, 2))
        now = np.logaddexp(0, a - b).mean()
        X = X - eta * full_gradient("ste", X, triplets)
        eta *= 1.01 if last - now > 1e-5 / N else 0.5
        last, work = now, work + N
    assert work / N == pytest.approx(entry(settings="authors", loss="ste", method="batch"), abs=1.01)
