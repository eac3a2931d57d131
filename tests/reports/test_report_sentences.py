"""Sentences of the report."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer import Comparisons
from nearer.metrics import worst_comparisons
from nearer.metrics.agreement import noise_ceiling
from nearer.people import ExclusionRules
from nearer.reports import sentences
from nearer.selection import DimensionSelection, Evaluation
from nearer.selection.thresholds import CLEAR


def held_out(accuracy, half=0.02, **more):
    """An evaluation with a held-out accuracy and its interval."""
    bounds = {"held_out_low": max(accuracy - half, 0.0), "held_out_high": min(accuracy + half, 1.0)}
    return Evaluation(held_out=accuracy, fold_accuracy=(accuracy,) * 5, **bounds, **more)


UNMEASURED, GUESSING, GAP = "was not measured", "cannot be distinguished from guessing", "(a gap of 10 points): "
UNKNOWN, BEST, GOOD = "is unknown", "the best possible accuracy ", "as good as the answers allow"
BETTER = "with another number of dimensions predicts new answers better"
RANGE, STUCK = BEST + "lies between about 89 % and 95 %.", "satisfy 86.0 % of the rest, more than the 69.4 % that this"
OVERFIT = held_out(0.85, training=0.95)
BOUNDED = held_out(0.89, ceiling=0.93, ceiling_low=0.89)
WIDE = held_out(0.719, 0.009, ceiling=0.817, ceiling_low=0.671, ceiling_questions=11_034)
FEW = held_out(0.8, ceiling=0.88, ceiling_low=0.84, ceiling_questions=3)


@pytest.mark.parametrize(
    ("scores", "preferred", "said"),
    [
        (Evaluation(), None, [UNKNOWN]),
        (Evaluation(training=0.9), None, [UNMEASURED, UNKNOWN]),
        (held_out(0.53, 0.05), None, [GUESSING, UNKNOWN]),
        (held_out(0.53, 0.01), None, [UNKNOWN]),
        (OVERFIT, None, [GAP + "there are too few answers for this dimension, or", UNKNOWN]),
        (OVERFIT, "fewer", [GAP + "a sign of too many dimensions.", UNKNOWN]),
        (OVERFIT, "another", [GAP + "a sign of too few answers.", UNKNOWN, BETTER]),
        (held_out(0.90, training=0.95), None, [UNKNOWN]),
        # The ceiling: reached, missed by what chance may explain, missed.
        (BOUNDED, "this", [BEST + "lies between about 89 % and 93 %.", GOOD]),
        (BOUNDED, "another", [BEST + "lies between about 89 % and 93 %.", BETTER]),
        # An interval too wide for a verdict.
        (
            WIDE,
            "this",
            [BEST + "lies between about 67 % and 82 %.", "not known: it may satisfy up to 10 points more, or none."],
        ),
        (WIDE, "another", [BEST + "lies between about 67 % and 82 %.", BETTER]),
        (held_out(0.86, 0.04, ceiling=0.95, ceiling_low=0.89), None, [RANGE, "3 points short of that, which chance"]),
        (held_out(0.80, ceiling=0.95, ceiling_low=0.89), None, [RANGE, "leaves 9 points to be explained"]),
        (held_out(0.947, 0.001, ceiling=0.95), None, [BEST + "is about 95 %.", "leaves less than 1 point"]),
        (held_out(1.0, ceiling=1.0, ceiling_low=1.0), None, ["a map could satisfy 100 %", GOOD]),
        (
            held_out(0.51, ceiling=0.75, ceiling_low=0.5),
            None,
            [GUESSING, BEST + "lies between about 50 % and 75 %.", "is not known"],
        ),
        (
            held_out(0.51, ceiling=0.55, ceiling_low=0.5),
            None,
            [GUESSING, BEST + "lies between about 50 % and 55 %.", "no map can do"],
        ),
        (held_out(0.8, ceiling=0.5, ceiling_low=0.0), None, ["evenly divided"]),
        (replace(FEW, ceiling_questions=5000), None, [BEST, "leaves 4 points to be explained"]),
        (FEW, None, ["Only 3 questions were repeated, too few to estimate the best possible"]),
        # A poor local minimum is not judged further.
        (held_out(0.86, training=0.694, ceiling=0.95, ceiling_low=0.89), None, [STUCK, RANGE]),
    ],
)
def test_scores_and_what_is_said_of_them(scores, preferred, said):
    found = sentences.fit_sentences(scores, preferred)
    assert len(found) == len(said)
    for sentence, part in zip(found, said):
        assert part in sentence


@pytest.mark.parametrize(
    ("shown", "chosen", "gain", "preferred"),
    [
        (2, 2, 0.0, "this"), (3, 1, 0.005, "fewer"), (3, 1, -0.005, "fewer"), (4, 2, -0.03, "this"),
        (2, 7, 0.08, "another"), (2, 3, 0.003, "this"), (2, None, 0.0, None), (9, 2, 0.0, None),
    ],
)  # fmt: skip
def test_the_dimension_preferred(shown, chosen, gain, preferred):
    accuracy = dict.fromkeys(range(1, 8), 0.8)
    if chosen != shown and chosen is not None:
        accuracy[chosen] += gain
    assert sentences.preferred_dimension(shown, chosen, accuracy) == preferred


fraction = st.floats(0, 1)


@st.composite
def some_scores(draw):
    held, half = draw(st.none() | fraction), draw(st.floats(0, 0.2))
    made = Evaluation() if held is None else held_out(held, half)
    ceiling = draw(st.none() | st.floats(0.5, 1))
    ceiling_low = None if ceiling is None or draw(st.booleans()) else draw(st.floats(0, ceiling))
    questions = None if ceiling is None else draw(st.none() | st.integers(1, 2000))
    known = {"ceiling": ceiling, "ceiling_low": ceiling_low, "ceiling_questions": questions}
    return replace(made, training=draw(st.none() | fraction), **known)


@given(some_scores(), st.sampled_from([None, "this", "fewer", "another"]))
def test_no_sentence_contradicts_another(scores, preferred):
    said = [sentences.headline(scores), *sentences.fit_sentences(scores, preferred)]
    text = " ".join(said)
    assert len(set(said)) == len(said)
    # One verdict at most, and none that the figures deny.
    verdicts = (
        GOOD,
        BETTER,
        "is not known: it may",
        "short of that",
        "to be explained",
        "can do better",
        "poor local minimum",
    )
    assert sum(verdict in text for verdict in verdicts) <= 1
    if GOOD in text:
        assert scores.ceiling_least <= scores.held_out >= scores.ceiling - CLEAR
        assert "from guessing" not in text
    if "too many dimensions" in text:
        assert "too few answers" not in text
    if "poor local minimum" in text:
        assert "it has not seen" not in text
        assert "clearly better than new ones" not in text
    if "too few to estimate the best possible" in text:
        assert not any(verdict in text for verdict in (GOOD, *verdicts[2:6]))
        assert "majority" not in text
    if "to the same question differ" in text:
        assert scores.ceiling < 1 or scores.ceiling_low < 1
    assert not re.search(r"\b1 (points|dimensions|answers|objects)\b|\b0 points?\b", text)


@pytest.mark.parametrize(
    ("chosen", "shown", "accuracy", "end"),
    [
        (2, 2, {1: 0.8, 2: 0.9, 3: 0.89}, "this map has as many."),
        (1, 2, {1: 0.9, 2: 0.8}, "1 dimension, the fewest that no larger number clearly beats; this map has 2."),
        (3, 3, {1: 0.8, 2: 0.9, 3: 0.95}, "It is the largest that was tried: larger ones may do better still."),
        (3, 3, {1: 0.8, 2: 0.945, 3: 0.95}, "largest that was tried, but going beyond 2 gains less than 1 point."),
        (2, 2, {1: 0.9, 2: 0.9, 3: 0.8}, "made for that purpose, not by those in the chart."),
        (2, 2, {1: 0.8, 2: 0.9, 3: 0.9}, "equally well, the smallest number is chosen."),
        (2, 2, {1: 0.8, 2: 0.9, 3: 0.91}, "made for that purpose, not by those in the chart."),
        (None, 2, {1: 0.8}, "some maps are missing, and no dimension is chosen."),
    ],
)
def test_a_choice_that_the_chart_does_not_show_is_explained(chosen, shown, accuracy, end):
    assert sentences.dimensions_sentence(chosen, shown, accuracy).endswith(end)


def test_the_bound_of_the_ceiling_holds():
    """Answers drawn at random: the best accuracy is above the bound nearly always."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        n = int(rng.integers(5, 200))
        chance = rng.beta(2, rng.uniform(0.3, 3), size=n)
        answers = rng.integers(2, 6, size=n)
        first = rng.binomial(answers, chance)
        asked, said = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
        ceiling, low = noise_ceiling(asked, said, np.concatenate([first, answers - first]))
        best = np.average(np.maximum(chance, 1 - chance), weights=answers)
        held += Evaluation(ceiling=ceiling, ceiling_low=low, ceiling_questions=n).ceiling_bound <= best
    assert held / 400 > 0.97


