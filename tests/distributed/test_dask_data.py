"""Where comparisons come from: files, collections, labels, what is held, what is refused."""

from __future__ import annotations

from pathlib import Path

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

pytestmark = pytest.mark.filterwarnings("ignore::nearer.warning_types.PerformanceWarning")


@pytest.fixture(scope="module")
def client(client_here):
    return client_here


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
    if labels is None:
        assert remote.data.labels is None
    else:
        assert remote.data.labels.tolist() == sorted(labels)
    value, gradient = remote.value_and_gradient(problem.X[order])
    expected, expected_gradient = problem.objective.value_and_gradient(problem.X)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient[order], atol=1e-14)


def test_parquet_through_fsspec(client, parquet, problem):
    path = parquet(problem.objective.comparisons)
    for url in (f"file://{path}", f"file://{path.rpartition('/')[0]}"):
        remote = DaskObjective(url, "tste", 3, client=client, hold=False)
        assert remote.value(problem.X) == pytest.approx(problem.objective.value(problem.X), rel=1e-12)


def test_own_files_keep_labels_and_number_of_objects(client, tmp_path):
    rows = [[0, 4, 2], [2, 0, 4], [4, 2, 0]]
    named = Comparisons(rows, labels=["e", "d", "c", "b", "a"])
    write_comparisons(tmp_path / "named.parquet", named)
    data = open_data(tmp_path / "named.parquet", client)
    assert data.labels.tolist() == ["e", "d", "c", "b", "a"]
    np.testing.assert_array_equal(data.seen, [0, 2, 4])
    assert (data.n_objects, data.n_all) == (3, 5)
    write_comparisons(tmp_path / "numbers.parquet", Comparisons(rows, n_objects=7))
    data = open_data(tmp_path / "numbers.parquet", client)
    assert (data.labels, data.n_all, data.seen.tolist()) == (None, 7, [0, 2, 4])


def test_participants_travel_with_the_pieces_and_are_not_sent_to_passes(client, tmp_path):
    rows = random_problem("ste", n=10, size=300).objective.comparisons.index
    known = Comparisons(rows, participants=np.arange(300) % 7)
    write_comparisons(tmp_path / "a.parquet", known)
    frame = dd.from_pandas(pd.read_parquet(tmp_path / "a.parquet"), npartitions=3)
    for X in (known, str(tmp_path / "a.parquet"), frame):
        data = open_data(X, client, n_shards=2)
        assert data.participants.tolist() == list(range(7))
        found = Comparisons.concat(list(data.blocks()))
        assert found.index.tolist() == rows.tolist()
        assert found.participants.tolist() == known.participants.tolist()
        part = DaskObjective(data, "ste", 2).subset(100, np.random.default_rng(0))
        assert part.comparisons.people is None
    assert open_data(Comparisons(rows), client).participants is None


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
    parts = [da.from_array(a, chunks=(70, *a.shape[1:])) for a in (Q, y, w)]
    remote = DaskObjective(parts[0], "ste", 3, client=client, y=parts[1], sample_weight=parts[2], hold=hold)
    assert remote.value(X) == pytest.approx(LocalObjective(whole, "ste", 3).value(X), rel=1e-12)


@pytest.mark.parametrize("hold", [True, False])
def test_dask_dataframe(client, problem, hold):
    comparisons = problem.objective.comparisons
    frame = pd.DataFrame(WORDS[comparisons.index], columns=["anchor", "near", "far"])
    frame["weight"] = comparisons.weights
    frame["who"] = "nobody"
    remote = DaskObjective(dd.from_pandas(frame, npartitions=3), "tste", 3, client=client, hold=hold)
    expected = problem.objective.value(problem.X)
    assert remote.value(problem.X[np.argsort(WORDS)]) == pytest.approx(expected, rel=1e-12)
    assert remote.data.labels.tolist() == sorted(WORDS)


def test_persisted_collection(client, problem):
    index = client.persist(da.from_array(problem.objective.comparisons.index, chunks=(100, 3)))
    remote = DaskObjective(index, "tste", 3, client=client)
    assert remote.n_comparisons == 400


def test_what_is_held_depends_on_the_memory(client, parquet, problem, monkeypatch):
    path = parquet(problem.objective.comparisons)
    found = {}
    for size in (10**9, 30_000, 9_000):
        monkeypatch.setattr(Engine, "memory", lambda self, size=size: size + 2 * 350 * 2**20)
        data = open_data(path, client)
        found[size] = data.hold_rows, data.hold_slopes
    assert found == {10**9: (True, True), 30_000: (True, False), 9_000: (False, False)}


