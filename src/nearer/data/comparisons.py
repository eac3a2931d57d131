"""`Comparisons`: the one form in which answers enter everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.data import answers as _answers
from nearer.data import questions, resampling, validate, values
from nearer.data.constructors import Constructors
from nearer.data.table import holds_labels
from nearer.data.validate import Parts, check_rows
from nearer.data.values import frozen, take

if TYPE_CHECKING:
    from nearer.data.report import CheckReport


class Comparisons(Constructors):
    """Answers of the form "this pair is nearer than that pair", checked once and never changed.

    `Comparisons(index)` takes triplets or quadruplets by the number of columns; the named constructors say more.

    Parameters
    ----------
    index : array-like of int, shape (N, 3) or (N, 4)
        Triplets ``anchor, near, far`` or quadruplets ``i, j, l, k``: d(i, j) < d(l, k). A C-contiguous int32 array is
        taken without a copy: do not write to it afterwards.
    n_objects : int, optional
        Default: the highest index plus one, or the number of labels.
    weights : array-like of float, shape (N,), optional
        Finite, not negative, not all zero.
    labels : sequence of str, shape (n_objects,), optional
    participants : array-like of str or int, shape (N,), optional
        Who answered.
    on_degenerate : {"raise", "drop"}
        What to do with rows that compare an object with itself or a pair with the same pair; rows dropped are counted
        in `dropped`.

    Attributes
    ----------
    index : ndarray of int32, shape (N, 3) or (N, 4), C-contiguous, read-only
    weights : ndarray of float64, shape (N,), or None
    labels : ndarray of str, shape (n_objects,), or None
    participants : ndarray, shape (N,), or None
    n_objects : int
    dropped : dict of str to int
        Reason -> rows left out by a constructor on request.
    """

    __slots__ = ("_dropped", "_seen", "index", "labels", "n_objects", "participants", "weights")
    __hash__ = None  # type: ignore[assignment]

    index: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray | None
    participants: np.ndarray | None
    n_objects: int
    _dropped: dict[str, int]
    _seen: np.ndarray | None

    def __init__(
        self,
        index: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
    ) -> None:
        self._fill(check_rows(index, validate.EITHER, n_objects, weights, labels, participants, on_degenerate))

    @classmethod
    def _make(cls, parts: Parts) -> Comparisons:
        """Wrap parts that are known to be valid."""
        made = object.__new__(cls)
        made._fill(parts)
        return made

    def _fill(self, parts: Parts) -> None:
        values = {
            "index": frozen(np.ascontiguousarray(parts.index, dtype=np.int32)),
            "n_objects": int(parts.n_objects),
            "weights": None if parts.weights is None else frozen(parts.weights),
            "labels": None if parts.labels is None else frozen(parts.labels),
            "participants": None if parts.participants is None else frozen(parts.participants),
            "_dropped": {reason: count for reason, count in parts.dropped.items() if count},
            "_seen": None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Comparisons cannot be changed (attribute {name!r}); make new ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Comparisons cannot be changed (attribute {name!r})")

    def __reduce__(self) -> tuple:
        return _rebuild, (self._parts,)

    @property
    def _parts(self) -> Parts:
        return Parts(self.index, self.n_objects, self.weights, self.labels, self.participants, self._dropped)

    def _with(self, **changes: Any) -> Comparisons:
        """The same with some parts exchanged for others that are known to be valid."""
        return self._make(replace(self._parts, **changes))

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """``"triplets"`` or ``"quadruplets"``."""
        return "triplets" if self.index.shape[1] == 3 else "quadruplets"

    @property
    def n_comparisons(self) -> int:
        """The number of rows, N."""
        return len(self.index)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of `index`; lets scikit-learn take rows."""
        return self.index.shape[0], self.index.shape[1]

    @property
    def dropped(self) -> dict[str, int]:
        """Reason -> rows left out by a constructor on request (a copy)."""
        return dict(self._dropped)

    @property
    def seen(self) -> np.ndarray:
        """Which objects occur in some comparison: bool, shape (n_objects,)."""
        if self._seen is None:
            mask = np.zeros(self.n_objects, dtype=bool)
            for start in range(0, len(self), validate.CHUNK):
                mask[self.index[start : start + validate.CHUNK]] = True
            object.__setattr__(self, "_seen", frozen(mask))
        return self._seen  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"{len(self):,} {self.kind} over {self.n_objects:,} objects"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparisons):
            return NotImplemented
        mine = (self.index, self.weights, self.labels, self.participants)
        theirs = (other.index, other.weights, other.labels, other.participants)
        return self.n_objects == other.n_objects and all(_same(a, b) for a, b in zip(mine, theirs))

    def quadruplets(self) -> np.ndarray:
        """All rows as quadruplets ``i, j, l, k``: int32, shape (N, 4); a triplet (a, n, f) becomes (a, n, a, f)."""
        return self.index if self.kind == "quadruplets" else self.index[:, [0, 1, 0, 2]]

    # ---- other comparisons made from these -------------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Comparisons:
        """Some of the rows (slice, mask or integer array), over the same objects and labels."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "biu":
                what = f"dtype {rows.dtype}, shape {rows.shape}"
                raise TypeError(f"comparisons: select rows by a slice, mask or integer array, not by {what}")
        index = self.index[rows]
        if not len(index):
            raise ValueError("comparisons: the selection is empty")
        weights = take(self.weights, rows)
        if weights is not None and not weights.any():
            raise ValueError("comparisons: all weights of the selection are 0")
        return self._with(index=index, weights=weights, participants=take(self.participants, rows), dropped={})

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("Comparisons are not iterable; use .index for the rows")

    def flipped(self, mask: Any) -> Comparisons:
        """Near and far exchanged in the rows of a mask: bool, shape (N,)."""
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != (len(self),):
            raise ValueError(
                f"flipped: got dtype {mask.dtype}, shape {mask.shape}, expected a bool mask ({len(self)},)"
            )
        return self._with(index=questions.exchanged(self.index, np.flatnonzero(mask)))

    def with_noise(self, fraction: float, random_state: Any = None) -> Comparisons:
        """Exactly ``round(fraction * N)`` random rows flipped."""
        count = round(values.check_fraction(fraction, "fraction") * len(self))
        rng = values.as_generator(random_state)
        if not count:
            return self
        return self._with(
            index=questions.exchanged(self.index, rng.choice(len(self), count, replace=False, shuffle=False))
        )

    def aggregate(self) -> Comparisons:
        """Rows that say the same merged into one, weights summed, in lexicographic order; participants are left out.

        Rows without weights count 1 each. Two quadruplets that differ only in the order inside a pair say the same.
        """
        first, member = questions.group(questions.same_statement(self.index), self.n_objects)
        weights = np.bincount(member, weights=self.weights, minlength=len(first)).astype(np.float64)
        return self._with(index=self.index[first], weights=weights, participants=None)

    def split(self, test_size: float | int = 0.2, random_state: Any = None) -> tuple[Comparisons, Comparisons]:
        """Random train and test rows, both over all objects.

        Parameters
        ----------
        test_size : float or int
            A fraction between 0 and 1 (rounded to whole rows) or a number of rows.
        random_state : None, int or Generator
        """
        mask = resampling.test_mask(len(self), test_size, random_state)
        return self[~mask], self[mask]

    def folds(
        self, n_folds: int = 5, random_state: Any = None, groups: Any = None
    ) -> Iterator[tuple[Comparisons, Comparisons]]:
        """Pairs (train, test), each over all objects; every row is in one test set.

        Parameters
        ----------
        n_folds : int
        random_state : None, int or Generator
        groups : array-like, shape (N,), or "participants", optional
            Rows of one group stay together.
        """
        if isinstance(groups, str):
            if groups != "participants" or self.participants is None:
                raise ValueError(f"groups: got {groups!r}, expected an array or 'participants' of these comparisons")
            groups = self.participants
        groups = values.check_participants(groups, len(self), "groups")
        fold = resampling.fold_of_rows(len(self), n_folds, random_state, groups)
        return ((self[fold != number], self[fold == number]) for number in range(n_folds))

    def concat(
        self: Comparisons | Iterable[Comparisons], others: Comparisons | Iterable[Comparisons] = ()
    ) -> Comparisons:
        """Rows of several, one after the other: ``a.concat([b, c])`` or ``Comparisons.concat([a, b, c])``.

        All must be of one kind, with the same labels. Where some have weights, rows without count 1.
        """
        parts = [self] if isinstance(self, Comparisons) else list(self)
        parts += [others] if isinstance(others, Comparisons) else list(others)
        if not parts:
            raise ValueError("concat: got nothing to join")
        first = parts[0]
        for part in parts[1:]:
            if part.kind != first.kind:
                raise ValueError(f"concat: got {first.kind} and {part.kind}, expected one kind")
            if not _same(part.labels, first.labels):
                raise ValueError("concat: the labels differ, expected the same labels in the same order")
            if (part.participants is None) != (first.participants is None):
                raise ValueError("concat: some have participants and some have not")
        weights = participants = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate([np.ones(len(p)) if p.weights is None else p.weights for p in parts])
        if first.participants is not None:
            participants = np.concatenate([part.participants for part in parts])
        dropped: dict[str, int] = {}
        for part in parts:
            for reason, count in part.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + count
        index = np.concatenate([part.index for part in parts])
        n_objects = max(part.n_objects for part in parts)
        return first._make(Parts(index, n_objects, weights, first.labels, participants, dropped))

    def relabelled(self, labels: Any) -> Comparisons:
        """The same rows, with the objects numbered as in another list of labels.

        Parameters
        ----------
        labels : sequence of str, shape (m,)
            They come first, in this order; labels of these comparisons that are not among them follow, sorted.
        """
        if self.labels is None:
            raise ValueError("relabelled: these comparisons have no labels")
        _, first = values.check_objects(None, labels)
        assert first is not None
        together = np.concatenate([first, np.setdiff1d(self.labels, first)])
        order = np.argsort(together)
        place = order[np.searchsorted(together, self.labels, sorter=order)].astype(np.int32)
        return self._with(index=place[self.index], n_objects=len(together), labels=together)

    def _answered(self, answers: Any) -> Comparisons:
        return self._make(_answers.answered(self._parts, answers))

    def check(self, n_components: int | None = None) -> CheckReport:
        """Look for faults in the data; see `CheckReport`.

        Parameters
        ----------
        n_components : int, optional
            The dimension asked for; without it, no object is said to have too few answers.
        """
        from nearer.data.check import check

        return check(self, n_components)


def _rebuild(parts: Parts) -> Comparisons:
    return Comparisons._make(parts)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return b is None if a is None else b is not None and np.array_equal(a, b)


def as_comparisons(X: Any, y: Any = None, sample_weight: Any = None, n_objects: int | None = None) -> Comparisons:
    """Whatever an estimator is given, as comparisons.

    Parameters
    ----------
    X : Comparisons, array-like of int of shape (N, 3) or (N, 4), or table of labels with 3 or 4 columns
    y : array-like, optional
        Answers to X taken as questions, as in `Comparisons.from_answers`.
    sample_weight : array-like of float, shape (N,), optional
        Multiplies the weights that X has already.
    n_objects : int, optional

    Returns
    -------
    Comparisons
    """
    if not isinstance(X, Comparisons):
        if y is not None:
            return Comparisons.from_answers(X, y, n_objects=n_objects, weights=sample_weight)
        if not holds_labels(X):
            X = np.column_stack(list(X.values())) if isinstance(X, dict) else X
            return Comparisons(X, n_objects=n_objects, weights=sample_weight)
        X = Comparisons.from_labels_table(X)
    if n_objects is not None and n_objects != X.n_objects:
        n_objects = values.check_integer(n_objects, "n_objects", 1, values.INDEX_LIMIT)
        if n_objects < X.n_objects or X.labels is not None:
            raise ValueError(f"n_objects: got {n_objects:,}, but the comparisons are over {X.n_objects:,} objects")
        X = X._with(n_objects=n_objects)
    if sample_weight is not None:
        weights = values.check_weights(sample_weight, len(X))
        X = X._with(weights=weights if X.weights is None else values.check_weights(weights * X.weights, None))
    return X if y is None else Comparisons.from_answers(X, y)


def joined(earlier: Comparisons, further: Comparisons) -> Comparisons:
    """All comparisons over the objects of the further ones, equal rows merged; quadruplets if either has them.

    Parameters
    ----------
    earlier : Comparisons
    further : Comparisons
        The first objects are those of the earlier ones, in the same order.
    """
    kinds = {earlier.kind, further.kind}
    n_objects = max(earlier.n_objects, further.n_objects)
    labels = earlier.labels if further.labels is None else further.labels
    parts = [
        Comparisons(part.index if len(kinds) == 1 else part.quadruplets(), n_objects, part.weights, labels)
        for part in (earlier, further)
    ]
    return Comparisons.concat(parts).aggregate()


def renumbered(comparisons: Comparisons, objects: np.ndarray) -> Comparisons:
    """The same comparisons over some objects alone, int (m,), which are all that occur in them; without labels."""
    number = np.zeros(comparisons.n_objects, dtype=np.int32)
    number[objects] = np.arange(len(objects), dtype=np.int32)
    return Comparisons(number[comparisons.index], n_objects=len(objects), weights=comparisons.weights)
