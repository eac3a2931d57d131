"""The protocols are true: objectives follow them, and solvers ask for nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from contracts import assert_follows
from nearer.objective import (
    GramObjective,
    GrowingObjective,
    GuidingObjective,
    LocalObjective,
    Objective,
    SampledObjective,
    SmoothableObjective,
    SplittableObjective,
    StreamedObjective,
)
from nearer.solvers import base
from problems import MemorySource, random_problem

PROTOCOLS = (
    Objective, SampledObjective, GrowingObjective, SmoothableObjective, GramObjective, SplittableObjective,
    GuidingObjective,
)  # fmt: skip
# What solvers call objectives.
OBJECTIVES = ("objective", "self.objective", "batch", "part", "on", "few", "narrow", "smooth", "wide")
SOLVERS = sorted(Path(base.__file__).parent.glob("*.py"))


def test_signatures_are_those_of_the_protocols():
    assert_follows(LocalObjective, *PROTOCOLS)
    assert_follows(StreamedObjective, SampledObjective)


def test_who_offers_what():
    local = random_problem("ste").objective
    streamed = StreamedObjective(MemorySource(local.comparisons), "ste", 3, 9)
    assert [isinstance(local, protocol) for protocol in PROTOCOLS] == [True] * 7
    assert [isinstance(streamed, protocol) for protocol in PROTOCOLS] == [True, True, False, False, False, False, False]


@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.name)
def test_solvers_use_what_a_protocol_names(path):
    named = {name for protocol in PROTOCOLS for name in (*dir(protocol), *protocol.__annotations__)}
    named |= set(Objective.__annotations__)
    used = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in OBJECTIVES
    }
    assert used <= named


@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.name)
def test_solvers_ask_by_isinstance_only(path):
    """`Solver.require` alone names what is missing."""
    calls = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr")
        if ast.unparse(node.args[0]) in OBJECTIVES
    ]
    assert calls == (["hasattr(objective, name)"] if path.name == "base.py" else [])


def test_every_protocol_is_exported():
    import nearer.objective

    protocols = {name for name, found in vars(nearer.objective).items() if getattr(found, "_is_protocol", False)}
    assert protocols - {"Protocol"} <= set(nearer.objective.__all__)
