"""What a participant may do: begin, get questions, answer. Each is a piece of work on an open transaction."""

from __future__ import annotations

import functools
import json
import time
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from nearer.collect.asking import Asked, Dealer, plan
from nearer.collect.batches import Refusal
from nearer.collect.store import Prepared, Store, answers, insert, participants, questions, ready
from nearer.collect.study import Study
from nearer.collect.tokens import Signer
from nearer.data.columns import MISSING

__all__ = ["AHEAD", "Desk"]

AHEAD = 2
"""Open questions that a participant holds: the one on the screen, and the next, already loaded."""
_TRIES = 12
_PAUSE_KNOWN = 1.0  # seconds that the state of the study is remembered
_PERSON, _QUESTION = "participant", "question"
_MAX_ID = 200


class Desk:
    """Hands out questions and takes answers.

    Parameters
    ----------
    study : Study
    store : Store
    seed : int, optional
        Of the random questions, for tests.
    """

    def __init__(self, study: Study, store: Store, seed: int | None = None):
        self.study, self.store = study, store
        self.signer = Signer(store.secret)
        self.numbers = store.number_items([item.name for item in study.items])
        self.names = {number: name for name, number in self.numbers.items()}
        self.by_number = {self.numbers[item.name]: item for item in study.items}
        catches = [tuple(self.numbers[name] for name in row) for row in study.questions.catch_questions]
        self.dealer = Dealer(study.questions, list(self.by_number), catches, seed)
        self._paused, self._asked_at = False, 0.0
        self._sql = _Statements(store.engine)
        self._plan = functools.lru_cache(maxsize=5000)(self._make_plan)

    # ---- what a request asks for -------------------------------------------------------------------------------------

    def start(self, connection: sa.Connection, name: str) -> dict[str, Any]:
        """Begin, or go on where a participant stopped.

        Parameters
        ----------
        connection : sqlalchemy.Connection
        name : str
            The participant's id.

        Returns
        -------
        dict
            As `next` gives it, and `participant`, the token that stands for the participant from now on.
        """
        name = name.strip()
        if not 0 < len(name) <= _MAX_ID or not name.isprintable() or name in MISSING:
            raise Refusal(
                422, f"participant: got {name[:20]!r}, expected 1 to {_MAX_ID} printable characters, and no NA"
            )
        now = time.time()
        fresh = {"name": name, "started": now, "seen": now, "visits": 0, "answered": 0}
        fresh["total"] = self.study.questions.number
        self._sql.add_person(connection, **fresh)
        row = self._sql.visit(connection, person=name).one()
        return {"participant": self.signer.sign(row.id, _PERSON), **self._state(connection, row)}

    def next(self, connection: sa.Connection, token: object) -> dict[str, Any]:
        """Progress and open questions of a participant.

        Parameters
        ----------
        connection : sqlalchemy.Connection
        token : str
            The participant's.

        Returns
        -------
        dict
            `answered`, `total`, `paused`, `finished`, `questions` (at most `AHEAD`), and `completion` at the end.
        """
        return self._state(connection, self._person(connection, self.participant(token)))

    def answer(
        self, connection: sa.Connection, token: object, question: object, choice: Any, seconds: Any
    ) -> dict[str, Any]:
        """Store an answer, once, and give the next question.

        Parameters
        ----------
        connection : sqlalchemy.Connection
        token, question : str
            The participant's token, and the question's id.
        choice : list of int, or None
            Options chosen, counted from 0 as they stand on the screen, the nearest first; None: cannot tell.
        seconds : float, or None
            How long it took.

        Returns
        -------
        dict
            As `next`, and `stored`: False if the question had been answered before, and this answer was not needed.
        """
        person = self.participant(token)
        number = self.signer.number(question, f"{_QUESTION}:{person}")
        if number is None:
            raise Refusal(403, "question: is no question of this participant")
        row = self._sql.question(connection, number=number).first()
        if row is None or row.participant != person:
            raise Refusal(404, "question: is not known")
        chosen = self._choice(row, choice)
        now = time.time()
        made = {"question": number, "choice": chosen, "seconds": _seconds(seconds), "answered": now}
        if self._sql.add_answer(connection, **made).first() is None:
            return {"stored": False, **self._state(connection, self._person(connection, person))}
        state = self._sql.count(connection, person=person, now=now).one()
        return {"stored": True, **self._state(connection, state)}

    def participant(self, token: object) -> int:
        """The number of a participant, from the token.

        Parameters
        ----------
        token : str

        Returns
        -------
        int
        """
        number = self.signer.number(token, _PERSON)
        if number is None:
            raise Refusal(403, "participant: is not known; begin again by /api/start")
        return number

    def practice(self) -> dict[str, Any] | None:
        """A question that does not count, or None if the study has none."""
        asked = self.study.questions
        if not asked.practice:
            return None
        if asked.practice_question:
            items = tuple(self.numbers[name] for name in asked.practice_question)
        else:
            items = self.dealer.random().items
        return self._for_page(asked.kind, asked.n_chosen, asked.ordered, items)

    # ---- how ---------------------------------------------------------------------------------------------------------

    def _person(self, connection: sa.Connection, number: int) -> Any:
        row = self._sql.person(connection, number=number).first()
        if row is None:
            raise Refusal(404, "participant: is not known; begin again by /api/start")
        return row

    def _choice(self, row: Any, choice: Any) -> str | None:
        if choice is None:
            if not self.study.questions.cannot_tell:
                raise Refusal(422, "choice: got null, expected a choice: this study has no 'cannot tell'")
            return None
        n_options = len(json.loads(row.shown)) - (row.kind != "odd")
        whole = isinstance(choice, list) and all(type(one) is int and 0 <= one < n_options for one in choice)
        if not whole or len(choice) != row.n_chosen or len(set(choice)) < len(choice):
            raise Refusal(
                422, f"choice: expected a list of {row.n_chosen} different whole numbers from 0 to {n_options - 1}"
            )
        return json.dumps(choice)

    def _state(self, connection: sa.Connection, person: Any) -> dict[str, Any]:
        paused = self.is_paused(connection)
        shown: list[dict[str, Any]] = []
        for _ in range(3):
            if person.answered >= person.total or paused:
                break
            shown = self._open(connection, person)
            if shown:
                break
            # Another tab answered the last ones, at another server, between two of our queries.
            person = self._person(connection, person.id)
        finished = person.answered >= person.total
        state = {"answered": person.answered, "total": person.total, "paused": paused, "finished": finished}
        if finished:
            # Ids in an address are escaped: they must not add to it.
            link = self.study.completion.link.replace("{participant}", quote(person.name, safe=""))
            state["completion"] = {"link": link, "code": self.study.completion.code}
        return {**state, "questions": [] if finished else shown}

    def is_paused(self, connection: sa.Connection) -> bool:
        """Whether the study hands out no questions at the moment; known for a second."""
        now = time.monotonic()
        if now - self._asked_at > _PAUSE_KNOWN:
            self._paused, self._asked_at = self.store.value(connection, "paused") == "1", now
        return self._paused

    def _open(self, connection: sa.Connection, person: Any) -> list[dict[str, Any]]:
        """The first open questions of a participant, as many as there may be."""
        found = self._sql.unanswered(connection, person=person.id).all()
        # What was handed out and not answered stands behind what was answered.
        handed = person.answered + len(found)
        wanted = min(AHEAD - len(found), person.total - handed)
        if wanted > 0:
            made = [self._hand_out(connection, person, handed + 1 + more) for more in range(wanted)]
            found = [*found, *made] if all(made) else self._sql.unanswered(connection, person=person.id).all()
        return [
            {
                "id": self.signer.sign(row.id, f"{_QUESTION}:{person.id}"),
                "position": row.position,
                **self._for_page(row.kind, row.n_chosen, row.ordered, json.loads(row.shown)),
            }
            for row in found[:AHEAD]
        ]

    def _make_plan(self, person: int, total: int) -> list[str]:
        return plan(self.study.questions, total, f"{self.store.secret.hex()}:{person}")

    def _hand_out(self, connection: sa.Connection, person: Any, position: int) -> Any:
        """Write down a new question; None if another server did so for the same position meanwhile."""
        slot = self._plan(person.id, person.total)[position - 1]
        for attempt in range(_TRIES + 1):
            asked = self._choose(connection, person.id, slot if attempt < 3 else "random", attempt == _TRIES)
            if asked is None:
                continue
            row = self._sql.add_question(connection, **self._row(person.id, position, asked)).first()
            if row is not None:
                return row
            taken = (questions.c.participant == person.id) & (questions.c.position == position)
            if connection.scalar(sa.select(questions.c.id).where(taken)) is not None:
                return None
        raise Refusal(409, "questions: there is none left that this participant has not seen")

    def _choose(self, connection: sa.Connection, person: int, slot: str, surely_new: bool) -> Asked | None:
        if surely_new:
            return self.dealer.other_than(self._seen(connection, person))
        if slot == "catch":
            # A study has few of its own: drawn blindly, one that was asked would come again.
            return self.dealer.catch(self._seen(connection, person) if self.dealer.catches else ())
        if slot == "repeat":
            return self._repeat(connection, person)
        if slot == "ready":
            return self._take_ready(connection, person)
        return self.dealer.random()

    @staticmethod
    def _seen(connection: sa.Connection, person: int) -> set[str]:
        return set(connection.scalars(sa.select(questions.c.key).where(questions.c.participant == person)))

    def _row(self, person: int, position: int, asked: Asked) -> dict[str, Any]:
        about = self.study.questions
        return {
            "participant": person, "position": position, "kind": about.kind, "n_chosen": about.n_chosen,
            "ordered": about.ordered, "shown": asked.text, "key": asked.key, "chosen_by": asked.chosen_by,
            "expected": asked.expected, "asked": time.time(),
        }  # fmt: skip

    def _repeat(self, connection: sa.Connection, person: int) -> Asked | None:
        """A random question that somebody else was asked: from a random place of the table on, the first."""
        last = self._sql.last_question(connection).scalar() or 0
        from_here = self.dealer.rng.randint(1, max(last, 1))
        kind = self.study.questions.kind
        found = self._sql.repeat(connection, person=person, kind=kind, from_here=from_here).scalar()
        return self._known(found, "repeat")

    def _take_ready(self, connection: sa.Connection, person: int) -> Asked | None:
        """The first question of the queue that this participant has not seen; it leaves the queue."""
        found = self._sql.take_ready(connection, person=person).first()
        return None if found is None else self._known(found.shown, found.chosen_by)

    def _known(self, text: str | None, chosen_by: str) -> Asked | None:
        """A stored question, if its objects are still asked about, and as many as now."""
        items = [] if text is None else json.loads(text)
        if len(items) != self.study.questions.n_items or not all(number in self.by_number for number in items):
            return None
        return self.dealer.again(items, chosen_by)

    def _for_page(self, kind: str, n_chosen: int, ordered: bool, items: Any) -> dict[str, Any]:
        shown = [self._item(number) for number in items]
        head = None if kind == "odd" else shown[0]
        options = shown if kind == "odd" else shown[1:]
        return {"kind": kind, "choose": n_chosen, "ordered": bool(ordered), "head": head, "options": options}

    def _item(self, number: int) -> dict[str, Any]:
        item = self.by_number.get(number)
        if item is None:  # taken out of the study after the question was handed out
            return {"name": (name := self.names[number]), "form": "text", "text": name, "alt": name}
        if item.form == "text":
            return {"name": item.name, "form": "text", "text": str(item.content), "alt": item.alt}
        return {"name": item.name, "form": item.form, "url": f"items/{number}", "alt": item.alt}


