"""Several starting points, of which the best result is kept; progress lines; checkpoints to resume from."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import nearer
from nearer import kernels
from nearer.archive import Arrays, as_json, from_json, read_archive, write_archive
from nearer.io import FileFormatError, atomic_write
from nearer.io.files import refuse_dangling, refuse_irregular
from nearer.solvers.auto import Auto
from nearer.solvers.base import Callback, HistoryRow, Kept, Result, Solver, SolverState
from nearer.solvers.stochastic import SVRG
from nearer.warning_types import ReproducibilityWarning

__all__ = [
    "Checkpoint", "Keeper", "ProgressLines", "TimeSpent", "best_of_starts", "in_threads", "is_over", "keeping_start",
]  # fmt: skip

_AGAIN = 0.2  # seconds between two attempts to interrupt
_KIND = "checkpoint"
_FORMAT = 1
_CONTENT = ("about", "setting", "runs")
_SHARE = 0.1  # most of the time that writing may take
_LIMITS = ("max_epochs", "max_seconds")  # a resumed run may have other ones
_SAME = 1e-10  # relative; another processor or order of rows changes the last digits of the objective


def in_threads(task: Callable[[int], Any], count: int, n_jobs: int) -> list[Any]:
    """``[task(0), ..., task(count - 1)]`` on at most `n_jobs` threads; an error or ctrl-C stops all of them."""
    if min(n_jobs, count) <= 1:
        return [task(number) for number in range(count)]
    busy: set[int] = set()

    def run(number: int) -> Any:
        busy.add(threading.get_ident())
        try:
            return task(number)
        finally:
            busy.discard(threading.get_ident())

    with ThreadPoolExecutor(min(n_jobs, count)) as pool:
        running: list[Future[Any]] = []
        try:
            for number in range(count):
                running.append(pool.submit(run, number))
            return [future.result() for future in running]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # Threads see the exception when their compiled loop returns, and lose one that comes in a finaliser or a
            # callback: repeat it. Compilation must not be interrupted.
            while busy or not all(future.done() for future in running):
                for thread in busy - kernels.compiling:
                    stop = ctypes.py_object(KeyboardInterrupt)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), stop)
                time.sleep(_AGAIN)
            raise


def keeping_start(solver: Solver) -> Solver:
    """A solver that keeps a good starting point: without a stochastic start, returning the best point."""
    if isinstance(solver, Auto):
        return replace(solver, keep_start=True)
    if isinstance(solver, SVRG):
        solver = replace(solver, warm_up=0.0, first_snapshot=1.0)
    return replace(solver, output="best") if solver.output == "last" else solver


class ProgressLines:
    """Callback that writes a line of progress at most every `every` seconds, by default to standard error."""

    def __init__(self, objective: Any, every: float = 0.5, stream: TextIO | None = None, prefix: str = "nearer"):
        self.objective = objective
        self.every = every
        self.stream = stream
        self.prefix = prefix
        self._last = -float("inf")

    def __call__(self, row: HistoryRow, state: SolverState) -> None:
        now = time.perf_counter()
        if now - self._last < self.every:
            return
        self._last = now
        error = self.objective.error(state.X) if row.train_error is None else row.train_error
        where = f"{self.prefix}: epoch {row.epoch:4d}  {row.seconds:7.2f} s"
        (self.stream or sys.stderr).write(f"{where}  objective {row.objective:.6f}  error {error:.4f}\n")


class Checkpoint:
    """The state of every start of a fit, in a file that is replaced after an epoch.

    Epochs are skipped so that writing takes at most a tenth of the time. An existing file raises FileExistsError unless
    `resume`, and FileFormatError if it is damaged or of another version.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False):
        self.path = os.fspath(path)
        refuse_irregular(path)
        refuse_dangling(path)
        if not Path(path).absolute().parent.is_dir():
            raise FileNotFoundError(f"checkpoint: {self.path}: the folder {Path(path).parent} does not exist")
        self.about: dict[str, Any] = {}  # identifies the fit
        self.setting: dict[str, Any] = {}  # of the objective, set before `begin`
        self.runs: list[dict[str, Any]] = []  # one for each start
        self._lock = threading.Lock()
        self._not_before = 0.0
        if os.path.exists(path):
            if not resume:
                raise FileExistsError(
                    f"checkpoint: {self.path} exists already: go on from it with resume=True, or remove it"
                )
            self.about, self.setting, self.runs = _read(self.path)

    @property
    def found(self) -> bool:
        """Whether there is something to resume."""
        return bool(self.runs)

    def begin(
        self,
        objective: Any,
        solver: Solver,
        starts: Sequence[np.ndarray],
        generators: Sequence[np.random.Generator],
        others: dict[str, Any],
    ) -> list[np.ndarray]:
        """Record the starts, or check that those in the file are of the same fit; the starts and generators to use."""
        about = {
            "n_components": objective.n_components, "loss": repr(objective.loss), "n_init": len(starts), **others,
            "objects in comparisons": objective.n_objects, "comparisons": objective.n_comparisons,
            "solver": type(solver).__name__,
        }  # fmt: skip
        own = solver.get_params(deep=False)
        about |= {f"solver: {name}": repr(value) for name, value in own.items() if name not in _LIMITS}
        if not self.found:
            self.about = {**about, "objective at the start": objective.value(starts[0])}
            self.runs = [
                {"X0": X0, "rng_at_start": rng.bit_generator.state} for X0, rng in zip(starts, generators, strict=True)
            ]
            self._write()
            return list(starts)
        for name, expected in about.items():
            if self.about.get(name) != expected:
                self._refuse(f"{name}: got {self.about.get(name)}, expected {expected}")
        at_start, value = self.about["objective at the start"], objective.value(self.runs[0]["X0"])
        if not abs(at_start - value) <= _SAME * abs(value):
            self._refuse(f"objective at the start: got {at_start!r}, expected {value!r}: the comparisons are others")
        if at_start != value:
            warnings.warn(
                f"checkpoint: {self.path}: the objective differs in its last digits, as on another processor or with "
                "rows in another order; the end will not be the same bit for bit",
                ReproducibilityWarning,
                stacklevel=5,
            )
        for rng, run in zip(generators, self.runs, strict=True):
            rng.bit_generator.state = run["rng_at_start"]
        return [run["X0"] for run in self.runs]

    def _refuse(self, difference: str) -> None:
        raise ValueError(
            f"checkpoint: {self.path} is of another fit: {difference}. Give the same data and parameters as then, or "
            "another file"
        )

    def _write(self) -> None:
        started = time.perf_counter()
        arrays: Arrays = {}
        header = {name: as_json(getattr(self, name), arrays) for name in _CONTENT}
        try:
            with atomic_write(self.path, force=True) as file:
                write_archive(file, _KIND, _FORMAT, header, arrays)
        except OSError as error:
            raise OSError(error.errno, f"checkpoint cannot be written: {error.strerror}", self.path) from error
        now = time.perf_counter()
        self._not_before = now + (now - started) * (1 / _SHARE - 1)


