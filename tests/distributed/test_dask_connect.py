"""Reaching a cluster, and being told why not."""

from __future__ import annotations

import itertools
import os
import socket
import sys
from types import SimpleNamespace

import dask
import numpy as np
import pytest
from distributed.comm import CommClosedError

from distributed import Client, LocalCluster
from nearer import OrdinalEmbedding
from nearer.distributed import ClusterError, connect
from nearer.distributed.cluster import Engine
from nearer.solvers import LBFGS, SBB, SVRG
from problems import noisy_problem


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


# ---- a worker that is lost as a fit begins, at each place where that was seen to matter ------------------------------


def lose_one(client, monkeypatch, after):
    """From the call `after` on, the scheduler no longer lists one of the workers."""
    calls, count = itertools.count(1), client.nthreads
    monkeypatch.setattr(client, "nthreads", lambda: dict([*count().items()][: None if next(calls) <= after else 1]))


@pytest.mark.parametrize("solver", [SVRG(step=SBB(), max_epochs=3), LBFGS(max_epochs=3)], ids=["svrg", "lbfgs"])
def test_workers_that_are_lost_after_they_were_counted_change_no_bits(client, monkeypatch, solver):
    comparisons = noisy_problem("ste").objective.comparisons
    maps = []
    for after in (10**9, 1):
        with monkeypatch.context() as patched:
            lose_one(client, patched, after)
            fit = OrdinalEmbedding(solver=solver, random_state=0).fit(comparisons, client=client)
            maps.append(fit.embedding_)
    np.testing.assert_array_equal(*maps)


@pytest.mark.parametrize("error", [CommClosedError("gone"), KeyError("tcp://gone"), OSError("gone")])
def test_who_does_not_reply_is_left_out(client, monkeypatch, error):
    engine, run = Engine(client), client.run

    def run_without_the_first(*args, **options):
        found = run(*args, **options)
        return found | {min(found): error}

    monkeypatch.setattr(client, "run", run_without_the_first)
    assert engine.memory() == 2 * 2 * 2**30  # who is lost counts as much as the other
    monkeypatch.setattr(client, "run", lambda *_, **__: {"a": ValueError("own"), "b": 1})
    with pytest.raises(ValueError, match="own"):
        engine.ask(os.getpid)


def test_errors_are_those_of_dask_only_if_a_worker_was_lost(client, monkeypatch):
    engine, tries = Engine(client), []

    def attempt():
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("tcp://gone")
        return [engine.submit(abs, -3)]

    with pytest.raises(KeyError):
        engine.run(attempt)
    tries.clear()
    lose_one(client, monkeypatch, after=1)
    assert engine.run(attempt) == [3]


def test_nothing_is_broadcast(client, monkeypatch):
    """The scheduler would try for ever to copy to a worker that is lost meanwhile."""
    asked, scatter = [], client.scatter
    monkeypatch.setattr("nearer.distributed.cluster._INLINE_BYTES", 0)
    monkeypatch.setattr(client, "scatter", lambda *args, **given: asked.append(given) or scatter(*args, **given))
    comparisons = noisy_problem("ste").objective.comparisons
    OrdinalEmbedding(solver=LBFGS(max_epochs=2), random_state=0).fit(comparisons, client=client)
    assert asked
    assert not any(given.get("broadcast") for given in asked)
