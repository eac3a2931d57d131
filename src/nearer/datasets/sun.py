"""Image features as the authors of the retrieval experiment stored them: `testdata` and `testgnd`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nearer.datasets.bundled import FeatureData

FEATURES, LABELS = "testdata", "testgnd"


def load_sun(path: str | os.PathLike[str]) -> FeatureData:
    """Image features and categories from a `.mat` file (version 5 or 7.3) or an `.npz` file.

    Parameters
    ----------
    path : path
        A file with `testdata` (n_images, n_features) and `testgnd` (n_images,), such as the authors' features of
        SUN397. Version 7.3 needs h5py (the extra `mat73`).

    Returns
    -------
    FeatureData
        features (n_images, n_features) floating point, labels (n_images,) int64.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; expected a .mat or .npz file with {FEATURES!r} and {LABELS!r}")
    try:
        features, labels = _reader(file)(file)
    except (ImportError, _WrongContent) as error:
        raise type(error)(f"{file}: {error}") from None
    except Exception as error:  # the readers raise many kinds for damaged files
        raise ValueError(f"{file}: cannot be read ({type(error).__name__}: {error})") from error
    return FeatureData(*_checked(file, features, labels), DESCR=f"Image features read from {file.name}.")


class _WrongContent(ValueError):
    """A readable file with other content than expected."""


def _reader(file: Path) -> Callable[[Path], tuple[np.ndarray, np.ndarray]]:
    """Choose by the first bytes, as the two versions of .mat share their ending."""
    with file.open("rb") as stream:
        head = stream.read(128)
    if head.startswith(b"PK"):
        return _read_npz
    if head.startswith((b"MATLAB 7.3", b"\x89HDF")):
        return _read_hdf5
    if head.startswith(b"MATLAB 5.0"):
        return _read_mat5
    raise ValueError(f"{file}: is neither a MATLAB .mat file (version 5 or 7.3) nor an .npz file")


def _read_npz(file: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(file, allow_pickle=False) as archive:
        return _pick(archive)


def _read_mat5(file: Path) -> tuple[np.ndarray, np.ndarray]:
    from scipy.io import loadmat, whosmat
    from scipy.sparse import issparse

    names = [name for name, _, _ in whosmat(file)]
    content = loadmat(file, variable_names=[FEATURES, LABELS])
    features, labels = _pick({name: content.get(name) for name in names})
    return (features.toarray() if issparse(features) else features), labels


def _read_hdf5(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        import h5py
    except ImportError:
        raise ImportError("MATLAB 7.3 files need h5py; install nearer[mat73]") from None
    with h5py.File(file, "r") as content:
        features, labels = _pick(content)
        for name, item in ((FEATURES, features), (LABELS, labels)):
            if not isinstance(item, h5py.Dataset):
                raise _WrongContent(f"{name!r} is not a plain array (sparse matrices and structs are not read)")
        return features[()].T, labels[()].T  # MATLAB stores by column, HDF5 by row


def _pick(content: Mapping[str, Any]) -> tuple[Any, Any]:
    """The two arrays; if one is missing, say what is there."""
    names = [name for name in content if not name.startswith("#")]
    missing = [name for name in (FEATURES, LABELS) if name not in names]
    if missing:
        raise _WrongContent(f"has no {' and no '.join(map(repr, missing))}; it holds: {', '.join(names) or 'nothing'}")
    return content[FEATURES], content[LABELS]


def _checked(file: Path, features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features as a floating-point matrix with one row for each label."""
    if features.ndim != 2 or features.dtype.kind not in "biuf":
        raise ValueError(f"{file}: {FEATURES!r} is {features.dtype} of shape {features.shape}, expected a real matrix")
    if labels.ndim > 2 or labels.size != max(labels.shape, default=0) or labels.dtype.kind not in "biuf":
        raise ValueError(f"{file}: {LABELS!r} is {labels.dtype} of shape {labels.shape}, expected a vector of numbers")
    if len(features) != labels.size:
        raise ValueError(
            f"{file}: {FEATURES!r} has shape {features.shape} and {LABELS!r} {labels.size} entries, "
            f"expected one row of features for each entry"
        )
    if features.dtype.kind != "f":
        features = features.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(bad):
        raise ValueError(f"{file}: {FEATURES!r} row {bad[0]} has a value that is not finite")
    codes = labels.reshape(-1)
    if codes.dtype.kind == "f" and not np.array_equal(codes, np.trunc(codes)):  # NaN is unequal to itself
        raise ValueError(f"{file}: {LABELS!r} holds values that are not whole numbers")
    return np.ascontiguousarray(features), codes.astype(np.int64)
