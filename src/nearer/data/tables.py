"""The one path from a table to comparisons, for data in memory, read in blocks, or on a cluster.

A table is read in three steps. `scan` collects what must be known of all rows before any can be coded: which names
occur, how answers are written. `resolve` decides from that what every name and every answer means. `rows_to_parts`
then turns rows into comparisons. Data in memory are one block; a stream or a cluster scans its blocks one by one, joins
what was found, and codes each block whenever it is read.
"""

from __future__ import annotations

import itertools
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nearer.data import making, rules
from nearer.data.beside import spread_cells, told_beside
from nearer.data.carriers import as_table, refuse_other_order
from nearer.data.cells import UNKNOWN, Answers, is_whole, read_answers, whole_number, yes_or_no
from nearer.data.columns import INEXACT, Coding, Column, MemoryTable, Table, distinct, exact_below, whole_numbers
from nearer.data.contradictions import told_contradicting
from nearer.data.doubts import (
    FRACTION,
    TRUTHS,
    doubts_of,
    fold_key,
    joined_if_alike,
    kinds_of_cells,
    refuse_no_objects,
    told_apart,
    told_of_people,
    told_thousands,
)
from nearer.data.errors import FileFormatError, counted, listed, shown, told_dropped
from nearer.data.roles import DETAILS, OPTIONS_SHOWN, ROLE_OF, Roles, find_roles, with_header
from nearer.data.rows import Rows, joined_counts, read_details
from nearer.data.rules import Parts, group
from nearer.data.values import INDEX_LIMIT, Options, People, check_people, check_weights

logger = logging.getLogger(__name__)


@dataclass
class Facts:
    """What must be known of all rows before any can be coded."""

    objects: Coding  # names as written
    answers: Coding | None = None  # as written, where there is a column of them
    n_elsewhere: int | None = None  # answers that name none of the objects shown; None where an option is a pair
    names: dict[str, str] | None = field(default_factory=dict)  # number of an object -> its one name in columns beside
    n_rows: int = 0
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)
    types: dict[str, frozenset[str]] = field(default_factory=dict)  # role of objects, weights -> text, numbers or both
    alarms: list[str] = field(default_factory=list)  # what is doubtful about the rows
    counts: dict[str, np.ndarray] = field(default_factory=dict)  # role of objects -> cells with each of the names
    pads: dict[str, str] = field(default_factory=dict)  # see `_pads`
    people_are_numbers: bool = True  # whether all who answered are called by whole numbers

    def join(self, other: Facts) -> Facts:
        """Put what two blocks say together."""
        answers = None
        if self.answers is not None and other.answers is not None:
            answers = Coding.union([self.answers, other.answers])
        names = _joined_names(self.names, other.names)
        elsewhere = (
            None if self.n_elsewhere is None or other.n_elsewhere is None else self.n_elsewhere + other.n_elsewhere
        )
        joined = Facts(
            Coding.union([self.objects, other.objects]), answers, elsewhere, names, self.n_rows + other.n_rows,
            joined_counts(self.dropped, other.dropped),
            {role: types | other.types.get(role, frozenset()) for role, types in (other.types | self.types).items()},
            [*self.alarms, *other.alarms],
            {},
            {pad: _first_pad(place, other.pads[pad]) for pad, place in self.pads.items()},
            self.people_are_numbers and other.people_are_numbers,
        )  # fmt: skip
        for one in (self, other):
            place = joined.objects.encode(one.objects.as_column())
            for role, counts in one.counts.items():
                total = joined.counts.setdefault(role, np.zeros(len(joined.objects), np.int64))
                total[place] += counts
        return joined


def _joined_names(one: dict[str, str] | None, other: dict[str, str] | None) -> dict[str, str] | None:
    if one is None or other is None or any(other.get(key, name) != name for key, name in one.items()):
        return None
    return one | other


def scan(rows: Rows) -> Facts:
    """Collect what must be known of all rows."""
    layout = rows.roles.layout
    try:
        names, _, counts = rows.encoded()
    except ValueError as error:
        raise _bad_number(rows, error) from error
    facts = Facts(names, n_rows=rows.n_rows, dropped=dict(rows.dropped), alarms=[*rows.alarms])
    facts.counts = dict(zip(layout.objects, counts))
    facts.types = {
        role: frozenset(["numbers" if column.values is None else "text"] if len(column.cells) else [])
        for role, column in rows.columns.items()
        if role in (*layout.objects, "weight", "votes_a", "votes_b")
        or (role == "participant" and not column.empty().all())  # a part without a name has no say
    }
    facts.pads = _pads(rows)
    facts.people_are_numbers = "participant" in rows.columns and all(
        map(is_whole, Coding.of([_who(rows)]).names().tolist())
    )
    facts.alarms += told_thousands(rows) if rows.table.form.startswith("semicolon") else []
    if layout.answer is not None:
        facts.answers = Coding.of([rows.answers()])
        if layout.options:
            facts.n_elsewhere = int(np.count_nonzero(rows.chosen() < 0))
    if rows.names:
        for column, name in zip(rows.objects(), rows.names):
            facts.names = _joined_names(facts.names, _names_beside(column.spelled(), name.spelled()))
    return facts


