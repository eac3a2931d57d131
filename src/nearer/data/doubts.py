"""What is doubtful about the objects of a table and told, or refused: columns of no objects, names, marks."""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.cells import (
    MISSING,
    UNKNOWN,
    are_no_words,
    is_whole,
    kinds_of,
    normalise,
    number_in,
)
from nearer.data.errors import SHOWN, FileFormatError, counted, listed, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.data.columns import Table
    from nearer.data.roles import Roles
    from nearer.data.rows import Rows
    from nearer.data.tables import Facts
    from nearer.data.values import Options

_LEAST = 4  # cells or rows; of fewer, a column says the same as another, or shares no name with it, by chance
_FEW = 20  # cells: as good as always they hold a name


def examples_of(cells: Sequence[str]) -> str:
    several = dict.fromkeys(cell for cell in cells if cell)
    return listed(map(shown, [*several][:SHOWN])) + (", ..." if len(several) > SHOWN else "")


# ---- columns that hold no objects ------------------------------------------------------------------------------------

TRUTHS = "every cell says yes or no, true or false, 0 or 1: an answer, not an object"
_MEASURED = "holds numbers that are not whole beside columns of names: measurements, not objects"
_PLACES = "every cell is a number or a side, beside columns of names: a rank or a position, not an object"
FRACTION = "is not a whole number"


def _option_names(roles: Roles, table: Table) -> tuple[str, ...]:
    """Names of the columns that show the options beside the one that was chosen."""
    if roles.layout.kind not in ("odd-one-out", "most-central"):
        return roles.options
    return tuple(table.names[roles.at[role]] for role in ("a", "b") if role in roles.at)


