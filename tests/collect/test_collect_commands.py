"""The commands: from nothing to a map, counted, paused, copied."""

from __future__ import annotations

import csv
import json
from functools import partial

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from serving import WORDS, Visitor, make_study, nearest, stored

from forked import Forked
from nearer.cli.app import cli
from nearer.collect.store import Export, Store, answers, participants, questions
from nearer.io import read_comparisons
from nearer.registry import COLLECTED


def nearer(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="nearer")


@pytest.fixture
def served(serve, tmp_path, monkeypatch):
    """A study in the folder of the commands."""
    monkeypatch.chdir(tmp_path)
    return serve(make_study(tmp_path / "study", number=20, repeats=2, catch=2))


OWN = [["cat", "dog", "piano"], ["bus", "lorry", "rose"]]
CASES = [*((kind, []) for kind in COLLECTED), ("triplets", OWN), ("odd-one-out", OWN)]


@pytest.mark.parametrize(("kind", "catches"), CASES)
def test_answers_are_exported_as_fit_reads_them(serve, tmp_path, monkeypatch, kind, catches):
    """Attention checks, the study's own or with an object shown twice, are answers without comparisons."""
    monkeypatch.chdir(tmp_path)
    changes = {"number": 20, "repeats": 2, "catch": 2, "catch_questions": catches}
    served = serve(make_study(tmp_path / "study", kind=kind, **changes))
    for name in ("=p1", "p, 2", "p3"):
        served.play(name, partial(nearest, words=WORDS))
    done = nearer("collect", "export", "study", "-o", "answers.csv")
    assert done.exit_code == 0, done.output
    with open("answers.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == Export(served.store, served.study).columns
    assert {row["participant"] for row in rows} == {"'=p1", "p, 2", "p3"}
    assert {int(row["order"]) for row in rows} <= set(range(1, 21))
    found = read_comparisons("answers.csv")
    assert (found.kind, found.n_rows, found.dropped, found.unused) == (kind, 60, {}, ("answered_at",))
    comparisons, given = found.comparisons, found.comparisons.answers
    assert set(comparisons.labels) <= set(WORDS)
    assert sorted(given.participant.names) == ["=p1", "p, 2", "p3"]
    assert (given.seconds == 1.5).all()
    assert given.catch.tolist() == [row["catch"] == "true" for row in rows]
    assert (given.catch.sum(), comparisons.n_answers) == (6, 54)
    assert not given.catch[comparisons.answer].any()
    known = {"true": 1, "false": 0, "": -1}
    assert given.correct.tolist() == [known[row["correct"]] for row in rows]
    assert (given.correct[given.catch] >= 0).all()
    assert given.chosen_by.each().tolist() == [row["chosen_by"] for row in rows]
    assert given.side.tolist() == [json.loads(row.choice)[0] for row in stored(served.store, answers)]
    if kind == "triplets":  # what was chosen is what the file says
        place = np.array([WORDS.index(label) for label in comparisons.labels])
        anchor, near, far = place[comparisons.index.T]
        assert (abs(near - anchor) <= abs(far - anchor)).all()
    fitted = nearer("fit", "answers.csv", "-d", "1", "-o", "map", "--quiet", "--cv", "0", "--bootstrap", "0")
    assert fitted.exit_code == 0, fitted.output
    assert nearer("collect", "export", "study", "-o", "answers.csv").exit_code == 2


def test_what_no_map_can_use_is_counted(served):
    served.play("p", most=2)
    with served.store.writing() as connection:
        connection.execute(sa.update(questions).values(kind="odd-one-out").where(questions.c.position == 2))
        connection.execute(sa.update(answers).values(choice=None).where(answers.c.question == 1))
    export = Export(served.store, served.study)
    assert list(export.rows()) == []
    assert export.left_out == {"cannot tell": 1, "the question was of another kind (odd-one-out, 3 objects)": 1}


def test_status_pause_and_resume(served):
    served.play("p1", most=3)
    served.play("p2")
    told = json.loads(nearer("collect", "status", "study", "--json").stdout)
    assert (told["funnel"]["opened"], told["funnel"]["finished"], told["answers"], told["paused"]) == (2, 1, 23, False)
    assert told["per_minute"][-1] + told["per_minute"][-2] == 23
    assert [one["answered"] for one in told["people"]] == [3, 20]
    for name, paused, changed in (("pause", True, True), ("pause", True, False), ("resume", False, True)):
        done = json.loads(nearer("collect", name, "study", "--json").stdout)
        assert done == {"paused": paused, "changed": changed}


def test_a_backup_is_whole_while_people_answer(served, tmp_path):
    served.play("p1")
    done = nearer("collect", "backup", "study", "-o", "copy.db")
    assert done.stdout == "wrote copy.db: 20 answers\n", done.output
    served.play("p2", most=5)
    assert nearer("collect", "backup", "study", "-o", "copy.db").exit_code == 2
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]
    copy = Store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert [row.answered for row in stored(copy, participants)] == [20]
    copy.close()


def test_two_commands_to_the_first_question(tmp_path):
    """What the README promises: new, serve, and the page is there; ctrl-C ends it cleanly."""
    (tmp_path / "list.txt").write_text("\n".join(WORDS))
    assert nearer("collect", "new", tmp_path / "words", "--words", tmp_path / "list.txt").exit_code == 0
    with Forked("collect", "serve", "words", "--port", "0", "--no-background", folder=tmp_path) as process:
        told = [process.stdout.readline() for _ in range(5)]
        address = told[1].split()[1].split("?")[0]
        visitor = Visitor(int(address.rsplit(":", 1)[1].strip("/")))
        assert b"participant.js" in visitor.call("/")[1]
        assert len(visitor.start("p")["questions"]) == 2
        _, errors = process.interrupted()
        assert process.wait() == 0
    assert "1 participants" in errors
    assert "Traceback" not in errors


def test_faults_of_the_user_are_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_study(tmp_path / "study")
    (tmp_path / "strange.txt").write_text("a\n\n\u200b\nc\n", encoding="utf-8")
    for args, message in [
        (("serve", "nowhere"), "study.toml: no such file; create a study with: nearer collect new nowhere"),
        (("export", "study", "-o", "x.csv"), "holds no study yet"),
        (("serve", "study", "--database", "mysql://x/y"), "expected sqlite or postgresql"),
        (("serve", "study", "--port", "0", "--host", "nowhere.invalid"), "got nowhere.invalid and 0"),
        (("new", "other"), "got objects from 0 of --images"),
        (("new", "other", "--words", "strange.txt"), "strange.txt: line 3: name: got '\\u200b'"),
        (("serve", "study", "--port", "0", "--certificate", "study.txt", "--key", "study.txt"), "got study.txt with"),
    ]:
        done = nearer("collect", *args)
        assert done.exit_code == 2, (args, done.output)
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert nearer("collect", "serve", "study", "--processes", "2").exit_code == 2
