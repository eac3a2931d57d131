"""The error for files that cannot be read, and helpers for wording messages."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence


class FileFormatError(ValueError):
    """A file does not hold what was expected: the message names file, line or row (from 1), and remedy."""


def listed(items: Iterable[object], limit: int = 8) -> str:
    texts = [str(item) for item in items]
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def shown(text: object, limit: int = 60) -> str:
    """Quote `text` for a message: on one line, cut when long."""
    quoted = repr(text) if isinstance(text, str) else str(text)
    return quoted if len(quoted) <= limit else quoted[: limit - 4] + "..." + quoted[-1]


def shown_cell(cell: str) -> str:
    cell = " ".join(cell.split())
    return cell if len(cell) <= 24 else cell[:21] + "..."


def answer_sentence(objects: Sequence[str]) -> str:
    """What people said: (anchor, near, far), or (i, j, l, k) for "i and j are nearer to each other than l and k"."""
    if len(objects) == 3:
        return "{} is nearer to {} than to {}".format(*objects)
    return "{} and {} are nearer to each other than {} and {}".format(*objects)


def counted(count: float, noun: str, plural: str = "") -> str:
    """Return e.g. ``"1 row"`` or ``"9,090 rows"``; `plural` is for nouns that need more than an s."""
    return f"{count:,.0f} {noun if count == 1 else plural or noun + 's'}"


def first_of(count: int, what: str) -> str:
    return f" (first of {count:,} {what})" if count > 1 else ""


def dropped_lines(dropped: Mapping[str, tuple[int, str]]) -> list[str]:
    lines = []
    for reason, (count, first) in dropped.items():
        where = f" ({'at' if count == 1 else 'first at'} {first})" if first else ""
        lines.append(f"{counted(count, 'row')} dropped: {reason}{where}")
    return lines


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The end of a message that suggests the known word closest to a name, regardless of case, if one is close."""
    words = {word.casefold(): word for word in reversed(known)}
    found = difflib.get_close_matches(name.casefold(), words, n=1, cutoff=0.7)
    return f"; did you mean {words[found[0]]!r}?" if found else ""


def plain(name: str) -> str:
    """A column name as it is compared: without regard to case; space, dot, hyphen and underscore are the same."""
    return re.sub(r"[\s._\-]+", "_", unicodedata.normalize("NFC", name).casefold()).strip("_")
