"""Data that are read: those that come with the package (or with scikit-learn), and files of human judgements.

The folder of the human judgements, which are not distributed with the package, is given by argument or by the
environment variable NEARER_DATA.
"""

from __future__ import annotations

import csv
import html
import io
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from nearer.data import Comparisons

PathLike = str | os.PathLike[str]


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
    return DistanceData(np.array(rows[0][1:]), distances, _resource("descr", "eurodist.md").decode("utf-8"))


def load_letters() -> FeatureData:
    """UCI Letter Recognition: 16 features of 20,000 images of the 26 capital letters.

    Returns
    -------
    FeatureData
        features (20000, 16) uint8 in 0..15, labels (20000,) str.
    """
    with np.load(io.BytesIO(_resource("data", "letters.npz")), allow_pickle=False) as archive:
        description = _resource("descr", "letters.md").decode("utf-8")
        return FeatureData(archive["features"], archive["labels"], description)


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


def load_music(folder: PathLike | None = None) -> Comparisons:
    """9,107 human judgements of which of two artists is more similar to a third, over 400 artists.

    Parameters
    ----------
    folder : path, optional
        Holds `music.csv` with the columns anchor, near, far; default: the environment variable NEARER_DATA.

    Returns
    -------
    Comparisons
        Triplets with labels. Rows that compare an artist with itself are left out and counted in `dropped`.
    """
    columns = _read_columns(_file(folder, "music.csv"), ("anchor", "near", "far"))
    labels, index = np.unique(np.stack(columns, axis=1), return_inverse=True)
    return Comparisons.from_triplets(index.reshape(-1, 3), labels=labels, on_degenerate="drop")


def load_materials(folder: PathLike | None = None) -> Comparisons:
    """22,801 questions on which of two materials looks more like a third, over 100 materials, with votes.

    Parameters
    ----------
    folder : path, optional
        Holds `material_train_votes.csv` with the columns anchor, option_a, option_b, votes_a, votes_b; default: the
        environment variable NEARER_DATA.

    Returns
    -------
    Comparisons
        Triplets with labels; each answer given to a question is one row, its weight the number of votes for it.
    """
    path = _file(folder, "material_train_votes.csv")
    *names, votes_a, votes_b = _read_columns(path, ("anchor", "option_a", "option_b", "votes_a", "votes_b"))
    labels, index = np.unique(np.stack(names, axis=1), return_inverse=True)
    try:
        votes = np.stack([votes_a, votes_b], axis=1).astype(np.int64)
    except ValueError as error:
        raise ValueError(f"{path}: got votes that are not whole numbers ({error}), expected whole numbers") from None
    return Comparisons.from_answers(index.reshape(-1, 3), votes, labels=labels)


def load_music_genres(folder: PathLike | None = None) -> dict[str, tuple[str, ...]]:
    """Genres of the artists of `load_music`.

    Parameters
    ----------
    folder : path, optional
        Holds `music_genres.csv` with the columns artist, genres (separated by "|"); default: the environment variable
        NEARER_DATA.

    Returns
    -------
    dict
        Artist -> genres, most typical first; () where none is known. It may name artists that were never compared.
    """
    path = _file(folder, "music_genres.csv")
    artists, genres = _read_columns(path, ("artist", "genres"))
    table: dict[str, tuple[str, ...]] = {}
    for artist, text in zip(artists, genres):
        if str(artist) in table:
            raise ValueError(f"{path}: artist {artist} is listed twice")
        table[str(artist)] = tuple(html.unescape(genre) for genre in str(text).split("|") if genre)
    return table


def _file(folder: PathLike | None, name: str) -> Path:
    """Path of a data file; says what to set if it cannot be found."""
    where = os.environ.get("NEARER_DATA") if folder is None else folder
    if not where:
        raise FileNotFoundError(
            f"{name} is not part of the package: give the folder that holds it, "
            "as an argument or in the environment variable NEARER_DATA"
        )
    path = Path(where) / name
    if not path.is_file():
        source = "environment variable NEARER_DATA" if folder is None else "argument folder"
        raise FileNotFoundError(f"{path}: no such file; set the {source} to the folder that holds {name}")
    return path


def _read_columns(path: Path, names: tuple[str, ...]) -> list[np.ndarray]:
    """Columns of a small CSV file with a known header, as str arrays."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows or tuple(rows[0]) != names:
        raise ValueError(f"{path}: header is {','.join(rows[0]) if rows else 'missing'}, expected {','.join(names)}")
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(names):
            raise ValueError(f"{path}: data row {number} has {len(row)} columns, expected {len(names)}")
    if len(rows) == 1:
        raise ValueError(f"{path}: has a header but no rows")
    return [np.array(column) for column in zip(*rows[1:])]
