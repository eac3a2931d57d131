"""The rows of a table by role: those that count, and what they tell beside the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.data.cells import (
    MISSING,
    NO_ANSWER,
    SKIP,
    UNKNOWN,
    normalise,
    sides_of,
    truth_of,
    units_per_second,
    yes_or_no,
)
from nearer.data.columns import HOLDS_NUL, Coding, Column, Table, distinct
from nearer.data.errors import SHOWN, FileFormatError, counted, listed, shown
from nearer.data.roles import DETAILS, OPTIONS_SHOWN, TIMES, Roles, role_of, roles_of
from nearer.data.values import Details, Options, People

_IN_CACHE = 1 << 16  # rows whose codes stay in the processor's cache


@dataclass
class Rows:
    """The rows of a block that are complete, by role."""

    table: Table
    roles: Roles
    columns: dict[str, Column]  # role -> cells
    names: list[Column]  # columns that name numbered objects
    n_rows: int  # of the table
    origin: np.ndarray | None = None  # the row of the table that each row comes from; None if all are there
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)  # reason -> rows left out, where the first is
    n_degenerate: int = 0  # rows left out that say nothing about distances
    notes: list[str] = field(default_factory=list)  # how the details of the answers were understood
    alarms: list[str] = field(default_factory=list)  # what is doubtful about the rows
    coded: tuple[Coding, np.ndarray, list[np.ndarray]] | None = None  # see `encoded`
    nobody: tuple[str, ...] = MISSING  # texts that stand for a participant who is not known
    beside: dict[int, Column] = field(default_factory=dict)  # columns that are not used, see `Roles.beside`
    n_shown: np.ndarray | None = None  # candidates of each ranking, where some have fewer; None if all have as many

    def at(self, row: int) -> int:
        """The row of the table that a row comes from."""
        return int(row if self.origin is None else self.origin[row])

    def place(self, row: int) -> str:
        """Say where a row is in the user's terms."""
        return self.table.place(self.at(row))

    def refusal(self, why: str, role: str, row: int) -> FileFormatError:
        """Refuse the cell of a role in a row."""
        return self.table.refusal(why, self.roles.at[role], self.at(row))

    def title(self, role: str) -> str:
        """Name the column of a role."""
        return self.table.title(self.roles.at[role])

    def objects(self) -> list[Column]:
        """List the columns that hold objects."""
        return [self.columns[role] for role in self.roles.layout.objects]

    def encoded(self) -> tuple[Coding, np.ndarray, list[np.ndarray]]:
        """The names of objects, the places among them of those in each row, and how often each is in each column.

        The places are int32 (n_rows, n_columns), -1 for an empty cell. Once every name is in every column, none is out
        of place, and the others are not counted.
        """
        if self.coded is None:
            columns = self.objects()
            names = Coding.of(columns)
            encoders = list(map(names.encoder, columns))
            index = np.empty((len(columns[0].cells), len(encoders)), np.int32)
            counts = np.zeros((len(encoders), len(names) + 1), np.int64)  # empty cells first
            step, counting = max(_IN_CACHE, len(names)), True
            for start in range(0, len(index), step):
                rows = slice(start, start + step)
                for spot, encode in enumerate(encoders):
                    index[rows, spot] = codes = encode(rows)
                    if counting:
                        counts[spot] += np.bincount(codes + 1, minlength=len(names) + 1)
                counting = counting and not (counts[:, 1:] > 1).all()
            self.coded = names, index, list(counts[:, 1:])
        return self.coded

    def answers(self) -> Column:
        """The column of answers, without what does not matter in them."""
        return self.columns[self.roles.layout.extra[0]].spelled().plain()

    def chosen(self) -> np.ndarray:
        """Tell which of the objects shown each answer names: position, or -1."""
        return chosen_place(self.answers(), [self.columns[role] for role in self.roles.layout.options])

    def leave_out(self, masks: dict[str, np.ndarray]) -> None:
        """Drop the rows of some masks that do not overlap, counted by reason."""
        found = {reason: mask for reason, mask in masks.items() if mask.any()}
        counts = {
            reason: (int(np.count_nonzero(mask)), self.place(int(np.argmax(mask)))) for reason, mask in found.items()
        }
        self.dropped = joined_counts(self.dropped, counts)
        keep = ~np.logical_or.reduce(list(masks.values()))
        self.columns = {role: column.take(keep) for role, column in self.columns.items()}
        self.names = [column.take(keep) for column in self.names]
        self.beside = {spot: column.take(keep) for spot, column in self.beside.items()}
        self.n_shown = None if self.n_shown is None else self.n_shown[keep]
        self.origin = np.flatnonzero(keep) if self.origin is None else self.origin[keep]
        self.coded = None

    @classmethod
    def of(cls, table: Table, roles: Roles, options: Options, known: bool = False) -> Rows:
        """Read the rows of a block that hold all that is needed; `known` if they were looked at before."""
        positions = roles.positions
        found, beside = table.read_beside(positions, [spot for spot in roles.beside if spot not in positions])
        read = dict(zip(positions, found))
        beside |= {spot: read[spot] for spot in roles.beside if spot in read}
        for spot, column in read.items() if not known else ():
            if (row := column.first_nul()) is not None:
                raise table.refusal(f"{shown(column.cell(row))}: {HOLDS_NUL}", spot, row)
        columns = {role: read[spot] for role, spot in roles.at.items()}
        names, n_rows = [read[spot] for spot in roles.names_at], len(next(iter(columns.values())).cells)
        rows = cls(table, roles, columns, names, n_rows, beside=beside)
        if options.keep_na or table.n_objects is not None:  # in what this package wrote, nobody is "unknown"
            rows.nobody = ("",)
        if Column.are_text(rows.objects()):
            if table.header:
                _leave_out_headers(rows)
            if not known:  # in a smaller block, names of columns that are objects could seem to stand alone
                _refuse_second_table(rows)
        rows._leave_out_empty(options)
        return rows

    def _leave_out_empty(self, options: Options) -> None:
        """Leave out rows where every cell is empty; refuse, or on request leave out, those where some needed one is."""
        known = self.table.labels if options.labels is None else options.labels
        words = ("",) if options.keep_na else tuple(set(MISSING) - set(() if known is None else known.tolist()))
        layout, answer = self.roles.layout, self.roles.layout.answer
        needed = [*layout.roles, *(["weight"] if "weight" in self.roles.at else [])]
        empty = {role: self.columns[role].empty(words) for role in needed}
        skipped = np.zeros(1, bool)
        if answer is not None:
            said = self.columns[answer]
            meant = options.answer_words
            none = said.saying([word for word in NO_ANSWER if word not in map(str.casefold, meant)])
            if none.any() and layout.options:
                none &= self.chosen() < 0  # an object may be called so
            empty[answer] = empty[answer] | said.empty(MISSING) | none
            if skip := [cell for cell, option in meant.items() if option == SKIP]:
                skipped = said.spelled().empty(skip) & ~said.empty()
        if not any(mask.any() for mask in (*empty.values(), skipped)):
            return
        blank = np.logical_and.reduce([empty[role] for role in layout.objects])
        if layout.kind == "rankings":
            self._fill_ranks(layout.objects[1:], empty)
        silent = np.zeros_like(blank) if answer is None else empty.pop(answer) & ~blank
        some = np.logical_or.reduce(list(empty.values())) & ~blank
        silent &= ~some
        skipped = skipped & ~(blank | some | silent)
        if some.any() and options.on_missing == "raise":
            raise self._missing(some, {role: mask & some for role, mask in empty.items()})
        self.leave_out(
            {"no objects": blank, "no answer": silent, "missing cell": some, "answer to be skipped": skipped}
        )

    def _fill_ranks(self, ranks: Sequence[str], empty: dict[str, np.ndarray]) -> None:
        """Count the candidates of rankings whose last cells are empty; these are filled with the first, not used."""
        found = np.stack([empty[role] for role in ranks])
        last = np.logical_and.accumulate(found[::-1])[::-1] & ~found[:2].any(axis=0)  # a choice is among two or more
        for role, hidden in zip(ranks, last):
            if hidden.any():
                self.columns[role] = self.columns[role].filled(hidden, self.columns[ranks[0]])
                empty[role] = empty[role] & ~hidden
                self.n_shown, self.coded = len(ranks) - last.sum(axis=0), None

    def _missing(self, some: np.ndarray, empty: dict[str, np.ndarray]) -> FileFormatError:
        """Refuse rows that lack a cell, with the first of them."""
        count, spots = int(np.count_nonzero(some)), np.flatnonzero(some)[:SHOWN]
        first = next(role for role, mask in empty.items() if mask[spots[0]])
        cell = self.columns[first].cell(spots[0])
        is_word = cell is not None and str(cell).strip() != ""
        what = f"{shown(cell)} means missing" if is_word else "empty cell"
        places = listed(map(self.place, spots)) + (", ..." if count > SHOWN else "")
        more = f"; {counted(count, 'row')} in all: {places}" if count > 1 else ""
        keep = ", or keep_na=True to take such words as names" if is_word else ""
        return self.refusal(f"{what}{more}; say on_missing='drop' to leave such rows out{keep}", first, spots[0])


