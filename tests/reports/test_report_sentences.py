"""Sentences of the report."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.metrics.agreement import noise_ceiling
from nearer.reports.sentences import (
    Tried,
    ceiling_source,
    data_sentence,
    dimension_lines,
    dimensions_sentence,
    distances_sentence,
    few_answers_sentence,
    fit_sentences,
    headline,
    interval,
    map_sentence,
    people_sentences,
    percent,
    points,
    reliability_sentence,
    score_lines,
    scores_line,
    violations_sentence,
)
from nearer.selection import DimensionSelection, Evaluation


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.9124, "91.2 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.99999, "over 99.9 %"),
        (0.0001, "under 0.1 %"),
        (0.5, "50.0 %"),
    ],
)
def test_percent(fraction, text):
    assert percent(fraction) == text


def test_headline_prefers_what_was_not_seen():
    text = headline(Evaluation(training=0.95, held_out=0.91, ceiling=0.94))
    assert text.startswith("The map satisfies 91.0 % of answers it has not seen; where a question was repeated, 94.0 %")
    assert "made from" in headline(Evaluation(training=0.95))
    assert "69.4 % of the answers it was made from" in headline(Evaluation(training=0.694, held_out=0.86))
    assert "%" not in headline(Evaluation())


UNMEASURED, GUESSING, GAP = "was not measured", "cannot be distinguished from guessing", "(a gap of 10 points): "
UNKNOWN, BEST, GOOD = "is unknown", "the best possible map satisfies ", "as good as the answers allow"
RANGE, STUCK = BEST + "between 89.0 % and 95.0 %.", "satisfy 86.0 % of the rest, more than the 69.4 % that this"
OVERFIT = Evaluation(training=0.95, held_out=0.85)
BOUNDED = Evaluation(held_out=0.89, ceiling=0.95, ceiling_low=0.89)


@pytest.mark.parametrize(
    ("scores", "tried", "said"),
    [
        (Evaluation(), None, [UNKNOWN]),
        (Evaluation(training=0.9), None, [UNMEASURED, UNKNOWN]),
        (Evaluation(held_out=0.9), None, [UNKNOWN]),
        (Evaluation(held_out=0.49), None, [GUESSING, UNKNOWN]),
        (Evaluation(held_out=0.53, held_out_low=0.48, held_out_high=0.58), None, [GUESSING, UNKNOWN]),
        (Evaluation(held_out=0.53, held_out_low=0.51, held_out_high=0.58), None, [UNKNOWN]),
        # A gap, with the dimension not known, too large, too small, right.
        (OVERFIT, None, [GAP + "there are too few answers for this dimension, or", UNKNOWN]),
        (
            OVERFIT,
            Tried(3, 1, 0.85, 0.855),
            [
                GAP + "a sign of too many",
                UNKNOWN,
                "1 dimension satisfies 85.5 % of new answers, about as many as one of 3",
            ],
        ),
        (
            OVERFIT,
            Tried(7, 2, 0.85, 0.89),
            [GAP + "a sign of too many", UNKNOWN, "satisfies 89.0 % of new answers, 4 points more than one of 7"],
        ),
        (
            OVERFIT,
            Tried(2, 7, 0.85, 0.93),
            [GAP + "a sign of too few answers, since a larger", UNKNOWN, "93.0 % of new answers, 8 points more than"],
        ),
        (
            OVERFIT,
            Tried(4, 2, 0.85, 0.82),
            [GAP + "a sign of too few answers.", UNKNOWN, "82.0 % of new answers, 3 points less than one of 4, but"],
        ),
        (Evaluation(held_out=0.85), Tried(2, 3, 0.85, 0.84), [UNKNOWN, "84.0 % of new answers, no more than one of 2"]),
        (OVERFIT, Tried(2, 2, 0.85, 0.85), [GAP + "a sign of too few answers.", UNKNOWN]),
        (Evaluation(training=0.95, held_out=0.90), None, [UNKNOWN]),
        # The ceiling: reached, missed by what chance may explain, missed.
        (BOUNDED, None, [RANGE, GOOD]),
        (replace(BOUNDED, held_out=0.97), None, [RANGE, GOOD]),
        (
            Evaluation(held_out=0.694, held_out_low=0.62, held_out_high=0.77, ceiling=0.84, ceiling_low=0.74),
            None,
            [BEST + "between 74.0 % and 84.0 %.", "5 points short of that, which chance may explain"],
        ),
        (
            Evaluation(held_out=0.80, held_out_low=0.78, held_out_high=0.82, ceiling=0.95, ceiling_low=0.89),
            None,
            [RANGE, "leaves 9 points to be explained"],
        ),
        (Evaluation(held_out=0.947, ceiling=0.95), None, [BEST + "at most 95.0 %.", "leaves less than 1 point"]),
        (BOUNDED, Tried(2, 3, 0.89, 0.92), [RANGE, "92.0 % of new answers, 3 points more than one of 2"]),
        (BOUNDED, Tried(2, 4, 0.89, 0.893), [RANGE, "89.3 % of new answers, hardly more than one of 2", GOOD]),
        (Evaluation(held_out=0.9, ceiling=0.9, ceiling_low=0.9), None, [BEST + "about 90.0 %.", GOOD]),
        (Evaluation(held_out=1.0, ceiling=1.0, ceiling_low=1.0), None, ["a map could satisfy 100 %", GOOD]),
        (
            Evaluation(held_out=0.51, held_out_low=0.49, held_out_high=0.53, ceiling=0.75, ceiling_low=0.5),
            None,
            [GUESSING, BEST + "between 50.0 % and 75.0 %.", "no map can do better"],
        ),
        # A poor local minimum is not judged further.
        (Evaluation(training=0.694, held_out=0.86), None, [STUCK, UNKNOWN]),
        (Evaluation(training=0.694, held_out=0.86, ceiling=0.95, ceiling_low=0.89), None, [STUCK, RANGE]),
    ],
)
def test_scores_and_what_is_said_of_them(scores, tried, said):
    found = fit_sentences(scores, tried)
    assert len(found) == len(said)
    for sentence, part in zip(found, said):
        assert part in sentence


fraction = st.floats(0, 1)


@st.composite
def some_scores(draw):
    held_out = draw(st.none() | fraction)
    low, high = (None, None) if held_out is None or draw(st.booleans()) else (
        draw(st.floats(0, held_out)), draw(st.floats(held_out, 1))
    )  # fmt: skip
    ceiling = draw(st.none() | st.floats(0.5, 1))
    ceiling_low = None if ceiling is None or draw(st.booleans()) else draw(st.floats(0, ceiling))
    questions = None if ceiling is None else draw(st.none() | st.integers(1, 2000))
    return Evaluation(draw(st.none() | fraction), held_out, low, high, 0.95, ceiling, ceiling_low, questions)


@st.composite
def some_dimensions(draw):
    shown, chosen = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    accuracy = draw(fraction)
    return Tried(shown, chosen, accuracy, accuracy if shown == chosen else draw(fraction))


@given(some_scores(), st.none() | some_dimensions())
def test_no_sentence_contradicts_another(scores, tried):
    sentences = [headline(scores), *fit_sentences(scores, tried)]
    text = " ".join(sentences)
    assert len(set(sentences)) == len(sentences)
    # One verdict at most, and none that the figures deny.
    verdicts = (
        "as good as the answers allow",
        "short of that",
        "to be explained",
        "can do better",
        "poor local minimum",
    )
    assert sum(verdict in text for verdict in verdicts) <= 1
    if GOOD in text:
        assert scores.held_out >= (scores.ceiling if scores.ceiling_low is None else scores.ceiling_low)
        assert "guessing" not in text
        assert "points more than" not in text
    if "too many dimensions" in text:
        assert tried.chosen < tried.shown
        assert "too few answers" not in text
    if "simpler map is better" in text:
        assert tried.chosen < tried.shown
        assert tried.chosen_accuracy >= tried.shown_accuracy + 0.01
    if "simpler map is enough" in text:
        assert tried.chosen < tried.shown
        assert tried.chosen_accuracy > tried.shown_accuracy - 0.01
    if "more than one of" in text:
        assert ("no more" in text) == (tried.chosen_accuracy <= tried.shown_accuracy)
    if "poor local minimum" in text:
        assert "it has not seen" not in text
        assert "clearly better than new ones" not in text
    if "too few to estimate how far people agree" in text:
        assert not any(verdict in text for verdict in verdicts[:4])
        assert "majority" not in text
    if "not fully consistent" in text:
        assert scores.ceiling < 1 or scores.ceiling_low < 1
    assert not re.search(r"\b1 (points|dimensions|answers|objects)\b|\b0 points?\b", text)


@given(st.none() | st.integers(1, 12), st.integers(1, 12))
def test_the_dimension_marked_is_not_taken_for_that_of_the_map(chosen, shown):
    text = dimensions_sentence(chosen, shown)
    assert ("as many." in text) == (chosen == shown)
    assert chosen in (None, shown) or text.endswith(f"; this map has {shown}.")
    assert " 1 dimensions" not in text


@pytest.mark.parametrize(
    ("chosen", "accuracy", "told"),
    [
        (2, {1: 0.8, 2: 0.9, 3: 0.89}, ""),
        (2, {2: 0.9}, ""),
        (3, {1: 0.8, 2: 0.9, 3: 0.95}, "It is the largest that was tried"),
        (2, {1: 0.9, 2: 0.9, 3: 0.8}, "Dimensions are compared by maps of the softplus loss"),
        (2, {1: 0.8, 2: 0.9, 3: 0.91}, "Dimensions are compared by maps of the softplus loss"),
    ],
)
def test_a_choice_that_the_chart_does_not_show_is_explained(chosen, accuracy, told):
    found = dimensions_sentence(chosen, chosen, accuracy).partition("as many.")[2].strip()
    assert bool(found) == bool(told)
    assert found.startswith(told)


FEW = Evaluation(0.85, 0.8, held_out_low=0.79, held_out_high=0.81, ceiling=1.0, ceiling_low=1.0, ceiling_questions=3)


def test_few_repeated_questions_say_little():
    said = " ".join(fit_sentences(FEW))
    assert "Only 3 questions were repeated, too few to estimate how far people agree with each other." in said
    assert "explained" not in said
    assert "majority" not in headline(FEW)
    assert ceiling_source(FEW) == "noise ceiling, from 3 repeated questions: too few to rely on"
    many = replace(FEW, ceiling_questions=300)
    assert "So this map leaves 20 points to be explained." in fit_sentences(many)
    assert ceiling_source(many) == "noise ceiling, from 300 repeated questions"
    one = replace(FEW, ceiling_questions=1)
    assert "Only 1 question was repeated" in " ".join(fit_sentences(one))


def test_a_map_is_short_of_a_ceiling_only_if_chance_cannot_explain_it():
    known = replace(FEW, held_out=0.8, held_out_low=0.78, held_out_high=0.82, ceiling=0.88, ceiling_low=0.84)
    for n, told in ((80, "which chance may explain"), (5000, "leaves 4 points to be explained")):
        assert told in " ".join(fit_sentences(replace(known, ceiling_questions=n)))


def test_the_bound_of_the_ceiling_holds():
    """Answers drawn at random: the best accuracy is above the bound nearly always."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        n = int(rng.integers(5, 200))
        chance = rng.beta(2, rng.uniform(0.3, 3), size=n)
        answers = rng.integers(2, 6, size=n)
        first = rng.binomial(answers, chance)
        ceiling, low = noise_ceiling(np.array([first, answers - first], dtype=float))
        best = np.average(np.maximum(chance, 1 - chance), weights=answers)
        held += Evaluation(ceiling=ceiling, ceiling_low=low, ceiling_questions=n).ceiling_bound <= best
    assert held / 400 > 0.97


