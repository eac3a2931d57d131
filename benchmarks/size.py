"""Lines of each package next to its budget in CONTRIBUTING.md, now and at an earlier commit.

Lines are those of Python and TOML files, words those of Markdown pages. Of all Python files of the package, the mean
length of lines that are not blank and of functions is printed as well: a package must not get smaller by denser code.

    python benchmarks/size.py [--before e4ec0f7]
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CODE = (".py", ".toml")
# Names that modules had before they were renamed.
RENAMED = {
    "_apart": "io",
    "_memory": "machine",
    "_tables": "notebook",
    "dimensions": "auto_dimension",
    "lapses": "lapse_rates",
    "model": "model_file",
    "reporting": "reports",
}


def budgets(text: str) -> dict[tuple[str, ...], int]:
    """Names of modules and packages -> lines, from the tree in CONTRIBUTING.md."""
    (tree,) = re.findall(r"^src/nearer/\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = {}
    for line in tree.splitlines():
        names, lines = re.fullmatch(r"  (\S+(?:, \S+)*) {2,}.* ([\d,]+)", line).groups()
        found[tuple(name.strip("/") for name in names.split(", "))] = int(lines.replace(",", ""))
    return found


def lines_of(root: Path) -> dict[str, int]:
    """Module or package right below `root` -> lines."""
    counts: dict[str, int] = {}
    for path in root.rglob("*"):
        if path.suffix in CODE:
            name = path.relative_to(root).parts[0].removesuffix(".py")
            name = RENAMED.get(name, name)
            counts[name] = counts.get(name, 0) + len(path.read_text(encoding="utf-8").splitlines())
    return counts


def words(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in folder.rglob("*.md"))


def mean_lengths(root: Path) -> tuple[float, float]:
    """Characters per line that is not blank, and lines per function, of all Python files."""
    lines, functions = [], []
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines += [len(line) for line in text.splitlines() if line.strip()]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(node.end_lineno - node.lineno + 1)
    return sum(lines) / len(lines), sum(functions) / len(functions)


def compare(before: Path, now: Path) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what is counted, before, now, budget."""
    earlier, current = lines_of(before / "src/nearer"), lines_of(now / "src/nearer")
    planned = budgets((now / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    known = {name for names in planned for name in names}
    rest = tuple(sorted((earlier.keys() | current.keys()) - known))
    groups = [*planned.items(), (rest, 0)] if rest else planned.items()
    rows = [
        (
            ", ".join(names),
            *(f"{sum(side.get(name, 0) for name in names):,}" for side in (earlier, current)),
            f"{most:,}",
        )
        for names, most in groups
    ]
    totals = [f"{sum(side.values()):,}" for side in (earlier, current, planned)]
    tests = [f"{sum(lines_of(side / 'tests').values()):,}" for side in (before, now)]
    lengths = zip(*(mean_lengths(side / "src/nearer") for side in (before, now)))
    means = [[f"{value:.1f}" for value in pair] for pair in lengths]
    return [
        *rows,
        ("src/nearer", *totals),
        ("tests", *tests, "15,000"),
        ("words in docs", f"{words(before / 'docs'):,}", f"{words(now / 'docs'):,}", "22,000"),
        ("mean line", *means[0], ""),
        ("mean function", *means[1], ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", default="e4ec0f7", metavar="COMMIT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "-C", str(REPOSITORY), "archive", options.before, "src", "tests", "docs"]
        packed = subprocess.run(command, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
        rows = compare(Path(folder), REPOSITORY)
    width = max(len(row[0]) for row in rows)
    for what, before, now, most in [("", options.before, "now", "budget"), *rows]:
        print(f"{what:{width}s} {before:>9s} {now:>9s} {most:>9s}")


if __name__ == "__main__":
    main()
