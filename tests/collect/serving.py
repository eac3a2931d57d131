"""A study that is served from a thread, and people who answer it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa

from nearer.collect.server import bind, make_server
from nearer.collect.store import Store
from nearer.collect.study import new_study, read_study

WORDS = ["cat", "dog", "lorry", "bus", "rose", "tulip", "piano", "violin"]
SURVEY = """
[[before]]
id = "expertise"
text = "How often do you cook?"
kind = "choice"
choices = ["never", "=sometimes", "daily", "daily, for a large family that likes its food cooked in every way there is"]
screen_out = ["never"]
[[before]]
id = "age"
text = "How old are you?"
kind = "number"
least = 18
required = false
[[after]]
id = "remarks"
text = "Anything else?"
required = false
"""


def make_study(folder, words=WORDS, kind="triplets", tables="", **changes):
    """A study of words without limits of rate.

    ``changes`` are values of study.toml, e.g. number=10 or link="..."; ``tables`` is TOML to append.
    """
    folder = Path(folder)
    source = folder.with_suffix(".txt")
    source.write_text("\n".join(words))
    new_study(folder, "words", source, kind)
    unlimited = {"requests_per_second": 10_000, "new_participants_per_minute": 10_000}
    change(folder, **unlimited, **({"repeats": 0, "catch": 0} if "number" in changes else {}))
    change(folder, **changes)
    with (folder / "study.toml").open("a") as file:
        file.write(f"\n{tables}\n")
    return read_study(folder)


def nearest(question, words):
    """The choice of somebody for whom the words lie on a line, in their order."""
    options = [words.index(option["name"]) for option in question["options"]]
    if question["head"] is None:
        spread = [sum(abs(one - other) for other in options) for one in options]
        return [max(range(3), key=spread.__getitem__)]
    head = words.index(question["head"]["name"])
    return sorted(range(len(options)), key=lambda number: abs(options[number] - head))[: question["choose"]]


def at_once(tasks):
    """Call functions in threads of their own, at the same time."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


def until(condition, seconds=60):
    """Wait until something is true, and give it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)
    return found


def stored(store, table):
    """All rows of a table."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(table)))


def change(folder, **changes):
    """Give keys of study.toml other values."""
    path = Path(folder) / "study.toml"
    lines = path.read_text().split("\n")
    for name, value in changes.items():
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{name} = "))
        lines[at] = f"{name} = {json.dumps(value)}"
    path.write_text("\n".join(lines))


class Visitor:
    """Somebody who asks a server of this machine."""

    def __init__(self, port):
        self.port, self.connection = port, http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self, path, body=None, method=None, headers=None):
        """Status and JSON (or bytes) of a request."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | (headers or {})
        self.connection.request(method or ("GET" if data is None else "POST"), path, data, headers)
        self.response = self.connection.getresponse()
        text = self.response.read()
        kind = self.response.headers.get("content-type", "")
        return self.response.status, json.loads(text) if kind.startswith("application/json") else text

    def raw(self):
        """A connection without a request."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def start(self, name="p1"):
        status, state = self.call("/api/start", {"participant": name})
        assert status == 200, state
        return state

    def answer(self, participant, question, choice=(0,)):
        body = {"participant": participant, "question": question, "choice": choice, "seconds": 1.5}
        return self.call("/api/answer", body)

    def play(self, name="p1", choose=lambda question: [0], most=None):
        """Answer to the end, or `most` questions; return the last state and the questions seen."""
        state, seen = self.start(name), []
        token = state["participant"]
        while not state["finished"] and (most is None or len(seen) < most):
            question = state["questions"][0]
            status, state = self.answer(token, question["id"], choose(question))
            assert status == 200, state
            seen.append(question)
        return state, seen


class Served(Visitor):
    """A server in a thread of this process, and a visitor of it."""

    def __init__(self, study, database=None, port=0, **options):
        self.study, self.store = study, Store(database or study.database, create=True)
        self.server = make_server(study, self.store, **options)
        listening = bind("127.0.0.1", port)
        super().__init__(listening.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}/"
        self.thread = threading.Thread(target=self.server.run, args=([listening],), daemon=True)
        self.thread.start()
        until(lambda: self.server.started)

    def stop(self):
        self.connection.close()
        self.server.should_exit = True
        self.thread.join(timeout=20)
        self.store.close()
