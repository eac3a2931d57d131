"""Data to try things on: bundled, read from a folder, and generated."""

from __future__ import annotations

from nearer.datasets.generate import (
    RetrievalProblem,
    SyntheticData,
    make_comparisons,
    make_points,
    make_table1,
    retrieval_problem,
)
from nearer.datasets.load import (
    DistanceData,
    FeatureData,
    load_digits,
    load_eurodist,
    load_letters,
    load_materials,
    load_music,
    load_music_genres,
    load_sun,
)

__all__ = [
    "DistanceData",
    "FeatureData",
    "RetrievalProblem",
    "SyntheticData",
    "load_digits",
    "load_eurodist",
    "load_letters",
    "load_materials",
    "load_music",
    "load_music_genres",
    "load_sun",
    "make_comparisons",
    "make_points",
    "make_table1",
    "retrieval_problem",
]
