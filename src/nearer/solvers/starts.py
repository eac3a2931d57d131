"""Several starting points, the best result kept; progress told to people meanwhile."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from nearer import kernels
from nearer.solvers.auto import Auto
from nearer.solvers.base import Callback, HistoryRow, Result, Solver, SolverState
from nearer.solvers.checkpoint import Checkpoint
from nearer.solvers.stochastic import SVRG

__all__ = ["ProgressLines", "best_of_starts", "in_threads", "keeping_start"]

_AGAIN = 0.2  # seconds between two attempts to break off


def in_threads(task: Callable[[int], Any], count: int, n_jobs: int) -> list[Any]:
    """``[task(0), ..., task(count - 1)]`` on at most `n_jobs` threads; the compiled loops run side by side.

    An error or ctrl-C stops all of them at once.
    """
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
            # Whoever presses ctrl-C does not want to wait for fits that nobody will look at.
            pool.shutdown(wait=False, cancel_futures=True)
            while busy or not all(future.done() for future in running):
                _break_off(busy)
                time.sleep(_AGAIN)
            raise


def _break_off(threads: set[int]) -> None:
    """Raise KeyboardInterrupt in threads, by their numbers: seen when the compiled loop at work returns.

    It is lost if it comes in a finaliser or a callback, so once is not enough. A kernel that is being compiled is
    waited for.
    """
    for number in threads - kernels.compiling:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), ctypes.py_object(KeyboardInterrupt))


def keeping_start(solver: Solver) -> Solver:
    """Adapt a solver to a starting point worth keeping: not scattered first, and kept if nothing better is found."""
    if isinstance(solver, Auto):
        return replace(solver, keep_start=True)
    if isinstance(solver, SVRG):
        solver = replace(solver, warm_up=0.0, first_snapshot=1.0)
    return replace(solver, output="best") if solver.output == "last" else solver


class ProgressLines:
    """Callback that writes epoch, time, objective and training error to a stream, by default standard error.

    At least `every` seconds pass between two lines; 0 is for every epoch. The objective measures the training error,
    with the solver's clock stopped.
    """

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


def best_of_starts(
    objective: Any,
    solver: Solver | Sequence[Solver],
    starts: Sequence[np.ndarray],
    generators: Sequence[np.random.Generator],
    n_jobs: int = 1,
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Solve from every starting point; the result with the lowest objective is kept, the first of equals.

    Where every start held comparisons out, it is the one with the lowest error about them.

    Parameters
    ----------
    solver : Solver or sequence of Solver
        One for all starts, or one for each.
    starts : sequence of ndarray of float64, shape (n, d)
    generators : sequence of Generator
        One for each start, for everything random in its run.
    n_jobs : int, default 1
        Starts run side by side.
    verbose : int, default 0
        1 shows progress about twice a second, 2 every epoch.
    checkpoint : Checkpoint, optional
        Begun with these starts; keeps every run.
    """
    solvers = [solver] * len(starts) if isinstance(solver, Solver) else solver

    def run(number: int) -> Result:
        watching = list(callbacks)
        if verbose:
            prefix = "nearer" if len(starts) == 1 else f"nearer: start {number + 1} of {len(starts)}"
            watching.append(ProgressLines(objective, every=0.5 if verbose == 1 else 0.0, prefix=prefix))
        keeper = None if checkpoint is None else checkpoint.keeper(number)
        return solvers[number].solve(objective, starts[number], generators[number], watching, keeper)

    results = in_threads(run, len(starts), n_jobs)
    judged = all(result.held_out_error is not None for result in results)

    def rank(result: Result) -> float:
        value = result.held_out_error if judged else result.objective
        return math.inf if value is None or math.isnan(result.objective) else value

    return min(results, key=rank)
