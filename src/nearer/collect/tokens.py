"""Ids that cannot be guessed or altered: a number with a signature."""

from __future__ import annotations

import base64
import hmac


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
