"""Reading triplets with string labels from a CSV file: `nearer.read_comparisons` against pandas.

Two files: 1,000,000 rows of three columns, and a tenth as many rows with 120 further columns that are not used. All
start from the same file and end with integer codes for every cell and the list of labels. The runs are interleaved, so
that whatever else the machine does falls on all alike. pandas is timed as its documentation shows it (`read_csv`, then
`factorize` over the stacked columns) and, for fairness, also with its pyarrow engine.

    python benchmarks/read_csv.py [--rows 1000000] [--labels 10000] [--repeats 9] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from nearer import read_comparisons
from nearer.io import atomic_write

N_UNUSED = 120
Reader = Callable[[Path], tuple[np.ndarray, np.ndarray]]


def write_file(path: Path, rows: int, labels: int, n_unused: int = 0) -> None:
    """Write random triplets of distinct objects with names such as object00042, and columns that are not used."""
    rng = np.random.default_rng(0)
    anchor = rng.integers(0, labels, rows)
    near = (anchor + rng.integers(1, labels // 2, rows)) % labels
    far = (anchor + rng.integers(labels // 2, labels, rows)) % labels
    names = np.array([f"object{number:05d}" for number in range(labels)])
    more = "".join(f",{column}.5" for column in range(n_unused))
    with path.open("w", encoding="utf-8") as file:
        file.write("anchor,near,far" + "".join(f",measure {column}" for column in range(n_unused)) + "\n")
        for start in range(0, rows, 100_000):
            block = slice(start, start + 100_000)
            cells = zip(names[anchor[block]].tolist(), names[near[block]].tolist(), names[far[block]].tolist())
            file.write("".join(f"{a},{n},{f}{more}\n" for a, n, f in cells))


def by_nearer(path: Path) -> tuple[np.ndarray, np.ndarray]:
    comparisons = read_comparisons(path).comparisons
    if comparisons.labels is None:
        raise RuntimeError("the labels were lost")
    return comparisons.index, comparisons.labels


def by_pandas(path: Path, engine: str = "c") -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(path, engine=engine)
    columns = [table[name] for name in ("anchor", "near", "far")]
    codes, labels = pd.factorize(pd.concat(columns, ignore_index=True))
    return codes.reshape(3, -1).T, np.asarray(labels)


def same(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
    """Tell whether two results name the same objects in every cell of a sample of rows."""
    rows = np.random.default_rng(1).integers(0, len(one[0]), 10_000)
    return len(one[0]) == len(other[0]) and bool((one[1][one[0][rows]] == other[1][other[0][rows]]).all())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    readers: dict[str, Reader] = {
        "nearer": by_nearer,
        "pandas": by_pandas,
        "pandas (pyarrow engine)": lambda path: by_pandas(path, "pyarrow"),
    }
    found = {}
    for rows, n_unused in ((options.rows, 0), (options.rows // 10, N_UNUSED)):
        what = f"{rows:,} triplets, {options.labels:,} labels, {n_unused} unused columns"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "triplets.csv"
            write_file(path, rows, options.labels, n_unused)
            found[what] = timed(readers, path, options.repeats)
        print(f"{what}, {options.repeats} interleaved runs")
        for name, times in found[what].items():
            ratio = statistics.median(mine / its for mine, its in zip(found[what]["nearer"], times))
            spread = f"(from {min(times):.3f} to {max(times):.3f})"
            print(f"{name:24s} median {statistics.median(times):.3f} s {spread}; nearer takes {ratio:.2f} of its time")
    if options.json:
        with atomic_write(options.json, force=True, mode="w") as file:
            json.dump({"rows": options.rows, "labels": options.labels, "seconds": found}, file, indent=1)


def timed(readers: dict[str, Reader], path: Path, repeats: int) -> dict[str, list[float]]:
    """Seconds of every run of every reader, all of which must read the same."""
    reference = by_nearer(path)
    for name, reader in readers.items():
        if not same(reference, reader(path)):
            raise SystemExit(f"{name} reads something else")
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, reader in readers.items():
            start = time.perf_counter()
            reader(path)
            seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    main()
