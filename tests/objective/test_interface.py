"""The interface is true: objectives follow it, and take parts of themselves alike."""

from __future__ import annotations

import numpy as np
import pytest

from contracts import assert_follows, assert_same_objective
from nearer import Comparisons
from nearer.losses import get_loss
from nearer.objective import LocalObjective, Objective, StreamedObjective, offers
from problems import MemorySource, random_problem


@pytest.mark.parametrize("cls", [LocalObjective, StreamedObjective])
def test_signatures_are_those_of_the_interface(cls):
    assert_follows(cls, Objective)


def test_who_offers_what():
    local = random_problem("ste").objective
    streamed = StreamedObjective(MemorySource(local.comparisons), "ste", 3, 9)
    methods = [name for name in vars(Objective) if not name.startswith("_") and callable(getattr(Objective, name))]
    methods.remove("value_at_zero")  # which follows from the loss
    assert all(offers(local, name) for name in methods)
    missing = {name for name in methods if not offers(streamed, name)}
    in_memory = {"split", "smoothed", "best_places", "descend"}
    assert missing == in_memory | {"gram_value_and_gradient", "gram_dual"}
    assert not offers(object(), "value")


def in_blocks(local):
    return StreamedObjective(MemorySource(local.comparisons), local.loss, 3, local.n_objects, block_size=50)


@pytest.mark.parametrize("made", [lambda local: local, in_blocks], ids=["memory", "blocks"])
def test_a_subset_is_a_random_part_without_repeats(made):
    problem = random_problem("ste", "weighted quadruplets", n=30, size=500)
    whole, objective = problem.objective.comparisons, made(problem.objective)
    part = objective.subset(120, np.random.default_rng(0))
    assert (part.n_comparisons, part.n_objects, part.n_components, part.loss) == (120, 30, 3, objective.loss)
    rows, chosen = ({(*row, w) for row, w in zip(one.index.tolist(), one.weights)} for one in (whole, part.comparisons))
    assert chosen <= rows
    assert len(chosen) == 120
    assert_same_objective(objective.subset(500, np.random.default_rng(0)), problem.objective, problem.X)


@pytest.mark.parametrize("made", [lambda local: local, in_blocks], ids=["memory", "blocks"])
def test_a_subset_holds_something_that_counts(made):
    weights = np.zeros(400)
    weights[317] = 2.5
    whole = Comparisons(random_problem("ste", size=400).Q, weights=weights)
    for seed in range(5):
        part = made(LocalObjective(whole, "ste", 3, 1)).subset(10, np.random.default_rng(seed))
        assert part.comparisons.weights.max() == 2.5
        assert part.n_comparisons == 10


@pytest.mark.parametrize("made", [lambda local: local, in_blocks], ids=["memory", "blocks"])
def test_rows_are_numbered_in_the_order_of_the_data(made):
    problem = random_problem("ste", "weighted quadruplets", n=30, size=500)
    whole, rows = problem.objective.comparisons, np.array([0, 3, 49, 50, 51, 270, 499])
    found = made(problem.objective).comparisons_at(rows)
    np.testing.assert_array_equal(found.index, whole.index[rows])
    np.testing.assert_array_equal(found.weights, whole.weights[rows])


@pytest.mark.parametrize("made", [lambda local: local, in_blocks], ids=["memory", "blocks"])
def test_another_loss_in_another_dimension(made):
    problem = random_problem("ste", n=30, size=500)
    other = made(problem.objective).with_loss(get_loss("soe"), 2)
    expected = LocalObjective(problem.objective.comparisons, "soe", 2)
    assert_same_objective(other, expected, problem.X[:, :2])
