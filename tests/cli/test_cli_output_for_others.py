"""neighbours, export, methods: what others take from a map."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import loadmat

from nearer.io import read_embedding, write_embedding


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
    assert "in 3-fold cross-validation" in paragraph
    assert "Of 1, 2 dimensions, this is the smallest number" in paragraph
    assert nearer("methods", "out/model.nearer").out == called.out
    assert nearer("methods", "out", "--bibtex").out.startswith("@inproceedings{vandermaaten2012,")
    assert nearer("methods", "out/embedding.csv").code == 2
