"""check, convert, simulate, and the small tables they read."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.cli._inputs import read_distances, read_numbers, read_words
from nearer.io import read_comparisons


def test_check_says_what_it_understood_then_what_it_found(nearer, answers):
    called = nearer("check", "answers.csv", "-d", 2)
    assert called.code == 0
    assert called.err == "answers.csv: comma-separated, header anchor/near/far: 400 triplets over 12 objects\n"
    assert called.out.startswith("400 triplets over 12 objects\n")
    assert called.out.endswith("no problem found\n")


def test_check_as_json_and_strict(nearer, tmp_path):
    (tmp_path / "two.csv").write_text("anchor,near,far\na,b,c\na,c,b\nd,e,f\n")
    called = nearer("check", "two.csv", "--json", "--strict")
    assert called.code == 1
    assert called.json["input"]["n_comparisons"] == 3
    assert called.json["check"]["components"] == [3, 3]
    assert called.json["check"]["contradictions"][0]["row"] in (["a", "b", "c"], ["a", "c", "b"])
    assert nearer("check", "two.csv").code == 0


def test_reading_options_reach_the_reader(nearer, tmp_path):
    (tmp_path / "odd.dat").write_text("x;who;y;z\n3;p1;4;5\n4;p2;3;3\n", encoding="utf-8")
    told = nearer(
        "check", "odd.dat", "--format", "csv", "--delimiter", ";", "--columns", "anchor=x,near=y,far=z",
        "--participant", "who", "--index-base", 1, "--header", "--json",
    )  # fmt: skip
    assert told.code == 0
    assert told.json["input"]["n_objects"] == 5
    assert sum(told.json["input"]["dropped"].values()) == 1
    assert told.json["check"]["participants"][0]["participant"] == "p1"
    refused = nearer(
        "check", "odd.dat", "--header", "--columns", "anchor=x,near=y,far=z", "--on-degenerate", "raise"
    )  # fmt: skip
    assert refused.code == 2
    assert "odd.dat, line 3" in refused.err
    assert "--on-degenerate drop" in refused.err


def test_hostile_labels_are_text_on_the_terminal(nearer, tmp_path):
    (tmp_path / "evil.csv").write_text('anchor,near,far\n"\x1b[2J",b,c\n"\x1b[2J",c,b\n', encoding="utf-8")
    called = nearer("check", "evil.csv")
    assert called.code == 0
    assert "\x1b" not in called.out + called.err
    assert "\\x1b[2J" in called.out


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_convert_keeps_the_comparisons(nearer, answers, tmp_path, ending):
    called = nearer("convert", "answers.csv", f"same.{ending}")
    assert called.code == 0
    assert called.out == f"wrote same.{ending}: 400 triplets over 12 objects\n"
    assert read_comparisons(tmp_path / f"same.{ending}").comparisons == read_comparisons(answers).comparisons


def test_convert_refuses_to_overwrite(nearer, answers, tmp_path):
    (tmp_path / "there.csv").write_text("mine")
    called = nearer("convert", "answers.csv", "there.csv")
    assert called.code == 2
    assert called.err == "nearer convert: there.csv: exists already; use --force to replace it\n"
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert nearer("convert", "answers.csv", "there.csv", "--force", "-q").out == ""
    assert len(read_comparisons(tmp_path / "there.csv").comparisons) == 400


def test_convert_aggregates(nearer, tmp_path):
    (tmp_path / "twice.csv").write_text("anchor,near,far\na,b,c\na,b,c\nb,a,c\n")
    called = nearer("convert", "twice.csv", "once.csv", "--aggregate", "--json")
    assert called.json["n_comparisons"] == 2
    assert (tmp_path / "once.csv").read_text() == "anchor,near,far,weight\na,b,c,2.0\nb,a,c,1.0\n"


def test_convert_to_an_unknown_ending_writes_nothing(nearer, answers, tmp_path, tree):
    before = tree(tmp_path)
    called = nearer("convert", "answers.csv", "x.docx")
    assert called.code == 2
    assert called.err.splitlines()[-1].startswith(
        "nearer convert: x.docx: got '.docx', expected one that can be written: .csv, .tsv"
    )
    assert tree(tmp_path) == before


def test_simulate_from_points_with_noise(nearer, tmp_path, points):
    rows = "".join(f"o{i:02d},{x!r},{y!r}\n" for i, (x, y) in enumerate(points.tolist()))
    (tmp_path / "points.csv").write_text("label,x,y\n" + rows)
    called = nearer("simulate", "points.csv", "-n", 200, "--noise", 0.1, "-o", "made.csv", "--json")
    assert called.code == 0
    assert called.json["n_turned_around"] == 20
    made = read_comparisons(tmp_path / "made.csv").comparisons
    i, j, k = made.index.T
    near = np.linalg.norm(points[i] - points[j], axis=1) < np.linalg.norm(points[i] - points[k], axis=1)
    assert (~near).sum() == 20


def test_simulate_from_distances_gives_all_and_counts_ties(nearer, tmp_path):
    (tmp_path / "d.csv").write_text(",a,b,c\na,0,1,2\nb,1,0,2\nc,2,2,0\n")
    called = nearer("simulate", "d.csv", "--from", "distances", "-o", "made.csv")
    assert called.code == 0
    assert called.err == "1 left out: ties\n"
    assert (tmp_path / "made.csv").read_text() == "anchor,near,far\na,b,c\nb,a,c\n"


def test_simulate_from_classes(nearer, tmp_path):
    (tmp_path / "c.csv").write_text("name,size,species\na,1,cat\nb,2,cat\nc,3,dog\n")
    called = nearer(
        "simulate", "c.csv", "--from", "classes", "--class-column", "species", "-n", 9, "-o", "made.csv"
    )  # fmt: skip
    assert called.code == 0
    rows = (tmp_path / "made.csv").read_text().splitlines()[1:]
    assert set(rows) <= {"a,b,c", "b,a,c"}
    assert len(rows) == 9


def test_simulate_quadruplets_from_npy(nearer, tmp_path, points):
    np.save(tmp_path / "p.npy", points)
    assert nearer("simulate", "p.npy", "-n", 50, "--kind", "quadruplets", "-o", "q.npz").code == 0
    assert read_comparisons(tmp_path / "q.npz").comparisons.kind == "quadruplets"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("p.csv", "-o", "x.csv"), "-n: got none, expected how many comparisons"),
        (("p.csv", "-n", "5", "--from", "classes", "--kind", "quadruplets", "-o", "x.csv"), "--kind: got quadruplets"),
        (("p.csv", "-n", "5", "--noise", "1.5", "-o", "x.csv"), "--noise"),
        (("none.csv", "-n", "5", "-o", "x.csv"), "none.csv: no such file"),
        (("p.csv", "-n", "5", "-o", "no/x.csv"), "the folder no does not exist"),
        (("p.csv", "-n", "5", "--from", "distances", "-o", "x.csv"), "p.csv: got 2 rows and 1 columns"),
        (
            ("p.csv", "-n", "5", "--from", "classes", "--class-column", "z", "-o", "x.csv"),
            "got the columns x, expected 'z'",
        ),
    ],
)
def test_simulate_refuses(nearer, tmp_path, tree, args, told):
    (tmp_path / "p.csv").write_text("label,x\na,1\nb,2\n")
    called = nearer("simulate", *args)
    assert called.code == 2
    assert told in called.err
    assert tree(tmp_path) == ["p.csv"]


def test_tables_with_and_without_labels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n3,4.5\n")
    values, labels = read_numbers(str(path))
    assert values.tolist() == [[1, 2], [3, 4.5]]
    assert labels is None
    path.write_text("\ufefflabel,x\n'=a,1\n7,2\n", encoding="utf-8")
    values, labels = read_numbers(str(path))
    assert values.tolist() == [[1], [2]]
    assert labels.tolist() == ["=a", "7"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv: is empty"),
        ("label,x\n", "t.csv: has a header but no rows"),
        ("label,x\na,1\nb\n", "t.csv, line 3: got 1 cells, expected 2"),
        ("label,x\na,1\nb,two\n", "t.csv, line 3, column 'x': got 'two', expected a number"),
        ("label,x\na,1\na,2\n", "t.csv: got label 'a' twice"),
        ("1,2\n3,4\n", r"t.csv, line 1: got the numbers \['1', '2'\], expected names of columns"),
        ("label\na\n", "t.csv, line 1: got 'label' alone"),
    ],
)
def test_bad_tables_are_refused_with_the_place(tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=told):
        read_numbers("t.csv")


def test_distances_must_be_square_with_equal_names(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(",a,b\na,0,1\nc,1,0\n")
    with pytest.raises(ValueError, match="not those in the first column"):
        read_distances(str(path))
    np.save(tmp_path / "d.npy", np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"of shape \(2, 2, 2\), expected numbers in 2 dimensions"):
        read_distances(str(tmp_path / "d.npy"))


def test_words_need_two_columns(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("label\na\n")
    with pytest.raises(ValueError, match="expected a label and a word"):
        read_words(str(path))
