"""Comparisons that come in blocks: the same numbers as in memory, and memory that does not follow the data."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from contracts import assert_same_objective
from nearer import Comparisons, kernels
from nearer.datasets import make_comparisons, make_points
from nearer.losses import loss_names
from nearer.objective import LocalObjective, StreamedObjective
from nearer.solvers import SBB, SGD, SVRG, Auto, Decaying
from problems import FORMS, MemorySource, random_problem


def in_blocks(problem, size, **options):
    local = problem.objective
    source = MemorySource(local.comparisons)
    return StreamedObjective(source, local.loss, local.n_components, local.n_objects, block_size=size, **options)


@pytest.mark.parametrize("size", [1, 7, 40, 1_000])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", loss_names())
def test_blocks_equal_memory(loss, form, size):
    problem = random_problem(loss, form)  # the weight of the first row is zero: with size 1, that of a whole block
    assert_same_objective(in_blocks(problem, size), problem.objective, problem.X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", loss_names())
def test_passes_over_one_block_are_those_in_memory(loss, form):
    problem = random_problem(loss, form)
    disk, local, X = in_blocks(problem, 40), problem.objective, problem.X
    memory = np.linspace(0.0, 1.0, len(X))
    for n_steps, first in ((30, 0), (25, 13)):
        rest = n_steps, 5, first
        for got, expected in (
            (disk.sgd_pass(X, 0.1, *rest, 0.1), local.sgd_pass(X, 0.1, *rest, 0.1)),
            tuple(one.svrg_pass(X, one.snapshot(X + 0.1), 0.1, *rest) for one in (disk, local)),
            *zip(disk.adagrad_pass(X, memory, 0.1, *rest), local.adagrad_pass(X, memory, 0.1, *rest)),
        ):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_stochastic_passes_over_many_blocks_step_by_step(form):
    """Each block in turn, in the order drawn, as many steps as it is long; weights relative to those of all data."""
    problem = random_problem("ste", form)
    name, param, Q, weights = problem.oracle
    share = oracles.shares(weights, len(Q))
    disk, seed, step, size, n_steps = in_blocks(problem, 9), 3, 0.05, 9, 60
    rng = np.random.default_rng([seed, 0])
    starts = np.concatenate([rng.permutation(np.arange(0, 40, size)) for _ in range(2)])
    snapshot = disk.snapshot(problem.X + 0.1)
    plain, reduced, t = problem.X.copy(), problem.X.copy(), 0
    for start in starts:
        length = min(size, 40 - start)
        for _ in range(min(length, n_steps - t)):
            p = start + kernels.draw(seed, t, length)
            here, there = (share[p] * oracles.row_gradient(name, param, Q[p], Z) for Z in (reduced, snapshot.X))
            plain -= step * share[p] * oracles.row_gradient(name, param, Q[p], plain)
            reduced -= step * (here - there + snapshot.gradient)
            t += 1
    assert t == n_steps
    np.testing.assert_allclose(disk.sgd_pass(problem.X, step, n_steps, seed), plain, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        disk.svrg_pass(problem.X, snapshot, step, n_steps, seed), reduced, rtol=1e-10, atol=1e-12
    )


SOLVERS = [Auto(), SVRG(step=SBB(), max_epochs=30), SGD(step=Decaying(step=1.0), max_epochs=100)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_solvers_reach_in_blocks_what_they_reach_in_memory(solver):
    data = make_comparisons(make_points(60, 3, random_state=0), n_train=6_000, n_test=2_000, random_state=1)
    X0 = np.random.default_rng(5).normal(size=(60, 3))
    held_out = LocalObjective(data.test, "tste", 3)
    local = solver.solve(LocalObjective(data.train, "tste", 3), X0, rng=6)
    disk = solver.solve(StreamedObjective(MemorySource(data.train), "tste", 3, 60, block_size=1_000), X0, rng=6)
    assert held_out.error(disk.embedding) == pytest.approx(held_out.error(local.embedding), abs=0.02)


def test_a_source_that_names_other_objects_never_reaches_a_kernel():
    source = MemorySource(Comparisons([[0, 1, 2], [1, 2, 300]], n_objects=301))
    objective = StreamedObjective(source, "ste", 2, 3, block_size=1)
    X = np.zeros((3, 2))
    for call in (objective.value, objective.value_and_gradient, objective.error, objective.snapshot):
        with pytest.raises(ValueError, match="got object 300, expected 0 to 2"):
            call(X)
    with pytest.raises(ValueError, match="got object 300, expected 0 to 2"):
        objective.sgd_pass(X, 0.1, 10, 0)
