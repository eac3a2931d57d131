"""The part of `OrdinalEmbedding.fit` that runs on a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from nearer.distributed.checkpoint import Checkpoint, SavedPoint, load_checkpoint
from nearer.distributed.cluster import ClusterError, connect, require_dask
from nearer.distributed.data import ClusterData, open_data
from nearer.distributed.objective import DaskObjective
from nearer.losses import Loss
from nearer.solvers import LBFGS, SVRG, Auto, Callback, Result, Solver
from nearer.starts import best_of_starts, keeping_start

logger = logging.getLogger(__name__)

__all__ = ["Solved", "solve_on_cluster"]


@dataclass
class Solved:
    """A result, and what it is about.

    Attributes
    ----------
    result : Result, over the objects that occur
    seen : int (n_objects,), places of those among all objects
    n_all : int
    labels : str (n_all,) or None
    n_columns : 3 or 4
    n_comparisons : int
    """

    result: Result
    seen: np.ndarray
    n_all: int
    labels: np.ndarray | None
    n_columns: int
    n_comparisons: int


def solve_on_cluster(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    client: Any,
    solver: Solver,
    loss: Loss,
    n_components: int,
    n_objects: int | None,
    starts: Sequence[Callable[[np.random.Generator, tuple[int, int]], np.ndarray]],
    generators: Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Solved:
    """Solve on a cluster from every start; the result with the lowest objective is kept.

    Parameters
    ----------
    X, y, sample_weight, n_objects : see `open_data`
    client : distributed.Client, an address for `connect`, or None: the current client, else a cluster on this machine
    solver, loss, n_components : what to minimise, how
    starts : each makes a starting point of a given shape (n_all, n_components)
    generators : one for each start
    callbacks, verbose : see `best_of_starts`
    checkpoint : file to write after every epoch
    resume : checkpoint to go on from, in place of a start; the solver starts anew there, SVRG with its last step size
        and auto with L-BFGS
    """
    if len(starts) > 1 and (checkpoint is not None or resume is not None):
        raise ValueError(f"checkpoint and resume are for one start, got n_init = {len(starts)}")
    saved = None if resume is None else load_checkpoint(resume)
    with _client(client) as connected:
        data = open_data(X, connected, y=y, sample_weight=sample_weight, n_objects=n_objects)
        _warn_unseen(data)
        objective = DaskObjective(data, loss, n_components)
        if saved is None:
            shape = (data.n_all, n_components)
            points = [start(rng, shape)[data.seen] for start, rng in zip(starts, generators)]
        else:
            points = [_checked(saved, objective, os.fspath(resume))]  # type: ignore[arg-type]
            solver = _continuing(solver, saved)
        watching = list(callbacks)
        if checkpoint is not None:
            watching.append(Checkpoint(checkpoint, objective, saved))
        try:
            result = best_of_starts(objective, solver, points, generators[: len(points)], 1, watching, verbose)
        except ClusterError as error:
            if checkpoint is None or not os.path.exists(checkpoint):
                raise
            path = os.fspath(checkpoint)
            raise ClusterError(
                f"{error}; the last epoch is in {path}: go on from there with resume={path!r}"
            ) from error
        logger.info("%d passes, %.4g s each, %.4g s of it computing", *_per_pass(objective))
    return Solved(result, data.seen, data.n_all, data.labels, data.n_columns, data.n_comparisons)


@contextlib.contextmanager
def _client(client: Any) -> Iterator[Any]:
    require_dask()
    import distributed

    if client is None:
        with contextlib.suppress(ValueError):
            client = distributed.default_client()
    if client is None or isinstance(client, str):
        with connect(client or "local") as connected:
            yield connected
    elif isinstance(client, distributed.Client):
        yield client
    else:
        raise ValueError(f"client: got {client!r}, expected a distributed.Client or an address such as 'local:4'")


def _checked(saved: SavedPoint, objective: DaskObjective, path: str) -> np.ndarray:
    """The saved point, if it belongs to this problem."""
    expected = {
        "shape": (objective.n_objects, objective.n_components),
        "comparisons": objective.n_comparisons,
        "loss": objective.loss.name,
    }
    found = {"shape": saved.X.shape, "comparisons": saved.n_comparisons, "loss": saved.loss}
    for name, value in expected.items():
        if found[name] != value:
            raise ValueError(f"resume: {path} is of another problem: {name} {found[name]!r}, expected {value!r}")
    return saved.X


def _continuing(solver: Solver, saved: SavedPoint) -> Solver:
    """The solver without what is for beginnings only: of auto, the last stage; SVRG starts with its last step size."""
    if isinstance(solver, Auto):
        shared = {item.name: getattr(solver, item.name) for item in fields(Solver)}
        return LBFGS(**{**shared, "tol": LBFGS.tol}, memory=solver.memory)
    solver = keeping_start(solver)
    if isinstance(solver, SVRG) and hasattr(solver.step, "first_step") and saved.step_size and saved.step_size > 0:
        return replace(solver, step=replace(solver.step, first_step=saved.step_size))  # type: ignore[type-var]
    return solver


def _warn_unseen(data: ClusterData) -> None:
    n_unseen = data.n_all - len(data.seen)
    if n_unseen:
        mask = np.ones(data.n_all, dtype=bool)
        mask[data.seen] = False
        first = int(np.argmax(mask))
        name = first if data.labels is None else repr(str(data.labels[first]))
        warnings.warn(
            f"{n_unseen:,} of {data.n_all:,} objects occur in no comparison (first: {name}); "
            "their rows of embedding_ are NaN",
            stacklevel=5,
        )


def _per_pass(objective: DaskObjective) -> tuple[int, float, float]:
    timings = objective.timings
    count = max(timings.n_evaluations, 1)
    return timings.n_evaluations, timings.seconds / count, timings.compute_seconds / count
