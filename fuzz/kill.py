"""`make kill`: commands killed at random moments; what they write is absent, as it was, or complete, always as a set.

Each run has a seed of its own, which every file that it writes can be traced to, so that a mixture would show. Fits
with a checkpoint are killed again and again, here and on a cluster, and must come to the end that a fit never killed
comes to, bit for bit; so must `python -m experiments`. No process may outlive the command that started it. A fit on a
cluster of which a worker is killed in the first second gives the bits of one that loses none.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import itertools
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
from nearer.coordinates import read_embedding
from nearer.io import read_comparisons

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "distributed")]

from experiments.__main__ import command as experiments_command  # noqa: E402

FIT_FILES = {"embedding.csv", "model.nearer", "summary.json", "report.html"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# Fits that are gone on with; long enough to be hit more than once.
RESUMED = {
    "auto": ("--solver", "auto", "--tol", "1e-12", "--n-init", "4"),
    "svrg-sbb": ("--solver", "svrg-sbb", "--tol", "0", "--max-epochs", "3000"),
    "svrg-bb": ("--solver", "svrg-bb", "--tol", "0", "--max-epochs", "3000"),
    "svrg": ("--solver", "svrg", "--tol", "0", "--max-epochs", "3000"),
    "sgd": ("--solver", "sgd", "--tol", "0", "--max-epochs", "5000"),
    "gd": ("--solver", "gd", "--tol", "0", "--max-epochs", "3000"),
    "lbfgs": ("--solver", "lbfgs", "--tol", "0", "--max-epochs", "1000", "--n-init", "3"),
    "convex": ("--solver", "convex", "--loss", "ste", "--max-epochs", "1500"),
}
ON_CLUSTER = ("--solver", "svrg-sbb", "--tol", "0", "--max-epochs", "25")
REPRODUCED = ("fig1", "--quick", "--trials", "2", "--n-jobs", "2")
OFTEN = {"fit": 3, "save": 2, "report": 2, "convert": 2, "resume": 5, "cluster": 2, "reproduce": 1}


class Commands:
    """The commands that are killed, in the current folder."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.solver = "auto"
        self.resumed = self.ended = 0

    def run(self, kind, seed):
        """Be the process of a command."""
        os.setsid()  # what it starts can be found by this
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        warnings.simplefilter("ignore")
        if kind == "save":
            model = nearer.load("map/model.nearer").set_params(random_state=seed)
            for _ in range(20):
                model.save("saved.nearer", force=True)
            sys.exit(0)
        if kind == "reproduce":
            folder = os.path.abspath("reproduced")
            os.chdir(ROOT)
            sys.exit(experiments_command([*REPRODUCED, "--out", folder]))
        sys.exit(nearer_command(self.arguments(kind, seed)))

    def arguments(self, kind, seed):
        """The command line."""
        common = ["--force", "--quiet"]
        if kind == "fit":
            fitting = ["--random-state", str(seed), "--max-epochs", "30", "--cv", "0", "--title", f"run {seed}"]
            return ["fit", "answers.csv", "-o", "out", *fitting, *common]
        if kind in ("resume", "cluster"):
            fitting = RESUMED[self.solver] if kind == "resume" else [*ON_CLUSTER, "--cluster", self.cluster]
            keeping = ["--checkpoint", f"{kind}.checkpoint", "--resume"]
            return ["fit", "answers.csv", "-o", kind, "--cv", "0", *fitting, *keeping, *common]
        if kind == "report":
            return ["report", "map", "-o", "report.html", "--title", f"run {seed}", *common]
        return ["convert", "answers.csv" if seed % 2 else "more.csv", "converted.parquet", *common]

    def start(self, kind, seed):
        """Start a command."""
        process = multiprocessing.get_context("fork").Process(target=self.run, args=(kind, seed))
        process.start()
        return process

    def to_the_end(self, kind, seed):
        """Run a command; its seconds."""
        started = time.monotonic()
        process = self.start(kind, seed)
        process.join()
        assert process.exitcode == 0, f"{kind} {self.solver} fails by itself with {process.exitcode}"
        return time.monotonic() - started


