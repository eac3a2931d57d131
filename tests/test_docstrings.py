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


def repeated(text):
    """Functions whose docstring has a section that says no more than the annotation of what they return."""
    for node, doc in documented(text):
        returned = ast.unparse(node.returns) if getattr(node, "returns", None) else None
        for name in ("Returns", "Yields"):
            said = [line.strip() for line in sections(doc).get(name, []) if line.strip()]
            if said == [returned] or said == [re.sub(r"^Iterator\[(.*)\]$", r"\1", returned or "")]:
                yield node.lineno, f"{node.name}: {name} repeats the signature"


LAYERS = ("data", "io", "objective", "solvers", "distributed", "metrics", "selection", "reports", "plots", "cli")


@pytest.mark.parametrize("layer", LAYERS)
def test_docstrings_do_not_repeat_the_signature(layer):
    found = ((path, fault) for path in sorted((ROOT / layer).rglob("*.py")) for fault in repeated(path.read_text()))
    assert [f"{path.relative_to(ROOT)}:{line} {what}" for path, (line, what) in found] == []


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        ("def f() -> int", "Returns\n    -------\n    int", True),
        ("def f() -> Iterator[int]", "Yields\n    ------\n    int", True),
        ("def f() -> int", "Returns\n    -------\n    int\n        A count.", False),
        ("def f() -> ndarray", "Returns\n    -------\n    ndarray of int, shape (n,)", False),
    ],
)
def test_the_reader_of_repetitions_sees_what_it_must(head, body, found):
    assert bool(list(repeated(f'{head}:\n    """Give.\n\n    {body}\n    """\n'))) == found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docstrings_are_numpydoc(path):
    assert [f"{path.relative_to(ROOT)}:{line} {what}" for line, what in faults(path.read_text())] == []


@pytest.mark.parametrize(
    ("doc", "what"),
    [
        ("Add.\n\n    Parameters\n    ----------\n    a : int\n    b : int", None),
        ("Add.\n\n    Parameters\n    ----------\n    a\n    b : int", "names no type"),
        ("Add.\n\n    Parameters\n    ----------\n    c : int", "is no parameter"),
        ("Add.\n\n    Returns\n    -------\n    int\n\n    Parameters\n    ----------\n    a : int", "in the order"),
        ("Add\n\n    two.", "not a sentence"),
    ],
)
def test_the_reader_of_docstrings_sees_what_it_must(doc, what):
    found = [text for _, text in faults(f'def add(a, b):\n    """{doc}\n    """\n')]
    assert found == [] if what is None else what in found[0]


USED_BY_PEOPLE = (
    "",
    ".io",
    ".losses",
    ".metrics",
    ".plots",
    ".selection",
    ".people",
    ".datasets",
    ".distributed",
    ".reports",
)


@pytest.mark.parametrize("name", USED_BY_PEOPLE)
def test_what_a_package_offers_is_in_the_reference(name):
    pages = Path(__file__).parents[1] / "docs/api"
    told = {
        found for page in pages.glob("*.md") for found in re.findall(r"^::: \S+?(\w+)$", page.read_text(), re.MULTILINE)
    }
    assert set(importlib.import_module(f"nearer{name}").__all__) - told <= {"__version__"}