def test_a_part_of_a_cross_validation_is_told_as_a_part():
    nan = np.nan
    table = np.array([[[0.8, 0.9, nan], [0.7, nan, nan], [nan] * 3]] * 2)
    lines = sentences.dimension_lines(DimensionSelection(np.array([1, 2, 3]), *table)).splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines[1:4]] == [
        "75.0 % ± 5.0   (2 of 3 folds)", "90.0 %   (1 of 3 folds)", "unknown   (0 of 3 folds)",
    ]  # fmt: skip
    assert "3 of 9 maps" in lines[4]


CONTRADICTED = worst_comparisons([[0.0], [1.0], [3.0]], Comparisons([[0, 2, 1], [0, 1, 2]], 3, weights=[0.5, 1.5]))
SCORE = {"accuracy": 0.75, "n_comparisons": 3, "n_satisfied": 2}
WEIGHTS = {"weight": 1600.0, "weight_satisfied": 1400.0}
CHECK = {"n_answers": 9300.0, "n_questions": 1, "n_objects": 40, "participants": [{}]}


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (sentences.percent(0.9124), "91.2 %"),
        (sentences.percent(1.0), "100 %"),
        (sentences.percent(0.99999), "over 99.9 %"),
        (sentences.percent(0.0001), "under 0.1 %"),
        (sentences.points(0.001), "less than 1 point"),
        (sentences.points(0.012), "1 point"),
        (
            sentences.headline(held_out(0.91, training=0.95, ceiling=0.94)),
            "91.0 % of answers it has not seen (guessing: 50 %); ",
        ),
        (sentences.headline(held_out(0.86, training=0.694)), "69.4 % of the answers it was made from"),
        (sentences.ceiling_text(FEW), "84.0 to 88.0 %"),
        (sentences.few_answers_sentence(1, 2), "1 object that is in fewer than 3 questions"),
        (sentences.violations_sentence(CONTRADICTED), "1 of 2 answers, 25.0 % by weight."),
        (sentences.violations_sentence(replace(CONTRADICTED, n_unplaced=1.0)), " 1 more concerns objects without"),
        (sentences.data_sentence(CHECK), "9,300 answers to 1 question about 40 objects, by 1 participant"),
        (sentences.distances_sentence(2.0, 1.0, 4.0), "2 times as far (50 against 25 % of"),
        (sentences.distances_sentence(1.0, 0.0, 4.0), "much farther (25 against 0 %"),
        (sentences.distances_sentence(0.0, 0.0, 0.0), "equally far (0 against 0 %"),
        (sentences.scores_line(OVERFIT), "95.0 % of the answers satisfied (guessing: 50 %); 85.0 % of held-out"),
        (
            sentences.score_lines(SCORE | WEIGHTS | {"weights_are_votes": True}),
            "1,400 of 1,600 answers, the votes",
        ),
        (sentences.score_lines(SCORE | WEIGHTS), "1,400.0 of 1,600.0 by weight, 2 of 3 comparisons"),
        (sentences.score_lines(SCORE | {"log_loss": 0.25, "calibration_error": 0.03}), "log-loss 0.2500"),
    ],
)
def test_figures_become_sentences(sentence, said):
    assert said in sentence


