"""Every bad input, and the exact message it gets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nearer.data import Comparisons, as_comparisons

GOOD = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
KINDS_OF_ROWS = (
    "triplets (anchor, near, far); answers (anchor, a, b, answer); votes (anchor, a, b, votes_a, votes_b); "
    "quadruplets (i, j, l, k: i and j are the nearer pair; also with answer or votes); odd-one-out (a, b, c, odd); "
    "most-central (a, b, c, central); rankings (anchor, rank_1, rank_2, ...); beside any of them participant, weight"
)
triplets, quadruplets = Comparisons.from_triplets, Comparisons.from_quadruplets
table, answers = Comparisons.from_labels_table, Comparisons.from_answers
nan, inf = float("nan"), float("inf")

BAD = {
    # degenerate rows
    "anchor is near": (
        lambda: triplets([*GOOD, [3, 3, 5]]),
        "comparisons: row 3 is (3, 3, 5): an object cannot be compared with itself",
    ),
    "anchor is far": (
        lambda: triplets([[3, 5, 3]]),
        "comparisons: row 0 is (3, 5, 3): an object cannot be compared with itself",
    ),
    "near is far": (lambda: triplets([[3, 5, 5]]), "comparisons: row 0 is (3, 5, 5): near and far are the same object"),
    "several": (
        lambda: triplets([[0, 1, 2], [0, 1, 1], [0, 1, 2], [2, 2, 1]]),
        "comparisons: row 1 is (0, 1, 1): near and far are the same object (first of 2 bad rows)",
    ),
    "pair of one": (
        lambda: quadruplets([[0, 0, 1, 2]]),
        "comparisons: row 0 is (0, 0, 1, 2): an object cannot be compared with itself",
    ),
    "second pair of one": (
        lambda: quadruplets([[0, 1, 2, 2]]),
        "comparisons: row 0 is (0, 1, 2, 2): an object cannot be compared with itself",
    ),
    "same pair": (lambda: quadruplets([[0, 1, 0, 1]]), "comparisons: row 0 is (0, 1, 0, 1): both pairs are the same"),
    "same pair turned": (
        lambda: quadruplets([[0, 1, 1, 0]]),
        "comparisons: row 0 is (0, 1, 1, 0): both pairs are the same",
    ),
    "all degenerate": (
        lambda: triplets([[0, 0, 1], [1, 2, 2]], on_degenerate="drop"),
        "comparisons: no row is left, all 2 are degenerate",
    ),
    # values
    "negative": (lambda: triplets([[0, 1, -2]]), "comparisons: row 0 is (0, 1, -2): an index cannot be negative"),
    "fraction": (lambda: triplets([[0, 1.5, 2]]), "comparisons: row 0 is (0, 1.5, 2): an index must be a whole number"),
    "nan": (
        lambda: triplets([*GOOD, [0, nan, 2]]),
        "comparisons: row 3 is (0, nan, 2): an index must be a finite number",
    ),
    "infinite": (
        lambda: triplets([[0, 1, inf]]),
        "comparisons: row 0 is (0, 1, inf): an index must be a finite number",
    ),
    "too large": (
        lambda: triplets(GOOD, n_objects=2),
        "comparisons: row 0 is (0, 1, 2): an index must be less than the number of objects, 2 (first of 3 bad rows)",
    ),
    "beyond 32 bits": (
        lambda: triplets([[0, 1, 2**31]]),
        "comparisons: row 0 is (0, 1, 2147483648): an index must be less than 2**31",
    ),
    "beyond 32 bits, unsigned": (
        lambda: triplets(np.array([[0, 1, 2**64 - 1]], dtype=np.uint64)),
        "comparisons: row 0 is (0, 1, 18446744073709551615): an index must be less than 2**31",
    ),
    "large float": (
        lambda: triplets([[0, 1, 1e300]]),
        "comparisons: row 0 is (0, 1, 1e+300): an index must be less than 2**31",
    ),
    "value fault even when degenerate rows are dropped": (
        lambda: triplets([[0, 0, 1], [0, 1, -1]], on_degenerate="drop"),
        "comparisons: row 1 is (0, 1, -1): an index cannot be negative",
    ),
    "far beyond the number of rows": (
        lambda: triplets([[0, 1, 20_000]]),
        "comparisons: the highest object number is 20,000 in 1 row; a map would have a row for every number below it. "
        "Give n_objects= if that is meant, or the numbers as names: from_labels_table",
    ),
    "last column of answers": (
        lambda: as_comparisons([[2 * row + 2, 2 * row + 3, 2 * row + 4, row % 2] for row in range(10)]),
        "comparisons: got shape (N, 4) with a last column of 0 and 1 only: are those answers? Then give "
        "fit(X[:, :3], y) with y True where the first option is nearer; if they are objects, give "
        "Comparisons.from_quadruplets(X)",
    ),
    # shapes and types
    "masked": (
        lambda: triplets(np.ma.array(GOOD, mask=np.eye(3))),
        "comparisons: got a masked array with masked entries, expected a number in each",
    ),
    "masked weights": (
        lambda: triplets(GOOD, weights=np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])),
        "weights: got a masked array with masked entries, expected one number per row",
    ),
    "masked answers": (
        lambda: answers(GOOD, np.ma.array([1, -1, 1], mask=[0, 1, 0])),
        "answers: got a masked array with masked entries, expected +1/-1, bool, or votes (N, 2)",
    ),
    "masked participants": (
        lambda: triplets(GOOD, participants=np.ma.array([1, 2, 3], mask=[0, 1, 0])),
        "participants: row 1 has no participant",
    ),
    "empty": (lambda: triplets([]), "comparisons: no rows, expected at least one"),
    "empty array": (lambda: triplets(np.empty((0, 3), int)), "comparisons: no rows, expected at least one"),
    "one row": (lambda: triplets([0, 1, 2]), "comparisons: got shape (3,), expected (N, 3)"),
    "four columns": (lambda: triplets([[0, 1, 2, 3]]), "comparisons: got shape (1, 4), expected (N, 3)"),
    "three columns": (lambda: quadruplets(GOOD), "comparisons: got shape (3, 3), expected (N, 4)"),
    "three dimensions": (
        lambda: triplets(np.zeros((1, 3, 3), int)),
        "comparisons: got shape (1, 3, 3), expected (N, 3)",
    ),
    "two columns": (lambda: Comparisons([[0, 1]]), "comparisons: got shape (1, 2), expected (N, 3 or 4)"),
    "ragged": (
        lambda: triplets([[0, 1, 2], [0, 1]]),
        "comparisons: the rows differ in length, expected an array of shape (N, 3)",
    ),
    "bool": (lambda: triplets(np.ones((2, 3), bool)), "comparisons: got dtype bool, expected integers"),
    "object": (lambda: triplets(np.array([[0, None, 2]])), "comparisons: got dtype object, expected integers"),
    "comparisons": (
        lambda: triplets(triplets(GOOD)),
        "comparisons: got Comparisons, expected an array of shape (N, 3)",
    ),
    "complex": (lambda: triplets(np.array(GOOD, complex)), "comparisons: got dtype complex128, expected integers"),
    "none": (lambda: triplets(None), "comparisons: got dtype object, expected integers"),
    "text": (
        lambda: triplets([["a", "b", "c"]]),
        "comparisons: got text (dtype <U1), expected integers; for labels use from_labels_table",
    ),
    "on_degenerate": (
        lambda: triplets(GOOD, on_degenerate="ignore"),
        "on_degenerate: got 'ignore', expected 'raise' or 'drop'",
    ),
    "n_objects fraction": (lambda: triplets(GOOD, n_objects=3.0), "n_objects: got 3.0, expected an integer"),
    "n_objects bool": (lambda: triplets(GOOD, n_objects=True), "n_objects: got True, expected an integer"),
    "n_objects zero": (lambda: triplets(GOOD, n_objects=0), "n_objects: got 0, expected at least 1"),
    # weights
    "weight negative": (
        lambda: triplets(GOOD, weights=[1, -1, 2]),
        "weights: row 1 is -1.0: a weight must be a finite number, 0 or more",
    ),
    "weight nan": (
        lambda: triplets(GOOD, weights=[nan, 1, nan]),
        "weights: row 0 is nan: a weight must be a finite number, 0 or more (first of 2 bad weights)",
    ),
    "weight infinite": (
        lambda: triplets(GOOD, weights=[1, 1, inf]),
        "weights: row 2 is inf: a weight must be a finite number, 0 or more",
    ),
    "weights zero": (lambda: triplets(GOOD, weights=[0, 0, 0]), "weights: all are 0, expected at least one above 0"),
    "weights short": (
        lambda: triplets(GOOD, weights=[1, 1]),
        "weights: got shape (2,), expected (3,), one for each row",
    ),
    "weights wide": (
        lambda: triplets(GOOD, weights=[[1], [1], [1]]),
        "weights: got shape (3, 1), expected (3,), one for each row",
    ),
    "weights text": (lambda: triplets(GOOD, weights=["1", "1", "1"]), "weights: got dtype <U1, expected numbers"),
    "weights bool": (lambda: triplets(GOOD, weights=[True] * 3), "weights: got dtype bool, expected numbers"),
    "weights overflow": (lambda: triplets(GOOD, weights=[1e308] * 3), "weights: their sum is infinite"),
    "weight left by dropping": (
        lambda: triplets([[0, 1, 2], [0, 0, 1]], weights=[0, 1], on_degenerate="drop"),
        "weights: all are 0, expected at least one above 0",
    ),
    # labels and participants
    "labels twice": (lambda: triplets(GOOD, labels=["a", "b", "a"]), "labels: 'a' occurs twice, at 0 and 2"),
    "labels too few": (
        lambda: triplets(GOOD, labels=["a", "b"]),
        "comparisons: row 0 is (0, 1, 2): an index must be less than the number of objects, 2 (first of 3 bad rows)",
    ),
    "labels and n_objects": (
        lambda: triplets(GOOD, n_objects=3, labels=["a", "b"]),
        "labels: got 2 labels for 3 objects",
    ),
    "label missing": (
        lambda: triplets(GOOD, labels=["a", None, "b"]),
        "labels: label 1 is None, expected text or an integer",
    ),
    "label empty": (lambda: triplets(GOOD, labels=["a", " ", "b"]), "labels: label 1 is empty"),
    "labels scalar": (
        lambda: triplets(GOOD, labels="abc"),
        "labels: got shape (), expected (n_objects,) with at least one label",
    ),
    "participants short": (
        lambda: triplets(GOOD, participants=["p", "q"]),
        "participants: got shape (2,), expected (3,), one for each row",
    ),
    "participant missing": (
        lambda: triplets(GOOD, participants=["p", None, "q"]),
        "participants: row 1 has no participant",
    ),
    # tables of labels
    "unknown label": (
        lambda: table([["a", "b", "c"], ["a", "x", "y"]], labels=["a", "b", "c"]),
        "table, row 2, column 2: 'x' is not one of the 3 known labels (and 1 more name)",
    ),
    "missing label": (
        lambda: table({"anchor": ["a", "b"], "near": ["b", None], "far": ["c", "c"]}),
        "table, row 2, column 'near': empty cell; say on_missing='drop' to leave such rows out",
    ),
    "blank label": (
        lambda: table({"anchor": ["a", "b"], "near": ["b", ""], "far": ["c", "c"]}),
        "table, row 2, column 'near': empty cell; say on_missing='drop' to leave such rows out",
    ),
    "word for a missing label": (
        lambda: table({"anchor": ["a", "b", "NA"], "near": ["b", "null", "a"], "far": ["c", "c", "b"]}),
        "table, row 2, column 'near': 'null' means missing; 2 rows in all: row 2, row 3; "
        "say on_missing='drop' to leave such rows out, or keep_na=True to take such words as names",
    ),
    "fractional label": (
        lambda: table({"anchor": [1, 2], "near": [2.5, 1], "far": [3, 3]}),
        "table, row 1, column 'near': 2.5 is not a whole number",
    ),
    "degenerate label row": (
        lambda: table([["a", "b", "c"], ["b", "b", "c"]], on_degenerate="raise"),
        "table, row 2 is (b, b, c): an object cannot be compared with itself; "
        "say on_degenerate='drop' to leave such rows out",
    ),
    "column unknown": (
        lambda: table({"a": ["x"], "b": ["y"]}, columns={"anchor": "a", "near": "b", "far": "c"}),
        "table: columns asks for column 'c', there are 'a', 'b'",
    ),
    "fewer columns than roles": (
        lambda: table({"a": ["x"], "b": ["y"]}, columns=["anchor", "near", "far"]),
        "table: columns names 3 columns, there are 2",
    ),
    "columns unclear": (
        lambda: table({name: [name * 2] for name in "pqrst"}),
        f"table: columns 'p', 'q', 'r', 's', 't': none of these names is known\n"
        "  names:      p | q | r | s | t\n"
        "  first rows: pp | qq | rr | ss | tt\n"
        "  understood: nothing\n"
        f"  a row may be: {KINDS_OF_ROWS}\n"
        "  as proposed below, a row says: pp is nearer to qq than to rr\n"
        "  say which is which, for example: columns={'anchor': 'p', 'near': 'q', 'far': 'r'}",
    ),
    "a role missing": (
        lambda: table({"a": ["x"], "b": ["y"], "c": ["z"], "choice": ["x"]}),
        "table: columns 'a', 'b', 'c', 'choice': no column for anchor of answers\n"
        "  names:      a | b | c | choice\n"
        "  first rows: x | y | z | x\n"
        "  understood: a = 'a', b = 'b', c = 'c', answer = 'choice'\n"
        f"  a row may be: {KINDS_OF_ROWS}\n"
        "  as proposed below, a row says: of x, y and z, x is the odd one\n"
        "  say which is which, for example: columns={'a': 'a', 'b': 'b', 'c': 'c', 'odd': 'choice'} or "
        "columns={'a': 'a', 'b': 'b', 'c': 'c', 'central': 'choice'}",
    ),
    "nothing left for a role": (
        lambda: table({"A": ["x"], "B": ["y"], "C": ["z"]}),
        "table: columns 'A', 'B', 'C': no column for odd of odd-one-out\n"
        "  names:      A | B | C\n"
        "  first rows: x | y | z\n"
        "  understood: a = 'A', b = 'B', c = 'C'\n"
        f"  a row may be: {KINDS_OF_ROWS}\n"
        "  as proposed below, a row says: x is nearer to y than to z\n"
        "  say which is which, for example: columns={'anchor': 'A', 'near': 'B', 'far': 'C'}",
    ),
    "four columns without names": (
        lambda: table([["w", "x", "y", "z"]]),
        "table: 4 columns without names: which is what cannot be told\n"
        "  first rows: w | x | y | z\n"
        "  understood: nothing\n"
        f"  a row may be: {KINDS_OF_ROWS}\n"
        "  say which is which, for example: columns='anchor,a,b,answer' or columns='participant,anchor,near,far' "
        "or kind='quadruplets'",
    ),
    "columns of different length": (
        lambda: table({"anchor": ["x", "y"], "near": ["y"], "far": ["z"]}),
        "table: the columns differ in length: column 'anchor' 2, column 'near' 1, column 'far' 1",
    ),
    "column of truth values": (
        lambda: table(pa.table({"anchor": [True], "near": [1], "far": [2]})),
        "table, column 'anchor': every cell says yes or no, true or false, 0 or 1: an answer, not an object",
    ),
    "column of dates": (
        lambda: table(pa.table({"anchor": pa.array([0], pa.date32()), "near": ["x"], "far": ["y"]})),
        "table: column 'anchor': a column of type date32[day] holds neither text nor numbers",
    ),
    "table of one dimension": (
        lambda: table(["a", "b", "c"]),
        "table: got shape (3,), expected a table or rows of at least 3 cells",
    ),
    "record among others": (
        lambda: table([{"anchor": "a", "near": "b", "far": "c"}, 5]),
        "table, row 2 is 5, expected names of its cells, as others have",
    ),
    "ragged table": (
        lambda: table([["a", "b", "c"], ["a", "b"]]),
        "table: the rows differ in length, expected the same number of cells in each",
    ),
    # answers
    "answer zero": (
        lambda: answers(GOOD, [1, 0, -1]),
        "answers: row 1 is 0: expected +1/-1, bool, or votes (N, 2)",
    ),
    "answer nan": (
        lambda: answers(GOOD, [1, nan, 2]),
        "answers: row 1 is nan: expected +1/-1, bool, or votes (N, 2) (first of 2 bad rows)",
    ),
    "answers text": (
        lambda: answers(GOOD, ["a", "b", "a"]),
        "answers: got dtype <U1, expected +1/-1, bool, or votes (N, 2)",
    ),
    "answers short": (lambda: answers(GOOD, [1, 1]), "answers: got shape (2,), expected (3,) or (3, 2)"),
    "votes of three": (lambda: answers(GOOD, np.ones((3, 3))), "answers: got shape (3, 3), expected (3,) or (3, 2)"),
    "votes negative": (
        lambda: answers(GOOD, [[1, 2], [3, -1], [0, 1]]),
        "answers: row 1 is (3, -1): votes must be finite numbers, 0 or more",
    ),
    "no votes": (lambda: answers(GOOD, np.zeros((3, 2))), "answers: no question has a vote"),
    "question degenerate": (
        lambda: answers([[0, 1, 1]], [1]),
        "questions: row 0 is (0, 1, 1): near and far are the same object",
    ),
    "odd not in set": (
        lambda: Comparisons.from_odd_one_out(GOOD, [0, 3, 1]),
        "odd: row 1 is 3: not in its set (1, 2, 0)",
    ),
    "central not in set": (
        lambda: Comparisons.from_most_central(GOOD, [4, 3, 1]),
        "central: row 0 is 4: not in its set (0, 1, 2) (first of 2 bad rows)",
    ),
    "set of two": (
        lambda: Comparisons.from_odd_one_out([[0, 1, 1]], [1]),
        "sets: row 0 is (0, 1, 1): the three objects of a set must differ",
    ),
    "query ranked": (
        lambda: Comparisons.from_rankings([0], [[1, 0]]),
        "rankings: row 0 is (0, 1, 0): the query (first) cannot be among its own candidates",
    ),
    "candidate twice": (
        lambda: Comparisons.from_rankings([0], [[1, 2, 1]]),
        "rankings: row 0 is (0, 1, 2, 1): a candidate occurs twice",
    ),
    "k too large": (lambda: Comparisons.from_rankings([0], [[1, 2]], k=3), "k: got 3, expected at most 2"),
    "k unknown": (
        lambda: Comparisons.from_rankings([0], [[1, 2]], ordered=False),
        "k: got None with ordered=False, expected the number of chosen candidates",
    ),
    # made from what is known
    "one class": (
        lambda: Comparisons.from_classes([1, 1, 1], 5),
        "classes: all objects are of one class, expected at least two classes",
    ),
    "classes of one": (
        lambda: Comparisons.from_classes([1, 2, 3], 5),
        "classes: every object is alone in its class, expected a class with two or more",
    ),
    "no comparisons asked": (
        lambda: Comparisons.from_classes([1, 1, 2], 0),
        "n_comparisons: got 0, expected at least 1",
    ),
    "distances not square": (
        lambda: Comparisons.from_distances(np.ones((3, 2))),
        "distances: got dtype float64, shape (3, 2), expected a square matrix of numbers",
    ),
    "distances not symmetric": (
        lambda: Comparisons.from_distances([[0, 1, 2], [1, 0, 3], [2, 4, 0]]),
        "distances: entry (1, 2) is 3.0: the matrix is not symmetric",
    ),
    "distance negative": (
        lambda: Comparisons.from_distances([[0, -1], [-1, 0]]),
        "distances: entry (0, 1) is -1.0: a distance cannot be negative",
    ),
    "similarities": (
        lambda: Comparisons.from_distances([[1, 0.5], [0.5, 1]]),
        "distances: entry (0, 0) is 1.0: the distance of an object to itself must be 0; similarities have to be turned "
        "into distances first",
    ),
    "distance nan": (
        lambda: Comparisons.from_distances([[0, nan], [1, 0]]),
        "distances: entry (0, 1) is nan: a distance must be finite",
    ),
    "points nan": (
        lambda: Comparisons.from_points([[0.0], [nan], [1.0]], 5),
        "points: entry (1, 0) is nan: a coordinate must be finite",
    ),
    "points too large": (
        lambda: Comparisons.from_points([[0.0], [1e200], [1.0]], 5),
        "points: entry (1, 0) is 1e+200: too large, its square overflows",
    ),
    "points all equal": (
        lambda: Comparisons.from_points(np.zeros((4, 2)), 2000),
        "distances: 2,000 random comparisons in a row are ties, nothing to compare",
    ),
    "two points": (
        lambda: Comparisons.from_points([[0.0], [1.0]], 5),
        "n_objects: got 2, expected at least 3 for triplets",
    ),
    "kind": (
        lambda: Comparisons.from_points([[0.0], [1.0]], 5, kind="pairs"),
        "kind: got 'pairs', expected 'triplets' or 'quadruplets'",
    ),
    "noise": (
        lambda: Comparisons.from_points([[0.0], [1.0], [3.0]], 5, noise=1.5),
        "noise: got 1.5, expected a number from 0 to 1",
    ),
    "seed": (
        lambda: Comparisons.from_points([[0.0], [1.0], [3.0]], 5, random_state="x"),
        "random_state: got 'x', expected an integer",
    ),
    "seed negative": (lambda: triplets(GOOD).split(random_state=-1), "random_state: got -1, expected at least 0"),
    "graph without edges": (
        lambda: Comparisons.from_knn_graph(np.eye(3)),
        "graph: no object has both a neighbour and a non-neighbour, nothing to compare",
    ),
    # resampling and the rest
    "test_size": (
        lambda: triplets(GOOD).split(1.0),
        "test_size: got 1.0, expected a fraction between 0 and 1 or a number of rows",
    ),
    "test_size too small": (
        lambda: triplets(GOOD).split(0.1),
        "test_size: 0.1 of 3 rows leaves 0 for test, need rows on both sides",
    ),
    "too many folds": (
        lambda: triplets(GOOD).folds(4),
        "n_folds: got 4 folds for 3 rows, expected at most one fold per row",
    ),
    "too many folds for groups": (
        lambda: triplets(GOOD).folds(3, groups=["a", "a", "b"]),
        "n_folds: got 3 folds for 2 groups, expected at most one fold per group",
    ),
    "no participants": (
        lambda: triplets(GOOD).folds(2, groups="participants"),
        "groups: got 'participants', expected an array or 'participants' of these comparisons",
    ),
    "empty selection": (lambda: triplets(GOOD)[:0], "comparisons: the selection is empty"),
    "selection without weight": (
        lambda: triplets(GOOD, weights=[0, 1, 1])[:1],
        "comparisons: all weights of the selection are 0",
    ),
    "flip by numbers": (
        lambda: triplets(GOOD).flipped([1, 0, 1]),
        "flipped: got dtype int64, shape (3,), expected a bool mask (3,)",
    ),
    "concat kinds": (
        lambda: triplets(GOOD).concat(quadruplets([[0, 1, 2, 3]])),
        "concat: got triplets and quadruplets, expected one kind",
    ),
    "concat labels": (
        lambda: triplets(GOOD).concat(triplets(GOOD, labels=["a", "b", "c"])),
        "concat: the labels differ, expected the same labels in the same order",
    ),
    "fewer objects": (
        lambda: as_comparisons(triplets(GOOD), n_objects=2),
        "n_objects: got 2, but the comparisons are over 3 objects",
    ),
    "dimension": (lambda: triplets(GOOD).check(0), "n_components: got 0, expected at least 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_message(case):
    make, message = BAD[case]
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


def test_first_bad_row_is_found_beyond_the_first_chunk(monkeypatch):
    monkeypatch.setattr("nearer.data.rules.CHUNK", 4)
    rows = np.array(GOOD * 5)
    rows[9] = (7, 7, 1)
    rows[13] = (0, -1, 2)
    with pytest.raises(ValueError, match=r"row 9 is \(7, 7, 1\): an object .* itself \(first of 2 bad rows\)"):
        triplets(rows)


@pytest.mark.parametrize("rows", [1, [[0]], "ab", 1.5, [0.5]])
def test_rows_are_selected_by_arrays_only(rows):
    with pytest.raises(TypeError, match="select rows by a slice, mask or integer array"):
        triplets(GOOD)[rows]
