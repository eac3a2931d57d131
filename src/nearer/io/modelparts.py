"""What of a model goes into a file: parameters as JSON, results as arrays; and back, with everything checked."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from nearer import estimator as _estimators
from nearer import solvers as _solvers
from nearer.data import Comparisons
from nearer.data.errors import FileFormatError
from nearer.estimator_base import BaseOrdinalEmbedding
from nearer.featuremap import FeatureMap
from nearer.losses import Loss, get_loss, loss_names
from nearer.solvers import History, HistoryRow, Result

__all__ = ["Arrays", "decode_estimator", "decode_feature_map", "encode_estimator", "encode_feature_map"]

Arrays = dict[str, np.ndarray]

# Nothing but these is ever made from a name in a file.
_CLASSES = {name: getattr(_estimators, name) for name in _estimators.__all__}
_PARTS = {
    name: getattr(_solvers, name)
    for name in ("Auto", "BB", "Constant", "Convex", "Decaying", "GD", "LBFGS", "SBB", "SGD", "SVRG")
}
_NOT_SAVED = ("callbacks",)


def encode_estimator(estimator: BaseOrdinalEmbedding, arrays: Arrays, with_comparisons: bool) -> dict[str, Any]:
    """Parameters and scalar results as JSON; arrays are added to `arrays`."""
    if _CLASSES.get(type(estimator).__name__) is not type(estimator):
        raise ValueError(f"save: {type(estimator).__name__} is not one of {', '.join(_CLASSES)}")
    result = estimator.result_
    arrays["embedding"] = _little(estimator.embedding_)
    arrays["result_embedding"] = _little(result.embedding)
    if estimator.labels_ is not None:
        arrays["labels"] = _little(estimator.labels_)
    for name, column in result.history.to_dict().items():
        arrays[f"history_{name}"] = np.array([math.nan if value is None else value for value in column], dtype="<f8")
    about: dict[str, Any] = {
        "class": type(estimator).__name__,
        "parameters": _encode_parameters(estimator.get_params(deep=False), arrays),
        "loss": _encode_value("loss_", estimator.loss_, arrays),
        "n_features_in": int(estimator.n_features_in_),
        "n_comparisons_at_start": int(estimator.n_comparisons_at_start_),
        "objective": _encode_float(float(estimator.objective_)),
        "n_iter": int(result.n_iter),
        "n_gradients": int(result.n_gradients),
        "converged": bool(result.converged),
        "message": str(result.message),
        "comparisons": None,
    }
    if with_comparisons and hasattr(estimator, "comparisons_"):
        data = estimator.comparisons_
        about["comparisons"] = {"n_objects": data.n_objects, "dropped": data.dropped}
        arrays["comparisons_index"] = _little(data.index)
        for name in ("weights", "participants"):
            if getattr(data, name) is not None:
                arrays[f"comparisons_{name}"] = _little(getattr(data, name))
    return about


def decode_estimator(about: dict[str, Any], arrays: Arrays) -> BaseOrdinalEmbedding:
    """A fitted estimator from what `encode_estimator` gave."""
    if about["class"] not in _CLASSES:
        raise FileFormatError(f"holds a {about['class']!r}, expected one of {', '.join(_CLASSES)}")
    parameters = {name: _decode_value(value, arrays) for name, value in about["parameters"].items()}
    estimator = _CLASSES[about["class"]](**parameters)
    loss = _decode_value(about["loss"], arrays)
    embedding, placed = arrays["embedding"], arrays["result_embedding"]
    known = np.isfinite(embedding).all(axis=1)
    _require(isinstance(loss, Loss), "the loss is missing")
    _require(embedding.ndim == 2 and embedding.dtype == np.float64, "the embedding is not a matrix of numbers")
    _require(bool((np.isnan(embedding).all(axis=1) | known).all()), "the embedding has rows that are not finite")
    _require(placed.shape == (int(known.sum()), embedding.shape[1]), "the two forms of the embedding do not match")
    labels = arrays.get("labels")
    _require(labels is None or labels.shape == (len(embedding),), "there is not one label for each object")
    estimator.embedding_ = embedding
    estimator.labels_ = labels
    estimator.n_objects_ = len(embedding)
    estimator.n_features_in_ = int(about["n_features_in"])
    estimator.n_comparisons_at_start_ = int(about["n_comparisons_at_start"])
    estimator.loss_ = loss
    estimator.objective_ = _decode_float(about["objective"])
    estimator.n_iter_ = int(about["n_iter"])
    estimator.history_ = _decode_history(arrays)
    estimator.result_ = Result(
        placed, estimator.objective_, estimator.n_iter_, int(about["n_gradients"]), bool(about["converged"]),
        str(about["message"]), estimator.history_,
    )  # fmt: skip
    if about["comparisons"] is not None:
        data = Comparisons(
            arrays["comparisons_index"],
            n_objects=int(about["comparisons"]["n_objects"]),
            weights=arrays.get("comparisons_weights"),
            labels=labels,
            participants=arrays.get("comparisons_participants"),
        )
        _require(data.n_objects == len(embedding), "the comparisons are not over the objects of the map")
        dropped = {str(reason): int(count) for reason, count in about["comparisons"]["dropped"].items()}
        estimator.comparisons_ = data._with(dropped=dropped)
    return estimator


def encode_feature_map(feature_map: FeatureMap, arrays: Arrays) -> dict[str, Any]:
    """Parameters and scalar results as JSON; arrays are added to `arrays`."""
    if type(feature_map) is not FeatureMap:
        raise ValueError(f"save: feature_map is a {type(feature_map).__name__}, expected a FeatureMap")
    if not hasattr(feature_map, "ridge_"):
        raise ValueError("save: the feature map is not fitted")
    arrays["features"] = _little(feature_map.ridge_.X_fit_)
    arrays["feature_coefficients"] = _little(feature_map.ridge_.dual_coef_)
    arrays["feature_offset"] = _little(feature_map.offset_)
    arrays["feature_objects"] = _little(feature_map.objects_)
    if hasattr(feature_map, "feature_names_in_"):
        arrays["feature_names"] = _little(feature_map.feature_names_in_.astype(str))
    return {
        "parameters": _encode_parameters(feature_map.get_params(deep=False), arrays),
        "gamma": feature_map.gamma_,
        "alpha": feature_map.alpha_,
        "one_column": feature_map._one_column,
    }


def decode_feature_map(about: dict[str, Any], arrays: Arrays) -> FeatureMap:
    """A fitted feature map from what `encode_feature_map` gave; the table of its cross-validation is not kept."""
    feature_map = FeatureMap(**{name: _decode_value(value, arrays) for name, value in about["parameters"].items()})
    features, coefficients = arrays["features"], arrays["feature_coefficients"]
    offset, objects = arrays["feature_offset"], arrays["feature_objects"]
    _require(
        features.ndim == 2
        and coefficients.shape == (len(features), len(offset))
        and objects.shape == (len(features),)
        and bool(np.isfinite(features).all() and np.isfinite(coefficients).all() and np.isfinite(offset).all()),
        "the arrays of the feature map do not match each other",
    )
    feature_map.gamma_, feature_map.alpha_ = float(about["gamma"]), float(about["alpha"])
    feature_map.offset_, feature_map.objects_ = offset, objects
    feature_map.cv_results_ = None
    feature_map._one_column = bool(about["one_column"])
    feature_map.n_features_in_ = features.shape[1]
    if "feature_names" in arrays:
        _require(arrays["feature_names"].shape == (features.shape[1],), "there is not one name for each feature")
        feature_map.feature_names_in_ = arrays["feature_names"].astype(object)
    ridge = KernelRidge(kernel="rbf", gamma=feature_map.gamma_, alpha=feature_map.alpha_)
    ridge.X_fit_, ridge.dual_coef_, ridge.n_features_in_ = features, coefficients, features.shape[1]
    feature_map.ridge_ = ridge
    return feature_map


def _encode_parameters(parameters: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    return {name: _encode_value(name, value, arrays) for name, value in parameters.items() if name not in _NOT_SAVED}


def _encode_value(name: str, value: Any, arrays: Arrays) -> Any:
    """A parameter as JSON: a plain value, or a one-key object that says what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return _encode_float(value)
    if isinstance(value, dict):
        return {"dict": {str(key): _encode_value(f"{name}.{key}", item, arrays) for key, item in value.items()}}
    if isinstance(value, Loss) and value.name in loss_names():
        return {
            "loss": [value.name, {f.name: _encode_value(f.name, getattr(value, f.name), arrays) for f in fields(value)}]
        }
    if is_dataclass(value) and _PARTS.get(type(value).__name__) is type(value):
        parts = {f.name: _encode_value(f"{name}.{f.name}", getattr(value, f.name), arrays) for f in fields(value)}
        return {"part": [type(value).__name__, parts]}
    if isinstance(value, (np.ndarray, list, tuple)) and np.asarray(value).dtype.kind in "bif":
        arrays[f"parameter_{name}"] = _little(np.asarray(value))
        return {"array": f"parameter_{name}"}
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        warnings.warn(f"save: the state of {name} is not kept; loaded, it is None", stacklevel=6)
        return None
    raise ValueError(f"save: {name} is {value!r}, which cannot be written to a file")


