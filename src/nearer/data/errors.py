"""The one error of this package: a file that cannot be read as asked, said with file, place and reason."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

SHOWN = 3


class FileFormatError(ValueError):
    """A file does not hold what was expected.

    The message names the file, where known the place in it, and what to do. Places are counted from 1: ``line 5``
    is the fifth line of a text file as an editor shows it (the header is line 1); ``row 5`` is the fifth row of data
    of a file without lines (Parquet, NumPy, MATLAB, a JSON array).
    """


def listed(items: Iterable[object], limit: int = 8) -> str:
    """Join `items` by commas, the rest beyond `limit` counted."""
    texts = [str(item) for item in items]
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def shown(text: object, limit: int = 60) -> str:
    """Quote `text` for a message: on one line, cut when long."""
    quoted = repr(text) if isinstance(text, str) else str(text)
    return quoted if len(quoted) <= limit else quoted[: limit - 4] + "..." + quoted[-1]


def shown_cell(cell: str) -> str:
    """Show one cell of a row in a message, cut when long."""
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


def told_dropped(dropped: Mapping[str, tuple[int, str]]) -> list[str]:
    """Say which rows were left out, and where the first of them is."""
    return [
        f"{counted(count, 'row')} dropped: {reason} ({'at' if count == 1 else 'first at'} {first})"
        for reason, (count, first) in dropped.items()
    ]


def closest(name: str, known: Sequence[str]) -> str | None:
    """Return the word of `known` that `name` most likely meant, whatever their case, or None."""
    words = {word.casefold(): word for word in reversed(known)}
    found = difflib.get_close_matches(name.casefold(), words, n=1, cutoff=0.7)
    return words[found[0]] if found else None
