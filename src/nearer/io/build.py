"""Columns and their roles become `Comparisons`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.data import Comparisons

from .answers import read_choice
from .columns import Column, Source
from .errors import SHOWN, FileFormatError, counted, listed, shown
from .objects import Objects, code_objects
from .roles import Roles
from .spreadsheet import is_guarded, unguard


@dataclass
class Built:
    """The comparisons, why rows were left out (reason -> count and first place), and what else to tell."""

    comparisons: Comparisons
    n_rows: int
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class _Rows:
    """The columns by role, with the row of the file that each row left comes from."""

    source: Source
    at: Mapping[str, int]
    columns: dict[str, Column]
    origin: np.ndarray | None = None

    def keep(self, mask: np.ndarray) -> None:
        self.columns = {role: column.take(mask) for role, column in self.columns.items()}
        self.origin = np.flatnonzero(mask) if self.origin is None else self.origin[mask]

    def place(self, row: int) -> str:
        return self.source.place(int(row if self.origin is None else self.origin[row]))

    def title(self, role: str) -> str:
        return self.source.title(self.at[role])


def build(
    source: Source,
    roles: Roles,
    *,
    labels: np.ndarray | None = None,
    n_objects: int | None = None,
    index_base: int | None = None,
    answers: str | Mapping[Any, str] | None = None,
    on_degenerate: str = "drop",
    on_missing: str = "raise",
    strip: bool | None = None,
) -> Built:
    """Read the columns that `roles` names and make comparisons of them; parameters as in `read_comparisons`."""
    positions = list(dict.fromkeys([*roles.at.values(), *roles.names_at]))
    read = dict(zip(positions, source.read(positions)))
    rows = _Rows(source, roles.at, {role: read[spot] for role, spot in roles.at.items()})
    n_rows = len(next(iter(rows.columns.values())))
    if n_rows == 0:
        raise FileFormatError(f"{source.path}: has column names but no rows")
    built: dict[str, tuple[int, str]] = {}
    notes: list[str] = []
    _leave_out_empty(rows, roles, on_missing, built)
    weights, participants = _weights(rows), _participants(rows, notes)
    form = roles.form
    objects = code_objects(
        source,
        [rows.columns[role] for role in form.objects],
        [roles.at[role] for role in form.objects],
        rows.place,
        labels=labels if labels is not None else source.labels,
        n_objects=n_objects if n_objects is not None or labels is not None else source.n_objects,
        index_base=index_base,
        strip=strip,
        whole=rows.origin is None,
    )
    notes += objects.notes
    named = False
    if roles.names_at and objects.numbered is not None and labels is None:
        names = [read[spot] if rows.origin is None else read[spot].take(rows.origin) for spot in roles.names_at]
        named = _name_objects(objects, names, [source.names[spot] for spot in roles.names_at], notes)
    if objects.numbered and not named:
        notes.append(objects.numbered)
    _report_degenerate(rows, objects.index, form.kind, on_degenerate, built)
    common: dict[str, Any] = {
        "n_objects": objects.n_objects,
        "labels": objects.labels,
        "weights": weights,
        "participants": participants,
        "on_degenerate": on_degenerate,
    }
    comparisons = _construct(rows, roles, objects.index, common, answers, notes, source)
    return Built(comparisons, n_rows, built, notes)


def _construct(
    rows: _Rows,
    roles: Roles,
    index: np.ndarray,
    common: dict[str, Any],
    answers: str | Mapping[Any, str] | None,
    notes: list[str],
    source: Source,
) -> Comparisons:
    form, names = roles.form, source.names
    try:
        if form.kind in ("triplets", "quadruplets"):
            make = Comparisons.from_triplets if form.kind == "triplets" else Comparisons.from_quadruplets
            return make(index, **common)
        if form.kind == "votes":
            votes = np.stack([_amounts(rows, role, "a number of votes") for role in form.extra], axis=1)
            none = int(np.count_nonzero(votes.sum(axis=1) == 0))
            if none:
                notes.append(f"{counted(none, 'question')} without votes give no comparison")
            return Comparisons.from_answers(index, votes, **common)
        if not form.extra:
            return _picked(form.kind, index, index[:, 2], common)
        extra = form.extra[0]
        asked = form.objects[1:] if form.kind == "answers" else form.objects
        is_quadruplet = len(form.objects) == 4
        choice = read_choice(
            source,
            rows.columns[extra],
            roles.at[extra],
            [] if is_quadruplet else [rows.columns[role] for role in asked],
            ["", ""] if is_quadruplet else [names[roles.at[role]] for role in asked],
            rows.place,
            answers,
            notes,
        )
        if form.kind == "answers":
            return _answered(index, choice, common, notes)
        return _picked(form.kind, index, index[np.arange(len(index)), choice.astype(np.int64)], common)
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(f"{source.path}: {error}") from error


def _picked(kind: str, sets: np.ndarray, picked: np.ndarray, common: dict[str, Any]) -> Comparisons:
    make = Comparisons.from_odd_one_out if kind == "odd-one-out" else Comparisons.from_most_central
    return make(sets, picked, **common)


def _answered(index: np.ndarray, choice: np.ndarray, common: dict[str, Any], notes: list[str]) -> Comparisons:
    undecided = int(np.count_nonzero(choice == 0))
    if undecided == 0 and (np.abs(choice) == 1).all():
        return Comparisons.from_answers(index, choice > 0, **common)
    if undecided:
        notes.append(f"{counted(undecided, 'undecided answer')} (0) give no comparison")
    votes = np.stack([np.maximum(choice, 0), np.maximum(-choice, 0)], axis=1)
    return Comparisons.from_answers(index, votes, **common)


def _leave_out_empty(rows: _Rows, roles: Roles, on_missing: str, dropped: dict[str, tuple[int, str]]) -> None:
    """Leave out rows where every cell is empty; refuse (or on request leave out) rows where some needed cell is."""
    needed = [*roles.form.roles, *(["weight"] if "weight" in roles.at else [])]
    empty = {role: rows.columns[role].empty() for role in needed}
    if not any(mask.any() for mask in empty.values()):
        return
    blank = np.logical_and.reduce(list(empty.values()))
    some = np.logical_or.reduce(list(empty.values())) & ~blank
    count = int(np.count_nonzero(some))
    if count and on_missing == "raise":
        spots = np.flatnonzero(some)[:SHOWN]
        first = next(role for role in needed if empty[role][spots[0]])
        more = f"; {counted(count, 'row')} in all: {listed(map(rows.place, spots))}" + (
            ", ..." if count > SHOWN else ""
        )
        raise FileFormatError(
            f"{rows.source.path}, {rows.place(spots[0])}, {rows.title(first)}: empty cell{more if count > 1 else ''}; "
            "say on_missing='drop' to leave such rows out"
        )
    for mask, reason in ((blank, "empty row"), (some, "empty cell")):
        if mask.any():
            dropped[reason] = int(np.count_nonzero(mask)), rows.place(int(np.argmax(mask)))
    keep = ~(blank | some)
    if not keep.any():
        raise FileFormatError(f"{rows.source.path}: every row has an empty cell where one is needed; no row is left")
    rows.keep(keep)


def _amounts(rows: _Rows, role: str, what: str) -> np.ndarray:
    """Read a column of numbers that are 0 or more."""
    numbers, bad = rows.columns[role].as_numbers()
    bad |= ~(numbers >= 0) | np.isinf(numbers)
    if bad.any():
        count, row = int(np.count_nonzero(bad)), int(np.argmax(bad))
        cell = shown(rows.columns[role].cell(row))
        hint = " (write decimals with a point)" if "," in cell else ""
        more = f"; {counted(count, 'such cell')} in this column" if count > 1 else ""
        raise FileFormatError(
            f"{rows.source.path}, {rows.place(row)}, {rows.title(role)}: {cell} is not {what}, 0 or more{hint}{more}"
        )
    return numbers


def _weights(rows: _Rows) -> np.ndarray | None:
    return _amounts(rows, "weight", "a weight") if "weight" in rows.columns else None


def _participants(rows: _Rows, notes: list[str]) -> np.ndarray | None:
    if "participant" not in rows.columns:
        return None
    column = rows.columns["participant"]
    empty = column.empty()
    if empty.all():
        notes.append(f"{rows.title('participant')} is empty and left out")
        return None
    if not column.is_text:
        numbers = column._cells
        if not empty.any() and (np.mod(numbers, 1) == 0).all():
            return numbers.astype(np.int64)
        names = np.array([str(int(number)) if number == np.floor(number) else str(number) for number in numbers])
    else:
        texts = column.texts()
        if rows.source.numbers_are_text and not empty.any() and all(_is_integer(text) for text in texts):
            return np.array([int(text) for text in texts], np.int64)[column.codes]
        if rows.source.numbers_are_text and is_guarded(texts):
            texts = [unguard(text) for text in texts]
        names = np.array([*texts, "unknown"])[column.codes]
    if empty.any():
        names[empty] = "unknown"
        notes.append(f"{counted(int(empty.sum()), 'answer')} without a participant put under 'unknown'")
    return names


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0")


def _report_degenerate(
    rows: _Rows, index: np.ndarray, kind: str, on_degenerate: str, dropped: dict[str, tuple[int, str]]
) -> None:
    """Count rows that compare an object with itself, by reason; refuse them if asked."""
    left = np.ones(len(index), bool)
    for reason, bad in _faults(index, kind):
        bad &= left
        if not bad.any():
            continue
        left &= ~bad
        first = int(np.argmax(bad))
        count, where = int(np.count_nonzero(bad)), rows.place(first)
        if on_degenerate == "raise":
            more = f" ({counted(count, 'such row')})" if count > 1 else ""
            raise FileFormatError(
                f"{rows.source.path}, {where}: {reason}{more}; say on_degenerate='drop' to leave it out"
            )
        dropped[reason] = count, where
    if not left.any():
        what = listed(f"{count:,} {reason}" for reason, (count, _) in dropped.items())
        raise FileFormatError(f"{rows.source.path}: no row is left ({what})")


def _faults(index: np.ndarray, kind: str) -> list[tuple[str, np.ndarray]]:
    if kind in ("odd-one-out", "most-central"):
        a, b, c = index.T
        return [("object repeated", (a == b) | (a == c) | (b == c))]
    if index.shape[1] == 3:
        anchor, near, far = index.T
        return [("anchor repeated", (anchor == near) | (anchor == far)), ("both options the same", near == far)]
    i, j, other, k = index.T
    same = ((i == other) & (j == k)) | ((i == k) & (j == other))
    return [("object paired with itself", (i == j) | (other == k)), ("both pairs the same", same)]


def _name_objects(objects: Objects, names: list[Column], titles: list[str], notes: list[str]) -> bool:
    """Give numbered objects the names found in the columns beside them, if each number has just one."""
    size = objects.n_objects
    found: dict[int, str] = {}
    for spot, column in enumerate(names):
        if not column.is_text or column.empty().any() or column.codes is None:
            return False
        pairs = np.unique(objects.index[:, spot].astype(np.int64) * len(column.texts()) + column.codes)
        texts = column.texts()
        for pair in pairs.tolist():
            number, code = divmod(pair, len(texts))
            if found.setdefault(number, texts[code]) != texts[code]:
                notes.append(f"columns {listed(titles)} give an object several names and are left out")
                return False
    if len(found) < size or len(set(found.values())) < size or not all(name.strip() for name in found.values()):
        notes.append(f"columns {listed(titles)} do not name each object apart and are left out")
        return False
    objects.labels = np.array([found[number] for number in range(size)], dtype=str)
    notes.append(f"objects named by {listed(titles)}")
    return True
