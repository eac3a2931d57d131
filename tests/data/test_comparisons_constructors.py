"""The named constructors, against hand-written rows and slow loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from nearer.data import Comparisons


def _as_set(cmp):
    return set(map(tuple, cmp.index.tolist()))


class TestAnswers:
    QUESTIONS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0]])

    @pytest.mark.parametrize("answers", [[1, -1, 1], [True, False, True], [1.0, -1.0, 1.0], [[1], [-1], [1]]])
    def test_choices(self, answers):
        cmp = Comparisons.from_answers(self.QUESTIONS, answers, weights=[1, 2, 3])
        assert cmp.index.tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 0]]
        assert cmp.weights.tolist() == [1, 2, 3]

    def test_votes_become_weights(self):
        cmp = Comparisons.from_answers(self.QUESTIONS, [[3, 0], [2, 2], [0, 0]], participants=["p", "q", "r"])
        assert cmp.index.tolist() == [[0, 1, 2], [1, 2, 3], [1, 3, 2]]
        assert cmp.weights.tolist() == [3, 2, 2]
        assert cmp.participants.tolist() == ["p", "q", "q"]
        assert cmp.dropped == {"without votes": 1}
        assert (cmp.n_answers, cmp.votes.tolist(), cmp.answers.side.tolist()) == (7, [3, 2, 2], [0, 0, 1])
        weighted = Comparisons.from_answers(self.QUESTIONS, [[3, 0], [2, 2], [0, 0]], weights=[10, 1, 1])
        assert weighted.weights.tolist() == [30, 2, 2]

    def test_comparisons_as_questions_bring_what_they_have(self):
        asked = Comparisons(self.QUESTIONS, labels=list("wxyz"), weights=[1, 2, 3], participants=["p", "q", "p"])
        cmp = Comparisons.from_answers(asked, [1, -1, 1])
        assert cmp.index.tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 0]]
        assert (cmp.labels.tolist(), cmp.weights.tolist()) == (list("wxyz"), [1, 2, 3])
        assert cmp.participants.tolist() == ["p", "q", "p"]
        with pytest.raises(ValueError, match="bring their own"):
            Comparisons.from_answers(asked, [1, -1, 1], n_objects=9)


def test_odd_one_out():
    cmp = Comparisons.from_odd_one_out([[4, 5, 6], [1, 2, 3]], [5, 1], weights=[1, 2], participants=["p", "q"])
    assert cmp.index.tolist() == [[4, 6, 5], [6, 4, 5], [2, 3, 1], [3, 2, 1]]
    assert cmp.weights.tolist() == [1, 1, 2, 2]
    assert cmp.participants.tolist() == ["p", "p", "q", "q"]
    assert (cmp.n_answers, cmp.answer.tolist(), cmp.answers.side.tolist()) == (2, [0, 0, 1, 1], [1, 0])


def test_most_central():
    cmp = Comparisons.from_most_central([[4, 5, 6], [1, 2, 3]], [5, 1])
    assert cmp.index.tolist() == [[4, 5, 6], [6, 5, 4], [2, 1, 3], [3, 1, 2]]


@pytest.mark.parametrize(("ranked", "more", "expected"), [
    ([3, 1, 2], {}, [[0, 3, 1], [0, 3, 2], [0, 1, 2]]),
    ([1, 2, 3, 4], {"k": 2}, [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]),
    ([1, 2, 3, 4], {"k": 2, "ordered": False}, [[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]),
])  # fmt: skip
def test_rankings(ranked, more, expected):
    both = Comparisons.from_rankings([0, 9], [ranked, ranked], weights=[1, 2], **more)
    assert both.index.tolist() == expected + [[9, *row[1:]] for row in expected]
    assert both.weights.tolist() == [1] * len(expected) + [2] * len(expected)


class TestClasses:
    def test_rows_are_right_and_uniform(self):
        y = np.array(["a", "b", "a", "b", "a", "c"])
        cmp = Comparisons.from_classes(y, 70_000, random_state=0)
        i, j, k = cmp.index.T
        assert (y[i] == y[j]).all()
        assert (y[i] != y[k]).all()
        assert (i != j).all()
        assert cmp.n_objects == 6
        rows, counts = np.unique(cmp.index, axis=0, return_counts=True)
        expected = {"a": 1 / 5 / 2 / 3, "b": 1 / 5 / 1 / 4}  # anchor, partner, other
        assert len(rows) == 3 * 2 * 3 + 2 * 1 * 4
        for row, count in zip(rows, counts):
            p = expected[y[row[0]]]
            assert abs(count - 70_000 * p) < 5 * np.sqrt(70_000 * p)


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
def test_all_comparisons_of_distances(kind):
    D = np.array([[0, 1, 2, 4], [1, 0, 2, 5], [2, 2, 0, 6], [4, 5, 6, 0]])
    cmp = Comparisons.from_distances(D, kind=kind, labels=list("abcd"))
    pairs = list(itertools.combinations(range(4), 2))
    every = [p + q for p in pairs for q in pairs]
    if kind == "triplets":
        every = [(a, b, a, c) for a, b, c in itertools.permutations(range(4), 3)]
    expected = {row for row in every if D[row[:2]] < D[row[2:]]}
    assert set(map(tuple, cmp.quadruplets().tolist())) == expected
    assert len(cmp) == len(expected)
    assert len(cmp) + cmp.dropped["ties"] == (12 if kind == "triplets" else 15)
    assert cmp.labels.tolist() == list("abcd")


class TestPoints:
    @pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
    def test_agrees_with_the_distance_matrix(self, kind):
        X = np.random.default_rng(3).normal(size=(50, 3))
        X[1] = X[0]
        D = np.linalg.norm(X[:, None] - X[None], axis=-1)
        cmp = Comparisons.from_points(X, 100_000, kind=kind, random_state=0, labels=[f"o{i}" for i in range(50)])
        i, j, l, k = cmp.quadruplets().T  # noqa: E741
        assert (D[i, j] < D[l, k]).all()
        assert (len(cmp), cmp.n_objects, len(cmp.labels)) == (100_000, 50, 50)
        assert cmp == Comparisons.from_distances(D, 100_000, kind=kind, random_state=0, labels=cmp.labels)
        assert (cmp.dropped.get("ties", 0) > 0) == (kind == "triplets")

    @pytest.mark.parametrize(("kind", "width"), [("triplets", 3), ("quadruplets", 4)])
    def test_every_choice_of_objects_is_as_likely(self, kind, width):
        cmp = Comparisons.from_points(np.random.default_rng(0).normal(size=(5, 2)), 120_000, kind=kind, random_state=0)
        counts: dict[tuple, int] = {}
        for row in cmp.index.tolist():
            key = (
                (row[0], *sorted(row[1:]))
                if width == 3
                else tuple(sorted([tuple(sorted(row[:2])), tuple(sorted(row[2:]))]))
            )
            counts[key] = counts.get(key, 0) + 1
        n_keys = 5 * 6 if width == 3 else 15
        assert len(counts) == n_keys
        p = 1 / n_keys
        assert all(abs(count - 120_000 * p) < 5 * np.sqrt(120_000 * p) for count in counts.values())


class TestKnnGraph:
    @pytest.fixture
    def graph(self):
        A = (np.random.default_rng(1).random((9, 9)) < 0.4).astype(int)
        A[3] = 0  # no neighbours
        A[4] = 1  # all are neighbours
        return A

    @staticmethod
    def _expected(A):
        triples = itertools.permutations(range(len(A)), 3)
        return {(i, j, k) for i, j, k in triples if A[i, j] and not A[i, k]}

    @pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix, np.bool_])
    def test_all(self, graph, convert):
        stored = convert(graph)
        if sparse.issparse(stored) and stored.format == "csr":
            stored.data[0] = graph[0, stored.indices[0]] = 0  # a zero that is stored is no neighbour
        cmp = Comparisons.from_knn_graph(stored)
        assert _as_set(cmp) == self._expected(graph)
        assert len(cmp) == len(self._expected(graph))
        assert cmp.dropped == {"self-neighbours": int(np.trace(graph))}
        assert cmp.n_objects == 9

    def test_random_is_uniform(self, graph):
        cmp = Comparisons.from_knn_graph(graph, 200_000, random_state=0)
        rows, counts = np.unique(cmp.index, axis=0, return_counts=True)
        assert set(map(tuple, rows.tolist())) == self._expected(graph)
        mean = 200_000 / len(rows)
        assert (abs(counts - mean) < 5 * np.sqrt(mean)).all()
