"""Checkpoints: written whole, read back, refused when they are something else."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from nearer.distributed import Checkpoint, load_checkpoint
from nearer.io import FileFormatError
from nearer.solvers import SBB, SVRG
from problems import noisy_problem


@pytest.fixture
def run(tmp_path):
    problem = noisy_problem("tste")

    def solve(path=tmp_path / "c.npz", done=None, **options):
        solver = SVRG(step=SBB(), max_epochs=3, **options)
        keeper = Checkpoint(path, problem.objective, done)
        return solver.solve(problem.objective, problem.X, 0, [keeper]), path

    return solve


def test_round_trip(run):
    result, path = run()
    saved = load_checkpoint(path)
    np.testing.assert_array_equal(saved.X, result.embedding)
    last = result.history[-1]
    assert (saved.epoch, saved.n_gradients, saved.objective) == (3, last.n_gradients, last.objective)
    assert (saved.step_size, saved.loss, saved.n_comparisons) == (last.step_size, "tste", 700)
    assert [file.name for file in path.parent.iterdir()] == ["c.npz"]  # nothing left beside it


def test_counts_on(run):
    _, path = run()
    first = load_checkpoint(path)
    run(done=first)
    second = load_checkpoint(path)
    assert second.epoch == 6
    assert second.n_gradients > first.n_gradients


def test_name_must_end_in_npz(tmp_path):
    with pytest.raises(ValueError, match=r"expected a file name that ends in .npz"):
        Checkpoint(tmp_path / "c.bin", None)


def test_full_disk(run, tmp_path):
    """A limit on file sizes stands in for a full disk: the write fails half way through."""
    _, path = run()
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OSError, match="checkpoint cannot be written") as caught:
            run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before  # the last good one is still there
    assert [file.name for file in path.parent.iterdir()] == ["c.npz"]


def test_unreadable(tmp_path):
    with pytest.raises(FileFormatError, match=r"c.npz: no such checkpoint"):
        load_checkpoint(tmp_path / "c.npz")
    (tmp_path / "c.npz").write_bytes(b"something else")
    with pytest.raises(FileFormatError, match=r"c.npz: is not a readable checkpoint"):
        load_checkpoint(tmp_path / "c.npz")
    np.savez(tmp_path / "c.npz", X=np.zeros(3))
    with pytest.raises(FileFormatError, match=r"c.npz: is not a readable checkpoint"):
        load_checkpoint(tmp_path / "c.npz")
    np.savez(tmp_path / "c.npz", format="other")
    with pytest.raises(FileFormatError, match=r"not a checkpoint of this version, got 'other'"):
        load_checkpoint(tmp_path / "c.npz")
