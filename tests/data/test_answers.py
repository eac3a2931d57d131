"""Which rows belong together, and that no splitter parts them."""

from __future__ import annotations

import numpy as np
import pytest

import nearer.dimensions
from nearer import Comparisons, OrdinalEmbedding
from nearer.data.answers import answer_of_rows, asked_together, kept_together, tally
from nearer.dimensions import choose_components, questions_of
from nearer.losses import STELoss
from nearer.objective import LocalObjective
from nearer.people import individual
from nearer.questions import studies
from nearer.reporting import describe
from nearer.selection import cross_validate_dimensions, dimension, learning
from nearer.selection.bootstrap import _by_comparison
from nearer.solvers import Auto


def points(n=12, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def odd_one_out(count=200, n=12, seed=0, **more):
    """Sets of three, each answered by somebody who picks the object far from the other two, with noise."""
    rng = np.random.default_rng(seed)
    X = points(n)
    sets = np.array([rng.permutation(n)[:3] for _ in range(count)])
    pairs = np.array([[1, 2], [0, 2], [0, 1]])
    apart = np.linalg.norm(X[sets[:, pairs[:, 0]]] - X[sets[:, pairs[:, 1]]], axis=2)
    odd = np.argmin(apart * np.exp(0.3 * rng.normal(size=apart.shape)), axis=1)
    return Comparisons.from_odd_one_out(sets, sets[np.arange(count), odd], n_objects=n, **more)


def rankings(count=60, n=12, k=None, ordered=True, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n)[:5] for _ in range(count)])
    return Comparisons.from_rankings(rows[:, 0], rows[:, 1:], k=k, ordered=ordered, n_objects=n)


KINDS = {
    "odd one out": odd_one_out(),
    "most central": Comparisons.from_most_central(
        *(lambda sets: (sets, sets[:, 1]))(np.array([np.random.default_rng(s).permutation(12)[:3] for s in range(150)]))
    ),
    "rankings": rankings(),
    "2 of 4": rankings(k=2, ordered=False),
}
ROWS = {"odd one out": 2, "most central": 2, "rankings": 6, "2 of 4": 4}


def answers(kind):
    """The answer that each row was made from."""
    return np.arange(len(KINDS[kind])) // ROWS[kind]


def straddles(groups, side):
    """Whether some group has rows on several sides."""
    return any(len(np.unique(side[groups == one])) > 1 for one in np.unique(groups))


def rows_of(data, part):
    """Mark the rows of data that are in a part of it, by the weights they were given for this."""
    return np.isin(data.weights, part.weights)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_told_from_the_rows(kind):
    np.testing.assert_array_equal(answer_of_rows(KINDS[kind]), answers(kind))
    asked = asked_together(KINDS[kind])
    assert not straddles(answers(kind), asked)
    assert len(np.unique(asked)) <= len(np.unique(answers(kind)))


