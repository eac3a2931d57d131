"""Data that the package holds."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearer.data import Comparisons
from nearer.io import read_comparisons

_HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class DistanceData:
    """Objects known by their distances."""

    names: np.ndarray  # str, shape (n,)
    distances: np.ndarray  # float64, shape (n, n), symmetric with zero diagonal
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


def _description(name: str) -> str:
    return (_HERE / f"descr/{name}.md").read_text(encoding="utf-8")
