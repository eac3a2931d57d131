"""Labels, groups and colours as plots and report show them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

# Okabe and Ito's colours for every common form of colour blindness; yellow last, it is pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000", "#F0E442")
N_SHAPES = 7  # of markers
MAX_GROUPS = len(PALETTE) * N_SHAPES
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")


def clean_text(value: object) -> str:
    """One printable line: line breaks become ↵; controls, lone surrogates and direction overrides become �."""
    text = _LINE_END.sub("↵", str(value)).replace("\t", "→")
    return "".join("\ufffd" if unicodedata.category(ch) in ("Cc", "Cs") or ch in "\u202d\u202e" else ch for ch in text)


def shorten(text: str, limit: int) -> str:
    """Cut the middle out of a text of more than `limit` characters: names that begin alike often end differently."""
    if len(text) <= limit:
        return text
    ending = (limit - 1) // 2
    return f"{text[: limit - 1 - ending].rstrip()}…{text[-ending:].lstrip()}"


def label_texts(labels: Sequence | np.ndarray | None, n_objects: int) -> list[str]:
    """Printable labels, one for each object; numbers without labels."""
    if labels is None:
        return [str(i) for i in range(n_objects)]
    _check_one_each(labels, "labels", n_objects)
    return [clean_text(label) for label in labels]


def _check_one_each(values: Any, name: str, n_objects: int) -> None:
    if isinstance(values, (str, Mapping, Set)) or getattr(values, "ndim", 1) != 1:
        kind = type(values).__name__
        raise ValueError(f"{name}: got a {kind}, expected a sequence with one for each object, in their order")
    if len(values) != n_objects:
        raise ValueError(f"{name}: got {len(values):,}, expected {n_objects:,}, one for each object")


def decimals_of(values: np.ndarray, digits: int) -> int:
    """Number of decimals with which the largest of some numbers has `digits` digits."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0
    return digits - 1 - int(np.floor(np.log10(largest)))


def natural_key(text: str) -> tuple:
    """Sort key under which numbers inside text sort by value: "a2" before "a10"."""
    runs = filter(None, re.split(r"(\d+)", text))
    return tuple((0, float(run), "") if run.isdecimal() else (1, 0.0, run.casefold()) for run in runs)


def group_codes(groups: Sequence | np.ndarray, n_objects: int) -> tuple[np.ndarray, list[str]]:
    """Number the groups in natural order: the code of each object, -1 for no group (None, NaN, ""), and their names."""
    _check_one_each(groups, "groups", n_objects)
    texts = [None if g is None or g == "" or (isinstance(g, float) and g != g) else clean_text(g) for g in groups]
    names = sorted({t for t in texts if t is not None}, key=natural_key)
    position = {name: k for k, name in enumerate(names)}
    return np.array([-1 if t is None else position[t] for t in texts], dtype=np.int64), names


def merge_small_groups(
    codes: np.ndarray, names: list[str], most: int = MAX_GROUPS
) -> tuple[np.ndarray, list[str], int | None]:
    """Merge the smallest groups beyond `most` into "other (12 groups)"; codes, names, and its code or None."""
    if len(names) <= most:
        return codes, names, None
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = np.sort(np.argsort(-sizes, kind="stable")[: most - 1])
    new = np.full(len(names) + 1, most - 1)  # the last entry is for -1, no group
    new[kept] = np.arange(most - 1)
    new[-1] = -1
    return new[codes], [*(names[k] for k in kept), f"other ({len(names) - most + 1:,} groups)"], most - 1
