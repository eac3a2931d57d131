"""The database of a study, SQLite or PostgreSQL: its tables, how it is opened, what it holds."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections import Counter, namedtuple
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from nearer.data.errors import FileFormatError

_SCHEMA = "1"
_LOCK = 0x6E656172  # advisory lock of PostgreSQL while tables are made
_PRESENT = 300.0  # seconds after the last sign of life
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
    sa.Column("seen", sa.Double, nullable=False),  # when the last answer came
    sa.Column("visits", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("answered", sa.Integer, nullable=False),
)  # fmt: skip
# A row for every question handed out. `shown` lists the objects, the head first, then the options as they stand
# on the screen; `key` is the same for the same question in another order.
questions = sa.Table(
    "questions", tables,
    sa.Column("id", _ID, primary_key=True, autoincrement=True),
    sa.Column("participant", _ID, sa.ForeignKey("participants.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("n_chosen", sa.Integer, nullable=False),
    sa.Column("ordered", sa.Boolean, nullable=False),
    sa.Column("shown", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("chosen_by", sa.Text, nullable=False),
    sa.Column("expected", sa.Integer),  # the right option of a catch question
    sa.Column("asked", sa.Double, nullable=False),
    sa.UniqueConstraint("participant", "position"),
    sa.UniqueConstraint("participant", "key"),
)  # fmt: skip
# At most one answer for each question: the key is what makes a resent answer count once.
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
    """An INSERT of the kind of database, which knows ON CONFLICT."""
    return (postgresql if source.dialect.name == "postgresql" else sqlite).insert(table)


class Prepared:
    """A statement that is made once: to make it takes longer than to run it.

    It has a `bindparam` for each value, or fills the columns named, and gives rows.
    """

    def __init__(self, engine: sa.Engine, statement: Any, columns: Sequence[str] = ()):
        made = statement.compile(dialect=engine.dialect, column_keys=list(columns) or None)
        self.text, self._fixed, self._order = str(made), made.params, made.positiontup
        row: Any = namedtuple("Row", statement.exported_columns.keys())  # type: ignore[misc]
        self.row = row._make

    def __call__(self, **values: Any) -> Call:
        """The statement with its values, to be run by `Store.run`."""
        given = {**self._fixed, **values}
        return self, given if self._order is None else [given[name] for name in self._order]


Call = tuple[Prepared, Any]
"""A statement to be run, with its values."""


class Store:
    """An open database: ``sqlite:///path`` or ``postgresql://user:password@host/name``.

    Without tables it is refused, unless they are to be created.
    """

    def __init__(self, url: str, create: bool = False):
        self.engine = _engine(url)
        self.shown = self.engine.url.render_as_string(hide_password=True)
        try:
            if create:
                self._create()
            with self.reading() as connection:
                if not sa.inspect(connection).has_table("meta"):
                    raise FileFormatError(f"{self.shown}: holds no study yet; nearer collect serve begins it")
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
        """Whether one file holds it all."""
        return self.engine.dialect.name == "sqlite"

    @property
    def driver(self) -> Any:
        """The module that speaks with the database; it has the classes of its errors."""
        return self.engine.dialect.loaded_dbapi

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def writing(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """A transaction that is committed at the end."""
        return self.engine.begin()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees the database as it is at one moment, and keeps nobody from writing."""
        options = {"nearer_begin": "BEGIN"} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def working(self) -> sa.Connection:
        """A connection for `run`; with PostgreSQL each call is a transaction of its own: two round trips less."""
        options = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        return self.engine.connect().execution_options(**options)

    def run(self, connection: sa.Connection, calls: Sequence[Call]) -> list[list[Any]]:
        """Run statements on a connection from `working`, one after the other, all or none; gives the rows of each.

        PostgreSQL gets them all before it is waited for.
        """
        driver: Any = connection.connection.driver_connection
        try:
            if self.is_sqlite:
                return [[made.row(row) for row in driver.execute(made.text, values)] for made, values in calls]
            with driver.pipeline() if len(calls) > 1 else contextlib.nullcontext():
                cursors = [driver.execute(made.text, values) for made, values in calls]
            return [[made.row(row) for row in cursor] for (made, _), cursor in zip(calls, cursors)]
        except self.driver.Error as error:
            # What a broken pipeline left out, psycopg still takes for prepared: such a connection is not used again.
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
        """Give each object a number, for good, and return them all, also those that are no longer asked about."""
        with self.writing() as connection:
            known = set(connection.scalars(sa.select(items.c.name)))
            fresh = [{"name": name} for name in names if name not in known]
            if fresh:
                connection.execute(insert(connection, items).on_conflict_do_nothing(), fresh)
            return {row.name: row.id for row in connection.execute(sa.select(items))}

    # ---- single values -----------------------------------------------------------------------------------------------

    @staticmethod
    def value(connection: sa.Connection, key: str) -> str | None:
        """A value of the table of settings, or None."""
        return connection.scalar(sa.select(meta.c.value).where(meta.c.key == key))

    @staticmethod
    def count(connection: sa.Connection, table: sa.Table, *conditions: Any) -> int:
        """How many rows of a table meet some conditions."""
        return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0

    def set_paused(self, paused: bool) -> bool:
        """Stop or go on handing out questions; returns whether this changed anything."""
        with self.writing() as connection:
            before = self.value(connection, "paused") == "1"
            _put(connection, meta, {"key": "paused", "value": str(int(paused))})
            return before != paused

    def keep_finding(self, name: str, value: Any) -> None:
        """Keep what was computed in the background, for the researcher's page."""
        with self.writing() as connection:
            row = {"name": name, "value": json.dumps(value, allow_nan=False), "made": time.time()}
            _put(connection, findings, row)

    def finding(self, connection: sa.Connection, name: str) -> dict[str, Any] | None:
        """What was computed last, with the time in `made`; None if nothing was."""
        row = connection.execute(sa.select(findings).where(findings.c.name == name)).first()
        return None if row is None else {**json.loads(row.value), "made": row.made}


