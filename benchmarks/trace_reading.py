"""Which files of the package `read_comparisons` passes through on the way from a CSV file to comparisons.

Every call between functions of `src/nearer` is recorded. A file is entered from above if the file that calls it imports
it; a call of a file that is not imported, such as a method of an abstract class, goes against the direction. The target
is at most nine files, each entered from one file above, so that who reads the code follows one direction. Helpers that
every layer shares (messages, checks of arguments) are listed apart.

    python benchmarks/trace_reading.py [answers.csv] [--rows 2000]
"""

from __future__ import annotations

import argparse
import ast
import functools
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import nearer
from nearer.io import read_comparisons

ROOT = Path(nearer.__file__).parent
SHARED = ("data/messages.py", "data/validate.py", "machine.py", "__init__.py")
MOST_FILES = 9
OPENER = "io/read.py"  # opens carriers by the names in the registry


@dataclass
class Trace:
    """Calls from one file of the package to another, in the order in which files are first entered."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    entered: dict[str, int] = field(default_factory=dict)  # file -> number of calls of its functions
    moves: int = 0  # how often the control goes from one file to another, calls and returns alike
    _last: str = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record a call or a return; for `sys.setprofile`."""
        if event not in ("call", "return"):
            return
        here = _file(frame)
        if here is None or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            self.entered[here] = self.entered.get(here, 0) + 1
            caller = _caller(frame)
            if caller is not None and caller != here:
                self.calls[caller, here] += 1
        if here != self._last:
            self.moves += 1
            self._last = here

    def files(self) -> list[str]:
        """The files entered, but for those that all share."""
        return [file for file in self.entered if file not in SHARED]

    def callers(self, file: str, above: bool) -> dict[str, int]:
        """Files that call a file, with the number of calls: those that import it, or those that do not."""
        found = {one: count for (one, other), count in self.calls.items() if other == file}
        return {one: count for one, count in found.items() if (file in imported(one)) == above}


@functools.cache
def imported(file: str) -> set[str]:
    """The files of the package that a file imports, at the top or in a function."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearer"):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {"/".join(name.split(".")[1:]) + ".py" for name in names if name}
            if (ROOT / "/".join((node.module or "").split(".")[1:])).is_dir():  # a package passes names on
                found |= imported("/".join([*(node.module or "").split(".")[1:], "__init__.py"]))
    return found


def _file(frame: FrameType) -> str | None:
    """The file of a frame below the root of the package; None for a file of others."""
    name = frame.f_code.co_filename
    return Path(name).relative_to(ROOT).as_posix() if name.startswith(f"{ROOT}/") else None


def _caller(frame: FrameType) -> str | None:
    """The file of the nearest caller that belongs to the package."""
    outer = frame.f_back
    while outer is not None and _file(outer) is None:
        outer = outer.f_back
    return None if outer is None else _file(outer)


def traced(path: Path) -> Trace:
    """Read a file twice, so that imports and caches are done with, and trace the second time."""
    read_comparisons(path)
    trace = Trace()
    sys.setprofile(trace)
    try:
        read_comparisons(path)
    finally:
        sys.setprofile(None)
    return trace


def write_file(path: Path, rows: int) -> None:
    """Write random triplets of named objects, with participants and times."""
    rng = np.random.default_rng(0)
    sets = rng.permuted(np.tile(np.arange(20), (rows, 1)), axis=1)[:, :3]
    lines = [f"item {a},item {b},item {c},p{number % 9},{number % 50 / 10}" for number, (a, b, c) in enumerate(sets)]
    path.write_text("\n".join(["anchor,near,far,participant,seconds", *lines]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", nargs="?", type=Path, help="default: random triplets with participants and times")
    parser.add_argument("--rows", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.path
        if path is None:
            path = Path(folder) / "answers.csv"
            write_file(path, options.rows)
        trace = traced(path)
    files = trace.files()
    print(f"{len(files)} files of nearer entered, {trace.moves:,} moves from one file to another (all files)")
    several = 0
    for file in files:
        above = [one for one in trace.callers(file, above=True) if one not in SHARED]
        several += len(above) > 1
        print(f"  {file:24s} {trace.entered[file]:5d} calls, entered from {', '.join(above) or 'outside'}")
        for one, count in trace.callers(file, above=False).items():
            if one != OPENER:
                print(f"  {'':24s} against the direction: {count} from {one}")
    print("shared helpers: " + ", ".join(f"{file} ({trace.entered[file]})" for file in SHARED if file in trace.entered))
    is_met = len(files) <= MOST_FILES and not several
    print(
        f"target (at most {MOST_FILES} files, each entered from one file above): {'met' if is_met else 'not met'}, "
        f"{len(files)} files, {several} of them entered from several"
    )


if __name__ == "__main__":
    main()
