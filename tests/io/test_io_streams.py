"""Comparisons read block by block, and real data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer.data import Comparisons
from nearer.io import FileFormatError, open_index, read_comparisons, write_comparisons

RNG = np.random.default_rng(0)
T = np.array([RNG.permutation(40)[:3] for _ in range(1000)])
Q = np.array([RNG.permutation(40)[:4] for _ in range(1000)])


def save(path, rows, names=("anchor", "near", "far"), **options):
    pq.write_table(pa.table(dict(zip(names, rows.T))), path, **options)
    return path


@pytest.mark.parametrize("size", [1, 7, 100, 1000, 5000])
@pytest.mark.parametrize("kind", ["npy", "parquet", "folder", "nearer"])
def test_blocks_join_to_the_whole(tmp_path, kind, size):
    if kind == "npy":
        path = tmp_path / "t.npy"
        np.save(path, T)
    elif kind == "parquet":
        path = save(tmp_path / "t.parquet", T, row_group_size=33)
    elif kind == "nearer":
        path = tmp_path / "t.parquet"
        write_comparisons(path, Comparisons.from_triplets(T))
    else:
        path = tmp_path / "parts"
        path.mkdir()
        for part in range(4):
            save(path / f"{part}.parquet", T[part * 250 : part * 250 + 250], row_group_size=33)
    source = open_index(path)
    blocks = [block.index for block in source.blocks(size)]
    assert (source.n_comparisons, source.n_columns, source.n_objects) == (1000, 3, 40)
    assert all(block.dtype == np.int32 and block.flags.c_contiguous for block in blocks)
    assert {len(block) for block in blocks[:-1]} <= {size}
    assert (np.concatenate(blocks) == T).all()


def test_quadruplets(tmp_path):
    np.save(tmp_path / "q.npy", Q.astype(np.uint16))
    source = open_index(tmp_path / "q.npy")
    assert source.n_columns == 4
    assert (np.concatenate([block.index for block in source.blocks(64)]) == Q).all()
    named = open_index(save(tmp_path / "q.parquet", Q[:, ::-1], ("k", "l", "j", "i")))
    assert (next(named.blocks(1000)).index == Q).all()


def test_stream_refusals(tmp_path):
    bad = T.copy()
    bad[700] = [3, 3, 5]
    np.save(tmp_path / "d.npy", bad)
    with pytest.raises(FileFormatError, match=r"row 701 is \(3, 3, 5\): an object cannot be compared with itself"):
        list(open_index(tmp_path / "d.npy").blocks(64))
    bad[700] = [-1, 3, 5]
    with pytest.raises(FileFormatError, match=r"row 701 is \(-1, 3, 5\): an object number is outside"):
        _ = open_index(save(tmp_path / "n.parquet", bad)).n_objects
    with pytest.raises(ValueError, match="size: got 0"):
        next(open_index(tmp_path / "d.npy").blocks(0))
    np.save(tmp_path / "f.npy", T.astype(float))
    with pytest.raises(FileFormatError, match="got float64"):
        open_index(tmp_path / "f.npy")
    with pytest.raises(FileFormatError, match="column 'anchor' is string, expected integers"):
        open_index(save(tmp_path / "s.parquet", T.astype(str).astype(object)))
    with pytest.raises(FileFormatError, match="no such file"):
        open_index(tmp_path / "none.npy")
    (tmp_path / "t.csv").write_text("1,2,3\n")
    with pytest.raises(FileFormatError, match=r"only as \.npy or Parquet"):
        open_index(tmp_path / "t.csv")


def test_importing_is_light():
    code = "import sys, nearer.io; print([m for m in ('pyarrow', 'scipy.io', 'h5py', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pyarrow" not in done.stdout
    assert "h5py" not in done.stdout
    assert "pandas" not in done.stdout


@pytest.fixture
def real():
    folder = os.environ.get("NEARER_DATA")
    if not folder:
        pytest.skip("NEARER_DATA is not set")
    return Path(folder)


@pytest.mark.data
def test_music(real):
    result = read_comparisons(real / "music.csv")
    assert repr(result.comparisons) == "9,090 triplets over 400 objects"
    assert result.dropped == {"anchor repeated": 17}
    assert result.n_rows == 9107
    import pandas as pd

    frame = pd.read_csv(real / "music.csv")
    assert result.comparisons == Comparisons.from_labels_table(frame, on_degenerate="drop")


@pytest.mark.data
def test_material(real):
    import pandas as pd

    frame = pd.read_csv(real / "material_train_votes.csv")
    labels = np.unique(frame[["anchor", "option_a", "option_b"]])
    questions = np.searchsorted(labels, frame[["anchor", "option_a", "option_b"]])
    expected = Comparisons.from_answers(questions, frame[["votes_a", "votes_b"]].to_numpy(), labels=labels)
    result = read_comparisons(real / "material_train_votes.csv")
    assert result.comparisons == expected
    assert result.n_rows == 22801


def test_parquet_is_not_read_ahead_as_a_whole(tmp_path):
    # pyarrow would buffer all row groups at once unless told not to
    rng = np.random.default_rng(0)
    rows = {name: (10**8 * q + rng.integers(10**8, size=400_000)).astype(np.int32) for q, name in enumerate("ank")}
    names = {"a": "anchor", "n": "near", "k": "far"}
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({names[key]: column for key, column in rows.items()}), path, row_group_size=10_000)
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_index(path).blocks(10_000):
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < path.stat().st_size / 4
