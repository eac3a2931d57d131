"""Settings of Table 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    starts : random starts of each method.
    tuning_starts : further starts, on which the grids are tried.
    tuning_budget : gradients / N for each point of a grid.
    tuning_every : use each so-many-th point of the grids.
    tuning_rounds : of neighbours of the best points after the grids.
    most : give up after so many gradients / N.
    repeats : timed repetitions of each run, of which the fastest counts.
    scaling_objects : numbers of objects for the comparison of the convex method with SVRG-SBB, 100 n triplets each.
    scaling_starts : random starts of that comparison.
    """

    starts: int = 50
    tuning_starts: int = 3
    tuning_budget: int = 60
    tuning_every: int = 1
    tuning_rounds: int = 12
    most: float = 400.0
    repeats: int = 3
    scaling_objects: tuple[int, ...] = (50, 100, 200, 400, 800)
    scaling_starts: int = 3


FULL = Config()
QUICK = Config(
    starts=5,
    tuning_starts=2,
    tuning_budget=30,
    tuning_every=4,
    tuning_rounds=1,
    repeats=2,
    scaling_objects=(50, 100, 200),
    scaling_starts=1,
)