def kinds_of_cells(facts: Facts, roles: Roles, table: Table) -> dict[str, frozenset[str]]:
    """Tell for each column of objects, by role, which kinds of cells it has: name, truth, bit, whole, fraction, side.

    Only "name" is told if every column has one: then none of them is suspected.
    """
    objects, held = facts.objects, {role: np.flatnonzero(counts) for role, counts in facts.counts.items()}
    if isinstance(objects.values, np.ndarray):
        highest = {role: objects.values[places].max(initial=-1) for role, places in held.items()}
        return {role: frozenset(["bit" if highest[role] <= 1 else "whole"]) for role in held}
    options = _option_names(roles, table)
    some = [objects.some(places[:: max(len(places) // _FEW, 1)]) for places in held.values()]
    if all("name" in kinds for kinds in kinds_of(some, options)):
        return dict.fromkeys(held, frozenset(["name"]))
    return dict(zip(held, kinds_of([objects.some(places) for places in held.values()], options)))


def refuse_no_objects(
    facts: Facts, kinds: Mapping[str, frozenset[str]], roles: Roles, table: Table, options: Options, blocks: Any
) -> None:
    """Refuse a column of objects that holds answers or numbers instead, unless the user said that it holds objects."""
    _refuse_answers_among(facts, roles, table, options)
    told = roles.told if not options.columns_found else frozenset()
    found = _no_object(kinds, bool(_option_names(roles, table))) or _measured_apart(facts, options)
    if found is None or found[0] in told:
        return
    role, why = found
    pairs = {role: table.names[roles.at[role]] if table.header else roles.at[role] + 1 for role in roles.layout.roles}
    hint = f"if these are names of objects, say so: columns={pairs}"
    if why == FRACTION:
        for rows in blocks() if blocks else ():
            numbers = rows.columns[role].as_numbers()[0]
            if (bad := numbers % 1 != 0).any():
                row = int(np.argmax(bad))
                raise rows.refusal(f"{numbers[row]} {why}; {hint}", role, row)
        why = "holds numbers that are not whole"
    raise table.refusal(f"{why}; {hint}", roles.at[role])


def _no_object(cells: Mapping[str, frozenset[str]], options: bool) -> tuple[str, str] | None:
    """Find a column of objects that holds none, given the kinds of its cells by role: the role, and why.

    Where a kind of cell stands among names in another column, objects are called so. `options` if columns show those of
    an answer.
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


def _measured_apart(facts: Facts, options: Options) -> tuple[str, str] | None:
    """Find a most central or odd object that is a number and never an option, as a median or an outlier is."""
    for role in ("central", "odd") if options.kind is None and facts.n_rows >= _LEAST else ():
        own = _own_names(facts, role)
        if own is not None and all(is_whole(name) for name in facts.objects.some(own)):
            return role, "every cell is a number that stands in no other column of objects: a measurement, no object"
    return None


def _refuse_answers_among(facts: Facts, roles: Roles, table: Table, options: Options) -> None:
    """Refuse an array of four columns whose last may hold answers, unless something says that it holds objects."""
    said = options.kind is not None or roles.told or table.n_objects is not None
    if said or not table.is_index or roles.layout.kind != "quadruplets" or facts.objects.is_text:
        return
    counts = np.stack([facts.counts[role] for role in roles.layout.objects])
    answers = "columns='anchor,a,b,answer', and say what they mean with answers="
    if why := no_objects_among(counts, facts.objects.values, answers):
        raise FileFormatError(
            f"{table.name}: {why}; if they are objects, say kind='quadruplets', or give the columns the names i, j, l, "
            "k"
        )


def no_objects_among(counts: np.ndarray, values: np.ndarray, answers: str) -> str:
    """Say that a column of an array (N, 4) may hold answers, people or numbers of rows; "" if none does.

    Parameters
    ----------
    counts : ndarray of int, shape (4, n_values)
        How often each number stands in each column.
    values : ndarray of int, shape (n_values,)
        The numbers, ascending.
    answers : str
        How to give answers instead.
    """
    n_rows, held = int(counts[0].sum()), counts > 0
    if n_rows < 10 or values[-1] <= 3:
        return ""
    few = held.sum(axis=1) <= 2
    if set(values[held[3]].tolist()) <= {0, 1}:
        return f"got shape (N, 4) with a last column of 0 and 1 only: are those answers? Then give {answers}"
    if few[3] and not few[2]:  # pairs may all be compared with one
        what = "got shape (N, 4) whose last column holds no more than two numbers: are those answers?"
        return f"{what} Then give {answers}"
    column, why = int(np.argmax(few)), "holds no more than two numbers"
    if few.sum() > 1:  # one pair, or one anchor, with all others
        return ""
    if not few.any():
        apart = [not (own & np.delete(held, spot, axis=0).any(axis=0)).any() for spot, own in enumerate(held)]
        if not any(apart) or _apart_by_chance(counts) >= _BY_CHANCE_AMONG_NUMBERS:
            return ""
        column, why = apart.index(True), "shares no number with the others"
    remedy = f"Then give {answers}" if column == 3 else "Then leave that column out"
    return f"got shape (N, 4) whose column {column + 1} {why}: are those people, or numbers of rows? {remedy}"


_BY_CHANCE_AMONG_NUMBERS = 1e-4


def _apart_by_chance(counts: np.ndarray) -> float:
    """The chance that a column shares no name with the others: each stands in it alone, or in the others alone."""
    total, share = counts.sum(axis=0), 1 / len(counts)
    return float(np.exp(np.logaddexp(total * np.log(share), total * np.log(1 - share)).sum()))


# ---- names and rows --------------------------------------------------------------------------------------------------


def _own_names(facts: Facts, role: str) -> np.ndarray | None:
    """The names that stand in the column of a role, by their places; None if one of them stands in another column."""
    others = sum(counts for key, counts in facts.counts.items() if key != role)
    own = facts.counts[role] > 0 if role in facts.counts else np.zeros(0, bool)
    return np.flatnonzero(own) if own.any() and not np.any(others[own]) else None  # type: ignore[index]


def told_apart(facts: Facts, kinds: Mapping[str, frozenset[str]], roles: Roles, table: Table) -> list[str]:
    """Tell of columns that may hold no objects: they share no name with the others, or are numbers beside names."""
    told = []
    by_chance = _apart_by_chance(np.stack(list(facts.counts.values())))
    for role, counts in facts.counts.items() if facts.n_rows >= _LEAST else ():
        own = _own_names(facts, role)
        if own is None or (role in ("anchor", *_QUESTIONS) and not _is_no_anchor(facts, role, own)):
            continue
        if by_chance > _APART and counts.sum() < 2 * len(own):  # its names do not recur, and need not
            continue
        held = examples_of(facts.objects.some(own[: SHOWN + 1]))
        told.append(f"{table.title(roles.at[role])}: none of its names ({held}) stands in another column of objects")
    numbers = kinds.get("near", frozenset()) | kinds.get("far", frozenset())
    if not told and numbers and numbers <= {"bit", "whole"} and kinds.get("anchor") == {"name"}:
        titles = " and ".join(table.title(roles.at[role]) for role in ("near", "far"))
        told.append(f"{titles} hold numbers, {table.title(roles.at['anchor'])} names")
    told = [f"{what}; if these are answers, counts or ratings, say in columns= which hold objects" for what in told]
    return told or _out_of_place(facts, roles, table)


_QUESTIONS = ("a", "b", "c", "i", "j", "l", "k")  # columns whose names need not stand in others


def _is_no_anchor(facts: Facts, role: str, own: np.ndarray) -> bool:
    """Whether anchors that are no options are another one in each row, and numbers or whole questions.

    Others may well be landmarks, or queries about things of another kind.
    """
    if role != "anchor" or len(own) < facts.counts[role].sum():
        return False
    names = facts.objects.some(own)
    others = np.flatnonzero(sum(counts for key, counts in facts.counts.items() if key != role))
    words = not all(map(is_whole, facts.objects.some(others)))
    return all(name.count(" ") > 1 for name in names) or (words and all(map(is_whole, names)))


_APART = 0.05
# A name that stands in one column alone by chance in fewer than so many tables is told.
_BY_CHANCE = 0.01
_MOST = 0.7  # of the names that could, so many must stand in several columns, and be anchors, for one to be odd


def _out_of_place(facts: Facts, roles: Roles, table: Table) -> list[str]:
    """Tell of names that stand in one column of options alone, too often for that to be chance.

    Such are answers that were not given ("timeout", "equal"). Marks, numbers, sides, true and false are told if they
    occur so, or in no cell of the anchors, where most names are words.
    """
    counts = np.stack(list(facts.counts.values()))
    n_columns, n_names = counts.shape
    total, alone = counts.sum(axis=0), counts.max(axis=0) == counts.sum(axis=0)
    if facts.n_rows < _LEAST:
        return []
    anchor = next((role for role in ("anchor", "i") if role in facts.counts and "l" not in facts.counts), None)
    elsewhere = np.zeros(n_names, bool) if anchor is None else facts.counts[anchor] == 0
    found = np.empty(0, np.int64)
    if anchor is not None:  # in pairs, all may be compared with one
        often = (total - 1) * np.log(n_columns) > np.log(n_names / _BY_CHANCE)
        if np.count_nonzero(often & (alone | elsewhere)) <= (1 - _MOST) * np.count_nonzero(often):
            found = np.flatnonzero(often & alone & elsewhere)
    where = "one column of objects alone"
    apart = np.flatnonzero(alone | elsewhere)[:_MOST_NAMES]
    some = facts.objects.some(np.arange(n_names)[:: max(n_names // _SAMPLE, 1)]) if len(apart) else []
    if not len(found) and some and 1 - np.mean(are_no_words(some)) > _MOST_WORDS:
        held = facts.objects.some(apart)
        # A number that occurs once may well be a title.
        once = (total[apart] < 2) & np.array([number_in(name) is not None for name in held])
        found = apart[np.array(are_no_words(held), bool) & ~once]
        if anchor is not None and not alone[found].all():
            where = f"no cell of {table.title(roles.at[anchor])}"
    if not len(found):
        return []
    names = zip(facts.objects.some(found), total[found].tolist())
    told = listed((f"{shown(name)} ({counted(count, 'row')})" for name, count in names), SHOWN)
    return [f"{told} among the objects: in {where}, unlike the others; if that is no object, leave such rows out"]


_MOST_NAMES = 100_000  # of more, a look at each takes too long
_SAMPLE = 1000  # names that show whether names are words
_MOST_WORDS = 0.7  # of names that are words, so many for others to be strange


def told_thousands(rows: Rows) -> list[str]:
    """Tell of amounts such as 1.200 beside 950 in cells parted by semicolons, as with decimal commas."""
    told = []
    for role in ("weight", "votes_a", "votes_b"):
        texts = [text.strip() for text in rows.columns[role].texts()] if role in rows.columns else []
        pointed = [text for text in texts if "." in text]
        if 0 < len(pointed) < len(texts) and all(re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", text) for text in pointed):
            what = f"{rows.title(role)}: {shown(pointed[0])} is taken as {float(pointed[0]):g}, beside whole numbers"
            told.append(f"{what}; if the point marks thousands, take it out")
    return told


# ---- names that may be none, or one written in several ways --------------------------------------------------------

# Names, whatever their case, that may stand for a missing cell, or for what a spreadsheet could not work out.
_DOUBTFUL = frozenset((
    ".", "?", "-", "--", "-1", "-9", "-99", "-999", "-9999", "na", "n.a.", "n.a", "n/a", "n/d", "k.a.", "nan", "nil",
    "null", "(null)", "[null]", "<null>", "\\n",
    "none", "(none)", "(blank)", "blank", "missing", "(missing)", "missing value", "no data", "not available",
    "skipped", "skip", "unknown", "...", "*", "timeout", "timed out", "no response", "no answer", "neither", "equal",
    "don't know", "dont know", "idk", "not sure", "keine angabe", "tbd", "loading...", "xxx", "???", "#nv", "#n/a",
    "#ref!", "#value!", "(skip)", "none of these", "none of them", "unbekannt", "weiss nicht", "weiß nicht",
    "aucun", "ninguno", "nessuno", "geen", "brak", "なし", "无",
    "#div/0!", "#name?", "#num!", "#null!", "#bezug!", "#wert!", "#error!",
))  # fmt: skip
# Names of people, likewise, that may be none.
_NOBODY = ("all", "average", "consensus", "demo", "gold", "majority", "mean", "median", "overall", "test", "total")
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
# One of them is in every name that holds a mistake; most often there is none, and then one look is enough.
_MARKS = r"[\\\[({\r\n,;|+/&#%Ãâ\x{fffd}]|[0-9]-[A-Za-z]{3}$|^[A-Za-z]{3}-[0-9]"


def doubts_of(names: pa.Array, keep_na: bool) -> list[str]:
    """Tell of names that may be none; where words for missing cells are to be kept, not of these."""
    import pyarrow.compute as pc

    told = []
    if missing := doubtful(names, keep_na):
        told.append(f"the name {listed(map(repr, missing))} may stand for a missing cell, but is taken as an object")
    marked = names.filter(pc.match_substring_regex(names, _MARKS)).to_pylist()
    for pattern, why in _MISTAKES.items():
        found = next(filter(re.compile(pattern).search, marked), None)
        told += [f"the name {shown(found)} {why}"] if found is not None else []
    known = set(names.to_pylist()) if marked else set()
    parts = ((name, re.split(r"\s*[,;|+/&]\s*", name)) for name in marked)
    several = next((name for name, held in parts if len(held) > 1 and known.issuperset(held)), None)
    off = next(
        (name for name in marked if (bare := name.strip().lstrip("#%/;").strip()) != name.strip() and bare in known),
        None,
    )
    told += [f"the name {shown(off)} is another one with a mark before it; is that row switched off?"] if off else []
    told += [f"the name {shown(several)} is made of other names; one row for each is expected"] if several else []
    return told


def doubtful(names: pa.Array, keep_na: bool) -> list[str]:
    """Find names that may stand for a missing cell; -1 may not where other numbers below 0 do."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = _DOUBTFUL - {word.casefold() for word in MISSING if keep_na}
    found = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(names)), value_set=pa.array(sorted(words)))
    held = sorted(names.filter(found).to_pylist())
    if held and pc.all(pc.match_substring_regex(names, "^-?[0-9]+$")).as_py():
        below = names.filter(pc.starts_with(names, "-")).to_pylist()
        return held if _DOUBTFUL.issuperset(below) else []
    return held


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


def joined_if_alike(names: pa.Array, fold: bool, notes: list[str], alarms: list[str]) -> list[str] | None:
    """Join names that differ in nothing but the way they are written, or tell that there are such, or may be.

    Gives what each is called then, None if none are joined.
    """
    spellings = _spellings(names)
    alarms += _told_nearly_alike(spellings, "name")
    groups = _alike(spellings)
    if not groups:
        return None
    what = _written(groups, "name")
    if not fold:
        alarms.append(f"{what}; they are taken as different objects, say fold_names=True to join them")
        return None
    notes.append(f"{what}; joined")
    return [groups.get(fold_key(name), [name])[0] for name in names.to_pylist()]


# What does not matter in names, as `fold_key` has it: letters of which one must occur (the last one, any that is not
# ASCII), the pattern, and what is put in its place.
_BLANKS = " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x80"
_FOLDED = (
    ("\x80", rf"\p{{Cf}}|{_INVISIBLE}", ""),
    (_BLANKS, r"[\s\x0b\x1c-\x1f\x85\pZ]+", " "),
    (_BLANKS, r"^ | $", ""),
    ('"', r"""^(?:[\[({] ?|=)?"(.+)"(?:,? ?[\])}])?$""", r"\1"),
    ("'", r"""^(?:[\[({] ?|=)?'(.+)'(?:,? ?[\])}])?$""", r"\1"),
    ("'", r"^'(.)", r"\1"),
)
# What may not matter either.
_LOOSE = (
    ("<", r"""^<img[^>]*src=["']([^"']*)["'][^>]*>$""", r"\1"),
    ("\x80", r"(\p{Latin})\p{Mn}+", r"\1"),
    ("<", r"<[^>]*>", ""),
    ("\x80'`", r"(\pL)[’'`´](\pL)", r"\1\2"),
    ("%", r"%20", " "),
    ("/\\", r"^.*[/\\]", ""),  # folders
    (".", r"\.(png|jpe?g|gif|svg|webp|bmp|tiff?|wav|mp3|ogg|m4a|flac|mp4|webm)$", ""),
    ("*;,?!", r"[*;,?!]+$", ""),
    (_BLANKS + "_.-%", r"(\pL)[\s_.\p{Pd}]+([\pL\pN])", r"\1\2"),
    (_BLANKS + "_.-%", r"([\pL\pN])[\s_.\p{Pd}]+(\pL)", r"\1\2"),
    ("0", r"(^|[^0-9.])0+([0-9])", r"\1\2"),
)


def _spellings(names: Any) -> list[dict[str, list[str]]]:
    """Group names that may be one, each group by what `fold_key` makes of them; names that stand alone are left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = names if isinstance(names, pa.Array) else pa.array(names.tolist(), pa.string())
    letters = _letters(names)
    if letters <= _PLAIN and pc.all(pc.match_substring_regex(names, "^[a-z]+[0-9]*$")).as_py():
        length = pc.min_max(pc.binary_length(names))
        if length["min"] == length["max"]:  # then zeros stand in the same places
            return []
    if letters.isdisjoint("<>/\\.%\x80"):  # then letters and digits tell, if no name is a number; most often none recur
        plain = _without(pc.ascii_lower(names), letters, _NOT_TELLING)
        numbered = pc.any(pc.match_substring_regex(plain, "^[0-9]")).as_py()
        if not numbered and pc.count_distinct(plain).as_py() == len(names):
            return []
    texts = names.to_pylist()
    key = pa.array([(html.unescape(text) if "&" in text else text).casefold() for text in texts], pa.string())
    key = pc.utf8_lower(pc.utf8_normalize(key, "NFKD"))
    key = _without(key, letters, _FOLDED)
    number = pc.match_substring_regex(key, f"^{_NUMBER}$")
    digits = pc.if_else(number, pc.replace_substring_regex(key, r"^\+", ""), None)
    key = pc.coalesce(pc.cast(pc.cast(digits, pa.float64()), pa.string()), key)
    key = pc.utf8_trim_whitespace(_without(key, letters, _LOOSE))
    if pc.count_distinct(key).as_py() == len(names):
        return []
    groups: dict[str, dict[str, list[str]]] = {}
    values, counts = key.value_counts().flatten()
    repeated = pc.is_in(key, value_set=values.filter(pc.greater(counts, 1)))
    for spot in pc.indices_nonzero(repeated).to_pylist():
        name = texts[spot]
        groups.setdefault(key[spot].as_py() or name, {}).setdefault(fold_key(name), []).append(name)
    return list(groups.values())


_PLAIN = {*string.ascii_lowercase, *string.digits}
# All that is no letter and no digit, and zeros before digits.
_NOT_TELLING = (
    ("".join(sign for sign in map(chr, range(128)) if not sign.isalnum()), "[^a-z0-9]+", ""),
    ("0", "([a-z])0+", r"\1"),
)


def _letters(names: pa.Array) -> set[str]:
    """The ASCII characters of some names, and one more for any others, also such as are written in HTML's way."""
    data = names.buffers()[2]
    found = np.bincount(np.frombuffer(b"" if data is None else data, np.uint8), minlength=256)
    letters = set(map(chr, np.flatnonzero(found[:128]).tolist()))
    return letters | {"\x80"} if "&" in letters or found[128:].any() else letters


def _without(key: Any, letters: set[str], patterns: Sequence[tuple[str, str, str]]) -> Any:
    """Take patterns out of texts, but for those whose letters do not occur."""
    import pyarrow.compute as pc

    for signs, pattern, instead in patterns:
        if not letters.isdisjoint(signs):
            key = pc.replace_substring_regex(key, pattern, instead)
    return key


def _told_nearly_alike(spellings: list[dict[str, list[str]]], what: str) -> list[str]:
    """Tell of names that may be one: by accents, marks between words, folders, endings of files, leading zeros."""
    several = [[group[0] for group in groups.values()] for groups in spellings if len(groups) > 1]
    # The same name in several folders is that of several files; numbers that differ at all are others.
    several = [
        group
        for group in several
        if sum("/" in name or "\\" in name for name in group) < 2 and None in map(number_in, group)
    ]
    if not several:
        return []
    examples = listed(("/".join(map(repr, group)) for group in several), SHOWN)
    ways = f"{counted(len(several), what)} may be written in more than one way: {examples}"
    return [f"{ways}; they are taken as different"]


def _alike(spellings: list[dict[str, list[str]]]) -> dict[str, list[str]]:
    """Groups of names that differ in nothing but the way they are written, by what `fold_key` makes of them."""
    return {key: group for groups in spellings for key, group in groups.items() if len(group) > 1}


def written_otherwise(names: np.ndarray, known: np.ndarray) -> dict[str, str]:
    """Names that are none of the known ones, but differ from one in nothing but the way they are written; and which."""
    there = set(known.tolist())
    strange = [name for name in names.tolist() if name not in there]
    groups = _alike(_spellings(np.array([*known.tolist(), *strange]))) if strange else {}
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
    groups = _alike(_spellings(names))
    return f"{_written(groups, 'name')}; they are taken as different objects" if groups else ""


def told_of_people(names: np.ndarray, keep_na: bool) -> list[str]:
    """Say which names of people may be one person's, and which may be nobody's."""
    import pyarrow as pa

    texts = pa.array(names.tolist(), pa.string())
    spellings = _spellings(texts)
    groups = _alike(spellings)
    told = [f"{_written(groups, 'participant')}; they are taken as different people"] if groups else []
    told += _told_nearly_alike(spellings, "participant")
    missing = listed(repr(name) for name in doubtful(texts, keep_na) if name != UNKNOWN)
    told += [f"the participant {missing} may stand for a missing cell, but is taken as a person"] if missing else []
    nobody = listed(repr(name) for name in texts.to_pylist() if normalise(name) in _NOBODY)
    told += [f"the participant {nobody} may be no person, but a summary or a trial run"] if nobody else []
    return told


def _written(groups: Mapping[str, list[str]], what: str) -> str:
    examples = listed(("/".join(map(repr, group)) for group in groups.values()), SHOWN)
    ways = "case, blanks, invisible characters, quotes, Unicode form or the form of a number"
    return f"{counted(len(groups), what)} written in more than one way, by {ways}: {examples}"
