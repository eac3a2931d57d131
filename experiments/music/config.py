"""Settings of the music experiment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    splits : random splits, 80 % for training.
    n_components : dimension of the embedding.
    budget : gradients / N that every method may spend.
    cvx_budget : the same for the convex method, which needs more.
    tuning_every : use each so-many-th point of the grids.
    tuning_rounds : of neighbours of the best points after the grids.
    """

    splits: int = 10
    n_components: int = 9
    budget: int = 60
    cvx_budget: int = 180
    tuning_every: int = 2
    tuning_rounds: int = 12


FULL = Config()
QUICK = Config(splits=2, budget=30, cvx_budget=60, tuning_every=6, tuning_rounds=1)
