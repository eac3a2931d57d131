"""Settings of the music experiment."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.methods import Settings


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    splits : random splits, 80 % for training; on each, all settings are chosen anew within the training part.
    n_components : dimension of the embedding.
    budget : gradients / N that every method may spend once it is tuned.
    more : times as much, for the convex method alone, from the same settings.
    horizons : gradients / N of the authors' scripts, by loss; the convex method at their step stops at the budget.
    tuning_every : use each so-many-th point of the grids.
    tuning_rounds : of neighbours of the best points after the grids.
    """

    splits: int = 8
    n_components: int = 9
    budget: int = 60
    more: int = 3
    horizons: tuple[tuple[str, int], ...] = (("hinge", 900), ("ste", 3000), ("tste", 300))
    tuning_every: int = 3
    tuning_rounds: int = 3


FULL = Config()
QUICK = Config(
    splits=2, budget=20, horizons=(("hinge", 40), ("ste", 40), ("tste", 40)), tuning_every=12, tuning_rounds=0
)

# What the authors' scripts use on these data (n = 400, N = m = 7,285).
_C = 7285 / 400
_STEPS = {  # Batch (times n), cvx (times n), SGD (decay 0.01), SVRG and the first of SBB, epsilon
    "hinge": (7.5e-4, 5e-5, 7.5e-4, 1.25e-3, 0.025),
    "ste": (1e-3, 7.5e-3, 5e-4, 1.5e-3, 0.02),
    "tste": (0.015, None, 3.75e-3, 0.015, 0.008),
}
AUTHORS: dict[str, dict[str, Settings]] = {
    loss: {
        "cvx": {"step": cvx},
        "batch": {"step": batch, "grows": True},
        "sgd": {"step": sgd, "decay": 0.01},
        "svrg": {"step": svrg * _C, "inner": 1.0},
        "sbb0": {"first": svrg * _C, "inner": 1.0},
        "sbb": {"epsilon": 400 * epsilon, "first": svrg * _C, "inner": 1.0},
    }
    for loss, (batch, cvx, sgd, svrg, epsilon) in _STEPS.items()
}
