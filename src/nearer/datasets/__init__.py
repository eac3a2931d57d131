"""Example data: bundled, read from a folder, or generated."""

from __future__ import annotations

from nearer.datasets.generate import SyntheticData, make_comparisons, make_points
from nearer.datasets.load import (
    DistanceData,
    FeatureData,
    PictureData,
    load_cars,
    load_digits,
    load_eurodist,
    load_letters,
    load_materials,
    load_music,
)

__all__ = [
    "DistanceData", "FeatureData", "PictureData", "SyntheticData", "load_cars", "load_digits", "load_eurodist",
    "load_letters", "load_materials", "load_music", "make_comparisons", "make_points",
]  # fmt: skip