PEOPLE = {
    "participant": ["a", "b", "c", "d"], "answers": [40, 60, 50, 50], "agreement": [0.2, 0.5, 0.9, 0.8],
    "p_chance": [1.0, 0.4, 0.001, 0.001], "inverted": [True, False, False, False],
}  # fmt: skip


def test_people_who_stand_out_are_named_with_the_evidence():
    people = PEOPLE | {
        "opposite": [0.7, 0.1, 0.0, 0.1],
        "seconds": [1.0, 2.0, 0.2, 3.0],
        "fast": [False] * 2 + [True, 0],
    }
    people |= {"same_side": [0.5, 0.6, 0.5, 0.95], "catch": [4, 10, 0, 10], "catch_passed": [1.0, 0.7, None, 0.9]}
    answers, _, agreement, inverted, guessing, fast, side, checks = sentences.people_sentences(people)
    assert "4 people gave 40 to 60 answers" in answers
    assert "65.0 % of answers (median; 20.0 % to 90.0 %)" in agreement
    assert (
        "the other way round, by the map of the others: a (agrees in 20.0 %, the opposite in 70.0 %, of 40" in inverted
    )
    assert guessing.startswith("1 person cannot be distinguished from somebody who only guesses: b (agrees in 50.0 %).")
    assert fast.endswith("faster than the others (median 1.50 s): c (median 0.20 s).")
    assert "90 % of answers: d (95.0 %)" in side
    assert "80 % of attention checks: b (7 of 10)" in checks
    by_rules = sentences.people_sentences(people, ExclusionRules(max_same_side=0.96, catch_passed=0.95))
    assert not any("d (95.0 %)" in text for text in by_rules)
    assert "95 % of attention checks: b (7 of 10), d (9 of 10)" in by_rules[-1]


def test_where_nobody_stands_out_that_is_said():
    people = PEOPLE | {"answers": [40] * 4, "p_chance": [0.01] * 4, "inverted": [False] * 4}
    assert sentences.people_sentences(people)[-1].startswith("All")
    two = {"participant": ["a", "b"], "answers": [3, 3], "agreement": [None] * 2, "p_chance": [None] * 2}
    answers, least = sentences.people_sentences(two)
    assert "gave 3 answers" in answers
    assert "at least 3" in least
