"""Large problems: 20 million triplets in memory, 100 million from a file, each fitted in a fresh process.

    python -m benchmarks.large [--quick] [--only memory,file] [--loss hinge] [--folder DIR]

The loss is the one with the lowest test error in a trial with as many comparisons per coordinate as the largest
problem has, unless it is given. Beside the fit stands what a full pass costs, in nanoseconds per triplet: reading the
file, forming distances on one core (the floor under any pass), gradients on one core and on all, and the streamed pass
of the fit.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import save, table
from benchmarks.measure import in_child, peak_gib
from nearer import Comparisons, OrdinalEmbedding
from nearer.io import open_blocks
from nearer.losses import loss_names
from nearer.objective import LocalObjective, StreamedObjective, resolve_jobs

PROBLEMS = {
    "memory": {"n": 100_000, "d": 5, "n_train": 20_000_000, "goal error": 0.03},
    "file": {"n": 1_000_000, "d": 5, "n_train": 100_000_000, "goal error": 0.05},
}
TRIAL = {"n": 20_000, "d": 5, "n_train": 2_000_000}
QUICK_PROBLEMS = {
    "memory": {"n": 500, "d": 2, "n_train": 20_000, "goal error": 0.03},
    "file": {"n": 1_000, "d": 2, "n_train": 60_000, "goal error": 0.05},
}
QUICK_TRIAL = {"n": 500, "d": 2, "n_train": 20_000}
N_TEST = 100_000
# Enough comparisons to time a pass on (a thread's part of a pass holds eight per object), few enough to hold.
SAMPLE = 32_000_000


class Watch:
    """Callback: what the map is worth at every epoch, and a line of progress now and then."""

    def __init__(self, test: Comparisons, n_components: int, every: float = 10.0):
        self.test = LocalObjective(test, "hinge", n_components)
        self.every = every
        self.told = -every
        self.curve: list[dict[str, Any]] = []

    def __call__(self, row: Any, state: Any) -> None:
        error = self.test.error(state.X)
        self.curve.append(
            {
                "seconds": row.seconds,
                "work": row.n_gradients,
                "objective": row.objective,
                "test error": error,
                "stage": stage(state.note),
            }
        )
        if row.seconds - self.told >= self.every:
            self.told = row.seconds
            print(f"{row.seconds:8.1f} s  epoch {row.epoch:4d}  test error {error:.4f}  {state.note}", flush=True)


def stage(note: str) -> str:
    """The part of a solver's account that is under way, without the count of iterations."""
    return re.sub(r"\d+ iterations", "iterations", note.rstrip("; ").rsplit("; ", 1)[-1])


def fit(
    train: str, test: str, n: int, d: int, loss: str, in_memory: bool, timings: bool = True, every: float = 10.0
) -> dict[str, Any]:
    """Fit and take apart what it cost; runs in a process of its own.

    Parameters
    ----------
    train : path of Parquet. test : path of .npy.
    in_memory : hand over an array instead of the path.
    timings : also take apart what a full pass costs.
    every : seconds between lines of progress.
    """
    source = open_blocks(train)
    watch = Watch(Comparisons(np.load(test), n_objects=n), d, every)
    model = OrdinalEmbedding(d, loss=loss, n_objects=n, random_state=0, callbacks=[watch])
    data = rows_of(source, source.n_comparisons) if in_memory else train
    started = time.perf_counter()
    model.fit(data)
    wall = time.perf_counter() - started
    peak = peak_gib()
    X = np.nan_to_num(model.embedding_)
    return {
        "peak_gib": peak,
        "fit s": wall,
        "solving s": model.history_[-1].seconds,
        "test error": watch.test.error(X),
        "work": model.result_.n_gradients / source.n_comparisons,
        "message": model.result_.message,
        "curve": watch.curve,
        **(passes(source, X, loss, in_memory) if timings else {}),
    }


def rows_of(source: Any, count: int) -> np.ndarray:
    """The first `count` comparisons of a file, int32 (count, 3)."""
    out = np.empty((count, source.n_columns), dtype=np.int32)
    filled = 0
    for block in source.blocks():
        part = block.index[: count - filled]
        out[filled : filled + len(part)] = part
        filled += len(part)
        if filled == count:
            break
    return out


