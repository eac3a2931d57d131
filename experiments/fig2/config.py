"""Settings of Figure 2."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    starts : random starts of each method.
    at : amounts of work, in gradients / N, at which the test error is measured.
    n_test : test triplets for the curves; the error at the end is measured on all 475,100.
    """

    starts: int = 50
    at: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 22, 25, 28, 31, 34, 37, 40, 44, 48, 52, 56, 60)
    n_test: int = 50_000


FULL = Config()
QUICK = Config(starts=4, at=(1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30), n_test=20_000)
