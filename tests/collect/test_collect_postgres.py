"""PostgreSQL: the same study from several servers, kills included. The cluster is the tests' own."""

from __future__ import annotations

import itertools
import threading
import time

import pytest
import sqlalchemy as sa
from benchmarks.collect import Server
from serving import Served, Visitor, make_study, stored

from nearer.collect.store import Export, Store, answers, back_up, participants, questions
from nearer.collect.study import QuestionSettings

_NAMES = itertools.count()


@pytest.fixture
def database(postgres):
    return postgres.fresh(f"study{next(_NAMES)}")


@pytest.fixture
def pair(tmp_path, database):
    """Two servers of one study."""
    study = make_study(
        tmp_path / "study",
        number=12,
        repeats=3,
        catch=1,
        requests_per_second=10_000,
        new_participants_per_minute=10_000,
    )
    servers = [Served(study, database), Served(study, database)]
    yield servers
    for server in servers:
        server.stop()


def test_two_servers_hand_out_and_count_everything_once(pair):
    failed = []

    def tab(number):
        # Two tabs of each participant, each at another server.
        try:
            Visitor(pair[number % 2].port).play(f"p{number // 2}")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=tab, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    store = pair[0].store
    assert [(one.answered, one.total) for one in stored(store, participants)] == [(12, 12)] * 8
    asked = stored(store, questions)
    assert len(asked) == 96 == len(stored(store, answers))
    assert len({(row.participant, row.key) for row in asked}) == 96
    export = Export(store, QuestionSettings())
    assert len(list(export.rows())) + sum(export.left_out.values()) == 96


def test_a_participant_goes_on_at_another_server(pair):
    state, _ = pair[0].play("p", most=5)
    other = pair[1].start("p")
    assert [question["id"] for question in other["questions"]] == [question["id"] for question in state["questions"]]
    assert pair[1].play("p")[0]["finished"]
    pair[0].play_backwards("q")


def test_a_backup_of_postgres_is_a_file_that_can_be_served(pair, tmp_path):
    pair[0].play("p1")
    pair[1].play("p2", most=4)
    assert back_up(pair[0].store, tmp_path / "copy.db") == 16
    again = Served(pair[0].study, f"sqlite:///{tmp_path / 'copy.db'}")
    assert len(again.play("p2")[1]) == 8
    again.stop()


def test_killed_backends_are_survived(pair):
    served, acknowledged = pair[0], set()
    store = Store(served.store.engine.url.render_as_string(hide_password=False))
    state = served.start("p")
    token, end = state["participant"], time.monotonic() + 30
    while not state["finished"]:
        assert time.monotonic() < end
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.execute(sa.text(f"{others} AND datname = current_database()"))
        question = state["questions"][0]["id"]
        status, after = served.answer(token, question)
        if status == 503:
            time.sleep(0.01)
            continue
        assert status == 200
        acknowledged.add(question)
        state = after
    assert len(stored(store, answers)) == 12 == len(acknowledged)
    store.close()


def test_a_database_that_is_down_is_waited_for(tmp_path, postgres, database):
    study = make_study(tmp_path / "study", number=12, requests_per_second=10_000)
    served = Served(study, database)
    state, _ = served.play("p", most=3)
    token, question = served.start("p")["participant"], state["questions"][0]["id"]
    postgres.stop()
    try:
        status, told = served.answer(token, question)
        assert status == 503
        assert "cannot store answers at the moment" in told["error"]
    finally:
        postgres.start()
    end = time.monotonic() + 20
    while (found := served.answer(token, question))[0] == 503:
        assert time.monotonic() < end
    assert found[1]["answered"] == 4
    assert served.play("p")[0]["finished"]
    served.stop()


def test_several_processes_of_one_command(tmp_path, database):
    study = make_study(tmp_path / "study", number=12, requests_per_second=10_000)
    server = Server(study.folder, database, 2, background=False)
    try:
        for number in range(4):
            assert Visitor(server.port).play(f"p{number}")[0]["finished"]
        store = Store(database, create=True)
        assert len(stored(store, answers)) == 48
        store.close()
    finally:
        server.stop()
