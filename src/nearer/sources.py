"""Where the comparisons of a fit are: in memory, in a file that is read in blocks, or on a cluster.

A source makes the objective to minimise, in which only the objects that occur in comparisons are numbered; `rows` has
their rows on the map. The other attributes are set when the objective is made.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import Comparisons, renumbered
from nearer.io import open_blocks
from nearer.io.blocks import in_blocks
from nearer.io.coerce import as_comparisons, refuse_beside_file
from nearer.losses import Loss
from nearer.machine import check_memory
from nearer.objective import LocalObjective, StreamedObjective, resolve_jobs

__all__ = ["ClusterSource", "FileSource", "MemorySource", "Source", "source_of"]


class Source:
    """Comparisons, and the objects that they are about."""

    comparisons: Comparisons | None = None  # if they are in memory
    n_parallel = 1  # starts to run at the same time; side by side they would compete for a disk
    rows: np.ndarray  # int (n,), the row on the map of each object of the objective
    seen: np.ndarray  # bool (n_objects,), which objects occur in some comparison
    labels: np.ndarray | None
    n_columns: int  # 3 (triplets) or 4 (quadruplets)

    def objective(self, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int) -> Any:
        """The objective, within a ``with`` block; refused if a fit with this number of starts needs too much memory."""
        raise NotImplementedError


class MemorySource(Source):
    def __init__(self, comparisons: Comparisons):
        self.comparisons = comparisons
        self.seen, self.labels = comparisons.seen, comparisons.labels
        self.rows = np.flatnonzero(comparisons.seen)
        self.n_columns = comparisons.index.shape[1]

    @contextlib.contextmanager
    def objective(self, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int) -> Iterator[Any]:
        assert self.comparisons is not None
        data, n_objects = self.comparisons, len(self.seen)
        _check_memory(n_objects, min(n_objects, data.index.size), n_starts, n_components)
        compact = data if len(self.rows) == n_objects else renumbered(data, self.rows)
        self.n_parallel = resolve_jobs(n_jobs)
        # Starts side by side use one thread each; a single start uses them all.
        yield LocalObjective(compact, loss, n_components, self.n_parallel if n_starts == 1 else 1)


@dataclass(eq=False)
class FileSource(Source):
    """Comparisons in a file that is read block by block in every pass."""

    path: Any
    n_objects: int | None

    @contextlib.contextmanager
    def objective(self, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int) -> Iterator[Any]:
        blocks = open_blocks(self.path, n_objects=self.n_objects)
        self.rows, self.seen = np.arange(blocks.n_objects), blocks.seen
        self.labels, self.n_columns = blocks.labels, blocks.n_columns
        _check_memory(blocks.n_objects, blocks.n_objects, n_starts, n_components)
        yield StreamedObjective(blocks, loss, n_components, blocks.n_objects, n_jobs)


@dataclass(eq=False)
class ClusterSource(Source):
    """Comparisons on the workers of a Dask cluster, sent there from memory or read by the workers."""

    given: tuple[Any, Any, Any]  # X, y and sample_weight of `fit`
    n_objects: int | None
    client: Any
    checkpoint: Any
    comparisons: Comparisons | None = None

    @contextlib.contextmanager
    def objective(self, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int) -> Iterator[Any]:
        from nearer.distributed.dask_objective import cluster_objective

        with cluster_objective(
            *self.given, client=self.client, loss=loss, n_components=n_components, n_objects=self.n_objects,
            checkpoint=self.checkpoint,
        ) as found:  # fmt: skip
            data = found.data
            self.rows, self.seen = data.seen, np.isin(np.arange(data.n_all), data.seen)
            self.labels, self.n_columns = data.labels, data.n_columns
            yield found


def source_of(
    X: Any, y: Any, sample_weight: Any, n_objects: int | None, client: Any = None, checkpoint: Any = None
) -> Source:
    """The source of the data that `OrdinalEmbedding.fit` is given; a checkpoint fixes how a cluster divides them."""
    is_dask = hasattr(X, "__dask_graph__")
    in_file = isinstance(X, (str, os.PathLike)) and in_blocks(X)
    held = None if is_dask or in_file else as_comparisons(X, y, sample_weight, n_objects)
    if client is not None or is_dask:
        given = (X, y, sample_weight) if held is None else (held, None, None)
        return ClusterSource(given, n_objects, client, checkpoint, held)
    if held is not None:
        return MemorySource(held)
    refuse_beside_file(y, sample_weight)
    return FileSource(X, n_objects)


def _check_memory(n_objects: int, n_placed: int, n_starts: int, d: int) -> None:
    """Refuse a map that cannot fit into memory; a solver holds at least two points and a gradient."""
    needed = 8.0 * d * (n_objects + n_placed * (n_starts + 3)) + n_objects
    what = f"fit: n_objects = {n_objects:,} with n_components = {d:,} and {n_starts:,} starting points"
    check_memory(needed, what, "ask for fewer, or number the objects without gaps")
