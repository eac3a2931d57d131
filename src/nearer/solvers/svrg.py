"""SVRG: stochastic steps whose variance a full gradient at a snapshot reduces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.data import check_integer
from nearer.solvers.solver import Progress, Solver, State
from nearer.solvers.step_sizes import Constant, StepSize, as_rule, curvature_along_gradient, curvature_between


@dataclass
class SVRG(Solver):
    """SVRG with a step size rule; with `SBB` this is SVRG-SBB.

    Each epoch takes a full gradient g at a snapshot S, then `inner_steps` steps
    ``X <- X - eta (grad f_p(X) - grad f_p(S) + g)`` with p uniform; the last one is the next snapshot.
    An inner step costs O(d) however many objects there are. An epoch counts N + 2 m gradients, as in the paper, though
    the slopes kept from the full pass save one of the two in an inner step.

    Parameters
    ----------
    step : StepSize or float, default Constant()
        A step size rule (`SBB`, `BB`, `Constant`) or a positive number.
    inner_steps : int, optional
        m; by default the number of comparisons.

    References
    ----------
    Ma et al., "Stochastic non-convex ordinal embedding with stabilized Barzilai-Borwein step size", AAAI 2018.
    """

    step: StepSize | float = field(default_factory=Constant)
    inner_steps: int | None = None
    name = "svrg"
    needs = ("snapshot", "svrg_pass")

    def check_objective(self, objective: object) -> None:
        if not isinstance(as_rule(self.step), StepSize):
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected SBB, BB, Constant or a positive number")
        if self.inner_steps is not None:
            check_integer(self.inner_steps, f"{self.name}: inner_steps", 1)

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        self._snapshot = taken = objective.snapshot(X0)
        norm, memory = float(np.linalg.norm(taken.gradient)), {"eta": None, "curvature": None}
        return State(taken.X, taken.value, objective.n_comparisons, grad_norm=norm, memory=memory)

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        old, m, work = self._snapshot, self.inner_steps or objective.n_comparisons, state.n_gradients
        rule, eta, curvature = as_rule(self.step), state.memory["eta"], state.memory["curvature"]
        if eta is None and rule.needs_curvature:
            curvature = curvature_along_gradient(objective, old)
            work += objective.n_comparisons
        if curvature is not None:
            rule = rule.measured(curvature, m, objective.n_objects)
        if eta is None:
            eta = rule.first_step
        seed, X, sample, done = int(rng.integers(2**63)), old.X, None, 0
        if self.output == "uniform":
            done = 1 + seed % m
            X = sample = objective.svrg_pass(X, old, eta, done, seed, first=0)
        X = objective.svrg_pass(X, old, eta, m - done, seed, first=done)
        self._snapshot = new = objective.snapshot(X)
        next_eta = rule.after(curvature_between(X, old.X, new.gradient, old.gradient), m, eta)
        norm, memory = float(np.linalg.norm(new.gradient)), {"eta": next_eta, "curvature": curvature}
        return State(new.X, new.value, work + 2 * m + objective.n_comparisons, eta, norm, sample, memory=memory)

    def prepare(self, objective: Any, state: State) -> None:
        self._snapshot = objective.snapshot(state.X)
