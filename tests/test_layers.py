"""The order of the layers: imports point up only, also inside functions, and none is hidden in a string."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

import nearer
from nearer.registry import FORMATS

ROOT = Path(nearer.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A module may import those of earlier rows, and of its own package.
ORDER = [
    {"registry", "warning_types"},
    {"machine", "notebook", "display"},
    {"kernels"},
    {"data"},
    {"tables"},
    {"io", "losses"},
    {"archive", "coordinates", "objective"},
    {"solvers", "metrics"},
    {"check", "placement", "auto_dimension", "lapse_rates"},
    {"distributed"},
    {"sources"},
    {"estimator"},
    {"shortcuts"},
    {"featuremap"},
    {"model_file"},
    {"refits", "datasets"},
    {"people"},
    {"selection"},
    {"questions"},
    {"reports"},
    {"plots"},
    {"collect"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}

# (importing module, imported module): reason
ALLOWED = {
    ("estimator", "nearer.model_file"): "a fitted model has save(); how a file is written stays in nearer.model_file",
}
# Tables of names that are loaded on first use; each names modules of its own package, or is the package itself.
LAZY = ("__init__.py", "cli/__init__.py", "io/read.py")
# A worker tries whether it finds the module of a user's own loss.
ELSEWHERE = ("distributed/cluster.py",)


def _module(path):
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def _is_type_checking(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _nodes(tree):
    """All nodes but those that exist for type checkers only."""
    for child in ast.iter_child_nodes(tree):
        if _is_type_checking(child):
            continue
        yield child
        yield from _nodes(child)


@functools.cache
def _tree(text):
    return ast.parse(text)


@functools.cache
def _imports(path):
    return list(_read_imports(path))


def _read_imports(path):
    """Dotted names of all modules that a file imports, at the top or in a function, with line numbers."""
    here = ["nearer", *_module(path)]
    package = here if path.name == "__init__.py" else here[:-1]
    for node in _nodes(_tree(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            if base == "nearer":  # from nearer import kernels
                for alias in node.names:
                    yield f"nearer.{alias.name}", node.lineno
            else:
                yield base, node.lineno


def _layer(dotted):
    """Name of the layer of ``nearer.<layer>...``, or None for other packages and for the package's own names."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "nearer" and parts[1] in LEVEL else None


def test_every_module_has_a_layer():
    unknown = {(_module(path) or ["__init__"])[0] for path in FILES} - set(LEVEL) - {"__init__"}
    assert unknown == set(), "give these modules a place in ORDER"


def test_imports_point_up_only():
    wrong = []
    for path in FILES:
        if path == ROOT / "__init__.py":
            continue  # loads everything by name, on first use
        own = _module(path)[0]
        for dotted, line in _imports(path):
            target = _layer(dotted)
            pair = (".".join(_module(path)), dotted)
            if target in (None, own) or LEVEL[target] < LEVEL[own] or pair in ALLOWED:
                continue
            wrong.append(f"{path.relative_to(ROOT)}:{line} imports {dotted}")
    assert wrong == []


def test_what_a_table_means_does_not_depend_on_its_carrier():
    users = {dotted for path in FILES if _module(path)[:1] == ["tables"] for dotted, _ in _imports(path)}
    assert {dotted for dotted in users if _layer(dotted)} <= {f"nearer.{name}" for name in ("data", "tables")} | {
        dotted for dotted in users if dotted.startswith(("nearer.data.", "nearer.tables."))
    }


def test_exceptions_are_still_needed():
    found = {(".".join(_module(path)), dotted) for path in FILES for dotted, _ in _imports(path)}
    assert set(ALLOWED) <= found


def test_formats_are_opened_by_the_readers_of_files():
    assert {entry.path.rpartition(".")[0] for entry in FORMATS.values()} == {"nearer.io"}


def test_the_package_itself_imports_no_layer():
    assert [dotted for dotted, _ in _imports(ROOT / "__init__.py") if _layer(dotted)] == []


@pytest.mark.parametrize(
    ("package", "homes"),
    [
        ("numba", ("kernels",)),
        ("dask", ("distributed", "cli")),
        ("distributed", ("distributed", "cli")),
        ("matplotlib", ("plots",)),
        ("click", ("cli",)),
        ("rich", ("cli",)),
        ("starlette", ("collect",)),
        ("uvicorn", ("collect",)),
        ("sqlalchemy", ("collect", "cli")),
    ],
)
def test_heavy_packages_stay_where_they_belong(package, homes):
    users = {
        _module(path)[0]
        for path in FILES
        for name, _ in _imports(path)
        if _module(path) and name.split(".")[0] == package
    }
    assert users <= set(homes)


def test_library_code_does_not_print():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        if _module(path)[:1] != ["cli"]
        for node in ast.walk(_tree(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert wrong == []


def _imports_by_string(text):
    """Lines that could import a module of this package past the reader of imports."""
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.ImportFrom) and node.module in ("importlib", "builtins"):
            names = {alias.name for alias in node.names} & {"import_module", "__import__"}
            if names:
                yield node.lineno  # under another name it could not be told from any function
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).split(".")[-1]
        if called not in ("import_module", "__import__"):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)][:1]
        first = given[0] if given else None
        if isinstance(first, ast.JoinedStr):
            first = first.values[0] if first.values else None
        known = isinstance(first, ast.Constant) and isinstance(first.value, str)
        if not known or first.value.startswith(("nearer", ".")):
            yield node.lineno


def test_nothing_is_imported_by_a_string():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        if path.relative_to(ROOT).as_posix() not in (*LAZY, *ELSEWHERE)
        for line in _imports_by_string(path.read_text())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import importlib\nimportlib.import_module('nearer.io')", True),
        ("import importlib as il\nil.import_module('nearer')", True),
        ("import importlib\nimportlib.import_module(name='nearer.io')", True),
        ("import importlib\nimportlib.import_module('.io', 'nearer')", True),
        ("import importlib\nname = 'nearer.io'\nimportlib.import_module(name)", True),
        ("import importlib\nimportlib.import_module(f'nearer.{name}')", True),
        ("from importlib import import_module as load\nload('nearer.io')", True),
        ("__import__('nearer.io')", True),
        ("import importlib\nimportlib.import_module('experiments.registry')", False),
        ("from nearer.io import read_comparisons", False),
    ],
)
def test_the_reader_of_strings_sees_what_it_must(text, found):
    assert bool(list(_imports_by_string(text))) == found


def test_the_reader_of_imports_sees_what_it_must(tmp_path, monkeypatch):
    monkeypatch.setattr("test_layers.ROOT", tmp_path)
    (tmp_path / "solvers").mkdir()
    path = tmp_path / "solvers" / "svrg.py"
    path.write_text(
        "import numpy as np\n"
        "from typing import TYPE_CHECKING\n"
        "from nearer import kernels\n"
        "from .base import Solver\n"
        "from ..cli import main\n"
        "if TYPE_CHECKING:\n    from nearer.reports import page\n"
        "def f():\n    from nearer.estimator import OrdinalEmbedding\n"
    )
    assert [name for name, _ in _imports(path)] == [
        "numpy", "typing", "nearer.kernels", "nearer.solvers.base", "nearer.cli", "nearer.estimator",
    ]  # fmt: skip


def test_type_checkers_see_every_name_that_is_loaded_on_first_use():
    parsed = ast.parse((ROOT / "__init__.py").read_text())
    (block,) = [node for node in parsed.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    homes = {alias.asname or alias.name: node.module for node in block.body for alias in node.names}
    assert homes == nearer._HOMES
    assert {*homes, "__version__"} == set(nearer.__all__)
