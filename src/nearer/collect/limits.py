"""JSON in and out, and how much is too much: requests in a second, bytes in a request, seconds for sending it."""

from __future__ import annotations

import asyncio
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
