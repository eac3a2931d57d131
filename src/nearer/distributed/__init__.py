"""The same fit on a Dask cluster: only the objective changes.

Needs the ``dask`` extra: ``pip install 'nearer[dask]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearer.distributed.cluster import ClusterError, connect
    from nearer.distributed.data import ClusterData, open_data
    from nearer.distributed.objective import DaskObjective

__all__ = ["ClusterData", "ClusterError", "DaskObjective", "connect", "open_data"]

# Loaded on first use, so that the names can be looked at without Dask installed.
_HOMES = {
    "ClusterError": "cluster",
    "connect": "cluster",
    "ClusterData": "data",
    "open_data": "data",
    "DaskObjective": "objective",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nearer.distributed' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nearer.distributed.{_HOMES[name]}"), name)
