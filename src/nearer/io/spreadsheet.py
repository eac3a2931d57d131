"""Text cells that a spreadsheet shows as text instead of running them as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A cell that starts with one of these may be taken for a formula (the last four are full-width forms).
_RISKY = "=+\\-@\t\r\n＝＋－＠"
_NEEDS_GUARD = re.compile(f"'*[{_RISKY}]")
_GUARDED = re.compile(f"'+[{_RISKY}]")
_BARE = re.compile(f"[{_RISKY}]")


def guard(text: str) -> str:
    """Put an apostrophe before `text` if a spreadsheet could take it for a formula.

    Text that already starts with apostrophes before such a character gets one more, so that `unguard` undoes it.
    """
    return "'" + text if _NEEDS_GUARD.match(text) else text


def unguard(text: str) -> str:
    """Undo `guard`."""
    return text[1:] if _GUARDED.match(text) else text


def is_guarded(texts: Iterable[str]) -> bool:
    """Tell whether `texts` come from a file written with `guard`: some are guarded and none is left bare."""
    some = False
    for text in texts:
        if _BARE.match(text):
            return False
        some = some or _GUARDED.match(text) is not None
    return some


def text_cell(text: str, delimiter: str = ",") -> str:
    """Write `text` as a cell of a delimited file: guarded, and quoted where it holds a delimiter, quote or line end."""
    text = guard(text)
    if any(mark in text for mark in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def text_cells(texts: Iterable[str], what: str, delimiter: str = ",") -> list[str]:
    """Write texts as cells; refuse what a text file cannot carry, naming the `what` (label, ...) and its place."""
    cells = []
    for spot, text in enumerate(texts):
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError(f"{what} {spot} is {text!r}: a text file cannot carry NUL or half a character")
        cells.append(text_cell(text, delimiter))
    return cells
