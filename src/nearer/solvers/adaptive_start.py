"""The first stretch from random points, by stochastic steps that find their own length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer.objective import StochasticObjective
from nearer.solvers.base import SolverState

__all__ = ["adaptive_start"]

# A pass is cut into pieces of this many steps, so that a time limit is noticed.
_PIECE = 5_000_000
# Comparisons on which the size of a typical pull is measured, with steps too short to move anything.
_MEASURED, _STILL = 100, 1e-300


def adaptive_start(
    objective: StochasticObjective,
    X: np.ndarray,
    passes: float,
    step: float,
    seed: int,
    damping: float = 0.0,
    kept: dict[str, Any] | None = None,
) -> Iterator[SolverState]:
    """Take AdaGrad steps from X over random comparisons, drawn by the seed; goes on after what was `kept`.

    Parameters
    ----------
    passes : float
        Number of steps, over the number of comparisons.
    step : float
        Length of a first step; the losses set the scale of a map, so 1 suits them all.
    damping : float, default 0
        How many pulls of typical size count as felt before: first steps are then shorter, later ones do not shrink as
        soon, and `step` may be larger. What is typical is measured on the first comparisons, at their cost.

    Yields
    ------
    SolverState
        After each piece; its value is the mean loss during the piece.
    """
    memory = np.zeros(objective.n_objects)
    if not math.isfinite(passes * objective.n_comparisons):
        raise ValueError(f"warm_up: got {passes:g} passes, expected a number of steps that can be counted")
    n_steps = int(np.ceil(passes * objective.n_comparisons))
    first = min(_MEASURED, n_steps // 4) if damping > 0 else 0
    if kept is not None:
        X, memory, first = kept["X"], kept["memory"], kept["first"]
    elif first > 0:
        _, pulls, _ = objective.adagrad_pass(X, memory, _STILL, first, seed, 0)
        memory += damping * pulls.sum() / (4 * first)  # a comparison pulls at four ends
    while first < n_steps:
        piece = min(_PIECE, n_steps - first)
        X, memory, value = objective.adagrad_pass(X, memory, step, piece, seed, first)
        first += piece
        kept = {"X": X, "memory": memory, "first": first}
        yield SolverState(X, value, first, step, provisional=True, kept=kept)