def _decode_value(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return _decode_float(value)
    if kind == "dict":
        return {key: _decode_value(item, arrays) for key, item in content.items()}
    if kind == "array":
        return arrays[content]
    name, parts = content
    parts = {key: _decode_value(item, arrays) for key, item in parts.items()}
    if kind == "loss":
        return get_loss(name, **parts)
    if kind == "part" and name in _PARTS:
        return _PARTS[name](**parts)
    raise FileFormatError(f"holds a parameter of unknown kind {kind!r} {name!r}")


def _encode_float(value: float) -> Any:
    """JSON has no infinities and no NaN."""
    return value if math.isfinite(value) else {"float": str(value)}


def _decode_float(value: Any) -> float:
    return float(value["float"] if isinstance(value, dict) else value)


def _decode_history(arrays: Arrays) -> History:
    columns: dict[str, list[Any]] = {}
    for field in fields(HistoryRow):
        whole = field.type == "int"
        values = arrays[f"history_{field.name}"].tolist()
        columns[field.name] = [None if math.isnan(value) else int(value) if whole else value for value in values]
    _require(len({len(column) for column in columns.values()}) == 1, "the columns of the history differ in length")
    return History(HistoryRow(**dict(zip(columns, row))) for row in zip(*columns.values()))


def _little(array: np.ndarray) -> np.ndarray:
    """The array in C order and little-endian, the same bytes on every machine."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "O":
        array = array.astype(str)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise FileFormatError(otherwise)