def check_fit(folder):
    """The seed that all files in a folder of `nearer fit` come from; None if there are none. Raises for a mixture."""
    there = {path.name for path in folder.iterdir()} & FIT_FILES if folder.is_dir() else set()
    if not there:
        return None
    assert there == FIT_FILES, f"only {sorted(there)}"
    summary = json.loads((folder / "summary.json").read_text())
    model = nearer.load(folder / "model.nearer")
    assert model.random_state == summary["options"]["random_state"], "the model is of another run"
    np.testing.assert_array_equal(read_embedding(folder / "embedding.csv")[0], model.embedding_)
    page = (folder / "report.html").read_text()
    assert page.rstrip().endswith("</html>"), "the report is cut short"
    assert "--title" not in summary["command"] or f"run {model.random_state}" in page, "the report is of another run"
    return model.random_state


def check_all():
    """Every file that is there is whole."""
    for folder in ("out", "resume", "cluster"):
        check_fit(Path(folder))
    if Path("report.html").exists():
        assert Path("report.html").read_text().rstrip().endswith("</html>"), "the report is cut short"
    if Path("converted.parquet").exists():
        assert len(read_comparisons("converted.parquet").comparisons) in (300, 400)
    if Path("saved.nearer").exists():
        nearer.load("saved.nearer")
    for name in ("resume.checkpoint", "cluster.checkpoint"):
        if Path(name).exists():
            from nearer.solvers.checkpoint import Checkpoint

            assert Checkpoint(name, resume=True).found


def tables(folder):
    """The tables of `python -m experiments`, without the columns that are times."""
    return {
        path.relative_to(folder): [
            [cell for name, cell in row.items() if "seconds" not in name] for row in csv.DictReader(path.open())
        ]
        for path in folder.rglob("results/*.csv")
    }