def test_a_look_without_workers_is_no_lack_of_memory(client, monkeypatch):
    expected = Engine(client).memory()
    assert expected > 0
    looks = iter([{"workers": {}}, {"workers": {}}, client.scheduler_info(n_workers=-1)])
    monkeypatch.setattr(client, "scheduler_info", lambda n_workers: next(looks))
    assert Engine(client).memory() == expected


def test_large_row_groups_are_refused(client, parquet, monkeypatch):
    monkeypatch.setattr(Engine, "memory", lambda self: 0)  # 65,536 rows at a time
    comparisons = random_problem("ste", n=12, size=70_000).objective.comparisons
    with pytest.raises(FileFormatError, match=r"part-0.parquet: a row group has 70,000 rows, .* can read 65,536"):
        open_data(parquet(comparisons, 1, 70_000), client)


def test_answers_and_labels_read_by_workers(client, tmp_path):
    table = {"anchor": ["a", "b", "c"], "left": ["b", "c", "a"], "right": ["c", "a", "b"], "answer": ["left", "c", "x"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=1)
    with pytest.raises(FileFormatError, match=r"a\.parquet.*row 3"):
        open_data(tmp_path / "a.parquet", client)
    table["answer"] = ["left", "right", "right"]
    pq.write_table(pa.table(table), tmp_path / "b.parquet", row_group_size=1)
    data = open_data(tmp_path / "b.parquet", client)
    X = np.array([[0.0], [1.0], [3.0]])
    expected = LocalObjective(Comparisons([[0, 1, 2], [1, 0, 2], [2, 1, 0]]), "ste", 1).value(X)
    assert data.labels.tolist() == ["a", "b", "c"]
    assert DaskObjective(data, "ste", 1).value(X) == pytest.approx(expected, rel=1e-12)


def test_a_layout_next_to_the_file_is_used(client, tmp_path):
    table = {"ref": [0, 1, 2], "x": [1, 2, 0], "y": [2, 0, 1], "key": ["f", "j", ""], "answered": ["1", "1", "0"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=1)
    layout = Layout("answers", anchor="ref", a="x", b="y", answer="key", answers={"f": "a", "j": "b"})
    layout.save(tmp_path / "a.layout.toml")
    with pytest.warns(UserWarning, match="1 row dropped: no answer"):
        data = open_data(tmp_path / "a.parquet", client)
    assert next(data.blocks()).index.tolist() == [[0, 1, 2]]
    assert (data.n_comparisons, data.n_objects) == (2, 3)


def test_answers_of_several_rows_stay_in_one_shard(client):
    rng = np.random.default_rng(0)
    sets = rng.permuted(np.tile(np.arange(6), (25, 1)), axis=1)[:, :3]
    whole = Comparisons.from_odd_one_out(sets, sets[:, 2], participants=np.arange(25) % 3)
    data = open_data(whole, client, n_shards=4)
    parts = list(data.blocks())
    assert len(parts) == 4
    assert sum(len(part.answers) for part in parts) == 25
    assert Comparisons.concat(parts).participants.tolist() == whole.participants.tolist()
    X = rng.normal(size=(6, 2))
    assert DaskObjective(data, "ste", 2).value(X) == pytest.approx(LocalObjective(whole, "ste", 2).value(X), rel=1e-12)


def test_dask_dataframe_with_answers_weights_and_an_index(client):
    rng = np.random.default_rng(0)
    rows = random_problem("ste", n=8, size=90).objective.comparisons.index
    frame = pd.DataFrame(WORDS[rows], columns=["anchor", "a", "b"]).set_index("anchor")
    y, w = rng.random(90) < 0.5, rng.random(90)
    whole = Comparisons.from_answers(rows, y, weights=w, n_objects=12, labels=WORDS)
    X = dd.from_pandas(frame, npartitions=3, sort=False)
    lengths = tuple(X.map_partitions(len).compute())
    given = [da.from_array(values, chunks=(lengths,)) for values in (y, w)]
    data = open_data(X, client, y=given[0], sample_weight=given[1])
    found = Comparisons.concat(list(data.blocks()))
    np.testing.assert_array_equal(data.labels[data.seen][found.index], whole.labels[whole.index])
    np.testing.assert_array_equal(found.weights, w)
    frame["weight"] = w
    with pytest.raises(ValueError, match="has a column 'weight' of weights too"):
        open_data(dd.from_pandas(frame, npartitions=3, sort=False), client, y=given[0], sample_weight=given[1])


def test_all_weight_in_one_piece(client, parquet):
    base = random_problem("ste", n=8, size=300).objective.comparisons
    weights = np.zeros(300)
    weights[250:] = 1.0
    weighted = Comparisons(base.index, n_objects=8, weights=weights)
    only = Comparisons(base.index[250:], n_objects=8)
    X = np.random.default_rng(0).normal(size=(8, 3))
    expected = LocalObjective(only, "ste", 3).value(X)
    for hold in (True, False):
        remote = DaskObjective(parquet(weighted, folder=f"{hold}"), "ste", 3, client=client, hold=hold, n_shards=3)
        assert remote.value(X) == pytest.approx(expected, rel=1e-12)
        taken = remote.snapshot(X)
        assert np.isfinite(remote.svrg_pass(taken.X, taken, 1e-3, 50, 0)).all()


TRIPLETS = ("anchor", "near", "far")


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"anchor": [0, None], "near": [1, 1], "far": [2, 2]}, "a.parquet.*row 2, column 'anchor'"),
        ({"anchor": [0.5], "near": [1.0], "far": [2.0]}, "a.parquet.*row 1, column 'anchor': got '0.5'"),
        ({"anchor": [0], "near": [1], "far": [2], "weight": ["x"]}, "a.parquet.*row 1, column 'weight': got 'x'"),
        ({"anchor": [0], "near": [1], "far": [2], "weight": [0.0]}, "a.parquet: "),
        ({name: pa.array([], pa.int32()) for name in TRIPLETS}, "a.parquet: has no rows"),
    ],
)
def test_bad_cells_are_refused(client, tmp_path, columns, match):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match=match):
        open_data(str(tmp_path / "a.parquet"), client)


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("{0}/*.parquet", r"\*.parquet: no such file"),
        ("file://{0}/*.parquet", r"\*.parquet: no such file"),
        ("nowhere://x/*.parquet", "nowhere://x/.*cannot be listed"),
    ],
)
def test_missing_files_are_refused(client, tmp_path, path, match):
    with pytest.raises(FileFormatError, match=match):
        open_data(path.format(tmp_path), client)


