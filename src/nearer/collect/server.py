"""The web server: pages, JSON API, and media files of the objects."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import json
import logging
import math
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nearer.collect.desk import Desk, is_same, signed_number
from nearer.collect.store import Batches, Export, Row, Store, Unavailable, person_table, reason, rows_text, study_status
from nearer.collect.study import ENDINGS, ServerSettings, Study, page_files, read_study

logger = logging.getLogger(__name__)
_PAGES = Path(__file__).parent / "pages"
_STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "frame-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_OWN_PAGE = "default-src 'self' 'unsafe-inline' data: blob:; base-uri 'self'; frame-ancestors 'self'"
# HTML objects may have inline styles, but no scripts.
_OBJECT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'; sandbox"
_OF_OBJECTS = {"Content-Security-Policy": _OBJECT, "Cache-Control": "private, max-age=86400"}
_HEADERS = [  # of all responses
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
]
MAX_BODY = 16_384  # bytes of a request; an answer has about 200
_HEAD_BYTES = 16_384
_SECONDS = 10.0  # for the headers of a request, and for its body
_CALLERS = 20_000  # callers whose requests are counted
_CONNECTIONS = 20_000
_ROOM = 0.9  # fraction of the connections that may be open before idle ones are closed
_PROBE_SECONDS = 1.0  # between two writes of /health
_PORT_SECONDS = 5.0  # for other processes of a killed server to leave the port
_BACKLOG = 2048


def make_app(study: Study, store: Store, seed: int | None = None) -> Starlette:
    """The web application of a study; the caller closes the store."""
    api = Api(study, store, seed)
    routes = [
        Route("/api/study", api.describe),
        Route("/api/start", api.start, methods=["POST"]),
        Route("/api/next", api.task(api.desk.step), methods=["POST"]),
        Route("/api/step", api.task(api.desk.step), methods=["POST"]),
        Route("/api/answer", api.task(api.desk.answer), methods=["POST"]),
        Route("/health", api.health),
        Route("/api/researcher/status", api.status),
        Route("/api/researcher/answers.csv", api.download),
        Route("/api/researcher/participants.csv", api.download_people),
        Route("/api/researcher/pause", api.pause, methods=["POST"]),
        Route("/{path:path}", served_files(study)),
    ]
    origins, methods = list(study.server.origins), ["GET", "POST"]
    cors = Middleware(CORSMiddleware, origins, allow_methods=methods, allow_headers=["content-type"])
    handlers: Any = {HTTPException: _refused, Unavailable: _unavailable, SQLAlchemyError: _unavailable}
    return Starlette(routes=routes, middleware=[cors], lifespan=api.lifespan, exception_handlers=handlers)


class Api:
    def __init__(self, study: Study, store: Store, seed: int | None = None):
        self.study, self.store = study, store
        self.desk = Desk(study, store, seed)
        limits = study.server if seed is None else ServerSettings((), "", 1e9, 1e9)  # none for a rehearsal
        self._often = Rate(limits.requests_per_second, 3 * limits.requests_per_second)
        self._arrivals = Rate(limits.new_participants_per_minute / 60, limits.new_participants_per_minute)
        self._failures = Rate(0.2, 20)
        self._salt = secrets.token_bytes(16)
        self._probes, self._fault = Rate(1 / _PROBE_SECONDS, 1), ""
        self.batches: Batches

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self.batches = Batches(self.store)
        with contextlib.closing(self.batches):
            yield

    async def describe(self, _request: Request) -> Response:
        study, people = self.study, self.study.participants
        values = {name: getattr(study, name) for name in ("title", "language", "texts")}
        values |= {name: getattr(study.questions, name) for name in ("kind", "number", "cannot_tell", "break_every")}
        values |= {step: [field.for_page() for field in getattr(study, step)] for step in ("before", "after")}
        names = {"id_names": people.id, "parameter_names": people.parameters, "anonymous": people.anonymous}
        return JSONResponse(values | names)

    async def start(self, request: Request) -> Response:
        given = await read_json(request)
        name = given.get("participant")
        if name is None and self.study.participants.anonymous:
            name = f"anonymous-{secrets.token_hex(8)}"
        if not isinstance(name, str):
            raise HTTPException(422, "participant: expected the participant's id as text")
        host = request.client.host if request.client else ""
        # A hash with a random key: the address cannot be recovered.
        caller = hashlib.blake2b(host.encode(), key=self._salt, digest_size=8).digest()
        if not self._arrivals.allow(caller):
            raise HTTPException(429, "start: too many participants from one address; try again in a minute")
        parameters, agreed = given.get("parameters") or {}, given.get("agreed", True)
        if not isinstance(parameters, dict) or not isinstance(agreed, bool):
            raise HTTPException(422, "parameters and agreed: expected an object, and true or false")
        done = await self.batches.run(self.desk.start, name, parameters, agreed)
        return JSONResponse({**done, "id": name})

    def task(self, work: Callable[..., Row]) -> Callable[[Request], Awaitable[Response]]:
        """Handler of what a participant who has a token asks of the desk."""

        async def respond(request: Request) -> Response:
            given = await read_json(request)
            return JSONResponse(await self.batches.run(work, self._participant(given), given))

        return respond

    async def health(self, _request: Request) -> Response:
        """Whether answers can be stored: one write a second, however many ask."""
        if self._probes.allow("all"):
            try:
                await self.batches.run(self.store.probe)
                self._fault = ""
            except Unavailable as error:
                self._fault = str(error)
        if self._fault:
            raise Unavailable(self._fault)
        return JSONResponse({"ok": True})

    def _participant(self, given: Row) -> int:
        """The number of the participant who sent a request; enforces the rate limit."""
        person = signed_number(self.store.secret, given.get("participant"))
        if person is None:
            raise HTTPException(403, "participant: unknown token; call /api/start first")
        if not self._often.allow(person):
            raise HTTPException(429, "too many requests; slow down")
        return person

    def _check_token(self, request: Request) -> None:
        """Refuse requests without the researcher's token, and limit the rate of wrong tokens."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and is_same(token, self.store.token):
            return
        if not self._failures.allow("all"):
            raise HTTPException(429, "token: too many wrong attempts; wait a minute")
        raise HTTPException(401, "token: got a wrong one, expected the token that nearer collect serve printed")

    def status(self, request: Request) -> Response:
        self._check_token(request)
        status = study_status(self.store, self.study)
        found = self.store.known("people", "map", "forecast", "background")
        judged, study = found["people"] or {}, self.study
        rated = [{**person, "quality": judged.get(person["participant"])} for person in status.pop("people")]
        about: Row = {"title": study.title, "adaptive": study.questions.adaptive, "n_objects": len(study.items)}
        about |= {"wanted": study.participants.wanted, "conditions": {one.name: one.wanted for one in study.conditions}}
        about["images"] = {item.name: item.address for item in study.items if item.form == "image"}
        return JSONResponse({**found, "study": about, "now": time.time(), "status": status, "people": rated})

    def download(self, request: Request) -> Response:
        self._check_token(request)
        return _csv(Export(self.store, self.study).lines("page"), "answers.csv")

    def download_people(self, request: Request) -> Response:
        self._check_token(request)
        people = person_table(self.store, self.study, "page")
        return _csv(iter([rows_text(people, self.study.person_columns)]), "participants.csv")

    async def pause(self, request: Request) -> Response:
        await run_in_threadpool(self._check_token, request)
        paused = (await read_json(request)).get("paused")
        if not isinstance(paused, bool):
            raise HTTPException(422, "paused: expected true or false")
        await run_in_threadpool(self.store.set_paused, paused, "page")
        return JSONResponse({"paused": paused})


