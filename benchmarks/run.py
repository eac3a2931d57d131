"""Plain fits against rivals: same data, same split, same machine, interleaved.

    python -m benchmarks.run [--problems table1,medium,music] [--repeats 5] [--losses ...]

Both sides use their defaults, with one exception: cblearn's SOE makes ten starts by itself, and the rows "soe" give it
one. The rows "soe, 10 starts" leave it its default (not on "medium", where that takes minutes a fit); nearer makes one
start in either.

Each fit is timed inside its own process, after one warm-up fit that is reported apart (for nearer it holds the
compilation, if the disk cache is cold). Beside the ratio of the times of plain fits stands the time after which nearer
has reached the rival's own test error (0: it never has). The difference of the test errors, nearer's less the rival's,
is a mean over the repeats, each with data of its own, with its standard error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from experiments.data import load_music
from experiments.problems import make_table1

from benchmarks.common import save, spread, table
from benchmarks.rivals import RIVALS, Competitor, scratch
from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.metrics import comparison_error

RIVAL_DEFAULT = "soe, 10 starts"


def problems(name: str, repeats: int) -> Iterator[tuple[Comparisons, Comparisons, int]]:
    """Train, test and dimension for each repeat."""
    for repeat in range(repeats):
        if name == "table1":
            data = make_table1(random_state=repeat)
            yield data.train, data.test, 10
        elif name == "medium":
            points = make_points(1_000, 5, random_state=repeat)
            data = make_comparisons(points, n_train=500_000, n_test=50_000, random_state=repeat)
            yield data.train, data.test, 5
        else:
            yield *load_music().split(0.2, random_state=repeat), 9


def race(name: str, losses: list[str], repeats: int, rivals: list[str], folder: Path) -> list[dict[str, Any]]:
    """One row per loss and rival."""
    runners = {who: Competitor(who, folder) for who in ["ours", *rivals]}
    results: dict[tuple[str, str], list[tuple[float, float]]] = {}
    reached: dict[tuple[str, str], list[float]] = {}
    warm: dict[tuple[str, str], float] = {}
    for repeat, (train, test, d) in enumerate(problems(name, repeats)):
        data = folder / f"{name}.npz"
        np.savez(data, train=train.index, n_objects=train.n_objects)
        for loss in losses:
            for who, runner in runners.items():
                asked = our_name(loss) if who == "ours" else loss
                if repeat == 0:
                    warm[loss, who] = runner.fit(data, asked, d, seed=repeat)[0]
                seconds, X = runner.fit(data, asked, d, seed=repeat)
                results.setdefault((loss, who), []).append((seconds, comparison_error(X, test)))
            for who in rivals:
                goal = results[loss, who][-1][1]
                reached.setdefault((loss, who), []).append(seconds_to(goal, train, test, d, our_name(loss), repeat))
            print(f"{name} {repeat} {loss}: " + ", ".join(
                f"{who} {results[loss, who][-1][0]:.3f} s at {results[loss, who][-1][1]:.4f}" for who in runners
            ), flush=True)  # fmt: skip
    for runner in runners.values():
        runner.close()
    return [row(name, loss, who, results, reached, warm) for loss in losses for who in rivals]


def our_name(loss: str) -> str:
    """The loss without what is said about a rival's starts."""
    return loss.partition(",")[0]


def losses_for(problem: str, losses: list[str]) -> list[str]:
    """The losses to race on a problem; SOE also against the rival's own number of starts where that is bearable."""
    return [*losses, RIVAL_DEFAULT] if "soe" in losses and problem != "medium" else losses


def seconds_to(goal: float, train: Comparisons, test: Comparisons, d: int, loss: str, seed: int) -> float:
    """Solving time after which nearer's test error is at most `goal`; inf if never."""
    found: list[float] = []
    points = np.full((train.n_objects, d), np.nan)

    def watch(row: Any, state: Any) -> bool:
        points[train.seen] = state.X  # a solver never meets objects without comparisons
        if not found and comparison_error(points, test) <= goal:
            found.append(row.seconds)
        return bool(found)

    OrdinalEmbedding(d, loss=loss, n_objects=train.n_objects, random_state=seed, callbacks=[watch]).fit(train)
    return found[0] if found else float("inf")


def row(name: str, loss: str, who: str, results: Any, reached: Any, warm: Any) -> dict[str, Any]:
    ours, theirs = np.array(results[loss, "ours"]), np.array(results[loss, who])
    ratio = spread(list(theirs[:, 0] / ours[:, 0]))
    worse = ours[:, 1] - theirs[:, 1]  # on the same data
    return {
        "problem": name,
        "loss": loss,
        "rival": who,
        "nearer s": float(np.median(ours[:, 0])),
        "rival s": float(np.median(theirs[:, 0])),
        "ratio": ratio["median"],
        "ratio q25-q75": f"{ratio['q25']:.1f}-{ratio['q75']:.1f}",
        "nearer test error": float(ours[:, 1].mean()),
        "rival test error": float(theirs[:, 1].mean()),
        "difference": float(worse.mean()),
        "standard error": float(worse.std(ddof=1) / np.sqrt(len(worse))) if len(worse) > 1 else None,
        "ratio to rival's error": float(np.median(theirs[:, 0] / np.array(reached[loss, who]))),
        "first fit s": warm[loss, "ours"],
        "repeats": len(ours),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default="table1,medium,music")
    parser.add_argument("--losses", default="hinge,ckl,ste,tste,soe", help="default: those that the rivals have")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--name", default="rivals", help="name of the result files")
    options = parser.parse_args()
    folder = scratch()
    rows = []
    started = time.perf_counter()
    try:
        for name in options.problems.split(","):
            if name == "music" and not os.environ.get("NEARER_DATA"):
                print("music is left out: NEARER_DATA is not set")
                continue
            rows += race(name, losses_for(name, options.losses.split(",")), options.repeats, list(RIVALS), folder)
    finally:
        shutil.rmtree(folder)
    path = save(options.name, rows, minutes=round((time.perf_counter() - started) / 60, 1), rivals=RIVALS)
    print(table(rows), f"\nwritten to {path}", sep="")


if __name__ == "__main__":
    main()