def test_a_part_of_a_cross_validation_is_told_as_a_part():
    nan = np.nan
    table = np.array([[[0.8, 0.9, nan], [0.7, nan, nan], [nan] * 3]] * 2)
    found = DimensionSelection(np.array([1, 2, 3]), *table)
    lines = dimension_lines(found).splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines[1:4]] == [
        "75.0 % ± 5.0   (2 of 3 folds)", "90.0 %   (1 of 3 folds)", "unknown   (0 of 3 folds)",
    ]  # fmt: skip
    assert "3 of 9 maps" in lines[4]


SCORE = {"accuracy": 0.75, "n_comparisons": 3, "n_satisfied": 2}
WEIGHTS = {"weight": 1600.0, "weight_satisfied": 1400.0}
HELD_OUT = {"held_out": 0.912, "held_out_low": 0.8842, "held_out_high": 0.9398, "fold_accuracy": (0.912,) * 5}


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (interval(0.881, 0.93), "88.1 to 93.0 %"),
        (points(0.001), "less than 1 point"),
        (points(0.012), "1 point"),
        (map_sentence(1, 1), "1 object. "),
        (map_sentence(5, 7, [0.3, 0.2, 0.1]), "The first two hold 50 % of its spread."),
        (few_answers_sentence(1, 2), "1 object that is in fewer than 3 questions"),
        (dimensions_sentence(None, 2, is_partial=True), "interrupted"),
        (violations_sentence(1200.0, 3400.0, 1.0), "1,200 of 3,400 answers. 1 more concerns objects without"),
        (violations_sentence(3, 10, 0, 0.215), "3 of 10 answers, 21.5 % by weight."),
        (
            data_sentence({"n_answers": 9300.0, "n_questions": 1, "n_objects": 40, "participants": [{}]}),
            "9,300 answers to 1 question about 40 objects, by 1 person",
        ),
        (distances_sentence(2.0, 1.0, 4.0), "2 times as far (50 against 25 % of"),
        (distances_sentence(1.0, 1.0, 4.0), "equally far (25 against 25 %"),
        (distances_sentence(1.0, 0.0, 4.0), "much farther (25 against 0 %"),
        (distances_sentence(0.0, 0.0, 0.0), "equally far (0 against 0 %"),
        (scores_line(Evaluation(0.99999, **HELD_OUT)), "over 99.9 % of the answers satisfied; 91.2 % of held-out"),
        (scores_line(Evaluation(0.99999, **HELD_OUT)), "(5-fold cross-validation, 95 % interval 88.4 to 94.0 %)"),
        (score_lines(SCORE), "75.0 % satisfied: 2 of 3 comparisons"),
        (score_lines(SCORE | WEIGHTS | {"weights_are_votes": True}), "1,400 of 1,600 answers, the votes on 3"),
        (score_lines(SCORE | WEIGHTS | {"weights_are_votes": False}), "1,400.0 of 1,600.0 by weight, 2 of 3 comp"),
        (score_lines(SCORE | {"loss": "ste", "log_loss": 0.25, "calibration_error": 0.03}), "log-loss 0.2500"),
        (reliability_sentence([0.9, 0.1, 0.0]), "3 people seems to guess; 1 do so more often than not"),
    ],
)
def test_figures_become_sentences(sentence, said):
    assert said in sentence


def test_people_sentences():
    people = {
        "participant": ["a", "b", "c"], "answers": [40, 60, 50], "agreement": [0.5, 0.9, float("nan")],
        "p_chance": [0.4, 0.001, None],
    }  # fmt: skip
    answers, _, agreement, guessing = people_sentences(people)
    assert "3 people gave 40 to 60 answers" in answers
    assert "90.0 % of answers (median; 50.0 % to 90.0 %)" in agreement
    assert guessing.startswith("2 people")
    people |= {"answers": [40, 40, 40], "agreement": [None] * 3, "p_chance": [0.01] * 3}
    answers, guessing = people_sentences(people)
    assert "gave 40 answers" in answers
    assert guessing.startswith("All")
