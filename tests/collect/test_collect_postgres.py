"""PostgreSQL: the same study from several servers, kills included. The cluster is the tests' own."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from benchmarks.collect import Server
from serving import Visitor, at_once, make_study, stored, until

from nearer.collect.store import Store, answers, back_up, participants, questions

_NAMES = itertools.count()


@pytest.fixture
def database(postgres):
    return postgres.fresh(f"study{next(_NAMES)}")


@pytest.fixture
def pair(tmp_path, database, serve):
    """Two servers of one study."""
    study = make_study(tmp_path / "study", number=12, repeats=3, catch=1)
    return [serve(study, database), serve(study, database)]


def test_two_servers_hand_out_and_count_everything_once(pair):
    # Two tabs of each participant, each at another server.
    at_once([partial(Visitor(pair[number % 2].port).play, f"p{number // 2}") for number in range(16)])
    store = pair[0].store
    assert [(one.answered, one.total) for one in stored(store, participants)] == [(12, 12)] * 8
    asked = stored(store, questions)
    assert len(asked) == 96 == len(stored(store, answers))
    assert len({(row.participant, row.key) for row in asked}) == 96


def test_a_backup_of_postgres_is_a_file_that_can_be_served(pair, tmp_path, serve):
    pair[0].play("p1")
    pair[1].play("p2", most=4)
    assert back_up(pair[0].store, tmp_path / "copy.db") == 16
    again = serve(pair[0].study, f"sqlite:///{tmp_path / 'copy.db'}")
    assert len(again.play("p2")[1]) == 8


def test_a_database_that_is_down_is_waited_for(postgres, pair):
    served = pair[0]
    state, _ = served.play("p", most=3)
    token, question = served.start("p")["participant"], state["questions"][0]["id"]
    postgres.stop()  # which ends all connections
    try:
        status, told = served.answer(token, question)
        assert status == 503
        assert "cannot store answers at the moment" in told["error"]
        assert served.response.headers["retry-after"] == "2"
    finally:
        postgres.start()
    until(lambda: served.answer(token, question)[0] == 200)
    assert len(stored(served.store, answers)) == 4
    assert served.play("p")[0]["finished"]


def test_several_processes_of_one_command(tmp_path, database):
    study = make_study(tmp_path / "study", number=12)
    server = Server(study.folder, database, 2, background=False)
    try:
        assert all(Visitor(server.port).play(f"p{number}")[0]["finished"] for number in range(4))
        store = Store(database)
        assert len(stored(store, answers)) == 48
        store.close()
    finally:
        server.stop()
