"""Random triplets of any number, straight to a file: points from a normal distribution answer by true distance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearer.datasets import make_points
from nearer.metrics import comparison_distances

CHUNK = 1 << 20


def answered(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random triplets int32 (count, 3) [anchor, near, far], drawn with replacement."""
    n = len(points)
    anchor = rng.integers(n, size=count)
    # different from the anchor and from each other: count round the circle of the other objects
    first = rng.integers(1, n, size=count)
    second = 1 + (first - 1 + rng.integers(1, n - 1, size=count)) % (n - 1)
    rows = np.stack([anchor, (anchor + first) % n, (anchor + second) % n], axis=1).astype(np.int32)
    near, far = comparison_distances(points, rows)
    swap = near > far
    rows[swap] = rows[swap][:, [0, 2, 1]]
    return rows


def chunks(points: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """`answered` in pieces of at most `CHUNK` rows."""
    for start in range(0, count, CHUNK):
        yield answered(points, min(CHUNK, count - start), rng)


def write_triplets(train: str, test: str, n: int, d: int, n_train: int, n_test: int, seed: int) -> dict[str, float]:
    """Write training triplets to Parquet, chunk by chunk, and test triplets to .npy.

    Questions are drawn with replacement: the chance that a test question is among the training ones is
    ``n_train / (n (n - 1) (n - 2) / 2)``, which is returned.
    """
    points = make_points(n, d, random_state=seed)
    rng = np.random.default_rng([seed, 1])
    np.save(test, answered(points, n_test, rng))
    names = ("anchor", "near", "far")
    with pq.ParquetWriter(train, pa.schema([(name, pa.int32()) for name in names])) as writer:
        for rows in chunks(points, n_train, rng):
            writer.write_table(pa.table(dict(zip(names, rows.T))))
    return {"seen before": n_train / (n * (n - 1) * (n - 2) / 2), "file_gib": Path(train).stat().st_size / 2**30}