def _of_distinct(facts: Facts, blocks: Any) -> Facts:
    """The same with names counted in distinct rows: questions asked again say nothing new about where names stand."""
    coded = [[facts.objects.encode(column) for column in rows.objects()] for rows in (blocks() if blocks else ())]
    if not coded:
        return facts
    columns = [np.concatenate(parts) for parts in zip(*coded)]
    first = group(columns, len(facts.objects))[0]
    counts = (np.bincount(column[first], minlength=len(facts.objects)) for column in columns)
    return replace(facts, n_rows=len(first), counts=dict(zip(facts.counts, counts)))


def _pads(rows: Rows) -> dict[str, str]:
    """What may stand for candidates that were not shown, as psiz writes them -> whether that is so.

    That is where it first stands, if it does in the last places alone; "-" if nowhere, "" if elsewhere too.
    """
    layout, found = rows.roles.layout, {}
    for pad in ("0", "-1") if "n_chosen" in layout.extra else ():
        anchor, first, *rest = (column.spelled().empty((pad,)) for column in rows.objects())
        padded = np.stack(rest)
        last = not (anchor | first).any() and not (padded[:-1] & ~padded[1:]).any()
        place = rows.place(int(np.argmax(padded.any(axis=0)))) if padded.any() else "-"
        found[pad] = place if last else ""
    return found


def _first_pad(one: str, other: str) -> str:
    """Join what two blocks say of a pad."""
    return "" if "" in (one, other) else other if one == "-" else one


def _bad_number(rows: Rows, error: ValueError) -> FileFormatError:
    for role in rows.roles.layout.objects:
        try:
            whole_numbers(rows.columns[role]) if not rows.columns[role].is_text else None
        except ValueError as problem:
            text = str(problem)
            if text.startswith("row "):
                number = int(text.split()[1]) - 1
                cell = rows.columns[role].cells[number]
                return rows.refusal(f"{cell} {FRACTION}" if cell % 1 else f"{cell:.17g}: {INEXACT}", role, number)
            return rows.table.refusal(TRUTHS, rows.roles.at[role])
    return FileFormatError(f"{rows.table.name}: {error}")


def _names_beside(numbers: Column, names: Column) -> dict[str, str] | None:
    """Number -> name, None if a number has several names or none."""
    if names.empty().any():
        return None
    pairs = distinct(numbers.cells.astype(np.int64) * len(names.texts()) + names.cells)
    keys, texts = numbers.texts(), names.texts()
    found: dict[str, str] = {}
    for pair in pairs.tolist():
        number, name = divmod(pair, len(texts))
        if found.setdefault(keys[number], texts[name]) != texts[name]:
            return None
    return found


ONE_TYPE = "write it with one type, since 7 and '007' may or may not be the same"

# ---- what names and answers mean -----------------------------------------------------------------------------------


@dataclass
class Meaning:
    """What every name and every answer means."""

    names: Coding  # of objects, as written
    numbers: np.ndarray  # the object of each name, int32 (len(names),)
    labels: np.ndarray | None  # (n_objects,); None: objects are called 0, 1, ..., n_objects - 1
    n_objects: int
    answers: Answers | None = None
    notes: list[str] = field(default_factory=list)  # how things were understood
    alarms: list[str] = field(default_factory=list)  # what the user must hear of even if nothing else is shown
    are_numbers: bool = False  # whether objects are called by whole numbers
    people_are_numbers: bool = False  # whether people are

    @cached_property
    def is_injective(self) -> bool:
        """Whether no two names mean the same object."""
        return len(distinct(self.numbers)) == len(self.numbers)

    @cached_property
    def is_identity(self) -> bool:
        """Whether each name's object is its position among the names."""
        return np.array_equal(self.numbers, np.arange(len(self.numbers)))


