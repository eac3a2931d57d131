"""Plain stochastic gradient descent, and AdaGrad steps as a warm-up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.solvers.solver import Progress, Solver, State, no_progress
from nearer.solvers.step_sizes import Constant, Decaying, as_rule

_PIECE = 5_000_000  # AdaGrad steps between two looks at the time limit
PASSES = 2  # of AdaGrad over the comparisons
_STEP = 1.0  # length of a first AdaGrad step; the losses set the scale of a map, so 1 suits them all


@dataclass
class SGD(Solver):
    """Stochastic gradient descent; one epoch is as many steps as there are comparisons.

    The objective in the history is measured with the clock stopped: the method itself never needs it.

    Parameters
    ----------
    step : Decaying, Constant or float, default Decaying()
        A positive number is a constant step.
    """

    step: Decaying | Constant | float = field(default_factory=Decaying)
    name = "sgd"
    needs = ("sgd_pass",)

    def check_objective(self, objective: object) -> None:
        step = as_rule(self.step)
        if not (isinstance(step, Decaying) or (isinstance(step, Constant) and step.first_step)):
            expected = "Decaying, Constant(0.1) or a positive number"
            raise ValueError(f"{self.name}: step: got {self.step!r}, expected {expected}")

    def init(self, objective: Any, X0: np.ndarray, rng: np.random.Generator, progress: Progress) -> State:
        return State(X0, None, 0, memory={"seed": int(rng.integers(2**63))})

    def epoch(self, objective: Any, state: State, rng: np.random.Generator) -> State:
        rule = as_rule(self.step)
        if isinstance(rule, Constant):
            rule = Decaying(float(rule.first_step), decay=0.0)  # type: ignore[arg-type]  # see check_objective
        n, done, seed = objective.n_comparisons, state.n_gradients, state.memory["seed"]
        size = rule.step / (1.0 + rule.decay * done / n)
        X = objective.sgd_pass(state.X, rule.step, n, seed, first=done, decay=rule.decay / n)
        return State(X, None, done + n, size, memory=state.memory)


def adaptive_start(objective: Any, X: np.ndarray, seed: int, progress: Progress = no_progress) -> State:
    """The state after two passes of AdaGrad steps from X (n, d): a warm-up for other solvers.

    The value of a state is the mean loss since the previous one.
    """
    n_steps, done, pulls = PASSES * objective.n_comparisons, 0, np.zeros(objective.n_objects)
    note = f"AdaGrad, {PASSES} passes over {objective.n_comparisons:,} comparisons; "
    while True:
        count = min(_PIECE, n_steps - done)
        X, pulls, value = objective.adagrad_pass(X, pulls, _STEP, count, seed, done)
        done += count
        state = State(X, value, done, _STEP, provisional=True, note=note)
        progress(state)
        if done >= n_steps:
            return state
