"""The decision rule by hand: sign test, margin, agreement of the tuning draws, shares of cases."""

from __future__ import annotations

import pytest
from experiments.decision import (
    ALIKE,
    BETTER,
    HOLDS,
    NOT,
    OPEN,
    PART,
    UNDECIDED,
    UNKNOWN,
    WORSE,
    Case,
    compare,
    fact,
    verdict,
)

pytestmark = pytest.mark.tools

DRAWS = [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("gains", "outcome"),
    [
        ([0.02] * 6, BETTER),
        ([-0.02] * 6, WORSE),
        ([0.004] * 6, ALIKE),  # every pair won, by less than matters
        ([0.02] * 5 + [-0.02], UNDECIDED),  # 5 of 6: p = .11
        ([0.02] * 5 + [0.0], BETTER),  # a tie counts for neither: 5 of 5, p = .03
        ([0.03, -0.01, 0.03, -0.01, 0.03, -0.01], UNDECIDED),
    ],
)
def test_outcome_of_a_case(gains, outcome):
    error = compare("", [0.2 - g for g in gains], [0.2] * 6, DRAWS, "error")
    score = compare("", [0.2 + g for g in gains], [0.2] * 6, DRAWS, "score")
    assert error.outcome == score.outcome == outcome
    assert error.gain == pytest.approx(score.gain)


def test_one_tuning_draw_the_other_way_leaves_a_case_open():
    gains = [0.02] * 18 + [-0.01] * 3  # 18 of 21: p = .0007
    draws = [0] * 9 + [1] * 9 + [2] * 3
    assert compare("", [0.2 - g for g in gains], [0.2] * 21, draws, "error").outcome == UNDECIDED
    assert compare("", [0.2 - g for g in gains], [0.2] * 21, [0] * 21, "error").outcome == BETTER


def test_costs_are_ratios_and_a_run_that_never_arrives_costs_most():
    half = compare("", [5.0] * 6, [10.0] * 6, DRAWS, "cost")
    assert (half.outcome, half.gain, half.wins, half.pairs) == (BETTER, pytest.approx(2.0), 6, 6)
    assert compare("", [10.0] * 6, [10.9] * 6, DRAWS, "cost").outcome == ALIKE
    assert compare("", [10.0] * 6, [None] * 6, DRAWS, "cost").outcome == BETTER
    assert compare("", [None] * 6, [10.0] * 6, DRAWS, "cost").outcome == WORSE
    assert compare("", [None] * 6, [None] * 6, DRAWS, "cost").outcome == ALIKE


@pytest.mark.parametrize(("ratio", "outcome"), [(6.0, BETTER), (3.8, ALIKE), (3.5, WORSE)])
def test_a_factor_is_granted_to_the_rival(ratio, outcome):
    case = compare("", [1.0] * 6, [ratio] * 6, DRAWS, "cost", (BETTER, ALIKE), factor=4.0)
    assert case.outcome == outcome
    assert case.gain == pytest.approx(ratio)


@pytest.mark.parametrize(("yes", "expected"), [(10, HOLDS), (9, HOLDS), (8, PART), (5, PART), (4, NOT), (0, NOT)])
def test_verdict_by_the_share_of_cases(yes, expected):
    assert verdict([fact("", k < yes) for k in range(10)]) == expected


def test_what_a_claim_says_decides_what_counts():
    assert verdict([Case("", ALIKE)]) == NOT
    assert verdict([Case("", ALIKE, (BETTER, ALIKE))]) == HOLDS
    assert verdict([]) == UNKNOWN
    assert verdict([Case("", UNDECIDED)] * 2 + [Case("", WORSE)]) == OPEN
    assert verdict([Case("", UNDECIDED), Case("", WORSE)]) == NOT


def test_values_must_match():
    with pytest.raises(ValueError, match="expected as many"):
        compare("a", [1.0], [1.0, 2.0], [0], "error")
