"""The comparisons that a map violates most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._tables import data_frame, html_table
from nearer.data import Comparisons, check_integer
from nearer.metrics.comparison import comparison_distances, on_points

__all__ = ["WorstComparisons", "worst_comparisons"]


@dataclass(frozen=True, eq=False, repr=False)
class WorstComparisons:
    """Comparisons that a map violates, the worst first.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        Their places among the comparisons given.
    objects : ndarray of str or int, shape (m, 3) or (m, 4)
        Labels (numbers, if there are none): anchor, near, far, or i, j, l, k for d(i, j) < d(l, k).
    near, far : ndarray of float64, shape (m,)
        Distances on the map of the pair that should be nearer, and of the other; ``near >= far`` throughout.
    weights : ndarray of float64, shape (m,)
        1 where the comparisons have no weights.
    participants : ndarray, shape (m,), or None
        Who answered, where known.
    n_violated, n_comparisons : int
        How many comparisons are violated, of how many whose objects all have a place.
    """

    rows: np.ndarray
    objects: np.ndarray
    near: np.ndarray
    far: np.ndarray
    weights: np.ndarray
    participants: np.ndarray | None
    n_violated: int
    n_comparisons: int

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table.

        Returns
        -------
        dict of str to list
            Objects (anchor, near, far or i, j, l, k), near_distance, far_distance, weight and, where known,
            participant.
        """
        names = ("anchor", "near", "far") if self.objects.shape[1] == 3 else ("i", "j", "l", "k")
        table = {name: column.tolist() for name, column in zip(names, self.objects.T)}
        table |= {"near_distance": self.near.tolist(), "far_distance": self.far.tolist()}
        table["weight"] = self.weights.tolist()
        if self.participants is not None:
            table["participant"] = self.participants.tolist()
        return table

    def to_frame(self) -> Any:
        """Return the same table as a pandas DataFrame, indexed by `rows`.

        Returns
        -------
        pandas.DataFrame
        """
        return data_frame(self.to_dict(), index=self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"WorstComparisons: {len(self):,} of {self.n_violated:,} violated among {self.n_comparisons:,}"

    def _repr_html_(self) -> str:
        return html_table(self.to_dict(), repr(self))


def worst_comparisons(embedding: ArrayLike, comparisons: Comparisons, n: int = 20) -> WorstComparisons:
    """Find the comparisons that a map violates most: those with the largest difference of distances.

    Parameters
    ----------
    embedding : array-like of float, shape (n_objects, n_components)
        The map; NaN for objects without a place, whose comparisons are left out.
    comparisons : Comparisons
    n : int, default 20
        How many to return at most.

    Returns
    -------
    WorstComparisons
        Ties count as violated; equal differences come in the order of the comparisons.
    """
    n = check_integer(n, "n", 1)
    points, comparisons = on_points(embedding, comparisons)
    near, far = (np.sqrt(squared) for squared in comparison_distances(points, comparisons))
    placed = np.isfinite(near) & np.isfinite(far)
    violated = np.flatnonzero(placed & ~(near < far))
    rows = violated[np.argsort(far[violated] - near[violated], kind="stable")[:n]]
    index = comparisons.index[rows]
    return WorstComparisons(
        rows=rows,
        objects=index if comparisons.labels is None else comparisons.labels[index],
        near=near[rows],
        far=far[rows],
        weights=np.ones(len(rows)) if comparisons.weights is None else comparisons.weights[rows],
        participants=None if comparisons.participants is None else np.asarray(comparisons.participants)[rows],
        n_violated=len(violated),
        n_comparisons=int(placed.sum()),
    )
