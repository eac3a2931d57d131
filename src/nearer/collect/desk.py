"""What a participant may do: begin, get questions, answer. Each is a piece of work for `nearer.collect.batches`."""

from __future__ import annotations

import functools
import json
import time
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from nearer.collect.asking import Asked, Dealer, plan
from nearer.collect.batches import Refusal, Work
from nearer.collect.store import Prepared, Store, answers, insert, meta, participants, questions, ready
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

    def start(self, name: str) -> Work[dict[str, Any]]:
        """Begin, or go on where a participant stopped.

        Parameters
        ----------
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
        yield self._sql.add_person(**fresh)
        [person] = yield self._sql.visit(person=name)
        return {"participant": self.signer.sign(person.id, _PERSON), **(yield from self._state(person))}

    def next(self, token: object) -> Work[dict[str, Any]]:
        """Progress and open questions of a participant.

        Parameters
        ----------
        token : str
            The participant's.

        Returns
        -------
        dict
            `answered`, `total`, `paused`, `finished`, `questions` (at most `AHEAD`), and `completion` at the end.
        """
        person = yield from self._person(self.participant(token))
        return (yield from self._state(person))

    def answer(self, token: object, question: object, choice: Any, seconds: Any) -> Work[dict[str, Any]]:
        """Store an answer, once, and give the next question.

        Parameters
        ----------
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
        found = yield self._sql.question(number=number, person=person)
        if not found:
            raise Refusal(404, "question: is not known")
        made = {"question": number, "choice": self._choice(found[0], choice), "seconds": _seconds(seconds)}
        now = time.time()
        if not (yield self._sql.add_answer(**made, answered=now)):
            return {"stored": False, **(yield from self._state((yield from self._person(person))))}
        [counted] = yield self._sql.count(person=person, now=now)
        return {"stored": True, **(yield from self._state(counted))}

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

    def alive(self) -> Work[bool]:
        """Whether the database answers, and can be written to."""
        return bool((yield self._sql.setting(name="schema")))

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

    def _person(self, number: int) -> Work[Any]:
        found = yield self._sql.person(number=number)
        if not found:
            raise Refusal(404, "participant: is not known; begin again by /api/start")
        return found[0]

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

    def _state(self, person: Any) -> Work[dict[str, Any]]:
        paused = yield from self._is_paused()
        shown: list[dict[str, Any]] = []
        for _ in range(3):
            if person.answered >= person.total or paused:
                break
            shown = yield from self._open(person)
            if shown:
                break
            # Another tab answered the last ones, at another server, between two of our queries.
            person = yield from self._person(person.id)
        finished = person.answered >= person.total
        state = {"answered": person.answered, "total": person.total, "paused": paused, "finished": finished}
        if finished:
            # Ids in an address are escaped: they must not add to it.
            link = self.study.completion.link.replace("{participant}", quote(person.name, safe=""))
            state["completion"] = {"link": link, "code": self.study.completion.code}
        return {**state, "questions": [] if finished else shown}

    def _is_paused(self) -> Work[bool]:
        """Whether the study hands out no questions at the moment; known for a second."""
        now = time.monotonic()
        if now - self._asked_at > _PAUSE_KNOWN:
            found = yield self._sql.setting(name="paused")
            self._paused, self._asked_at = found == [("1",)], now
        return self._paused

    def _open(self, person: Any) -> Work[list[dict[str, Any]]]:
        """The first open questions of a participant, as many as there may be."""
        found = yield self._sql.unanswered(person=person.id)
        # What was handed out and not answered stands behind what was answered.
        handed = person.answered + len(found)
        wanted = min(AHEAD - len(found), person.total - handed)
        if wanted > 0:
            made = []
            for more in range(wanted):
                made.append((yield from self._hand_out(person, handed + 1 + more)))
            found = [*found, *made] if all(made) else (yield self._sql.unanswered(person=person.id))
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

    def _hand_out(self, person: Any, position: int) -> Work[Any]:
        """Write down a new question; None if another server did so for the same position meanwhile."""
        slot = self._plan(person.id, person.total)[position - 1]
        for attempt in range(_TRIES + 1):
            asked = yield from self._choose(person.id, slot if attempt < 3 else "random", attempt == _TRIES)
            if asked is None:
                continue
            added = yield self._sql.add_question(**self._row(person.id, position, asked))
            if added:
                return added[0]
            if (yield self._sql.taken(person=person.id, position=position)):
                return None
        raise Refusal(409, "questions: there is none left that this participant has not seen")

    def _choose(self, person: int, slot: str, surely_new: bool) -> Work[Asked | None]:
        if surely_new:
            return self.dealer.other_than((yield from self._seen(person)))
        if slot == "catch":
            # A study has few of its own: drawn blindly, one that was asked would come again.
            return self.dealer.catch((yield from self._seen(person)) if self.dealer.catches else ())
        if slot == "repeat":
            return (yield from self._repeat(person))
        if slot == "ready":
            return (yield from self._take_ready(person))
        return self.dealer.random()

    def _seen(self, person: int) -> Work[set[str]]:
        return {row.key for row in (yield self._sql.seen(person=person))}

    def _row(self, person: int, position: int, asked: Asked) -> dict[str, Any]:
        about = self.study.questions
        return {
            "participant": person, "position": position, "kind": about.kind, "n_chosen": about.n_chosen,
            "ordered": about.ordered, "shown": asked.text, "key": asked.key, "chosen_by": asked.chosen_by,
            "expected": asked.expected, "asked": time.time(),
        }  # fmt: skip

    def _repeat(self, person: int) -> Work[Asked | None]:
        """A random question that somebody else was asked: from a random place of the table on, the first."""
        [(last,)] = yield self._sql.last_question()
        from_here = self.dealer.rng.randint(1, max(last or 0, 1))
        kind = self.study.questions.kind
        found = yield self._sql.repeat(person=person, kind=kind, from_here=from_here)
        return self._known(found[0].shown, "repeat") if found else None

    def _take_ready(self, person: int) -> Work[Asked | None]:
        """The first question of the queue that this participant has not seen; it leaves the queue."""
        found = yield self._sql.take_ready(person=person)
        return self._known(found[0].shown, found[0].chosen_by) if found else None

    def _known(self, text: str, chosen_by: str) -> Asked | None:
        """A stored question, if its objects are still asked about, and as many as now."""
        items = json.loads(text)
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
        self.question = made(sa.select(questions).where(questions.c.id == given("number"), person))
        self.taken = made(sa.select(questions.c.id).where(questions.c.position == given("position"), person))
        self.seen = made(sa.select(questions.c.key).where(person))
        self.setting = made(sa.select(meta.c.value).where(meta.c.key == given("name")))
        visits = {"visits": participants.c.visits + 1}
        counts = {"answered": participants.c.answered + 1, "seen": given("now")}
        by_name, by_number = participants.c.name == given("person"), participants.c.id == given("person")
        self.visit = made(sa.update(participants).where(by_name).values(visits).returning(participants))
        self.count = made(sa.update(participants).where(by_number).values(counts).returning(participants))
        both = questions.outerjoin(answers, answers.c.question == questions.c.id)
        mine = person & answers.c.question.is_(None)
        open_ones = sa.select(questions).select_from(both).where(mine).order_by(questions.c.position)
        self.unanswered = made(open_ones)
        self.last_question = made(sa.select(sa.func.max(questions.c.id).label("last")))
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
