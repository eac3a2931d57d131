"""Find places for new objects on a map that stays as it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from nearer.data import Comparisons, check_integer, renumbered
from nearer.losses import Loss
from nearer.metrics import comparison_distances
from nearer.metrics.comparison import filled
from nearer.objective import LocalObjective
from nearer.solvers import LBFGS
from nearer.warning_types import UnplacedObjectsWarning

# What the pull to the centre costs an object at the rim of the map, in units of the loss of one comparison. It keeps
# objects that are only ever the far one from flying away, and hardly moves the others.
_PULL = 0.01


@dataclass(frozen=True, eq=False)
class Placement:
    """Positions of n_new objects on a map; NaN for objects that no comparison connects to the map."""

    embedding: np.ndarray  # (n_new, n_components)
    objects: np.ndarray  # (n_new,), their rows of `full_embedding`
    labels: np.ndarray | None  # (n_new,)
    n_comparisons: np.ndarray  # (n_new,), comparisons that name the object
    n_satisfied: np.ndarray  # (n_new,), how many of these hold on the map
    n_unused: int  # comparisons given that name no new object
    full_embedding: np.ndarray  # (n_objects, n_components), the map with the new objects; other rows as before
    full_labels: np.ndarray | None  # (n_objects,)

    @property
    def satisfied(self) -> np.ndarray:
        """Fraction of each new object's comparisons that hold, (n_new,)."""
        return self.n_satisfied / self.n_comparisons

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row for each new object."""
        names = self.objects if self.labels is None else self.labels
        table = {"object": names.tolist()}
        table |= {f"x{c + 1}": self.embedding[:, c].tolist() for c in range(self.embedding.shape[1])}
        return table | {"n_comparisons": self.n_comparisons.tolist(), "n_satisfied": self.n_satisfied.tolist()}

    def __repr__(self) -> str:
        placed = int(np.isfinite(self.embedding).all(axis=1).sum())
        mean = f", {self.satisfied.mean():.1%} of their comparisons hold" if len(self.objects) else ""
        return f"Placement: {placed:,} of {len(self.objects):,} new objects placed{mean}"


class _FreeRows:
    """An objective as a function of some rows of the map only, each weakly attracted to the centre."""

    def __init__(self, objective: LocalObjective, X: np.ndarray, free: np.ndarray, pull: float, centre: np.ndarray):
        self.objective, self.X, self.free, self.pull, self.centre = objective, X, free, pull, centre
        self.n_objects, self.n_components = len(free), X.shape[1]
        self.n_comparisons = objective.n_comparisons

    def filled(self, rows: np.ndarray) -> np.ndarray:
        X = self.X.copy()
        X[self.free] = rows
        return X

    def value(self, rows: np.ndarray) -> float:
        return self.value_and_gradient(rows)[0]

    def error(self, rows: np.ndarray) -> float:
        return self.objective.error(self.filled(rows))

    def value_and_gradient(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective.value_and_gradient(self.filled(rows))
        away = rows - self.centre
        return value + self.pull * float(np.sum(away**2)), gradient[self.free] + 2.0 * self.pull * away


def place_objects(
    embedding: np.ndarray,
    comparisons: Comparisons,
    loss: Loss,
    *,
    n_init: int = 8,
    rng: np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> Placement:
    """Place the objects that comparisons name and the map lacks (a row of NaN, or a number beyond the map).

    The loss of all comparisons that name a new object is minimised over the new objects' positions. Groups of
    objects that no chain of comparisons connects are independent, and each keeps the best of its own starts. The first
    start has each object at the centre of the objects it is near to, the others at random positions of known objects.
    """
    n_init = check_integer(n_init, "n_init", 1)
    rng = np.random.default_rng(rng)
    full = filled(embedding, comparisons.n_objects).copy()
    homeless = np.isnan(full).any(axis=1)
    if homeless.all():
        raise ValueError("place: no object of the map has a place")
    naming = homeless[comparisons.index].any(axis=1)
    used = naming if comparisons.weights is None else naming & (comparisons.weights > 0)
    if not used.any():
        what = f"none of the {len(comparisons):,} comparisons names an object that is not on the map"
        raise ValueError(f"place: {what}, with a weight above 0")
    rows = comparisons[used]

    objects = np.flatnonzero(homeless[: comparisons.n_objects] & comparisons.seen)
    group, row_group, anchored = _groups(rows, objects, len(full))
    tied, row_tied = np.isin(group, anchored), np.isin(row_group, anchored)
    if not tied.all():
        warnings.warn(
            f"{int((~tied).sum()):,} of {len(objects):,} new objects are compared with no object of the "
            "map, not even through others: they have no position",
            UnplacedObjectsWarning,
            stacklevel=3,
        )
    if tied.any():
        rows, row_group, new, group = rows[row_tied], row_group[row_tied], objects[tied], group[tied]
        involved = np.flatnonzero(rows.seen)
        small = renumbered(rows, involved)
        known = full[np.isfinite(full).all(axis=1)]
        centre = known.mean(axis=0)
        rim = max(float(np.max(np.sum((known - centre) ** 2, axis=1))), np.finfo(float).tiny)
        weight = len(rows) if rows.weights is None else float(rows.weights.sum())
        local = LocalObjective(small, loss, full.shape[1], n_jobs)
        pull = _PULL / (rim * weight)
        objective = _FreeRows(local, full[involved], np.searchsorted(involved, new), pull, centre)

        # All groups are solved together, from starts that are chosen group by group.
        best = np.full(group.max() + 1, np.inf)
        X = np.empty((len(new), full.shape[1]))
        X0 = _near_centres(full, rows, new, centre)
        for start in range(n_init):
            if start:
                X0 = known[rng.integers(len(known), size=len(X))]
            X0 = X0 + rng.normal(scale=0.01 * np.sqrt(rim), size=X0.shape)
            found = LBFGS().solve(objective, X0).embedding
            value = loss.terms(*comparison_distances(objective.filled(found), small))[0]
            value = value if rows.weights is None else value * rows.weights
            value = np.bincount(row_group, weights=value)
            better = value < best
            best[better] = value[better]
            X[better[group]] = found[better[group]]
        full[new] = LBFGS().solve(objective, X).embedding

    near, far = comparison_distances(full, comparisons[naming])
    index = np.sort(comparisons.index[naming], axis=1)
    # Both pairs of a quadruplet may have one of the objects, which counts once.
    counts = np.diff(index, axis=1, prepend=-1) > 0
    held = counts & (near < far)[:, None]
    return Placement(
        embedding=full[objects],
        objects=objects,
        labels=None if comparisons.labels is None else comparisons.labels[objects],
        n_comparisons=np.bincount(index[counts], minlength=len(full))[objects],
        n_satisfied=np.bincount(index[held], minlength=len(full))[objects],
        n_unused=int(len(comparisons) - naming.sum()),
        full_embedding=full,
        full_labels=comparisons.labels,
    )


def extended(
    embedding: np.ndarray,
    comparisons: Comparisons,
    loss: Loss,
    shape: tuple[int, int],
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> np.ndarray:
    """A starting point of a shape (n_objects, n_components): known positions, then placed objects, the rest random."""
    X = rng.normal(scale=np.nanstd(embedding), size=shape)
    known = filled(embedding, shape[0])
    if comparisons.weights is not None:
        comparisons = comparisons[comparisons.weights > 0]
    if np.isnan(known[comparisons.index]).any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnplacedObjectsWarning)
            known = place_objects(known, comparisons, loss, rng=rng, n_jobs=n_jobs).full_embedding
    return np.where(np.isnan(known), X, known)


def _groups(rows: Comparisons, objects: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of new objects joined by comparisons: for each object, for each comparison, and those tied to the map.

    A group is tied if some comparison has a distance from one of its objects to a known one.
    """
    number = np.full(n, -1)
    number[objects] = np.arange(len(objects))
    named = number[rows.quadruplets()]
    is_new = named >= 0
    last = named.max(axis=1)  # each row names a new object, and joins all those that it names
    links = named[is_new], np.repeat(last, is_new.sum(axis=1))
    graph = coo_matrix((np.ones(len(links[0])), links), shape=(len(objects),) * 2)
    group = connected_components(graph, directed=False)[1]
    half_new = is_new[:, ::2] != is_new[:, 1::2]  # of the two pairs of a row
    return group, group[last], group[last[half_new.any(axis=1)]]


def _near_centres(full: np.ndarray, rows: Comparisons, objects: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """For each new object, the mean of the known objects it is near to; the centre if there are none."""
    pairs = rows.quadruplets()[:, :2]
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.isnan(full[pairs[:, 0]]).any(axis=1) & np.isfinite(full[pairs[:, 1]]).all(axis=1)]
    count = np.bincount(pairs[:, 0], minlength=len(full))[objects, None]
    total = np.zeros_like(full)
    np.add.at(total, pairs[:, 0], full[pairs[:, 1]])
    return np.where(count > 0, total[objects] / np.maximum(count, 1), centre)
