"""The participant's side of a study (start, next, answer), as tasks for `nearer.collect.store.Batches`."""

from __future__ import annotations

import base64
import functools
import hmac
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from starlette.exceptions import HTTPException

from nearer.collect.store import AWAY, Row, Store, answers, insert, meta, participants, questions, ready
from nearer.collect.study import ENDS, STEPS, Condition, Item, QuestionSettings, Study, digest, parted
from nearer.data import is_number

AHEAD = 2  # open questions of a participant: the one on the screen and a preloaded one
_ATTEMPTS = 4  # at a question that the participant was not asked yet
_MAX_ID = 200
# What sites leave in a link when they do not fill it in, and Mechanical Turk in a preview.
_UNFILLED = re.compile(r"\{\{.*\}\}|\$\{.*\}|%[A-Z_]+%|ASSIGNMENT_ID_NOT_AVAILABLE")

_PERSON: Any = sa.bindparam("person")
_PAUSED = sa.select(meta.c.key).where(meta.c.key == "paused", meta.c.value == "true").exists()
# Locked, so that the requests of one participant wait for each other.
_FIND = sa.select(participants, _PAUSED.label("paused")).where(participants.c.id == _PERSON).with_for_update()
_VISIT = sa.update(participants).where(participants.c.name == sa.bindparam("person"))
_VISIT = _VISIT.values(visits=participants.c.visits + 1).returning(participants.c.id)
_CHANGE = sa.update(participants).where(participants.c.id == _PERSON)
_THEIRS = questions.c.participant == _PERSON
# A subquery, because PostgreSQL without statistics may scan all answers for a join.
_ANSWER = sa.select(answers.c.question).where(answers.c.question == questions.c.id).scalar_subquery()
_OPEN = sa.select(questions).where(_THEIRS, _ANSWER.is_(None)).order_by(questions.c.position)
_SEEN = sa.select(questions.c.key).where(_THEIRS)
_OWN = sa.select(questions.c.id).where(_THEIRS, sa.cast(questions.c.id, sa.Text) == sa.bindparam("question"))
_PLACES = sa.select(meta.c.key).where(meta.c.key == "schema").with_for_update()  # newcomers wait for each other
_FILLED = sa.select(
    participants.c.condition,
    sa.func.count().filter(participants.c.step == "finished"),
    sa.func.count().filter(participants.c.step.in_(STEPS[1:-1]), participants.c.seen > sa.bindparam("since")),
).group_by(participants.c.condition)
_LAST = sa.select(sa.func.max(questions.c.id))
_REPEAT = sa.select(questions.c.shown, questions.c.chosen_by).order_by(questions.c.id).limit(1)
_REPEAT = _REPEAT.where(questions.c.chosen_by == "random", questions.c.participant != _PERSON)
_REPEAT = _REPEAT.where(questions.c.kind == sa.bindparam("kind"), questions.c.id >= sa.bindparam("from_here"))
_SAME = participants.c.id == questions.c.participant, participants.c.condition == sa.bindparam("condition")
_REPEAT = _REPEAT.where(sa.exists(participants.c.id).where(*_SAME))
_QUEUE = ready.alias()
_NEW = ~sa.select(questions.c.id).where(_THEIRS, questions.c.key == _QUEUE.c.key).exists()
_FIRST = sa.select(_QUEUE.c.id).where(_NEW).order_by(_QUEUE.c.id).limit(1)
_FIRST = _FIRST.with_for_update(skip_locked=True)  # two servers take different ones
_TAKE = sa.delete(ready).where(ready.c.id == _FIRST.scalar_subquery()).returning(ready.c.shown, ready.c.chosen_by)


@dataclass(frozen=True)
class Asked:
    items: tuple[str, ...]  # names of objects: the head (unless "odd-one-out"), then the options
    key: str  # the same for the same question in another order
    chosen_by: str  # "random", "listed", "catch", "repeat", or the name of a strategy
    expected: int | None = None  # the right option of an attention check


def question_key(kind: str, items: Sequence[str], catch: bool = False) -> str:
    """A text that is equal for equal questions; attention checks have keys of their own."""
    head, options = parted(kind, items)
    return digest(json.dumps([kind, catch, *head, *sorted(options)]))


