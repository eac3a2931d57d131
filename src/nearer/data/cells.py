"""What a cell says: a number, yes or no, a side, a time, an answer, a name; and which cells name no object."""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.errors import SHOWN, counted, listed, shown

if TYPE_CHECKING:
    pass

# Texts that stand for a cell without a value, to the letter: Na may be an object.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "undefined", "NaT",
    "\\N", "[NULL]", "<null>", "(null)",
)  # fmt: skip
UNKNOWN = "unknown"  # who chose a question, or who answered, where that is not known
SIDES = ("first", "second", "third")  # how a position is written; beyond them "option4", ...
_NOT = ("!", "¬", "≠", "~")  # before what is meant not to be
_PREFIXES = ("input.", "answer.", "spreadsheet: ")


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


# ---- what is no object --------------------------------------------------------------------------------------------

_SAMPLE = 1000  # cells; as good as always they hold a name
TRUTHS = "every cell says yes or no, true or false, 0 or 1: an answer, not an object"
_MEASURED = "holds numbers that are not whole beside columns of names: measurements, not objects"
_PLACES = "every cell is a number or a side, beside columns of names: a rank or a position, not an object"
FRACTION = "is not a whole number"


def kinds_of_cells(names: Mapping[str, Sequence[str]], options: Sequence[str]) -> dict[str, frozenset[str]]:
    """Tell for each column of objects, by role, which kinds of cells it has: name, truth, bit, whole, fraction, side.

    Only "name" is told if every column has one: then none of them is suspected.

    Parameters
    ----------
    names : mapping of str to sequence of str
        Role -> the distinct cells of its column.
    options : sequence of str
        Names of columns that show the options of an answer.
    """
    # Letters may be objects, unless options are shown beside.
    sides = {word for word in side_words(3) if options or len(word) > 1} | _called(options).keys()
    first = [{_kind(name, sides) for name in own[:_SAMPLE]} for own in names.values()]
    if all("name" in kinds for kinds in first):
        return dict.fromkeys(names, frozenset(["name"]))
    return {role: frozenset(_kind(name, sides) for name in own) for role, own in names.items()}


def _kind(text: str, sides: Collection[str]) -> str:
    text = text.strip()
    number = number_in(text)
    if number is not None:
        return "bit" if number in (0, 1) else "fraction" if number % 1 else "whole"
    if len(text) > 1 and yes_or_no(text) is not None:  # letters may be objects
        return "truth"
    return "side" if side_word(text) in sides else "name"


def no_object(cells: Mapping[str, frozenset[str]], options: Sequence[str]) -> tuple[str, str] | None:
    """Find a column of objects that holds none, given the kinds of its cells by role: the role, and why.

    Where a kind of cell stands among names in another column, objects are called so. `options` as in `kinds_of_cells`.
    """
    numbers = {"bit", "whole", "fraction"}
    places = [role for role in cells if role in ("odd", "central") or role.startswith("rank_")]
    if options or "side" in cells.get("near", frozenset()) | cells.get("far", frozenset()):
        places += ["near", "far"]
    for role, kinds in cells.items():
        others = [other for key, other in cells.items() if key != role]
        named = [other for other in others if "name" in other]
        beside = set().union(*named)
        if not kinds or "name" in kinds:
            continue
        if "truth" in kinds and kinds <= {"truth", "bit"} and "truth" not in beside:
            return role, TRUTHS
        # 0 and 1 may be objects, but not beside names alone.
        if kinds == {"bit"} and len(named) == len(others) and not numbers & beside:
            return role, TRUTHS
        if "fraction" in kinds and kinds <= numbers and not numbers & beside:
            return role, _MEASURED if named else FRACTION
        given = set().union(*(cells.get(place, frozenset()) for place in places))
        if role in places and given <= {"side", *numbers} and named and not (kinds | numbers) & beside:
            return role, _PLACES
    return None


# ---- what an answer says -------------------------------------------------------------------------------------------

