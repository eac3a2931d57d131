"""The benchmark of the server at its smallest: what it counts is right."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from benchmarks.collect import PAGE, Tally, check_once, measure_people, summary

from nearer.collect.store import answers

pytestmark = pytest.mark.tools


def test_what_is_lost_or_counted_twice_is_seen(serve):
    served, tally = serve(number=6), Tally()
    for question in served.play("p")[1]:
        tally.acknowledged[question["id"]] = 1
    found = check_once(served.store, tally)
    assert found == {
        "acknowledged": 6, "stored": 6, "lost": 0, "stored twice": 0, "counters agree": True, "asked twice": 0,
    }  # fmt: skip
    with served.store.writing() as connection:
        connection.execute(sa.delete(answers).where(answers.c.question == 2))
    tally.acknowledged[question["id"]] = 2
    found = check_once(served.store, tally)
    assert (found["lost"], found["stored twice"], found["counters agree"]) == (1, 1, False)


def test_people_who_answer_at_a_rate():
    found = measure_people("sqlite", 10, 1.0, background=False)
    assert found["errors"] == 0
    assert found["answer p50 ms"] > 0


def test_the_page_has_the_figures_that_were_saved():
    assert summary() in PAGE.read_text(encoding="utf-8")
