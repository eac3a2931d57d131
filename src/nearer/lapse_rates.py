"""Lapse rates: how often each person guesses, and the probability that a single answer is a guess.

A person guesses with probability s, the lapse rate, and otherwise follows the map. An answer that has probability q
according to the map is then given with probability ``s / 2 + (1 - s) q``. The distribution of lapse rates over people
is estimated from all answers, so that the estimate for a person with few answers is close to that of most people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data.coded import Coded
from nearer.data.validate import frozen
from nearer.notebook import data_frame

SHARES = frozen(np.linspace(0.0, 1.0, 41))
# Prior on the lapse rate, with the weight of one participant: 1/2 at zero, the rest uniform.
_BEFORE = frozen(np.append(0.5, np.zeros(len(SHARES) - 1)) + 0.5 / len(SHARES))
# EM for the distribution of lapse rates: maximum number of steps, and the change of a probability at which it ends.
_STEPS, _CHANGE = 200, 1e-4
# EM between lapse rates and a map ends when no lapse rate changes by more.
_TOLERANCE = 0.005


@dataclass(frozen=True, eq=False)
class Reliability:
    """Lapse rate of each person, as estimated together with a map; arrays (n_people,)."""

    participants: np.ndarray
    n_answers: np.ndarray  # an odd-one-out answer or a ranking counts once
    guesses: np.ndarray  # fraction of each person's answers that are guesses, from 0 to 1
    weights: np.ndarray  # mean weight of each person's answers in the fit, from 0 to 1

    def __repr__(self) -> str:
        half = int(np.count_nonzero(self.guesses > 0.5))
        return f"Reliability of {len(self.guesses):,} people: {half:,} guess more often than not"

    def settled(self, before: Reliability | None) -> bool:
        """Whether the lapse rates equal those of the previous EM step within the tolerance."""
        return before is not None and bool(np.abs(self.guesses - before.guesses).max() < _TOLERANCE)

    def table(self) -> dict[str, list[Any]]:
        """Columns by name."""
        return {
            "participant": self.participants.tolist(),
            "answers": self.n_answers.tolist(),
            "guesses": self.guesses.tolist(),
            "weight": self.weights.tolist(),
        }

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame, one row for each person."""
        return data_frame(self.table())


def log_likelihoods(chance: np.ndarray, people: Coded, weights: np.ndarray | None = None) -> np.ndarray:
    """Log-likelihood of every person's answers, for each lapse rate: (n_people, len(SHARES)).

    `chance` (N,) is the probability of each answer if it is not a guess; a weight of w counts as w answers.
    """
    found = np.empty((len(people.names), len(SHARES)))
    for k, share in enumerate(SHARES.tolist()):
        logs = np.log(np.maximum(0.5 * share + (1.0 - share) * chance, 1e-300))
        logs = logs if weights is None else logs * weights
        found[:, k] = np.bincount(people.codes, weights=logs, minlength=len(people.names))
    return found


def population(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distribution of the lapse rates over people, and the posterior of each person's: rows that sum to 1.

    The distribution is the nonparametric maximum-likelihood one (Kiefer and Wolfowitz 1956), with the prior `_BEFORE`.
    """
    relative = np.exp(logs - logs.max(axis=1, keepdims=True))
    spread = np.full(len(SHARES), 1.0 / len(SHARES))
    for _ in range(_STEPS):
        before = spread
        posterior = relative * before
        posterior /= posterior.sum(axis=1, keepdims=True)
        spread = (posterior.sum(axis=0) + _BEFORE) / (len(logs) + 1.0)
        if np.abs(spread - before).max() < _CHANGE:
            break
    return spread, posterior


def responsibilities(chance: np.ndarray, people: Coded, posterior: np.ndarray) -> np.ndarray:
    """Probability (N,) that each answer follows the map rather than being a guess; `posterior` is from `population`."""
    total = np.zeros(len(chance))
    for k, share in enumerate(SHARES.tolist()):
        by_map = (1.0 - share) * chance
        total += posterior[people.codes, k] * by_map / np.maximum(0.5 * share + by_map, 1e-300)
    return total


def weigh_answers(
    chance: np.ndarray, people: Coded, weights: np.ndarray | None, shares: np.ndarray | None = None
) -> tuple[np.ndarray, Reliability]:
    """E-step: weights of the rows times the probability that they are not guesses, and the lapse rates.

    `shares` (N,) are the answers that each row stands for, see `shares_of_answers`; default: one.
    """
    _, posterior = population(log_likelihoods(chance, people, weights))
    by_map = responsibilities(chance, people, posterior)
    ones = np.ones(len(chance))
    own = ones if weights is None else weights
    n_answers, total, by_map_only = (
        np.bincount(people.codes, weights=values, minlength=len(people.names))
        for values in (ones if shares is None else shares, own, own * by_map)
    )
    mean = by_map_only / np.maximum(total, 1e-300)
    return own * by_map, Reliability(people.names, n_answers, posterior @ SHARES, mean)
