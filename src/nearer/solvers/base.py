"""What all solvers share: the run loop with its clock, history, stopping, callbacks and output rules, and its parts."""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from nearer._tables import html_table
from nearer.data import check_bool, check_integer, check_number
from nearer.objective import Objective, SampledObjective, SplittableObjective

if TYPE_CHECKING:
    from nearer.solvers.starts import Keeper

logger = logging.getLogger(__name__)

__all__ = [
    "Callback", "History", "HistoryRow", "Kept", "Parameters", "Result", "RunParts", "Solver", "SolverState", "States",
    "Steps", "arrived",
]  # fmt: skip

_OUTPUTS = ("last", "best", "uniform")
# Epochs to wait at least for held-out comparisons to fare better.
_LEAST_WAIT = 10

Self = TypeVar("Self", bound="Parameters")
T = TypeVar("T")
Kept = dict[str, Any] | None
"""What a run needs to go on after an epoch: nested dicts and lists of arrays, numbers and texts. None: it cannot."""


@dataclass(frozen=True)
class HistoryRow:
    """One epoch of a run.

    Attributes
    ----------
    epoch, n_gradients : int
        Epochs and single-comparison gradients so far.
    seconds : float
        Solving time so far; evaluation and callbacks are left out.
    objective : float
    step_size : float or None
        The step that led to this point; None at the start.
    grad_norm : float or None
        Norm of the gradient, where known.
    train_error : float or None
        Fraction of comparisons not satisfied, if asked for.
    held_out_error : float or None
        The same of those held out, if `validation_fraction` asks for some.
    """

    epoch: int
    n_gradients: int
    seconds: float
    objective: float
    step_size: float | None
    grad_norm: float | None
    train_error: float | None = None
    held_out_error: float | None = None


