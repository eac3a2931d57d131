"""How well an embedding satisfies comparisons: accuracy, log-loss, calibration, and the worst violations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from nearer import kernels
from nearer.data import Comparisons, check_integer, check_numbers, row_names
from nearer.data.comparisons import INDEX_COLUMNS
from nearer.data.splits import group
from nearer.data.validate import is_whole
from nearer.io.coerce import as_comparisons, is_named
from nearer.losses import Loss, get_loss
from nearer.machine import check_memory
from nearer.notebook import data_frame, html_table
from nearer.registry import WITH_MODEL

CHUNK_ROWS = 1 << 17  # rows processed at once, in a few MB of work space


def comparison_distances(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of the near and the far pair of every comparison.

    Parameters
    ----------
    embedding : array (n_objects, n_components)
        Positions; NaN for an object without one. A pandas table with an index of names is matched by them.
    comparisons : Comparisons, int array (N, 3) or (N, 4), or table
        Rows (anchor, near, far) or (i, j, l, k) meaning d(i, j) < d(l, k). Numbers are rows of the embedding; so are
        the objects of Comparisons, unless the rows have names.

    Returns
    -------
    near, far : float64 arrays (N,)
        |x_i - x_j|^2 and |x_l - x_k|^2; NaN where an object has no position.
    """
    points, data = _on_points(embedding, comparisons)
    return _squared_distances(points, data.index)