def resolve(facts: Facts, roles: Roles, table: Table, options: Options, blocks: Any = None) -> Meaning:
    """Decide what every name and every answer means.

    Parameters
    ----------
    facts : Facts
        Of all rows.
    roles : Roles
    table : Table
        For names of columns and messages.
    options : Options
    blocks : callable, optional
        Gives the `Rows` of every block again, to find the place of what is refused.
    """
    if not len(facts.objects.values):
        why = nothing_left(facts.dropped, False) if facts.dropped else "has column names but no rows"
        raise FileFormatError(f"{table.name}: {why}")
    for role, types in facts.types.items():
        if len(types) > 1:
            raise table.refusal(f"some parts hold it as text and some as numbers; {ONE_TYPE}", roles.at[role])
    kinds = kinds_of_cells(facts, roles, table)
    if options.labels is None and table.labels is None:
        refuse_no_objects(facts, kinds, roles, table, options, blocks)
    meaning = _objects(facts.objects, table, options, blocks)
    meaning.people_are_numbers = facts.people_are_numbers
    if options.known is not None and set(facts.objects.names()) <= set(options.known):
        meaning.alarms, facts.alarms = [], []
    meaning.alarms += [*table.alarms, *roles.alarms, *(roles.doubts or ()), *facts.alarms]
    written_here = table.labels is not None or table.n_objects is not None
    if not roles.says_objects and not written_here and options.known is None:
        apart = told_apart(facts, kinds, roles, table)
        meaning.alarms += told_apart(_of_distinct(facts, blocks), kinds, roles, table) if apart else []
    for pad, place in facts.pads.items() if options.labels is None and options.index_base is None else ():
        if place not in ("", "-"):
            meaning.alarms.append(
                f"{pad} stands in the last places alone (first at {place}) and is taken as an object; if it means that "
                "no more candidates were shown, leave such cells empty"
            )
    if roles.names_at and options.labels is None and meaning.are_numbers:
        _name_by_columns(meaning, facts.names, [table.names[spot] for spot in roles.names_at])
    if facts.answers is not None:
        option_names = [table.names[roles.at[role]] for role in roles.layout.options] or ["", ""]

        def meant(cells: list[str]) -> Answers | str:
            return read_answers(cells, facts.n_elsewhere, option_names, options.answers)

        read = meant(facts.answers.names().tolist())
        if isinstance(read, str) and options.answers is not None:
            raise _unread_as_told(table, roles, read, meant, blocks)
        if isinstance(read, str) or (read.codes is None and facts.n_elsewhere):
            raise _unread_answer(table, roles, read, facts, blocks)
        meaning.answers = read
        places = [roles.at[role] for role in roles.layout.options]
        if read.codes is not None and options.answers is None and places != sorted(places) and not read.by_name:
            first = table.title(roles.at[roles.layout.options[0]])
            meaning.alarms.append(
                f"the first option is taken to be {first}, although that is not the first of their columns"
            )
        meaning.notes += [read.note] if read.note else []
    return meaning


def _first(blocks: Any, marked: Callable[[Rows], np.ndarray]) -> tuple[Rows, int] | None:
    """Find the first row that is marked, in which block; None if none is, or the blocks are gone."""
    for rows in blocks() if blocks else ():
        if (mask := marked(rows)).any():
            return rows, int(np.argmax(mask))
    return None


def _unread_as_told(table: Table, roles: Roles, why: str, meant: Any, blocks: Any) -> FileFormatError:
    """Refuse answers that cannot be read as the user told, with the first row of them."""
    role = roles.layout.extra[0]

    def strange(rows: Rows) -> np.ndarray:
        answer = rows.answers()
        return np.array([isinstance(meant([text]), str) for text in answer.texts()], dtype=bool)[answer.cells]

    place = _first(blocks, strange)
    return table.refusal(why, roles.at[role]) if place is None else place[0].refusal(why, role, place[1])


def _unread_answer(table: Table, roles: Roles, why: str | Answers, facts: Facts, blocks: Any) -> FileFormatError:
    """Refuse answers: with the first row that names no object shown, where most rows do, else with the ambiguity."""
    role = roles.layout.extra[0]
    some = facts.n_elsewhere is not None and 0 < 2 * facts.n_elsewhere <= facts.n_rows
    if isinstance(why, str) and not some:
        return table.refusal(why, roles.at[role])
    hint = f"; {why.partition('; ')[2]}" if isinstance(why, str) and "; " in why else ""
    place = _first(blocks, lambda rows: rows.chosen() < 0)
    if place is not None:
        rows, row = place
        text = f"{shown(rows.answers().cell(row))} is none of the objects shown in that row"
        many = f" ({counted(facts.n_elsewhere or 0, 'such row')} of {facts.n_rows:,})"
        return rows.refusal(text + many + hint, role, row)
    text = f"{counted(facts.n_elsewhere or 0, 'answer')} of {facts.n_rows:,} name none of the objects shown{hint}"
    return table.refusal(text, roles.at[role])


