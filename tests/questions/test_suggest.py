"""`suggest`: what may be asked, what must not, and in what form it comes."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.metrics.answer_law import fit_distance_law
from nearer.questions import Crowd, Situation, suggest
from nearer.questions.pool import Pool
from nearer.questions.suggest import held_out_law
from nearer.warning_types import InputWarning

LABELS = [f"thing {letter}" for letter in "abcdefghijkl"]


def answers(n=12, count=200, labels=None):
    points = np.random.default_rng(1).normal(size=(n, 2))
    return Comparisons.from_points(points, count, random_state=2, labels=labels)


def keys(index, odd=False):
    if odd:
        return [tuple(sorted(row)) for row in index.tolist()]
    return [(head, *sorted((a, b))) for head, a, b in index.tolist()]


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out"])
@pytest.mark.parametrize("n", [8, 200])  # listed one by one, and drawn
def test_questions_are_different_and_not_those_asked(kind, n):
    pending = suggest(objects=n, size=20, kind=kind, random_state=0)
    found = suggest(objects=n, size=30, kind=kind, pending=pending, random_state=0)
    odd = kind == "odd-one-out"
    assert len(set(keys(found.index, odd))) == 30
    assert not set(keys(found.index, odd)) & set(keys(pending.index, odd))
    assert all(len(set(row)) == 3 for row in found.index.tolist())


def test_random_questions_are_uniform_and_shuffled():
    counts = np.zeros((5, 5, 5))
    for seed in range(400):
        rows = suggest(objects=5, size=10, strategy="random", random_state=seed).index
        np.add.at(counts, tuple(rows.T), 1)
    asked = counts[counts > 0]
    assert len(asked) == 60  # every head with every ordered pair
    assert abs(asked - 4000 / 60).max() < 5 * np.sqrt(4000 / 60)


def test_balanced_asks_about_each_object_as_often():
    data = Comparisons.from_triplets([[0, 1, 2]] * 3 + [[0, 2, 3]], n_objects=10)
    rows = suggest(data, 32, strategy="balanced", random_share=0, random_state=0).index
    asked = np.bincount(np.concatenate([rows, data.index]).ravel(), minlength=10)
    heads = np.bincount(np.concatenate([rows, data.index])[:, 0], minlength=10)
    assert asked.max() - asked.min() <= 1
    assert heads.max() - heads.min() <= 2


def test_labels_new_objects_and_table():
    found = suggest(answers(labels=LABELS), 40, objects=[*LABELS, "new"], random_state=0, strategy="balanced")
    table = found.to_dict()
    assert list(table) == ["head", "a", "b", "information", "strategy"]
    assert table["head"].count("new") + table["a"].count("new") + table["b"].count("new") > 10
    assert set(table["head"]) <= {*LABELS, "new"}
    odd = suggest(objects=LABELS, size=3, kind="odd-one-out", random_state=0).to_dict()
    assert list(odd) == ["a", "b", "c", "information", "strategy"]


def test_a_question_comes_again_only_when_none_is_left():
    data = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], n_objects=3)
    assert keys(suggest(data, 1).index) == [(2, 0, 1)]
    with pytest.warns(InputWarning, match="only 1 questions"):
        assert len(suggest(data, 3)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 1000, "objects": 5}, "only 30 different questions about 5 objects"),
        ({"objects": 2}, "objects: got 2"),
        ({}, "objects: got None and no answers"),
        ({"objects": ["a", "b", "b"]}, "labels: 'b' occurs twice"),
        ({"objects": 5, "strategy": "best"}, "strategy: got 'best', expected one of auto, random"),
        ({"objects": 5, "kind": "pairs"}, "kind: got 'pairs'"),
        ({"objects": 5, "exclude": [0, 1, 2]}, "exclude: leaves 2 of 5 objects"),
        ({"objects": 5, "exclude": [9]}, "exclude: got 9, expected objects, from 0 to 4"),
        ({"objects": list("abcd"), "exclude": ["x"]}, "exclude: got 'x', expected objects, from 'a' to 'd'"),
        ({"objects": 5, "pending": [[0, 1, 2], [3, 1, 3]]}, r"pending: row 1 is \(3, 1, 3\)"),
        ({"objects": 5, "pending": [[0, 1]]}, r"pending: got shape \(1, 2\)"),
        ({"known": [[0, 1, 5]], "objects": 4}, "got 4, but the comparisons are over 6"),
        ({"known": [[0, 1, 5]], "objects": list("abcdef")}, "have no labels"),
        ({"known": OrdinalEmbedding(2)}, "known: "),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        suggest(**{"size": 1, **arguments})


def test_answers_know_how_their_questions_were_chosen():
    asked = suggest(objects=LABELS, size=20, strategy="balanced", random_state=0)
    given = asked.answered([True] * 10 + [False] * 10, participants=["p"] * 20)
    assert (given.index[:10] == asked.index[:10]).all()
    assert (given.index[10:] == asked.index[10:][:, [0, 2, 1]]).all()
    assert given.labels.tolist() == LABELS
    assert given.answers.chosen_by.each().tolist() == asked.strategy.tolist()
    sets = suggest(objects=6, size=5, kind="odd-one-out", random_state=0)
    given = sets.answered(sets.index[:, 0])
    assert (given.index[::2, 2] == sets.index[:, 0]).all()
    assert len(given) == 10


def test_how_sure_answers_are_is_learned_from_answers_left_out():
    rng = np.random.default_rng(3)
    crowd = Crowd(rng.normal(size=(25, 2)), "ste", 0.5)
    data, fresh = (crowd.answer(Pool(25, np.arange(25)).draw(count, rng), "triplets", rng) for count in (500, 4000))
    model = OrdinalEmbedding(2, loss="tste", n_jobs=1, random_state=0).fit(data)
    X = model.embedding_
    honest = held_out_law(model, X, data, np.random.default_rng(0))
    fooled = fit_distance_law(X, data)

    def likely(law):
        return np.log(law.probability(law.margin(X, fresh.index)[0])).mean()

    assert likely(fooled) < likely(honest) - 0.05
    assert likely(honest) > np.log(0.5)


def test_odd_one_out_answers_count_once():
    # 12 objects in 2 dimensions: a map is too vague below 2 * 12 * log2(12) = 86 answers.
    sets = np.array([np.random.default_rng(k).permutation(12)[:3] for k in range(120)])
    few, many = (Comparisons.from_odd_one_out(sets[:n], sets[:n, 0]) for n in (60, 120))
    assert len(few) > 86 > few.n_answers
    ways = [set(suggest(data, 20, kind="odd-one-out", random_state=0).strategy.tolist()) for data in (few, many)]
    assert ways[0] == {"random"}
    assert ways[1] > {"random"}
    counts, _ = Situation(Pool(12, np.arange(12), "odd-one-out"), few, np.zeros((0, 3), int)).counts()
    assert counts.sum() == 3 * 60
