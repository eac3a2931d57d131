"""The database of a study, SQLite or PostgreSQL: tables, transactions, status, export, backup."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import queue
import secrets
import threading
import time
from collections import Counter, namedtuple
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from starlette.exceptions import HTTPException

from nearer.collect.study import QuestionSettings, parted
from nearer.data.messages import FileFormatError
from nearer.io.files import part_name, remove_leftovers
from nearer.io.text import text_cells
from nearer.tables.decode import SIDES

_SCHEMA = "1"
_LOCK = 0x6E656172  # advisory lock of PostgreSQL while tables are created
_PRESENT = 300.0  # seconds since the last answer
_MOST = 128  # tasks in a transaction
_WAITING = 4_000  # tasks that may wait
_DEADLOCK, _SERIALIZATION = "40P01", "40001"
_DETAILS = ("participant", "side", "seconds", "order", "catch", "correct", "chosen_by", "answered_at")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
tables = sa.MetaData()

meta = sa.Table(
    "meta", tables,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)  # fmt: skip
items = sa.Table(
    "items", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
)  # fmt: skip
participants = sa.Table(
    "participants", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("started", sa.Double, nullable=False),
    sa.Column("seen", sa.Double, nullable=False),  # time of the last answer
    sa.Column("visits", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("answered", sa.Integer, nullable=False),
)  # fmt: skip
questions = sa.Table(
    "questions", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("participant", _ID, sa.ForeignKey("participants.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("n_chosen", sa.Integer, nullable=False),
    sa.Column("ordered", sa.Boolean, nullable=False),
    sa.Column("shown", sa.Text, nullable=False),  # objects: the head, then the options as on the screen
    sa.Column("key", sa.Text, nullable=False),  # equal for equal questions
    sa.Column("chosen_by", sa.Text, nullable=False),
    sa.Column("expected", sa.Integer),  # the right option of an attention check
    sa.Column("asked", sa.Double, nullable=False),
    sa.UniqueConstraint("participant", "position"),
    sa.UniqueConstraint("participant", "key"),
)  # fmt: skip
# The primary key allows one answer per question: a resent answer counts once.
answers = sa.Table(
    "answers", tables,
    sa.Column("question", _ID, sa.ForeignKey("questions.id"), primary_key=True, autoincrement=False),
    sa.Column("choice", sa.Text),  # JSON list of options; NULL: cannot tell
    sa.Column("seconds", sa.Double),
    sa.Column("answered", sa.Double, nullable=False),
    sa.Index("answers_by_time", "answered"),
)  # fmt: skip
ready = sa.Table(
    "ready", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("shown", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("chosen_by", sa.Text, nullable=False),
)  # fmt: skip
findings = sa.Table(
    "findings", tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)  # fmt: skip


def insert(source: sa.Connection | sa.Engine, table: sa.Table) -> Any:
    """An INSERT in the dialect of the database, which supports ON CONFLICT."""
    return (postgresql if source.dialect.name == "postgresql" else sqlite).insert(table)


class Prepared:
    """A statement with bind parameters, or columns to fill, compiled once: compiling takes longer than running."""

    def __init__(self, engine: sa.Engine, statement: Any, columns: Sequence[str] = ()):
        made = statement.compile(dialect=engine.dialect, column_keys=list(columns) or None)
        self.text, self._fixed, self._order = str(made), made.params, made.positiontup
        row: Any = namedtuple("Row", statement.exported_columns.keys())  # type: ignore[misc]
        self.row = row._make

    def __call__(self, **values: Any) -> Call:
        given = {**self._fixed, **values}
        return self, given if self._order is None else [given[name] for name in self._order]


Call = tuple[Prepared, Any]  # a statement and its values
_T = TypeVar("_T")
Work = Generator[Call, list[Any], _T]  # yields statements, receives their rows, returns a result


class Store:
    """An open database: ``sqlite:///path`` or ``postgresql://user:password@host/name``."""

    def __init__(self, url: str, create: bool = False):
        self.engine = _engine(url)
        self.shown = self.engine.url.render_as_string(hide_password=True)
        try:
            if create:
                self._create()
            with self.reading() as connection:
                if not sa.inspect(connection).has_table("meta"):
                    raise FileFormatError(f"{self.shown}: holds no study yet; start it with: nearer collect serve")
                schema = self.value(connection, "schema")
                if schema != _SCHEMA:
                    raise FileFormatError(
                        f"{self.shown}: got schema {schema}, expected {_SCHEMA}; use the other version"
                    )
                self.secret = bytes.fromhex(str(self.value(connection, "secret")))
        except sa.exc.DBAPIError as error:
            self.close()
            raise FileFormatError(f"{self.shown}: cannot be opened: {reason(error)}") from error
        except BaseException:
            self.close()
            raise

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @property
    def driver(self) -> Any:
        """The DBAPI module, which defines the classes of errors."""
        return self.engine.dialect.loaded_dbapi

    def close(self) -> None:
        self.engine.dispose()

    def writing(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """A transaction that is committed at the end."""
        return self.engine.begin()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A read transaction on a snapshot; it does not block writers."""
        options = {"nearer_begin": "BEGIN"} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def working(self) -> sa.Connection:
        """A connection for `run`; with PostgreSQL each statement is a transaction, which saves two round trips."""
        options = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        return self.engine.connect().execution_options(**options)

    def run(self, connection: sa.Connection, calls: Sequence[Call]) -> list[list[Any]]:
        """Run statements in order on a connection from `working` (PostgreSQL: pipelined); returns the rows of each."""
        driver: Any = connection.connection.driver_connection
        try:
            if self.is_sqlite:
                return [[made.row(row) for row in driver.execute(made.text, values)] for made, values in calls]
            with driver.pipeline() if len(calls) > 1 else contextlib.nullcontext():
                cursors = [driver.execute(made.text, values) for made, values in calls]
            return [[made.row(row) for row in cursor] for (made, _), cursor in zip(calls, cursors)]
        except self.driver.Error as error:
            # After a broken pipeline psycopg assumes statements prepared that are not: drop the connection.
            in_pipeline = not self.is_sqlite and len(calls) > 1
            if in_pipeline or self.engine.dialect.is_disconnect(error, driver, None):
                connection.invalidate(error)
            raise

    def _create(self) -> None:
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            tables.create_all(connection)
            values = {"schema": _SCHEMA, "secret": secrets.token_hex(32), "created": repr(time.time())}
            rows = [{"key": key, "value": value} for key, value in values.items()]
            connection.execute(insert(connection, meta).on_conflict_do_nothing(), rows)

    def number_items(self, names: Sequence[str]) -> dict[str, int]:
        """Permanent numbers of all objects, including those removed from the study."""
        with self.writing() as connection:
            known = set(connection.scalars(sa.select(items.c.name)))
            fresh = [{"name": name} for name in names if name not in known]
            if fresh:
                connection.execute(insert(connection, items).on_conflict_do_nothing(), fresh)
            return {row.name: row.id for row in connection.execute(sa.select(items))}

    @staticmethod
    def value(connection: sa.Connection, key: str) -> str | None:
        return connection.scalar(sa.select(meta.c.value).where(meta.c.key == key))

    @staticmethod
    def count(connection: sa.Connection, table: sa.Table, *conditions: Any) -> int:
        return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0

    def set_paused(self, paused: bool) -> bool:
        """Pause or resume handing out questions; returns whether this changed anything."""
        with self.writing() as connection:
            before = self.value(connection, "paused") == "1"
            _put(connection, meta, {"key": "paused", "value": str(int(paused))})
            return before != paused

    def keep_finding(self, name: str, value: Any) -> None:
        with self.writing() as connection:
            row = {"name": name, "value": json.dumps(value, allow_nan=False), "made": time.time()}
            _put(connection, findings, row)

    def finding(self, connection: sa.Connection, name: str) -> dict[str, Any] | None:
        value = connection.scalar(sa.select(findings.c.value).where(findings.c.name == name))
        return None if value is None else json.loads(value)


def _put(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> None:
    """Insert a row, or replace the one with the same key."""
    statement = insert(connection, table).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=statement.excluded))


def reason(error: Exception) -> str:
    """First line of the message of a database error."""
    return str(getattr(error, "orig", error)).strip().split("\n")[0]


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.engine.make_url(url)
    except sa.exc.ArgumentError as error:
        raise ValueError(f"database: got {url!r}, expected sqlite:///file or postgresql://user@host/name") from error
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    name = parsed.get_backend_name()
    if name not in ("sqlite", "postgresql"):
        raise ValueError(f"database: got {name!r}, expected sqlite or postgresql")
    if name == "postgresql":
        return sa.create_engine(parsed, pool_pre_ping=True, pool_size=8, connect_args={"connect_timeout": 5})
    engine = sa.create_engine(parsed, connect_args={"timeout": 10, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun explicitly
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes the write lock at once: upgrading a read lock could fail.
    connection.exec_driver_sql(connection.get_execution_options().get("nearer_begin", "BEGIN IMMEDIATE"))


class Unavailable(Exception):
    """The database does not respond or is full; nothing was stored."""


class Batches:
    """Threads that run tasks on the database, each with its own connection; one is enough for SQLite.

    Tasks that arrive during a commit share the next transaction; their results are delivered after its commit. A task
    is a generator of statements: the first statements of all tasks are sent together, then the second ones, and so on.
    """

    def __init__(self, store: Store, threads: int):
        self._store = store
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[], Work[_T]], timeout: float = 20.0) -> _T:
        """Result of a task, once it is committed.

        A task may run twice (after a deadlock or a lost connection), and may raise HTTPException before it writes.
        """
        if self._queue.qsize() >= _WAITING:
            raise Unavailable("too many requests are waiting")
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._queue.put((work, future))
        try:
            return await asyncio.wait_for(future, timeout)
        except asyncio.TimeoutError:
            raise Unavailable("the database did not respond in time") from None

    def close(self) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _serve(self) -> None:
        with contextlib.ExitStack() as kept:
            connection: sa.Connection | None = None
            batch: list[Any] = []
            while not batch or batch[-1] is not None:
                batch = [self._queue.get()]
                with contextlib.suppress(queue.Empty):
                    while len(batch) < _MOST and batch[-1] is not None:
                        batch.append(self._queue.get_nowait())
                if pieces := [piece for piece in batch if piece is not None]:
                    try:
                        connection = connection or kept.enter_context(self._store.working())
                    except sa.exc.SQLAlchemyError as error:
                        self._fail(pieces, error)
                    else:
                        self._do(connection, pieces)

    def _do(self, connection: sa.Connection, batch: list[Any], again: bool = True) -> None:
        batch = [(work, future) for work, future in batch if not future.cancelled()]
        try:
            results = self._together(connection, [work for work, _ in batch])
        except Exception as error:
            if connection.invalidated and again:  # the database was restarted, or closed the connection
                self._do(connection, batch, again=False)
            elif len(batch) > 1 and self._concerns_one(error):
                for piece in batch:
                    self._do(connection, [piece])
            else:
                self._fail(batch, error)
        else:
            _deliver(batch, results)

    def _together(self, connection: sa.Connection, works: list[Callable[[], Work[Any]]]) -> list[Any]:
        """Results of all tasks, in one transaction (PostgreSQL: one per round of statements)."""
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
                    except HTTPException as refusal:
                        results[number] = refusal
                rows = dict(zip(calls, self._store.run(connection, list(calls.values())))) if calls else {}
        return results

    def _concerns_one(self, error: Exception) -> bool:
        """Whether other tasks of the transaction may succeed without the failed one."""
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
            if not future.done():
                settled = future.set_exception if isinstance(result, Exception) else future.set_result
                settled(result)

    if batch:
        # All tasks come from the server's event loop: wake it once.
        with contextlib.suppress(RuntimeError):  # the loop has ended
            batch[0][1].get_loop().call_soon_threadsafe(settle)


def study_status(connection: sa.Connection) -> dict[str, Any]:
    """Counts; `present` answered within five minutes, `per_minute` covers 60 minutes, oldest first."""
    now = time.time()
    people = sa.select(
        sa.func.count().label("participants"),
        sa.func.count().filter(participants.c.answered >= participants.c.total).label("finished"),
        sa.func.count().filter(participants.c.seen > now - _PRESENT).label("present"),
        sa.func.coalesce(sa.func.sum(participants.c.answered), 0).label("answers"),
    )
    found = connection.execute(people).one()
    minute = sa.cast(sa.func.floor((now - answers.c.answered) / 60), sa.Integer)
    recent = sa.select(minute.label("ago"), sa.func.count()).where(answers.c.answered > now - 3600).group_by("ago")
    counts = dict(connection.execute(recent).all())
    return {
        **found._mapping,
        "answers_last_minute": counts.get(0, 0),
        "cannot_tell": Store.count(connection, answers, answers.c.choice.is_(None)),
        "questions_open": Store.count(connection, questions) - found.answers,
        "questions_ready": Store.count(connection, ready),
        "paused": Store.value(connection, "paused") == "1",
        "per_minute": [counts.get(ago, 0) for ago in range(59, -1, -1)],
    }


def participant_table(connection: sa.Connection) -> list[dict[str, Any]]:
    """Progress and attention checks of each participant."""
    checked = sa.select(participants.c.name, questions.c.expected, answers.c.choice)
    checked = checked.select_from(questions.join(answers).join(participants)).where(questions.c.expected.is_not(None))
    asked, right = Counter[str](), Counter[str]()
    for person, expected, choice in connection.execute(checked):
        asked[person] += 1
        right[person] += choice is not None and json.loads(choice)[0] == expected
    shown = [participants.c[name] for name in ("answered", "total", "visits", "started", "seen")]
    people = sa.select(participants.c.name.label("participant"), *shown).order_by(participants.c.id)
    return [
        {**row, "catch_right": right[row["participant"]], "catch_asked": asked[row["participant"]]}
        for row in connection.execute(people).mappings()
    ]


@dataclass
class Export:
    """The answers of a study, row by row; answers left out (asked before the study was changed) are counted."""

    store: Store
    asked: QuestionSettings
    left_out: dict[str, int] = field(default_factory=dict)
    n_rows: int = 0

    @property
    def columns(self) -> list[str]:
        ranks = (f"rank_{number + 1}" for number in range(self.asked.n_shown))
        ranking = ["anchor", *ranks, "n_chosen", "ordered"]
        about = {"triplets": ["anchor", "near", "far"], "odd-one-out": ["a", "b", "c", "odd"], "rankings": ranking}
        return [*about[self.asked.kind], *_DETAILS]

    def rows(self) -> Iterator[list[str]]:
        """Cells of each answer, in the order of the questions."""
        self.left_out, self.n_rows = {}, 0
        wanted = sa.select(questions, answers, participants.c.name.label("person")).order_by(questions.c.id)
        wanted = wanted.select_from(questions.join(answers).join(participants))
        with self.store.reading() as connection:
            names = {row.id: row.name for row in connection.execute(sa.select(items))}
            for row in connection.execution_options(yield_per=2000).execute(wanted):
                shown = json.loads(row.shown)
                why = self._unfit(row, shown)
                if why:
                    self.left_out[why] = self.left_out.get(why, 0) + 1
                    continue
                self.n_rows += 1
                yield _cells(row, [names[number] for number in shown], json.loads(row.choice))

    def lines(self) -> Iterator[str]:
        """Blocks of lines of a CSV file; cells that a spreadsheet could run as formulas are escaped."""
        rows = self.rows()
        yield ",".join(self.columns) + "\n"
        while block := list(itertools.islice(rows, 500)):
            yield "".join(",".join(text_cells(cells, "cell")) + "\n" for cells in block)

    def _unfit(self, row: Any, shown: list[int]) -> str:
        if row.kind != self.asked.kind:
            return f"a question of another kind ({row.kind})"
        if row.choice is None:
            return "cannot tell"
        if self.asked.kind == "rankings" and len(shown) != self.asked.n_items:
            return f"a question with {len(shown) - 1} options instead of {self.asked.n_shown}"
        return ""


def _cells(row: Any, shown: list[str], choice: list[int]) -> list[str]:
    head, options = parted(row.kind, shown)
    chosen = [options[number] for number in choice]
    if row.kind == "odd-one-out":
        about = [*shown, *chosen]
    else:
        about = [*head, *chosen, *(name for number, name in enumerate(options) if number not in choice)]
    if row.kind == "rankings":
        about += [str(row.n_chosen), str(bool(row.ordered)).lower()]
    catch = row.expected is not None
    return [
        *about,
        row.person,
        SIDES[choice[0]][0] if choice[0] < len(SIDES) else f"option{choice[0] + 1}",
        "" if row.seconds is None else f"{row.seconds:.3f}",
        str(row.position),
        str(catch).lower(),
        str(choice[0] == row.expected).lower() if catch else "",
        row.chosen_by,
        datetime.fromtimestamp(row.answered, timezone.utc).isoformat(timespec="milliseconds"),
    ]


def back_up(store: Store, path: str | os.PathLike[str]) -> int:
    """Copy a snapshot into a new SQLite file, even during the study; returns its number of answers."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path}: exists already; choose another name")
    remove_leftovers(path.parent)
    part = path.with_name(part_name(path))
    try:
        copy = Store(f"sqlite:///{part}", create=True)
        with contextlib.closing(copy), store.reading() as source, copy.writing() as target:
            for table in tables.sorted_tables:
                target.execute(sa.delete(table))
                for block in source.execution_options(yield_per=2000).execute(sa.select(table)).partitions():
                    target.execute(sa.insert(table), [dict(row._mapping) for row in block])
            count = Store.count(target, answers)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.link(part, path)  # fails if the file exists by now, unlike a rename
    finally:
        for ending in ("", "-wal", "-shm"):
            Path(f"{part}{ending}").unlink(missing_ok=True)
    return count
