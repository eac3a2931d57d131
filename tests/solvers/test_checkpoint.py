"""Fits that are cut off, wherever it happens, go on to the same end, bit for bit."""

from __future__ import annotations

import itertools
import random
import resource
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_own_solver import Momentum

from forked import Forked
from nearer import Comparisons, OrdinalEmbedding
from nearer.io import FileFormatError, write_comparisons
from nearer.solvers import BB, GD, LBFGS, SBB, SGD, SVRG, Auto, Convex, auto, checkpoint
from nearer.warning_types import ReproducibilityWarning

SOLVERS = {
    "auto": ({}, "auto"),
    "auto, a line": ({"n_components": 1}, "auto"),
    "auto, three dimensions, hinge": ({"n_components": 3, "loss": "hinge"}, "auto"),
    "auto, batches": ({"n_components": 4, "loss": "ste"}, "auto"),
    "auto, best and error": ({}, Auto(output="best", record_error=True)),
    "auto, early stopping": ({"n_components": 4}, Auto(validation_fraction=0.1)),
    "auto, a penalty to choose": ({"n_components": 10, "loss": "ste"}, "auto"),
    "svrg-sbb": ({}, SVRG(step=SBB(), max_epochs=12)),
    "svrg-sbb, early stopping": ({}, SVRG(step=SBB(), max_epochs=12, validation_fraction=0.2)),
    "svrg-bb": ({"loss": "ste"}, SVRG(step=BB(), max_epochs=8)),
    "svrg": ({}, SVRG(step=0.2, max_epochs=12, output="uniform")),
    "sgd": ({}, SGD(max_epochs=15, output="uniform")),
    "gd": ({}, GD(max_epochs=30)),
    "lbfgs": ({}, LBFGS(memory=4)),
    "convex": ({"loss": "ste"}, Convex(max_epochs=40)),
    "a custom solver": ({"loss": "ste"}, Momentum(max_epochs=20)),
    "convex, smoothed": ({"loss": "hinge"}, Convex(max_epochs=40)),
}


class Cut(Exception):
    """Stands for whatever ends a process."""


pytestmark = pytest.mark.filterwarnings("ignore::nearer.warning_types.ConvergenceWarning")


@pytest.fixture(autouse=True)
def every_epoch(monkeypatch):
    monkeypatch.setattr(checkpoint, "_SHARE", 1.0)


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(0).normal(size=(14, 2))
    return Comparisons.from_points(points, 1000, random_state=1, noise=0.3)


def cut_at(epoch):
    def callback(row, state):
        if row.epoch == epoch:
            raise Cut

    return callback


