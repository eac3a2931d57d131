"""Choose the loss, its lapse rate and a ridge penalty by the likelihood of held-out answers.

Each loss follows a path of falling penalties, every map starting from the one before; the lapse rate is estimated on
the way, from the held-out answers. The choice depends on the data alone, not on a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nearer.data import Comparisons, renumbered
from nearer.losses import Loss, SoftplusLoss, STELoss, TSTELoss
from nearer.metrics import comparison_distances
from nearer.objective import LocalObjective
from nearer.solvers.auto import Auto
from nearer.solvers.guide import guided_start
from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.penalty import Ridge
from nearer.solvers.sgd import adaptive_start


@dataclass(frozen=True)
class _Constants:
    """Chosen on some simulations of `benchmarks/auto_loss.py` and on human answers."""

    most_objects: int = 10_000  # with more, the choice would take too long
    per_coordinate: int = 40  # answers per coordinate, beyond which a sample is used
    held_out: float = 0.15
    enough_held_out: int = 300  # splits are repeated until this number is held out in total
    max_splits: int = 4
    penalties: tuple[float, ...] = (0.1, 0.03, 0.01, 0.003, 0.0)
    clearly: float = 1.0  # standard errors by which ste has to be better, as its maps are oftener in local minima
    worse: float = 0.01  # a path ends when held-out answers have cost this much less before
    tol: float = 3e-3
    patience: int = 2
    em_steps: int = 30


CHOICE = _Constants()


class Choice(NamedTuple):
    """A loss with its lapse rate, and a ridge penalty; None: as the solver decides."""

    loss: Loss
    penalty: float | None = None


FIXED = Choice(TSTELoss())  # where nothing is chosen


def choose_loss(comparisons: Comparisons, n_components: int, n_jobs: int | None = None) -> Choice:
    """Choose between tste and ste, which has to be clearly better.

    In one dimension, with very many objects or with hardly any answers it is `FIXED`.
    """
    seen, rng = np.flatnonzero(comparisons.seen), np.random.default_rng(0)
    compact = comparisons if len(seen) == comparisons.n_objects else renumbered(comparisons, seen)
    if n_components == 1 or len(seen) > CHOICE.most_objects:
        return FIXED
    every = LocalObjective(compact, SoftplusLoss(), n_components, n_jobs)
    size = min(every.n_comparisons, CHOICE.per_coordinate * len(seen) * n_components)
    few = every if size == every.n_comparisons else every.subset(size, rng)
    n_splits = min(math.ceil(CHOICE.enough_held_out / (CHOICE.held_out * size)), CHOICE.max_splits)
    try:
        parts = [few.split(CHOICE.held_out, rng) for _ in range(n_splits)]
    except ValueError:  # too few to hold any out
        return FIXED
    starts = [_start(training, rng) for training, _ in parts]
    (by_tste, tste), (by_ste, ste) = (_path(parts, starts, loss) for loss in (FIXED.loss, STELoss()))
    gain = by_tste - by_ste
    loss, penalty = ste if gain.mean() > CHOICE.clearly * gain.std() / math.sqrt(len(gain)) else tste
    return Choice(loss, (penalty or 0.0) * parts[0][0].n_comparisons / every.n_comparisons)


def _start(training: Any, rng: np.random.Generator) -> np.ndarray:
    """A rough map of unit size, without poor local minima in few dimensions."""
    X = rng.normal(size=(training.n_objects, training.n_components))
    if training.n_components <= Auto.guide:
        X = guided_start(training, X, rng).X
    else:
        X = adaptive_start(training, X, int(rng.integers(2**63))).X
    return X / max(float(np.sqrt(np.mean(X**2))), 1e-12)


def _path(parts: list[Any], maps: list[np.ndarray], loss: Loss) -> tuple[np.ndarray, Choice]:
    """The best penalty and lapse rate of a loss, and minus the log-likelihood of each held-out answer for it: (N,)."""
    lowest, best, chosen = math.inf, np.empty(0), FIXED
    for penalty in CHOICE.penalties[loss.heavy_tailed :]:
        judged = []
        for part, (training, held_out) in enumerate(parts):
            trained = training.with_loss(loss, training.n_components)
            maps = [*maps[:part], _descent(Ridge(trained, penalty), trained, maps[part]), *maps[part + 1 :]]
            judged.append(_chances(trained.loss.with_lapse(0.0), maps[part], held_out.comparisons))
        chance, weights = np.concatenate(judged, axis=1)
        lapse = _lapse_rate(chance, weights)
        loss = trained.loss.with_lapse(lapse)
        lost = -weights / weights.mean() * np.log((1.0 - lapse) * chance + 0.5 * lapse)
        if lost.mean() < lowest:
            lowest, best, chosen = lost.mean(), lost, Choice(loss, penalty)
        elif lost.mean() > lowest + CHOICE.worse:
            break
    return best, chosen


def _chances(loss: Loss, X: np.ndarray, held_out: Comparisons) -> np.ndarray:
    """Probabilities of held-out answers if none is a guess, and their weights: (2, N)."""
    chance = np.maximum(loss.probability(*comparison_distances(X, held_out)), 1e-12)
    return np.stack([chance, np.ones(len(chance)) if held_out.weights is None else held_out.weights])


def _lapse_rate(chance: np.ndarray, weights: np.ndarray) -> float:
    """The lapse rate of highest likelihood by EM, given the probabilities of answers that are no guesses."""
    lapse = 0.1
    for _ in range(CHOICE.em_steps):
        lapse = float(np.average(0.5 * lapse / (0.5 * lapse + (1.0 - lapse) * chance), weights=weights))
    return lapse


def _descent(penalised: Any, objective: Any, X: np.ndarray) -> np.ndarray:
    how = Descent(tol=CHOICE.tol, patience=CHOICE.patience, unit=objective.value_at_zero())
    return descend(penalised, X, how).X
