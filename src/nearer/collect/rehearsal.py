"""A rehearsal: simulated participants answer a study through its server, and their answers are analysed."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from nearer.collect.background import fill_queue, queue_size, read_answers
from nearer.collect.server import Supervisor, bind
from nearer.collect.store import Export, Row, Store, questions, study_status
from nearer.collect.study import ENDS, Study
from nearer.data import check_fraction, check_integer
from nearer.data.messages import counted, listed
from nearer.data.splits import answers_naming
from nearer.estimator import OrdinalEmbedding
from nearer.metrics import comparison_accuracy
from nearer.people import ExclusionRules, exclude, participants
from nearer.questions import Crowd
from nearer.refits import gaps_in_the_middle
from nearer.reports import describe
from nearer.reports.methods import methods_paragraph
from nearer.reports.sentences import percent
from nearer.selection import evaluate

# What participants do, with their median response time in seconds.
BEHAVIOURS = {"careful": 2.5, "guessing": 0.6, "inverted": 2.5, "dropping out": 2.5}
_AT_ONCE = 8  # participants who take turns
_N_TRUE = 5000
_SURE = 50.0  # log odds of a careful answer to an attention check

Ask = Callable[[str, Row], Row]


class Mind:
    """How simulated participants choose: a `Crowd` that also recognises attention checks."""

    def __init__(self, study: Study, store: Store, crowd: Crowd, rng: np.random.Generator):
        self._store, self._crowd, self.rng = store, crowd, rng
        self._number = {item.name: number for number, item in enumerate(study.items)}
        self._fields = {"before": study.before, "after": study.after}

    def replies(self, step: str) -> Row:
        """Random replies to the questions of a step, and consent."""
        if step == "consent":
            return {"agree": True}
        found: Row = {}
        for field in self._fields[step]:
            low, high = max(field.least, min(0.0, field.most)), min(field.most, max(100.0, field.least))
            number = float(np.clip(round(self.rng.uniform(low, high)), low, high))
            word = field.choices[self.rng.integers(len(field.choices))] if field.choices else "rehearsal"
            found[field.id] = number if field.kind == "number" else word
        return found

    def choice(self, question: Row, behaviour: str) -> list[int]:
        """The options chosen, nearest first."""
        options = [option["name"] for option in question["options"]]
        head = [question["head"]["name"]] if question["head"] else []
        # The pair that each option stands for: with the head, or the two that remain without it.
        pairs = [[*head, one] if head else options[:at] + options[at + 1 :] for at, one in enumerate(options)]
        score = self._crowd.log_likeness(np.array([[self._number[name] for name in pair] for pair in pairs]))
        with self._store.reading() as connection:
            expected = connection.scalar(sa.select(questions.c.expected).where(questions.c.id == int(question["id"])))
        if expected is not None:
            score[expected] = score.max() + _SURE
        if behaviour == "guessing" or self.rng.random() < self._crowd.lapse:
            score[:] = 0.0
        sign = -1.0 if behaviour == "inverted" else 1.0
        return np.argsort(-sign * score - self.rng.gumbel(size=len(score)))[: question["choose"]].tolist()


@dataclass
class Actor:
    name: str
    behaviour: str
    stays: float  # answers after which they leave
    state: Row | None = None  # what the server said last
    token: str = ""

    def act(self, ask: Ask, mind: Mind) -> bool:
        """Do what the server says is next; False if there is nothing left, or they leave."""
        if self.state is None:
            self.state = ask("start", {"participant": self.name})
            self.token = self.state["participant"]
        elif self.state["finished"] or self.state["answered"] >= self.stays:
            return False
        elif (step := self.state["step"]) != "questions":
            self.state = ask("step", {"participant": self.token, "step": step, "values": mind.replies(step)})
        else:
            question = self.state["questions"][0]
            body = {"participant": self.token, "question": question["id"]}
            body["choice"] = mind.choice(question, self.behaviour)
            body["seconds"] = round(BEHAVIOURS[self.behaviour] * float(mind.rng.lognormal(0.0, 0.4)), 3)
            self.state = ask("answer", body)
        return True


def rehearse(
    study: Study, folder: Path, n_participants: int | None = None, *, note: Callable[[str], None],
    guessing: float = 0.1, inverted: float = 0.05, dropping_out: float = 0.1, wrong: float = 0.15, target: float = 0.9,
    rules: Any = None, positions: Any = None, condition: str = "", random_state: int = 0,
) -> Row:  # fmt: skip
    """Let simulated participants answer a study; writes answers.db, answers.csv, report.html and methods.txt.

    The server is a process of its own, without limits of rate, with a database of its own. The arguments are the
    options of ``nearer collect rehearse``; `positions` are those of the objects. Returns what the study would
    yield, with the counts of each behaviour as ``people``; of several conditions, it is `condition` that is analysed.
    """
    conditions = {one.name: one for one in study.conditions}
    if condition not in conditions:
        expected = f"one of {listed(map(repr, conditions))}; each is analysed alone, by --condition"
        raise ValueError(f"condition: got {condition!r}, expected {expected}")
    wanted = study.participants.wanted or sum(condition.wanted for condition in study.conditions)
    count = check_integer(n_participants or wanted or 60, "n_participants", 3)
    asked = ExclusionRules(better_than_chance=True) if rules is None else ExclusionRules.read(rules)
    check_fraction(target, "target")
    rng = np.random.default_rng(random_state)
    crowd = Crowd.calibrated(_points(study, positions, rng), wrong, rng)
    shares = {"guessing": guessing, "inverted": inverted, "dropping out": dropping_out}
    actors = _cast(study, count, shares, rng)
    store = Store(f"sqlite:///{(folder / 'answers.db').resolve()}", create=True)
    with contextlib.closing(store):
        with _served(study, store, int(rng.integers(2**31))) as ask:
            _perform(study, store, actors, ask, Mind(study, store, crowd, rng), note)
        (folder / "answers.csv").write_text("".join(Export(store, study).lines("rehearsal")), "utf-8")
        note("analysing the answers")
        progressed = [one for one in study_status(store, study)["people"] if one["condition"] == condition]
        own = conditions[condition].items
        about = [number for number, item in enumerate(study.items) if not own or item.name in own]
        data = read_answers(replace(study, items=[study.items[number] for number in about]), store, condition)
    if data is None:
        raise ValueError("participants: got no answer that counts, expected some; raise their number")
    model = OrdinalEmbedding(study.questions.map_dimensions, loss="tste", random_state=random_state)
    judged = participants(data, model, random_state=random_state)
    kept, exclusions = exclude(data, asked, judged)
    found = evaluate(model.fit(kept), kept)
    title = ": ".join(filter(None, (study.title, condition, "a rehearsal")))
    describe(model, kept, found, title=title).save(folder / "report.html")
    (folder / "methods.txt").write_text(methods_paragraph(model, found, {}) + "\n", encoding="utf-8")
    naming = answers_naming(kept)
    right = comparison_accuracy(gaps_in_the_middle(model.embedding_), Crowd(crowd.points[about]).truth(_N_TRUE, rng))
    values = {
        "n_participants": count,
        "people": _counts(actors, progressed, judged.participant.tolist(), exclusions.participants),
        "exclusions": vars(exclusions) | {"paragraph": str(exclusions)},
        "held_out": found.held_out,
        "right": right,  # fraction of all questions that the map answers as the true distances do
        "target": target,
        "suffices": right >= target,
        "answers_per_object": {"mean": float(naming.mean()), "fewest": int(naming.min())},
    }
    return values | {"paragraph": _paragraph(values, condition)}


def _paragraph(values: Row, condition: str) -> str:
    everybody, each = values["people"]["all"], values["answers_per_object"]
    count = counted(everybody["number"], "simulated participant") + f" in the condition {condition!r}" * bool(condition)
    rows = {behaviour: values["people"][behaviour] for behaviour in BEHAVIOURS}
    excluded = listed(f"{row['excluded']:,} of {row['number']:,} {name}" for name, row in rows.items())
    held = "" if values["held_out"] is None else f"predicts {percent(values['held_out'])} of held-out answers and "
    enough = "suffice" if values["suffices"] else "do not suffice"
    return (
        f"Of {count}, {everybody['kept']:,} are kept, {everybody['excluded']:,} excluded by the rules ({excluded}), "
        f"and {everybody['not_judged']:,} left or were turned away before any answer that counts. "
        f"Each object occurs in {each['mean']:,.0f} answers of those kept on average, and in at least "
        f"{each['fewest']:,}. Their map {held}is right about {percent(values['right'])} of all questions: "
        f"for {percent(values['target'])}, these {everybody['kept']:,} of {count} {enough}."
    )


def _points(study: Study, positions: Any, rng: np.random.Generator) -> np.ndarray:
    """Where the objects are for those who answer, of unit variance."""
    if positions is None:
        return rng.normal(size=(len(study.items), study.questions.map_dimensions))
    without = [item.name for item in study.items if item.name not in positions or np.isnan(positions[item.name]).any()]
    if without:
        raise ValueError(f"map: got no position of {listed(without)}, expected all objects of the study")
    points = np.array([positions[item.name] for item in study.items])
    points = points - points.mean(axis=0)
    return points / np.sqrt(np.mean(points**2))


def _cast(study: Study, count: int, shares: Mapping[str, float], rng: np.random.Generator) -> list[Actor]:
    """The participants, in the order of their arrival."""
    counts = {behaviour: round(check_fraction(share, behaviour) * count) for behaviour, share in shares.items()}
    careful = count - sum(counts.values())
    if careful < 0:
        raise ValueError(f"shares: got {listed(shares.values())}, expected at most 1 in all")
    found = []
    everybody = np.repeat(["careful", *counts], [careful, *counts.values()]).tolist()
    for number, at in enumerate(rng.permutation(count), 1):
        behaviour = everybody[at]
        stays = float(rng.integers(study.questions.number)) if behaviour == "dropping out" else np.inf
        found.append(Actor(f"{number:03d} {behaviour}", behaviour, stays))
    return found


def _perform(
    study: Study, store: Store, actors: list[Actor], ask: Ask, mind: Mind, note: Callable[[str], None]
) -> None:
    """Let everybody answer, one request at a time, so that the same seed gives the same answers."""
    waiting, present = actors[::-1], list[Actor]()
    n_requests, stock = 0, queue_size(study)
    step = max(1, len(actors) // 10)
    while waiting or present:
        if stock and n_requests % stock == 0:  # as the background process does, but not meanwhile
            fill_queue(study, store, read_answers(study, store), n_requests)
        n_requests += 1
        while waiting and len(present) < _AT_ONCE:
            present.append(waiting.pop())
        at = int(mind.rng.integers(len(present)))
        if not present[at].act(ask, mind):
            present.pop(at)
            gone = len(actors) - len(waiting) - len(present)
            if gone % step == 0:
                note(f"{gone:,} of {len(actors):,} simulated participants have finished or left")


@contextlib.contextmanager
def _served(study: Study, store: Store, seed: int) -> Iterator[Ask]:
    """A server process on this machine, as a function that posts to its interface."""
    with contextlib.closing(bind("127.0.0.1", 0)) as listening:
        options = {"study": str(study.folder.resolve()), "database": store.shown, "server": {"seed": seed}}
        server = Supervisor("nearer.collect.server", options, listening)
        line = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1], timeout=60)

        def ask(path: str, body: Row) -> Row:
            line.request("POST", f"/api/{path}", json.dumps(body), {"Content-Type": "application/json"})
            response = line.getresponse()
            values = json.loads(response.read())
            if response.status != 200:
                raise ValueError(f"rehearsal: the server refused {path}: {values['error']}")
            return values

        try:
            yield ask
        finally:
            line.close()
            server.stop(5)


def _counts(
    actors: list[Actor], progressed: list[Row], judged: list[str], excluded: list[str]
) -> dict[str, dict[str, int]]:
    behaviour = {actor.name: actor.behaviour for actor in actors}
    people = []
    for row in progressed:
        name, finished = row["participant"], row["step"] == "finished"
        one = {
            "number": 1,
            "finished": finished,
            "ended_otherwise": row["step"] in ENDS and not finished,
            "answers": row["answered"],
            "checks": row["catch_asked"],
            "failed_checks": row["catch_asked"] - row["catch_right"],
            "excluded": name in excluded,
            "not_judged": name not in judged,
            "kept": name in judged and name not in excluded,
        }
        people.append((behaviour[name], one))
    return {
        group: {count: sum(one[count] for its, one in people if group in (its, "all")) for count in people[0][1]}
        for group in (*BEHAVIOURS, "all")
    }