def same(one, other):
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.result_.embedding, other.result_.embedding)
    told = ("objective", "n_iter", "n_gradients", "converged", "message", "trouble")
    assert [getattr(one.result_, name) for name in told] == [getattr(other.result_, name) for name in told]
    rows = [model.history_.to_dict() | {"seconds": None} for model in (one, other)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", SOLVERS)
def test_cut_off_anywhere_it_ends_the_same(name, answers, tmp_path, monkeypatch):
    if name == "auto, batches":
        monkeypatch.setattr(auto, "AUTO", replace(auto.AUTO, first_batch=1.0))
    options, solver = SOLVERS[name]
    options = {"loss": "tste", "random_state": 3, "solver": solver} | options
    whole = OrdinalEmbedding(**options).fit(answers)
    file = tmp_path / "run.checkpoint"
    rng = random.Random(name)
    epoch = 0
    for times in itertools.count():  # cut off again and again, as often as the fit goes on to another epoch
        epoch += rng.choice((1, 1, 2, 5, 9))
        if epoch > whole.n_iter_:
            break
        with pytest.raises(Cut):
            OrdinalEmbedding(**options, callbacks=[cut_at(epoch)]).fit(answers, checkpoint=file, resume=times > 0)
    assert times > 1
    begun = checkpoint.Checkpoint(file, resume=True).runs[0].state is not None
    seen = []
    options["callbacks"] = [lambda row, state: seen.append(row.epoch)]
    same(OrdinalEmbedding(**options).fit(answers, checkpoint=file, resume=True), whole)
    assert (seen[0] > 0) == begun  # a guide or a search is repeated
    seen.clear()
    same(OrdinalEmbedding(**options).fit(answers, checkpoint=file, resume=True), whole)
    assert seen == []  # a finished fit is read back
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_several_starts(answers, tmp_path, n_jobs):
    options = {"n_init": 4, "solver": LBFGS(max_epochs=30), "random_state": 0, "n_jobs": n_jobs}
    whole = OrdinalEmbedding(**options).fit(answers)
    count = itertools.count()

    def cut(row, state):
        if next(count) == 50:  # some starts are done, some are not begun
            raise Cut

    with pytest.raises(Cut):
        OrdinalEmbedding(**options, callbacks=[cut]).fit(answers, checkpoint=tmp_path / "c")
    same(OrdinalEmbedding(**options).fit(answers, checkpoint=tmp_path / "c", resume=True), whole)


def test_a_start_that_fails_while_another_is_written(answers, tmp_path):
    """What is written of a start is of one epoch, also if a callback ends it between two epochs."""
    arrivals, failed = itertools.count(), threading.Event()

    def cut(row, state):
        if row.epoch == 5 and next(arrivals) == 1:  # the slower start waits, and is written after the other failed
            failed.wait(60)
        if row.epoch == 12:
            failed.set()
            raise Cut

    model = OrdinalEmbedding(n_init=2, solver=LBFGS(max_epochs=12, tol=0.0), n_jobs=2, callbacks=[cut])
    with pytest.raises(Cut):
        model.fit(answers, checkpoint=tmp_path / "c")
    runs = checkpoint.Checkpoint(tmp_path / "c", resume=True).runs
    assert sorted(len(run.history) for run in runs)[-1] == 12
    for run in runs:
        assert (run.state.value, run.state.n_gradients) == (run.history[-1].objective, run.history[-1].n_gradients)


def test_a_stopped_fit_goes_on_and_limits_may_grow(answers, tmp_path):
    file = tmp_path / "c"
    whole = OrdinalEmbedding(solver=GD(max_epochs=20), random_state=0).fit(answers)
    stop = [lambda row, state: row.epoch == 4]
    stopped = OrdinalEmbedding(solver=GD(max_epochs=8), random_state=0, callbacks=stop).fit(answers, checkpoint=file)
    assert stopped.n_iter_ == 4
    limited = OrdinalEmbedding(solver=GD(max_epochs=8), random_state=0).fit(answers, checkpoint=file, resume=True)
    assert limited.n_iter_ == 8
    same(OrdinalEmbedding(solver=GD(max_epochs=20), random_state=0).fit(answers, checkpoint=file, resume=True), whole)


def test_from_a_file_and_with_the_dimension_chosen(answers, tmp_path):
    write_comparisons(tmp_path / "a.parquet", answers)
    for X, more in ((tmp_path / "a.parquet", {"solver": SVRG(step=SBB(), max_epochs=6)}), (tmp_path / "a.parquet", {}),
                    (answers, {"n_components": "auto"})):  # fmt: skip
        whole = OrdinalEmbedding(random_state=0, **more).fit(X)
        (tmp_path / "c").unlink(missing_ok=True)
        with pytest.raises(Cut):
            OrdinalEmbedding(random_state=0, callbacks=[cut_at(5)], **more).fit(X, checkpoint=tmp_path / "c")
        same(OrdinalEmbedding(random_state=0, **more).fit(X, checkpoint=tmp_path / "c", resume=True), whole)


def test_another_fit_is_refused(answers, tmp_path):
    file = tmp_path / "c"
    options = {"loss": "tste", "solver": "gd", "random_state": 0}
    with pytest.raises(Cut):
        OrdinalEmbedding(**options, callbacks=[cut_at(3)]).fit(answers, checkpoint=file)
    for change, told in (
        ({"n_components": 3}, "n_components: got 2, expected 3"),
        ({"loss": "ste"}, r"loss: got TSTELoss\(.*\), expected STELoss\("),
        ({"solver": "lbfgs"}, "solver: got GD, expected LBFGS"),
        ({"solver": GD(step=0.1)}, "solver: step: got None, expected 0.1"),
        ({"random_state": 1}, "random_state: got 0, expected 1"),
        ({"n_init": 2}, "n_init: got 1, expected 2"),
        ({"init": np.ones((14, 2))}, "init: got random, expected an array"),
    ):
        with pytest.raises(ValueError, match=f"is of another fit: .*{told}"):
            OrdinalEmbedding(**options | change).fit(answers, checkpoint=file, resume=True)
    for other in (answers[:-1], Comparisons(np.vstack([answers.index[:-1], answers.index[:1]]), 14)):
        with pytest.raises(ValueError, match=r"c is of another fit: .*(comparisons|start: got)"):
            OrdinalEmbedding(**options).fit(other, checkpoint=file, resume=True)
    with pytest.warns(ReproducibilityWarning):  # the same ones in another order
        OrdinalEmbedding(**options).fit(answers[::-1], checkpoint=file, resume=True)


def test_wrong_use_is_refused(answers, tmp_path):
    file = tmp_path / "c"
    with pytest.raises(ValueError, match="resume: got True without checkpoint"):
        OrdinalEmbedding().fit(answers, resume=True)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        OrdinalEmbedding().fit(answers, checkpoint=tmp_path / "no" / "c")
    OrdinalEmbedding(solver=GD(max_epochs=1), random_state=0).fit(answers, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(FileExistsError, match=r"already exists: .*resume=True"):
        OrdinalEmbedding().fit(answers, checkpoint=file)
    assert file.read_bytes() == before


def test_a_flipped_byte_and_another_version_are_refused(answers, tmp_path, monkeypatch):
    file = tmp_path / "c"
    OrdinalEmbedding(solver=GD(max_epochs=1), random_state=0).fit(answers, checkpoint=file)
    content = file.read_bytes()
    for place in random.Random(0).sample(range(len(content)), 60):
        file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(FileFormatError, match=r"checkpoint: .*c: is"):
            checkpoint.Checkpoint(file, resume=True)
    file.write_bytes(content)
    monkeypatch.setattr("nearer.__version__", "9.9")
    with pytest.raises(FileFormatError, match=r"was written by nearer .*, but this is nearer 9.9"):
        checkpoint.Checkpoint(file, resume=True)


def test_a_full_disk(answers, tmp_path):
    """A limit on file sizes stands in for a full disk: the last good checkpoint stays."""
    file = tmp_path / "c"
    OrdinalEmbedding(solver=GD(max_epochs=1), random_state=0).fit(answers, checkpoint=file)
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OSError, match="checkpoint cannot be written"):
            OrdinalEmbedding(solver=GD(max_epochs=5), random_state=0).fit(answers, checkpoint=file, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_writing_takes_a_small_part_of_the_time(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_SHARE", 1e-9)
    written = []
    monkeypatch.setattr(checkpoint, "write_archive", lambda file, *_: written.append(file.write(b"x")))
    OrdinalEmbedding(solver=GD(max_epochs=30), random_state=0).fit(answers, checkpoint=tmp_path / "c")
    assert len(written) == 3  # before the first epoch, after it, and at the end


def test_killed_commands_go_on(answers, tmp_path, monkeypatch):
    """SIGKILL, again and again, until the command comes to its end: the map is that of a fit never killed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkpoint, "_SHARE", 0.1)  # as users have it
    write_comparisons("answers.csv", answers)
    fit = ["fit", "answers.csv", "--cv", "0", "--solver", "sgd", "--tol", "0", "--max-epochs", "15000", "--quiet"]
    cut = [*fit, "-o", "cut", "--checkpoint", "run.checkpoint", "--resume"]

    with Forked(*fit, "-o", "whole") as process:
        process.wait()
    run = Path("run.checkpoint")
    for _ in range(3):
        before = run.stat().st_mtime_ns if run.exists() else 0
        with Forked(*cut) as process:
            while not (run.exists() and run.stat().st_mtime_ns > before):
                assert process.wait(0) is None
                time.sleep(0.01)
            time.sleep(0.1)
        assert not Path("cut").exists()
    with Forked(*cut) as process:
        assert process.wait() == 0
    assert not run.exists()
    assert Path("cut/embedding.csv").read_bytes() == Path("whole/embedding.csv").read_bytes()
