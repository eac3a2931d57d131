"""Data from the package itself, from scikit-learn, and from files of human judgements.

The files, which are not distributed with the package, are in a folder given by argument or by the environment variable
NEARER_DATA.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearer.data import Comparisons
from nearer.io import read_comparisons

PathLike = str | os.PathLike[str]
_HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class DistanceData:
    """Objects known by their distances."""

    names: np.ndarray  # str, shape (n,)
    distances: np.ndarray  # float64, shape (n, n), symmetric with zero diagonal
    DESCR: str  # source of the data, in Markdown


@dataclass(frozen=True, eq=False)
class FeatureData:
    """Objects known by features and a class."""

    features: np.ndarray  # shape (n, n_features)
    labels: np.ndarray  # shape (n,)
    DESCR: str  # source of the data, in Markdown


@dataclass(frozen=True, eq=False)
class PictureData:
    """Objects known by answers about them, with their pictures."""

    comparisons: Comparisons
    classes: np.ndarray  # str, shape (n_objects,)
    pictures: tuple[Path, ...]  # one file for each object
    answers: Path  # the file of answers
    DESCR: str  # source of the data, in Markdown


def load_cars() -> PictureData:
    """7,097 human answers to "which of these three cars is the most central?", about 60 cars, with participants."""
    folder = _HERE / "data/cars"
    comparisons = read_comparisons(folder / "answers.csv").comparisons
    with (folder / "classes.csv").open(encoding="utf-8", newline="") as stream:
        class_of = {row["label"]: row["class"] for row in csv.DictReader(stream)}
    labels = np.asarray(comparisons.labels).tolist()
    pictures = tuple(folder / "pictures" / f"{label}.jpg" for label in labels)
    classes = np.array([class_of[label] for label in labels])
    return PictureData(comparisons, classes, pictures, folder / "answers.csv", _description("cars"))


def load_eurodist() -> DistanceData:
    """Road distances in km (21, 21) between 21 European cities."""
    rows = list(csv.reader((_HERE / "data/eurodist.csv").read_text(encoding="utf-8").splitlines()))
    distances = np.array([row[1:] for row in rows[1:]], dtype=np.float64)
    return DistanceData(np.array(rows[0][1:]), distances, _description("eurodist"))


def load_letters() -> FeatureData:
    """UCI Letter Recognition: features (20000, 16), uint8 in 0..15, of capital letters; labels (20000,), str."""
    with np.load(_HERE / "data/letters.npz", allow_pickle=False) as archive:
        return FeatureData(archive["features"], archive["labels"], _description("letters"))


def load_digits() -> FeatureData:
    """scikit-learn's handwritten digits: features (1797, 64), float64 in 0..16, of 8 x 8 images; labels (1797,)."""
    from sklearn.datasets import load_digits as sklearn_digits  # slow to import, rarely needed

    data = sklearn_digits()
    return FeatureData(data.data, data.target, data.DESCR)


def _description(name: str) -> str:
    return (_HERE / f"descr/{name}.md").read_text(encoding="utf-8")


def load_music(folder: PathLike | None = None) -> Comparisons:
    """9,107 human judgements of which of two artists is more similar to a third: triplets of 400 artists, with labels.

    Rows that compare an artist with itself are attention checks: answers without comparisons.

    Parameters
    ----------
    folder : path, optional
        Holds `music.csv` with the columns anchor, near, far; default: the environment variable NEARER_DATA.
    """
    return read_comparisons(_file(folder, "music.csv")).comparisons


def load_materials(folder: PathLike | None = None) -> Comparisons:
    """22,801 questions on which of two materials looks more like a third, over 100 materials, with votes.

    Triplets with labels; each option with votes is one row, its weight the number of votes for it.

    Parameters
    ----------
    folder : path, optional
        Holds `material_train_votes.csv` with the columns anchor, option_a, option_b, votes_a, votes_b; default: the
        environment variable NEARER_DATA.
    """
    return read_comparisons(_file(folder, "material_train_votes.csv")).comparisons


def _file(folder: PathLike | None, name: str) -> Path:
    where = os.environ.get("NEARER_DATA") if folder is None else folder
    path = Path(where or "") / name
    if not where or not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; it is not part of the package: give the folder that holds it, as the argument "
            "`folder` or in the environment variable NEARER_DATA"
        )
    return path
