"""`make soak`: the same work again and again in one process; neither memory nor open files nor threads may grow."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from nearer import Comparisons, OrdinalEmbedding, load, write_report
from nearer.io import open_blocks, read_comparisons, write_comparisons

WARM_UP = 20
MOST_GROWTH = 40 << 20


def _round(folder, number):
    points = np.random.default_rng(number).normal(size=(30, 2))
    made = Comparisons.from_points(points, 2_000, random_state=number, labels=[f"object {n}" for n in range(30)])
    write_comparisons(folder / "a.csv", made, force=True)
    write_comparisons(folder / "a.parquet", made, force=True)
    read = read_comparisons(folder / "a.csv").comparisons
    model = OrdinalEmbedding(2, random_state=number, n_init=2).fit(read)
    model.partial_fit(made[:100])
    model.save(folder / "m.nearer", force=True)
    again = load(folder / "m.nearer")
    assert again.score(read) == model.score(read)
    OrdinalEmbedding(2, random_state=number).fit(folder / "a.parquet")
    assert sum(len(block) for block in open_blocks(folder / "a.parquet").blocks(500)) == len(made)
    if number % 5 == 0:
        write_report(model, path=folder / f"{number}.html", cv=0)


def _use():
    """Resident bytes, open files, threads."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), threading.active_count()


def soak(minutes, least=2 * WARM_UP):
    """Rounds for some minutes; returns their number and the use after warming up and at the end."""
    warnings.simplefilter("ignore")
    until, number, before = time.monotonic() + 60 * minutes, 0, (0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="nearer-soak-") as folder:
        while number < least or time.monotonic() < until:
            _round(Path(folder), number)
            number += 1
            if number == WARM_UP:
                before = _use()
    return number, before, _use()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=2.0)
    number, before, after = soak(parser.parse_args().minutes)
    print(
        f"{number:,} rounds: memory {before[0] >> 20} -> {after[0] >> 20} MB, files {before[1]} -> {after[1]}, "
        f"threads {before[2]} -> {after[2]}"
    )
    grown = after[0] - before[0] > MOST_GROWTH or after[1] > before[1] or after[2] > before[2]
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
