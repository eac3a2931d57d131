"""What a model says of objects: features, or a matrix of distances or similarities."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.data.validate import check_numbers, check_objects, row_names
from nearer.io.objects import read_features

_CHUNK = 1 << 22  # numbers held at once


@dataclass(frozen=True, init=False, eq=False)
class ObjectModel:
    """What a model says of objects, by row.

    Parameters
    ----------
    values : array-like of float
        Finite. A pandas table brings its index as labels.
    labels : sequence of str, shape (n_objects,), optional
        Names of the objects. Default: the rows are the objects of `Comparisons`, in their order; for answers in a table
        or a file, they are called 0, 1, ...
    """

    values: np.ndarray
    labels: np.ndarray | None  # of str, (n_objects,)

    def __init__(self, values: ArrayLike, labels: Any = None):
        array = check_numbers(values, type(self).__name__)
        self._check(array)
        _, names = check_objects(len(array), row_names(values) if labels is None else labels)
        vars(self).update(values=array, labels=names)

    def rows_of(self, names: np.ndarray) -> np.ndarray:
        """The row of each object, by name, or by number where there are no labels; -1 for none."""
        n = len(self.values)
        if self.labels is None:
            return np.where(np.arange(len(names)) < n, np.arange(len(names)), -1)
        row_of = {label: row for row, label in enumerate(self.labels.tolist())}
        return np.array([row_of.get(name, -1) for name in names.tolist()])

    def _check(self, values: np.ndarray) -> None:
        name, n = type(self).__name__, len(values) if values.ndim else 0
        if values.ndim != 2 or 0 in values.shape:
            raise ValueError(f"{name}: got shape {values.shape}, expected {self._expected(n)}")
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(
                f"{name}: got {values[row, column]} in row {row}, column {column}, expected finite numbers"
            )

    def _expected(self, n: int) -> str:
        return "(n_objects, n_features)"

    def similarity(self, pairs: np.ndarray, measure: str) -> np.ndarray:
        """How similar pairs of rows, int (m, 2), are: float (m,); only the order means something."""
        raise NotImplementedError


class Features(ObjectModel):
    """Features or coordinates of objects, shape (n_objects, n_features)."""

    def _check(self, values: np.ndarray) -> None:
        super()._check(values)
        largest = np.abs(values).max()
        if largest and not 1e-100 < largest < 1e100:  # squares would overflow or vanish
            raise ValueError(f"Features: got values up to {largest:.3g}, expected 1e-100 to 1e100; rescale them")

    def similarity(self, pairs: np.ndarray, measure: str) -> np.ndarray:
        return pair_similarities(self.values, pairs, measure)


class Similarities(ObjectModel):
    """A symmetric matrix of similarities, shape (n_objects, n_objects); nothing is more similar than to itself."""

    def _check(self, values: np.ndarray) -> None:
        super()._check(values)
        name, tolerance = type(self).__name__, 1e-6 * np.abs(values).max()
        if len(values) != values.shape[1]:
            raise ValueError(f"{name}: got shape {values.shape}, expected {self._expected(len(values))}")
        off = np.abs(values - values.T)
        if off.max() > tolerance:
            row, column = np.unravel_index(off.argmax(), off.shape)
            got = f"{values[row, column]:.6g} and {values[column, row]:.6g}"
            where = f"rows {row} and {column}"
            raise ValueError(f"{name}: got {got} between {where}, expected a symmetric matrix")
        self._check_own(values, tolerance)

    def _check_own(self, values: np.ndarray, tolerance: float) -> None:
        others = values + np.diag(np.full(len(values), np.inf))
        if (np.diag(values) < others.min(axis=1) - tolerance).all():
            got = "every object less similar to itself than to any other"
            raise ValueError(f"Similarities: got {got}, expected similarities; are these distances?")

    def _expected(self, n: int) -> str:
        return f"({n}, {n}), a value for each pair of objects"

    def similarity(self, pairs: np.ndarray, measure: str) -> np.ndarray:
        return self.values[tuple(pairs.T)]


class Distances(Similarities):
    """A symmetric matrix of distances, shape (n_objects, n_objects); not below 0, and 0 from an object to itself."""

    def _check_own(self, values: np.ndarray, tolerance: float) -> None:
        own = np.diag(values)
        if values.min() < -tolerance or np.abs(own).max() > tolerance:
            got = f"{values.min():.6g}" if values.min() < -tolerance else f"{np.abs(own).max():.6g} in the diagonal"
            expected = "distances: 0 in the diagonal, nothing below 0"
            raise ValueError(f"Distances: got {got}, expected {expected}; are these similarities?")

    def similarity(self, pairs: np.ndarray, measure: str) -> np.ndarray:
        return -self.values[tuple(pairs.T)]


def pair_similarities(X: np.ndarray, pairs: np.ndarray, measure: str) -> np.ndarray:
    """Cosine, dot product or negative squared distance of pairs of rows, float (m,)."""
    if measure == "cosine":  # a row of zeros stays
        length = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(length > 0, length, 1.0)
    found = np.empty(len(pairs))
    step = max(_CHUNK // X.shape[1], 1)
    for start in range(0, len(pairs), step):
        rows = slice(start, start + step)
        a, b = (X[each] for each in pairs[rows].T)
        found[rows] = -((a - b) ** 2).sum(axis=1) if measure == "euclidean" else (a * b).sum(axis=1)
    return found


def as_model(given: Any, numbered: bool = False) -> ObjectModel:
    """Features unless it says otherwise; a fitted map gives its coordinates, without objects that have none.

    With `numbered`, rows without names are called 0, 1, ...
    """
    if not hasattr(given, "embedding_"):
        model = given if isinstance(given, ObjectModel) else Features(given)
        return type(model)(model.values, np.arange(len(model.values))) if numbered and model.labels is None else model
    placed = np.isfinite(given.embedding_).all(axis=1)
    names = np.arange(len(placed)) if given.labels_ is None else np.asarray(given.labels_)
    return Features(given.embedding_[placed], names[placed])


def read_model(path: str | os.PathLike[str], holds: type[ObjectModel] = Features) -> ObjectModel:
    """Read a model from .npy, .npz, .mat or a table: numbers by row, and the names of the objects in ``label(s)``.

    Without names, the objects are called 0, 1, ...
    """
    values, labels = read_features(path)
    try:
        return holds(values, np.arange(len(values)) if labels is None else labels)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error
