"""Comparisons: the data, checked once."""

from __future__ import annotations

from nearer.comparisons.core import Comparisons, as_comparisons
from nearer.comparisons.report import CheckReport

__all__ = ["CheckReport", "Comparisons", "as_comparisons"]