@pytest.mark.parametrize(
    ("name", "damage", "match"),
    [
        ("part-1", lambda content: content[:300], "part-1.parquet: cannot be read as Parquet"),
        ("part-2", lambda content: content[:4] + b"\xff" * 200 + content[204:], "part-2.parquet: cannot be read"),
    ],
)
def test_damaged_files_are_refused(client, parquet, problem, name, damage, match):
    path = parquet(problem.objective.comparisons)
    file = Path(path.replace("*", name))
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(FileFormatError, match=match):
        open_data(path, client)


def test_files_with_other_columns_are_refused(client, parquet, problem):
    path = parquet(problem.objective.comparisons)
    pq.write_table(pa.table({name: [0] for name in TRIPLETS}), path.replace("*", "part-9"))
    with pytest.raises(FileFormatError, match=r"part-9.parquet: got the columns"):
        open_data(path, client)


def test_an_attention_check_gives_no_comparison(client, tmp_path):
    table = pa.table({"anchor": [0, 1, 0], "near": [1, 1, 2], "far": [2, 2, 1]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    data = open_data(str(tmp_path / "a.parquet"), client)
    assert (data.n_comparisons, data.n_objects) == (2, 3)
    with pytest.raises(ValueError, match=r"partition 0 of .* row 1"):
        open_data(da.from_array(np.column_stack(list(table.to_pydict().values()))), client)


def test_text_and_numbers_mixed_are_text(client, tmp_path):
    pq.write_table(pa.table({"anchor": [0], "near": ["a"], "far": [2]}), tmp_path / "a.parquet")
    assert open_data(str(tmp_path / "a.parquet"), client).labels.tolist() == ["0", "2", "a"]


X = da.ones((10, 3), chunks=(5, 3), dtype=int)
ROWS = da.from_array(np.array([[0, 1, 2]] * 10), chunks=(5, 3))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": X[:, :2]}, r"Dask array of shape \(10, 2\), expected \(N, 3 or 4\)"),
        ({"X": X, "y": da.ones(10, chunks=10)}, "y: has 1 partitions and X 2"),
        ({"X": X, "sample_weight": np.ones(10)}, "sample_weight: got ndarray, expected a Dask collection"),
        ({"X": ROWS, "y": da.ones(8, chunks=4)}, r"partition \d of .*: y has 4 rows and X 5"),
        ({"X": X, "n_shards": 0}, "n_shards: got 0"),
        ({"X": ROWS, "n_objects": 2}, r"object number 2 is outside 0..1"),
        ({"X": da.from_array(np.array([[0, -1, 2]]))}, "-1"),
        ({"X": "a.parquet", "y": [1]}, "takes no y or sample_weight"),
        ({"X": dd.from_pandas(pd.DataFrame({"a": [1], "b": [2]}), npartitions=1)}, r"columns: a, b\n"),
    ],
)
def test_bad_arguments_are_refused(client, arguments, match):
    with pytest.raises(ValueError, match=match):
        open_data(client=client, **arguments)
