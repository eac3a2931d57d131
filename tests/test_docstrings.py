"""Docstrings are numpydoc: entries have types, name real parameters, and sections follow the known order."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import nearer

ROOT = Path(nearer.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "References", "Examples")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)( : .*)?$")


def documented(text):
    """Functions and classes of a file with their docstrings, by name and line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            doc = ast.get_docstring(node)
            if doc:
                yield node, doc


def sections(doc):
    """The lines of each section of a docstring."""
    lines, found, name = doc.splitlines(), {}, None
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line in SECTIONS and below and set(below) == {"-"}:
            name = line
            found[name] = []
        elif name is not None and not (line and set(line) == {"-"}):
            found[name].append(line)
    return found


def parameters_of(node):
    if isinstance(node, ast.ClassDef):
        inits = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
        declared = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
        fields = {target.id for target in declared if isinstance(target, ast.Name)}
        return fields.union(*(parameters_of(init) for init in inits)) if inits or fields else None
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {arg.arg for arg in [*named, *filter(None, (given.vararg, given.kwarg))]}


def faults(text):
    """What is wrong with the docstrings of a file, with line numbers."""
    for node, doc in documented(text):
        first = doc.splitlines()[0]
        if not first.rstrip().endswith((".", "?", ":")) and len(doc.splitlines()) > 1:
            yield node.lineno, f"{node.name}: the first line is not a sentence: {first!r}"
        found = sections(doc)
        order = [SECTIONS.index(name) for name in found]
        if order != sorted(order):
            yield node.lineno, f"{node.name}: sections in the order {list(found)}"
        known = parameters_of(node)
        entries = found.get("Parameters", [])
        for line, below in zip(entries, [*entries[1:], ""]):
            if not line.strip() or line.startswith(" "):
                continue
            entry = ENTRY.match(line)
            elsewhere = below.strip().lower().startswith("as in")
            if entry is None or (entry[2] is None and not elsewhere):
                yield node.lineno, f"{node.name}: {line!r} names no type"
                continue
            names = {name.lstrip("*") for name in entry[1].split(", ")}
            if known is not None and not names <= known and not isinstance(node, ast.ClassDef):
                yield node.lineno, f"{node.name}: {sorted(names - known)} is no parameter"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docstrings_are_numpydoc(path):
    assert [f"{path.relative_to(ROOT)}:{line} {what}" for line, what in faults(path.read_text())] == []


USED_BY_PEOPLE = (
    "", ".io", ".losses", ".metrics", ".plots", ".selection", ".people", ".questions", ".datasets", ".distributed",
    ".reports",
)  # fmt: skip


@pytest.mark.parametrize("name", USED_BY_PEOPLE)
def test_what_a_package_offers_is_in_the_reference(name):
    pages = Path(__file__).parents[1] / "docs/api"
    text = "".join(page.read_text() for page in pages.glob("*.md"))
    told = re.findall(r"^::: \S+?(\w+)$", text, re.MULTILINE)
    assert set(importlib.import_module(f"nearer{name}").__all__) - set(told) <= {"__version__"}
