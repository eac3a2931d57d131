"""The part of `OrdinalEmbedding.fit` that runs on a cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from nearer.distributed.cluster import ClusterError, connect, require_dask
from nearer.distributed.data import open_data
from nearer.distributed.objective import DaskObjective
from nearer.losses import Loss
from nearer.solvers.checkpoint import Checkpoint

logger = logging.getLogger(__name__)

__all__ = ["cluster_objective"]


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
    checkpoint: Checkpoint | None = None,
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
    checkpoint : Checkpoint, optional
        Of the fit, for the message if the cluster is lost.
    """
    with _client(client) as connected:
        # The order of sums follows from how the data are cut, so a fit that is gone on with cuts them as before.
        cut = {} if checkpoint is None else checkpoint.setting
        data = open_data(X, connected, y=y, sample_weight=sample_weight, n_objects=n_objects, **cut)
        if not cut:
            cut |= {"n_shards": sum(data.engine.workers().values()), "hold": data.hold_rows}
        objective = DaskObjective(data, loss, n_components)
        try:
            yield objective
        except ClusterError as error:
            if checkpoint is None or not checkpoint.found:
                raise
            path = checkpoint.path
            raise ClusterError(f"{error}; what was done is in {path}: go on from there with resume=True") from error
        logger.info("%d passes, %.4g s each, %.4g s of it computing", *_per_pass(objective))


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


def _per_pass(objective: DaskObjective) -> tuple[int, float, float]:
    timings = objective.timings
    count = max(timings.n_evaluations, 1)
    return timings.n_evaluations, timings.seconds / count, timings.compute_seconds / count