_SIDES = (
    ("a", "left", "first", "optiona", "option1", "leftarrow", "arrowleft", "keypressarrowleft"),
    ("b", "right", "second", "optionb", "option2", "rightarrow", "arrowright", "keypressarrowright"),
    ("c", "third", "optionc", "option3"),
)
_ARROWS = {"←": "left", "→": "right", "⬅": "left", "➡": "right"}
# Words in a column of answers that say there is none.
NO_ANSWER = ("timeout", "timedout", "noresponse", "noresp", "omission", "nokey", "[]")
_SKIP = "skip"
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
        readings.append(Answers(codes, by_name=all(side_word(cell) in called for cell in cells)))
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
            if option != _SKIP and option not in words:
                raise ValueError(f"answers: {cell!r} is mapped to {option!r}, expected {listed('abc'[:size])} or skip")
            if option in called and called[option] != words[option]:
                raise ValueError(
                    f"answers: {cell!r} is mapped to {option!r}, which is the name of option {'abc'[called[option]]} "
                    f"and a word for option {'abc'[words[option]]}; rename the columns to tell them apart"
                )
            codes[str(cell).strip()] = np.nan if option == _SKIP else _signed(float(words[option]), size)
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
    for cell in cells:
        number = number_in(cell)
        truth = yes_or_no(cell)
        if coding == "sign" and number is not None:
            codes[cell] = number
        elif coding == "bool" and truth is not None:
            codes[cell] = 1.0 if truth else -1.0
        elif coding.startswith("index") and number is not None and number - int(coding[-1]) in range(size):
            codes[cell] = _signed(number - int(coding[-1]), size)
    return codes


def side_words(size: int) -> dict[str, int]:
    """Words for the first, second and third option -> its position."""
    return {word: spot for spot, words in enumerate(_SIDES[:size]) for word in words}


_SIDE_WORDS = side_words(3).keys()


def side_word(cell: str) -> str:
    """Reduce a cell that may say a side to the word for it; a mark such as that in "!left" may turn it round."""
    plain = cell.strip(" \t\ufe0f\"'“”‘’()[]{}<>.:")
    word = _ARROWS.get(plain, "") or normalise(cell)
    return word if plain in _ARROWS or _WORD.fullmatch(plain) else cell


_WORD = re.compile(r"\w(?:[\w\s.:\-]*\w)?")


def _called(option_names: Sequence[str]) -> dict[str, int]:
    """Names of the options' columns, also without the prefix of a program -> position."""
    return {word: spot for spot, name in enumerate(option_names) for word in (word_of(name), normalise(name)) if word}


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


# ---- names that may be none, or one written in several ways --------------------------------------------------------

# Names, whatever their case, that may stand for a missing cell, or for what a spreadsheet could not work out.
_DOUBTFUL = frozenset((
    ".", "?", "-", "--", "-1", "-9", "-99", "-999", "-9999", "na", "n.a.", "n.a", "n/a", "n/d", "k.a.", "nan", "nil",
    "null", "(null)", "[null]", "<null>", "\\n",
    "none", "(none)", "(blank)", "blank", "missing", "(missing)", "missing value", "no data", "not available",
    "skipped", "skip", "unknown", "...", "*", "timeout", "timed out", "no response", "no answer", "neither", "equal",
    "don't know", "dont know", "idk", "not sure", "keine angabe", "tbd", "loading...", "xxx", "???", "#nv", "#n/a",
    "#ref!", "#value!",
    "#div/0!", "#name?", "#num!", "#null!", "#bezug!", "#wert!", "#error!",
))  # fmt: skip
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# What a name may hold by mistake -> why it is doubtful.
_MISTAKES = {
    r'\\.*"': "holds a backslash before a quotation mark; within quotes such a mark is written twice, not escaped",
    r"""^(array\()?[\[({]\s*["'].*["'],?\s*[\])}]\)?$|^\{.*\}$""": "looks like a list written as text",
    r"^#+$|^\[object \w+\]$|^[0-9][.,][0-9]+E\+[0-9]+$": "is what a program shows where it cannot show a cell",
    r"Ã[\x80-\xbf]|â€|\ufffd": "looks like text read in another encoding than it was written in",
    rf"(?i)^[0-9]{{1,2}}-({_MONTHS})$|^({_MONTHS})-[0-9]{{1,2}}$": "may be a date that a spreadsheet made of a name",
    r"[\r\n](?s:.)*[,;\t|]": "holds a line break and a delimiter; is a quotation mark not closed?",
}
_MARKS = re.compile(
    r"[\\\[({\r\n,;|+/&#%Ãâ\ufffd]|[0-9]-[A-Za-z]{3}$|^[A-Za-z]{3}-[0-9]"
)  # one of them is in every name that holds a mistake


def is_no_word(name: str) -> bool:
    """Tell whether a name has no letter, and is no colour such as #003366, or says a side, or true or false."""
    if not any(letter.isalpha() for letter in name):
        return re.fullmatch("#[0-9]{6}", name) is None
    return len(name) > 1 and (side_word(name) in _SIDE_WORDS or name.casefold() in ("true", "false", "yes"))


