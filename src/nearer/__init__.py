"""Maps from comparisons: ordinal embedding from answers such as "i is nearer to j than to k"."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding
    from nearer.featuremap import FeatureMap
    from nearer.io import read_comparisons, write_comparisons
    from nearer.people import IndividualEmbedding
    from nearer.reports import write_report
    from nearer.shortcuts import CKL, GNMDS, SOE, STE, TSTE, load
    from nearer.tables import Layout

# Loaded on first use: the command line must answer --help without waiting for compilers and solvers.
_HOMES = dict.fromkeys(("CKL", "GNMDS", "SOE", "STE", "TSTE", "load"), "nearer.shortcuts") | {
    "Comparisons": "nearer.data",
    "FeatureMap": "nearer.featuremap",
    "IndividualEmbedding": "nearer.people",
    "Layout": "nearer.tables",
    "OrdinalEmbedding": "nearer.estimator",
    "read_comparisons": "nearer.io",
    "write_report": "nearer.reports",
    "write_comparisons": "nearer.io",
}

__all__ = [
    "CKL", "GNMDS", "SOE", "STE", "TSTE", "Comparisons", "FeatureMap", "IndividualEmbedding", "Layout",
    "OrdinalEmbedding", "__version__", "load", "read_comparisons", "write_comparisons", "write_report",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nearer' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
