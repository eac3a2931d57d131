"""What a user says is followed or refused: endings of outputs, two outputs in one file, options that nothing reads."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import coordinates
from nearer.data import Comparisons
from nearer.estimator import OrdinalEmbedding
from nearer.io import read_comparisons, write_comparisons
from nearer.reports import content

LABELS = [f"obj{number:02d}" for number in range(12)]
RULES = "min_answers = 1\n"


@pytest.fixture(scope="module")
def models(points):
    """A plane and a line of named objects."""
    known = Comparisons.from_points(points, 400, random_state=1, labels=LABELS)
    return [OrdinalEmbedding(d, random_state=0).fit(known) for d in (2, 1)]


@pytest.fixture
def files(tmp_path, answers, points, models):
    """Beside answers.csv: the two maps, map.nearer and line.nearer, and small tables."""
    known = read_comparisons(answers).comparisons
    for model, name in zip(models, ("map", "line")):
        model.save(tmp_path / f"{name}.nearer")
    people = np.repeat(["p", "q", "r"], 40)
    asked = Comparisons.from_points(points, 120, random_state=2)
    write_comparisons(tmp_path / "people.csv", Comparisons(asked.index, participants=people))
    (tmp_path / "rules.toml").write_text(RULES)
    write_comparisons(tmp_path / "answers.parquet", known)
    np.save(tmp_path / "points.npy", points)
    return tmp_path


CSV, ALL_POSITIONS = ".csv", ".csv, .npz, .mat"
WRITING = [
    (("export", "map.nearer", "{}"), ALL_POSITIONS),
    (("place", "map.nearer", "nowhere.csv", "-o", "{}"), ALL_POSITIONS),
    (("map", "map.nearer", "nowhere.csv", "-o", "{}"), ALL_POSITIONS),
    (("neighbours", "map.nearer", "-o", "{}"), CSV),
    (("suggest", "nowhere.csv", "-o", "{}"), CSV),
    (("people", "nowhere.csv", "--table", "{}"), CSV),
    (("people", "nowhere.csv", "--rules", "rules.toml", "-o", "{}"), ".csv, .tsv, .txt"),
    (("report", "map.nearer", "-o", "{}"), ".html, .htm"),
    (("dims", "nowhere.csv", "--plot", "{}"), ".png, .svg, .pdf"),
    (("plan", "40", "--plot", "{}"), ".png, .svg, .pdf"),
    (("plot", "map.nearer", "-o", "{}"), ".png, .svg, .pdf"),
    (("convert", "nowhere.csv", "{}"), ".csv, .tsv, .txt"),
    (("simulate", "nowhere.csv", "-n", "5", "-o", "{}"), ".csv, .tsv, .txt"),
    (("collect", "export", "nowhere", "-o", "{}"), CSV),
]


@pytest.mark.parametrize(
    ("command", "expected", "name"),
    [(*case, "x.json") for case in WRITING] + [(*WRITING[3], name) for name in ("x.xlsx", "x.csv.gz", "x", ".csv")],
)
def test_an_unknown_ending_is_refused_before_any_work(nearer, files, tree, command, expected, name):
    before = tree(files)
    called = nearer(*(part.format(name) for part in command))
    assert called.code == 2
    got = f"'.{name.split('.')[-1]}'" if name.startswith("x.") else "a name without an ending"
    assert f"{name}: got {got}, expected one that can be written: {expected}" in called.err
    assert tree(files) == before


def test_endings_may_be_in_capitals(nearer, files):
    assert nearer("export", "map.nearer", "X.NPZ").code == 0
    assert np.load("X.NPZ")["embedding"].shape == (12, 2)


def test_the_library_refuses_an_unknown_ending_too(models):
    with pytest.raises(ValueError, match=r"e\.json: got '\.json', expected one that can be written: \.csv, \.npz"):
        coordinates.write_embedding("e.json", models[0].embedding_)
    with pytest.raises(ValueError, match=r"r\.pdf: got '\.pdf', expected one that can be written: \.html"):
        content.describe(models[0]).save("r.pdf")


def test_the_library_looks_at_the_place_of_a_report_before_its_studies(files, monkeypatch):
    monkeypatch.setattr(content, "evaluate", None)
    (files / "r.html").write_text("")
    for path, told in (("r.pdf", "can be written"), ("r.html", "exists already"), ("no/r.html", "does not exist")):
        with pytest.raises((ValueError, OSError), match=told):
            content.write_report(None, path=files / path)


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("other", ["same.csv", "./same.csv", "link/same.csv"])
def test_two_outputs_in_one_file_are_refused_before_any_work(nearer, files, tree, force, other):
    (files / "link").symlink_to(".")
    before = tree(files)
    called = nearer("people", "people.csv", "--rules", "rules.toml", "-o", "same.csv", "--table", other, *force)
    assert called.code == 2
    assert f"{other}: got the same for '-o' / '--out' and '--table', expected a file for each" in called.err
    assert tree(files) == before


@pytest.mark.parametrize("checkpoint", ["out", "out/report.html"])
def test_a_checkpoint_in_the_place_of_a_result_is_refused(nearer, files, checkpoint):
    called = nearer("fit", "answers.csv", "-o", "out", "--checkpoint", checkpoint)
    assert called.code == 2
    assert "got the same for the folder of results and --checkpoint, expected a file for each" in called.err
    assert not (files / "out").exists()


def test_force_after_the_output_counts(nearer, files):
    (files / "n.csv").write_text("old")
    assert "use --force to replace it" in nearer("neighbours", "map.nearer", "-o", "n.csv").err
    assert nearer("neighbours", "map.nearer", "-o", "n.csv", "--force").code == 0
    assert nearer("neighbours", "--force", "map.nearer", "-o", "n.csv").code == 0


PLOT = ("plot", "map.nearer", "-o", "p.png")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((*PLOT, "--file", "nowhere.csv"), "--file: got --what map, expected --what calibration"),
        ((*PLOT, "--delimiter", ","), "--delimiter: got --what map, expected --what calibration"),
        ((*PLOT, "--loss", "ste"), "--loss: got --what map, expected --what calibration"),
        (
            (*PLOT, "--what", "convergence", "--groups", "nowhere.csv"),
            "--groups: got --what convergence, expected a map",
        ),
        ((*PLOT, "--what", "steps", "--axes", "7,8"), "--axes: got --what steps, expected a map to draw"),
        ((*PLOT, "--what", "calibration", "--size", "5x4"), "--size: got --what calibration, expected a map to draw"),
        ((*PLOT, "--what", "calibration", "--no-labels"), "--labels: got --what calibration, expected a map to draw"),
        ((*PLOT, "--what", "calibration", "--strict"), "--strict: says how to read --file, but got none"),
        (("plot", "line.nearer", "-o", "p.png", "--axes", "5,9"), "--axes: got a map of one dimension"),
        (("plot", "map.nearer", "-o", "p.svg", "--dpi", "300"), "--dpi: got p.svg, expected a .png"),
        (("report", "map.nearer", "-o", "r.html", "--where", "a=b"), "--where: says how to read --file, but got none"),
        (("suggest", "--objects", "9", "--sheet", "x"), "--sheet: says how to read FILE, but got none"),
        (
            ("simulate", "points.npy", "-n", "9", "--class-column", "z", "-o", "a.csv"),
            "--class-column: got --from points",
        ),
        (
            ("simulate", "points.npy", "--from", "distances", "--class-column", "z", "-o", "a.csv"),
            "--class-column: got --from distances, expected --from classes",
        ),
        (("fit", "answers.csv", "-o", "out", "--cv", "0", "--cv-by", "question"), "--cv-by: got --cv 0"),
    ],
)
def test_an_option_that_nothing_would_come_of_is_refused(nearer, files, tree, command, told):
    before = tree(files)
    called = nearer(*command)
    assert called.code == 2
    assert told in called.err
    assert tree(files) == before


@pytest.mark.parametrize("table", ["label,group\nz,1\n", "label,group\n0,\n1,\n", "label\n0\n"])
def test_bad_groups_of_numbered_objects_are_refused_before_the_fit(nearer, files, monkeypatch, table):
    monkeypatch.setattr("nearer.cli.fit._fit", None)
    (files / "groups.csv").write_text(table)
    called = nearer("fit", "people.csv", "-o", "out", "--groups", "groups.csv")
    assert called.code == 2
    assert "groups.csv" in called.err
    assert not (files / "out").exists()


def test_reading_options_hold_for_parquet_beside_a_cluster(nearer, files, monkeypatch):
    """The workers know none of them, so that the files are read here, and that is said."""
    from nearer.cli import fit

    taken = []
    monkeypatch.setattr(fit, "_fit", lambda say, model, answers, *rest: taken.append(answers) or 1 / 0)
    for option in (("--columns", "anchor=anchor"), ("--strict",)):
        called = nearer("fit", "answers.parquet", "--cluster", "local:1", "-o", "out", *option)
        assert isinstance(called.exception, ZeroDivisionError)
        assert f"do not support {option[0]}" in called.err
    nearer("fit", "answers.parquet", "--cluster", "local:1", "-o", "out")
    assert [isinstance(one, Comparisons) for one in taken] == [True, True, False]
    assert taken[-1] == "answers.parquet"


def test_groups_are_read_before_the_workers_read_the_answers(nearer, files, monkeypatch):
    monkeypatch.setattr("nearer.cli.fit._fit", None)
    called = nearer("fit", "answers.parquet", "--cluster", "local:1", "-o", "out", "--groups", "nowhere.csv")
    assert called.code == 2
    assert "nowhere.csv: no such file" in called.err


def test_cross_validation_by_person_is_refused_where_answers_stay_on_the_cluster(nearer, files):
    called = nearer("fit", "answers.parquet", "--cluster", "local:1", "-o", "out", "--cv-by", "participant")
    assert called.code == 2
    assert "--cv-by participant" in called.err
    assert "stay on the cluster" in called.err
