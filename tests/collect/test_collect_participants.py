"""From the link to the payment: consent, questions about people, conditions, limits, and what is exported."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import time
from collections import Counter

import sqlalchemy as sa
from click.testing import CliRunner
from serving import SURVEY, WORDS, Visitor, make_study, stored
from test_collect_researcher import token

from forked import Forked
from nearer.cli.app import cli
from nearer.collect.store import Store, answers, audit, participants, questions

TABLES = f"""{SURVEY}
[[conditions]]
name = "animals"
items = ["cat", "dog", "rose", "tulip"]
question = "Which is wilder?"
[[conditions]]
name = "listed"
questions = [["cat", "dog", "bus"], ["bus", "lorry", "rose"], ["rose", "tulip", "dog"], ["piano", "violin", "cat"]]
"""
URL = {"STUDY_ID": "s1", "SESSION_ID": "x, 1", "other": "not declared"}


def command(*args):
    done = CliRunner().invoke(cli, [*map(str, args), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Person(Visitor):
    """Somebody on the built-in page, at the step that the server says."""

    def open(self, name, **parameters):
        self.name, self.parameters = name, parameters
        body = {"participant": name, "parameters": parameters, "agreed": False}
        status, self.state = self.call("/api/start", body)
        assert status == 200, self.state
        return self.state

    def values(self, **other):
        given = {"agree": True, "expertise": "daily", "age": 40.5, "remarks": 'näh, "no"\nnone'} | other
        return {"participant": self.state["participant"], "step": self.state["step"], "values": given}

    def act(self, choice=(0,), **other):
        """Do what the step asks for; returns the request, to be sent again."""
        me, step = self.state["participant"], self.state["step"]
        if step == "questions":
            question = self.state["questions"][0]["id"]
            request = "/api/answer", {"participant": me, "question": question, "choice": choice, "seconds": 1.5}
        else:
            request = "/api/step", self.values(**other)
        status, state = self.call(*request)
        assert status == 200, state
        self.state = state | {"participant": me}
        return request

    def finish(self, name, right=True, store=None, **other):
        """From the link to an end; attention checks are answered `right` or wrong."""
        self.open(name, **URL)
        while not self.state["finished"]:
            choice = 0
            if store is not None and self.state["step"] == "questions":
                with store.reading() as connection:
                    number = int(self.state["questions"][0]["id"])
                    expected = connection.scalar(sa.select(questions.c.expected).where(questions.c.id == number))
                choice = 0 if expected is None else expected if right else 1 - expected
            self.act([choice], **other)
        return self.state


def test_every_field_is_found_again(serve, tmp_path, database, monkeypatch):
    """What people were given, and what they said, is in the exported files, which the other commands read."""
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path / "study", number=4, catch=1, tables=TABLES, consent_version="v2")
    served = serve(study, database)
    person = Person(served.port)
    seen = {}
    for name in ("=p1", "p2", "p3", "p4"):
        state = person.open(name, **URL)
        assert (state["step"], state["questions"]) == ("consent", [])
        for step in ("before", "questions"):
            person.act(expertise="=sometimes", age=None if name == "p2" else -0.5 + 40)
            assert person.state["step"] == step
        asked = person.state["questions"][0]
        seen[name] = asked["text"]
        assert asked["text"] == person.state["practice"]["text"]
        for _ in range(4):
            person.act()
        assert (person.state["step"], person.state["finished"]) == ("after", False)
        person.act()
        assert (person.state["step"], person.state["finished"]) == ("finished", True)
    where = [] if database is None else ["--database", database]
    command("collect", "export", "study", "-o", "answers.csv", "--participants", "people.csv", *where)
    people = rows_of("people.csv")
    assert [row["participant"] for row in people] == ["'=p1", "p2", "p3", "p4"]
    expected = {"status": "finished", "consent_version": "v2", "answered": "4", "total": "4", "visits": "1"}
    expected |= {"STUDY_ID": "s1", "SESSION_ID": "x, 1", "hitId": "", "expertise": "'=sometimes"}
    expected |= {"remarks": 'näh, "no"\nnone', "catch_asked": "1"}
    for row in people:
        assert {name: row[name] for name in expected} == expected
        assert row["age"] == ("" if row["participant"] == "p2" else "39.5")
        assert row["opened_at"] <= row["consented_at"] <= row["ended_at"]
        assert float(row["minutes"]) < 1
        wording = {"animals": "Which is wilder?", "listed": "Which of these two is more like this one?"}
        assert seen[row["participant"].lstrip("'")] == wording[row["condition"]]
    assert Counter(row["condition"] for row in people) == {"animals": 2, "listed": 2}  # balanced
    where_asked = {row["participant"]: row["condition"] for row in people}
    lists = {("cat", "bus", "dog"), ("bus", "lorry", "rose"), ("rose", "dog", "tulip"), ("piano", "cat", "violin")}
    for row in rows_of("answers.csv"):
        assert row["condition"] == where_asked[row["participant"]]
        trio = (row["anchor"], *sorted((row["near"], row["far"])))
        if row["catch"] == "false" and row["condition"] == "listed":
            assert trio in lists
        elif row["condition"] == "animals":
            assert set(trio) <= {"cat", "dog", "rose", "tulip"}
    by_page = served.call("/api/researcher/participants.csv", headers=token(served))[1].decode()
    assert list(csv.DictReader(io.StringIO(by_page))) == people
    with contextlib.closing(Store(database or study.database)) as store:
        assert {row.action for row in stored(store, audit)} == {"export", "export participants"}


def test_attention_checks_reach_the_rules_and_the_paragraph(serve, tmp_path, monkeypatch):
    """On by default; from collect through export and people --rules to methods."""
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path / "study", tables='[[after]]\nid = "hand"\ntext = "?"')
    assert study.questions.catch > 0
    served = serve(study)
    for number in range(6):
        hand = "left" if number % 2 else "right"
        Person(served.port).finish(f"p{number}", number > 0, served.store, remarks=None, hand=hand)
    command("collect", "export", "study", "-o", "answers.csv", "--participants", "people.csv")
    (tmp_path / "rules.toml").write_text("catch_passed = 0.5")
    judged = command("people", "answers.csv", "--rules", "rules.toml", "-o", "kept.csv", "--cv", "2")
    assert dict(zip(judged["people"]["participant"], judged["people"]["catch_passed"])) == {
        f"p{number}": float(number > 0) for number in range(6)
    }
    assert judged["exclusions"]["participants"] == ["p0"]
    grouped = command("people", "kept.csv", "--cv", "2", "--differ", "--groups", "people.csv", "hand")
    assert (grouped["difference"]["of"], grouped["difference"]["n_units"]) == ("groups", 2)
    command("fit", "answers.csv", "-o", "map", "--cv", "0", "--bootstrap", "0")
    assert "576" in command("methods", "map")["paragraph"]  # 6 people, 100 questions with 4 checks each


def test_a_killed_server_at_every_step(tmp_path, database):
    """After kill -9 between any two steps people go on where they were; a request sent again changes nothing."""
    study = make_study(tmp_path / "study", number=2, tables=TABLES)
    where = [] if database is None else ["--database", database]

    def served(port):
        server = Forked("collect", "serve", study.folder, "--json", "--no-background", "--port", port, *where)
        told = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
        return server, int(told["participants"].rsplit(":", 1)[1].strip("/"))

    server, port = served(0)
    try:
        person = Person(port)
        person.open("p", **URL)
        while not person.state["finished"]:
            request = person.act()
            before = person.state
            server.kill()
            server, _ = served(port)
            person = Person(port)
            again = person.open("p", **URL)
            for name in ("step", "answered", "finished", "questions"):
                assert again[name] == before[name]
            status, resent = person.call(*request)
            assert (status, resent["step"], resent["answered"]) == (200, before["step"], before["answered"])
        with contextlib.closing(Store(database or study.database)) as store:
            assert len(stored(store, answers)) == 2
            (row,) = stored(store, participants)
            assert json.loads(row.replies)["expertise"] == "daily"
    finally:
        server.kill()


def test_the_ends(serve, tmp_path, database):
    """No consent, a screening answer, failed checks, time, and enough participants: each with its link and its row."""
    links = {f"{end}_link": f"https://example.org/{end}" for end in ("declined", "screened_out", "timed_out", "full")}
    changes = {"number": 4, "catch": 2, "failed_checks": 2, "wanted": 1, "bonus": 1.5, "reject_min_seconds": 1}
    links["link"] = "https://example.org/finished?s={SESSION_ID}&p={participant}"
    study = make_study(tmp_path / "study", tables=TABLES, code="C", **changes, **links)
    served = serve(study, database)
    person, late = Person(served.port), Person(served.port)
    ended = {
        "declined": person.finish("no", agree=False),
        "screened_out": person.finish("never", expertise="never"),
        "again": person.finish("careless", False, served.store),
    }
    late.open("on the way")
    late.act()
    ended["finished"] = person.finish("yes", True, served.store)
    ended["full"] = person.finish("too late")
    assert late.state["step"] == "before"  # who has begun may finish
    for end, state in ended.items():
        end = {"again": "screened_out"}.get(end, end)
        code = {"finished": "C"}.get(end, "")
        more = "?s=x%2C%201&p=yes" if end == "finished" else ""
        assert state["step"] == end
        assert state["completion"] == {"link": f"https://example.org/{end}{more}", "code": code}
    told = served.call("/api/researcher/status", headers=token(served))[1]["status"]
    counts = {"opened": 6, "consented": 4, "finished": 1, "declined": 1, "screened_out": 2, "timed_out": 0, "full": 1}
    assert told["funnel"] == counts
    where = [] if database is None else ["--database", database]
    out = tmp_path / "payments.csv"
    command("collect", "payments", study.folder, "-o", out, *where)
    paid = {row["participant"]: (row["action"], row["bonus"], row["SESSION_ID"]) for row in rows_of(out)}
    assert paid["yes"] == ("approve", "1.5", "x, 1")
    assert [paid[name][0] for name in ("no", "never", "careless", "on the way", "too late")] == [
        "declined", "screened_out", "screened_out", "none", "full",
    ]  # fmt: skip
    reasons = {row["participant"]: row["reason"] for row in rows_of(out)}
    assert len({reasons["never"], reasons["careless"]}) == 2  # an answer, failed checks
    # A place becomes free when the only one who finished is deleted: latecomers who come back are admitted.
    command("collect", "delete", study.folder, "--participant", "yes", *where)
    assert late.open("too late")["step"] == "consent"


def test_time_is_limited(serve, tmp_path, database):
    served = serve(make_study(tmp_path / "study", number=3, minutes=0.01), database)
    person = Person(served.port)
    for name in ("slow", "gone"):
        person.open(name)
        person.act()
        person.act()
    person.open("slow")
    time.sleep(0.7)
    person.act()
    assert (person.state["step"], person.state["stored"], person.state["answered"]) == ("timed_out", False, 1)
    # Who does not come back has run out of time, too.
    told = served.call("/api/researcher/status", headers=token(served))[1]["status"]
    assert (told["funnel"]["timed_out"], told["answers"]) == (2, 2)


def test_conditions_have_quotas_and_who_leaves_is_replaced(serve, tmp_path, database):
    quotas = "".join(f'[[conditions]]\nname = "{name}"\nwanted = {wanted}\n' for name, wanted in (("a", 4), ("b", 2)))
    served = serve(make_study(tmp_path / "study", number=1, tables=quotas), database)
    people = [Person(served.port) for _ in range(6)]
    for number, person in enumerate(people):
        person.open(f"p{number}")
        person.act()
    rows = stored(served.store, participants)
    assert Counter(row.condition for row in rows) == {"a": 4, "b": 2}
    gone = next(row for row in rows if row.condition == "b")
    with served.store.writing() as connection:
        connection.execute(sa.update(participants).where(participants.c.id == gone.id).values(seen=time.time() - 7200))
    person = Person(served.port)
    person.open("new")
    person.act()
    assert stored(served.store, participants)[-1].condition == "b"
    for one in [*people, person]:
        one.act()
    assert Person(served.port).open("late")["step"] == "full"


def test_links_that_a_site_did_not_fill_in(serve):
    served = serve(number=3)
    for body in (
        {"participant": "{{%PROLIFIC_PID%}}"}, {"participant": "%SURVEY_CODE%"}, {"participant": "${workerId}"},
        {"participant": "p", "parameters": {"STUDY_ID": "{{%STUDY_ID%}}"}},
        {"participant": "p", "parameters": {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}},
    ):  # fmt: skip
        assert served.call("/api/start", body)[0] == 422
    assert stored(served.store, participants) == []
    unfilled = served.call("/api/researcher/status", headers=token(served))[1]["status"]["unfilled"]
    assert (unfilled["name"], unfilled["value"]) == ("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE")
    told = CliRunner().invoke(cli, ["collect", "status", str(served.study.folder)]).output
    assert "ASSIGNMENT_ID_NOT_AVAILABLE as assignmentId" in told
    # The id is not called "participant" in the address.
    served.call("/api/start", {"participant": "{{%PROLIFIC_PID%}}"})
    unfilled = served.call("/api/researcher/status", headers=token(served))[1]["status"]["unfilled"]
    assert (unfilled["name"], unfilled["value"]) == ("id", "{{%PROLIFIC_PID%}}")


def test_a_deleted_participant_leaves_no_trace(serve, tmp_path, database):
    study = make_study(tmp_path / "study", number=3, tables=TABLES)
    served = serve(study, database)
    person, other = Person(served.port), Person(served.port)
    other.finish("somebody")
    person.finish("zz-secret-id", remarks="zz-secret-remark")
    where = [] if database is None else ["--database", database]
    done = command("collect", "delete", study.folder, "--participant", "zz-secret-id", *where)
    assert done["n_answers"] == 3
    assert [row.name for row in stored(served.store, participants)] == ["somebody"]
    assert len(stored(served.store, answers)) == len(stored(served.store, questions)) == 3
    assert [row.action for row in stored(served.store, audit)] == ["delete"]
    assert "zz-secret" not in str(stored(served.store, audit))
    # The token of a deleted participant opens nothing, also after somebody else has come.
    Person(served.port).open("next")
    assert person.call("/api/next", {"participant": person.state["participant"]})[0] == 404
    again = CliRunner().invoke(cli, ["collect", "delete", str(study.folder), "--participant", "zz-secret-id", *where])
    assert again.exit_code == 2
    served.stop()
    for file in study.folder.glob("answers.db*"):
        assert b"zz-secret" not in file.read_bytes()


def test_wrong_values_of_a_step_are_refused(serve, tmp_path):
    served = serve(make_study(tmp_path / "study", number=3, tables=TABLES))
    person = Person(served.port)
    person.open("p")
    assert person.call("/api/step", person.values(agree="yes"))[0] == 422
    person.act()
    wrong = [{"expertise": "weekly"}, {"expertise": None}, {"age": 17}, {"age": "40"}, {"age": True}, {"age": 1e400}]
    for values in wrong:
        assert person.call("/api/step", person.values(**values))[0] == 422, values
    assert person.call("/api/step", {**person.values(), "values": []})[0] == 422
    person.act()
    assert person.state["step"] == "questions"
    for name in ("questions", "finished", "after", None, []):
        assert person.call("/api/step", {**person.values(), "step": name})[1]["step"] == "questions"
    assert set(WORDS) >= {option["name"] for option in person.state["questions"][0]["options"]}
