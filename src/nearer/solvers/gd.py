"""Gradient descent with full gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.data import check_number
from nearer.kernels import SUFFICIENT
from nearer.solvers.solver import Progress, Solver, State
from nearer.solvers.step_sizes import SBB, curvature_between

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
        norm, memory = float(np.linalg.norm(gradient)), {"gradient": gradient, "trial": trial}
        return State(X0, value, objective.n_comparisons, grad_norm=norm, memory=memory)

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        X, work, gradient, trial = state.X, state.n_gradients, state.memory["gradient"], state.memory["trial"]
        start, slope = float(state.value), float(np.vdot(gradient, gradient))  # type: ignore[arg-type]
        for _ in range(_MOST_HALVINGS):
            X_new = X - trial * gradient
            value, new_gradient = objective.value_and_gradient(X_new)
            work += objective.n_comparisons
            if self.step is not None or value <= start - SUFFICIENT * trial * slope:
                break
            trial *= 0.5
        else:
            finished = "converged: no step lowers the objective"
            return replace(state, n_gradients=work, step_size=trial, finished=finished)
        used = trial
        if self.step is None:
            trial = SBB(epsilon=0.0).after(curvature_between(X_new, X, new_gradient, gradient), 1, trial)
            trial = min(trial, 100.0 * used)
        norm, memory = float(np.linalg.norm(new_gradient)), {"gradient": new_gradient, "trial": trial}
        return State(X_new, value, work, used, norm, memory=memory)
