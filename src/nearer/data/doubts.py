"""What is doubtful about a table and told, never passed over: columns not used, names out of place, answers twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nearer.data.cells import is_no_word, is_whole, normalise, number_in, side_word, side_words, truth_of, yes_or_no
from nearer.data.errors import SHOWN, counted, listed, shown

if TYPE_CHECKING:
    from nearer.data.columns import Table
    from nearer.data.roles import Layout, Roles
    from nearer.data.rows import Rows
    from nearer.data.tables import Facts

_ROWS, _COLUMNS = 200, 500  # looked at
_LEAST = 4  # cells, or a column says the same as another by chance
_FEW = 20  # cells, of which more are looked at for what they have in common with the answers
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
        "isdeleted", "bot", "isbot", "mask", "masked", "gold", "golden", "isgold", "isgolden")  # fmt: skip
_GOOD = ("valid", "isvalid", "include", "included", "keep", "kept", "finished", "complete", "completed", "iscomplete",
         "accepted", "approved", "consent", "consented", "usable", "good", "goodtrial", "mask")  # fmt: skip
_AGAIN = ("attempt", "attemptnumber", "isfinal", "final", "revision", "event", "eventtype", "trialpart")
_COUNTS = ("n", "size", "len", "freq", "total", "w", "cnt", "countall", "times", "votes", "nvotes", "numvotes",
           "nanswers", "nresponses", "nparticipants", "nsubjects", "nraters", "nobs")  # fmt: skip
# First words of cells that say so, in any column; and in one that tells the parts of a study.
_OUT = ("rejected", "excluded", "exclude", "invalid", "preview", "timedout", "cancelled", "canceled", "aborted",
        "discarded", "ignore", "returned", "incomplete", "spam", "practice", "practise", "warmup", "tutorial", "catch",
        "catchtrial", "undo")  # fmt: skip
_BEFORE = ("training", "example", "familiarisation", "familiarization", "demo")
_PARTS = ("block", "phase", "stage", "trial", "task", "section", "session")  # within the names of such columns
_FARTHER = re.compile(
    r"\b(less|least|different|dissimilar\w*|unlike|odd|outlier|not belong|farther|farthest|further|furthest)\b", re.I
)
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
    layout = roles.layout
    objects = {cell for role in layout.objects for cell in cells.get(roles.at[role], ())}
    by_side = _by_side(layout, roles.at, cells, objects)
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
        looks.append((_says_which, "may say which pair is nearer, so that the others are as asked, not as answered"))
    if "weight" not in roles.at:
        looks.append((_counts, "may say how often a row was answered: then say weight="))
    if layout.kind not in ("odd-one-out", "most-central"):
        looks.append((_asks_for_farther, "may ask for what is farther: then near and far should be swapped"))
    told = _right_or_wrong(table, roles, cells)
    for is_so, why in looks:
        found = [spot for spot in spare if is_so(normalise(table.names[spot]), cells[spot])]
        if found:
            first, *more = found
            also = f" (and so {listed((repr(table.names[spot]) for spot in more), SHOWN)})" if more else ""
            held = _examples(cells[first])
            told.append(f"column {table.names[first]!r} ({held}) is not used, but {why}{also}; see columns=")
        spare = [spot for spot in spare if spot not in found]
    return told


def _examples(cells: Sequence[str]) -> str:
    several = dict.fromkeys(cell for cell in cells if cell)
    return listed(map(shown, [*several][:SHOWN])) + (", ..." if len(several) > SHOWN else "")


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
        return objects.issuperset(said) and all(number_in(cell) is None and len(cell) > 1 for cell in said)

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
        alike = sum(cell == answer for cell, answer in said)
        # Of what has nothing to do with the answers, as many are alike as not.
        return alike < len(said) and (len(said) < _FEW or abs(2 * alike - len(said)) > 2 * len(said) ** 0.5)

    return says


def _says_moved(name: str, cells: Sequence[str]) -> bool:
    moved = (
        any(word in name for word in _MOVED) or name.endswith("side") or re.fullmatch(r"(side|pos|position).?", name)
    )
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


# ---- names and rows --------------------------------------------------------------------------------------------------

LEAST_ROWS = 4  # of fewer, columns share no name by chance


def own_names(facts: Facts, role: str) -> np.ndarray | None:
    """The names that stand in the column of a role, by their places; None if one of them stands in another column."""
    others = sum(counts for key, counts in facts.counts.items() if key != role)
    own = facts.counts[role] > 0 if role in facts.counts else np.zeros(0, bool)
    return np.flatnonzero(own) if own.any() and not np.any(others[own]) else None  # type: ignore[index]


def told_apart(facts: Facts, kinds: Mapping[str, frozenset[str]], roles: Roles, table: Table) -> list[str]:
    """Tell of columns that may hold no objects: they share no name with the others, or are numbers beside names."""
    told = []
    total = np.sum(list(facts.counts.values()), axis=0)
    share = 1 / len(facts.counts)
    # That a column shares no name with the others: each name stands in it alone, or in the others alone.
    by_chance = np.exp(np.logaddexp(total * np.log(share), total * np.log(1 - share)).sum())
    for role, counts in facts.counts.items() if facts.n_rows >= LEAST_ROWS else ():
        own = own_names(facts, role)
        if own is None or (role in ("anchor", *_QUESTIONS) and not _is_no_anchor(facts, role, own)):
            continue
        if by_chance > _APART and counts.sum() < 2 * len(own):  # its names do not recur, and need not
            continue
        held = _examples(facts.objects.some(own[: SHOWN + 1]))
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
    occur so twice, or in no cell of the anchors, where most names are words.
    """
    counts = np.stack(list(facts.counts.values()))
    n_columns, n_names = counts.shape
    total, alone = counts.sum(axis=0), counts.max(axis=0) == counts.sum(axis=0)
    if facts.n_rows < LEAST_ROWS:
        return []
    anchor = next((role for role in ("anchor", "i") if role in facts.counts and "l" not in facts.counts), None)
    elsewhere = np.zeros(n_names, bool) if anchor is None else facts.counts[anchor] == 0
    found = np.empty(0, np.int64)
    if anchor is not None:  # in pairs, all may be compared with one
        often = (total - 1) * np.log(n_columns) > np.log(n_names / _BY_CHANCE)
        if np.count_nonzero(often & (alone | elsewhere)) <= (1 - _MOST) * np.count_nonzero(often):
            found = np.flatnonzero(often & alone & elsewhere)
    where = "one column of objects alone"
    some = facts.objects.some(np.arange(n_names)[:: max(n_names // _SAMPLE, 1)])
    if not len(found) and np.mean([not is_no_word(name) for name in some]) > _MOST_WORDS:
        twice = np.flatnonzero((alone | elsewhere) & (total > 1))[:_MOST_NAMES]
        found = twice[np.array([is_no_word(name) for name in facts.objects.some(twice)], bool)]
        if anchor is not None and not alone[found].all():
            where = f"no cell of {table.title(roles.at[anchor])}"
    if not len(found):
        return []
    names = zip(facts.objects.some(found), total[found].tolist())
    held = listed((f"{shown(name)} ({counted(count, 'row')})" for name, count in names), SHOWN)
    return [f"{held} among the objects: in {where}, unlike the others; if that is no object, leave such rows out"]


_MOST_NAMES = 100_000  # of more, a look at each takes too long
_SAMPLE = 1000  # names that show whether names are words
_MOST_WORDS = 0.7  # of names that are words, so many for others to be strange


def told_thousands(rows: Rows) -> list[str]:
    """Tell of amounts such as 1.200 beside 950 in cells parted by semicolons, as with decimal commas."""
    told = []
    for role in ("weight", "votes_a", "votes_b") if rows.table.form.startswith("semicolon") else ():
        texts = [text.strip() for text in rows.columns[role].texts()] if role in rows.columns else []
        pointed = [text for text in texts if "." in text]
        if 0 < len(pointed) < len(texts) and all(re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", text) for text in pointed):
            what = f"{rows.title(role)}: {shown(pointed[0])} is taken as {float(pointed[0]):g}, beside whole numbers"
            told.append(f"{what}; if the point marks thousands, take it out")
    return told
