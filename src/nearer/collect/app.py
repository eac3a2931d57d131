"""The web application: pages, their JSON interface, the files of the objects."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from nearer.collect.batches import Batches, Refusal, Unavailable
from nearer.collect.desk import Desk
from nearer.collect.export import Export
from nearer.collect.limits import Rate, answered, read_json
from nearer.collect.store import Store, participant_table, study_status
from nearer.collect.study import Study

logger = logging.getLogger(__name__)
_PAGES = Path(__file__).parent / "pages"
_ASSETS = {
    "participant.css": "text/css", "participant.js": "text/javascript",
    "researcher.css": "text/css", "researcher.js": "text/javascript",
}  # fmt: skip
_STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "frame-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_OWN_PAGE = "default-src 'self' 'unsafe-inline' data: blob:; base-uri 'self'; frame-ancestors 'self'"
# What an object brings along may look as it likes, and do nothing.
_ITEM = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'; sandbox"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_RETRY = {"Retry-After": "2"}


def make_app(study: Study, store: Store) -> Starlette:
    """The web application of a study; the database stays open when it ends."""
    office = Office(study, store)
    routes: list[BaseRoute] = [
        Route("/api/study", office.study_told),
        Route("/api/start", office.start, methods=["POST"]),
        Route("/api/next", office.next, methods=["POST"]),
        Route("/api/answer", office.answer, methods=["POST"]),
        Route("/health", office.health),
        Route("/items/{number:int}", office.item),
        Route("/assets/{name}", asset),
        Route("/researcher", page("researcher.html")),
        Route("/api/openapi.json", openapi),
        Route("/api/researcher/status", office.status),
        Route("/api/researcher/answers.csv", office.download),
        Route("/api/researcher/pause", office.pause, methods=["POST"]),
    ]
    if study.server.page:
        routes.append(Mount("/", StaticFiles(directory=study.folder / study.server.page, html=True)))
    else:
        routes.append(Route("/", page("participant.html")))
    middleware = [Middleware(_Headers, policy=_OWN_PAGE if study.server.page else _STRICT)]
    if study.server.origins:
        cors = Middleware(
            CORSMiddleware, allow_origins=list(study.server.origins), allow_methods=["GET", "POST"],
            allow_headers=["content-type"],
        )  # fmt: skip
        middleware.append(cors)
    return Starlette(
        routes=routes, middleware=middleware, lifespan=office.lifespan,
        exception_handlers={
            HTTPException: _refused, Unavailable: _unavailable, ClientDisconnect: _gone, Exception: _failed,
        },
    )  # fmt: skip


class Office:
    """What the addresses of the interface do."""

    def __init__(self, study: Study, store: Store):
        self.study, self.store = study, store
        self.desk = Desk(study, store)
        self._often = Rate(study.server.requests_per_second, 3 * study.server.requests_per_second)
        per_minute = study.server.new_participants_per_minute
        self._arrivals = Rate(per_minute / 60, per_minute)
        self._failures = Rate(0.2, 20)
        self._salt = secrets.token_bytes(16)
        self.batches: Batches

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Keep threads for the database while the application runs."""
        self.batches = Batches(self.store, 1 if self.store.is_sqlite else 2)
        with contextlib.closing(self.batches):
            yield

    async def study_told(self, _request: Request) -> Response:
        """What the page shows before anything is stored."""
        study, asked = self.study, self.study.questions
        told = {
            "title": study.title,
            "language": study.language,
            "texts": study.texts,
            "kind": asked.kind,
            "number": asked.number,
            "cannot_tell": asked.cannot_tell,
            "break_every": asked.break_every,
            "practice": self.desk.practice(),
            "id_names": study.participants.id,
            "anonymous": study.participants.anonymous,
        }
        return answered(told)

    async def start(self, request: Request) -> Response:
        """Begin or go on."""
        given = await read_json(request)
        name = given.get("participant")
        if name is None and self.study.participants.anonymous:
            name = f"anonymous-{secrets.token_hex(8)}"
        if not isinstance(name, str):
            raise Refusal(422, "participant: expected the participant's id as text")
        if not self._arrivals.allow(self._caller(request)):
            raise Refusal(429, "start: too many participants from one address; try again in a minute")
        done = await self.batches.run(partial(self.desk.start, name))
        return answered({**done, "id": name})

    async def next(self, request: Request) -> Response:
        """Open questions."""
        person = self._participant(await read_json(request))
        return answered(await self.batches.run(partial(self.desk.next, person)))

    async def answer(self, request: Request) -> Response:
        """Store an answer, and give the next question."""
        given = await read_json(request)
        if "choice" not in given:
            raise Refusal(422, "choice: got none, expected a list of whole numbers, or null")
        person = self._participant(given)
        work = partial(self.desk.answer, person, given.get("question"), given["choice"], given.get("seconds"))
        return answered(await self.batches.run(work))

    async def health(self, _request: Request) -> Response:
        """Tell whether the database answers."""
        return answered({"ok": await self.batches.run(self.desk.alive, timeout=5)})

    async def item(self, request: Request) -> Response:
        """The file of an object: found by its number, so no path comes from outside."""
        item = self.desk.by_number.get(request.path_params["number"])
        if item is None or item.form == "text":
            raise HTTPException(404)
        headers = {"Content-Security-Policy": _ITEM, "Cache-Control": "private, max-age=86400"}
        return FileResponse(item.content, media_type=item.media_type, headers=headers)

    def _participant(self, given: dict[str, Any]) -> int:
        """The number of the participant who asks, if not too often."""
        person = self.desk.participant(given.get("participant"))
        if not self._often.allow(person):
            raise Refusal(429, "too many requests; slow down")
        return person

    def _caller(self, request: Request) -> bytes:
        """Something that is the same for the same address, and tells nothing about it after a restart."""
        host = request.client.host if request.client else ""
        return hashlib.blake2b(host.encode(), key=self._salt, digest_size=8).digest()

    # ---- the researcher's page, behind the token that `nearer collect serve` prints ----------------------------------

    def _check_token(self, request: Request) -> None:
        """Refuse who has no token, and soon anybody who guesses."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.desk.signer.is_researcher(token):
            return
        if not self._failures.allow("all"):
            raise Refusal(429, "token: too many wrong ones; wait a little")
        raise Refusal(401, "token: is not the one that nearer collect serve printed")

    async def status(self, request: Request) -> Response:
        """Progress, participants and what the background process found."""
        self._check_token(request)
        return answered(await run_in_threadpool(self._status))

    def _status(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            status, people = study_status(connection), participant_table(connection)
            found = {name: self.store.finding(connection, name) for name in ("people", "map", "forecast")}
        judged = found["people"] or {}
        images = {item.name: f"items/{number}" for number, item in self.desk.by_number.items() if item.form == "image"}
        asked = self.study.questions
        about = {"title": self.study.title, "kind": asked.kind, "number": asked.number, "adaptive": asked.adaptive}
        about |= {"n_objects": len(self.study.items), "images": images}
        told = [{**person, "quality": judged.get(person["participant"])} for person in people]
        return {**found, "study": about, "now": time.time(), "status": status, "people": told}

    async def download(self, request: Request) -> Response:
        """The answers as a CSV file."""
        self._check_token(request)
        export = Export(self.store, self.study.questions)
        headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="answers.csv"'}
        return StreamingResponse(
            iterate_in_threadpool(export.blocks()), media_type="text/csv; charset=utf-8", headers=headers
        )

    async def pause(self, request: Request) -> Response:
        """Stop or go on handing out questions."""
        self._check_token(request)
        paused = (await read_json(request)).get("paused")
        if not isinstance(paused, bool):
            raise Refusal(422, "paused: expected true or false")
        await run_in_threadpool(self.store.set_paused, paused)
        return answered({"paused": paused})


# ---- answers to requests ---------------------------------------------------------------------------------------------


def page(name: str) -> Callable[[Request], Awaitable[Response]]:
    """An address that gives a page of the package, which asks for its own files by their content."""
    text = (_PAGES / name).read_text(encoding="utf-8")
    for file in _ASSETS:
        digest = hashlib.sha256((_PAGES / file).read_bytes()).hexdigest()[:12]
        text = text.replace(f"assets/{file}", f"assets/{file}?{digest}")

    async def give(_request: Request) -> Response:
        headers = {"Content-Security-Policy": _STRICT, "Cache-Control": "no-cache"}
        return Response(text, media_type="text/html; charset=utf-8", headers=headers)

    return give


async def openapi(_request: Request) -> Response:
    """The description of the interface."""
    return FileResponse(_PAGES / "openapi.json", media_type="application/json")


async def asset(request: Request) -> Response:
    """A style sheet or script of the package."""
    name = request.path_params["name"]
    if name not in _ASSETS:
        raise HTTPException(404)
    return FileResponse(
        _PAGES / name, media_type=_ASSETS[name], headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {429: {"Retry-After": "1"}, 413: {"Connection": "close"}}.get(error.status_code)
    return answered({"error": error.detail}, error.status_code, headers)


async def _unavailable(_request: Request, error: Exception) -> Response:
    logger.warning("the database does not take answers: %s; participants wait", error)
    return answered({"error": "the study cannot store answers at the moment; try again soon"}, 503, _RETRY)


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody is there to read it


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed: %r", request.method, request.url.path, error)
    return answered({"error": "something went wrong; try again"}, 500, _RETRY)


class _Headers:
    """Adds the headers that every response has."""

    def __init__(self, app: Any, policy: str):
        self._app, self._policy = app, policy.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def adding(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                headers.extend(_HEADERS)
                if not any(name == b"content-security-policy" for name, _ in headers):
                    headers.append((b"content-security-policy", self._policy))
            await send(message)

        await self._app(scope, receive, adding if scope["type"] == "http" else send)
