"""Judgements read from a folder: small files written here, and the real ones where NEARER_DATA has them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nearer import datasets

real = pytest.mark.skipif(not os.environ.get("NEARER_DATA"), reason="NEARER_DATA is not set")


def test_music_by_hand(tmp_path):
    (tmp_path / "music.csv").write_text("anchor,near,far\nb,a,c\nb,b,c\nc,a,b\n")
    data = datasets.load_music(tmp_path)
    assert data.labels.tolist() == ["a", "b", "c"]
    assert data.index.tolist() == [[1, 0, 2], [2, 0, 1]]
    assert data.answers.is_check().tolist() == [False, True, False]
    assert data.answers.correct.tolist() == [-1, 1, -1]


def test_materials_by_hand(tmp_path):
    (tmp_path / "material_train_votes.csv").write_text(
        "anchor,option_a,option_b,votes_a,votes_b\nx,y,z,3,1\ny,x,z,2,2\nz,x,y,0,4\n"
    )
    data = datasets.load_materials(tmp_path)
    rows = {tuple(data.labels[row]): weight for row, weight in zip(data.index, data.weights)}
    assert rows == {tuple("xyz"): 3, tuple("xzy"): 1, tuple("yxz"): 2, tuple("yzx"): 2, tuple("zyx"): 4}
    assert data.answers.votes.tolist() == data.weights.tolist()
    assert data.n_answers == 12


def test_folder_from_the_environment(tmp_path, monkeypatch):
    (tmp_path / "music.csv").write_text("anchor,near,far\nb,a,c\n")
    monkeypatch.setenv("NEARER_DATA", str(tmp_path))
    assert len(datasets.load_music()) == 1


@pytest.mark.parametrize("load", [datasets.load_music, datasets.load_materials])
def test_missing_folder_and_file(tmp_path, monkeypatch, load):
    monkeypatch.delenv("NEARER_DATA", raising=False)
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"csv: no such file.*NEARER_DATA"):
            load(folder)


@real
@pytest.mark.data
def test_real_music():
    data = datasets.load_music()
    assert (len(data), data.n_objects, int(data.answers.is_check().sum())) == (9_090, 400, 17)


@real
@pytest.mark.data
def test_real_materials():
    data = datasets.load_materials()
    assert data.n_objects == 100
    assert np.all(data.weights >= 1)
    with open(os.path.join(os.environ["NEARER_DATA"], "material_train_votes.csv")) as stream:
        votes = [tuple(map(int, line.strip().split(",")[3:])) for line in list(stream)[1:]]
    assert len(votes) == 22_801
    assert len(data) == sum((a > 0) + (b > 0) for a, b in votes)
    assert data.weights.sum() == sum(a + b for a, b in votes)
