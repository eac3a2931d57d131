"""Connect to a cluster, and run tasks on it that survive the loss of workers."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np

import nearer

if TYPE_CHECKING:
    from distributed import Client, Future

logger = logging.getLogger(__name__)

_FAN_IN = 4
_ATTEMPTS = 5
_POLL_SECONDS = 1.0
_INLINE_BYTES = 2**20  # arrays up to this total size are sent with the tasks
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # the same class from Python 3.11 on
_LOST = (CancelledError, *_TIMEOUTS, OSError)  # what Dask raises when a worker is lost, if it notices by itself


class ClusterError(RuntimeError):
    """The cluster cannot be reached, or cannot continue."""


def require_dask() -> None:
    """Raise ImportError with the remedy if Dask is missing."""
    try:
        import dask  # noqa: F401

        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"a cluster needs Dask, which is not installed ({error.name} is missing): pip install 'nearer[dask]'"
        ) from error


@contextlib.contextmanager
def connect(
    address: str, *, timeout: float = 10.0, memory_limit: str | int | None = None, n_workers: int = 1
) -> Iterator[Client]:
    """Connect to a cluster, or start one on this machine, for the length of a ``with`` block.

    Parameters
    ----------
    address : str
        ``"tcp://host:8786"`` (also tls://, ucx://): a running scheduler. ``"local:4"``: start a scheduler and four
        single-threaded workers on this machine, and stop them at the end; ``"local"``: one worker per core.
    timeout : float
        Seconds to wait for the scheduler and for the workers.
    memory_limit : str or int, optional
        Memory limit of each local worker, such as ``"1GiB"``.
    n_workers : int
        Number of workers of a running scheduler to wait for.

    Yields
    ------
    distributed.Client
    """
    require_dask()
    from distributed import Client, LocalCluster
    from nearer.objective import resolve_jobs

    kind, colon, rest = str(address).partition(":")
    with contextlib.ExitStack() as stack:
        if kind == "local":
            if colon and not (rest.isdigit() and int(rest)):
                raise ValueError(
                    f"cluster: got {address!r}, expected the number of workers after 'local:', as in 'local:4'"
                )
            count = int(rest) if colon else resolve_jobs(None)
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", memory_limit=memory_limit or "auto", silence_logs=logging.ERROR,
                )
            )  # fmt: skip
            client = stack.enter_context(Client(cluster, direct_to_workers=True, set_as_default=False))
            logger.info("started %d workers; dashboard at %s", count, client.dashboard_link)
        else:
            if not rest.startswith("//"):
                raise ValueError(f"cluster: got {address!r}, expected 'tcp://host:8786' or 'local:4'")
            try:
                client = stack.enter_context(Client(address, timeout=timeout, set_as_default=False))
            except (OSError, *_TIMEOUTS, ValueError) as error:
                raise ClusterError(
                    f"cluster {address}: no scheduler answered in {timeout:g} s ({str(error).splitlines()[0]})"
                ) from error
            try:
                client.wait_for_workers(n_workers, timeout=timeout)
            except _TIMEOUTS as error:
                found = len(client.nthreads())
                raise ClusterError(
                    f"cluster {address}: the scheduler has {found} workers after {timeout:g} s, expected {n_workers}; "
                    f"start one with: dask worker {address}"
                ) from error
        yield client


@contextlib.contextmanager
def connected(client: Client | str | None) -> Iterator[Client]:
    """The client itself, or `connect` to an address; None: the current client, else a local cluster."""
    require_dask()
    import distributed

    if client is None:
        with contextlib.suppress(ValueError):
            client = distributed.default_client()
    if client is None or isinstance(client, str):
        with connect(client or "local") as known:
            yield known
    elif isinstance(client, distributed.Client):
        yield client
    else:
        raise ValueError(f"client: got {client!r}, expected a distributed.Client or an address such as 'local:4'")


class Engine:
    """Runs tasks on a cluster: placement, sums in a fixed order, retries after lost workers."""

    def __init__(self, client: Client):
        import dask

        if getattr(client, "asynchronous", False):
            raise ValueError("client: got an asynchronous Dask client, expected an ordinary one")
        self.client = client
        self.worker_timeout = float(dask.config.get("nearer.worker-timeout", 60.0))
        # Counted once: workers that are lost later must not change the bits.
        workers = self.workers()
        self.n_workers, self.n_threads = len(workers), sum(workers.values())
        self._check_versions()

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        scheduler = self.client.scheduler
        return str(scheduler.address) if scheduler is not None else "(closed)"

    def workers(self) -> dict[str, int]:
        """Threads of each worker, sorted by address; waits for one if there is none, for `worker_timeout` seconds."""
        started = time.monotonic()
        while True:
            try:
                if found := self.client.nthreads():
                    return dict(sorted(found.items()))
            except (OSError, *_TIMEOUTS, RuntimeError, AttributeError, CancelledError) as error:
                self._check_scheduler(error)  # a client that gave up has no scheduler
            waited = time.monotonic() - started
            if waited >= self.worker_timeout:
                raise ClusterError(f"cluster {self.address}: all workers are lost, none came back in {waited:.0f} s")
            time.sleep(min(0.2, self.worker_timeout))

    def memory(self) -> int:
        """Total memory of the workers in bytes; one that is lost counts as much as the others do."""
        limits = self.ask(_memory_of).values()
        return sum(limits) * self.n_workers // len(limits)

    def homes(self, n_shards: int) -> list[str]:
        """A worker for each shard, in proportion to threads; consecutive shards share a worker."""
        slots = [address for address, threads in self.workers().items() for _ in range(threads)]
        return [slots[number * len(slots) // n_shards] for number in range(n_shards)]

    def submit(self, function: Callable, *arguments: Any, home: str | None = None) -> Future:
        """Start a task, preferably on the worker `home`."""
        where = {"workers": [home], "allow_other_workers": True} if home else {}
        key = f"{function.__name__}-{uuid.uuid4().hex}"
        return self.client.submit(function, *arguments, key=key, pure=False, **where)

    def shared(self, array: np.ndarray, n_tasks: int) -> Any:
        """An argument for `n_tasks` tasks: the array itself if small, else a future that workers fetch."""
        # Not broadcast=True: the scheduler would try for ever to copy to a worker that is lost meanwhile.
        return array if array.nbytes * n_tasks <= _INLINE_BYTES else self.client.scatter(array, hash=False)

    def tree(self, function: Callable, futures: Sequence[Future]) -> Future:
        """Combine futures in a tree whose shape depends only on their number."""
        futures = list(futures)
        while len(futures) > 1:
            groups = [futures[start : start + _FAN_IN] for start in range(0, len(futures), _FAN_IN)]
            futures = [group[0] if len(group) == 1 else self.submit(function, group) for group in groups]
        return futures[0]

    def run(self, build: Callable[[], Any], forget: Callable[[], None] = lambda: None) -> Any:
        """Results of the futures that `build` starts; if a worker is lost with its data, `forget` and build again."""
        return self._persistently(lambda: self._result(build()), forget)

    def ask(self, function: Callable, *arguments: Any) -> dict[str, Any]:
        """Results of a function on every worker, by address; a worker that is lost meanwhile is left out."""

        def attempt() -> dict[str, Any]:
            found = self.client.run(function, *arguments, on_error="return")
            # KeyError: the scheduler looks for a connection that it has dropped.
            known = {address: one for address, one in found.items() if not isinstance(one, (OSError, KeyError))}
            failed = [one for one in (known or found).values() if isinstance(one, Exception)]
            if failed:
                raise failed[0]
            return known

        return self._persistently(attempt)

    def _persistently(self, attempt: Callable[[], Any], forget: Callable[[], None] = lambda: None) -> Any:
        """The result of an attempt; it is repeated if a worker was lost meanwhile."""
        from distributed import KilledWorker

        for _ in range(_ATTEMPTS):
            there = self.workers()
            try:
                return attempt()
            except KilledWorker as error:
                raise ClusterError(
                    f"cluster {self.address}: {error.allowed_failures + 1} workers died in succession at the "
                    f"same task ({error.task}), probably out of memory; use workers with more memory"
                ) from error
            except Exception as error:
                if isinstance(error, OSError) and error.filename is not None:  # an error of a file, not of the cluster
                    raise
                self._check_scheduler(error)
                # After losing a worker, Dask may raise internal errors such as KeyError.
                if not isinstance(error, _LOST) and there.keys() <= self.workers().keys():
                    raise
                logger.warning("lost a worker and its data (%s); sending them again", type(error).__name__)
                forget()
        raise ClusterError(
            f"cluster {self.address}: gave up after losing workers {_ATTEMPTS} times; start the fit again"
        )

    def _result(self, futures: Any) -> Any:
        from distributed import wait

        try:
            while True:
                with contextlib.suppress(*_TIMEOUTS):
                    with self.client.as_current():
                        wait(futures, timeout=_POLL_SECONDS)
                    return self.client.gather(futures)
                self.workers()
        except _LOST:
            raise
        except BaseException:
            with contextlib.suppress(Exception):
                self.client.cancel(futures)
            raise

    def _check_scheduler(self, error: BaseException) -> None:
        if self.client.status not in ("running", "connecting"):
            raise ClusterError(f"cluster: the scheduler at {self.address} is gone ({error})") from error

    def _check_versions(self) -> None:
        try:
            versions = self.ask(version)
        except (ImportError, AttributeError) as error:
            raise ClusterError(
                f"cluster {self.address}: the workers cannot import nearer ({error}); install nearer "
                f"{nearer.__version__} on every worker"
            ) from error
        for worker, found in sorted(versions.items()):
            if found != nearer.__version__:
                raise ClusterError(
                    f"cluster {self.address}: worker {worker} has nearer {found}, this side has {nearer.__version__}"
                )


def _memory_of(dask_worker: Any) -> int:
    """The memory limit of a worker; by default its share of the machine, by threads."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    limit = dask_worker.memory_manager.memory_limit
    return limit or int(MEMORY_LIMIT * min(dask_worker.state.nthreads / CPU_COUNT, 1.0))


def can_import(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def version() -> str:
    """The version of nearer on a worker."""
    return nearer.__version__
