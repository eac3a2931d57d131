"""The interface is true: objectives follow it, and solvers ask for nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nearer.solvers
from contracts import assert_follows
from nearer.objective import LocalObjective, Objective, StreamedObjective, offers
from problems import MemorySource, random_problem

# What solvers call objectives.
OBJECTIVES = ("objective", "self.objective", "batch", "part", "on", "few", "narrow", "smooth", "wide", "self._batch")
SOLVERS = sorted(Path(nearer.solvers.__file__).parent.glob("*.py"))


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
    in_memory = {"split", "smoothed", "with_loss", "best_places", "descend"}
    assert missing == in_memory | {"gram_value_and_gradient", "gram_dual"}
    assert not offers(object(), "value")


@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.name)
def test_solvers_use_what_the_interface_names(path):
    named = set(dir(random_problem("ste").objective)) & (set(dir(Objective)) | {"n_objects", "n_components", "loss"})
    named |= {"n_comparisons", "n_columns", "pays_in_one_call"}
    used = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in OBJECTIVES
    }
    assert used <= named