def _objects(raw: Coding, table: Table, options: Options, blocks: Any) -> Meaning:
    """Number the objects: names in code point order, whole numbers by size."""
    notes: list[str] = []
    alarms: list[str] = []
    labels = options.labels if options.labels is not None else table.labels
    n_objects = options.n_objects if options.n_objects is not None or options.labels is not None else table.n_objects
    is_text, hint = raw.is_text, ""
    names = raw.names() if is_text else np.empty(0, str)  # of numbers, only where they turn out to be names
    if is_text:
        whole = list(itertools.takewhile(lambda number: number is not None, map(whole_number, names.tolist())))
        numbers = np.array(whole) if len(whole) == len(names) else None
    else:
        numbers = raw.values if raw.values[0] >= 0 else None
    if numbers is not None and labels is not None:
        # Labels may be numbers themselves, however written. Numbers beside stored labels count them; texts are labels.
        may_be_names = is_text if options.labels is None else options.index_base is None
        if may_be_names and not set(map(whole_number, labels.tolist())).isdisjoint(numbers.tolist()):
            numbers, hint = None, "; say index_base=0 if the numbers count the labels"
    if numbers is None:
        names = names if is_text else raw.names()
        if not is_text and raw.values[0] < 0 and (options.index_base is not None or n_objects is not None):
            worst = str(raw.values[0])
            raise _refused_cell(table, {worst}, lambda _: f"object number {worst} is negative", blocks)
        if options.index_base is not None or (labels is None and options.n_objects is not None):
            of_numbers = options.index_base is not None
            said, remedy = ("index_base", "") if of_numbers else (f"n_objects={options.n_objects}", "; pass labels=")
            such = next((f" such as {shown(name)}" for name in names.tolist() if not is_whole(name)), "")
            raise FileFormatError(
                f"{table.name}: {said} is for objects that are numbers, here they have names{such}{remedy}"
            )
        texts = raw.as_column().spelled().values
        alarms += doubts_of(texts, options.keep_na) if labels is None else []
        joined = joined_if_alike(texts, options.fold_names, notes, alarms)
        if labels is None:
            labels, places = names, np.arange(len(names))  # in order already, and each once
            if joined is not None or not is_text:
                labels, places = np.unique(names if joined is None else joined, return_inverse=True)
        else:
            key = fold_key if options.fold_names else str
            place = {key(label): spot for spot, label in reversed([*enumerate(labels.tolist())])}
            places = np.array([place.get(key(name), -1) for name in names.tolist()])
            if (places < 0).any():
                unknown = set(names[places < 0].tolist())
                more = f" (and {counted(len(unknown) - 1, 'more name')})" if len(unknown) > 1 else ""
                text = f"is not one of the {len(labels):,} known labels{more}{hint}"
                raise _refused_cell(table, unknown, lambda cell: f"{shown(cell)} {text}", blocks)
        return Meaning(raw, places.astype(np.int32), np.asarray(labels), len(labels), None, notes, alarms)
    return _numbered(raw, numbers, table, options, labels, n_objects, blocks, notes)


def _refused_cell(table: Table, names: set[str], why: Callable[[str], str], blocks: Any) -> FileFormatError:
    """Refuse some names of objects, with the place of the first cell that holds one."""
    for rows in blocks() if blocks else ():
        found = []
        for order, role in enumerate(rows.roles.layout.objects):
            column = rows.columns[role].spelled()
            bad = np.isin(column.cells, [code for code, name in enumerate(column.texts()) if name in names])
            if bad.any():
                row = int(np.argmax(bad))
                found.append((row, order, role, str(column.cell(row))))
        if found:
            row, _, role, cell = min(found)
            return rows.refusal(why(cell), role, row)
    return FileFormatError(f"{table.name}: {why(sorted(names)[0])}")


