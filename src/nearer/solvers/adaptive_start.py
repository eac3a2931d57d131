"""The first stretch from random points, by stochastic steps that find their own length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer.solvers.base import SolverState

__all__ = ["adaptive_start"]

# A pass is cut into pieces of this many steps, so that a time limit is noticed.
_PIECE = 5_000_000


def adaptive_start(
    objective: Any, X: np.ndarray, passes: float, step: float, rng: np.random.Generator
) -> Iterator[SolverState]:
    """AdaGrad steps over random comparisons: the state after each piece; its value is the mean loss met on the way.

    Parameters
    ----------
    objective : offers `adagrad_pass`
    X : (n, d) starting point
    passes : steps over the number of comparisons
    step : length of a first step; the losses set the scale of a map, so 1 suits them all
    rng : draws the comparisons
    """
    memory = np.zeros(objective.n_objects)
    seed = int(rng.integers(2**63))
    n_steps = int(np.ceil(passes * objective.n_comparisons))
    for first in range(0, n_steps, _PIECE):
        piece = min(_PIECE, n_steps - first)
        X, memory, value = objective.adagrad_pass(X, memory, step, piece, seed, first)
        yield SolverState(X, value, first + piece, step, provisional=True)
