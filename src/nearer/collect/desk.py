"""The participant's side of a study (start, next, answer), as work for `nearer.collect.store.Batches`."""

from __future__ import annotations

import base64
import functools
import hmac
import itertools
import json
import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from starlette.exceptions import HTTPException

from nearer.collect.store import Prepared, Store, Work, answers, insert, meta, participants, questions, ready
from nearer.collect.study import Item, QuestionSettings, Study, n_questions, parted
from nearer.data import is_number

AHEAD = 2  # open questions of a participant: the one on the screen and a preloaded one
_TRIES = 12
_BACK = 2  # answered positions searched for open questions first
PERSON, _QUESTION = "participant", "question"  # purposes of signatures
_MAX_ID = 200
_ASKED = [column.name for column in questions.c if column.name != "id"]


@dataclass(frozen=True)
class Asked:
    """A question to hand out."""

    items: tuple[int, ...]  # numbers of the objects: the head (unless "odd-one-out"), then the options, left to right
    key: str  # the same for the same question in another order
    chosen_by: str  # "random", "catch", "repeat", or the name of a strategy
    expected: int | None = None  # the right option of a catch question


def question_key(kind: str, items: Sequence[int], catch: bool = False) -> str:
    """A text that is equal for equal questions; attention checks have keys of their own."""
    head, options = parted(kind, items)
    return ("c" if catch else kind[0]) + "-".join(map(str, head + sorted(options)))


class Deck:
    """Deals objects in shuffled rounds, so that their counts differ by at most one."""

    def __init__(self, cards: Sequence[int], rng: random.Random):
        self._cards, self._rng = list(cards), rng
        self._left: list[int] = []

    def deal(self, without: Sequence[int] = ()) -> int:
        """The next object that is not in `without`."""
        for k in range(len(self._left) - 1, -1, -1):
            if self._left[k] not in without:
                return self._left.pop(k)
        # All cards left are excluded: they stay on top of the next round.
        fresh = list(self._cards)
        self._rng.shuffle(fresh)
        self._left = fresh + self._left
        return self.deal(without)


@dataclass
class Dealer:
    """Makes questions about objects, given by number."""

    asked: QuestionSettings
    numbers: Sequence[int]
    catches: Sequence[tuple[int, ...]] = ()  # attention checks: head, right, wrong, or the odd one last
    seed: int | None = None

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self._heads, self._options = Deck(self.numbers, self.rng), Deck(self.numbers, self.rng)

    def random(self) -> Asked:
        """A random question; all objects occur equally often."""
        items = [] if self.asked.kind == "odd-one-out" else [self._heads.deal()]
        return self.shown(self._with_options(items), "random")

    def other_than(self, keys: set[str]) -> Asked | None:
        """A random question whose key is not in `keys`, by enumeration if most are asked; None if none is left."""
        asked = self.asked
        if n_questions(asked, len(self.numbers)) > 2 * asked.number + len(keys):
            return self.random()
        left = []
        for head in [()] if asked.kind == "odd-one-out" else itertools.combinations(self.numbers, 1):
            others = [number for number in self.numbers if number not in head]
            every = ((*head, *options) for options in itertools.combinations(others, asked.n_shown))
            left += [items for items in every if question_key(asked.kind, items) not in keys]
        return self.shown(self.rng.choice(left), "random") if left else None

    def catch(self, seen: Collection[str] = ()) -> Asked | None:
        """An attention check; if the study lists its own, one whose key is not in `seen`, or None."""
        if self.catches:
            left = [row for row in self.catches if question_key(self.asked.kind, row, catch=True) not in seen]
            if not left:
                return None
            items = list(self.rng.choice(left))
        else:
            head = self._heads.deal()
            items = self._with_options([head, head])
        return self.shown(items, "catch", items[2 if self.asked.kind == "odd-one-out" else 1])

    def _with_options(self, items: list[int]) -> list[int]:
        while len(items) < self.asked.n_items:
            items.append(self._options.deal(items))
        return items

    def shown(self, items: Sequence[int], chosen_by: str, right: int | None = None) -> Asked:
        """A question about `items`, the head first, with shuffled options; `right` is the known answer."""
        head, options = parted(self.asked.kind, items)
        self.rng.shuffle(options)
        shown, expected = (*head, *options), None if right is None else options.index(right)
        return Asked(shown, question_key(self.asked.kind, shown, chosen_by == "catch"), chosen_by, expected)


