"""Features of the images of SUN397, as the authors of the paper stored them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import FeatureData

# Names of the arrays in the file.
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
        content = _read_arrays(file)
    except ImportError:
        raise
    except Exception as error:  # the readers raise many kinds for damaged files
        raise ValueError(f"{file}: cannot be read ({type(error).__name__}: {error})") from error
    names = [name for name in content if not name.startswith("#")]
    missing = [repr(name) for name in (FEATURES, LABELS) if name not in names]
    if missing:
        raise ValueError(f"{file}: has no {' and no '.join(missing)}; it holds: {', '.join(names) or 'nothing'}")
    for name in (FEATURES, LABELS):
        if content[name] is None:
            raise ValueError(f"{file}: {name!r} is not a plain array (sparse matrices and structs are not read)")
    features, labels = content[FEATURES], content[LABELS]
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
    return FeatureData(np.ascontiguousarray(features), codes.astype(np.int64))


def _read_arrays(file: Path) -> dict[str, Any]:
    """What a file holds, by name; None for what is not asked for, or no plain array.

    Its kind is told by the first bytes, as the two versions of .mat share their ending.
    """
    with file.open("rb") as stream:
        head = stream.read(128)
    if head.startswith(b"PK"):
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] if name in (FEATURES, LABELS) else None for name in archive}
    if head.startswith((b"MATLAB 7.3", b"\x89HDF")):
        try:
            import h5py
        except ImportError:
            raise ImportError(f"{file}: MATLAB 7.3 files need h5py; install nearer[mat73]") from None
        with h5py.File(file, "r") as stored:
            arrays = {name for name in (FEATURES, LABELS) if isinstance(stored.get(name), h5py.Dataset)}
            # MATLAB stores by column, HDF5 by row
            return {name: stored[name][()].T if name in arrays else None for name in stored}
    if head.startswith(b"MATLAB 5.0"):
        from scipy.io import loadmat, whosmat
        from scipy.sparse import issparse

        found = loadmat(file, variable_names=[FEATURES, LABELS])
        content = {name: found.get(name) for name, _, _ in whosmat(file)}
        return {name: array.toarray() if issparse(array) else array for name, array in content.items()}
    raise ValueError(f"{file}: is neither a MATLAB .mat file (version 5 or 7.3) nor an .npz file")
