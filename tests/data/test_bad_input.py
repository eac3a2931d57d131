"""Bad arguments of `Comparisons`: each is refused, and the message names the argument, the first bad row and why."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.data import Comparisons, FileFormatError

GOOD = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
C = Comparisons
triplets, quadruplets, answers = C.from_triplets, C.from_quadruplets, C.from_answers
nan, inf = float("nan"), float("inf")
MASKED = np.ma.array(1 - np.eye(3), mask=np.eye(3))

# What is done, and parts of the message: the argument, the row, what came, what is wrong.
BAD = {
    "anchor is near": (lambda: triplets([*GOOD, [3, 3, 5]]), "comparisons: row 3 (3, 3, 5) twice"),
    "near is far": (lambda: triplets([[3, 5, 5]]), "comparisons: row 0 (3, 5, 5) twice"),
    "pair of one": (lambda: quadruplets([[0, 0, 1, 2]]), "comparisons: row 0 (0, 0, 1, 2)"),
    "all checks": (lambda: triplets([[0, 0, 1], [1, 2, 2]], on_degenerate="drop"), "comparisons: 2"),
    "negative": (lambda: triplets([[0, 1, -2]]), "comparisons: row 0 -2"),
    "fraction": (lambda: triplets([[0, 1.5, 2]]), "comparisons: row 0 1.5"),
    "nan": (lambda: triplets([*GOOD, [0, nan, 2]]), "comparisons: row 3 nan"),
    "too large": (lambda: triplets(GOOD, n_objects=2), "comparisons: row 0 objects 2 3"),
    "unsigned": (lambda: triplets(np.array([[0, 1, 2**64 - 1]], np.uint64)), "comparisons: row 0 2**31"),
    "bad beside checks": (lambda: triplets([[0, 0, 1], [0, 1, -1]], on_degenerate="drop"), "comparisons: row 1 -1"),
    "far beyond the rows": (lambda: triplets([[0, 1, 20_000]]), "comparisons: 20,000 n_objects"),
    "masked": (lambda: triplets(np.ma.array(GOOD, mask=np.eye(3))), "comparisons: masked"),
    "masked distances": (lambda: C.from_distances(MASKED), "distances: masked"),
    "empty": (lambda: triplets([]), "comparisons: no rows"),
    "one row": (lambda: triplets([0, 1, 2]), "comparisons: (3,) (N, 3)"),
    "four columns": (lambda: triplets([[0, 1, 2, 3]]), "comparisons: (1, 4) (N, 3)"),
    "ragged": (lambda: triplets([[0, 1, 2], [0, 1]]), "comparisons: length"),
    "bool": (lambda: triplets(np.ones((2, 3), bool)), "comparisons: bool"),
    "text": (lambda: triplets([["a", "b", "c"]]), "comparisons: <U1 read_comparisons"),
    "on_degenerate": (lambda: triplets(GOOD, on_degenerate="ignore"), "on_degenerate: 'ignore'"),
    "n_objects fraction": (lambda: triplets(GOOD, n_objects=3.0), "n_objects: 3.0"),
    "n_objects zero": (lambda: triplets(GOOD, n_objects=0), "n_objects: 0"),
    "weight negative": (lambda: triplets(GOOD, weights=[1, -1, 2]), "weights: row 1 -1.0"),
    "weight infinite": (lambda: triplets(GOOD, weights=[1, 1, inf]), "weights: row 2 inf"),
    "weights zero": (lambda: triplets(GOOD, weights=[0, 0, 0]), "weights: all are 0"),
    "weights short": (lambda: triplets(GOOD, weights=[1, 1]), "weights: (2,) (3,)"),
    "weight of checks": (
        lambda: triplets([[0, 1, 2], [0, 0, 1]], weights=[0, 1], on_degenerate="drop"), "weights: all are 0",
    ),
    "labels twice": (lambda: triplets(GOOD, labels=["a", "b", "a"]), "labels: 'a' twice 0 2"),
    "labels and n_objects": (lambda: triplets(GOOD, n_objects=3, labels=["a", "b"]), "labels: 2 3"),
    "label empty": (lambda: triplets(GOOD, labels=["a", " ", "b"]), "labels: 1 blank"),
    "participant missing": (lambda: triplets(GOOD, participants=["p", None, "q"]), "participants: row 1"),
    "answer zero": (lambda: answers(GOOD, [1, 0, -1]), "answers: row 1 is 0 +1/-1"),
    "answers short": (lambda: answers(GOOD, [1, 1]), "answers: (2,) (3,) (3, 2)"),
    "votes negative": (lambda: answers(GOOD, [[1, 2], [3, -1], [0, 1]]), "answers: row 1 (3, -1)"),
    "votes bool": (lambda: answers(GOOD, np.ones((3, 2), bool)), "answers: bool"),
    "no votes": (lambda: answers(GOOD, np.zeros((3, 2))), "answers: no question"),
    "question degenerate": (lambda: answers([[0, 1, 1]], [1]), "questions: row 0 (0, 1, 1)"),
    "odd not in set": (lambda: C.from_odd_one_out(GOOD, [0, 3, 1]), "odd: row 1 is 3 (1, 2, 0)"),
    "set of two": (lambda: C.from_odd_one_out([[0, 1, 1]], [1]), "sets: row 0 twice"),
    "query ranked": (lambda: C.from_rankings([0], [[1, 0]]), "rankings: row 0 (0, 1, 0)"),
    "k too large": (lambda: C.from_rankings([0], [[1, 2]], k=3), "k: 3 2"),
    "several rows as questions": (lambda: answers(C.from_odd_one_out(GOOD, [0, 1, 2]), [1] * 6), "questions: answer"),
    "one class": (lambda: C.from_classes([1, 1, 1], 5), "classes: one class"),
    "classes of one": (lambda: C.from_classes([1, 2, 3], 5), "classes: alone"),
    "no comparisons asked": (lambda: C.from_classes([1, 1, 2], 0), "n_comparisons: 0"),
    "distances not square": (lambda: C.from_distances(np.ones((3, 2))), "distances: (3, 2) square"),
    "distances not symmetric": (lambda: C.from_distances([[0, 1, 2], [1, 0, 3], [2, 4, 0]]), "distances: (1, 2) 3.0"),
    "distance negative": (lambda: C.from_distances([[0, -1], [-1, 0]]), "distances: (0, 1) -1.0"),
    "similarities": (lambda: C.from_distances([[1, 0.5], [0.5, 1]]), "distances: (0, 0) 1.0 similarities"),
    "points too large": (lambda: C.from_points([[0.0], [1e200], [1.0]], 5), "points: (1, 0) 1e+200"),
    "points all equal": (lambda: C.from_points(np.zeros((4, 2)), 2000), "distances: ties"),
    "kind": (lambda: C.from_points([[0.0], [1.0]], 5, kind="pairs"), "kind: 'pairs'"),
    "noise": (lambda: C.from_points([[0.0], [1.0], [3.0]], 5, noise=1.5), "noise: 1.5"),
    "seed": (lambda: C.from_points([[0.0], [1.0], [3.0]], 5, random_state="x"), "random_state: 'x'"),
    "graph without edges": (lambda: C.from_knn_graph(np.eye(3)), "graph: neighbour"),
    "test_size": (lambda: triplets(GOOD).split(1.0), "test_size: 1.0"),
    "test_size too small": (lambda: triplets(GOOD).split(0.1), "test_size: 0.1 3"),
    "too many folds": (lambda: triplets(GOOD).folds(4), "n_folds: 4 3"),
    "folds of groups": (lambda: triplets(GOOD).folds(3, groups=["a", "a", "b"]), "n_folds: 3 2"),
    "no participants": (lambda: triplets(GOOD).folds(2, groups="participants"), "groups: 'participants'"),
    "empty selection": (lambda: triplets(GOOD)[:0], "comparisons: empty"),
    "selection without weight": (lambda: triplets(GOOD, weights=[0, 1, 1])[:1], "comparisons: weights 0"),
    "flip by numbers": (lambda: triplets(GOOD).flipped([1, 0, 1]), "flipped: int64 bool"),
    "concat kinds": (lambda: triplets(GOOD).concat(quadruplets([[0, 1, 2, 3]])), "concat: triplets quadruplet"),
    "concat labels": (lambda: triplets(GOOD).concat(triplets(GOOD, labels=["a", "b", "c"])), "concat: labels"),
    "concat nothing": (lambda: C.concat([]), "concat: nothing"),
    "concat something else": (lambda: triplets(GOOD).concat(GOOD), "concat: [0, 1, 2]"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_refused_by_name(case):
    make, parts = BAD[case]
    name, *words = parts.split(" ")
    with pytest.raises(ValueError, match=r".") as caught:
        make()
    message = str(caught.value)
    assert not isinstance(caught.value, FileFormatError)
    assert message.startswith(name)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_first_bad_row_is_found_far_down():
    rows = np.tile(GOOD, (100_000, 1))
    rows[280_000] = (7, 7, 1)
    rows[290_000] = (0, 2, 2)
    with pytest.raises(ValueError, match=r"row 280000 is \(7, 7, 1\): .*2 bad rows"):
        triplets(rows)


@pytest.mark.parametrize("rows", [1, [[0]], "ab", 1.5, [0.5]])
def test_rows_are_selected_by_arrays_only(rows):
    with pytest.raises(TypeError):
        triplets(GOOD)[rows]
