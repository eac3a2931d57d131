"""What the researcher's page asks for, behind the token that `nearer collect serve` prints."""

from __future__ import annotations

import time
from typing import Any

from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from nearer.collect.batches import Refusal
from nearer.collect.desk import Desk
from nearer.collect.export import Export
from nearer.collect.limits import Rate, answered, read_json
from nearer.collect.store import participant_table, study_status


class Researcher:
    """Addresses below /api/researcher."""

    def __init__(self, desk: Desk):
        self.desk, self.study, self.store = desk, desk.study, desk.store
        self._failures = Rate(0.2, 20)

    def routes(self) -> list[Route]:
        """What the application adds to its own addresses."""
        return [
            Route("/api/researcher/status", self.status),
            Route("/api/researcher/answers.csv", self.answers),
            Route("/api/researcher/pause", self.pause, methods=["POST"]),
        ]

    def _check(self, request: Request) -> None:
        """Refuse who has no token, and soon anybody who guesses."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.desk.signer.is_researcher(token):
            return
        if not self._failures.allow("all"):
            raise Refusal(429, "token: too many wrong ones; wait a little")
        raise Refusal(401, "token: is not the one that nearer collect serve printed")

    async def status(self, request: Request) -> Response:
        """Progress, participants and what the background process found."""
        self._check(request)
        return answered(await run_in_threadpool(self._status))

    def _status(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            found: dict[str, Any] = {"status": study_status(connection)}
            people = participant_table(connection)
            computed = {name: self.store.finding(connection, name) for name in ("people", "map", "forecast")}
        judged = computed.pop("people") or {}
        images = {item.name: f"items/{number}" for number, item in self.desk.by_number.items() if item.form == "image"}
        asked = self.study.questions
        about = {"title": self.study.title, "kind": asked.kind, "number": asked.number, "adaptive": asked.adaptive}
        about |= {"n_objects": len(self.study.items), "images": images}
        told = [{**person, "quality": judged.get(person["participant"])} for person in people]
        return {"study": about, "now": time.time(), "people": told, **found, **computed}

    async def answers(self, request: Request) -> Response:
        """The answers as a CSV file."""
        self._check(request)
        export = Export(self.store, self.study.questions)
        headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="answers.csv"'}
        return StreamingResponse(
            iterate_in_threadpool(export.blocks()), media_type="text/csv; charset=utf-8", headers=headers
        )

    async def pause(self, request: Request) -> Response:
        """Stop or go on handing out questions."""
        self._check(request)
        paused = (await read_json(request)).get("paused")
        if not isinstance(paused, bool):
            raise Refusal(422, "paused: expected true or false")
        await run_in_threadpool(self.store.set_paused, paused)
        return answered({"paused": paused})