@functools.lru_cache(maxsize=5000)
def plan(asked: QuestionSettings, total: int, seed: str) -> list[str]:
    """The kind of each question of a participant: "random", "repeat", "catch" or "ready" (adaptive)."""
    rng = random.Random(seed)
    slots = ["random"] * total
    # No attention checks or repeats among the first two questions.
    later = list(range(min(2, total - 1), total))
    special = rng.sample(later, min(len(later), asked.catch + asked.repeats))
    for number, position in enumerate(special):
        slots[position] = "catch" if number < asked.catch else "repeat"
    if asked.adaptive:
        for position, slot in enumerate(slots):
            if slot == "random" and rng.random() >= asked.random_share:
                slots[position] = "ready"
    return slots


class Signer:
    """Signs numbers, and checks signatures in constant time."""

    def __init__(self, secret: bytes):
        self._secret = secret

    def _signature(self, text: str) -> str:
        digest = hmac.digest(self._secret, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:18]).decode()

    def sign(self, number: int, purpose: str) -> str:
        """``number.signature``; only the same purpose accepts it."""
        return f"{number}.{self._signature(f'{purpose}:{number}')}"

    def number(self, token: object, purpose: str) -> int | None:
        """The number of a token signed for this purpose, or None."""
        if not isinstance(token, str) or len(token) > 60 or not token.isascii():
            return None
        text, _, signature = token.partition(".")
        if not text.isdecimal() or not hmac.compare_digest(signature, self._signature(f"{purpose}:{text}")):
            return None
        return int(text)

    @property
    def researcher(self) -> str:
        return self._signature("researcher")

    def is_researcher(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.researcher.encode())


