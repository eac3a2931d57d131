"""Which files of the package `nearer fit` passes through before it writes the report, on 200 rows.

Recording ends when `reports/page.py`, which writes the page, is entered. The target is at most 26 files; helpers that
every layer shares are listed apart. Control that goes back and forth between two files makes them hard to follow: the
number of switches between files and the pairs of files that call each other are printed as well.

    python -m benchmarks.trace_fit [--rows 200] [--calls] [option of nearer fit ...]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.trace_reading import write_file
from benchmarks.tracing import SHARED, Trace, traced
from nearer.cli.app import cli

MOST_FILES = 26
END = "reports/page.py"
PARTS = ("estimator", "reports/")  # what begins the fit, and the evaluation of the map


def trace_fit(folder: Path, rows: int, *options: str) -> Trace:
    """The trace of `nearer fit` on random triplets with participants and times."""
    answers, out = folder / "answers.csv", folder / "out"
    write_file(answers, rows)
    arguments = ["fit", str(answers), "-o", str(out), "--force", "--quiet", *options]
    return traced(lambda: cli(arguments, standalone_mode=False), END)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--calls", action="store_true", help="also print the functions that are called")
    options, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_fit(Path(folder), options.rows, *more)
    files = trace.files()
    for file in files:
        callers = [caller for caller, called in trace.calls if called == file]
        print(f"  {file:28s} {trace.entered[file]:6,} calls, from {', '.join(callers) or 'outside'}")
        if options.calls:
            print("      " + ", ".join(f"{name} ({count})" for name, count in trace.functions[file].items()))
    begun = [next((at for at, file in enumerate(files) if file.startswith(part)), 0) for part in PARTS]
    print(
        f"{begun[0]} files entered before the fit, {begun[1]} when the map is found, {len(files)} with its evaluation"
    )
    print("shared helpers: " + ", ".join(f"{file} ({trace.entered[file]})" for file in SHARED if file in trace.entered))
    mutual = trace.mutual()
    print(f"{trace.switches:,} switches between files, {len(mutual)} pairs of files that call each other:")
    for one, other in mutual:
        print(f"  {one} -> {other} {trace.calls[one, other]:,}, back {trace.calls[other, one]:,}")
    verdict = "met" if len(files) <= MOST_FILES else "not met"
    print(f"target (at most {MOST_FILES} files before the report is written): {verdict}, {len(files)} files")


if __name__ == "__main__":
    main()
