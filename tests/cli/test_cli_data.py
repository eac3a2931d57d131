"""check, convert, simulate, and the small tables they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nearer.io import read_comparisons


def test_check_says_what_it_understood_then_what_it_found(nearer, answers):
    called = nearer("check", "answers.csv", "-d", 2)
    assert called.code == 0
    assert called.err == (
        "answers.csv: comma-separated, header anchor/near/far: 400 triplets over 12 objects, "
        "the first: obj05 is nearer to obj00 than to obj01\n"
    )
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
        (("p.csv", "-n", "5", "--from", "distances", "-o", "x.csv"), "not those in the first column"),
        (
            ("p.csv", "-n", "5", "--from", "classes", "--class-column", "z", "-o", "x.csv"),
            "p.csv, line 1: got 'x', 'y' beside the names of the objects, expected 'z' among them",
        ),
    ],
)
def test_simulate_refuses(nearer, tmp_path, tree, args, told):
    (tmp_path / "p.csv").write_text("label,x,y\na,1,1\nb,2,1\n")
    called = nearer("simulate", *args)
    assert called.code == 2
    assert told in called.err
    assert tree(tmp_path) == ["p.csv"]


# ---- what FILE holds: never guessed


def simulated(nearer, text, *options):
    Path("t.csv").write_text(text)
    return nearer("simulate", "t.csv", "-n", 60, "-o", "o.csv", "--force", *options)


def objects_of(path):
    return set(read_comparisons(path).comparisons.labels.tolist())


@pytest.mark.parametrize("name", ["item", "stimulus", "index", "object_id", "Label", ""])
def test_numbers_that_name_objects_are_no_coordinates(nearer, name):
    # The nearest of 100 is 102; by the numbers of the objects it would be 101.
    called = simulated(nearer, f"{name},x,y\n100,0,0\n101,9,9\n102,1,0\n103,20,20\n")
    assert called.code == 0
    read = read_comparisons("o.csv").comparisons
    assert set(read.labels.tolist()) == {"100", "101", "102", "103"}
    rows = read.labels[read.index]
    assert set(rows[rows[:, 0] == "100"][:, 1].tolist()) <= {"101", "102"}
    assert not ((rows[:, 0] == "100") & (rows[:, 1] == "101") & (rows[:, 2] == "102")).any()


def test_names_may_stand_in_any_column(nearer):
    assert simulated(nearer, "x,y,label\n0,0,7\n1,0,8\n2,3,9\n").code == 0
    assert objects_of("o.csv") == {"7", "8", "9"}
    called = simulated(nearer, "fruit;x;y\nfig;0;0\nkiwi;1;0\nlime;2;3\n")
    assert "t.csv: 3 objects, named by 'fruit'; values in 'x', 'y'" in called.err
    assert objects_of("o.csv") == {"fig", "kiwi", "lime"}


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("nr,x,y\n100,0,0\n101,1,0\n102,2,3\n", (), "line 1, column 'nr': each row has a whole number of its own"),
        ("fig,0,0\nkiwi,1,0\n", (), "line 1: got 'fig', '0', '0', expected names of columns, such as label, x1, x2"),
        (",label,x\n0,fig,0\n1,kiwi,1\n", (), "line 1, column 'column 1': has no name"),
        ("index,label,x\n0,fig,0\n1,kiwi,1\n", (), "line 1: got 'index', 'label', and cannot tell which holds"),
        ("fig,A\nkiwi,B\n", ("--from", "classes"), "line 1: got 'fig', 'A', expected names of columns"),
        ("label,class\nfig,A\nkiwi,\n", ("--from", "classes"), "line 3, column 'class': got '', expected a word"),
        ("label,a,b\nfig,A,1\nkiwi,B,1\n", ("--from", "classes"), "got 'a', 'b' beside the names of the objects"),
        ("label\nfig\nkiwi\n", ("--from", "classes"), "got no column beside the names of the objects"),
        (",a,b\na,1,.5\nb,.5,1\n", ("--from", "distances"), "entry (0, 0) is 1.0: the distance of an object to itself"),
        ("0,1,3\n1,0,2\n3,2,0\n", ("--from", "distances"), "line 1: got the numbers 0, 1, 3"),
        (",a,b\na,0,1\nc,1,0\n", ("--from", "distances"), "not those in the first column"),
        ("a,a\n0,1\n1,0\n", ("--from", "distances"), "line 1: got label 'a' twice"),
        (",a,b\na,0,\nb,1,0\n", ("--from", "distances"), "line 2, column 'b': got '', expected a number"),
    ],
)
def test_simulate_guesses_nothing(nearer, text, options, told):
    called = simulated(nearer, text, *options)
    assert called.code == 2
    assert called.err.startswith("nearer simulate: t.csv")
    assert told in called.err
    assert not Path("o.csv").exists()


def test_classes_are_the_column_called_so_or_named(nearer):
    text = "name,price,class\nfig,1,A\nkiwi,2,A\nlime,2,B\n"
    called = simulated(nearer, text, "--from", "classes")
    assert "named by 'name'; values in 'class'; columns not used: 'price'" in called.err
    assert "lime" not in {row.split(",")[1] for row in Path("o.csv").read_text().splitlines()}
    assert "values in 'price'" in simulated(nearer, text, "--from", "classes", "--class-column", "price").err
    called = simulated(nearer, "label,item\nfig,A\nkiwi,A\nlime,B\n", "--from", "classes", "--class-column", "item")
    assert "named by 'label'; values in 'item'" in called.err


def test_names_of_distances_may_stand_in_the_first_line_alone(nearer):
    assert simulated(nearer, "a,b,c\n0,1,3\n1,0,2\n3,2,0\n", "--from", "distances").code == 0
    assert objects_of("o.csv") == {"a", "b", "c"}


def test_a_table_of_numbers_in_a_file_of_numpy_must_be_flat(nearer):
    np.save("d.npy", np.zeros((2, 2, 2)))
    called = nearer("simulate", "d.npy", "--from", "distances", "-o", "o.csv")
    assert "d.npy: got float64 of shape (2, 2, 2), expected numbers in 2 dimensions" in called.err
