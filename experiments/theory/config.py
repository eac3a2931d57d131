"""Settings of the theory experiment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    draws : problems, those of Table 1.
    starts : random starts in a draw.
    epochs : of SVRG-SBB with m = N.
    losses : those with a Lipschitz gradient on bounded points.
    epsilons : times n (see `experiments.methods`); 0.5 and 2.5 are the 0.005 and 0.025 of the authors at n = 100.
    looks : iterates of each epoch at which the gradient is measured.
    curvature_every : epochs between two estimates of the Lipschitz constant.
    singles : comparisons, drawn at random, whose own Lipschitz constants are estimated.
    ridge : of the problem whose curvature is bounded below.
    curved_epochs : of SBB_0 on it.
    """

    draws: int = 3
    starts: int = 2
    epochs: int = 200
    losses: tuple[str, ...] = ("ckl", "ste", "tste")
    epsilons: tuple[float, ...] = (0.1, 0.5, 2.5)
    looks: int = 4
    curvature_every: int = 10
    singles: int = 100
    ridge: float = 0.5
    curved_epochs: int = 20


FULL = Config()
QUICK = Config(draws=1, starts=2, epochs=40, epsilons=(0.5, 2.5), singles=20, curved_epochs=8)
