"""How the objective is minimised: every solver of the paper, L-BFGS, and `auto`."""

from __future__ import annotations

from nearer.registry import SOLVERS, find
from nearer.solvers import step_sizes
from nearer.solvers.auto import Auto
from nearer.solvers.convex import Convex
from nearer.solvers.gd import GD
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.sgd import SGD
from nearer.solvers.solver import Callback, History, HistoryRow, Progress, Result, Solver, State
from nearer.solvers.step_sizes import BB, SBB, Constant, Decaying, StepSize
from nearer.solvers.svrg import SVRG

__all__ = [
    "BB", "GD", "LBFGS", "SBB", "SGD", "SVRG", "Auto", "Callback", "Constant", "Convex", "Decaying", "History",
    "HistoryRow", "Progress", "Result", "Solver", "State", "StepSize", "get_solver", "solver_names",
]  # fmt: skip


def solver_names() -> tuple[str, ...]:
    """Return the names that `get_solver` accepts."""
    return tuple(SOLVERS)


def get_solver(solver: str | Solver) -> Solver:
    """Return the solver of a given name with its defaults, or the solver itself."""
    if isinstance(solver, Solver):
        return solver
    entry = find(SOLVERS, solver)
    if entry is None:
        raise ValueError(f"solver: got {solver!r}, expected one of: {', '.join(SOLVERS)}, or a Solver")
    given = {"step": getattr(step_sizes, entry.step)()} if entry.step else {}
    return entry.load()(**given)
