"""The order of the layers: imports point up only, also inside functions, and none is hidden in a string."""

from __future__ import annotations

import ast
import functools
import graphlib
from collections import Counter
from pathlib import Path

import pytest

import nearer
from nearer.registry import FORMATS, LOSSES, SOLVERS, STRATEGIES

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
    {"plots"},
    {"drawing"},
    {"check", "placement", "auto_dimension", "auto_loss", "lapse_rates"},
    {"distributed"},
    {"sources", "featuremap"},
    {"model_file"},
    {"estimator"},
    {"shortcuts"},
    {"refits", "datasets"},
    {"people"},
    {"selection"},
    {"questions", "alignment"},
    {"reports"},
    {"collect"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}

# Modules that a file loads by name on first use: its own package, what an entry names, or the module of a user's loss.
BY_NAME = ("__init__.py", "cli/app.py", "registry.py", "distributed/cluster.py")
HOMES = {
    "numba": {"kernels"}, "dask": {"distributed", "cli"}, "distributed": {"distributed", "cli"},
    "matplotlib": {"plots"}, "click": {"cli"}, "rich": {"cli"}, "starlette": {"collect"}, "uvicorn": {"collect"},
    "sqlalchemy": {"collect", "cli"},
}  # fmt: skip


@functools.cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _name(path):
    """nearer.solvers.svrg for solvers/svrg.py, nearer.solvers for solvers/__init__.py."""
    return ".".join(["nearer", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {_name(path): path for path in FILES}


def _nodes(tree):
    """All nodes except those that exist for type checkers only."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _nodes(child)


@functools.cache
def _imports(path):
    """Names of the modules that a file imports, at the top or in a function, with line numbers."""
    found = []
    for node in _nodes(_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name if name in MODULES else node.module, node.lineno) for name in full]
    return found


def _layer(module):
    """The layer of nearer.<layer>...; None for other packages and for the package itself."""
    first, _, rest = module.partition(".")
    return rest.split(".")[0] if first == "nearer" and rest else None


def test_every_module_has_a_layer():
    assert {_layer(module) for module in MODULES} - {None} - set(LEVEL) == set(), "give these modules a place in ORDER"


def test_imports_point_up_only():
    wrong = [
        f"{module}:{line} imports {target}"
        for module, path in MODULES.items()
        for target, line in _imports(path)
        if _layer(module) and _layer(target) in LEVEL and _layer(target) != _layer(module)
        if LEVEL[_layer(target)] >= LEVEL[_layer(module)]
    ]
    assert wrong == []


def test_files_do_not_import_each_other_in_a_circle():
    graph = {module: {target for target, _ in _imports(path)} & set(MODULES) for module, path in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError lists the circle


def test_the_package_itself_imports_no_layer():
    assert [target for target, _ in _imports(ROOT / "__init__.py") if _layer(target)] == []


def test_outside_the_command_line_no_two_modules_share_a_name():
    names = Counter(module.split(".")[-1] for module in MODULES if not module.startswith("nearer.cli."))
    assert [name for name, count in names.items() if count > 1] == []


def _private(path):
    """Private names that a file defines, and those that it uses of something other than itself."""
    defined, used = set(), set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearer"):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            (defined if ast.unparse(node.value) in ("self", "cls") else used).add(node.attr)
    return tuple({name for name in names if name[0] == "_" and name[:2] != "__"} for names in (defined, used))


def test_private_names_are_used_in_their_own_module_only():
    found = {module: _private(path) for module, path in MODULES.items()}
    everywhere = set().union(*(defined for defined, _ in found.values()))
    wrong = {(module, name) for module, (own, used) in found.items() for name in (used - own) & everywhere}
    assert wrong == set()


@pytest.mark.parametrize(
    ("entries", "home"),
    [(FORMATS, "nearer.io"), (LOSSES, "nearer"), (SOLVERS, "nearer.solvers"), (STRATEGIES, "nearer.questions")],
)
def test_what_entries_name_is_in_one_package(entries, home):
    assert {entry.path.rpartition(".")[0] for entry in entries.values()} == {home}


@pytest.mark.parametrize("package", HOMES)
def test_heavy_packages_stay_where_they_belong(package):
    users = {
        _layer(module)
        for module, path in MODULES.items()
        for name, _ in _imports(path)
        if name.split(".")[0] == package
    }
    assert users <= HOMES[package]


def test_library_code_neither_prints_nor_imports_by_a_string():
    wrong = []
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(_tree(path)):
            name = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
            printed = name == "print" and not file.startswith("cli/")
            hidden = name in ("import_module", "__import__") and file not in BY_NAME
            renamed = isinstance(node, ast.alias) and node.name in ("import_module", "__import__")
            if printed or hidden or renamed:
                wrong.append(f"{file}:{node.lineno}")
    assert wrong == []


def test_type_checkers_see_every_name_that_is_loaded_on_first_use():
    (block,) = [node for node in _tree(ROOT / "__init__.py").body if isinstance(node, ast.If)]
    homes = {alias.asname or alias.name: node.module for node in block.body for alias in node.names}
    assert homes == nearer._HOMES
    assert {*homes, "__version__"} == set(nearer.__all__)
