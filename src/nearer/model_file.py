"""A fitted map in a file: arrays and JSON in an archive (`nearer.archive`), no code.

The header holds class and parameters of the estimator, scalar results and the parameters of the feature map. Format 2
holds the answers that the comparisons come from; format 1 held the details of an answer for each comparison.
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
from sklearn.utils.validation import check_is_fitted

from nearer.archive import Arrays, as_json, from_json, little_endian, read_archive, write_archive
from nearer.data import Answers, Comparisons, Flow, check_bool
from nearer.data.answers import DETAILS
from nearer.data.coded import Coded
from nearer.featuremap import FeatureMap, kernel_ridge
from nearer.io import atomic_write
from nearer.lapse_rates import Reliability
from nearer.losses import Loss, get_loss
from nearer.registry import LOSSES, SOLVERS
from nearer.solvers import BB, SBB, Constant, Decaying, History, HistoryRow, Result
from nearer.warning_types import ReproducibilityWarning

FORMAT = 2
_KIND = "model"
_HOMES = ("nearer.estimator", "nearer.shortcuts")  # of the classes that are saved
_CODED = ("kind", "participant", "chosen_by")  # fields of answers that are codes of names
_OF_RESULT: dict[str, Any] = {"n_iter": int, "n_gradients": int, "converged": bool, "message": str}

# A name in a file can only create an object of these classes.
_SOLVERS = (entry.load() for entry in SOLVERS.values())
_PARTS: dict[str, Any] = {part.__name__: part for part in (BB, Constant, Decaying, SBB, *_SOLVERS)}
# Parameters of older versions that change nothing in a fitted map.
_GONE = {
    "SVRG": ("first_snapshot", "warm_up"),
    "Decaying": ("power",),
    "Auto": ("step", "growth", "batch_tol", "memory", "warm_up", "first_batch", "shrinkage", "smoothing"),
}


def save_model(
    estimator: Any, path: str | os.PathLike[str], force: bool, feature_map: Any, with_comparisons: bool
) -> None:
    """Write a fitted estimator to a file: `OrdinalEmbedding.save`."""
    check_is_fitted(estimator, "embedding_")
    if type(estimator).__module__ not in _HOMES:
        raise ValueError(f"save: got {type(estimator).__name__}, expected an estimator of nearer, not a subclass")
    check_bool(with_comparisons, "with_comparisons")
    feature_map = getattr(estimator, "feature_map_", None) if feature_map is None else feature_map
    parameters = estimator.get_params(deep=False)
    lost = ["callbacks"] if parameters.pop("callbacks") is not None else []
    if isinstance(parameters["random_state"], (np.random.Generator, np.random.RandomState)):
        parameters["random_state"] = None
        lost.append("the state of random_state")
    arrays: Arrays = {}
    header = {
        "estimator": _encode_estimator(estimator, parameters, arrays, with_comparisons),
        "feature_map": None if feature_map is None else _encode_feature_map(feature_map, arrays),
    }
    for what in lost:
        warnings.warn(f"save: {what} cannot be written to a file", ReproducibilityWarning, stacklevel=3)
    with atomic_write(path, force) as file:
        write_archive(file, _KIND, FORMAT, header, arrays)


def read_model(path: Path) -> tuple[str, dict[str, Any], tuple, tuple, dict[str, Any]]:
    """The class of a saved estimator, its parameters, arguments for its map and its result, and other attributes."""
    with path.open("rb") as file:
        header, arrays = read_archive(file, _KIND, FORMAT)
    about, labels = header["estimator"], arrays.get("labels")
    n_objects, n_components = arrays["embedding"].shape
    if not n_components or (labels is not None and labels.shape != (n_objects,)):
        raise ValueError("labels and objects differ in number")
    fitted: dict[str, Any] = {"n_comparisons_at_start_": int(about["n_comparisons_at_start"])}
    fitted["reliability_"] = _decode_reliability(arrays)
    fitted["penalty_"] = None if about.get("penalty") is None else float(about["penalty"])
    fitted["scale_"] = float(about.get("scale", 1.0))
    if about["comparisons"] is not None:
        fitted["comparisons_"] = found = _decode_comparisons(about["comparisons"], labels, arrays)
        if found.n_objects != n_objects:
            raise ValueError("the map and the comparisons differ in their number of objects")
    if header["feature_map"] is not None:
        fitted["feature_map_"] = _decode_feature_map(header["feature_map"], arrays)
    of_map = arrays["embedding"], labels, _decode({"loss": about["loss"]}, arrays)["loss"]
    result = Result(
        arrays["result_embedding"],
        float(from_json(about["objective"], arrays)),
        history=_decode_history(arrays),
        **{name: kind(about[name]) for name, kind in _OF_RESULT.items()},
    )
    parameters = _decode(about["parameters"], arrays)
    return about["class"], parameters, of_map, (result, int(about["n_features_in"])), fitted


def _encode_estimator(
    estimator: Any, parameters: dict[str, Any], arrays: Arrays, with_comparisons: bool
) -> dict[str, Any]:
    """Parameters and scalar results as JSON; arrays are added to `arrays`."""
    result = estimator.result_
    _put(arrays, "", {"embedding": estimator.embedding_, "result_embedding": result.embedding})
    _put(arrays, "", {"labels": estimator.labels_})
    for name, column in result.history.to_dict().items():
        arrays[f"history_{name}"] = np.array(column, dtype="<f8")  # NaN for None
    about: dict[str, Any] = {
        "class": type(estimator).__name__,
        "parameters": _encode(parameters, arrays),
        **_encode({"loss": estimator.loss_}, arrays),
        "n_features_in": int(estimator.n_features_in_),
        "n_comparisons_at_start": int(estimator.n_comparisons_at_start_),
        "objective": as_json(float(estimator.objective_), arrays),
        **{name: kind(getattr(result, name)) for name, kind in _OF_RESULT.items()},
        "comparisons": None,
    }
    if (penalty := getattr(estimator, "penalty_", None)) is not None:
        about |= {"penalty": penalty, "scale": estimator.scale_}
    if getattr(estimator, "reliability_", None) is not None:
        _put(arrays, "reliability_", vars(estimator.reliability_))
    if with_comparisons and hasattr(estimator, "comparisons_"):
        data = estimator.comparisons_
        counts = {"n_objects": data.n_objects, "dropped": data.dropped, "n_answers": len(data.answers)}
        if data.flow != data.answers.flow(data.n_answers, data.dropped):  # else as in files of earlier versions
            counts["flow"] = data.flow.to_dict()
        about["comparisons"] = counts
        _put(arrays, "comparisons_", {"index": data.index, "weights": data.weights, "answer": data.answer})
        for name, values in {"kind": data.answers.kind, **data.answers.known()}.items():
            if isinstance(values, str):
                about["comparisons"]["kind"] = values
            elif isinstance(values, Coded):
                _put(arrays, "answers_", {name: values.codes, f"{name}_names": values.names})
            else:
                _put(arrays, "answers_", {name: values})
    return about


def _decode_comparisons(about: dict[str, Any], labels: np.ndarray | None, arrays: Arrays) -> Comparisons:
    """Comparisons and the answers they come from; in format 1 every comparison is one answer."""
    dropped = {str(reason): int(count) for reason, count in about["dropped"].items()}
    made = arrays["comparisons_index"], int(about["n_objects"]), arrays.get("comparisons_weights"), labels
    if "n_answers" not in about:
        people: Any = _decode_coded(arrays, "comparisons_person", "comparisons_people")
        details: dict[str, Any] = {name: arrays.get(f"comparisons_{name}") for name in DETAILS}
        details["chosen_by"] = _decode_coded(arrays, "comparisons_chosen_by", "comparisons_ways")
        # version 0.1.0 wrote a name for every row
        people = arrays.get("comparisons_participants") if people is None else people
        return Comparisons(*made, participants=people, details=details).replaced(dropped=dropped, flow=None)
    found: dict[str, Any] = {name: arrays.get(f"answers_{name}") for name in ("votes", *DETAILS)}
    found |= {name: _decode_coded(arrays, f"answers_{name}", f"answers_{name}_names") for name in _CODED}
    kind = found.pop("kind") or about["kind"]
    answers, answer = Answers(kind, int(about["n_answers"]), **found), arrays.get("comparisons_answer")
    _check_counts(answers, answer, len(arrays["comparisons_index"]))
    flow = None if "flow" not in about else Flow.from_dict(about["flow"])
    return Comparisons(*made).replaced(answers=answers, answer=answer, dropped=dropped, flow=flow)


def _check_counts(answers: Answers, answer: np.ndarray | None, n_comparisons: int) -> None:
    """Refuse counts that disagree with the arrays: memory is allocated by them later."""
    known = [*answers.known().values(), *([answers.kind] if isinstance(answers.kind, Coded) else [])]
    if any(len(values) != len(answers) for values in known):
        raise ValueError("the columns on answers differ in length")
    if answer is None:
        is_right = len(answers) == n_comparisons
    else:
        # Only attention checks, marked in a separate array, may be answers without comparisons.
        is_right = answer.shape == (n_comparisons,) and (bool(known) or len(answers) <= n_comparisons)
        _check_codes(answer, len(answers))
    if not is_right:
        raise ValueError("comparisons and answers differ in number")


def _check_codes(codes: np.ndarray, limit: int) -> None:
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or (len(codes) and not 0 <= codes.min() <= codes.max() < limit):
        raise ValueError(f"got codes of dtype {codes.dtype}, shape {codes.shape}, expected numbers below {limit}")


def _encode_feature_map(feature_map: FeatureMap, arrays: Arrays) -> dict[str, Any]:
    if type(feature_map) is not FeatureMap:
        raise ValueError(f"save: feature_map is a {type(feature_map).__name__}, expected a FeatureMap")
    check_is_fitted(feature_map, "ridge_")
    arrays["features"] = little_endian(feature_map.ridge_.X_fit_)
    found = {"coefficients": feature_map.ridge_.dual_coef_, "offset": feature_map.offset_}
    _put(arrays, "feature_", found | {"names": getattr(feature_map, "feature_names_in_", None)})
    return {
        "parameters": _encode(feature_map.get_params(deep=False), arrays),
        "gamma": feature_map.gamma_,
        "alpha": feature_map.alpha_,
    }


def _decode_feature_map(about: dict[str, Any], arrays: Arrays) -> FeatureMap:
    """A fitted feature map, without the table of its cross-validation."""
    feature_map = FeatureMap(**_decode(about["parameters"], arrays))
    feature_map.gamma_, feature_map.alpha_ = float(about["gamma"]), float(about["alpha"])
    feature_map.offset_, feature_map.cv_results_ = arrays["feature_offset"], None
    features, coefficients = arrays["features"], arrays["feature_coefficients"]
    if about.get("one_column"):  # older versions kept the places as a column
        coefficients = coefficients[:, 0]
    if "feature_names" in arrays:
        feature_map.feature_names_in_ = arrays["feature_names"].astype(object)
    ridge = kernel_ridge(gamma=feature_map.gamma_, alpha=feature_map.alpha_)
    ridge.X_fit_, ridge.dual_coef_ = features, coefficients
    ridge.n_features_in_ = feature_map.n_features_in_ = features.shape[1]
    feature_map.ridge_ = ridge
    return feature_map


def _put(arrays: Arrays, prefix: str, found: Mapping[str, np.ndarray | None]) -> None:
    for name, array in found.items():
        if array is not None:
            arrays[f"{prefix}{name}"] = little_endian(array)


def _encode(values: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Parameters as JSON: plain values, or one-key objects that say what they are."""

    def part(value: Any) -> dict[str, Any]:
        if isinstance(value, Loss) and value.name in LOSSES:
            return {"loss": [value.name, _encode(value.parameters, arrays)]}
        if _PARTS.get(type(value).__name__) is type(value):
            return {"part": [type(value).__name__, _encode(value.get_params(deep=False), arrays)]}
        raise ValueError(f"save: got {value!r}, which cannot be written to a file")

    return {name: as_json(value, arrays, part) for name, value in values.items()}


