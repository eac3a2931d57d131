"""Settings of Figure 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run; the problems are those of Table 1, the settings those of the authors' scripts.

    Parameters
    ----------
    draws : problems.
    starts : random starts of each rule in a draw.
    epochs : of SVRG with m = N.
    early : the epochs called initial.
    n_test : test triplets.
    """

    draws: int = 3
    starts: int = 17
    epochs: int = 60
    early: int = 10
    n_test: int = 50_000


FULL = Config()
QUICK = Config(draws=2, starts=3, epochs=20, n_test=20_000)
