"""What a cell says: a number, yes or no, a side, a time, an answer, a name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data.errors import listed, shown

# Texts that stand for a cell without a value, to the letter: Na may be an object.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "undefined", "NaT",
    "\\N", "[NULL]", "<null>", "(null)",
)  # fmt: skip
UNKNOWN = "unknown"  # who chose a question, or who answered, where that is not known
SIDES = ("first", "second", "third")  # how a position is written; beyond them "option4", ...
_NOT = ("!", "¬", "≠", "~")  # before what is meant not to be
_PREFIXES = ("input.", "answer.", "spreadsheet: ", "input:", "output:", "player.")


def is_unicode(text: str) -> bool:
    """Tell whether a text can be written: half a character (a lone surrogate) cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_whole(text: str) -> bool:
    """Tell whether a text is a whole number in plain form: digits, no leading zero, at most 18 of them."""
    return text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0")


_DECIMAL = re.compile(r"[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?")


def whole_number(text: str) -> int | None:
    """Read a text that is a whole number, perhaps written with a decimal point as in 3.0; None for any other."""
    if is_whole(text):
        return int(text)
    number = float(text) if _DECIMAL.fullmatch(text) else float("nan")
    return int(number) if number.is_integer() and number < 2**53 else None


def number_in(text: str) -> float | None:
    """Read a text that is a finite number; None for any other."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def are_numbered(names: Sequence[Any]) -> bool:
    """Tell whether columns are called 0, 1, 2, ... or 1, 2, 3, ..., perhaps after an unnamed one."""
    texts = list(map(str, names))
    texts = texts[1:] if texts and not texts[0] else texts
    return bool(texts) and any(texts == [str(spot + base) for spot in range(len(texts))] for base in (0, 1))


def normalise(name: str) -> str:
    """Reduce a name to lower-case letters and digits."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def word_of(name: str) -> str:
    """Reduce the name of a column likewise, without the prefix of a program."""
    plain = name.strip().casefold()
    if plain[:1] in _NOT:
        return plain
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return normalise(plain)


# ---- what the details of an answer say -----------------------------------------------------------------------------

_YES_OR_NO = {"yes": 1, "no": 0, "y": 1, "n": 0, "true": 1, "false": 0, "t": 1, "f": 0}
_PASSED = {"pass": 1, "passed": 1, "correct": 1, "right": 1, "fail": 0, "failed": 0, "incorrect": 0, "wrong": 0}
# Nobody answers within 50 ms most of the time, and hardly anybody thinks for 200 s over each question.
_FASTEST_MS, _SLOWEST_S = 50.0, 200.0


def truth_of(cell: str) -> int | None:
    """Read a cell that says yes or no, or that a test was passed or not: 1, 0, or None if it says neither."""
    word = side_word(cell.removesuffix(".0"))
    return yes_or_no(word) if word not in _PASSED else _PASSED[word]


def yes_or_no(cell: str) -> int | None:
    """Read a cell that says yes or no, true or false, 1 or 0: 1, 0, or None if it says neither."""
    number = number_in(cell)
    return _YES_OR_NO.get(cell.casefold()) if number is None else int(number) if number in (0, 1) else None


def sides_of(cells: Sequence[str], size: int) -> dict[str, int | None]:
    """Read the distinct cells that say which of `size` positions was chosen, from 0; None for one that does not.

    Numbers are positions counted from 0 if one of them is 0, from 1 if not. Words may say a position beyond `size`: a
    triplet may come from a choice among more.
    """
    numbers = [number_in(cell) for cell in cells]
    base = 0 if 0 in numbers else 1
    known = {word: spot for spot, words in enumerate(_SIDES) for word in words}
    read: dict[str, int | None] = {}
    for cell, number in zip(cells, numbers):
        word, most = side_word(cell), 128 if number is None else size
        count = word.removeprefix("option")
        if number is None and word != count and count.isdecimal():
            number = base + int(count) - 1.0
        spot = known.get(word) if number is None else number - base
        read[cell] = int(spot) if spot is not None and 0 <= spot < most and spot == int(spot) else None
    return read


