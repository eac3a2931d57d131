"""Settings of Figure 2."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.methods import HORIZONS


@dataclass(frozen=True)
class Config:
    """Sizes of the run; draws and tuning are those of Table 1.

    Parameters
    ----------
    starts : random starts of each method in a draw.
    horizon : gradients / N of tuned methods, at which the authors' settings are judged as well.
    early : gradients / N after one, two and three epochs of SVRG with m = N.
    marks : amounts of work between 1 N and the end of a run, in equal ratios, at which the test error is measured.
    n_test : test triplets for the curves; the errors at the horizons are measured on all 475,100.
    longest : gradients / N of the longest runs, for a first look.
    """

    starts: int = 17
    horizon: int = 60
    early: tuple[int, ...] = (4, 7, 10)
    marks: int = 40
    n_test: int = 50_000
    longest: int = 1500

    def end(self, source: str, loss: str) -> int:
        """Gradients / N of a run: for tuned methods, or as long as the authors' scripts."""
        return self.horizon if source == "tuned" else min(self.longest, HORIZONS[loss])


FULL = Config()
QUICK = Config(starts=3, horizon=30, marks=15, n_test=20_000, longest=60)
