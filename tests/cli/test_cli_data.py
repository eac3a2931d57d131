"""check, convert, simulate, and the small tables they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nearer.data import Comparisons
from nearer.io import read_comparisons


def test_check_as_json_and_its_exit_code(nearer, tmp_path):
    (tmp_path / "two.csv").write_text("anchor,near,far\na,b,c\na,c,b\nd,e,f\n")
    called = nearer("check", "two.csv", "--json", "--exit-code")
    assert called.code == 1
    assert called.json["input"] == read_comparisons("two.csv").facts()
    assert called.json["check"]["components"] == [3, 3]
    assert called.json["check"]["contradictions"][0]["row"] in (["a", "b", "c"], ["a", "c", "b"])
    assert nearer("check", "two.csv").code == 0


def test_check_suspects_names_and_an_unused_column(nearer, tmp_path, points):
    index = Comparisons.from_points(points, 600, random_state=1).index
    rows = [f"o{i},o{j},o{k},near" if n % 2 else f"o{i},o{k},o{j},far" for n, (i, j, k) in enumerate(index.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["anchor,near,far,asked", *rows, "O1,o2,o3,near"]) + "\n")
    found = nearer("check", "t.csv", "--json").json["suspicions"]
    assert {"names", "column"} <= {one["kind"] for one in found}
    assert any("asked" in one["names"] for one in found)
    assert nearer("check", "t.csv", "--exit-code").code == 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_convert_keeps_the_comparisons(nearer, answers, tmp_path, ending):
    called = nearer("convert", "answers.csv", f"same.{ending}")
    assert called.code == 0
    assert called.out == f"wrote same.{ending}: 400 triplets over 12 objects\n"
    assert read_comparisons(tmp_path / f"same.{ending}").comparisons == read_comparisons(answers).comparisons


def test_convert_aggregates(nearer, tmp_path):
    (tmp_path / "twice.csv").write_text("anchor,near,far\na,b,c\na,b,c\nb,a,c\n")
    called = nearer("convert", "twice.csv", "once.csv", "--aggregate", "--json")
    assert called.json["n_comparisons"] == 2
    made = read_comparisons(tmp_path / "once.csv").comparisons
    assert (made.weights.tolist(), made.n_answers) == ([2, 1], 3)


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
            "besides the names of the objects, expected 'z'",
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


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("fig,0,0\nkiwi,1,0\n", "points"),
        ("name,item,x\n0,fig,0\n1,kiwi,1\n", "points"),
        ("label,class\nfig,A\nkiwi,\n", "classes"),
        ("label,a,b\nfig,A,1\nkiwi,B,1\n", "classes"),
        (",a,b\na,1,.5\nb,.5,1\n", "distances"),
        ("0,1,3\n1,0,2\n3,2,0\n", "distances"),
        (",a,b\na,0,1\nc,1,0\n", "distances"),
        (",a,b\na,0,\nb,1,0\n", "distances"),
    ],
)
def test_simulate_guesses_nothing(nearer, text, source):
    called = simulated(nearer, text, "--from", source)
    assert called.code == 2
    assert called.err.startswith("nearer simulate: t.csv")
    assert not Path("o.csv").exists()


def test_classes_are_the_column_called_so_or_declared(nearer):
    text = "name,price,class\nfig,1,A\nkiwi,2,A\nlime,2,B\n"
    assert simulated(nearer, text, "--from", "classes").code == 0
    assert "lime" not in {row.split(",")[1] for row in Path("o.csv").read_text().splitlines()}
    assert simulated(nearer, text, "--from", "classes", "--class-column", "price").code == 0
    assert "fig" not in {row.split(",")[1] for row in Path("o.csv").read_text().splitlines()}


def test_labels_of_distances_may_stand_in_the_first_line_alone(nearer):
    assert simulated(nearer, "a,b,c\n0,1,3\n1,0,2\n3,2,0\n", "--from", "distances").code == 0
    assert objects_of("o.csv") == {"a", "b", "c"}


def test_a_table_of_numbers_in_a_file_of_numpy_must_be_flat(nearer):
    np.save("d.npy", np.zeros((2, 2, 2)))
    called = nearer("simulate", "d.npy", "--from", "distances", "-o", "o.csv")
    assert "d.npy: got float64 of shape (2, 2, 2), expected numbers in 2 dimensions" in called.err