def passes(source: Any, X: np.ndarray, loss: str, in_memory: bool) -> dict[str, float]:
    """Nanoseconds per triplet of a full pass and of its parts."""
    (n, d), size = X.shape, source.n_comparisons
    part = Comparisons(rows_of(source, min(SAMPLE, size)), n_objects=n)
    one, all_cores = LocalObjective(part, loss, d, n_jobs=1), LocalObjective(part, loss, d)
    out = {
        "floor ns": _seconds(lambda: one.error(X)) / len(part) * 1e9,
        "gradient, one core ns": _seconds(lambda: one.value_and_gradient(X)) / len(part) * 1e9,
        "gradient, all cores ns": _seconds(lambda: all_cores.value_and_gradient(X)) / len(part) * 1e9,
    }
    if not in_memory:
        streamed = StreamedObjective(source, loss, d, n)
        reading = _seconds(lambda: sum(len(block) for block in source.blocks(streamed.block_size)), 1)
        out["reading ns"] = reading / size * 1e9
        out["streamed pass ns"] = _seconds(lambda: streamed.value_and_gradient(X), 1) / size * 1e9
    return out


def _seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The least of some timings, after one more that may compile."""
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def try_losses(problem: dict[str, Any], folder: Path, seed: int) -> list[dict[str, Any]]:
    """Every loss on the trial problem."""
    train, test = str(folder / "trial.parquet"), str(folder / "trial.npy")
    in_child("benchmarks.synthetic:write_triplets", train=train, test=test, **problem, n_test=N_TEST, seed=seed)
    rows = []
    for loss in loss_names():
        sizes = {"n": problem["n"], "d": problem["d"]}
        got = in_child(
            "benchmarks.large:fit", train=train, test=test, **sizes, loss=loss, in_memory=True, timings=False
        )
        rows.append({"loss": loss, **problem, **{k: got[k] for k in ("test error", "solving s", "work")}})
        print(f"trial {loss}: test error {got['test error']:.4f}", flush=True)
    return rows


def run(name: str, problem: dict[str, Any], loss: str, folder: Path, seed: int) -> tuple[dict[str, Any], list[Any]]:
    """One row for a problem, and its curve."""
    train, test = folder / f"{name}.parquet", folder / f"{name}.npy"
    sizes = {key: problem[key] for key in ("n", "d", "n_train")}
    print(f"{name}: writing {sizes['n_train']:,} triplets", flush=True)
    made = in_child(
        "benchmarks.synthetic:write_triplets", train=str(train), test=str(test), **sizes, n_test=N_TEST, seed=seed
    )
    got = in_child(
        "benchmarks.large:fit", train=str(train), test=str(test), n=sizes["n"], d=sizes["d"], loss=loss,
        in_memory=name == "memory",
    )  # fmt: skip
    train.unlink()
    curve = got.pop("curve")
    row = {
        "problem": name,
        **sizes,
        "loss": loss,
        "test error": got["test error"],
        "goal error": problem["goal error"],
        "minutes": got["fit s"] / 60,
        "peak GiB": got["peak_gib"],
        "work": got["work"],
        **{key: value for key, value in got.items() if key.endswith(" ns")},
        "file GiB": made["file_gib"],
        "message": got["message"],
    }
    return row, curve


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", default="memory,file")
    parser.add_argument("--loss", help="leave out the trial of the losses")
    parser.add_argument("--folder", help="where the data are written for the time being")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    suffix = "-quick" if options.quick else ""
    problems, trial = (QUICK_PROBLEMS, QUICK_TRIAL) if options.quick else (PROBLEMS, TRIAL)
    with tempfile.TemporaryDirectory(prefix="nearer-bench-", dir=options.folder) as home:
        loss = options.loss
        if loss is None:
            rows = try_losses(trial, Path(home), options.seed)
            save(f"large-losses{suffix}", rows)
            loss = min(rows, key=lambda row: row["test error"])["loss"]
        for name in options.only.split(","):
            row, curve = run(name, problems[name], loss, Path(home), options.seed)
            path = save(f"large-{name}{suffix}", [row], curve=thinned(curve), threads=resolve_jobs(None))
            print(table([row]), f"\nwritten to {path}", sep="")


def thinned(curve: list[Any], most: int = 400) -> list[Any]:
    """At most so many points of a curve, the last one kept."""
    step = -(-len(curve) // most)
    return curve[::-1][::step][::-1]


if __name__ == "__main__":
    main()
