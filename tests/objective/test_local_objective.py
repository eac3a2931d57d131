"""The objective in memory: finite differences, oracles, weights, threads, input."""

from __future__ import annotations

import itertools
import multiprocessing
import threading

import numpy as np
import pytest

import oracles
from nearer.data import Comparisons
from nearer.metrics import comparison_accuracy
from nearer.objective import LocalObjective, block_bounds, in_order, resolve_jobs
from problems import FORMS, random_problem, random_rows

LOSSES = oracles.LOSSES


def _away_from_kinks(loss, X, Q):
    near, far = oracles.squared_distances(X, Q)
    margin = 1 + near - far if loss == "hinge" else 1 + np.sqrt(near) - np.sqrt(far)
    return np.abs(margin).min() > 1e-3 if loss in ("hinge", "soe") else True


def _assert_gradient(objective, X):
    value, gradient = objective.value_and_gradient(X)
    numeric = oracles.numeric_gradient(objective.value, X, h=1e-4)
    assert value == objective.value(X)
    assert np.abs(gradient - numeric).max() <= 1e-6 * np.abs(numeric).max()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_by_finite_differences(loss, form):
    problems = (random_problem(loss, form, seed=seed) for seed in range(20))
    problem = next(p for p in problems if _away_from_kinks(loss, p.X, p.Q))
    _assert_gradient(problem.objective, problem.X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_value_gradient_error_match_oracle(loss, form):
    problem = random_problem(loss, form, seed=2)
    objective, X = problem.objective, problem.X
    value, gradient = objective.value_and_gradient(X)
    assert value == pytest.approx(oracles.value(*problem.oracle, X), rel=1e-12)
    np.testing.assert_allclose(gradient, oracles.gradient(*problem.oracle, X), rtol=1e-10, atol=1e-14)
    assert objective.error(X) == pytest.approx(oracles.error(problem.Q, problem.weights, X), abs=1e-14)
    snapshot = objective.snapshot(X)
    assert snapshot.value == value
    np.testing.assert_array_equal(snapshot.gradient, gradient)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["hinge", "ckl", "ste"])
def test_gram_form_matches_oracle_and_points(loss, form):
    problem = random_problem(loss, form, seed=5)
    K = problem.X @ problem.X.T
    value, gradient, slopes = problem.objective.gram_value_and_gradient(K)
    expected = oracles.gram_value_and_gradient(*problem.oracle, K)
    assert value == pytest.approx(expected[0], rel=1e-12)
    assert value == pytest.approx(problem.objective.value(problem.X), rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(slopes, expected[2], rtol=1e-10)
    # chain rule: K = X X^T, so dF/dX = 2 G X
    np.testing.assert_allclose(
        2 * gradient @ problem.X, problem.objective.value_and_gradient(problem.X)[1], rtol=1e-9, atol=1e-13
    )


def test_ties_and_nan_count_as_errors():
    objective = LocalObjective(Comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 3]]), "ste", 1)
    assert objective.error(np.array([[0.0], [1.0], [-1.0], [np.nan]])) == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_threads_do_not_change_bits(form):
    rng = np.random.default_rng(0)
    index = rng.permuted(np.tile(np.arange(30), (100_000, 1)), axis=1)[:, : 3 if "triplets" in form else 4]
    weights = rng.random(len(index)) if form.startswith("weighted") else None
    comparisons = Comparisons(index, weights=weights)
    X = rng.normal(size=(30, 4))
    results = []
    for n_jobs in (1, 2, 3, None):
        objective = LocalObjective(comparisons, "tste", 4, n_jobs)
        assert len(objective._blocks()) > 2
        value, gradient = objective.value_and_gradient(X)
        snapshot = objective.snapshot(X)
        results.append(
            (value, objective.value(X), objective.error(X), gradient.tobytes(), snapshot.slopes[0].tobytes())
        )
    assert len(set(results)) == 1


def test_blocks_follow_the_data_and_suffice_for_many_cores():
    sizes = [(1, 3), (16_384, 3), (40_000, 3), (500_000, 1_000), (5_000_000, 1_000), (5_000_000, 100_000)]
    bounds = [block_bounds(*size) for size in sizes]
    assert [len(found) for found in bounds] == [1, 1, 2, 16, 76, 6]
    for (n_comparisons, _), found in zip(sizes, bounds):
        assert (found[0][0], found[-1][1]) == (0, n_comparisons)
        assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
        assert np.ptp([stop - start for start, stop in found]) <= 1


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_order_and_few_are_kept_waiting(n_jobs):
    lock, waiting, most = threading.Lock(), 0, 0

    def task(number):
        nonlocal waiting, most
        with lock:
            waiting += 1
            most = max(most, waiting)
        return number * number

    for number, result in enumerate(in_order(task, range(200), n_jobs)):
        assert result == number * number
        with lock:
            waiting -= 1
    assert number == 199
    assert most <= n_jobs + 2


