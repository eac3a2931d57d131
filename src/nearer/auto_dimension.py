"""Choose the dimension by held-out likelihood, fitting from the largest down.

Dimensions are compared with the softplus loss, whatever the loss of the map: it has no parameter that depends on the
dimension, and noise hardly distorts its maps, so a further dimension helps only if the objects differ along it. Each
dimension has the ridge penalty of the highest held-out likelihood: without one, few answers in many dimensions are
overfitted, and too small a dimension would be chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nearer.data import Comparisons, renumbered
from nearer.data.splits import first_rows, question_of_rows
from nearer.data.validate import take
from nearer.losses import SoftplusLoss
from nearer.metrics import fit_answer_law, log_ratio
from nearer.objective import LocalObjective
from nearer.solvers.guide import main_axes
from nearer.solvers.lbfgs import Descent, descend
from nearer.solvers.penalty import Ridge
from nearer.solvers.sgd import adaptive_start

# A larger dimension is preferred if it makes held-out answers likelier by more than this many standard errors, and
# satisfies more of them by this fraction: with many answers, gains are seen that are of no use. The first was chosen on
# the kinds "chosen on" of `benchmarks.verdicts dimension`, the second on human answers.
_BETTER, _MORE = 2.5, 0.005
# `choose_components`: folds held out, and all folds; largest dimension tried at first, doubled as long as it wins, and
# its limit; answers per coordinate, beyond which a sample is used.
_HELD_OUT, _PARTS = 2, 5
_FIRST_LOOK, _LAST_LOOK = 6, 48
_PER_COORDINATE = 100
_PENALTIES = (0.0, 0.001, 0.01)  # of softplus maps
_TOL = 1e-3


def held_out_ratios(train: Comparisons, test: Comparisons, dims: Iterable[int], rng: np.random.Generator) -> np.ndarray:
    """The `log_ratio` of `test` on softplus maps of `train`, (len(dims), len(_PENALTIES), len(test)), by dimension."""
    seen = np.flatnonzero(train.seen)
    compact = renumbered(train, seen)
    ratios: list[list[np.ndarray]] = []
    falling = sorted(dims, reverse=True)
    X = rng.normal(size=(len(seen), falling[0]))
    for d in falling:
        objective = LocalObjective(compact, SoftplusLoss(), d, 1)
        X = main_axes(X, d) if ratios else adaptive_start(objective, X, int(rng.integers(2**63))).X
        ratios.append([])
        Y, descent = X, Descent(tol=_TOL, unit=objective.value_at_zero())
        for penalty in _PENALTIES:
            Y = descend(Ridge(objective, penalty), Y, descent).X
            X = X if penalty else Y  # the next dimension starts without a penalty
            full = np.full((train.n_objects, d), np.nan)
            full[seen] = Y
            ratios[-1].append(log_ratio(full, test))
    return np.array(ratios[::-1])


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out comparison of m dimensions.

    The chosen dimension is the smallest that no larger one beats. To beat it, a dimension must make held-out answers
    likelier by more than 2.5 standard errors, and satisfy half a point more of the comparisons.
    """

    dims: np.ndarray  # int (m,), ascending
    chosen: int
    better: np.ndarray  # (m, m), gain of log-likelihood of dims[column] over dims[row], in standard errors


def weigh(
    dims: np.ndarray, ratios: np.ndarray, units: np.ndarray, weights: np.ndarray | None = None, share: float = 1.0
) -> Evidence:
    """Weigh held-out answers by the `ratios` (m, k, N) from `held_out_ratios`: the likeliest of k for each dimension.

    Answers with the same entry in `units` (N,), a question or a person, are not independent. Where only a `share` of
    the answers was held out, a gain counts that would be clear if all had been.
    """
    lost = np.array([[_lost(ratio, weights) for ratio in each] for each in ratios])
    best = lost.sum(axis=2).argmin(axis=1)
    lost, ratios = lost[np.arange(len(dims)), best], ratios[np.arange(len(dims)), best]
    _, unit = np.unique(units, return_inverse=True)
    of_unit = [np.bincount(unit, weights=row) for row in lost]
    better = np.array([[_standard_errors(small - large) for large in of_unit] for small in of_unit])
    right = np.array([np.average(ratio > 0, weights=weights) for ratio in ratios])
    beats = (better > _BETTER * share**0.5) & (right[None, :] - right[:, None] > _MORE)
    beaten = np.array([beats[k, k + 1 :].any() for k in range(len(dims))])
    return Evidence(np.asarray(dims), int(dims[int(np.argmin(beaten))]), better)


def _lost(ratio: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Minus the weighted log-likelihood of each answer, by the answer law of all of them."""
    lost = -np.log(np.maximum(fit_answer_law(ratio, weights).probability(ratio), 1e-12))
    return lost if weights is None else lost * weights


def _standard_errors(gain: np.ndarray) -> float:
    """The sum of gains divided by its standard error."""
    spread = float(gain.std()) * len(gain) ** 0.5
    return float(gain.sum()) / spread if spread > 0 else 0.0


def choose_components(comparisons: Comparisons, rng: np.random.Generator) -> int:
    """Choose the dimension by two folds of a five-fold cross-validation."""
    n_objects = int(comparisons.seen.sum())
    everything, (first, answer) = question_of_rows(comparisons), first_rows(comparisons)
    most = max(min(_FIRST_LOOK, n_objects - 1), 1)
    while True:
        size = min(len(first), _PER_COORDINATE * n_objects * most)
        rows = None if size == len(first) else rng.permutation(len(first))[:size]
        if rows is not None and len(first) < len(answer):  # some answers have several rows
            rows = np.flatnonzero(np.isin(answer, rows))
        data = comparisons if rows is None else comparisons[rows]
        question = everything if rows is None else np.unique(everything[rows], return_inverse=True)[1]
        part = rng.integers(_PARTS, size=int(question.max()) + 1)[question]
        dims = np.arange(1, most + 1)
        parts = [np.flatnonzero(part == k) for k in range(_HELD_OUT)]
        if min(map(len, parts)) == 0:
            raise ValueError(
                f"n_components: 'auto' got {len(first):,} answers, too few to hold some out; give a number"
            )
        ratios = [held_out_ratios(data[part != k], data[tested], dims, rng) for k, tested in enumerate(parts)]
        tested = np.concatenate(parts)
        share, weights = _HELD_OUT / _PARTS, take(data.weights, tested)
        found = weigh(dims, np.concatenate(ratios, axis=2), question[tested], weights, share)
        if found.chosen < most or most >= min(_LAST_LOOK, n_objects - 1):
            return found.chosen
        most = min(2 * most, _LAST_LOOK, n_objects - 1)
