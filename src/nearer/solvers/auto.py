"""The default: no step size to choose, any loss, any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.objective import SampledObjective
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.lbfgs import LBFGS

__all__ = ["Auto"]

# A stochastic pass is cut into pieces of this many steps, so that a time limit is noticed.
_PIECE = 5_000_000


@dataclass
class Auto(Solver):
    """An adaptive stochastic start, then L-BFGS on batches that grow to all comparisons.

    1. AdaGrad steps on a first random batch bring random points into rough order at the cost of a few gradients.
    2. L-BFGS on that batch, then on ones `growth` times larger, each only as far as its size can tell.
    3. L-BFGS on all comparisons until `patience` iterations gain less than `tol` of the objective of no map at all
       (all points in one place), which is where further work no longer shows in held-out comparisons.

    While batches grow, the objective in the history is that of the batch. An objective that offers no random parts
    (such as a cluster's) gets step 3 alone.

    Parameters
    ----------
    warm_up : float >= 0, passes over the first batch in step 1.
    step : float, length of a first AdaGrad step; the losses set the scale of a map, so 1 suits them all.
    first_batch : comparisons per coordinate (n_objects x n_components) in the first batch; inf: all at once.
    growth : float > 1, ratio of consecutive batches.
    batch_tol : as `tol`, for all batches but the last.
    memory : of L-BFGS.
    """

    max_epochs: int = 1000
    tol: float = 1e-4
    warm_up: float = 2.0
    step: float = 1.0
    first_batch: float = 20.0
    growth: float = 5.0
    batch_tol: float = 1e-3
    memory: int = 10
    name = "auto"

    def check_objective(self, objective: object) -> None:
        for name, least in (("warm_up", 0.0), ("batch_tol", 0.0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{self.name}: {name} must be a number >= {least:g}, got {getattr(self, name)!r}")
        for name, least in (("step", 0.0), ("first_batch", 0.0), ("growth", 1.0)):
            if not getattr(self, name) > least:
                raise ValueError(f"{self.name}: {name} must be a number > {least:g}, got {getattr(self, name)!r}")

    def settled(self, values: list[float], objective: Any) -> str:
        return self._no_gain(values, objective, self.tol)

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator) -> Iterator[SolverState]:
        lbfgs = LBFGS(memory=self.memory)
        if not isinstance(objective, SampledObjective):
            for number, state in enumerate(lbfgs.epochs(objective, X0, rng)):
                yield replace(state, note=f"{number} L-BFGS iterations")
            return
        X, work, done = X0, 0, ""
        for size in self._batch_sizes(objective):
            last = size == objective.n_comparisons
            batch: Any = objective if last else objective.subset(size, rng)
            if not done and self.warm_up > 0:
                done = f"AdaGrad, {self.warm_up:g} passes over {size:,} comparisons; "
                for state in self._stochastic_start(batch, X, rng):
                    X, work = state.X, state.n_gradients
                    yield replace(state, note=done)
            done += "L-BFGS, "
            before: int = work
            values: list[float] = []
            for state in lbfgs.epochs(batch, X, rng):
                values.append(float(state.value))  # type: ignore[arg-type]
                X, work = state.X, before + state.n_gradients
                note = f"{done}{len(values) - 1} iterations on {'all ' if last else ''}{size:,}"
                finished = state.finished if last else None
                yield replace(state, n_gradients=work, provisional=not last, finished=finished, note=note)
                if not last and (state.finished or self._no_gain(values, objective, self.batch_tol)):
                    break
            done = note + "; "

    def _batch_sizes(self, objective: Any) -> list[int]:
        """Sizes of the batches, the last one being all comparisons."""
        n = objective.n_comparisons
        sizes = []
        size = self.first_batch * objective.n_objects * objective.n_components
        while size * 2 <= n:  # a batch of more than half would cost nearly as much as all
            sizes.append(int(np.ceil(size)))
            size *= self.growth
        return [*sizes, n]

    def _stochastic_start(self, batch: Any, X: np.ndarray, rng: np.random.Generator) -> Iterator[SolverState]:
        """The state after each piece of the AdaGrad passes; its value is the mean loss met on the way."""
        memory = np.zeros(batch.n_objects)
        seed = int(rng.integers(2**63))
        n_steps = int(np.ceil(self.warm_up * batch.n_comparisons))
        for first in range(0, n_steps, _PIECE):
            piece = min(_PIECE, n_steps - first)
            X, memory, value = batch.adagrad_pass(X, memory, self.step, piece, seed, first)
            yield SolverState(X, value, first + piece, self.step, provisional=True)

    def _no_gain(self, values: list[float], objective: Any, tol: float) -> str:
        if tol == 0 or len(values) <= self.patience:
            return ""
        unit = objective.value_at_zero() if isinstance(objective, SampledObjective) else values[0]
        if min(values[: -self.patience]) - min(values) > tol * unit:
            return ""
        return f"{self.patience} iterations gained less than {tol:.3g} of the objective of no map"
