"""What an attack on the server found, each as a test: what is published, replaced files, floods, shared state."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import shutil
import socket
import threading
import time
from collections import Counter
from functools import partial

import pytest
import sqlalchemy as sa
from benchmarks.collect import measure_connections
from click.testing import CliRunner
from serving import WORDS, Visitor, at_once, change, make_study, stored, until

from nearer.cli.app import cli
from nearer.collect import background, desk, server, store
from nearer.collect.study import read_study
from nearer.data.messages import FileFormatError


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch):
    """What earlier tests logged does not count."""
    monkeypatch.setattr(server, "_SPARSE", server.Sparse())
    for name in ("uvicorn.error", "asyncio", server.__name__):
        monkeypatch.setattr(logging.getLogger(name), "filters", [])


def by_command(*args):
    """What a command prints as JSON."""
    done = CliRunner().invoke(cli, ["collect", *map(str, args), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# ---- what is published -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [".", "./", "..", "../beside", "own/..", "linked", "outside", "own-link", "own-data"])
def test_a_page_is_a_folder_of_its_own(tmp_path, page):
    study = make_study(tmp_path / "study")
    for folder in ("own", "own-link", "own-data", "../beside"):
        (study.folder / folder).mkdir()
    for folder in (".", "..", "own", "own-link", "own-data", "../beside"):
        (study.folder / folder / "index.html").write_text("<p>own")
    (study.folder / "linked").symlink_to(study.folder)
    (study.folder / "outside").symlink_to(tmp_path / "beside")
    (study.folder / "own-link" / "data").symlink_to(study.folder / "study.toml")
    store.Store(study.database, create=True).close()
    os.link(study.folder / "answers.db", study.folder / "own-data" / "picture.png")
    change(study.folder, page="own")
    read_study(study.folder)
    change(study.folder, page=page)
    with pytest.raises(FileFormatError, match=r"server\.page: got"):
        read_study(study.folder)


def test_of_an_own_page_only_the_files_that_were_there_are_served(serve, tmp_path):
    folder = make_study(tmp_path / "study").folder
    (folder / "own" / "more").mkdir(parents=True)
    for name in ("index.html", "a.js", "more/index.html", ".hidden"):
        (folder / "own" / name).write_text(name)
    change(folder, page="own")
    study = read_study(folder)
    with pytest.raises(ValueError, match=r"server\.page"):
        serve(study, f"sqlite:///{folder / 'own' / 'answers.db'}")
    for file in (folder / "own").glob("answers.db*"):
        file.unlink()
    served = serve(study)
    shutil.copy(folder / "answers.db", folder / "own" / "copy.db")
    found = {"/": b"index.html", "/a.js": b"a.js", "/more/": b"more/index.html", "/more/index.html": b"more/index.html"}
    for path, text in found.items():
        assert served.call(path) == (200, text)
    for path in ("/copy.db", "/.hidden", "/answers.db", "/../study.toml", "/more"):
        assert served.call(path)[0] == 404


# ---- a database that is not the one that was opened ------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_answers_are_not_acknowledged_when_the_file_is_gone(serve, caplog, ending):
    served = serve(number=20)
    state, _ = served.play("p", most=2)
    token, question = served.start("p")["participant"], state["questions"][0]["id"]
    assert served.call("/health")[0] == 200
    file = served.study.folder / f"answers.db{ending}"
    file.rename(file.with_suffix(".away"))
    for _ in range(2):
        assert served.answer(token, question)[0] == 503
    assert until(lambda: served.call("/health")[0] == 503, 10)
    assert "the file of the database was deleted or replaced" in caplog.text
    file.unlink(missing_ok=True)
    file.with_suffix(".away").rename(file)
    until(lambda: served.call("/health")[0] == 200, 10)
    assert served.answer(token, question)[0] == 200
    assert len(stored(served.store, store.answers)) == 3


def test_the_database_is_in_the_folder_of_the_study(serve, tmp_path):
    studies = [make_study(tmp_path / name, number=5) for name in ("alike?", "alike?v=2", "100%20")]
    for study in studies:
        serve(study).play("p")
    assert all((study.folder / "answers.db").is_file() for study in studies)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["100%20", "alike?", "alike?v=2"]
    for study in studies:
        assert by_command("status", study.folder)["funnel"]["opened"] == 1


def test_health_writes_and_not_for_everybody(serve, tmp_path, database, monkeypatch):
    study = make_study(tmp_path / "study")
    probed = []
    for seconds in (1000.0, 1e-9):
        monkeypatch.setattr(server, "_PROBE_SECONDS", seconds)
        served = serve(study, database)
        for _ in range(20):
            assert served.call("/health") == (200, {"ok": True})
            probed.append(served.store.known("probed")["probed"])
    assert len(set(probed[:20])) == 1
    assert len(set(probed)) == 21
    with served.store.writing() as connection:
        served.store.put(connection, "secret", "00" * 32)
    assert served.call("/health")[0] == 503


# ---- studies that can be completed -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out"])
def test_everybody_comes_to_the_end_with_as_many_questions_as_there_are(serve, kind):
    number = {"triplets": 20, "odd-one-out": 12}[kind]
    served = serve(words=WORDS[:4], kind=kind, number=number, catch=8)
    for person in range(40):
        assert len(served.play(f"p{person}")[1]) == number


def test_attention_checks_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"questions\.catch: got 7, expected at most 6"):
        make_study(tmp_path / "study", words=WORDS[:3], number=9, catch=7)


def test_who_has_seen_every_question_finishes(serve, tmp_path, database):
    study = make_study(tmp_path / "study", words=WORDS[:4], number=12)
    served = serve(study, database)
    served.play("p", most=2)
    served.stop()
    items = study.folder / "items.csv"
    items.write_text("".join(items.read_text().splitlines(keepends=True)[:-1]))
    change(study.folder, number=3)
    again = serve(read_study(study.folder), database)
    state, seen = again.play("p")
    assert state["finished"]
    assert 2 + len(seen) == state["total"] < 12
    assert store.study_status(again.store, again.study)["funnel"]["finished"] == 1


# ---- floods ----------------------------------------------------------------------------------------------------------


def test_requests_before_the_response_end_the_connection(serve, caplog):
    served = serve(number=5)
    with served.raw() as raw:
        raw.sendall(b"GET /secret-path HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
        raw.settimeout(5)
        received = b""
        with contextlib.suppress(ConnectionError):
            while piece := raw.recv(65536):
                received += piece
    assert received.count(b"HTTP/1.1 ") <= 2
    for _ in range(50):
        with served.raw() as raw:
            raw.sendall(b"GET /secret-path HTTP/1.1\r\nhost: x\r\n\r\n" * 100)
    assert served.call("/health")[0] == 200
    assert "secret-path" not in caplog.text
    assert "Traceback" not in caplog.text


def test_what_fails_is_one_line_without_what_was_requested(serve, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("at /secret-path")

    served = serve(number=5)
    monkeypatch.setattr(server, "FileResponse", fail)
    for _ in range(20):
        assert Visitor(served.port).call("/researcher")[0] == 500
    lines = [record for record in caplog.records if record.name == "uvicorn.error"]
    assert len(lines) == 1
    assert lines[0].exc_info is None
    assert "secret-path" not in caplog.text


def test_idle_connections_leave_room(serve, monkeypatch):
    monkeypatch.setattr(server, "_CONNECTIONS", 20)
    served = serve(number=5)
    served.start("p")  # its connection is in use again and again
    with contextlib.ExitStack() as opened:
        for _ in range(60):
            idle = opened.enter_context(served.raw())
            idle.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"200" in idle.recv(1000)
            assert served.call("/health")[0] == 200
        assert Visitor(served.port).call("/health")[0] == 200


@pytest.mark.tools
def test_connections_that_leave_or_stay_do_no_harm():
    found = measure_connections("sqlite", 300, 1100, 0.5)
    assert found["probes answered"] == found["probes"] > 0
    assert found["idle kept"] < 1024
    assert found["lines logged"] < 5
    assert found["tracebacks"] == found["paths logged"] == 0
    assert found["MiB after"] < found["MiB before"] + 30


# ---- what the researcher sees ----------------------------------------------------------------------------------------


def status_of(served):
    found = served.call("/api/researcher/status", headers=researcher(served))
    assert found[0] == 200, found
    return found[1]


def researcher(served):
    return {"Authorization": f"Bearer {served.store.token}"}


def test_the_age_of_the_map_and_of_the_process_that_makes_it(serve):
    served = serve(number=40)
    served.play("p")
    assert status_of(served)["background"] is None
    before = time.time()
    background.Background(served.study, served.store).round()
    found = status_of(served)
    assert before < found["map"]["made"] <= found["now"]
    assert before < found["background"]["seen"] <= found["now"]


@pytest.mark.browser
def test_the_page_says_that_the_background_process_is_dead_and_how_old_the_map_is(person, serve):
    served = serve(number=40)
    served.play("p")
    background.Background(served.study, served.store).round()
    served.store.keep("map", served.store.known("map")["map"] | {"made": time.time() - 3600})
    for seen, dead in ((time.time(), False), (time.time() - 600, True)):
        served.store.keep("background", {"seen": seen})
        person.driver.get("about:blank")
        person.driver.get(f"{served.url}researcher#{served.store.token}")
        person.wait("document.documentElement.dataset.ready === 'yes'")
        assert ("last reported 10 min ago" in person.text("#background")) == dead
        assert "computed 60 min ago" in person.text("#mapnote")


def test_only_those_who_answered_just_now_are_there(serve):
    served = serve(number=5)
    served.play("done")
    served.play("there", most=2)
    served.play("away", most=2)
    with served.store.writing() as connection:
        away = sa.update(store.participants).where(store.participants.c.name == "away")
        connection.execute(away.values(seen=time.time() - 90))
    assert status_of(served)["status"]["present"] == 1


def test_the_share_of_adaptive_slots_that_were_filled(serve):
    served = serve(number=40, adaptive=True, random_share=0.25)
    assert status_of(served)["status"]["adaptive_share"] is None
    served.play("p")
    assert status_of(served)["status"]["adaptive_share"] == 0
    background.fill_queue(served.study, served.store, None, 1)
    with served.store.writing() as connection:
        connection.execute(sa.update(store.ready).values(chosen_by="predictive"))
    served.play("q")
    assert 0.3 < status_of(served)["status"]["adaptive_share"] < 0.7


def test_the_stock_of_questions_follows_the_rate(serve):
    served = serve(number=40, adaptive=True)
    size = background.queue_size(served.study)
    for stock, copies in ((0, 1), (3 * size, 3)):
        background.fill_queue(served.study, served.store, None, 1, stock)
        waiting = [row.key for row in stored(served.store, store.ready)]
        assert set(Counter(waiting).values()) == {copies}
        assert len(set(waiting[:size])) == size  # each once before one comes again
    served.play("p")
    work = background.Background(served.study, served.store)
    work.round()
    work.round()  # knows how long a round lasts
    with served.store.writing() as connection:
        connection.execute(sa.delete(store.ready).where(store.ready.c.id > 1))
    served.play("q", most=1)
    assert work.due()


# ---- state that is shared --------------------------------------------------------------------------------------------


def test_threads_share_a_deck():
    class Slow:
        """Lets other threads go on in the middle of a deal."""

        def __contains__(self, card):
            time.sleep(1e-4)
            return False

    deck = desk.Deck(range(5), random.Random(0))
    counts = Counter()
    at_once([lambda: counts.update([deck.deal(Slow()) for _ in range(100)])] * 8)
    assert set(counts.values()) == {160}


def test_a_port_that_is_just_being_left_is_waited_for():
    held = server.bind("127.0.0.1", 0)
    port = held.getsockname()[1]
    threading.Timer(0.5, held.close).start()
    with contextlib.closing(server.bind("127.0.0.1", port)) as listening:
        assert isinstance(listening, socket.socket)


def test_repeats_are_found_without_reading_the_table(serve, tmp_path, database):
    served = serve(make_study(tmp_path / "study"), database)
    about = {"kind": "triplets", "n_chosen": 1, "ordered": True, "shown": "[1, 2, 3]", "chosen_by": "predictive"}
    about |= {"planned": "random"}
    with served.store.writing() as connection:
        person = {"name": "x", "opened": 0, "seen": 0, "visits": 0, "total": 1, "answered": 0}
        connection.execute(sa.insert(store.participants), person)
        rows = [{**about, "participant": 1, "position": row, "key": f"k{row}", "asked": 0} for row in range(1, 20_001)]
        connection.execute(sa.insert(store.questions), rows)
    given = {"person": 2, "kind": "triplets", "from_here": 1, "condition": ""}
    with served.store.writing() as connection:
        text = str(desk._REPEAT.compile(served.store.engine, compile_kwargs={"render_postcompile": True}))
        assert connection.execute(desk._REPEAT, given).first() is None
        explain = "EXPLAIN QUERY PLAN " if served.store.is_sqlite else "EXPLAIN "
        values = desk._REPEAT.compile(served.store.engine).construct_params(given)
        arguments = tuple(values.values()) if "?" in text else values
        steps = connection.exec_driver_sql(explain + text, arguments).all()
    assert "questions_random" in str(steps)


def test_posts_that_any_site_may_send_are_refused(serve):
    served = serve(number=5)
    for kind in ("text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", ""):
        headers = {"Content-Type": kind, "Origin": "https://evil.example.org"}
        assert served.call("/api/start", {"participant": "p"}, headers=headers)[0] == 415
    assert stored(served.store, store.participants) == []
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert served.call("/api/start", {"participant": "p"}, headers=headers)[0] == 200


def test_a_token_is_rotated_while_the_study_is_served(serve, tmp_path, database):
    study = make_study(tmp_path / "study", number=5)
    served = serve(study, database)
    status = partial(served.call, "/api/researcher/status")
    given = [study.folder, *(["--database", database] if database else [])]
    first = by_command("token", *given)["token"]
    participant = served.start("p")["participant"]
    assert status(headers={"Authorization": f"Bearer {first}"})[0] == 200
    second = by_command("token", *given, "--rotate")["token"]
    assert status(headers={"Authorization": f"Bearer {first}"})[0] == 401
    assert status(headers={"Authorization": f"Bearer {second}"})[0] == 200
    assert served.call("/api/next", {"participant": participant})[0] == 200


def test_exports_pauses_and_tokens_are_noted(serve, tmp_path, database):
    study = make_study(tmp_path / "study", number=5)
    served = serve(study, database)
    given = [study.folder, *(["--database", database] if database else [])]
    for paused in (True, True, False):
        served.call("/api/researcher/pause", {"paused": paused}, headers=researcher(served))
    served.call("/api/researcher/answers.csv", headers=researcher(served))
    by_command("pause", *given)
    by_command("export", *given, "-o", tmp_path / "answers.csv")
    by_command("token", *given, "--rotate")
    noted = by_command("status", *given)["audit"]
    assert [(line["action"], line["how"]) for line in noted] == [
        ("pause", "page"), ("resume", "page"), ("export", "page"),
        ("pause", "command"), ("export", "command"), ("token", "command"),
    ]  # fmt: skip
    assert all(0 <= time.time() - line["at"] < 600 for line in noted)
