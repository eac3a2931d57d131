"""What an answer says: which of the options shown was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .aliases import normalise
from .columns import Column, Source, column_from_numpy
from .errors import FileFormatError, counted, listed, shown

_TRUE, _FALSE = {"true", "t", "yes"}, {"false", "f", "no"}
_WORDS = (("a", "left", "first", "optiona"), ("b", "right", "second", "optionb"), ("c", "third", "optionc"))
CODINGS = ("object", "sign", "bool", "index0", "index1")
_HINT = (
    "say which with answers=: 'object' (the cell names the object chosen), 'sign' (1 first option, -1 second), "
    "'bool' (1 first option, 0 second), 'index0' (0 first, 1 second), 'index1' (1 first, 2 second), "
    "or a dict such as {'x': 'a', 'y': 'b'}"
)


def same_cells(one: Column, other: Column) -> np.ndarray:
    """Tell row by row whether two columns (n_rows,) hold the same cell, spaces around text aside."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not one.is_text and not other.is_text:
        return one._cells == other._cells
    one, other = (c if c.is_text else column_from_numpy(c._cells.astype(str)) for c in (one, other))
    trimmed = [pc.utf8_trim_whitespace(column.values) for column in (one, other)]
    known = pc.unique(pa.chunked_array(trimmed))
    codes = [
        pc.index_in(values, value_set=known).to_numpy(zero_copy_only=False)[column.codes]
        for values, column in zip(trimmed, (one, other))
    ]
    return codes[0] == codes[1]


def read_choice(
    source: Source,
    answer: Column,
    position: int,
    options: Sequence[Column],
    option_names: Sequence[str],
    place: Any,
    coding: str | Mapping[Any, str] | None,
    notes: list[str],
) -> np.ndarray:
    """Read which option each answer chose.

    Parameters
    ----------
    answer : Column (n_rows,)
        Without empty cells.
    position : int
        Of that column in the file.
    options : sequence of Column (n_rows,)
        The objects shown, in the order of the options; empty if an option is not one object (a pair).
    option_names : sequence of str
        Names of the options' columns.
    coding : str, mapping or None
        How to read the cells; None: find out, and refuse if two readings are possible.

    Returns
    -------
    ndarray float64 (n_rows,)
        For two options, +n or -n: chosen n times the first or the second, 0 undecided. For three, the position 0, 1, 2.
    """
    size = len(option_names)
    if coding is not None:
        reading = _told(source, answer, position, options, option_names, place, coding)
        notes.append(f"answers read as {coding!r}" if isinstance(coding, str) else "answers read as told")
        return reading
    cells = _distinct(answer)
    readings: dict[str, np.ndarray] = {}
    if options:
        chosen = _by_object(answer, options)
        if (chosen >= 0).all():
            readings["object"] = chosen
    codes = _by_words(cells, option_names)
    if codes is None:
        name, codes = _by_numbers(cells, size)
        if name:
            readings[name] = _expand(answer, codes, size)
    else:
        readings["words"] = _expand(answer, codes, size)
    if "object" in readings:
        readings["object"] = _signed(readings["object"], size)
    distinct = list(readings.items())
    if len(distinct) == 2 and not np.array_equal(distinct[0][1], distinct[1][1]):
        raise FileFormatError(f"{source.path}: {source.title(position)} can be read in two ways; {_HINT}")
    if distinct:
        name = distinct[0][0]
        if name not in ("object", "words", "sign"):
            notes.append(_explain(name, size))
        return distinct[0][1]
    raise FileFormatError(_refusal(source, answer, position, options, cells, place))


def _told(
    source: Source,
    answer: Column,
    position: int,
    options: Sequence[Column],
    option_names: Sequence[str],
    place: Any,
    coding: str | Mapping[Any, str],
) -> np.ndarray:
    size = len(option_names)
    if isinstance(coding, str):
        if coding not in CODINGS:
            raise ValueError(f"answers: got {coding!r}, expected one of {listed(CODINGS)} or a dict")
        if coding == "object":
            chosen = _by_object(answer, options)
            _refuse(source, answer, position, chosen < 0, place, "is none of the objects shown")
            return _signed(chosen, size)
        codes: dict[str, float] = {}
        for cell in _distinct(answer):
            number = _number(cell)
            truth = 1.0 if cell.casefold() in _TRUE else 0.0 if cell.casefold() in _FALSE else number
            if coding == "sign" and number is not None:
                codes[cell] = number
            elif coding == "bool" and truth in (0.0, 1.0):
                codes[cell] = 1.0 if truth else -1.0
            elif coding in ("index0", "index1") and number is not None and number - int(coding[-1]) in range(size):
                codes[cell] = _signed(np.array([number - int(coding[-1])]), size)[0]
    else:
        words = {word: spot for spot, group in enumerate(_WORDS[:size]) for word in group}
        for value, option in coding.items():
            if normalise(str(option)) not in words:
                raise ValueError(f"answers: {value!r} is mapped to {option!r}, expected one of {listed('abc'[:size])}")
        codes = {str(value): _signed(np.array([words[normalise(str(o))]]), size)[0] for value, o in coding.items()}
    reading = _expand(answer, codes, size)
    _refuse(source, answer, position, np.isnan(reading), place, f"is no answer when read as {coding!r}")
    return reading


