"""Loss + comparisons -> value, gradient, stochastic passes."""

from __future__ import annotations

from nearer.objective.base import BaseObjective, resolve_jobs, worker_pool
from nearer.objective.local import LocalObjective
from nearer.objective.protocols import (
    GramObjective,
    GrowingObjective,
    Objective,
    SampledObjective,
    SmoothableObjective,
    Snapshot,
    SplittableObjective,
    StochasticObjective,
)
from nearer.objective.streamed import BlockSource, StreamedObjective

__all__ = [
    "BaseObjective",
    "BlockSource",
    "GramObjective",
    "GrowingObjective",
    "LocalObjective",
    "Objective",
    "SampledObjective",
    "SmoothableObjective",
    "Snapshot",
    "SplittableObjective",
    "StochasticObjective",
    "StreamedObjective",
    "resolve_jobs",
    "worker_pool",
]
