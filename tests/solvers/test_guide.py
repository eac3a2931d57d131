"""The guided start: what it does to small maps that one plain start would leave in a poor place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer import OrdinalEmbedding
from nearer.data import Comparisons
from nearer.datasets import make_comparisons, make_points
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import Auto
from nearer.solvers.guide import (
    _best,
    _best_scale,
    _Guide,
    _lines,
    _shuffled,
    guided_start,
    main_axes,
    sample_for_guide,
)
from nearer.solvers.lbfgs import Descent, descend
from problems import MemorySource, noisy_problem


def hard_case(d, n=40, seed=3, noise=0.1):
    data = make_comparisons(make_points(n, d, random_state=seed), 60 * n, 2000, noise=noise, random_state=seed)
    return data.train, data.test


@pytest.mark.parametrize(("d", "loss"), list(itertools.product([1, 2], ["ckl", "tste", "soe", "softplus"])))
def test_one_guided_fit_is_as_good_as_the_best_of_many_plain_starts(d, loss):
    train, _ = hard_case(d)
    objective = LocalObjective(train, loss, d, n_jobs=1)

    def value(solver, seed):
        rng = np.random.default_rng(seed)
        return solver.solve(objective, rng.normal(size=(train.n_objects, d)), rng).objective

    plain = [value(Auto(guide=0), seed) for seed in range(8)]
    slack = 0.002 * objective.value_at_zero()
    assert value(Auto(), 0) <= min(plain) + slack
    if d == 1:  # that this is a hard case
        assert np.median(plain) > min(plain) + slack


def test_a_line_is_found_by_a_plain_fit():
    train, test = hard_case(1, n=60, noise=0.0)
    for seed in range(3):
        assert OrdinalEmbedding(1, loss="tste", random_state=seed).fit(train).score(test) > 0.97


@pytest.mark.parametrize(("d", "guided"), [(1, True), (2, True), (3, True), (4, False)])
def test_maps_of_up_to_three_dimensions_are_guided(d, guided):
    problem = noisy_problem("tste", d=d)
    message = Auto().solve(problem.objective, problem.X, 0).message
    assert ("guide over 700 comparisons" in message) == guided
    assert ("AdaGrad" in message) != guided
    assert "guide" not in Auto(guide=0).solve(problem.objective, problem.X, 0).message


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("form", ["weighted triplets", "quadruplets"])
def test_every_state_is_a_map_of_the_right_shape_and_work_never_falls(form, d):
    problem = noisy_problem("hinge", form, d=d)
    states = []
    X, work = guided_start(problem.objective, problem.X, np.random.default_rng(0), states.append)
    assert work == states[-1].n_gradients
    np.testing.assert_array_equal(X, states[-1].X)
    assert all(state.X.shape == (15, d) and state.provisional for state in states)
    assert (np.diff([state.n_gradients for state in states]) >= 0).all()
    last = problem.objective.smoothed(1.0).value(states[-1].X)
    assert last < 0.8 * problem.objective.value_at_zero()
    assert states[-1].value == pytest.approx(last, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_same_seed_same_bits_on_any_number_of_threads(d):
    rng = np.random.default_rng(0)
    triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(300)])
    train = Comparisons(np.tile(triplets, (200, 1)))  # several blocks
    maps = [
        OrdinalEmbedding(d, loss="tste", n_jobs=n_jobs, random_state=5, max_seconds=None).fit(train).embedding_
        for n_jobs in (1, 2, 2)
    ]
    np.testing.assert_array_equal(maps[0], maps[1])
    np.testing.assert_array_equal(maps[1], maps[2])


def test_the_sample_of_many_comparisons_is_a_part_of_them():
    problem = noisy_problem("ste", size=5000)
    rng = np.random.default_rng(0)
    part = sample_for_guide(problem.objective, rng)
    assert part.n_comparisons == 1500
    assert part.loss == problem.objective.loss
    few = noisy_problem("ste", size=900).objective
    assert sample_for_guide(few, rng) is few
    line = LocalObjective(noisy_problem("ste", size=9000).objective.comparisons, "ste", 1)
    assert sample_for_guide(line, rng).n_comparisons == 6000  # the best order on a line is hardest to tell


def test_streamed_comparisons_are_guided():
    train, test = hard_case(1)
    objective = StreamedObjective(MemorySource(train), "tste", 1, train.n_objects, n_jobs=1, block_size=500)
    rng = np.random.default_rng(0)
    result = Auto().solve(objective, rng.normal(size=(train.n_objects, 1)), rng)
    assert "guide over 2,400 comparisons" in result.message
    assert result.objective == pytest.approx(LocalObjective(train, "tste", 1).value(result.embedding), rel=1e-10)
    assert LocalObjective(test, "tste", 1).error(result.embedding) < 0.06


def test_without_a_part_in_memory_there_is_no_guide():
    problem = noisy_problem("ste")

    class Elsewhere(LocalObjective):
        def subset(self, size, rng):
            return Cluster()

    class Cluster:
        pass

    far = Elsewhere(problem.objective.comparisons, "ste", 2)
    far.n_comparisons = 10**6
    assert sample_for_guide(far, np.random.default_rng(0)) is None


def test_main_axes_come_first_and_keep_what_they_span():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(50, 2)) * [3.0, 1.0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    seen = main_axes(np.column_stack([flat, np.zeros(50)]) @ turn + 7.0, 2)
    np.testing.assert_allclose(seen.mean(axis=0), 0.0, atol=1e-12)
    assert seen[:, 0].std() > seen[:, 1].std()
    centred = flat - flat.mean(axis=0)
    np.testing.assert_allclose(seen @ seen.T, centred @ centred.T, atol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-3, 1.0, 2.0**6])
def test_the_scale_is_found_from_far_away(factor):
    problem = noisy_problem("ste")
    best = min(problem.objective.value(2.0**k * problem.X) for k in range(-12, 13))
    X, value, tries = _best_scale(problem.objective, factor * problem.X)
    assert value == problem.objective.value(X)
    assert value <= best + 1e-3 * problem.objective.value_at_zero()
    assert tries <= 30


def test_a_flat_map_is_seen_from_all_sides_and_unrolled():
    angles = np.linspace(0.1, 6.1, 30)
    lines = _lines(np.column_stack([3.0 * np.cos(angles), np.sin(angles)]))
    assert len(lines) == 16
    for line in lines:
        assert line.shape == (30, 1)
        assert abs(line.mean()) < 1e-12
    x = np.cos(angles)
    np.testing.assert_allclose(lines[0][:, 0], 3.0 * (x - x.mean()), atol=1e-12)
    assert (np.diff(lines[8][:, 0]) > 0).all()  # cut where it began
    for line in lines[9:]:  # ... or elsewhere: it goes round once
        assert (np.diff(line[:, 0]) < 0).sum() == 1


def test_a_block_of_neighbours_goes_elsewhere():
    rng = np.random.default_rng(0)
    line = np.random.default_rng(1).normal(size=(12, 1))
    place = np.argsort(np.argsort(line[:, 0]))
    seen = set()
    for _ in range(300):
        moved = _shuffled(line, rng)
        np.testing.assert_array_equal(np.sort(moved, axis=0), np.sort(line, axis=0))
        new = np.argsort(np.argsort(moved[:, 0]))[np.argsort(place)]  # where the k-th object is now
        broken = np.abs(np.diff(new)) != 1
        assert broken.sum() <= 3  # all but three pairs of neighbours remain neighbours
        seen.add(tuple(new))
    assert len(seen) > 100
    for n in (2, 3):
        assert np.sort(_shuffled(line[:n], rng), axis=0).tolist() == np.sort(line[:n], axis=0).tolist()


def test_the_best_maps_are_the_lowest_and_each_there_once():
    maps = [(2.0, "b"), (float("nan"), "?"), (1.0, "a"), (3.0, "c"), (1.0, "a again")]
    assert [value for value, _ in _best(maps, 2)] == [1.0, 2.0]
    assert np.isnan(_best(maps, 9)[-1][0])


def test_a_small_descent_is_one_state_and_arrives_where_a_long_one_does():
    problem = noisy_problem("tste")
    unit = problem.objective.value_at_zero()
    long = descend(problem.objective, problem.X, Descent(tol=1e-3, patience=3, unit=unit))
    states = []
    guide = _Guide(np.random.default_rng(0), states.append, 2)
    value, _ = guide.descent(problem.objective, problem.X, 1e-3, 3)
    assert value == pytest.approx(long.value, rel=1e-9)
    assert [state.n_gradients for state in states] == [guide.work] == [long.n_gradients]
    many = LocalObjective(Comparisons(np.tile(problem.objective.comparisons.index, (60, 1))), "tste", 2, n_jobs=1)
    assert not many.pays_in_one_call
    guide.descent(many, problem.X, 1e-3, 3)
    assert len(states) > 4


def test_more_than_three_dimensions_may_be_guided():
    problem = noisy_problem("tste", d=5)
    result = Auto(guide=5).solve(problem.objective, problem.X, 0)
    assert "guide" in result.message
    assert result.embedding.shape == (15, 5)
