"""A scheduler and workers as processes of their own, started and killed as on real machines."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path

from distributed import Client


class Processes:
    """A scheduler with single-threaded workers on 127.0.0.1; nobody restarts what is killed."""

    def __init__(self, folder: Path, n_workers: int) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.started = 0
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.workers = [self.add_worker() for _ in range(n_workers)]

    def add_worker(self) -> subprocess.Popen:
        """Start one more worker."""
        options = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--memory-limit", "2GiB"]
        return self._start("worker", *options, "--local-directory", str(self.folder))

    def client(self, all_workers: bool = True) -> Client:
        """A client, by default one that has seen all workers."""
        deadline = time.monotonic() + 60
        while not self.file.exists():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.05)
        client = Client(scheduler_file=str(self.file), set_as_default=False, timeout=30)
        if self.workers and all_workers:
            client.wait_for_workers(len(self.workers), timeout=60)
        return client

    def kill(self, *victims: subprocess.Popen) -> None:
        """SIGKILL: no goodbye."""
        for process in victims:
            if process.poll() is None:
                process.kill()
                process.wait()

    def logs(self) -> str:
        """What the processes wrote."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def _start(self, *command: str) -> subprocess.Popen:
        self.started += 1
        with open(self.folder / f"{command[0]}-{self.started}.log", "w") as log:
            started = [sys.executable, "-m", "dask", *command, "--scheduler-file", str(self.file), "--no-dashboard"]
            return subprocess.Popen(started, stdout=log, stderr=log)


@contextlib.contextmanager
def running(folder: Path, n_workers: int = 2):
    """Processes for the length of a block."""
    processes = Processes(folder, n_workers)
    try:
        yield processes
    finally:
        processes.kill(*processes.workers, processes.scheduler)


class KillDuring(threading.Thread):
    """Kills a process as soon as a task whose name starts so is being worked on, once it is armed."""

    def __init__(self, processes: Processes, victim: subprocess.Popen, task: str) -> None:
        super().__init__(daemon=True)
        self.processes, self.victim, self.task = processes, victim, task
        self.armed = threading.Event()
        self.client = processes.client(all_workers=False)
        self.struck = False

    def run(self) -> None:
        self.armed.wait(60)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            busy = [str(key) for keys in self.client.processing().values() for key in keys]
            if any(key.startswith(self.task) for key in busy):
                self.processes.kill(self.victim)
                self.struck = True
                break
            time.sleep(0.01)
        self.client.close()


def maps_despite_kills(processes: Processes, client: Client, fits: dict, moments: list[float], rng):
    """Kill a worker at some moment of each fit; yields a name, the map, and that of a fit which loses no worker.

    `fits` are functions by name. A moment counts from when a fit has counted the workers, which its shards follow from.
    """
    whole = {name: fit() for name, fit in fits.items()}
    count_threads = client.nthreads
    for moment in moments:
        name, victim = str(rng.choice(list(fits))), int(rng.integers(len(processes.workers)))
        killer = threading.Timer(moment, processes.kill, [processes.workers[victim]])

        def counted(killer=killer):
            found = count_threads()
            if not killer.ident:
                killer.start()
            return found

        client.nthreads = counted
        try:
            found = fits[name]()
        finally:
            client.nthreads = count_threads
            killer.join()
        yield f"{name}, killed after {moment:.3f} s", found, whole[name]
        deadline = time.monotonic() + 60
        while len(client.nthreads()) == len(processes.workers):
            assert time.monotonic() < deadline, processes.logs()
            time.sleep(0.05)
        processes.workers[victim] = processes.add_worker()
        client.wait_for_workers(len(processes.workers), timeout=60)
