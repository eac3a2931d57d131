"""Is one commit slower than another? Interleaved runs of both on small fixed problems.

    python -m benchmarks.regression BASE [HEAD] [--quick] [--threshold 1.3] [--repeats 9]

Each commit is checked out into a folder of its own and runs in a process of its own, with this script's problems. What
is compared per problem: instructions, where ``perf`` can count them, else processor time on one thread, as the ratio
of medians; and the work (gradients over N), which does not depend on the machine at all. The exit code is 1 when a
ratio is above the threshold, or a problem fails at HEAD.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent
# name: n, d, N, loss, solver
PROBLEMS = {
    "auto hinge": (100, 10, 10_000, "hinge", "auto"),
    "auto ckl": (100, 10, 10_000, "ckl", "auto"),
    "auto ste": (100, 10, 10_000, "ste", "auto"),
    "auto tste": (100, 10, 10_000, "tste", "auto"),
    "auto soe": (100, 10, 10_000, "soe", "auto"),
    "auto many": (1_000, 5, 200_000, "soe", "auto"),
    "svrg": (1_000, 5, 100_000, "tste", "svrg"),
    "sgd": (1_000, 5, 100_000, "tste", "sgd"),
    "lbfgs": (1_000, 5, 100_000, "tste", "lbfgs"),
    "stream": (1_000, 5, 200_000, "hinge", "stream"),
}
QUICK = ("auto hinge", "auto tste", "svrg", "lbfgs")
# Fits in one sample, so that a sample is not lost in the grain of the clock.
FITS = 3


def triplets(n: int, d: int, size: int) -> np.ndarray:
    """Fixed triplets (size, 3) by true distance, without any help of the package under test."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, d))
    rows = rng.integers(n, size=(size, 3))
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 2])]
    near, far = (np.sum((points[rows[:, 0]] - points[rows[:, k]]) ** 2, axis=1) for k in (1, 2))
    rows[near > far] = rows[near > far][:, [0, 2, 1]]
    return rows.astype(np.int32)


def serve(scale: float) -> None:
    """In the process of a commit: a problem per line comes in, seconds and work go out."""
    import nearer
    from nearer import OrdinalEmbedding
    from nearer.solvers import LBFGS, SGD, SVRG

    print(json.dumps({"file": nearer.__file__}), flush=True)
    solvers = {
        "svrg": lambda: SVRG(step=0.01, max_epochs=3, tol=0),
        "sgd": lambda: SGD(step=0.1, max_epochs=5, tol=0),
        "lbfgs": lambda: LBFGS(max_epochs=10, tol=0),
    }
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            name = line.strip()
            try:
                n, d, size, loss, how = PROBLEMS[name]
                data: Any = triplets(n, d, max(int(scale * size), 10))
                rows = len(data)
                if how == "stream":
                    np.save(Path(folder) / "data.npy", data)
                    data = str(Path(folder) / "data.npy")
                started = time.process_time()
                for _ in range(FITS):
                    solver = solvers.get(how, lambda: "auto")()
                    model = OrdinalEmbedding(d, loss=loss, solver=solver, n_objects=n, random_state=0, n_jobs=1)
                    model.fit(data)
                seconds = (time.process_time() - started) / FITS
                answer = {"seconds": seconds, "work": model.result_.n_gradients / rows}
            except Exception as error:  # whatever the other commit may throw is the answer
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