def test_answers_about_the_same_set_are_one_question_whichever_object_is_odd():
    data = Comparisons.from_odd_one_out([[0, 1, 2], [2, 1, 0], [0, 1, 3]], [2, 0, 3])
    assert asked_together(data).tolist() == [0, 0, 0, 0, 1, 1]
    same = Comparisons.from_rankings([0, 0, 1] * 10, [[1, 2, 3], [3, 2, 1], [0, 2, 3]] * 10)
    unit = asked_together(same)
    assert len(np.unique(unit)) == 2
    assert not straddles(np.arange(90) // 3, unit)


def test_triplets_about_the_same_objects_are_different_questions():
    rng = np.random.default_rng(0)
    data = Comparisons(np.array([rng.permutation(8)[:3] for _ in range(400)]))
    np.testing.assert_array_equal(asked_together(data), questions_of(data))
    assert kept_together(data).tolist() == list(range(400))
    pairs = Comparisons.from_points(points(), 300, kind="quadruplets", random_state=0)
    np.testing.assert_array_equal(asked_together(pairs), questions_of(pairs))


def test_sorted_triplets_are_not_taken_for_rankings():
    """All triplets of a table of distances, random ones sorted, and those of few objects sorted by anchor alone."""
    X = points(10)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    drawn = Comparisons.from_points(X, 600, random_state=0)
    by_anchor = drawn[np.argsort(drawn.index[:, 0], kind="stable")]
    for data in (Comparisons.from_distances(D), drawn.aggregate(), by_anchor):
        np.testing.assert_array_equal(asked_together(data), questions_of(data))


@pytest.mark.parametrize("kind", ["odd one out", "most central"])
def test_sets_are_known_though_their_rows_were_shuffled(kind):
    order = np.random.default_rng(1).permutation(len(KINDS[kind]))
    mixed = KINDS[kind][order]
    for unit in (asked_together(mixed), kept_together(mixed), asked_together(KINDS[kind].aggregate())[:0]):
        assert not len(unit) or not straddles(answers(kind)[order], unit)
    merged = KINDS[kind].aggregate()
    sets = np.unique(np.sort(merged.index, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    assert not straddles(sets, asked_together(merged))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_counted_as_they_were_given(kind):
    data, n = KINDS[kind], len(np.unique(answers(kind)))
    found = data.check()
    assert found.n_answers == n
    assert not found.answers_are_rows
    assert found.n_questions == len(np.unique(asked_together(data)))
    assert found.n_repeated_questions <= found.n_questions
    assert found.n_repeated_answers <= n
    if kind in ("odd one out", "most central"):  # of which the rows are known in any order, and when equal ones are one
        order = np.random.default_rng(1).permutation(len(data))
        for other in (data[order], data.aggregate()):
            assert (other.check().n_answers, other.check().n_questions) == (n, found.n_questions)
    named = describe(OrdinalEmbedding(2, max_seconds=0.1, random_state=0).fit(data)).n_answers
    expected = np.zeros(data.n_objects)
    for answer in range(n):
        expected[np.unique(data.index[answers(kind) == answer])] += 1
    assert named.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [4, 5, 8])
def test_answers_to_triplets_are_their_rows_though_all_have_a_counterpart(n):
    """Few objects and many noisy answers: every triplet occurs, as in odd-one-out data, but not as often."""
    data = Comparisons.from_points(points(n), 2000, noise=0.3, random_state=1)
    for one in (data, data.aggregate()):
        found = one.check()
        assert (found.n_answers, found.n_questions) == (2000, n * (n - 1) * (n - 2) // 2)
        assert found.answers_are_rows


def test_a_few_triplets_that_look_like_an_answer_of_two_rows_are_counted_singly():
    rows = [[0, 1, 3], [1, 0, 3], [3, 1, 0]]
    assert tally(Comparisons(rows)).by_rows
    given = Comparisons(rows, participants=["p"] * 3, details={"order": [1, 1, 2]})  # where it is known, it counts
    assert given.check().n_answers == 2


def test_rows_of_different_weights_are_no_one_answer():
    rows = [[0, 1, 2], [1, 0, 2]] * 5
    assert tally(Comparisons(rows)).n_answers.sum() == 5
    assert tally(Comparisons(rows, weights=[2, 2] * 5)).n_answers.sum() == 10
    assert tally(Comparisons(rows, weights=[2, 1] * 5)).n_answers.sum() == 15


def test_answers_of_people_are_counted_in_answers():
    found = odd_one_out(60, participants=np.repeat(["p", "q", "r"], 20)).check()
    assert {person.participant: person.n_answers for person in found.participants} == {"p": 20, "q": 20, "r": 20}


def test_with_few_objects_answers_are_held_out_where_questions_are_too_few():
    sets = np.tile([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]], (15, 1))
    data = Comparisons.from_odd_one_out(sets, sets[:, 2])
    assert asked_together(data).max() == 3
    assert asked_together(data, 5).max() == 59
    assert not straddles(np.arange(120) // 2, asked_together(data, 5))
    found = cross_validate_dimensions(OrdinalEmbedding(), data, [1], n_folds=5, random_state=0)
    assert np.isfinite(found.accuracy).all()


# ---- no splitter parts the rows of an answer -------------------------------------------------------------------------


def numbered(kind):
    """The same with weights that tell the rows apart and count alike."""
    data = KINDS[kind]
    return data._with(weights=1.0 + 1e-9 * np.arange(len(data)))


@pytest.mark.parametrize("kind", KINDS)
def test_split_and_folds_keep_answers_whole(kind):
    data = numbered(kind)
    for seed in range(3):
        train, test = data.split(0.2, random_state=seed)
        assert len(train) + len(test) == len(data)
        assert not straddles(answers(kind), rows_of(data, test))
        for _, test in data.folds(4, random_state=seed):
            assert not straddles(answers(kind), rows_of(data, test))
    train, test = data.split(0.2, random_state=0, groups="rows")
    assert straddles(answers(kind), rows_of(data, test))


@pytest.mark.parametrize("kind", KINDS)
def test_cross_validation_keeps_answers_whole(kind, monkeypatch):
    """By questions of single rows, as it was done before, most answers were parted."""
    data, seen = numbered(kind), []
    whole = dimension.fold_of_rows

    def watched(*given):
        seen.append(whole(*given))
        return seen[-1]

    monkeypatch.setattr(dimension, "fold_of_rows", watched)
    cross_validate_dimensions(OrdinalEmbedding(loss="ste"), data, [2], random_state=0)
    assert not straddles(answers(kind), seen[0])
    cross_validate_dimensions(OrdinalEmbedding(loss="ste"), data, [2], groups=questions_of(data), random_state=0)
    assert straddles(answers(kind), seen[1])


@pytest.mark.parametrize("kind", KINDS)
def test_learning_curves_keep_answers_whole(kind):
    data = numbered(kind)
    order, test = learning._split(data, 0.3, np.random.default_rng(0))
    assert not straddles(answers(kind), rows_of(data, test))
    assert sorted(np.append(order, np.flatnonzero(rows_of(data, test))).tolist()) == list(range(len(data)))
    cut = answers(kind)[order[: len(order) // 2]]  # at most one question is cut by a size
    rest = answers(kind)[order[len(order) // 2 :]]
    parted = np.intersect1d(cut, rest)
    assert len(np.unique(asked_together(data)[np.isin(answers(kind), parted)])) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_validation_parts_keep_answers_whole(kind):
    data = numbered(kind)
    objective = LocalObjective(data, STELoss(), 2, 1)
    for seed in range(3):
        kept, held_out = objective.split(0.3, np.random.default_rng(seed))
        assert len(kept.comparisons) + len(held_out.comparisons) == len(data)
        assert not straddles(answers(kind), rows_of(data, held_out.comparisons))
        assert kept.comparisons.seen.all()


def test_the_automatic_dimension_keeps_answers_whole(monkeypatch):
    data, parts = numbered("odd one out"), []

    def watched(train, test, dims, rng):
        parts.append(rows_of(data, test))
        return np.random.default_rng(0).normal(size=(len(dims), len(test)))

    monkeypatch.setattr(nearer.dimensions, "held_out_ratios", watched)
    choose_components(data, np.random.default_rng(0))
    assert parts
    assert not any(straddles(answers("odd one out"), part) for part in parts)


def test_forecasts_keep_answers_whole(monkeypatch):
    data, parts = numbered("odd one out"), []
    whole = studies.fit_best

    def watched(base, train, *given):
        parts.append(train)
        return whole(base, train, *given)

    monkeypatch.setattr(studies, "fit_best", watched)
    studies._held_out(OrdinalEmbedding(loss="ste"), data, np.arange(len(data)), np.random.default_rng(0), 1)
    fits_of_others = [train for train in parts if len(train) > len(data) / 2]
    assert fits_of_others
    assert not any(straddles(answers("odd one out"), rows_of(data, train)) for train in fits_of_others)


def test_weights_of_people_are_judged_on_whole_answers(monkeypatch):
    data = odd_one_out(240, participants=np.repeat(range(6), 40))
    data, parts = data._with(weights=1.0 + 1e-9 * np.arange(len(data))), []
    whole = individual._Problem

    class Watched(whole):
        def __init__(self, comparisons, *given):
            parts.append(comparisons)
            super().__init__(comparisons, *given)

    monkeypatch.setattr(individual, "_Problem", Watched)
    individual.IndividualEmbedding(2, random_state=0).fit(data)
    assert len(parts) > 2
    assert not any(straddles(np.arange(480) // 2, rows_of(data, part)) for part in parts)


@pytest.mark.parametrize("kind", KINDS)
def test_resamples_draw_whole_answers(kind):
    weights, left_out = _by_comparison(KINDS[kind])(np.random.default_rng(0))
    assert not straddles(answers(kind), weights)
    assert not straddles(answers(kind), left_out)
    assert weights.sum() == len(KINDS[kind])
    merged = KINDS[kind].aggregate()
    weights, _ = _by_comparison(merged)(np.random.default_rng(0))
    assert weights.sum() == merged.weights.sum()


def test_odd_ones_picked_at_random_are_not_foretold():
    """With the rows of an answer parted, a held-out row is half known from the other."""
    rng = np.random.default_rng(0)
    sets = np.array([rng.permutation(30)[:3] for _ in range(400)])
    data = Comparisons.from_odd_one_out(sets, sets[np.arange(400), rng.integers(3, size=400)])
    eager = OrdinalEmbedding(loss="ste", solver=Auto(penalty=0.0))
    parted, whole = (
        cross_validate_dimensions(eager, data, [5], groups=groups, random_state=0).accuracy[0]
        for groups in (questions_of(data), None)
    )
    assert parted > 0.56
    assert whole == pytest.approx(0.5, abs=0.05)


def test_rows_of_two_people_are_two_answers():
    rows = [[0, 1, 2], [1, 0, 2], [3, 4, 5], [4, 3, 5], [6, 7, 8], [7, 6, 8]]
    assert answer_of_rows(Comparisons(rows)).tolist() == [0, 0, 1, 1, 2, 2]
    assert answer_of_rows(Comparisons(rows, participants=[0, 1] * 3)).tolist() == [0, 1, 2, 3, 4, 5]