def doubts_of(names: Sequence[str], keep_na: bool) -> list[str]:
    """Tell of names that may be none; where words for missing cells are to be kept, not of these."""
    missing = doubtful(names, keep_na)
    what = listed(map(repr, missing))
    told = [f"the name {what} may stand for a missing cell, but is taken as an object"] if missing else []
    marked = list(filter(_MARKS.search, names))  # most often none, and then one look is enough
    for pattern, why in _MISTAKES.items():
        found = next(filter(re.compile(pattern).search, marked), None)
        told += [f"the name {shown(found)} {why}"] if found is not None else []
    known = set(names) if marked else set()
    parts = ((name, re.split(r"\s*[,;|+/&]\s*", name)) for name in marked)
    several = next((name for name, held in parts if len(held) > 1 and known.issuperset(held)), None)
    off = next(
        (name for name in marked if (bare := name.strip().lstrip("#%/;").strip()) != name.strip() and bare in known),
        None,
    )
    told += [f"the name {shown(off)} is another one with a mark before it; is that row switched off?"] if off else []
    told += [f"the name {shown(several)} is made of other names; one row for each is expected"] if several else []
    return told


def doubtful(names: Sequence[str], keep_na: bool) -> list[str]:
    """Find names that may stand for a missing cell; -1 may not where other numbers below 0 do."""
    numbered = all(re.fullmatch("-?[0-9]+", name) for name in names)
    if numbered and any(name[0] == "-" and name not in _DOUBTFUL for name in names):
        return []
    kept = {word.casefold() for word in MISSING if keep_na}
    return sorted(name for name in names if (word := name.strip().casefold()) in _DOUBTFUL and word not in kept)


_INVISIBLE = "[\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f]"  # beside characters of category Cf


def fold_key(name: str) -> str:
    """Reduce a name to what is left when the way it is written does not matter; see `_written`."""
    plain = re.sub(_INVISIBLE, "", "".join(letter for letter in name if unicodedata.category(letter) != "Cf"))
    plain = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold()).split())
    plain = re.sub(r"""^(?:[\[({]\s*|=)?(["'])(.+)\1(?:,?\s*[\])}])?$""", r"\2", plain)
    plain = re.sub(r"^'(?=.)", "", plain)
    return _number_key(plain) if re.fullmatch(_NUMBER, plain) else plain


_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,2})?"


def _number_key(text: str) -> str:
    """Write a number in one way, whatever its zeros, point and exponent; every digit counts."""
    sign, digits, exponent = Decimal(text).as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    return f"{'-' * sign}{figures}e{int(exponent) + len(digits) - len(figures)}" if figures else "0"


def joined_if_alike(names: np.ndarray, fold: bool, notes: list[str], alarms: list[str]) -> np.ndarray:
    """Join names that differ in nothing but the way they are written, or tell that there are such, or may be."""
    groups = alike(names)
    alarms += _told_nearly_alike(names)
    if not groups:
        return names
    what = _written(groups, "name")
    if not fold:
        alarms.append(f"{what}; they are taken as different objects, say fold_names=True to join them")
        return names
    notes.append(f"{what}; joined")
    return np.array([groups.get(fold_key(name), [name])[0] for name in names.tolist()])


# What may not matter in names: letters of which one must occur, the pattern, and what is put in its place.
_LOOSE = (
    ("<", r"""^<img[^>]*src=["']([^"']*)["'][^>]*>$""", r"\1"),
    ("", r"(\p{Latin})\p{Mn}+", r"\1"),
    ("<", r"<[^>]*>", ""),
    ("’'`´", r"(\pL)[’'`´](\pL)", r"\1\2"),
    ("%", r"%20", " "),
    ("/\\", r"^.*[/\\]", ""),  # folders
    (".", r"\.(png|jpe?g|gif|svg|webp|bmp|tiff?|wav|mp3|ogg|m4a|flac|mp4|webm)$", ""),
    ("*;,?!", r"[*;,?!]+$", ""),
    ("", r"(\pL)[\s_.\p{Pd}]+([\pL\pN])", r"\1\2"),
    ("", r"([\pL\pN])[\s_.\p{Pd}]+(\pL)", r"\1\2"),
    ("0", r"(^|[^0-9.])0+([0-9])", r"\1\2"),
)


_PLAIN = frozenset(string.ascii_letters + string.digits)