def _numbered(
    raw: Coding,
    numbers: np.ndarray,
    table: Table,
    options: Options,
    labels: np.ndarray | None,
    n_objects: int | None,
    blocks: Any,
    notes: list[str],
) -> Meaning:
    """Number objects that are called by whole numbers; they keep their numbers as names."""
    alarms: list[str] = []
    if raw.is_text and not all(map(is_whole, raw.names().tolist())):
        notes.append("whole numbers written with a decimal point are read as whole numbers")
    lowest, highest = int(numbers.min()), int(numbers.max())
    if labels is not None or n_objects is not None or options.index_base is not None:
        base = options.index_base or 0
        if table.counts_from and options.index_base is None and options.n_objects is None:
            base = min(lowest, table.counts_from)
            notes.append(f"the numbers count the objects from {base} (see index_base)")
        limit = len(labels) if labels is not None else n_objects
        top = (INDEX_LIMIT if limit is None else limit) + base - 1
        if lowest < base or highest > top:
            hint = "; are they counted from 1? then say index_base=1" if limit and highest == limit and not base else ""
            worst = lowest if lowest < base else highest
            why = f"object number {worst} is outside {base}..{top}{hint}"
            raise _refused_cell(table, {str(worst)}, lambda _: why, blocks)
        if labels is not None and lowest > base == 0 and options.index_base is None and table.n_objects is None:
            alarms.append(
                "0 does not occur among the numbers, which count the labels from 0; if from 1, say index_base=1"
            )
        size = limit if limit is not None else highest + 1 - base
        _refuse_sparse(table, size, len(numbers), limit)
        if base and labels is None:
            labels = np.arange(base, size + base).astype(str)
        return Meaning(raw, (numbers - base).astype(np.int32), labels, size, None, notes, alarms, True)
    distinct, places = np.unique(numbers, return_inverse=True)
    labels = None
    if lowest > 0 or len(distinct) < highest + 1:
        labels = distinct.astype(str)
        gaps = "" if len(distinct) == highest - lowest + 1 else " (with gaps)"
        notes.append(f"the numbers {lowest} to {highest}{gaps} are names of objects (see index_base, n_objects)")
    return Meaning(raw, places.astype(np.int32), labels, len(distinct), None, notes, [], True)


def _refuse_sparse(table: Table, size: int, n_names: int, told: int | None) -> None:
    if told is None and size > 100 * n_names + 10_000:
        raise FileFormatError(
            f"{table.name}: object numbers go up to {size - 1:,}, but only {n_names:,} of them occur; "
            "leave index_base out to take them as names, or say n_objects= to ask for all of them"
        )


def _name_by_columns(meaning: Meaning, names: dict[str, str] | None, titles: list[str]) -> None:
    """Give numbered objects the names found in the columns beside them, if each has just one of its own."""
    size = meaning.n_objects
    found = {} if names is None else {int(number): name for number, name in names.items() if is_whole(number)}
    if names is None or len(found) < size or len(set(found.values())) < size:
        meaning.notes.append(f"columns {listed(titles)} do not name each object apart and are left out")
        return
    by_place = dict(zip(meaning.numbers.tolist(), (int(float(name)) for name in meaning.names.names())))
    meaning.labels = np.array([found[by_place[place]] for place in range(size)], dtype=str)
    meaning.notes = [note for note in meaning.notes if "are names of objects" not in note]
    meaning.notes.append(f"objects named by {listed(titles)}")


# ---- comparisons ---------------------------------------------------------------------------------------------------

_SHAPES = {
    "triplets": rules.EITHER, "quadruplets": rules.EITHER, "answers": rules.QUESTIONS, "votes": rules.QUESTIONS,
    "odd-one-out": rules.SETS, "most-central": rules.SETS, "rankings": rules.RANKINGS,
}  # fmt: skip


def rows_to_parts(rows: Rows, meaning: Meaning, options: Options) -> Parts | None:
    """Turn the rows of a block into comparisons, None if no row is left, or none that counts.

    `Parts.keep` marks the rows of the table that were used.
    """
    try:
        return _parts(rows, meaning, options)
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(f"{rows.table.name}: {error}") from error


def _parts(rows: Rows, meaning: Meaning, options: Options) -> Parts | None:
    layout = rows.roles.layout
    index = _leave_out_degenerate(rows, meaning, options)
    choice: Any = None
    if meaning.answers is not None:
        choice = _choices(rows, meaning.answers)
    if not len(index):
        return None
    weights = _amounts(rows, "weight", "a weight") if "weight" in rows.columns else None
    if weights is not None:
        if not weights.any():
            return None
        weights = check_weights(weights, None)
    keep = None
    if rows.origin is not None:
        keep = np.zeros(rows.n_rows, dtype=bool)
        keep[rows.origin] = True
    people = _people(rows, meaning.people_are_numbers) if "participant" in rows.columns else None
    beside = rows.columns.keys() & {*DETAILS, *OPTIONS_SHOWN}
    details, rows.notes = read_details(rows, index, people) if beside else (None, [])
    parts = Parts(index, meaning.n_objects, weights, meaning.labels, people, details=details)
    if layout.kind in ("triplets", "quadruplets"):
        return replace(parts, keep=keep)
    if layout.kind == "rankings":
        return _ranked(rows, parts)
    if layout.kind == "votes":
        return _voted(parts, np.stack([_amounts(rows, role, "a number of votes") for role in layout.extra], axis=1))
    if layout.kind == "answers":
        if (np.abs(choice) == 1).all():
            return making.answered(parts, choice > 0)
        return _voted(parts, np.stack([np.maximum(choice, 0), np.maximum(-choice, 0)], axis=1))
    picked = parts.index[:, 2] if choice is None else parts.index[np.arange(len(choice)), choice.astype(np.int64)]
    make = making.odd_one_out if layout.kind == "odd-one-out" else making.most_central
    return make(parts, picked)


