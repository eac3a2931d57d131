"""When the points fit no worker: points in blocks, comparisons in cells of blocks. A simulation at reduced size.

    python -m benchmarks.sharded_points [--objects 20000] [--comparisons 2000000] [--blocks 4]

Objects are cut into B blocks; a triplet belongs to the cell (block of anchor, block of near, block of far). A worker
that owns an anchor block walks through the cells of that block, near block by near block: the anchor block is its own,
a near block is pulled once for all its far blocks, and of a far block only the rows that the cell touches. So it holds
three blocks of points and of gradient at a time, never all points. Gradient rows go back to their owners the same way.

`BlockedObjective` does exactly this, in one process, and counts the rows that would travel and those held at a time;
solvers run on it unchanged. The script compares gradients, traffic, memory and test error with the ordinary objective
and with the model of docs/large-data.md, and prints the model for 10^8 objects and 10^10 comparisons.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster import triplets
from benchmarks.common import facts
from nearer import Comparisons
from nearer.objective import LocalObjective, Snapshot
from nearer.solvers import LBFGS, SBB, SVRG

RESULTS = Path(__file__).parent / "results" / "sharded_points.json"


@dataclass
class Cell:
    """Comparisons of one cell, over the rows of points that they touch."""

    rows: np.ndarray
    objective: LocalObjective


class BlockedObjective:
    """An objective that never looks at more than three blocks of points at a time.

    Parameters
    ----------
    index : int32 (N, 3)
    n_objects, n_components, n_blocks : int
    loss : name

    Attributes
    ----------
    pulled : rows of points that crossed the network in the last full pass (as many gradient rows go back)
    most_held : most rows of points that were in one place at a time
    """

    def __init__(self, index: np.ndarray, n_objects: int, n_components: int, n_blocks: int, loss: str = "tste"):
        self.n_objects, self.n_components, self.n_comparisons = n_objects, n_components, len(index)
        self.n_blocks = n_blocks
        self.pulled = self.most_held = 0
        block = (index.astype(np.int64) * n_blocks) // n_objects
        code = (block[:, 0] * n_blocks + block[:, 1]) * n_blocks + block[:, 2]
        order = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[order], np.arange(n_blocks**3 + 1))
        self.sizes = np.bincount((np.arange(n_objects) * n_blocks) // n_objects, minlength=n_blocks)
        self.cells: dict[tuple[int, int, int], Cell] = {}
        for number in range(n_blocks**3):
            part = index[order[starts[number] : starts[number + 1]]]
            if len(part):
                rows, local = np.unique(part, return_inverse=True)
                comparisons = Comparisons(local.reshape(part.shape).astype(np.int32), n_objects=len(rows))
                place = (number // n_blocks**2, number // n_blocks % n_blocks, number % n_blocks)
                self.cells[place] = Cell(rows, LocalObjective(comparisons, loss, n_components, n_jobs=1))
        self.loss = next(iter(self.cells.values())).objective.loss

    def _walk(self) -> Any:
        """The cells in the order in which workers visit them, counting rows."""
        self.pulled = self.most_held = 0
        for anchor in range(self.n_blocks):
            for near in range(self.n_blocks):
                if near != anchor:
                    self.pulled += int(self.sizes[near])
                for far in range(self.n_blocks):
                    cell = self.cells.get((anchor, near, far))
                    if cell is None:
                        continue
                    extra = 0
                    if far not in (anchor, near):
                        first = -(-far * self.n_objects // self.n_blocks)
                        extra = int(np.count_nonzero((cell.rows >= first) & (cell.rows < first + self.sizes[far])))
                    self.pulled += extra
                    here = self.sizes[anchor] + (self.sizes[near] if near != anchor else 0) + extra
                    self.most_held = max(self.most_held, int(here))
                    yield cell

    def value(self, X: np.ndarray) -> float:
        """F(X)."""
        total = sum(cell.objective.value(X[cell.rows]) * cell.objective.n_comparisons for cell in self._walk())
        return total / self.n_comparisons

    def error(self, X: np.ndarray) -> float:
        """Fraction of comparisons not satisfied."""
        total = sum(cell.objective.error(X[cell.rows]) * cell.objective.n_comparisons for cell in self._walk())
        return total / self.n_comparisons

    def value_and_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """F(X) and its gradient (n, d)."""
        total, gradient = 0.0, np.zeros_like(X)
        for cell in self._walk():
            value, part = cell.objective.value_and_gradient(X[cell.rows])
            total += value * cell.objective.n_comparisons
            gradient[cell.rows] += part * cell.objective.n_comparisons
        return total / self.n_comparisons, gradient / self.n_comparisons

    def snapshot(self, X: np.ndarray) -> Snapshot:
        """Full gradient at X; slopes are computed again in the inner pass."""
        value, gradient = self.value_and_gradient(X)
        return Snapshot(X.copy(), value, gradient, None)

    def svrg_pass(
        self, X: np.ndarray, snapshot: Snapshot, step: float, n_steps: int, seed: int, first: int = 0
    ) -> np.ndarray:
        """Every anchor block's owner walks through its cells from X; their movements are averaged.

        Within a cell only its rows move; the full gradient's pull on all other rows is the same at every step and is
        added by their owners when the row is next pulled.
        """
        sizes = {place: cell.objective.n_comparisons for place, cell in self.cells.items()}
        moved = np.zeros_like(X)
        for anchor in range(self.n_blocks):
            own = [place for place in self.cells if place[0] == anchor]
            share = sum(sizes[place] for place in own) / self.n_comparisons
            size = step / share
            point, done = X, 0
            shifted = np.zeros_like(X)  # movement beside that of the full gradient
            for place in own:
                cell = self.cells[place]
                steps = round(n_steps * sizes[place] / self.n_comparisons)
                if not steps:
                    continue
                pull = snapshot.gradient[cell.rows]
                start = point[cell.rows] + shifted[cell.rows] - done * size * pull
                taken = cell.objective.snapshot(snapshot.X[cell.rows])
                taken = Snapshot(taken.X, taken.value, pull, taken.slopes)
                key = int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0] >> np.uint64(1))
                end = cell.objective.svrg_pass(start, taken, size, steps, key, first)
                shifted[cell.rows] += end - start + steps * size * pull
                done += steps
            moved += share * (shifted - done * size * snapshot.gradient)
        return X + moved

    def sgd_pass(self, *arguments: Any, **options: Any) -> np.ndarray:
        """Not part of this simulation."""
        raise NotImplementedError


def model_rows(n: int, n_comparisons: int, n_blocks: int) -> tuple[float, float]:
    """Rows pulled in a pass, and rows held at a time, for comparisons drawn uniformly."""
    touched = 1 - math.exp(-n_comparisons / (n_blocks**2 * n))
    pulled = n * (n_blocks - 1) + n * n_blocks**2 * touched * (1 - 1 / n_blocks) ** 2
    return pulled, n / n_blocks * (2 + touched)


def plan(n: int = 10**8, n_comparisons: int = 10**10, d: int = 10, workers: int = 100, threads: int = 16) -> list[dict]:
    """The model for a problem far too large for this machine, by number of blocks; one block is the broadcast of all.

    Work is handed out by pairs of anchor and near block, so there are at least as many of those as workers; where
    several workers share an anchor block, all but its owner pull it once.
    """
    table = []
    for n_blocks in (1, 12, 16, 24, 32):
        pulled, held = float(workers * n), float(n)
        if n_blocks > 1:
            pulled, held = model_rows(n, n_comparisons, n_blocks)
            pulled += max(workers - n_blocks, 0) * n / n_blocks
        table.append(
            {
                "blocks": n_blocks,
                "held_gb": held * d * 8 * 2 / 1e9,
                "moved_gb_per_worker": pulled * d * 8 * 2 / workers / 1e9,
                "seconds_at_10_gbit": pulled * d * 8 * 2 / workers / 1.25e9,
                "cells": n_blocks**3,
                "comparisons_per_cell": n_comparisons // n_blocks**3,
                "compute_seconds_at_200_ns": n_comparisons * 200e-9 / workers / threads,
            }
        )
    return table


def main() -> None:
    """Simulate, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--comparisons", type=int, default=2_000_000)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=25)
    options = parser.parse_args()
    n, d = options.objects, 5
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, d))
    index = triplets(n, options.comparisons, rng, points)
    test = Comparisons(triplets(n, 100_000, rng, points), n_objects=n)
    whole = LocalObjective(Comparisons(index, n_objects=n), "tste", d)
    held_out = LocalObjective(test, "tste", d)
    blocked = BlockedObjective(index, n, d, options.blocks)
    X0 = np.random.default_rng(1).normal(size=(n, d))
    value, gradient = whole.value_and_gradient(X0)
    got, other = blocked.value_and_gradient(X0)
    pulled, held = model_rows(n, len(index), options.blocks)
    results: dict[str, Any] = {
        "objects": n, "comparisons": len(index), "blocks": options.blocks, "cells": len(blocked.cells),
        "value_difference": abs(got - value) / abs(value),
        "gradient_difference": float(np.linalg.norm(other - gradient) / np.linalg.norm(gradient)),
        "rows_pulled": blocked.pulled, "rows_pulled_model": pulled,
        "rows_held": blocked.most_held, "rows_held_model": held, "rows_in_all": n,
    }  # fmt: skip
    runs = {"SVRG-SBB": SVRG(step=SBB(), max_epochs=options.epochs), "L-BFGS": LBFGS(max_epochs=options.epochs)}
    for name, solver in runs.items():
        for where, objective in (("whole", whole), ("blocked", blocked)):
            result = solver.solve(objective, X0, 0)
            results[f"{name}, {where}: objective"] = result.objective
            results[f"{name}, {where}: test error"] = held_out.error(result.embedding)
    results["plan"] = plan()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**facts(), **results}, indent=1) + "\n")
    for key, item in results.items():
        if key != "plan":
            print(f"{key}: {item:.6g}" if isinstance(item, float) else f"{key}: {item:,}")
    print("\n| " + " | ".join(results["plan"][0]) + " |\n|" + "---|" * len(results["plan"][0]))
    for row in results["plan"]:
        print("| " + " | ".join(f"{item:,.4g}" for item in row.values()) + " |")


if __name__ == "__main__":
    main()
