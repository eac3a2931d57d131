"""The default: no step size to choose, any loss, any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nearer.objective import StochasticObjective
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.lbfgs import LBFGS

__all__ = ["Auto"]


@dataclass
class Auto(Solver):
    """L-BFGS."""

    max_epochs: int = 1000
    tol: float = 1e-5
    name = "auto"

    def epochs(self, objective: StochasticObjective, X0: np.ndarray, rng: np.random.Generator) -> Iterator[SolverState]:
        yield from LBFGS().epochs(objective, X0, rng)
