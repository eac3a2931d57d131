"""The bias of a map caused by wrong answers, estimated with models that allow for lapses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearer.data import Answers, Comparisons
from nearer.data.coded import Coded
from nearer.estimator import OrdinalEmbedding
from nearer.losses import Loss, STELoss, TSTELoss
from nearer.metrics import AnswerLaw, comparison_distances, fit_answer_law
from nearer.metrics.answer_law import log_odds
from nearer.refits import fit_best, fit_quietly, quiet_map

# From models of the ratio of two distances to the model of the difference of their squares.
_MODELS: tuple[Loss, ...] = (*(TSTELoss(alpha) for alpha in (1.0, 3.0, 10.0, 30.0)), STELoss())
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class LikelyMap:
    """A map, with a loss and an answer law that give the probability of each answer."""

    embedding: np.ndarray
    loss: Loss
    law: AnswerLaw

    def chance(self, comparisons: Comparisons) -> np.ndarray:
        """Return the probability of each answer, float64 (N,)."""
        return self.law.probability(log_odds(self.loss, *comparison_distances(self.embedding, comparisons)))


def likely_map(
    start: np.ndarray,
    comparisons: Comparisons,
    resamples: Sequence[tuple[np.ndarray, np.ndarray]],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> LikelyMap:
    """Maximum-likelihood map of models with lapses.

    A loss whose model has no lapses distorts the map to accommodate wrong answers: ste, for example, makes a flat map
    round. Fits start at `start`, NaN for objects in no comparison. A resample is the weights (N,) of the answers drawn
    and a mask (N,) of those left out. The law is fitted to the latter: on training answers it would be overconfident.
    """
    everybody = Answers(comparisons.kind, len(comparisons), Coded.constant("all", len(comparisons)))
    data = comparisons.replaced(answers=everybody, answer=None, labels=None)
    lowest, loss, X, no_slip = math.inf, _MODELS[0], np.nan_to_num(start), np.ones(len(data))
    point = X
    for model in _MODELS:
        forgiving = OrdinalEmbedding(start.shape[1], loss=model, reliability=True, n_jobs=n_jobs)
        fit = fit_quietly(forgiving, data, [point], 0, rng)
        assert fit.reliability_ is not None
        guesses = float(fit.reliability_.guesses[0])
        by_map = (1.0 - guesses) * model.probability(*comparison_distances(fit.embedding_, data))
        chance = np.maximum(0.5 * guesses + by_map, _LEAST)
        lost = -float(np.average(np.log(chance), weights=data.weights))
        if lost < lowest:
            lowest, loss, X, no_slip = lost, model, fit.embedding_, by_map / chance
        point = np.nan_to_num(fit.embedding_)
    base = OrdinalEmbedding(start.shape[1], loss=loss, n_jobs=1)
    own = np.ones(len(data)) if data.weights is None else data.weights

    def held_out(resample: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        weights, left_out = resample
        drawn = data[weights > 0].replaced(weights=np.maximum(weights * no_slip, _LEAST)[weights > 0])
        Y = fit_best(base, drawn, [np.nan_to_num(X)], 0, rng).embedding_
        unseen = left_out & (own > 0)
        unseen = unseen if unseen.any() else own > 0
        return log_odds(loss, *comparison_distances(Y, data[unseen])), own[unseen]

    odds, counts = map(np.concatenate, zip(*quiet_map(held_out, n_jobs, resamples, rng.spawn(len(resamples)))))
    return LikelyMap(X, loss, fit_answer_law(odds, counts))
