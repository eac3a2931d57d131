"""How far people agree: the noise ceiling, and each participant against the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.data import Comparisons, splits
from nearer.data.splits import first_rows
from nearer.metrics.comparison import wilson_interval

# Fewest shared answers for a p-value, and the significance level, which is divided by the number of participants.
MIN_SHARED = 10
SIGNIFICANCE = 0.01
# A noise ceiling whose lower estimate is more uncertain than this is from too few repeated questions.
_ROUGH = 0.1
# With a larger variance, a sum of binomials is treated as normal.
_LARGE = 1000.0


def noise_ceiling(question: np.ndarray, response: np.ndarray, votes: np.ndarray) -> tuple[float | None, float | None]:
    """Upper and lower estimate of the best accuracy on repeated questions; None without such questions.

    Takes the question and response of each answer, int (n,), and how often it was given. Upper: agreement with
    the most frequent response to the same question. Lower: agreement of each answer with the most frequent response
    among the others; if k responses are tied, it counts 1 / k.
    """
    pair, member = np.unique(np.stack([question, response]), axis=1, return_inverse=True)
    count, question = np.bincount(member.ravel(), votes), pair[0]
    total = np.bincount(question, count)
    many = total[question] > 1
    if not many.any():
        return None, None
    order = np.lexsort((-count, question))
    order = order[many[order]]
    count, question = count[order], question[order]
    first = np.flatnonzero(np.append(True, question[1:] != question[:-1]))
    # The second most frequent response to the question, 0 if all answers are the same.
    padded, owner = np.append(count, 0.0), np.append(question, -1)
    following = np.where(owner[first + 1] == question[first], padded[first + 1], 0.0)
    more, same = count[first], np.cumsum(np.isin(np.arange(len(count)), first)) - 1
    n_next = np.bincount(same, count == following[same]) - (more == following)
    # A minority answer disagrees with the majority of the others, as does every answer to an evenly divided question.
    agreeing = np.where(more - 1 > following, more, np.where(more - 1 == following, more / (1 + n_next), 0.0))
    return float(more.sum() / count.sum()), float(agreeing.sum() / count.sum())


def ceiling_is_rough(low: float, high: float, n_questions: int, level: float = 0.95) -> bool:
    """Whether estimates of the noise ceiling are too uncertain to be given, or no better than guessing.

    Their interval is Wilson's, each of the `n_questions` repeated questions counting once.
    """
    bounds = np.array(wilson_interval(low, n_questions, level))
    return high <= 0.5 or float(np.abs(bounds - low).max()) > _ROUGH


@dataclass(frozen=True)
class ParticipantCheck:
    """How often a participant agrees with the majority of the others on the questions they share."""

    participant: str | int
    n_answers: int
    n_shared: int  # answers to questions that others answered too
    agreement: float | None  # fraction of them that agree with the majority of the others; a tie counts one half
    expected: float | None  # the same for a person who answers like the others
    p_value: float | None  # p-value of being in the minority this often; None for fewer than 10 shared answers
    suspicious: bool  # in the minority significantly more often, with at least as many guesses as other answers


def agreement_with_others(
    comparisons: Comparisons, member: np.ndarray, side: np.ndarray, counts: np.ndarray
) -> list[ParticipantCheck] | None:
    """Agreement of each participant with the others, the lowest p-value first; None if participants are not known.

    `member` and `side` (N,) are the question of each row and which of its two answers it is; `counts` (2, n_questions).
    """
    # Null hypothesis: if a people answered one way and b < a the other, the participant is among the b with probability
    # b / (a + b). An answer of several rows counts by the mean of its rows, which can only make the p-value larger.
    if comparisons.people is None:
        return None
    people, person = comparisons.people.names, comparisons.people.codes
    votes = comparisons.votes
    first, answer = first_rows(comparisons)
    # The participant's own answers to the question do not count among the others'.
    _, cell = splits.group([member, person], max(int(member.max()), len(people)) + 1)
    own = np.stack([np.bincount(cell, weights=votes * which) for which in (~side, side)])
    others = counts[:, member] - own[:, cell]
    same, opposite = np.where(side, others[::-1], others)
    total = same + opposite + 1
    most, least = np.maximum(same + 1, opposite), np.minimum(same + 1, opposite)
    shared, divided = total > 1, (least > 0) & (least < most)

    def of_each(values: Any) -> np.ndarray:
        return np.bincount(person[first], weights=votes[first] * values, minlength=len(people))

    def mean(values: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Mean over the marked rows of each answer, 0 without any."""
        return np.bincount(answer, weights=values * which) / np.maximum(np.bincount(answer, weights=which), 1.0)

    n_answers, n_shared = of_each(1.0), of_each(np.bincount(answer, weights=shared) > 0)
    n_agree = of_each(mean(np.where(same == opposite, 0.5, same > opposite), shared))
    # A majority answer agrees with the majority of the others, or they tie if it leads by one; a minority answer never.
    n_expected = of_each(mean((least < most) * most / total * np.where(most - 1 > least, 1.0, 0.5), shared))
    n_minority = of_each(mean(same + 1 < opposite, divided))
    chance = mean(least / total, divided)
    p_value = np.ones(len(people))
    by_person = np.argsort(person[first], kind="stable")
    starts = np.searchsorted(person[first][by_person], np.arange(len(people) + 1))
    for i in np.flatnonzero(n_minority >= 1).tolist():
        mine = by_person[starts[i] : starts[i + 1]]
        mine = mine[chance[mine] > 0]
        chances, level = np.unique(chance[mine], return_inverse=True)
        n = np.bincount(level, weights=votes[first][mine])
        p_value[i] = sum_of_binomials_tail(n, chances, int(n_minority[i]))
    tested = n_shared >= MIN_SHARED
    # Half of the answers are guesses where the agreement is half-way between its expected value and that of a coin.
    suspicious = tested & (p_value < SIGNIFICANCE / max(int(tested.sum()), 1))
    suspicious &= n_agree - 0.5 * n_shared < 0.5 * (n_expected - 0.5 * n_shared)
    order = np.lexsort((np.where(tested, p_value, 2.0), ~suspicious))
    with np.errstate(invalid="ignore"):
        of_shared = [np.ma.masked_array(n / n_shared, n_shared == 0) for n in (n_agree, n_expected)]
    counted = np.rint([n_answers, n_shared]).astype(int)
    columns = (people, *counted, *of_shared, np.ma.masked_array(p_value, ~tested), suspicious)
    return [ParticipantCheck(*row) for row in zip(*(column[order].tolist() for column in columns))]


def sum_of_binomials_tail(n: np.ndarray, p: np.ndarray, least: int) -> float:
    """P[sum of independent Binomial(n_k, p_k) >= least]."""
    from scipy.stats import binom, norm

    mean, variance = float(n @ p), float(n @ (p * (1 - p)))
    if variance > _LARGE or least > mean + 40 * (1 + variance**0.5):
        return float(norm.sf((least - 0.5 - mean) / variance**0.5))
    law = np.zeros(least)
    law[0] = 1.0
    for count, chance in zip(n, p):
        law = np.convolve(law, binom.pmf(np.arange(least), count, chance))[:least]
    return float(np.clip(1.0 - law.sum(), 0.0, 1.0))
