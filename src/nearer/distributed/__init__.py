"""The same fit on a Dask cluster: only the objective changes.

Needs the ``dask`` extra: ``pip install 'nearer[dask]'``; without it, the names can still be looked at.
"""

from __future__ import annotations

from nearer.distributed.cluster import ClusterError, connect
from nearer.distributed.dask_objective import DaskObjective
from nearer.distributed.partitions import ClusterData, open_data

__all__ = ["ClusterData", "ClusterError", "DaskObjective", "connect", "open_data"]
