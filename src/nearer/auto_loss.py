"""Choose the loss, its lapse rate and a ridge penalty by how well held-out answers are predicted.

Each loss follows a path of falling penalties, every map starting from the one before. A map is judged by the likelihood
of held-out answers under the `AnswerLaw` that suits its margins best: a penalty makes maps smaller and answers seem
less certain, overfitting does the opposite, and neither is to pass for lapses. The choice depends on the data alone:
not on a seed, nor on where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nearer.data import renumbered
from nearer.losses import Loss, SoftplusLoss, STELoss, TSTELoss
from nearer.metrics import comparison_distances, fit_answer_law
from nearer.metrics.answer_law import log_odds
from nearer.objective import LocalObjective, Objective
from nearer.solvers.auto import Auto
from nearer.solvers.guide import guided_start
from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.penalty import Ridge
from nearer.solvers.sgd import adaptive_start


@dataclass(frozen=True)
class Constants:
    """Chosen on simulations and human answers, judged on sets that were left out (`benchmarks/left_out.py`)."""

    losses: tuple[Loss, ...] = (TSTELoss(), STELoss())
    most_objects: int = 10_000  # with more, the choice would take too long
    per_coordinate: int = 40  # answers per coordinate, beyond which a sample is used
    held_out: float = 0.25
    enough_held_out: int = 500  # splits are repeated until this number is held out in total
    least_held_out: int = 150  # with fewer, nothing is chosen
    max_splits: int = 4
    most_lapses: float = 0.5
    penalties: tuple[float, ...] = (0.1, 0.02, 0.005, 0.001)
    worse: float = 0.01  # a path ends when held-out answers have cost this much less before
    tol: float = 2e-3
    patience: int = 2
    scales: tuple[float, ...] = tuple((2.0 ** np.arange(-2.0, 3.01, 0.25)).tolist())


CHOICE = Constants()


class Choice(NamedTuple):
    """A loss with its lapse rate, a ridge penalty, and what a map with this penalty is to be multiplied by."""

    loss: Loss
    penalty: float | None = None  # None: as the solver decides
    scale: float = 1.0


FIXED = Choice(TSTELoss())  # where nothing is chosen


def choose_loss(objective: Objective, n_seen: int, n_jobs: int | None = None, how: Constants = CHOICE) -> Choice:
    """Choose from the comparisons of an objective, of which `n_seen` objects occur in some.

    With very many objects, or hardly any answers, it is `FIXED`.
    """
    n, d, rng = objective.n_comparisons, objective.n_components, np.random.default_rng(0)
    if n_seen > how.most_objects:
        return FIXED
    size = min(n, how.per_coordinate * n_seen * d)
    rows = ((np.arange(size) + rng.random(size)) * (n / size)).astype(np.int64)  # one of each stretch; all if size = n
    sample = objective.comparisons_at(np.unique(np.minimum(rows, n - 1)))
    whole = LocalObjective(renumbered(sample, np.flatnonzero(sample.seen)), SoftplusLoss(), d, n_jobs)
    n_splits = min(math.ceil(how.enough_held_out / (how.held_out * size)), how.max_splits)
    try:
        parts = [whole.split(how.held_out, rng) for _ in range(n_splits)]
    except ValueError:  # nothing can be held out
        return FIXED
    if sum(held_out.n_comparisons for _, held_out in parts) < how.least_held_out:
        return FIXED
    starts = [_start(training, rng) for training, _ in parts]
    _, chosen = min((_path(parts, starts, loss.resolve(d), how) for loss in how.losses), key=lambda found: found[0])
    return chosen._replace(penalty=chosen.penalty * parts[0][0].n_comparisons / n)


def _start(training: Any, rng: np.random.Generator) -> np.ndarray:
    """A rough map of unit size, without poor local minima in few dimensions."""
    X = rng.normal(size=(training.n_objects, training.n_components))
    if training.n_components <= Auto.guide:
        X = guided_start(training, X, rng).X
    else:
        X = adaptive_start(training, X, int(rng.integers(2**63))).X
    return X / max(float(np.sqrt(np.mean(X**2))), 1e-12)


def _path(parts: list[Any], maps: list[np.ndarray], loss: Loss, how: Constants) -> tuple[float, Any]:
    """The lowest mean of minus the log-likelihood of held-out answers, and what gives it for a loss."""
    held_out = [part.comparisons for _, part in parts]
    weights = np.concatenate([np.ones(len(one)) if one.weights is None else one.weights for one in held_out])
    lowest, best = math.inf, FIXED
    for penalty in how.penalties:
        trained = [training.with_loss(loss, training.n_components) for training, _ in parts]
        maps = [_descent(one, penalty, X, how) for one, X in zip(trained, maps)]
        near, far = np.concatenate([comparison_distances(X, one) for X, one in zip(maps, held_out)], axis=1)
        margin = log_odds(loss.with_lapse(0.0), near, far)
        law = fit_answer_law(margin, weights)
        loss = loss.with_lapse(min(2.0 * law.lapse, how.most_lapses))
        lost = -float(np.average(np.log(law.probability(margin)), weights=weights))
        if lost < lowest:
            lowest, best, distances = lost, Choice(loss, penalty), (near, far)
        elif lost > lowest + how.worse:
            break

    def cost(scale: float) -> float:
        chance = best.loss.probability(*(scale**2 * each for each in distances))
        return -float(np.average(np.log(np.maximum(chance, 1e-12)), weights=weights))

    return lowest, best._replace(scale=min(how.scales, key=cost))


def _descent(objective: Any, penalty: float, X: np.ndarray, how: Constants) -> np.ndarray:
    descent = Descent(tol=how.tol, patience=how.patience, unit=objective.value_at_zero())
    return descend(Ridge(objective, penalty), X, descent).X
