"""Comparisons read block by block, and real data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer import OrdinalEmbedding
from nearer.data import Comparisons
from nearer.io import FileFormatError, open_blocks, read_comparisons, write_comparisons
from nearer.io.blocks import Counts, RowGroups
from nearer.solvers import GD

RNG = np.random.default_rng(0)
T = np.array([RNG.permutation(40)[:3] for _ in range(1000)])
Q = np.array([RNG.permutation(40)[:4] for _ in range(1000)])


def save(path, rows, names=("anchor", "near", "far"), **options):
    pq.write_table(pa.table(dict(zip(names, rows.T))), path, **options)
    return path


KINDS = ["npy", "fortran", "parquet", "folder", "nearer"]


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


@pytest.mark.parametrize("size", [1, 7, 100, 1000, 5000])
@pytest.mark.parametrize("kind", KINDS)
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
    one, again, other = (
        Comparisons.concat(list(source.shuffled_blocks(16, np.random.default_rng(seed)))) for seed in (0, 0, 1)
    )
    assert one == again
    assert sorted(map(tuple, one.index.tolist())) == sorted(map(tuple, T.tolist()))
    if kind != "nearer":  # which has a single row group
        assert one != other
        assert one != Comparisons.from_triplets(T)


def test_quadruplets(tmp_path):
    np.save(tmp_path / "q.npy", Q.astype(np.uint16))
    source = open_blocks(tmp_path / "q.npy")
    assert source.n_columns == 4
    assert Comparisons.concat(list(source.blocks(64))) == Comparisons.from_quadruplets(Q)
    named = open_blocks(save(tmp_path / "q.parquet", Q[:, ::-1], ("k", "l", "j", "i")))
    assert next(named.blocks(1000)) == Comparisons.from_quadruplets(Q)


def test_names_and_weights_travel_with_the_blocks(tmp_path):
    names = np.array([f"o{number:02}" for number in range(40)])
    weights = RNG.random(1000)
    whole = Comparisons.from_triplets(T, labels=names, weights=weights)
    write_comparisons(tmp_path / "w.parquet", whole)
    source = open_blocks(tmp_path / "w.parquet")
    assert source.has_weights
    assert source.total_weight == pytest.approx(weights.sum(), rel=1e-12)
    assert source.labels.tolist() == names.tolist()
    assert Comparisons.concat(list(source.blocks(99))) == whole
    assert not open_blocks(saved(tmp_path, "npy")).has_weights


@pytest.mark.parametrize("names", [["p2", "p10", "7"], ["2", "10", "7"], [2, 10, 7]])
def test_who_answered_travels_with_the_blocks_unless_it_is_left(tmp_path, names):
    people = [names[number // 400] for number in range(1000)]  # in some blocks, only numbers
    whole = Comparisons.from_triplets(T, participants=people)
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({**dict(zip(("anchor", "near", "far"), T.T)), "user": people}), path, row_group_size=33)
    source = open_blocks(path)
    numbers = names[0] != "p2"
    assert source.participants.tolist() == ([2, 7, 10] if numbers else ["7", "p10", "p2"])
    assert "3 participants (column 'user')" in source.notes
    found = Comparisons.concat(list(source.blocks(99)))
    assert found == read_comparisons(path).comparisons
    assert list(map(str, found.participants)) == list(map(str, whole.participants))
    shuffled = Comparisons.concat(list(source.shuffled_blocks(50, np.random.default_rng(0))))
    assert sorted(zip(*shuffled.index.T, shuffled.participants)) == sorted(zip(*found.index.T, found.participants))
    bare = source.without_participants()
    assert bare.participants is None
    assert Comparisons.concat(list(bare.blocks(99))) == Comparisons.from_triplets(T)
    assert next(source.blocks(1000)).people is not None  # one block, which a reader keeps
    assert next(bare.blocks(1000)).people is None
    assert open_blocks(saved(tmp_path, "npy")).participants is None


def test_fits_read_who_answered_once(tmp_path, monkeypatch):
    columns = {**dict(zip(("anchor", "near", "far"), T.T)), "user": ["p"] * 1000}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet", row_group_size=33)
    read, plain = [], RowGroups.batches

    def batches(table, size, positions):
        read.append([table.names[position] for position in positions])
        return plain(table, size, positions)

    monkeypatch.setattr(RowGroups, "batches", batches)
    model = OrdinalEmbedding(2, loss="ste", solver=GD(max_epochs=3), random_state=0).fit(tmp_path / "p.parquet")
    assert [*map(set, read)].count({"anchor", "near", "far", "user"}) == 1
    assert read[-1] == ["anchor", "near", "far"]
    with pytest.raises(ValueError, match="no pass asks who answered, expected them in memory"):
        model.set_params(reliability=True).fit(tmp_path / "p.parquet")


def test_objects_called_as_their_columns_are_told_from_a_header_by_who_answered(tmp_path):
    rows = [["near", "far", "oboe"], ["anchor", "near", "far"], ["oboe", "anchor", "near"], ["anchor", "near", "far"]]
    people = ["p1", "p2", "p1", "user"]  # the last row is a header
    columns = {**dict(zip(("anchor", "near", "far"), zip(*rows))), "user": people}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    with pytest.warns(UserWarning, match="1 row dropped: header repeated"):
        source = open_blocks(tmp_path / "p.parquet")
    for reader in (source, source.without_participants()):
        found = Comparisons.concat(list(reader.blocks(2)))
        assert found.labels[found.index].tolist() == rows[:3]


def test_names_of_people_in_doubt_are_told_of_blocks_as_of_the_whole(tmp_path):
    columns = {**dict(zip(("anchor", "near", "far"), T[:4].T)), "user": ["Ann", "ann", "-99", "bob"]}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet", row_group_size=1)
    told = [alarm for alarm in read_comparisons(tmp_path / "p.parquet").alarms if "participant" in alarm]
    assert len(told) == 2
    with pytest.warns(UserWarning, match="participant"):
        assert set(told) <= set(open_blocks(tmp_path / "p.parquet").alarms)


ANSWERS = np.where(RNG.random(1000) < 0.5, "left", "right")
TABLES = {
    "plain": {"head": T[:, 0], "loser": T[:, 2], "winner": T[:, 1]},
    "names": dict(zip(("far", "anchor", "near"), np.char.add("x", T[:, [2, 0, 1]].astype(str)).T)),
    "numbers with gaps": dict(zip(("anchor", "near", "far"), 7 * T.T + 3)),
    "answers": {"anchor": T[:, 0], "a": T[:, 1], "b": T[:, 2], "response": ANSWERS},
    "votes": {"anchor": T[:, 0], "a": T[:, 1], "b": T[:, 2], "votes_a": T[:, 0] % 3, "votes_b": T[:, 1] % 2},
    "odd-one-out": {"a": T[:, 0], "b": T[:, 1], "c": T[:, 2], "odd": T[:, 1], "weight": RNG.random(1000)},
    "rankings": dict(zip(("query", "rank_1", "rank_2", "rank_3"), Q.T)),
    "degenerate": {"anchor": T[:, 0], "near": T[:, 1], "far": np.where(np.arange(1000) % 50, T[:, 2], T[:, 0])},
}


@pytest.mark.filterwarnings("ignore:.* rows dropped")
@pytest.mark.parametrize("name", TABLES)
def test_blocks_are_what_reading_the_whole_gives(tmp_path, name):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(TABLES[name]), path, row_group_size=33)
    whole = read_comparisons(path)
    source = open_blocks(path)
    expected = whole.comparisons._with(details=None)
    assert Comparisons.concat(list(source.blocks(70))) == expected
    assert (source.n_comparisons, source.n_objects) == (len(expected), expected.n_objects)
    assert source.seen.tolist() == expected.seen.tolist()
    assert source.total_weight == pytest.approx(len(expected) if expected.weights is None else expected.weights.sum())
    assert {reason: count for reason, (count, _) in source.dropped.items()} == whole.dropped


def test_degenerate_rows_are_dropped_counted_and_placed_or_refused(tmp_path):
    bad = T.copy()
    bad[[700, 900]] = [3, 3, 5]
    np.save(tmp_path / "d.npy", bad)
    with pytest.warns(
        UserWarning, match=r"2 rows dropped: an object cannot be compared with itself \(first at row 701\)"
    ):
        source = open_blocks(tmp_path / "d.npy")
    assert source.dropped == {"an object cannot be compared with itself": (2, "row 701")}
    assert Comparisons.concat(list(source.blocks(64))) == Comparisons.from_triplets(np.delete(bad, [700, 900], axis=0))
    with pytest.raises(FileFormatError, match=r"row 701 is \(3, 3, 5\): an object cannot be compared with itself"):
        open_blocks(tmp_path / "d.npy", on_degenerate="raise")
    save(tmp_path / "d.parquet", bad, row_group_size=33)
    with pytest.raises(FileFormatError, match=r"row 701 is \(3, 3, 5\): an object cannot be compared with itself"):
        open_blocks(tmp_path / "d.parquet", on_degenerate="raise")
    np.save(tmp_path / "a.npy", np.array([[1, 1, 2]] * 5))
    with pytest.raises(FileFormatError, match=r"no row is left \(5 rows dropped: an object cannot be compared with"):
        open_blocks(tmp_path / "a.npy")


def test_refusals(tmp_path):
    bad = T.copy()
    bad[700] = [40, 3, 5]
    for path in (tmp_path / "n.npy", save(tmp_path / "n.parquet", bad)):
        np.save(tmp_path / "n.npy", bad)
        with pytest.raises(FileFormatError, match=r"row 701, column 'anchor': object number 40 is outside 0\.\.39"):
            open_blocks(path, n_objects=40)
    with pytest.raises(ValueError, match=r"^size: got 0, expected at least 1$"):
        open_blocks(tmp_path / "n.npy").blocks(0)
    np.save(tmp_path / "f.npy", T.astype(float))
    with pytest.raises(
        FileFormatError, match=r"f\.npy: got float64 of shape \(1000, 3\), expected integers \(n, 3\) or"
    ):
        open_blocks(tmp_path / "f.npy")
    np.save(tmp_path / "e.npy", T[:0])
    with pytest.raises(FileFormatError, match=r"e\.npy: the array has no rows"):
        open_blocks(tmp_path / "e.npy")
    (tmp_path / "junk.npy").write_bytes(b"junk")
    with pytest.raises(FileFormatError, match=r"junk\.npy: is not a readable NumPy array"):
        open_blocks(tmp_path / "junk.npy")
    for name in ("none.npy", "none.parquet"):
        with pytest.raises(FileFormatError, match=f"{name}: no such file"):
            open_blocks(tmp_path / name)
    (tmp_path / "t.csv").write_text("1,2,3\n")
    with pytest.raises(
        FileFormatError, match=r"t\.csv: can be read in blocks only as \.npy or Parquet; convert it first"
    ):
        open_blocks(tmp_path / "t.csv")


def test_an_array_cut_short_is_refused(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, T)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(FileFormatError, match=r"t\.npy: is cut short, expected 1,000 rows"):
        open_blocks(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FileFormatError, match=r"t\.npy: is cut short, expected 1,000 rows"):
        open_blocks(path)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("change", ["cut short", "other rows", "gone"])
@pytest.mark.parametrize("way", ["blocks", "shuffled_blocks"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, kind, change, way):
    path = saved(tmp_path, kind)
    source = open_blocks(path)
    more = (np.random.default_rng(0),) if way == "shuffled_blocks" else ()
    assert sum(map(len, getattr(source, way)(100, *more))) == 1000
    if change == "cut short":
        path.write_bytes(path.read_bytes()[:-100])
    elif change == "gone":
        path.unlink()
    else:
        time = path.stat().st_mtime_ns + 10**9  # as a second later
        np.save(path, T[::-1]) if kind == "npy" else save(path, T[::-1], row_group_size=33)
        os.utime(path, ns=(time, time))
    reason = "no such file" if change == "gone" else "has changed since it was first read"
    with pytest.raises(FileFormatError, match=f"{path.name}: {reason}$"):
        list(getattr(source, way)(100, *more))


@pytest.mark.parametrize("way", ["blocks", "shuffled_blocks"])
def test_a_file_of_one_block_is_coded_once_and_still_watched(tmp_path, way):
    path = saved(tmp_path, "npy")
    source = open_blocks(path)
    more = (np.random.default_rng(0),) if way == "shuffled_blocks" else ()
    (first,), (again,) = (list(getattr(source, way)(1000, *more)) for _ in range(2))
    assert again is first
    assert np.array_equal(first.index, T)
    assert len(list(getattr(source, way)(999, *more))) == 2
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"t\.npy: has changed since it was first read"):
        list(getattr(source, way)(1000, *more))


def test_a_file_that_changes_within_a_pass_is_refused(tmp_path):
    path = saved(tmp_path, "npy")
    blocks = open_blocks(path).blocks(100)
    next(blocks)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"t\.npy: has changed since it was first read"):
        list(blocks)


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
    assert result.dropped == {"an object cannot be compared with itself": 17}
    assert result.n_rows == 9107
    import pandas as pd

    frame = pd.read_csv(real / "music.csv")
    with pytest.warns(UserWarning, match="17 rows dropped"):
        assert result.comparisons == Comparisons.from_labels_table(frame)


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
    rows = {name: (10**8 * q + rng.integers(10**8, size=100_000)).astype(np.int32) for q, name in enumerate("ank")}
    names = {"a": "anchor", "n": "near", "k": "far"}
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({names[key]: column for key, column in rows.items()}), path, row_group_size=2_500)
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_blocks(path).blocks(2_500):
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < path.stat().st_size / 4


def test_parts_of_two_kinds_are_not_counted_together():
    with pytest.raises(ValueError, match="some parts hold triplets"):
        Counts(1, 1.0, 3).join(Counts(1, 1.0, 4))
