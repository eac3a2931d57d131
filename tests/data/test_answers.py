"""`Answers`, one entry per answer, and what keeps the rows of an answer together."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nearer.data import Answers, Comparisons
from nearer.data.coded import check_coded
from nearer.data.splits import question_of_rows

DETAILS = {
    "seconds": [1.5, np.nan, 0.25, 3.0], "order": [3, -1, 0, 7], "side": [0, 1, -1, 1],
    "catch": [False, True, False, False], "correct": [1, 0, -1, -1],
    "chosen_by": ["random", "greedy", "test", "random"],
}  # fmt: skip
SETS = np.array([[0, 1, 2], [3, 4, 5], [1, 2, 3], [0, 4, 5]])


def coded(*names):
    return check_coded(list(names), None, "names", "name")


def answers(**more):
    return Answers("triplets", 4, participant=coded("p", "q", "p", "r"), votes=np.array([1.0, 2, 3, 4]), **more)


@pytest.fixture
def odd():
    """Four answers about sets, the second an attention check by mark."""
    return Comparisons.from_odd_one_out(SETS, [2, 3, 1, 0], participants=["p", "q", "p", "r"], details=DETAILS)


@pytest.fixture
def ranked():
    return Comparisons.from_rankings([0, 1, 2], [[1, 2, 3], [2, 3, 4], [3, 4, 0]], participants=["p", "q", "p"])


def test_details_are_kept_for_each_answer(odd):
    known = odd.answers
    assert (known.kind, len(known), known.count, odd.n_answers) == ("odd-one-out", 4, 4, 3)
    np.testing.assert_array_equal(known.seconds, DETAILS["seconds"])
    assert (known.order.tolist(), known.side.tolist()) == ([3, -1, 0, 7], [0, 1, -1, 1])
    assert known.chosen_by.each().tolist() == DETAILS["chosen_by"]
    assert odd.answer.tolist() == [0, 0, 2, 2, 3, 3]
    assert odd.participants.tolist() == ["p", "p", "p", "p", "r", "r"]
    assert odd.of_rows(known.seconds).tolist() == [1.5, 1.5, 0.25, 0.25, 3, 3]
    assert odd.of_rows(None) is None


def test_at_random_names_the_questions_that_were_not_chosen_adaptively(odd):
    assert odd.at_random is None  # the greedy one is an attention check
    mixed = Comparisons(SETS, details={"chosen_by": ["Random", "greedy", "TEST", "unknown"]})
    assert mixed.at_random.tolist() == [True, False, True, True]
    assert Comparisons(SETS).at_random is None


def test_joined_answers_know_what_some_know():
    one = answers(seconds=np.ones(4))
    two = Answers("rankings", 2, side=np.array([0, 1], np.int8), chosen_by=coded("greedy", "random"))
    both = Answers.joined([one, two])
    assert both.kinds() == ("rankings", "triplets")
    assert both.kind.each().tolist() == ["triplets"] * 4 + ["rankings"] * 2
    np.testing.assert_array_equal(both.seconds, [1, 1, 1, 1, np.nan, np.nan])
    assert both.side.tolist() == [-1, -1, -1, -1, 0, 1]
    assert both.votes.tolist() == [1, 2, 3, 4, 1, 1]
    assert both.participant.each().tolist() == ["p", "q", "p", "r", "unknown", "unknown"]
    assert both.chosen_by.each().tolist()[3:] == ["unknown", "greedy", "random"]
    assert both[:4].kinds() == ("triplets",)
    assert Answers.joined([one, one]).kind == "triplets"


def test_flipped_answers_have_no_known_side_or_correctness(odd):
    turned = odd.answers.flipped(np.array([0, 3]))
    assert turned.side.tolist() == [-1, 1, -1, -1]
    assert turned.correct.tolist() == [-1, 0, -1, -1]
    assert odd.answers.side.tolist() == [0, 1, -1, 1]
    plain = Comparisons(SETS, details={"side": [0, 1, 0, 1]})
    assert plain.flipped([True, False, False, False]).answers.side.tolist() == [-1, 1, 0, 1]
    assert sorted(plain.with_noise(0.5, random_state=0).answers.side.tolist())[:2] == [-1, -1]


def test_equality_and_pickling(odd, ranked):
    for made in (odd, ranked):
        again = pickle.loads(pickle.dumps(made))
        assert again == made
        assert again.answers == made.answers
        assert again.dropped == made.dropped
        assert not again.index.flags.writeable
    assert answers() != answers(seconds=np.ones(4))
    assert answers() != Answers("rankings", 4)
    assert answers() != 3
    assert answers(seconds=np.full(4, np.nan)) == answers(seconds=np.full(4, np.nan))


def test_some_of_the_answers_with_their_comparisons(odd, ranked):
    some = odd.of_answers(np.array([True, True, False, True]))
    assert some.index.tolist() == odd.index[[0, 1, 4, 5]].tolist()
    assert some.answer.tolist() == [0, 0, 2, 2]
    assert some.answers.is_check().tolist() == [False, True, False]  # attention checks are answers too
    with pytest.raises(ValueError, match="empty"):
        odd.of_answers(np.array([False, True, False, False]))
    assert ranked.of_answers(np.array([False, True, False])).n_answers == 1
    plain = Comparisons(SETS, participants=["p", "q", "p", "r"])
    assert plain.of_answers(plain.participants == "p").index.tolist() == SETS[[0, 2]].tolist()
    rows = odd[[4, 0, 5]]  # in any order, with their answers
    assert (rows.answer.tolist(), rows.answers.seconds.tolist()) == ([1, 0, 1], [1.5, 3])
    assert rows.participants.tolist() == ["r", "p", "r"]
    assert odd[[0, 2, 4]].answer is None  # one row of each: rows are answers again


def test_aggregate_keeps_the_number_of_answers(odd, ranked):
    both = Comparisons.concat([odd, ranked])
    assert both.answer.tolist() == [*odd.answer.tolist(), *(ranked.answer + 4).tolist()]
    for made in (odd, ranked, both):
        merged = made.aggregate()
        assert merged.n_answers == pytest.approx(made.n_answers)
        assert merged.weights.sum() == len(made)
        assert merged.aggregate().n_answers == pytest.approx(made.n_answers)
    votes = Comparisons.from_answers([[0, 1, 2], [0, 2, 1]], [[3, 1], [2, 2]])
    assert votes.aggregate().weights.tolist() == [5, 3]
    assert votes.aggregate().n_answers == votes.n_answers == 8


# ---- splits and folds ----------------------------------------------------------------------------------------------


def many(kind, count=60):
    """Answers with several rows each; weights number the rows."""
    rng = np.random.default_rng(0)
    sets = np.array([rng.permutation(12)[:4] for _ in range(count)])
    if kind == "rankings":
        made = Comparisons.from_rankings(sets[:, 0], sets[:, 1:])
    else:
        make = Comparisons.from_odd_one_out if kind == "odd-one-out" else Comparisons.from_most_central
        made = make(sets[:, :3], sets[:, 0])
    return made.replaced(weights=np.arange(1.0, len(made) + 1))


def parted(made, part):
    """Whether some answer has rows in a part and some outside it."""
    inside = np.isin(made.weights, part.weights)
    return bool(set(made.answer[inside]) & set(made.answer[~inside]))


@pytest.mark.parametrize("kind", ["odd-one-out", "most-central", "rankings"])
def test_rows_of_one_answer_are_never_parted(kind):
    made = many(kind)
    for seed in range(3):
        train, test = made.split(0.25, random_state=seed)
        assert len(train) + len(test) == len(made)
        assert test.n_answers == 15
        assert not parted(made, test)
        tests = [test for _, test in made.folds(4, random_state=seed)]
        assert sorted(np.concatenate([test.weights for test in tests])) == made.weights.tolist()
        assert not any(parted(made, test) for test in tests)
    assert parted(made, made.split(0.25, random_state=0, groups="rows")[1])


def test_an_answer_to_a_set_asks_the_same_whichever_object_is_odd():
    made = Comparisons.from_odd_one_out([[0, 1, 2], [2, 0, 1], [0, 1, 3]], [0, 1, 3])
    first, second, third = question_of_rows(made).reshape(3, 2).tolist()
    assert first == second == [first[0]] * 2
    assert third[0] != first[0]
    triplets = Comparisons([[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    asked = question_of_rows(triplets).tolist()
    assert asked[0] == asked[1] != asked[2]
    ranks = Comparisons.from_rankings([0, 0, 1], [[1, 2, 3], [3, 2, 1], [0, 2, 3]])
    one, same, other = question_of_rows(ranks).reshape(3, 3)[:, 0].tolist()
    assert one == same != other
    assert len(set(question_of_rows(made, n_parts=3).tolist())) == 3  # too few questions: answers instead


@pytest.mark.parametrize(
    "details",
    [
        {"colour": [1] * 4}, {"seconds": [1, 2]}, {"seconds": [1, -1, 1, 1]}, {"seconds": [np.inf] * 4},
        {"order": [0.5] * 4}, {"catch": [2, 0, 0, 0]}, {"correct": [3, 0, 0, 0]}, {"side": [-2, 0, 0, 0]},
        {"seconds": ["1"] * 4}, [1], {"chosen_by": ["x", None, "y", "z"]}, {"catch": [[1]] * 4},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_details_are_refused(details):
    with pytest.raises(ValueError, match=r"^(details|chosen_by): "):
        Comparisons(SETS, details=details)