def units_per_second(role: str, times: np.ndarray) -> tuple[float, str]:
    """Tell how many units of response times, as written and none missing, are a second; and what to say about it.

    The role is one of `TIMES`. The number is 1 or 1000, or NaN if that cannot be told.
    """
    median = float(np.median(times)) if len(times) else np.nan
    if role != "response_time":
        divisor = 1.0 if role == "seconds" else 1000.0
        if _FASTEST_MS / 1000 <= median / divisor <= _SLOWEST_S or not len(times):
            return divisor, ""
        return divisor, f"are {role} by name, but the median is {median:,.4g}: is that right?"
    if median < _FASTEST_MS:
        return 1.0, f"taken as seconds, since the median is {median:,.4g}"
    if median > _SLOWEST_S:
        return 1000.0, f"taken as milliseconds, since the median is {median:,.4g}"
    return np.nan, f"may be seconds or milliseconds (the median is {median:,.4g})"


# ---- what an answer says -------------------------------------------------------------------------------------------

# In several languages, since the columns are called so too.
_SIDES = tuple(
    tuple(words.split())
    for words in (
        "a left first optiona option1 leftarrow arrowleft keypressarrowleft leftimage leftbutton links gauche "
        "izquierda sinistra esquerda",
        "b right second optionb option2 rightarrow arrowright keypressarrowright rightimage rightbutton rechts droite "
        "derecha destra direita",
        "c third optionc option3",
    )
)
_ARROWS = {"←": "left", "→": "right", "⬅": "left", "➡": "right"}
# Words in a column of answers that say there is none: letters and digits alone, in lower case; or a mark, as it is.
NO_ANSWER = (
    "timeout", "timedout", "noresponse", "noresp", "noanswer", "omission", "omitted", "nokey", "skip", "skipped", "nr",
    "missing", "[]", "-", "--", "–", "—",
)  # fmt: skip
SKIP = "skip"
CODINGS = ("object", "sign", "bool", "index0", "index1")
ANSWERS_HINT = (
    "say which with answers=: 'object' (the cell names the object chosen), 'sign' (1 first option, -1 second), "
    "'bool' (1 first option, 0 second), 'index0' (0 first, 1 second), 'index1' (1 first, 2 second), "
    "or what each cell says, such as answers={'f': 'a', 'j': 'b', 'equal': 'skip'}"
)


def parse_answers(text: str) -> str | dict[str, str]:
    """Read "f=a,j=b,equal=skip" (what a cell says), or the name of a coding such as "index0"."""
    return pairs_in([part.strip() for part in text.split(",")], "answers", "f=a") if "=" in text else text


def pairs_in(parts: list[str], option: str, example: str) -> dict[str, str]:
    """Read parts such as "f=a", what is said by what; ValueError for what is no pair, and for what is said twice."""
    found: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"{option}: got {part!r}, expected pairs such as {example}")
        if key.strip() in found:
            raise ValueError(f"{option}: {key.strip()!r} is said twice, {found[key.strip()]!r} and {value.strip()!r}")
        found[key.strip()] = value.strip()
    return found


@dataclass(frozen=True)
class Answers:
    """How to read the cells of an answer, and what to tell the user about it.

    The codes say what a cell means: for two options +n or -n (chosen n times the first or the second) or 0 (undecided);
    for three the position 0, 1 or 2; NaN: no answer. None: the cell names the object chosen.
    """

    codes: dict[str, float] | None
    note: str = ""
    by_name: bool = False  # whether every cell is the name of a column of options


