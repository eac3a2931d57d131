"""Which questions are asked: balanced, planned, never the same twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from nearer.collect.desk import Dealer, participant_token, plan, question_key, signed_number
from nearer.collect.study import Condition, QuestionSettings, n_questions

ALL = Condition()
NAMES = [str(number) for number in range(10, 40)]
KINDS = [
    QuestionSettings(),
    QuestionSettings(kind="odd-one-out"),
    QuestionSettings(kind="rankings", options=5, choose=2),
]


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
def test_random_questions_are_balanced_and_of_different_objects(asked):
    dealer = Dealer(asked, NAMES[10:30], ALL, seed=0)
    made = [dealer.draw() for _ in range(1000)]
    assert all(len(set(one.items)) == asked.n_items == len(one.items) for one in made)
    counts = Counter(number for one in made for number in one.items)
    assert set(counts) == set(NAMES[10:30])
    assert max(counts.values()) - min(counts.values()) <= 4
    if asked.kind != "odd-one-out":
        heads = Counter(one.items[0] for one in made)
        assert max(heads.values()) - min(heads.values()) <= 1
    sides = Counter(one.items[-1] > one.items[-2] for one in made)
    assert abs(sides[True] - 500) < 4 * 500**0.5


def test_keys_tell_questions_apart_and_not_the_order_of_options():
    assert question_key("triplets", "123") == question_key("triplets", "132")
    assert question_key("triplets", "123") != question_key("triplets", "213")
    assert question_key("odd-one-out", "312") == question_key("odd-one-out", "123")
    assert question_key("triplets", ("1", "23", "4")) != question_key("triplets", ("12", "3", "4"))
    assert question_key("odd-one-out", "123") != question_key("odd-one-out", "123", catch=True)


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked.kind)
def test_catch_questions_know_their_answer(asked):
    dealer = Dealer(asked, NAMES[:8], ALL, seed=0)
    for _ in range(50):
        made = dealer.draw(catch=True)
        options = made.items if asked.kind == "odd-one-out" else made.items[1:]
        right = options[made.expected]
        assert (made.chosen_by, len(made.items)) == ("catch", asked.n_items)
        if asked.kind == "odd-one-out":
            assert (Counter(made.items)[right], len(set(made.items))) == (1, 2)
        else:
            assert right == made.items[0]
            assert len(set(options)) == len(options)
    with_own = replace(asked, catch_questions=(("head", "right", "odd"),))
    own = Dealer(with_own, NAMES, ALL, seed=0).draw(catch=True)
    assert own.items[own.expected + asked.n_heads()] == ("odd" if asked.kind == "odd-one-out" else "right")


def test_the_last_questions_of_all_are_found():
    dealer = Dealer(QuestionSettings(), NAMES[:5], ALL, seed=0)
    seen = set()
    while made := dealer.unseen(seen):
        assert made.key not in seen
        seen.add(made.key)
    assert len(seen) == n_questions(QuestionSettings(), 5) == 30


def test_a_plan_has_the_numbers_asked_for_and_is_the_same_on_every_server():
    asked = QuestionSettings(number=100, catch=4, repeats=10)
    made = plan(asked, 100, "secret:1")
    assert made == plan(asked, 100, "secret:1")
    assert made != plan(asked, 100, "secret:2")
    assert Counter(made) == {"random": 86, "repeat": 10, "catch": 4}
    assert made[:2] == ["random", "random"]
    adaptive = Counter(plan(QuestionSettings(adaptive=True, random_share=0.25, number=4000), 4000, "x"))
    assert adaptive["random"] == pytest.approx(0.25 * 3986, abs=4 * 27)
    assert plan(QuestionSettings(number=1, catch=1, repeats=0), 1, "x") == ["catch"]


def test_signed_numbers():
    secret = "a" * 32
    token = participant_token(secret, 17)
    assert signed_number(secret, token) == 17
    assert signed_number("b" * 32, token) is None
    for wrong in (None, 17, "", "17", "17.", ".x", token.replace("17", "18"), "１７.x", [token], "\ud800.x"):
        assert signed_number(secret, wrong) is None
