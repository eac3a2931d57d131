"""A cluster within this process: what is tested here is what a table means, not how workers fare."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def client():
    """A client of two workers with one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="inproc://"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected
