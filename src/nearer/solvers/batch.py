"""Full gradients: gradient descent, and limited-memory BFGS."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from nearer.data import check_integer, check_number
from nearer.kernels import CURVATURE, MOST_TRIALS, SUFFICIENT
from nearer.objective import Objective
from nearer.solvers.base import Kept, Solver, SolverState, States
from nearer.solvers.stochastic import SBB, Change

__all__ = ["GD", "LBFGS", "descend"]


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

    _MOST_HALVINGS = 40

    def check_objective(self, objective: object) -> None:
        check_number(self.step, f"{self.name}: step", allow_none=True)

    def epochs(self, objective: Objective, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
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
                if self.step is not None or new_value <= value - SUFFICIENT * trial * slope:
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

    def epochs(self, objective: Objective, X0: np.ndarray, rng: np.random.Generator, kept: Kept = None) -> States:
        pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=min(int(self.memory), sys.maxsize))

        def state(step: float | None, finished: str | None = None) -> SolverState:
            kept = {"X": X, "value": value, "gradient": gradient, "work": work, "trial": trial, "pairs": list(pairs)}
            return SolverState(X, value, work, step, float(np.linalg.norm(gradient)), finished=finished, kept=kept)

        if kept is None:
            X = X0
            value, gradient = objective.value_and_gradient(X)
            work = objective.n_comparisons
            # The first step has no curvature to go by: move by a hundredth of the size of the point.
            length = float(np.linalg.norm(gradient))
            trial = 1e-2 * max(float(np.linalg.norm(X)), 1e-3) / length if length > 0 else 1.0
            yield state(None)
        else:
            X, value, gradient, work, trial = (kept[name] for name in ("X", "value", "gradient", "work", "trial"))
            pairs.extend(kept["pairs"])
        while True:
            direction = -_two_loop(gradient, pairs)
            slope = float(np.vdot(direction, gradient))
            if not slope < 0:  # lost curvature: start again from the gradient
                pairs.clear()
                direction, slope = -gradient, -float(np.vdot(gradient, gradient))
            step, X_new, new_value, new_gradient, used = self._search(objective, X, value, direction, slope, trial)
            work += used * objective.n_comparisons
            if step == 0.0:
                if pairs:
                    pairs.clear()
                    trial = 1e-2 * float(np.linalg.norm(X)) / max(float(np.linalg.norm(gradient)), 1e-300)
                    continue
                yield state(0.0, "converged: no step lowers the objective")
                return
            s, y = X_new - X, new_gradient - gradient
            sy = float(np.vdot(s, y))
            if sy > 1e-14 * float(np.vdot(y, y)):
                pairs.append((s, y, 1.0 / sy))
            X, value, gradient = X_new, new_value, new_gradient
            trial = 1.0
            yield state(step)

    def _search(
        self, objective: Objective, X: np.ndarray, value: float, direction: np.ndarray, slope: float, trial: float
    ) -> tuple[float, np.ndarray, float, np.ndarray, int]:
        """Step, new point, its value and gradient, evaluations used; step 0 when nothing lower was found."""
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


def descend(
    objective: Objective,
    X: np.ndarray,
    tol: float,
    unit: float | None = None,
    patience: int = 5,
    memory: int = 10,
    kept: Kept = None,
) -> States:
    """L-BFGS from X until `patience` iterations gain less than `tol` of `unit`, or resumed after `kept`.

    `unit` defaults to the value at X; with ``tol=0`` it ends when no step lowers the objective. ``kept["values"]`` has
    the objective of each iteration.
    """
    if kept is not None and kept["finished"]:
        return
    values: list[float] = [] if kept is None else list(kept["values"])
    inner = None if kept is None else kept["lbfgs"]
    for state in LBFGS(memory=memory).epochs(objective, X, np.random.default_rng(0), inner):
        values.append(float(state.value))  # type: ignore[arg-type]
        if state.grad_norm == 0:
            state = replace(state, finished="converged: the gradient vanishes", grad_norm=None)
        least = tol * (values[0] if unit is None else unit)
        if tol > 0 and len(values) > patience and not min(values[:-patience]) - min(values) > least:
            what = "of the objective with all points in one place"
            reason = f"converged: {patience} iterations gained less than {tol:.3g} {what}"
            state = replace(state, finished=state.finished or reason)
        kept = {"values": values[:], "finished": state.finished is not None, "lbfgs": state.kept}
        yield replace(state, note=f"{len(values) - 1} iterations", kept=kept)
        if state.finished:
            return


def _two_loop(gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
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
