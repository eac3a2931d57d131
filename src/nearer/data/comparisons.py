"""`Comparisons`: the one form in which answers enter everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nearer.data import constructors, generated, splits, validate
from nearer.data.answers import NOT_ADAPTIVE, SIDE_NAMES, Answers, Flow
from nearer.data.coded import Coded
from nearer.data.constructors import Asked, Parts
from nearer.data.messages import counted
from nearer.data.validate import frozen, is_whole
from nearer.notebook import data_frame, html_table

INDEX_COLUMNS = {3: ("anchor", "near", "far"), 4: ("i", "j", "l", "k")}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Comparisons(Parts):
    """Answers of the form "this pair is nearer than that pair", checked once and never changed.

    `Comparisons(index)` takes triplets or quadruplets by the number of columns. The named constructors say more, and
    take the other parameters by name.

    Parameters
    ----------
    index : array-like of int, shape (N, 3) or (N, 4)
        Triplets ``anchor, near, far`` or quadruplets ``i, j, l, k``: d(i, j) < d(l, k).
    n_objects : int, optional
        Default: the highest index plus one, or the number of labels.
    weights : array-like of float, shape (N,), optional
        Finite, not negative, not all zero.
    labels : sequence of str, shape (n_objects,), optional
    participants : array-like of str or int, shape (N,), optional
        Who answered.
    on_degenerate : {"raise", "drop"}
        What to do with rows that say nothing about distances. With "drop", a triplet that shows its anchor or an
        option twice becomes an attention check in `answers`, and a degenerate quadruplet is counted in `dropped`.
    details : mapping of str to array-like of shape (N,), optional
        What else is known of each answer: side, seconds, order, catch, correct, chosen_by; see `Answers`.

    Attributes
    ----------
    index, weights, labels, n_objects
        As given, checked; the arrays are read-only, `index` is of int32.
    answers : Answers
        One entry per answer. An odd-one-out answer gives two comparisons, a ranking many, an attention check none.
    answer : ndarray of int32, shape (N,), or None
        The entry of `answers` that each comparison comes from; None if there is one comparison for each.
    dropped : dict of str to int
        Reason -> rows left out by a constructor on request.
    flow : Flow
        How many answers were collected and left out before these, see `Flow`; a part has the flow of the whole.
    """

    flow: Flow = None  # type: ignore[assignment]  # never None, see `_holding`

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
        vars(self).update(vars(self.from_parts(_assembled(constructors.ask("comparisons", index, *given)))))

    @classmethod
    def from_parts(cls, parts: Parts) -> Comparisons:
        return _holding(vars(parts))

    def __reduce__(self) -> tuple:
        return _holding, (vars(self),)

    def replaced(self, **changes: Any) -> Comparisons:
        """A copy with some fields replaced by valid ones."""
        return _holding(vars(self) | changes)

    @classmethod
    def from_triplets(cls, T: Any, **about: Any) -> Comparisons:
        """Triplets, int (N, 3): ``anchor, near, far``; the anchor is nearer to `near` than to `far`."""
        return cls.from_parts(_assembled(constructors.ask("triplets", T, **about)))

    @classmethod
    def from_quadruplets(cls, Q: Any, **about: Any) -> Comparisons:
        """Quadruplets, int (N, 4): ``i, j, l, k`` means d(i, j) < d(l, k); pairs may share an object."""
        return cls.from_parts(_assembled(constructors.ask("quadruplets", Q, **about)))

    @classmethod
    def from_answers(cls, questions: Any, answers: Any, **about: Any) -> Comparisons:
        """Questions with two options and the answers to them.

        Parameters
        ----------
        questions : array-like of int, shape (N, 3) or (N, 4), or Comparisons
            ``anchor, a, b`` (which of a and b is nearer to the anchor?) or ``i, j, l, k`` (which pair is nearer?).
            Comparisons bring their own objects, labels, weights and participants.
        answers : array-like
            Shape (N,): +1 or True if the first option is nearer, -1 or False if the second. Shape (N, 2): votes for
            each option, which become weights (a side without votes gives no row; a tie gives two rows of equal weight).
        """
        if isinstance(questions, Comparisons):
            if about:
                raise ValueError(f"{next(iter(about))}: Comparisons bring their own, expected none")
            if questions.answer is not None:
                raise ValueError("questions: got several comparisons from one answer, expected one from each")
            # Sides and correctness of earlier answers do not hold for these.
            known = {name: v for name, v in questions.answers.known().items() if name not in ("side", "correct")}
            objects: dict[str, Any] = {"n_objects": questions.n_objects, "labels": questions.labels}
            asked = Asked(questions.kind, questions.index, known, questions.weights, clean=True, **objects)
        else:
            asked = constructors.ask("questions", questions, **about)
        return cls.from_parts(_assembled(constructors.with_answers(asked, answers)))

    @classmethod
    def from_odd_one_out(cls, sets: Any, odd: Any, **about: Any) -> Comparisons:
        """Sets of three, int (N, 3), and the odd object of each, int (N,): two triplets (a, b, odd), (b, a, odd)."""
        asked = constructors.ask("odd-one-out", sets, **about)
        return cls.from_parts(_assembled(constructors.with_picked(asked, odd, "odd")))

    @classmethod
    def from_most_central(cls, sets: Any, central: Any, **about: Any) -> Comparisons:
        """Sets of three, int (N, 3), and the most central object c of each, int (N,): triplets (a, c, b), (b, c, a)."""
        asked = constructors.ask("most-central", sets, **about)
        return cls.from_parts(_assembled(constructors.with_picked(asked, central, "central")))

    @classmethod
    def from_rankings(
        cls, queries: Any, ranked: Any, k: int | None = None, ordered: bool = True, **about: Any
    ) -> Comparisons:
        """Queries, int (N,), and m candidates for each, int (N, m), of which the first k were chosen as nearest.

        By default all are ranked. `ordered` says whether an earlier one of the chosen is nearer than a later one.
        """
        asked = constructors.ask("rankings", constructors.stack_rankings(queries, ranked), **about)
        return cls.from_parts(_assembled(constructors.with_ranks(asked, k, ordered)))

    @classmethod
    def from_classes(
        cls, y: Any, n_comparisons: int, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Random triplets (i, j of the same class, k of another) from class labels of shape (n_objects,).

        The anchor is uniform over the objects that share their class with another, then j and k over all possible ones.
        """
        return cls._noisy(generated.from_classes, (y, n_comparisons), random_state, noise, labels)

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

        All triplets, or all comparisons of two pairs, by default; otherwise `n_comparisons` random ones of distinct
        objects, as in `from_points`.
        """
        labels = validate.named_rows(D, labels)
        return cls._noisy(generated.from_distances, (D, n_comparisons, kind), random_state, noise, labels)

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

        Drawn with replacement, of distinct objects; ties are counted in `dropped`. The rows of a pandas table name the
        objects.
        """
        labels = validate.named_rows(X, labels)
        return cls._noisy(generated.from_points, (X, n_comparisons, kind), random_state, noise, labels)

    @classmethod
    def from_knn_graph(
        cls, A: Any, n_comparisons: int | None = None, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Triplets (i, neighbour of i, other) from a directed graph (n_objects, n_objects), dense or sparse.

        A non-zero entry (i, j) makes j a neighbour of i; the diagonal is ignored, and counted in `dropped`. All
        triplets, or `n_comparisons` random ones, uniform over all and drawn with replacement.
        """
        return cls._noisy(generated.from_knn_graph, (A, n_comparisons), random_state, noise, labels)

    @classmethod
    def _noisy(cls, make: Callable[..., Any], given: tuple, seed: Any, noise: float, labels: Any) -> Comparisons:
        rng, noise = validate.as_generator(seed), validate.check_fraction(noise, "noise")
        index, n_objects, dropped = make(*given, rng)
        labels = validate.check_objects(n_objects, labels)[1]
        answers = Answers("triplets" if index.shape[1] == 3 else "quadruplets", len(index))
        return cls.from_parts(Parts(index, n_objects, answers, labels=labels, dropped=dropped)).with_noise(noise, rng)

    @property
    def kind(self) -> str:
        """``"triplets"`` or ``"quadruplets"``."""
        return "triplets" if self.index.shape[1] == 3 else "quadruplets"

    @property
    def people(self) -> Coded | None:
        """Who gave each comparison, as codes and names; None if that is not known."""
        return self.of_rows(self.answers.participant)

    @property
    def participants(self) -> np.ndarray | None:
        """Who gave each comparison, shape (N,), or None."""
        people = self.people
        return None if people is None else people.each()

    def of_rows(self, values: Any) -> Any:
        """Repeat values of answers, of length ``len(answers)``, for each comparison; None stays None."""
        return values if values is None or self.answer is None else values[self.answer]

    @property
    def n_answers(self) -> float:
        """Answers that gave comparisons: attention checks do not count, votes each do."""
        return self.answers[slice(None) if self.answer is None else np.flatnonzero(np.bincount(self.answer))].count

    @property
    def votes(self) -> np.ndarray:
        """How many answers each comparison was given by: float, shape (N,)."""
        return np.ones(len(self)) if self.answers.votes is None else self.of_rows(self.answers.votes)

    @property
    def n_comparisons(self) -> int:
        """The number of rows, N."""
        return len(self.index)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of `index`; lets scikit-learn take rows."""
        return self.index.shape[0], self.index.shape[1]

    @cached_property
    def seen(self) -> np.ndarray:
        """Which objects occur in some comparison: bool, shape (n_objects,)."""
        mask = np.zeros(self.n_objects, dtype=bool)
        for column in self.index.T:
            mask[column] = True
        return frozen(mask)

    @property
    def at_random(self) -> np.ndarray | None:
        """Which comparisons answer questions that were not chosen adaptively: bool, shape (N,); None if all do."""
        chosen = self.of_rows(self.answers.chosen_by)
        if chosen is None:
            return None
        blind = np.array([str(name).casefold() in NOT_ADAPTIVE for name in chosen.names])
        return None if blind.all() else frozen(blind[chosen.codes])

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"{counted(len(self), self.kind[:-1])} over {counted(self.n_objects, 'object')}"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each comparison: its objects, its weight, and its answer.

        Objects are named by label, or by number without labels; what is not known of an answer is NaN or None. Where
        answers gave several rows, `answer_number` says which belong together. Attention checks, which have no rows, are
        left out.
        """
        objects = self.index if self.labels is None else self.labels[self.index]
        table: dict[str, Any] = dict(zip(INDEX_COLUMNS[self.index.shape[1]], objects.T))
        if self.weights is not None:
            table["weight"] = self.weights
        if self.answer is not None:
            kinds = np.array(self.answers.kind) if isinstance(self.answers.kind, str) else self.answers.kind.each()
            table |= {
                "answer_number": self.answer,
                "question_kind": np.broadcast_to(kinds, len(self.answers))[self.answer],
            }
        for name, values in self.answers.known().items():
            column = self.of_rows(values.each() if isinstance(values, Coded) else values)
            if name == "side":
                column = SIDE_NAMES[column]
            elif name in ("order", "correct") and (column < 0).any():
                column = np.where(column < 0, np.nan, column)
            table[name] = column
        return data_frame(table)

    def _repr_html_(self) -> str:
        first = self.index[:5]
        cells = first if self.labels is None else self.labels[first]
        columns = dict(zip(INDEX_COLUMNS[self.index.shape[1]], cells.T.tolist()))
        if self.weights is not None:
            columns["weight"] = self.weights[:5].tolist()
        return html_table(columns, f"{self!r}; the first 5" if len(self) > 5 else repr(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparisons):
            return NotImplemented
        names = ("n_objects", "answer", "index", "weights", "labels")
        alike = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        return alike and self.answers == other.answers

    def quadruplets(self) -> np.ndarray:
        """All rows as quadruplets ``i, j, l, k``: int32, shape (N, 4); a triplet (a, n, f) becomes (a, n, a, f)."""
        return self.index if self.kind == "quadruplets" else self.index[:, [0, 1, 0, 2]]

    def __getitem__(self, chosen: Any) -> Comparisons:
        """Some of the comparisons (slice, mask or integer array), over the same objects and labels."""
        if isinstance(chosen, tuple) and len(chosen) == 2 and chosen[1] is Ellipsis:
            chosen = chosen[0]
        if not isinstance(chosen, slice):
            chosen = np.asarray(chosen)
            if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
                what = f"dtype {chosen.dtype}, shape {chosen.shape}"
                raise TypeError(f"comparisons: select rows by a slice, mask or integer array, not by {what}")
        made = self.take(chosen)
        if not len(made):
            raise ValueError("comparisons: the selection is empty")
        if made.weights is not None and not made.weights.any():
            raise ValueError("comparisons: all weights of the selection are 0")
        return made

    def take(self, chosen: Any) -> Comparisons:
        """Some of the comparisons, with their answers; the result may be empty or have only zero weights."""
        return self._with(chosen, chosen if self.answer is None else np.unique(self.answer[chosen]))

    def _with(self, rows: Any, entries: Any) -> Comparisons:
        """Some of the comparisons, and some `entries` of the answers, which include theirs."""
        index, answer = self.index[rows], None
        if self.answer is not None:
            answer = np.searchsorted(entries, self.answer[rows]).astype(np.int32)
            is_one_each = len(entries) == len(index) and np.array_equal(answer, np.arange(len(index)))
            answer = None if is_one_each else answer
        weights = validate.take(self.weights, rows)
        return self.replaced(index=index, weights=weights, answers=self.answers[entries], answer=answer, dropped={})

    def of_answers(self, mask: np.ndarray) -> Comparisons:
        """Some of the answers, bool (len(answers),), with their comparisons; attention checks are answers too."""
        if self.answer is None:
            return self[mask]
        rows = mask[self.answer]
        if not rows.any():
            raise ValueError("comparisons: the selection is empty")
        return self._with(rows, np.flatnonzero(mask))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("Comparisons are not iterable; use .index for the rows")

    def flipped(self, mask: Any) -> Comparisons:
        """Near and far exchanged in the rows of a mask: bool, shape (N,)."""
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != (len(self),):
            what = f"dtype {mask.dtype}, shape {mask.shape}"
            raise ValueError(f"flipped: got {what}, expected a bool mask ({len(self)},)")
        return self._exchanged(np.flatnonzero(mask))

    def _exchanged(self, chosen: np.ndarray) -> Comparisons:
        entries = chosen if self.answer is None else self.answer[chosen]
        return self.replaced(index=constructors.exchanged(self.index, chosen), answers=self.answers.flipped(entries))

    def with_noise(self, fraction: float, random_state: Any = None) -> Comparisons:
        """Exactly ``round(fraction * N)`` random rows flipped."""
        count = round(validate.check_fraction(fraction, "fraction") * len(self))
        rows = validate.as_generator(random_state).choice(len(self), count, replace=False, shuffle=False)
        return self._exchanged(rows) if count else self

    def aggregate(self) -> Comparisons:
        """Comparisons that say the same merged into one, weights summed, in lexicographic order.

        Comparisons without weights count 1 each. Of the answers only their number is kept, as votes: of an answer that
        gave several comparisons, each counts its part.
        """
        first, member = splits.group(splits.same_statement(self.index), self.n_objects)
        weights = np.bincount(member, self.weights).astype(np.float64)
        votes = np.bincount(member, splits.shares_of_answers(self))
        answers = Answers(self.kind, len(first), votes=votes)
        return self.replaced(index=self.index[first], weights=weights, answers=answers, answer=None)

    def split(
        self, test_size: float | int = 0.2, random_state: Any = None, groups: Any = None
    ) -> tuple[Comparisons, Comparisons]:
        """Random train and test rows, both over all objects.

        Parameters
        ----------
        test_size : float or int
            A fraction between 0 and 1 (rounded to whole rows) or a number of rows; with groups, of groups.
        groups : array-like, shape (N,), "participants", "answers" or "rows", optional
            Rows of one group stay together, so that "participants" tests on people who are new. Default: "answers" if
            some answers have several rows, as in odd-one-out questions and rankings, and there are enough answers to
            split; otherwise "rows".
        """
        mask = splits.mark_test_rows(len(self), test_size, random_state, splits.units_of(self, groups, 2))
        return self[~mask], self[mask]

    def folds(
        self, n_folds: int = 5, random_state: Any = None, groups: Any = None
    ) -> Iterator[tuple[Comparisons, Comparisons]]:
        """Pairs (train, test) over all objects; every row is in one test set. `groups` as in `split`."""
        n_folds = validate.check_integer(n_folds, "n_folds", 2)
        fold = splits.fold_of_rows(len(self), n_folds, random_state, splits.units_of(self, groups, n_folds))
        return ((self[fold != number], self[fold == number]) for number in range(n_folds))

    def concat(
        self: Comparisons | Iterable[Comparisons], others: Comparisons | Iterable[Comparisons] = ()
    ) -> Comparisons:
        """Rows of several, one after the other: ``a.concat([b, c])`` or ``Comparisons.concat([a, b, c])``.

        All must be of one kind, with the same labels. If only some have weights, the rows of the others get weight 1; a
        participant or detail that only some have is unknown for the others.
        """
        parts: list[Any] = []
        for given in (self, others):
            parts += given if isinstance(given, Iterable) and not isinstance(given, Comparisons) else [given]
        if not parts:
            raise ValueError("concat: got nothing to join")
        first = parts[0]
        for part in parts:
            if not isinstance(part, Comparisons) or part.kind != first.kind:
                raise ValueError(f"concat: got {first!r} and {part!r}, expected Comparisons of one kind")
            if not np.array_equal(part.labels, first.labels):  # type: ignore[arg-type]
                raise ValueError("concat: the labels differ, expected the same labels in the same order")
        weights = answer = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate([np.ones(len(p)) if p.weights is None else p.weights for p in parts])
        if any(part.answer is not None for part in parts):
            starts = np.cumsum([0, *(len(part.answers) for part in parts)])
            numbers = [splits.answer_of_rows(part) + start for part, start in zip(parts, starts)]
            answer = np.concatenate(numbers).astype(np.int32)
        dropped = sum((Counter(part.dropped) for part in parts), Counter())
        index = np.concatenate([part.index for part in parts])
        n_objects = max(part.n_objects for part in parts)
        answers = Answers.joined([part.answers for part in parts])
        who = answers.participant
        n_people = None if who is None else len(who.names)
        flow = Flow.joined([(part.flow, part.n_answers) for part in parts], n_people)
        return Comparisons.from_parts(Parts(index, n_objects, answers, answer, weights, first.labels, dropped, flow))

    def relabelled(self, labels: Any) -> Comparisons:
        """The same rows, with the objects numbered as in another list of labels, of shape (m,).

        They come first, in this order; labels of these comparisons that are not among them follow, sorted. Objects
        without labels are called by their numbers, where the labels are numbers too.
        """
        _, first = validate.check_objects(None, labels)
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
        return self.replaced(index=place[self.index], n_objects=len(together), labels=together)


def _holding(parts: Mapping[str, Any]) -> Comparisons:
    made = object.__new__(Comparisons)
    vars(made).update(
        index=frozen(np.ascontiguousarray(parts["index"], dtype=np.int32)),
        n_objects=int(parts["n_objects"]),
        answers=parts["answers"],
        answer=frozen(parts["answer"]),
        weights=frozen(parts["weights"]),
        labels=frozen(parts["labels"]),
        dropped={reason: count for reason, count in parts["dropped"].items() if count},
        flow=parts["flow"],
    )
    if made.flow is None:
        vars(made)["flow"] = made.answers.flow(made.n_answers, made.dropped)
    return made


def _assembled(asked: Asked) -> Parts:
    """The `Comparisons` that a constructor returns; ValueError if none is left."""
    parts = constructors.assemble(asked)
    if not len(parts.index):
        raise ValueError(f"comparisons: no row is left, all {len(asked.rows):,} are degenerate or attention checks")
    return replace(parts, weights=validate.check_weights(parts.weights, None))


def renumbered(comparisons: Comparisons, objects: np.ndarray) -> Comparisons:
    """The same comparisons without labels, renumbered to the given objects, int (m,), which include all that occur."""
    number = np.zeros(comparisons.n_objects, dtype=np.int32)
    number[objects] = np.arange(len(objects), dtype=np.int32)
    return comparisons.replaced(index=number[comparisons.index], n_objects=len(objects), labels=None)