class Desk:
    """Hands out questions and accepts answers."""

    def __init__(self, study: Study, store: Store):
        self.study, self.store = study, store
        self.signer = Signer(store.secret)
        self.numbers = store.number_items([item.name for item in study.items])
        self.names = {number: name for name, number in self.numbers.items()}
        self.by_number = {self.numbers[item.name]: item for item in study.items}
        catches = [tuple(self.numbers[name] for name in row) for row in study.questions.catch_questions]
        self.dealer = Dealer(study.questions, list(self.by_number), catches)
        self._sql = _Statements(store.engine)

    def start(self, name: str) -> Work[dict[str, Any]]:
        """Start or resume a participant: the values of `next`, and the token `participant`."""
        name = name.strip()
        if not 0 < len(name) <= _MAX_ID or not name.isprintable():
            raise HTTPException(422, f"participant: got {name[:20]!r}, expected 1 to {_MAX_ID} printable characters")
        now, total = time.time(), self.study.questions.number
        yield self._sql.add_person(name=name, started=now, seen=now, visits=0, answered=0, total=total)
        [(person,)] = yield self._sql.visit(person=name)
        return {"participant": self.signer.sign(person, PERSON), **(yield from self.next(person))}

    def next(self, number: int) -> Work[dict[str, Any]]:
        """A participant's progress, open questions (at most `AHEAD`) and, at the end, `completion`."""
        for _ in range(3):
            person, held = yield from self._held(number)
            last = 0 if person.paused else min(person.answered + AHEAD, person.total)
            # Open questions follow the answered ones.
            for position in range(person.answered + len(held) + 1, last + 1):
                question = yield from self._hand_out(person, position)
                if question is None:
                    break
                held.append(question)
            if held or person.paused or person.answered >= person.total:
                break
            # Meanwhile another tab answered them through another server: try again.
        return self._progress(person, held)

    def answer(self, person: int, question: object, choice: Any, seconds: Any) -> Work[dict[str, Any]]:
        """Store an answer once; returns the values of `next`, and `stored`: whether the answer is new.

        `choice` lists the chosen options, counted from 0 as on the screen, nearest first; None: cannot tell.
        """
        number = self.signer.number(question, f"{_QUESTION}:{person}")
        if number is None:
            raise HTTPException(403, "question: is no question of this participant")
        about, held = yield from self._held(person, number)
        asked = next((one for one in held if one["id"] == number), None)
        if asked is None:
            raise HTTPException(404, "question: is not known")
        seconds = float(seconds) if is_number(seconds) and 0 <= seconds < 1e6 else None  # a time that makes sense
        made = {"question": number, "choice": self._choice(asked, choice), "seconds": seconds}
        if asked["done"]:
            return {"stored": False, **(yield from self.next(person))}
        ahead, position = [one for one in held if one is not asked], about.answered + len(held) + 1
        fresh, more = None, not about.paused and len(ahead) < AHEAD and position <= about.total
        if more:
            chosen = yield from self._choose(person, self._plan(person, about.total)[position - 1])
            fresh = None if chosen is None else self._row(person, position, chosen)
        counted, added = yield from self._store(person, {**made, "answered": time.time()}, fresh)
        if fresh and added:
            ahead.append({"id": added, **fresh})
        if counted is None or (more and not added):  # another request was faster, or the question was not new
            return {"stored": counted is not None, **(yield from self.next(person))}
        return {"stored": True, **self._progress(about._replace(answered=counted), ahead)}

    def alive(self) -> Work[bool]:
        """Whether the database answers."""
        return bool((yield self._sql.schema()))

    def practice(self) -> dict[str, Any] | None:
        """A question that does not count, or None if the study has none."""
        asked = self.study.questions
        if not asked.practice:
            return None
        items = tuple(self.numbers[name] for name in asked.practice_question) or self.dealer.random().items
        return self._for_page(self._row(0, 0, Asked(items, "", "practice")))

    def _held(self, person: int, number: int = 0) -> Work[tuple[Any, list[dict[str, Any]]]]:
        """A participant, and the questions that are open, beside the one with this number."""
        for back in (_BACK, 10**9):  # positions have no gap: if one is missing among the last ones, look at all
            rows = yield self._sql.held(person=person, back=back)
            if not rows:
                raise HTTPException(404, "participant: is not known; begin again by /api/start")
            about = rows[0]
            held = [row for row in rows if row.id is not None and (not row.done or row.id == number)]
            n_open = sum(not row.done for row in held)
            if n_open == about.last - about.answered and (not number or any(row.id == number for row in held)):
                break
        return about, [row._asdict() for row in held]

    def _store(
        self, person: int, answer: dict[str, Any], question: dict[str, Any] | None
    ) -> Work[tuple[int | None, int | None]]:
        """Store an answer unless there is one, count it, and hand out a question: number of answers, and its id."""
        if not self.store.is_sqlite:
            row = question or {**dict.fromkeys(_ASKED), "participant": person}
            found = yield self._sql.store(**answer, **row)
            return found[0] if found else (None, None)
        if not (yield self._sql.add_answer(**answer)):
            return None, None
        [(counted,)] = yield self._sql.count(person=person, now=answer["answered"])
        added = (yield self._sql.add_question(**question)) if question else []
        return counted, added[0].id if added else None

    def _choice(self, question: Mapping[str, Any], choice: Any) -> str | None:
        if choice is None:
            if not self.study.questions.cannot_tell:
                raise HTTPException(422, "choice: got null, expected a choice: this study has no 'cannot tell'")
            return None
        n_chosen, n_options = question["n_chosen"], len(parted(question["kind"], json.loads(question["shown"]))[1])
        whole = isinstance(choice, list) and all(type(one) is int and 0 <= one < n_options for one in choice)
        if not whole or len(choice) != n_chosen or len(set(choice)) < len(choice):
            raise HTTPException(
                422, f"choice: expected a list of {n_chosen} different whole numbers from 0 to {n_options - 1}"
            )
        return json.dumps(choice)

    def _progress(self, person: Any, held: list[dict[str, Any]]) -> dict[str, Any]:
        answered, total, paused = person.answered, person.total, bool(person.paused)
        finished = answered >= total
        state: dict[str, Any] = {"answered": answered, "total": total, "paused": paused, "finished": finished}
        if finished:
            # Escaped, so that an id cannot add parameters to the address.
            link = self.study.completion.link.replace("{participant}", quote(person.name, safe=""))
            state["completion"] = {"link": link, "code": self.study.completion.code}
        shown = [
            {
                "id": self.signer.sign(question["id"], f"{_QUESTION}:{person.participant}"),
                "position": question["position"],
                **self._for_page(question),
            }
            for question in ([] if finished or paused else held[:AHEAD])
        ]
        return {**state, "questions": shown}

    def _plan(self, person: int, total: int) -> list[str]:
        return plan(self.study.questions, total, f"{self.store.secret.hex()}:{person}")

    def _hand_out(self, person: Any, position: int) -> Work[dict[str, Any] | None]:
        """Store a new question; None if another server has done so for the same position."""
        number, slot = person.participant, self._plan(person.participant, person.total)[position - 1]
        for attempt in range(_TRIES + 1):
            if attempt == _TRIES:
                asked = self.dealer.other_than((yield from self._seen(number)))
            else:
                asked = yield from self._choose(number, slot if attempt < 3 else "random")
            if asked is None:
                continue
            row = self._row(number, position, asked)
            added = yield self._sql.add_question(**row)
            if added:
                return {"id": added[0].id, **row}
            if (yield self._sql.taken(person=number, position=position)):
                return None
        raise HTTPException(409, "questions: this participant has seen them all")

    def _choose(self, person: int, slot: str) -> Work[Asked | None]:
        """A question for a slot of the plan; None if there is none now."""
        if slot == "catch":
            # A study lists only a few: those already asked are excluded.
            return self.dealer.catch((yield from self._seen(person)) if self.dealer.catches else ())
        if slot == "random":
            return self.dealer.random()
        if slot == "ready":  # the first of the queue that this participant has not seen; it leaves the queue
            found = yield self._sql.take_ready(person=person)
        else:  # one that another participant was asked: the first from a random place of the table on
            [(last,)] = yield self._sql.last_question()
            from_here = self.dealer.rng.randint(1, max(last or 0, 1))
            found = yield self._sql.repeat(person=person, kind=self.study.questions.kind, from_here=from_here)
        # Its objects may no longer be asked about, or not as many at once.
        items = json.loads(found[0].shown) if found else []
        if len(items) != self.study.questions.n_items or not all(number in self.by_number for number in items):
            return None
        return self.dealer.shown(items, found[0].chosen_by if slot == "ready" else slot)

    def _seen(self, person: int) -> Work[set[str]]:
        return {row.key for row in (yield self._sql.seen(person=person))}

    def _row(self, person: int, position: int, asked: Asked) -> dict[str, Any]:
        about, shown = self.study.questions, json.dumps(asked.items, separators=(",", ":"))
        return {
            "participant": person, "position": position, "kind": about.kind, "n_chosen": about.n_chosen,
            "ordered": about.ordered, "shown": shown, "key": asked.key, "chosen_by": asked.chosen_by,
            "expected": asked.expected, "asked": time.time(),
        }  # fmt: skip

    def _for_page(self, question: Mapping[str, Any]) -> dict[str, Any]:
        head, options = parted(question["kind"], [self._item(number) for number in json.loads(question["shown"])])
        about = {"kind": question["kind"], "choose": question["n_chosen"], "ordered": bool(question["ordered"])}
        return {**about, "head": head[0] if head else None, "options": options}

    def _item(self, number: int) -> dict[str, Any]:
        name = self.names[number]
        # The object may have been removed from the study since.
        item = self.by_number.get(number) or Item(name, "text", name, name)
        content = {"text": str(item.content)} if item.form == "text" else {"url": f"items/{number}"}
        return {"name": name, "form": item.form, **content, "alt": item.alt}