def read_answers(
    cells: Sequence[str],
    n_elsewhere: int | None,
    option_names: Sequence[str],
    told: str | Mapping[Any, str] | None,
) -> Answers | str:
    """Find out how answers are written; a text says why that cannot be told.

    Parameters
    ----------
    cells : sequence of str
        The distinct answers.
    n_elsewhere : int or None
        Answers that name none of the objects shown in their row; None where an option is a pair.
    option_names : sequence of str
        Names of the options' columns, in order; two or three.
    told : str, mapping or None
        One of `CODINGS`, or what each cell says; None: find out, and refuse if two readings are possible.
    """
    size = len(option_names)
    if isinstance(told, str):
        told = parse_answers(told)
    if isinstance(told, Mapping) and told and all(normalise(str(option)) == SKIP for option in told.values()):
        told = None  # the others are read as ever
    if told is not None:
        return _told_answers(cells, n_elsewhere, option_names, told)
    readings: list[Answers] = []
    if n_elsewhere == 0:
        readings.append(Answers(None))
        if size == 2 and len(cells) == 2 and set(map(number_in, cells)) in ({0, 1}, {1, 2}, {-1, 1}):
            readings.append(Answers({}))  # whichever way round: two readings are refused
    codes = _by_words(cells, option_names)
    if codes is not None:
        called = _called(option_names)
        by_name = all(side_word(cell) in called for cell in cells)
        taken = [f"{cell} = {option_names[_spot(code, size)]}" for cell, code in codes.items()]
        note = "" if by_name or not all(option_names) else f"answers read as positions: {listed(taken)}"
        readings.append(Answers(codes, note, by_name))
    elif numbers := _by_numbers(cells, size):
        readings.append(numbers)
    if len(readings) == 1:
        return readings[0]
    if readings:
        return f"can be read in two ways, as names of objects and as positions; {ANSWERS_HINT}"
    return f"holds {listed(map(shown, cells), 5)}: cannot tell which option that is; {ANSWERS_HINT}"


def _told_answers(
    cells: Sequence[str], n_elsewhere: int | None, option_names: Sequence[str], told: str | Mapping[Any, str]
) -> Answers | str:
    size = len(option_names)
    if isinstance(told, Mapping):
        words, called = side_words(size), _called(option_names)
        codes = {}
        for cell, option in told.items():
            option = normalise(str(option))
            if option != SKIP and option not in words:
                raise ValueError(f"answers: {cell!r} is mapped to {option!r}, expected {listed('abc'[:size])} or skip")
            if option in called and called[option] != words[option]:
                raise ValueError(
                    f"answers: {cell!r} is mapped to {option!r}, which is the name of option {'abc'[called[option]]} "
                    f"and a word for option {'abc'[words[option]]}; rename the columns to tell them apart"
                )
            codes[str(cell).strip()] = np.nan if option == SKIP else _signed(float(words[option]), size)
        read = Answers(codes, "answers read as told")
    else:
        if told not in CODINGS:
            raise ValueError(f"answers: got {told!r}, expected one of {listed(CODINGS)} or what each cell says")
        if told in ("sign", "bool") and size > 2:
            raise ValueError(f"answers: {told!r} tells two options apart, these answers choose one of {size}")
        if told == "object":
            if n_elsewhere is None:
                raise ValueError("answers: 'object' is for answers that name one object, here an option is a pair")
            return Answers(None, "answers read as 'object'")
        read = Answers(_by_coding(cells, told, size), f"answers read as {told!r}")
    unread = [cell for cell in cells if cell not in (read.codes or {})]
    return f"holds {listed(map(shown, unread), 5)}, which is no answer when read as {told!r}" if unread else read


def _by_coding(cells: Sequence[str], coding: str, size: int) -> dict[str, float]:
    codes: dict[str, float] = {}
    both = any((number_in(cell) or 0) < 0 for cell in cells)  # else larger numbers are positions, or ratings
    for cell in cells:
        number = number_in(cell)
        truth = yes_or_no(cell)
        if coding == "sign" and number is not None and (both or number in (-1, 0, 1)):
            codes[cell] = number
        elif coding == "bool" and truth is not None:
            codes[cell] = 1.0 if truth else -1.0
        elif coding.startswith("index") and number is not None and number - int(coding[-1]) in range(size):
            codes[cell] = _signed(number - int(coding[-1]), size)
    return codes


def side_words(size: int) -> dict[str, int]:
    """Words for the first, second and third option -> its position."""
    return {word: spot for spot, words in enumerate(_SIDES[:size]) for word in words}


