"""What comes in: JSON of so many bytes in so many seconds, requests so often, ids that were not guessed or altered."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nearer.collect.batches import Refusal

MAX_BODY = 16_384
"""Bytes of a request; an answer has about 200."""
_SECONDS = 10.0  # for sending them
_KEPT = 20_000


class Rate:
    """Lets each caller through so often, with some leave to hurry (`burst` at once); held in memory only."""

    def __init__(self, per_second: float, burst: float):
        self._per_second, self._burst = per_second, burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def allow(self, caller: Hashable, now: float | None = None) -> bool:
        """Tell whether a caller may go on, and count it; `now` is in seconds of a steady clock."""
        now = time.monotonic() if now is None else now
        left, before = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - before) * self._per_second)
        allowed = left >= 1
        self._left[caller] = (left - allowed, now)
        if len(self._left) > _KEPT:
            self._left.popitem(last=False)
        return allowed


class Signer:
    """Signs numbers, and tells whether a signature is its own, in constant time."""

    def __init__(self, secret: bytes):
        self._secret = secret

    def _signature(self, text: str) -> str:
        digest = hmac.digest(self._secret, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:18]).decode()

    def sign(self, number: int, purpose: str) -> str:
        """Return ``number.signature``; only the same purpose accepts it."""
        return f"{number}.{self._signature(f'{purpose}:{number}')}"

    def number(self, token: object, purpose: str) -> int | None:
        """Return the number of a token that was signed for this purpose, or None."""
        if not isinstance(token, str) or len(token) > 60 or not token.isascii():
            return None
        text, _, signature = token.partition(".")
        if not text.isdecimal() or not hmac.compare_digest(signature, self._signature(f"{purpose}:{text}")):
            return None
        return int(text)

    @property
    def researcher(self) -> str:
        """The token of the researcher's page."""
        return self._signature("researcher")

    def is_researcher(self, token: str) -> bool:
        """Tell whether a token is the researcher's."""
        return hmac.compare_digest(token.encode(), self.researcher.encode())


def answered(values: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON that nobody keeps."""
    return JSONResponse(values, status, {"Cache-Control": "no-store", **(headers or {})})


async def read_json(request: Request) -> dict[str, Any]:
    """Read a request of JSON, not larger and not slower than is reasonable."""
    told = request.headers.get("content-length", "0")
    if not told.isdecimal() or int(told) > MAX_BODY:
        raise Refusal(413, f"body: got {told[:12]} bytes, expected at most {MAX_BODY}")
    try:
        body = await asyncio.wait_for(_read(request), _SECONDS)
    except asyncio.TimeoutError:
        raise Refusal(408, f"body: did not arrive within {_SECONDS:g} seconds") from None
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "body: expected a JSON object") from None
    if not isinstance(values, dict):
        raise Refusal(400, f"body: got a JSON {type(values).__name__}, expected an object")
    return values


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise Refusal(413, f"body: got more than the {MAX_BODY} bytes allowed")
    return bytes(body)
