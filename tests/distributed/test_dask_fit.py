"""`OrdinalEmbedding.fit` on a cluster: one argument more, the same map."""

from __future__ import annotations

import gc
import inspect
import os
import time

import dask
import dask.array as da
import numpy as np
import pytest
from processes import KillDuring, maps_despite_kills

from contracts import Squared
from nearer import TSTE, Comparisons, OrdinalEmbedding
from nearer.distributed import ClusterError, DaskObjective
from nearer.distributed.cluster import Engine
from nearer.solvers import LBFGS, SBB, SGD, SVRG, Auto
from nearer.warning_types import UnseenObjectsWarning
from problems import random_problem


@pytest.fixture(scope="module")
def answers():
    """Training and test triplets of points in the plane."""
    points = np.random.default_rng(0).normal(size=(60, 2))
    train = Comparisons.from_points(points, 6_000, random_state=1, noise=0.05)
    return train, Comparisons.from_points(points, 4_000, random_state=2)


def test_local_workers(local_workers):
    assert list(local_workers.nthreads().values()) == [1, 1]
    assert Engine(local_workers).memory() == 2 * 2**30
    assert len(set(local_workers.run(os.getpid).values())) == 2


def test_same_map_as_on_this_machine(local_workers, answers, parquet):
    train, test = answers
    options = {"n_components": 2, "solver": LBFGS(max_epochs=8), "random_state": 3}
    local = OrdinalEmbedding(**options).fit(train)
    for X in (train, train.index, parquet(train), da.from_array(train.index, chunks=(2000, 3))):
        remote = OrdinalEmbedding(**options).fit(X, client=local_workers)
        assert remote.objective_ == pytest.approx(local.objective_, rel=1e-6)
        assert remote.score(test) == pytest.approx(local.score(test), abs=0.005)
        assert (remote.n_objects_, remote.n_features_in_, remote.labels_) == (60, 3, None)
        assert hasattr(remote, "comparisons_") == isinstance(X, (Comparisons, np.ndarray))


SCRIPT = "from dataclasses import dataclass\nfrom nearer.losses import CustomLoss\n" + inspect.getsource(Squared)


def test_a_loss_of_ones_own(local_workers, monkeypatch):
    problem = random_problem(Squared(2.0), "weighted triplets", size=100)
    comparisons = problem.objective.comparisons
    with monkeypatch.context() as patch:
        patch.setattr(Squared, "__module__", "only_here")
        with pytest.raises(ValueError, match="loss 'squared': got a class of module 'only_here', which workers cannot"):
            DaskObjective(comparisons, Squared(2.0), 3, client=local_workers)
    script = {"__name__": "__main__"}
    exec(SCRIPT, script)
    remote = DaskObjective(comparisons, script["Squared"](2.0), 3, client=local_workers)
    (value, gradient), expected = (one.value_and_gradient(problem.X) for one in (remote, problem.objective))
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12)


def test_versions_must_agree(local_workers, monkeypatch):
    monkeypatch.setattr("nearer.__version__", "99.0")
    with pytest.raises(ClusterError, match=r"worker tcp://.* has nearer .*, this side has 99.0"):
        Engine(local_workers)


def test_labels_and_unseen_objects(client, parquet, answers):
    names = np.array([f"city {k}" for k in range(60)])
    remote = TSTE(solver=LBFGS(max_epochs=3), random_state=3).fit(parquet(answers[0], labels=names), client=client)
    assert remote.labels_.tolist() == sorted(names)
    table = {"anchor": ["city 1"], "near": ["city 2"], "far": ["city 3"]}
    assert remote.predict(table).shape == (1,)
    with pytest.warns(UnseenObjectsWarning, match=r"5 of 65 .*\(first: 60\)"):
        wider = OrdinalEmbedding(solver=LBFGS(max_epochs=3), n_objects=65).fit(answers[0], client=client)
    assert np.isnan(wider.embedding_[60:]).all()
    assert np.isfinite(wider.embedding_[:60]).all()


def test_cancel_leaves_nothing_running(client, answers):
    def interrupt(row, state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OrdinalEmbedding(solver="lbfgs", callbacks=[interrupt]).fit(answers[0], client=client)
    gc.collect()
    deadline = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.processing().values())


class Cut(Exception):
    """Stands for whatever ends a process."""


