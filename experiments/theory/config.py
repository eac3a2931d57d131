"""Settings of the theory experiment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    starts : random starts.
    epochs : of SVRG-SBB with m = N.
    losses : those with a Lipschitz gradient on bounded points.
    epsilons : times n (see `experiments.methods`); 0.5 and 2.5 are the 0.005 and 0.025 of the authors at n = 100.
    curvature_every : epochs between two estimates of the Lipschitz constant.
    singles : comparisons, drawn at random, whose own Lipschitz constants are estimated.
    practice_epochs : epochs for which the settings of the theorem are run.
    """

    starts: int = 5
    epochs: int = 300
    losses: tuple[str, ...] = ("ckl", "ste", "tste")
    epsilons: tuple[float, ...] = (0.1, 0.5, 2.5)
    curvature_every: int = 10
    singles: int = 100
    practice_epochs: int = 60


FULL = Config()
QUICK = Config(starts=2, epochs=40, epsilons=(0.5, 2.5), singles=20, practice_epochs=20)
