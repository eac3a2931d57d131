"""How plots and report show things: text on one safe line, groups, colours."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

__all__ = ["PALETTE", "clean_text", "group_codes", "label_texts", "natural_key", "shorten"]

# Okabe and Ito's colours, told apart with every common form of colour blindness; yellow last, it is pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000", "#F0E442")

_VISIBLE = {"\n": "↵", "\r": "", "\t": "→"}


def clean_text(value: object) -> str:
    """One printable line for any label: line breaks become ↵, control characters become �.

    So do the two marks that turn the direction of all that follows: with them, text can be made to look like other
    text.

    Parameters
    ----------
    value : object
        Usually a str; anything else is shown by ``str``.

    Returns
    -------
    str
        Holds no line break, control character or lone surrogate. Letters of all scripts, emoji and the joiners
        they need are kept.
    """
    text = str(value).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    out = []
    for ch in text:
        if ch in _VISIBLE:
            out.append(_VISIBLE[ch])
        elif unicodedata.category(ch) in ("Cc", "Cs") or ch in "\u202d\u202e":
            out.append("\ufffd")
        else:
            out.append(ch)
    return "".join(out)


def shorten(text: str, limit: int) -> str:
    """Cut `text` to `limit` characters, the last of them "…" when something was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def label_texts(labels: Sequence | np.ndarray | None, n_objects: int) -> list[str]:
    """Labels fit to be shown, one for each object.

    Parameters
    ----------
    labels : sequence (n_objects,) or None
        None gives the numbers 0, 1, ...
    n_objects : int

    Returns
    -------
    list of str
    """
    if labels is None:
        return [str(i) for i in range(n_objects)]
    if len(labels) != n_objects:
        raise ValueError(f"labels: got {len(labels):,}, expected {n_objects:,}, one for each object")
    return [clean_text(label) for label in labels]


def natural_key(text: str) -> tuple:
    """Sort key under which numbers inside text sort by value: "a2" before "a10"."""
    parts: list[tuple[int, float, str]] = []
    run = ""
    for ch in text + "\0":
        if run and (ch.isdecimal() != run[-1].isdecimal() or ch == "\0"):
            parts.append((0, float(run), "") if run[0].isdecimal() else (1, 0.0, run.casefold()))
            run = ""
        run += ch
    return tuple(parts)


def group_codes(groups: Sequence | np.ndarray, n_objects: int) -> tuple[np.ndarray, list[str]]:
    """Number the groups in natural order.

    Parameters
    ----------
    groups : sequence (n_objects,)
        The group of each object; None, NaN and "" mean "no group".
    n_objects : int

    Returns
    -------
    codes : int array (n_objects,)
        Index into `names`, -1 for no group.
    names : list of str
        The names of the groups, fit to be shown.
    """
    if len(groups) != n_objects:
        raise ValueError(f"groups: got {len(groups):,}, expected {n_objects:,}, one for each object")
    texts = [None if g is None or g == "" or (isinstance(g, float) and g != g) else clean_text(g) for g in groups]
    names = sorted({t for t in texts if t is not None}, key=natural_key)
    position = {name: k for k, name in enumerate(names)}
    return np.array([-1 if t is None else position[t] for t in texts], dtype=np.int64), names
