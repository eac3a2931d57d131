"""The database of a study, SQLite or PostgreSQL: tables, transactions, status, export, backup."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import os
import queue
import secrets
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from starlette.exceptions import HTTPException

from nearer.collect.study import ENDS, STEPS, Study, parted
from nearer.data.messages import FileFormatError
from nearer.io.files import atomic_write
from nearer.io.text import csv_text, text_cells
from nearer.tables.decode import SIDES

_SCHEMA = 3
_LOCK = 0x6E656172  # advisory lock of PostgreSQL while tables are created
_PRESENT = 60.0  # seconds since the last answer
AWAY = 1800.0  # seconds without an answer, after which a participant has left
_MOST = 128  # tasks in a transaction of SQLite
_THREADS = 8  # connections to PostgreSQL
_WAITING = 4_000  # tasks that may wait
# Of each participant, on the page.
_PROGRESS = ("participant", "step", "condition", "answered", "total", "visits", "seen", "catch_right", "catch_asked")
_DETAILS = ("participant", "side", "seconds", "order", "catch", "correct", "chosen_by", "answered_at")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
tables = sa.MetaData()

meta = sa.Table(
    "meta", tables,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),  # JSON
)  # fmt: skip
participants = sa.Table(
    "participants", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("step", sa.Text, nullable=False, default="consent"),  # one of STEPS or ENDS of a study
    sa.Column("condition", sa.Text, nullable=False, default=""),
    sa.Column("consent_version", sa.Text, nullable=False, default=""),
    sa.Column("parameters", sa.Text, nullable=False, default="{}"),  # JSON object
    sa.Column("replies", sa.Text, nullable=False, default="{}"),  # JSON object: questions before and after
    sa.Column("opened", sa.Double, nullable=False),
    sa.Column("consented", sa.Double),
    sa.Column("ended", sa.Double),
    sa.Column("seen", sa.Double, nullable=False),  # time of the last answer or step
    sa.Column("visits", sa.Integer, nullable=False, default=0),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("answered", sa.Integer, nullable=False, default=0),
    sa.Column("catch_asked", sa.Integer, nullable=False, default=0),  # attention checks answered
    sa.Column("catch_right", sa.Integer, nullable=False, default=0),
    sqlite_autoincrement=True,  # tokens of a deleted participant fit nobody else
)  # fmt: skip
questions = sa.Table(
    "questions", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("participant", _ID, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("n_chosen", sa.Integer, nullable=False),
    sa.Column("ordered", sa.Boolean, nullable=False),
    sa.Column("shown", sa.Text, nullable=False),  # JSON list: the head, then the options as on the screen
    sa.Column("key", sa.Text, nullable=False),  # equal for equal questions
    sa.Column("planned", sa.Text, nullable=False),  # "ready" where a chosen question was to be asked
    sa.Column("chosen_by", sa.Text, nullable=False),
    sa.Column("expected", sa.Integer),  # the right option of an attention check
    sa.Column("asked", sa.Double, nullable=False),
    sa.UniqueConstraint("participant", "position"),
    sa.UniqueConstraint("participant", "key"),
    sqlite_autoincrement=True,
)  # fmt: skip
# For repeats: without it, a table with few random questions would be searched to its end.
_RANDOM = questions.c.chosen_by == "random"
sa.Index("questions_random", questions.c.kind, questions.c.id, sqlite_where=_RANDOM, postgresql_where=_RANDOM)
# The primary key allows one answer per question: a resent answer counts once.
answers = sa.Table(
    "answers", tables,
    sa.Column("question", sa.ForeignKey("questions.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
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
audit = sa.Table(
    "audit", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("how", sa.Text, nullable=False),
)  # fmt: skip
_T = TypeVar("_T")
Row = dict[str, Any]  # of a table, or a JSON object


def insert(source: sa.Connection | sa.Engine, table: sa.Table) -> Any:
    """An INSERT in the dialect of the database, which supports ON CONFLICT."""
    return (postgresql if source.dialect.name == "postgresql" else sqlite).insert(table)


class Store:
    """An open database: ``sqlite:///path`` or ``postgresql://user:password@host/name``."""

    def __init__(self, url: str, create: bool = False):
        self.engine = _engine(url)
        self.shown = self.engine.url.render_as_string(hide_password=True)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        snapshot = {"nearer_begin": "BEGIN"} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._snapshots = self.engine.execution_options(**snapshot)
        try:
            if create:
                self._create()
            with self.reading() as connection:
                if not sa.inspect(connection).has_table("meta"):
                    raise FileFormatError(f"{self.shown}: holds no study yet; start it with: nearer collect serve")
                schema = self.value(connection, "schema")
                if schema != _SCHEMA:
                    raise FileFormatError(f"{self.shown}: got schema {schema}, expected {_SCHEMA}; use that version")
                self.secret: str = self.value(connection, "secret")
        except sa.exc.DBAPIError as error:
            raise FileFormatError(f"{self.shown}: cannot be opened: {reason(error)}") from error
        self._opened = self._files()

    def close(self) -> None:
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at the end, to the database that was opened."""
        with self.engine.begin() as connection:
            yield connection
        # Checked after the commit: SQLite writes to a file that was deleted as if it were there.
        if self._files() != self._opened:
            raise Unavailable("the file of the database was deleted or replaced; put it back, or restart")

    def reading(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """A read transaction on a snapshot; it does not block writers."""
        return self._snapshots.begin()

    def _create(self) -> None:
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            tables.create_all(connection)
            made = {"schema": _SCHEMA, "secret": secrets.token_hex(32), "token": secrets.token_urlsafe(18)}
            rows = [{"key": key, "value": json.dumps(value)} for key, value in made.items()]
            connection.execute(insert(connection, meta).on_conflict_do_nothing(), rows)

    def _files(self) -> dict[str, tuple[int, int]]:
        """What identifies the files of SQLite, as far as they exist."""
        found = {}
        for ending in ("", "-wal") if self.is_sqlite else ():
            with contextlib.suppress(OSError):
                file = os.stat(f"{self.engine.url.database}{ending}")
                found[ending] = file.st_dev, file.st_ino
        return found

    @staticmethod
    def value(connection: sa.Connection, key: str) -> Any:
        """What is kept under a key; None if nothing is."""
        return json.loads(connection.scalar(sa.select(meta.c.value).where(meta.c.key == key)) or "null")

    @staticmethod
    def count(connection: sa.Connection, table: sa.Table, *conditions: Any) -> int:
        return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0

    @classmethod
    def put(cls, connection: sa.Connection, key: str, value: Any) -> Any:
        """Keep a value under a key; returns the one before."""
        before, text = cls.value(connection, key), json.dumps(value, allow_nan=False)
        statement = insert(connection, meta).values(key=key, value=text)
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": text}))
        return before

    @staticmethod
    def note(connection: sa.Connection, action: str, how: str) -> None:
        """Add a line to the audit: what the researcher did, and by which command or page."""
        connection.execute(sa.insert(audit).values(at=time.time(), action=action, how=how))

    def probe(self, connection: sa.Connection) -> None:
        """Write to the database, and check that it is the one that was opened."""
        if self.value(connection, "secret") != self.secret:
            raise Unavailable("the database was replaced by another one; restart the server")
        self.put(connection, "probed", time.time())

    def set_paused(self, paused: bool, how: str) -> bool:
        """Pause or resume handing out questions; returns whether this changed anything."""
        with self.writing() as connection:
            changed = bool(self.put(connection, "paused", paused)) != paused
            if changed:
                self.note(connection, "pause" if paused else "resume", how)
            return changed

    def rotate(self, how: str) -> None:
        """Make the researcher's token invalid, also for running servers; there is a new one."""
        with self.writing() as connection:
            self.put(connection, "token", secrets.token_urlsafe(18))
            self.note(connection, "token", how)

    def delete(self, name: str, how: str) -> int:
        """Delete a participant and all their answers; returns how many. The audit does not say whose."""
        with self.writing() as connection:
            gone = sa.delete(participants).where(participants.c.name == name).returning(participants.c.answered)
            n_answers = connection.scalar(gone)  # questions and answers go with their participant
            if n_answers is None:
                raise ValueError(f"participant: got {name!r}, expected the id of a participant of the study")
            connection.execute(sa.delete(meta).where(meta.c.key == "people"))  # computed again
            self.note(connection, "delete", how)
        if self.is_sqlite:  # also from the log of changes
            with contextlib.closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return n_answers

    def end_late(self, minutes: float) -> None:
        """End the participation of those whose time is over; 0: there is no limit."""
        if minutes:
            with self.writing() as connection:
                limit = time.time() - 60 * minutes
                late = participants.c.step.in_(STEPS[1:-1]), participants.c.consented < limit
                ended = {"step": "timed_out", "ended": participants.c.consented + 60 * minutes}
                connection.execute(sa.update(participants).where(*late).values(ended))

    def keep(self, key: str, value: Any) -> None:
        with self.writing() as connection:
            self.put(connection, key, value)

    @property
    def token(self) -> str:
        """What opens the researcher's page, as of now."""
        return self.known("token")["token"]

    def known(self, *keys: str) -> Row:
        """What is kept under some keys."""
        with self.reading() as connection:
            return {key: self.value(connection, key) for key in keys}


