"""What a solver is, and the loop that runs it: clock, history, limits, held-out error, output rules, checkpoints."""

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

from nearer.data import check_bool, check_integer, check_number
from nearer.objective import offers
from nearer.solvers.state import Callback, History, HistoryRow, Progress, Result, State

logger = logging.getLogger(__name__)

__all__ = ["BestHeldOut", "Run", "Solver", "check_stop", "stopping"]

_OUTPUTS = ("last", "best", "uniform")
_LEAST_WAIT = 10  # epochs, for the held-out error to improve

stopping: contextvars.ContextVar[tuple[threading.Event, ...]] = contextvars.ContextVar("stopping", default=())


def check_stop() -> None:
    """Raise KeyboardInterrupt if one of the events in `stopping` is set."""
    if any(event.is_set() for event in stopping.get()):
        raise KeyboardInterrupt


@dataclass
class Run:
    """What a checkpoint keeps of a run, as plain data."""

    rng_at_start: Mapping[str, Any]
    state: State | None = None  # None: `init` is not over, and is repeated by a run that is resumed
    rng: Mapping[str, Any] = field(default_factory=dict)  # after the last epoch
    output_rng: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    history: History = field(default_factory=History)
    values: list[float] = field(default_factory=list)  # of the epochs that were not provisional
    best: tuple[float, np.ndarray | None] = (math.inf, None)
    drawn: tuple[np.ndarray, float | None] | None = None  # by the output rule "uniform": point, and value if known
    held_out: BestHeldOut | None = None

    def copy(self) -> Run:
        """A run that does not change while this one goes on; points are never changed in place."""
        held_out = self.held_out and replace(self.held_out)
        return replace(self, history=History(self.history), values=list(self.values), held_out=held_out)


@dataclass
class BestHeldOut:
    """Best map so far by held-out error, and the stopping rule."""

    lowest: float = math.inf
    fell: int = 0
    best: int = 0
    X: np.ndarray | None = None
    in_earnest: int | None = None

    def look(self, error: float, epoch: int, state: State) -> None:
        """Record the error after an epoch; of equally good points the last is kept."""
        if not state.provisional and self.in_earnest is None:
            self.in_earnest = epoch
        if error <= self.lowest and not state.surrogate:
            if error < self.lowest:
                self.fell = epoch
            self.lowest, self.best, self.X = error, epoch, state.X.copy()

    def enough(self, epoch: int) -> bool:
        """Whether the error has not improved for as many epochs as it took to reach it (provisional ones excluded)."""
        if self.in_earnest is None:
            return False
        return epoch - max(self.fell, self.in_earnest) >= _LEAST_WAIT and epoch >= 2 * self.fell


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
        """Raise a ValueError for an objective that this solver cannot take, or for parameters of its own."""

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
            result = _Loop(self, objective, np.random.default_rng(rng), callbacks, kept, keep, spent).follow(X0)
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
        check_number(self.validation_fraction, f"{self.name}: validation_fraction", zero=True)
        if self.validation_fraction >= 1:
            got = f"{self.name}: validation_fraction: got {self.validation_fraction!r}"
            raise ValueError(f"{got}, expected a number from 0 to below 1; 0.1 is usual")


class _Over(Exception):
    """The run has ended; the loop has the message."""


