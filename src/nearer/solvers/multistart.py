"""Several starting points, keeping the best result; progress lines."""

from __future__ import annotations

import contextvars
import math
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nearer.solvers.auto import Auto
from nearer.solvers.checkpoint import Checkpoint
from nearer.solvers.solver import Callback, HistoryRow, Result, Solver, State, stopping


def in_threads(task: Callable[[int], Any], count: int, n_jobs: int) -> list[Any]:
    """``[task(0), ..., task(count - 1)]`` on at most `n_jobs` threads; the first error, or ctrl-C, stops all of them.

    Running tasks end at their next `check_stop`, as solvers do after every epoch.
    """
    if min(n_jobs, count) <= 1:
        return [task(number) for number in range(count)]
    stop = threading.Event()

    def run(number: int) -> Any:
        stopping.set((*stopping.get(), stop))
        return task(number)

    with ThreadPoolExecutor(min(n_jobs, count)) as pool:
        try:
            running = [pool.submit(contextvars.copy_context().run, run, number) for number in range(count)]
            for future in as_completed(running):
                future.result()
            return [future.result() for future in running]
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def keeping_start(solver: Solver) -> Solver:
    """A copy of the solver that keeps a good start: it returns the best point, and `auto` skips its first stages."""
    if isinstance(solver, Auto):
        return replace(solver, keep_start=True)
    return replace(solver, output="best") if solver.output == "last" else solver


class ProgressLines:
    """Callback that writes a line of progress to standard error, at most every `every` seconds."""

    def __init__(self, objective: Any, every: float, prefix: str):
        self.objective, self.every, self.prefix = objective, every, prefix
        self._last = -math.inf

    def __call__(self, row: HistoryRow, state: State) -> None:
        now = time.perf_counter()
        if now - self._last < self.every:
            return
        self._last = now
        error = self.objective.error(state.X) if row.train_error is None else row.train_error
        where = f"{self.prefix}: epoch {row.epoch:4d}  {row.seconds:7.2f} s"
        sys.stderr.write(f"{where}  objective {row.objective:.6f}  error {error:.4f}\n")


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
    """Solve from every start (n, d), each with its generator, and return the result of lowest objective.

    If all runs held comparisons out, the held-out error decides; of equal results the first is returned. `solver` is
    one for all starts or a list. `spent` is updated; a start for which no time is left is skipped. `verbose=1` shows
    progress about twice a second, 2 after every epoch.
    """
    spent = TimeSpent() if spent is None else spent
    used = spent.seconds
    by_thread: dict[int, float] = defaultdict(lambda: used)
    solvers = [solver] * len(starts) if isinstance(solver, Solver) else solver

    def run(number: int) -> Result | None:
        thread, solver = threading.get_ident(), solvers[number]
        kept, keep = (None, None) if checkpoint is None else (checkpoint.runs[number], partial(checkpoint.keep, number))
        before = 0.0 if kept is None else kept.history.seconds
        if number and before == 0.0 and is_over(solver, by_thread[thread]):
            return None
        watching = list(callbacks)
        if verbose:
            prefix = "nearer" if len(starts) == 1 else f"nearer: start {number + 1} of {len(starts)}"
            watching.append(ProgressLines(objective, 0.5 if verbose == 1 else 0.0, prefix))
        result = solver.solve(objective, starts[number], generators[number], watching, kept, keep, by_thread[thread])
        by_thread[thread] += result.history.seconds - before
        return result

    results = [result for result in in_threads(run, len(starts), n_jobs) if result is not None]
    spent.seconds = max(by_thread.values())
    judged = all(result.held_out_error is not None for result in results)

    def rank(result: Result) -> float:
        value = result.held_out_error if judged else result.objective
        return math.inf if value is None or math.isnan(result.objective) else value

    return min(results, key=rank)
