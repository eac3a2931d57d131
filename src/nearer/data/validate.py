"""Checks of arguments, each in one place: numbers, fractions, labels, weights, random states."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearer.data.messages import first_of, shown

INDEX_LIMIT = 2**31  # indices are stored as int32
EXACT_BELOW = 2**53  # from here on, several whole numbers share a float
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"  # a number as text


def frozen(array: Any) -> Any:
    """A read-only view; the caller's own array stays as it is. None stays None."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def is_unicode(text: str) -> bool:
    """Whether a text can be written: half a character (a lone surrogate) cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def is_number_text(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def is_whole(text: str) -> bool:
    """Whether a text is a whole number in plain form: digits, no leading zero, at most 18 of them."""
    return text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0")


def not_whole(numbers: np.ndarray) -> np.ndarray:
    """Which numbers are not whole, or too large to be distinct as floats; NaN is not whole."""
    return ~((np.trunc(numbers) == numbers) & (np.abs(numbers) < EXACT_BELOW))


def refuse_rows(bad: Any, values: np.ndarray, name: str, why: str, what: str = "bad rows") -> None:
    """Refuse values of which some rows are bad, bool (n_rows,), with the first of them."""
    if bad.any():
        row, first = int(np.argmax(bad)), values[np.argmax(bad)].tolist()
        first = tuple(first) if isinstance(first, list) else first
        raise ValueError(f"{name}: row {row} is {first}: {why}{first_of(int(np.count_nonzero(bad)), what)}")


def take(values: Any, rows: Any) -> Any:
    return None if values is None else values[rows]


def refuse_masked(values: Any, name: str, expected: str) -> None:
    """Refuse a masked array with masked entries, which NumPy would otherwise take as if they were not masked."""
    if isinstance(getattr(values, "_meta", None), np.ma.MaskedArray):  # of Dask; its mask is not there yet
        values = values.compute()
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: got a masked array with masked entries, expected {expected}")


def as_array(values: Any, name: str, expected: str) -> np.ndarray:
    """Convert to an array; ragged lists, masked arrays and other objects are refused."""
    refuse_masked(values, name, expected)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: the rows differ in length, expected {expected}") from error
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
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_number(value: Any, name: str, *, zero: bool = False, allow_none: bool = False) -> None:
    """Refuse what is not a finite number above 0; zero and None may be fine as well."""
    if value is None and allow_none:
        return
    if not is_number(value) or not 0 <= value < np.inf or (value == 0 and not zero):
        kind = "a number >= 0" if zero else "a positive number"
        raise ValueError(f"{name}: got {value!r}, expected {kind}{' or None' if allow_none else ''}")


def check_bool(value: Any, name: str, *, allow_none: bool = False) -> None:
    """Refuse what is not a truth value, plain or of NumPy: any other text or object would count as true."""
    if not isinstance(value, bool | np.bool_) and not (value is None and allow_none):
        raise ValueError(f"{name}: got {shown(value)}, expected True{', False or None' if allow_none else ' or False'}")


def check_fraction(value: Any, name: str) -> float:
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name}: got {value!r}, expected a number from 0 to 1")
    return float(value)


def check_numbers(values: Any, name: str) -> np.ndarray:
    refuse_masked(values, name, "numbers")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmM":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {' '.join(shown(values).split())}, expected numbers") from None


def check_objects(n_objects: Any, labels: Any) -> tuple[int | None, np.ndarray | None]:
    """The number of objects (None if neither it nor labels are given), and the labels as an array of str."""
    if n_objects is not None:
        n_objects = check_integer(n_objects, "n_objects", 1, INDEX_LIMIT)
    if labels is None:
        return n_objects, None
    refuse_masked(labels, "labels", "a name for each object")
    array = np.asarray(labels, dtype=object)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"labels: got shape {array.shape}, expected (n_objects,) with at least one label")
    for place, label in enumerate(array):
        is_name = isinstance(label, str | int | np.integer) and not isinstance(label, bool) and str(label).strip()
        if not is_name or "\0" in str(label) or not is_unicode(str(label)):
            raise ValueError(
                f"labels: label {place} is {label!r}, expected an integer, or text that is not blank and holds no NUL"
            )
    array = array.astype(str)
    values, counts = np.unique(array, return_counts=True)
    if len(values) < len(array):
        twice = values[np.argmax(counts > 1)]
        first, second = np.flatnonzero(array == twice)[:2]
        raise ValueError(f"labels: {str(twice)!r} occurs twice, at {first} and {second}")
    if n_objects is not None and n_objects != len(array):
        raise ValueError(f"labels: got {len(array):,} labels for {n_objects:,} objects")
    return len(array), frozen(array)


def check_weights(weights: Any, n_rows: int | None) -> np.ndarray | None:
    if weights is None:
        return None
    array = as_array(weights, "weights", "one number per row")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"weights: got dtype {array.dtype}, expected numbers")
    if array.ndim != 1 or (n_rows is not None and len(array) != n_rows):
        expected = "(N,)" if n_rows is None else f"({n_rows},)"
        raise ValueError(f"weights: got shape {array.shape}, expected {expected}, one for each row")
    array = array.astype(np.float64)  # a copy, since the caller may change the original
    bad = ~((array >= 0) & (array < np.inf))
    refuse_rows(bad, array, "weights", "a weight must be a finite number, 0 or more", "bad weights")
    if not array.any():
        raise ValueError("weights: all are 0, expected at least one above 0")
    return frozen(array)


def as_generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is not None:
        random_state = check_integer(random_state, "random_state", 0)
    return np.random.default_rng(random_state)


def row_names(X: Any) -> list[str] | None:
    """Give the names of the rows of a pandas table; None for any other, and where they are just counted from 0."""
    index = X.index if hasattr(X, "iloc") else None
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    return list(map(str, index))


def in_order_of(X: Any, names: Sequence[str] | None, what: str) -> Any:
    """Put the rows of a pandas table in the order of other rows by name; None names those by their numbers."""
    own = row_names(X)
    numbers = [str(number) for number in range(len(own or ()))]
    if own is None or (names is None and set(numbers) != set(own)):
        return X
    names = numbers if names is None else names
    place = {name: row for row, name in enumerate(own)}
    odd = sorted(set(own) ^ set(names)) or [name for name in place if own.count(name) > 1]
    if odd:
        raise ValueError(
            f"{what}: the index names other rows than there are objects, such as {str(odd[0])!r}, expected each object "
            "once; give .to_numpy() to match by position"
        )
    return X.iloc[[place[name] for name in names]]


def named_rows(X: Any, labels: Any) -> Any:
    """Labels of objects from the index of a pandas table; those given if it names none."""
    names = row_names(X)
    if names is None or all(name.isdecimal() for name in names):
        return labels
    if labels is not None and list(map(str, labels)) != names:
        raise ValueError("labels: got other labels than the index of the table, or another order; give one of the two")
    return names
