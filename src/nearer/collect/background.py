"""The process beside the server that computes: the map, the people, the queue of questions worth asking.

The server needs nothing of it: if this process is slow or dead, random questions go on, and the researcher's page shows
what was found last. Of the processes that serve one database, one computes; another takes over when it ends.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

import sqlalchemy as sa

from nearer.collect import analysis
from nearer.collect.processes import read_orders
from nearer.collect.store import Store, answers, ready
from nearer.collect.study import Study, read_study

_LOCK = 0x6E656173
_PAUSE = 2.0  # seconds between two looks
_SOON, _GROWTH = 10, 1.05  # new answers before a new round: so many, and so many times as many
_LOW = 100  # questions in the queue


class Background:
    """Rounds of computation."""

    def __init__(self, study: Study, store: Store):
        self.study, self.store = study, store
        self._state: Any = None
        self._done, self._forecast_at, self._round = -1, 0, 0

    def due(self) -> bool:
        """Whether there is enough that is new."""
        with self.store.reading() as connection:
            count, waiting = Store.count(connection, answers), Store.count(connection, ready)
        if self._done < 0 or count >= max(self._done + _SOON, _GROWTH * self._done):
            return True
        return waiting < min(_LOW, analysis.queue_size(self.study) // 2) and count > self._done

    def round(self) -> None:
        """Compute everything anew, the questions first."""
        self._round += 1
        data = analysis.read_answers(self.study, self.store)
        with self.store.reading() as connection:
            self._done = Store.count(connection, answers)
        self._state = analysis.fill_queue(self.study, self.store, data, self._state, self._round)
        if data is None:
            return
        self.store.keep_finding("people", analysis.judge_people(self.study, data))
        self.store.keep_finding("map", analysis.judge_map(self.study, data))
        if self._done >= 1.3 * self._forecast_at:
            self._forecast_at = self._done
            found = analysis.forecast(self.study, data)
            if found is not None:
                self.store.keep_finding("forecast", found)


@contextlib.contextmanager
def the_only_one(store: Store) -> Any:
    """Wait until no other process computes for the same database; the system frees the place when this one dies."""
    if store.is_sqlite:
        with open(f"{store.engine.url.database}.computing", "ab") as file:
            with contextlib.suppress(ImportError):  # elsewhere two may compute: wasteful, and no more
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            yield None
        return
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_LOCK))):
            time.sleep(_PAUSE)
        yield connection


def _still_ours(connection: sa.Connection | None) -> bool:
    """Whether the connection that holds the lock still lives."""
    if connection is None:
        return True
    try:
        return connection.scalar(sa.select(1)) == 1
    except sa.exc.SQLAlchemyError:
        return False


def main() -> None:
    """Compute, as a process that `nearer.collect.processes.Keeper` started."""
    told = read_orders(lambda: os._exit(0))
    if hasattr(os, "nice"):
        os.nice(19)  # whatever the server wants to do comes first
    study, store = read_study(told["study"]), Store(told["database"])
    with the_only_one(store) as lock:
        work = Background(study, store)
        while _still_ours(lock):
            if work.due():
                work.round()
            time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
