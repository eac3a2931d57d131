"""Human judgements that are not distributed with the package: read from a folder of the user's.

The folder is given by argument or by the environment variable NEARER_DATA.
"""

from __future__ import annotations

import csv
import html
import os
from pathlib import Path

import numpy as np

from nearer.data import Comparisons

PathLike = str | os.PathLike[str]


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
        raise ValueError(f"{path}: votes must be whole numbers ({error})") from None
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
