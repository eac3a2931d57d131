"""Settings of Table 2 and Figure 3."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of the run.

    Parameters
    ----------
    seeds : problems drawn: categories, images, triplets and start.
    noises : fractions of the triplets that are swapped.
    n_train, n_test : images of each category.
    n_triplets : training triplets.
    budget : gradients / N that every method may spend.
    cvx_budget : the same for the convex method, which would not get far with the others' budget; it allows some 30 to
        45 iterations, each of which takes an eigendecomposition of order n.
    tuning_every : use each so-many-th point of the grids.
    tuning_rounds : of neighbours of the best points after the grids.
    tuning_noises : noises of the problem on which the grids are tried.
    datasets : what to run on, besides SUN397 if its features are given.
    """

    seeds: int = 5
    noises: tuple[float, ...] = (0.0, 0.05, 0.1)
    n_train: int = 60
    n_test: int = 40
    n_triplets: int = 70_000
    budget: int = 30
    cvx_budget: int = 90
    tuning_every: int = 3
    tuning_rounds: int = 12
    tuning_noises: tuple[float, ...] = (0.0, 0.1)
    datasets: tuple[str, ...] = ("letters", "digits")


FULL = Config()
QUICK = Config(
    seeds=2, n_train=20, n_test=40, n_triplets=20_000, budget=15, cvx_budget=45, tuning_every=8, tuning_rounds=1
)

# The authors' epsilon for retrieval, on SUN397 with 1,080 training images; tried with the grid.
AUTHORS_EPSILON = 1e-5 * 1080
K = tuple(range(40, 101, 10))
# Categories of the problem; SUN397 and letters as in the paper, digits has ten.
CATEGORIES = {"sun": 18, "letters": 18, "digits": 10}
TITLES = {"sun": "SUN397", "letters": "Letters", "digits": "Digits"}
# Problems are drawn from seeds counted from 0; the one for tuning is drawn from this.
TUNING_DRAW = 1_000_000
