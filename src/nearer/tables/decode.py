"""From the cells of a table, or of one block of it, to answers and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from nearer.data.answers import DETAILS, NOT_SELECTED, Flow
from nearer.data.coded import UNKNOWN, Coded, Column, column_of, distinct, names_in
from nearer.data.constructors import Asked, Parts, assemble
from nearer.data.messages import FileFormatError, counted, first_of, listed, plain, shown, shown_cell
from nearer.data.validate import EXACT_BELOW, INDEX_LIMIT, is_number_text, is_whole, not_whole
from nearer.tables.layout import BLANK, NONE, OPTIONAL, SKIP, Layout
from nearer.tables.refusal import Refusal
from nearer.tables.resolve import Plan
from nearer.tables.table import Table

Dropped = dict[str, tuple[int, str]]  # reason -> rows left out, and where the first is
_SHOWN_CODES = 6
_SAMPLE, _FEW_VALUES = 200, 4  # rows whose unused columns are looked at, and how many values are listed
SIDES = (("first", "left", "a", "1"), ("second", "right", "b", "2"), ("third", "c", "3"))
# Columns of numbers -> what they become, and what an empty cell means; None: it must be filled.
_NUMBERS: dict[str, tuple[str, float | None]] = {
    "weight": ("weights", None), "votes_a": ("votes_a", 0.0), "votes_b": ("votes_b", 0.0),
    "seconds": ("seconds", np.nan), "milliseconds": ("seconds", np.nan), "order": ("order", -1),
    "answer_number": ("number", None), "votes": ("votes", None),
}  # fmt: skip
_SIDES = {word: place for place, names in enumerate(SIDES) for word in names}
_SIDES |= {f"option{number}": number - 1 for number in range(1, 128)}
_TRUTH = dict.fromkeys(("yes", "y", "true", "1", "1.0"), 1) | dict.fromkeys(("no", "n", "false", "0", "0.0"), 0)
_YES_OR_NO = (_TRUTH, "yes or no, true or false, 1 or 0")
# Columns of words -> what these mean, and what is expected.
_WORDS = {
    "side": (_SIDES, "left, right, first, second, third, 1, 2 or 3"),
    "catch": _YES_OR_NO, "correct": _YES_OR_NO, "ordered": _YES_OR_NO,
}  # fmt: skip
_ABOUT = (*DETAILS, "participant", "kind", "votes")  # fields of `Answers`


@dataclass(frozen=True)
class Objects:
    names: Column
    numbers: np.ndarray  # the object of each name, int32 (len(names),)
    labels: np.ndarray | None  # (n_objects,); None: objects are called 0, 1, ..., n_objects - 1
    n_objects: int


@dataclass
class Decoded:
    """Rows that count, as questions about `names`."""

    asked: Asked
    names: Column
    n_rows: int  # of the table
    dropped: Dropped
    notes: list[str]
    people: frozenset[str] | None = None  # who answered, in rows that are left out later as well
    flows: tuple[Flow, ...] = ()  # as stored by this package

    def parts(self, objects: Objects | None = None) -> Parts:
        """The comparisons, of objects or of names."""
        if objects is None:
            return assemble(replace(self.asked, n_objects=len(self.names)))
        numbers, rows = objects.numbers, self.asked.rows
        if self.names is not objects.names:
            numbers = numbers[objects.names.find(self.names)]
        if not np.array_equal(numbers, np.arange(len(numbers))):
            rows = np.append(numbers, np.int32(-1)).take(rows, mode="wrap")  # -1 is no object
        return assemble(replace(self.asked, rows=rows, n_objects=objects.n_objects, labels=objects.labels))


def join_dropped(one: Dropped, other: Dropped) -> Dropped:
    total = dict(one)
    for reason, (count, place) in other.items():
        before, first = total.get(reason, (0, place))
        total[reason] = before + count, first
    return total


def columns_of(table: Table, cells: Mapping[int, Any]) -> dict[int, Column]:
    """Columns by position, from the cells that a table gives; `FileFormatError` for neither text nor numbers."""
    found = {}
    for position, some in cells.items():
        try:
            found[position] = column_of(some)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise FileFormatError(f"{table.name}: {table.title(position)}: {str(error).splitlines()[0]}") from error
    if len({len(column) for column in found.values()}) > 1:
        sizes = ", ".join(f"{table.title(position)} {len(column):,}" for position, column in found.items())
        raise FileFormatError(f"{table.name}: the columns differ in length: {sizes}")
    return found


def decode(
    table: Table, plans: Sequence[Plan], cells: Mapping[int, Any], known: Column | None = None
) -> tuple[list[Decoded], Dropped]:
    """The questions of each plan in a table, or in a block whose names are `known`, and the rows that are left out."""
    columns = columns_of(table, cells)
    found = [_decoded(table, plan, columns, known) for plan in plans]
    if len(found) == 1:
        return found, found[0].dropped
    n_rows, left = found[0].n_rows, found[0].n_rows
    for one in found:
        others = [one.dropped.pop(reason)[0] for reason in [*one.dropped] if reason.startswith(NOT_SELECTED)]
        left -= n_rows - sum(others)
    if left < 0 or not all(plan.where for plan in plans):
        raise FileFormatError(f"{table.name}: the layouts select a row twice; give each another `where`")
    total = reduce(join_dropped, (one.dropped for one in found))
    return found, total | ({NOT_SELECTED: (left, "one of them")} if left else {})


def _decoded(table: Table, plan: Plan, read: Mapping[int, Column], known: Column | None) -> Decoded:
    rows, form = _Rows(table, plan, read), plan.form
    rows.select()
    rows.leave_out_empty()
    rows.read_details()
    names = rows.code_objects(known)
    n_coded = len(rows)
    rows.read_choice(names)
    rows.read_n_chosen()
    if known is None and len(rows) < n_coded:
        names = rows.drop_unused(names)
    rows.check_second_coding()
    found = rows.found
    about = {name: found.pop(name) for name in _ABOUT if name in found}
    if form.kind == "votes":
        found["votes"] = np.stack([found.pop(role) for role in form.said], axis=1)
    asked = Asked(form.asked, known=about, **found)
    return Decoded(asked, names, rows.n_rows, rows.dropped, rows.notes, rows.people, rows.flows)


class _Rows:
    def __init__(self, table: Table, plan: Plan, read: Mapping[int, Column]) -> None:
        self.table, self.plan, self.layout, self.form = table, plan, plan.layout, plan.form
        self.columns: dict[Any, Column] = {role: read[at].without(plan.layout.missing) for role, at in plan.at.items()}
        self.columns |= {("also", role): read[position] for role, position in plan.also.items()}
        self.columns |= {("where", position): read[position] for position in plan.where}
        self.n_rows = len(next(iter(read.values())).cells)
        self.origin = np.arange(self.n_rows)  # the row of the table that each row comes from
        self.found: dict[str, Any] = {}  # fields of `Asked` and of `Answers`
        self.dropped: Dropped = {}
        self.notes: list[str] = []
        self.people: frozenset[str] | None = None
        self.flows = self._read_flows() if "flow" in self.columns else ()

    def __len__(self) -> int:
        return len(self.origin)

    def place(self, row: int) -> str:
        return self.table.place(int(self.origin[row]))

    def refusal(self, why: str, role: str, row: int, remedy: Layout) -> Refusal:
        where = f"{self.place(row)}, {self.table.title(self.plan.at[role])}"
        return Refusal(self.table, f"{where}: {why}", [remedy])

    def leave_out(self, mask: np.ndarray, reason: str) -> None:
        if not mask.any():
            return
        place = self.place(int(np.argmax(mask)))
        self.dropped = join_dropped(self.dropped, {reason: (int(np.count_nonzero(mask)), place)})
        keep = ~mask
        self.columns = {key: column.take(keep) for key, column in self.columns.items()}
        self.found = {name: values[keep] for name, values in self.found.items()}
        self.origin = self.origin[keep]

    def bad(self, mask: np.ndarray, role: str, reason: str, why: str) -> None:
        """Refuse rows that cannot be read, with the first of them, or drop them as declared."""
        if not mask.any():
            return
        if self.layout.on_bad_rows == "drop":
            self.leave_out(mask, reason)
            return
        row, more = int(np.argmax(mask)), first_of(int(np.count_nonzero(mask)), "such rows")
        cell = self.columns[role].spelled().cell(row)
        aside = role in OPTIONAL and role != "catch"  # a check that is not known as such would become an answer
        remedy = Layout().with_columns({role: NONE}) if aside else Layout(on_bad_rows="drop")
        if role in _NUMBERS and "," in (cell or ""):
            remedy = Layout(decimal_comma=True)
        got = "an empty cell" if cell is None or not cell.strip() else shown(cell)
        raise self.refusal(f"got {got}, expected {why}{more}", role, row, self.plan.declared.updated(remedy))

    def select(self) -> None:
        """Leave out rows that repeat the header or belong to it, and those that a condition does not select."""
        if self.layout.skip_rows and not getattr(self.table, "first_row", 0):
            self.leave_out(np.arange(self.n_rows) < self.layout.skip_rows, "further header row")
        titles = {role: self.table.names[position] for role, position in self.plan.at.items()}
        named, repeated = np.ones(len(self), bool), np.ones(len(self), bool)
        for role, title in titles.items():
            if named.any():
                named &= self.columns[role].is_among([*titles.values()], any_case=True)
                repeated &= self.columns[role].is_among([title], any_case=True)
        if (named & ~repeated).any():
            why = "got names of columns in another order, expected an answer; give each table a separate file"
            raise FileFormatError(f"{self.table.name}, {self.place(int(np.argmax(named & ~repeated)))}: {why}")
        self.leave_out(repeated & named, "header repeated")
        for position, values in self.plan.where.items():
            column = self.columns["where", position].spelled()
            numbers = {float(value) for value in values if is_number_text(value)}
            texts = [text.strip() for text in column.texts()]
            kept = [text in values or (is_number_text(text) and float(text) in numbers) for text in texts]
            others = f"{self.table.title(position)} is not {listed(value or 'blank' for value in values)}"
            self.leave_out(~np.array([*kept, "" in values])[column.cells], f"{NOT_SELECTED}: {others}")

    def leave_out_empty(self) -> None:
        """Leave out rows without objects or without an answer; a row that lacks an object is a bad row."""
        form = self.form
        gaps = [role for role in form.objects if self._empty(role).any()]
        if gaps and "answer_number" not in self.columns:  # else they are attention checks
            self.leave_out(self._empty(*form.objects), "no objects")
        if "participant" in self.columns:
            who = self.columns["participant"]
            unknown = [UNKNOWN] if who.empty().any() else []
            self.people = frozenset([*who.used().to_pylist(), *unknown])
        if form.answer is not None:
            answer = self.columns[form.answer].spelled()
            skipped = {cell: 0 for cell, option in self.layout.answers.items() if option == SKIP}
            self.leave_out((_looked_up(answer, skipped) == 0) | self._empty(form.answer), "no answer")
        elif form.kind == "votes":
            self.leave_out(self._empty(*form.said), "no answer")
        for role in gaps:
            lacks = self._empty(role) & ~self._empty(*form.objects)
            if form.kind == "rankings" and form.objects.index(role) > 2:  # a ranking may be shorter than others
                lacks &= ~self._empty(*form.objects[form.objects.index(role) :])
            self.bad(lacks, role, "missing cell", "an object")

    def _empty(self, *roles: str) -> np.ndarray:
        return np.logical_and.reduce([self.columns[role].empty() for role in roles])

    def code_objects(self, known: Column | None) -> Column:
        """Code the cells that hold objects, int32 (n_rows, n_columns), -1 for an empty one; gives the names."""
        for role in self.form.objects:
            numbers = self.columns[role].cells
            if numbers.dtype.kind == "f":
                bad = not_whole(numbers) & ~np.isnan(numbers)
                self.bad(bad, role, "no name", "a name or a whole number that a float can hold")
                if self._empty(role).any():
                    self.columns[role] = self.columns[role].spelled()
        columns = [self.columns[role] for role in self.form.objects]
        names = names_in(columns) if known is None else known
        index = np.empty((len(self), len(columns)), np.int32)
        for place, column in enumerate(columns):
            index[:, place] = names.find(column)
            if known is not None and ((index[:, place] < 0) & ~column.empty()).any():
                why = "holds an object that was not there when the data were first read; the data have changed since"
                raise FileFormatError(f"{self.table.name}: {why}")
        self.found["rows"] = index
        return names

    def drop_unused(self, names: Column) -> Column:
        """Code the objects anew after rows were dropped: some names may no longer occur."""
        index = self.found["rows"]
        used = distinct(index[index >= 0])
        place = np.full(len(names) + 1, -1, np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        self.found["rows"] = place[index]
        return names_in([names.take(used)])

    def read_choice(self, names: Column) -> None:
        """Read which option was chosen, by position: of two, the nearer one."""
        role, form, index = self.form.answer, self.form, self.found["rows"]
        if role is None:
            if form.kind in ("odd-one-out", "most-central"):  # the last of a, b, odd is the chosen one
                self.found["choice"] = np.full(len(index), 2)
            return
        answer = self.columns[role].spelled()
        codes = {code: "abc".index(option) for code, option in self.layout.answers.items() if option in "abc"}
        coded = _looked_up(answer, codes)
        titles = {self.plan.called[option]: place for place, option in enumerate(form.options)}
        called = _looked_up(answer, titles or {"a": 0, "b": 1}, plain)
        named = np.full(len(index), -1)
        if form.options:
            said = names.find(answer)
            for place, option in reversed(list(enumerate(form.options))):
                named[(index[:, form.objects.index(option)] == said) & (said >= 0)] = place
        # Only `answer` may name a column; near, far, odd and central name an object where they can.
        both = (coded < 0) & (called >= 0) & (named >= 0) & (called != named) & (role == "answer")
        if both.any():
            row = int(np.argmax(both))
            why = f"{shown(answer.cell(row))} is the name of an option's column and of another option of this row"
            columns: dict[str, Any] = {one: self.table.names[self.plan.at[one]] for one in form.objects}
            columns |= {"near": self.table.names[self.plan.at[role]], role: NONE}
            raise self.refusal(f"{why}; if it is the object:", role, row, self.plan.declared.with_columns(columns))
        chosen = np.where(coded >= 0, coded, np.where(named >= 0, named, called))
        unread = chosen < 0
        if unread.any() and self.layout.on_bad_rows == "raise":
            raise self._unread(role, answer, unread)
        self.found["choice"] = 1 - chosen if role == "far" else chosen
        self.leave_out(unread, "an answer that is none of the options")

    def _unread(self, role: str, answer: Column, unread: np.ndarray) -> Refusal:
        """Refuse answers that are neither an option, nor its column, nor a declared code."""
        row, texts = int(np.argmax(unread)), answer.texts()
        codes = [texts[code] for code in distinct(answer.cells[unread])[:_SHOWN_CODES].tolist()]
        options = "its row's options" if self.form.options else "the pairs a (i, j) and b (l, k)"
        why = f"{shown(answer.cell(row))} is none of {options}, nor the name of one's column"
        many = f" ({counted(int(unread.sum()), 'such row')} of {len(unread):,})"
        blanks = Layout(answers={code.strip(): BLANK for code in codes})
        return self.refusal(why + many, role, row, self.plan.declared.updated(blanks))

    def _read_flows(self) -> tuple[Flow, ...]:
        try:
            return tuple(Flow.from_dict(json.loads(text)) for text in self.columns["flow"].used().to_pylist())
        except ValueError as error:
            raise FileFormatError(f"{self.table.name}: {self.table.title(self.plan.at['flow'])}: {error}") from error

    def read_n_chosen(self) -> None:
        """Read how many candidates of each ranking were chosen."""
        ordered = self.found.get("ordered", np.ones(len(self), bool))
        if "n_chosen" in self.columns:
            n_shown = (self.found["rows"][:, 1:] >= 0).sum(axis=1)
            numbers, wrong = self.columns["n_chosen"].as_numbers()
            wrong |= ~((numbers >= 1) & (numbers <= n_shown - ~ordered) & (numbers == np.floor(numbers)))
            self.found["n_chosen"] = np.where(wrong, 1, numbers).astype(np.int64)
            self.bad(wrong, "n_chosen", "not understood in n_chosen", "a number of the candidates shown")
        elif not ordered.all():
            raise FileFormatError(f"{self.table.name}: rankings without order need a column n_chosen")

    def check_second_coding(self) -> None:
        ours, choice = dict(zip(self.form.objects, self.found["rows"].T)), self.found.get("choice")
        if self.plan.also and choice is not None and self.form.kind == "answers":
            ours["near"], ours["far"] = np.where(choice == 0, (ours["a"], ours["b"]), (ours["b"], ours["a"]))
        known: dict[Any, int] = {}  # cell of the second coding -> object of the first
        for role, position in self.plan.also.items():
            column = self.columns["also", role].spelled()
            for code, number in np.unique(np.stack([column.cells, ours[role]], axis=1), axis=0).tolist():
                cell = column.texts()[code] if code >= 0 else None
                if known.setdefault(cell, number) != number:
                    row = int(np.argmax((column.cells == code) & (ours[role] == number)))
                    raise FileFormatError(
                        f"{self.table.name}, {self.place(row)}: {self.table.title(position)} is {shown(cell)}, which "
                        f"elsewhere stands for another object; a file of {self.plan.program} codes each trial twice, "
                        "and the two codings differ here. Declare the columns to use one of them"
                    )

    def read_details(self) -> None:
        """Read the remaining columns, which hold neither objects nor choices."""
        for role in [*self.columns]:
            if role in OPTIONAL and role != "weight" and self._empty(role).all():
                continue
            if role in _NUMBERS:
                self._read_numbers(role)
            elif role in _WORDS:
                self._read_words(role)
            elif role in ("participant", "chosen_by"):
                self.found[role] = self._names(role)
            elif role == "question_kind":
                self.found["kind"] = Coded.of(self.columns[role].spelled())

    def _names(self, role: str) -> Coded:
        column = self.columns[role]
        if column.cells.dtype.kind == "f":
            inexact = np.abs(column.cells) >= EXACT_BELOW
            self.bad(inexact, role, "a number too large", "text, since a float of this size loses digits")
            column = self.columns[role]
        if column.cells.dtype.kind == "i" and not column.is_text:
            return Coded.of(column)
        if n_empty := int(column.empty().sum()):
            self.notes.append(f"{counted(n_empty, 'answer')} without a {role}, put under {UNKNOWN!r}")
        coded = Coded.of(column.filled(UNKNOWN))
        if not all(map(is_whole, coded.names.tolist())):
            return coded
        names, place = np.unique(coded.names.astype(np.int64), return_inverse=True)  # by size
        return Coded(place[coded.codes].astype(np.int32), names)

    def _read_numbers(self, role: str) -> None:
        name, if_empty = _NUMBERS[role]
        numbers, wrong = self.columns[role].as_numbers(self.layout.decimal_comma)
        empty = np.isnan(numbers) & ~wrong
        wrong |= (numbers < 0) | np.isinf(numbers)
        if role == "order":
            wrong |= (numbers != np.floor(numbers)) & ~empty
        if if_empty is None:
            wrong |= empty
        else:
            numbers[empty | wrong] = if_empty
        if role == "milliseconds":
            numbers = numbers / 1000.0
        self.found[name] = numbers.astype(np.int64) if role == "order" else numbers
        what = "a whole number" if role == "order" else "a number"
        self.bad(wrong, role, f"no number in {role}", f"{what} of 0 or more")

    def _read_words(self, role: str) -> None:
        """Read cells that are one of some words, -1 for an empty one."""
        words, expected = _WORDS[role]
        column = self.columns[role].spelled()
        values = _looked_up(column, words, str.casefold)
        self.found[role] = values == 1 if role in ("catch", "ordered") else values.astype(np.int8)
        self.bad((values < 0) & ~column.empty(), role, f"not understood in {role}", expected)


def _looked_up(column: Column, words: Mapping[str, int], key: Callable[[str], str] = str) -> np.ndarray:
    return np.array([*(words.get(key(text.strip()), -1) for text in column.texts()), -1])[column.cells]


def number_objects(
    names: Column,
    table: Table,
    layout: Layout,
    labels: np.ndarray | None = None,
    n_objects: int | None = None,
) -> Objects:
    """Number the objects: names in code point order, whole numbers by size, or as labels or `index_base` say."""
    base, numbers = layout.index_base, _as_numbers(names)
    stored = numbers is not None and table.n_objects is not None and not (names.is_text and table.labels is not None)
    if base is None and (n_objects is not None or stored):
        base = 0
    if labels is None and n_objects is None:
        labels, n_objects = table.labels, table.n_objects if stored else None
    if base is not None:
        return _counted(names, numbers, table, base, labels, n_objects)
    texts = np.array(names.spelled().texts(), dtype=str)
    if labels is not None:
        place = {label: at for at, label in enumerate(labels.tolist())}
        places = np.array([place.get(name, -1) for name in texts.tolist()], np.int32)
        if (places < 0).any():
            unknown = texts[places < 0]
            hint = "; if numbers are positions in this list, declare index_base" if numbers is not None else ""
            raise FileFormatError(
                f"{table.name}: {shown(str(unknown[0]))} is not one of the {len(labels):,} known labels"
                f"{first_of(len(unknown), 'such names')}{hint}"
            )
        return Objects(names, places, labels, len(labels))
    order = np.arange(len(names)) if numbers is None else np.argsort(numbers, kind="stable")
    is_count = numbers is not None and numbers[order[0]] == 0 and numbers[order[-1]] == len(numbers) - 1
    return Objects(names, np.argsort(order).astype(np.int32), None if is_count else texts[order], len(names))


def _as_numbers(names: Column) -> np.ndarray | None:
    """Names as numbers, if all are whole and not negative; else None."""
    if not names.is_text:
        return names.cells if not len(names) or names.cells[0] >= 0 else None
    texts = names.texts()
    return np.array(list(map(int, texts)), np.int64) if all(map(is_whole, texts)) else None


def _counted(
    names: Column, numbers: np.ndarray | None, table: Table, base: int, labels: np.ndarray | None, n_objects: int | None
) -> Objects:
    """Objects that are given by numbers, counted from `base`."""
    if numbers is None:
        such = next(name for name in names.spelled().texts() if not is_whole(name))
        raise FileFormatError(f"{table.name}: got {shown(such)}, expected object numbers counted from {base}")
    size = len(labels) if labels is not None else n_objects
    top = (INDEX_LIMIT if size is None else size) + base - 1
    lowest, highest = int(numbers.min()), int(numbers.max())
    if lowest < base or highest > top:
        worst = lowest if lowest < base else highest
        hint = "; are they counted from 1? then declare index_base = 1" if highest == size and not base else ""
        raise FileFormatError(f"{table.name}: object number {worst} is outside {base}..{top}{hint}")
    if size is None:
        size = highest + 1 - base
        if size > 100 * len(numbers) + 10_000:
            raise FileFormatError(
                f"{table.name}: object numbers go up to {highest:,}, but only {len(numbers):,} of them occur; without "
                "index_base they are names"
            )
    if base and labels is None:
        labels = np.arange(base, size + base).astype(str)
    return Objects(names, (numbers - base).astype(np.int32), labels, size)


def unused_columns(table: Table, plans: Sequence[Plan]) -> list[str]:
    """Columns that no plan uses, with their values where the first rows show only a few."""
    unused = set.intersection(*({*plan.unused} for plan in plans))
    skipped = plans[0].layout.skip_rows
    rows = table.head(_SAMPLE + skipped) if unused else []
    head = [row for row in rows if row != table.names][skipped:]
    found = []
    for position in sorted(unused):
        values = sorted({" ".join(row[position].split()) for row in head} - {""})
        few = 0 < len(values) <= _FEW_VALUES and 2 * len(values) <= len(head)
        name = table.names[position] or f"column {position + 1}"
        found.append(f"{name} ({listed(map(shown_cell, values))})" if few else name)
    return found
