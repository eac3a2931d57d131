"""How time and memory grow: time to a test error at N = 20 n log2 n, peak memory of fits from a file.

    python -m benchmarks.growth [--quick] [--only time,memory] [--losses soe,hinge,ste] [--repeats 3]

The clock stands still while the test error is measured. The exponent is the slope of the logarithm of the median time
over the logarithm of N, by least squares.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import save, spread, table
from benchmarks.measure import in_child
from nearer import OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.objective import LocalObjective

D = 5
SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (200, 400, 800)
GOAL, QUICK_GOAL = 0.03, 0.06
MEMORY = {"n": 100_000, "n_train": (10_000_000, 100_000_000)}
QUICK_MEMORY = {"n": 500, "n_train": (20_000, 40_000)}


def n_comparisons(n: int) -> int:
    """N = 20 n log2 n."""
    return round(20 * n * math.log2(n))


def time_to(goal: float, n: int, loss: str, seed: int, n_test: int = 50_000) -> tuple[float, float]:
    """Seconds and work (gradients / N) until the test error is at most `goal`; inf if it never is."""
    data = make_comparisons(make_points(n, D, random_state=seed), n_comparisons(n), n_test, random_state=seed)
    test = LocalObjective(data.test, loss, D)
    reached: list[tuple[float, float]] = []

    def watch(row: Any, state: Any) -> bool:
        if not reached and test.error(state.X) <= goal:
            reached.append((row.seconds, row.n_gradients / len(data.train)))
        return bool(reached)

    OrdinalEmbedding(D, loss=loss, n_objects=n, random_state=seed, callbacks=[watch]).fit(data.train)
    return reached[0] if reached else (math.inf, math.inf)


def times(sizes: tuple[int, ...], losses: list[str], goal: float, repeats: int) -> list[dict[str, Any]]:
    """One row per loss and size, the sizes taken in turn."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for loss in losses:
        time_to(1.0, sizes[0], loss, 0)  # compiles
    for repeat in range(repeats):
        for n in sizes:
            for loss in losses:
                seconds, work = time_to(goal, n, loss, repeat)
                found.setdefault((loss, n), []).append((seconds, work))
                print(f"{loss} n = {n:,}: {seconds:.3f} s, work {work:.1f}", flush=True)
    rows = []
    for loss in losses:
        for n in sizes:
            seconds = spread([s for s, _ in found[loss, n]])
            rows.append(
                {
                    "loss": loss,
                    "n": n,
                    "N": n_comparisons(n),
                    "goal": goal,
                    "seconds": seconds["median"],
                    "q25-q75": f"{seconds['q25']:.3g}-{seconds['q75']:.3g}",
                    "work": float(np.median([w for _, w in found[loss, n]])),
                    "repeats": repeats,
                }
            )
    return rows


def exponents(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Slope of log seconds over log N for each loss; None where the goal was not always reached."""
    out: dict[str, float | None] = {}
    for loss in dict.fromkeys(row["loss"] for row in rows):
        mine = [row for row in rows if row["loss"] == loss]
        seconds = np.array([row["seconds"] for row in mine])
        fits = np.isfinite(seconds).all() and len(mine) > 1
        out[loss] = float(np.polyfit(np.log([row["N"] for row in mine]), np.log(seconds), 1)[0]) if fits else None
    return out


def memory(problem: dict[str, Any], loss: str, folder: Path) -> list[dict[str, Any]]:
    """Peak memory of whole fits from Parquet, one row per number of comparisons."""
    rows = []
    for n_train in problem["n_train"]:
        train, test = folder / "train.parquet", folder / "test.npy"
        where = {"train": str(train), "test": str(test), "n": problem["n"], "d": D}
        made = in_child("benchmarks.synthetic:write_triplets", **where, n_train=n_train, n_test=50_000, seed=0)
        got = in_child("benchmarks.large:fit", **where, loss=loss, in_memory=False, timings=False)
        train.unlink()
        rows.append(
            {
                "n": problem["n"],
                "N": n_train,
                "loss": loss,
                "file GiB": made["file_gib"],
                "peak GiB": got["peak_gib"],
                "test error": got["test error"],
                "minutes": got["fit s"] / 60,
                "message": got["message"],
            }
        )
        print(table(rows[-1:]), flush=True)
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", default="time,memory")
    parser.add_argument("--losses", default="soe,hinge,ste", help="for memory, the first of them")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--folder", help="where the data are written for the time being")
    options = parser.parse_args(arguments)
    quick, losses = options.quick, options.losses.split(",")
    suffix = "-quick" if quick else ""
    if "time" in options.only:
        goal, repeats = (QUICK_GOAL, options.repeats or 1) if quick else (GOAL, options.repeats or 3)
        rows = times(QUICK_SIZES if quick else SIZES, losses, goal, repeats)
        path = save(f"growth-time{suffix}", rows, exponents=exponents(rows))
        print(table(rows), f"\nexponents {exponents(rows)}, written to {path}", sep="")
    if "memory" in options.only:
        with tempfile.TemporaryDirectory(prefix="nearer-bench-", dir=options.folder) as folder:
            rows = memory(QUICK_MEMORY if quick else MEMORY, losses[0], Path(folder))
        ratio = rows[-1]["peak GiB"] / rows[0]["peak GiB"]
        path = save(f"growth-memory{suffix}", rows, ratio=ratio)
        print(table(rows), f"\nratio {ratio:.3f}, written to {path}", sep="")


if __name__ == "__main__":
    main()
