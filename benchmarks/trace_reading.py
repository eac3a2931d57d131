"""Which files of the package `read_comparisons` passes through on the way from a CSV file to comparisons.

Every call between functions of `src/nearer` is recorded. A call *enters* a file if it makes something: a function of
the file, a class method or static method, or a constructor, that of a dataclass included. A method, property or
operator of an instance *asks* a value that was made before, by whoever holds it; the files that ask are listed apart.
A file is entered from above if the file that calls it imports it; a call of a file that is not imported, such as a
method of an abstract class, goes against the direction. The target is at most nine files, each entered from one file
above, so that who reads the code follows one direction. Helpers that every layer shares (messages, checks of
arguments) are listed apart.

    python -m benchmarks.trace_reading [answers.csv] [--rows 2000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.tracing import SHARED, traced
from nearer.io import read_comparisons

MOST_FILES = 9
OPENER = "io/read.py"  # opens carriers by the names in the registry


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
        trace = traced(lambda: read_comparisons(path))
    files = trace.files()
    print(f"{len(files)} files of nearer entered, {trace.switches:,} switches between files")
    several = 0
    for file in files:
        above = trace.makers(file)
        several += len(above) > 1
        print(f"  {file:24s} {trace.entered[file]:5d} calls, entered from {', '.join(above) or 'outside'}")
        if asked := [f"{one} ({count})" for one, count in trace.askers(file).items()]:
            print(f"  {'':24s} values asked by {', '.join(asked)}")
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
