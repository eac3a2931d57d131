"""Models against people: shares of answers, intervals, matching by name, refusals, the learned transform."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from nearer import Comparisons, OrdinalEmbedding, write_comparisons
from nearer.alignment import Distances, Features, Gain, Similarities, align, read_model
from nearer.cli.app import cli
from nearer.coordinates import write_embedding
from nearer.data import FileFormatError
from nearer.reports import describe
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


def test_the_best_map_of_random_answers_guesses_and_leaves_out_what_it_cannot_place(points):
    index = Comparisons.from_points(points, 250, random_state=0).index
    random = np.where(np.random.default_rng(0).random(250)[:, None] < 0.5, index, index[:, [0, 2, 1]])
    answers = Comparisons(np.vstack([random, [[14, 0, 1]]]))
    found = align(answers, {"x": np.vstack([points, points[:1]])}, best_map=4)
    assert found.scores[-1].accuracy == pytest.approx(0.5, abs=0.1)  # on its own answers, it would be above 0.8
    assert (found.scores[-1].accuracy * 250) % 1 == pytest.approx(0, abs=1e-6)
    assert found.ceiling is None


def test_answers_to_one_question_say_nothing_of_others():
    answers = Comparisons(np.array([[0, 1, 2]] * 20))
    found = align(answers, {"x": np.eye(3), "y": np.array([[0.0, 1], [0, 2], [1, 0]])}, best_map=None)
    assert found.differences[0].by_question == (-1.0, 1.0)


@pytest.mark.parametrize("measure", ["cosine", "euclidean", "dot"])
def test_learned_transforms_gain_on_unseen_objects_only_where_there_is_something_to_learn(measure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [4.0, 2.0, 1.0, 1.0]
    sets = np.array([rng.choice(60, 3, replace=False) for _ in range(3000)])
    first = [similarity(measure, X[a], X[b]) > similarity(measure, X[a], X[c]) for a, b, c in sets]
    answers = Comparisons.from_answers(sets, np.array(first) ^ (rng.random(3000) < 0.1))
    models = {"good": X, "stretched": X / [4.0, 2.0, 1.0, 1.0], "classes": np.eye(4)[rng.integers(4, size=60)]}
    found = align(answers, models, measure, transform=True, best_map=None)
    gains = {gain.name: gain for gain in found.gains}
    assert gains["stretched"].low > 0
    assert gains["stretched"].gain > 0.05
    assert 500 < gains["stretched"].n_answers < 1500  # about objects of one third alone, in one of three partitions
    assert gains["stretched"].gain == pytest.approx(gains["stretched"].after - gains["stretched"].before)
    for name in ("good", "classes"):
        assert gains[name].low <= 0
        assert abs(gains[name].gain) < 0.02


def test_the_rotation_of_wide_features_does_not_matter():
    """Only the directions in which features vary do; there are more features than objects."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [4.0, 1.0, 1.0]
    answers = Comparisons.from_points(X, 800, random_state=1)
    narrow = X / [4.0, 1.0, 1.0]
    wide = narrow @ np.linalg.qr(rng.normal(size=(3, 50)).T)[0].T
    how = {"similarity": "cosine", "transform": True, "best_map": None}
    one, other = align(answers, {"x": narrow, "y": wide}, **how).gains
    (alone,) = align(answers, {"x": narrow}, **how).gains
    assert alone == one  # whatever else is compared
    assert other.gain == pytest.approx(one.gain, abs=0.01)
    assert one.share_learned > 0


