"""Loss + comparisons -> value, gradient, stochastic passes."""

from nearer.objective.interface import Objective, Snapshot, offers
from nearer.objective.local import LocalObjective, block_bounds, in_order, resolve_jobs
from nearer.objective.streamed import BlockSource, StreamedObjective

__all__ = [
    "BlockSource", "LocalObjective", "Objective", "Snapshot", "StreamedObjective", "block_bounds", "in_order", "offers",
    "resolve_jobs",
]  # fmt: skip
