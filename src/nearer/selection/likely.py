"""The map under which answers are most likely, whatever the loss of the user makes of wrong ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from nearer.data import Comparisons
from nearer.data.values import People
from nearer.estimator import OrdinalEmbedding
from nearer.losses import Loss, STELoss, TSTELoss
from nearer.metrics import AnswerLaw, comparison_distances, fit_answer_law
from nearer.selection.common import fit_best, fit_quietly, quiet_threads

__all__ = ["LikelyMap", "likely_map"]

# From answers that follow the ratio of two distances to answers that follow the difference of their squares.
_MODELS: tuple[Loss, ...] = (*(TSTELoss(alpha) for alpha in (1.0, 3.0, 10.0, 30.0)), STELoss())
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class LikelyMap:
    """A map, and how answers follow from it.

    Attributes
    ----------
    embedding : ndarray of float64, shape (n_objects, n_components)
    loss : Loss
        Its model says how sure answers are...
    law : AnswerLaw
        ...and this, found from answers that maps had not seen, by how much less, and how often people slip.
    """

    embedding: np.ndarray
    loss: Loss
    law: AnswerLaw

    def chance(self, comparisons: Comparisons) -> np.ndarray:
        """Return the probability of each answer.

        Parameters
        ----------
        comparisons : Comparisons

        Returns
        -------
        ndarray of float64, shape (N,)
        """
        return self.law.probability(_log_odds(self.loss, self.embedding, comparisons))


def likely_map(
    start: np.ndarray,
    comparisons: Comparisons,
    resamples: Sequence[tuple[np.ndarray, np.ndarray]],
    rng: np.random.Generator,
    n_jobs: int,
) -> LikelyMap:
    """Fit a map by models that know slips, and take the one under which the answers are most likely.

    Losses without slips in their model bend a map to make room for wrong answers: ste, for one, makes a flat map round.

    Parameters
    ----------
    start : ndarray of float64, shape (n_objects, n_components)
        Where to begin; NaN for objects in no comparison.
    comparisons : Comparisons
    resamples : sequence of (ndarray of float64, ndarray of bool), each of shape (N,)
        Weights of the answers drawn, and which answers were left out. Maps of the drawn ones show how sure answers are
        that a map has not seen; those that it has seen look surer than they are.
    rng : Generator
    n_jobs : int

    Returns
    -------
    LikelyMap
    """
    everybody = People(np.zeros(len(comparisons), np.int32), np.array(["all"], dtype=object))
    data = comparisons._with(people=everybody, details=None, labels=None)
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
    generators = rng.spawn(len(resamples))

    def judge(number: int) -> tuple[np.ndarray, np.ndarray]:
        weights, left_out = resamples[number]
        drawn = data[weights > 0]._with(weights=np.maximum(weights * no_slip, _LEAST)[weights > 0])
        Y = fit_best(base, drawn, [np.nan_to_num(X)], 0, generators[number]).embedding_
        unseen = left_out & (own > 0)
        unseen = unseen if unseen.any() else own > 0
        return _log_odds(loss, Y, data[unseen]), own[unseen]

    odds, counts = map(np.concatenate, zip(*quiet_threads(judge, len(resamples), n_jobs)))
    return LikelyMap(X, loss, fit_answer_law(odds, counts))


def _log_odds(loss: Loss, X: np.ndarray, comparisons: Comparisons) -> np.ndarray:
    chance = loss.probability(*comparison_distances(X, comparisons))
    return logit(np.clip(chance, 1e-15, 1.0 - 1e-15))
