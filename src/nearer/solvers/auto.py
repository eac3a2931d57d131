"""The default: no step size to choose, any loss, any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.data import check_integer
from nearer.objective import LocalObjective, SampledObjective
from nearer.solvers.adaptive_start import adaptive_start
from nearer.solvers.base import Solver, SolverState
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.params import is_number

__all__ = ["Auto"]

_MOST_HALVINGS = 64


@dataclass
class Auto(Solver):
    """An adaptive stochastic start, then L-BFGS on batches that grow to all comparisons.

    1. AdaGrad steps on a first random batch bring random points into rough order at the cost of a few gradients.
    2. L-BFGS on that batch, then on ones `growth` times larger, each only as far as its size can tell. The kink of the
       hinge loss is smoothed. Where there are too few comparisons for smaller batches, the batch is all of them with
       the size of the map held down by a small penalty: such answers can often all be satisfied in many ways, and this
       leads to a map that satisfies them with room to spare, and so held-out ones as well.
    3. L-BFGS on all comparisons until `patience` iterations gain less than `tol` of the objective of no map at all
       (all points in one place), which is where further work no longer shows in held-out comparisons.
    4. The map is halved while that costs nothing: some losses hardly feel the scale of a large map.

    In steps 1 and 2 the objective in the history is that of the batch. An objective that offers no random parts
    (such as a cluster's) gets step 3 alone.

    Parameters
    ----------
    warm_up : float >= 0, passes over the first batch in step 1.
    step : float, length of a first AdaGrad step; the losses set the scale of a map, so 1 suits them all.
    first_batch : least comparisons per coordinate (n_objects x n_components) in the first of several batches; inf: one
        batch of all comparisons.
    growth : float > 1, ratio of consecutive batches.
    shrinkage : float >= 0, the penalty of step 2 is so much times the mean squared distance from the origin.
    smoothing : float >= 0, width of the smoothed kink in step 2 (see `Loss.smoothed`).
    batch_tol : as `tol`, for all batches but the last.
    memory : of L-BFGS.
    """

    max_epochs: int = 1000
    tol: float = 1e-4
    warm_up: float = 2.0
    step: float = 1.0
    first_batch: float = 20.0
    growth: float = 5.0
    shrinkage: float = 0.01
    smoothing: float = 1.0
    batch_tol: float = 1e-3
    memory: int = 10
    name = "auto"

    def check_objective(self, objective: object) -> None:
        check_integer(self.memory, f"{self.name}: memory", 1)
        for name, least in (("warm_up", 0.0), ("batch_tol", 0.0), ("shrinkage", 0.0), ("smoothing", 0.0)):
            value = getattr(self, name)
            if not (is_number(value) and value >= least):
                raise ValueError(f"{self.name}: {name} must be a number >= {least:g}, got {value!r}")
        for name, least in (("step", 0.0), ("first_batch", 0.0), ("growth", 1.0)):
            value = getattr(self, name)
            if not (is_number(value) and value > least):
                raise ValueError(f"{self.name}: {name} must be a number > {least:g}, got {value!r}")

    def settled(self, values: list[float], objective: Any) -> str:
        return ""  # `epochs` sees to it, since the scale is settled last

    def epochs(self, objective: Any, X0: np.ndarray, rng: np.random.Generator) -> Iterator[SolverState]:
        lbfgs = LBFGS(memory=self.memory)
        X, work, done = X0, 0, ""
        stages = self._stages(objective)
        unit = objective.value_at_zero() if isinstance(objective, SampledObjective) else None
        for number, size in enumerate(stages, start=1):
            last = number == len(stages)
            batch: Any = objective if size == objective.n_comparisons else objective.subset(size, rng)
            size = batch.n_comparisons  # an objective on disk may hold fewer in memory
            if not done and self.warm_up > 0 and isinstance(batch, SampledObjective):
                done = f"AdaGrad, {self.warm_up:g} passes over {size:,} comparisons; "
                for state in adaptive_start(batch, X, self.warm_up, self.step, rng):
                    X, work = state.X, state.n_gradients
                    yield replace(state, note=done)
            done += "L-BFGS, "
            before: int = work
            values: list[float] = []
            for state in lbfgs.epochs(batch if last else self._eased(batch, alone=batch is objective), X, rng):
                values.append(float(state.value))  # type: ignore[arg-type]
                X, work = state.X, before + state.n_gradients
                note = f"{done}{len(values) - 1} iterations on {size:,}{'' if last else ', eased'}"
                reason = state.finished or self._no_gain(values, unit, self.tol if last else self.batch_tol)
                if last and reason:
                    X, value, tries = self._smallest(objective, X, values[-1], unit)
                    work += tries * size
                    yield SolverState(X, value, work, state.step_size, finished=reason, note=note)
                    return
                yield replace(state, n_gradients=work, provisional=not last, finished=None, note=note)
                if reason:
                    break
            done = note + "; "

    def _eased(self, batch: Any, alone: bool) -> Any:
        """A batch for an early stage: kinks smoothed, and the size of the map held down if all data are in it."""
        if self.smoothing > 0 and isinstance(batch, LocalObjective):
            batch = batch.smoothed(self.smoothing)
        return _Held(batch, self.shrinkage) if alone and self.shrinkage > 0 else batch

    def _smallest(
        self, objective: Any, X: np.ndarray, value: float, unit: float | None
    ) -> tuple[np.ndarray, float, int]:
        """The smallest of X, X/2, X/4, ... that is as good up to `tol`; its objective; values asked for.

        Far out, tste and ckl hardly feel the scale, and a map may drift to any size on its way down.
        """
        limit = value + self.tol * (value if unit is None else unit)
        tries = 0
        while tries < _MOST_HALVINGS:
            tries += 1
            smaller = objective.value(0.5 * X)
            if not smaller <= limit:
                break
            X, value = 0.5 * X, smaller
        return X, value, tries

    def _stages(self, objective: Any) -> list[int]:
        """Comparisons in each stage of L-BFGS, the last being all of them as they are.

        A small batch can be satisfied in ways that all comparisons cannot, and is then left at great cost: the first
        of several batches holds at least `first_batch` comparisons per coordinate, a single one about a third of that.
        """
        n = objective.n_comparisons
        if not isinstance(objective, SampledObjective):
            return [n]
        unknowns = objective.n_objects * objective.n_components
        sizes: list[int] = []
        size, least = n / self.growth, 0.35 * self.first_batch * unknowns
        while size >= least:
            sizes.insert(0, int(np.ceil(size)))
            size, least = size / self.growth, self.first_batch * unknowns
        return [*(sizes or [n]), n]

    def _no_gain(self, values: list[float], unit: float | None, tol: float) -> str:
        if tol == 0 or len(values) <= self.patience:
            return ""
        if min(values[: -self.patience]) - min(values) > tol * (values[0] if unit is None else unit):
            return ""
        return f"converged: {self.patience} iterations gained less than {tol:.3g} of the objective of no map"


class _Held:
    """An objective plus ``shrinkage * mean |x_i|^2``."""

    def __init__(self, objective: Any, shrinkage: float):
        self.objective = objective
        self.n_comparisons = objective.n_comparisons
        self.strength = shrinkage / objective.n_objects

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective.value_and_gradient(X)
        return value + self.strength * float(np.vdot(X, X)), gradient + 2.0 * self.strength * X
