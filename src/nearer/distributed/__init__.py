"""Fits on a Dask cluster; needs the ``dask`` extra: ``pip install 'nearer[dask]'``."""

from __future__ import annotations

from nearer.distributed.cluster import ClusterError, connect
from nearer.distributed.dask_objective import DaskObjective
from nearer.distributed.partitions import ClusterData, open_data

__all__ = ["ClusterData", "ClusterError", "DaskObjective", "connect", "open_data"]
