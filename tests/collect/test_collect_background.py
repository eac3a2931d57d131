"""The process beside the server: what it finds, and that nothing waits for it."""

from __future__ import annotations

import random
import threading
from functools import partial

import numpy as np
import pytest
import sqlalchemy as sa
from serving import nearest, stored, until

from nearer.collect.background import Background, judge_map, queue_size, read_answers, the_only_one
from nearer.collect.server import Supervisor
from nearer.collect.store import Export, Store, questions, ready
from nearer.io import read_comparisons
from nearer.people import participants

WORDS = [str(number) for number in range(14)]  # names that look like numbers
near = partial(nearest, words=WORDS)


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_the_map_of_answers_without_noise(serve, kind):
    served = serve(words=WORDS, kind=kind, number=80, repeats=10, catch=4, map_dimensions=1)
    for name in ("a", "b", "c"):
        served.play(name, near)
    rng = random.Random(3)
    served.play("guesser", lambda question: rng.sample(range(len(question["options"])), question["choose"]), most=40)
    work = Background(served.study, served.store)
    assert work.due()
    work.round()
    assert not work.due()
    found, people = served.store.known("map", "people").values()
    assert sorted(map(int, found["labels"])) == list(range(14))
    place = {int(label): row[0] for label, row in zip(found["labels"], found["embedding"])}
    assert abs(np.corrcoef([place[number] for number in range(14)], range(14))[0, 1]) > 0.8
    assert found["accuracy"] > 0.6
    assert found["ceiling"] is None or 0.6 < found["ceiling"] <= 1  # too few questions were repeated
    guessed = [row for row in stored(served.store, questions) if row.participant == 4 and row.position <= 40]
    caught = sum(row.chosen_by == "catch" for row in guessed)
    assert found["n_held_out"] == 3 * 76 + 40 - caught  # answers, catch questions apart
    assert people.keys() == {"a", "b", "c", "guesser"}  # ids of people, and nothing beside them
    assert people["a"]["seconds"] == 1.5
    assert people["guesser"]["agreement"] < people["a"]["agreement"]
    assert people["guesser"]["guesses"] > people["a"]["guesses"]
    # The same figures as of the exported file, and in a report.
    export = Export(served.store, served.study)
    rows = zip(*export.rows())
    table = {name: list(cells) for name, cells in zip(export.columns, rows) if name != "answered_at"}
    again = participants(read_comparisons(table).comparisons).table()
    names = again["participant"]
    for column in ("agreement", "guesses", "p_chance", "repeats", "inverted"):
        assert [people[name][column] for name in names] == again[column]


def test_accuracy_is_measured_on_random_questions_alone(serve):
    served = serve(words=WORDS, number=60)
    served.play("a", near)
    for last, judged in ((60, 60), (40, 40), (20, 0)):  # 20 are too few
        with served.store.writing() as connection:
            connection.execute(sa.update(questions).where(questions.c.position > last).values(chosen_by="predictive"))
        data = read_answers(served.study, served.store)
        assert judge_map(served.study, data)["n_held_out"] == judged


def test_questions_are_chosen_for_the_queue_and_asked(serve):
    served = serve(words=WORDS, number=40, adaptive=True, random_share=0.25)
    served.play("early", near)  # before anything was chosen: all random
    Background(served.study, served.store).round()
    waiting = stored(served.store, ready)
    assert len(waiting) == queue_size(served.study) == len({row.key for row in waiting})
    served.play("late", near)
    asked = {row.key: row.chosen_by for row in stored(served.store, questions) if row.participant == 2}
    assert len(asked) == 40
    assert {row.chosen_by for row in stored(served.store, questions) if row.participant == 1} == {"random"}
    # About three quarters come from the queue, under the name of the strategy that chose them.
    left = {row.key for row in stored(served.store, ready)}
    taken = {row.key: row.chosen_by for row in waiting if row.key not in left}
    assert 20 <= len(taken) <= 38
    assert taken.items() <= asked.items()


@pytest.mark.tools
def test_the_process_works_dies_and_comes_back_while_people_answer(serve):
    served = serve(words=WORDS, number=32, adaptive=True)
    study = served.study
    keeper = Supervisor("nearer.collect.background", {"study": str(study.folder), "database": study.database})

    def n_rows():
        return (served.store.known("map")["map"] or {"n_rows": 0})["n_rows"]

    try:
        served.play("a", near)
        until(n_rows, 300)  # it yields to everything else that the machine does
        first = keeper.process.pid
        keeper.process.kill()
        served.play("b", near)  # nobody waits for it
        until(lambda: n_rows() == 64, 300)
        assert keeper.process.pid != first
    finally:
        keeper.stop()
    assert keeper.process.poll() is not None


def test_one_process_computes_and_another_takes_over(postgres):
    database = postgres.fresh("lock")
    stores = [Store(database, create=True) for _ in range(2)]
    entered = threading.Event()

    def second():
        with the_only_one(stores[1]):
            entered.set()

    with the_only_one(stores[0]) as connection:
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.wait(0.3)
        # The backend that holds the lock dies, as its process might.
        number = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        with stores[1].writing() as other:
            other.execute(sa.text("SELECT pg_terminate_backend(:number)"), {"number": number})
        assert entered.wait(10)
    thread.join()
    for store in stores:
        store.close()
