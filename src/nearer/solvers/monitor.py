"""Progress for people: a callback that writes a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from nearer.solvers.base import HistoryRow, SolverState

__all__ = ["ProgressLines"]


class ProgressLines:
    """Callback that reports epoch, time, objective and training error on a stream.

    Parameters
    ----------
    objective : Objective
        Measures the training error, with the solver's clock stopped.
    every : float, default 0.5
        Least number of seconds between two lines; 0 for every epoch.
    stream : text file, optional
        Standard error by default.
    prefix : str, default "nearer"
        Put before each line.
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