def test_a_transform_learns_from_answers_by_their_weight():
    """Answers of weight zero contradict the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [4.0, 1.0, 1.0]
    good, bad = (Comparisons.from_points(X * scale, 1500, random_state=1) for scale in (1.0, [0.0, 1.0, 1.0]))
    weights = np.repeat([1.0, 1e-9], 1500)
    answers = Comparisons(np.vstack([good.index, bad.index]), weights=weights)
    (gain,) = align(answers, {"x": X / [4.0, 1.0, 1.0]}, "euclidean", transform=True, best_map=None).gains
    assert gain.gain > 0.1


def test_between_equal_similarities_a_model_guesses(odd_one_out, points):
    triplets = Comparisons.from_points(points, 400, random_state=0)
    flat = {"features": np.ones((14, 2)), "distances": Distances(1.0 - np.eye(14))}
    for answers, chance in ((triplets, 1 / 2), (odd_one_out, 1 / 3)):
        scores = align(answers, flat, best_map=None).scores
        assert [score.accuracy for score in scores] == pytest.approx([chance] * 2, abs=0.02)
    index = np.array([[0, 1, 2], [0, 1, 3], [0, 3, 1]])  # 0 and 1 are alike, 2 and 3 are alike
    found = align(Comparisons(index), {"pairs": np.array([[1.0], [1.0], [0.0], [0.0]])}, "euclidean", best_map=None)
    assert found.scores[0].accuracy == pytest.approx(2 / 3)


def test_differences_are_between_minus_one_and_one(points):
    index = np.array([[0, 1, 2], [3, 4, 5]])
    X, Y = np.array([0.0, 1, 2, 0, 1, 2])[:, None], np.array([0.0, 1, 2, 0, 2, 1])[:, None]
    (one,) = align(Comparisons(index), {"right": X, "half": Y}, "euclidean", best_map=None).differences
    assert (one.difference, one.by_question) == (0.5, (-1.0, 1.0))


def test_answers_count_by_their_weight(points):
    index = Comparisons.from_points(points, 200, random_state=0, noise=0.3).index
    weights = np.random.default_rng(0).integers(1, 5, size=200).astype(float)
    weighted = align(Comparisons(index, weights=weights), {"x": points}, "euclidean", best_map=None)
    repeated = align(Comparisons(index.repeat(weights.astype(int), axis=0)), {"x": points}, "euclidean", best_map=None)
    assert weighted.scores[0].accuracy == pytest.approx(repeated.scores[0].accuracy)
    assert weighted.scores[0].by_question == pytest.approx(repeated.scores[0].by_question)


def test_intervals_are_those_of_a_slow_count(points):
    """Units of unequal size: a large one counts more, and there are effectively fewer."""
    rng = np.random.default_rng(0)
    questions = Comparisons.from_points(points, 60, random_state=0).index
    index = questions[rng.integers(60, size=300)]
    index[rng.random(300) < 0.3] = index[rng.random(300) < 0.3][0]
    people = rng.choice(6, size=300, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    models = {"a": points + rng.normal(size=points.shape), "b": rng.normal(size=points.shape)}
    found = align(Comparisons(index, n_objects=14, participants=people), models, "euclidean", best_map=None)
    right = {
        name: np.array([similarity("euclidean", *X[[a, b]]) > similarity("euclidean", *X[[a, c]]) for a, b, c in index])
        for name, X in models.items()
    }
    asked = [(a, *sorted((b, c))) for a, b, c in index.tolist()]
    (one,) = found.differences
    values = right[one.name].astype(float) - right[one.other]
    for units, interval in ((asked, one.by_question), (people.tolist(), one.by_participant)):
        variance = squares = 0.0
        for unit in set(units):
            own = np.array([each == unit for each in units])
            variance += ((values - values.mean())[own].sum() / 300) ** 2 / (1 - own.mean())
            squares += own.mean() ** 2
        half = stats.t.ppf(0.975, 1 / squares - 1) * variance**0.5
        assert interval == pytest.approx((values.mean() - half, values.mean() + half))
    for score in found.scores:
        low, high = score.by_participant
        mean, z = score.accuracy, stats.norm.ppf(0.975)
        assert mean == pytest.approx(right[score.name].mean())
        # Wilson's interval: the bounds are where the mean is z standard errors away, of an effective number of answers.
        n = [z**2 * bound * (1 - bound) / (bound - mean) ** 2 for bound in (low, high)]
        assert n[0] == pytest.approx(n[1])
        own = [people == person for person in range(6)]
        variance = sum(((right[score.name] - mean)[one].sum() / 300) ** 2 / (1 - one.mean()) for one in own)
        degrees = 1 / sum(one.mean() ** 2 for one in own) - 1
        assert n[0] == pytest.approx(mean * (1 - mean) / variance * (z / stats.t.ppf(0.975, degrees)) ** 2)
    two = align(Comparisons(index, n_objects=14, participants=people % 2), models, "euclidean", best_map=None)
    assert two.scores[0].by_participant is None


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"x": np.ones((14, 2, 2))}, r"Features: got shape \(14, 2, 2\)"),
        ({"x": np.full((14, 2), np.nan)}, "got nan in row 0, column 0"),
        ({"x": Features(np.ones((2, 2)), ["a", "b"])}, "'x' has none of the objects of the answers: got 'a', 'b'"),
        ({}, "expected models by name"),
        ([np.ones((14, 2))], "got list, expected models by name"),
        ({"x": np.ones((12, 2))}, "'x': got 12 rows without names, expected 14"),
        ({"x": np.ones((16, 2))}, "'x': got 16 rows without names, expected 14"),
        ({"x": np.ma.masked_greater(np.ones((14, 2)), 0)}, "masked"),
        ({"x": np.full((14, 2), 1e200)}, "got values up to 1e.200"),
        ({"x": np.full((14, 2), 1e-200)}, "rescale"),
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
    ("kind", "values", "message"),
    [
        (Distances, np.zeros((3, 2)), "expected .3, 3."),
        (Distances, [[0, 1], [2, 0]], "expected a symmetric matrix"),
        (Distances, [[0, -1], [-1, 0]], "got -1, expected distances"),
        (Distances, [[1, 0.5], [0.5, 1]], "got 1 in the diagonal"),
        (Similarities, [[0, 1], [1, 0]], "are these distances"),
        (Similarities, [[1, np.nan], [np.nan, 1]], "got nan in row 0, column 1"),
    ],
)
def test_refusals_of_matrices(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(values)


def test_matrices_may_be_off_by_rounding():
    Distances([[-1e-9, 1.0], [1.0 + 1e-9, 1e-9]])
    Similarities([[0.0, 0.0], [0.0, 0.0]])


def test_numbers_that_count_from_1_are_not_rows_that_count_from_0(points, tmp_path):
    index = Comparisons.from_points(points, 300, random_state=0).index
    frame = dict(zip(("anchor", "near", "far"), index.T))
    from_0 = align(frame, {"x": points}, "euclidean", best_map=None)
    assert from_0.scores[0].accuracy == 1
    with pytest.raises(ValueError, match="rows counted from 0 to 13, but the answers count objects from 1 to 14"):
        align({name: column + 1 for name, column in frame.items()}, {"x": points}, "euclidean", best_map=None)
    named = {name: np.array(NAMES)[column] for name, column in frame.items()}
    with pytest.raises(ValueError, match="has none of the objects of the answers"):
        align(named, {"x": points}, best_map=None)


def test_objects_that_are_not_asked_about_are_not_missing(points):
    index = Comparisons.from_points(points[:10], 200, random_state=0).index
    answers = Comparisons(index, n_objects=14)
    named = Features(points[:10], [str(number) for number in range(10)])
    found = align(answers, {"x": named}, "euclidean", best_map=None)
    assert (found.missing, found.n_left_out) == ({}, 0)
    found = align(answers, {"x": Features(points[:9], [str(number) for number in range(9)])}, best_map=None)
    assert found.missing == {"x": ["9"]}  # there is an object 0, so that they are counted alike


def test_objects_without_a_position_are_missing_from_a_map(odd_one_out, points):
    X = points.copy()
    X[3] = np.nan
    found = align(odd_one_out, {"map": OrdinalEmbedding.from_embedding(X, labels=NAMES)}, best_map=None)
    assert found.missing == {"map": ["object 3"]}
    with pytest.raises(ValueError, match="no answer is about objects that all models have"):
        align(odd_one_out, {name: Features(points[:7], NAMES[at:][:7]) for name, at in (("a", 0), ("b", 7))})


def test_features_of_zeros_are_as_similar_to_all_by_cosine():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = align(Comparisons(np.array([[0, 1, 2], [0, 2, 1]] * 100)), {"x": X}, best_map=None)
    assert found.scores[0].accuracy == pytest.approx(0.5)


def test_how_models_are_compared_is_part_of_the_result(odd_one_out, points):
    fitted = OrdinalEmbedding.from_embedding(points, labels=NAMES)
    models = {"f": Features(points, NAMES), "m": fitted, "d": Distances(1 - np.eye(14), NAMES)}
    found = align(odd_one_out, models, "dot", best_map=None)
    assert found.compared == {"f": "dot", "m": "euclidean", "d": "distances"}


def test_the_best_map_needs_two_questions(points):
    with pytest.raises(ValueError, match="all answers are to one question"):
        align(Comparisons(np.array([[0, 1, 2], [0, 2, 1]])), {"x": points[:3]}, best_map=2)
    for wrong in ({"similarity": "Cosine"}, {"best_map": 0}, {"best_map": 2.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            align(Comparisons(np.array([[0, 1, 2], [0, 3, 1]])), {"x": points[:4]}, **wrong)
    with pytest.raises(ValueError, match="transform"):
        align(Comparisons(np.array([[0, 1, 2]])), {"x": points[:3]}, best_map=None, transform="no")


def test_wide_features_of_many_objects_are_compared_in_parts(points):
    """More numbers than are held at once."""
    X = np.repeat(points, 30_000, axis=1)
    answers = Comparisons.from_points(points, 400, random_state=0)
    assert align(answers, {"x": X}, "euclidean", best_map=None).scores[0].accuracy == 1


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
    np.savez(tmp_path / "two.npz", features=points, others=points, labels=np.array(NAMES))
    with pytest.raises(FileFormatError, match="got others_1, others_2, others_3 beside the array 'features'"):
        read_model(tmp_path / "two.npz")
    net = str(tmp_path / "net.npz")
    for more in ([], [net, "--best-map", "some"], [net, net, net], [net, "--report", "page.txt"]):
        result = CliRunner().invoke(cli, ["align", str(tmp_path / "answers.csv"), *more])
        assert result.exit_code == 2


def test_the_report_has_a_section_with_the_same_figures(odd_one_out, points, tmp_path):
    write_comparisons(tmp_path / "answers.csv", odd_one_out)
    np.savez(tmp_path / "<b>net.npz", features=points[1:], labels=np.array(NAMES[1:]))
    page = tmp_path / "page.html"
    files = [tmp_path / "answers.csv", tmp_path / "<b>net.npz"]
    arguments = ["align", *files, "--best-map", "2", "--report", page, "--json"]
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    scores = {score["name"]: score["accuracy"] for score in json.loads(result.stdout)["scores"]}
    text = page.read_text()
    section = text[text.index('<section id="alignment"') : text.index('<section id="violations"')]
    assert '<a href="#alignment">' in text
    assert "lacks 1 object: object 0" in section
    assert "<b>net" not in section
    bars = [float(width) for width in re.findall(r'class="bar" width="([0-9.]+)%"', section)]
    assert bars == pytest.approx([100 * accuracy for accuracy in sorted(scores.values(), reverse=True)], abs=0.01)
    again = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert again.exit_code == 2


def test_a_report_shows_gains_differences_and_the_ceiling(odd_one_out, points):
    models = {"good": Features(points, NAMES), "poor": Features(points[:, :1], NAMES)}
    found = align(odd_one_out, models, "euclidean", best_map=None)
    gain = Gain("good", 0.5, 0.625, 0.125, 0.05, 0.2, 321, 1.0)
    plain = OrdinalEmbedding.from_embedding(points, labels=NAMES)
    page = describe(plain, alignment=replace(found, gains=[gain])).html()
    assert 'class="ceiling"' in page
    assert "50.0\u00a0% to 62.5\u00a0% of 321 answers (+12.5 points" in page
    assert "<bdi>good</bdi> – <bdi>poor</bdi>" in page
    page = describe(plain, alignment=replace(found, ceiling=None, ceiling_low=None)).html()
    assert 'class="ceiling"' not in page
    assert '<section id="alignment"' not in describe(plain).html()
