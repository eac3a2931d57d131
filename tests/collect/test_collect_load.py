"""The benchmark of the server at its smallest: what it counts is right, and a kill under load loses nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from benchmarks.collect import PAGE, Tally, check_once, measure_kills, measure_people, summary
from serving import Served, make_study

from nearer.collect.store import answers

pytestmark = pytest.mark.tools


def test_what_is_lost_or_counted_twice_is_seen(tmp_path):
    served = Served(make_study(tmp_path / "s", number=6))
    state, tally = served.start("p"), Tally()
    token = state["participant"]
    while not state["finished"]:
        question = state["questions"][0]["id"]
        state = served.answer(token, question)[1]
        tally.acknowledged[question] = 1
    found = check_once(served.store, tally)
    assert found == {
        "acknowledged": 6, "stored": 6, "lost": 0, "stored twice": 0, "counters agree": True, "asked twice": 0,
    }  # fmt: skip
    with served.store.writing() as connection:
        connection.execute(sa.delete(answers).where(answers.c.question == 2))
    tally.acknowledged[question] = 2
    found = check_once(served.store, tally)
    assert (found["lost"], found["stored twice"], found["counters agree"]) == (1, 1, False)
    served.stop()


def test_people_and_a_kill(tmp_path):
    found = measure_people("sqlite", 10, 1.0, background=False)
    assert found["errors"] == 0
    assert found["answer p50 ms"] > 0
    killed = measure_kills("sqlite", 1, 4)
    assert killed["kills"] == 1
    assert (killed["lost"], killed["stored twice"], killed["asked twice"]) == (0, 0, 0)
    assert killed["counters agree"]


def test_the_page_has_the_figures_that_were_saved():
    assert summary() in PAGE.read_text(encoding="utf-8")
