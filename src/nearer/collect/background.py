"""The background process: the map, the quality of participants and the queue of adaptive questions.

Without it, the server asks random questions. Of several background processes for a PostgreSQL database only one
computes; another takes over when it ends.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
import warnings
from collections.abc import Iterator

import numpy as np
import sqlalchemy as sa

from nearer.collect.desk import question_key
from nearer.collect.server import read_options
from nearer.collect.store import Export, Row, Store, answers, ready, reason
from nearer.collect.study import Study, n_questions, read_study
from nearer.data import Comparisons
from nearer.data.splits import answer_of_rows
from nearer.estimator import OrdinalEmbedding
from nearer.io import read_comparisons
from nearer.people import participants
from nearer.questions import suggest
from nearer.selection import evaluate, learning_curve

_LOCK = 0x6E656173
_PAUSE = 2.0  # seconds between polls
_SOON, _GROWTH = 10, 1.05  # a new round needs 10 more answers and 5 % more
_LOW = 100  # questions in the queue
_FOLDS = 3
_SECONDS = 20.0  # for one fit
_LEAST = 30  # answers before anything is fitted
_QUEUE, _LARGEST = 400, 2000  # questions in a plan, at first and at most


class Background:
    def __init__(self, study: Study, store: Store):
        self.study, self.store = study, store
        self._done, self._forecast_at, self._round = -1, 0, 0
        self._stock, self._lasted = 0, 0.0

    def due(self) -> bool:
        """Whether enough answers are new, or the queue is low."""
        with self.store.reading() as connection:
            count, waiting = Store.count(connection, answers), Store.count(connection, ready)
        if self._done < 0 or count >= max(self._done + _SOON, _GROWTH * self._done):
            return True
        low = max(min(_LOW, queue_size(self.study) // 2), self._stock // 2)
        return waiting < low and count > self._done

    def report(self) -> None:
        """Store a sign of life, for the researcher's page."""
        self.store.keep("background", {"seen": time.time()})

    def round(self) -> None:
        """Compute everything again, the questions first."""
        self._round += 1
        began = time.monotonic()
        data = read_answers(self.study, self.store)
        with self.store.reading() as connection:
            self._done = Store.count(connection, answers)
            per_second = Store.count(connection, answers, answers.c.answered > time.time() - 60) / 60
        # Enough for twice the time of a round, at the present rate.
        self._stock = math.ceil(2 * (self._lasted + _PAUSE) * per_second)
        fill_queue(self.study, self.store, data, self._round, self._stock)
        self.report()
        if data is None:
            return
        for name, judge in (("people", judge_people), ("map", judge_map)):
            self.store.keep(name, judge(self.study, data))
            self.report()
        if self._done >= 1.3 * self._forecast_at:
            self._forecast_at = self._done
            self.store.keep("forecast", forecast(self.study, data))
        self._lasted = time.monotonic() - began


@contextlib.contextmanager
def the_only_one(store: Store) -> Iterator[sa.Connection | None]:
    """Hold the lock of the background process: a connection to PostgreSQL; None for SQLite.

    PostgreSQL releases it when the connection ends. SQLite has one server, hence one background process.
    """
    if store.is_sqlite:
        yield None
        return
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_LOCK))):
            time.sleep(_PAUSE)
        yield connection


def read_answers(study: Study, store: Store, condition: str = "") -> Comparisons | None:
    """All answers, or those of a condition; None if there are only answers to attention checks."""
    export = Export(store, study)
    rows = [row for row in export.rows() if condition in ("", row[-1])]
    if all(row[export.columns.index("catch")] == "true" for row in rows):
        return None
    table = dict(zip(export.columns, map(list, zip(*rows))))
    for name in ("answered_at", "condition"):
        table.pop(name, None)
    shown = (name for row in rows for name in row[: study.questions.n_items])
    labels = list(dict.fromkeys([*(item.name for item in study.items), *shown]))
    return read_comparisons(table, labels=labels).comparisons


