"""What is said about tables and what goes with their rows, checked once: options, labels, weights, people, details."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nearer.data.cells import SIDES, UNKNOWN, is_unicode, normalise, parse_answers
from nearer.data.columns import HOLDS_NUL, Coding, column_of
from nearer.data.errors import shown

INDEX_LIMIT = 2**31  # indices are stored as int32


def first_of(count: int, what: str) -> str:
    """How many faults there are in all, said after the first."""
    return f" (first of {count:,} {what})" if count > 1 else ""


def refuse_rows(bad: Any, values: np.ndarray, name: str, why: str, what: str = "bad rows") -> None:
    """Refuse values of which some rows are bad, bool (n_rows,), with the first of them."""
    if bad.any():
        row, first = int(np.argmax(bad)), values[np.argmax(bad)].tolist()
        first = tuple(first) if isinstance(first, list) else first
        raise ValueError(f"{name}: row {row} is {first}: {why}{first_of(int(np.count_nonzero(bad)), what)}")


def take(values: Any, rows: Any) -> Any:
    """Select rows of an array, of people or of details, that may be absent."""
    return None if values is None else values[rows]


def refuse_masked(values: Any, name: str, expected: str) -> None:
    """Refuse a masked array with masked entries, which NumPy would otherwise take as if they were not masked."""
    if isinstance(getattr(values, "_meta", None), np.ma.MaskedArray):  # of Dask; its mask is not there yet
        values = values.compute()
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: got a masked array with masked entries, expected {expected}")


def as_array(values: Any, name: str, expected: str) -> np.ndarray:
    """An array of what may be none: a ragged list, a mask or anything else is refused."""
    refuse_masked(values, name, expected)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: got a ragged list, expected {expected}") from error
    except TypeError:
        raise ValueError(f"{name}: got {type(values).__name__}, expected {expected}") from None


def check_integer(value: Any, name: str, low: int, high: int | None = None) -> int:
    """An integer between two bounds (inclusive)."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {value!r}, expected an integer") from None
    if number < low or (high is not None and number > high):
        bounds = f"at least {low}" if high is None or number < low else f"at most {high}"
        raise ValueError(f"{name}: got {number}, expected {bounds}")
    return number


def is_number(value: Any) -> bool:
    """Whether a value is a plain or NumPy number (not a truth value, not a Decimal or Fraction)."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_number(value: Any, name: str, *, zero: bool = False, allow_none: bool = False) -> None:
    """Refuse what is not a finite number above 0; zero and None may be fine as well."""
    if value is None and allow_none:
        return
    if not is_number(value) or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        kind = "a number >= 0" if zero else "a positive number"
        raise ValueError(f"{name}: got {value!r}, expected {kind}{' or None' if allow_none else ''}")


def check_bool(value: Any, name: str, *, allow_none: bool = False) -> None:
    """Refuse what is not a truth value, plain or of NumPy: any other text or object would count as true."""
    if not isinstance(value, bool | np.bool_) and not (value is None and allow_none):
        raise ValueError(f"{name}: got {shown(value)}, expected True{', False or None' if allow_none else ' or False'}")


def check_fraction(value: Any, name: str) -> float:
    """A number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name}: got {value!r}, expected a number from 0 to 1")
    return float(value)


