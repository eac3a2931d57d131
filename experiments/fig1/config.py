"""Settings of Figure 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    starts : random starts of each rule.
    epochs : of SVRG with m = N.
    loss : the figure is about t-STE.
    epsilon : of the stabilised rule.
    first_step : of the first epoch, as in the authors' scripts.
    early : the epochs called early in the summary.
    """

    starts: int = 50
    epochs: int = 60
    loss: str = "tste"
    epsilon: float = 0.005
    first_step: float = 0.05
    early: int = 10


FULL = Config()
QUICK = Config(starts=5, epochs=30)
