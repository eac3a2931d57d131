"""Details of answers as cells of a table: read from columns, and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data.columns import MISSING, Coding, Column
from nearer.data.errors import FileFormatError, shown
from nearer.data.roles import DETAILS, SHOWN, SIDES, TIMES, sides_of, truth_of, units_per_second
from nearer.data.values import UNKNOWN, Details, People

if TYPE_CHECKING:
    from nearer.data.tables import Rows

__all__ = ["chosen_place", "detail_cells", "read_details"]

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
    if all(role in rows.columns for role in SHOWN):
        side = chosen_place(rows.columns["near"].spelled().plain(), [rows.columns[role] for role in SHOWN])
        if (side >= 0).all():
            found["side"] = side.astype(np.int8)
        else:
            row = int(np.argmax(side < 0))
            titles = " and ".join(map(rows.title, SHOWN))
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
    told = sides_of(cells, n_options) if role == "side" else {cell: truth_of(cell) for cell in cells}
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


def detail_cells(details: Details | None, rows: slice = slice(None)) -> dict[str, list[Any]]:
    """Cells that tell some of the rows' details, by role; None where a detail is not known."""
    known = {} if details is None else details[rows].known()
    cells: dict[str, list[Any]] = {}
    for name, values in known.items():
        if isinstance(values, People):
            cells[name] = values.each().tolist()
        elif name == "side":
            words = [*SIDES, *(f"option{spot + 1}" for spot in range(len(SIDES), 128)), None]
            cells[name] = [words[spot] for spot in values.tolist()]
        elif name == "correct":
            cells[name] = [(False, True, None)[value] for value in values.tolist()]
        elif name == "catch":
            cells[name] = values.tolist()
        else:
            cells[name] = [value if value >= 0 else None for value in values.tolist()]
    return cells
