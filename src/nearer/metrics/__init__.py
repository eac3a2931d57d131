"""How good is a map: comparisons satisfied, calibration, agreement of shapes, neighbours."""

from __future__ import annotations

from nearer.metrics.answer_law import AnswerLaw, fit_answer_law
from nearer.metrics.by_answer import answer_accuracy, chance_level
from nearer.metrics.comparison import (
    Calibration,
    WorstComparisons,
    calibration,
    comparison_accuracy,
    comparison_distances,
    comparison_error,
    log_loss,
    log_ratio,
    wilson_interval,
    worst_comparisons,
)
from nearer.metrics.neighbours import nearest_neighbours
from nearer.metrics.procrustes import (
    MapComparison,
    Similarity,
    compare_maps,
    fit_procrustes,
    principal_axes,
    procrustes_align,
    procrustes_distance,
    spread_shares,
)
from nearer.metrics.retrieval import RetrievalScores, retrieval_scores

__all__ = [
    "AnswerLaw", "Calibration", "MapComparison", "RetrievalScores", "Similarity", "WorstComparisons",
    "answer_accuracy", "calibration", "chance_level", "compare_maps", "comparison_accuracy", "comparison_distances",
    "comparison_error", "fit_answer_law", "fit_procrustes", "log_loss", "log_ratio", "nearest_neighbours",
    "principal_axes", "procrustes_align", "procrustes_distance", "retrieval_scores", "spread_shares",
    "wilson_interval", "worst_comparisons",
]  # fmt: skip