@pytest.mark.parametrize("solver", [Auto(max_epochs=15), SVRG(step=SBB(), max_epochs=4), SGD(max_epochs=3)])
def test_a_fit_that_was_cut_off_ends_the_same(client, answers, parquet, tmp_path, solver):
    path, where = parquet(answers[0]), tmp_path / "run.checkpoint"
    options = {"solver": solver, "random_state": 0}
    whole = OrdinalEmbedding(**options).fit(path, client=client)
    for epoch in (whole.n_iter_ // 2, whole.n_iter_ - 1):

        def cut(row, state, epoch=epoch):
            if row.epoch == epoch:
                raise Cut

        with pytest.raises(Cut):
            OrdinalEmbedding(**options, callbacks=[cut]).fit(path, client=client, checkpoint=where, resume=True)
    resumed = OrdinalEmbedding(**options).fit(path, client=client, checkpoint=where, resume=True)
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    assert resumed.result_.message == whole.result_.message
    with pytest.raises(ValueError, match=r"run.checkpoint is of another fit: n_components: got 2, expected 3"):
        OrdinalEmbedding(3, **options).fit(path, client=client, checkpoint=where, resume=True)


@pytest.mark.tools
class TestLosses:
    """What happens when machines die."""

    def test_a_worker_killed_in_the_middle_of_an_epoch(self, processes, answers, parquet):
        solver = SVRG(step=SBB(), max_epochs=4, inner_steps=700_000)
        path = parquet(answers[0])
        with processes.client() as client:
            for X in (path, answers[0]):
                expected = OrdinalEmbedding(solver=solver, random_state=0).fit(X, client=client)
                killer = KillDuring(processes, processes.workers[0], "svrg-")
                killer.start()

                def arm(row, state, killer=killer):
                    if row.epoch == 2:
                        killer.armed.set()

                fit = OrdinalEmbedding(solver=solver, random_state=0, callbacks=[arm]).fit(X, client=client)
                killer.join()
                assert killer.struck
                assert fit.n_iter_ == 4
                assert fit.objective_ == pytest.approx(expected.objective_, rel=1e-12)
                np.testing.assert_array_equal(fit.embedding_, expected.embedding_)
                processes.workers[0] = processes.add_worker()
                client.wait_for_workers(2, timeout=60)

    @pytest.mark.parametrize("inline", [0, 2**20])
    def test_a_worker_killed_in_the_first_second(self, processes, answers, parquet, monkeypatch, inline):
        monkeypatch.setattr("nearer.distributed.cluster._INLINE_BYTES", inline)
        path, rng = parquet(answers[0]), np.random.default_rng(inline)

        def fit(X, solver):
            return OrdinalEmbedding(solver=solver, random_state=0).fit(X, client=client).embedding_

        fits = {
            "memory": lambda: fit(answers[0], "auto"),
            "files": lambda: fit(path, SVRG(step=SBB(), max_epochs=8)),
            "array": lambda: fit(da.from_array(answers[0].index, chunks=(2000, 3)), LBFGS(max_epochs=20)),
        }
        with processes.client() as client:
            for name, found, expected in maps_despite_kills(processes, client, fits, rng.random(6).tolist(), rng):
                np.testing.assert_array_equal(found, expected, name)

    def test_all_workers_lost(self, processes, tmp_path, answers, parquet):
        path, where = parquet(answers[0]), tmp_path / "run.checkpoint"
        solver = SVRG(step=SBB(), max_epochs=6)
        with processes.client() as client:
            whole = OrdinalEmbedding(solver=solver, random_state=0).fit(path, client=client)

            def kill_all(row, state):
                if row.epoch == 2:
                    processes.kill(*processes.workers)

            estimator = OrdinalEmbedding(solver=solver, random_state=0, callbacks=[kill_all])
            with dask.config.set({"nearer.worker-timeout": 1}), pytest.raises(ClusterError) as caught:
                estimator.fit(path, client=client, checkpoint=where)
            assert "all workers are lost, none came back in 1 s" in str(caught.value)
            assert f"{where}: continue with resume=True" in str(caught.value)
            processes.workers.append(processes.add_worker())
            client.wait_for_workers(1, timeout=60)
            seen = []
            again = OrdinalEmbedding(solver=solver, random_state=0, callbacks=[lambda row, _: seen.append(row.epoch)])
            again.fit(path, client=client, checkpoint=where, resume=True)
            assert seen in ([3, 4, 5, 6], [2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])  # fast epochs are not all written
            # One worker in place of two does as much as both.
            np.testing.assert_array_equal(again.embedding_, whole.embedding_)

    def test_scheduler_lost(self, processes, answers):
        client = processes.client()
        client._timeout = 1  # to reconnect; Dask's default is 30 s

        def kill(row, state):
            processes.kill(processes.scheduler)

        with pytest.raises(ClusterError, match=r"the scheduler at .* is gone"):
            OrdinalEmbedding(solver="lbfgs", random_state=0, callbacks=[kill]).fit(answers[0], client=client)
        client.close(timeout=1)

    def test_a_file_that_vanishes(self, client, answers, parquet, monkeypatch):
        from nearer.io import FileFormatError

        monkeypatch.setattr(Engine, "memory", lambda self: 10**5)  # so that files are read anew at every pass
        path = parquet(answers[0])
        gone = path.replace("*", "part-1")

        def remove(row, state):
            if row.epoch == 1:
                os.unlink(gone)

        with pytest.raises(FileFormatError, match=rf"{gone}: cannot be read as Parquet: "):
            OrdinalEmbedding(solver="lbfgs", callbacks=[remove]).fit(path, client=client)
