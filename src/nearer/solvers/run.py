"""The loop of all solvers: clock, history, limits, held-out error, output rules, checkpoints."""

from __future__ import annotations

import contextvars
import copy
import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from nearer.objective import offers
from nearer.solvers.state import Callback, History, HistoryRow, Result, State

logger = logging.getLogger(__name__)

__all__ = ["Run", "Slot", "Stop", "check_stop", "solve", "stopping"]

_LEAST_WAIT = 10  # epochs, for the held-out error to improve


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
    judged: float | None = None  # held-out error, as last computed
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

    def look(self, error: float, epoch: int, state: State, may_be_best: bool) -> None:
        """Record the error after an epoch; of equally good points the last is kept."""
        if not state.provisional and self.in_earnest is None:
            self.in_earnest = epoch
        if error <= self.lowest and may_be_best:
            if error < self.lowest:
                self.fell = epoch
            self.lowest, self.best, self.X = error, epoch, state.X.copy()

    def enough(self, epoch: int) -> bool:
        """Whether the error has not improved for as many epochs as it took to reach it (provisional ones excluded)."""
        if self.in_earnest is None:
            return False
        return epoch - max(self.fell, self.in_earnest) >= _LEAST_WAIT and epoch >= 2 * self.fell


class Slot(Protocol):
    """Where a run is kept, so that it can be resumed."""

    @property
    def run(self) -> Run:
        """The run as it was kept last."""

    def keep(self, run: Run, always: bool) -> None:
        """Keep a run: always, or if enough time has passed since the last."""


