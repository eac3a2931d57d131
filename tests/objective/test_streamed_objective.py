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


@pytest.mark.parametrize("size", [9, 40])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", loss_names())
def test_stochastic_passes_step_by_step(loss, form, size):
    """Each block in turn, in the order drawn, as many steps as it is long; weights relative to those of all data."""
    problem = random_problem(loss, form)
    disk, X, step, n_steps, seed, first = in_blocks(problem, size), problem.X, 0.02, 60, 3, 7
    rng = np.random.default_rng([seed, first])
    draws = []
    for start in np.concatenate([rng.permutation(np.arange(0, 40, size)) for _ in range(2)]):
        length = min(size, 40 - start)
        steps = range(len(draws), min(len(draws) + length, n_steps))
        draws += [start + kernels.draw(seed, first + t, length) for t in steps]
    snapshot, memory = disk.snapshot(X + 0.1), np.linspace(0.0, 1.0, len(X))
    plain = oracles.sgd(*problem.oracle, X, [step] * n_steps, draws)[-1]
    reduced = oracles.dense_svrg(*problem.oracle, X, snapshot.X, step, draws)[-1]
    adapted = oracles.adagrad(*problem.oracle, X, memory, step, draws)
    for got, expected in (
        (disk.sgd_pass(X, step, n_steps, seed, first), plain),
        (disk.svrg_pass(X, snapshot, step, n_steps, seed, first), reduced),
        *zip(disk.adagrad_pass(X, memory, step, n_steps, seed, first), adapted),
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


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
