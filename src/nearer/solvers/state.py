"""Where a run is (`State`), its history, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from nearer.notebook import html_table

__all__ = ["Callback", "History", "HistoryRow", "Progress", "Result", "State", "no_progress"]


@dataclass(frozen=True)
class HistoryRow:
    """One epoch of a run; counts and seconds are cumulative."""

    epoch: int
    n_gradients: int  # of single comparisons
    seconds: float  # of solving; evaluation and callbacks do not count
    objective: float
    step_size: float | None  # that led to this point; None at the start
    grad_norm: float | None  # where known
    train_error: float | None = None  # fraction of comparisons not satisfied, with `record_error`
    held_out_error: float | None = None  # the same of held-out comparisons, with `validation_fraction`


class History(list[HistoryRow]):
    """Rows of a run, one per epoch, the starting point first."""

    FIELDS: ClassVar[tuple[str, ...]] = tuple(HistoryRow.__dataclass_fields__)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name."""
        return {name: [getattr(row, name) for row in self] for name in self.FIELDS}

    def column(self, name: str) -> np.ndarray:
        """One of `FIELDS`, float64 of shape (n_rows,); missing entries are NaN."""
        return np.array([getattr(row, name) for row in self], dtype=float)

    def __repr__(self) -> str:
        if not self:
            return "History: empty"
        return f"History: {len(self):,} rows, objective {self[0].objective:.4g} to {self[-1].objective:.4g}"

    def _repr_html_(self) -> str:
        shown = {name: column for name, column in self.to_dict().items() if any(v is not None for v in column)}
        return html_table(
            {name: ["" if v is None else v for v in column] for name, column in shown.items()}, repr(self)
        )


@dataclass(frozen=True, repr=False)
class Result:
    """What a solver returns."""

    embedding: np.ndarray  # float64, shape (n, d)
    objective: float  # at the embedding
    n_iter: int  # epochs (batch solvers: iterations)
    n_gradients: int  # of single comparisons, comparable between solvers
    converged: bool  # a tolerance was met; False after a limit, a stop by a callback, or divergence
    message: str  # why it stopped
    history: History  # one row per epoch
    trouble: str = ""  # reason to distrust the embedding; empty if there is none
    held_out_error: float | None = None  # of the map chosen; optimistic, since it was used to choose

    def after(self, earlier: Result) -> Result:
        """This result preceded by the epochs, work and time of the one it started from."""
        if not earlier.history:
            return self
        last = vars(earlier.history[-1])
        rows = [
            replace(row, **{name: last[name] + getattr(row, name) for name in ("epoch", "n_gradients", "seconds")})
            for row in self.history[1:]
        ]
        work = {name: getattr(earlier, name) + getattr(self, name) for name in ("n_iter", "n_gradients")}
        return replace(self, history=History([*earlier.history, *rows]), **work)

    def __repr__(self) -> str:
        n, d = self.embedding.shape
        return f"Result: {n:,} points in {d}-d, objective {self.objective:.4g}, {self.n_iter:,} epochs; {self.message}"


@dataclass
class State:
    """Where a solver is after an epoch: plain data (arrays, numbers, texts, dicts, lists), so that it can be saved."""

    X: np.ndarray  # current point, float64 (n, d); callbacks must not change it
    value: float | None  # objective at X; None: the loop computes it with the clock stopped
    n_gradients: int  # of single comparisons, so far
    step_size: float | None = None  # that led here
    grad_norm: float | None = None  # at X, where known
    sample: np.ndarray | None = None  # drawn uniformly from the iterates of the epoch, (n, d); None: only X
    finished: str | None = None  # a message if the solver has converged
    provisional: bool = False  # value and gradient of a part of the data, which neither stop the run nor count as best
    surrogate: bool = False  # X minimises another loss (a warm start): never returned as best
    note: str = ""  # what was done so far, for the final message
    held_out_error: float | None = None  # of X, where known
    memory: dict[str, Any] = field(default_factory=dict)  # what else the next step needs


Callback = Callable[[HistoryRow, State], Any]
"""Called after every epoch with the clock stopped; a true return value stops the run."""
Progress = Callable[[State], None]
"""Called from inside a long `init` with what is known so far; raises when the run has to stop."""


def no_progress(state: State) -> None:
    """The progress callback that does nothing."""
