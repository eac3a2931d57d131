"""What a Dask cluster costs and gives, measured on this machine.

    python -m benchmarks.cluster constants            # the constants of the cost model, and the model against runs
    python -m benchmarks.cluster speedup              # full passes over 50 million comparisons: two workers against one
    python -m benchmarks.cluster memory               # 100 million comparisons on workers limited to 1 GiB
    python -m benchmarks.cluster quality              # SVRG-SBB on two workers against one machine: test error
    python -m benchmarks.cluster all --update-docs    # everything, and the tables of benchmarks/RESULTS.md

``--scale 0.1`` runs everything on a tenth of the comparisons. Results go to benchmarks/results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import common
from benchmarks.common import spread
from benchmarks.figures import fill
from nearer import Comparisons, OrdinalEmbedding
from nearer.distributed import DaskObjective, connect
from nearer.objective import LocalObjective
from nearer.solvers import SBB, SVRG

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "cluster.json"
FILE_ROWS = 2_000_000
LOSS = "tste"
WORKERS = 2


def triplets(n: int, size: int, rng: np.random.Generator, points: np.ndarray | None = None) -> np.ndarray:
    """Random triplets int32 (size, 3) of distinct objects; with points, in the order of the true distances."""
    i = rng.integers(n, size=size)
    j = (i + rng.integers(1, n, size=size)) % n
    k = (i + rng.integers(1, n, size=size)) % n
    same = j == k
    k[same] = (k[same] + 1) % n
    k[k == i] = (k[k == i] + 1) % n
    k[k == j] = (k[k == j] + 1) % n
    keep = (k != i) & (k != j)
    i, j, k = i[keep], j[keep], k[keep]
    if points is not None:
        far = ((points[i] - points[j]) ** 2).sum(1) > ((points[i] - points[k]) ** 2).sum(1)
        j, k = np.where(far, k, j), np.where(far, j, k)
    return np.stack([i, j, k], axis=1).astype(np.int32)


def every_object(n: int) -> np.ndarray:
    """Triplets int32 (n / 3, 3) in which every object occurs; n is a multiple of three."""
    return np.arange(n, dtype=np.int32).reshape(-1, 3)


def write_files(folder: Path, n: int, size: int, points: np.ndarray | None = None, seed: int = 0) -> str:
    """Triplets in Parquet files of two million rows; returns their pattern."""
    rng = np.random.default_rng(seed)
    for number in range(-(-size // FILE_ROWS)):
        rows = triplets(n, min(FILE_ROWS, size - number * FILE_ROWS), rng, points)
        if number == 0 and points is None:
            rows[: n // 3] = every_object(n)  # so that there are n points, no fewer
        table = pa.table({name: rows[:, c] for c, name in enumerate(("anchor", "near", "far"))})
        pq.write_table(table, folder / f"part-{number:05d}.parquet")
    return str(folder / "*.parquet")


def median_seconds(
    function: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median time of some calls, after one that does not count; `time.thread_time` counts this thread alone."""
    function()
    times = []
    for _ in range(repeats):
        started = clock()
        function()
        times.append(clock() - started)
    return statistics.median(times)