class History(list[HistoryRow]):
    """Rows of a run, one per epoch, the starting point first."""

    FIELDS: ClassVar[tuple[str, ...]] = tuple(HistoryRow.__dataclass_fields__)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table."""
        return {name: [getattr(row, name) for row in self] for name in self.FIELDS}

    def column(self, name: str) -> np.ndarray:
        """Return one column.

        Parameters
        ----------
        name : str
            One of `FIELDS`.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            Missing entries are NaN.
        """
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
    """What a solver returns.

    Attributes
    ----------
    embedding : ndarray of float64, shape (n, d)
    objective : float
        F at the embedding.
    n_iter : int
        Epochs (batch solvers: iterations) done.
    n_gradients : int
        Single-comparison gradients, the common currency of all solvers.
    converged : bool
        Whether a tolerance was met; False if a limit was hit, a callback stopped it, or it diverged.
    message : str
        Why it stopped.
    history : History
        One row per epoch.
    trouble : str
        Why the embedding is not to be trusted; empty if nothing speaks against it.
    held_out_error : float or None
        Fraction of held-out comparisons not satisfied by the map chosen, where some were held out. Having been used to
        choose, it flatters.
    """

    embedding: np.ndarray
    objective: float
    n_iter: int
    n_gradients: int
    converged: bool
    message: str
    history: History
    trouble: str = ""
    held_out_error: float | None = None

    def after(self, earlier: Result) -> Result:
        """This result with the epochs, work and time of an earlier one, which it started from, before its own."""
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
    """Where a solver is after an epoch; handed to the run loop and to callbacks.

    Attributes
    ----------
    X : ndarray of float64, shape (n, d)
        The current point. Callbacks must not change it.
    value : float or None
        Objective at X; None where the solver did not need it (the loop then measures it, clock stopped).
    n_gradients : int
        Work so far, in single-comparison gradients.
    step_size : float or None
        The step that led here.
    grad_norm : float or None
        Norm of the gradient at X, where known.
    sample : ndarray of float64, shape (n, d), or None
        A point drawn uniformly from the iterates of this epoch; None if X itself is the only one.
    finished : str or None
        A message when the solver itself sees that it has converged.
    provisional : bool
        Value and gradient are of a part of the data, so they neither stop the run nor count as best.
    note : str
        What was done so far, for the final message.
    kept : dict or None
        All that `Solver.epochs` needs to go on from here: nested dicts and lists of arrays, numbers and texts. None if
        it cannot.
    replayed : bool
        Of the run that is resumed, and recorded already; it is there for solvers made of parts.
    other_loss : bool
        X is a map of another loss, which shows the way: not one to return.
    held_out_error : float or None
        Fraction of comparisons held out that X does not satisfy, where known.
    """

    X: np.ndarray
    value: float | None
    n_gradients: int
    step_size: float | None = None
    grad_norm: float | None = None
    sample: np.ndarray | None = None
    finished: str | None = None
    provisional: bool = False
    note: str = ""
    kept: Kept = None
    replayed: bool = False
    other_loss: bool = False
    held_out_error: float | None = None


States = Iterator[SolverState]
Steps = Generator[SolverState, None, T]
"""States that lead to something, which comes with the last of them."""
Callback = Callable[[HistoryRow, SolverState], Any]
"""Called after every epoch with the clock stopped; a true return value stops the run."""


class Parameters:
    """Base of dataclasses whose fields are parameters.

    With it an estimator that holds a solver can be cloned, and a search can reach ``solver__max_epochs`` and
    ``solver__step__epsilon``.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Also those of parameters that have some themselves, as ``name__inner``.
        """
        params = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameters):
                    params |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Change parameters by name.

        Parameters
        ----------
        **params : Any
            New values; ``name__inner=value`` changes a parameter of a parameter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A name is not known, or the constructor refuses a value.
        """
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
        See `tol`.
    grad_tol : float, default 0
        Stop when the norm of the gradient is at most this; 0: only where the gradient vanishes.
    max_seconds : float, optional
        Stop after so much solving time; the best point so far is kept by ``output="best"``.
    output : {"last", "best", "uniform"}, default "last"
        The last iterate, the one with the best objective, or one drawn uniformly from all (as in theory).
    record_error : bool, default False
        Also record the training error, one extra pass per epoch with the clock stopped.
    validation_fraction : float, default 0
        Stop when it is best: this share of the questions (0 to below 1) is held out, the run ends when the error about
        them has not fallen for as many epochs as it took to get there (at least 10), and the map with the lowest is
        kept; `output` is then not looked at. For comparisons in memory.
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
        """Minimise the objective from X0.

        Parameters
        ----------
        objective : Objective
            See `nearer.objective`; which protocol is needed depends on the solver.
        X0 : array-like of float, shape (n, d)
            Starting point; not changed.
        rng : Generator or int, optional
            For everything random in the run.
        callbacks : sequence of Callback, default ()
        keeper : Keeper, optional
            Keeps what another run needs to go on; if it holds such a run already, that one is resumed.
        spent : float, default 0
            Seconds of `max_seconds` that other runs have used up.
        """
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
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is told once, by the message
            return _Run(self, objective, rng, callbacks, keeper, spent).follow(X0)

    def require(self, objective: Any, protocol: type, remedy: str = "use another solver") -> None:
        """Refuse an objective that does not offer one of `nearer.objective`, and say what it lacks."""
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
        """Say why the run may end: by default the rule of `tol`.

        Parameters
        ----------
        values : list of float
            The objective after every epoch so far.
        objective : Objective

        Returns
        -------
        str
            Empty if the run is to go on.
        """
        if self.tol == 0 or len(values) <= self.patience:
            return ""
        before = min(values[: -self.patience])
        if before - min(values) > self.tol * max(abs(before), np.finfo(float).tiny):
            return ""
        return f"objective fell by less than {self.tol:.3g} (relative) in {self.patience} epochs"

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        """Yield the starting point, then the state after every epoch; the run loop decides when to stop.

        Parameters
        ----------
        objective : Objective
        X0 : ndarray of float64, shape (n, d)
            Starting point; not to be changed.
        rng : Generator
            For everything random.
        kept : dict, optional
            Of a state of an earlier run with the same objective, X0 and rng: the first state is the one after it.
            A solver whose states have none need not take it.
        """
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
    """The held-out comparisons of a run: which map they like best so far, and whether to go on."""

    objective: Any
    lowest: float = math.inf
    fell: int = 0
    best: int = 0
    X: np.ndarray | None = None
    in_earnest: int | None = None

    def look(self, epoch: int, state: SolverState) -> float:
        """The error at the point of an epoch; kept is the last of equally good points."""
        error = float(self.objective.error(state.X))
        if not state.provisional and self.in_earnest is None:
            self.in_earnest = epoch
        if error <= self.lowest and not state.other_loss:
            if error < self.lowest:
                self.fell = epoch
            self.lowest, self.best, self.X = error, epoch, state.X.copy()
        return error

    def enough(self, epoch: int) -> bool:
        """Whether the error has not fallen for as long as it took to get there; early stages do not count."""
        if self.in_earnest is None:
            return False
        return epoch - max(self.fell, self.in_earnest) >= _LEAST_WAIT and epoch >= 2 * self.fell


