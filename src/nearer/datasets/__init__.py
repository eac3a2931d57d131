"""Example data: bundled, or generated."""

from __future__ import annotations

from nearer.datasets.generate import SyntheticData, make_comparisons, make_points
from nearer.datasets.load import DistanceData, PictureData, load_cars, load_eurodist

__all__ = [
    "DistanceData", "PictureData", "SyntheticData", "load_cars", "load_eurodist", "make_comparisons", "make_points",
]  # fmt: skip
