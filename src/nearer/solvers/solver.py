"""What a solver is: parameters, `init` and `epoch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from nearer.data import check_bool, check_integer, check_number
from nearer.objective import offers
from nearer.solvers.run import Slot, solve
from nearer.solvers.state import Callback, Progress, Result, State

__all__ = ["Solver"]

_OUTPUTS = ("last", "best", "uniform")


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

    def settled(self, values: list[float], objective: Any) -> str:
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
        slot: Slot | None = None,
        spent: float = 0.0,
    ) -> Result:
        """Minimise from X0 (n, d), or resume the run in `slot`; `spent` seconds count towards `max_seconds`."""
        return solve(self, objective, X0, rng, callbacks, slot, spent)

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