def reason(error: Exception) -> str:
    """First line of the message of a database error."""
    return str(getattr(error, "orig", error)).strip().split("\n")[0]


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.engine.make_url(url)
    except sa.exc.ArgumentError as error:
        raise ValueError(f"database: got {url!r}, expected sqlite:///file or postgresql://user@host/name") from error
    if parsed.drivername == "sqlite":
        parsed = sa.URL.create("sqlite", database=url.partition(":///")[2])  # a path may have "?" in it
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    name = parsed.get_backend_name()
    if name not in ("sqlite", "postgresql"):
        raise ValueError(f"database: got {name!r}, expected sqlite or postgresql")
    if name == "postgresql":
        patience = {"connect_timeout": 5, "tcp_user_timeout": 15_000}  # s, ms
        return sa.create_engine(parsed, pool_pre_ping=True, pool_size=_THREADS, connect_args=patience)
    engine = sa.create_engine(parsed, connect_args={"timeout": 10, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun explicitly
    # secure_delete: what is deleted is overwritten
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes the write lock at once: upgrading a read lock could fail.
    connection.exec_driver_sql(connection.get_execution_options().get("nearer_begin", "BEGIN IMMEDIATE"))


class Unavailable(Exception):
    """The database does not respond or is full; nothing was stored."""


_Task = tuple[Callable[[sa.Connection], Any], Future[Any]]


class Batches:
    """Threads that run tasks on the database: functions of a connection.

    SQLite has one thread, and tasks that arrive during a commit share the next one. PostgreSQL has several, each with
    one task at a time. A result is delivered after its commit.
    """

    def __init__(self, store: Store):
        self._store = store
        threads, self._most = (1, _MOST) if store.is_sqlite else (_THREADS, 1)
        self._waiting: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(threads)

    async def run(self, work: Callable[..., _T], *args: Any, timeout: float = 20.0) -> _T:
        """Result of ``work(connection, *args)``, once it is committed, also if it raises HTTPException."""
        if self._waiting.qsize() >= _WAITING:
            raise Unavailable("too many requests are waiting")
        future: Future[_T] = Future()
        self._waiting.put((lambda connection: work(connection, *args), future))
        self._pool.submit(self._serve)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout)
        except asyncio.TimeoutError:
            raise Unavailable("the database did not respond in time") from None

    def close(self) -> None:
        self._pool.shutdown()

    def _serve(self) -> None:
        batch: list[_Task] = []
        with contextlib.suppress(queue.Empty):
            while len(batch) < self._most:
                work, future = self._waiting.get_nowait()
                if future.set_running_or_notify_cancel():
                    batch.append((work, future))
        self._do(batch)

    def _do(self, batch: list[_Task]) -> None:
        try:
            with self._store.writing() as connection:
                results = [_result(work, connection) for work, _ in batch]
        except (sa.exc.OperationalError, Unavailable) as error:  # concerns the database, not one of the tasks
            results = [Unavailable(reason(error))] * len(batch)
        except Exception as error:
            if len(batch) > 1:
                for piece in batch:
                    self._do([piece])
                return
            results = [Unavailable(reason(error)) if isinstance(error, sa.exc.SQLAlchemyError) else error]
        for (_, future), result in zip(batch, results):
            settle = future.set_exception if isinstance(result, Exception) else future.set_result
            settle(result)


def _result(work: Callable[[sa.Connection], Any], connection: sa.Connection) -> Any:
    try:
        return work(connection)
    except HTTPException as refusal:
        return refusal


def study_status(store: Store, study: Study) -> Row:
    """Counts, and how far each participant is; `present` answered in the last minute."""
    store.end_late(study.participants.minutes)
    now = time.time()
    minute = sa.cast(sa.func.floor((now - answers.c.answered) / 60), sa.Integer)
    recent = sa.select(minute.label("ago"), sa.func.count()).where(answers.c.answered > now - 3600).group_by("ago")
    latest = sa.select(questions.c.planned, questions.c.chosen_by).order_by(questions.c.id.desc()).limit(1000)
    with store.reading() as connection:
        people = _people(connection)
        counts = dict(connection.execute(recent).all())
        slots = [chosen_by != "random" for planned, chosen_by in connection.execute(latest) if planned == "ready"]
        found = {
            "cannot_tell": store.count(connection, answers, answers.c.choice.is_(None)),
            "questions_ready": store.count(connection, ready),
            "paused": bool(store.value(connection, "paused")),
            "unfilled": store.value(connection, "unfilled"),
            "audit": [dict(row) for row in connection.execute(sa.select(audit).order_by(audit.c.id)).mappings()],
        }
    steps = Counter(person["step"] for person in people)
    took = [person["ended"] - person["consented"] for person in people if person["step"] == "finished"]
    left = [one["answered"] for one in people if one["step"] == "questions" and one["seen"] < now - AWAY]
    consented = sum(person["consented"] is not None for person in people)
    return {
        **found,
        "present": sum(person["seen"] > now - _PRESENT and person["step"] not in ENDS for person in people),
        "answers": sum(person["answered"] for person in people),
        "per_minute": [counts.get(ago, 0) for ago in range(59, -1, -1)],  # the oldest first
        "funnel": {"opened": len(people), "consented": consented, **{end: steps[end] for end in ENDS}},
        "median_minutes": statistics.median(took) / 60 if took else None,
        "left_after": sorted(Counter(left).items()),  # answers, people who left after so many
        "adaptive_share": sum(slots) / len(slots) if slots else None,  # of those planned lately
        "people": [{name: person[name] for name in _PROGRESS} for person in people],
    }


def _people(connection: sa.Connection) -> list[Row]:
    """All that is stored about each participant."""
    everybody = connection.execute(sa.select(participants).order_by(participants.c.id))
    return [{**row, "participant": row["name"]} for row in everybody.mappings()]


def person_table(store: Store, study: Study, how: str, action: str = "export participants") -> list[Row]:
    """The cells of each participant, by the names of `Study.person_columns`; noted in the audit."""
    store.end_late(study.participants.minutes)
    with store.writing() as connection:
        store.note(connection, action, how)
        people = _people(connection)
    rows = []
    for person in people:
        cells = person | {f"{name}_at": _utc(person[name]) for name in ("opened", "consented", "ended")}
        cells |= json.loads(person["parameters"]) | json.loads(person["replies"]) | {"status": person["step"]}
        if person["ended"] and person["consented"]:
            cells["minutes"] = round((person["ended"] - person["consented"]) / 60, 2)
        rows.append({name: "" if cells.get(name) is None else cells[name] for name in study.person_columns})
    return rows


def payments(store: Store, study: Study, how: str) -> list[Row]:
    """What the rules of study.toml say about each participant: action, bonus and reason."""
    rules = study.payments
    seconds = defaultdict[str, list[float]](list)
    with store.reading() as connection:
        wanted = sa.select(participants.c.name, answers.c.seconds).where(answers.c.seconds.is_not(None))
        for name, took in connection.execute(wanted.select_from(questions.join(answers).join(participants))):
            seconds[name].append(took)
    rows = []
    for person in person_table(store, study, how, "payments"):
        name, right, asked = person["participant"], person["catch_right"], person["catch_asked"]
        passed = right / asked if asked else 1.0
        median = statistics.median(seconds[name] or [math.inf])
        status, checks = person["status"], f"passed {right} of {asked} attention checks"
        broken = [checks] if passed < rules.reject_catch_passed else []
        broken += [f"median answer in {median:.2f} s"] if median < rules.reject_min_seconds else []
        bonus: float = 0
        if status != "finished":
            action, reason = status if status in ENDS else "none", f"status: {status}, {checks}"
        elif broken:
            action, reason = "reject", "; ".join(broken)
        else:
            action, reason = "approve", f"finished, {checks}"
            bonus = rules.bonus if passed >= rules.bonus_catch_passed else 0.0
        own = {parameter: person[parameter] for parameter in study.participants.parameters}
        rows.append({"participant": name, "action": action, "bonus": bonus, "reason": reason, **own})
    return rows


def rows_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """CSV of rows; texts that could run as formulas are escaped, numbers are not."""
    return csv_text({name: [row[name] for row in rows] for name in columns})


def _utc(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


class Export:
    """The answers of a study; those left out (asked before the study was changed) are counted."""

    def __init__(self, store: Store, study: Study):
        self._store, self._asked = store, study.questions
        ranks = (f"rank_{number + 1}" for number in range(self._asked.n_shown))
        ranking = ["anchor", *ranks, "n_chosen", "ordered"]
        about = {"triplets": ["anchor", "near", "far"], "odd-one-out": ["a", "b", "c", "odd"], "rankings": ranking}
        self.columns = [*about[self._asked.kind], *_DETAILS, *(["condition"] if study.conditions[0].name else [])]
        self.left_out = Counter[str]()
        self.n_rows = 0

    def rows(self) -> Iterator[list[str]]:
        """Cells of each answer, in the order of the questions."""
        about = participants.c.name.label("person"), participants.c.condition
        wanted = sa.select(questions, answers, *about).order_by(questions.c.id)
        wanted = wanted.select_from(questions.join(answers).join(participants))
        with self._store.reading() as connection:
            for row in connection.execution_options(yield_per=2000).execute(wanted):
                shown = json.loads(row.shown)
                if (row.kind, len(shown)) != (self._asked.kind, self._asked.n_items):
                    self.left_out[f"the question was of another kind ({row.kind}, {len(shown)} objects)"] += 1
                elif row.choice is None:
                    self.left_out["cannot tell"] += 1
                else:
                    self.n_rows += 1
                    yield [*_cells(row, shown, json.loads(row.choice)), row.condition][: len(self.columns)]

    def lines(self, how: str) -> Iterator[str]:
        """Blocks of lines of a CSV file, noted in the audit; cells that could run as formulas are escaped."""
        with self._store.writing() as connection:
            self._store.note(connection, "export", how)
        rows = self.rows()
        yield ",".join(self.columns) + "\n"
        while block := list(itertools.islice(rows, 500)):
            yield "".join(",".join(text_cells(cells, "cell")) + "\n" for cells in block)


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
        _utc(row.answered),
    ]


def back_up(store: Store, path: str | os.PathLike[str]) -> int:
    """Copy a snapshot into a new SQLite file, even during the study; returns its number of answers."""
    with atomic_write(path) as file:
        copy = Store(f"sqlite:///{file.name}", create=True)
        with contextlib.closing(copy), store.reading() as source, copy.writing() as target:
            for table in tables.sorted_tables:
                target.execute(sa.delete(table))
                for block in source.execution_options(yield_per=2000).execute(sa.select(table)).partitions():
                    target.execute(sa.insert(table), [dict(row._mapping) for row in block])
            return Store.count(target, answers)
