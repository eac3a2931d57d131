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
    called = nearer("check", "t.csv", "--json", "--exit-code")
    assert called.code == 1
    assert {"names", "column"} <= {one["kind"] for one in called.json["suspicions"]}
    assert any("asked" in one["names"] for one in called.json["suspicions"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_convert_keeps_the_comparisons(nearer, answers, tmp_path, ending):
    called = nearer("convert", "answers.csv", "-o", f"same.{ending}")
    assert called.code == 0
    assert called.out == f"wrote same.{ending}: 400 triplets over 12 objects\n"
    assert read_comparisons(tmp_path / f"same.{ending}").comparisons == read_comparisons(answers).comparisons


def test_convert_aggregates(nearer, tmp_path):
    (tmp_path / "twice.csv").write_text("anchor,near,far\na,b,c\na,b,c\nb,a,c\n")
    called = nearer("convert", "twice.csv", "-o", "once.csv", "--aggregate", "--json")
    assert called.json["n_comparisons"] == 2
    made = read_comparisons(tmp_path / "once.csv").comparisons
    assert (made.weights.tolist(), made.n_answers) == ([2, 1], 3)


# ---- simulate


@pytest.fixture
def simulated(nearer, tmp_path):
    """The call, and the rows written, if any, of answers to a table or an array."""

    def call(held, *options):
        name = "t.csv" if isinstance(held, str) else "t.npy"
        if isinstance(held, str):
            Path(name).write_text(held)
        else:
            np.save(name, held)
        made = nearer("simulate", name, "-o", "o.csv", "--force", "--json", *options)
        return made, Path("o.csv").read_text().splitlines()[1:] if Path("o.csv").exists() else None

    return call


def test_simulate_from_points_with_noise(simulated, points):
    table = "label,x,y\n" + "".join(f"o{i:02d},{x!r},{y!r}\n" for i, (x, y) in enumerate(points.tolist()))
    for held in (table, points):
        called, rows = simulated(held, "-n", 200, "--noise", 0.1)
        assert (called.code, called.json["n_turned_around"]) == (0, 20)
        i, j, k = np.array([[int(cell.lstrip("o")) for cell in row.split(",")] for row in rows]).T
        near = np.linalg.norm(points[i] - points[j], axis=1) < np.linalg.norm(points[i] - points[k], axis=1)
        assert (~near).sum() == 20
    assert simulated(points, "-n", 50, "--kind", "quadruplets")[0].json["kind"] == "quadruplets"


@pytest.mark.parametrize("text", [",a,b,c\na,0,1,2\nb,1,0,2\nc,2,2,0\n", "a,b,c\n0,1,2\n1,0,2\n2,2,0\n"])
def test_simulate_from_distances_gives_all_and_counts_ties(simulated, text):
    """Labels stand in the first line, and in the first column or not."""
    called, rows = simulated(text, "--from", "distances")
    assert (called.code, called.json["dropped"]) == (0, {"ties": 1})
    assert rows == ["a,b,c", "b,a,c"]


def test_simulate_from_the_classes_called_so_or_declared(simulated):
    text = "name,size,class\na,1,cat\nb,2,cat\nc,2,dog\n"
    for options, expected in (((), {"a,b,c", "b,a,c"}), (("--class-column", "size"), {"b,c,a", "c,b,a"})):
        called, rows = simulated(text, "--from", "classes", "-n", 9, *options)
        assert called.code == 0
        assert len(rows) == 9
        assert set(rows) <= expected


@pytest.mark.parametrize(
    ("held", "options"),
    [
        ("label,x,y\na,1,1\nb,2,1\n", ()),
        ("fig,0,0\nkiwi,1,0\n", ("-n", "5")),
        ("label,class\na,1\nb,1\n", ("-n", "5", "--from", "classes", "--kind", "quadruplets")),
        ("label,class\na,1\nb,1\n", ("-n", "5", "--from", "classes", "--class-column", "z")),
        (",a,b\na,1,.5\nb,.5,1\n", ("--from", "distances")),
        ("0,1,3\n1,0,2\n3,2,0\n", ("--from", "distances")),
        (",a,b\na,0,1\nc,1,0\n", ("--from", "distances")),
        (np.zeros((2, 2, 2)), ("--from", "distances")),
    ],
)
def test_simulate_guesses_nothing(simulated, held, options):
    called, rows = simulated(held, *options)
    assert called.refused
    assert rows is None
