"""The server: every acknowledged answer once, nobody asked the same twice, and hostile requests refused."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

import psutil
import pytest
import sqlalchemy as sa
from benchmarks.collect import Server
from serving import Served, Visitor, make_study, stored

from nearer.collect import server
from nearer.collect.desk import question_key
from nearer.collect.store import Store, answers, participant_table, participants, questions, ready, study_status
from nearer.data.messages import FileFormatError


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_a_study_from_the_first_question_to_the_completion_link(serve, kind):
    served = serve(
        kind=kind, number=20, repeats=3, catch=2, link="https://example.org/done?id={participant}", code="C1"
    )
    n_shown = served.study.questions.n_shown
    state, seen = served.play("Zoë & Co", lambda question: list(range(question["choose"])))
    assert state["finished"]
    assert state["completion"] == {"link": "https://example.org/done?id=Zo%C3%AB%20%26%20Co", "code": "C1"}
    assert len(seen) == 20 == len({question["id"] for question in seen})
    assert [question["position"] for question in seen] == list(range(1, 21))
    assert all(len(question["options"]) == n_shown for question in seen)
    asked = stored(served.store, questions)
    assert len({(row.participant, row.key) for row in asked}) == 20
    assert sum(row.chosen_by == "catch" for row in asked) == 2
    assert len(stored(served.store, answers)) == 20
    with served.store.reading() as connection:
        assert study_status(connection)["finished"] == 1
        table = participant_table(connection)
    assert table[0]["catch_asked"] == 2
    again = served.start("Zoë & Co")
    assert again["finished"]
    assert again["questions"] == []


def test_a_resent_answer_counts_once_and_the_first_one_stays(serve):
    served = serve(number=10)
    state = served.start()
    token, first = state["participant"], state["questions"][0]["id"]
    assert served.answer(token, first, [1])[1]["stored"] is True
    for _ in range(3):
        status, state = served.answer(token, first, [0])
        assert (status, state["stored"], state["answered"]) == (200, False, 1)
    assert [row.choice for row in stored(served.store, answers)] == ["[1]"]
    assert stored(served.store, participants)[0].answered == 1


def test_many_at_once_and_two_tabs(serve):
    # Every answer is sent three times at the same moment, over connections of their own.
    served = serve(number=12, repeats=4, new_participants_per_minute=1000)
    failed = []

    def tab(name):
        try:
            Visitor(served.port).play(name)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=tab, args=(f"p{number // 3}",)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    people = stored(served.store, participants)
    assert [(person.answered, person.total) for person in people] == [(12, 12)] * 8
    asked = stored(served.store, questions)
    assert len(asked) == 8 * 12 == len(stored(served.store, answers))
    assert {row.position for row in asked} == set(range(1, 13))
    # Some were asked of several people, and none twice of one.
    assert any(row.chosen_by == "repeat" for row in asked)
    keys = [row.key for row in asked if row.chosen_by != "catch"]
    assert len(set(keys)) < len(keys)


def test_resumed_where_it_stopped(serve):
    served = serve(number=10)
    state, seen = served.play("p", most=4)
    shown = [question["id"] for question in state["questions"]]
    served.stop()
    other = serve(served.study)
    again = other.start("p")
    assert again["answered"] == 4
    assert [question["id"] for question in again["questions"]] == shown
    assert not set(shown) & {question["id"] for question in seen}
    assert stored(other.store, participants)[0].visits == 2
    state, more = other.play("p")
    assert state["finished"]
    assert len(more) == 6


def test_questions_may_be_answered_in_any_order(serve):
    serve(number=12).play_backwards()


def test_every_question_there_is_can_be_asked(serve):
    served = serve(words=["a", "b", "c", "d"], number=12, repeats=0, catch=0)
    _, seen = served.play("p")
    keys = set()
    for question in seen:
        names = [question["head"]["name"], *(option["name"] for option in question["options"])]
        keys.add(question_key("triplets", [ord(name) for name in names]))
    assert len(keys) == 12


def test_everybody_is_asked_all_catch_questions_of_the_study(serve):
    catches = [["cat", "dog", "piano"], ["bus", "lorry", "rose"], ["rose", "tulip", "dog"]]
    served = serve(number=10, catch=3, catch_questions=catches, new_participants_per_minute=1000)
    for number in range(12):
        served.play(f"p{number}")
    asked = [row for row in stored(served.store, questions) if row.chosen_by == "catch"]
    assert len(asked) == 36
    assert len({(row.participant, row.key) for row in asked}) == 36


def test_ready_questions_come_first_and_random_ones_when_there_are_none(serve):
    served = serve(number=10, repeats=0, catch=0, adaptive=True, random_share=0)
    state = served.start("p")
    numbers = {row.name: row.id for row in stored(served.store, sa.table("items", sa.column("name"), sa.column("id")))}
    asked = {row.key for row in stored(served.store, questions)}
    trios = itertools.permutations(numbers.values(), 3)
    shown = next(trio for trio in trios if question_key("triplets", trio) not in asked)
    entry = {"shown": json.dumps(shown), "key": question_key("triplets", shown), "chosen_by": "predictive"}
    with served.store.writing() as connection:
        connection.execute(sa.insert(ready), [entry, entry])
    token = state["participant"]
    while not state["finished"]:
        state = served.answer(token, state["questions"][0]["id"])[1]
    by = [row.chosen_by for row in stored(served.store, questions)]
    assert by.count("predictive") == 1  # the second is the same question: it waits for another participant
    assert by.count("random") == 9
    assert len(stored(served.store, ready)) == 1


def test_cannot_tell_only_where_the_study_allows_it(serve):
    for allowed in (True, False):
        served = serve(number=5, repeats=0, catch=0, cannot_tell=allowed)
        state = served.start()
        status, _ = served.answer(state["participant"], state["questions"][0]["id"], None)
        assert status == (200 if allowed else 422)
        assert len(stored(served.store, answers)) == allowed


def test_paused_and_resumed(serve):
    served = serve(number=5)
    state = served.start()
    assert served.store.set_paused(True)
    assert not served.store.set_paused(True)
    status, after = served.answer(state["participant"], state["questions"][0]["id"])
    assert (status, after["stored"], after["paused"], after["questions"]) == (200, True, True, [])
    served.store.set_paused(False)
    assert len(served.call("/api/next", {"participant": state["participant"]})[1]["questions"]) == 2


def test_participants_need_an_id_where_the_study_says_so(serve):
    assert serve(anonymous=True).call("/api/start", {})[1]["id"].startswith("anonymous-")
    assert serve(anonymous=False).call("/api/start", {})[0] == 422


# ---- hostile requests ------------------------------------------------------------------------------------------------


def test_questions_and_tokens_of_others_are_refused(serve):
    served = serve(number=10)
    mine, other = served.start("mine"), served.start("other")
    theirs = other["questions"][0]["id"]
    assert served.answer(mine["participant"], theirs)[0] == 403
    assert served.answer(theirs, theirs)[0] == 403
    changed = other["participant"].replace("2.", "1.", 1)
    assert served.answer(changed, mine["questions"][0]["id"])[0] == 403
    assert served.call("/api/next", {"participant": "1"})[0] == 403
    assert stored(served.store, answers) == []


@pytest.mark.parametrize(
    "choice", [[], [2], [-1], [0, 1], [True], ["0"], "0", 0, {"0": 1}, [0.0], [[0]], [10**30], "x" * 9000]
)
def test_choices_that_are_none_are_refused(standing, choice):
    state = standing.start("undecided")
    body = {"participant": state["participant"], "question": state["questions"][0]["id"], "choice": choice}
    assert standing.call("/api/answer", body)[0] == 422
    assert standing.start("undecided")["answered"] == 0


def test_bodies_that_are_none_are_refused(serve):
    served = serve(number=5)
    for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 10_000, b"\x00" * 100, b'{"a":' * 2000):
        assert served.call("/api/start", body)[0] == 400, body[:20]
    for body in ({"participant": 3}, {"participant": ""}, {"participant": "a\x00b"}, {"participant": "x" * 300}):
        assert served.call("/api/start", body)[0] == 422, body
    assert served.call("/api/answer", {"participant": "x"})[0] == 422
    assert stored(served.store, participants) == []
    assert served.call("/api/start", method="GET")[0] == 405


def test_injection_stays_text(serve):
    served = serve(number=5)
    name = "'; DROP TABLE answers; -- <script>alert(1)</script>"
    served.play(name)
    assert stored(served.store, participants)[0].name == name
    assert len(stored(served.store, answers)) == 5


def answer_to(port, head, pieces):
    """What a server answers to a body, sent piece by piece; it may hang up while that is still being sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(head)
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                raw.sendall(piece)
        with contextlib.suppress(ConnectionError):
            return raw.recv(200)
    return b"hung up"


