"""Settings of Table 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    draws : problems, each with a tuning of its own on another problem.
    starts : random starts of each method in a draw.
    tuning_starts : starts on which the settings are tried.
    tuning_budget : gradients / N for each point tried.
    tuning_every : use each so-many-th point of the grids.
    tuning_rounds : of neighbours of the best points after the grids.
    most : give up after so many gradients / N; at the authors' settings, when their scripts do.
    longest : gradients / N of those runs at most, for a first look.
    repeats : timed repetitions of each run, of which the fastest counts.
    scaling_objects : numbers of objects for the comparison of the convex method with SVRG-SBB, 100 n triplets each.
    scaling_starts : random starts of that comparison in a draw.
    """

    draws: int = 3
    starts: int = 17
    tuning_starts: int = 2
    tuning_budget: int = 60
    tuning_every: int = 2
    tuning_rounds: int = 12
    most: float = 400.0
    longest: float = 1500.0
    repeats: int = 3
    scaling_objects: tuple[int, ...] = (50, 100, 200, 400, 800)
    scaling_starts: int = 2


FULL = Config()
QUICK = Config(
    draws=2,
    starts=3,
    tuning_starts=1,
    tuning_budget=15,
    tuning_every=6,
    tuning_rounds=1,
    most=60.0,
    longest=60.0,
    repeats=1,
    scaling_objects=(50, 100, 200),
    scaling_starts=1,
)
