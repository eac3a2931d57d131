"""The named ways to make `Comparisons`; the work is done in answers, sampling and table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from nearer.data import answers as _answers
from nearer.data import sampling, validate
from nearer.data.table import encode_table, get_column, holds_labels
from nearer.data.validate import Parts, check_rows
from nearer.data.values import as_generator, check_fraction, check_objects

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons


class Constructors:
    """Class methods of `Comparisons`.

    Common parameters: `n_objects`, `weights` (N,), `labels` (n_objects,), `participants` (N,) and `on_degenerate` are
    as in `Comparisons`, with N the number of rows given; `random_state` is None, an int or a NumPy Generator, and the
    same seed gives the same bits; `noise` is the fraction of rows, exactly ``round(noise * N)``, that are flipped.
    """

    __slots__ = ()

    @classmethod
    def _make(cls, parts: Parts) -> Comparisons:
        raise NotImplementedError

    @classmethod
    def from_triplets(
        cls,
        T: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
    ) -> Comparisons:
        """Triplets, int (N, 3): ``anchor, near, far``; the anchor is nearer to `near` than to `far`."""
        return cls._make(check_rows(T, validate.TRIPLETS, n_objects, weights, labels, participants, on_degenerate))

    @classmethod
    def from_quadruplets(
        cls,
        Q: Any,
        n_objects: int | None = None,
        weights: Any = None,
        labels: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
    ) -> Comparisons:
        """Quadruplets, int (N, 4): ``i, j, l, k`` means d(i, j) < d(l, k); pairs may share an object."""
        return cls._make(check_rows(Q, validate.QUADRUPLETS, n_objects, weights, labels, participants, on_degenerate))

    @classmethod
    def from_labels_table(
        cls,
        table: Any,
        columns: Sequence[Hashable] | None = None,
        labels: Any = None,
        weights: Any = None,
        participants: Any = None,
        on_degenerate: str = "raise",
    ) -> Comparisons:
        """Triplets or quadruplets written with names.

        Parameters
        ----------
        table : DataFrame, pyarrow.Table, dict of columns, or array of shape (N, 3) or (N, 4)
        columns : sequence of 3 or 4 column names, optional
            Default: ``anchor, near, far`` or ``i, j, l, k`` if the table has them, else its only 3 or 4 columns.
        labels : sequence of str, optional
            All objects, in order; another name in the table is an error. Default: the names found, sorted.
        weights, participants : array of shape (N,) or a column name, optional
        on_degenerate : {"raise", "drop"}
        """
        named = [value for value in (weights, participants) if isinstance(value, str)]
        _, labels = check_objects(None, labels)
        index, labels = encode_table(table, columns, labels, skip=named)
        weights = get_column(table, weights) if isinstance(weights, str) else weights
        participants = get_column(table, participants) if isinstance(participants, str) else participants
        form = validate.EITHER
        return cls._make(check_rows(index, form, None, weights, labels, participants, on_degenerate))

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
        if isinstance(questions, Constructors):
            extra = (n_objects, weights, labels, participants)
            if any(value is not None for value in extra):
                raise ValueError("questions: Comparisons bring their own n_objects, weights, labels and participants")
            return questions._answered(answers)
        if holds_labels(questions):
            _, labels = check_objects(n_objects, labels)
            questions, labels = encode_table(questions, None, labels)
        form = validate.QUESTIONS
        parts = check_rows(questions, form, n_objects, weights, labels, participants, on_degenerate)
        return cls._make(_answers.answered(parts, answers))

    def _answered(self, answers: Any) -> Comparisons:
        raise NotImplementedError

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
    ) -> Comparisons:
        """Sets of three, int (N, 3), and the odd object of each, int (N,): two triplets (a, b, odd), (b, a, odd)."""
        parts = check_rows(sets, validate.SETS, n_objects, weights, labels, participants, on_degenerate)
        return cls._make(_answers.odd_one_out(parts, odd))

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
    ) -> Comparisons:
        """Sets of three, int (N, 3), and the most central object c of each, int (N,): triplets (a, c, b), (b, c, a)."""
        parts = check_rows(sets, validate.SETS, n_objects, weights, labels, participants, on_degenerate)
        return cls._make(_answers.most_central(parts, central))

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
        rows = _answers.stack_rankings(queries, ranked)
        parts = check_rows(rows, validate.RANKINGS, n_objects, weights, labels, participants, on_degenerate)
        return cls._make(_answers.ranked_pairs(parts, k, ordered))

    @classmethod
    def from_classes(
        cls, y: Any, n_comparisons: int, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Random triplets (i, j of the same class, k of another) from class labels of shape (n_objects,).

        The anchor is uniform over the objects that share their class with another, j and k over those possible.
        """
        rng, noise = as_generator(random_state), check_fraction(noise, "noise")
        made = cls._make(sampling.from_classes(y, n_comparisons, rng, labels))
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

        Parameters
        ----------
        D : array-like of float, shape (n_objects, n_objects)
        n_comparisons : int, optional
            How many random comparisons (drawn with replacement, of distinct objects); default: all triplets, or all
            comparisons of two pairs. Ties say nothing: they are passed over and counted in `dropped`.
        kind : {"triplets", "quadruplets"}
        """
        rng, noise = as_generator(random_state), check_fraction(noise, "noise")
        made = cls._make(sampling.from_distances(D, n_comparisons, kind, rng, labels))
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

        Drawn with replacement, of distinct objects; ties are passed over and counted in `dropped`.
        """
        rng, noise = as_generator(random_state), check_fraction(noise, "noise")
        made = cls._make(sampling.from_points(X, n_comparisons, kind, rng, labels))
        return made.with_noise(noise, rng)

    @classmethod
    def from_knn_graph(
        cls, A: Any, n_comparisons: int | None = None, random_state: Any = None, noise: float = 0.0, labels: Any = None
    ) -> Comparisons:
        """Triplets (i, neighbour of i, other) from a directed graph (n_objects, n_objects), dense or sparse.

        A non-zero entry (i, j) makes j a neighbour of i; the diagonal is ignored, and counted in `dropped`. All
        triplets, or `n_comparisons` random ones, uniform over all and drawn with replacement.
        """
        rng, noise = as_generator(random_state), check_fraction(noise, "noise")
        made = cls._make(sampling.from_knn_graph(A, n_comparisons, rng, labels))
        return made.with_noise(noise, rng)
