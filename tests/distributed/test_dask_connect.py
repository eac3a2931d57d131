"""Reaching a cluster, and being told why not."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace

import dask
import pytest

from distributed import Client, LocalCluster
from nearer import OrdinalEmbedding
from nearer.distributed import ClusterError, connect
from nearer.distributed.cluster import Engine


def test_running_scheduler(client):
    with connect(client.scheduler.address) as connected:
        assert connected.submit(lambda a, b: a + b, 1, 2).result() == 3
    assert connected.status == "closed"


@pytest.mark.parametrize("address", ["local:", "local:0", "local:x", "host:8786", "nonsense"])
def test_bad_addresses(address):
    with pytest.raises(ValueError, match=r"cluster: got .*, expected"), connect(address):
        pass


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    nobody = pytest.raises(ClusterError, match=rf"cluster {address}: no scheduler answered in 0.5 s")
    with nobody, connect(address, timeout=0.5):
        pass


def test_no_workers():
    options = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=0, **options) as cluster, Client(cluster, set_as_default=False) as client:
        address = client.scheduler.address
        message = r"has 0 workers after 0.5 s.*dask worker tcp://"
        with pytest.raises(ClusterError, match=message), connect(address, timeout=0.5):
            pass
        lost = pytest.raises(ClusterError, match=r"all workers are lost, none came back in \d s")
        with dask.config.set({"nearer.worker-timeout": 0.3}), lost:
            Engine(client)


def test_no_client():
    with pytest.raises(ValueError, match="client: got 3, expected"):
        OrdinalEmbedding().fit([[0, 1, 2]], client=3)
    with pytest.raises(ValueError, match="asynchronous Dask client"):
        Engine(SimpleNamespace(asynchronous=True))


def test_without_dask(monkeypatch):
    """That nothing loads it before is shown by the test that imports stay light."""
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as caught:
        OrdinalEmbedding().fit([[0, 1, 2]], client="local:2")
    assert str(caught.value) == (
        "a cluster needs Dask, which is not installed (dask is missing): pip install 'nearer[dask]'"
    )