class Deck:
    """Deals objects in shuffled rounds: their counts differ by at most one. Threads may share it."""

    def __init__(self, cards: Sequence[str], rng: random.Random):
        self._cards, self._rng = cards, rng
        self._left: list[str] = []
        self._lock = threading.Lock()

    def deal(self, without: Sequence[str] = ()) -> str:
        """The next object that is not in `without`."""
        with self._lock:
            while True:
                for k in range(len(self._left) - 1, -1, -1):
                    if self._left[k] not in without:
                        return self._left.pop(k)
                # All cards left are excluded: they stay on top of the next round.
                self._left = self._rng.sample(self._cards, len(self._cards)) + self._left


@dataclass
class Dealer:
    """Makes questions and attention checks about objects."""

    asked: QuestionSettings
    names: Sequence[str]
    condition: Condition  # may have objects, or the only questions
    seed: int | None = None

    def __post_init__(self) -> None:
        self.names, self.rng = self.condition.items or self.names, random.Random(self.seed)
        self._heads, self._options = Deck(self.names, self.rng), Deck(self.names, self.rng)

    def draw(self, catch: bool = False) -> Asked:
        """A random question; all objects occur equally often, unless the questions are listed."""
        if listed := self._listed(catch):
            return self._new(self.rng.choice(listed), catch)
        n_heads = self.asked.n_heads(catch)
        items = [self._heads.deal()] * n_heads if n_heads else []
        while len(items) < self.asked.n_items:
            items.append(self._options.deal(items))
        return self._new(items, catch)

    def unseen(self, keys: Collection[str], catch: bool = False) -> Asked | None:
        """A random question whose key is not in `keys`, by enumeration; None if none is left."""
        every = self._listed(catch) or self._every(self.asked.n_heads(catch))
        left = [items for items in every if question_key(self.asked.kind, items, catch) not in keys]
        return self._new(self.rng.choice(left), catch) if left else None

    def _listed(self, catch: bool) -> Sequence[tuple[str, ...]]:
        return self.asked.catch_questions if catch else self.condition.questions

    def _every(self, n_heads: int) -> Iterator[tuple[str, ...]]:
        for head in self.names if n_heads else [""]:
            others = [name for name in self.names if name != head]
            for rest in itertools.combinations(others, self.asked.n_items - n_heads):
                yield (*[head] * n_heads, *rest)

    def _new(self, items: Sequence[str], catch: bool) -> Asked:
        # Of an attention check, the second object is right, or the third is the odd one.
        right = items[2 if self.asked.kind == "odd-one-out" else 1] if catch else None
        return self.shown(items, "catch" if catch else "listed" if self.condition.questions else "random", right)

    def shown(self, items: Sequence[str], chosen_by: str, right: str | None = None) -> Asked:
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


def participant_token(secret: str, number: object) -> str:
    signature = hmac.digest(secret.encode(), str(number).encode(errors="replace"), "sha256")
    return f"{number}.{base64.urlsafe_b64encode(signature[:18]).decode()}"


def signed_number(secret: str, token: object) -> int | None:
    """The number of a participant in a token; None if it is not signed."""
    text = str(token).partition(".")[0]
    return int(text) if is_same(token, participant_token(secret, text)) else None


def is_same(given: object, signed: str) -> bool:
    """Whether a token is the signed one, in constant time."""
    return hmac.compare_digest(str(given).encode(errors="replace"), signed.encode(errors="replace"))


