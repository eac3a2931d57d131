"""Where comparisons come from: files, collections, labels, what is held, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer import Comparisons, Layout
from nearer.distributed import DaskObjective, open_data
from nearer.distributed.cluster import Engine
from nearer.io import FileFormatError, write_comparisons
from nearer.objective import LocalObjective
from problems import random_problem

WORDS = np.array([f"w{7 * k % 12:02d}" for k in range(12)])  # not in alphabetical order


@pytest.fixture
def problem():
    return random_problem("tste", "weighted triplets", n=12, d=3, size=400)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("labels", [None, WORDS], ids=["numbers", "text"])
def test_parquet(client, parquet, problem, labels, hold):
    comparisons = problem.objective.comparisons
    remote = DaskObjective(parquet(comparisons, labels=labels), "tste", 3, client=client, hold=hold)
    assert (remote.n_objects, remote.n_comparisons, remote.data.n_columns) == (12, 400, 3)
    order = np.arange(12) if labels is None else np.argsort(labels)
    np.testing.assert_array_equal(remote.data.labels, None if labels is None else labels[order])
    gradient = remote.value_and_gradient(problem.X[order])[1]
    np.testing.assert_allclose(gradient, problem.objective.value_and_gradient(problem.X)[1][order], atol=1e-14)


@pytest.mark.parametrize("url", ["file://{}/*.parquet", "file://{}"])
def test_parquet_through_fsspec(client, parquet, problem, url):
    folder = os.path.dirname(parquet(problem.objective.comparisons))
    remote = DaskObjective(url.format(folder), "tste", 3, client=client)
    assert remote.value(problem.X) == pytest.approx(problem.objective.value(problem.X), rel=1e-12)


def test_own_files_keep_labels_and_number_of_objects(client, tmp_path):
    rows = [[0, 4, 2], [2, 0, 4], [4, 2, 0]]
    named = Comparisons(rows, labels=["e", "d", "c", "b", "a"])
    write_comparisons(tmp_path / "named.parquet", named)
    data = open_data(tmp_path / "named.parquet", client)
    assert (data.labels.tolist(), data.n_all, data.seen.tolist()) == (["e", "d", "c", "b", "a"], 5, [0, 2, 4])
    write_comparisons(tmp_path / "numbers.parquet", Comparisons(rows, n_objects=7))
    data = open_data(tmp_path / "numbers.parquet", client)
    assert (data.labels, data.n_all, data.seen.tolist()) == (None, 7, [0, 2, 4])


def test_numbers_with_gaps_are_names_in_files_and_indices_in_arrays(client, parquet):
    comparisons = Comparisons([[1, 5, 3], [5, 3, 1]])
    data = open_data(parquet(comparisons), client)
    assert data.labels.tolist() == ["1", "3", "5"]
    data = open_data(parquet(comparisons, folder="again"), client, n_objects=8)
    assert (data.labels, data.n_all, data.seen.tolist()) == (None, 8, [1, 3, 5])
    for X in (da.from_array(comparisons.index, chunks=(1, 2)), comparisons):
        data = open_data(X, client)
        assert (data.labels, data.n_all, data.seen.tolist()) == (None, 6, [1, 3, 5])
        assert DaskObjective(data, "ste", 1).value(np.array([[0.0], [1.0], [3.0]])) > 0


@pytest.mark.parametrize("hold", [True, False])
def test_dask_array_with_answers_and_weights(client, hold):
    rng = np.random.default_rng(0)
    Q = random_problem("ste", n=10, size=300).objective.comparisons.index
    y, w = rng.choice([-1, 1], 300), rng.random(300)
    whole = Comparisons.from_answers(Q, y, weights=w)
    X = rng.normal(size=(10, 3))
    parts = [da.from_array(values, chunks=size) for values, size in ((Q, (70, 2)), (y, 70), (w, 100))]
    index, y, w = client.persist(parts) if hold else parts
    remote = DaskObjective(index, "ste", 3, client=client, y=y, sample_weight=w, hold=hold)
    assert remote.value(X) == pytest.approx(LocalObjective(whole, "ste", 3).value(X), rel=1e-12)


@pytest.mark.parametrize("hold", [True, False])
def test_dask_dataframe(client, problem, hold):
    comparisons = problem.objective.comparisons
    frame = pd.DataFrame(WORDS[comparisons.index], columns=["anchor", "near", "far"])
    frame["weight"] = comparisons.weights
    frame["who"] = "nobody"
    if hold:
        frame = frame.set_index("anchor")
    remote = DaskObjective(dd.from_pandas(frame, npartitions=3, sort=False), "tste", 3, client=client, hold=hold)
    expected = problem.objective.value(problem.X)
    assert remote.value(problem.X[np.argsort(WORDS)]) == pytest.approx(expected, rel=1e-12)
    assert remote.data.labels.tolist() == sorted(WORDS)


def test_what_is_held_depends_on_the_memory(client, parquet, problem, monkeypatch):
    path = parquet(problem.objective.comparisons)
    for size, hold in ((10**6, True), (30_000, False)):
        monkeypatch.setattr(Engine, "memory", lambda self, size=size: size + 2 * 350 * 2**20)
        assert open_data(path, client).hold == hold


def test_a_layout_next_to_the_file_is_used(client, tmp_path):
    table = {"ref": [0, 1, 2], "x": [1, 2, 0], "y": [2, 0, 1], "key": ["f", "j", ""], "answered": ["1", "1", "0"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=1)
    layout = Layout("answers", anchor="ref", a="x", b="y", answer="key", answers={"f": "a", "j": "b"})
    layout.save(tmp_path / "a.layout.toml")
    with pytest.warns(UserWarning, match="1 row dropped: no answer"):
        data = open_data(tmp_path / "a.parquet", client)
    assert (data.n_comparisons, data.n_objects) == (2, 3)


def test_answers_of_several_rows_stay_in_one_shard(client):
    rng = np.random.default_rng(0)
    sets = rng.permuted(np.tile(np.arange(6), (25, 1)), axis=1)[:, :3]
    whole = Comparisons.from_odd_one_out(sets, sets[:, 2], participants=np.arange(25) % 3)
    data = open_data(whole, client, n_shards=4)
    parts = [part for shard in data.shards for part in shard.blocks()]
    assert len(parts) == 4
    assert sum(len(part.answers) for part in parts) == 25
    assert Comparisons.concat(parts).people is None
    X = rng.normal(size=(6, 2))
    assert DaskObjective(data, "ste", 2).value(X) == pytest.approx(LocalObjective(whole, "ste", 2).value(X), rel=1e-12)


def test_all_weight_in_one_piece(client, parquet):
    index = random_problem("ste", n=8, size=300).objective.comparisons.index
    path = parquet(Comparisons(index, n_objects=8, weights=np.repeat([0.0, 1.0], [250, 50])))
    X = np.random.default_rng(0).normal(size=(8, 3))
    expected = LocalObjective(Comparisons(index[250:], n_objects=8), "ste", 3).value(X)
    for hold in (True, False):
        remote = DaskObjective(path, "ste", 3, client=client, hold=hold, n_shards=1)
        assert remote.value(X) == pytest.approx(expected, rel=1e-12)
        assert np.isfinite(remote.subset(250, np.random.default_rng(0)).value(X))
        taken = remote.snapshot(X)
        assert np.isfinite(remote.svrg_pass(taken.X, taken, 1e-3, 50, 0)).all()


TRIPLETS = ("anchor", "near", "far")


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"anchor": [0, None], "near": [1, 1], "far": [2, 2]}, "a.parquet.*row 2, column 'anchor'"),
        ({name: pa.array([], pa.int32()) for name in TRIPLETS}, "a.parquet: has no rows"),
        ({"anchor": ["a", "b"], "left": ["b", "c"], "right": ["c", "a"], "answer": ["left", "x"]}, "a.parquet.*row 2"),
    ],
)
def test_bad_cells_are_refused(client, tmp_path, columns, match):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=1)
    with pytest.raises(FileFormatError, match=match):
        open_data(str(tmp_path / "a.parquet"), client)


@pytest.mark.parametrize("path", ["{0}/*.parquet", "file://{0}/*.parquet", "nowhere://x/*.parquet"])
def test_missing_files_are_refused(client, tmp_path, path):
    with pytest.raises(FileFormatError, match=r"\*.parquet: (no such file|cannot be listed)"):
        open_data(path.format(tmp_path), client)


def test_damaged_files_are_refused(client, parquet, problem):
    path = parquet(problem.objective.comparisons)
    file = Path(path.replace("*", "part-2"))
    content = file.read_bytes()
    for damaged in (content[:300], content[:4] + b"\xff" * 200 + content[204:]):
        file.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"part-2.parquet: cannot be read as Parquet"):
            open_data(path, client)
    pq.write_table(pa.table({name: [0] for name in TRIPLETS}), file)
    with pytest.raises(FileFormatError, match=r"part-2.parquet: got the columns"):
        open_data(path, client)


def test_an_attention_check_gives_no_comparison(client, tmp_path):
    rows = np.array([[0, 1, 2], [1, 1, 2], [0, 2, 1]])
    pq.write_table(pa.table(list(rows.T), names=TRIPLETS), tmp_path / "a.parquet", row_group_size=1)
    data = open_data(str(tmp_path / "a.parquet"), client)
    assert (data.n_comparisons, data.n_objects) == (2, 3)
    with pytest.raises(ValueError, match=r"partition 0 of .* row 1"):
        open_data(da.from_array(rows), client)


X = da.ones((10, 3), chunks=(5, 3), dtype=int)
ROWS = da.from_array(np.array([[0, 1, 2]] * 10), chunks=(5, 3))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": X[:, :2]}, r"Dask Array of shape \(10, 2\), expected .* \(N, 3 or 4\)"),
        ({"X": dask.delayed(ROWS)}, "got a Dask Delayed, expected"),
        ({"X": X, "sample_weight": np.ones(10)}, r"weights: got array.*expected a Dask array of shape \(N,\)"),
        ({"X": ROWS, "y": da.ones(8, chunks=4)}, r"y: got dask.array.*expected a Dask array of shape \(N,\)"),
        ({"X": ROWS, "y": da.zeros(10, chunks=5)}, r"partition \d of .*: answers"),
        ({"X": X, "n_shards": 0}, "n_shards: got 0"),
        ({"X": ROWS, "n_objects": 2}, r"object number 2 is outside 0..1"),
        ({"X": da.from_array(np.array([[0, -1, 2]]))}, "-1"),
        ({"X": "a.parquet", "y": [1]}, "got a file with y or sample_weight"),
        ({"X": dd.from_pandas(pd.DataFrame({"a": [1], "b": [2]}), npartitions=1)}, r"columns: a, b\n"),
    ],
)
def test_bad_arguments_are_refused(client, arguments, match):
    with pytest.raises(ValueError, match=match):
        open_data(client=client, **arguments)
