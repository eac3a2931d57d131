"""Who takes which stochastic steps: a function of the arguments alone, nothing of the scheduling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearer.distributed.tasks import Inner

__all__ = ["plan_steps", "split"]


def split(count: int, sizes: Sequence[Sequence[float]]) -> list[list[int]]:
    """A count shared out over blocks of shards in proportion to their sizes.

    Parameters
    ----------
    count : int
    sizes : sequence of sequences of float
        For each shard, the size of each block.

    Returns
    -------
    list of lists of int
        Of the same shape; they add up to the count.
    """
    flat = np.concatenate([np.asarray(blocks, dtype=np.float64) for blocks in sizes])
    ends = np.concatenate([[0.0], np.cumsum(flat)])
    shares = np.diff(np.rint(ends / ends[-1] * count).astype(np.int64)).tolist()
    starts = np.cumsum([0, *map(len, sizes)])
    return [shares[start : start + len(blocks)] for start, blocks in zip(starts, sizes)]


def plan_steps(
    weights: Sequence[Sequence[float]], step: float, n_steps: int, seed: int, first: int, same_length: bool
) -> list[tuple[int, Inner]]:
    """Number and steps of every shard that takes any.

    Parameters
    ----------
    weights : sequence of sequences of float
        For each shard, the weight of each block; blocks get steps in this proportion, so that on average every
        comparison counts as it does in the objective.
    step : float
        Step size of a serial pass.
    n_steps : int
        In all.
    seed, first : int
        As in `StochasticObjective`.
    same_length : bool
        Whether a shard's path is as long as that of the serial pass: fewer steps, each longer.

    Returns
    -------
    list of (int, Inner)
    """
    counts, before = split(n_steps, weights), split(first, weights)
    plan = []
    for number, own in enumerate(counts):
        if not sum(own):
            continue
        random = np.random.SeedSequence([int(seed), number])
        seeds = tuple(int(word >> np.uint64(1)) for word in random.generate_state(len(own), np.uint64))
        order = tuple(block for block in np.random.default_rng(random).permutation(len(own)).tolist() if own[block])
        share = sum(own) / n_steps
        size = step / share if same_length else step
        plan.append((number, Inner(size, share, tuple(own), seeds, tuple(before[number]), order)))
    return plan