def _csv(lines: Iterator[str], name: str) -> Response:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def served_files(study: Study) -> Callable[[Request], Response]:
    """Handler of all files, by address: no path comes from the request."""
    ours = {f"assets/{path.name}": path for path in _PAGES.iterdir()}
    ours |= {"researcher": _PAGES / "researcher.html", "api/openapi.json": _PAGES / "openapi.json"}
    ours |= {} if study.server.page else {"": _PAGES / "participant.html"}
    files: dict[str, tuple[Path, dict[str, str]]] = {}
    for found, policy in ((page_files(study), _OWN_PAGE), (ours, _STRICT)):
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        files |= {address: (path, headers) for address, path in found.items()}
    for item in study.items:
        if isinstance(item.content, Path):
            media_type = ENDINGS[item.form][item.content.suffix.lower()]
            files[item.address] = item.content, {**_OF_OBJECTS, "Content-Type": media_type}

    def respond(request: Request) -> Response:
        path, headers = files.get(request.path_params["path"], (None, None))
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, headers=headers)

    return respond


async def _refused(_request: Request, error: Any) -> Response:
    headers = {429: {"Retry-After": "1"}, 413: {"Connection": "close"}}.get(error.status_code)
    return JSONResponse({"error": error.detail}, error.status_code, headers)