def _squared_distances(points: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kernels.check_inside(index, len(points))
    near, far = np.empty(len(index)), np.empty(len(index))
    kernels.squared_distances(index, points, 0, near, far)
    return near, far


def log_ratio(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> np.ndarray:
    """Logarithm of the ratio of the far to the near distance of every comparison, float64 (N,).

    Positive where the comparison is satisfied; NaN where an object has no position. Parameters as in
    `comparison_distances`.
    """
    near, far = comparison_distances(embedding, comparisons)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 0.5 * (np.log(far) - np.log(near))


def comparison_accuracy(
    embedding: ArrayLike, comparisons: Comparisons | ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Weighted fraction of the comparisons that the embedding satisfies (near < far, strictly).

    A tie, and a comparison with an object that has no position (NaN), counts as not satisfied. Parameters as in
    `comparison_distances`; `sample_weight` (N,) multiplies the weights of the comparisons.
    """
    points, data = _on_points(embedding, comparisons, sample_weight)
    return min(_mean(points, data, np.less), 1.0)


def comparison_error(
    embedding: ArrayLike, comparisons: Comparisons | ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Weighted fraction of the comparisons not satisfied: 1 - `comparison_accuracy`."""
    return 1.0 - comparison_accuracy(embedding, comparisons, sample_weight)


def log_loss(
    embedding: ArrayLike, comparisons: Comparisons | ArrayLike, loss: str | Loss, sample_weight: ArrayLike | None = None
) -> float:
    """Weighted mean of -log P[near is nearer] in nats, under the model of a probabilistic loss.

    Guessing gives log(2) = 0.693...; a comparison with an object that has no position (NaN) gets probability 1/2. The
    `loss` is the one that the embedding was fitted with; other parameters as in `comparison_accuracy`.
    """
    points, data = _on_points(embedding, comparisons, sample_weight)
    model = require_model(get_loss(loss), "log_loss").resolve(points.shape[1])

    def surprise(near: np.ndarray, far: np.ndarray) -> np.ndarray:
        # the loss is the negative log-likelihood, in a form that does not overflow
        return np.where(np.isnan(near) | np.isnan(far), math.log(2.0), model.terms(near, far)[0])

    return _mean(points, data, surprise)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Reliability table: how often predictions of a given confidence were right."""

    bins: np.ndarray  # (n_bins + 1,), edges of the confidence bins, from 0.5 to 1
    predicted: np.ndarray  # (n_bins,), mean confidence of the predictions in each bin; NaN if empty
    observed: np.ndarray  # (n_bins,), fraction of them that agree with the answers; NaN if empty
    count: np.ndarray  # int (n_bins,), comparisons
    weight: np.ndarray  # (n_bins,), fraction of the total weight
    ece: float  # expected calibration error: sum of weight * |observed - predicted|


def calibration(
    embedding: ArrayLike,
    comparisons: Comparisons | ArrayLike,
    loss: str | Loss,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> Calibration:
    """Reliability table and expected calibration error of a probabilistic loss; parameters as in `log_loss`.

    The model predicts that the closer pair is nearer, with confidence max(p, 1 - p) in [0.5, 1]; confidences are put in
    `n_bins` equal bins and compared with how often the answers agree. A tie (p = 1/2, also where an object has no
    position) is right half of the time. The comparisons are preferably held out from the fit.
    """
    check_integer(n_bins, "n_bins", 1)
    points, data = _on_points(embedding, comparisons, sample_weight)
    model = require_model(get_loss(loss), "calibration").resolve(points.shape[1])
    near, far = _squared_distances(points, data.index)
    unsure = np.isnan(near) | np.isnan(far) | (near == far)
    p = np.where(unsure, 0.5, model.probability(near, far))
    confidence = np.maximum(p, 1.0 - p)
    right = np.where(unsure, 0.5, near < far)  # every model predicts the closer pair
    which = np.minimum(((confidence - 0.5) * 2 * n_bins).astype(np.intp), n_bins - 1)
    w = np.ones(len(p)) if data.weights is None else data.weights
    mass, confidences, rights = (
        np.bincount(which, weights=w * each, minlength=n_bins) for each in (1.0, confidence, right)
    )
    filled = np.where(mass > 0, mass, np.nan)
    return Calibration(
        bins=np.linspace(0.5, 1.0, n_bins + 1),
        predicted=confidences / filled,
        observed=rights / filled,
        count=np.bincount(which, minlength=n_bins),
        weight=mass / w.sum(),
        ece=float(np.abs(rights - confidences).sum() / w.sum()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class WorstComparisons:
    """The m comparisons that a map violates most, the worst first."""

    rows: np.ndarray  # int (m,), their rows among the comparisons given
    objects: np.ndarray  # (m, 3) or (m, 4), labels, or numbers without: anchor, near, far, or i, j, l, k
    near: np.ndarray  # (m,), distance on the map of the pair that should be nearer
    far: np.ndarray  # (m,), distance of the other pair; near >= far throughout
    weights: np.ndarray  # (m,), 1 without weights; the sum where equal rows are merged
    participants: np.ndarray | None  # (m,), None where equal rows are merged
    n_violated: float  # votes, or else rows; ties included
    n_comparisons: float  # all comparisons whose objects have a position
    n_unplaced: float = 0.0  # left out because an object has no position
    share: float | None = None  # violated fraction by weight, where weights are not votes

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table: objects, distances, weight and, where known, participant."""
        names = INDEX_COLUMNS[self.objects.shape[1]]
        table = {name: column.tolist() for name, column in zip(names, self.objects.T)}
        table |= {"near_distance": self.near.tolist(), "far_distance": self.far.tolist()}
        table["weight"] = self.weights.tolist()
        if self.participants is not None:
            table["participant"] = self.participants.tolist()
        return table

    def to_frame(self) -> Any:
        """Return the same table as a pandas DataFrame, indexed by `rows`."""
        return data_frame(self.to_dict(), index=self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"WorstComparisons: {len(self):,} of {self.n_violated:,.0f} violated among {self.n_comparisons:,.0f}"

    def _repr_html_(self) -> str:
        return html_table(self.to_dict(), repr(self))


def worst_comparisons(
    embedding: ArrayLike, comparisons: Comparisons, n: int = 20, *, merge: bool = False
) -> WorstComparisons:
    """Find the comparisons that a map violates most: those with the largest difference of distances.

    Ties count as violated; equal differences come in the order of the comparisons.

    Parameters
    ----------
    embedding : array-like of float, shape (n_objects, n_components)
        The map; NaN for objects without a position, whose comparisons are left out.
    comparisons : Comparisons
    n : int, default 20
        Maximum number to return.
    merge : bool, default False
        Return equal rows as one, with the sum of their weights.
    """
    n = check_integer(n, "n", 1)
    points, comparisons = _on_points(embedding, comparisons)
    near, far = _squared_distances(points, comparisons.index)
    placed = np.isfinite(near) & np.isfinite(far)
    # By squared distances, as in `comparison_accuracy`, so that every row is either violated or satisfied.
    violated = np.flatnonzero(placed & ~(near < far))
    near, far = np.sqrt(near), np.sqrt(far)
    order = violated[np.argsort(far[violated] - near[violated], kind="stable")]
    own = np.ones(len(near)) if comparisons.weights is None else comparisons.weights
    rows, weights, people = order[:n], own[order[:n]], comparisons.participants
    if merge and len(order):
        first, statement = group(list(comparisons.index[order].T), len(points))
        worst = np.argsort(first)[:n]
        rows, weights = order[first[worst]], np.bincount(statement, weights=own[order])[worst]
    index, votes = comparisons.index[rows], comparisons.votes
    share = None
    if comparisons.weights is not None and comparisons.answers.votes is None:
        share = float(own[violated].sum() / max(own[placed].sum(), 1e-300))
    return WorstComparisons(
        rows=rows,
        objects=index if comparisons.labels is None else comparisons.labels[index],
        near=near[rows],
        far=far[rows],
        weights=weights,
        participants=None if people is None or merge else np.asarray(people)[rows],
        n_violated=float(votes[violated].sum()),
        n_comparisons=float(votes[placed].sum()),
        n_unplaced=float(votes[~placed].sum()),
        share=share,
    )


def wilson_interval(share: ArrayLike, count: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval, low (n,) and high (n,), for fractions `share` (n,) observed in `count` (n,) trials."""
    share, count = np.asarray(share, dtype=float), np.asarray(count, dtype=float)
    z = float(ndtri((1 + level) / 2))
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    # At fractions of 0 and 1 the bound equals the fraction; rounding must not exceed it.
    return np.clip(centre - half, 0, share), np.clip(centre + half, share, 1)


def require_model(loss: Loss, what: str) -> Loss:
    """The loss, which `what` needs to be a probability model."""
    if not loss.has_model:
        raise ValueError(f"{what}: loss {loss.name!r} is not a probability model, expected one of: {WITH_MODEL}")
    return loss


def check_points(embedding: ArrayLike, name: str = "embedding") -> np.ndarray:
    """Positions as float64 (n, d); rows may be NaN."""
    points = check_numbers(embedding, name)
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(f"{name}: got shape {points.shape}, expected (n_objects, n_components)")
    return points


def _on_points(
    embedding: ArrayLike, comparisons: Comparisons | ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[np.ndarray, Comparisons]:
    """Positions, and comparisons of their rows; rows with names, as in the index of a frame, are matched by them."""
    points, names = check_points(embedding), row_names(embedding)
    held, named = isinstance(comparisons, Comparisons), is_named(comparisons)
    data = as_comparisons(comparisons, None, sample_weight, None if held or named else len(points))
    if names is not None or not held:
        data = on_labels(data, names, named)
    if data.n_objects > len(points):
        first = "" if names is None or data.labels is None else f" ({str(data.labels[len(points)])!r} has no row)"
        raise ValueError(
            f"embedding: has {len(points)} rows, but the comparisons are over {data.n_objects} objects{first}"
        )
    return points, data


def _mean(points: np.ndarray, data: Comparisons, measure: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Weighted mean over the comparisons of a function of their two distances, in bounded memory."""
    weights, sums = data.weights, []
    for start in range(0, len(data), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        values = measure(*_squared_distances(points, data.index[rows]))
        sums.append(float((values if weights is None else values * weights[rows]).sum()))
    return math.fsum(sums) / float(len(data) if weights is None else weights.sum())


def filled(embedding: np.ndarray, n_objects: int) -> np.ndarray:
    """Return the map with rows of NaN for objects it does not have."""
    missing = max(n_objects - len(embedding), 0)
    return np.pad(embedding, ((0, missing), (0, 0)), constant_values=np.nan)


def on_labels(comparisons: Comparisons, labels: Any, named: bool) -> Comparisons:
    """Renumber the objects as on a map with these labels (n,); further objects follow.

    Objects without labels are called by their labels if `named`, as in a table, else by rows of the map.
    """
    if labels is None:
        return comparisons if comparisons.labels is None else _by_number(comparisons)
    are_numbers = np.array_equal(labels, np.arange(len(labels)).astype(str))
    if comparisons.labels is None and not named and not are_numbers:
        number = next(filter(is_whole, map(str, labels)), None)
        if number is None:
            return comparisons
        raise ValueError(
            f"comparisons: got numbers without names: are they rows of the map or its labels, such as {number!r}? "
            "For labels give a table of them, for rows Comparisons(index, labels=labels of the map)"
        )
    if comparisons.labels is None:
        comparisons = comparisons.replaced(labels=np.arange(comparisons.n_objects).astype(str))
    return comparisons.relabelled(labels)


def _by_number(comparisons: Comparisons) -> Comparisons:
    """Comparisons without labels, for a map without any: labels must be numbers of rows."""
    labels = [] if comparisons.labels is None else comparisons.labels.tolist()
    if not all(map(is_whole, labels)):
        raise ValueError("comparisons: got labels, but the map has none; give numbers, the rows of embedding_")
    n_objects = max(map(int, labels)) + 1
    what = f"comparisons: object number {n_objects - 1:,}"
    check_memory(100.0 * n_objects, what, "are the numbers rows of the map?")
    return comparisons.relabelled(np.arange(n_objects).astype(str)).replaced(labels=None)
