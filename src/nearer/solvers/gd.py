"""Batch gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import check_number
from nearer.objective import Objective
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.step_sizes import SBB, Change

__all__ = ["GD"]


@dataclass
class GD(Solver):
    """Gradient descent on the points; one epoch is one iteration.

    Parameters
    ----------
    step : float, optional
        Positive, for a constant step. By default the step is found by backtracking from the absolute Barzilai-Borwein
        step until the objective falls enough (Armijo), so that it never rises.
    """

    max_epochs: int = 1000
    step: float | None = None
    name = "gd"

    _SUFFICIENT = 1e-4
    _MOST_HALVINGS = 40

    def check_objective(self, objective: object) -> None:
        check_number(self.step, f"{self.name}: step", allow_none=True)

    def epochs(
        self, objective: Objective, X0: np.ndarray, rng: np.random.Generator, kept: dict[str, Any] | None = None
    ) -> Iterator[SolverState]:
        def state(step: float | None, finished: str | None = None) -> SolverState:
            kept = {"X": X, "value": value, "gradient": gradient, "work": work, "trial": trial}
            return SolverState(X, value, work, step, float(np.linalg.norm(gradient)), finished=finished, kept=kept)

        n = objective.n_comparisons
        if kept is None:
            X = X0
            value, gradient = objective.value_and_gradient(X)
            work = n
            trial = self.step or 1.0 / max(float(np.abs(gradient).max()), 1e-12)
            yield state(None)
        else:
            X, value, gradient, work, trial = (kept[name] for name in ("X", "value", "gradient", "work", "trial"))
        while True:
            slope = float(np.vdot(gradient, gradient))
            for _ in range(self._MOST_HALVINGS):
                X_new = X - trial * gradient
                new_value, new_gradient = objective.value_and_gradient(X_new)
                work += n
                if self.step is not None or new_value <= value - self._SUFFICIENT * trial * slope:
                    break
                trial *= 0.5
            else:
                yield state(trial, "converged: no step lowers the objective")
                return
            used = trial
            if self.step is None:
                trial = SBB(epsilon=0.0).after(Change.between(X_new, X, new_gradient, gradient), 1, trial)
                trial = min(trial, 100.0 * used)
            X, value, gradient = X_new, new_value, new_gradient
            yield state(used)