class Desk:
    def __init__(self, study: Study, store: Store, seed: int | None = None):
        self.study, self.store = study, store
        self._plans = store.secret if seed is None else str(seed)
        self.items = {item.name: item for item in study.items}
        self._lots = random.SystemRandom() if seed is None else random.Random(seed)
        self.dealers = {one.name: Dealer(study.questions, list(self.items), one, seed) for one in study.conditions}
        # What is stored already stays as it is.
        self._add_person, self._add_question, self._add_answer = (
            insert(store.engine, table).on_conflict_do_nothing().returning(next(iter(table.primary_key)))
            for table in (participants, questions, answers)
        )

    def start(self, connection: sa.Connection, name: str, given: Row, agreed: bool) -> Row:
        """Open the study to a participant, or resume: the values of `step`, and the token `participant`.

        `given` are the parameters of the address; unless `agreed`, consent is the first step.
        """
        name = name.strip()
        own = {key: str(given.get(key, "")).strip() for key in self.study.participants.parameters}
        own = {key: value for key, value in own.items() if value}
        for key, value in {"participant": name, **own}.items():
            if _UNFILLED.fullmatch(value):
                found = {"name": "id" if key == "participant" else key, "value": value[:_MAX_ID], "at": time.time()}
                self.store.put(connection, "unfilled", found)
                raise HTTPException(422, f"{key}: got {value[:50]!r}, expected a value; fill in the link")
            if not 0 < len(value) <= _MAX_ID or not value.isprintable():
                raise HTTPException(422, f"{key}: got {value[:20]!r}, expected 1 to {_MAX_ID} printable characters")
        now, total = time.time(), self.study.questions.number
        fresh = {"name": name, "opened": now, "seen": now, "total": total}
        connection.execute(self._add_person, fresh)
        number = connection.execute(_VISIT, {"person": name}).scalar_one()
        person, held = self._found(connection, number)
        merged = json.dumps(json.loads(person["parameters"]) | own, sort_keys=True)
        if merged != person["parameters"]:
            self._set(connection, person, parameters=merged)
        if person["step"] in ("consent", "full"):
            self._admit(connection, person, agreed)
        return {"participant": participant_token(self.store.secret, number), **self._progress(connection, person, held)}

    def step(self, connection: sa.Connection, number: int, given: Row) -> Row:
        """A participant's progress, open questions (at most `AHEAD`) and, at the end, `completion`.

        A `step`, consent or questions about the participant, is finished first, with `values`. One that is over, as
        when it is sent again or by another tab, changes nothing.
        """
        person, held = self._found(connection, number)
        name, values = given.get("step"), given.get("values", {})
        if not isinstance(values, dict):
            raise HTTPException(422, "values: expected an object")
        if name == person["step"] == "consent":
            if not isinstance(values.get("agree"), bool):
                raise HTTPException(422, "agree: expected true or false")
            if values["agree"]:
                self._admit(connection, person, agreed=True)
            else:
                self._set(connection, person, step="declined")
        elif name == person["step"] and name in ("before", "after"):
            fields = getattr(self.study, name)
            replies = {field.id: values.get(field.id) for field in fields}
            for field in fields:
                if not field.takes(replies[field.id]):
                    raise HTTPException(422, f"{field.id}: expected {field.kind}, as study.toml declares it")
            out = any(replies[field.id] in field.screen_out for field in fields)
            step = "screened_out" if out else STEPS[STEPS.index(name) + 1]
            self._set(connection, person, replies=json.dumps(json.loads(person["replies"]) | replies), step=step)
        return self._progress(connection, person, held)

    def _admit(self, connection: sa.Connection, person: Row, agreed: bool) -> None:
        """Give a newcomer who agreed the least filled condition, or the page for latecomers if all are full."""
        connection.execute(_PLACES)
        filled = {name: counts for name, *counts in connection.execute(_FILLED, {"since": time.time() - AWAY})}
        wanted = self.study.participants.wanted
        n_finished = sum(finished for finished, _ in filled.values())
        places = {}
        for condition in self.study.conditions:
            finished, active = filled.get(condition.name, (0, 0))
            if not 0 < condition.wanted <= finished:
                places[condition.name] = (finished + active) / (condition.wanted or 1)
        if not places or 0 < wanted <= n_finished:
            self._set(connection, person, step="full")
        elif agreed:
            least = [name for name, part in places.items() if part == min(places.values())]
            version = self.study.participants.consent_version or digest(self.study.texts["consent"])[:8]
            about = {"consented": time.time(), "consent_version": version}
            self._set(connection, person, step="before", condition=self._lots.choice(least), **about)
        elif person["step"] == "full":
            self._set(connection, person, step="consent")

    def _set(self, connection: sa.Connection, person: Row, **changes: Any) -> None:
        """Change what is stored about a participant; a step that has nothing to do is left at once."""
        following = {"before": "questions", "after": "finished"}.get(changes.get("step", ""))
        if following and not getattr(self.study, changes["step"]):
            changes["step"] = following
        if "step" in changes:
            changes.setdefault("ended", time.time() if changes["step"] in ENDS else None)
        changes["seen"] = time.time()
        connection.execute(_CHANGE, {**changes, "person": person["id"]})
        person |= changes

    def answer(self, connection: sa.Connection, number: int, given: Row) -> Row:
        """Store an answer once; returns the values of `step`, and `stored`: whether the answer is new.

        `choice` lists the chosen options, counted from 0 as on the screen, nearest first; None: cannot tell.
        """
        if "choice" not in given:
            raise HTTPException(422, "choice: got none, expected a list of whole numbers, or null")
        question: object = given.get("question")
        seconds: Any = given.get("seconds")
        person, held = self._found(connection, number)
        asked = next((row for row in held if str(row["id"]) == question), None)
        if asked is None or person["step"] != "questions":
            known = isinstance(question, str) and question.isdecimal()
            if not known or not connection.scalar(_OWN, {"person": number, "question": question}):
                raise HTTPException(403, "question: is no question of this participant")
            return {"stored": False, **self._progress(connection, person, held)}
        seconds = float(seconds) if is_number(seconds) and 0 <= seconds < 1e6 else None
        choice, expected = self._choice(asked, given["choice"]), asked["expected"]
        made = {"question": asked["id"], "choice": choice, "seconds": seconds, "answered": time.time()}
        connection.execute(self._add_answer, made)
        held.remove(asked)
        counts = {"answered": person["answered"] + 1}
        if expected is not None:
            counts["catch_asked"] = person["catch_asked"] + 1
            counts["catch_right"] = person["catch_right"] + (choice is not None and given["choice"][0] == expected)
        self._set(connection, person, **counts)
        if 0 < self.study.participants.failed_checks <= person["catch_asked"] - person["catch_right"]:
            self._set(connection, person, step="screened_out")
        return {"stored": True, **self._progress(connection, person, held)}

    def _dealer(self, person: Row) -> Dealer:
        """That of the condition, or of the first one if study.toml has it no longer."""
        return self.dealers.get(person["condition"]) or next(iter(self.dealers.values()))

    def _found(self, connection: sa.Connection, number: int) -> tuple[Row, list[Row]]:
        person = connection.execute(_FIND, {"person": number}).mappings().one_or_none()
        if person is None:
            raise HTTPException(404, "participant: is not known; begin again by /api/start")
        found, limit = dict(person), 60 * self.study.participants.minutes
        if limit and found["step"] in STEPS[1:-1] and time.time() > found["consented"] + limit:
            self._set(connection, found, step="timed_out", ended=found["consented"] + limit)
        return found, [dict(row) for row in connection.execute(_OPEN, {"person": number}).mappings()]

    def _choice(self, question: Row, choice: Any) -> str | None:
        if choice is None:
            if not self.study.questions.cannot_tell:
                raise HTTPException(422, "choice: got null, expected a choice: this study has no 'cannot tell'")
            return None
        n_chosen = question["n_chosen"]
        n_options = len(parted(question["kind"], json.loads(question["shown"]))[1])
        whole = isinstance(choice, list) and all(type(one) is int and 0 <= one < n_options for one in choice)
        if not whole or len(choice) != n_chosen or len(set(choice)) < len(choice):
            expected = f"a list of {n_chosen} different whole numbers from 0 to {n_options - 1}"
            raise HTTPException(422, f"choice: expected {expected}")
        return json.dumps(choice)

    def _progress(self, connection: sa.Connection, person: Row, held: list[Row]) -> Row:
        """The state of a participant, after more questions are handed out."""
        answered, total = person["answered"], person["total"]
        paused = bool(person["paused"])
        asking = person["step"] == "questions"
        last = min(answered + AHEAD, total) if asking and not paused else 0
        # Open questions follow the answered ones.
        for position in range(answered + len(held) + 1, last + 1):
            row = self._hand_out(connection, person, position)
            if row is None:  # all were asked, as after objects were removed: the participant finishes
                total = position - 1
                self._set(connection, person, total=total)
                break
            held.append(row)
        if asking and answered >= total:
            self._set(connection, person, step="after")
        step, finished = person["step"], person["step"] in ENDS
        state: Row = {"step": step, "answered": answered, "total": total, "paused": paused}
        state["finished"] = finished
        if finished:
            link, own = self.study.completion.links()[step], json.loads(person["parameters"])
            values = dict.fromkeys(self.study.participants.parameters, "") | own | {"participant": person["name"]}
            for name, value in values.items():
                link = link.replace(f"{{{name}}}", quote(value, safe=""))  # so that an id cannot add parameters
            state["completion"] = {"link": link, "code": self.study.completion.code if step == "finished" else ""}
        if step == "questions" and answered == 0 and self.study.questions.practice:
            items = self.study.questions.practice_question or self._dealer(person).draw().items
            state["practice"] = self._for_page(self._row(0, 0, Asked(items, "", "practice")), person)
        shown = held[:AHEAD] if step == "questions" and not paused else []
        place = [{"id": str(row["id"]), "position": row["position"]} for row in shown]
        return {**state, "questions": [one | self._for_page(row, person) for one, row in zip(place, shown)]}

    def _hand_out(self, connection: sa.Connection, person: Row, position: int) -> Row | None:
        """Store a new question; None if this participant has seen them all."""
        slots = plan(self.study.questions, person["total"], f"{self._plans}:{person['id']}")
        planned = slots[position - 1] if position <= len(slots) else "random"  # the total may have shrunk
        for slot, attempt in itertools.product((planned, "random"), range(_ATTEMPTS)):
            asked = self._choose(connection, person, slot, attempt == _ATTEMPTS - 1)
            row = asked and self._row(person["id"], position, asked, planned)
            number = row and connection.scalar(self._add_question, row)
            if row and number:
                return {"id": number, **row}
        return None

    def _choose(self, connection: sa.Connection, person: Row, slot: str, is_last: bool) -> Asked | None:
        """A question for a slot of the plan; None if there is none."""
        dealer, number = self._dealer(person), person["id"]
        if slot in ("random", "catch"):
            if is_last:
                return dealer.unseen(set(connection.scalars(_SEEN, {"person": number})), slot == "catch")
            return dealer.draw(slot == "catch")
        if slot == "ready":  # the first that this participant has not seen; it leaves the queue
            found = connection.execute(_TAKE, {"person": number}).first()
        else:  # one that another participant was asked: the first from a random place of the table on
            from_here = dealer.rng.randint(1, connection.scalar(_LAST) or 1)
            about = {"person": number, "kind": self.study.questions.kind, "from_here": from_here}
            found = connection.execute(_REPEAT, {**about, "condition": person["condition"]}).first()
        # Its objects may no longer be asked about, or not as many at once.
        items = json.loads(found.shown) if found else []
        if found is None or len(items) != self.study.questions.n_items or not set(items) <= set(dealer.names):
            return None
        return dealer.shown(items, found.chosen_by if slot == "ready" else slot)

    def _row(self, person: int, position: int, asked: Asked, planned: str = "") -> Row:
        about, shown = self.study.questions, json.dumps(asked.items)
        return {
            "participant": person, "position": position, "kind": about.kind, "ordered": about.ordered,
            "n_chosen": about.choose if about.kind == "rankings" else 1, "shown": shown, "key": asked.key,
            "planned": planned, "chosen_by": asked.chosen_by, "expected": asked.expected, "asked": time.time(),
        }  # fmt: skip

    def _for_page(self, question: Row, person: Row) -> Row:
        head, options = parted(question["kind"], [self._item(name) for name in json.loads(question["shown"])])
        about = {"kind": question["kind"], "choose": question["n_chosen"], "ordered": bool(question["ordered"])}
        about["text"] = self._dealer(person).condition.question or self.study.texts["question"]
        return {**about, "head": head[0] if head else None, "options": options}

    def _item(self, name: str) -> Row:
        item = self.items.get(name) or Item(name, "text", name, name)  # it may have been removed since
        content = {"text": str(item.content)} if item.form == "text" else {"url": item.address}
        return {"name": name, "form": item.form, **content, "alt": item.alt}
