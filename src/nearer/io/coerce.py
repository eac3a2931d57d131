"""`as_comparisons`: the data that a function or estimator is given, as `Comparisons`."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.data import Comparisons
from nearer.data.coded import column_of
from nearer.data.validate import check_objects, check_weights
from nearer.io.frames import as_table, is_table, refuse_other_order
from nearer.io.read import ReadResult, read_comparisons, read_table, warn_dropped
from nearer.tables.layout import Layout
from nearer.tables.resolve import resolve

logger = logging.getLogger(__name__)


def as_comparisons(X: Any, y: Any = None, sample_weight: Any = None, n_objects: int | None = None) -> Comparisons:
    """Comparisons from Comparisons, an array, a table or a file; y are answers, weights multiply the weights of X."""
    n_objects = check_objects(n_objects, None)[0]
    if not isinstance(X, Comparisons):
        if is_named(X):
            return _read(X, y, sample_weight, n_objects)
        if y is not None:
            return Comparisons.from_answers(X, y, n_objects=n_objects, weights=sample_weight)
        return Comparisons(X, n_objects=n_objects, weights=sample_weight)
    if n_objects is not None and n_objects != X.n_objects:
        if n_objects < X.n_objects or X.labels is not None:
            raise ValueError(f"n_objects: got {n_objects:,}, but the comparisons are over {X.n_objects:,} objects")
        X = X.replaced(n_objects=n_objects)
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(X))
        X = X.replaced(weights=weights if X.weights is None else check_weights(weights * X.weights, None))
    return X if y is None else Comparisons.from_answers(X, y)


def refuse_beside_file(y: Any, sample_weight: Any) -> None:
    if y is not None or sample_weight is not None:
        raise ValueError(
            "fit: got a file with y or sample_weight, expected columns of the file for them, such as answer and weight"
        )


def is_named(X: Any) -> bool:
    """Whether X calls objects by their labels even where they are numbers, as a table or a file does."""
    return not isinstance(X, Comparisons) and (isinstance(X, (str, os.PathLike)) or is_table(X))


def _read(X: Any, y: Any, sample_weight: Any, n_objects: int | None) -> Comparisons:
    if isinstance(X, (str, os.PathLike)):
        refuse_beside_file(y, sample_weight)
        result = read_comparisons(X, n_objects=n_objects)
    else:
        result = _read_beside(X, y, sample_weight, n_objects)
    warn_dropped(result.path, result.dropped)
    logger.info(result.understood)
    return result.comparisons


def _read_beside(X: Any, y: Any, sample_weight: Any, n_objects: int | None) -> ReadResult:
    table, layout = as_table(X), Layout()
    names, columns = list(table.names), list(table.columns)
    if y is not None:
        refuse_other_order(X, y, "y")
        answers = np.asarray(y)
        if answers.ndim == 2 and answers.shape[1] == 2:
            names, columns = [*names, "votes_a", "votes_b"], [*columns, answers[:, 0], answers[:, 1]]
        else:
            if answers.dtype.kind not in "biuf":
                raise ValueError(f"y: got dtype {answers.dtype}, expected +1 or -1, or bool")
            codes = {"True": "a", "1": "a", "False": "b", "-1": "b"}
            names, columns = [*names, "y"], [*columns, answers.reshape(-1)]
            layout = layout.updated(Layout(answer=len(names), answers=codes))
    if sample_weight is not None:
        refuse_other_order(X, sample_weight, "sample_weight")
        weights = check_weights(sample_weight, None)
        at = resolve(table, layout).at.get("weight") if y is None else None
        if at is not None:
            weights = weights * column_of(table.read([at])[at]).as_numbers()[0]
        names, columns = [*names, "sample_weight"], [*columns, weights]
        layout = layout.updated(Layout(weight=len(names)))
    return read_table(replace(table, names=names, columns=columns), (layout,), n_objects=n_objects)
