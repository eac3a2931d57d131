"""`Comparisons`: the one form in which answers enter everything else."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._memory import check_memory
from nearer._tables import html_table
from nearer.data import making, rules, values
from nearer.data.answers import kept_together
from nearer.data.carriers import is_table, named_rows, refuse_other_order
from nearer.data.cells import is_whole
from nearer.data.doubts import no_objects_among
from nearer.data.errors import counted
from nearer.data.roles import INDEX_COLUMNS
from nearer.data.rules import Parts, check_rows
from nearer.data.tables import parts_of_table
from nearer.data.values import Details, Options, People, frozen

if TYPE_CHECKING:
    from nearer.data.quality import CheckResult


class Comparisons:
    """Answers of the form "this pair is nearer than that pair", checked once and never changed.

    `Comparisons(index)` takes triplets or quadruplets by the number of columns; the named constructors say more.

    Parameters
    ----------
    index : array-like of int, shape (N, 3) or (N, 4)
        Triplets ``anchor, near, far`` or quadruplets ``i, j, l, k``: d(i, j) < d(l, k). Copied, so that
        what happens to the array afterwards does not matter.
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
    details : Details or mapping of str to array-like of shape (N,), optional
        What else is known of each answer: side, seconds, order, catch, correct, chosen_by; see `Details`.

    Attributes
    ----------
    index : ndarray of int32, shape (N, 3) or (N, 4), C-contiguous, read-only
    weights : ndarray of float64, shape (N,), or None
    labels : ndarray of str, shape (n_objects,), or None
    participants : ndarray of str objects or int64, shape (N,), or None
    people : People or None
        The same as codes and a table of names.
    details : Details or None
        Side, response time and so on, one for each row.
    n_objects : int
    dropped : dict of str to int
        Reason -> rows left out by a constructor on request.
    """

    __slots__ = ("_dropped", "_seen", "details", "index", "labels", "n_objects", "people", "weights")
    __hash__ = None  # type: ignore[assignment]

    index: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray | None
    people: People | None
    details: Details | None
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
        details: Any = None,
    ) -> None:
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        self._fill(check_rows(index, rules.EITHER, *given))

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
            "people": parts.people,
            "details": parts.details,
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
        return Parts(
            self.index, self.n_objects, self.weights, self.labels, self.people, self._dropped, details=self.details
        )

    def _with(self, **changes: Any) -> Comparisons:
        """The same with some parts exchanged for others that are known to be valid."""
        return self._make(replace(self._parts, **changes))

    # ---- how it is made ----------------------------------------------------------------------------------------------

    @classmethod
    def from_triplets(
        cls,
        T: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """Triplets, int (N, 3): ``anchor, near, far``; the anchor is nearer to `near` than to `far`."""
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        return cls._make(check_rows(T, rules.TRIPLETS, *given))

    @classmethod
    def from_quadruplets(
        cls,
        Q: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """Quadruplets, int (N, 4): ``i, j, l, k`` means d(i, j) < d(l, k); pairs may share an object."""
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        return cls._make(check_rows(Q, rules.QUADRUPLETS, *given))

    @classmethod
    def from_labels_table(
        cls,
        table: Any,
        columns: Any = None,
        labels: Any = None,
        weights: Any = None,
        participants: Any = None,
        **options: Any,
    ) -> Comparisons:
        """Read a table in memory, by the names of its columns, as a file with the same columns would be read.

        Parameters
        ----------
        table : pandas or polars DataFrame, pyarrow Table, dict of columns, array of text, or list of rows
            Rows may be dicts, named tuples, dataclasses, ``sqlite3.Row`` or Series, which are read by their names.
        columns : mapping, sequence or str, optional
            Which column is what: ``{"anchor": "head", "near": "winner", "far": "loser"}``, or roles in the order of
            the columns, such as ``["anchor", "near", "far"]``. Default: found by name.
        labels : sequence of str, optional
            All objects, in order; another name in the table is an error. Default: the names found, sorted.
        weights, participants : array-like of shape (N,), or a column name, optional
        **options : Any
            `kind`, `answers`, `n_objects`, `index_base`, `on_degenerate` ("drop" or "raise"), `on_missing`, `keep_na`
            and `fold_names`, as in `nearer.io.read_comparisons`.
        """
        named = {"weight": weights, "participant": participants}
        told: dict[str, Any] = {role: value for role, value in named.items() if isinstance(value, (str, int))}
        given = [None if role in told else value for role, value in named.items()]
        return cls._make(parts_of_table(table, Options(columns=columns, labels=labels, **told, **options), *given))

    @classmethod
    def from_answers(
        cls,
        questions: Any,
        answers: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """Questions with two options and the answers to them.

        Parameters
        ----------
        questions : array-like of int, shape (N, 3) or (N, 4), table of labels, or Comparisons
            ``anchor, a, b`` (which of a and b is nearer to the anchor?) or ``i, j, l, k`` (which pair is nearer?).
            Comparisons bring their own objects, labels, weights and participants.
        answers : array-like
            Shape (N,): +1 or True if the first option is nearer, -1 or False if the second. Shape (N, 2): votes for
            each option, which become weights (a side without votes gives no row; a tie gives two rows of equal weight).
        """
        if isinstance(questions, Comparisons):
            extra = (n_objects, weights, labels, participants, details)
            if any(value is not None for value in extra):
                raise ValueError("questions: Comparisons bring their own n_objects, weights, labels and participants")
            return questions._answered(answers)
        if is_table(questions):
            told = Options(labels=labels, n_objects=n_objects, on_degenerate=on_degenerate, asked=True)
            if details is not None:
                raise ValueError("details: a table brings its own, as columns")
            refuse_other_order(questions, answers, "answers")
            parts = parts_of_table(questions, told, weights, participants)
        else:
            given = (n_objects, weights, labels, participants, on_degenerate, details)
            parts = check_rows(questions, rules.QUESTIONS, *given)
        return cls._make(making.answered(parts, answers))

    @classmethod
    def from_odd_one_out(
        cls,
        sets: Any,
        odd: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """Sets of three, int (N, 3), and the odd object of each, int (N,): two triplets (a, b, odd), (b, a, odd)."""
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        parts = check_rows(sets, rules.SETS, *given)
        return cls._make(making.odd_one_out(parts, odd))

    @classmethod
    def from_most_central(
        cls,
        sets: Any,
        central: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """Sets of three, int (N, 3), and the most central object c of each, int (N,): triplets (a, c, b), (b, c, a)."""
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        parts = check_rows(sets, rules.SETS, *given)
        return cls._make(making.most_central(parts, central))

    @classmethod
    def from_rankings(
        cls,
        queries: Any,
        ranked: Any,
        k: int | None = None,
        ordered: bool = True,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
        details: Any = None,
    ) -> Comparisons:
        """The first k of m candidates chosen as nearest to a query.

        Parameters
        ----------
        queries : array-like of int, shape (N,)
        ranked : array-like of int, shape (N, m)
            The chosen candidates first.
        k : int, optional
            How many were chosen; default: all are ranked.
        ordered : bool
            Whether the chosen stand in order, so that an earlier one is nearer than a later one.
        """
        rows = making.stack_rankings(queries, ranked)
        given = (n_objects, weights, labels, participants, on_degenerate, details)
        parts = check_rows(rows, rules.RANKINGS, *given)
        return cls._make(making.ranked_pairs(parts, k, ordered))

    @classmethod
    def from_classes(
        cls, y: Any, n_comparisons: int, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Random triplets (i, j of the same class, k of another) from class labels of shape (n_objects,).

        The anchor is uniform over the objects that share their class with another, j and k over those possible.
        """
        rng, noise = values.as_generator(random_state), values.check_fraction(noise, "noise")
        made = cls._make(making.from_classes(y, n_comparisons, rng, labels))
        return made.with_noise(noise, rng)

    @classmethod
    def from_distances(
        cls,
        D: Any,
        n_comparisons: int | None = None,
        kind: str = "triplets",
        random_state: Any = None,
        noise: float = 0.0,
        labels: Any = None,
    ) -> Comparisons:
        """All or random comparisons of a symmetric matrix of distances (n_objects, n_objects).

        The names of the rows of a pandas table are the labels; given labels say their order.

        Parameters
        ----------
        D : array-like of float, shape (n_objects, n_objects)
        n_comparisons : int, optional
            How many random comparisons (drawn with replacement, of distinct objects); default: all triplets, or all
            comparisons of two pairs. Ties say nothing: they are passed over and counted in `dropped`.
        kind : {"triplets", "quadruplets"}
        """
        rng, noise = values.as_generator(random_state), values.check_fraction(noise, "noise")
        D, labels = named_rows(D, labels, "distances")
        made = cls._make(making.from_distances(D, n_comparisons, kind, rng, labels))
        return made.with_noise(noise, rng)

    @classmethod
    def from_points(
        cls,
        X: Any,
        n_comparisons: int,
        kind: str = "triplets",
        random_state: Any = None,
        noise: float = 0.0,
        labels: Any = None,
    ) -> Comparisons:
        """Random comparisons of the Euclidean distances between points (n_objects, d), without an n x n matrix.

        Drawn with replacement, of distinct objects; ties are passed over and counted in `dropped`. The names of the
        rows of a pandas table are the labels; given labels say their order.
        """
        rng, noise = values.as_generator(random_state), values.check_fraction(noise, "noise")
        X, labels = named_rows(X, labels, "points")
        made = cls._make(making.from_points(X, n_comparisons, kind, rng, labels))
        return made.with_noise(noise, rng)

    @classmethod
    def from_knn_graph(
        cls, A: Any, n_comparisons: int | None = None, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Triplets (i, neighbour of i, other) from a directed graph (n_objects, n_objects), dense or sparse.

        A non-zero entry (i, j) makes j a neighbour of i; the diagonal is ignored, and counted in `dropped`. All
        triplets, or `n_comparisons` random ones, uniform over all and drawn with replacement.
        """
        rng, noise = values.as_generator(random_state), values.check_fraction(noise, "noise")
        made = cls._make(making.from_knn_graph(A, n_comparisons, rng, labels))
        return made.with_noise(noise, rng)

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """``"triplets"`` or ``"quadruplets"``."""
        return "triplets" if self.index.shape[1] == 3 else "quadruplets"

    @property
    def participants(self) -> np.ndarray | None:
        """Who answered, shape (N,), or None."""
        return None if self.people is None else self.people.each()

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
            for start in range(0, len(self), rules.CHUNK):
                mask[self.index[start : start + rules.CHUNK]] = True
            object.__setattr__(self, "_seen", frozen(mask))
        return self._seen  # type: ignore[return-value]

    @property
    def at_random(self) -> np.ndarray | None:
        """Which answers are to questions chosen at random: bool, shape (N,); None if all are, as far as is known.

        Questions chosen in the light of earlier answers are a biased sample: accuracy holds for questions at large
        only where it is measured on the others. "random" and "balanced" questions are chosen without looking.
        """
        chosen = None if self.details is None else self.details.chosen_by
        if chosen is None:
            return None
        blind = np.array([str(name).casefold() in values.BLIND for name in chosen.names])
        return None if blind.all() else frozen(blind[chosen.codes])

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"{counted(len(self), self.kind[:-1])} over {counted(self.n_objects, 'object')}"

    def _repr_html_(self) -> str:
        shown = self.index[:_ROWS_SHOWN] if self.labels is None else self.labels[self.index[:_ROWS_SHOWN]]
        columns = dict(zip(INDEX_COLUMNS[self.index.shape[1]], shown.T.tolist()))
        if self.weights is not None:
            columns["weight"] = self.weights[:_ROWS_SHOWN].tolist()
        more = f"; the first {_ROWS_SHOWN}" if len(self) > _ROWS_SHOWN else ""
        return html_table(columns, f"{self!r}{more}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparisons):
            return NotImplemented
        mine, theirs = (self.index, self.weights, self.labels), (other.index, other.weights, other.labels)
        same = self.n_objects == other.n_objects and self.people == other.people and self.details == other.details
        return same and all(_same(a, b) for a, b in zip(mine, theirs))

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
        beside = self._parts.beside(rows)
        if beside["weights"] is not None and not beside["weights"].any():
            raise ValueError("comparisons: all weights of the selection are 0")
        return self._with(index=index, dropped={}, **beside)

    def _rows(self, rows: slice) -> Comparisons:
        """Some of the rows, as they are: none of them may count."""
        return self._with(index=self.index[rows], dropped={}, **self._parts.beside(rows))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("Comparisons are not iterable; use .index for the rows")

    def flipped(self, mask: Any) -> Comparisons:
        """Near and far exchanged in the rows of a mask: bool, shape (N,)."""
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != (len(self),):
            raise ValueError(
                f"flipped: got dtype {mask.dtype}, shape {mask.shape}, expected a bool mask ({len(self)},)"
            )
        return self._exchanged(np.flatnonzero(mask))

    def _exchanged(self, rows: np.ndarray) -> Comparisons:
        details = None if self.details is None else self.details.flipped(rows)
        return self._with(index=rules.exchanged(self.index, rows), details=details)

    def with_noise(self, fraction: float, random_state: Any = None) -> Comparisons:
        """Exactly ``round(fraction * N)`` random rows flipped."""
        count = round(values.check_fraction(fraction, "fraction") * len(self))
        rng = values.as_generator(random_state)
        if not count:
            return self
        return self._exchanged(rng.choice(len(self), count, replace=False, shuffle=False))

    def aggregate(self) -> Comparisons:
        """Rows that say the same merged into one, weights summed, in lexicographic order; people and details go.

        Rows without weights count 1 each. Two quadruplets that differ only in the order inside a pair say the same.
        """
        first, member = rules.group(rules.same_statement(self.index), self.n_objects)
        weights = np.bincount(member, weights=self.weights, minlength=len(first)).astype(np.float64)
        return self._with(index=self.index[first], weights=weights, people=None, details=None)

    def split(
        self, test_size: float | int = 0.2, random_state: Any = None, groups: Any = None
    ) -> tuple[Comparisons, Comparisons]:
        """Random train and test rows, both over all objects.

        Parameters
        ----------
        test_size : float or int
            A fraction between 0 and 1 (rounded to whole rows) or a number of rows; with groups, of groups.
        random_state : None, int or Generator
        groups : array-like, shape (N,), "participants", "answers" or "rows", optional
            Rows of one group stay together, so that "participants" tests on people who are new. Default: "answers" if
            some have several rows, as odd-one-out answers and rankings do, and there are enough of them for the
            parts; otherwise "rows".
        """
        groups = _by_answer(self, groups, 2)
        if groups is None:
            mask = _test_mask(len(self), test_size, random_state, "rows")
        else:
            units = groups_of(self, groups)
            mask = _test_mask(len(units.names), test_size, random_state, "groups")[units.codes]
        return self[~mask], self[mask]

    def folds(
        self, n_folds: int = 5, random_state: Any = None, groups: Any = None
    ) -> Iterator[tuple[Comparisons, Comparisons]]:
        """Pairs (train, test), each over all objects; every row is in one test set.

        Parameters
        ----------
        n_folds : int
        random_state : None, int or Generator
        groups : array-like, shape (N,), "participants", "answers" or "rows", optional
            Rows of one group stay together; default as in `split`.
        """
        n_folds = values.check_integer(n_folds, "n_folds", 2)
        groups = _by_answer(self, groups, n_folds)
        units = None if groups is None else groups_of(self, groups)
        fold = fold_of_rows(len(self), n_folds, random_state, units)
        return ((self[fold != number], self[fold == number]) for number in range(n_folds))

    def concat(
        self: Comparisons | Iterable[Comparisons], others: Comparisons | Iterable[Comparisons] = ()
    ) -> Comparisons:
        """Rows of several, one after the other: ``a.concat([b, c])`` or ``Comparisons.concat([a, b, c])``.

        All must be of one kind, with the same labels. Where some have weights, rows without count 1; a detail that some
        lack is unknown there.
        """
        parts: list[Any] = []
        for given in (self, others):
            try:
                parts += [given] if isinstance(given, Comparisons) else given
            except TypeError:
                raise ValueError(f"concat: got {given!r}, expected Comparisons") from None
        if not parts:
            raise ValueError("concat: got nothing to join")
        strange = [part for part in parts if not isinstance(part, Comparisons)]
        if strange:
            raise ValueError(f"concat: got {strange[0]!r}, expected Comparisons")
        first = parts[0]
        for part in parts[1:]:
            if part.kind != first.kind:
                raise ValueError(f"concat: got {first.kind} and {part.kind}, expected one kind")
            if not _same(part.labels, first.labels):
                raise ValueError("concat: the labels differ, expected the same labels in the same order")
            if (part.people is None) != (first.people is None):
                raise ValueError("concat: some have participants and some have not")
        weights = people = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate([np.ones(len(p)) if p.weights is None else p.weights for p in parts])
        if first.people is not None:
            people = People.joined([part.people for part in parts if part.people is not None])
        dropped: dict[str, int] = {}
        for part in parts:
            for reason, count in part.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + count
        index = np.concatenate([part.index for part in parts])
        n_objects = max(part.n_objects for part in parts)
        details = Details.joined([part.details for part in parts], list(map(len, parts)))
        return first._make(Parts(index, n_objects, weights, first.labels, people, dropped, details=details))

    def relabelled(self, labels: Any) -> Comparisons:
        """The same rows, with the objects numbered as in another list of labels.

        Parameters
        ----------
        labels : sequence of str, shape (m,)
            They come first, in this order; labels of these comparisons that are not among them follow, sorted. Objects
            without labels are called by their numbers, where the labels are numbers too.
        """
        _, first = values.check_objects(None, labels)
        if first is None:
            raise ValueError("relabelled: got None, expected labels")
        own = self.labels
        if own is None:
            if not all(map(is_whole, first.tolist())):
                raise ValueError("relabelled: got names, but these comparisons have none")
            own = np.arange(self.n_objects).astype(str)
        together = np.concatenate([first, np.setdiff1d(own, first)])
        order = np.argsort(together)
        place = order[np.searchsorted(together, own, sorter=order)].astype(np.int32)
        return self._with(index=place[self.index], n_objects=len(together), labels=together)

    def without_labels(self) -> Comparisons:
        """The same, with objects called by their numbers alone."""
        return self._with(labels=None)

    def _answered(self, answers: Any) -> Comparisons:
        # What was chosen before, and whether rightly, says nothing about these answers.
        details = None if self.details is None else replace(self.details, side=None, correct=None)
        return self._make(making.answered(replace(self._parts, details=details), answers))

    def check(self, n_components: int | None = None) -> CheckResult:
        """Look for faults in the data; see `CheckResult`.

        Parameters
        ----------
        n_components : int, optional
            The dimension asked for; without it, no object is said to have too few answers.
        """
        from nearer.data.quality import check

        return check(self, n_components)


_ROWS_SHOWN = 5  # in a notebook


def _rebuild(parts: Parts) -> Comparisons:
    return Comparisons._make(parts)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def as_comparisons(
    X: Any, y: Any = None, sample_weight: Any = None, n_objects: int | None = None, known: Any = None
) -> Comparisons:
    """Whatever an estimator is given, as comparisons.

    Parameters
    ----------
    X : Comparisons, array-like of int of shape (N, 3) or (N, 4), or a table that `from_labels_table` understands
    y : array-like, optional
        Answers to X taken as questions, as in `Comparisons.from_answers`.
    sample_weight : array-like of float, shape (N,), optional
        Multiplies the weights that X has already.
    n_objects : int, optional
    known : sequence of str, optional
        Names of the objects of a map: no doubt is told of those.
    """
    if not isinstance(X, Comparisons):
        if y is not None:
            degenerate = "drop" if is_table(X) else "raise"
            return Comparisons.from_answers(X, y, n_objects=n_objects, weights=sample_weight, on_degenerate=degenerate)
        if not is_table(X):
            _refuse_answers_among(X)
            return Comparisons(X, n_objects=n_objects, weights=sample_weight)
        return Comparisons._make(parts_of_table(X, Options(n_objects=n_objects, known=known), sample_weight))
    n_objects = values.check_objects(n_objects, None)[0]
    if n_objects is not None and n_objects != X.n_objects:
        if n_objects < X.n_objects or X.labels is not None:
            raise ValueError(f"n_objects: got {n_objects:,}, but the comparisons are over {X.n_objects:,} objects")
        X = X._with(n_objects=n_objects)
    if sample_weight is not None:
        weights = values.check_weights(sample_weight, len(X))
        X = X._with(weights=weights if X.weights is None else values.check_weights(weights * X.weights, None))
    return X if y is None else Comparisons.from_answers(X, y)


def _refuse_answers_among(X: Any) -> None:
    """Refuse an array (N, 4) whose last column holds answers rather than objects."""
    try:
        rows: Any = rules.as_array(X)
    except (TypeError, ValueError):  # ragged; whoever takes it as an index says so
        return
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows) or rows.dtype.kind not in "iuf":
        return
    rows = rows[:_LOOKED_AT]
    numbers, place = np.unique(rows, return_inverse=True)
    place = place.reshape(rows.shape)
    counts = np.stack([np.bincount(column, minlength=len(numbers)) for column in place.T])
    if why := no_objects_among(counts, numbers, "fit(X[:, :3], y) with y True where the first option is nearer"):
        raise ValueError(f"comparisons: {why}; if they are objects, give Comparisons.from_quadruplets(X)")


_LOOKED_AT = 100_000  # rows; more tell nothing else


def on_labels(comparisons: Comparisons, labels: Any, named: bool) -> Comparisons:
    """The same comparisons with the objects numbered as on a map; those that it has not follow.

    Parameters
    ----------
    comparisons : Comparisons
    labels : sequence of str, shape (n,), or None
        Of the map.
    named : bool
        Whether comparisons without labels call their objects by numbers, as a table does. Otherwise, as in an array, a
        number is a row of the map; where it may be a label too, that is refused.
    """
    if labels is None:
        return comparisons if comparisons.labels is None else _by_number(comparisons)
    if comparisons.labels is None:
        rows = np.arange(len(labels)).astype(str)
        if not named and not np.array_equal(labels, rows):
            number = next(filter(is_whole, map(str, labels)), None)
            if number is None:
                return comparisons
            raise ValueError(
                f"comparisons: got numbers without names: are they rows of the map or its labels, such as {number!r}? "
                "For labels give a table of them, for rows Comparisons(index, labels=labels of the map)"
            )
        comparisons = comparisons._with(labels=np.arange(comparisons.n_objects).astype(str))
    return comparisons.relabelled(labels)


def _by_number(comparisons: Comparisons) -> Comparisons:
    """The same without labels, for a map without any: objects that are called by numbers are its rows."""
    labels = [] if comparisons.labels is None else comparisons.labels.tolist()
    if not labels or not all(map(is_whole, labels)):
        raise ValueError("comparisons: got labels, but the map has none; give numbers, the rows of embedding_")
    n_objects = max(map(int, labels)) + 1
    what = f"comparisons: object number {n_objects - 1:,}"
    check_memory(100.0 * n_objects, what, "are the numbers those of the map?")
    return comparisons.relabelled(np.arange(n_objects).astype(str)).without_labels()


def joined(earlier: Comparisons, further: Comparisons) -> Comparisons:
    """All comparisons over the objects of the further ones, equal rows merged; quadruplets if either has them.

    The first objects of the further ones are those of the earlier ones, in the same order.
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


# ---- which rows go where -------------------------------------------------------------------------------------------


def _by_answer(comparisons: Comparisons, groups: Any, n_parts: int) -> Any:
    """The groups asked for; by default those of answers, if some have several rows and there are enough of them."""
    if groups is not None and not (isinstance(groups, str) and groups in ("answers", "rows")):
        return groups
    if groups == "rows":
        return None
    answer = kept_together(comparisons)
    n_answers = int(answer.max(initial=-1)) + 1
    return None if n_answers == len(answer) or (groups is None and n_answers < n_parts) else answer


def groups_of(comparisons: Comparisons, groups: Any) -> People:
    """The group of each row, from an array (N,) or the word "participants"."""
    if isinstance(groups, str):
        if groups != "participants" or comparisons.people is None:
            raise ValueError(f"groups: got {groups!r}, expected an array or 'participants' of these comparisons")
        return comparisons.people
    units = values.check_people(groups, len(comparisons), "groups")
    if units is None:
        raise ValueError("groups: got None, expected a group for each row")
    return units


def _test_mask(n_rows: int, test_size: Any, random_state: Any, what: str) -> np.ndarray:
    """Mark the rows of a random test set, or the groups, as `what` calls them; see `Comparisons.split`."""
    if isinstance(test_size, float | np.floating):
        if not 0 < test_size < 1:
            raise ValueError(f"test_size: got {test_size}, expected a fraction between 0 and 1 or a number of {what}")
        n_test = round(float(test_size) * n_rows)
    else:
        n_test = values.check_integer(test_size, "test_size", 1)
    if not 0 < n_test < n_rows:
        raise ValueError(
            f"test_size: {test_size} of {n_rows:,} {what} leaves {n_test:,} for test, need {what} on both sides"
        )
    mask = np.zeros(n_rows, dtype=bool)
    mask[values.as_generator(random_state).choice(n_rows, n_test, replace=False, shuffle=False)] = True
    return mask


def fold_of_rows(n_rows: int, n_folds: Any, random_state: Any, groups: People | None) -> np.ndarray:
    """The fold of each row, int (n_rows,): sizes as equal as possible, rows of one group together."""
    n_folds = values.check_integer(n_folds, "n_folds", 2)
    rng = values.as_generator(random_state)
    if groups is None:
        if n_folds > n_rows:
            raise ValueError(f"n_folds: got {n_folds} folds for {n_rows:,} rows, expected at most one fold per row")
        fold = np.arange(n_rows, dtype=np.int32)
        fold %= n_folds
        rng.shuffle(fold)
        return fold
    names, member, sizes = groups.names, groups.codes, np.bincount(groups.codes)
    if n_folds > len(names):
        raise ValueError(f"n_folds: got {n_folds} folds for {len(names):,} groups, expected at most one fold per group")
    # The largest group first, each into the fold with the fewest rows so far; equals in random order.
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    heap = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.empty(len(names), dtype=np.int32)
    for group in order.tolist():
        filled, target = heapq.heappop(heap)
        fold_of_group[group] = target
        heapq.heappush(heap, (filled + int(sizes[group]), target))
    return fold_of_group[member]
