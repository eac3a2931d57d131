"""Many small pieces of database work in few transactions.

A commit waits for the disk. Work that arrives meanwhile is done together in the next transaction, and each piece is
answered when the commit is through, never before.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from nearer.collect.store import Store

__all__ = ["Batches", "Refusal", "Unavailable"]

_T = TypeVar("_T")
_MOST = 128  # pieces in a transaction
_WAITING = 4_000  # pieces that may wait
_DEADLOCK, _SERIALIZATION = "40P01", "40001"


class Refusal(Exception):
    """A request that is refused; raised before anything was written.

    Parameters
    ----------
    status : int
        Of HTTP.
    message : str
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Unavailable(Exception):
    """The database does not answer, or has no room; nothing of the work was stored."""


class Batches:
    """Threads that work on a database.

    Parameters
    ----------
    store : Store
    threads : int
        Each with a connection of its own. SQLite has one writer, so one is enough.
    """

    def __init__(self, store: Store, threads: int):
        self._store = store
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        self.failing = ""  # why the last transaction failed
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[sa.Connection], _T], timeout: float = 20.0) -> _T:
        """Do a piece of work, and return its result once that is committed.

        The work may be done twice (after a deadlock) and must leave nothing behind but what it writes to the database.

        Parameters
        ----------
        work : callable
            Gets a connection inside a transaction. May raise `Refusal`, before it writes anything.
        timeout : float
            Seconds.

        Returns
        -------
        What `work` returns.

        Raises
        ------
        Unavailable, Refusal
        """
        if self._queue.qsize() >= _WAITING:
            raise Unavailable("too much waits already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._queue.put((work, future, loop))
        try:
            return await asyncio.wait_for(future, timeout)
        except asyncio.TimeoutError:
            raise Unavailable("the database did not answer in time") from None

    def close(self) -> None:
        """Finish what waits, then end the threads."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _serve(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            batch, ending = [first], False
            while len(batch) < _MOST:
                try:
                    piece = self._queue.get_nowait()
                except queue.Empty:
                    break
                if piece is None:
                    ending = True
                    break
                batch.append(piece)
            self._do(batch)
            if ending:
                return

    def _do(self, batch: list[Any]) -> None:
        batch = [piece for piece in batch if not piece[1].cancelled()]
        try:
            results = self._together([work for work, _, _ in batch])
            self.failing = ""
        except Exception as error:
            if len(batch) > 1 and _concerns_one(error):
                for piece in batch:
                    self._do([piece])
                return
            if isinstance(error, (sa.exc.DBAPIError, sa.exc.TimeoutError)):
                self.failing = str(getattr(error, "orig", error)).strip().split("\n")[0]
                error = Unavailable(self.failing)
            results = [error] * len(batch)
        _deliver(batch, results)

    def _together(self, works: list[Callable[[sa.Connection], Any]]) -> list[Any]:
        """Results of all pieces, done in one transaction."""
        results: list[Any] = []
        with self._store.writing() as connection:
            for work in works:
                try:
                    results.append(work(connection))
                except Refusal as refusal:
                    results.append(refusal)
        return results


def _concerns_one(error: Exception) -> bool:
    """Whether other pieces of the same transaction may well succeed alone."""
    if isinstance(error, sa.exc.OperationalError):
        return getattr(error.orig, "sqlstate", None) in (_DEADLOCK, _SERIALIZATION)
    return not isinstance(error, (sa.exc.InterfaceError, sa.exc.TimeoutError))


def _deliver(batch: list[Any], results: list[Any]) -> None:
    def settle() -> None:
        for (_, future, _), result in zip(batch, results):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    if batch:
        # All pieces come from the one loop of the server: it is woken once.
        try:
            batch[0][2].call_soon_threadsafe(settle)
        except RuntimeError:  # the loop has ended
            return