def _decode(values: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    def part(kind: str, content: Any) -> Any:
        name, parts = content
        if kind == "loss":
            return get_loss(name, **_decode(parts, arrays))
        gone = _GONE.get(name, ())
        kept = {key: value for key, value in parts.items() if key not in gone}
        return _PARTS[name](**_decode(kept, arrays))

    return {name: from_json(value, arrays, part) for name, value in values.items()}


def _decode_history(arrays: Arrays) -> History:
    columns: dict[str, list[Any]] = {}
    for field in fields(HistoryRow):
        name = f"history_{field.name}"
        if name in arrays or field.default is not None:  # None: a column that older versions did not have
            if arrays[name].ndim != 1:
                raise ValueError(f"{name}: got shape {arrays[name].shape}, expected a column")
            values, kind = arrays[name].tolist(), int if field.type == "int" else float
            columns[field.name] = [None if math.isnan(value) else kind(value) for value in values]
    return History(HistoryRow(**dict(zip(columns, row))) for row in zip(*columns.values(), strict=True))


def _decode_coded(arrays: Arrays, codes: str, names: str) -> Coded | None:
    if codes not in arrays:
        return None
    _check_codes(arrays[codes], len(arrays[names]))
    return Coded(arrays[codes], _text(arrays[names]))


def _decode_reliability(arrays: Arrays) -> Reliability | None:
    names = [field.name for field in fields(Reliability)]
    if not all(f"reliability_{name}" in arrays for name in names):
        return None
    return Reliability(**{name: _text(arrays[f"reliability_{name}"]) for name in names})


def _text(array: np.ndarray) -> np.ndarray:
    """An array in its form in memory, where text is held as objects."""
    return array.astype(object) if array.dtype.kind == "U" else array
