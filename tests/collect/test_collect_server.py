"""The server: every acknowledged answer once, nobody asked the same twice, and hostile requests refused."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import shutil
import ssl
import subprocess
from functools import partial

import pytest
import sqlalchemy as sa
from benchmarks.collect import PAGE, Tally, check_once, measure_kills, summary
from serving import WORDS, Served, Visitor, at_once, make_study, stored

from nearer.collect import server
from nearer.collect.desk import question_key
from nearer.collect.store import Store, answers, participants, questions, ready, study_status
from nearer.data.messages import FileFormatError

CHUNK = b"1000\r\n" + b"x" * 4096 + b"\r\n"


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_a_study_from_the_first_question_to_the_completion_link(serve, kind):
    served = serve(
        kind=kind, number=20, repeats=3, catch=2, link="https://example.org/done?id={participant}", code="C1"
    )
    state, seen = served.play("Zoë & Co", lambda question: list(range(question["choose"])))
    assert state["completion"] == {"link": "https://example.org/done?id=Zo%C3%AB%20%26%20Co", "code": "C1"}
    assert [question["position"] for question in seen] == list(range(1, 21))
    assert all(len(question["options"]) == served.study.questions.n_shown for question in seen)
    asked = stored(served.store, questions)
    assert len({row.key for row in asked}) == 20 == len(stored(served.store, answers))
    assert sum(row.chosen_by == "catch" for row in asked) == 2
    status = study_status(served.store, served.study)
    assert (status["funnel"]["finished"], status["people"][0]["catch_asked"]) == (1, 2)
    again = served.start("Zoë & Co")
    assert (again["finished"], again["questions"]) == (True, [])


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
    served = serve(number=12, repeats=4)
    at_once([partial(Visitor(served.port).play, f"p{number // 3}") for number in range(24)])
    assert [(person.answered, person.total) for person in stored(served.store, participants)] == [(12, 12)] * 8
    asked = stored(served.store, questions)
    assert len(asked) == 8 * 12 == len(stored(served.store, answers))
    assert {row.position for row in asked} == set(range(1, 13))
    # Some were asked of several people, and none twice of one.
    assert any(row.chosen_by == "repeat" for row in asked)
    assert len({row.key for row in asked}) < len({(row.participant, row.key) for row in asked}) == len(asked)


def test_resumed_where_it_stopped(serve):
    served = serve(number=10)
    state, _ = served.play("p", most=4)
    served.stop()
    other = serve(served.study)
    again = other.start("p")
    assert (again["answered"], again["questions"]) == (4, state["questions"])
    assert stored(other.store, participants)[0].visits == 2
    assert len(other.play("p")[1]) == 6


def test_questions_may_be_answered_in_any_order(serve):
    served = serve(number=12)
    state = served.start()
    token, first = state["participant"], state["questions"][0]
    for _ in range(11):
        assert state["questions"][0] == first
        state = served.answer(token, state["questions"][1]["id"])[1]
    assert state["questions"] == [first]
    assert served.answer(token, first["id"])[1]["finished"]


def test_every_question_there_is_can_be_asked_and_all_catch_questions_of_the_study(serve):
    served = serve(words=["a", "b", "c", "d"], number=12)
    served.play("p")
    assert len({row.key for row in stored(served.store, questions)}) == 12
    catches = [["cat", "dog", "piano"], ["bus", "lorry", "rose"], ["rose", "tulip", "dog"]]
    served = serve(number=10, catch=3, catch_questions=catches)
    for number in range(12):
        served.play(f"p{number}")
    asked = [row for row in stored(served.store, questions) if row.chosen_by == "catch"]
    assert len(asked) == 36 == len({(row.participant, row.key) for row in asked})


def test_ready_questions_come_first_and_random_ones_when_there_are_none(serve):
    served = serve(number=10, adaptive=True, random_share=0)
    served.start("p")
    asked = {row.key for row in stored(served.store, questions)}
    trios = itertools.permutations(WORDS, 3)
    shown = next(trio for trio in trios if question_key("triplets", trio) not in asked)
    entry = {"shown": json.dumps(shown), "key": question_key("triplets", shown), "chosen_by": "predictive"}
    with served.store.writing() as connection:
        connection.execute(sa.insert(ready), [entry, entry])
    served.play("p")
    by = [row.chosen_by for row in stored(served.store, questions)]
    # The second is the same question: it waits for another participant.
    assert (by.count("predictive"), by.count("random"), len(stored(served.store, ready))) == (1, 9, 1)


def test_cannot_tell_and_no_id_only_where_the_study_allows_it(serve):
    for allowed in (True, False):
        served = serve(number=5, cannot_tell=allowed, anonymous=allowed)
        state = served.start()
        assert served.answer(state["participant"], state["questions"][0]["id"], None)[0] == (200 if allowed else 422)
        assert len(stored(served.store, answers)) == allowed
        status, told = served.call("/api/start", {})
        assert (status, told.get("id", "")[:10]) == ((200, "anonymous-") if allowed else (422, ""))


# ---- hostile requests ------------------------------------------------------------------------------------------------


def test_wrong_requests_are_refused_and_nothing_is_stored(serve):
    served = serve(number=10)
    mine, other = served.start("mine"), served.start("other")
    token, question, theirs = mine["participant"], mine["questions"][0]["id"], other["questions"][0]["id"]
    for wrong in ((token, theirs), (theirs, theirs), (other["participant"].replace("2.", "1.", 1), question)):
        assert served.answer(*wrong)[0] == 403
    assert served.call("/api/next", {"participant": "1"})[0] == 403
    for choice in ([], [2], [-1], [0, 1], [True], ["0"], "0", 0, {"0": 1}, [0.0], [[0]], [10**30], "x" * 9000):
        assert served.answer(token, question, choice)[0] == 422, choice
    for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 10_000, b"\x00" * 100, b'{"a":' * 2000):
        assert served.call("/api/start", body)[0] == 400, body[:20]
    for body in ({"participant": 3}, {"participant": ""}, {"participant": "a\x00b"}, {"participant": "x" * 300}):
        assert served.call("/api/start", body)[0] == 422, body
    assert served.call("/api/answer", {"participant": token, "question": question})[0] == 422
    assert served.call("/api/start", method="GET")[0] == 404
    assert stored(served.store, answers) == []
    assert len(stored(served.store, participants)) == 2


def test_large_bodies_are_refused_and_nobody_waits(serve):
    served = serve(number=5)
    post = b"POST /api/start HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    for head, piece in ((b"content-length: 10000000000", b"x" * 4096), (b"transfer-encoding: chunked", CHUNK)):
        told = b""
        # The server may hang up while the body is still being sent.
        with served.raw() as raw, contextlib.suppress(ConnectionError):
            raw.sendall(post + head + b"\r\n\r\n" + piece * 9)
            told = raw.recv(200)
        assert b"413" in told or not told
    assert served.play("p")[0]["finished"]


def test_slow_and_endless_requests_are_cut_off(serve, monkeypatch):
    monkeypatch.setattr(server, "_SECONDS", 0.2)
    served = serve(number=5)
    post = b"POST /api/start HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    for sent, told in ((b"", b""), (b"GET / HTTP/1.1\r\nhost: x", b""), (post, b" 408 ")):
        with served.raw() as raw:
            raw.sendall(sent)
            found = raw.recv(300)
            assert told in found if told else not found
    with served.raw() as raw, pytest.raises(ConnectionError):
        raw.sendall(b"GET / HTTP/1.1\r\n")
        while True:
            raw.sendall(b"a: " + b"b" * 60_000 + b"\r\n")
    # A request on a connection that was used before has the same time.
    with served.raw() as raw:
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


def test_no_path_leads_out(serve):
    served = serve(number=5)
    for path in (
        "/../study.toml", "/items/../study.toml", "/items/1", "/items/-1", "/items/1e3", "/assets/..%2f..%2fstore.py",
        "/assets/%2e%2e/store.py", "/assets/", "//etc/passwd", "/answers.db", "/items/99999999999999999999", "/%00",
        "/api", "/.git/config", "/api/start%0d%0ax:%20y",
    ):  # fmt: skip
        assert served.call(path)[0] in (404, 400), path


def test_headers_of_the_page(serve):
    served = serve(number=5)
    for path in ("/", "/researcher", "/assets/participant.js"):
        assert served.call(path)[0] == 200
        headers = served.response.headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-cache"
    for path in ("/", "/nowhere", "/api/study"):
        served.call(path)
        assert served.response.headers["x-content-type-options"] == "nosniff"
        assert served.response.headers["referrer-policy"] == "no-referrer"
        assert served.response.headers.get("server") is None


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


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.tools)])
def test_kills_lose_no_acknowledged_answer(kind):
    killed = measure_kills(kind, 6, 4)
    assert killed["kills"] == 6
    assert (killed["lost"], killed["stored twice"], killed["asked twice"]) == (0, 0, 0)
    assert killed["counters agree"]


@pytest.mark.tools
def test_the_benchmark_sees_what_is_lost_or_counted_twice(serve):
    served, tally = serve(number=6), Tally()
    for question in served.play("p")[1]:
        tally.acknowledged[question["id"]] = 1
    sound = {"acknowledged": 6, "stored": 6, "lost": 0, "stored twice": 0, "counters agree": True, "asked twice": 0}
    assert check_once(served.store, tally) == sound
    with served.store.writing() as connection:
        connection.execute(sa.delete(answers).where(answers.c.question == 2))
    tally.acknowledged[question["id"]] = 2
    found = check_once(served.store, tally)
    assert (found["lost"], found["stored twice"], found["counters agree"]) == (1, 1, False)


@pytest.mark.tools
def test_the_page_of_benchmarks_has_the_figures_that_were_saved():
    assert summary() in PAGE.read_text(encoding="utf-8")


def test_a_database_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.db").write_bytes(b"not a database at all, but long enough to be read as one" * 50)
    store = Store(f"sqlite:///{tmp_path / 'z.db'}", create=True)
    with store.writing() as connection:
        store.put(connection, "schema", 99)
    store.close()
    for name, message in (("x", "cannot be opened"), ("y", "holds no study yet"), ("z", "got schema 99")):
        with pytest.raises(FileFormatError, match=message):
            Store(f"sqlite:///{tmp_path / name}.db")
    for url in ("mysql://x", "nonsense"):
        with pytest.raises(ValueError, match="database: got"):
            Store(url)


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
        served.connection = http.client.HTTPSConnection("127.0.0.1", served.port, context=trusted)
        assert served.play("p")[0]["finished"]
    finally:
        served.stop()