def _voted(parts: Parts, votes: np.ndarray) -> Parts | None:
    """Turn questions and votes (n, 2) into comparisons, None if no vote counts."""
    counting = votes if parts.weights is None else votes * parts.weights[:, None]
    return making.voted(parts, votes) if counting.any() else None


def _coded(rows: Rows, meaning: Meaning) -> np.ndarray:
    numbers = None if meaning.is_identity else meaning.numbers
    if rows.coded is not None and rows.coded[0] is meaning.names:
        index = rows.coded[1] if numbers is None else numbers[rows.coded[1]]
    else:
        index = np.stack([meaning.names.encode(column, numbers) for column in rows.objects()], axis=1)
    if index.size and index.min() < 0:
        row = int(np.argmax((index < 0).any(axis=1)))
        cells = ", ".join(str(column.cell(row)) for column in rows.objects())
        raise FileFormatError(
            f"{rows.table.name}, {rows.place(row)} is ({cells}): an object that was not there when the data were first "
            "read; the data have changed since"
        )
    return index


def _leave_out_degenerate(rows: Rows, meaning: Meaning, options: Options) -> np.ndarray:
    """Leave out rows that compare an object with itself, counted by reason, or refuse them; gives the index left."""
    index = _coded(rows, meaning)
    total = np.zeros(len(index), dtype=bool)
    found: dict[str, np.ndarray] = {}
    judged = index
    if rows.n_shown is not None:  # candidates that were not shown are no faults
        place = np.arange(index.shape[1])
        judged = np.where(place > rows.n_shown[:, None], -1 - place, index)
    for mask, reason in _SHAPES[rows.roles.layout.kind].faults(judged):
        if mask.any() and (bad := mask & ~total).any():
            found[reason] = bad
            total |= bad
    if not found:
        return index
    if options.on_degenerate == "raise":
        first, count, reason = min((int(np.argmax(bad)), int(np.count_nonzero(bad)), why) for why, bad in found.items())
        cells = ", ".join(str(column.cell(first)) for column in rows.objects())
        more = f" ({counted(count, 'such row')})" if count > 1 else ""
        hint = "" if rows.table.is_index else "; say on_degenerate='drop' to leave such rows out"
        raise FileFormatError(f"{rows.table.name}, {rows.place(first)} is ({cells}): {reason}{more}{hint}")
    rows.leave_out(found)
    rows.n_degenerate = int(np.count_nonzero(total))
    return index[~total]


def _choices(rows: Rows, answers: Answers) -> np.ndarray:
    """Read what each row answers; see `Answers`."""
    if answers.codes is None:
        chosen = rows.chosen()
        said = 1.0 - 2.0 * chosen if len(rows.roles.layout.options) == 2 else chosen.astype(np.float64)
    else:
        answer = rows.answers()
        said = np.array([answers.codes.get(text, np.nan) for text in answer.texts()], np.float64)[answer.cells]
    return -said if rows.roles.layout.answer == "far" else said


def _amounts(rows: Rows, role: str, what: str) -> np.ndarray:
    """Read a column of numbers that are 0 or more."""
    numbers, bad = rows.columns[role].as_numbers()
    bad |= ~(numbers >= 0) | np.isinf(numbers)
    if bad.any():
        count, row = int(np.count_nonzero(bad)), int(np.argmax(bad))
        cell = shown(rows.columns[role].spelled().cell(row))
        hint = " (write decimals with a point)" if "," in cell else ""
        more = f"; {counted(count, 'such cell')} in this column" if count > 1 else ""
        raise rows.refusal(f"{cell} is not {what}, 0 or more{hint}{more}", role, row)
    return numbers


def _who(rows: Rows) -> Column:
    """The names of those who answered, as text or integers; answers without a name are put under "unknown"."""
    column = rows.columns["participant"]
    inexact = np.abs(column.cells) >= exact_below(column.cells)
    if inexact.any():
        row = int(np.argmax(inexact))
        why = f"{column.cells[row]:.0f}: numbers of this size and kind lose their last digits, and people with them"
        raise rows.refusal(f"{why}; give them as text", "participant", row)
    if column.cells.dtype.kind == "i" and not column.is_text:
        return column
    column = column.spelled()
    empty = column.empty(rows.nobody)
    if empty.any():
        import pyarrow as pa

        codes = np.where(empty, len(column.texts()), column.cells).astype(np.int32)
        column = Column(codes, pa.array([*column.texts(), UNKNOWN], pa.string()))
    return column