def _told_nearly_alike(names: np.ndarray, what: str = "name") -> list[str]:
    """Tell of names that may be one: by accents, marks between words, folders, endings of files, leading zeros."""
    import pyarrow as pa
    import pyarrow.compute as pc

    key = pa.array([html.unescape(name) if "&" in name else name for name in names.tolist()], pa.string())
    key = pc.utf8_lower(pc.utf8_normalize(key, "NFKD"))
    letters = set("".join(names.tolist()))
    for signs, pattern, instead in _LOOSE:
        if not letters.isdisjoint(signs) or (not signs and not letters <= _PLAIN):
            key = pc.replace_substring_regex(key, pattern, instead)
    key = pc.utf8_trim_whitespace(key)
    if pc.count_distinct(key).as_py() == len(names):
        return []
    groups: dict[str, dict[str, str]] = {}
    for spot in _repeated(key):
        name = str(names[spot])
        groups.setdefault(key[spot].as_py(), {}).setdefault(fold_key(name), name)
    several = [list(group.values()) for group in groups.values() if len(group) > 1]
    # The same name in several folders is that of several files.
    several = [group for group in several if sum("/" in name or "\\" in name for name in group) < 2]
    examples = listed(("/".join(map(repr, group)) for group in several), SHOWN)
    told = f"{counted(len(several), what)} may be written in more than one way: {examples}"
    return [f"{told}; they are taken as different"] if several else []


def _repeated(keys: Any) -> list[int]:
    """The places of texts of a pyarrow array that occur more than once."""
    import pyarrow.compute as pc

    values, counts = keys.value_counts().flatten()
    return pc.indices_nonzero(pc.is_in(keys, value_set=values.filter(pc.greater(counts, 1)))).to_pylist()


def alike(names: np.ndarray) -> dict[str, list[str]]:
    """Group names that differ in nothing but the way they are written; those that stand alone are left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Most often there are none, which this finds without a look at every name.
    quick = pc.replace_substring_regex(pa.array(names.tolist(), pa.string()), rf"\p{{Cf}}|{_INVISIBLE}", "")
    quick = pa.array([name.casefold() for name in pc.utf8_normalize(quick, "NFKC").to_pylist()], pa.string())
    quick = pc.utf8_normalize(quick, "NFKC")
    quick = pc.utf8_trim_whitespace(pc.replace_substring_regex(quick, r"\s+", " "))
    quick = pc.replace_substring_regex(quick, r"""^[\[({=]?\s*["']+|["'],?\s*[\])}]?$""", "")
    number = pc.match_substring_regex(quick, f"^{_NUMBER}$")
    digits = pc.if_else(number, pc.replace_substring_regex(quick, r"^\+", ""), None)
    quick = pc.coalesce(pc.cast(pc.cast(digits, pa.float64()), pa.string()), quick)
    if pc.count_distinct(quick).as_py() == len(names):
        return {}
    groups: dict[str, list[str]] = {}
    for spot in _repeated(quick):
        groups.setdefault(fold_key(str(names[spot])), []).append(str(names[spot]))
    return {key: group for key, group in groups.items() if len(group) > 1}


def written_otherwise(names: np.ndarray, known: np.ndarray) -> dict[str, str]:
    """Names that are none of the known ones, but differ from one in nothing but the way they are written; and which."""
    there = set(known.tolist())
    strange = [name for name in names.tolist() if name not in there]
    groups = alike(np.array([*known.tolist(), *strange])) if strange else {}
    return {
        name: group[0] for group in groups.values() if group[0] in there for name in group if name not in there
    }  # known names come first in a group


def told_otherwise(names: np.ndarray, known: np.ndarray) -> str:
    """Say that names differ from those of a map in nothing but the way they are written; "" if none do."""
    found = written_otherwise(names, known)
    pairs = listed((f"{shown(one)} (there {shown(other)})" for one, other in found.items()), SHOWN)
    return f"{counted(len(found), 'name')} written otherwise than on the map: {pairs}" if found else ""


def told_alike(names: np.ndarray) -> str:
    """Say that names differ in nothing but the way they are written; "" if none do."""
    groups = alike(names)
    return f"{_written(groups, 'name')}; they are taken as different objects" if groups else ""


def told_of_people(names: np.ndarray, keep_na: bool) -> list[str]:
    """Say which names of people may be one person's, and which may be nobody's."""
    groups = alike(names)
    told = [f"{_written(groups, 'participant')}; they are taken as different people"] if groups else []
    told += _told_nearly_alike(names, "participant")
    missing = listed(repr(name) for name in doubtful(names.tolist(), keep_na) if name != UNKNOWN)
    told += [f"the participant {missing} may stand for a missing cell, but is taken as a person"] if missing else []
    return told


def _written(groups: Mapping[str, list[str]], what: str) -> str:
    examples = listed(("/".join(map(repr, group)) for group in groups.values()), SHOWN)
    ways = "case, blanks, invisible characters, quotes, Unicode form or the form of a number"
    return f"{counted(len(groups), what)} written in more than one way, by {ways}: {examples}"
