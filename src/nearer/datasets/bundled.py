"""Data sets that come with the package (or with scikit-learn)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from importlib import resources

import numpy as np


@dataclass(frozen=True, eq=False)
class DistanceData:
    """Objects known by their distances.

    Attributes
    ----------
    names : str array (n,)
    distances : float64 array (n, n), symmetric with zero diagonal
    DESCR : str
        Where the data come from, in Markdown.
    """

    names: np.ndarray
    distances: np.ndarray
    DESCR: str


@dataclass(frozen=True, eq=False)
class FeatureData:
    """Objects known by features and a class.

    Attributes
    ----------
    features : array (n, n_features)
    labels : array (n,)
    DESCR : str
        Where the data come from, in Markdown.
    """

    features: np.ndarray
    labels: np.ndarray
    DESCR: str


def load_eurodist() -> DistanceData:
    """Road distances in km between 21 European cities.

    Returns
    -------
    DistanceData
        names (21,), distances (21, 21).
    """
    rows = list(csv.reader(io.StringIO(_resource("data", "eurodist.csv").decode("utf-8"))))
    distances = np.array([row[1:] for row in rows[1:]], dtype=np.float64)
    return DistanceData(np.array(rows[0][1:]), distances, _description("eurodist"))


def load_letters() -> FeatureData:
    """UCI Letter Recognition: 16 features of 20,000 images of the 26 capital letters.

    Returns
    -------
    FeatureData
        features (20000, 16) uint8 in 0..15, labels (20000,) str.
    """
    with np.load(io.BytesIO(_resource("data", "letters.npz")), allow_pickle=False) as archive:
        return FeatureData(archive["features"], archive["labels"], _description("letters"))


def load_digits() -> FeatureData:
    """scikit-learn's handwritten digits: 1,797 images of 8 x 8 grey values, 10 classes.

    Returns
    -------
    FeatureData
        features (1797, 64) float64 in 0..16, labels (1797,) int.
    """
    from sklearn.datasets import load_digits as sklearn_digits  # slow to import, rarely needed

    data = sklearn_digits()
    return FeatureData(data.data, data.target, data.DESCR)


def _resource(folder: str, name: str) -> bytes:
    """Content of a file of this package."""
    return resources.files(__package__).joinpath(folder, name).read_bytes()


def _description(name: str) -> str:
    """Text that describes a bundled data set."""
    return _resource("descr", f"{name}.md").decode("utf-8")
