"""What columns that are not used may say of those that are: told, since nobody else would notice."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nearer.data.cells import normalise, number_in, side_word, side_words, truth_of, word_of, yes_or_no
from nearer.data.doubts import examples_of
from nearer.data.errors import SHOWN, listed

if TYPE_CHECKING:
    from nearer.data.columns import Column, Table
    from nearer.data.roles import Layout, Roles

_ROWS, _COLUMNS = 200, 500  # looked at first
_SPREAD = 1000  # rows looked at then, of columns with few values
_MOST_READ = 20  # such columns
FEW_VALUES = 12  # of a column that may say how the answers of a row are meant
COUNTED = ("order", "response_time")  # details that are numbers
_LEAST = 4  # cells: of fewer, a column says the same as another by chance
# Parts of the names of columns: with the right answer; with where things were shown.
_RIGHT = ("correct", "corr", "expected", "solution", "gold", "truth", "answerkey", "prev", "favourite", "favorite")
_SCREEN = ("left", "right")
_MOVED = ("swap", "flip", "mirror", "revers", "invert", "mapping", "keymap", "shuffle", "arrangement",
          "layout", "optionorder", "displayorder", "shownorder", "stimulusorder", "stimorder", "presentationorder",
          "choicesorder", "displaypos")  # fmt: skip
# Names of columns that say yes, or no, of rows that are not to count; or that count the rows of one answer.
_BAD = ("exclude", "excluded", "exclusion", "reject", "rejected", "invalid", "practice", "practise", "ispractice",
        "training", "istraining", "demo", "isdemo", "timedout", "istimeout", "cancelled", "canceled", "wascancelled",
        "wascanceled", "aborted", "discard", "discarded", "ignore", "ignored", "bad", "badtrial", "removed", "deleted",
        "isdeleted", "bot", "isbot", "mask", "masked", "gold", "golden", "isgold", "isgolden", "warmup", "iswarmup",
        "pilot", "ispilot", "toofast", "testaccount", "imputed", "flag", "flagged", "duplicate", "isduplicate", "drop",
        "dropped", "timeout", "voided", "skipped", "übung", "ausschluss")  # fmt: skip
_GOOD = ("valid", "isvalid", "include", "included", "keep", "kept", "finished", "complete", "completed", "iscomplete",
         "accepted", "approved", "consent", "consented", "usable", "good", "goodtrial", "mask", "validtrial", "usedata",
         "responded", "passedattentioncheck", "gültig")  # fmt: skip
_AGAIN = ("attempt", "attemptnumber", "isfinal", "final", "revision", "event", "eventtype", "trialpart")
_COUNTS = ("n", "size", "len", "freq", "total", "w", "cnt", "countall", "times", "votes", "nvotes", "numvotes",
           "nanswers", "nresponses", "nparticipants", "nsubjects", "nraters", "nobs", "ncoders", "numannotators",
           "tally", "reps", "hits", "support", "anzahl", "häufigkeit", "effectif", "frecuencia")  # fmt: skip
# First words of cells that say so, in any column; and in one that tells the parts of a study.
_OUT = ("rejected", "excluded", "exclude", "invalid", "preview", "timedout", "cancelled", "canceled", "aborted",
        "discarded", "ignore", "returned", "incomplete", "spam", "practice", "practise", "warmup", "tutorial", "catch",
        "catchtrial", "undo", "withdrawn", "debug", "pilot", "übung", "übungsdurchgang", "entraînement", "práctica",
        "treino", "oefening", "prova", "ungültig", "练习", "練習")  # fmt: skip
_BEFORE = ("training", "example", "familiarisation", "familiarization", "demo")
_PARTS = ("block", "phase", "stage", "trial", "task", "section", "session")  # within the names of such columns
_FARTHER = re.compile(
    r"\b(less|least|differ\w*|dissimilar\w*|unlike|odd|outlier|not belong|farther|farthest|further|furthest|weniger|"
    r"unähnlich\w*|entfernt\w*|am wenigsten|moins|différent\w*|éloigné\w*|menos|diferente|lejan\w*|distante|meno|"
    r"diverso|lontan\w*|minst|minder|anders|verst|najmniej|mniej)\b|最不|不同|似ていない|異なる",
    re.IGNORECASE,
)
# Names for what is near by how a question was made, not by what was answered.
_DESIGNED = ("near", "nearer", "closer", "positive", "similar", "moresimilar")


def first_cells(table: Table) -> dict[int, list[str]]:
    """The cells of the first rows, by column."""
    width = min(len(table.names), _COLUMNS)
    rows = [row for row in table.head(_ROWS, _COLUMNS) if len(row) >= width]  # others are refused later
    return {spot: [row[spot].strip() for row in rows] for spot in range(width)}


def spread_cells(columns: Mapping[int, Column]) -> dict[int, list[str]]:
    """The cells of rows from the first to the last, by column: among them each text of those with few."""
    n_rows = len(next(iter(columns.values())))
    rows = {*range(0, n_rows, max(n_rows // _SPREAD, 1))}
    for column in columns.values():
        if column.values is None:
            rows |= {int(np.argmin(column.cells)), int(np.argmax(column.cells))}
        elif len(column.values) <= FEW_VALUES:
            rows |= {int(np.argmax(column.cells == code)) for code in range(-1, len(column.values))}
    some = np.array(sorted(rows))
    found = {spot: column.take(some).spelled() for spot, column in columns.items()}
    return {spot: [(column.cell(row) or "").strip() for row in range(len(some))] for spot, column in found.items()}


def columns_beside(table: Table, roles: Roles, cells: Mapping[int, Sequence[str]]) -> tuple[list[int], list[int]]:
    """Columns that are not used: those of few values, to be looked at as a whole, and the others.

    Details that are numbers, but cannot be read, are not used either.
    """
    used = {*roles.at.values(), *roles.names_at}
    counts = [roles.at[role] for role in COUNTED if role in roles.at]
    unread = [spot for spot in counts if any(cell and number_in(cell) is None for cell in cells.get(spot, ()))]
    spare = [spot for spot in cells if table.names[spot] and (spot not in used or spot in unread)]
    few = [spot for spot in spare if len({*cells[spot]} - {""}) <= FEW_VALUES][:_MOST_READ]
    return few, [spot for spot in spare if spot not in few]


def told_beside(
    table: Table, roles: Roles, known: Mapping[str, str], cells: Mapping[int, Sequence[str]], spare: Sequence[int]
) -> list[str]:
    """Tell of columns that are not used, but hold objects or answers, or say what becomes of those that are used.

    Parameters
    ----------
    table : Table
    roles : Roles
    known : mapping of str to str
        Roles of words.
    cells : mapping of int to sequence of str
        Of some rows, by column.
    spare : sequence of int
        The columns in question.
    """
    layout = roles.layout
    objects = {cell for role in layout.objects for cell in cells.get(roles.at[role], ())}
    by_side = _by_side(layout, roles.at, cells, objects)
    named = _name_near_and_far(known)
    looks: list[tuple[Callable[[str, Sequence[str]], bool], str]] = [
        (_says_out, "seems to say that some rows are not to count; take these out, if so"),
        (_says_again, "may say that several rows are of one answer; keep one of them, if so"),
        (_are_among(objects), "holds objects of other columns"),
    ]
    if by_side is not None:
        people = cells.get(roles.at.get("participant", -1))
        looks.append((_sides_other_than(by_side, people), "names other sides than the answers"))
    shown_where = any(side in normalise(table.names[roles.at[role]]) for role in layout.options for side in _SCREEN)
    if by_side is not None and not shown_where:
        looks.append((_says_moved, "may say that things were shown elsewhere than their columns say, while the answers "
                      "are sides or numbers"))  # fmt: skip
    if layout.kind in ("triplets", "quadruplets"):
        looks.append((named, "names what is near and what is far, so that the others may be as asked, not as answered"))
        looks.append((_says_which, "may say which pair is nearer, so that the others are as asked, not as answered"))
    else:
        looks.append((named, "may ask for what is near in some rows, and for what is far in others"))
    if "weight" not in roles.at:
        looks.append((_counts, "may say how often a row was answered: then say weight="))
    if layout.kind not in ("odd-one-out", "most-central"):
        looks.append((_asks_for_farther, "may ask for what is farther: then near and far should be swapped"))
    told = []
    for is_so, why in looks:
        found = [spot for spot in spare if is_so(normalise(table.names[spot]), cells[spot])]
        if found:
            first, *more = found
            also = f" (and so {listed((repr(table.names[spot]) for spot in more), SHOWN)})" if more else ""
            held = examples_of(cells[first])
            told.append(f"column {table.names[first]!r} ({held}) is not used, but {why}{also}; see columns=")
        spare = [spot for spot in spare if spot not in found]
    return told


def _name_near_and_far(known: Mapping[str, str]) -> Callable:
    """A look for cells of few values, of which one is a name of what is near, and one of what is far."""

    def says(name: str, own: Sequence[str]) -> bool:
        said = {*own} - {""}
        return len(said) <= FEW_VALUES and {"near", "far"} <= {known.get(word_of(cell)) for cell in said}

    return says


def _by_side(
    layout: Layout, at: Mapping[str, int], cells: Mapping[int, Sequence[str]], objects: set[str]
) -> Sequence[str] | None:
    """The cells of a column of answers, if these are sides or numbers and no names of objects; None for any other."""
    if layout.answer is None or at[layout.answer] not in cells:
        return None
    answers = cells[at[layout.answer]]
    return None if any(answer and answer in objects for answer in answers) else answers


def _are_among(objects: set[str]) -> Callable:
    """A look for cells that are all objects of the columns used; numbers and letters may be anything."""

    def holds(name: str, own: Sequence[str]) -> bool:
        said = [cell for cell in own if cell]
        if len(said) < _LEAST or len(set(said)) < 2 or any(word in name for word in _RIGHT):
            return False
        words = (number_in(cell) is None and (len(cell) > 1 or not cell.isascii()) for cell in said)
        return objects.issuperset(said) and all(words)

    return holds


def _sides_other_than(answers: Sequence[str], people: Sequence[str] | None) -> Callable:
    """A look for words for a side that are not those of the answers in every row.

    What is the same in all rows of a person says something about the person, such as the hand or the group.
    """
    words = side_words(3)

    def says(name: str, own: Sequence[str]) -> bool:
        said = [(side_word(cell), side_word(answer)) for cell, answer in zip(own, answers) if cell and answer]
        if len(said) < _LEAST or len({cell for cell, _ in said}) < 2 or any(word in name for word in _RIGHT):
            return False
        if people is not None and len(set(zip(people, own))) == len(set(people)):
            return False
        if not {cell for cell, _ in said} <= {answer for _, answer in said} & words.keys():
            return False
        return any(cell != answer for cell, answer in said)

    return says


def _says_moved(name: str, cells: Sequence[str]) -> bool:
    moved = any(word in name for word in _MOVED) or re.fullmatch(r"(side|pos|position).?|.*side|order", name)
    return bool(moved) and len({*cells} - {""}) > 1


def _asks_for_farther(name: str, cells: Sequence[str]) -> bool:
    asks = name in ("question", "prompt", "task", "instruction", "instructions", "responsetype")
    texts = {*cells} - {""}
    if 2 * len(texts) > len(cells):  # remarks are others in each row
        return False
    return any((asks or cell.count(" ") > 1) and _FARTHER.search(cell) for cell in texts)


def _says_which(name: str, cells: Sequence[str]) -> bool:
    said = {*cells} - {""}
    signs = {number_in(cell) for cell in said} == {1, -1}
    return len(said) == 2 and (signs or name in ("y", "label", "sign", "outcome", "result"))


def _counts(name: str, cells: Sequence[str]) -> bool:
    said = {number_in(cell) for cell in {*cells} - {""}}
    whole = all(number is not None and number >= 1 and number % 1 == 0 for number in said)
    running = [cell for cell in cells if cell] == [str(number + 1) for number in range(len(cells))]
    return name in _COUNTS and whole and not running and max(said, default=1) > 1  # type: ignore[type-var, operator]


def _says_again(name: str, cells: Sequence[str]) -> bool:
    return name in _AGAIN and len({*cells} - {""}) > 1


def _says_out(name: str, cells: Sequence[str]) -> bool:
    truths = {yes_or_no(cell) for cell in {*cells}}
    if (name in _BAD and 1 in truths) or (name in _GOOD and 0 in truths):
        return True
    words = {
        word for cell in {*cells} for word in (normalise(cell), *map(normalise, re.split(r"[\s_,;:-]+", cell)[:2]))
    }
    return not words.isdisjoint(_OUT) or (any(part in name for part in _PARTS) and not words.isdisjoint(_BEFORE))


def told_wrong(table: Table, roles: Roles, cells: Mapping[int, Sequence[str]]) -> list[str]:
    """Tell of answers that are said to be wrong, where the columns are called as questions are made."""
    at, accuracy = roles.at, [spot for spot in cells if normalise(table.names[spot]) in ("acc", "accuracy")]
    spot = at.get("correct", accuracy[0] if accuracy else -1)
    if spot not in cells or roles.layout.kind != "triplets" or "near" not in at or "catch" in at:
        return []
    said = {truth_of(cell) for cell in cells[spot]}
    if normalise(table.names[at["near"]]) not in _DESIGNED or not {0, 1} <= said:
        return []
    near = table.title(at["near"])
    return [f"{table.title(spot)} says that some answers are wrong; {near} is taken as what was answered in all"]
