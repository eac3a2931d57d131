"""How the objective is minimised: every solver of the paper, L-BFGS, and `auto`."""

from __future__ import annotations

from collections.abc import Callable

from nearer.solvers.auto import Auto
from nearer.solvers.base import Callback, History, HistoryRow, Result, Solver, SolverState
from nearer.solvers.batch import GD, LBFGS
from nearer.solvers.convex import Convex
from nearer.solvers.stochastic import BB, SBB, SGD, SVRG, Constant, Decaying, StepSize

__all__ = [
    "BB", "GD", "LBFGS", "SBB", "SGD", "SVRG", "Auto", "Callback", "Constant", "Convex", "Decaying", "History",
    "HistoryRow", "Result", "Solver", "SolverState", "StepSize", "get_solver", "solver_names",
]  # fmt: skip

_SOLVERS: dict[str, Callable[[], Solver]] = {
    "auto": Auto,
    "svrg-sbb": lambda: SVRG(step=SBB()),
    "svrg-bb": lambda: SVRG(step=BB()),
    "svrg": lambda: SVRG(step=Constant()),
    "sgd": SGD,
    "gd": GD,
    "lbfgs": LBFGS,
    "convex": Convex,
}


def solver_names() -> tuple[str, ...]:
    """Return the names that `get_solver` accepts."""
    return tuple(_SOLVERS)


def get_solver(solver: str | Solver) -> Solver:
    """Return the solver of a given name with its defaults, or the solver itself."""
    if isinstance(solver, Solver):
        return solver
    if not isinstance(solver, str) or solver not in _SOLVERS:
        raise ValueError(f"solver: got {solver!r}, expected one of: {', '.join(_SOLVERS)}, or a Solver")
    return _SOLVERS[solver]()
