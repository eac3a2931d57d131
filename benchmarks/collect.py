"""The study server under load, on this machine alone: response times, the highest rate, kills, a long run.

    python -m benchmarks.collect [--quick] [--only people,rate,kills,soak,hostile] [--databases sqlite,postgresql]

people: 1,000 simulated participants who answer once in 2 seconds each. rate: more and more answers in a second, until
the 99th percentile reaches 200 ms. kills: server, background process and PostgreSQL's own processes are killed at
random under load; every acknowledged answer must be stored exactly once. soak: a steady load for long, all databases
at the same time, memory measured. hostile: the same good requests without and with bad ones beside them, and
connections, which can be asked for alone: 2,000 that send many requests at once and leave, then 1,500 idle ones at a
server that may have 1,024 files open, with probes beside them. Server, database and simulated participants share the
cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import sqlalchemy as sa

from benchmarks.common import PAGE, RESULTS, save, table
from benchmarks.figures import fill
from benchmarks.postgres import PrivatePostgres
from nearer.collect.store import Store, answers, participants, questions
from nearer.collect.study import new_study

N_OBJECTS = 100
BOUND = 0.2  # seconds, of the 99th percentile


# ---- a study, served -------------------------------------------------------------------------------------------------


class Server:
    """`nearer collect serve` as its own processes."""

    def __init__(
        self, folder: Path, database: str | None, processes: int, port: int = 0, background: bool = True,
        log: Path | None = None, files: int | None = None,
    ):  # fmt: skip
        """`log` is where it writes what goes wrong; `files` is how many it may have open."""
        command = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        command += [sys.executable, "-m", "nearer", "collect", "serve", str(folder), "--json", "--port", str(port)]
        command += ["--processes", str(processes), "--background" if background else "--no-background"]
        environment = {**os.environ, **({"NEARER_DATABASE": database} if database else {})}
        with open(log or os.devnull, "w") as errors:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        told = ""
        assert self.process.stdout is not None
        while not told.endswith("}\n"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            told += line
        self.port = int(json.loads(told)["participants"].rsplit(":", 1)[1].strip("/"))

    def settle(self) -> None:
        """Wait until all its processes have started: those that come late would find everybody connected elsewhere."""
        before = -1.0
        while (used := self.cpu()) > before + 0.05:
            before = used
            time.sleep(0.5)

    def family(self) -> list[psutil.Process]:
        """All its processes, itself first."""
        with contextlib.suppress(psutil.NoSuchProcess):
            mine = psutil.Process(self.process.pid)
            return [mine, *mine.children(recursive=True)]
        return []

    def _serving(self) -> list[psutil.Process]:
        """The processes that answer requests."""
        return [one for one in self.family() if "nearer.collect.background" not in _command(one)]

    def memory(self) -> float:
        """Resident MiB of the serving processes."""
        total = 0
        for one in self._serving():
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
        return total / 2**20

    def cpu(self) -> float:
        """Seconds of a core that the serving processes have used."""
        return _cpu(self._serving())

    def stop(self) -> None:
        family = self.family()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        for one in family:
            with contextlib.suppress(psutil.Error):
                one.kill()
        self.process.wait()


@contextlib.contextmanager
def study(kind: str, number: int) -> Iterator[tuple[Path, str | None, PrivatePostgres | None]]:
    """A study of words in a temporary folder, with its database."""
    with tempfile.TemporaryDirectory() as place:
        words = Path(place) / "words.txt"
        words.write_text("\n".join(f"word {one}" for one in range(N_OBJECTS)))
        folder = Path(place) / "study"
        new_study(folder, "words", words)
        path = folder / "study.toml"
        text = path.read_text().replace("number = 100 ", f"number = {number} ")
        text = text.replace("requests_per_second = 10 ", "requests_per_second = 1e6 ")
        path.write_text(text.replace("new_participants_per_minute = 60 ", "new_participants_per_minute = 1e6 "))
        if kind == "sqlite":
            yield folder, None, None
            return
        cluster = PrivatePostgres()
        try:
            yield folder, cluster.fresh("study"), cluster
        finally:
            cluster.close()


def _cpu(processes: list[psutil.Process]) -> float:
    """Seconds of a core that processes have used."""
    total = 0.0
    for one in processes:
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            total += times.user + times.system
    return total


# ---- simulated participants ------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What the participants saw."""

    answer: list[float] = field(default_factory=list)
    next: list[float] = field(default_factory=list)
    errors: int = 0
    acknowledged: dict[str, int] = field(default_factory=dict)

    def row(self, seconds: float) -> dict[str, Any]:
        told: dict[str, Any] = {"answers/s": len(self.answer) / seconds, "errors": self.errors}
        for name in ("answer", "next"):
            times = 1000 * np.array(getattr(self, name) or [np.nan])
            told |= {f"{name} p50 ms": np.percentile(times, 50), f"{name} p99 ms": np.percentile(times, 99)}
        return told


