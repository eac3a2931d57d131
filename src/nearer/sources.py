"""Where the comparisons of a fit are: in memory, in a file that is read in blocks, or on a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nearer.data import Comparisons, renumbered
from nearer.io import open_blocks
from nearer.io.blocks import in_blocks
from nearer.io.coerce import as_comparisons, refuse_beside_file
from nearer.losses import Loss
from nearer.machine import check_memory
from nearer.objective import LocalObjective, StreamedObjective, resolve_jobs


@dataclass(frozen=True)
class Found:
    """Facts on the comparisons of an objective, which may skip objects that occur in none."""

    n_comparisons: int
    n_columns: int  # 3 (triplets) or 4 (quadruplets)
    rows: np.ndarray  # int (n,), the row on the map of each object of the objective
    seen: np.ndarray  # bool (n_objects,), which objects occur in some comparison
    labels: np.ndarray | None
    comparisons: Comparisons | None = None  # if they are in memory
    n_parallel: int = 1  # starts to run in parallel; on disk one at a time, since they would compete


# Makes an objective from a loss, n_components, n_jobs and the number of starts, which may need too much memory.
Source = Callable[[Loss, int, int | None, int], AbstractContextManager[tuple[Any, Found]]]


@contextlib.contextmanager
def in_memory(
    comparisons: Comparisons, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int
) -> Iterator[tuple[Any, Found]]:
    n_objects, index, seen = comparisons.n_objects, comparisons.index, comparisons.seen
    rows = np.flatnonzero(seen)
    _check_memory(n_objects, min(n_objects, index.size), n_starts, n_components)
    compact = comparisons if len(rows) == n_objects else renumbered(comparisons, rows)
    n_parallel = resolve_jobs(n_jobs)
    # Starts side by side use one thread each; a single start uses them all.
    objective = LocalObjective(compact, loss, n_components, n_parallel if n_starts == 1 else 1)
    yield objective, Found(len(index), index.shape[1], rows, seen, comparisons.labels, comparisons, n_parallel)


@contextlib.contextmanager
def _in_file(
    path: Any, n_objects: int | None, loss: Loss, n_components: int, n_jobs: int | None, n_starts: int
) -> Iterator[tuple[Any, Found]]:
    blocks = open_blocks(path, n_objects=n_objects)
    n_objects = blocks.n_objects
    _check_memory(n_objects, n_objects, n_starts, n_components)
    objective = StreamedObjective(blocks, loss, n_components, n_objects, n_jobs)
    yield objective, Found(blocks.n_comparisons, blocks.n_columns, np.arange(n_objects), blocks.seen, blocks.labels)


@contextlib.contextmanager
def _on_cluster(
    held: Comparisons | None, given: tuple[Any, ...], about: dict[str, Any], loss: Loss, n_components: int, *_: Any
) -> Iterator[tuple[Any, Found]]:
    from nearer.distributed.dask_objective import cluster_objective

    with cluster_objective(*given, loss=loss, n_components=n_components, **about) as objective:
        data = objective.data
        seen = np.isin(np.arange(data.n_all), data.seen)
        yield objective, Found(objective.n_comparisons, data.n_columns, data.seen, seen, data.labels, held)


def source_of(
    X: Any, y: Any, sample_weight: Any, n_objects: int | None, client: Any, checkpoint: Any
) -> tuple[Comparisons | None, Source]:
    """The data that `OrdinalEmbedding.fit` is given: as comparisons, if they are in memory, and as a source."""
    is_dask = hasattr(X, "__dask_graph__")
    in_file = isinstance(X, (str, os.PathLike)) and in_blocks(X)
    held = None if is_dask or in_file else as_comparisons(X, y, sample_weight, n_objects)
    if client is not None or is_dask:
        given = (X, y, sample_weight) if held is None else (held, None, None)
        # A checkpoint fixes how the cluster divides the data.
        about = {"client": client, "n_objects": n_objects, "checkpoint": checkpoint}
        return held, partial(_on_cluster, held, given, about)
    if held is not None:
        return held, partial(in_memory, held)
    refuse_beside_file(y, sample_weight)
    return None, partial(_in_file, X, n_objects)


def _check_memory(n_objects: int, n_placed: int, n_starts: int, d: int) -> None:
    """Refuse a map that cannot fit into memory; a solver holds at least two points and a gradient."""
    needed = 8.0 * d * (n_objects + n_placed * (n_starts + 3)) + n_objects
    what = f"fit: n_objects = {n_objects:,} with n_components = {d:,} and {n_starts:,} starting points"
    check_memory(needed, what, "ask for fewer, or number the objects without gaps")
