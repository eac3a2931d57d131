"""The ridge penalty that keeps few comparisons from being overfitted, chosen on held-out ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.sgd import PASSES, adaptive_start
from nearer.solvers.solver import Progress, State


@dataclass(frozen=True)
class _Constants:
    """Chosen on four generated problems, judged on eight others (`benchmarks/held_out.py`)."""

    min_comparisons: int = 50
    few: int = 1000  # comparisons; also the minimum for a heavy-tailed loss, which seldom needs a penalty
    held_out: float = 0.1
    held_out_of_few: float = 0.2
    enough_held_out: int = 500  # splits are repeated until this number is held out in total
    max_splits: int = 5
    grid: tuple[float, ...] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    first: int = 3  # position in the grid where the search begins
    by_chance: float = 1.0  # standard errors


PENALTY = _Constants()


class Ridge:
    """An objective plus ``penalty * mean |x_i|^2``."""

    def __init__(self, objective: Any, penalty: float):
        self.objective = objective
        self.n_comparisons = objective.n_comparisons
        self.strength = penalty / objective.n_objects

    def value(self, X: np.ndarray) -> float:
        return self.objective.value(X) + self.strength * float(np.vdot(X, X))

    def value_at_zero(self) -> float:
        return self.objective.value_at_zero()

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective.value_and_gradient(X)
        return value + self.strength * float(np.vdot(X, X)), gradient + 2.0 * self.strength * X


@dataclass
class _Search:
    """Maps of the training parts for a sequence of penalties, and their held-out errors."""

    parts: list[tuple[Any, Any]]  # training, its kinks smoothed, and held out
    descent: Descent
    note: str
    progress: Progress
    work: int = 0

    def show(self, state: State) -> State:
        """Report a state as one of the whole search, and return it."""
        work = self.work + state.n_gradients
        shown = replace(state, n_gradients=work, provisional=True, finished=None, note=self.note)
        self.progress(shown)
        return shown

    def tried(self, place: int, maps: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Held-out error for a penalty, and the maps found; `maps` has the start for each part."""
        found, errors = [], []
        for (training, held_out), X in zip(self.parts, maps):
            state = descend(Ridge(training, PENALTY.grid[place]), X, self.descent, self.show)
            self.work += state.n_gradients
            found.append(state.X)
            errors.append(held_out.error(state.X))
        error = math.fsum(errors) / len(self.parts)
        self.show(State(state.X, state.value, 0, held_out_error=error))
        return error, found


def choose_penalty(
    objective: Any, X: np.ndarray, rng: np.random.Generator, descent: Descent, progress: Progress
) -> tuple[float, State]:
    """The chosen penalty, and a state with the map that it gives, starting from X (n, d).

    Starting mid-grid, penalties are increased until the held-out error exceeds the lowest by a standard error. If none
    was better, or if the loss is heavy-tailed, they are then decreased while the error does not rise (heavy-tailed: by
    more than a standard error).
    """
    n, heavy = objective.n_comparisons, objective.loss.heavy_tailed
    share = PENALTY.held_out if n >= PENALTY.few else PENALTY.held_out_of_few
    splits = min(math.ceil(PENALTY.enough_held_out / (share * n)), PENALTY.max_splits)
    parted = [objective.split(share, rng) for _ in range(splits)]
    n_held_out = sum(held_out.n_comparisons for _, held_out in parted)
    times = f"{splits} x " if splits > 1 else ""
    note = f"AdaGrad, {PASSES} passes over {times}{parted[0][0].n_comparisons:,} comparisons; "
    eased = [(part.smoothed(), held_out) for part, held_out in parted]
    search = _Search(eased, descent, note, progress)
    seed, maps = int(rng.integers(2**63)), []
    for part, _ in parted:
        state = adaptive_start(part, X, seed, search.show)
        search.work += state.n_gradients
        maps.append(state.X)
    lowest, first = search.tried(PENALTY.first, maps)
    chosen, best = PENALTY.first, first

    def by_chance() -> float:
        return PENALTY.by_chance * math.sqrt(lowest * (1.0 - lowest) / min(n_held_out, n))

    maps = first
    for stronger in range(PENALTY.first + 1, len(PENALTY.grid)):
        error, maps = search.tried(stronger, maps)
        if error < lowest:
            chosen, best, lowest = stronger, maps, error
        elif not error <= lowest + by_chance():
            break
    if chosen == PENALTY.first or heavy:
        maps = first
        worse = by_chance() if heavy else 0.0
        for weaker in range(PENALTY.first - 1, -1, -1):
            error, maps = search.tried(weaker, maps)
            if not error <= lowest + worse:
                break
            chosen, lowest = weaker, min(error, lowest)
    # Continue from the more strongly regularised map; the others overfit the training part.
    search.note += f"penalty {PENALTY.grid[chosen]:g} chosen by {times}{parted[0][1].n_comparisons:,} held out; "
    value = eased[0][0].value(best[0])
    return PENALTY.grid[chosen], search.show(State(best[0], value, 0, held_out_error=lowest))
