"""`IndividualEmbedding`: one map for all, with weights of its axes for each person or group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from nearer import kernels
from nearer.data import Answers, Comparisons, as_generator, check_bool, check_integer
from nearer.data.coded import Coded
from nearer.data.splits import first_rows, groups_of, shares_of_answers
from nearer.data.validate import frozen
from nearer.drawing import ShownMap
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.lapse_rates import Reliability, weigh_answers
from nearer.losses import Loss, loss_with
from nearer.metrics import fit_answer_law
from nearer.metrics.answer_law import log_odds
from nearer.metrics.comparison import filled, require_model
from nearer.metrics.procrustes import mirrored
from nearer.notebook import data_frame
from nearer.objective import block_bounds, in_order, resolve_jobs
from nearer.people.participants import people_of, places_within

# Standard deviations of the weights that are tried; 0 is the group's map.
SPREADS = (0.0, 0.1, 0.2, 0.35, 0.6, 1.0, 1.7)
# Folds are small, since weights from 50 answers are much better than from 33. With many answers, fewer folds suffice.
_FOLDS = 10
_ENOUGH_HELD_OUT = 20_000
# Of each fit: maximum number of steps, and relative decrease of the mean loss at which it stops. When spreads are
# compared, each fit starts from the previous one; with a tolerance of 1e-5 it would stay there.
_MOST_STEPS, _TOL = 300, 1e-7
# Maximum number of EM steps between lapse rates and weights: in the fit, and while spreads are compared.
_ROUNDS, _SPREAD_ROUNDS = 20, 2


def units_of(comparisons: Comparisons, groups: Any = None) -> Coded:
    """The units that have weights of their own: participants, or groups of answers or of participants."""
    if groups is not None and not isinstance(groups, Mapping):
        return groups_of(comparisons, groups)
    people = people_of(comparisons)
    if groups is None:
        return people
    known = {str(name): group for name, group in groups.items()}
    names = list(map(str, people.names.tolist()))
    lacking = [name for name in names if name not in known]
    if lacking:
        raise ValueError(f"groups: participant {lacking[0]!r} has no group ({len(lacking):,} have none)")
    return groups_of(comparisons, np.array([known[name] for name in names], dtype=object)[people.codes])


def sums_of(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Sums (n_units, m) of the rows (N, m) of each unit."""
    return np.stack([np.bincount(unit, weights=column) for column in values.T], axis=1)


