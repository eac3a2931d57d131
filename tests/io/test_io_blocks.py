"""Comparisons read block by block: what reading the whole gives, no answer cut in two, files watched for changes."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer import Layout
from nearer.data import Comparisons
from nearer.io import FileFormatError, open_blocks, read_comparisons, write_comparisons
from nearer.warning_types import InputWarning

RNG = np.random.default_rng(0)
T = np.array([RNG.permutation(40)[:3] for _ in range(1000)])
KINDS = ["npy", "fortran", "parquet", "folder", "nearer"]


def save(path, rows, names=("anchor", "near", "far"), **options):
    pq.write_table(pa.table(dict(zip(names, rows.T))), path, **options)
    return path


def saved(tmp_path, kind):
    """Save T in one of several ways; row groups are small, so that blocks cross their borders."""
    path = tmp_path / "t.parquet"
    if kind in ("npy", "fortran"):
        path = tmp_path / "t.npy"
        np.save(path, T if kind == "npy" else np.asfortranarray(T.astype(">i8")))
    elif kind == "parquet":
        save(path, T, row_group_size=33)
    elif kind == "nearer":
        write_comparisons(path, Comparisons.from_triplets(T))
    else:
        path = tmp_path / "parts"
        path.mkdir()
        for part in range(4):
            save(path / f"{part}.parquet", T[part * 250 : part * 250 + 250], row_group_size=33)
    return path


@pytest.mark.parametrize(("kind", "size"), [("npy", 1), *itertools.product(KINDS, [7, 1000, 5000])])
def test_blocks_join_to_the_whole(tmp_path, kind, size):
    source = open_blocks(saved(tmp_path, kind))
    assert (source.n_comparisons, source.n_columns, source.n_objects) == (1000, 3, 40)
    assert source.labels is None
    assert source.seen.all()
    blocks = list(source.blocks(size))
    assert {len(block) for block in blocks[:-1]} <= {size}
    assert all(block.n_objects == 40 for block in blocks)
    assert Comparisons.concat(blocks) == Comparisons.from_triplets(T)


@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_blocks_hold_every_row_once(tmp_path, kind):
    source = open_blocks(saved(tmp_path, kind))
    one, again, other = (Comparisons.concat(list(source.blocks(16, np.random.default_rng(seed)))) for seed in (0, 0, 1))
    assert one == again
    assert sorted(map(tuple, one.index.tolist())) == sorted(map(tuple, T.tolist()))
    if kind != "nearer":  # which has a single row group
        assert one != other
        assert one != Comparisons.from_triplets(T)


SETS = np.array([RNG.permutation(12)[:3] for _ in range(200)])
WHO = [f"p{number // 30}" for number in range(200)]
ANSWERS = {
    "odd-one-out": Comparisons.from_odd_one_out(SETS, SETS[:, 1], participants=WHO),
    "rankings": Comparisons.from_rankings(SETS[:, 0], (SETS[:, :1] + [1, 2, 3, 4, 5]) % 12, k=2, participants=WHO),
    "weights": Comparisons.from_triplets(SETS, weights=RNG.random(200), labels=list("abcdefghijkl")),
    "votes": Comparisons.from_answers(SETS, RNG.integers(1, 5, (200, 2)), participants=WHO),
    "checks": Comparisons.from_triplets(
        np.where(np.arange(200)[:, None] % 7 == 3, SETS[:, [0, 0, 1]], SETS), on_degenerate="drop", participants=WHO
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 5, 64])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_is_cut_in_two(tmp_path, size, name):
    whole = ANSWERS[name]
    write_comparisons(tmp_path / "t.parquet", whole)
    source = open_blocks(tmp_path / "t.parquet")
    assert source.n_comparisons == len(whole)
    assert source.has_weights == (whole.weights is not None)
    assert source.total_weight == pytest.approx(len(whole) if whole.weights is None else whole.weights.sum())
    for blocks in (source.blocks(size), source.blocks(size, np.random.default_rng(0))):
        found = list(blocks)
        assert sum(block.n_answers for block in found) == pytest.approx(whole.n_answers)
        joined = Comparisons.concat(found)
        assert np.array_equal(joined.index, whole.index)  # one row group
        assert whole.weights is None or joined.weights.tolist() == whole.weights.tolist()
        longest = 1 if whole.answer is None else np.bincount(whole.answer).max()
        assert max(map(len, found)) <= max(size, longest)


@pytest.mark.parametrize("group", [1, 3, 33])
def test_row_groups_end_where_answers_end(tmp_path, monkeypatch, group):
    whole = ANSWERS["odd-one-out"]
    monkeypatch.setattr("nearer.io.write._GROUP", group)
    write_comparisons(tmp_path / "t.parquet", whole)
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups > 1
    source = open_blocks(tmp_path / "t.parquet")
    assert source.n_comparisons == len(whole)
    assert sum(block.n_answers for block in source.blocks(50)) == whole.n_answers


def test_participants_stay_in_the_file(tmp_path):
    known = Comparisons.from_triplets(T, participants=[f"p{row}" for row in range(1000)])
    write_comparisons(tmp_path / "t.parquet", known)
    for size in (99, 1000):  # 1000 is one block, which a reader keeps
        source = open_blocks(tmp_path / "t.parquet", n_objects=40)
        assert Comparisons.concat(list(source.blocks(size))) == Comparisons.from_triplets(T)


def test_layouts(tmp_path):
    names, path = np.array([f"o{number:02}" for number in range(40)]), tmp_path / "t.parquet"
    table = dict(zip(("ref", "l", "r"), names[T.T])) | {"key": ["f", "j"] * 500, "age": [31] * 1000}
    pq.write_table(pa.table(table), path, row_group_size=33)
    layout = Layout(anchor="ref", a="l", b="r", answer="key", answers={"f": "a", "j": "b"})
    expected = read_comparisons(path, layout).comparisons
    source = open_blocks(path, layout)
    assert Comparisons.concat(list(source.blocks(70))).index.tolist() == expected.index.tolist()
    assert source.labels.tolist() == names.tolist()
    layout.save(tmp_path / "t.layout.toml")
    assert open_blocks(path).n_comparisons == 1000
    layouts = [layout.updated(Layout(where={"age": age})) for age in (31, 32)]
    table["age"] = [31, 32, 33, 31] * 250
    pq.write_table(pa.table(table), path, row_group_size=33)
    with pytest.warns(InputWarning, match="250 rows dropped"):  # those that no layout selects count once
        assert open_blocks(path, layouts).n_comparisons == 750


def test_rows_left_out_are_counted_placed_and_warned_of(tmp_path):
    columns = {name: column.astype(str).astype(object) for name, column in zip(("anchor", "near", "far"), T.T)}
    for column in columns.values():
        column[[700, 900]] = None
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=33)
    with pytest.warns(InputWarning, match="2 rows dropped.*row 701"):
        source = open_blocks(tmp_path / "t.parquet")
    assert source.dropped == {"no objects": (2, "row 701")}
    assert source.n_comparisons == 998


def test_refusals(tmp_path):
    np.save(tmp_path / "n.npy", T)
    with pytest.raises(FileFormatError, match="object number 39"):
        open_blocks(tmp_path / "n.npy", n_objects=39)
    for name, array in (("f.npy", T.astype(float)), ("e.npy", T[:0]), ("checks.npy", np.array([[1, 1, 2]] * 5))):
        np.save(tmp_path / name, array)
    (tmp_path / "short.npy").write_bytes((tmp_path / "n.npy").read_bytes()[:-8])
    (tmp_path / "t.csv").write_text("anchor,near,far\n1,2,3\n")
    for name in ("f.npy", "e.npy", "short.npy", "checks.npy", "t.csv", "none.npy", "none.parquet"):
        with pytest.raises(FileFormatError, match=name):
            open_blocks(tmp_path / name)
    weights = np.array([1.0] * 700 + [-1.0] + [1.0] * 299)
    bad = save(tmp_path / "n.parquet", np.c_[T, weights], ("anchor", "near", "far", "weight"), row_group_size=33)
    with pytest.raises(FileFormatError, match="row 701, column 'weight'"):
        open_blocks(bad)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("change", ["cut short", "other rows", "gone"])
@pytest.mark.parametrize(("rng", "size"), [(None, 100), (np.random.default_rng(0), 100), (None, 1000)])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, kind, change, rng, size):
    path = saved(tmp_path, kind)
    source = open_blocks(path)
    assert sum(map(len, source.blocks(size, rng))) == 1000
    if change == "cut short":
        path.write_bytes(path.read_bytes()[:-100])
    elif change == "gone":
        path.unlink()
    else:
        time = path.stat().st_mtime_ns + 10**9  # as a second later
        np.save(path, T[::-1]) if kind == "npy" else save(path, T[::-1], row_group_size=33)
        os.utime(path, ns=(time, time))
    with pytest.raises(FileFormatError, match=path.name):
        list(source.blocks(size, rng))


def test_a_single_block_is_read_once(tmp_path):
    source = open_blocks(saved(tmp_path, "npy"))
    (first,), (again,) = (list(source.blocks(1000)) for _ in range(2))
    assert again is first
    assert len(list(source.blocks(999))) == 2


def test_parquet_is_not_read_ahead_as_a_whole(tmp_path):
    # pyarrow would buffer all row groups at once unless told not to
    rng = np.random.default_rng(0)
    rows = np.stack([10**8 * at + rng.integers(10**8, size=100_000) for at in range(3)], axis=1).astype(np.int32)
    path = save(tmp_path / "many.parquet", rows, row_group_size=2_500)
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_blocks(path).blocks(2_500):
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < path.stat().st_size / 4