class _Statements:
    """The prepared statements of requests."""

    def __init__(self, engine: sa.Engine):
        made = functools.partial(Prepared, engine)

        def added(table: sa.Table) -> Prepared:
            key = next(iter(table.primary_key))
            columns = [column.name for column in table.c if column.name != "id"]
            return made(insert(engine, table).on_conflict_do_nothing().returning(key), columns)

        given, person = sa.bindparam, questions.c.participant == sa.bindparam("person")
        self.add_person, self.add_answer, self.add_question = map(added, (participants, answers, questions))
        visits = {"visits": participants.c.visits + 1}
        by_name = participants.c.name == given("person")
        self.visit = made(sa.update(participants).where(by_name).values(visits).returning(participants.c.id))
        self.count = made(_counting(given("person"), given("now")))
        mine = (questions.c.participant == participants.c.id) & (
            questions.c.position > participants.c.answered - given("back")
        )
        # A subquery, because PostgreSQL without statistics may scan all answers for a join.
        answer = sa.select(answers.c.question).where(answers.c.question == questions.c.id).scalar_subquery()
        last = sa.select(sa.func.coalesce(sa.func.max(questions.c.position), 0)).where(person).scalar_subquery()
        paused = sa.select(meta.c.key).where(meta.c.key == "paused", meta.c.value == "1").exists()
        about = [participants.c[name] for name in ("name", "answered", "total")]
        asked = [questions.c[name] for name in ("id", "position", "kind", "n_chosen", "ordered", "shown")]
        state: list[Any] = [last.label("last"), paused.label("paused"), answer.is_not(None).label("done")]
        held = sa.select(participants.c.id.label("participant"), *about, *asked, *state)
        held = held.select_from(participants.outerjoin(questions, mine))
        self.held = made(held.where(participants.c.id == given("person")).order_by(questions.c.position))
        self.taken = made(sa.select(questions.c.id).where(questions.c.position == given("position"), person))
        self.seen = made(sa.select(questions.c.key).where(person))
        self.schema = made(sa.select(meta.c.value).where(meta.c.key == "schema"))
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
        if engine.dialect.name == "postgresql":
            self.store = made(_storing(engine))


def _counting(person: Any, now: Any) -> Any:
    counts = {"answered": participants.c.answered + 1, "seen": now}
    statement = sa.update(participants).where(participants.c.id == person).values(counts)
    return statement.returning(participants.c.answered)


def _storing(engine: sa.Engine) -> Any:
    """Store an answer, count it and hand out a question in one statement, that is, one round trip."""

    def given(column: Any) -> Any:
        return sa.cast(sa.bindparam(column.name, type_=column.type), column.type)

    new = insert(engine, answers).from_select([*answers.c], sa.select(*map(given, answers.c))).on_conflict_do_nothing()
    stored = new.returning(answers.c.question).cte("stored")
    there = sa.select(stored.c.question).exists()
    counted = _counting(given(questions.c.participant), given(answers.c.answered)).where(there).cte("counted")
    columns = [questions.c[name] for name in _ASKED]
    wanted = sa.select(*map(given, columns)).where(there, given(questions.c.position).is_not(None))
    asked = insert(engine, questions).from_select(columns, wanted).on_conflict_do_nothing()
    asked_id = asked.returning(questions.c.id).cte("asked")
    both = counted.outerjoin(asked_id, sa.true())
    return sa.select(counted.c.answered, asked_id.c.id).select_from(both)
