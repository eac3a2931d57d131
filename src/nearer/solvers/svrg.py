"""Stochastic variance-reduced gradient: fixed, BB and stabilised BB steps (SVRG-SBB)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nearer.objective import Snapshot, StochasticObjective
from nearer.solvers.adaptive_start import adaptive_start
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.curvature import curvature_along_gradient
from nearer.solvers.step_sizes import Change, Constant, StepSize

__all__ = ["SVRG"]

# Chosen on data like that of the paper's Table 1, for three losses together.
_WARM_STEP, _WARM_DAMPING = 2.0, 20.0


@dataclass
class SVRG(Solver):
    """SVRG with a step size rule; with `SBB` this is SVRG-SBB.

    Each epoch takes a full gradient g at a snapshot S, then `inner_steps` steps
    ``X <- X - eta (grad f_p(X) - grad f_p(S) + g)`` with p uniform; the last one is the next snapshot.
    An inner step costs O(d) however many objects there are. An epoch counts N + 2 m gradients, as in the paper, though
    the slopes kept from the full pass save one of the two in an inner step.

    Parameters
    ----------
    step : a step size rule (`SBB`, `BB`, `Constant`) or a positive float.
    inner_steps : m; None means the number of comparisons.
    warm_up : float >= 0, passes of AdaGrad steps before the first snapshot; 0 is the algorithm of the paper. From
        random points two passes save most of the first epochs, with no step to choose: far from a solution the noise of
        single comparisons does no harm yet, and a full gradient is dear. Meanwhile the objective in the history is
        the mean loss met on the way.

    References
    ----------
    Ma et al., "Stochastic non-convex ordinal embedding with stabilized Barzilai-Borwein step size", AAAI 2018.
    """

    step: StepSize | float = field(default_factory=Constant)
    inner_steps: int | None = None
    warm_up: float = 0.0
    name = "svrg"

    def check_objective(self, objective: object) -> None:
        require_stochastic(self, objective)
        if isinstance(self.step, numbers.Real):
            Constant(float(self.step))  # refuses what is not positive
        elif not isinstance(self.step, StepSize):
            raise ValueError(f"{self.name}: step must be SBB, BB, Constant or a positive number, got {self.step!r}")
        m = self.inner_steps
        if m is not None and (isinstance(m, bool) or not isinstance(m, (int, np.integer)) or m < 1):
            raise ValueError(f"{self.name}: inner_steps must be a whole number >= 1 or None, got {m!r}")
        if not isinstance(self.warm_up, numbers.Real) or not 0 <= self.warm_up < math.inf:
            raise ValueError(f"{self.name}: warm_up must be a number >= 0, got {self.warm_up!r}")
        if self.warm_up > 0 and not hasattr(objective, "adagrad_pass"):
            raise ValueError(f"{self.name}: {type(objective).__name__} offers no adaptive passes; use warm_up=0")

    def epochs(self, objective: StochasticObjective, X0: np.ndarray, rng: np.random.Generator) -> Iterator[SolverState]:
        rule: StepSize = self.step if isinstance(self.step, StepSize) else Constant(float(self.step))
        m = self.inner_steps or objective.n_comparisons
        X, work = X0, 0
        if self.warm_up > 0:
            for state in adaptive_start(objective, X0, self.warm_up, _WARM_STEP, rng, _WARM_DAMPING):
                X, work = state.X, state.n_gradients
                yield state
        old = objective.snapshot(X)
        work += objective.n_comparisons
        yield SolverState(X, old.value, work, None, float(np.linalg.norm(old.gradient)))
        if rule.needs_curvature:
            rule = rule.measured(curvature_along_gradient(objective, old), m, objective.n_objects)
            work += objective.n_comparisons
        eta: float = rule.first_step  # type: ignore[assignment]
        while True:
            X, sample = self._inner_loop(objective, old, eta, m, rng)
            work += 2 * m
            new = objective.snapshot(X)
            work += objective.n_comparisons
            yield SolverState(X, new.value, work, eta, float(np.linalg.norm(new.gradient)), sample)
            eta = rule.after(Change.between(new.X, old.X, new.gradient, old.gradient), m, eta)
            old = new

    def _inner_loop(
        self, objective: StochasticObjective, old: Snapshot, eta: float, m: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        seed = int(rng.integers(2**63))
        if self.output != "uniform":
            return objective.svrg_pass(old.X, old, eta, m, seed), None
        cut = 1 + seed % m
        sample = objective.svrg_pass(old.X, old, eta, cut, seed)
        return objective.svrg_pass(sample, old, eta, m - cut, seed, first=cut), sample


def require_stochastic(solver: Solver, objective: object) -> None:
    """Refuse an objective without stochastic passes."""
    if not isinstance(objective, StochasticObjective):
        kind = type(objective).__name__
        raise ValueError(f"{solver.name}: {kind} offers no stochastic passes; use a batch solver (lbfgs, gd)")
