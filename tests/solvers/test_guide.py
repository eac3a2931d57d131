"""The guided start: what it does to small maps that one plain start would leave in a poor place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nearer.datasets import make_comparisons, make_points
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import Auto
from nearer.solvers.guide import guided_start, main_axes, sample_for_guide
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
    found = guided_start(problem.objective, problem.X, np.random.default_rng(0), states.append)
    assert found is states[-1]
    assert all(state.X.shape == (15, d) and state.provisional for state in states)
    assert (np.diff([state.n_gradients for state in states]) >= 0).all()
    last = problem.objective.smoothed(1.0).value(states[-1].X)
    assert last < 0.8 * problem.objective.value_at_zero()
    assert states[-1].value == pytest.approx(last, rel=1e-12)


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


def test_main_axes_come_first_and_keep_what_they_span():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(50, 2)) * [3.0, 1.0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    seen = main_axes(np.column_stack([flat, np.zeros(50)]) @ turn + 7.0, 2)
    np.testing.assert_allclose(seen.mean(axis=0), 0.0, atol=1e-12)
    assert seen[:, 0].std() > seen[:, 1].std()
    centred = flat - flat.mean(axis=0)
    np.testing.assert_allclose(seen @ seen.T, centred @ centred.T, atol=1e-9)
