"""The part of `OrdinalEmbedding.fit` that runs on a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from nearer.distributed.checkpoint import Checkpoint, SavedPoint, load_checkpoint
from nearer.distributed.cluster import ClusterError, connect, require_dask
from nearer.distributed.data import open_data
from nearer.distributed.objective import DaskObjective
from nearer.losses import Loss
from nearer.solvers import LBFGS, SVRG, Auto, Callback, Result, Solver
from nearer.solvers.starts import best_of_starts, keeping_start

logger = logging.getLogger(__name__)

__all__ = ["cluster_objective", "solver_with_checkpoints"]


@contextlib.contextmanager
def cluster_objective(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    client: Any,
    loss: Loss,
    n_components: int,
    n_objects: int | None,
) -> Iterator[DaskObjective]:
    """Open comparisons on a cluster, for as long as a fit takes.

    Parameters
    ----------
    X, y, sample_weight, n_objects : Any
        See `open_data`.
    client : distributed.Client, str or None
        An address is for `connect`; None means the current client, else a cluster on this machine.
    loss : Loss
    n_components : int

    Yields
    ------
    DaskObjective
    """
    with _client(client) as connected:
        data = open_data(X, connected, y=y, sample_weight=sample_weight, n_objects=n_objects)
        objective = DaskObjective(data, loss, n_components)
        yield objective
        logger.info("%d passes, %.4g s each, %.4g s of it computing", *_per_pass(objective))


def solver_with_checkpoints(
    n_starts: int, checkpoint: str | os.PathLike[str] | None, resume: str | os.PathLike[str] | None
) -> Callable[..., Result]:
    """Make a function like `best_of_starts` that writes checkpoints and goes on from one.

    Parameters
    ----------
    n_starts : int
    checkpoint : path-like or None
        File to write after every epoch.
    resume : path-like or None
        Checkpoint to go on from, in place of the start; the solver starts anew there, SVRG with its last step size and
        auto with L-BFGS.

    Returns
    -------
    callable
        `best_of_starts` itself, if there is neither.
    """
    if checkpoint is None and resume is None:
        return best_of_starts
    if n_starts > 1:
        raise ValueError(f"checkpoint and resume are for one start, got n_init = {n_starts}")
    saved = None if resume is None else load_checkpoint(resume)

    def solve(
        objective: DaskObjective,
        solver: Solver,
        starts: Sequence[np.ndarray],
        generators: Sequence[np.random.Generator],
        n_jobs: int,
        callbacks: Sequence[Callback],
        verbose: int,
    ) -> Result:
        if saved is not None:
            starts = [_checked(saved, objective, os.fspath(resume))]  # type: ignore[arg-type]
            solver = _continuing(solver, saved)
        if checkpoint is not None:
            callbacks = [*callbacks, Checkpoint(checkpoint, objective, saved)]
        try:
            return best_of_starts(objective, solver, starts, generators, n_jobs, callbacks, verbose)
        except ClusterError as error:
            if checkpoint is None or not os.path.exists(checkpoint):
                raise
            path = os.fspath(checkpoint)
            raise ClusterError(
                f"{error}; the last epoch is in {path}: go on from there with resume={path!r}"
            ) from error

    return solve


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


def _per_pass(objective: DaskObjective) -> tuple[int, float, float]:
    timings = objective.timings
    count = max(timings.n_evaluations, 1)
    return timings.n_evaluations, timings.seconds / count, timings.compute_seconds / count
