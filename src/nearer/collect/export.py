"""Answers as a CSV file that `nearer fit` reads, and the whole database as a copy."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from nearer.collect.asking import parted
from nearer.collect.store import Store, answers, items, participants, questions, tables
from nearer.collect.study import Questions
from nearer.io.files import part_name, remove_leftovers
from nearer.io.text import text_cells

_DETAILS = ("participant", "side", "seconds", "order", "catch", "correct", "chosen_by", "answered_at")


@dataclass
class Export:
    """The answers of a study, row by row, with a count of what is left out; complete when all rows were read.

    Questions of other kinds, or with other numbers of options, asked before the study was changed, are left out.
    """

    store: Store
    asked: Questions
    left_out: dict[str, int] = field(default_factory=dict)
    n_rows: int = 0

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        ranks = (f"rank_{number + 1}" for number in range(self.asked.n_shown))
        choose = ["head", *ranks, "n_chosen", "ordered"]
        about = {"triplet": ["head", "near", "far"], "odd": ["a", "b", "c", "odd"], "choose": choose}
        return [*about[self.asked.kind], *_DETAILS]

    def rows(self) -> Iterator[list[str]]:
        """Cells of each answer, in the order in which the questions were handed out."""
        self.left_out, self.n_rows = {}, 0
        both = questions.join(answers, answers.c.question == questions.c.id)
        both = both.join(participants, participants.c.id == questions.c.participant)
        wanted: list[Any] = [
            questions, answers.c.choice, answers.c.seconds, answers.c.answered, participants.c.name.label("person"),
        ]  # fmt: skip
        statement = sa.select(*wanted).select_from(both).order_by(questions.c.id)
        with self.store.reading() as connection:
            names = {row.id: row.name for row in connection.execute(sa.select(items))}
            for row in connection.execution_options(yield_per=2000).execute(statement):
                shown = json.loads(row.shown)
                why = self._unfit(row, shown)
                if why:
                    self.left_out[why] = self.left_out.get(why, 0) + 1
                    continue
                self.n_rows += 1
                yield _cells(row, [names[number] for number in shown], json.loads(row.choice))

    def lines(self) -> Iterator[str]:
        """Lines of a CSV file, the names of the columns first; what a spreadsheet could run as a formula is guarded."""
        yield ",".join(self.columns) + "\n"
        for cells in self.rows():
            yield ",".join(text_cells(cells, "cell")) + "\n"

    def blocks(self, size: int = 500) -> Iterator[str]:
        """The same, many lines at a time."""
        lines = self.lines()
        while block := list(itertools.islice(lines, size)):
            yield "".join(block)

    def _unfit(self, row: Any, shown: list[int]) -> str:
        if row.kind != self.asked.kind:
            return f"a question of another kind ({row.kind})"
        if row.choice is None:
            return "cannot tell"
        if self.asked.kind == "choose" and len(shown) != self.asked.n_items:
            return f"a question with {len(shown) - 1} options instead of {self.asked.n_shown}"
        if len(set(shown)) < len(shown):
            return "a catch question that shows an object twice"
        return ""


def _cells(row: Any, shown: list[str], choice: list[int]) -> list[str]:
    head, options = parted(row.kind, shown)
    chosen = [options[number] for number in choice]
    if row.kind == "odd":
        about = [*shown, *chosen]
    else:
        about = [*head, *chosen, *(name for number, name in enumerate(options) if number not in choice)]
    if row.kind == "choose":
        about += [str(row.n_chosen), str(bool(row.ordered)).lower()]
    catch = row.expected is not None
    return [
        *about,
        row.person,
        str(choice[0]),
        "" if row.seconds is None else f"{row.seconds:.3f}",
        str(row.position),
        str(catch).lower(),
        str(choice[0] == row.expected).lower() if catch else "",
        row.chosen_by,
        datetime.fromtimestamp(row.answered, timezone.utc).isoformat(timespec="milliseconds"),
    ]


def back_up(store: Store, path: str | os.PathLike[str]) -> int:
    """Copy everything, as it is at one moment, into a new SQLite file; works while the study is served.

    The copy can be served: ``--database sqlite:///copy.db``. Returns how many answers it holds.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path}: exists already; choose another name")
    remove_leftovers(path.parent)
    part = path.with_name(part_name(path))
    try:
        copy = Store(f"sqlite:///{part}", create=True)
        # The last to leave puts the log into the file.
        with contextlib.closing(copy), store.reading() as source, copy.writing() as target:
            for table in tables.sorted_tables:
                target.execute(sa.delete(table))
                for block in source.execution_options(yield_per=2000).execute(sa.select(table)).partitions():
                    target.execute(sa.insert(table), [dict(row._mapping) for row in block])
            count = Store.count(target, answers)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.link(part, path)  # refuses what has appeared meanwhile, as a rename would not
    finally:
        for ending in ("", "-wal", "-shm"):
            Path(f"{part}{ending}").unlink(missing_ok=True)
    return count
