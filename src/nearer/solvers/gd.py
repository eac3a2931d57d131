"""Gradient descent with full gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import check_number
from nearer.kernels import SUFFICIENT
from nearer.solvers.solver import Progress, Solver, State
from nearer.solvers.step_sizes import SBB, curvature_between

__all__ = ["GD"]

_MOST_HALVINGS = 40


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

    def check_objective(self, objective: object) -> None:
        check_number(self.step, f"{self.name}: step", allow_none=True)

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        value, gradient = objective.value_and_gradient(X0)
        trial = self.step or 1.0 / max(float(np.abs(gradient).max()), 1e-12)
        return _state(X0, value, gradient, objective.n_comparisons, trial)

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        X, value, work = state.X, state.value, state.n_gradients
        gradient, trial = state.memory["gradient"], state.memory["trial"]
        slope = float(np.vdot(gradient, gradient))
        for _ in range(_MOST_HALVINGS):
            X_new = X - trial * gradient
            new_value, new_gradient = objective.value_and_gradient(X_new)
            work += objective.n_comparisons
            if self.step is not None or new_value <= value - SUFFICIENT * trial * slope:
                break
            trial *= 0.5
        else:
            return _state(X, value, gradient, work, trial, trial, "converged: no step lowers the objective")
        used = trial
        if self.step is None:
            trial = SBB(epsilon=0.0).after(curvature_between(X_new, X, new_gradient, gradient), 1, trial)
            trial = min(trial, 100.0 * used)
        return _state(X_new, new_value, new_gradient, work, trial, used)


def _state(
    X: np.ndarray,
    value: float | None,
    gradient: np.ndarray,
    work: int,
    trial: float,
    step: float | None = None,
    finished: str | None = None,
) -> State:
    norm = float(np.linalg.norm(gradient))
    return State(X, value, work, step, norm, finished=finished, memory={"gradient": gradient, "trial": trial})
