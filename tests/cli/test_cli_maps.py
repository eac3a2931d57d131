"""score, place, map, plot, report, dims: commands about a map that was made before."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from nearer.cli.app import cli
from nearer.coordinates import read_embedding, write_embedding
from nearer.data import Comparisons
from nearer.io import write_comparisons

LABELS = [f"obj{number:02d}" for number in range(12)]


@pytest.fixture(scope="module")
def made(tmp_path_factory, points):
    """A folder that `nearer fit` wrote for 11 of 12 objects; answers about the twelfth beside it."""
    folder = tmp_path_factory.mktemp("made")
    every = Comparisons.from_points(points, 900, random_state=1, labels=LABELS)
    about_last = (every.index == 11).any(axis=1)
    rest = every[~about_last]
    write_comparisons(folder / "known.csv", Comparisons(rest.index, 11, labels=LABELS[:11]))
    write_comparisons(folder / "new.csv", every[about_last])
    command = ["fit", str(folder / "known.csv"), "-o", str(folder / "out"), "--loss", "ste", "--cv", "3"]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def files(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_score_of_folder_model_and_coordinates(nearer, files):
    summary = json.loads((files / "out/summary.json").read_text())
    for path in ("out", "out/model.nearer"):
        called = nearer("score", path, "known.csv", "--json")
        assert called.code == 0
        assert called.json["accuracy"] == summary["training_accuracy"]
        assert called.json["loss"] == "ste"
        assert 0 < called.json["log_loss"] < np.log(2)
    bare = nearer("score", "out/embedding.csv", "known.csv", "--json")
    assert set(bare.json) == {"accuracy", "input", "n_comparisons", "n_satisfied"}
    assert bare.json["input"]["path"] == "known.csv"
    assert bare.json["accuracy"] == summary["training_accuracy"]
    told = nearer("score", "out/embedding.csv", "known.csv", "--loss", "ste")
    assert told.out.splitlines()[0].endswith(f"of {bare.json['n_comparisons']:,} comparisons")
    assert told.out.splitlines()[1].startswith("log-loss ")


def test_score_by_hand(nearer, tmp_path):
    write_embedding(tmp_path / "m.csv", np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])
    (tmp_path / "t.csv").write_text("anchor,near,far,weight\na,b,c,3\na,c,b,1\nb,a,c,4\n")
    told = nearer("score", "m.csv", "t.csv", "--json").json
    assert told.pop("input")["columns"]["weight"] == "weight"
    assert told == {
        "accuracy": 7 / 8, "n_comparisons": 3, "n_satisfied": 2, "weight": 8, "weight_satisfied": 7,
        "weights_are_votes": False,
    }  # fmt: skip
    assert nearer("score", "m.csv", "t.csv", "-q").out.startswith("87.5 % satisfied: ")


def test_score_counts_objects_that_are_not_on_the_map(nearer, files):
    called = nearer("score", "out", "new.csv", "--json")
    assert called.code == 0
    assert called.json["accuracy"] == 0
    assert "name an object without a place on the map" in called.err


def test_whole_numbers_mean_what_they_mean_on_the_map(nearer, tmp_path):
    # Objects 3, 5, 7 are names; answers about 0, 1, 2 are about objects that are not on that map.
    write_embedding(tmp_path / "named.csv", np.array([[0.0], [1.0], [3.0]]), ["3", "5", "7"])
    (tmp_path / "t.csv").write_text("anchor,near,far\n3,5,7\n")
    assert nearer("score", "named.csv", "t.csv", "--json").json["accuracy"] == 1
    (tmp_path / "zero.csv").write_text("anchor,near,far\n0,1,2\n")
    called = nearer("score", "named.csv", "zero.csv", "--json")
    assert called.json["accuracy"] == 0
    assert "1 of 1 comparisons name an object without a place on the map" in called.err
    # Objects 0 to 3 are numbers; a file that happens to name only 1, 2, 3 means the same numbers.
    write_embedding(tmp_path / "numbered.csv", np.array([[9.0], [0.0], [1.0], [3.0]]))
    (tmp_path / "gap.csv").write_text("anchor,near,far\n1,2,3\n")
    assert nearer("score", "numbered.csv", "gap.csv", "--json").json["accuracy"] == 1
    (tmp_path / "text.csv").write_text("anchor,near,far\na,b,c\n")
    refused = nearer("score", "numbered.csv", "text.csv")
    assert refused.code == 2
    assert "text.csv: names its objects, such as 'a', but the map has numbers only" in refused.err
    # Names on the map, numbers in the file: they cannot be told to be places.
    write_embedding(tmp_path / "words.csv", np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])
    refused = nearer("score", "words.csv", "zero.csv")
    assert refused.code == 2
    assert "zero.csv: calls its objects by numbers, but the map by names, such as 'a'" in refused.err


@pytest.mark.parametrize("options", [(), ("--loss", "ste")])
@pytest.mark.parametrize("path", ["nowhere", ".", "bad.nearer"])
def test_maps_that_are_none(nearer, answers, tmp_path, path, options):
    (tmp_path / "bad.nearer").write_bytes(b"nonsense")
    called = nearer("score", path, "answers.csv", *options)
    assert called.code == 2
    assert called.err.startswith(f"nearer score: {path}: ")


def test_place_puts_the_new_object_where_it_belongs(nearer, files, points):
    called = nearer("place", "out", "new.csv", "-o", "placed.csv")
    assert called.code == 0
    assert "1 of 1 new objects placed" in called.err
    place, labels = read_embedding(files / "placed.csv")
    assert labels.tolist() == ["obj11"]
    printed = nearer("place", "out", "new.csv", "-q")
    assert printed.out == (files / "placed.csv").read_text()
    told = nearer("place", "out", "new.csv", "--json")
    assert told.json["positions"]["label"] == ["obj11"]
    assert told.json["n_satisfied"][0] > 0.9 * told.json["n_comparisons"][0]
    np.testing.assert_array_equal([[told.json["positions"][c][0] for c in ("x1", "x2")]], place)


def test_place_on_coordinates_and_whole_map(nearer, files):
    assert nearer("place", "out/embedding.csv", "new.csv").code == 2
    called = nearer("place", "out/embedding.csv", "new.csv", "--loss", "ste", "--whole-map", "-o", "all.csv")
    assert called.code == 0
    before, _ = read_embedding(files / "out/embedding.csv")
    after, labels = read_embedding(files / "all.csv")
    assert labels.tolist() == LABELS
    np.testing.assert_array_equal(after[:11], before)


def test_printed_positions_are_data_to_the_letter(nearer, tmp_path):
    write_embedding(tmp_path / "m.csv", np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])
    (tmp_path / "new.csv").write_text('anchor,near,far\n"=\x1b,",a,c\n')
    called = nearer("place", "m.csv", "new.csv", "--loss", "tste", "-q")
    assert called.code == 0
    assert called.out.startswith('label,x1\n"\'=\x1b,",')


def test_map_learns_from_features(nearer, files, points):
    known, _ = read_embedding(files / "out/embedding.csv")
    # Features that are the places themselves, on other scales, and one object the map does not know.
    features = np.vstack([known, [[0.1, 0.2]]]) * [1.0, 1000.0]
    rows = "".join(f"{LABELS[i]},{a!r},{b!r}\n" for i, (a, b) in enumerate(features.tolist()))
    (files / "features.csv").write_text("label,f1,f2\n" + rows)
    called = nearer("map", "out", "features.csv", "-o", "mapped.csv")
    assert called.code == 0
    assert "2 features; 11 objects of the map to learn from, 1 new" in called.err
    place, labels = read_embedding(files / "mapped.csv")
    assert labels.tolist() == ["obj11"]
    spread = known.std()
    np.testing.assert_allclose(place, [[0.1, 0.2]], atol=0.5 * spread)
    np.save(files / "features.npy", features)
    told = nearer("map", "out/embedding.csv", "features.npy", "--gamma", 0.5, "--alpha", 0.1, "--json")
    assert told.json["positions"]["label"] == ["11"]  # the first rows are the objects of the map, whatever their names
    (files / "features.csv").write_text("f1,f2\n" + "".join(f"{a!r},{b!r}\n" for a, b in features.tolist()))
    told = nearer("map", "out/embedding.csv", "features.csv")
    assert told.code == 2
    assert "features.csv: got no labels, expected a column of them, such as 'obj00'" in told.err


@pytest.mark.parametrize(
    ("labels", "new"),
    [(None, ["12", "13"]), ([str(number) for number in range(1, 13)], ["row 13", "row 14"])],  # 12 is on the map
)
def test_an_array_is_matched_by_its_order(nearer, tmp_path, points, labels, new):
    write_embedding(tmp_path / "m.csv", points, labels)
    np.save(tmp_path / "f.npy", np.vstack([points, points[:2]]))
    told = nearer("map", "m.csv", "f.npy", "--gamma", 1, "--alpha", 1e-6, "--as-they-are", "--json").json
    assert (told["positions"]["label"], told["n_known"]) == (new, 12)
    found = np.column_stack([told["positions"]["x1"], told["positions"]["x2"]])
    np.testing.assert_allclose(found, points[:2], atol=0.01)
    assert nearer("map", "m.csv", "f.npy", "--gamma", "wide").code == 2


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("a,1\nz,2\n", ": got 1 object placed on the map"),
        ("a,1\nb,2\n", ": got 2 objects, all on the map already"),
        ("a,1\nb,nan\nz,2\n", ", line 3, column 'f': got 'nan', expected a number"),
    ],
)
def test_map_refuses(nearer, tmp_path, rows, told):
    write_embedding(tmp_path / "m.csv", np.array([[0.0], [1.0], [3.0]]), ["a", "b", "c"])
    (tmp_path / "f.csv").write_text("label,f\n" + rows)
    called = nearer("map", "m.csv", "f.csv")
    assert called.code == 2
    assert f"nearer map: f.csv{told}" in called.err


def test_features_are_matched_by_name_in_any_order(nearer, tmp_path, points):
    write_embedding(tmp_path / "m.csv", points)
    rows = [f"{number},{a!r},{b!r}\n" for number, (a, b) in enumerate(np.vstack([points, [[0.1, 0.2]]]).tolist())]
    found = []
    for order in (rows, rows[::-1]):
        (tmp_path / "f.csv").write_text("".join(["item,f1,f2\n", *order]))
        called = nearer("map", "m.csv", "f.csv", "--gamma", 1, "--alpha", 1e-6, "-q")
        found.append([float(cell) for cell in called.out.splitlines()[1].split(",")])
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("what", ["map", "convergence", "steps", "calibration"])
def test_plot_draws(nearer, files, what):
    called = nearer("plot", "out", "-o", "p.svg", "--what", what, "--title", "$x$ <b>")
    assert called.code == 0, called.err
    assert "<svg" in (files / "p.svg").read_text(encoding="utf-8")
    assert nearer("plot", "out", "-o", "p.svg", "--what", what).code == 2


def test_plot_has_the_size_asked_for(nearer, files):
    assert nearer("plot", "out", "-o", "p.png", "--size", "5x4", "--dpi", 50).code == 0
    with Image.open(files / "p.png") as picture:
        assert picture.size == (250, 200)


def test_plot_refuses(nearer, files):
    refused = [("--axes", "1,5"), ("--axes", "x"), ("--size", "5"), ("--size", "0x4"), ("--groups", "known.csv")]
    for name, value in refused:
        called = nearer("plot", "out", "-o", "p.png", name, value)
        assert called.code == 2
        assert "known.csv, line 1" in called.err if name == "--groups" else name in called.err
    bare = ("plot", "out/embedding.csv", "-o", "p.png", "--what")
    calibrated = (*bare, "calibration", "--loss", "ste")
    for command in ((*bare, "convergence"), (*bare, "calibration"), calibrated):
        assert nearer(*command).code == 2
    assert not list(files.glob("p.*"))
    assert nearer(*calibrated, "--file", "known.csv").code == 0


@pytest.fixture
def grouped(nearer, tmp_path, monkeypatch):
    """Draw a map with groups: what was told, and the groups that were drawn."""
    from nearer import plots

    write_embedding(tmp_path / "m.csv", np.eye(4), ["apple", "fig", "kiwi", "lime"])
    write_embedding(tmp_path / "n.csv", np.eye(4))
    drawn = []
    draw = plots.plot_map
    monkeypatch.setattr(plots, "plot_map", lambda X, labels, groups, **more: (drawn.append(groups), draw(X, **more))[1])

    def called(text, path="m.csv"):
        (tmp_path / "g.csv").write_text(text)
        drawn.clear()
        return nearer("plot", path, "-o", "p.svg", "--groups", "g.csv", "--force"), drawn[0] if drawn else None

    return called


@pytest.mark.parametrize(
    "text",
    [
        "label,group\napple,A\nfig,B\nkiwi,A\nlime,B\n",
        "group,price,label\nB,4,lime\nA,1,apple\nB,2,fig\nA,3,kiwi\n",
        "Name;Class\napple;A\nfig;B\nkiwi;A\nlime;B\n",
    ],
)
def test_groups_go_to_their_objects(grouped, text):
    called, groups = grouped(text)
    assert called.code == 0
    assert groups == ["A", "B", "A", "B"]
    assert "warning" not in called.err


def test_groups_that_do_not_match_are_named_in_a_warning(grouped):
    called, groups = grouped("label,group\nApple,A\nfig ,B\nkiwi,A\nplum,NA\n")
    assert (called.code, groups) == (0, ["", "", "A", ""])
    assert "3 of 4 names are not on the map: 'Apple', 'fig ', 'plum'; 3 of 4 objects have no group" in called.err


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("label,price,colour\napple,1,red\n", "m.csv"),
        ("label,group\n1,A\n2,B\n3,A\n4,B\n", "n.csv"),
        ("label,group\napple,A\napple,B\n", "m.csv"),
        ("label,group\nplum,A\n", "m.csv"),
    ],
)
def test_groups_that_are_not_declared_are_refused(grouped, text, path):
    called, groups = grouped(text, path)
    assert (called.code, groups) == (2, None)
    assert "nearer plot: g.csv" in called.err


def test_objects_without_a_place_have_no_neighbours(nearer, tmp_path):
    (tmp_path / "m.csv").write_text("label,x1\na,\nb,1\nc,2\n")
    assert nearer("neighbours", "m.csv", "a").code == 2
    called = nearer("neighbours", "m.csv")
    assert called.code == 0
    assert "1 of 3 objects have no place" in called.err
    (tmp_path / "m.csv").write_text("label,x1\na,\nb,\n")
    assert "m.csv: got no object with a place, expected a map" in nearer("neighbours", "m.csv").err


def test_report_again(nearer, files):
    called = nearer("report", "out", "-o", "again.html", "--title", "Again", "--json")
    assert called.code == 0
    summary = json.loads((files / "out/summary.json").read_text())
    for name in ("training_accuracy", "cross_validation", "check"):
        assert called.json[name] == summary[name]
    text = (files / "again.html").read_text(encoding="utf-8")
    assert "Again" in text
    assert "On new answers" in text
    bare = nearer("report", "out/embedding.csv", "-o", "bare.html", "--file", "known.csv", "--json")
    told = bare.json
    assert told.pop("input")["path"] == "known.csv"
    assert told == {
        "output": "bare.html", "training_accuracy": summary["training_accuracy"], "cross_validation": None,
        "check": summary["check"],
    }  # fmt: skip
    assert nearer("report", "out", "-o", "again.html").code == 2
    # Another map's summary, which happens to lie beside a model, is not taken for its own.
    assert nearer("fit", "known.csv", "-o", "other", "--cv", 0, "--title", "Other", "--random-state", 5).code == 0
    shutil.copy(files / "other/model.nearer", files / "out/other.nearer")
    assert nearer("report", "out/other.nearer", "-o", "other.html").code == 0
    assert "<title>Map</title>" in (files / "other.html").read_text(encoding="utf-8")
    refused = nearer("report", "out", "-o", "x.html", "--file", "new.csv")
    assert refused.code == 2
    assert "nearer report: comparisons: got 1 object that is not on the map" in refused.err
    (files / "out/summary.json").write_text('{"cross_validation": {"accuracy": 1}}')
    assert "summary.json: is not a summary of nearer fit" in nearer("report", "out", "-o", "x.html").err


def test_report_again_loses_nothing_and_adds(nearer, files):
    (files / "g.csv").write_text("label,group\nobj00,first\nobj01,the second\n")
    (files / "photos").mkdir()
    for label in LABELS[:11]:
        Image.new("RGB", (9, 9)).save(files / "photos" / f"{label}.PNG")
    options = ("--bootstrap", 3, "--dims", "1-2", "--learning-curve", "--title", "Eleven", "--groups", "g.csv")
    called = nearer("fit", "known.csv", "-o", "rich", "--images", "photos", *options)
    assert called.code == 0, called.err
    first = (files / "rich/report.html").read_text(encoding="utf-8")
    studies = ('id="chart-dimensions"', 'id="chart-learning"', '"cov":')
    for part in (*studies, '"thumbs":', "<title>Eleven</title>", "the second"):
        assert part in first
    for path in ("rich/model.nearer", "rich"):
        assert nearer("report", path, "-o", "again.html", "--force").code == 0
        assert (files / "again.html").read_text(encoding="utf-8") == first
    shutil.rmtree(files / "photos")
    (files / "g.csv").write_text("label,group\nobj00,third\n")
    told = nearer("report", "rich", "-o", "b.html", "--title", "New", "--groups", "g.csv")
    assert "photos: no such folder any more" in told.err
    text = (files / "b.html").read_text(encoding="utf-8")
    for part in (*studies, "<title>New</title>", "third"):
        assert part in text
    assert "the second" not in text
    # Other answers: what was found out about the old ones is not said of them.
    assert nearer("report", "rich", "-o", "c.html", "--file", "known.csv").code == 0
    text = (files / "c.html").read_text(encoding="utf-8")
    assert '"cov":' in text
    assert 'id="chart-dimensions"' not in text
    assert "On new answers" not in text


def test_dims_finds_two_dimensions(nearer, tmp_path):
    points = np.random.default_rng(0).normal(size=(15, 2))
    made = Comparisons.from_points(points, 3000, random_state=1, labels=[f"o{i}" for i in range(15)])
    write_comparisons(tmp_path / "a.csv", made)
    called = nearer(
        "dims", "a.csv", "--dims", "1-3", "--cv", 3, "--loss", "ste", "--n-init", 1, "--plot", "d.svg", "--json"
    )
    assert called.code == 0
    assert called.json["chosen"] == 2
    assert 2 in called.json["candidates"]
    assert called.json["table"]["n_components"] == [1, 2, 3]
    assert (tmp_path / "d.svg").exists()


def test_fit_chooses_the_dimension_itself(nearer, tmp_path):
    points = np.random.default_rng(0).normal(size=(15, 1))
    write_comparisons(tmp_path / "line.csv", Comparisons.from_points(points, 1200, random_state=1, noise=0.05))
    called = nearer("fit", "line.csv", "-d", "auto", "--loss", "ste", "--cv", 0, "-o", "out", "--json")
    assert called.code == 0
    assert called.json["n_components"] == 1
    assert "fitting: as many dimensions as the answers support" in called.err
    assert "the answers support 1 dimension" in called.err
    assert (tmp_path / "out/embedding.csv").read_text().splitlines()[0] == "label,x1"
    for bad in ("none", "0"):
        assert nearer("fit", "line.csv", "-d", bad, "-o", "out2").code == 2