def _people(rows: Rows, are_numbers: bool) -> People:
    """Read who answered."""
    people = People.of(_who(rows))
    if are_numbers != (people.names.dtype.kind == "i"):
        names = people.names.astype(np.int64) if are_numbers else people.names.astype(str).astype(object)
        people = People.joined([People(people.codes, names)])  # sorted anew
    return people


def _ranked(rows: Rows, parts: Parts) -> Parts:
    """Read rankings: all candidates in order, or the first `n_chosen` of them, in order or not."""
    n_shown = np.full(len(parts.index), parts.index.shape[1] - 1) if rows.n_shown is None else rows.n_shown
    told = {"n_chosen": n_shown - 1, "ordered": np.ones(len(parts.index), np.int64)}
    for role in sorted(rows.roles.layout.extra, reverse=True):  # of all that were shown, in no order, nothing is told
        column = rows.columns[role].spelled().plain()
        most = n_shown - (told["ordered"] == 0)
        low, high, read = (0, 1, yes_or_no) if role == "ordered" else (1, most, whole_number)
        values = np.array([-1 if (number := read(word)) is None else number for word in column.texts()])[column.cells]
        bad = (values < low) | (values > high)
        if bad.any():
            row = int(np.argmax(bad))
            expected = "true or false" if role == "ordered" else f"a number from 1 to {most[row]}"
            raise rows.refusal(f"{shown(column.cell(row))} is not {expected}", role, row)
        told[role] = values
    return making.ranked_each(parts, n_shown, told["n_chosen"], told["ordered"])


# ---- all of it, for data in memory ---------------------------------------------------------------------------------


def read_table(table: Table, options: Options) -> tuple[Parts, Rows, list[str], list[str]]:
    """Turn a table into comparisons: their parts, the rows they come from, notes and alarms for the user."""
    roles = find_roles(table, options)
    rows = Rows.of(table, roles, options)
    if roles.doubts is not None and rows.beside and len(rows.objects()[0].cells):
        columns = {roles.at[role]: column for role, column in rows.columns.items()} | rows.beside
        roles.doubts = told_beside(table, roles, ROLE_OF, spread_cells(columns), [*rows.beside])
    meaning = resolve(scan(rows), roles, table, options, lambda: [rows])
    notes = spoken_notes(rows, meaning)
    parts = rows_to_parts(rows, meaning, options)
    if parts is None:
        raise FileFormatError(f"{table.name}: {nothing_left(rows.dropped, 'weight' in roles.at)}")
    dropped = {**parts.dropped, **({"degenerate": rows.n_degenerate} if rows.n_degenerate else {})}
    notes = [*table.notes, *roles.notes, *meaning.notes, *notes, *rows.notes]
    alarms = [*meaning.alarms, *(told_contradicting(rows, parts.index) if rows.beside else ()), *_told_twice(parts)]
    if parts.people is not None and parts.people.names.dtype.kind == "O":
        alarms += [*told_of_people(parts.people.names, rows.nobody == ("",))]
    return replace(parts, dropped=dropped), rows, notes, alarms


_ENOUGH = 100_000  # rows, to see whether answers stand twice