def constants(scale: float) -> dict[str, Any]:
    """Constants of the cost model, from runs of one kind each; then runs of all kinds, predicted and measured."""
    rng = np.random.default_rng(0)
    n, d, size = 99_999, 10, int(4_000_000 * scale) + 100_000
    X = rng.normal(size=(n, d))
    rows = Comparisons(np.concatenate([every_object(n), triplets(n, size - n // 3, rng)]))
    local = LocalObjective(rows, LOSS, d, n_jobs=1)
    found: dict[str, Any] = {"n": n, "d": d, "n_comparisons": len(rows)}
    found["gradient_ns"] = 1e9 * median_seconds(lambda: local.value_and_gradient(X), 3, time.thread_time) / len(rows)
    taken = local.snapshot(X)
    steps = len(rows) // 4
    seconds = median_seconds(lambda: local.svrg_pass(X, taken, 1e-9, steps, 0), 3, time.thread_time)
    found["svrg_step_ns"] = 1e9 * seconds / steps
    folder = Path(tempfile.mkdtemp(prefix="nearer-"))
    try:
        path = write_files(folder, n, size)
        with connect("local:2") as client:
            tiny = DaskObjective(Comparisons(triplets(50, 200, rng)), LOSS, 2, client=client)
            small = rng.normal(size=(50, 2))
            found["latency_ms"] = 1e3 * median_seconds(lambda: tiny.value_and_gradient(small), 15)
            found["worker_base_mib"] = statistics.mean(client.run(_peak_mib).values())
            found["bytes_per_second"] = _bandwidth(client, d, rng, found)
            anew = DaskObjective(path, LOSS, d, client=client, hold=False)
            held = DaskObjective(path, LOSS, d, client=client)
            reading, computing = (median_seconds(lambda one=one: one.value_and_gradient(X)) for one in (anew, held))
            found["read_ns"] = max(1e9 * WORKERS * (reading - computing) / anew.n_comparisons, 0.0)
            found["checks"] = _checks(found, held, anew, X)
            found["small"] = _overheads(client, rng, found["gradient_ns"])
    finally:
        shutil.rmtree(folder)
    return found


def _bandwidth(client: Any, d: int, rng: np.random.Generator, found: dict[str, Any]) -> float:
    """Bytes per second of points going out and sums coming back, from evaluations that compute next to nothing."""
    wide = DaskObjective(Comparisons(every_object(399_999)), LOSS, d, client=client)
    X = rng.normal(size=(wide.n_objects, d))
    seconds = median_seconds(lambda: wide.value_and_gradient(X), 5)
    compute = 1e-9 * found["gradient_ns"] * wide.n_comparisons / WORKERS
    return _moved_bytes(wide.n_objects, d, WORKERS) / max(seconds - compute - found["latency_ms"] / 1e3, 1e-9)


def _moved_bytes(n: int, d: int, workers: int) -> float:
    """Bytes on the critical path: the points to every worker in turn, one gradient to its sum, one to the client."""
    return 8.0 * n * d * (workers + 2)


def predicted(found: dict[str, Any], n: int, d: int, size: int, workers: int, read: bool, svrg: bool) -> float:
    """Seconds of one full pass, or of one epoch of SVRG, by the cost model."""
    gradient, step, reading = (1e-9 * found[name] for name in ("gradient_ns", "svrg_step_ns", "read_ns"))
    share = size / workers
    network = found["latency_ms"] / 1e3 + _moved_bytes(n, d, workers) / found["bytes_per_second"]
    full = share * (gradient + (reading if read else 0.0)) + network
    if not svrg:
        return full
    # Without kept slopes the inner pass reads again and computes them again.
    inner = share * (step + ((reading + gradient) if read else 0.0))
    return full + inner + network + 8.0 * n * d * workers / found["bytes_per_second"]


def _checks(found: dict[str, Any], held: Any, anew: Any, X: np.ndarray) -> list[dict[str, Any]]:
    checks = []
    n, d = X.shape

    def epoch(objective: Any) -> None:
        taken = objective.snapshot(X)
        objective.svrg_pass(taken.X, taken, 1e-9, objective.n_comparisons, 0)

    for name, objective, read in (("held in memory", held, False), ("read at every pass", anew, True)):
        for what, function, svrg in (
            ("full pass", lambda objective=objective: objective.value_and_gradient(X), False),
            ("SVRG epoch", lambda objective=objective: epoch(objective), True),
        ):
            measured = median_seconds(function, 3)
            model = predicted(found, n, d, objective.n_comparisons, 2, read, svrg)
            checks.append({"run": f"{what}, {name}", "predicted_s": model, "measured_s": measured})
    return checks


def _overheads(client: Any, rng: np.random.Generator, gradient_ns: float) -> list[dict[str, Any]]:
    """What the engine adds to an evaluation of small data, and what this machine alone would need."""
    table = []
    for size in (1_000, 10_000, 100_000, 1_000_000):
        rows = Comparisons(np.concatenate([every_object(300), triplets(300, size, rng)]))
        X = rng.normal(size=(300, 5))
        local, remote = LocalObjective(rows, LOSS, 5), DaskObjective(rows, LOSS, 5, client=client)
        row = {
            "n_comparisons": size,
            "local_ms": 1e3 * median_seconds(lambda local=local, X=X: local.value_and_gradient(X), 7),
            "cluster_ms": 1e3 * median_seconds(lambda remote=remote, X=X: remote.value_and_gradient(X), 7),
        }
        compute = 1e-6 * gradient_ns * size / WORKERS
        table.append({**row, "overhead_ms": row["cluster_ms"] - compute})
    return table


def speedup(scale: float) -> list[dict[str, Any]]:
    """Full passes over 50 million comparisons held in memory, by one worker and by two in turn, for two sizes of map.

    Beside it, without a cluster: two threads against one on a part of the comparisons, what two cores give at best.
    """
    size = int(50_000_000 * scale)
    return [_speedup(n, d, size) for n, d in ((9_999, 5), (99_999, 10))]


def _speedup(n: int, d: int, size: int, rounds: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    folder = Path(tempfile.mkdtemp(prefix="nearer-"))

    def on_workers(count: int) -> float:
        # one cluster at a time, as a user has it: even an idle one takes some percent of a core
        with connect(f"local:{count}") as client:
            objective = DaskObjective(path, LOSS, d, client=client, hold=True)
            return median_seconds(lambda: objective.value_and_gradient(X))

    def on_threads(count: int) -> float:
        objective = LocalObjective(part, LOSS, d, n_jobs=count)
        return median_seconds(lambda: objective.value_and_gradient(X))

    try:
        path = write_files(folder, n, size)
        part = Comparisons(np.concatenate([every_object(n), triplets(n, min(size, 10_000_000), rng)]))
        workers = [(on_workers(1), on_workers(2)) for _ in range(rounds)]
        threads = [(on_threads(1), on_threads(2)) for _ in range(rounds)]
    finally:
        shutil.rmtree(folder)
    return {
        "n": n, "d": d, "comparisons": size,
        "one worker, s": statistics.median(first for first, _ in workers),
        "two workers, s": statistics.median(second for _, second in workers),
        **_ratios("speed-up", workers), **_ratios("of two threads, no cluster", threads), "rounds": rounds,
    }  # fmt: skip


def _ratios(name: str, times: list[tuple[float, float]]) -> dict[str, Any]:
    middle = spread([first / second for first, second in times])
    return {name: f"{middle['median']:.2f} ({middle['q25']:.2f}-{middle['q75']:.2f})"}


def memory(scale: float) -> dict[str, Any]:
    """SVRG-SBB over 100 million comparisons in Parquet on two workers limited to 1 GiB each."""
    n, d, size, epochs = 20_000, 5, int(100_000_000 * scale), 2
    points = np.random.default_rng(2).normal(size=(n, d))
    folder = Path(tempfile.mkdtemp(prefix="nearer-"))
    try:
        path = write_files(folder, n, size, points)
        file_bytes = sum(file.stat().st_size for file in folder.iterdir())
        with connect("local:2", memory_limit="1GiB") as client:
            before = client.run(os.getpid)
            started = time.perf_counter()
            fit = OrdinalEmbedding(d, loss="tste", solver=SVRG(step=SBB(), max_epochs=epochs), random_state=0).fit(
                path, client=client
            )
            seconds = time.perf_counter() - started
            peak = max(client.run(_peak_mib).values())
            restarted = sum(client.run(os.getpid).get(worker) != pid for worker, pid in before.items())
        test = Comparisons(triplets(n, 100_000, np.random.default_rng(3), points))
        return {
            "n": n, "d": d, "n_comparisons": size, "file_mib": file_bytes / 2**20, "epochs": fit.n_iter_,
            "seconds": seconds, "worker_limit_mib": 1024, "worker_peak_mib": peak, "workers_killed": restarted,
            "objectives": [row.objective for row in fit.history_], "test_error": 1 - fit.score(test),
        }  # fmt: skip
    finally:
        shutil.rmtree(folder)


def quality(scale: float, epochs: int = 60) -> dict[str, Any]:
    """Test error of SVRG-SBB on two workers and on one machine: synthetic and, with NEARER_DATA, music."""
    n, d = 10_000, 5
    rng = np.random.default_rng(4)
    points = rng.normal(size=(n, d))
    train = Comparisons(triplets(n, int(5_000_000 * scale), rng, points), n_objects=n).with_noise(0.05, 0)
    test = Comparisons(triplets(n, 200_000, rng, points), n_objects=n)
    problems = {"synthetic": (train, test, d)}
    folder = os.environ.get("NEARER_DATA")
    if folder:
        from nearer.io import read_comparisons

        music = read_comparisons(os.path.join(folder, "music.csv")).comparisons
        for number in range(5):
            problems[f"music, split {number}"] = (*music.split(0.2, random_state=number), 9)
    table = {}
    with connect("local:2") as client:
        for name, (fitted, held_out, dimension) in problems.items():
            row: dict[str, Any] = {"n_comparisons": len(fitted)}
            for where, options in (("local", {}), ("cluster", {"client": client})):
                solver = SVRG(step=SBB(), max_epochs=epochs)
                started = time.perf_counter()
                fit = OrdinalEmbedding(dimension, loss=LOSS, solver=solver, random_state=0).fit(fitted, **options)
                row[f"{where}_seconds"] = time.perf_counter() - started
                row[f"{where}_objective"] = fit.objective_
                row[f"{where}_test_error"] = 1 - fit.score(held_out)
            row["difference"] = row["cluster_test_error"] - row["local_test_error"]
            table[name] = row
    return table


def _peak_mib() -> float:
    """Most memory this process has had at once (ru_maxrss would count its parent's as well)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Markdown tables of the results, by name."""
    out = {}
    if "constants" in results:
        found = results["constants"]
        names = {
            "gradient_ns": ("c_g", "ns per comparison of a full pass, one thread"),
            "svrg_step_ns": ("c_s", "ns per SVRG step, one thread"),
            "read_ns": ("c_r", "ns per comparison read from Parquet and checked"),
            "latency_ms": ("t_0", "ms per evaluation, whatever its size"),
            "bytes_per_second": ("b", "bytes per second on the critical path (loopback)"),
            "worker_base_mib": ("M_0", "MiB peak of a worker with little data"),
        }
        rows = [f"| {symbol} | {found[name]:,.4g} | {what} |" for name, (symbol, what) in names.items()]
        out["constants"] = "\n".join(["| constant | measured | what |", "|---|---|---|", *rows])
        rows = [
            f"| {row['run']} | {row['predicted_s']:.3f} | {row['measured_s']:.3f} | "
            f"{row['measured_s'] / row['predicted_s']:.2f} |"
            for row in found["checks"]
        ]
        about = f"{found['n_comparisons']:,} comparisons, n = {found['n']:,}, d = {found['d']}"
        head = f"| {about} | predicted s | measured s | ratio |"
        out["checks"] = "\n".join([head, "|---|---|---|---|", *rows])
        rows = [
            f"| {row['n_comparisons']:,} | {row['local_ms']:.2f} | {row['cluster_ms']:.1f} | {row['overhead_ms']:.1f} |"
            for row in found["small"]
        ]
        head = "| comparisons | this machine, ms | two workers, ms | of it overhead, ms |"
        out["small"] = "\n".join([head, "|---|---|---|---|", *rows])
    if "speedup" in results:
        out["speedup"] = common.table(results["speedup"]).strip()
    if "memory" in results:
        rows = [f"| {key} | {_cell(value)} |" for key, value in results["memory"].items()]
        out["memory"] = "\n".join(["| what | measured |", "|---|---|", *rows])
    if "quality" in results:
        rows = [
            f"| {name} | {row['n_comparisons']:,} | {row['local_test_error']:.4f} | {row['cluster_test_error']:.4f} | "
            f"{row['difference']:+.4f} | {row['local_seconds']:.1f} | {row['cluster_seconds']:.1f} |"
            for name, row in results["quality"].items()
        ]
        head = "| data | comparisons | test error, one machine | two workers | difference | s | s |"
        out["quality"] = "\n".join([head, "|---|---|---|---|---|---|---|", *rows])
    return out


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_cell(item) for item in value)
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def run_of(table: str) -> str:
    """The part of the results that says in which run a table was measured."""
    return ("constants" if table in ("checks", "small") else table) + "_run"


def update_docs(results: dict[str, Any]) -> None:
    """Put the tables between the markers of benchmarks/RESULTS.md."""
    content = {
        f"cluster-{name}": f"{table}\n\n{common.about(results[run_of(name)])}"
        for name, table in tables(results).items()
    }
    common.PAGE.write_text(fill(common.PAGE.read_text(encoding="utf-8"), content), encoding="utf-8")


def main() -> None:
    """Run the parts asked for and keep what they find."""
    parts = {"constants": constants, "speedup": speedup, "memory": memory, "quality": quality}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*parts, "all"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--update-docs", action="store_true")
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in parts if arguments.part == "all" else [arguments.part]:
        results[name] = parts[name](arguments.scale)
        results[name + "_run"] = {**common.facts(), "scale": arguments.scale, "load": round(os.getloadavg()[0], 2)}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        for table, text in tables({name: results[name]}).items():
            print(f"\n{table} (scale {arguments.scale:g})\n{text}", flush=True)
    if arguments.update_docs:
        update_docs(results)


if __name__ == "__main__":
    main()
