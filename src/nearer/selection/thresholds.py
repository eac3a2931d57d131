"""How much data a figure needs before it is computed by default or relied on, each with its reason."""

from __future__ import annotations

import math
from typing import Any

from nearer.data import Comparisons
from nearer.data.messages import counted
from nearer.people.participants import FEWEST

FOLDS = 5  # of a cross-validation: maps of 80 % of the answers are close to those of all
FEWEST_ANSWERS = 50  # fewer make a held-out accuracy uncertain by more than 10 points
MOST_COMPARISONS = 200_000  # beyond, five further fits take longer than a user would wait without asking for them
RESAMPLES = 100  # of a bootstrap by default: they give standard errors to within about 7 %
# Up to these sizes, measured, 100 resamples take seconds. By size, not by time: the same answers give the same report.
MOST_RESAMPLED, MOST_OBJECTS_RESAMPLED = 20_000, 500
CLEAR = 0.05  # difference in accuracy beyond which training and held-out answers are clearly different
MOST_UNPLACED = 0.5  # fraction of held-out answers about objects in no other answer; above it, the rest shows little
WORTHWHILE = 0.01  # gain in accuracy for which another dimension is preferred
LEVEL = 0.95  # of the interval for the held-out accuracy
# How much better the map of all answers predicts than maps of a part, as a fraction of the gap between training and
# held-out accuracy: the gain to expect, and as large again its standard deviation, since with few answers a map may
# improve by much or not at all. Estimated on the data "chosen on" of `benchmarks.verdicts accuracy`.
GAIN_OF_ALL = 0.18
WEIGHT_OF_TRAINING = 0.368  # in the accuracy of a bootstrap (Efron, 1983), where that gain is included
FEWEST_FOR_LAW = 40  # answers for an answer law: a quarter is held out, 10 for its two parameters
# Bootstrap intervals are open above it: answers hardly distinguish a distance three times as large from a larger one.
REACH = math.log(3.0)
# In `benchmarks.verdicts`, about 2 n d log n answers are needed to detect a dimension.
ENOUGH = 2.0


def n_d_log_n(n_objects: int, d: int) -> float:
    """Order of the number of answers that determine n objects in d dimensions (Jain, Jamieson and Nowak, 2016)."""
    return n_objects * d * math.log2(max(n_objects, 2))


def can_compare_people(answers: Comparisons) -> bool:
    """Whether each person is compared with maps of the others by default: where it is informative and quick."""
    people = answers.people
    return people is not None and len(people.names) >= FEWEST and default_folds(answers) > 0


def default_folds(answers: Comparisons) -> int:
    """Folds of a cross-validation by default: 5 where it is informative and quick, else 0."""
    enough = min(len(answers), answers.n_answers) >= FEWEST_ANSWERS
    return FOLDS if enough and len(answers) <= MOST_COMPARISONS else 0


def why_no_folds(answers: Comparisons) -> str:
    """Why there is no cross-validation by default, as a clause."""
    n, what = min((answers.n_answers, "answer"), (len(answers), "comparison"))
    if n < FEWEST_ANSWERS:
        return f"{counted(n, f'{what} is', f'{what}s are')} fewer than the {FEWEST_ANSWERS} that it takes"
    return f"{len(answers):,} comparisons are more than are held out unasked"


def default_resamples(answers: Comparisons, solver: Any, reliability: bool) -> int:
    """Resamples of a bootstrap by default: 100 where they take seconds, judged by the size and the solver; else 0."""
    small = len(answers) <= MOST_RESAMPLED and answers.n_objects <= MOST_OBJECTS_RESAMPLED
    fast = isinstance(solver, str) and solver in ("auto", "lbfgs") and not reliability
    return RESAMPLES if small and fast and default_folds(answers) else 0