def _refuse(source: Source, answer: Column, position: int, bad: np.ndarray, place: Any, why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise FileFormatError(
            f"{source.path}, {place(row)}, {source.title(position)}: {shown(answer.cell(row))} {why} "
            f"({counted(int(bad.sum()), 'such row')})"
        )


def _distinct(answer: Column) -> list[str]:
    if answer.is_text:
        texts = answer.texts()
        return [texts[code].strip() for code in np.unique(answer._cells)]
    return [_spell(number) for number in np.unique(answer._cells).tolist()]


def _spell(number: Any) -> str:
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)


def _expand(answer: Column, codes: Mapping[str, float], size: int) -> np.ndarray:
    """Look every cell up in `codes` (NaN if it is not there)."""
    if answer.is_text:
        values = np.array([codes.get(text.strip(), np.nan) for text in answer.texts()], np.float64)
        return values[answer.codes]
    known, inverse = np.unique(answer._cells, return_inverse=True)
    return np.array([codes.get(_spell(number), np.nan) for number in known.tolist()], np.float64)[inverse]


def _by_object(answer: Column, options: Sequence[Column]) -> np.ndarray:
    chosen = np.full(len(answer), -1)
    for spot, option in enumerate(options):
        chosen[same_cells(answer, option)] = spot
    return chosen


def _signed(chosen: np.ndarray, size: int) -> np.ndarray:
    return 1.0 - 2.0 * chosen if size == 2 else chosen.astype(np.float64)


def _by_words(cells: Sequence[str], option_names: Sequence[str]) -> dict[str, float] | None:
    """Read true/false, left/right and the like, or the names of the options' columns."""
    size = len(option_names)
    known: dict[str, int] = {}
    if size == 2:
        known |= dict.fromkeys(_TRUE, 0) | dict.fromkeys(_FALSE, 1)
    for spot, (words, name) in enumerate(zip(_WORDS, option_names)):
        known |= dict.fromkeys((*words, normalise(name)), spot)
    known.pop("", None)
    spots = [known.get(normalise(cell)) for cell in cells]
    if not cells or any(spot is None for spot in spots):
        return None
    return dict(zip(cells, _signed(np.array(spots), size)))


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _by_numbers(cells: Sequence[str], size: int) -> tuple[str | None, dict[str, float]]:
    """Read numbers where only one reading is possible."""
    numbers = [_number(cell) for cell in cells]
    if not cells or any(number is None for number in numbers):
        return None, {}
    found = {number for number in numbers if number is not None}
    codes = dict(zip(cells, [float(number) for number in numbers if number is not None]))
    if size == 2 and min(found) < 0:
        return "sign", codes
    if size == 2 and found == {1}:
        return "sign", codes
    for base, marker in ((0, 0), (1, size)):
        if marker in found and found <= set(range(base, base + size)) and not (size == 2 and base == 0):
            return f"index{base}", {cell: _signed(np.array([number - base]), size)[0] for cell, number in codes.items()}
    return None, {}


def _explain(name: str, size: int) -> str:
    first = int(name[-1])
    return "answers read as positions: " + ", ".join(
        f"{first + spot} = {word} option" for spot, word in enumerate(("first", "second", "third")[:size])
    )


def _refusal(
    source: Source, answer: Column, position: int, options: Sequence[Column], cells: Sequence[str], place: Any
) -> str:
    """Name the first cell that cannot be read, or the ambiguity."""
    what = f"holds {listed((shown(cell) for cell in cells), 5)}"
    if options:
        strange = _by_object(answer, options) < 0
        count = int(strange.sum())
        if 0 < count < len(answer):
            row = int(np.argmax(strange))
            return (
                f"{source.path}, {place(row)}, {source.title(position)}: {shown(answer.cell(row))} is none of the "
                f"objects shown in that row ({counted(count, 'such row')} of {len(answer):,}); {_HINT}"
            )
    return f"{source.path}: {source.title(position)} {what}: cannot tell which option that is; {_HINT}"