def _value_in_child(objective, X, queue):
    queue.put(objective.value(X))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_use_threads():
    rng = np.random.default_rng(0)
    index = rng.permuted(np.tile(np.arange(20), (70_000, 1)), axis=1)[:, :3]
    objective = LocalObjective(Comparisons(index), "ste", 2, 2)
    X = rng.normal(size=(20, 2))
    here = objective.value(X)  # the pool now exists in this process
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_value_in_child, args=(objective, X, queue))
    child.start()
    assert queue.get(timeout=60) == here
    child.join(timeout=60)


def test_points_are_checked_and_never_changed():
    problem = random_problem("ste")
    objective, X = problem.objective, problem.X
    with pytest.raises(ValueError, match=r"points: got shape \(9, 2\), expected \(9, 3\)"):
        objective.value(X[:, :2])
    before = X.copy()
    snapshot = objective.snapshot(X)
    objective.svrg_pass(X, snapshot, 0.1, 50, seed=1)
    objective.sgd_pass(X, 0.1, 50, seed=1)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(snapshot.X, before)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert objective.value(frozen) == objective.value(X)
    assert objective.value(np.asfortranarray(X)) == objective.value(X)
    assert objective.value(X.astype(np.float32)) == pytest.approx(objective.value(X), rel=1e-5)


def test_number_of_threads():
    assert resolve_jobs(3) == 3
    assert resolve_jobs(None) == resolve_jobs(-1) >= 1
    assert resolve_jobs(-1000) == 1
    for bad in (0, True, 1.5, "2"):
        with pytest.raises(ValueError, match=r"n_jobs: got .*, expected a positive integer"):
            resolve_jobs(bad)


def test_comparisons_changed_by_force_never_reach_a_kernel():
    comparisons = Comparisons([[0, 1, 2], [1, 2, 0]], n_objects=3)
    owner = comparisons.index
    while owner.base is not None:
        owner = owner.base
    owner.flags.writeable = True
    for wrong in (3, 10**8, -1):
        owner[1, 2] = wrong
        with pytest.raises(ValueError, match=f"got object {wrong:,}, expected 0 to 2"):
            LocalObjective(comparisons, "ste", 2)
        with pytest.raises(ValueError, match="expected 0 to 2"):
            comparison_accuracy(np.zeros((3, 2)), comparisons)


@pytest.mark.parametrize("form", FORMS)
def test_a_split_keeps_questions_whole_and_every_object(form):
    rows = np.tile(random_rows(form, 12, 150, np.random.default_rng(0)), (2, 1))  # every question twice
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(rows)) if form.startswith("weighted") else None
    objective = LocalObjective(Comparisons(rows, n_objects=12, weights=weights), "ste", 2, 1)
    kept, held_out = objective.split(0.3, np.random.default_rng(2))
    assert kept.n_comparisons + held_out.n_comparisons == 300
    assert 50 < held_out.n_comparisons < 130
    parts = [{tuple(row) for row in part.comparisons.index.tolist()} for part in (kept, held_out)]
    assert not parts[0] & parts[1]
    assert set(kept.comparisons.index.ravel()) == set(range(12))
    assert kept.loss == held_out.loss == objective.loss
    assert (kept.comparisons.weights is None) == (weights is None)


def test_an_object_named_once_is_never_held_out():
    rows = np.concatenate([random_rows("triplets", 6, 100, np.random.default_rng(0)), [[6, 0, 1]]])
    objective = LocalObjective(Comparisons(rows), "ste", 2, 1)
    for seed in range(10):
        kept, held_out = objective.split(0.6, np.random.default_rng(seed))
        assert 6 in kept.comparisons.index
        assert 6 not in held_out.comparisons.index


def test_what_kernels_write_to_has_the_shape_of_the_problem():
    problem, other = random_problem("ste", "triplets", size=40), random_problem("ste", "triplets", size=30)
    with pytest.raises(ValueError, match="snapshot: got one of 30 comparisons, expected 40"):
        problem.objective.svrg_pass(problem.X, other.objective.snapshot(other.X), 0.1, 10, 0)
    with pytest.raises(ValueError, match="Gram matrix: got shape"):
        problem.objective.gram_value_and_gradient(np.eye(2))
