"""What the authors' programs do in retrieval, against literal transcriptions of their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.table2.authors import (
    Embedding,
    GrowingBatch,
    PlainConvex,
    WeakCorrections,
    before_projection,
    first_eigenpairs,
    map_features,
    scores_with_query,
    squared_distances,
)

from nearer import Comparisons, kernels
from nearer.metrics.retrieval import retrieval_scores
from nearer.objective import LocalObjective
from nearer.solvers import Convex
from nearer.solvers.convex import project_psd
from nearer.solvers.solver import no_progress

pytestmark = pytest.mark.tools

rng = np.random.default_rng(0)
TRAIN, TEST = rng.normal(size=(12, 3)), rng.normal(size=(7, 3))
PLACES = rng.normal(size=(12, 4))
LABELS = np.array([0, 0, 1, 1, 1, 2, 2])


def rbf(A, sig):
    """The Gaussian kernel by inner products; of complex points by A times its conjugate transpose."""
    K = A @ A.conj().T / sig**2
    d = np.diag(K)
    return np.exp(K - d[None, :] / 2 - d[:, None] / 2)


def distances(A):
    squares = (A**2).sum(axis=1)
    return squares[:, None] + squares[None, :] - 2 * A @ A.conj().T


@pytest.mark.parametrize("imaginary", [[False] * 4, [True] * 4, [True, True, False, False]])
def test_the_map_is_that_of_the_formulas(imaginary):
    X = np.where(imaginary, 1j * PLACES, PLACES)
    data = np.concatenate([TRAIN, TEST])
    K = rbf(X, distances(X).mean())
    coefficients = np.linalg.solve(K + 0.1 * np.eye(12), X)
    literal = rbf(data, distances(data).mean())[12:, :12] @ coefficients
    embedding = Embedding(PLACES, np.array(imaginary))
    mapped = map_features(embedding, TRAIN, TEST, own_kernel=True, authors_width=True)
    np.testing.assert_allclose(np.where(imaginary, 1j * mapped, mapped), literal, atol=1e-10)
    np.testing.assert_allclose(squared_distances(mapped, embedding.imaginary), distances(literal).real, atol=1e-10)


@pytest.mark.parametrize("authors_width", [False, True])
def test_kernel_and_width_are_switches_of_their_own(authors_width):
    def mean(A):
        squared = distances(A)
        return squared.mean() if authors_width else squared[~np.eye(len(A), dtype=bool)].mean()

    def gamma(A):
        return 1 / (2 * mean(A) ** 2) if authors_width else 1 / mean(A)

    def kernel(A, B, g):
        return np.exp(-g * ((A[:, None] - B[None]) ** 2).sum(axis=-1))

    features = gamma(np.concatenate([TRAIN, TEST]) if authors_width else TRAIN)
    offset = PLACES.mean(axis=0)
    printed = np.linalg.solve(kernel(TRAIN, TRAIN, features) + 0.1 * np.eye(12), PLACES - offset)
    own = np.linalg.solve(kernel(PLACES, PLACES, gamma(PLACES)) + 0.1 * np.eye(12), PLACES)
    for own_kernel, expected in (
        (False, kernel(TEST, TRAIN, features) @ printed + offset),
        (True, kernel(TEST, TRAIN, features) @ own),
    ):
        mapped = map_features(Embedding.real(PLACES), TRAIN, TEST, own_kernel, authors_width)
        np.testing.assert_allclose(mapped, expected, atol=1e-10)


def test_ranking_with_the_query_in_it_one_by_one():
    points = rng.normal(size=(7, 2))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    precisions, recalls, averages = [], [], []
    for query, label in enumerate(LABELS):
        ranked = sorted(range(7), key=lambda other: squared[query, other])
        assert ranked[0] == query
        hits = [LABELS[other] == label for other in ranked]
        size = int((label == LABELS).sum())
        precisions.append(sum(hits[:4]) / 4)
        recalls.append([sum(hits[:k]) / size for k in (4, 6)])
        averages.append(sum(sum(hits[: q + 1]) / (q + 1) for q in range(4) if hits[q]) / size)
    found = scores_with_query(squared, LABELS, (4, 6))
    assert found["map"] == pytest.approx(np.mean(averages))
    assert found["precision_at_40"] == pytest.approx(np.mean(precisions))
    assert found["recall"] == pytest.approx(np.mean(recalls, axis=0))


def test_the_query_raises_every_score():
    points = rng.normal(size=(7, 2))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    found, without = scores_with_query(squared, LABELS, (3,)), retrieval_scores(points, LABELS, k=3)
    assert found["map"] > without.mean_average_precision[0]
    assert found["recall"][0] > without.recall[0]


def test_first_eigenpairs_are_the_smallest_and_negative_ones_imaginary():
    A = rng.normal(size=(6, 6))
    A += A.T
    values, vectors = np.linalg.eigh(A)
    found = first_eigenpairs(A, 2)
    signs = np.where(found.imaginary, -1, 1)
    expected = (vectors[:, :2] * values[:2]) @ vectors[:, :2].T
    np.testing.assert_allclose((found.places * signs) @ found.places.T, expected, atol=1e-12)
    assert values[:2].max() < values[2:].min()
    assert found.imaginary.tolist() == (values[:2] < 0).tolist()
    assert first_eigenpairs(A @ A, 3).imaginary.tolist() == [False] * 3


def test_first_eigenpairs_of_a_matrix_that_is_not_symmetric_come_as_lapack_gives_them():
    A = np.diag([3.0, 1.0, 2.0]) + np.triu(np.full((3, 3), 0.1), 1)
    found = first_eigenpairs(A, 1, symmetric=False)
    np.testing.assert_allclose(np.abs(found.places[:, 0]), [3**0.5, 0, 0], atol=1e-12)


def triplets(n, count, seed=0):
    draw = np.random.default_rng(seed)
    return Comparisons.from_triplets(np.array([draw.choice(n, 3, replace=False) for _ in range(count)]), n_objects=n)


@pytest.mark.parametrize("loss", ["hinge", "ste"])
@pytest.mark.parametrize("as_published", [False, True])
def test_projected_gradient_step_by_step(loss, as_published):
    n, count, step = 8, 40, 0.3
    comparisons = triplets(n, count)
    objective = LocalObjective(comparisons, loss, 2, n_jobs=1)
    X0 = np.random.default_rng(1).random((n, 2))
    solver = PlainConvex(step=step, as_published=as_published)
    state = solver.init(objective, X0, None, no_progress)
    K = seen = X0 @ X0.T
    total = np.zeros((n, n))
    for _ in range(4):
        G = np.zeros((n, n))
        for i, j, k in comparisons.index:
            z = (seen[j, j] - 2 * seen[i, j]) - (seen[k, k] - 2 * seen[i, k])
            w = float(z + 1 > 0) if loss == "hinge" else 1 / (1 + np.exp(-z))
            both = {(False, "hinge"): 1, (False, "ste"): 1, (True, "hinge"): 4, (True, "ste"): 0}[as_published, loss]
            G[i, j] -= both * w if both else 2 * w
            G[j, i] -= both * w
            G[i, k] += both * w if both else 2 * w
            G[k, i] += both * w
            G[j, j] += w
            G[k, k] -= w
        total = total + G if as_published and loss == "hinge" else G
        before = K - step * n * total / count
        if as_published and loss == "ste":
            values, vectors = np.linalg.eig(before)
            values, vectors = values.real, vectors.real
            K = (vectors[:, values > 0] * values[values > 0]) @ vectors[:, values > 0].T
        else:
            K = project_psd(before)
        seen = before if as_published and loss == "hinge" else K
        state = solver.advance(objective, state)
        found, symmetric = before_projection(solver, objective, state)
        np.testing.assert_allclose(found, before, atol=1e-9)
        np.testing.assert_allclose(state.memory["K"], K, atol=1e-9)
        assert symmetric == np.allclose(before, before.T)
    assert state.n_gradients == 4 * count


@pytest.mark.parametrize("loss", ["hinge", "ste"])
def test_the_accelerated_method_projects_the_matrix_before_the_projection(loss):
    objective = LocalObjective(triplets(8, 40), loss, 2, n_jobs=1)
    solver = Convex(relative_lam=0.1)
    state = solver.init(objective, np.random.default_rng(1).random((8, 2)), np.random.default_rng(0), no_progress)
    for _ in range(30):  # the step is found by halving in the first iterations, and may grow and be halved again
        before, symmetric = before_projection(solver, objective, state)
        new = solver.advance(objective, state)
        assert symmetric
        if new.step_size == state.memory["step"]:
            np.testing.assert_allclose(new.memory["K"], project_psd(before), atol=1e-9)
            return
        state = new
    pytest.fail("the step was halved in every iteration")


def test_batch_steps_grow_and_are_halved():
    objective = LocalObjective(triplets(8, 40), "ste", 2, n_jobs=1)
    X, eta, previous, steps = np.random.default_rng(1).random((8, 2)), 60.0, np.inf, []
    solver = GrowingBatch(step=eta)
    state = solver.init(objective, X, None, no_progress)
    for _ in range(12):
        value, gradient = objective.value_and_gradient(X)
        X = X - eta * gradient
        eta *= 1.01 if previous > value + 1e-5 / 40 else 0.5
        previous = value
        state = solver.epoch(objective, state, None)
        np.testing.assert_allclose(state.X, X, rtol=1e-9, atol=1e-12)
        steps.append(eta)
    ratios = np.round(np.array(steps[1:]) / steps[:-1], 6)
    assert set(ratios) == {0.5, 1.01}


def test_weak_corrections_step_by_step():
    n, count = 6, 30
    comparisons = triplets(n, count)
    objective = LocalObjective(comparisons, "ste", 2, n_jobs=1)
    snapshot = objective.snapshot(np.random.default_rng(1).random((n, 2)))
    X = snapshot.X + 0.1
    drawn = kernels.draw_many(7, 0, 5, count)
    expected = X.copy()
    for p in drawn:
        one = LocalObjective(comparisons[[int(p)]], "ste", 2, n_jobs=1)
        change = one.value_and_gradient(expected)[1] - one.value_and_gradient(snapshot.X)[1]
        expected = expected - 0.2 * (n / count * change + snapshot.gradient)
    found = WeakCorrections(objective).svrg_pass(X, snapshot, 0.2, 5, 7, first=0)
    np.testing.assert_allclose(found, expected, atol=1e-12)