def check_numbers(values: Any, name: str) -> np.ndarray:
    """Real numbers of any shape, as float64, C-contiguous."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmM":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {shown(values)}, expected numbers") from None


def check_objects(n_objects: Any, labels: Any) -> tuple[int | None, np.ndarray | None]:
    """The number of objects (None if neither is given) and the labels as an array of str."""
    if n_objects is not None:
        n_objects = check_integer(n_objects, "n_objects", 1, INDEX_LIMIT)
    if labels is None:
        return n_objects, None
    labels = _as_labels(labels)
    if n_objects is not None and n_objects != len(labels):
        raise ValueError(f"labels: got {len(labels):,} labels for {n_objects:,} objects")
    return len(labels), labels


def _as_labels(labels: Any) -> np.ndarray:
    refuse_masked(labels, "labels", "a name for each object")
    try:
        array = labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)
    except TypeError:
        raise ValueError(f"labels: got {type(labels).__name__}, expected names of the objects") from None
    if hasattr(labels, "iloc") and _is_other_order(labels.index):
        raise ValueError(
            "labels: the index numbers the objects in another order than they stand in; give labels.sort_index(), or "
            ".to_numpy() to go by position"
        )
    if array.ndim != 1 or not len(array):
        raise ValueError(f"labels: got shape {array.shape}, expected (n_objects,) with at least one label")
    if array.dtype.kind not in "Uiu":
        for place, label in enumerate(array):
            if isinstance(label, bool) or not isinstance(label, str | int | np.integer):
                raise ValueError(f"labels: label {place} is {label!r}, expected text or an integer")
    nul = next((place for place, label in enumerate(array.tolist()) if "\0" in str(label)), None)
    if nul is not None:
        raise ValueError(f"labels: label {nul} is {array[nul]!r}: {HOLDS_NUL}")
    array = array.astype(str)
    blank = np.char.strip(array) == ""
    if blank.any():
        raise ValueError(f"labels: label {int(np.argmax(blank))} is empty")
    broken = next((place for place, label in enumerate(array.tolist()) if not is_unicode(label)), None)
    if broken is not None:
        raise ValueError(f"labels: label {broken} is {str(array[broken])!r}, which holds half a character")
    values, counts = np.unique(array, return_counts=True)
    if len(values) < len(array):
        twice = values[np.argmax(counts > 1)]
        first, second = np.flatnonzero(array == twice)[:2]
        raise ValueError(f"labels: {str(twice)!r} occurs twice, at {first} and {second}")
    return frozen(array)


def _is_other_order(index: Any) -> bool:
    """Whether a pandas index holds the numbers from 0 on, each once, but not in their order."""
    numbers = index.to_numpy()
    if numbers.dtype.kind not in "iu" or index.is_monotonic_increasing:
        return False
    return bool(np.array_equal(np.sort(numbers), np.arange(len(numbers))))


def check_weights(weights: Any, n_rows: int | None) -> np.ndarray | None:
    """Weights as float64 (N,): finite, not negative, not all zero; None stays None."""
    if weights is None:
        return None
    array = as_array(weights, "weights", "one number per row")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"weights: got dtype {array.dtype}, expected numbers")
    if array.ndim != 1 or (n_rows is not None and len(array) != n_rows):
        expected = "(N,)" if n_rows is None else f"({n_rows},)"
        raise ValueError(f"weights: got shape {array.shape}, expected {expected}, one for each row")
    array = array.astype(np.float64)  # a copy, whoever holds the memory
    if not (array.min() >= 0 and array.max() < np.inf):  # NaN fails
        bad = ~((array >= 0) & (array < np.inf))
        refuse_rows(bad, array, "weights", "a weight must be a finite number, 0 or more", "bad weights")
    with np.errstate(over="ignore"):
        total = array.sum()
    if not total > 0:
        raise ValueError("weights: all are 0, expected at least one above 0")
    if not np.isfinite(total):
        raise ValueError("weights: their sum is infinite")
    return frozen(array)


@dataclass(frozen=True)
class Options:
    """What the user said about a table; see `nearer.io.read_comparisons`."""

    columns: Mapping[str, str | int] | Sequence[str] | str | None = None
    kind: str | None = None
    participant: str | int | None = None
    weight: str | int | None = None
    labels: Any = None
    n_objects: int | None = None
    index_base: int | None = None
    answers: str | Mapping[Any, str] | None = None
    on_degenerate: str = "drop"
    on_missing: str = "raise"
    keep_na: bool = False
    fold_names: bool = False
    columns_found: bool = False  # `columns` was not said, but found by name
    known: Any = None  # names of the objects of a map, of which there is no doubt
    asked: bool = False  # the rows are questions, and the answers to them come beside the table

    @property
    def answer_words(self) -> dict[str, str]:
        """The cells of answers that the user said the meaning of, and that."""
        told = parse_answers(self.answers) if isinstance(self.answers, str) else self.answers
        words = told.items() if isinstance(told, Mapping) else ()
        return {str(cell).strip(): normalise(str(option)) for cell, option in words}

    def __post_init__(self) -> None:
        labels = check_objects(self.n_objects, self.labels)[1]
        if self.index_base is not None and not (is_number(self.index_base) and self.index_base in (0, 1)):
            raise ValueError(f"index_base: got {self.index_base!r}, expected 0 or 1")
        for option in ("kind", "participant", "weight"):
            if not isinstance(getattr(self, option), (str, int, np.integer, type(None))):
                raise ValueError(f"{option}: got {shown(getattr(self, option))}, expected a name or None")
        for option in ("on_degenerate", "on_missing"):
            if not isinstance(getattr(self, option), str) or getattr(self, option) not in ("drop", "raise"):
                raise ValueError(f"{option}: got {getattr(self, option)!r}, expected 'drop' or 'raise'")
        for option in ("keep_na", "fold_names"):
            check_bool(getattr(self, option), option)
        object.__setattr__(self, "labels", labels)


@dataclass(frozen=True, eq=False)
class People:
    """Who gave each row: codes into a table of names, so that a long name costs its length once.

    Parameters
    ----------
    codes : ndarray of int32, shape (N,)
    names : ndarray of str objects or int64, shape (n_people,), sorted, all of which occur
    """

    codes: np.ndarray
    names: np.ndarray

    def __post_init__(self) -> None:
        for name in ("codes", "names"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, People):
            return NotImplemented
        return np.array_equal(self.names, other.names) and np.array_equal(self.codes, other.codes)

    @staticmethod
    def of(column: Any) -> People:
        """Code a column without empty cells."""
        coding = Coding.of([column])
        names = coding.names().astype(object) if coding.is_text else coding.values
        codes = coding.encode(column)
        return People(codes.copy() if np.may_share_memory(codes, column.cells) else codes, names)

    def each(self) -> np.ndarray:
        """The name for every row, shape (N,)."""
        return frozen(self.names[self.codes])

    def __getitem__(self, rows: Any) -> People:
        codes = self.codes[rows]
        used = np.zeros(len(self.names), dtype=bool)
        used[codes] = True
        if used.all():
            return People(codes, self.names)
        return People((np.cumsum(used, dtype=np.int32) - 1)[codes], self.names[used])

    def repeated(self, times: int) -> People:
        """Every row several times in a row."""
        return People(np.repeat(self.codes, times), self.names)

    @staticmethod
    def joined(parts: Sequence[People]) -> People:
        """Rows of several, one after the other."""
        if len({part.names.dtype.kind for part in parts}) > 1:
            parts = [People(part.codes, part.names.astype(str).astype(object)) for part in parts]
        names = np.unique(np.concatenate([part.names for part in parts]))
        return People(
            np.concatenate([np.searchsorted(names, part.names).astype(np.int32)[part.codes] for part in parts]), names
        )


def check_people(participants: Any, n_rows: int | None, name: str = "participants") -> People | None:
    """Check participants (or other groups): text or integers, one for each row, none missing; None stays None."""
    if participants is None or isinstance(participants, People):
        return participants
    what = {"classes": "class", "chosen_by": "entry"}.get(name, name[:-1])
    try:
        column = column_of(participants if hasattr(participants, "__len__") else list(participants))
    except (TypeError, ValueError, LookupError) as error:
        raise ValueError(f"{name}: {error}") from None
    if column.cells.ndim != 1 or np.ndim(participants) > 1 or (n_rows is not None and len(column) != n_rows):
        expected = "(N,)" if n_rows is None else f"({n_rows},)"
        raise ValueError(f"{name}: got shape {np.shape(participants)}, expected {expected}, one for each row")
    if not len(column):
        raise ValueError(f"{name}: got no rows, expected at least one")
    if (row := column.first_nul()) is not None:
        raise ValueError(f"{name}: row {row} is {column.cell(row)!r}: {HOLDS_NUL}")
    empty = column.empty()
    if empty.any():
        raise ValueError(f"{name}: row {int(np.argmax(empty))} has no {what}{first_of(int(empty.sum()), 'missing')}")
    try:
        return People.of(column)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


# Detail -> type of its values, and what stands for one that is not known.
_DETAILS: dict[str, tuple[Any, Any]] = {
    "side": (np.int8, -1), "seconds": (np.float64, np.nan), "order": (np.int64, -1), "catch": (np.bool_, False),
    "correct": (np.int8, -1),
}  # fmt: skip
# Ways to choose a question that do not look at answers, as far as known: a repeated one was random, one to catch
# people is known beforehand.
BLIND = ("random", "balanced", "repeat", "catch", "unknown")


@dataclass(frozen=True, eq=False)
class Details:
    """What else is known of the answer that each row comes from; any may be None.

    Parameters
    ----------
    side : ndarray of int8, shape (N,), optional
        Position of the object that was chosen among those shown: 0 left or first, 1 right or second, ...; -1 unknown.
    seconds : ndarray of float64, shape (N,), optional
        Response time; NaN unknown.
    order : ndarray of int64, shape (N,), optional
        Number of the question within the session of the person; -1 unknown.
    catch : ndarray of bool, shape (N,), optional
        Whether it is a catch question, which has a right answer known beforehand.
    correct : ndarray of int8, shape (N,), optional
        Whether the answer is the right one: 1 right, 0 wrong, -1 unknown or none is. A catch question is passed if 1.
    chosen_by : People, optional
        How the question was chosen, such as "random" or "predictive"; "unknown" where that is not known.
    """

    side: np.ndarray | None = None
    seconds: np.ndarray | None = None
    order: np.ndarray | None = None
    catch: np.ndarray | None = None
    correct: np.ndarray | None = None
    chosen_by: People | None = None

    def __post_init__(self) -> None:
        for name in _DETAILS:
            values = getattr(self, name)
            object.__setattr__(self, name, None if values is None else frozen(values))

    def known(self) -> dict[str, Any]:
        """The details that are there, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}

    def _each(self, change: Any) -> Details:
        return Details(**{name: change(value) for name, value in self.known().items()})

    def __len__(self) -> int:
        return max(map(len, self.known().values()), default=0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Details):
            return NotImplemented
        mine, theirs = self.known(), other.known()
        return mine.keys() == theirs.keys() and all(
            value == theirs[name] if isinstance(value, People) else np.array_equal(value, theirs[name], equal_nan=True)
            for name, value in mine.items()
        )

    def __getitem__(self, rows: Any) -> Details:
        return self._each(lambda value: value[rows])

    def repeated(self, times: int) -> Details:
        """Every row several times in a row."""
        return self._each(lambda value: value.repeated(times) if isinstance(value, People) else np.repeat(value, times))

    def flipped(self, rows: np.ndarray) -> Details:
        """The same where the answers of some rows, int (m,), are turned round: side and correctness become unknown."""
        changed = {}
        for name in ("side", "correct"):
            values = getattr(self, name)
            if values is not None:
                changed[name] = values.copy()
                changed[name][rows] = -1
        return Details(**(self.known() | changed))

    @staticmethod
    def joined(parts: Sequence[Details | None], sizes: Sequence[int]) -> Details | None:
        """Rows of several, one after the other; what some lack is unknown there."""
        names = dict.fromkeys(name for part in parts if part is not None for name in part.known())
        if not names:
            return None
        values: dict[str, Any] = {}
        for name in names:
            given = [None if part is None else getattr(part, name) for part in parts]
            if name == "chosen_by":
                nobody = np.array([UNKNOWN], dtype=object)
                filled = [
                    People(np.zeros(size, np.int32), nobody) if one is None else one for one, size in zip(given, sizes)
                ]
                values[name] = People.joined([one for one in filled if len(one)])
            else:
                kind, unknown = _DETAILS[name]
                values[name] = np.concatenate(
                    [np.full(size, unknown, kind) if one is None else one for one, size in zip(given, sizes)]
                )
        return Details(**values)


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