def _descendants(session):
    """Processes of a session, which is named after the command that began it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


def _kill_once(commands, kind, seed, longest, rng):
    """Start a command, kill it at some moment; whether it was still running, and how it ended."""
    process = commands.start(kind, seed)
    if rng.random() < 0.5:  # at any moment
        process.join(rng.random() * longest[kind] * 1.05)
    else:  # while it writes
        until = time.monotonic() + rng.random() * 2 * longest[kind] + 1
        folder = Path("reproduced" if kind == "reproduce" else ".")
        while process.is_alive() and time.monotonic() < until and not any(folder.rglob(".*.part")):
            time.sleep(0.0005)
        process.join(rng.random() * 0.03)
    hit = process.is_alive()
    if hit:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, rng.choice(SIGNALS))
    process.join(60)
    assert not process.is_alive(), "a command outlived its signal by 60 s"
    until = time.monotonic() + 20
    while _descendants(process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _descendants(process.pid), f"{kind}: processes outlived the command that started them by 20 s"
    return hit, process.exitcode


@contextlib.contextmanager
def _inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _cluster(wanted, folder):
    """The address of a cluster of two workers; None if none is wanted."""
    if not wanted:
        yield None
        return
    from processes import running

    import distributed  # noqa: F401  # so that the forked commands need not

    (folder / "cluster-logs").mkdir()
    with running(folder / "cluster-logs") as processes:
        with processes.client() as client:
            address = client.scheduler.address
        yield address


def run_kills(n_kills, seed=0, kinds=tuple(OFTEN)):
    """Kill commands `n_kills` times; returns hits by kind, fits that were gone on with, and those that came to an end.

    Raises at the first set of files that is not whole, the first process left, the first end that is not the same.
    """
    rng = random.Random(seed)
    hits = dict.fromkeys(kinds, 0)
    with tempfile.TemporaryDirectory(prefix="nearer-kill-") as name, _inside(name):
        folder = Path(name)
        points = np.random.default_rng(0).normal(size=(12, 2))
        for file, count in (("answers.csv", 300), ("more.csv", 400)):
            made = nearer.Comparisons.from_points(points, count, random_state=count)
            np.savetxt(file, made.index, "%d", ",", header="anchor,near,far", comments="")
        with _cluster("cluster" in kinds, folder) as address:
            commands = Commands(address)
            longest, ends = _references(commands, kinds)
            number = 1
            while sum(hits.values()) < n_kills:
                number += 1
                kind = rng.choices(kinds, [OFTEN[kind] for kind in kinds])[0]
                going_on = Path(f"{kind}.checkpoint").exists()
                if kind == "resume" and not going_on:
                    commands.solver = rng.choice(list(RESUMED))
                    longest[kind] = longest[commands.solver]
                hit, code = _kill_once(commands, kind, number, longest, rng)
                hits[kind] += hit
                commands.resumed += hit and going_on
                check_all()
                if kind in ("resume", "cluster") and code == 0:
                    commands.ended += 1
                    end = Path(kind, "embedding.csv").read_bytes()
                    assert end == ends[commands.solver if kind == "resume" else kind], f"{commands.solver}: other bits"
            _finish(commands, kinds, number + 1, ends)
    return hits, commands.resumed, commands.ended


def run_losses(n_kills, seed=0):
    """Kill a worker `n_kills` times in the first second of a fit on a cluster; raises at the first other map."""
    import dask.array
    from processes import maps_despite_kills, running

    rng = np.random.default_rng(seed)
    points = np.random.default_rng(0).normal(size=(60, 2))
    made = nearer.Comparisons.from_points(points, 6_000, random_state=1, noise=0.05)
    with tempfile.TemporaryDirectory(prefix="nearer-kill-") as name, running(Path(name)) as processes:
        path = os.path.join(name, "answers.parquet")
        nearer.write_comparisons(path, made)
        data = {"memory": made, "file": path, "array": dask.array.from_array(made.index, chunks=(2_000, 3))}
        solvers = {"auto": "auto", "svrg": nearer.solvers.SVRG(max_epochs=8), "lbfgs": nearer.solvers.LBFGS()}
        with processes.client() as client:

            def fit(source, solver):
                model = nearer.OrdinalEmbedding(solver=solvers[solver], random_state=0)
                return model.fit(data[source], client=client).embedding_

            pairs = itertools.product(data, solvers)
            fits = {" ".join(pair): functools.partial(fit, *pair) for pair in pairs}
            for what, found, expected in maps_despite_kills(processes, client, fits, rng.random(n_kills).tolist(), rng):
                np.testing.assert_array_equal(found, expected, what)


def _references(commands, kinds):
    """Seconds of every command, and the ends of those that are gone on with, from runs that nobody kills."""
    longest, ends = {}, {}
    for kind in dict.fromkeys(("fit", *kinds)):
        if kind == "resume":
            for commands.solver in RESUMED:
                longest[commands.solver] = commands.to_the_end(kind, 1)
                ends[commands.solver] = Path(kind, "embedding.csv").read_bytes()
        else:
            longest[kind] = commands.to_the_end(kind, 1)
        if kind == "cluster":
            ends[kind] = Path(kind, "embedding.csv").read_bytes()
        if kind == "reproduce":
            os.rename("reproduced", "once")
        if kind == "fit":
            os.rename("out", "map")
    return longest, ends


def _finish(commands, kinds, number, ends):
    """The next runs clear away what the killed have left, and end as if nothing had happened."""
    for kind in kinds:
        commands.to_the_end(kind, number)
        if kind in ("resume", "cluster"):
            commands.ended += 1
            end = Path(kind, "embedding.csv").read_bytes()
            assert end == ends[commands.solver if kind == "resume" else kind], f"{commands.solver}: other bits"
            assert not Path(f"{kind}.checkpoint").exists()
    check_all()
    if "fit" in kinds:
        assert check_fit(Path("out")) == number
    if "reproduce" in kinds:
        assert tables(Path("reproduced")) == tables(Path("once")), "other tables than a run never killed"
    left = [str(path) for path in Path().rglob(".*") if "cluster-logs" not in path.parts]
    assert not left, f"left behind: {left}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--losses", type=int, default=20, help="of workers, in the first second of a fit on a cluster")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", nargs="+", choices=list(OFTEN), default=list(OFTEN))
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    hits, resumed, ended = run_kills(options.kills, seed, tuple(options.only))
    print(f"{sum(hits.values())} kills from seed {seed}, nothing mixed, lost or left: {hits}")
    print(f"{resumed} of them in fits gone on with; {ended} of those ended, with the bits of one never killed")
    warnings.simplefilter("ignore")
    run_losses(options.losses, seed)
    print(f"{options.losses} workers killed in the first second of a fit on a cluster, always the same bits")


if __name__ == "__main__":
    main()