class Stop:
    """An event that ends all runs started in its context, including those of nested events."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._parent = stopping.get()

    def set(self) -> None:
        self._set.set()

    def is_set(self) -> bool:
        return self._set.is_set() or (self._parent is not None and self._parent.is_set())


stopping: contextvars.ContextVar[Stop | None] = contextvars.ContextVar("stopping", default=None)


def check_stop() -> None:
    """Raise KeyboardInterrupt if the run of this thread was stopped."""
    stop = stopping.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


def solve(
    solver: Any,
    objective: Any,
    X0: np.ndarray,
    rng: np.random.Generator | int | None = None,
    callbacks: Sequence[Callback] = (),
    slot: Slot | None = None,
    spent: float = 0.0,
) -> Result:
    """Minimise from X0 (n, d), or resume the run in `slot`; `spent` seconds count towards `max_seconds`."""
    solver.check_parameters()
    solver.require(objective, ("value", "error", *solver.needs))
    solver.check_objective(objective)
    X0 = np.array(X0, dtype=np.float64, order="C")
    if X0.shape != (objective.n_objects, objective.n_components):
        expected = (objective.n_objects, objective.n_components)
        raise ValueError(f"{solver.name}: starting point: got shape {X0.shape}, expected {expected}")
    if not np.isfinite(X0).all():
        row = int(np.flatnonzero(~np.isfinite(X0).all(axis=1))[0])
        raise ValueError(f"{solver.name}: the starting point is not finite (first in row {row})")
    if solver.validation_fraction > 0:
        solver.require(objective, ("split",), "use validation_fraction=0, or hold the comparisons in memory")
    with np.errstate(over="ignore", invalid="ignore"):  # the message reports divergence
        loop = _Loop(solver, objective, np.random.default_rng(rng), callbacks, slot, spent)
        return loop.follow(X0)


class _Stopped(Exception):
    """Ends a run from inside `init`; the loop has the message."""


class _Loop:
    """One run of a solver."""

    def __init__(
        self,
        solver: Any,
        objective: Any,
        rng: np.random.Generator,
        callbacks: Sequence[Callback],
        slot: Slot | None,
        spent: float,
    ):
        self.solver = copy.copy(solver)  # `prepare` sets attributes, and runs share solvers
        self.whole = self.objective = objective
        self.rng, self.callbacks, self.slot, self.spent = rng, callbacks, slot, spent
        self.message, self.converged, self.trouble = "", False, ""
        kept = None if slot is None else slot.run
        if kept is not None:
            rng.bit_generator.state = kept.rng_at_start
        self.run = Run(rng.bit_generator.state)
        if solver.validation_fraction > 0:
            self.objective, self.validation = self.whole.split(solver.validation_fraction, rng)
            self.run.held_out = BestHeldOut()
        # A stream of its own, so that the output rule does not change the iterates.
        self.output_rng = rng.spawn(1)[0]
        if kept is not None and kept.state is not None:
            self.run = kept.copy()
            self.rng.bit_generator.state, self.output_rng.bit_generator.state = kept.rng, kept.output_rng
        self.last = self.run.state

    def follow(self, X0: np.ndarray) -> Result:
        self.started = time.perf_counter() - self.run.seconds  # moved forward by all that is not solving
        try:
            state = self.run.state
            if state is None:
                self.last = State(X0, None, 0, provisional=True)
                state = self.solver.init(self.objective, X0, self.rng, self._progress)
                self._record(state)
            else:
                self._judge(len(self.run.history) - 1, self.run.seconds, state)
                if not self.message:
                    self.solver.prepare(self.objective, state)
            while not self.message:
                state = self.solver.epoch(self.objective, state, self.rng)
                self._record(state)
        except _Stopped:
            pass
        result = self._result(X0)
        logger.info("%s: %s", self.solver.name, result.message)
        return result

    def _progress(self, state: State) -> None:
        """Record a state from inside `init`: it is never returned as best, and no run is resumed from it."""
        self._record(state, inside=True)
        if self.message:
            raise _Stopped

    def _record(self, state: State, inside: bool = False) -> None:
        """History, callbacks, verdict and checkpoint of an epoch, with the clock stopped."""
        moment = time.perf_counter()
        run, epoch, seconds = self.run, len(self.run.history), moment - self.started
        check_stop()
        shown = replace(state)
        if run.held_out is not None and np.isfinite(state.X).all():
            shown.held_out_error = float(self.validation.error(state.X))
            run.held_out.look(shown.held_out_error, epoch, state, may_be_best=not inside)
        lost = self._not_finite(shown)
        if lost:
            self.trouble = f"the {lost} is no longer finite at epoch {epoch}; kept the last finite point"
            self.message = f"stopped: {self.trouble}"
            return
        self.last = shown
        stop = self._look(epoch, seconds, shown)
        self._judge(epoch, seconds, shown)
        if not self.message and stop:
            self.message = "stopped by a callback"
        if self.slot is not None and not inside:
            first = run.state is None
            run.state, run.seconds = shown, seconds
            run.rng, run.output_rng = self.rng.bit_generator.state, self.output_rng.bit_generator.state
            self.slot.keep(run.copy(), always=first or bool(self.message))
        self.started += time.perf_counter() - moment

    def _not_finite(self, state: State) -> str:
        if not np.isfinite(state.X).all():
            return "iterate"
        if state.value is None:
            state.value = self.objective.value(state.X)
        return "" if math.isfinite(state.value) else "objective"

    def _look(self, epoch: int, seconds: float, state: State) -> bool:
        """Add a row to the history, keep the point if the output rule asks for it; whether a callback stops the run."""
        assert state.value is not None
        run, solver = self.run, self.solver
        error = self.objective.error(state.X) if solver.record_error else None
        if state.held_out_error is not None:
            run.judged = state.held_out_error
        same = {name: getattr(state, name) for name in ("n_gradients", "step_size", "grad_norm", "held_out_error")}
        row = HistoryRow(epoch=epoch, seconds=seconds, objective=state.value, train_error=error, **same)
        run.history.append(row)
        if not state.provisional:
            run.values.append(state.value)
            if state.value < run.best[0]:
                run.best = state.value, state.X.copy() if solver.output == "best" else None
        if solver.output == "uniform" and epoch > 0 and self.output_rng.random() * epoch < 1.0:
            known = state.value if state.sample is None and not state.provisional else None
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
        elif not state.provisional and (reason := solver.settled(run.values, self.objective)):
            self.message = f"converged: {reason}"
        elif run.held_out is not None and run.held_out.enough(epoch):
            self.message = f"converged: held-out comparisons fared no better in {epoch - run.held_out.fell} epochs"
        self.converged = bool(self.message)
        if not self.message and epoch >= solver.max_epochs:
            self.message = f"stopped: reached max_epochs = {solver.max_epochs}"
        elif not self.message and solver.max_seconds is not None and self.spent + seconds >= solver.max_seconds:
            self.message = f"stopped: reached max_seconds = {solver.max_seconds:g}"

    def _result(self, X0: np.ndarray) -> Result:
        run, last = self.run, self.last
        assert last is not None
        embedding, value = self._output(last)
        trouble = self.trouble or self._suspicion(X0, embedding, value)
        if trouble and self.converged:
            self.converged, self.message = False, f"stopped: {trouble}"
        notes = [last.note.removesuffix("; ")]
        if run.held_out is not None and run.held_out.X is not None and run.history:
            count, at_end = self.validation.n_comparisons, run.history[-1].held_out_error
            errors = f"error {run.held_out.lowest:.4g}, at the end {at_end:.4g}"
            notes.append(f"epoch {run.held_out.best} is best on {count:,} held out: {errors}")
        note = "; ".join(filter(None, notes))
        message = self.message + (f" ({note})" if note else "")
        n_gradients = run.history[-1].n_gradients if run.history else 0
        n_iter = max(len(run.history) - 1, 0)
        return Result(
            embedding, value, n_iter, n_gradients, self.converged, message, run.history, trouble, run.judged
        )  # fmt: skip

    def _output(self, last: State) -> tuple[np.ndarray, float]:
        """The point that the output rule chooses, and the objective there."""
        run, output = self.run, self.solver.output
        if not run.history:
            return last.X, math.nan
        if run.held_out is not None:
            run.judged = run.held_out.lowest
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
        none = self.objective.value_at_zero() if offers(self.objective, "value_at_zero") else math.inf
        if len(self.run.values) > 1 and value > 1.001 * none:  # answers that contradict each other end at `none`
            return f"the objective is {value:.4g}, and {none:.4g} with all points in one place"
        return ""