def check_details(details: Any, n_rows: int | None) -> Details | None:
    """Check details given as `Details` or as a mapping of their names to arrays (N,); None stays None."""
    if details is None or (isinstance(details, Details) and (n_rows is None or len(details) in (0, n_rows))):
        return details if details is None or details.known() else None
    if isinstance(details, Details):
        details = details.known()
    if not isinstance(details, Mapping):
        raise ValueError(f"details: got {shown(details)}, expected a mapping of names to arrays")
    checked: dict[str, Any] = {}
    for name, values in details.items():
        if name not in (*_DETAILS, "chosen_by"):
            raise ValueError(f"details: got {name!r}, expected one of {', '.join((*_DETAILS, 'chosen_by'))}")
        if values is None:
            continue
        if name == "chosen_by":
            checked[name] = check_people(values, n_rows, "chosen_by")
            continue
        array, (kind, unknown) = np.asarray(values), _DETAILS[name]
        if array.ndim != 1 or array.dtype.kind not in "biuf" or (n_rows is not None and len(array) != n_rows):
            what = f"dtype {array.dtype}, shape {array.shape}"
            raise ValueError(f"details: got {what} for {name!r}, expected numbers ({n_rows or 'N'},), one for each row")
        if kind is not np.float64 and array.dtype.kind == "f":
            array = np.where(np.isnan(array), unknown, array)
        changed = array.astype(kind)
        low, high = {"seconds": (0, np.inf), "catch": (0, 1), "correct": (-1, 1)}.get(name, (-1, np.inf))
        bad = (changed != array) & ~np.isnan(array) if array.dtype.kind == "f" else changed != array
        bad = bad | (array < low) | (array > high) | np.isinf(array)
        if bad.any():
            row = int(np.argmax(bad))
            more = first_of(int(bad.sum()), "such values")
            raise ValueError(f"details: {name!r} of row {row} is {array[row]}: {_MEANT[name]}{more}")
        checked[name] = changed
    return Details(**checked) if any(value is not None for value in checked.values()) else None


_MEANT = {
    "side": "expected the position of what was chosen, counted from 0, or -1 if unknown",
    "seconds": "expected a time of 0 or more, or NaN if unknown",
    "order": "expected a number of 0 or more, or -1 if unknown",
    "catch": "expected true or false",
    "correct": "expected 1 (right), 0 (wrong) or -1 (unknown)",
}


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from None, an integer seed, a Generator or a legacy RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is not None:
        random_state = check_integer(random_state, "random_state", 0)
    return np.random.default_rng(random_state)