class _Loop:
    """One run of a solver."""

    def __init__(
        self,
        solver: Solver,
        objective: Any,
        rng: np.random.Generator,
        callbacks: Sequence[Callback],
        kept: Run | None,
        keep: Callable[[Run, bool], None] | None,
        spent: float,
    ):
        self.solver = copy.copy(solver)  # `prepare` sets attributes, and runs share solvers
        self.whole = self.objective = objective
        self.rng, self.callbacks, self.keep, self.spent = rng, callbacks, keep, spent
        self.message, self.converged, self.trouble = "", False, ""
        self.run = Run(rng.bit_generator.state)
        if solver.validation_fraction > 0:
            self.objective, self.validation = self.whole.split(solver.validation_fraction, rng)
            self.run.held_out = BestHeldOut()
        # A stream of its own, so that the output rule does not change the iterates.
        self.output_rng = rng.spawn(1)[0]
        if kept is not None and kept.state is not None:
            self.run = kept.copy()
            self.rng.bit_generator.state, self.output_rng.bit_generator.state = kept.rng, kept.output_rng

    def follow(self, X0: np.ndarray) -> Result:
        self.started = time.perf_counter() - self.run.seconds  # moved forward by all that is not solving
        state = self.run.state
        self.last = State(X0, None, 0, provisional=True) if state is None else state
        with contextlib.suppress(_Over):
            if state is None:
                state = self.solver.init(self.objective, X0, self.rng, lambda inner: self._record(inner, inside=True))
                self._record(state)
            else:
                self._judge(len(self.run.history) - 1, self.run.seconds, state)
                if self.message:
                    raise _Over
                self.solver.prepare(self.objective, state)
            while True:
                state = self.solver.epoch(self.objective, state, self.rng)
                self._record(state)
        return self._result(X0)

    def _record(self, state: State, inside: bool = False) -> None:
        """History, callbacks, verdict and checkpoint of an epoch, with the clock stopped; raises _Over at the end.

        From a state inside `init` no run is resumed.
        """
        moment = time.perf_counter()
        run, epoch, seconds = self.run, len(self.run.history), moment - self.started
        check_stop()
        state = self._completed(state, epoch)
        if run.held_out is not None:
            state.held_out_error = float(self.validation.error(state.X))
            run.held_out.look(state.held_out_error, epoch, state)
        self.last = state
        stop = self._look(epoch, seconds, state)
        self._judge(epoch, seconds, state)
        if not self.message and stop:
            self.message = "stopped by a callback"
        if self.keep is not None and not inside:
            first = run.state is None
            run.state, run.seconds = state, seconds
            run.rng, run.output_rng = self.rng.bit_generator.state, self.output_rng.bit_generator.state
            self.keep(run.copy(), first or bool(self.message))
        self.started += time.perf_counter() - moment
        if self.message:
            raise _Over

    def _completed(self, state: State, epoch: int) -> State:
        """A copy of a state with its value; ends the run if that or the point is no longer finite."""
        lost = "" if np.isfinite(state.X).all() else "iterate"
        if not lost:
            state = replace(state, value=self.objective.value(state.X) if state.value is None else state.value)
            lost = "" if math.isfinite(state.value) else "objective"  # type: ignore[arg-type]
        if lost:
            self.trouble = f"the {lost} is no longer finite at epoch {epoch}; kept the last finite point"
            self.message = f"stopped: {self.trouble}"
            raise _Over
        return state

    def _look(self, epoch: int, seconds: float, state: State) -> bool:
        """Add a row to the history, keep the point if the output rule asks for it; whether a callback stops the run."""
        run, solver, value = self.run, self.solver, float(state.value)  # type: ignore[arg-type]
        error = self.objective.error(state.X) if solver.record_error else None
        norm, held_out = state.grad_norm, state.held_out_error
        row = HistoryRow(epoch, state.n_gradients, seconds, value, state.step_size, norm, error, held_out)
        run.history.append(row)
        if not state.provisional:
            run.values.append(value)
            if value < run.best[0]:
                run.best = value, state.X.copy() if solver.output == "best" else None
        if solver.output == "uniform" and epoch > 0 and self.output_rng.random() * epoch < 1.0:
            known = value if state.sample is None and not state.provisional else None
            run.drawn = (state.X if state.sample is None else state.sample).copy(), known
        answers = [bool(callback(row, state)) for callback in self.callbacks]  # every callback runs
        return any(answers)

    def _judge(self, epoch: int, seconds: float, state: State) -> None:
        """If the run is over, set the message and whether it converged."""
        solver, run = self.solver, self.run
        if state.finished:
            self.message = state.finished
        elif not state.provisional and state.grad_norm is not None and state.grad_norm <= solver.grad_tol:
            self.message = f"converged: gradient norm {state.grad_norm:.3g} <= {solver.grad_tol:.3g}"
        elif not state.provisional and (reason := solver.settled(run.values)):
            self.message = f"converged: {reason}"
        elif run.held_out is not None and run.held_out.enough(epoch):
            self.message = f"converged: held-out comparisons fared no better in {epoch - run.held_out.fell} epochs"
        self.converged = bool(self.message)
        if not self.message and epoch >= solver.max_epochs:
            self.message = f"stopped: reached max_epochs = {solver.max_epochs}"
        elif not self.message and solver.max_seconds is not None and self.spent + seconds >= solver.max_seconds:
            self.message = f"stopped: reached max_seconds = {solver.max_seconds:g}"

    def _result(self, X0: np.ndarray) -> Result:
        history, held_out = self.run.history, self.run.held_out
        embedding, value = self._output()
        trouble = self.trouble or self._suspicion(X0, embedding, value)
        if trouble and self.converged:
            self.converged, self.message = False, f"stopped: {trouble}"
        notes = [self.last.note.removesuffix("; ")]
        if held_out is not None and held_out.X is not None:
            errors = f"error {held_out.lowest:.4g}, at the end {history[-1].held_out_error:.4g}"
            notes.append(f"epoch {held_out.best} is best on {self.validation.n_comparisons:,} held out: {errors}")
        note = "; ".join(filter(None, notes))
        message = self.message + (f" ({note})" if note else "")
        judged = [row.held_out_error for row in history if row.held_out_error is not None]
        error = judged[-1] if judged else None
        if held_out is not None and judged:
            error = held_out.lowest
        n_gradients = history[-1].n_gradients if history else 0
        n_iter = max(len(history) - 1, 0)
        return Result(embedding, value, n_iter, n_gradients, self.converged, message, history, trouble, error)

    def _output(self) -> tuple[np.ndarray, float]:
        """The point that the output rule chooses, and the objective there."""
        run, last, output = self.run, self.last, self.solver.output
        if not run.history:
            return last.X, math.nan
        if run.held_out is not None:
            X = last.X if run.held_out.X is None else run.held_out.X
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
        if len(self.run.values) > 1 and value > 1.001 * none:  # answers that contradict each other end at `none`
            return f"the objective is {value:.4g}, and {none:.4g} with all points in one place"
        return ""
