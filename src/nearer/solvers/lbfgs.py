"""Limited-memory BFGS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.data import check_integer
from nearer.kernels import CURVATURE, MOST_TRIALS, SUFFICIENT
from nearer.solvers.solver import Progress, Solver, State, no_progress


@dataclass
class LBFGS(Solver):
    """L-BFGS with a weak Wolfe line search, which also copes with the kinks of hinge losses.

    Parameters
    ----------
    memory : int, default 10
        Past steps that shape the search direction.

    References
    ----------
    Lewis and Overton, "Nonsmooth optimization via quasi-Newton methods", Math. Program. 2013 (the line search).
    """

    max_epochs: int = 1000
    tol: float = 1e-6
    memory: int = 10
    name = "lbfgs"

    def check_objective(self, objective: object) -> None:
        check_integer(self.memory, f"{self.name}: memory", 1)

    def init(self, objective: Any, X0: np.ndarray, rng: Any, progress: Progress = no_progress) -> State:
        value, gradient = objective.value_and_gradient(X0)
        # The first step has no curvature information: move by a hundredth of the size of the point.
        length = float(np.linalg.norm(gradient))
        trial = 1e-2 * max(float(np.linalg.norm(X0)), 1e-3) / length if length > 0 else 1.0
        memory = {"gradient": gradient, "trial": trial, "pairs": []}
        return State(X0, value, objective.n_comparisons, grad_norm=length, memory=memory)

    def epoch(self, objective: Any, state: State, rng: Any) -> State:
        X, value, work = state.X, float(state.value), state.n_gradients  # type: ignore[arg-type]
        gradient, trial, pairs = (state.memory[name] for name in ("gradient", "trial", "pairs"))
        while True:
            direction = -_two_loop(gradient, pairs)
            slope = float(np.vdot(direction, gradient))
            if not slope < 0:  # lost curvature: start again from the gradient
                pairs = []
                direction, slope = -gradient, -float(np.vdot(gradient, gradient))
            step, X_new, new_value, new_gradient, used = self._search(objective, X, value, direction, slope, trial)
            work += used * objective.n_comparisons
            if step > 0.0:
                break
            if not pairs:
                finished = "converged: no step lowers the objective"
                return replace(state, n_gradients=work, step_size=0.0, finished=finished)
            pairs = []
            trial = 1e-2 * float(np.linalg.norm(X)) / max(float(np.linalg.norm(gradient)), 1e-300)
        s, y = X_new - X, new_gradient - gradient
        sy, yy = float(np.vdot(s, y)), float(np.vdot(y, y))
        if sy > 1e-14 * yy > 1e-300:  # a smaller yy vanishes in products
            pairs = [*pairs, (s, y, 1.0 / sy)][-int(self.memory) :]
        memory = {"gradient": new_gradient, "trial": 1.0, "pairs": pairs}
        return State(X_new, new_value, work, step, float(np.linalg.norm(new_gradient)), memory=memory)

    def _search(
        self, objective: Any, X: np.ndarray, value: float, direction: np.ndarray, slope: float, trial: float
    ) -> tuple[float, np.ndarray, float, np.ndarray, int]:
        """Step, new point, its value and gradient, evaluations used; the step is 0 if no lower value was found."""
        low, high = 0.0, np.inf
        best = (0.0, X, value, direction)
        for used in range(1, MOST_TRIALS + 1):
            X_new = X + trial * direction
            new_value, new_gradient = objective.value_and_gradient(X_new)
            if not new_value <= value + SUFFICIENT * trial * slope:
                high = trial
            else:
                best = (trial, X_new, new_value, new_gradient)
                if np.vdot(new_gradient, direction) >= CURVATURE * slope:
                    break
                low = trial
            trial = 0.5 * (low + high) if np.isfinite(high) else 2.0 * trial
            if best[0] > 0.0 and used >= MOST_TRIALS // 4:
                break
        return *best, used


@dataclass
class Descent(LBFGS):
    """L-BFGS until `patience` iterations gain less than `tol` of `unit`: a stage of another solver.

    With ``tol=0`` it ends when no step lowers the objective. ``memory["values"]`` has the objective of each iteration.
    """

    unit: float = 1.0

    def init(self, objective: Any, X0: np.ndarray, rng: Any = None, progress: Progress = no_progress) -> State:
        return self._judged(super().init(objective, X0, rng), [])

    def epoch(self, objective: Any, state: State, rng: Any = None) -> State:
        return self._judged(super().epoch(objective, state, rng), state.memory["values"])

    def _judged(self, state: State, before: list[float]) -> State:
        values = [*before, float(state.value)]  # type: ignore[arg-type]
        if state.grad_norm == 0:
            state = replace(state, finished="converged: the gradient vanishes", grad_norm=None)
        least, patience = self.tol * self.unit, self.patience
        if self.tol > 0 and len(values) > patience and not min(values[:-patience]) - min(values) > least:
            what = "of the objective with all points in one place"
            reason = f"converged: {patience} iterations gained less than {self.tol:.3g} {what}"
            state = replace(state, finished=state.finished or reason)
        return replace(state, note=f"{len(values) - 1} iterations", memory={**state.memory, "values": values})


def descend(objective: Any, X: np.ndarray, descent: Descent, progress: Progress = no_progress) -> State:
    """The state at the end of a descent from X (n, d)."""
    state = descent.init(objective, X)
    progress(state)
    while not state.finished:
        state = descent.epoch(objective, state)
        progress(state)
    return state


def _two_loop(gradient: np.ndarray, pairs: list[Any]) -> np.ndarray:
    """Approximate inverse Hessian times the gradient."""
    q = gradient.copy()
    coefficients = []
    for s, y, rho in reversed(pairs):
        a = rho * float(np.vdot(s, q))
        q -= a * y
        coefficients.append(a)
    if pairs:
        s, y, rho = pairs[-1]
        q *= 1.0 / (rho * float(np.vdot(y, y)))
    for (s, y, rho), a in zip(pairs, reversed(coefficients)):
        q += (a - rho * float(np.vdot(y, q))) * s
    return q