async def _unavailable(_request: Request, error: Exception) -> Response:
    logger.warning("the database does not accept answers: %s; participants have to wait", reason(error))
    told = {"error": "the study cannot store answers at the moment; try again soon"}
    return JSONResponse(told, 503, {"Retry-After": "2"})


class Sparse(logging.Filter):
    """Lets one line in ten seconds pass from each place that logs, without what a request or an error says."""

    def __init__(self) -> None:
        super().__init__()
        self._often = Rate(0.1, 1)

    def filter(self, record: logging.LogRecord) -> bool:
        if not self._often.allow((record.pathname, record.lineno)):
            return False
        text = record.getMessage().split("\n")[0]
        if record.exc_info and record.exc_info[0]:
            text += f": {record.exc_info[0].__name__}"
            for frame in traceback.extract_tb(record.exc_info[2])[-1:]:
                text += f" at {Path(frame.filename).name}:{frame.lineno}"
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True


class Rate:
    """A token bucket for each caller, of size `burst`, in memory only."""

    def __init__(self, per_second: float, burst: float):
        self._per_second, self._burst = per_second, burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def allow(self, caller: Hashable) -> bool:
        """Count a request and return whether it is allowed."""
        now = time.monotonic()
        left, before = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - before) * self._per_second)
        allowed = left >= 1
        self._left[caller] = (left - allowed, now)
        if len(self._left) > _CALLERS:
            self._left.popitem(last=False)
        return allowed


_SPARSE = Sparse()


async def read_json(request: Request) -> Row:
    """Read a JSON object within the limits of size and time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a browser lets any site post text/plain without asking the server
        raise HTTPException(415, f"content-type: got {kind[:50]!r}, expected application/json")

    async def read() -> bytes:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"body: got more than the {MAX_BODY} bytes allowed")
        return body

    try:
        values = json.loads(await asyncio.wait_for(read(), _SECONDS))
    except asyncio.TimeoutError:
        raise HTTPException(408, f"body: did not arrive within {_SECONDS:g} seconds") from None
    except (ClientDisconnect, ValueError, RecursionError):
        raise HTTPException(400, "body: expected a JSON object") from None
    if not isinstance(values, dict):
        raise HTTPException(400, f"body: got a JSON {type(values).__name__}, expected an object")
    return values


class Limits(HttpToolsProtocol):
    """Closes connections that uvicorn would keep.

    Those whose headers are incomplete after 10 s or 16 KiB, that send a request before the last response, and, when
    there are too many, those that have been idle for longest.
    """

    _timer: asyncio.TimerHandle | None = None  # runs while headers are incomplete
    _size = 0
    _used = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._used = time.monotonic()
        self._expect_headers(True)
        if len(self.connections) > _ROOM * (self.limit_concurrency or math.inf):
            idle = [one for one in self.connections if isinstance(one, Limits) and one is not self and one.is_idle()]
            idle.sort(key=lambda one: one._used)
            for one in idle[: 1 + len(idle) // 20]:
                self.connections.discard(one)
                one.transport.abort()

    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_headers(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._size += len(data)
        if self._timer is not None and self._size > _HEAD_BYTES:
            self.transport.abort()

    def on_message_begin(self) -> None:
        if not self.is_idle():
            raise ValueError("a request before the response")  # uvicorn closes the connection
        self._used = time.monotonic()
        self._expect_headers(True)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._expect_headers(False)
        super().on_headers_complete()

    def _expect_headers(self, expected: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._size = 0
        self._timer = self.loop.call_later(_SECONDS, self.transport.abort) if expected else None


def bind(host: str, port: int) -> socket.socket:
    """Open the socket to listen on; port 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    end = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            return socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                told = f"host and port: got {host} and {port}, which cannot be used: {error.strerror}"
                raise ValueError(told) from error
        time.sleep(0.1)


