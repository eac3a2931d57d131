"""`make kill`: commands killed at random moments; what they write is absent, as it was, or complete, always as a set.

Each run has a seed of its own, which every file that it writes can be traced to, so that a mixture would show.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import nearer
from nearer.cli import main as nearer_command
from nearer.io import read_comparisons, read_embedding

FIT_FILES = {"embedding.csv", "model.nearer", "summary.json", "report.html"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def _command(kind, seed):
    common = ["--force", "--quiet"]
    if kind == "fit":
        fitting = ["--random-state", str(seed), "--max-epochs", "30", "--cv", "0", "--title", f"run {seed}"]
        return ["fit", "answers.csv", "-o", "out", *fitting, *common]
    if kind == "report":
        return ["report", "map", "-o", "report.html", "--title", f"run {seed}", *common]
    return ["convert", "answers.csv" if seed % 2 else "more.csv", "converted.parquet", *common]


def _run(arguments):
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        warnings.simplefilter("ignore")
        sys.exit(nearer_command(arguments))


def check_fit(folder):
    """The seed that all files in a folder of `nearer fit` come from; None if there are none. Raises for a mixture."""
    there = {path.name for path in folder.iterdir()} & FIT_FILES if folder.is_dir() else set()
    if not there:
        return None
    assert there == FIT_FILES, f"only {sorted(there)}"
    seed = json.loads((folder / "summary.json").read_text())["options"]["random_state"]
    model = nearer.load(folder / "model.nearer")
    assert model.random_state == seed, "the model is of another run"
    np.testing.assert_array_equal(read_embedding(folder / "embedding.csv")[0], model.embedding_)
    page = (folder / "report.html").read_text()
    assert page.rstrip().endswith("</html>"), "the report is cut short"
    assert f"run {seed}" in page, "the report is of another run"
    return seed


def check_report(path):
    """A report that is absent or whole."""
    if path.exists():
        page = path.read_text()
        assert page.rstrip().endswith("</html>"), "the report is cut short"


def check_converted(path):
    """Converted answers that are absent or whole, from one of the two files."""
    if path.exists():
        assert len(read_comparisons(path).comparisons) in (300, 400)


def _kill_once(kind, seed, longest, rng):
    """Start a command, kill it at some moment; whether it was still running."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(_command(kind, seed),))
    process.start()
    if rng.random() < 0.5:  # at any moment
        process.join(rng.random() * longest[kind] * 1.05)
    else:  # while it writes
        until = time.monotonic() + 2 * longest[kind] + 1
        while process.is_alive() and time.monotonic() < until and not any(Path().rglob(".*.part")):
            time.sleep(0.0005)
        process.join(rng.random() * 0.03)
    hit = process.is_alive()
    if hit:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, rng.choice(SIGNALS))
    process.join(30)
    assert not process.is_alive(), "a command outlived its signal by 30 s"
    return hit


@contextlib.contextmanager
def _inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_kills(n_kills, seed=0):
    """Kill commands `n_kills` times; returns hits by kind. Raises at the first set of files that is not whole."""
    rng = random.Random(seed)
    hits = dict.fromkeys(("fit", "report", "convert"), 0)
    with tempfile.TemporaryDirectory(prefix="nearer-kill-") as folder, _inside(folder):
        points = np.random.default_rng(0).normal(size=(12, 2))
        for name, count in (("answers.csv", 300), ("more.csv", 400)):
            made = nearer.Comparisons.from_points(points, count, random_state=count)
            np.savetxt(name, made.index, "%d", ",", header="anchor,near,far", comments="")
        longest = {}
        for kind in hits:
            if kind == "report":
                os.rename("out", "map")
            started = time.monotonic()
            process = multiprocessing.get_context("fork").Process(target=_run, args=(_command(kind, 1),))
            process.start()
            process.join()
            assert process.exitcode == 0, f"{kind} fails by itself"
            longest[kind] = time.monotonic() - started
        number = 1
        while sum(hits.values()) < n_kills:
            number += 1
            kind = rng.choice(("fit", "fit", "report", "convert"))
            hits[kind] += _kill_once(kind, number, longest, rng)
            check_fit(Path("out"))
            check_report(Path("report.html"))
            check_converted(Path("converted.parquet"))
        for kind in hits:  # the next runs clear away what the killed have left
            process = multiprocessing.get_context("fork").Process(target=_run, args=(_command(kind, number + 1),))
            process.start()
            process.join()
        assert check_fit(Path("out")) == number + 1
        left = [str(path) for path in Path().rglob(".*")]
        assert not left, f"left behind: {left}"
    return hits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    hits = run_kills(options.kills, seed)
    print(f"{sum(hits.values())} kills from seed {seed}, nothing mixed or left: {hits}")


if __name__ == "__main__":
    main()