# ---- what it holds, counted ------------------------------------------------------------------------------------------


def study_status(connection: sa.Connection) -> dict[str, Any]:
    """Count participants and answers.

    `present` were seen within five minutes; `per_minute` counts answers in the last 60 minutes, the oldest first.
    """
    now = time.time()
    people = sa.select(
        sa.func.count(),
        sa.func.count().filter(participants.c.answered >= participants.c.total),
        sa.func.count().filter(participants.c.seen > now - _PRESENT),
        sa.func.coalesce(sa.func.sum(participants.c.answered), 0),
    )
    n_people, finished, present, n_answers = connection.execute(people).one()
    minute = sa.cast(sa.func.floor((now - answers.c.answered) / 60), sa.Integer)
    recent = sa.select(minute.label("ago"), sa.func.count()).where(answers.c.answered > now - 3600).group_by("ago")
    counts = dict(connection.execute(recent).all())
    return {
        "participants": n_people,
        "finished": finished,
        "present": present,
        "answers": n_answers,
        "answers_last_minute": counts.get(0, 0),
        "cannot_tell": Store.count(connection, answers, answers.c.choice.is_(None)),
        "questions_open": Store.count(connection, questions) - n_answers,
        "questions_ready": Store.count(connection, ready),
        "paused": Store.value(connection, "paused") == "1",
        "per_minute": [counts.get(ago, 0) for ago in range(59, -1, -1)],
    }


def participant_table(connection: sa.Connection) -> list[dict[str, Any]]:
    """Progress of each participant, and what can be told about the quality of the answers without a map."""
    both = questions.join(answers, answers.c.question == questions.c.id)
    checked = sa.select(questions.c.participant, questions.c.expected, answers.c.choice).select_from(both)
    asked, right = Counter[int](), Counter[int]()
    for person, expected, choice in connection.execute(checked.where(questions.c.expected.is_not(None))):
        asked[person] += 1
        right[person] += choice is not None and json.loads(choice)[0] == expected
    return [
        {
            "participant": row.name,
            "answered": row.answered,
            "total": row.total,
            "visits": row.visits,
            "started": row.started,
            "seen": row.seen,
            "catch_right": right[row.id],
            "catch_asked": asked[row.id],
        }
        for row in connection.execute(sa.select(participants).order_by(participants.c.id))
    ]


# ---- how it is opened and written ------------------------------------------------------------------------------------


def _put(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> None:
    """Write a row, in place of the one with the same key."""
    statement = insert(connection, table).values(row)
    new = {name: statement.excluded[name] for name in row}
    connection.execute(statement.on_conflict_do_update(index_elements=table.primary_key, set_=new))


def reason(error: Exception) -> str:
    """The first line of what a database says, of an error of its driver or of SQLAlchemy around it."""
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
    connection.isolation_level = None  # transactions begin where we say so
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer asks for the right to write at once: asking half-way could fail.
    connection.exec_driver_sql(connection.get_execution_options().get("nearer_begin", "BEGIN IMMEDIATE"))
