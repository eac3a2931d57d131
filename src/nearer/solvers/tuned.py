"""Constants that were chosen by experiment, and on which data; everything a user may want to set is a parameter."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AUTO", "GUIDE", "PENALTY"]


@dataclass(frozen=True)
class _Guide:
    """Chosen on ten kinds of generated data, judged on two others and on human answers (`benchmarks/starts.py`)."""

    # Comparisons in the sample, per object (more in 1-D, where local minima are worst), or per coordinate if memory is
    # short.
    per_object: int = 100
    per_object_1d: int = 400
    per_coordinate: int = 20
    warm_up: float = 2.0  # passes of AdaGrad
    smoothing: float = 1.0  # width of a smoothed kink
    # A descent ends when `patience` iterations gain less than `tol` of the objective at zero.
    tol: float = 1e-3
    loose_tol: float = 1e-2
    patience: int = 5
    short_patience: int = 3
    shortest_patience: int = 2
    max_iterations: int = 100  # of a descent in one compiled call, which cannot be interrupted
    max_scalings: int = 30
    # 2-D: extra dimensions of each softplus start, and further starts for few comparisons.
    extra_2d: tuple[int, ...] = (1, 2, 1)
    extra_2d_few: tuple[int, ...] = (2, 1)
    few_2d: int = 3000
    # 3-D maps are seldom stuck: the better of two starts, from fewer comparisons.
    extra_3d: tuple[int, ...] = (1, 1)
    per_object_3d: int = 40
    # 1-D: the starts are projections of a 2-D map and angles around its centre. The best are descended, then reordered
    # over candidate positions in rounds that keep fewer and fewer: first on a sample (fixed + per object), then on all.
    projections: int = 8
    angles: int = 8
    descended: int = 8
    kept_on_sample: tuple[int, ...] = (5, 3)
    kept_on_all: tuple[int, ...] = (3, 2, 1)
    positions: int = 23
    order_sample: int = 4000
    order_sample_per_object: int = 20
    # Moves of blocks of neighbours: maximum number, and comparisons evaluated in total.
    block_moves: int = 16
    block_comparisons: int = 40_000


@dataclass(frozen=True)
class _Penalty:
    """Chosen on four generated problems, judged on eight others (`benchmarks/held_out.py`)."""

    min_comparisons: int = 50
    few: int = 1000  # comparisons; also the minimum for a heavy-tailed loss, which seldom needs a penalty
    held_out: float = 0.1
    held_out_of_few: float = 0.2
    enough_held_out: int = 500  # splits are repeated until this number is held out in total
    max_splits: int = 5
    grid: tuple[float, ...] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    first: int = 3  # position in the grid where the search begins
    by_chance: float = 1.0  # standard errors
    kept: float = 0.1  # fraction of `Auto.shrinkage` that a loss with a kink keeps to the end


@dataclass(frozen=True)
class _Auto:
    """Chosen on problems of ten to a million objects (`benchmarks/ablation.py`)."""

    growth: float = 5.0  # ratio of consecutive batches
    batch_tol: float = 1e-3  # as `Auto.tol`, for all batches but the last
    memory: int = 10  # of L-BFGS


AUTO, GUIDE, PENALTY = _Auto(), _Guide(), _Penalty()
