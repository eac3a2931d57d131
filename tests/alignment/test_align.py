"""Models against people: shares of answers, intervals, matching by name, refusals, the learned transform."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from click.testing import CliRunner

from nearer import Comparisons, OrdinalEmbedding, write_comparisons
from nearer.alignment import Distances, Features, Similarities, align, read_model
from nearer.cli.app import cli
from nearer.coordinates import write_embedding
from nearer.data import FileFormatError
from nearer.warning_types import InputWarning

NAMES = [f"object {i}" for i in range(14)]


def similarity(measure, a, b):
    if measure == "euclidean":
        return -np.linalg.norm(a - b)
    if measure == "cosine":
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return a @ b


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(14, 3))


@pytest.fixture(scope="module")
def odd_one_out(points):
    """Answers to questions that recur, 20 % of them at random."""
    rng = np.random.default_rng(2)
    sets = np.array(list(itertools.combinations(range(14), 3)))
    sets = sets[rng.integers(len(sets), size=900)]
    odd = []
    for one in sets:
        pairs = [similarity("cosine", points[one[(k + 1) % 3]], points[one[(k + 2) % 3]]) for k in range(3)]
        odd.append(one[int(np.argmax(pairs))] if rng.random() > 0.2 else rng.choice(one))
    people = [f"p{number % 9}" for number in range(900)]
    return Comparisons.from_odd_one_out(sets, np.array(odd), labels=NAMES, participants=people)


@pytest.mark.parametrize("measure", ["cosine", "euclidean", "dot"])
def test_share_of_answers_is_that_of_a_slow_count(odd_one_out, points, measure):
    features = points + np.random.default_rng(3).normal(size=points.shape)
    found = align(odd_one_out, {"noisy": features}, measure, best_map=None)
    index, answer = odd_one_out.index, odd_one_out.answer
    right = []
    for number in range(len(odd_one_out.answers)):
        rows = index[answer == number]
        right.append(
            all(
                similarity(measure, features[a], features[near]) > similarity(measure, features[a], features[far])
                for a, near, far in rows
            )
        )
    assert found.scores[0].accuracy == pytest.approx(np.mean(right))
    assert found.chance == pytest.approx(1 / 3)
    low, high = found.scores[0].by_question
    assert low < found.scores[0].accuracy < high


def test_matrices_maps_and_tables_are_the_same_models(odd_one_out, points, tmp_path):
    pandas = pytest.importorskip("pandas")
    gram = np.array([[similarity("cosine", a, b) for b in points] for a in points])
    order = np.random.default_rng(0).permutation(14)
    moved = [NAMES[row] for row in order]
    np.savez(tmp_path / "f.npz", features=points[order], labels=np.array(moved))
    write_embedding(tmp_path / "f.csv", points[order], moved)
    models = {
        "array": Features(points, NAMES),
        "table": pandas.DataFrame(points[order], index=moved),
        "similarities": Similarities(gram[np.ix_(order, order)], moved),
        "distances": Distances(1 - gram, NAMES),
        "npz": read_model(tmp_path / "f.npz"),
        "csv": read_model(tmp_path / "f.csv"),
    }
    found = align(odd_one_out, models, best_map=None)
    assert len({score.accuracy for score in found.scores}) == 1
    assert all(one.difference == 0 == one.by_question[0] == one.by_question[1] for one in found.differences)
    fitted = OrdinalEmbedding(2, random_state=0).fit(odd_one_out)
    other = align(
        odd_one_out, {"map": fitted, "points": Features(fitted.embedding_, NAMES)}, "euclidean", best_map=None
    )
    assert other.scores[0].accuracy == other.scores[1].accuracy


def test_objects_that_are_missing_are_counted_and_named(odd_one_out, points):
    models = {"all": Features(points, NAMES), "some": Features(points[2:], NAMES[2:])}
    found = align(odd_one_out, models, best_map=None)
    about = np.isin(odd_one_out.index, [0, 1]).any(axis=1)
    left_out = len(set(odd_one_out.answer[about]))
    assert found.missing == {"some": NAMES[:2]}
    assert (found.n_left_out, found.n_answers) == (left_out, 900 - left_out)
    alone = align(odd_one_out.of_answers(~np.isin(np.arange(900), odd_one_out.answer[about])), models, best_map=None)
    assert alone.scores[0].accuracy == found.scores[0].accuracy
    more = align(odd_one_out, {"more": Features(np.vstack([points, points]), [*NAMES, *map(str, range(14))])})
    assert (more.unknown, more.missing) == ({"more": 14}, {})


def test_the_best_map_is_held_out(odd_one_out):
    found = align(odd_one_out, {"noise": Features(np.random.default_rng(5).normal(size=(14, 9)), NAMES)}, best_map=3)
    best = found.scores[-1]
    assert best.name == "best map"
    assert found.scores[0].accuracy < best.accuracy < found.ceiling
    (difference,) = found.differences
    assert difference.name == "best map"
    assert difference.by_question[0] > 0


def test_learned_transforms_gain_on_unseen_objects_only_where_there_is_something_to_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [4.0, 2.0, 1.0, 1.0]
    answers = Comparisons.from_points(X, 3000, random_state=1, noise=0.1)
    stretched = X / [4.0, 2.0, 1.0, 1.0]
    found = align(answers, {"good": X, "stretched": stretched}, "euclidean", transform=True, best_map=None)
    good, poor = found.gains
    assert abs(good.gain) < 0.01
    assert good.low <= 0
    assert poor.low > 0.01
    assert poor.gain == pytest.approx(poor.after - poor.before)
    again = align(answers, {"good": X, "stretched": stretched}, "euclidean", transform=True, best_map=None)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"x": np.ones((14, 2, 2))}, r"Features: got shape \(14, 2, 2\)"),
        ({"x": np.full((14, 2), np.nan)}, "got nan in row 0, column 0"),
        ({"x": Features(np.ones((2, 2)), ["a", "b"])}, "'x' has none of the objects of the answers: got 'a', 'b'"),
        ({}, "expected models by name"),
        ({"best map": np.ones((14, 2))}, "not 'best map'"),
    ],
)
def test_refusals(odd_one_out, models, message):
    with pytest.raises(ValueError, match=message):
        align(odd_one_out, models)


def test_a_transform_that_cannot_be_learned_is_reported(points):
    few = Comparisons.from_points(points, 20, random_state=0)
    with pytest.warns(InputWarning, match="transform of net left out: too few answers"):
        found = align(few, {"net": points}, transform=True, best_map=None)
    assert found.gains == []


@pytest.mark.parametrize(
    ("values", "message"), [(np.ones((3, 2)), "expected .3, 3."), ([[0, 1], [2, 0]], "expected a symmetric matrix")]
)
def test_refusals_of_matrices(values, message):
    with pytest.raises(ValueError, match=message):
        Distances(values)


def test_on_the_command_line(odd_one_out, points, tmp_path):
    write_comparisons(tmp_path / "answers.csv", odd_one_out)
    np.savez(tmp_path / "net.npz", features=points, labels=np.array(NAMES))
    write_embedding(tmp_path / "noise.csv", np.random.default_rng(0).normal(size=points.shape), NAMES)
    arguments = ["align", *(str(tmp_path / name) for name in ("answers.csv", "net.npz", "noise.csv"))]
    out = ["-o", str(tmp_path / "scores.csv"), "--plot", str(tmp_path / "scores.png"), "--best-map", "2", "--json"]
    result = CliRunner().invoke(cli, [*arguments, *out])
    assert result.exit_code == 0, result.output
    scores = json.loads(result.stdout)["scores"]
    expected = align(odd_one_out, {"net": Features(points, NAMES)}, best_map=None).scores[0].accuracy
    assert scores[0]["accuracy"] == pytest.approx(expected)
    assert (tmp_path / "scores.csv").read_text().count("\n") == 4
    assert (tmp_path / "scores.png").stat().st_size > 5000
    np.savez(tmp_path / "bad.npz", features=np.array([["a"], ["b"]]), labels=np.array(["a", "b"]))
    with pytest.raises(FileFormatError, match="expected numbers"):
        read_model(tmp_path / "bad.npz")
    for more in ([], [str(tmp_path / "net.npz"), "--best-map", "some"]):
        result = CliRunner().invoke(cli, ["align", str(tmp_path / "answers.csv"), *more])
        assert result.exit_code == 2