class _Statements:
    """All that is asked of the database for each request."""

    def __init__(self, engine: sa.Engine):
        def made(statement: Any, columns: Any = ()) -> Prepared:
            return Prepared(engine, statement, columns)

        def added(table: sa.Table, columns: list[str]) -> Prepared:
            statement = insert(engine, table).on_conflict_do_nothing()
            return made(statement.returning(table), columns)

        given, person = sa.bindparam, questions.c.participant == sa.bindparam("person")
        self.add_person = added(participants, ["name", "started", "seen", "visits", "total", "answered"])
        self.add_answer = added(answers, [column.name for column in answers.c])
        self.add_question = added(questions, [column.name for column in questions.c if column.name != "id"])
        self.person = made(sa.select(participants).where(participants.c.id == given("number")))
        self.question = made(sa.select(questions).where(questions.c.id == given("number")))
        visits = {"visits": participants.c.visits + 1}
        counts = {"answered": participants.c.answered + 1, "seen": given("now")}
        by_name, by_number = participants.c.name == given("person"), participants.c.id == given("person")
        self.visit = made(sa.update(participants).where(by_name).values(visits).returning(participants))
        self.count = made(sa.update(participants).where(by_number).values(counts).returning(participants))
        both = questions.outerjoin(answers, answers.c.question == questions.c.id)
        mine = person & answers.c.question.is_(None)
        open_ones = sa.select(questions).select_from(both).where(mine).order_by(questions.c.position)
        self.unanswered = made(open_ones)
        self.last_question = made(sa.select(sa.func.max(questions.c.id)))
        fits = (questions.c.chosen_by == "random") & (questions.c.participant != given("person"))
        fits &= (questions.c.kind == given("kind")) & (questions.c.id >= given("from_here"))
        self.repeat = made(sa.select(questions.c.shown).where(fits).order_by(questions.c.id).limit(1))
        queue = ready.alias()
        seen = sa.select(questions.c.id).where(person & (questions.c.key == queue.c.key))
        first = sa.select(queue.c.id).where(~seen.exists()).order_by(queue.c.id).limit(1)
        first = first.with_for_update(skip_locked=True)  # two servers take different ones
        taken = sa.delete(ready).where(ready.c.id == first.scalar_subquery())
        self.take_ready = made(taken.returning(ready.c.shown, ready.c.chosen_by))


def _seconds(value: Any) -> float | None:
    """A time that makes sense, or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e6:
        return float(value)
    return None