@dataclass
class _Run:
    """One run of a solver: follows its epochs and keeps the books."""

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
        started = time.perf_counter()  # moved on by whatever is not solving
        message, converged, trouble = "", False, ""
        first, last = 0, SolverState(X0, None, 0)
        if self.keeper is not None and self.keeper.kept is not None:
            seconds, last = self._go_on(self.keeper.kept)
            started -= seconds
            first = len(self.history)
            message, converged = self._verdict(first - 1, seconds, last)
        to_go_on = () if last.kept is None else (last.kept,)  # a solver that cannot need not take it
        states = () if message else self.solver.epochs(self.objective, X0, self.rng, *to_go_on)
        for epoch, state in enumerate((state for state in states if not state.replayed), start=first):
            moment = time.perf_counter()  # here the clock stops: what follows is no solving
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
        notes = [last.note.removesuffix("; ")]  # said before what was to come next
        if self.held_out is not None and self.held_out.X is not None and self.history:
            count, at_end = self.held_out.objective.n_comparisons, self.history[-1].held_out_error
            errors = f"error {self.held_out.lowest:.4g}, at the end {at_end:.4g}"
            notes.append(f"epoch {self.held_out.best} is best on {count:,} held out: {errors}")
        note = "; ".join(filter(None, notes))
        message = result.message + (f" ({note})" if note else "")
        logger.info("%s: %s", self.solver.name, message)
        return replace(result, message=message, trouble=trouble)

    def _keep(self, seconds: float, state: SolverState, last: bool) -> None:
        """Keep the books and the state; the first and the last in any case."""
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
        """Open the books of a run that was kept; its time and its last state."""
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
        """Why a finite embedding is not to be trusted."""
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
    """The parts of a run, one after the other; those that an earlier run had finished are not run again.

    What happens between the parts is done again, so it has to be cheap and to depend on the states alone. It may draw
    from the random generator of the run; a part draws nothing unless it is the last. `kept` is given of a state of the
    earlier run; the attribute is of the last state, as the part itself gave it. `work` is that of the parts done; what
    is done between them may be added.
    """

    def __init__(self, kept: Kept = None):
        self._earlier: list[dict[str, Any]] = [] if kept is None else kept["parts"]
        self._done: list[dict[str, Any]] = []
        self.kept: dict[str, Any] = {}
        self.work = 0

    def follow(self, part: Callable[..., States], *args: Any, **shown: Any) -> Steps[SolverState]:
        """Follow the next part, called as ``part(*args, kept=...)``; gives the last of its states (at least one).

        If an earlier run was in this part already, the last state it had there comes first, as `replayed`. The states
        come with the work of the parts before, and with what is to be `shown` in place of their own fields.
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
    """A part that is one state; `kept` is of an earlier run, which was there already."""
    if kept is None:
        yield replace(state, kept={})
