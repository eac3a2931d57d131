"""Feature files of every accepted form, and files that are refused; the letters."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from experiments.data import load_letters
from experiments.sun import load_sun
from scipy.io import savemat
from scipy.sparse import csc_matrix

pytestmark = pytest.mark.tools

FEATURES = np.arange(12.0).reshape(4, 3) / 7
LABELS = np.array([2, 1, 2, 9])


def write_npz(path, **arrays):
    np.savez(path, **arrays)


def write_mat5(path, **arrays):
    savemat(path, arrays)


def write_mat73(path, **arrays):
    """As MATLAB does: a text block of 512 bytes, then HDF5 with every array transposed."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.atleast_2d(array).T
        file.create_group("#refs#")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b" " * 8 + b"\x00\x02IM")


WRITERS = [(write_npz, "sun.npz"), (write_mat5, "sun.mat"), (write_mat73, "sun73.mat")]
forms = pytest.mark.parametrize(("write", "name"), WRITERS)


@forms
@pytest.mark.parametrize("labels", [LABELS, LABELS[:, None], LABELS[None, :], LABELS.astype(float)[:, None]])
def test_each_form(tmp_path, write, name, labels):
    path = tmp_path / name
    write(path, testdata=FEATURES, testgnd=labels, other=np.zeros(3))
    data = load_sun(path)
    np.testing.assert_array_equal(data.features, FEATURES)
    assert data.features.flags.c_contiguous
    assert data.labels.dtype == np.int64
    assert data.labels.tolist() == LABELS.tolist()


@forms
def test_single_precision_is_kept_and_integers_become_floats(tmp_path, write, name):
    write(tmp_path / name, testdata=FEATURES.astype(np.float32), testgnd=LABELS)
    assert load_sun(tmp_path / name).features.dtype == np.float32
    write(tmp_path / name, testdata=np.arange(12, dtype=np.uint8).reshape(4, 3), testgnd=LABELS)
    assert load_sun(tmp_path / name).features.dtype == np.float64


def test_sparse_features_in_mat5(tmp_path):
    write_mat5(tmp_path / "s.mat", testdata=csc_matrix(FEATURES), testgnd=LABELS)
    np.testing.assert_array_equal(load_sun(str(tmp_path / "s.mat")).features, FEATURES)


@forms
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": FEATURES, "testgnd": LABELS}, "has no 'testdata'; it holds: data, testgnd"),
        ({"fea": FEATURES}, "has no 'testdata' and no 'testgnd'; it holds: fea"),
        ({"testdata": FEATURES.T, "testgnd": LABELS}, r"shape \(3, 4\) and 'testgnd' 4 entries, expected one row"),
        ({"testdata": FEATURES, "testgnd": np.ones((2, 2))}, "expected a vector of numbers"),
        ({"testdata": FEATURES, "testgnd": LABELS + 0.5}, "not whole numbers"),
        ({"testdata": FEATURES, "testgnd": np.array([1, 2, np.nan, 1])}, "not whole numbers"),
        ({"testdata": np.where(FEATURES == 0, np.nan, FEATURES), "testgnd": LABELS}, "row 0 .* not finite"),
    ],
)
def test_wrong_content(tmp_path, write, name, arrays, message):
    write(tmp_path / name, **arrays)
    with pytest.raises(ValueError, match=rf"{name}.*{message}"):
        load_sun(tmp_path / name)


def test_three_dimensions_are_refused(tmp_path):
    write_npz(tmp_path / "cube.npz", testdata=np.zeros((4, 2, 2)), testgnd=LABELS)
    with pytest.raises(ValueError, match=r"shape \(4, 2, 2\), expected a real matrix"):
        load_sun(tmp_path / "cube.npz")


def test_struct_in_mat73_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "struct.mat", "w") as file:
        file.create_group("testdata")
        file["testgnd"] = LABELS
    with pytest.raises(ValueError, match="'testdata' is not a plain array"):
        load_sun(tmp_path / "struct.mat")


@forms
def test_truncated_files(tmp_path, write, name):
    path = tmp_path / name
    write(path, testdata=FEATURES, testgnd=LABELS)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match="cannot be read"):
        load_sun(path)


def test_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_sun(tmp_path / "none.mat")
    (tmp_path / "text.mat").write_text("hello")
    with pytest.raises(ValueError, match=r"neither a MATLAB \.mat file"):
        load_sun(tmp_path / "text.mat")


def test_pickled_arrays_are_never_loaded(tmp_path):
    write_npz(tmp_path / "o.npz", testdata=np.array([[{}]], dtype=object), testgnd=LABELS)
    with pytest.raises(ValueError, match="cannot be read"):
        load_sun(tmp_path / "o.npz")


def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch):
    write_mat73(tmp_path / "sun73.mat", testdata=FEATURES, testgnd=LABELS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"sun73\.mat.*nearer\[mat73\]"):
        load_sun(tmp_path / "sun73.mat")


def test_letters():
    data = load_letters()
    assert data.features.shape == (20_000, 16)
    assert data.features.max() == 15
    letters, counts = np.unique(data.labels, return_counts=True)
    assert "".join(letters) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert (counts.min(), counts.max()) == (734, 813)
