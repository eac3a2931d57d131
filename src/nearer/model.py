"""A fitted map in a file: arrays and JSON in an archive (`nearer.io.files`), no code, every byte under a checksum.

The header of format 1 holds class and parameters of the estimator, scalar results and the feature map's parameters.
A file written with intent can at worst give a wrong map.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from nearer import estimator as _estimators
from nearer import solvers as _solvers
from nearer.data import Comparisons, Details, check_bool
from nearer.estimator import OrdinalEmbedding
from nearer.featuremap import FeatureMap, kernel_ridge
from nearer.io import FileFormatError, atomic_write
from nearer.io.files import Arrays, as_json, from_json, little_endian, read_archive, refuse_irregular, write_archive
from nearer.lapses import Reliability
from nearer.losses import Loss, get_loss
from nearer.registry import LOSSES, SOLVERS, STEP_SIZES
from nearer.solvers import History, HistoryRow, Result
from nearer.solvers.base import Parameters
from nearer.warning_types import ReproducibilityWarning

__all__ = ["FORMAT", "load", "save_model"]

FORMAT = 1
_KIND = "model"
_OF_RESULT: dict[str, Any] = {"n_iter": int, "n_gradients": int, "converged": bool, "message": str}

# Nothing but these is ever made from a name in a file.
_CLASSES = {name: getattr(_estimators, name) for name in _estimators.__all__}
_PARTS = {one.class_name: getattr(_solvers, one.class_name) for one in (*SOLVERS.values(), *STEP_SIZES.values())}


def save_model(
    estimator: OrdinalEmbedding, path: str | os.PathLike[str], force: bool, feature_map: Any, with_comparisons: bool
) -> None:
    """Write a fitted estimator to a file: `OrdinalEmbedding.save`."""
    if not hasattr(estimator, "embedding_"):
        raise ValueError("save: the estimator is not fitted")
    check_bool(with_comparisons, "with_comparisons")
    feature_map = getattr(estimator, "feature_map_", None) if feature_map is None else feature_map
    arrays: Arrays = {}
    header = {
        "estimator": _encode_estimator(estimator, arrays, with_comparisons),
        "feature_map": None if feature_map is None else _encode_feature_map(feature_map, arrays),
    }
    if estimator.callbacks is not None:
        told = "save: callbacks cannot be written to a file and are left out"
        warnings.warn(told, ReproducibilityWarning, stacklevel=3)
    with atomic_write(path, force) as file:
        write_archive(file, _KIND, FORMAT, header, arrays)


def load(path: str | os.PathLike[str]) -> OrdinalEmbedding:
    """Read a map that `OrdinalEmbedding.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    OrdinalEmbedding
        Of the class that was saved, fitted, ready to score, place and be fitted further. A feature map saved with it
        is its ``feature_map_``.

    Raises
    ------
    ValueError
        The file is not such a file, is from a newer version, or is damaged; the message names the file.
    """
    path = Path(path)
    refuse_irregular(path)
    try:
        with path.open("rb") as file:
            header, arrays = read_archive(file, _KIND, FORMAT)
        estimator = _decode_estimator(header["estimator"], arrays)
        if header["feature_map"] is not None:
            estimator.feature_map_ = _decode_feature_map(header["feature_map"], arrays)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        # The checksums were right, so the file was written wrong: by other hands, or by a version with a fault.
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{path}: does not hold what a model of format {FORMAT} must ({reason})") from error
    return estimator


def _encode_estimator(estimator: OrdinalEmbedding, arrays: Arrays, with_comparisons: bool) -> dict[str, Any]:
    """Parameters and scalar results as JSON; arrays are added to `arrays`."""
    if _CLASSES.get(type(estimator).__name__) is not type(estimator):
        raise ValueError(f"save: {type(estimator).__name__} is not one of {', '.join(_CLASSES)}")
    result, parameters = estimator.result_, estimator.get_params(deep=False)
    del parameters["callbacks"]
    found = {"embedding": estimator.embedding_, "result_embedding": result.embedding, "labels": estimator.labels_}
    _put(arrays, "", found)
    for name, column in result.history.to_dict().items():
        arrays[f"history_{name}"] = np.array(column, dtype="<f8")  # NaN for None
    about: dict[str, Any] = {
        "class": type(estimator).__name__,
        "parameters": _encode_each(parameters, arrays),
        "loss": _encode_value("loss_", estimator.loss_, arrays),
        "n_features_in": int(estimator.n_features_in_),
        "n_comparisons_at_start": int(estimator.n_comparisons_at_start_),
        "objective": as_json(float(estimator.objective_), arrays),
        **{name: kind(getattr(result, name)) for name, kind in _OF_RESULT.items()},
        "comparisons": None,
    }
    if getattr(estimator, "reliability_", None) is not None:
        _put(arrays, "reliability_", vars(estimator.reliability_))
    if with_comparisons and hasattr(estimator, "comparisons_"):
        data = estimator.comparisons_
        about["comparisons"] = {"n_objects": data.n_objects, "dropped": data.dropped}
        columns: dict[str, Any] = {"index": data.index, "weights": data.weights}
        if data.people is not None:
            columns |= {"person": data.people.codes, "people": data.people.names}
        columns |= {} if data.details is None else data.details.known()
        if "chosen_by" in columns:
            columns |= {"chosen_by": columns["chosen_by"].codes, "ways": columns["chosen_by"].names}
        _put(arrays, "comparisons_", columns)
    return about


def _decode_estimator(about: dict[str, Any], arrays: Arrays) -> OrdinalEmbedding:
    """A fitted estimator from what `_encode_estimator` gave."""
    _require(about["class"] in _CLASSES, f"holds a {about['class']!r}, expected one of {', '.join(_CLASSES)}")
    parameters = _decode_each(about["parameters"], arrays)
    if about["class"] != "OrdinalEmbedding":
        parameters |= parameters.pop("loss_params", None) or {}  # version 0.1.0 had them apart for every class
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
    objective = float(from_json(about["objective"], arrays))
    known_of = {name: kind(about[name]) for name, kind in _OF_RESULT.items()}
    result = Result(placed, objective, history=_decode_history(arrays), **known_of)
    estimator._take(embedding, labels, int(about["n_features_in"]), loss, result)
    estimator.n_comparisons_at_start_ = int(about["n_comparisons_at_start"])
    estimator.reliability_ = _decode_reliability(arrays)
    if about["comparisons"] is not None:
        names = [field.name for field in fields(Details) if f"comparisons_{field.name}" in arrays]
        details = {name: arrays[f"comparisons_{name}"] for name in names}
        details["chosen_by"] = _named(arrays, "chosen_by", "ways", "the ways questions were chosen")
        data = Comparisons(
            arrays["comparisons_index"],
            n_objects=int(about["comparisons"]["n_objects"]),
            weights=arrays.get("comparisons_weights"),
            labels=labels,
            participants=_named(arrays, "person", "people", "the participants"),
            details=details,
        )
        _require(data.n_objects == len(embedding), "the comparisons are not over the objects of the map")
        dropped = {str(reason): int(count) for reason, count in about["comparisons"]["dropped"].items()}
        estimator.comparisons_ = data._with(dropped=dropped)
    return estimator


def _encode_feature_map(feature_map: FeatureMap, arrays: Arrays) -> dict[str, Any]:
    """Parameters and scalar results as JSON; arrays are added to `arrays`."""
    if type(feature_map) is not FeatureMap:
        raise ValueError(f"save: feature_map is a {type(feature_map).__name__}, expected a FeatureMap")
    if not hasattr(feature_map, "ridge_"):
        raise ValueError("save: the feature map is not fitted")
    arrays["features"] = little_endian(feature_map.ridge_.X_fit_)
    found = {"coefficients": feature_map.ridge_.dual_coef_, "offset": feature_map.offset_}
    found |= {"objects": feature_map.objects_, "names": getattr(feature_map, "feature_names_in_", None)}
    _put(arrays, "feature_", found)
    return {
        "parameters": _encode_each(feature_map.get_params(deep=False), arrays),
        "gamma": feature_map.gamma_,
        "alpha": feature_map.alpha_,
        "one_column": feature_map._one_column,
    }


def _decode_feature_map(about: dict[str, Any], arrays: Arrays) -> FeatureMap:
    """A fitted feature map from what `_encode_feature_map` gave; the table of its cross-validation is not kept."""
    feature_map = FeatureMap(**_decode_each(about["parameters"], arrays))
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
    ridge = kernel_ridge(gamma=feature_map.gamma_, alpha=feature_map.alpha_)
    ridge.X_fit_, ridge.dual_coef_, ridge.n_features_in_ = features, coefficients, features.shape[1]
    feature_map.ridge_ = ridge
    return feature_map


def _put(arrays: Arrays, prefix: str, found: Mapping[str, np.ndarray | None]) -> None:
    """Add arrays by their names, those that are there."""
    arrays |= {f"{prefix}{name}": little_endian(array) for name, array in found.items() if array is not None}


def _encode_each(values: Mapping[str, Any], arrays: Arrays, within: str = "") -> dict[str, Any]:
    encoded = {}
    for name, value in values.items():  # a comprehension would be one more frame between a warning and its cause
        encoded[str(name)] = _encode_value(f"{within}{name}", value, arrays)
    return encoded


def _encode_value(name: str, value: Any, arrays: Arrays) -> Any:
    """A parameter as JSON: a plain value, or a one-key object that says what it is."""
    if value is None or isinstance(value, (bool, int, float, str, np.bool_, np.integer, np.floating)):
        return as_json(value, arrays)
    if isinstance(value, dict):
        return {"dict": _encode_each(value, arrays, f"{name}.")}
    if isinstance(value, Loss) and value.name in LOSSES:
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"loss": [value.name, _encode_each(own, arrays)]}
    if isinstance(value, Parameters) and _PARTS.get(type(value).__name__) is type(value):
        return {"part": [type(value).__name__, _encode_each(value.get_params(deep=False), arrays, f"{name}.")]}
    if isinstance(value, (np.ndarray, list, tuple)) and np.asarray(value).dtype.kind in "bif":
        arrays[f"parameter_{name}"] = little_endian(np.asarray(value))
        return {"array": f"parameter_{name}"}
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        told = f"save: the state of {name} is not kept; loaded, it is None"
        warnings.warn(told, ReproducibilityWarning, stacklevel=6)
        return None
    raise ValueError(f"save: {name} is {value!r}, which cannot be written to a file")


def _decode_each(values: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    return {name: _decode_value(value, arrays) for name, value in values.items()}


def _decode_value(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in ("float", "array"):
        return from_json(value, arrays)
    if kind == "dict":
        return _decode_each(content, arrays)
    name, parts = content
    if kind == "loss":
        return get_loss(name, **_decode_each(parts, arrays))
    if kind == "part" and name in _PARTS:
        return _PARTS[name](**_decode_each(parts, arrays))
    raise FileFormatError(f"holds a parameter of unknown kind {kind!r} {name!r}")


def _decode_history(arrays: Arrays) -> History:
    columns: dict[str, list[Any]] = {}
    for field in fields(HistoryRow):
        whole, name = field.type == "int", f"history_{field.name}"
        if name not in arrays and field.default is None:
            continue  # a column that older versions did not have
        values = arrays[name].tolist()
        columns[field.name] = [None if math.isnan(value) else int(value) if whole else value for value in values]
    _require(len({len(column) for column in columns.values()}) == 1, "the columns of the history differ in length")
    return History(HistoryRow(**dict(zip(columns, row))) for row in zip(*columns.values()))


def _named(arrays: Arrays, codes_in: str, names_in: str, what: str) -> Any:
    """Who answered, as codes and names; version 0.1.0 wrote a name for every row."""
    if f"comparisons_{codes_in}" not in arrays:
        return arrays.get("comparisons_participants") if codes_in == "person" else None
    codes, names = arrays[f"comparisons_{codes_in}"], arrays[f"comparisons_{names_in}"]
    known = codes.dtype == np.int32 and (not codes.size or (codes.min() >= 0 and codes.max() < len(names)))
    _require(known, f"the codes of {what} do not match their names")
    return (names.astype(object) if names.dtype.kind == "U" else names)[codes]


def _decode_reliability(arrays: Arrays) -> Reliability | None:
    """How often each participant guesses, where the model was fitted with that."""
    names = [field.name for field in fields(Reliability)]
    if not all(f"reliability_{name}" in arrays for name in names):
        return None
    found = {name: arrays[f"reliability_{name}"] for name in names}
    _require(len({values.shape for values in found.values()}) == 1, "the reliability of people is not one for each")
    if found["participants"].dtype.kind == "U":
        found["participants"] = found["participants"].astype(object)
    return Reliability(**found)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise FileFormatError(otherwise)
