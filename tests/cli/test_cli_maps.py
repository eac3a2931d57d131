"""Commands about a map that was made before."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import loadmat

from nearer import load
from nearer.coordinates import read_embedding, write_embedding

LABELS = [f"obj{number:02d}" for number in range(12)]
GOLDEN = Path(__file__).parents[1] / "golden/answers"


@pytest.fixture
def small(tmp_path):
    """m.csv: four objects, one without a position, one whose name looks like a formula; line.csv: a, b, c."""
    write_embedding(tmp_path / "m.csv", np.array([[0.0, 0], [3, 4], [0, 1], [np.nan, np.nan]]), ["a", "=b", "c", "d"])
    write_embedding(tmp_path / "line.csv", np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])


# ---- score


def test_score_of_folder_model_and_coordinates(nearer, files):
    summary = json.loads((files / "out/summary.json").read_text())
    for path, more in (("out", ()), ("out/model.nearer", ()), ("out/embedding.csv", ("--loss", "ste"))):
        called = nearer("score", path, "known.csv", "--json", *more)
        assert called.code == 0
        assert called.json["accuracy"] == summary["training_accuracy"]
        assert called.json["loss"] == "ste"
        assert 0 < called.json["log_loss"] < np.log(2)
    bare = nearer("score", "out/embedding.csv", "known.csv", "--json")
    assert set(bare.json) == {"accuracy", "input", "n_comparisons", "n_satisfied"}
    strange = nearer("score", "out", "new.csv", "--json")
    assert (strange.code, strange.json["accuracy"]) == (0, 0)
    assert "name an object without a place on the map" in strange.err


def test_score_by_hand(nearer, small, tmp_path):
    (tmp_path / "t.csv").write_text("anchor,near,far,weight\na,b,c,3\na,c,b,1\nb,a,c,4\n")
    found = nearer("score", "line.csv", "t.csv", "--json").json
    assert found.pop("input")["columns"]["weight"] == "weight"
    assert found == {
        "accuracy": 7 / 8, "n_comparisons": 3, "n_satisfied": 2, "weight": 8, "weight_satisfied": 7,
        "weights_are_votes": False,
    }  # fmt: skip
    assert nearer("score", "line.csv", "t.csv", "-q").out.startswith("87.5 % satisfied: ")


@pytest.mark.parametrize(
    ("labels", "answers", "accuracy"),
    [
        (["4", "3", "5", "7"], "3,5,7", 1),
        (["4", "3", "5", "7"], "0,1,2", 0),  # names that are not on the map
        (None, "1,2,3", 1),  # without the first object
        (None, "a,b,c", None),  # the map has numbers only
    ],
)
def test_whole_numbers_mean_what_they_mean_on_the_map(nearer, tmp_path, labels, answers, accuracy):
    write_embedding(tmp_path / "m.csv", np.array([[9.0], [0.0], [1.0], [3.0]]), labels)
    (tmp_path / "t.csv").write_text(f"anchor,near,far\n{answers}\n")
    called = nearer("score", "m.csv", "t.csv", "--json")
    assert called.code == 2 if accuracy is None else called.json["accuracy"] == accuracy


@pytest.mark.parametrize("options", [(), ("--loss", "ste")])
@pytest.mark.parametrize("path", ["nowhere", ".", "bad.nearer", "nowhere.csv"])
def test_maps_that_are_none(nearer, answers, tmp_path, path, options):
    (tmp_path / "bad.nearer").write_bytes(b"nonsense")
    assert nearer("score", path, "answers.csv", *options).refused


# ---- place, map


def test_place_puts_the_new_object_where_it_belongs(nearer, files):
    called = nearer("place", "out", "new.csv", "-o", "placed.csv", "--json")
    place, labels = read_embedding(files / "placed.csv")
    assert (called.code, labels.tolist()) == (0, ["obj11"])
    assert called.json["n_satisfied"][0] > 0.9 * called.json["n_comparisons"][0]
    assert called.json["positions"]["label"] == ["obj11"]
    np.testing.assert_array_equal([[called.json["positions"][c][0] for c in ("x1", "x2")]], place)
    assert nearer("place", "out", "new.csv", "-q").out == (files / "placed.csv").read_text()


def test_place_on_coordinates_and_whole_map(nearer, files):
    assert nearer("place", "out/embedding.csv", "new.csv").code == 2
    called = nearer("place", "out/embedding.csv", "new.csv", "--loss", "ste", "--whole-map", "-o", "all.csv")
    assert called.code == 0
    before, _ = read_embedding(files / "out/embedding.csv")
    after, labels = read_embedding(files / "all.csv")
    assert labels.tolist() == LABELS
    np.testing.assert_array_equal(after[:11], before)


def test_map_learns_from_features(nearer, files):
    known, _ = read_embedding(files / "out/embedding.csv")
    # Features that are the places themselves, on other scales, and one object the map does not know.
    features = np.vstack([known, [[0.1, 0.2]]]) * [1.0, 1000.0]
    rows = [f"{LABELS[i]},{a!r},{b!r}\n" for i, (a, b) in enumerate(features.tolist())]
    for order in (rows, rows[::-1]):
        (files / "features.csv").write_text("label,f1,f2\n" + "".join(order))
        called = nearer("map", "out", "features.csv", "-o", "mapped.csv", "--force")
        assert called.code == 0
        place, labels = read_embedding(files / "mapped.csv")
        assert labels.tolist() == ["obj11"]
        np.testing.assert_allclose(place, [[0.1, 0.2]], atol=0.5 * known.std())
    nameless = "f1,f2\n" + "".join(row.split(",", 1)[1] for row in rows)
    for text in (nameless, *("label,f\n" + some for some in ("obj00,1\nz,2\n", "obj00,1\nobj01,2\n", "obj00,nan\n"))):
        (files / "f.csv").write_text(text)
        assert nearer("map", "out", "f.csv").code == 2


def test_an_array_is_matched_by_its_order(nearer, tmp_path, points):
    write_embedding(tmp_path / "m.csv", points, LABELS)
    np.save(tmp_path / "f.npy", np.vstack([points, points[:2]]))
    found = nearer("map", "m.csv", "f.npy", "--gamma", 1, "--alpha", 1e-6, "--as-they-are", "--json").json
    assert (found["positions"]["label"], found["n_known"]) == (["row 13", "row 14"], 12)
    np.testing.assert_allclose(np.transpose([found["positions"][x] for x in ("x1", "x2")]), points[:2], atol=0.01)
    assert nearer("map", "m.csv", "f.npy", "--gamma", "wide").refused


# ---- plot


@pytest.mark.parametrize("what", ["map", "convergence", "steps", "calibration"])
def test_plot_draws(nearer, files, what):
    called = nearer("plot", "out", "-o", "p.svg", "--what", what, "--title", "$x$ <b>")
    assert called.code == 0, called.err
    assert "<svg" in (files / "p.svg").read_text(encoding="utf-8")
    assert nearer("plot", "out", "-o", "p.svg", "--what", what).refused


def test_plot_refuses(nearer, files):
    for option in (("--axes", "1,5"), ("--axes", "x"), ("--size", "5"), ("--size", "0x4"), ("--groups", "known.csv")):
        assert nearer("plot", "out", "-o", "p.png", *option).code == 2, option
    bare = ("plot", "out/embedding.csv", "-o", "p.png", "--what")
    calibrated = (*bare, "calibration", "--loss", "ste")
    for command in ((*bare, "convergence"), (*bare, "calibration"), calibrated):
        assert nearer(*command).code == 2, command
    assert not list(files.glob("p.*"))
    assert nearer("plot", "out", "-o", "size.png", "--size", "5x4", "--dpi", 50).code == 0
    with Image.open(files / "size.png") as picture:
        assert picture.size == (250, 200)
    assert nearer(*calibrated, "--file", "known.csv").code == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("label,group\na,A\n=b,B\nc,A\nd,B\n", ["A", "B", "A", "B"]),
        ("group,price,label\nB,4,d\nA,1,a\nB,2,=b\nA,3,c\n", ["A", "B", "A", "B"]),
        ("label,group\nA,A\n=b ,B\nc,A\nplum,NA\n", ["", "", "A", ""]),
        ("label,price,colour\na,1,red\n", None),
        ("label,group\nplum,A\n", None),
    ],
)
def test_groups_go_to_their_objects(nearer, small, tmp_path, monkeypatch, text, expected):
    drawn = []
    monkeypatch.setattr("nearer.plots.plot_map", lambda X, labels, groups, **more: drawn.append(groups) or 1 / 0)
    (tmp_path / "g.csv").write_text(text)
    called = nearer("plot", "m.csv", "-o", "p.svg", "--groups", "g.csv")
    assert drawn == ([] if expected is None else [expected])
    assert called.refused == (expected is None)
    assert ("'A', '=b ', 'plum'" in called.err) == ("plum,NA" in text)


# ---- report, methods


def test_report_again(nearer, files):
    called = nearer("report", "out", "-o", "again.html", "--title", "Again", "--json")
    summary = json.loads((files / "out/summary.json").read_text())
    studies = {name: summary[name] for name in ("training_accuracy", "chance_level", "cross_validation", "check")}
    assert called.json == {"output": "again.html", "input": None, **studies}
    bare = nearer("report", "out/embedding.csv", "-o", "bare.html", "--file", "known.csv", "--json").json
    assert bare.pop("input")["path"] == "known.csv"
    assert bare == {"output": "bare.html", **studies, "cross_validation": None}
    for name, shown, hidden in (
        ("again", "On new answers", "<title>Eleven"),
        ("bare", "On its own answers", "gives the same"),
    ):
        text = (files / f"{name}.html").read_text(encoding="utf-8")
        assert shown in text
        assert hidden not in text
    assert nearer("report", "out", "-o", "again.html").refused
    assert nearer("report", "out", "-o", "x.html", "--file", "new.csv").code == 2
    os.remove("out/model.nearer")  # the coordinates keep their summary
    assert nearer("report", "out", "-o", "coordinates.html").code == 0
    assert "<title>Eleven</title>" in (files / "coordinates.html").read_text(encoding="utf-8")
    (files / "out/summary.json").write_text('{"cross_validation": {"accuracy": 1}}')
    assert nearer("report", "out", "-o", "x.html").refused


def test_report_again_loses_nothing_and_adds(nearer, files):
    (files / "g.csv").write_text("label,group\nobj00,first\nobj01,the second\n")
    (files / "photos").mkdir()
    for label in LABELS[:11]:
        Image.new("RGB", (9, 9)).save(files / "photos" / f"{label}.PNG")
    studies = {'id="chart-dimensions"', 'id="chart-learning"', "On new answers", '"cov":'}
    parts = {*studies, '"thumbs":', "<title>Eleven</title>", "<title>New</title>", "the second", "the fourth"}
    options = ("--bootstrap", 3, "--dims", "1-2", "--learning-curve", "--title", "Eleven", "--groups", "g.csv")
    called = nearer("fit", "known.csv", "-o", "all", "--images", "photos", *options)
    assert called.code == 0, called.err

    def report(*arguments):
        assert nearer("report", *arguments, "-o", "again.html", "--force").code == 0
        text = (files / "again.html").read_text(encoding="utf-8")
        return text, {part for part in parts if part in text}

    first = (files / "all/report.html").read_text(encoding="utf-8")
    for path in ("all/model.nearer", "all"):
        assert report(path) == (first, parts - {"<title>New</title>", "the fourth"})
    shutil.rmtree(files / "photos")
    (files / "g.csv").write_text("label,group\nobj00,the fourth\n")
    assert report("all", "--title", "New", "--groups", "g.csv")[1] == {*studies, "<title>New</title>", "the fourth"}
    # A picture shows the regions that the report shows.
    for name, options in (("with", ()), ("without", ("--no-regions",))):
        assert nearer("plot", "all", "-o", f"{name}.svg", *options).code == 0
    sizes = [(files / f"{name}.svg").stat().st_size for name in ("with", "without")]
    assert sizes[0] > sizes[1]
    # Other answers: what was found out about the old ones is not said of them.
    assert report("all", "--file", "known.csv")[1] == {'"cov":', "<title>Eleven</title>", "the second"}


def test_methods(nearer, files):
    called = nearer("methods", "out", "--json")
    assert called.code == 0
    assert " answers were collected" in called.json["paragraph"]
    for part in ("(van der Maaten & Weinberger, 2012)", "3-fold cross-validation"):
        assert part in called.json["paragraph"]
    assert nearer("methods", "out/model.nearer", "--json").json == called.json
    assert nearer("methods", "out", "--bibtex").out.startswith("@inproceedings{vandermaaten2012,")
    assert nearer("methods", "out/embedding.csv").refused


def test_what_was_found_of_an_older_map_is_not_told_of_a_new_one(nearer, files):
    again = load("out/model.nearer").set_params(random_state=7)
    again.fit(again.comparisons_).save("out/model.nearer", force=True)
    for map_path in ("out", "out/model.nearer"):
        called = nearer("methods", map_path)
        assert "3-fold cross-validation" not in called.out
        assert "out/summary.json: describes another map" in called.err
    called = nearer("report", "out", "-o", "r.html", "--json")
    assert called.json["cross_validation"] is None
    assert "<title>Map of 11 objects</title>" in (files / "r.html").read_text(encoding="utf-8")


def test_methods_and_report_count_answers_not_rows(nearer, tmp_path):
    assert nearer("fit", GOLDEN / "odd.csv", "-o", "out", "--cv", 0, "--bootstrap", 0).code == 0
    paragraph = nearer("methods", "out").out
    for part in ("150 answers to 111 questions about 12 objects", "5 participants", "300 comparisons"):
        assert part in paragraph
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "150 answers to 111 questions about 12 objects" in page
    assert "of 300 comparisons" in page


# ---- neighbours, export


def test_neighbours(nearer, small, tmp_path):
    assert nearer("neighbours", "m.csv", "a", "-k", 1).out == "label,rank,neighbour,distance\na,1,c,1\n"
    assert nearer("neighbours", "m.csv", "-o", "n.csv").code == 0
    rows = (tmp_path / "n.csv").read_text().splitlines()
    assert rows[1:] == ["a,1,c,1", "a,2,'=b,5", "'=b,1,c,4.24264", "'=b,2,a,5", "c,1,a,1", "c,2,'=b,4.24264"]
    table = nearer("neighbours", "m.csv", "c", "--json").json["neighbours"]
    assert (table["rank"], table["neighbour"], table["distance"]) == ([1, 2], ["a", "=b"], [1, pytest.approx(18**0.5)])
    for asked in (("b",), ("d",), ("-o", "n.csv")):  # unknown; without a position; written already
        assert nearer("neighbours", "m.csv", *asked).refused


def test_export(nearer, small, tmp_path):
    X, labels = read_embedding(tmp_path / "m.csv")
    for name in ("e.NPZ", "e.mat", "e.csv"):
        called = nearer("export", "m.csv", "-o", name, "--json")
        assert called.json == {"output": name, "n_objects": 4, "n_components": 2}
        assert nearer("export", "m.csv", "-o", name).refused
    with np.load(tmp_path / "e.NPZ", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["embedding"], X)
        assert file["labels"].tolist() == labels.tolist()
    np.testing.assert_array_equal(loadmat(tmp_path / "e.mat")["embedding"], X)
