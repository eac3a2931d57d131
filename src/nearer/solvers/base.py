"""The run loop of all solvers: clock, history, stopping, callbacks, output rules, and runs made of several parts."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from nearer.data import check_bool, check_integer, check_number
from nearer.notebook import html_table
from nearer.objective import Objective, SampledObjective, SplittableObjective

if TYPE_CHECKING:
    from nearer.solvers.starts import Keeper

logger = logging.getLogger(__name__)

__all__ = [
    "Callback", "History", "HistoryRow", "Kept", "Parameters", "Result", "RunParts", "Solver", "SolverState", "States",
    "Steps", "arrived",
]  # fmt: skip

_OUTPUTS = ("last", "best", "uniform")
_LEAST_WAIT = 10  # epochs, for the held-out error to improve

Self = TypeVar("Self", bound="Parameters")
T = TypeVar("T")
Kept = dict[str, Any] | None
"""State needed to resume after an epoch: nested dicts and lists of arrays, numbers, texts; None: cannot be resumed."""


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

    def _repr_html_(self) -> str:
        facts = {
            "objective": float(self.objective),
            "epochs": self.n_iter,
            "gradients": self.n_gradients,
            "converged": "yes" if self.converged else "no",
            "message": self.message,
        }
        return html_table({"result": list(facts), "": list(facts.values())})


@dataclass
class SolverState:
    """State of a solver after an epoch, for the run loop and callbacks."""

    X: np.ndarray  # current point, float64 (n, d); callbacks must not change it
    value: float | None  # objective at X; None: the loop computes it with the clock stopped
    n_gradients: int  # of single comparisons, so far
    step_size: float | None = None  # that led here
    grad_norm: float | None = None  # at X, where known
    sample: np.ndarray | None = None  # drawn uniformly from the iterates of the epoch, (n, d); None: only X
    finished: str | None = None  # a message if the solver has converged
    provisional: bool = False  # value and gradient of a part of the data, which neither stop the run nor count as best
    note: str = ""  # what was done so far, for the final message
    kept: Kept = None  # what `Solver.epochs` needs to resume here; None if it cannot
    replayed: bool = False  # already recorded by the run that is resumed; only for solvers made of parts
    other_loss: bool = False  # X minimises a surrogate loss (warm start); never returned
    held_out_error: float | None = None  # of X, where known


States = Iterator[SolverState]
Steps = Generator[SolverState, None, T]
"""States, and a result returned after the last of them."""
Callback = Callable[[HistoryRow, SolverState], Any]
"""Called after every epoch with the clock stopped; a true return value stops the run."""


class Parameters:
    """Base of dataclasses whose fields are parameters: for cloning and for names such as ``solver__step__epsilon``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` adds those of parameters, as ``name__inner``."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameters):
                    params |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Change parameters by name, also ``name__inner``; ValueError for what the constructor would refuse."""
        values = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in values:
                owner = type(self).__name__
                raise ValueError(f"{owner}: got parameter {name!r}, expected one of: {', '.join(values)}")
            if inner:
                nested[name][inner] = value
            else:
                values[name] = value
        for name, own in nested.items():
            if not isinstance(values[name], Parameters):
                names = ", ".join(f"{name}__{inner}" for inner in own)
                raise ValueError(f"{type(self).__name__}: got {names}, but {name} is {values[name]!r}")
            values[name].set_params(**own)
        replace(self, **values)  # type: ignore[type-var]  # refuses what the constructor refuses, before any change
        for name, value in values.items():
            setattr(self, name, value)
        return self


@dataclass
class Solver(Parameters):
    """Base of all solvers.

    Parameters
    ----------
    max_epochs : int, default 200
        Most epochs (batch solvers: iterations).
    tol : float, default 1e-5
        Stop when the best objective fell by less than ``tol * |objective|`` in `patience` epochs; 0: never.
    patience : int, default 5
    grad_tol : float, default 0
        Stop when the norm of the gradient is at most this; 0: only where the gradient vanishes.
    max_seconds : float, optional
        Limit on the solving time; with ``output="best"`` the best point so far is returned.
    output : {"last", "best", "uniform"}, default "last"
        The last iterate, the one with the best objective, or one drawn uniformly from all (as in theory).
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
    needs: ClassVar[type] = Objective
    """Protocol that an objective must offer, see `nearer.objective`."""

    def solve(
        self,
        objective: Any,
        X0: np.ndarray,
        rng: np.random.Generator | int | None = None,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
        spent: float = 0.0,
    ) -> Result:
        """Minimise from X0 (n, d), or resume the run in `keeper`; `spent` seconds count towards `max_seconds`."""
        self.check_parameters()
        self.require(objective, self.needs)
        self.check_objective(objective)
        X0 = np.array(X0, dtype=np.float64, order="C")
        if X0.shape != (objective.n_objects, objective.n_components):
            expected = (objective.n_objects, objective.n_components)
            raise ValueError(f"{self.name}: starting point: got shape {X0.shape}, expected {expected}")
        if not np.isfinite(X0).all():
            row = int(np.flatnonzero(~np.isfinite(X0).all(axis=1))[0])
            raise ValueError(f"{self.name}: the starting point is not finite (first in row {row})")
        rng = np.random.default_rng(rng)
        if self.validation_fraction > 0:
            self.require(objective, SplittableObjective, "use validation_fraction=0, or hold the comparisons in memory")
        with np.errstate(over="ignore", invalid="ignore"):  # the message reports divergence
            return _Run(self, objective, rng, callbacks, keeper, spent).follow(X0)

    def require(self, objective: Any, protocol: type, remedy: str = "use another solver") -> None:
        """Raise if an objective lacks a protocol of `nearer.objective`, naming what is missing."""
        if not isinstance(objective, protocol):
            members = [name for name in dir(protocol) if not name.startswith("_")]
            lacking = [name for name in members if not hasattr(objective, name)]
            raise ValueError(
                f"{self.name}: got {type(objective).__name__}, expected {protocol.__name__} "
                f"(it has no {', '.join(lacking)}); {remedy}"
            )

    def check_objective(self, objective: Any) -> None:
        """Raise a ValueError for an objective that this solver cannot take, or for parameters of its own."""

    def settled(self, values: list[float], objective: Any) -> str:
        """Reason to end the run given the objective after every epoch, empty to go on; by default the rule of `tol`."""
        if self.tol == 0 or len(values) <= self.patience:
            return ""
        before = min(values[: -self.patience])
        if before - min(values) > self.tol * max(abs(before), np.finfo(float).tiny):
            return ""
        return f"objective fell by less than {self.tol:.3g} (relative) in {self.patience} epochs"

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        """Yield the state at X0 (n, d) and after every epoch until the run loop stops; with `kept`, only later ones."""
        raise NotImplementedError

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


@dataclass
class _HeldOut:
    """Best map so far by held-out error, and the stopping rule."""

    objective: Any
    lowest: float = math.inf
    fell: int = 0
    best: int = 0
    X: np.ndarray | None = None
    in_earnest: int | None = None

    def look(self, epoch: int, state: SolverState) -> float:
        """Held-out error after an epoch; of equally good points the last is kept."""
        error = float(self.objective.error(state.X))
        if not state.provisional and self.in_earnest is None:
            self.in_earnest = epoch
        if error <= self.lowest and not state.other_loss:
            if error < self.lowest:
                self.fell = epoch
            self.lowest, self.best, self.X = error, epoch, state.X.copy()
        return error

    def enough(self, epoch: int) -> bool:
        """Whether the error has not improved for as long as it took to reach it; provisional epochs do not count."""
        if self.in_earnest is None:
            return False
        return epoch - max(self.fell, self.in_earnest) >= _LEAST_WAIT and epoch >= 2 * self.fell


@dataclass
class _Run:
    """One run of a solver."""

    solver: Solver
    objective: Any
    rng: np.random.Generator
    callbacks: Sequence[Callback]
    keeper: Keeper | None
    spent: float = 0.0
    held_out: _HeldOut | None = None
    history: History = field(default_factory=History)
    values: list[float] = field(default_factory=list)
    best_value: float = math.inf
    best_X: np.ndarray | None = None
    drawn: tuple[np.ndarray, float | None] | None = None
    judged: float | None = None

    def __post_init__(self) -> None:
        if self.keeper is not None and self.keeper.kept is not None:
            self.rng.bit_generator.state = self.keeper.kept["rng_at_start"]
        self.rng_at_start = self.rng.bit_generator.state
        self.whole = self.objective
        if self.solver.validation_fraction > 0:
            self.objective, held_out = self.whole.split(self.solver.validation_fraction, self.rng)
            self.held_out = _HeldOut(held_out)
        # A stream of its own, so that the output rule does not change the iterates.
        self.output_rng = self.rng.spawn(1)[0]

    def follow(self, X0: np.ndarray) -> Result:
        started = time.perf_counter()  # moved forward by all that is not solving
        message, converged, trouble = "", False, ""
        first, last = 0, SolverState(X0, None, 0)
        if self.keeper is not None and self.keeper.kept is not None:
            seconds, last = self._go_on(self.keeper.kept)
            started -= seconds
            first = len(self.history)
            message, converged = self._verdict(first - 1, seconds, last)
        to_go_on = () if last.kept is None else (last.kept,)  # solvers that cannot resume need no such argument
        states = () if message else self.solver.epochs(self.objective, X0, self.rng, *to_go_on)
        for epoch, state in enumerate((state for state in states if not state.replayed), start=first):
            moment = time.perf_counter()  # the clock stops here
            seconds = moment - started
            if self.held_out is not None and np.isfinite(state.X).all():
                state.held_out_error = self.held_out.look(epoch, state)
            trouble = self._not_finite(state)
            if trouble:
                trouble = f"the {trouble} is no longer finite at epoch {epoch}; kept the last finite point"
                message = f"stopped: {trouble}"
                break
            last = replace(state)  # a solver may yield the same object again
            stop = self._record(epoch, seconds, state)
            message, converged = self._verdict(epoch, seconds, state)
            if not message and stop:
                message = "stopped by a callback"
            self._keep(seconds, state, bool(message))
            started += time.perf_counter() - moment
            if message:
                break
        result = self._result(last, message, converged)
        trouble = trouble or self._trouble(X0, result)
        if trouble and converged:
            result = replace(result, converged=False, message=f"stopped: {trouble}")
        notes = [last.note.removesuffix("; ")]
        if self.held_out is not None and self.held_out.X is not None and self.history:
            count, at_end = self.held_out.objective.n_comparisons, self.history[-1].held_out_error
            errors = f"error {self.held_out.lowest:.4g}, at the end {at_end:.4g}"
            notes.append(f"epoch {self.held_out.best} is best on {count:,} held out: {errors}")
        note = "; ".join(filter(None, notes))
        message = result.message + (f" ({note})" if note else "")
        logger.info("%s: %s", self.solver.name, message)
        return replace(result, message=message, trouble=trouble)

    def _keep(self, seconds: float, state: SolverState, last: bool) -> None:
        """Save the run to the keeper if it is due; the first and last epoch always."""
        if self.keeper is None or not (last or len(self.history) == 1 or self.keeper.due):
            return
        if state.kept is None:
            raise ValueError(
                f"checkpoint: {self.solver.name} does not say what it needs to go on (`SolverState.kept`); leave "
                "checkpoint out, or use another solver"
            )
        run = {name: getattr(self, name) for name in ("values", "best_value", "best_X", "drawn", "rng_at_start")}
        run["history"] = self.history.to_dict()
        run["held_out"] = self.held_out and {k: v for k, v in vars(self.held_out).items() if k != "objective"}
        run["output_rng"] = self.output_rng.bit_generator.state
        run["seconds"] = seconds
        run["state"] = vars(state)
        self.keeper.keep(run)

    def _go_on(self, run: dict[str, Any]) -> tuple[float, SolverState]:
        """Restore a saved run; its seconds and last state."""
        self.values, self.best_value, self.best_X = list(run["values"]), run["best_value"], run["best_X"]
        self.drawn = run["drawn"] and tuple(run["drawn"])
        columns = run["history"]
        self.history = History(HistoryRow(**dict(zip(columns, row))) for row in zip(*columns.values()))
        self.output_rng.bit_generator.state = run["output_rng"]
        if self.held_out is not None:
            vars(self.held_out).update(run["held_out"])
        return run["seconds"], SolverState(**run["state"])

    def _not_finite(self, state: SolverState) -> str:
        if not np.isfinite(state.X).all():
            return "iterate"
        if state.value is None:
            state.value = self.objective.value(state.X)
        return "" if math.isfinite(state.value) else "objective"

    def _record(self, epoch: int, seconds: float, state: SolverState) -> bool:
        assert state.value is not None
        error = self.objective.error(state.X) if self.solver.record_error else None
        if state.held_out_error is not None:
            self.judged = state.held_out_error
        same = {name: getattr(state, name) for name in ("n_gradients", "step_size", "grad_norm", "held_out_error")}
        row = HistoryRow(epoch=epoch, seconds=seconds, objective=state.value, train_error=error, **same)
        self.history.append(row)
        if not state.provisional:
            self.values.append(state.value)
        if state.value < self.best_value and not state.provisional:
            self.best_value = state.value
            if self.solver.output == "best":
                self.best_X = state.X.copy()
        if self.solver.output == "uniform" and epoch > 0 and self.output_rng.random() * epoch < 1.0:
            known = state.value if state.sample is None and not state.provisional else None
            self.drawn = (state.X if state.sample is None else state.sample).copy(), known
        answers = [bool(callback(row, state)) for callback in self.callbacks]  # every callback runs
        return any(answers)

    def _verdict(self, epoch: int, seconds: float, state: SolverState) -> tuple[str, bool]:
        solver = self.solver
        if state.finished:
            return state.finished, True
        if not state.provisional:
            if state.grad_norm is not None and state.grad_norm <= solver.grad_tol:
                return f"converged: gradient norm {state.grad_norm:.3g} <= {solver.grad_tol:.3g}", True
            reason = solver.settled(self.values, self.objective)
            if reason:
                return f"converged: {reason}", True
        if self.held_out is not None and self.held_out.enough(epoch):
            return f"converged: held-out comparisons fared no better in {epoch - self.held_out.fell} epochs", True
        if epoch >= solver.max_epochs:
            return f"stopped: reached max_epochs = {solver.max_epochs}", False
        if solver.max_seconds is not None and self.spent + seconds >= solver.max_seconds:
            return f"stopped: reached max_seconds = {solver.max_seconds:g}", False
        return "", False

    def _trouble(self, X0: np.ndarray, result: Result) -> str:
        """Reason to distrust a finite embedding."""
        if len(X0) > 1 and not np.ptp(X0, axis=0).any() and not np.ptp(result.embedding, axis=0).any():
            return "all points started in one place, from which no gradient leads away"
        none = self.objective.value_at_zero() if isinstance(self.objective, SampledObjective) else math.inf
        if len(self.values) > 1 and result.objective > 1.001 * none:  # answers that contradict each other end at `none`
            return f"the objective is {result.objective:.4g}, and {none:.4g} with all points in one place"
        return ""

    def _result(self, last: SolverState, message: str, converged: bool) -> Result:
        rows = self.history
        embedding, value = last.X, rows[-1].objective if rows else math.nan
        n_gradients = rows[-1].n_gradients if rows else 0
        if self.held_out is not None and rows:
            if self.held_out.X is not None:
                embedding = self.held_out.X
            value, self.judged = self.whole.value(embedding), self.held_out.lowest
        elif self.solver.output == "best" and self.best_X is not None:
            embedding, value = self.best_X, self.best_value
        elif self.solver.output == "uniform" and self.drawn is not None:
            embedding, known = self.drawn
            value = self.objective.value(embedding) if known is None else known
        elif last.provisional:
            value = self.objective.value(embedding)
        count = max(len(rows) - 1, 0)
        return Result(embedding, value, count, n_gradients, converged, message, rows, held_out_error=self.judged)


class RunParts:
    """Parts of a run, one after the other; a resumed run does not repeat those that are finished.

    What happens between parts is repeated, so it must be cheap and depend on the states alone; it may draw from the
    random generator of the run, a part only if it is the last. `kept` is of the last state, `work` of finished parts.
    """

    def __init__(self, kept: Kept = None):
        self._earlier: list[dict[str, Any]] = [] if kept is None else kept["parts"]
        self._done: list[dict[str, Any]] = []
        self.kept: dict[str, Any] = {}
        self.work = 0

    def follow(self, part: Callable[..., States], *args: Any, **shown: Any) -> Steps[SolverState]:
        """States of ``part(*args, kept=...)``, with `shown` in place of their own fields; returns the last.

        If the resumed run was in this part already, its last state comes first, as `replayed`.
        """
        number = len(self._done)
        earlier = self._earlier[number] if number < len(self._earlier) else None
        if earlier is not None:
            state = SolverState(**{**earlier, "replayed": True})
            yield self._with_others(state, shown)
        if number >= len(self._earlier) - 1:
            for state in part(*args, kept=None if earlier is None else earlier["kept"]):
                yield self._with_others(state, shown)
        self._done.append(vars(replace(state, kept=None)))
        self.work += state.n_gradients
        return state

    def _with_others(self, state: SolverState, shown: dict[str, Any]) -> SolverState:
        self.kept = state.kept or {}
        work, kept = self.work + state.n_gradients, {"parts": [*self._done, vars(state)]}
        return replace(state, n_gradients=work, kept=kept, **shown)


def arrived(state: SolverState, kept: Kept = None) -> States:
    """A part that is one state; none if the resumed run had reached it."""
    if kept is None:
        yield replace(state, kept={})