def _told_twice(parts: Parts) -> list[str]:
    """Tell of answers that stand twice: the same question, answered alike by one person in one trial, or as fast."""
    details, people = parts.details, parts.people
    order, seconds = (None, None) if details is None else (details.order, details.seconds)
    if people is None:
        return []
    if order is not None:
        known, told, same = order >= 0, order, "number of the trial"
    elif seconds is not None:
        known, told, same = ~np.isnan(seconds), np.unique(seconds, return_inverse=True)[1], "response time"
    else:
        return []
    every = max(len(known) // _ENOUGH, 1)  # of many, those of some people will do
    known &= people.codes % every == 0
    question, _ = rules.same_question(parts.index)  # also one that is answered the other way the second time
    columns = [column[known].astype(np.int64) for column in (*question, people.codes, told)]
    if not len(columns[0]):
        return []
    span = int(max(map(np.max, columns))) + 1
    asked, all_same = (np.bincount(group(some, span)[1]) for some in (columns[:-1], columns))
    twice = int(np.sum(all_same - 1))
    if order is None:  # some take as long by chance
        share = np.bincount(columns[-1]) / len(columns[-1])
        by_chance = np.sum(asked * (asked - 1.0)) / 2 * np.sum(share**2)
        twice = twice if twice > 3 * by_chance + 2 else 0
    few = "" if every == 1 else "at least "
    what = f"{few}{counted(twice, 'comparison')} with the participant, {same} and objects of another"
    return [f"{what}; if the same answers stand there twice, take them out"] if twice else []


def nothing_left(dropped: Mapping[str, tuple[int, str]], weighted: bool) -> str:
    """Say why a table gives no comparison."""
    what = [f"{counted(count, 'row')} dropped: {reason}" for reason, (count, _) in sorted(dropped.items())]
    if what:
        return f"no row is left ({listed([*what, *(['rows of weight 0 do not count'] if weighted else [])])})"
    return f"no row counts: all {'weights, ' if weighted else ''}votes or answers are 0"


def spoken_notes(rows: Rows, meaning: Meaning) -> list[str]:
    """Notes about the rows themselves: undecided answers, questions without votes, people without a name."""
    notes = []
    layout = rows.roles.layout
    if layout.kind == "votes":
        votes = [rows.columns[role].as_numbers()[0] for role in layout.extra]
        none = int(np.count_nonzero((votes[0] == 0) & (votes[1] == 0)))
        notes += [f"{counted(none, 'question')} without votes give no comparison"] if none else []
    if meaning.answers is not None and meaning.answers.codes is not None and 0.0 in meaning.answers.codes.values():
        undecided = int(np.count_nonzero(_choices(rows, meaning.answers) == 0)) if len(layout.options) != 3 else 0
        notes += [f"{counted(undecided, 'undecided answer')} (0) give no comparison"] if undecided else []
    fewer = 0 if rows.n_shown is None else int(np.count_nonzero(rows.n_shown < len(layout.objects) - 1))
    notes += [f"{counted(fewer, 'ranking')} of fewer candidates than the others"] if fewer else []
    if "participant" in rows.columns:
        nameless = int(np.count_nonzero(rows.columns["participant"].empty(rows.nobody)))
        if nameless:
            notes.append(f"{counted(nameless, 'answer')} without a participant put under {UNKNOWN!r}")
    return notes


def warn_of(name: str, alarms: Iterable[str], dropped: Mapping[str, tuple[int, str]]) -> None:
    """Warn, at the line outside this package, of what is doubtful about a table, and of rows left out."""
    frame, level, outside = sys._getframe(), 1, 1
    while frame.f_back is not None:  # to the end: between two functions of this package others may stand
        frame, level = frame.f_back, level + 1
        if frame.f_globals.get("__name__", "").startswith("nearer"):
            outside = level + 1
    for note in (*alarms, *told_dropped(dropped)):
        warnings.warn(f"{name}: {note}", stacklevel=outside)


def parts_of_table(X: Any, options: Options, weights: Any = None, participants: Any = None) -> Parts:
    """Turn a table in memory into the parts of comparisons; what is left out or doubtful is warned about.

    Parameters
    ----------
    X : see `as_table`
    options : Options
    weights, participants : array-like of shape (N,), optional
        Beside the table, one for each of its rows; weights multiply those that the table has.
    """
    for name, beside in (("weights", weights), ("participants", participants)):
        refuse_other_order(X, beside, name)
    table = with_header(as_table(X), only_known=True)
    table, options = _with_columns(table, options, weights, participants)
    parts, rows, notes, alarms = read_table(table, options)
    warn_of(table.name, alarms, rows.dropped)
    for note in notes:
        logger.info("%s: %s", table.name, note)
    return parts


def _with_columns(table: Table, options: Options, weights: Any, participants: Any) -> tuple[Table, Options]:
    """Add weights and participants to a table as further columns."""
    if weights is None and participants is None:
        return table, options
    assert isinstance(table, MemoryTable)
    roles = find_roles(table, options)
    names, columns = list(table.names), list(table.columns)
    n_rows = len(table.read(roles.positions[:1])[0])
    told: dict[str, Any] = {}
    if weights is not None:
        weights = check_weights(weights, n_rows)
        if "weight" in roles.at:
            weights = weights * table.read([roles.at["weight"]])[0].as_numbers()[0]
        names, columns = [*names, "sample_weight"], [*columns, weights]
        told["weight"] = len(names)
    if participants is not None:
        people = check_people(participants, n_rows)
        names, columns = [*names, "participants"], [*columns, None if people is None else people.each()]
        told["participant"] = len(names)
    kept = {*roles.layout.roles, *(roles.told & DETAILS.keys())}
    layout = {role: spot + 1 for role, spot in roles.at.items() if role in kept}
    found = options.columns is None
    options = replace(options, columns=layout, columns_found=found, **told)
    return replace(table, names=names, columns=columns, alarms=[*table.alarms, *roles.alarms]), options
