"""The process beside the server: what it finds, and that nothing waits for it."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest
import sqlalchemy as sa
from serving import Served, make_study, stored, until

from nearer.collect.background import Background, judge_map, queue_size, read_answers, the_only_one
from nearer.collect.server import Supervisor
from nearer.collect.store import Store, questions, ready

WORDS = [str(number) for number in range(14)]  # names that look like numbers


def near(question):
    """Answers of somebody for whom the names lie on a line."""
    options = [int(option["name"]) for option in question["options"]]
    if question["head"] is None:
        spread = [sum(abs(one - other) for other in options) for one in options]
        return [max(range(3), key=spread.__getitem__)]
    head = int(question["head"]["name"])
    order = sorted(range(len(options)), key=lambda number: abs(options[number] - head))
    return order[: question["choose"]]


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_the_map_of_answers_without_noise(tmp_path, kind):
    study = make_study(
        tmp_path / "s", WORDS, kind, number=80, repeats=10, catch=4, requests_per_second=10_000, map_dimensions=1
    )
    served = Served(study)
    for name in ("a", "b", "c"):
        served.play(name, near)
    rng = random.Random(3)
    served.play("guesser", lambda question: rng.sample(range(len(question["options"])), question["choose"]), most=40)
    work = Background(study, served.store)
    assert work.due()
    work.round()
    assert not work.due()
    with served.store.reading() as connection:
        guessed = (questions.c.participant == 4) & (questions.c.position <= 40) & (questions.c.chosen_by == "catch")
        caught = connection.scalar(sa.select(sa.func.count()).select_from(questions).where(guessed))
        found = served.store.finding(connection, "map")
        people = served.store.finding(connection, "people")
    assert sorted(map(int, found["labels"])) == list(range(14))
    place = {int(label): row[0] for label, row in zip(found["labels"], found["embedding"])}
    line = [place[number] for number in range(14)]
    assert abs(np.corrcoef(line, range(14))[0, 1]) > 0.8
    assert found["accuracy"] > 0.6
    assert 0.6 < found["ceiling"] <= 1
    assert found["n_held_out"] == 3 * 76 + 40 - caught  # answers, catch questions apart
    assert people["a"]["seconds"] == 1.5
    assert people.keys() == {"a", "b", "c", "guesser"}  # ids of people, and nothing beside them
    if kind != "rankings":
        assert 0 < people["a"]["first"] < 1
    assert people["guesser"]["agreement"] < people["a"]["agreement"]
    assert people["guesser"]["guesses"] > people["a"]["guesses"]
    served.stop()


def test_accuracy_is_measured_on_random_questions_alone(tmp_path):
    study = make_study(tmp_path / "s", WORDS, number=60, requests_per_second=10_000)
    served = Served(study)
    served.play("a", near)
    for last, judged in ((60, 60), (40, 40), (20, 0)):  # 20 are too few
        with served.store.writing() as connection:
            connection.execute(sa.update(questions).where(questions.c.position > last).values(chosen_by="predictive"))
        data = read_answers(study, served.store)
        assert judge_map(study, data)["n_held_out"] == judged
    served.stop()


def test_questions_are_chosen_for_the_queue_and_asked(tmp_path):
    study = make_study(tmp_path / "s", WORDS, number=40, requests_per_second=10_000, adaptive=True, random_share=0.25)
    served = Served(study)
    served.play("early", near)  # before anything was chosen: all random
    work = Background(study, served.store)
    work.round()
    waiting = stored(served.store, ready)
    assert len(waiting) == queue_size(study)
    assert len({row.key for row in waiting}) == len(waiting)
    served.play("late", near)
    with served.store.reading() as connection:
        by = [
            list(connection.scalars(sa.select(questions.c.chosen_by).where(questions.c.participant == number)))
            for number in (1, 2)
        ]
        asked = list(connection.scalars(sa.select(questions.c.key).where(questions.c.participant == 2)))
    left = {row.key for row in stored(served.store, ready)}
    assert set(by[0]) == {"random"}
    # About three quarters come from the queue, under the name of the strategy that chose them.
    taken = {row.key: row.chosen_by for row in waiting if row.key not in left}
    assert 20 <= len(taken) <= 38
    assert set(taken) <= set(asked)
    assert all(by[1][asked.index(key)] == name for key, name in taken.items())
    assert len(by[1]) == 40
    served.stop()


@pytest.mark.tools
def test_the_process_works_dies_and_comes_back_while_people_answer(tmp_path):
    study = make_study(tmp_path / "s", WORDS, number=32, requests_per_second=10_000, adaptive=True)
    served = Served(study)
    keeper = Supervisor("nearer.collect.background", {"study": str(study.folder), "database": study.database})
    try:
        served.play("a", near)

        def found():
            with served.store.reading() as connection:
                return served.store.finding(connection, "map")

        until(found, 300)  # it yields to everything else that the machine does
        first = keeper.process.pid
        keeper.process.kill()
        served.play("b", near)  # nobody waits for it
        until(lambda: found()["n_rows"] == 64, 300)
        assert keeper.process.pid != first
    finally:
        keeper.stop()
        served.stop()
    assert keeper.process.poll() is not None


def test_one_process_computes_and_another_takes_over(tmp_path, postgres):
    database = postgres.fresh("lock")
    stores = [Store(database, create=True) for _ in range(2)]
    entered = []

    def second():
        with the_only_one(stores[1]):
            entered.append(2)

    with the_only_one(stores[0]) as connection:
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        assert entered == []
        # The backend that holds the lock dies, as its process might.
        number = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        with stores[1].engine.connect() as other:
            other.execute(sa.text("SELECT pg_terminate_backend(:number)"), {"number": number})
        until(lambda: entered == [2], 10)
    thread.join()
    for store in stores:
        store.close()
