"""Columns that are not used, but may bear on what the answers say: they are told of, never passed over in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from nearer.data.cells import normalise, number_in, side_word, side_words, truth_of, yes_or_no
from nearer.data.columns import Table
from nearer.data.errors import SHOWN, listed, shown
from nearer.data.roles import Layout, Roles

_ROWS, _COLUMNS = 200, 500  # looked at
_LEAST = 4  # cells, or a column says the same as another by chance
# Parts of the names of columns: with the right answer; with where things were shown.
_RIGHT = ("correct", "corr", "expected", "solution", "gold", "truth", "answerkey")
_MOVED = ("swap", "flip", "mirror", "revers", "invert", "counterbal", "mapping", "keymap", "shuffle", "arrangement",
          "layout", "optionorder", "displayorder", "shownorder", "stimulusorder", "stimorder", "presentationorder",
          "choicesorder", "displaypos")  # fmt: skip
# Names of columns that say yes, or no, of rows that are not to count; or that count the rows of one answer.
_BAD = ("exclude", "excluded", "exclusion", "reject", "rejected", "invalid", "practice", "practise", "ispractice",
        "training", "istraining", "demo", "isdemo", "timedout", "istimeout", "cancelled", "canceled", "wascancelled",
        "wascanceled", "aborted", "discard", "discarded", "ignore", "ignored", "bad", "badtrial", "removed", "deleted",
        "isdeleted", "bot", "isbot", "mask", "masked", "gold", "golden", "isgold", "isgolden")  # fmt: skip
_GOOD = ("valid", "isvalid", "include", "included", "keep", "kept", "finished", "complete", "completed", "iscomplete",
         "accepted", "approved", "consent", "consented", "usable", "good", "goodtrial", "mask")  # fmt: skip
_AGAIN = ("attempt", "attemptnumber", "isfinal", "final", "version", "revision", "event", "eventtype", "trialpart")
_COUNTS = ("n", "size", "len", "freq", "total", "w", "countall", "times", "votes", "nvotes", "nanswers")
# First words of cells that say so, in any column; and in one that tells the parts of a study.
_OUT = ("rejected", "excluded", "exclude", "invalid", "preview", "timedout", "cancelled", "canceled", "aborted",
        "discarded", "ignore", "returned", "incomplete", "spam", "practice", "practise", "warmup", "tutorial", "catch",
        "catchtrial", "undo")  # fmt: skip
_BEFORE = ("training", "example", "familiarisation", "familiarization", "demo")
_PARTS = ("block", "phase", "stage", "trial", "task", "section", "session")  # within the names of such columns
_FARTHER = re.compile(r"\b(less|least|different|dissimilar|unlike|odd|farther|farthest|further|furthest)\b", re.I)
# Names for what is near by how a question was made, not by what was answered.
_DESIGNED = ("near", "nearer", "closer", "positive", "similar", "moresimilar")


def told_beside(table: Table, roles: Roles) -> list[str]:
    """Tell of columns that are not used, but hold objects or answers, or say what becomes of those that are used."""
    used = {*roles.at.values(), *roles.names_at}
    spare = [spot for spot, name in enumerate(table.names[:_COLUMNS]) if name and spot not in used]
    if not spare and "correct" not in roles.at:
        return []
    width = min(len(table.names), _COLUMNS)
    rows = [row for row in table.head(_ROWS, _COLUMNS) if len(row) >= width]  # others are refused later
    cells = {spot: [row[spot].strip() for row in rows] for spot in range(width)}
    layout, by_side = roles.layout, _by_side(roles.layout, roles.at, cells)
    looks: list[tuple[Callable[[str, Sequence[str]], bool], str]] = [
        (_says_out, "seems to say that some rows are not to count; take these out, if so"),
        (_says_again, "may say that several rows are of one answer; keep one of them, if so"),
        (_objects_of(layout, roles.at, cells), "holds objects of other columns"),
    ]
    if by_side is not None:
        looks.append((_sides_other_than(by_side), "says sides as the answers do, and others than they"))
        looks.append((_says_moved, "may say that things were shown elsewhere than their columns say, while the answers "
                      "are sides or numbers"))  # fmt: skip
    if layout.kind in ("triplets", "quadruplets"):
        looks.append((_says_which, "may say which pair is nearer, so that the others are as asked, not as answered"))
    if "weight" not in roles.at:
        looks.append((_counts, "may say how often a row was answered: then say weight="))
    if layout.kind not in ("odd-one-out", "most-central"):
        looks.append((_asks_for_farther, "may ask for what is farther: then near and far are to be exchanged"))
    told = _right_or_wrong(table, roles, cells)
    for is_so, why in looks:
        found = [spot for spot in spare if is_so(normalise(table.names[spot]), cells[spot])]
        if found:
            names = listed((repr(table.names[spot]) for spot in found), SHOWN)
            told.append(f"column {names} ({_examples(cells[found[0]])}) is not used, but {why}; see columns=")
        spare = [spot for spot in spare if spot not in found]
    return told


def _examples(cells: Sequence[str]) -> str:
    several = dict.fromkeys(cell for cell in cells if cell)
    return listed(map(shown, [*several][:SHOWN])) + (", ..." if len(several) > SHOWN else "")


def _by_side(layout: Layout, at: Mapping[str, int], cells: Mapping[int, Sequence[str]]) -> Sequence[str] | None:
    """The cells of a column of answers, if these are sides or numbers and no names of objects; None for any other."""
    if layout.answer is None or at[layout.answer] not in cells:
        return None
    answers = cells[at[layout.answer]]
    objects = {cell for role in layout.objects for cell in cells.get(at[role], ())}
    return None if any(answer and answer in objects for answer in answers) else answers


def _objects_of(layout: Layout, at: Mapping[str, int], cells: Mapping[int, Sequence[str]]) -> Callable:
    """A look for cells that are all objects of the columns used; numbers may be anything."""
    objects = {cell for role in layout.objects for cell in cells.get(at[role], ())}

    def holds(name: str, own: Sequence[str]) -> bool:
        said = [cell for cell in own if cell]
        if len(said) < _LEAST or len(set(said)) < 2 or any(word in name for word in _RIGHT):
            return False
        return objects.issuperset(said) and all(number_in(cell) is None for cell in said)

    return holds


def _sides_other_than(answers: Sequence[str]) -> Callable:
    """A look for words for a side that are not those of the answers in every row."""
    words = side_words(3)

    def says(name: str, own: Sequence[str]) -> bool:
        said = [(side_word(cell), side_word(answer)) for cell, answer in zip(own, answers) if cell and answer]
        if len(said) < _LEAST or len({cell for cell, _ in said}) < 2 or any(word in name for word in _RIGHT):
            return False
        return all(cell in words for cell, _ in said) and any(cell != answer for cell, answer in said)

    return says


def _says_moved(name: str, cells: Sequence[str]) -> bool:
    moved = (
        any(word in name for word in _MOVED) or name.endswith("side") or re.fullmatch(r"(side|pos|position).?", name)
    )
    return bool(moved) and len({*cells} - {""}) > 1


def _asks_for_farther(name: str, cells: Sequence[str]) -> bool:
    asks = name in ("question", "prompt", "task", "instruction", "instructions", "responsetype")
    return any((asks or cell.count(" ") > 1) and _FARTHER.search(cell) for cell in {*cells})


def _says_which(name: str, cells: Sequence[str]) -> bool:
    said = {*cells} - {""}
    signs = {number_in(cell) for cell in said} == {1, -1}
    return len(said) == 2 and (signs or name in ("y", "label", "sign", "outcome", "result"))


def _counts(name: str, cells: Sequence[str]) -> bool:
    said = {number_in(cell) for cell in {*cells} - {""}}
    whole = all(number is not None and number >= 1 and number % 1 == 0 for number in said)
    return name in _COUNTS and whole and max(said, default=1) > 1  # type: ignore[type-var, operator]


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


def _right_or_wrong(table: Table, roles: Roles, cells: Mapping[int, Sequence[str]]) -> list[str]:
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
