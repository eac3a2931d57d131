"""SVRG: equal to the dense algorithm step for step, its step sizes, its work, its convergence."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from nearer import kernels
from nearer.data import Comparisons
from nearer.datasets import make_comparisons, make_points
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import BB, SBB, SVRG, Constant, Decaying
from problems import FORMS, MemorySource, noisy_problem, random_problem, random_rows

LOSSES = oracles.LOSSES
STEP = 0.03


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_lazy_pass_equals_dense_svrg_step_for_step(loss, form):
    problem = random_problem(loss, form, seed=6)
    objective, X = problem.objective, problem.X
    snapshot = objective.snapshot(X)
    draws = kernels.draw_many(77, 0, 130, len(problem.Q))
    path = oracles.dense_svrg(*problem.oracle, X, X, STEP, draws)
    assert np.linalg.norm(path[-1] - X) > 0.1
    for t, expected in enumerate(path):
        got = objective.svrg_pass(X, snapshot, STEP, t, seed=77)
        assert np.abs(got - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_lazy_pass_from_a_point_other_than_the_snapshot(loss, form):
    problem = random_problem(loss, form, seed=7)
    X, S = problem.X, problem.X + 0.1 * np.random.default_rng(0).normal(size=problem.X.shape)
    draws = kernels.draw_many(5, 13, 100, len(problem.Q))
    path = oracles.dense_svrg(*problem.oracle, X, S, STEP, draws)
    got = problem.objective.svrg_pass(X, problem.objective.snapshot(S), STEP, 100, seed=5, first=13)
    assert np.abs(got - path[-1]).max() <= 1e-9 * np.abs(path[-1]).max()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_mixed_pass_equals_dense_steps_one_by_one(loss, form):
    problem = random_problem(loss, form, seed=6)
    objective, X = problem.objective, problem.X
    covered = np.random.default_rng(1).permutation(len(problem.Q))[:15]
    snapshot, _ = objective.part_snapshot(X, covered[:6], covered[6:])
    draws = kernels.draw_many(77, 0, 130, len(problem.Q))
    path = oracles.dense_svrg(*problem.oracle, X, X, STEP, draws, set(covered.tolist()))
    assert np.linalg.norm(path[-1] - X) > 0.1
    for t in (0, 1, 2, 31, 32, 33, 64, 129, 130):
        got, reduced = objective.mixed_pass(X, snapshot, STEP, t, seed=77)
        assert np.abs(got - path[t]).max() <= 1e-9 * np.abs(path[t]).max()
        assert reduced == np.isin(draws[:t], covered).sum()


@pytest.mark.parametrize("form", FORMS)
def test_mixed_steps_are_along_the_full_gradient_on_average(form):
    problem = random_problem("tste", form, seed=3)
    objective, N = problem.objective, len(problem.Q)
    S = problem.X + 0.2 * np.random.default_rng(0).normal(size=problem.X.shape)
    snapshot, _ = objective.part_snapshot(S, np.arange(0), np.arange(10, 24))
    seeds = {int(kernels.draw(seed, 0, N)): seed for seed in range(4000)}  # one seed for each comparison
    assert len(seeds) == N
    steps = [objective.mixed_pass(problem.X, snapshot, 1.0, 1, seed=seed)[0] - problem.X for seed in seeds.values()]
    np.testing.assert_allclose(-np.mean(steps, axis=0), objective.value_and_gradient(problem.X)[1], atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [0, 1, 12, 25])
def test_a_snapshot_of_a_part(form, known):
    problem = random_problem("ckl", form, seed=4)
    rows = np.random.default_rng(2).permutation(len(problem.Q))[:25]
    snapshot, before = problem.objective.part_snapshot(problem.X, rows[:known], rows[known:])
    np.testing.assert_allclose(snapshot.gradient, oracles.part_gradient(*problem.oracle, rows, problem.X), atol=1e-12)
    expected = oracles.part_gradient(*problem.oracle, rows[:known], problem.X) if known else np.zeros_like(before)
    np.testing.assert_allclose(before, expected, atol=1e-12)
    near, far = oracles.squared_distances(problem.X, problem.Q[rows])
    losses = oracles.terms("ckl", near, far, problem.objective.loss.param)[0]
    scale = oracles.shares(problem.weights, len(problem.Q))[rows]
    assert snapshot.value == pytest.approx(np.mean(scale * losses))


def test_a_snapshot_of_everything_is_the_snapshot():
    problem = random_problem("soe", "weighted quadruplets", seed=5)
    whole = problem.objective.snapshot(problem.X)
    order = np.random.default_rng(0).permutation(len(problem.Q))
    part, _ = problem.objective.part_snapshot(problem.X, order[:7], order[7:])
    np.testing.assert_allclose(part.gradient, whole.gradient, atol=1e-14)
    np.testing.assert_array_equal(part.slopes, whole.slopes)
    assert part.value == pytest.approx(whole.value)


def test_a_snapshot_of_a_part_does_not_depend_on_the_threads():
    rng = np.random.default_rng(0)
    comparisons = Comparisons(random_rows("triplets", 30, 2_000, rng)[rng.integers(2_000, size=90_000)], n_objects=30)
    X, rows = rng.normal(size=(30, 2)), np.flatnonzero(rng.random(90_000) < 0.9)
    found = [LocalObjective(comparisons, "ste", 2, n_jobs=k).part_snapshot(X, rows[::2], rows[1::2]) for k in (1, 3)]
    for one, three in zip(*found):
        np.testing.assert_array_equal(getattr(one, "gradient", one), getattr(three, "gradient", three))
    part = LocalObjective(comparisons[rows], "ste", 2, n_jobs=1)
    np.testing.assert_allclose(found[1][0].gradient, part.value_and_gradient(X)[1], rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(np.isnan(found[1][0].slopes[0]), ~np.isin(np.arange(90_000), rows))


def test_growing_snapshots_follow_the_algorithm():
    """Covered comparisons double until they are all; the curvature is that of those covered before."""
    problem = random_problem("tste", "weighted triplets", seed=9)
    N, m, epsilon, eta = len(problem.Q), 50, 0.02, 0.05
    rng = np.random.default_rng(42)
    rng.spawn(1)  # as a run does for its output
    marks = rng.random(N, dtype=np.float32)
    S, share = problem.X, 0.15
    part = np.flatnonzero(marks <= share)
    work = len(part)
    points, steps, counts = [S], [], [work]
    while len(points) < 6:
        draws = kernels.draw_many(int(rng.integers(2**63)), 0, m, N)
        X = oracles.dense_svrg(*problem.oracle, S, S, eta, draws, set(part.tolist()))[-1]
        steps.append(eta)
        points.append(X)
        dX = X - S
        dg = oracles.part_gradient(*problem.oracle, part, X) - oracles.part_gradient(*problem.oracle, part, S)
        eta = np.sum(dX**2) / (m * (abs(np.sum(dX * dg)) + epsilon * np.sum(dX**2)))
        work += m + np.isin(draws, part).sum()
        S, share = X, 2 * share
        part = np.flatnonzero(marks <= share)
        work += len(part)
        counts.append(work)
    assert len(part) == N
    seen = []
    solver = SVRG(step=SBB(epsilon, 0.05), inner_steps=m, first_snapshot=0.15, max_epochs=5, tol=0)
    keep = [lambda row, state: seen.append((state.X.copy(), state))]
    result = solver.solve(problem.objective, problem.X, np.random.default_rng(42), keep)
    np.testing.assert_allclose([X for X, _ in seen], points, rtol=1e-8, atol=1e-10)
    assert result.history.to_dict()["step_size"][1:] == pytest.approx(steps, rel=1e-7)
    assert result.history.to_dict()["n_gradients"] == counts
    assert [state.provisional for _, state in seen] == [True, True, True, False, False, False]
    assert result.objective == pytest.approx(oracles.value(*problem.oracle, points[-1]))


def test_a_run_that_ends_while_snapshots_grow_tells_the_whole_objective():
    problem = random_problem("ste", size=100)
    result = SVRG(step=0.01, first_snapshot=0.1, max_epochs=1).solve(problem.objective, problem.X, 0)
    assert result.objective == problem.objective.value(result.embedding)
    assert result.history[-1].objective != result.objective


def test_open_questions_of_a_rule_are_measured_on_all_comparisons():
    problem = random_problem("ste", size=100)
    full, grown = (
        SVRG(step=SBB(), first_snapshot=share, max_epochs=1, inner_steps=20).solve(problem.objective, problem.X, 0)
        for share in (1.0, 0.1)
    )
    assert full.history[1].step_size == grown.history[1].step_size
    first = grown.history[0].n_gradients
    assert full.history[0].n_gradients == 100
    assert 0 < first < 30
    assert first + 200 + 20 + first < grown.n_gradients < first + 200 + 2 * 20 + 50


def test_a_share_below_one_comparison_covers_one():
    problem = random_problem("ste", size=3)
    for seed in range(5):
        result = SVRG(step=0.01, first_snapshot=1e-9, max_epochs=6).solve(problem.objective, problem.X, seed)
        assert result.history[0].n_gradients == 1
        assert np.isfinite(result.objective)


@pytest.mark.parametrize("first_snapshot", [1.0, 0.2])
def test_work_and_way_do_not_depend_on_the_output(first_snapshot):
    problem = random_problem("tste", size=100)
    seen = {}
    for output in ("last", "uniform"):
        points = []
        solver = SVRG(step=0.02, inner_steps=30, first_snapshot=first_snapshot, max_epochs=4, tol=0, output=output)
        result = solver.solve(problem.objective, problem.X, 3, [lambda row, state: points.append(state.X.copy())])  # noqa: B023
        seen[output] = points, result.history.to_dict()["n_gradients"]
    np.testing.assert_allclose(seen["last"][0], seen["uniform"][0], rtol=1e-10, atol=1e-13)
    assert seen["last"][1] == seen["uniform"][1]


@pytest.mark.parametrize("step", [SBB(0.0), BB()])
def test_a_flat_part_keeps_the_step(step):
    """A hinge comparison satisfied with room to spare has no curvature, and a first snapshot may have only such."""
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points = make_points(20, 2, scale=0.05**0.5, random_state=rng)
        data = make_comparisons(points, n_train=200, n_test=1, random_state=rng)
        objective = LocalObjective(data.train, "hinge", 2, n_jobs=1)
        start = np.random.default_rng(seed).normal(size=(20, 2))
        result = SVRG(step=step, first_snapshot=1e-9, max_epochs=5).solve(objective, start, seed)
        assert "no longer finite" not in result.message
        kept += result.history[1].step_size == result.history[2].step_size
    assert kept > 0


@pytest.mark.parametrize("form", ["triplets", "weighted quadruplets"])
@pytest.mark.parametrize("loss", LOSSES)
def test_growing_snapshots_end_where_others_do(loss, form):
    problem = noisy_problem(loss, form)
    results = [
        SVRG(step=SBB(), first_snapshot=share, max_epochs=400, tol=1e-7).solve(problem.objective, problem.X, 1)
        for share in (1.0, 0.02)
    ]
    assert results[1].objective == pytest.approx(results[0].objective, rel=0.02)


@pytest.mark.parametrize("cut", [0, 1, 31, 32, 33, 499, 500])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_pass_cut_in_two_equals_one_pass(loss, cut):
    problem = random_problem(loss, "weighted quadruplets", seed=8)
    objective, X = problem.objective, problem.X
    snapshot = objective.snapshot(X)
    whole = objective.svrg_pass(X, snapshot, 0.01, 500, seed=3)
    half = objective.svrg_pass(X, snapshot, 0.01, cut, seed=3)
    again = objective.svrg_pass(half, snapshot, 0.01, 500 - cut, seed=3, first=cut)
    np.testing.assert_allclose(again, whole, rtol=1e-9, atol=1e-12)


def test_epochs_follow_the_algorithm():
    """Three whole epochs: snapshot, step size and inner loop, from formulas alone."""
    problem = random_problem("tste", "weighted triplets", seed=9)
    m, epsilon, first = 50, 0.02, 0.05
    seeds = np.random.default_rng(42)
    S, expected, eta = problem.X, [problem.X], first
    g = oracles.gradient(*problem.oracle, S)
    steps = []
    for _ in range(3):
        draws = kernels.draw_many(int(seeds.integers(2**63)), 0, m, len(problem.Q))
        X = oracles.dense_svrg(*problem.oracle, S, S, eta, draws)[-1]
        steps.append(eta)
        expected.append(X)
        new = oracles.gradient(*problem.oracle, X)
        dX, dg = X - S, new - g
        eta = np.sum(dX**2) / (m * (abs(np.sum(dX * dg)) + epsilon * np.sum(dX**2)))
        S, g = X, new
    seen = []
    solver = SVRG(step=SBB(epsilon, first), inner_steps=m, max_epochs=3, tol=0)
    result = solver.solve(problem.objective, problem.X, 42, [lambda row, state: seen.append(state.X.copy())])
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-11)
    assert result.history[0].step_size is None
    assert result.history.to_dict()["step_size"][1:] == pytest.approx(steps, rel=1e-8)
    assert result.objective == pytest.approx(oracles.value(*problem.oracle, expected[-1]))


@pytest.mark.parametrize("step", [SBB(), SBB(epsilon=0.1), SBB(first_step=0.01), SBB(0.1, 0.01)])
@pytest.mark.parametrize("inner_steps", [None, 17])
def test_work_is_counted_by_formula(step, inner_steps):
    problem = random_problem("ste")
    N, m = len(problem.Q), inner_steps or len(problem.Q)
    result = SVRG(step=step, inner_steps=inner_steps, max_epochs=4, tol=0).solve(problem.objective, problem.X, 0)
    measuring = N if step != SBB(0.1, 0.01) else 0
    expected = [N, *(N + measuring + s * (N + 2 * m) for s in range(1, 5))]
    assert result.history.to_dict()["n_gradients"] == expected
    assert result.n_gradients == expected[-1]


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (SVRG(inner_steps=0), "svrg: inner_steps: got 0, expected at least 1"),
        (SVRG(inner_steps=2.5), "svrg: inner_steps"),
        (SVRG(step=Decaying()), "svrg: step: got Decaying.*, expected SBB, BB, Constant or a positive number"),
        (SVRG(step="sbb"), "svrg: step: got 'sbb', expected SBB"),
        (SVRG(first_snapshot=0), r"svrg: first_snapshot: got 0, expected a number in \(0, 1\]"),
        (SVRG(first_snapshot=1.5), "svrg: first_snapshot"),
        (SVRG(first_snapshot=True), "svrg: first_snapshot: got True, expected a number in"),
        (SVRG(first_snapshot=float("nan")), "svrg: first_snapshot"),
        (SVRG(first_snapshot="all"), "svrg: first_snapshot: got 'all', expected a number in"),
        (SVRG(warm_up=-1), "svrg: warm_up: got -1, expected a number >= 0"),
        (SVRG(warm_up="two"), "svrg: warm_up: got 'two', expected a number >= 0"),
        (SVRG(step=-0.1), "Constant: first_step: got -0.1, expected a positive number or None"),
    ],
)
def test_bad_parameters_are_refused(solver, message):
    problem = random_problem("ste")
    with pytest.raises(ValueError, match=message):
        solver.solve(problem.objective, problem.X)


def test_warm_up_is_damped_adagrad_then_svrg_from_there():
    problem = random_problem("tste", size=300)
    objective, N, n = problem.objective, len(problem.Q), problem.objective.n_objects
    rng = np.random.default_rng(5)
    rng.spawn(1)  # as a run does for its output
    seed = int(rng.integers(2**63))
    draws = [kernels.draw(seed, t, N) for t in range(100)]
    near, far = oracles.squared_distances(problem.X, problem.Q[draws])
    _, a, b = oracles.terms("tste", near, far, objective.loss.param)
    typical = np.mean([(2 * a) ** 2 * near, (2 * b) ** 2 * far])
    X, _, met = objective.adagrad_pass(problem.X, np.full(n, 20 * typical), 2.0, 2 * N - 100, seed, 100)
    old = objective.snapshot(X)
    expected = objective.svrg_pass(X, old, 0.01, N, int(rng.integers(2**63)))
    result = SVRG(step=0.01, warm_up=2, max_epochs=2, tol=0).solve(objective, problem.X, np.random.default_rng(5))
    np.testing.assert_allclose(result.embedding, expected, rtol=1e-9)
    assert list(result.history.column("n_gradients")) == [2 * N, 3 * N, 6 * N]
    assert list(result.history.column("objective")[:2]) == pytest.approx([met, old.value])


def test_what_an_objective_cannot_do_is_refused_by_name():
    problem = random_problem("ste")

    streamed = StreamedObjective(MemorySource(problem.objective.comparisons), "ste", 3, 9)
    expected = "svrg: got StreamedObjective, which has no part_snapshot, mixed_pass; "
    with pytest.raises(ValueError, match=f"{expected}use first_snapshot=1"):
        SVRG(step=0.01, first_snapshot=0.1).solve(streamed, problem.X, 0)


def test_a_number_is_a_constant_step():
    problem = random_problem("ste")
    runs = [
        SVRG(step=step, max_epochs=3, tol=0).solve(problem.objective, problem.X, 1)
        for step in (0.01, np.float32(0.01), Constant(0.01))
    ]
    np.testing.assert_array_equal(runs[0].embedding, runs[2].embedding)
    np.testing.assert_allclose(runs[0].embedding, runs[1].embedding, rtol=1e-6)
    assert set(runs[0].history.column("step_size")[1:]) == {0.01}


@pytest.mark.parametrize("form", ["triplets", "weighted quadruplets"])
@pytest.mark.parametrize("epsilon", [0.003, 0.1])
@pytest.mark.parametrize("loss", ["ckl", "ste", "tste"])
def test_step_sizes_obey_both_bounds(loss, epsilon, form):
    problem = noisy_problem(loss, form, size=300)
    objective = problem.objective
    points = []
    result = SVRG(step=SBB(epsilon), max_epochs=12, tol=0).solve(
        objective, problem.X, 0, [lambda row, state: points.append(state.X.copy())]
    )
    m = objective.n_comparisons
    steps = result.history.column("step_size")
    assert len(steps) == 13
    for s in range(2, len(points)):  # step s comes from the move between snapshots s - 2 and s - 1
        at = np.linspace(0, 1, 5)[:, None, None]
        segment = (1 - at) * points[s - 2] + at * points[s - 1]
        L = 1.02 * max(oracles.largest_curvature(objective, X) for X in segment)  # between them it may be larger
        assert 1 / (m * (L + epsilon)) <= steps[s] <= 1 / (m * epsilon) * (1 + 1e-12)


def test_gradient_norm_of_the_uniform_iterate_falls_with_the_number_of_steps():
    problem = noisy_problem("tste", size=400, noise=0.2)
    start = np.random.default_rng(0).normal(size=problem.X.shape)

    def squared_norm(n_epochs, seed):
        solver = SVRG(step=SBB(), max_epochs=n_epochs, tol=0, output="uniform")
        X = solver.solve(problem.objective, start, seed).embedding
        return np.sum(problem.objective.value_and_gradient(X)[1] ** 2)

    epochs = np.array([2, 8, 32, 128])
    mean = np.array([np.mean([squared_norm(n, seed) for seed in range(24)]) for n in epochs])
    assert (np.diff(mean) < 0).all()
    assert (mean * epochs <= 4 * mean[0] * epochs[0]).all()  # O(1 / T)