class _Line(asyncio.Protocol):
    """A connection for one request at a time; far cheaper than streams, as its time counts as the server's."""

    def __init__(self) -> None:
        self.transport: Any = None
        self._read = b""
        self._waiting: asyncio.Future[tuple[bytes, bytes] | None] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle(None)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, gap, body = self._read.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if gap and length and len(body) >= int(length[1]):
            self._read = b""
            self._settle((head[9:12], body))

    async def send(self, data: bytes, seconds: float = 30.0) -> tuple[bytes, bytes] | None:
        """Status and body of the response; None if the connection was lost, or nothing came for long."""
        if self.transport.is_closing():
            return None
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(seconds, self._settle, None)
        self.transport.write(data)
        found = await self._waiting
        timer.cancel()
        return found

    def _settle(self, found: tuple[bytes, bytes] | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(found)


async def connect(port: int) -> _Line:
    """A new connection to the server."""
    return (await asyncio.get_running_loop().create_connection(_Line, "127.0.0.1", port))[1]


def request(path: str, body: dict[str, Any] | bytes) -> bytes:
    """A request as it goes over the line."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


class Person:
    """A participant with a connection of its own, as a browser has it."""

    def __init__(self, name: str, port: int, tally: Tally):
        self.name, self.port, self.tally = name, port, tally
        self._line: _Line | None = None
        self.token = ""
        self.state: dict[str, Any] = {}

    async def ask(self, path: str, body: dict[str, Any], patient: bool = False) -> dict[str, Any] | None:
        """The response, or None; a patient person tries again until there is one."""
        data = request(path, body)
        while True:
            with contextlib.suppress(OSError):
                if self._line is None:
                    self._line = await connect(self.port)
                found = await self._line.send(data)
                if found is None:
                    self.close()
                elif found[0] == b"200":
                    return json.loads(found[1])
            self.tally.errors += 1
            if not patient:
                return None
            await asyncio.sleep(random.uniform(0.05, 0.3))

    async def start(self, patient: bool = False) -> None:
        found = await self.ask("/api/start", {"participant": self.name}, patient)
        if found is not None:
            self.token, self.state = found["participant"], found

    async def answer(self, patient: bool = False) -> None:
        if not self.state or not self.state["questions"]:
            return
        question = self.state["questions"][0]["id"]
        body = {"participant": self.token, "question": question, "choice": [random.randrange(2)], "seconds": 1.2}
        began = time.perf_counter()
        found = await self.ask("/api/answer", body, patient)
        if found is not None:
            self.tally.answer.append(time.perf_counter() - began)
            self.tally.acknowledged[question] = self.tally.acknowledged.get(question, 0) + found["stored"]
            self.state = found

    async def next(self) -> None:
        began = time.perf_counter()
        if await self.ask("/api/next", {"participant": self.token}) is not None:
            self.tally.next.append(time.perf_counter() - began)

    def close(self) -> None:
        if self._line is not None:
            self._line.transport.abort()
        self._line = None


async def arrive(port: int, count: int, tally: Tally, patient: bool = False) -> list[Person]:
    """Participants who have begun, fifty at a time."""
    people = [Person(f"person {number}", port, tally) for number in range(count)]
    for start in range(0, count, 50):
        await asyncio.gather(*(one.start(patient) for one in people[start : start + 50]))
    return people


async def at_rate(people: list[Person], rate: float, seconds: float, tally: Tally) -> None:
    """Answers that come at random moments, `rate` in a second, whoever is still waiting for the last one."""
    tasks: set[asyncio.Task[None]] = set()
    began, due = time.perf_counter(), 0.0
    free = deque(random.sample(people, len(people)))

    async def act(person: Person) -> None:
        await person.answer()
        if random.random() < 0.2:
            await person.next()
        free.appendleft(person)

    while due < seconds:
        due += random.expovariate(rate)
        delay = began + due - time.perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        if not free:
            tally.errors += 1  # everybody waits
            continue
        task = asyncio.create_task(act(free.pop()))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


# ---- what is measured ------------------------------------------------------------------------------------------------


def run(coroutine: Any) -> Any:
    """Run with the fast loop, if there is one."""
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.run(coroutine)
    return asyncio.run(coroutine)


def load() -> dict[str, float]:
    """How busy the machine was in the last minute: processes that wanted a core."""
    return {"load": os.getloadavg()[0]}


def processes_for(kind: str) -> int:
    return 1 if kind == "sqlite" else 2


def measure_people(kind: str, count: int, seconds: float, background: bool) -> dict[str, Any]:
    """`count` participants, one answer in 2 seconds each."""
    with study(kind, 300) as (folder, database, cluster):
        server = Server(folder, database, processes_for(kind), background=background)
        server.settle()

        def used() -> np.ndarray:
            own = [] if cluster is None else psutil.Process(cluster.pid).children()
            return np.array([server.cpu(), _cpu(own), time.process_time()])

        try:

            async def go() -> tuple[Tally, np.ndarray]:
                people = await arrive(server.port, count, Tally())
                tally, before = Tally(), used()
                for one in people:
                    one.tally = tally
                await at_rate(people, count / 2, seconds, tally)
                return tally, used() - before

            tally, spent = run(go())
            shape = {"database": kind, "processes": processes_for(kind), "background": background}
            found = {**shape, "participants": count, **tally.row(seconds), "MiB": server.memory()}
            # What does not depend on what else the machine does
            names = ("server", "database", "simulation")
            each = 1000 * spent / max(len(tally.answer), 1)
            return {**found, **{f"{name} ms CPU per answer": float(ms) for name, ms in zip(names, each)}, **load()}
        finally:
            server.stop()


def measure_rate(kind: str, count: int, seconds: float, rates: list[int]) -> list[dict[str, Any]]:
    """More and more answers in a second, until the 99th percentile is too long."""
    rows = []
    with study(kind, 1000) as (folder, database, _):
        server = Server(folder, database, processes_for(kind), background=False)
        server.settle()
        try:

            async def go() -> None:
                people = await arrive(server.port, count, Tally())
                for rate in rates:
                    tally = Tally()
                    for one in people:
                        one.tally = tally
                    await at_rate(people, rate, seconds, tally)
                    row = {"database": kind, "processes": processes_for(kind), "asked/s": rate, **tally.row(seconds)}
                    row |= load()
                    row["held"] = row["answer p99 ms"] < 1000 * BOUND and tally.errors == 0
                    rows.append(row)
                    if not row["held"]:
                        break

            run(go())
        finally:
            server.stop()
    return rows


def check_once(store: Store, tally: Tally) -> dict[str, Any]:
    """Whether every acknowledged answer is stored exactly once."""
    with store.reading() as connection:
        stored = list(connection.scalars(sa.select(answers.c.question)))
        people = connection.scalar(sa.select(sa.func.sum(participants.c.answered))) or 0
        asked = list(connection.execute(sa.select(questions.c.participant, questions.c.key)))
    known = {int(question) for question in tally.acknowledged}
    return {
        "acknowledged": len(known),
        "stored": len(stored),
        "lost": len(known - set(stored)),
        "stored twice": len(stored) - len(set(stored)) + sum(count > 1 for count in tally.acknowledged.values()),
        "counters agree": people == len(stored),
        "asked twice": len(asked) - len(set(asked)),
    }


def measure_kills(kind: str, kills: int, count: int) -> dict[str, Any]:
    """Kills at random moments under load; people try again, as the page does."""
    tally, done = Tally(), {"server": 0, "background": 0, "postgres": 0}
    with study(kind, 3000) as (folder, database, cluster):
        server = Server(folder, database, processes_for(kind))
        port = server.port
        ended = False

        async def person(number: int) -> None:
            one = Person(f"person {number}", port, tally)
            await one.start(patient=True)
            while not ended:
                await one.answer(patient=True)
                await asyncio.sleep(random.uniform(0, 0.1))
            one.close()

        async def killer() -> None:
            nonlocal server, ended
            while sum(done.values()) < kills:
                await asyncio.sleep(random.uniform(0.2, 1.0))
                what = random.choice(["server", "background"] + ["postgres"] * (cluster is not None))
                if what == "postgres":
                    assert cluster is not None
                    backends = psutil.Process(cluster.pid).children()
                    victim = random.choice(backends) if backends else None
                else:
                    family = await asyncio.to_thread(server.family)
                    helpers = [one for one in family[1:] if "nearer.collect.background" in _command(one)]
                    servers = [one for one in family if one not in helpers]
                    chosen = helpers if what == "background" else servers
                    victim = random.choice(chosen) if chosen else None
                if victim is None:
                    continue
                with contextlib.suppress(psutil.Error):
                    victim.send_signal(signal.SIGKILL)
                    done[what] += 1
                if victim.pid == server.process.pid:
                    await asyncio.to_thread(server.process.wait)
                    server = await asyncio.to_thread(_again, folder, database, cluster, processes_for(kind), port)
            await asyncio.sleep(2)
            ended = True

        async def guard() -> None:
            """Bring PostgreSQL back whenever it has ended, also while participants still wait for it."""
            while cluster is not None:
                await asyncio.to_thread(cluster.revive)
                await asyncio.sleep(0.2)

        async def go() -> None:
            guarded = asyncio.ensure_future(guard())
            await asyncio.gather(killer(), *(person(number) for number in range(count)))
            guarded.cancel()

        try:
            run(go())
        finally:
            server.stop()
        store = Store(database or f"sqlite:///{folder / 'answers.db'}")
        found = check_once(store, tally)
        store.close()
    return {"database": kind, "kills": sum(done.values()), **{f"of {name}": number for name, number in done.items()},
            **found}  # fmt: skip


def _again(folder: Path, database: str | None, cluster: PrivatePostgres | None, processes: int, port: int) -> Server:
    """A new server at the address of one that was killed, once its processes are gone and the database is back."""
    for _ in range(60):
        if cluster is not None:
            cluster.revive()
        with contextlib.suppress(RuntimeError):
            return Server(folder, database, processes, port)
        time.sleep(0.5)
    raise RuntimeError("the server did not come back")


def _command(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


def measure_soak(kind: str, minutes: float, rate: float, count: int) -> list[dict[str, Any]]:
    """Memory while people answer, in twelve parts."""
    rows: list[dict[str, Any]] = []
    with study(kind, 3000) as (folder, database, _):
        server = Server(folder, database, processes_for(kind), background=False)
        server.settle()
        try:

            async def go() -> None:
                people = await arrive(server.port, count, Tally())
                began = time.perf_counter()
                for _ in range(12):
                    tally = Tally()
                    for one in people:
                        one.tally = tally
                    await at_rate(people, rate, 5 * minutes, tally)
                    row = {"database": kind, "minute": (time.perf_counter() - began) / 60, **tally.row(5 * minutes)}
                    rows.append({**row, "MiB": server.memory(), **load()})

            run(go())
        finally:
            server.stop()
    return rows


BAD = (
    b"GET / HTTP/1.1\r\n",  # never finished
    request("/api/start", b"x" * 10_000_000),
    request("/api/answer", b"{" * 40)[:-39],  # never finished
    request("/api/answer", b"{}"),
    b"GET /items/../../etc/passwd HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 100_000 + b"\r\n\r\n",
    b"\x00\xff\x16\x03\x01 nonsense \r\n\r\n",
)


def bad_request(people: list[Person]) -> bytes:
    """One of those, or noise, a question of somebody else, or an answer that was given long ago with another choice."""
    what = random.randrange(len(BAD) + 3)
    if what < len(BAD):
        return BAD[what]
    if what == len(BAD):
        return request(random.choice(["/api/start", "/api/next", "/api/answer"]), random.randbytes(200))
    mine, other = random.sample(people, 2)
    if what == len(BAD) + 1:
        theirs = other.state["questions"][0]["id"]
        return request("/api/answer", {"participant": mine.token, "question": theirs, "choice": [0], "seconds": 1})
    given = random.choice(list(mine.tally.acknowledged) or [""])
    return request("/api/answer", {"participant": mine.token, "question": given, "choice": [0], "seconds": 1})


def measure_hostile(kind: str, count: int, seconds: float, attackers: int) -> list[dict[str, Any]]:
    """Good people without and with bad requests, several times in turn."""
    with study(kind, 300) as (folder, database, _):
        server = Server(folder, database, processes_for(kind), background=False)
        server.settle()
        sent = accepted = 0

        async def attack(people: list[Person], end: float) -> None:
            nonlocal sent, accepted
            while time.perf_counter() < end:
                with contextlib.suppress(OSError):
                    line = await connect(server.port)
                    sent += 1
                    found = await line.send(bad_request(people), random.choice([0.5, 5]))
                    line.transport.abort()
                    # An answer that was stored before is acknowledged again, and stays as it was.
                    accepted += found is not None and found[0] == b"200" and b'"stored":false' not in found[1]
                await asyncio.sleep(random.uniform(0, 0.2))

        every, tallies = Tally(), {False: Tally(), True: Tally()}
        try:

            async def go() -> None:
                people = await arrive(server.port, count, every)
                for bad in (False, True) * 3:
                    for one in people:
                        one.tally = tallies[bad]
                    end = time.perf_counter() + seconds
                    busy = [attack(people, end) for _ in range(attackers if bad else 0)]
                    await asyncio.gather(at_rate(people, count / 2, seconds, tallies[bad]), *busy)

            run(go())
        finally:
            server.stop()
        for tally in tallies.values():
            every.acknowledged |= tally.acknowledged
        store = Store(database or f"sqlite:///{folder / 'answers.db'}")
        kept = check_once(store, every)
        store.close()
    rows = []
    for bad, tally in tallies.items():
        row = {"database": kind, "bad requests/s": sent / (3 * seconds) if bad else 0.0, "participants": count}
        row |= tally.row(3 * seconds)
        rows.append(row | {"bad ones accepted": accepted if bad else 0, "lost": kept["lost"],
                           "stored for nobody": kept["stored"] - kept["acknowledged"], **load()})  # fmt: skip
    return rows


SECRET = "?secret"
PIPELINES = (
    f"GET /{SECRET} HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
    f"GET /nowhere{SECRET} HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
    request(f"/api/next{SECRET}", {"participant": "1.x"}),
)
HEALTH = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
PATIENCE = 10.0  # seconds, of a probe


async def ask_health(port: int) -> _Line | None:
    """A new connection whose first request was answered with 200, or None."""
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        line = await asyncio.wait_for(connect(port), PATIENCE)
        found = await line.send(HEALTH, PATIENCE)
        if found is not None and found[0] == b"200":
            return line
        line.transport.abort()
    return None


def measure_connections(kind: str, leaving: int, idle: int, seconds: float) -> dict[str, Any]:
    """Connections that send 100 requests at once and leave, and idle ones, while probes ask for /health."""
    with study(kind, 300) as (folder, database, _):
        log = folder.parent / "log"
        server = Server(folder, database, processes_for(kind), background=False, log=log, files=1024)
        server.settle()
        ended, probes = False, list[bool]()

        async def probe() -> None:
            while not ended:
                line = await ask_health(server.port)
                probes.append(line is not None)
                if line is not None:
                    line.transport.abort()
                await asyncio.sleep(0.05)

        async def leave() -> None:
            with contextlib.suppress(OSError):
                line = await connect(server.port)
                line.transport.write(100 * random.choice(PIPELINES))
                await asyncio.sleep(random.choice([0, 0.01, 0.05]))
                line.transport.abort()

        async def go() -> int:
            nonlocal ended
            probing = asyncio.ensure_future(probe())
            for start in range(0, leaving, 50):
                await asyncio.gather(*(leave() for _ in range(min(50, leaving - start))))
            lines = []
            for start in range(0, idle, 50):
                lines += await asyncio.gather(*(ask_health(server.port) for _ in range(min(50, idle - start))))
            await asyncio.sleep(seconds)
            kept = sum(line is not None and not line.transport.is_closing() for line in lines)
            ended = True
            await probing
            for line in lines:
                if line is not None:
                    line.transport.abort()
            return kept

        try:
            before = server.memory()
            kept = run(go())
            after = server.memory()
        finally:
            server.stop()
        logged = log.read_text(errors="replace")
    return {
        "database": kind, "leave": leaving, "idle": idle, "idle kept": kept, "probes": len(probes),
        "probes answered": sum(probes), "lines logged": logged.count("\n"), "tracebacks": logged.count("Traceback"),
        "paths logged": logged.count(SECRET), "MiB before": before, "MiB after": after, **load(),
    }  # fmt: skip


# ---- the page --------------------------------------------------------------------------------------------------------


def summary() -> str:
    """The saved results as the table of benchmarks/RESULTS.md."""

    def people(row: dict[str, Any], *_: Any) -> str:
        return f"{row['answer p99 ms']:.0f}, {row['next p99 ms']:.0f} ms"

    def rate(*rows: dict[str, Any]) -> str:
        return f"{max((row['asked/s'] for row in rows if row['held']), default=0):,}"

    def hostile(calm: dict[str, Any], attacked: dict[str, Any]) -> str:
        return f"{calm['answer p99 ms']:.0f}, {attacked['answer p99 ms']:.0f} ms"

    def connections(row: dict[str, Any], *_: Any) -> str:
        probes = f"{row['probes answered']:,} of {row['probes']:,}"
        return f"{row['lines logged']}; {row['MiB before']:.0f}, {row['MiB after']:.0f} MiB; {probes}"

    def kills(row: dict[str, Any], *_: Any) -> str:
        return f"{row['acknowledged']:,}, {row['lost']}, {row['stored twice']}"

    def soak(*rows: dict[str, Any]) -> str:
        return ", ".join(f"{rows[part]['MiB']:.1f}" for part in (2, 5, 8, 11)) + " MiB"

    told = {
        people: "1,000 participants, each an answer in 2 s: 99 % of answers, and of requests for the next question, "
        "within",
        rate: "answers in a second, the most with 99 % within 200 ms",
        hostile: "200 participants: 99 % of answers without bad requests, and beside {bad:.0f} of them in a second, "
        "within",
        connections: "2,000 connections that send 100 requests at once and leave, then 1,500 idle ones at a server "
        "that may open 1,024 files: lines logged; memory before, after; probes answered",
        kills: "servers, background processes and processes of PostgreSQL killed at random under load: answers "
        "acknowledged, of these lost, stored twice",
        soak: "memory of the servers after a quarter, a half, three quarters and the whole of the time",
    }
    lines = ["| measured | SQLite, one process | PostgreSQL, two processes | by |", "|---|---|---|---|"]
    for cell, text in told.items():
        record = json.loads((RESULTS / f"collect-{cell.__name__}.json").read_text())
        of = {kind: [row for row in record["rows"] if row["database"] == kind] for kind in ("sqlite", "postgresql")}
        text = text.format(bad=np.mean([row.get("bad requests/s", 0) for row in record["rows"]]) * 2)
        by = f"`{record['command']}` at {record['commit']}"
        lines.append(f"| {text} | {cell(*of['sqlite'])} | {cell(*of['postgresql'])} | {by} |")
    machine = f"{record['cpu']}, {record['cores']} cores, {record['memory_gib']} GiB"
    return "\n".join(lines) + f"\n\nThe machine: {machine}."


def write_page() -> None:
    """Fill benchmarks/RESULTS.md."""
    text = fill(PAGE.read_text(encoding="utf-8"), {"collect": summary()})
    PAGE.write_text(text, encoding="utf-8")


def main(args: list[str] | None = None) -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="A few seconds of everything.")
    parser.add_argument("--only", default="people,rate,kills,soak,hostile")
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--seconds", type=float, help="Of each measurement.")
    parser.add_argument("--participants", type=int, help="Simulated at once.  [default: 1000]")
    parser.add_argument("--kills", type=int, help="In all, half on each database.")
    parser.add_argument("--minutes", type=float, default=10.0, help="Of the long run.")
    parser.add_argument("--rate", type=float, help="Answers in a second of the long run, on each database.")
    told = parser.parse_args(args)
    quick, kinds = told.quick, told.databases.split(",")
    suffix = "-quick" if quick else ""
    seconds = told.seconds or (3 if quick else 60)
    count = told.participants or (40 if quick else 1000)
    for what in told.only.replace("hostile", "hostile,connections").split(","):
        rows: list[dict[str, Any]] = []
        if what == "soak":
            soak = partial(measure_soak, minutes=0.1 if quick else told.minutes)
            soak = partial(soak, rate=20 if quick else told.rate or 200, count=20 if quick else 200)
            with ThreadPoolExecutor() as pool:
                rows += itertools.chain.from_iterable(pool.map(soak, kinds))
            print(table(rows), flush=True)
        for kind in kinds if what != "soak" else ():
            if what == "people":
                rows.append(measure_people(kind, count, seconds, background=not quick))
            elif what == "rate":
                rates = [20, 40] if quick else [500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000, 2400]
                rows += measure_rate(kind, count, seconds / 4 if not quick else 2, rates)
            elif what == "kills":
                kills = told.kills or (4 if quick else 200)
                rows.append(measure_kills(kind, kills // len(kinds), 10 if quick else 50))
            elif what == "connections":
                rows.append(measure_connections(kind, *((100, 1100, 0.5) if quick else (2000, 1500, 10))))
            else:
                rows += measure_hostile(kind, 20 if quick else min(count, 200), seconds / 6, 5 if quick else 50)
            print(table(rows), flush=True)
        print(save(f"collect-{what}{suffix}", rows))
    if not quick:
        write_page()


if __name__ == "__main__":
    main()
