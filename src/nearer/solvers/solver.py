"""What a solver is, where its run stands, and the loop: clock, history, limits, held-out error, checkpoints."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from nearer.data import check_bool, check_fraction, check_integer, check_number
from nearer.notebook import html_table
from nearer.objective import offers

logger = logging.getLogger(__name__)

_OUTPUTS = ("last", "best", "uniform")
_LEAST_WAIT = 10  # epochs, for the held-out error to improve

stopping: contextvars.ContextVar[tuple[threading.Event, ...]] = contextvars.ContextVar("stopping", default=())


def check_stop() -> None:
    """Raise KeyboardInterrupt if one of the events in `stopping` is set."""
    if any(event.is_set() for event in stopping.get()):
        raise KeyboardInterrupt


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

    @property
    def seconds(self) -> float:
        """Seconds of solving so far."""
        return self[-1].seconds if self else 0.0

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
Progress = Callable[[State], Any]
"""Called from inside a long `init` with what is known so far; raises when the run has to stop."""


def no_progress(state: State) -> None:
    """The progress callback that does nothing."""


@dataclass
class Run:
    """What a checkpoint keeps of a run, as plain data."""

    rng_at_start: Mapping[str, Any]
    state: State | None = None  # None: `init` is not over, and is repeated by a run that is resumed
    rng: Mapping[str, Any] = field(default_factory=dict)  # after the last epoch
    output_rng: Mapping[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    values: list[float] = field(default_factory=list)  # of the epochs that were not provisional
    best: tuple[float, np.ndarray | None] = (math.inf, None)
    drawn: tuple[np.ndarray, float | None] | None = None  # by the output rule "uniform": point, and value if known
    held_out: tuple[float, int, np.ndarray | None] = (math.inf, 0, None)  # lowest error, its last epoch, the map
    fell: int = 0  # epoch in which the held-out error last fell
    in_earnest: int | None = None  # first epoch that was not provisional

    def copy(self) -> Run:
        """A run that does not change while this one goes on; points are never changed in place."""
        return replace(self, history=History(self.history), values=list(self.values))


@dataclass
class Solver(BaseEstimator):
    """Base of all solvers: `init` gives the state at the start, `epoch` the state after another epoch.

    Parameters
    ----------
    max_epochs : int, default 200
        Maximum number of epochs (batch solvers: iterations).
    tol : float, default 1e-5
        Stop when the best objective fell by less than ``tol * |objective|`` in `patience` epochs; 0: never.
    patience : int, default 5
        See `tol`.
    grad_tol : float, default 0
        Stop when the norm of the gradient is at most this; 0: only where the gradient vanishes.
    max_seconds : float, optional
        Limit on the solving time; with ``output="best"`` the best point so far is returned.
    output : {"last", "best", "uniform"}, default "last"
        The last iterate, the one with the best objective, or one drawn uniformly from all iterates, as the
        convergence theorem assumes.
    record_error : bool, default False
        Also record the training error, one extra pass per epoch with the clock stopped.
    validation_fraction : float, default 0
        Early stopping: hold out this fraction (below 1) of the questions, stop when the held-out error has not improved
        for as many epochs as it took to reach its minimum (at least 10), and return the map at the minimum whatever
        `output` is. For comparisons in memory.
    """

    max_epochs: int = 200
    tol: float = 1e-5
    patience: int = 5
    grad_tol: float = 0.0
    max_seconds: float | None = None
    output: str = "last"
    record_error: bool = False
    validation_fraction: float = 0.0

    name: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient",)
    """Methods of `nearer.objective.Objective` that an objective must offer."""

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        """State at the start X0 (n, d); if this takes long, intermediate states are passed to `progress`."""
        raise NotImplementedError

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        """State after another epoch; the one given is not changed."""
        raise NotImplementedError

    def prepare(self, objective: Any, state: State) -> None:
        """Set attributes that `epoch` needs and a state cannot hold, such as a batch; called when a run is resumed."""

    def check_objective(self, objective: Any) -> None:
        """Raise a ValueError for an objective that this solver cannot take, or for wrong parameters."""

    def settled(self, values: list[float]) -> str:
        """Reason to end the run, given the objective after each epoch, or nothing; by default the rule of `tol`."""
        if self.tol == 0 or len(values) <= self.patience:
            return ""
        before = min(values[: -self.patience])
        if before - min(values) > self.tol * max(abs(before), np.finfo(float).tiny):
            return ""
        return f"objective fell by less than {self.tol:.3g} (relative) in {self.patience} epochs"

    def solve(
        self,
        objective: Any,
        X0: np.ndarray,
        rng: np.random.Generator | int | None = None,
        callbacks: Sequence[Callback] = (),
        kept: Run | None = None,
        keep: Callable[[Run, bool], None] | None = None,
        spent: float = 0.0,
    ) -> Result:
        """Minimise from X0 (n, d), or resume the run in `kept`; `spent` seconds count towards `max_seconds`.

        `keep` gets a copy of the run after each epoch, and whether it must be kept or may be.
        """
        self.check_parameters()
        self.require(objective, ("value", "error", *self.needs))
        self.check_objective(objective)
        if self.validation_fraction > 0:
            self.require(objective, ("split",), "use validation_fraction=0, or hold the comparisons in memory")
        X0 = np.array(X0, dtype=np.float64, order="C")
        expected = (objective.n_objects, objective.n_components)
        if X0.shape != expected:
            raise ValueError(f"{self.name}: starting point: got shape {X0.shape}, expected {expected}")
        if not np.isfinite(X0).all():
            row = int(np.flatnonzero(~np.isfinite(X0).all(axis=1))[0])
            raise ValueError(f"{self.name}: the starting point is not finite (first in row {row})")
        with np.errstate(over="ignore", invalid="ignore"):  # the message reports divergence
            result = _Loop(self, objective, np.random.default_rng(rng), callbacks, keep, spent).follow(X0, kept)
        logger.info("%s: %s", self.name, result.message)
        return result

    def require(self, objective: Any, methods: tuple[str, ...], remedy: str = "use another solver") -> None:
        """Raise a ValueError that names the methods that an objective lacks."""
        missing = [name for name in methods if not offers(objective, name)]
        if missing:
            kind = type(objective).__name__
            raise ValueError(f"{self.name}: got {kind}, which has no {', '.join(missing)}; {remedy}")

    def check_parameters(self) -> None:
        """Raise a ValueError for parameters that no solver can take."""
        if not isinstance(self.output, str) or self.output not in _OUTPUTS:
            raise ValueError(f"{self.name}: output: got {self.output!r}, expected one of {', '.join(_OUTPUTS)}")
        check_integer(self.max_epochs, f"{self.name}: max_epochs", 0)
        check_integer(self.patience, f"{self.name}: patience", 1)
        check_number(self.tol, f"{self.name}: tol", zero=True)
        check_number(self.grad_tol, f"{self.name}: grad_tol", zero=True)
        check_number(self.max_seconds, f"{self.name}: max_seconds", allow_none=True)
        check_bool(self.record_error, f"{self.name}: record_error")
        check_fraction(self.validation_fraction, f"{self.name}: validation_fraction")


class _Over(Exception):
    """The run has ended; the loop has the message."""


@dataclass
class _Loop:
    """One run of a solver."""

    solver: Solver
    whole: Any  # the objective, including any held-out part
    rng: np.random.Generator
    callbacks: Sequence[Callback]
    keep: Callable[[Run, bool], None] | None
    spent: float
    message: str = ""
    converged: bool = False
    trouble: str = ""

    def follow(self, X0: np.ndarray, kept: Run | None) -> Result:
        self.solver = solver = copy.copy(self.solver)  # `prepare` sets attributes, and runs share solvers
        self.run, self.objective = Run(self.rng.bit_generator.state), self.whole
        if solver.validation_fraction > 0:
            self.objective, self.validation = self.whole.split(solver.validation_fraction, self.rng)
        # A separate stream, so that the output rule does not change the iterates.
        self.output_rng = self.rng.spawn(1)[0]
        if kept is not None and kept.state is not None:
            self.run = kept.copy()
            self.rng.bit_generator.state, self.output_rng.bit_generator.state = kept.rng, kept.output_rng
        self.started = time.perf_counter() - self.run.history.seconds  # advanced by all time not spent solving

        state = self.run.state
        self.last = State(X0, None, 0, provisional=True) if state is None else state
        with contextlib.suppress(_Over):
            if state is None:
                state = solver.init(self.objective, X0, self.rng, lambda inner: self._record(inner, inside=True))
                self._record(state)
            else:
                self._judge(state)
                self._end_if_over()
                solver.prepare(self.objective, state)
            while True:
                state = solver.epoch(self.objective, state, self.rng)
                self._record(state)
        return self._result(X0)

    def _record(self, state: State, inside: bool = False) -> None:
        """History, callbacks, verdict and checkpoint of an epoch, with the clock stopped; raises _Over at the end.

        No run is resumed from a state inside `init`.
        """
        moment = time.perf_counter()
        check_stop()
        run = self.run
        self.last = state = self._completed(state)
        stop = self._look(state, moment - self.started)
        self._judge(state)
        if stop and not self.message:
            self.message = "stopped by a callback"
        if self.keep is not None and not inside:
            first = run.state is None
            run.state = state
            run.rng, run.output_rng = self.rng.bit_generator.state, self.output_rng.bit_generator.state
            self.keep(run.copy(), first or bool(self.message))
        self.started += time.perf_counter() - moment
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self.message:
            raise _Over

    def _completed(self, state: State) -> State:
        """A copy of a state with its value; ends the run if that or the point is no longer finite."""
        lost = "" if np.isfinite(state.X).all() else "iterate"
        if not lost:
            value = self.objective.value(state.X) if state.value is None else state.value
            state = replace(state, value=value)
            lost = "" if math.isfinite(value) else "objective"
        if lost:
            epoch = len(self.run.history)
            self.trouble = f"the {lost} is no longer finite at epoch {epoch}; kept the last finite point"
            self.message = f"stopped: {self.trouble}"
            raise _Over
        return state

    def _look(self, state: State, seconds: float) -> bool:
        """Add a row to the history and keep the points that may be returned; whether a callback stops the run."""
        run, solver, value = self.run, self.solver, float(state.value)  # type: ignore[arg-type]
        epoch = len(run.history)
        if solver.validation_fraction > 0:
            state.held_out_error = held_out = float(self.validation.error(state.X))
            if held_out <= run.held_out[0] and not state.surrogate:
                run.fell = epoch if held_out < run.held_out[0] else run.fell
                run.held_out = held_out, epoch, state.X.copy()  # the last of equally good ones
        error = self.objective.error(state.X) if solver.record_error else None
        row = HistoryRow(
            epoch, state.n_gradients, seconds, value, state.step_size, state.grad_norm, error, state.held_out_error
        )
        run.history.append(row)
        if not state.provisional:
            run.in_earnest = epoch if run.in_earnest is None else run.in_earnest
            run.values.append(value)
            if value < run.best[0]:
                run.best = value, state.X.copy() if solver.output == "best" else None
        if solver.output == "uniform" and epoch > 0 and self.output_rng.random() * epoch < 1.0:
            known = value if state.sample is None and not state.provisional else None
            run.drawn = (state.X if state.sample is None else state.sample).copy(), known
        answers = [bool(callback(row, state)) for callback in self.callbacks]  # every callback runs
        return any(answers)

    def _judge(self, state: State) -> None:
        """If the run is over, set the message and whether it converged."""
        solver, run, epoch = self.solver, self.run, len(self.run.history) - 1
        if state.finished:
            self.message = state.finished
        elif not state.provisional and state.grad_norm is not None and state.grad_norm <= solver.grad_tol:
            self.message = f"converged: gradient norm {state.grad_norm:.3g} <= {solver.grad_tol:.3g}"
        elif not state.provisional and (reason := solver.settled(run.values)):
            self.message = f"converged: {reason}"
        elif solver.validation_fraction > 0 and self._waited_enough():
            self.message = f"converged: held-out error did not improve in {epoch - run.fell} epochs"
        self.converged = bool(self.message)
        if self.message:
            return
        if epoch >= solver.max_epochs:
            self.message = f"stopped: reached max_epochs = {solver.max_epochs}"
        elif solver.max_seconds is not None and self.spent + run.history.seconds >= solver.max_seconds:
            self.message = f"stopped: reached max_seconds = {solver.max_seconds:g}"

    def _waited_enough(self) -> bool:
        """Whether the held-out error has not improved for as many epochs as it took to reach it."""
        run, epoch = self.run, len(self.run.history) - 1
        if run.in_earnest is None:
            return False
        return epoch - max(run.fell, run.in_earnest) >= _LEAST_WAIT and epoch >= 2 * run.fell

    def _result(self, X0: np.ndarray) -> Result:
        history = self.run.history
        embedding, value = self._output()
        trouble = self.trouble or self._suspicion(X0, embedding, value)
        if trouble and self.converged:
            self.converged, self.message = False, f"stopped: {trouble}"
        notes = [self.last.note.removesuffix("; ")]
        errors = [row.held_out_error for row in history if row.held_out_error is not None]
        error = errors[-1] if errors else None
        lowest, epoch, X = self.run.held_out
        if X is not None:
            error, n_held_out = lowest, self.validation.n_comparisons
            told = f"error {lowest:.4g}, at the end {errors[-1]:.4g}"
            notes.append(f"epoch {epoch} is best on {n_held_out:,} held out: {told}")
        note = "; ".join(filter(None, notes))
        message = self.message + (f" ({note})" if note else "")
        n_gradients = history[-1].n_gradients if history else 0
        n_iter = max(len(history) - 1, 0)
        return Result(embedding, value, n_iter, n_gradients, self.converged, message, history, trouble, error)

    def _output(self) -> tuple[np.ndarray, float]:
        """The point that the output rule chooses, and the objective there."""
        run, last, output = self.run, self.last, self.solver.output
        if not run.history:
            return last.X, math.nan
        if self.solver.validation_fraction > 0:
            X = last.X if run.held_out[2] is None else run.held_out[2]
            return X, self.whole.value(X)
        if output == "best" and run.best[1] is not None:
            return run.best[1], run.best[0]
        if output == "uniform" and run.drawn is not None:
            X, known = run.drawn
            return X, self.objective.value(X) if known is None else known
        return last.X, self.objective.value(last.X) if last.provisional else run.history[-1].objective

    def _suspicion(self, X0: np.ndarray, embedding: np.ndarray, value: float) -> str:
        """Reason to distrust a finite embedding."""
        if len(X0) > 1 and not np.ptp(X0, axis=0).any() and not np.ptp(embedding, axis=0).any():
            return "all points started in one place, from which no gradient leads away"
        none = self.objective.value_at_zero() if hasattr(self.objective, "value_at_zero") else math.inf
        if len(self.run.values) > 1 and value > 1.001 * none:  # the value that contradictory answers lead to
            return f"the objective is {value:.4g}, and {none:.4g} with all points in one place"
        return ""
