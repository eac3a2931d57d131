"""Data of experiments and benchmarks: letters, digits, and judgements in the folder that NEARER_DATA names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearer import Comparisons, read_comparisons


@dataclass(frozen=True, eq=False)
class FeatureData:
    """Objects known by features and a class."""

    features: np.ndarray  # shape (n, n_features)
    labels: np.ndarray  # shape (n,)


def load_letters() -> FeatureData:
    """UCI Letter Recognition: features (20000, 16), uint8 in 0..15, of capital letters; labels (20000,), str."""
    with np.load(Path(__file__).with_name("letters.npz"), allow_pickle=False) as archive:
        return FeatureData(archive["features"], archive["labels"])


def load_digits() -> FeatureData:
    """scikit-learn's handwritten digits: features (1797, 64), float64 in 0..16, of 8 x 8 images; labels (1797,)."""
    from sklearn import datasets

    return FeatureData(*datasets.load_digits(return_X_y=True))


def load_music() -> Comparisons:
    """9,107 human judgements of which of two artists is more similar to a third: triplets of 400 artists."""
    return _judgements("music.csv")


def load_materials() -> Comparisons:
    """22,801 questions on which of two materials looks more like a third, over 100 materials, with votes."""
    return _judgements("material_train_votes.csv")


def _judgements(name: str) -> Comparisons:
    path = Path(os.environ.get("NEARER_DATA", ""), name)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; set NEARER_DATA to the folder that holds it")
    return read_comparisons(path).comparisons
