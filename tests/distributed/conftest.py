"""Clusters: workers in this process, for what is computed, and processes that may be killed."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from processes import running

from nearer.distributed import connect


@pytest.fixture
def client(client_here):
    return client_here


@pytest.fixture
def processes(tmp_path):
    """Scheduler and two workers with one thread each, as processes that may be killed."""
    with running(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def local_workers():
    """Two workers as `local:2` starts them: processes, which nobody kills."""
    with connect("local:2", memory_limit="1GiB") as client:
        yield client
    assert client.status == "closed"


@pytest.fixture
def parquet(tmp_path):
    """Writes comparisons to three Parquet files; returns their pattern."""

    def write(comparisons, labels=None, folder="files"):
        where = tmp_path / folder
        where.mkdir()
        index = comparisons.index if labels is None else labels[comparisons.index]
        names = {3: ["anchor", "near", "far"], 4: ["i", "j", "l", "k"]}[index.shape[1]]
        table = pa.table(list(index.T), names=names)
        if comparisons.weights is not None:
            table = table.append_column("weight", pa.array(comparisons.weights))
        for number, rows in enumerate(np.array_split(np.arange(len(index)), 3)):
            pq.write_table(table.take(rows), where / f"part-{number}.parquet", row_group_size=100)
        return str(where / "*.parquet")

    return write