def judge_map(study: Study, data: Comparisons) -> Row:
    """A map and its accuracy, measured on random questions: adaptive ones are a biased sample."""
    found: Row = {"made": time.time(), "n_rows": len(data), "labels": [], "embedding": [], "n_held_out": 0}
    found |= dict.fromkeys(("accuracy", "accuracy_se", "ceiling", "ceiling_low", "n_repeated"))
    if len(data) < _LEAST:
        return found
    model = _estimator(study).fit(data)
    seen = ~np.isnan(model.embedding_).any(axis=1)
    found["labels"] = data.labels[seen].tolist()  # type: ignore[index]
    found["embedding"] = np.round(model.embedding_[seen], 5).tolist()
    answer = answer_of_rows(data)
    n_random = len(np.unique(answer if data.at_random is None else answer[data.at_random]))
    known = evaluate(model, data, cv=_FOLDS if n_random >= _LEAST else 0, bootstrap=0, people=False)
    if known.held_out is not None:
        found |= {"accuracy": known.held_out, "accuracy_se": known.standard_error, "n_held_out": n_random}
    if not known.ceiling_is_rough:
        found |= {"ceiling": known.ceiling, "ceiling_low": known.ceiling_low}
    return found | {"n_repeated": known.ceiling_questions}


def _estimator(study: Study) -> OrdinalEmbedding:
    dimensions = study.questions.map_dimensions
    return OrdinalEmbedding(dimensions, loss="tste", random_state=0, max_seconds=_SECONDS, n_jobs=1)


def forecast(study: Study, data: Comparisons) -> Row | None:
    """Predicted accuracy with twice as many answers, and its 90 % interval; None if there are too few."""
    if (len(data) if data.at_random is None else data.at_random.sum()) < 10 * _LEAST:
        return None
    curve = learning_curve(_estimator(study), data, n_repeats=4, random_state=0, n_jobs=1)
    more = curve.predict(2 * int(curve.n_comparisons[-1]))
    found = {"n_rows": len(data), "now": curve.accuracy[-1], "doubled": more.estimate, "low": more.low}
    return {name: float(value) for name, value in found.items()} | {"high": float(more.high), "early": curve.early}


def judge_people(study: Study, data: Comparisons) -> dict[str, Row]:
    """The table of `nearer.people.participants`, by participant; None: not known."""
    assert data.people is not None
    if len(data) < _LEAST:
        return {}
    table = participants(data, n_jobs=1).table()
    table = json.loads(json.dumps(table), parse_constant=lambda _: None)  # NaN: not known
    names = table.pop("participant")
    return {str(name): {column: table[column][row] for column in table} for row, name in enumerate(names)}


def fill_queue(study: Study, store: Store, data: Comparisons | None, seed: int, stock: int = 0) -> None:
    """Replace the queue with the most informative questions, each several times if that makes `stock`."""
    size = queue_size(study, stock)
    if not size:
        return
    names = [item.name for item in study.items]
    gone = [] if data is None else [label for label in data.labels.tolist() if label not in set(names)]  # type: ignore[union-attr]
    chosen = suggest(
        data, size, random_share=0, objects=names, exclude=gone or None,
        kind=study.questions.kind, n_components=study.questions.map_dimensions, random_state=seed, n_jobs=1,
    )  # fmt: skip
    assert chosen.labels is not None
    rows = []
    for row, strategy in zip(chosen.labels[chosen.index].tolist(), chosen.strategy.tolist()):
        rows.append({"shown": json.dumps(row), "key": question_key(study.questions.kind, row), "chosen_by": strategy})
    with store.writing() as connection:
        connection.execute(sa.delete(ready))
        connection.execute(sa.insert(ready), rows * max(1, math.ceil(stock / size)))


def queue_size(study: Study, stock: int = 0) -> int:
    """Different questions in a full queue; 0 if the study is not adaptive."""
    if not study.questions.adaptive:
        return 0
    return max(1, min(max(_QUEUE, stock), _LARGEST, n_questions(study.questions, len(study.items)) // 2))


def main() -> None:
    """Compute as a process under `nearer.collect.server.Supervisor`."""
    options = read_options()
    warnings.simplefilter("ignore")  # of objects without answers, of few questions left
    if hasattr(os, "nice"):
        os.nice(19)  # the server has priority
    study = read_study(options["study"])
    try:
        store = Store(options["database"])
        work = Background(study, store)
        with the_only_one(store) as lock:
            while lock is None or lock.scalar(sa.select(1)):  # fails when the lock is lost
                if work.due():
                    work.round()
                work.report()
                time.sleep(_PAUSE)
    except sa.exc.SQLAlchemyError as error:
        raise SystemExit(f"the database does not respond: {reason(error)}") from None


if __name__ == "__main__":
    main()
