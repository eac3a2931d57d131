"""The one rule by which every claim of the paper is judged.

A claim is broken into cases: loss, data set, noise, measure, settings, rival. A case compares two methods over matched
pairs, which share the data, the start and the tuning draw. The first is *better* if it wins more pairs than chance
allows (one-sided sign test, .05), wins the median pair by more than a margin that matters (0.005 in an error, MAP, P@K
or R@K; 10 % in work), and wins the median pair of every tuning draw; *worse* is the reverse; the two are *alike* if
the median difference is within the margin; all else is *undecided*. A case without two methods (a bound is kept or not)
is a plain yes or no. A claim holds if at least 90 % of its cases come out as it says, in part if at least half do; it
is not decided if more than half of them are undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

HOLDS, PART, NOT, OPEN, UNKNOWN = "holds", "holds in part", "does not hold", "not decided", "not run"
BETTER, ALIKE, WORSE, UNDECIDED = "better", "alike", "worse", "undecided"
LEVEL, MOST, HALF = 0.05, 0.9, 0.5
# What is measured: whether more is better, and the margin; costs are compared as ratios.
MARGINS = {"error": (-1, 0.005), "score": (1, 0.005), "cost": (-1, math.log(1.1))}
_NEVER = 1e12  # the cost of a run that never gets there


@dataclass(frozen=True)
class Case:
    """One comparison: how it came out for the first method, and what the claim says about it.

    `gain` is the median gain of the first method: a difference, or of a cost the ratio (2 = half the cost). `group`
    says with whose settings: "authors", "tuned", or nothing.
    """

    name: str
    outcome: str
    claimed: tuple[str, ...] = (BETTER,)
    gain: float | None = None
    wins: int = 0
    pairs: int = 0
    group: str = ""

    @property
    def as_claimed(self) -> bool:
        return self.outcome in self.claimed


def compare(
    name: str,
    ours: Sequence[float | None],
    theirs: Sequence[float | None],
    draws: Sequence[object],
    measure: str,
    claimed: tuple[str, ...] = (BETTER,),
    factor: float = 1.0,
    group: str = "",
) -> Case:
    """The case of two methods from their matched values.

    Parameters
    ----------
    name : of the case.
    ours, theirs : one value for each pair; a cost of None was never enough.
    draws : the tuning draw of each pair.
    measure : "error", "score" or "cost".
    claimed : the outcomes that agree with the claim.
    factor : of a cost: the rival is granted this many times less, for "4 times faster".
    group : see `Case`.
    """
    if not len(ours) == len(theirs) == len(draws) > 0:
        raise ValueError(
            f"{name}: got {len(ours)}, {len(theirs)} and {len(draws)} values, expected as many, at least 1"
        )
    sign, margin = MARGINS[measure]
    values = [[_NEVER if v is None else v for v in side] for side in (ours, theirs)]
    a, b = (np.log(v) if measure == "cost" else np.array(v, dtype=float) for v in values)
    gains = sign * (a - b) - math.log(factor)
    if measure == "cost":
        gains[(a == b) & (a == math.log(_NEVER))] = 0.0
    gain, wins, losses = float(np.median(gains)), int(np.sum(gains > 0)), int(np.sum(gains < 0))
    by_draw = [float(np.median(gains[[d == draw for d in draws]])) for draw in dict.fromkeys(draws)]
    if abs(gain) <= margin:
        outcome = ALIKE
    elif gain > 0 and _significant(wins, losses) and min(by_draw) > 0:
        outcome = BETTER
    elif gain < 0 and _significant(losses, wins) and max(by_draw) < 0:
        outcome = WORSE
    else:
        outcome = UNDECIDED
    told = _ratio(factor * math.exp(gain)) if measure == "cost" else gain
    return Case(name, outcome, claimed, told, wins, len(gains), group)


def fact(name: str, true: bool, group: str = "") -> Case:
    """The case of a plain statement."""
    return Case(name, "yes" if true else "no", ("yes",), group=group)


def verdict(cases: Sequence[Case]) -> str:
    """What becomes of a claim."""
    if not cases:
        return UNKNOWN
    share = sum(case.as_claimed for case in cases) / len(cases)
    undecided = sum(case.outcome == UNDECIDED for case in cases) / len(cases)
    return HOLDS if share >= MOST else PART if share >= HALF else OPEN if undecided > HALF else NOT


def _ratio(gain: float) -> float:
    """A ratio of costs; that to a run that never gets there is infinite."""
    return math.inf if gain > _NEVER**0.5 else 0.0 if gain < _NEVER**-0.5 else gain


def _significant(wins: int, losses: int) -> bool:
    """Whether so many wins are more than a fair coin would give; ties count for neither side."""
    return bool(binom.sf(wins - 1, wins + losses, 0.5) <= LEVEL)
