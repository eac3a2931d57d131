"""A rehearsal: simulated participants, a real server, and an account of everybody."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from serving import SURVEY, WORDS, make_study, until

from forked import Forked
from nearer.cli.app import cli
from nearer.collect.store import Store
from nearer.coordinates import write_embedding

pytestmark = pytest.mark.slow

SHARES = ("--participants", 20, "--guessing", 0.2, "--inverted", 0.1, "--dropping-out", 0.2)
CATCHES = [["cat", "dog", "piano"], ["bus", "lorry", "rose"], ["rose", "tulip", "bus"], ["violin", "piano", "dog"]]


def rehearse(study, *args):
    done = CliRunner().invoke(cli, ["collect", "rehearse", *map(str, [study, *args])], prog_name="nearer")
    return done.exit_code, done.output


def write_rules(folder):
    rules = folder / "rules.toml"
    rules.write_text("catch_passed = 0.7\nmin_answers = 10\n")  # a slip in four checks is forgiven
    return rules


def answers_of(folder):
    with open(folder / "answers.csv", encoding="utf-8", newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "answered_at"} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("triplets", {"catch_questions": CATCHES}),
        ("odd-one-out", {}),
        ("rankings", {}),
        ("triplets", {"adaptive": True}),
    ],
)
def test_everybody_is_accounted_for(tmp_path, kind, changes):
    study = make_study(tmp_path / "study", kind=kind, number=16, repeats=4, catch=4, requests_per_second=1, **changes)
    out = tmp_path / "out"
    code, text = rehearse(study.folder, *SHARES, "--rules", write_rules(tmp_path), "-o", out)
    assert code == 0, text
    found = json.loads((out / "summary.json").read_text())
    assert found["paragraph"] in text
    people = found["people"]
    assert [people[name]["number"] for name in ("careful", "guessing", "inverted", "dropping out")] == [10, 4, 2, 4]
    total = people.pop("all")
    assert total == {name: sum(row[name] for row in people.values()) for name in total}
    for row in people.values():
        assert row["number"] == row["kept"] + row["excluded"] + row["not_judged"]
    # The first sentence of the paragraph has the same numbers: all, kept, excluded, of each behaviour, the others.
    said = [int(number) for number in re.findall(r"\d+", found["paragraph"].split(". ")[0])]
    parts = [count for row in people.values() for count in (row["excluded"], row["number"])]
    assert said == [total["number"], total["kept"], total["excluded"], *parts, total["not_judged"]]
    assert total["number"] == total["kept"] + total["excluded"] + total["not_judged"]
    assert (people["careful"]["finished"], people["dropping out"]["finished"]) == (10, 0)
    assert people["inverted"]["failed_checks"] >= 6  # of 8
    assert (people["careful"]["excluded"], people["inverted"]["excluded"]) == (0, 2)
    # The account is that of the answers in the file.
    rows = answers_of(out)
    assert len(rows) == total["answers"]
    assert Counter(row["participant"].partition(" ")[2] for row in rows) == {
        name: row["answers"] for name, row in people.items()
    }
    assert sum(row["correct"] == "false" for row in rows) == total["failed_checks"]
    assert all(0.05 < float(row["seconds"]) < 60 for row in rows)
    assert found["answers_per_object"]["fewest"] > 0
    assert (0.2 if kind == "rankings" else 0.5) < found["held_out"] <= 1  # all comparisons of a ranking have to hold
    assert (out / "methods.txt").read_text().startswith(f"{total['answers']:,} answers were collected from ")
    assert {path.name for path in out.iterdir()} == {
        "answers.db", "answers.csv", "report.html", "methods.txt", "summary.json"
    }  # fmt: skip
    assert not (study.folder / "answers.db").exists()


def test_every_step_of_a_study_is_taken_and_each_condition_is_analysed_alone(tmp_path):
    own = ("wanted = 9", 'wanted = 9\nitems = ["cat", "dog", "rose", "tulip", "bus", "lorry"]')
    conditions = "".join(f'[[conditions]]\nname = "{name}"\n{more}\n' for name, more in zip("ab", own))
    study = make_study(tmp_path / "study", number=20, repeats=2, catch=2, tables=SURVEY + conditions)
    given = (study.folder, "--rules", write_rules(tmp_path), "-o", tmp_path / "out")
    for options in ((), ("--condition", "c")):
        code, text = rehearse(*given, *options)
        assert (code, "condition: got" in text, "'b'" in text) == (2, True, True), text
    found = {}
    for name in "ab":
        code, text = rehearse(*given, "--condition", name, "--force")
        assert code == 0, text
        found[name] = json.loads((tmp_path / "out/summary.json").read_text())
        rows = answers_of(tmp_path / "out")
        alone = [row for row in rows if row["condition"] == name]
        people = found[name]["people"]["all"]
        assert 0 < len(alone) == people["answers"] < len(rows)
        assert people["number"] == people["kept"] + people["excluded"] + people["not_judged"]
        methods = (tmp_path / "out/methods.txt").read_text()
        assert methods.startswith(f"{people['answers']:,} answers were collected from")
        n_objects = {"a": 8, "b": 6}[name]
        kept = people["answers"] - people["checks"]
        assert found[name]["answers_per_object"]["mean"] <= 3 * kept / n_objects
    total = Counter()
    for one in found.values():
        assert (one["n_participants"], one["people"]["all"]["number"] < 18) == (18, True)
        total.update(one["people"]["all"])
    assert total["number"] == 18
    assert 0 < total["ended_otherwise"] < 18  # screened out


def test_the_same_seed_gives_the_same_answers_and_a_map_is_followed(tmp_path):
    study = make_study(tmp_path / "study", number=20, repeats=2, catch=2)
    points = np.array([[number // 2 % 2, number // 4] for number in range(8)]) + 0.01 * np.arange(8)[:, None]
    write_embedding(tmp_path / "map.csv", points, WORDS)
    given = ("--participants", 8, "--wrong", 0.05, "--map", tmp_path / "map.csv", "-o")
    for name in ("a", "b"):
        code, text = rehearse(study.folder, *given, tmp_path / name, *SHARES[4:6])
        assert code == 0, text
    assert answers_of(tmp_path / "a") == answers_of(tmp_path / "b")
    assert (tmp_path / "a/summary.json").read_text() == (tmp_path / "b/summary.json").read_text()
    stores = [Store(f"sqlite:///{tmp_path}/{name}/answers.db") for name in ("a", "b")]
    assert stores[0].secret != stores[1].secret  # nobody can derive a token from the seed
    for store in stores:
        store.close()
    pairs = [set(WORDS[start : start + 2]) for start in range(0, 8, 2)]
    for row in answers_of(tmp_path / "a"):
        if "careful" in row["participant"] and {row["anchor"], row["far"]} in pairs:
            assert row["near"] == row["anchor"], row  # beside its twin, only the object itself is nearer


@pytest.mark.parametrize(
    ("args", "text"),
    [(["--guessing", 0.7, "--inverted", 0.5], "shares"), (["--wrong", 0.6], "wrong"), (["--map", "map.csv"], "piano")],
)
def test_what_cannot_be_rehearsed_is_refused(tmp_path, monkeypatch, args, text):
    monkeypatch.chdir(tmp_path)
    make_study(tmp_path / "study", number=5)
    write_embedding("map.csv", np.eye(6), WORDS[:6])
    code, said = rehearse("study", *args, "-o", "out")
    assert (code, text in said) == (2, True), said
    assert not (tmp_path / "out").exists()


def test_the_answers_of_a_study_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path / "study", number=5)
    Store(study.database, create=True).close()
    before = (study.folder / "answers.db").read_bytes()
    (tmp_path / "link").symlink_to("study")
    for options in (["-o", "study"], ["-o", "study", "--force"], ["-o", "link", "--force"]):
        code, said = rehearse("study", *options)
        assert (code, "--out: got" in said) == (2, True), said
    monkeypatch.setenv("NEARER_DATABASE", study.database)
    assert rehearse("study", "--participants", 20)[0] == 0
    assert (study.folder / "answers.db").read_bytes() == before


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    study = make_study(tmp_path / "study", number=100)
    place = tmp_path / "place"
    place.mkdir()
    some = ("--participants", 10, "--guessing", 0, "--inverted", 0, "--dropping-out", 1)
    with Forked("collect", "rehearse", study.folder, *some, "-o", place / "out") as process:
        assert "simulated participants" in process.stderr.readline()  # they are answering
        family = psutil.Process(process.process.pid).children()
        assert len(family) == 1
        process.interrupted()
        assert process.wait() == 130
    until(lambda: not any(one.is_running() for one in family))
    assert list(place.iterdir()) == []
