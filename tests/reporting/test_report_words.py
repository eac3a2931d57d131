"""Sentences of the report."""

from __future__ import annotations

import pytest

from nearer.reporting import Scores
from nearer.reporting.display import clean_text, group_codes, natural_key, shorten
from nearer.reporting.studies import CrossValidation, Findings, Judgement
from nearer.reporting.words import (
    answer_sentence,
    check_facts,
    count,
    dimensions_sentence,
    distances_sentence,
    fit_sentences,
    headline,
    interval,
    judgement_lines,
    map_sentence,
    percent,
    scores_line,
    violations_sentence,
)


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


def test_count():
    assert count(1, "answer", "answers") == "1 answer"
    assert count(1200, "answer", "answers") == "1,200 answers"


def test_headline_prefers_what_was_not_seen():
    text = headline(Scores(training=0.95, held_out=0.91, ceiling=0.94))
    assert text == (
        "The map satisfies 91.0 % of answers it has not seen; where a question was repeated, 94.0 % of answers side "
        "with the majority."
    )
    assert "made from" in headline(Scores(training=0.95))
    assert "%" not in headline(Scores())


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (Scores(training=0.9), "was not measured"),
        (Scores(held_out=0.49), "guessing"),
        (Scores(held_out=0.53, held_out_low=0.48, held_out_high=0.58), "guessing"),
        (Scores(training=0.95, held_out=0.85), "a gap of 10 points"),
        (Scores(held_out=0.9), "unknown"),
        (Scores(held_out=0.9, ceiling=0.95, ceiling_low=0.89), "as good as the answers allow"),
        (Scores(held_out=0.88, held_out_low=0.86, held_out_high=0.9, ceiling=0.95, ceiling_low=0.89), "as good as"),
        (Scores(held_out=0.80, ceiling=0.95, ceiling_low=0.89), "at least 9 points"),
        (Scores(held_out=0.80, ceiling=0.95), "at most 95.0 %"),
    ],
)
def test_sentences_judge_the_scores(scores, said):
    assert said in " ".join(fit_sentences(scores))


def test_a_good_map_is_not_called_overfitted():
    assert "gap" not in " ".join(fit_sentences(Scores(training=0.93, held_out=0.91)))
    assert "guessing" not in " ".join(fit_sentences(Scores(training=0.93, held_out=0.91)))


@pytest.mark.parametrize(
    ("value", "message"),
    [({"training": 1.2}, "training: got 1.2"), ({"held_out_low": 0.5}, "expected both or neither")],
)
def test_scores_are_checked(value, message):
    with pytest.raises(ValueError, match=message):
        Scores(**value)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb", "a↵b"),
        ("a\r\nb", "a↵b"),
        ("a\u2028b", "a↵b"),
        ("a\tb", "a→b"),
        ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u202eevil", "\ufffdevil"),
        ("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"),
        (7, "7"),
    ],
)
def test_clean_text(given, shown):
    assert clean_text(given) == shown


def test_shorten():
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


def test_natural_order():
    assert sorted(["g10", "g2", "G1", "a"], key=natural_key) == ["a", "G1", "g2", "g10"]
    assert sorted(["10", "9", "x"], key=natural_key) == ["9", "10", "x"]


def test_group_codes():
    codes, names = group_codes(["b10", "b9", None, float("nan"), "", "b9"], 6)
    assert names == ["b9", "b10"]
    assert codes.tolist() == [1, 0, -1, -1, -1, 0]


HELD_OUT = CrossValidation(5, 0.912, 0.01, 0.8842, 0.9398, 0.95, [0.912] * 5)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (interval(0.881, 0.93), "88.1 to 93.0 %"),
        (map_sentence(1, 1), "1 object. Objects close to each other on the line were judged similar."),
        (map_sentence(1200, 2)[:14], "1,200 objects."),
        (map_sentence(5, 7)[:32], "5 objects. The map has 7 dimensi"),
        (dimensions_sentence(None)[-33:], "answers they have not seen. Bars are one standard error."[-33:]),
        (dimensions_sentence(3)[-34:], " The chosen dimension is marked: 3."[-34:]),
        (violations_sentence(0, 1, 0), "The map contradicts 0 of 1 comparison."),
        (
            violations_sentence(1200, 3400, 1),
            "The map contradicts 1,200 of 3,400 comparisons. 1 more concerns objects without a position.",
        ),
        (answer_sentence(["a", "b", "c"]), "a is nearer to b than to c"),
        (answer_sentence(["a", "b", "c", "{}"]), "a and b are nearer to each other than c and {}"),
        (distances_sentence(2.0, 1.0, 4.0), "2 times as far (50 against 25 % of the map's width)"),
        (distances_sentence(1.0, 1.0, 4.0), "equally far (25 against 25 % of the map's width)"),
        (distances_sentence(1.0, 0.0, 4.0), "much farther (25 against 0 % of the map's width)"),
        (distances_sentence(0.0, 0.0, 0.0), "equally far (0 against 0 % of the map's width)"),
        (scores_line(Findings()), ""),
        (
            scores_line(Findings(0.99999, None, HELD_OUT)),
            "over 99.9 % of the answers satisfied; 91.2 % of held-out answers (5-fold cross-validation, 95 % interval "
            "88.4 to 94.0 %)",
        ),
        (judgement_lines(Judgement(0.875, 3, 2, True)), "87.5 % satisfied, by weight: 2 of 3 comparisons"),
        (
            judgement_lines(Judgement(1.0, 3000, 3000, False, "ste", 0.25, 0.03)),
            "100 % satisfied: 3,000 of 3,000 comparisons\nlog-loss 0.2500 (guessing: 0.6931); probabilities are off by "
            "3.0 % on average",
        ),
    ],
)
def test_figures_become_sentences(sentence, said):
    assert sentence == said


def test_facts_of_a_check():
    check = {"n_comparisons": 1500, "kind": "triplets", "dropped": {"ties": 3}, "unseen": ["x"], "contradictions": []}
    assert check_facts(check) == {
        "Comparisons": "1,500 triplets",
        "Left out: ties": "3",
        "Objects in no comparison": "1",
        "Answered both ways": "0",
    }
    assert check_facts({}) == {}
