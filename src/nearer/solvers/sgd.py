"""Plain stochastic gradient descent with constant or decaying steps."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.objective import StochasticObjective
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.step_sizes import Constant, Decaying

__all__ = ["SGD"]


@dataclass
class SGD(Solver):
    """Stochastic gradient descent; one epoch is as many steps as there are comparisons.

    The objective in the history is measured with the clock stopped: the method itself never needs it.

    Parameters
    ----------
    step : Decaying, Constant or float, default Decaying()
        `Constant` with a step; a float is positive and means the same.
    """

    step: Decaying | Constant | float = field(default_factory=Decaying)
    name = "sgd"
    needs = StochasticObjective

    def check_objective(self, objective: object) -> None:
        if isinstance(self.step, numbers.Real):
            Constant(float(self.step))  # refuses what is not positive
        elif not isinstance(self.step, (Decaying, Constant)):
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected Decaying, Constant or a positive number")
        if isinstance(self.step, Constant) and self.step.first_step is None:
            raise ValueError(f"{self.name}: step: got Constant(), expected one with a step, for example Constant(0.1)")

    def epochs(
        self,
        objective: StochasticObjective,
        X0: np.ndarray,
        rng: np.random.Generator,
        kept: dict[str, Any] | None = None,
    ) -> Iterator[SolverState]:
        step, decay, power = self._schedule()
        n = objective.n_comparisons
        seed = int(rng.integers(2**63))
        if kept is None:
            X, done = X0, 0
            yield SolverState(X, None, 0, kept={"X": X, "done": done})
        else:
            X, done = kept["X"], kept["done"]
        while True:
            size = step / (1.0 + decay * done / n) ** power
            X = objective.sgd_pass(X, step, n, seed, first=done, decay=decay / n, power=power)
            done += n
            yield SolverState(X, None, done, size, kept={"X": X, "done": done})

    def _schedule(self) -> tuple[float, float, float]:
        if isinstance(self.step, Decaying):
            return self.step.step, self.step.decay, self.step.power
        step = self.step.first_step if isinstance(self.step, Constant) else self.step
        assert step is not None  # see check_objective
        return float(step), 0.0, 1.0
