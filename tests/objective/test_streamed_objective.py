"""Comparisons on disk: the same numbers as in memory, and memory that does not follow the data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.io import open_index
from nearer.losses import loss_names
from nearer.objective import LocalObjective
from nearer.solvers import SBB, SGD, SVRG, Auto, Decaying
from nearer.streaming import StreamedObjective

N_OBJECTS, N_COMPONENTS = 60, 3


@pytest.fixture(scope="module")
def data():
    points = make_points(N_OBJECTS, N_COMPONENTS, random_state=0)
    return make_comparisons(points, n_train=6_000, n_test=2_000, random_state=1)


@pytest.fixture(scope="module", params=["npy", "parquet"])
def source(request, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / f"answers.{request.param}"
    index = data.train.index
    if request.param == "npy":
        np.save(path, index)
    else:
        table = pa.table({name: index[:, c] for c, name in enumerate(("anchor", "near", "far"))})
        pq.write_table(table, path, row_group_size=700)
    return open_index(path)


def streamed(source, loss="ste", **options):
    return StreamedObjective(source, loss, N_COMPONENTS, N_OBJECTS, block_size=1_000, **options)


@pytest.mark.parametrize("loss", loss_names())
def test_streamed_pass_equals_the_pass_in_memory(source, data, loss):
    X = np.random.default_rng(2).normal(size=(N_OBJECTS, N_COMPONENTS))
    local, disk = LocalObjective(data.train, loss, N_COMPONENTS), streamed(source, loss)
    value, gradient = disk.value_and_gradient(X)
    expected_value, expected_gradient = local.value_and_gradient(X)
    assert value == pytest.approx(expected_value, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-14)
    assert disk.value(X) == pytest.approx(expected_value, rel=1e-12)
    assert disk.error(X) == pytest.approx(local.error(X), abs=1e-12)
    assert disk.value_at_zero() == local.value_at_zero() == pytest.approx(local.value(np.zeros_like(X)))


def test_threads_do_not_change_bits(source):
    X = np.random.default_rng(2).normal(size=(N_OBJECTS, N_COMPONENTS))
    one, three = (streamed(source, n_jobs=n_jobs).value_and_gradient(X) for n_jobs in (1, 3))
    assert one[0] == three[0]
    np.testing.assert_array_equal(one[1], three[1])


def test_subset_draws_rows_of_the_data_evenly(source, data):
    part = streamed(source).subset(1_500, np.random.default_rng(3)).comparisons
    assert len(part) == 1_500
    rows = {tuple(row) for row in data.train.index.tolist()}
    assert all(tuple(row) in rows for row in part.index.tolist())
    capped = streamed(source, max_in_memory=700).subset(1_500, np.random.default_rng(3))
    assert capped.n_comparisons == 700


def test_shuffled_blocks_hold_every_row_once(source, data):
    blocks = list(source.shuffled_blocks(1_000, np.random.default_rng(4)))
    assert max(map(len, blocks)) <= 1_000
    rows = np.concatenate(blocks)
    assert not np.array_equal(rows, data.train.index)
    np.testing.assert_array_equal(
        np.sort(rows.view("i4,i4,i4").ravel()), np.sort(data.train.index.copy().view("i4,i4,i4").ravel())
    )


SOLVERS = [Auto(), SVRG(step=SBB(), max_epochs=30), SGD(step=Decaying(step=1.0), max_epochs=100)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_solvers_reach_on_disk_what_they_reach_in_memory(source, data, solver):
    X0 = np.random.default_rng(5).normal(size=(N_OBJECTS, N_COMPONENTS))
    held_out = LocalObjective(data.test, "tste", N_COMPONENTS)
    local = solver.solve(LocalObjective(data.train, "tste", N_COMPONENTS), X0, rng=6)
    disk = solver.solve(streamed(source, "tste"), X0, rng=6)
    assert held_out.error(disk.embedding) == pytest.approx(held_out.error(local.embedding), abs=0.02)


def test_fit_takes_a_path(data, tmp_path):
    path = tmp_path / "answers.npy"
    np.save(path, data.train.index)
    fitted = OrdinalEmbedding(N_COMPONENTS, random_state=0).fit(path)
    assert fitted.embedding_.shape == (N_OBJECTS, N_COMPONENTS)
    assert fitted.score(data.test) > 0.9


def test_fit_on_a_path_leaves_unseen_objects_without_a_place(tmp_path):
    path = tmp_path / "answers.npy"
    points = np.random.default_rng(0).normal(size=(12, 2))
    index = Comparisons.from_points(points, 400, random_state=0).index.copy()
    index[index >= 5] += 1  # nobody is number 5
    np.save(path, index)
    with pytest.warns(UserWarning, match=r"1 of 13 objects occur in no comparison \(first: 5\)"):
        fitted = OrdinalEmbedding(2, random_state=0).fit(path)
    assert np.isnan(fitted.embedding_[5]).all()
    assert np.isfinite(np.delete(fitted.embedding_, 5, axis=0)).all()


def test_a_batch_in_memory_is_large_enough_for_the_default_solver():
    # Auto wants seven comparisons per coordinate in its first batch; fewer are satisfied in too many ways.
    objective = StreamedObjective(_Endless(), "ste", 5, n_objects=1_000_000)
    assert objective.max_in_memory == 40_000_000
    assert StreamedObjective(_Endless(), "ste", 2, n_objects=50).max_in_memory == 1 << 20


class _Endless:
    n_comparisons = 10**9
    n_columns = 3