def test_large_bodies_are_refused_unread_and_nobody_waits(serve):
    served = serve(number=5)
    post = b"POST /api/start HTTP/1.1\r\nhost: x\r\n"
    length = b"content-length: %d\r\n\r\n" % (server.MAX_BODY + 1)
    assert re.search(b"413|hung up", answer_to(served.port, post + length, [b"x" * (server.MAX_BODY + 1)]))
    chunks = [b"1000\r\n" + b"x" * 4096 + b"\r\n"] * 9  # without a length
    assert re.search(b"413|hung up", answer_to(served.port, post + b"transfer-encoding: chunked\r\n\r\n", chunks))
    assert served.play("p")[0]["finished"]


def test_slow_and_endless_requests_are_cut_off(serve, monkeypatch):
    monkeypatch.setattr(server, "_HEAD_SECONDS", 0.2)
    monkeypatch.setattr(server, "_BODY_SECONDS", 0.2)
    served = serve(number=5)
    address = ("127.0.0.1", served.port)
    with socket.create_connection(address, timeout=10) as raw:
        assert raw.recv(100) == b""  # nothing was ever asked
    with socket.create_connection(address, timeout=10) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nhost: x")
        assert raw.recv(100) == b""
    with socket.create_connection(address, timeout=10) as raw:
        raw.sendall(b"POST /api/start HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        assert b" 408 " in raw.recv(300)
    with socket.create_connection(address, timeout=10) as raw, pytest.raises(ConnectionError):
        while True:
            raw.sendall(b"GET / HTTP/1.1\r\n" + b"a: " + b"b" * 4000 + b"\r\n")
            raw.sendall(b"c: " + b"d" * 60_000 + b"\r\n")
            time.sleep(0.05)
    # A request on a connection that was used before has the same time.
    with socket.create_connection(address, timeout=10) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"200" in raw.recv(1000)
        raw.sendall(b"GET /health HT")
        assert raw.recv(1000) == b""


def test_requests_that_come_too_often_are_told_to_wait(serve):
    served = serve(number=5, requests_per_second=1, new_participants_per_minute=2)
    state = served.start("a")
    codes = [served.call("/api/next", {"participant": state["participant"]})[0] for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert served.response.headers["retry-after"] == "1"
    assert served.call("/api/start", {"participant": "b"})[0] == 200
    assert served.call("/api/start", {"participant": "c"})[0] == 429


@pytest.mark.parametrize(
    "path",
    ["/../study.toml", "/items/../study.toml", "/items/1", "/items/-1", "/items/1e3", "/assets/..%2f..%2fstore.py",
     "/assets/%2e%2e/app.py", "/assets/", "//etc/passwd", "/answers.db", "/study.toml", "/items/99999999999999999999",
     "/%00", "/api", "/.git/config"],
)  # fmt: skip
def test_no_path_leads_out(standing, path):
    assert standing.call(path)[0] in (404, 400)


def test_headers_of_the_page(standing):
    status, _ = standing.call("/")
    assert status == 200
    policy = standing.response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert standing.response.headers["x-content-type-options"] == "nosniff"
    assert standing.response.headers.get("server") is None
    assert standing.call("/nowhere")[0] == 404
    assert "content-security-policy" in standing.response.headers
    assert standing.call("/api/start%0d%0ax:%20y")[0] == 404


def test_other_sites_only_if_the_study_names_them(serve):
    for origins, allowed in (([], None), (["https://lab.example.org"], "https://lab.example.org")):
        served = serve(number=5, origins=origins)
        served.call("/api/start", {}, headers={"Origin": "https://lab.example.org"})
        assert served.response.headers.get("access-control-allow-origin") == allowed
        served.call("/api/start", {}, headers={"Origin": "https://evil.example.org"})
        assert served.response.headers.get("access-control-allow-origin") is None


def test_no_address_of_a_caller_is_stored(serve, tmp_path):
    served = serve(number=5)
    served.play("p")
    served.stop()
    for path in served.study.folder.rglob("*"):
        if path.is_file():
            assert b"127.0.0.1" not in path.read_bytes(), path


# ---- what can break --------------------------------------------------------------------------------------------------


def test_a_full_disk_is_told_calmly_and_nothing_is_lost(tmp_path):
    study = make_study(tmp_path / "study", number=10, requests_per_second=10_000)
    running = Server(study.folder, None, 1, background=False)
    try:
        limits_of, sent = psutil.Process(running.process.pid).rlimit, Visitor(running.port)
        state, _ = sent.play("p", most=3)
        token, question = sent.start("p")["participant"], state["questions"][0]["id"]
        limits_of(psutil.RLIMIT_FSIZE, (1, psutil.RLIM_INFINITY))  # no file of the server may grow
        for _ in range(3):
            status, told = sent.answer(token, question)
            assert status == 503
            assert "cannot store answers at the moment" in told["error"]
            assert sent.response.headers["retry-after"] == "2"
        limits_of(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
        status, after = sent.answer(token, question)
        assert (status, after["stored"], after["answered"]) == (200, True, 4)
        assert sent.play("p")[0]["finished"]
    finally:
        running.stop()


def test_kills_lose_no_acknowledged_answer(tmp_path):
    study = make_study(tmp_path / "study", number=100, requests_per_second=10_000, repeats=0)
    acknowledged = {}
    for _ in range(3):
        running = Server(study.folder, None, 1, background=False)
        try:
            sent = Visitor(running.port)
            state = sent.start("p")
            token = state["participant"]
            threading.Timer(0.15, running.process.kill).start()
            while not state["finished"]:
                question = state["questions"][0]["id"]
                status, state = sent.answer(token, question)
                assert status == 200
                acknowledged[question] = acknowledged.get(question, 0) + state["stored"]
        except (OSError, http.client.HTTPException):
            pass  # the kill
        finally:
            running.stop()
    store = Store(study.database)
    kept = {row.question for row in stored(store, answers)}
    known = {int(question) for question in acknowledged}
    assert known <= kept
    assert len(kept) <= len(known) + 3  # at most the one on its way at each kill
    assert stored(store, participants)[0].answered == len(kept)
    assert all(count <= 1 for count in acknowledged.values())
    store.close()


def test_a_database_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.db").write_bytes(b"not a database at all, but long enough to be read as one" * 50)
    with pytest.raises(FileFormatError, match="cannot be opened"):
        Store(f"sqlite:///{tmp_path / 'x.db'}")
    with pytest.raises(FileFormatError, match="holds no study yet"):
        Store(f"sqlite:///{tmp_path / 'y.db'}")
    with pytest.raises(ValueError, match="expected sqlite or postgresql"):
        Store("mysql://x")
    with pytest.raises(ValueError, match="database: got 'nonsense'"):
        Store("nonsense")
    store = Store(f"sqlite:///{tmp_path / 'z.db'}", create=True)
    with store.writing() as connection:
        connection.execute(sa.text("UPDATE meta SET value = '99' WHERE key = 'schema'"))
    store.close()
    with pytest.raises(FileFormatError, match="got schema 99"):
        Store(f"sqlite:///{tmp_path / 'z.db'}")


def test_https_by_a_certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    study = make_study(tmp_path / "study", number=5)
    served = Served(study, certificate=str(tmp_path / "cert.pem"), key=str(tmp_path / "key.pem"))
    try:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        trusted.check_hostname = False
        served._connection = http.client.HTTPSConnection("127.0.0.1", served.port, context=trusted)
        assert served.play("p")[0]["finished"]
    finally:
        served.stop()
