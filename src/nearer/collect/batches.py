"""Many small pieces of database work in few transactions, and few round trips.

A commit waits for the disk. Work that arrives meanwhile is done together in the next transaction, and each piece is
answered when the commit is through, never before. A piece is a generator that yields statements and gets their rows:
so the first statements of all pieces go to the database together, then the second ones, and so on.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import sqlalchemy as sa
from starlette.exceptions import HTTPException

from nearer.collect.store import Call, Store, reason

_T = TypeVar("_T")
Work = Generator[Call, list[Any], _T]
"""Yields a statement at a time, gets its rows, and returns a result."""
_MOST = 128  # pieces in a transaction
_WAITING = 4_000  # pieces that may wait
_DEADLOCK, _SERIALIZATION = "40P01", "40001"


class Refusal(HTTPException):
    """A request that is refused, with a status of HTTP; raised before anything was written."""


class Unavailable(Exception):
    """The database does not answer, or has no room; nothing of the work was stored."""


class Batches:
    """Threads that work on a database, each with a connection of its own; SQLite has one writer, so one is enough."""

    def __init__(self, store: Store, threads: int):
        self._store = store
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[], Work[_T]], timeout: float = 20.0) -> _T:
        """Do a piece of work, and return its result once that is committed.

        The work may be done twice (after a deadlock, or a lost connection) and must leave nothing behind but what it
        writes to the database. It may raise `Refusal`, before it writes anything; `Unavailable` comes from here.
        """
        if self._queue.qsize() >= _WAITING:
            raise Unavailable("too much waits already")
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._queue.put((work, future))
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
        with contextlib.ExitStack() as kept:
            connection: sa.Connection | None = None
            while (batch := self._gather()) is not None:
                try:
                    if connection is None:
                        connection = kept.enter_context(self._store.working())
                except sa.exc.SQLAlchemyError as error:
                    self._fail(batch, error)
                    continue
                self._do(connection, batch)

    def _gather(self) -> list[Any] | None:
        """What waits, at least one piece; None at the end."""
        batch = [self._queue.get()]
        with contextlib.suppress(queue.Empty):
            while len(batch) < _MOST and batch[-1] is not None:
                batch.append(self._queue.get_nowait())
        if batch[-1] is None:
            batch.pop()
            if not batch:
                return None
            self._queue.put(None)  # for the next round
        return batch

    def _do(self, connection: sa.Connection, batch: list[Any], again: bool = True) -> None:
        batch = [(work, future) for work, future in batch if not future.cancelled()]
        try:
            results = self._together(connection, [work for work, _ in batch])
        except Exception as error:
            if connection.invalidated and again:  # the database was restarted, or cut the line: there may be another
                self._do(connection, batch, again=False)
            elif len(batch) > 1 and self._concerns_one(error):
                for piece in batch:
                    self._do(connection, [piece])
            else:
                self._fail(batch, error)
            return
        _deliver(batch, results)

    def _together(self, connection: sa.Connection, works: list[Callable[[], Work[Any]]]) -> list[Any]:
        """Results of all pieces, done in one transaction (with PostgreSQL: in one for each round of statements)."""
        results: list[Any] = [None] * len(works)
        begun = [work() for work in works]
        rows: dict[int, Any] = dict.fromkeys(range(len(works)))
        with connection.begin():
            while rows:
                calls: dict[int, Call] = {}
                for number, found in rows.items():
                    try:
                        calls[number] = begun[number].send(found)
                    except StopIteration as end:
                        results[number] = end.value
                    except Refusal as refusal:
                        results[number] = refusal
                rows = dict(zip(calls, self._store.run(connection, list(calls.values())))) if calls else {}
        return results

    def _concerns_one(self, error: Exception) -> bool:
        """Whether other pieces of the same transaction may well succeed alone."""
        error, driver = getattr(error, "orig", error), self._store.driver
        if isinstance(error, driver.OperationalError):
            return getattr(error, "sqlstate", None) in (_DEADLOCK, _SERIALIZATION)
        return not isinstance(error, (driver.InterfaceError, sa.exc.TimeoutError))

    def _fail(self, batch: list[Any], error: Exception) -> None:
        cause = getattr(error, "orig", error)
        if isinstance(cause, (self._store.driver.Error, sa.exc.TimeoutError)):
            error = Unavailable(reason(cause))
        _deliver(batch, [error] * len(batch))


def _deliver(batch: list[Any], results: list[Any]) -> None:
    def settle() -> None:
        for (_, future), result in zip(batch, results):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    if batch:
        # All pieces come from the one loop of the server: it is woken once.
        with contextlib.suppress(RuntimeError):  # the loop has ended
            batch[0][1].get_loop().call_soon_threadsafe(settle)
