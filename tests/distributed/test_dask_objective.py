"""The objective on a cluster against the one on this machine."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from contracts import assert_follows, assert_same_objective
from nearer.distributed import DaskObjective, open_data
from nearer.distributed.dask_objective import Loaded, evaluate, plan_steps, split
from nearer.losses import get_loss
from nearer.objective import LocalObjective, Objective, Snapshot
from nearer.solvers import get_solver
from oracles import LOSSES
from problems import FORMS, noisy_problem, random_problem


@pytest.mark.parametrize(
    ("loss", "form"), [(loss, FORMS[0]) for loss in LOSSES] + [("tste", form) for form in FORMS[1:]]
)
def test_equals_local(client, loss, form):
    problem = random_problem(loss, form, n=12, d=3, size=301)
    local, X = problem.objective, problem.X
    for n_shards in (1, 5):  # those of five are summed in two rounds
        remote = DaskObjective(local.comparisons, loss, 3, client=client, n_shards=n_shards)
        assert remote.n_shards == n_shards
        assert_same_objective(remote, local, X)


@pytest.mark.parametrize("hold", [True, False])
def test_shards_can_move_to_other_workers(client, parquet, hold):
    problem = random_problem("tste", "weighted triplets", n=12, d=3, size=900)
    data = open_data(parquet(problem.objective.comparisons), client, n_shards=2)
    shard = data.shards[1]
    loaded = Loaded(shard.pieces, shard, data.plan, problem.objective.loss, (12, 3), hold)
    moved = pickle.loads(pickle.dumps(loaded))
    for found, expected in zip(evaluate(moved, problem.X, "snapshot"), evaluate(loaded, problem.X, "snapshot")):
        np.testing.assert_array_equal(found, expected)


def test_signatures_are_those_of_the_protocols():
    assert_follows(DaskObjective, Objective)


@pytest.mark.parametrize("hold", [True, False])
def test_same_bits_twice_from_files(client, parquet, hold):
    problem = random_problem("tste", "weighted triplets", n=12, d=3, size=900)
    path = parquet(problem.objective.comparisons)
    results = []
    for _ in range(2):
        remote = DaskObjective(path, "tste", 3, client=client, n_shards=5, hold=hold)
        value, gradient = remote.value_and_gradient(problem.X)
        taken = remote.snapshot(problem.X)
        moved = remote.svrg_pass(taken.X, taken, 1e-3, 900, seed=5)
        results.append((value, gradient.tobytes(), taken.gradient.tobytes(), moved.tobytes()))
    assert results[0] == results[1]


def test_svrg_pass_by_hand(client):
    """Two shards: each walks alone with the common gradient and twice the step; the mean of both ends is the result."""
    problem = random_problem("ste", "weighted triplets", size=200)
    comparisons = problem.objective.comparisons
    halves = [LocalObjective(comparisons[rows], "ste", 3, n_jobs=1) for rows in (slice(0, 100), slice(100, 200))]
    weights = [float(half.comparisons.weights.sum()) for half in halves]
    remote = DaskObjective(comparisons, "ste", 3, client=client, n_shards=2)
    taken = remote.snapshot(problem.X)
    expected = problem.X.copy()
    for number, (share, steps) in plan_steps(weights, 2e-3, 150, 4, 0, True).items():
        assert steps[0] == pytest.approx(2e-3 / share)
        own = Snapshot(problem.X, 0.0, taken.gradient, halves[number].snapshot(problem.X).slopes)
        expected += share * (halves[number].svrg_pass(problem.X, own, *steps) - problem.X)
    np.testing.assert_allclose(remote.svrg_pass(taken.X, taken, 2e-3, 150, 4), expected, rtol=0, atol=1e-12)


def test_a_snapshot_that_the_workers_lost_is_taken_again(client):
    problem = random_problem("ste", size=200)
    remote = DaskObjective(problem.objective.comparisons, "ste", 3, client=client)
    taken = remote.snapshot(problem.X)
    halfway = remote.svrg_pass(taken.X, taken, 1e-3, 100, 4)
    end = remote.svrg_pass(halfway, taken, 1e-3, 100, 4, first=100)
    assert not np.allclose(end, halfway)
    anew = DaskObjective(problem.objective.comparisons, "ste", 3, client=client)
    np.testing.assert_array_equal(anew.svrg_pass(halfway, taken, 1e-3, 100, 4, first=100), end)


def test_expected_move_of_a_pass_is_the_full_gradient(client):
    """With a tiny step an inner pass moves by n_steps x step x gradient, whatever the number of shards."""
    problem = random_problem("tste", "weighted triplets", size=300)
    gradient = problem.objective.value_and_gradient(problem.X)[1]
    for n_shards in (1, 2, 5):
        remote = DaskObjective(problem.objective.comparisons, "tste", 3, client=client, n_shards=n_shards)
        taken = remote.snapshot(problem.X)
        moved = remote.svrg_pass(taken.X, taken, 1e-7, 1000, 1) - problem.X
        np.testing.assert_allclose(moved, -1e-4 * gradient, rtol=1e-2, atol=1e-9)


def test_sgd_pass(client):
    problem = noisy_problem("ste")
    remote = DaskObjective(problem.objective.comparisons, "ste", 2, client=client)
    X = remote.sgd_pass(problem.X, 0.05, 700, 3)
    assert remote.value(X) < remote.value(problem.X)
    np.testing.assert_array_equal(X, remote.sgd_pass(problem.X, 0.05, 700, 3))
    smaller = remote.sgd_pass(problem.X, 0.05, 700, 3, first=700, decay=1.0)
    assert np.linalg.norm(smaller - problem.X) < np.linalg.norm(X - problem.X) / 10


def test_adagrad_pass(client):
    problem = noisy_problem("ste")
    comparisons = problem.objective.comparisons
    memory = np.full(15, 0.5)
    remote = DaskObjective(comparisons, "ste", 2, client=client, n_shards=2)
    X, pulls, value = remote.adagrad_pass(problem.X, memory, 0.1, 600, 3)
    moved, added, expected = np.zeros_like(X), np.zeros(15), 0.0
    halves = [LocalObjective(comparisons[rows], "ste", 2, n_jobs=1) for rows in (slice(0, 350), slice(350, 700))]
    for number, (_, steps) in plan_steps([350.0, 350.0], 0.1, 600, 3, 0, False).items():
        end, own, loss = halves[number].adagrad_pass(problem.X, memory, *steps)
        moved, added, expected = moved + (end - problem.X) / 2, added + own - memory, expected + loss / 2
    np.testing.assert_allclose(X, problem.X + moved, atol=1e-12)
    np.testing.assert_allclose(pulls, memory + added, atol=1e-12)
    assert value == pytest.approx(expected)
    assert remote.value(X) < remote.value(problem.X)


def test_steps_are_divided_by_weight():
    rng = np.random.default_rng(0)
    for count in (0, 1, 7, 1000):
        sizes = rng.random(7)
        shares = split(count, sizes)
        assert sum(shares) == count
        assert np.all(np.abs(shares - count * sizes / sizes.sum()) <= 1)
    # Shards without steps are left out.
    ((share, steps),) = plan_steps([1.0, 1.0, 1.0], 0.1, 1, 0, 0, True).values()
    assert (share, steps[:2]) == (1.0, (0.1, 1))


@pytest.mark.parametrize("solver", ["svrg-sbb", "gd", "lbfgs", "auto", "svrg", "sgd"])
def test_solvers_run_unchanged(client, solver):
    problem = noisy_problem("tste")
    chosen = get_solver(solver)
    chosen.max_epochs = 4 if solver != "auto" else 30
    remote = DaskObjective(problem.objective.comparisons, "tste", 2, client=client)
    result = chosen.solve(remote, problem.X, 0)
    local = chosen.solve(problem.objective, problem.X, 0)
    assert result.objective < remote.value(problem.X)
    if solver in ("gd", "lbfgs"):
        assert result.objective == pytest.approx(local.objective, rel=1e-9)
        np.testing.assert_allclose(result.embedding, local.embedding, atol=1e-7)
    else:
        assert result.objective == pytest.approx(local.objective, rel=0.1)


def test_convex_solver_is_refused(client):
    problem = noisy_problem("ste")
    remote = DaskObjective(problem.objective.comparisons, "ste", 2, client=client)
    with pytest.raises(ValueError, match="convex: got DaskObjective, which has no smoothed"):
        get_solver("convex").solve(remote, problem.X)


def test_subset_is_a_random_part(client, parquet):
    problem = random_problem("ste", n=10, size=3000)
    whole = problem.objective.comparisons
    path = parquet(whole)
    for hold in (True, False):
        remote = DaskObjective(path, "ste", 3, client=client, n_shards=3, hold=hold)
        part = remote.subset(600, np.random.default_rng(0))
        assert isinstance(part, LocalObjective)
        assert part.n_comparisons == 600
        rows = {tuple(row) for row in whole.index.tolist()}
        assert all(tuple(row) in rows for row in part.comparisons.index.tolist())
        assert part.value(problem.X) == pytest.approx(remote.value(problem.X), rel=0.2)


@pytest.mark.parametrize("hold", [True, False])
def test_rows_and_another_loss(client, parquet, hold):
    problem = random_problem("ste", n=10, size=3000)
    whole, rows = problem.objective.comparisons, np.array([0, 7, 999, 1000, 1001, 2999])
    remote = DaskObjective(parquet(whole), "ste", 3, client=client, n_shards=3, hold=hold)
    np.testing.assert_array_equal(remote.comparisons_at(rows).index, whole.index[rows])
    np.testing.assert_array_equal(remote.comparisons_at(rows[:2]).index, whole.index[rows[:2]])
    other = remote.with_loss(get_loss("soe"), 3)
    assert_same_objective(other, LocalObjective(whole, "soe", 3), problem.X)


def test_large_points_are_sent_once(client, monkeypatch):
    monkeypatch.setattr("nearer.distributed.cluster._INLINE_BYTES", 0)
    problem = random_problem("tste", size=300)
    remote = DaskObjective(problem.objective.comparisons, "tste", 3, client=client)
    assert_same_objective(remote, problem.objective, problem.X)