def side_word(cell: str) -> str:
    """Reduce a cell that may say a side to the word for it; a mark such as that in "!left" may turn it round."""
    plain = cell.strip(" \t\ufe0f\"'“”‘’()[]{}<>.:")
    word = _ARROWS.get(plain, "") or normalise(cell)
    return word if plain in _ARROWS or _WORD.fullmatch(plain) else cell


_WORD = re.compile(r"\w(?:[\w\s.:\-]*\w)?")


def _called(option_names: Sequence[str]) -> dict[str, int]:
    """Names of the options' columns, also without the prefix of a program -> position."""
    return {word: spot for spot, name in enumerate(option_names) for word in (word_of(name), normalise(name)) if word}


def _spot(code: float, size: int) -> int:
    """Undo `_signed`."""
    return int(code if size == 3 else (1 - code) / 2)


def _signed(spot: float, size: int) -> float:
    return 1.0 - 2.0 * spot if size == 2 else spot


def _by_words(cells: Sequence[str], option_names: Sequence[str]) -> dict[str, float] | None:
    """Read left and right and the like, or the names of the options' columns."""
    size, words, called = len(option_names), side_words(len(option_names)), _called(option_names)
    # Where the option in column "right" is the first, "right" is that column, and no word for a side is sure.
    turned = any(words.get(name, spot) != spot for name, spot in called.items())
    known = called if turned else words | called
    if {"left", "right"} <= called.keys() and set(map(side_word, cells)) == {"l", "r"}:
        known = {"l": called["left"], "r": called["right"]}
    spots = [known.get(side_word(cell)) for cell in cells]
    if not cells or any(spot is None for spot in spots):
        return None
    return {cell: _signed(float(spot), size) for cell, spot in zip(cells, spots) if spot is not None}


def _by_numbers(cells: Sequence[str], size: int) -> Answers | None:
    """Read numbers where only one reading is possible; 0 and 1, or -1 and 1, may mean either option."""
    numbers = {cell: number for cell in cells if (number := number_in(cell)) is not None}
    if not cells or len(numbers) < len(cells):
        return None
    found = set(numbers.values())
    for base, sure in ((0, 0), (1, size)):
        whole = found <= set(range(base, base + size)) and len(found) > 1
        if sure in found and whole and not (size == 2 and base == 0):
            places = ", ".join(f"{base + spot} = {word}" for spot, word in enumerate(SIDES[:size]))
            codes = {cell: _signed(number - base, size) for cell, number in numbers.items()}
            return Answers(codes, f"answers read as positions: {places} option")
    return None


# ---- what may be no name -------------------------------------------------------------------------------------------


def kinds_of(columns: Sequence[Sequence[str]], options: Sequence[str]) -> list[frozenset[str]]:
    """Tell which kinds of cells columns have: name, truth, bit, whole, fraction, side.

    A side may be the name of a column that shows options; letters may be objects, unless there are such columns.
    """
    sides = {word for word in side_words(3) if options or len(word) > 1} | _called(options).keys()
    return [frozenset(_kind(text.strip(), sides) for text in texts) for texts in columns]


def _kind(text: str, sides: Collection[str]) -> str:
    number = number_in(text)
    if number is not None:
        return "bit" if number in (0, 1) else "fraction" if number % 1 else "whole"
    if len(text) > 1 and yes_or_no(text) is not None:  # letters may be objects
        return "truth"
    return "side" if side_word(text) in sides else "name"


def are_no_words(names: Sequence[str]) -> list[bool]:
    """Tell which names have no letter, and are no colour such as #003366, or say a side, or true or false."""
    sides = side_words(3)
    return [_is_no_word(name, sides) for name in names]


def _is_no_word(name: str, sides: Collection[str]) -> bool:
    if not any(letter.isalpha() for letter in name):
        return re.fullmatch("#[0-9]{6}", name) is None
    return len(name) > 1 and (side_word(name) in sides or name.casefold() in ("true", "false", "yes"))