@dataclass
class Keeper:
    """Keeps a run, one start in a checkpoint, so that it can be resumed after its last epoch."""

    _checkpoint: Checkpoint
    _number: int

    @property
    def kept(self) -> Kept:
        """What was kept last; None at the beginning."""
        run = self._checkpoint.runs[self._number]
        return run if "state" in run else None

    @property
    def due(self) -> bool:
        """Whether it is time to keep the run again."""
        return time.perf_counter() >= self._checkpoint._not_before

    def keep(self, run: dict[str, Any]) -> None:
        """Keep a run: nested dicts and lists of arrays, numbers and texts."""
        with self._checkpoint._lock:
            runs = self._checkpoint.runs
            runs[self._number] = {"X0": runs[self._number]["X0"], **run}
            self._checkpoint._write()


def _read(path: str) -> list[Any]:
    try:
        with open(path, "rb") as file:
            header, arrays = read_archive(file, _KIND, _FORMAT)
        written, here = header["written_by"], f"nearer {nearer.__version__}"
        if written != here:
            raise FileFormatError(f"was written by {written}, and this is {here}, which may compute otherwise")
        return [from_json(header[name], arrays) for name in _CONTENT]
    except FileFormatError as error:
        raise FileFormatError(f"checkpoint: {path}: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"checkpoint: {path}: does not hold what a checkpoint must ({reason})") from error


@dataclass
class TimeSpent:
    """Seconds of solving that a fit has taken so far; concurrent starts count once."""

    seconds: float = 0.0


def is_over(solver: Solver, seconds: float) -> bool:
    """Whether the time limit of a solver is used up."""
    return solver.max_seconds is not None and seconds >= solver.max_seconds


def best_of_starts(
    objective: Any,
    solver: Solver | Sequence[Solver],
    starts: Sequence[np.ndarray],
    generators: Sequence[np.random.Generator],
    n_jobs: int = 1,
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
    checkpoint: Checkpoint | None = None,
    spent: TimeSpent | None = None,
) -> Result:
    """Solve from every start (n, d), each with its generator; the result of lowest objective, the first of equals.

    If all held comparisons out, the held-out error decides. `solver` is one for all starts or one for each. A start
    that finds no time left after `spent`, which is updated, is skipped. `verbose` 1 shows progress about twice a
    second, 2 every epoch.
    """
    spent = TimeSpent() if spent is None else spent
    used = spent.seconds
    by_thread: dict[int, float] = defaultdict(lambda: used)
    solvers = [solver] * len(starts) if isinstance(solver, Solver) else solver

    def run(number: int) -> Result | None:
        thread, solver = threading.get_ident(), solvers[number]
        keeper = None if checkpoint is None else Keeper(checkpoint, number)
        kept = None if keeper is None else keeper.kept
        if number and kept is None and is_over(solver, by_thread[thread]):
            return None
        watching = list(callbacks)
        if verbose:
            prefix = "nearer" if len(starts) == 1 else f"nearer: start {number + 1} of {len(starts)}"
            watching.append(ProgressLines(objective, every=0.5 if verbose == 1 else 0.0, prefix=prefix))
        before = 0.0 if kept is None else kept["seconds"]
        result = solver.solve(objective, starts[number], generators[number], watching, keeper, by_thread[thread])
        by_thread[thread] += result.history[-1].seconds - before if result.history else 0.0
        return result

    results = [result for result in in_threads(run, len(starts), n_jobs) if result is not None]
    spent.seconds = max(by_thread.values())
    judged = all(result.held_out_error is not None for result in results)

    def rank(result: Result) -> float:
        value = result.held_out_error if judged else result.objective
        return math.inf if value is None or math.isnan(result.objective) else value

    return min(results, key=rank)