class Commit:
    """A commit in a folder of its own, with a process that runs problems."""

    def __init__(self, name: str, folder: Path, scale: float):
        self.name = name
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
        self.command = [sys.executable, str(HERE), "--serve", str(scale)]
        self.process = subprocess.Popen(
            self.command, cwd=folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        where = json.loads(self._line())["file"]
        if not Path(where).resolve().is_relative_to(folder.resolve()):
            raise RuntimeError(f"{name}: the package came from {where}, expected it from {folder}")

    def run(self, problem: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(problem + "\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def instructions(self, problem: str) -> float:
        """Instructions of one sample: those of a process with two samples less those of one with one."""
        counts = []
        for samples in (1, 2):
            command = ["perf", "stat", "-x,", "-e", "instructions:u", *self.command]
            lines = "".join(f"{problem}\n" for _ in range(samples))
            done = subprocess.run(
                command, cwd=self.folder, env=self.environment, input=lines, capture_output=True, text=True, check=True
            )
            counts.append(counted(done.stderr))
        return float(counts[1] - counts[0]) / FITS

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: its process ended early (exit code {self.process.wait()})")
        return line


def counted(report: str) -> int:
    """The count in a report of ``perf stat -x,``; 0 where perf cannot count."""
    first = next((line.split(",")[0] for line in report.splitlines() if "instructions" in line), "")
    return int(first) if first.isdigit() else 0


def perf_counts() -> bool:
    """Whether instructions can be counted here."""
    try:
        done = subprocess.run(
            ["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return counted(done.stderr) > 0


@contextlib.contextmanager
def checkouts(names: list[str], scale: float) -> Iterator[list[Commit]]:
    """Each commit in a worktree of its own, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="nearer-regression-") as home, contextlib.ExitStack() as stack:
        commits = []
        for number, name in enumerate(names):
            folder = Path(home) / str(number)
            git("worktree", "add", "--detach", "--quiet", str(folder), name)
            stack.callback(git, "worktree", "remove", "--force", str(folder))
            commits.append(Commit(name, folder, scale))
            stack.callback(commits[-1].close)
        yield commits


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.strip()


def compare(base: Commit, head: Commit, problem: str, repeats: int, count: bool) -> dict[str, Any]:
    """One row; the commits take turns."""
    runs: dict[str, list[dict[str, Any]]] = {"base": [], "head": []}
    for repeat in range(repeats + 1):  # the first of each compiles and is left out
        for who, commit in (("base", base), ("head", head)):
            answer = commit.run(problem)
            if "error" in answer:
                return {"problem": problem, "error": f"{who}: {answer['error']}", "failed": who == "head"}
            if repeat:
                runs[who].append(answer)
    row: dict[str, Any] = {"problem": problem}
    for name in ("seconds", "work"):
        row[f"base {name}"], row[f"head {name}"] = (
            statistics.median(run[name] for run in runs[who]) for who in ("base", "head")
        )
        row[f"{name} ratio"] = row[f"head {name}"] / row[f"base {name}"]
    if count:
        row["instructions ratio"] = head.instructions(problem) / base.instructions(problem)
    return row


def slower(row: dict[str, Any], threshold: float) -> list[str]:
    """What is above the threshold in a row."""
    if "error" in row:
        return ["error"] if row["failed"] else []
    measured = "instructions ratio" if "instructions ratio" in row else "seconds ratio"
    return [name for name in (measured, "work ratio") if not row[name] <= threshold]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", help="a commit")
    parser.add_argument("head", nargs="?", default="HEAD")
    parser.add_argument("--quick", action="store_true", help="few problems, few repeats")
    parser.add_argument("--threshold", type=float, default=1.3)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--problems", help="names, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of comparisons")
    parser.add_argument("--serve", type=float, metavar="SCALE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve is not None:
        serve(options.serve)
        return 0
    if options.base is None:
        parser.error("which commit to compare with?")
    names = options.problems.split(",") if options.problems else (QUICK if options.quick else tuple(PROBLEMS))
    repeats = options.repeats or (5 if options.quick else 9)
    count = perf_counts()
    print(f"{git('rev-parse', '--short', options.head)} against {git('rev-parse', '--short', options.base)}, "
          f"{'instructions' if count else 'processor time'} and work, threshold {options.threshold:g}")  # fmt: skip
    failed = False
    with checkouts([options.base, options.head], options.scale) as (base, head):
        for name in names:
            row = compare(base, head, name, repeats, count)
            found = slower(row, options.threshold)
            failed = failed or bool(found)
            print(f"{name:12s} {told(row)}{'  <-- slower: ' + ', '.join(found) if found else ''}", flush=True)
    return 1 if failed else 0


def told(row: dict[str, Any]) -> str:
    if "error" in row:
        return row["error"]
    return "  ".join(
        [f"{row['base seconds'] * 1e3:8.1f} -> {row['head seconds'] * 1e3:8.1f} ms"]
        + [f"{name} {row[name]:.3f}" for name in row if name.endswith("ratio")]
    )


if __name__ == "__main__":
    raise SystemExit(main())
