"""A cluster for the tests of a file that do not break it; one that stands idle takes time from the others."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from processes import running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Scheduler and two workers with one thread each, as processes."""
    with running(tmp_path_factory.mktemp("cluster")) as processes:
        yield processes


@pytest.fixture(scope="module")
def client(cluster):
    """A client of that cluster."""
    connected = cluster.client()
    yield connected
    connected.close()


@pytest.fixture
def parquet(tmp_path):
    """Writes comparisons to Parquet files; returns their pattern."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = {3: ("anchor", "near", "far"), 4: ("i", "j", "l", "k")}

    def write(comparisons, n_files=3, row_group_size=100, labels=None, folder="files"):
        where = tmp_path / folder
        where.mkdir()
        n = len(comparisons)
        for number in range(n_files):
            rows = slice(number * n // n_files, (number + 1) * n // n_files)
            index = comparisons.index[rows]
            columns = {
                name: labels[index[:, c]] if labels is not None else index[:, c]
                for c, name in enumerate(names[index.shape[1]])
            }
            if comparisons.weights is not None:
                columns["weight"] = comparisons.weights[rows]
            pq.write_table(pa.table(columns), where / f"part-{number}.parquet", row_group_size=row_group_size)
        return str(where / "*.parquet")

    return write
