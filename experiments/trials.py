"""Running many trials: one small file each, skipped when it is there already, several processes, a progress bar."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import nearer
from nearer.io.files import atomic_write

Params = dict[str, Any]
TrialFunction = Callable[[Params], dict[str, Any]]
Progress = Callable[[str, int, int], None]
"""Called with a description, trials done and trials in total."""


@dataclass
class Lab:
    """Where and how trials run.

    Parameters
    ----------
    out : folder; experiment E writes to ``out/E/results`` and keeps its trials in ``out/E/shards``.
    quick : small settings, minutes instead of the full run.
    trials : random starts (or problem draws) instead of those of the configuration.
    seed : of everything random.
    jobs : processes. Timed trials always run one after the other.
    sun : file with SUN397 features, if there is one.
    progress : told about every trial.
    trial_seconds, trials_read : of each experiment: seconds of all its trials, and how many of them were there before.
    """

    out: Path
    quick: bool = False
    trials: int | None = None
    seed: int = 0
    jobs: int = 1
    sun: Path | None = None
    progress: Progress | None = None
    trial_seconds: Counter[str] = field(default_factory=Counter)
    trials_read: Counter[str] = field(default_factory=Counter)
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)

    def results(self, experiment: str) -> Path:
        """Folder for the tables and figures of an experiment, made if need be."""
        folder = self.out / experiment / "results"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def collect(
        self, experiment: str, title: str, function: TrialFunction, params: Sequence[Params], timed: bool = False
    ) -> list[dict[str, Any]]:
        """Results of `function` for each of `params`, in their order; trials that were done before are read.

        A trial is known by its function and parameters, which must say everything that its result depends on, and by
        the code that computes it.
        Whoever runs a trial writes its file, whole or not at all: an interrupted run loses the trials under way.

        Parameters
        ----------
        experiment : whose folder keeps the trials.
        title : for the progress bar.
        function : a module-level function from parameters to a result, both JSON.
        params : one mapping per trial.
        timed : run one at a time, so that trials do not compete for the processor.
        """
        folder = self.out / experiment / "shards"
        folder.mkdir(parents=True, exist_ok=True)
        shards = [folder / f"{_key(function, one)}.json" for one in params]
        missing = {shard: one for shard, one in zip(shards, params) if not shard.exists()}
        done = len(shards) - len(missing)
        self.trials_read[experiment] += done
        self._tell(title, done, len(shards))
        jobs = [(function, one, shard) for shard, one in missing.items()]
        if timed or self.jobs == 1:
            for job in jobs:
                _run(*job)
                done += 1
                self._tell(title, done, len(shards))
        else:
            self._run_parallel(title, jobs, done, len(shards))
        records = [json.loads(shard.read_text(encoding="utf-8")) for shard in shards]
        self.trial_seconds[experiment] += sum(record["trial_seconds"] for record in records)
        return [record["result"] for record in records]

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _run_parallel(self, title: str, jobs: Sequence[tuple], done: int, total: int) -> None:
        if self._pool is None and jobs:
            # not forked: threads (the progress bar, Numba) do not survive a fork
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=end_with_parent)
        pending = {self._pool.submit(_run, *job) for job in jobs} if self._pool else set()
        try:
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += 1
                self._tell(title, done, total)
        finally:
            for future in pending:
                future.cancel()

    def _tell(self, title: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(title, done, total)


def end_with_parent() -> None:
    """End this worker process as soon as the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            connection.wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def _key(function: TrialFunction, params: Params) -> str:
    """Name of a trial's file: readable start, then a digest of all that decides its result, the code included."""
    text = json.dumps([function.__module__, function.__qualname__, _code(), params], sort_keys=True)
    words = [str(params[name]) for name in ("loss", "method") if name in params]
    return "-".join([function.__name__, *words, hashlib.sha256(text.encode()).hexdigest()[:16]])


@functools.cache
def _code() -> str:
    """Digest of the sources that compute, so that a trial of older code is not taken for one of this."""
    digest = hashlib.sha256()
    package, here = Path(nearer.__file__).parent, Path(__file__).parent
    folders = [package / name for name in ("data", "datasets", "metrics", "objective", "solvers")]
    files = [package / f"{name}.py" for name in ("featuremap", "kernels", "losses")]
    files += [file for folder in folders for file in folder.glob("*.py")]
    files += [here / f"{name}.py" for name in ("methods", "problems", "search", "sun", "synthetic", "watch")]
    files += [*here.glob("*/run.py"), *here.glob("*/authors.py"), *here.glob("theory/*.py")]
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _run(function: TrialFunction, params: Params, shard: Path) -> None:
    started = time.process_time()  # of the processor: other work on the machine does not count
    with _one_thread():
        result = function(params)
    record = {"params": params, "result": result, "trial_seconds": time.process_time() - started}
    with atomic_write(shard, force=True, mode="w") as file:
        json.dump(record, file)


def _one_thread() -> AbstractContextManager:
    """Linear algebra on one thread: processes share the cores, and sums keep their order, hence their bits."""
    return threadpool_limits(1)