def joined_counts(one: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """Add up rows left out, keeping the first place of each reason."""
    total = dict(one)
    for reason, (count, place) in other.items():
        before, first = total.get(reason, (0, place))
        total[reason] = before + count, first
    return total


# ---- names of columns among the rows ------------------------------------------------------------------------------

# A second table is looked for below so many rows of the first, and known by names of columns that hold objects.
_LEAST_ABOVE = 3
_BY_CHANCE = 0.02  # as many rows stand alone by chance, at most, where one that does is told
_MOST_ALONE = 3  # rows of words that stand in no other, as of headers, remarks and totals; more are data
_OBJECT_ROLES = ("anchor", "near", "far", "a", "b", "c", "odd", "central")
_SURE = [spot for spot, role in enumerate(_OBJECT_ROLES) if role not in ("a", "b", "c")]


def _leave_out_headers(rows: Rows) -> None:
    """Leave out a header repeated among the rows, as joining files end to end gives, and its further rows."""
    import pyarrow.compute as pc

    if Column.some_may_hold(rows.objects(), '"'):
        held = [column.holding(pc.match_substring(column.values, '"ImportId"')) for column in rows.objects()]
        imported = np.logical_and.reduce(held)
        if imported.any():  # Qualtrics: the texts of the questions, then identifiers
            rows.leave_out({"further header row": imported | np.append(imported[1:], False)})
    repeated: Any = True
    # Not the objects alone: a, b and c may be objects below a, b, c.
    for role in (*rows.roles.layout.roles, "participant", "weight"):
        if role in rows.columns:
            repeated = repeated & _holds_name(rows, role)
        if not np.any(repeated):
            return
    rows.leave_out({"header repeated": repeated})


def _holds_name(rows: Rows, role: str) -> np.ndarray:
    """Mark the cells of a role that say the name of their column.

    Blanks and a byte order mark do not matter, nor does case but for letters: I, J, K may be objects below i, j, k.
    """
    import pyarrow.compute as pc

    column, name = rows.columns[role], rows.table.names[rows.roles.at[role]].strip(" \ufeff")
    nowhere = np.zeros(len(column), bool)
    if column.values is None:
        return nowhere
    first = name.split()[0].lower() if name.isascii() and name else ""
    if not pc.any(pc.match_substring(pc.ascii_lower(column.values), first)).as_py():  # faster than the pattern
        return nowhere
    blank = r"[\s\pZ\x{FEFF}]"
    # After the mark of a file joined to another, quotes stay as they are.
    pattern = rf'^{blank}*"?{f"{blank}+".join(map(re.escape, name.split()))}"?{blank}*$'
    return column.holding(pc.match_substring_regex(column.values, pattern, ignore_case=len(normalise(name)) > 2))


def named_as_columns(names: Coding, table: Table, roles: Roles) -> bool:
    """Whether objects are called as their columns: then a row of them may be a header, and who answered may tell."""
    if not names.is_text:
        return False
    rows = Rows(table, roles, dict.fromkeys(roles.layout.objects, names.as_column()), [], len(names))
    return all(_holds_name(rows, role).any() for role in roles.layout.objects)


def _refuse_second_table(rows: Rows) -> None:
    """Refuse what looks like the header of a second table below the first.

    That is a row of nothing but names of columns, or the first whose words stand in no other row, after a gap.
    """
    named = _named_rows(rows)
    if named is not None:
        raise _second_table(rows, named, "names of columns among the rows")
    if len(rows.objects()[0].cells) <= _LEAST_ABOVE:
        return
    alone, n_once = _lone_rows(rows)
    if len(alone) and alone[0] >= _LEAST_ABOVE and _after_gap(rows, int(alone[0])):
        raise _second_table(rows, int(alone[0]), "after a gap, names that stand in no other row")
    _tell_lone_rows(rows, alone, n_once)


def _tell_lone_rows(rows: Rows, alone: np.ndarray, n_once: int) -> None:
    """Tell of a few rows whose words stand in no other row, where the others say much about the same objects."""
    columns = rows.objects()
    if not 0 < len(alone) <= _MOST_ALONE:
        return
    n_others = (len(columns[0]) - len(alone)) * len(columns)
    once = max(n_once - len(alone) * len(columns), 0) / n_others
    if len(columns[0]) * once ** len(columns) > _BY_CHANCE:
        return
    first = int(alone[0])
    cells = listed(shown(str(column.cell(first))) for column in columns)
    where = listed(map(rows.place, alone.tolist()))
    what = "a further row of the header" if rows.at(first) == 0 else "a remark or a total"
    rows.alarms.append(
        f"{where} ({cells}): objects that stand in no other row; if that is {what}, take it out of the data"
    )


def _second_table(rows: Rows, row: int, why: str) -> FileFormatError:
    cells = listed(shown(str(column.cell(row))) for column in rows.objects())
    doubt = "is it the header of a second table? Give one table in each file"
    if rows.at(row) == 0:
        doubt = "is it a second row of the header? Take it out of the data"
    return FileFormatError(f"{rows.table.name}, {rows.place(row)}: {cells}: {why}; {doubt}")


def _named_rows(rows: Rows) -> int | None:
    """Find the first row of nothing but names of columns, if they stand in such rows alone.

    Names of columns may be objects: then they stand in other rows too, or in most of all.
    """
    columns, roles = rows.objects(), []  # of each cell, by its place among `_OBJECT_ROLES`
    for column in columns:
        of_texts = _named_roles(column)
        if of_texts is None:
            return None
        roles.append(of_texts[column.cells])
    named = np.logical_and.reduce([one >= 0 for one in roles])
    some = np.flatnonzero(named)
    few = np.stack([one[some] for one in roles])
    # Item 1, item 2 and item 3 are names of columns, but also of objects: alone they say nothing.
    sure = np.zeros(len(named), bool)
    sure[some] = np.isin(few, _SURE).any(axis=0)
    named[some] = (np.diff(np.sort(few, axis=0), axis=0) > 0).all(axis=0)
    if not named.any():
        return None
    for role in rows.roles.layout.extra:
        column = rows.columns[role]
        if column.is_text:
            sure |= np.array([*(role_of(text) == role for text in column.texts()), False])[column.cells]
    found = named & sure
    if rows.table.first_is_data and len(found):
        found[0] = False
    if not found.any() or 2 * np.count_nonzero(found) >= len(found):
        return None
    inside, outside = ({*_words(columns, mask)} for mask in (found, ~found))
    return None if inside & outside else int(np.argmax(found))


def _lone_rows(rows: Rows) -> tuple[np.ndarray, int]:
    """Find the rows whose words stand in no other row, and how many words occur but once."""
    _, index, counts = rows.encoded()
    once = np.append(sum(counts) == 1, False)
    if not once.any():
        return np.empty(0, np.int64), 0  # as in all large tables
    return np.flatnonzero(once[index].all(axis=1)), int(once.sum())


def _after_gap(rows: Rows, row: int) -> bool:
    """Whether an empty line or row stands above a row."""
    return rows.table.follows_gap(rows.at(row)) or all(column.empty()[row - 1] for column in rows.objects())


def _named_roles(column: Column) -> np.ndarray | None:
    """Role of each text of a column: its place among `_OBJECT_ROLES`, -1 for none and at the end; or None."""
    import pyarrow.compute as pc

    # A first look without Python: such names are short, and have a digit at most at their end.
    likely = pc.match_substring_regex(column.values, r"^[^0-9]{3,40}[0-9]?[^0-9]{0,2}$")
    found = np.full(len(likely) + 1, -1, np.int8)
    texts = pc.filter(column.values, likely).to_pylist()
    for code, text, role in zip(pc.indices_nonzero(likely).to_pylist(), texts, roles_of(texts)):
        if role in _OBJECT_ROLES and len(normalise(text)) > 2:
            found[code] = _OBJECT_ROLES.index(role)
    return found if (found >= 0).any() else None


def _words(columns: Sequence[Column], rows: np.ndarray) -> Iterable[str]:
    """List the texts that occur in some rows."""
    for column in columns:
        texts = column.texts()
        yield from (texts[code] for code in distinct(column.cells[rows]).tolist() if code >= 0)


# ---- details of the answers ---------------------------------------------------------------------------------------

_EXPECTED = {
    "side": "a position such as left, right, first, second, 1 or 2",
    "order": "a whole number, 0 or more",
    "catch": "true or false",
    "correct": "true or false",
} | dict.fromkeys(TIMES, "a time, 0 or more")


def read_details(rows: Rows, index: np.ndarray, people: People | None) -> tuple[Details | None, list[str]]:
    """Read what a table tells of its answers beside what they say.

    A column found by its name that cannot be read is left out, which the notes say; one that the user named is refused.
    `index` (n_rows, 3 or more) and `people` say what each row is about, and who answered.
    """
    found: dict[str, Any] = {}
    notes: list[str] = []
    for role in DETAILS:
        if role not in rows.columns:
            continue
        values, problem = _read(role, rows.columns[role], _n_options(rows))
        if role == "order" and values is not None and (row := _repeats(values, rows, index, people)) is not None:
            values, problem = None, f"the same number at different questions ({rows.place(row)}): no order of trials"
        title = rows.title(role)
        if isinstance(problem, int):
            cell = shown(rows.columns[role].spelled().cell(problem))
            problem = f"{cell} is not {_EXPECTED[role]} ({rows.place(problem)})"
        if values is None and role in rows.roles.told:
            raise FileFormatError(f"{rows.table.name}, {title}: {problem}")
        if values is None:
            name = rows.table.names[rows.roles.at[role]]
            told = " or ".join(f"columns={{{way!r}: {name!r}}}" for way in (TIMES[:2] if role in TIMES else (role,)))
            problem = f"{problem}; not kept (say {told} if it is to be read)"
        notes += [f"{title}: {problem}"] if problem else []
        if values is not None and not rows.columns[role].empty(MISSING).all():
            found["seconds" if role in TIMES else role] = values
    if all(role in rows.columns for role in OPTIONS_SHOWN):
        side = chosen_place(rows.columns["near"].spelled().plain(), [rows.columns[role] for role in OPTIONS_SHOWN])
        if (side >= 0).all():
            found["side"] = side.astype(np.int8)
        else:
            row = int(np.argmax(side < 0))
            titles = " and ".join(map(rows.title, OPTIONS_SHOWN))
            notes.append(f"{titles} do not both show what is near ({rows.place(row)}), so no side is known")
    return (Details(**found) if found else None), notes


def _n_options(rows: Rows) -> int:
    """How many options a question of a table has."""
    layout = rows.roles.layout
    return len(layout.objects) - 1 if layout.kind == "rankings" else len(layout.options) or 2


def _repeats(order: np.ndarray, rows: Rows, index: np.ndarray, people: People | None) -> int | None:
    """Find a row with the number of another one of that person, in a table without people of the one before.

    Rows about the same objects may be of one answer, and so may triplets with the same anchor. What this
    package wrote is believed.
    """
    if rows.table.labels is not None or rows.table.n_objects is not None:
        return None
    person = np.zeros(len(order), np.int64) if people is None else people.codes
    place = np.arange(len(order)) if people is None else np.lexsort([order, person])
    one, two = place[:-1], place[1:]
    same = (order[one] >= 0) & (order[one] == order[two]) & (person[one] == person[two])
    if people is not None:
        same &= (people.names != UNKNOWN)[person[one]]
    one, two = one[same], two[same]
    other = (np.sort(index[one], axis=1) != np.sort(index[two], axis=1)).any(axis=1)
    if rows.roles.layout.kind == "triplets":
        other &= index[one, 0] != index[two, 0]
    return int(two[other].min()) if other.any() else None


def chosen_place(answer: Column, options: Sequence[Column]) -> np.ndarray:
    """Tell which of the objects shown each answer names: position, or -1."""
    options = [option.spelled().plain() for option in options]
    coding = Coding.of([answer, *options])
    said = coding.encode(answer)
    chosen = np.full(len(answer), -1)
    for spot, option in enumerate(options):
        chosen[coding.encode(option) == said] = spot
    return chosen


def _read(role: str, column: Column, n_options: int) -> tuple[Any, str | int]:
    """Values of a column, None if they cannot be read; then what to say, or the first row that is wrong."""
    if role in TIMES:
        return _read_times(role, column)
    if role == "order":
        numbers, bad = column.as_numbers()
        bad = bad | (numbers < 0) | ((numbers != np.floor(numbers)) & ~np.isnan(numbers)) | (numbers >= 2**53)
        if bad.any():
            return None, int(np.argmax(bad))
        return np.where(np.isnan(numbers), -1, numbers).astype(np.int64), ""
    column = column.spelled()
    empty = column.empty(MISSING)
    texts = column.texts()
    if role == "chosen_by":
        named = [UNKNOWN if text.strip() in MISSING else text.strip() for text in texts]
        names, place = np.unique(np.array([*named, UNKNOWN], dtype=object), return_inverse=True)
        return People(place.astype(np.int32)[column.cells], names)[slice(None)], ""
    used = np.unique(column.cells[~empty])
    cells = [texts[code] for code in used.tolist()]
    read = yes_or_no if role == "catch" else truth_of  # passed or not is no sign of a catch question
    told = sides_of(cells, n_options) if role == "side" else {cell: read(cell) for cell in cells}
    said = np.array([-1 if (value := told[cell]) is None else value for cell in cells], np.int8)
    if (said < 0).any():
        return None, int(np.argmax(np.isin(column.cells, used[said < 0])))
    codes = np.full(len(texts) + 1, -1, np.int8)
    codes[used] = said
    values = np.where(empty, np.int8(-1), codes[column.cells])
    return (values == 1 if role == "catch" else values), ""


def _read_times(role: str, column: Column) -> tuple[Any, str | int]:
    numbers, bad = column.as_numbers()
    bad = bad | (numbers < 0) | np.isinf(numbers)
    if bad.any():
        return None, int(np.argmax(bad))
    divisor, note = units_per_second(role, numbers[~np.isnan(numbers)])
    return (None if np.isnan(divisor) else numbers / divisor), note
