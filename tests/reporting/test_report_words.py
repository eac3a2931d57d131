"""Sentences of the report."""

from __future__ import annotations

import pytest

from nearer.reporting import Scores
from nearer.reporting.display import clean_text, group_codes, natural_key, shorten
from nearer.reporting.words import count, fit_sentences, headline, percent


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
