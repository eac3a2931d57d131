"""neighbours, export, methods: what others take from a map."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from nearer import load
from nearer.coordinates import read_embedding, write_embedding
from nearer.reports import describe


@pytest.fixture
def three(tmp_path):
    write_embedding(tmp_path / "m.csv", np.array([[0.0, 0], [3, 4], [0, 1], [np.nan, np.nan]]), ["a", "=b", "c", "d"])


def test_neighbours(nearer, three, tmp_path):
    called = nearer("neighbours", "m.csv", "a", "-k", 1)
    assert called.out == "label,rank,neighbour,distance\na,1,c,1\n"
    assert nearer("neighbours", "m.csv", "-o", "n.csv").code == 0
    assert (tmp_path / "n.csv").read_text().splitlines() == [
        "label,rank,neighbour,distance", "a,1,c,1", "a,2,'=b,5", "'=b,1,c,4.24264", "'=b,2,a,5", "c,1,a,1",
        "c,2,'=b,4.24264",
    ]  # fmt: skip
    table = nearer("neighbours", "m.csv", "c", "--json").json["neighbours"]
    assert table == {
        "label": ["c", "c"], "rank": [1, 2], "neighbour": ["a", "=b"], "distance": [1.0, pytest.approx(18**0.5)]
    }  # fmt: skip
    refused = nearer("neighbours", "m.csv", "b")
    assert refused.code == 2
    assert refused.err == "nearer neighbours: 'b': no such object on the map; did you mean '=b'?\n"
    assert nearer("neighbours", "m.csv", "-o", "n.csv").code == 2


def test_export(nearer, three, tmp_path):
    X, labels = read_embedding(tmp_path / "m.csv")
    for name in ("e.npz", "e.mat", "e.csv"):
        called = nearer("export", "m.csv", name)
        assert called.out == f"wrote {name}: 4 objects, 2 dimensions\n"
        assert nearer("export", "m.csv", name).code == 2
    with np.load(tmp_path / "e.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["embedding"], X)
        assert file["labels"].tolist() == labels.tolist()
    file = loadmat(tmp_path / "e.mat")
    np.testing.assert_array_equal(file["embedding"], X)
    assert [str(cell[0]) for cell in file["labels"][:, 0]] == labels.tolist()
    np.testing.assert_array_equal(read_embedding(tmp_path / "e.csv")[0], X)


def test_methods(nearer, answers):
    assert nearer("fit", "answers.csv", "-o", "out", "--loss", "ste", "--cv", 3, "--dims", "1-2").code == 0
    called = nearer("methods", "out")
    assert called.code == 0
    paragraph = called.out.split("\n\n")[0]
    assert paragraph.startswith("We collected 400 answers to ")
    assert "by stochastic triplet embedding (van der Maaten & Weinberger, 2012)" in paragraph
    assert "3-fold cross-validation" in paragraph
    assert "Of 1, 2 dimensions, this is the smallest number" in paragraph
    assert nearer("methods", "out/model.nearer").out == called.out
    assert nearer("methods", "out", "--bibtex").out.startswith("@inproceedings{vandermaaten2012,")
    assert nearer("methods", "out/embedding.csv").code == 2


@pytest.mark.parametrize("loss", ["ste", "hinge"])
def test_what_was_found_of_an_older_map_is_not_told_of_a_new_one(nearer, answers, loss):
    """With hinge, both maps satisfy everything, and so have the same objective."""
    assert nearer("fit", "answers.csv", "-o", "out", "--loss", loss, "--cv", 3).code == 0
    for name in ("methods", "report"):
        out = ("-o", "r.html") if name == "report" else ()
        assert "another map" not in nearer(name, "out", *out).err
    again = load("out/model.nearer").set_params(random_state=7)
    again.fit(again.comparisons_).save("out/model.nearer", force=True)
    for map_path in ("out", "out/model.nearer"):
        called = nearer("methods", map_path)
        assert "3-fold cross-validation" not in called.out
        assert f"out/summary.json: describes another map than {map_path}" in called.err
    called = nearer("report", "out", "-o", "r.html", "--force", "--json")
    assert called.json["cross_validation"] is None
    assert "describes another map" in called.err


def test_a_map_with_its_coordinates_alone_keeps_its_summary(nearer, answers):
    assert nearer("fit", "answers.csv", "-o", "out", "--cv", 3, "--title", "Mine").code == 0
    os.remove("out/model.nearer")
    assert nearer("report", "out", "-o", "r.html").code == 0
    assert "<title>Mine</title>" in Path("r.html").read_text(encoding="utf-8")


def test_methods_and_report_count_answers_not_rows(nearer, tmp_path, points):
    rng = np.random.default_rng(3)
    sets = np.array([rng.permutation(12)[:3] for _ in range(60)])
    apart = [np.linalg.norm(points[sets[:, b]] - points[sets[:, c]], axis=1) for b, c in ((1, 2), (0, 2), (0, 1))]
    odd = sets[np.arange(60), np.argmin(apart, axis=0)]
    rows = "".join(f"o{a},o{b},o{c},o{d}\n" for (a, b, c), d in zip(sets, odd))
    (tmp_path / "odd.csv").write_text("a,b,c,odd\n" + rows)
    n_sets = len(np.unique(np.sort(sets, axis=1), axis=0))
    assert nearer("fit", "odd.csv", "-o", "out", "--cv", 0).code == 0
    told = f"60 answers to {n_sets} questions about 12 objects, which give 120 comparisons."
    paragraph = nearer("methods", "out").out
    assert f"We collected {told}" in paragraph
    assert "% of the comparisons." in paragraph
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert f"60 answers to {n_sets} questions about 12 objects" in page
    assert "of 120 comparisons" in page
    described = describe(load("out/model.nearer"))
    assert described.n_answers.tolist() == np.bincount(sets.ravel(), minlength=12)[_order_of("o", 12)].tolist()
    assert "answers: 60 (of several rows each)" in nearer("check", "odd.csv").out


def _order_of(stem, n):
    """The numbers 0 to n - 1 in the order of their names."""
    return [int(name[len(stem) :]) for name in sorted(f"{stem}{number}" for number in range(n))]