def make_server(
    study: Study, store: Store, *, certificate: str | None = None, key: str | None = None, behind_proxy: bool = False,
    seed: int | None = None,
) -> uvicorn.Server:  # fmt: skip
    """The server of a study; ``run([socket])`` serves until Ctrl-C or SIGTERM. A rehearsal has a `seed`."""
    connections = _CONNECTIONS
    with contextlib.suppress(ImportError, ValueError, OSError):  # as many connections as the system allows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = max(soft, min(hard, 65_536)) if hard > 0 else 65_536  # -1: unlimited
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        connections = min(connections, 3 * limit // 4)  # the other files are for the database and for objects
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    for name in ("uvicorn.error", "asyncio", __name__):
        logging.getLogger(name).addFilter(_SPARSE)
    config = uvicorn.Config(
        make_app(study, store, seed), http=Limits, ws="none", log_config=None, access_log=False,
        server_header=False, headers=_HEADERS, timeout_keep_alive=75, timeout_graceful_shutdown=5,
        limit_concurrency=connections, backlog=_BACKLOG, proxy_headers=behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1", ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    try:
        config.load()
    except ssl.SSLError as error:
        expected = "a PEM certificate and its private key"
        raise ValueError(f"certificate: got {certificate} with the key {key}, expected {expected}: {error}") from error
    return uvicorn.Server(config)


class Supervisor:
    """Runs ``python -m module`` and restarts it when it dies, after growing pauses.

    Its options come by standard input (`read_options`): the address of a database may hold a password, and command
    lines are public. It inherits the socket `listening`.
    """

    def __init__(self, module: str, options: Row, listening: socket.socket | None = None):
        self._descriptors = [] if listening is None else [listening.fileno()]
        self._module = module
        self._options = json.dumps(options | {"descriptors": self._descriptors}) + "\n"
        self._end = threading.Event()
        self._start()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _start(self) -> None:
        self._began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", self._module], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            pass_fds=self._descriptors, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(self._options)
            self.process.stdin.flush()

    def _keep(self) -> None:
        pause = 1.0
        while True:
            code = self.process.wait()
            if self._end.is_set():
                return
            pause = 1.0 if time.monotonic() - self._began > 60 else min(2 * pause, 60.0)
            logger.warning("%s ended (%s); restarting in %g s", self._module, code, pause)
            if self._end.wait(pause):
                return
            self._start()

    def stop(self, seconds: float = 0.0) -> None:
        """End the process: SIGTERM and up to `seconds` of grace, then SIGKILL."""
        self._end.set()
        if seconds:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        self.process.kill()
        self._thread.join(timeout=5)


def read_options() -> Row:
    """The options from the `Supervisor` of this process, which ends when the supervisor is gone."""
    options = json.loads(sys.stdin.readline())

    def watch() -> None:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    return options


def main() -> None:
    """Serve as one of several processes that share a socket."""
    options = read_options()
    study, store = read_study(options["study"]), Store(options["database"])
    make_server(study, store, **options["server"]).run([socket.socket(fileno=options["descriptors"][0])])
    store.close()


if __name__ == "__main__":
    main()