class _Problem:
    """Comparisons, who answered, and a loss: value and gradient in positions and weights.

    Weights belong to the units, guesses to the people behind them where they are known.
    """

    def __init__(self, comparisons: Comparisons, units: Coded, loss: Loss, n_jobs: int | None):
        self.index = frozen(comparisons.index)
        kernels.check_inside(self.index, comparisons.n_objects)
        self.given = comparisons.weights
        self.people = units if comparisons.people is None else comparisons.people
        self.shares = shares_of_answers(comparisons)
        self.scale = frozen(np.empty(0) if comparisons.weights is None else comparisons.weights)
        self.person = frozen(np.ascontiguousarray(units.codes, dtype=np.int32))
        self.loss, self.n_jobs, self.n_iter = loss, resolve_jobs(n_jobs), 0
        self.blocks = block_bounds(len(self.index), comparisons.n_objects)

    def value_and_gradients(self, X: np.ndarray, W: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Sum of the losses, and its gradients in X and in W; the same bits on any number of threads."""

        def part(bounds: tuple[int, int]) -> tuple[float, np.ndarray, np.ndarray]:
            G, H = np.zeros_like(X), np.zeros_like(W)
            value = self.loss.kernels.weighted_gradient_block(
                self.index, self.scale, *self.loss.code, X, W, self.person, *bounds, G, H
            )
            return value, G, H

        values, by_X, by_W = zip(*in_order(part, self.blocks, self.n_jobs))
        return sum(values), sum(by_X, np.zeros_like(X)), sum(by_W, np.zeros_like(W))

    def distances(self, X: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances of the near and of the far pairs, for whoever answered."""
        near, far = np.empty(len(self.index)), np.empty(len(self.index))
        kernels.weighted_distances(self.index, X, W, self.person, 0, near, far)
        return near, far

    def without_guesses(
        self, X: np.ndarray, W: np.ndarray, spread: float, rounds: int
    ) -> tuple[np.ndarray, np.ndarray, Reliability | None]:
        """From a solution, alternately weight each answer by its probability of not being a guess, and solve again."""
        plain, rates = self.scale, None
        for _ in range(rounds):
            before, chance = rates, self.loss.probability(*self.distances(X, W))
            weights, rates = weigh_answers(chance, self.people, self.given, self.shares)
            if rates.settled(before):
                break
            self.scale = frozen(weights)
            X, W = self.solve(X, W, spread)
        self.scale = plain
        return X, W, rates

    def solve(self, X: np.ndarray, W: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
        """Minimise the losses plus ``|W - 1|^2 / (2 spread^2)`` with W >= 0; at spread 0, W stays 1."""
        n_places, free = X.size, spread > 0.0

        def parts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            weights = z[n_places:].reshape(W.shape) if free else np.ones_like(W)
            return z[:n_places].reshape(X.shape), weights

        def value(z: np.ndarray) -> tuple[float, np.ndarray]:
            at, weights = parts(z)
            total, G, H = self.value_and_gradients(at, weights)
            slope = G.ravel()
            if free:
                off = weights - 1.0
                total += 0.5 * float((off * off).sum()) / spread**2
                slope = np.concatenate([slope, (H + off / spread**2).ravel()])
            return total / len(self.index), slope / len(self.index)

        start = np.concatenate([X.ravel(), W.ravel()]) if free else X.ravel()
        bounds = [(None, None)] * n_places + [(0.0, None)] * W.size if free else None
        options = {"maxiter": _MOST_STEPS, "ftol": _TOL, "gtol": 0.0, "maxcor": 20, "maxfun": 4 * _MOST_STEPS}
        found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        self.n_iter += int(found.nit)
        return parts(found.x.copy())


def metric_scores(quadruplets: np.ndarray, loss: Loss, X: np.ndarray) -> np.ndarray:
    """Slope (N, d, d) of each answer's loss in a metric M about the identity, with distances ``u' M u``."""
    i, j, l, k = quadruplets.T  # noqa: E741
    u, v = X[i] - X[j], X[l] - X[k]
    _, a, b = loss.terms((u * u).sum(axis=1), (v * v).sum(axis=1))
    return a[:, None, None] * u[:, :, None] * u[:, None, :] + b[:, None, None] * v[:, :, None] * v[:, None, :]


def joint_axes(matrices: np.ndarray) -> np.ndarray:
    """The rotation that jointly diagonalises symmetric matrices (m, d, d), as far as possible, by Jacobi rotations."""
    M, d = matrices.copy(), matrices.shape[1]
    R = np.eye(d)
    for _ in range(50):
        largest = 0.0
        for p in range(d):
            for q in range(p + 1, d):
                # Cardoso and Souloumiac (1996): the angle solves a 2 x 2 eigenproblem.
                h = np.stack([M[:, p, p] - M[:, q, q], 2.0 * M[:, p, q]])
                (a, b), (_, c) = h @ h.T
                angle = 0.25 * np.arctan2(2.0 * b, a - c)
                largest = max(largest, abs(angle))
                turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                M[:, :, [p, q]] = M[:, :, [p, q]] @ turn
                M[:, [p, q], :] = turn.T @ M[:, [p, q], :]
                R[:, [p, q]] = R[:, [p, q]] @ turn
        if largest < 1e-8:
            break
    return R


@dataclass(eq=False, repr=False)
class IndividualEmbedding(ShownMap, BaseEstimator):
    """One map for all, and for each person the weight of each of its axes.

    For person p the squared distance of two objects is ``sum_a w_pa (x_a - y_a)^2`` with ``w_pa >= 0`` (as in INDSCAL).
    Weights are shrunk towards 1 by a normal prior, whose standard deviation is chosen on held-out answers; 0 is one map
    for all. If people differ, the axes are determined up to their order, while those of a common map are arbitrary.

    Parameters
    ----------
    n_components : int, default 2
    loss : str or Loss, default "ste"
        One that is a probability model: "ckl", "ste" or "tste".
    loss_params : dict of str to float, optional
    spread : "auto" or float, default "auto"
        Standard deviation of the weights about 1. "auto": the one under which held-out answers are most likely.
    reliability : bool, default True
        Whether to weight answers by the probability that they are not guesses, as in `OrdinalEmbedding`.
    n_init : int, default 1
        Random starts of the group's map.
    n_jobs : int, optional
        Threads; None or -1 means all cores. The result does not depend on it.
    random_state : int, Generator or RandomState, optional

    Attributes
    ----------
    embedding_ : ndarray of float64, shape (n_objects, n_components)
        The common map, centred; axes by their spread, the farthest object on the positive side. Objects that occur in
        no comparison are NaN.
    weights_ : ndarray of float64, shape (n_people, n_components)
        With a mean of 1 on every axis.
    participants_ : ndarray of str objects or int64, shape (n_people,)
        People, or groups, in the order of `weights_`.
    spread_ : float
    choice_ : dict of float to float
        Mean of -log P over held-out answers by spread, of those that were tried; empty if the spread was given.
    group_ : OrdinalEmbedding
        The map without weights of people; it is the map of everybody if the spread is 0.
    reliability_ : Reliability or None
        Lapse rates; a person who only guesses may have weights near 0 on all axes instead.
    labels_ : ndarray of str, shape (n_objects,), or None
    loss_ : Loss
    n_objects_, n_iter_, n_features_in_ : int
    """

    n_components: int = 2
    _: KW_ONLY
    loss: str | Loss = "ste"
    loss_params: dict[str, float] | None = None
    spread: float | str = "auto"
    reliability: bool = True
    n_init: int = 1
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> IndividualEmbedding:
        """Find the map and the weights.

        Parameters
        ----------
        X, y, sample_weight : Any
            As in `OrdinalEmbedding.fit`, but in memory; participants are required unless `groups` is given.
        groups : array-like of str or int, shape (N,), or mapping of participant to group, optional
            One set of weights is then fitted for each group, such as experts and novices.
        """
        check_integer(self.n_components, "n_components", 1)
        check_bool(self.reliability, "reliability")
        given = self.spread
        if given != "auto" and (isinstance(given, (str, bool)) or not 0.0 <= float(given) < np.inf):
            raise ValueError(f"spread: got {given!r}, expected 'auto' or a number of 0 or more")
        loss = require_model(loss_with(self.loss, self.loss_params), "fit").resolve(self.n_components)
        data = as_comparisons(X, y, sample_weight)
        units = units_of(data, groups)
        rng = as_generator(self.random_state)
        self.group_ = OrdinalEmbedding(
            self.n_components, loss=loss, n_init=self.n_init, n_jobs=self.n_jobs, random_state=rng
        ).fit(data)
        # Start from the unweighted map: lapse weights would suppress genuine individual differences.
        start = np.ascontiguousarray(np.nan_to_num(self.group_.embedding_))
        if self.reliability:
            self.group_.set_params(reliability=True, init=start, n_init=1)
            by_unit = data.replaced(answers=Answers(data.kind, len(data), units), answer=None)
            self.group_.fit(by_unit if data.people is None else data)
        problem = _Problem(data, units, loss, self.n_jobs)
        ones = np.ones((len(units.names), self.n_components))
        start = start @ _axes_of_people(data, units, loss, start)
        # L-BFGS-B calls BLAS for matrices of a few rows, where its threads take many times as long as one.
        with threadpool_limits(1, user_api="blas"):
            self.choice_ = self._compare_spreads(data, units, loss, start, rng) if given == "auto" else {}
            self.spread_ = min(self.choice_, key=self.choice_.__getitem__) if self.choice_ else float(given)
            if self.spread_ > 0.0:
                rounds = _ROUNDS if self.reliability else 0
                plain = problem.solve(start, ones, self.spread_)
                points, weights, self.reliability_ = problem.without_guesses(*plain, self.spread_, rounds)
                self.n_iter_ = problem.n_iter
            else:
                points, weights = np.nan_to_num(self.group_.embedding_), ones
                self.reliability_, self.n_iter_ = self.group_.reliability_, self.group_.n_iter_
        self._keep(points, weights, data.seen)
        self.participants_ = units.names
        self.labels_, self.loss_ = data.labels, loss
        self.n_objects_, self.n_features_in_ = data.n_objects, data.index.shape[1]
        return self

    def _compare_spreads(
        self, data: Comparisons, units: Coded, loss: Loss, start: np.ndarray, rng: np.random.Generator
    ) -> dict[float, float]:
        """Held-out loss of ascending spreads, until it gets worse twice; every fold has some answers of each person."""
        first, answer = first_rows(data)
        fold = _folds_within(Coded(units.codes[first], units.names), _FOLDS, rng)[answer]
        folds: list[list[_Problem]] = []
        held_out = 0
        for number in range(_FOLDS):
            parts = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            if all(map(len, parts)) and held_out < _ENOUGH_HELD_OUT:
                # All names: a person without answers in a fold keeps their row.
                whose = [(data[rows], Coded(units.codes[rows], units.names)) for rows in parts]
                folds.append([_Problem(*given, loss, self.n_jobs) for given in whose])
                held_out += len(parts[1])
        points = [(start, np.ones((len(units.names), self.n_components)))] * len(folds)
        weight = None if data.weights is None else np.concatenate([test.scale for _, test in folds])
        rounds = _SPREAD_ROUNDS if self.reliability else 0
        tried: dict[float, float] = {}
        for spread in SPREADS:
            odds = []
            for number, (train, test) in enumerate(folds):
                points[number] = train.solve(*points[number], spread)
                settled = train.without_guesses(*points[number], spread, rounds)[:2]
                odds.append(log_odds(loss, *test.distances(*settled)))
            held = np.concatenate(odds)
            # Maps of little data are overconfident: the slope and lapse rate are fitted to the held-out answers.
            lost = -np.log(fit_answer_law(held, weight).probability(held))
            tried[spread] = float(np.average(lost, weights=weight))
            losses = list(tried.values())
            if len(losses) > 2 and losses[-1] > losses[-2] > min(losses):
                break
        return tried

    def _keep(self, X: np.ndarray, W: np.ndarray, seen: np.ndarray) -> None:
        """Scale the weights of each axis to a mean of 1, and sort the axes by spread."""
        mean = W.mean(axis=0)
        mean[mean <= 0.0] = 1.0
        X, W = X * np.sqrt(mean), W / mean
        X = X - X[seen].mean(axis=0)
        order = np.argsort(-X[seen].var(axis=0), kind="stable")
        X, W = X[:, order], W[:, order]
        self.embedding_ = mirrored(np.where(seen[:, None], X, np.nan))
        self.weights_ = np.ascontiguousarray(W)

    def map_of(self, participant: str | int) -> np.ndarray:
        """The map (n_objects, n_components) of one person or group; the common one for an unknown person."""
        check_is_fitted(self, "embedding_")
        own = self.weights_[self.participants_.astype(str) == str(participant)]
        return self.embedding_ * np.sqrt(own[0] if len(own) else 1.0)

    def predict_proba(self, X: Any, groups: Any = None) -> np.ndarray:
        """Probabilities (N, 2) of "far is nearer" and "near is nearer" for the person who gave each answer in X.

        Rows without participants, or of unknown people, get the weights of the group; `groups` as in `fit`.
        """
        near, far, _ = self._distances(X, groups)
        yes = self.loss_.probability(near, far)
        return np.column_stack([1.0 - yes, yes])

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Whether each row of X holds for the person who answered, bool (N,); parameters as in `predict_proba`."""
        near, far, _ = self._distances(X, groups)
        return near < far

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Fraction of the comparisons that hold for the people who answered; parameters as in `fit`."""
        near, far, weights = self._distances(X, groups, y)
        return float(np.average(near < far, weights=weights))

    def _distances(self, X: Any, groups: Any, y: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Both distances of each comparison for whoever answered, and the weights of the comparisons."""
        check_is_fitted(self, "embedding_")
        data = self.group_.comparisons_on_map(X, y)
        who = np.full(len(data), len(self.weights_))
        if groups is not None or data.people is not None:
            units = units_of(data, groups)
            place = {str(name): at for at, name in enumerate(self.participants_.tolist())}
            known = [place.get(str(name), len(self.weights_)) for name in units.names.tolist()]
            who = np.array(known)[units.codes]
        X = filled(self.embedding_, data.n_objects)
        W = np.vstack([self.weights_, np.ones(X.shape[1])])
        problem = _Problem(data, Coded(who, self.participants_), self.loss_, self.n_jobs)
        return *problem.distances(X, W), data.weights

    def to_frame(self) -> Any:
        """The weights as a pandas DataFrame: one row for each person, one column for each axis."""
        check_is_fitted(self, "weights_")
        names = [f"axis_{number}" for number in range(1, self.weights_.shape[1] + 1)]
        return data_frame(self.weights_, index=self.participants_, columns=names)


def _axes_of_people(data: Comparisons, units: Coded, loss: Loss, X: np.ndarray) -> np.ndarray:
    """The rotation of a map to the axes on which people differ most."""
    d = X.shape[1]
    if d == 1 or len(units.names) == 1:
        return np.eye(d)
    slopes = metric_scores(data.quadruplets(), loss, X)
    if data.weights is not None:
        slopes = slopes * data.weights[:, None, None]
    sums = sums_of(slopes.reshape(len(slopes), -1), units.codes)
    counts = np.bincount(units.codes)[:, None]
    sums = sums - counts * (sums.sum(axis=0) / len(slopes))
    return joint_axes(sums.reshape(-1, d, d) / np.sqrt(np.maximum(counts, 1))[:, :, None])


def _folds_within(units: Coded, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold (N,) of each row, the rows of every unit dealt out evenly."""
    place = places_within(units.codes, rng.permutation(len(units)))
    return (place + rng.integers(n_folds, size=len(units.names))[units.codes]) % n_folds
