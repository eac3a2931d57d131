"""What commands read beside answers: maps made before, and small tables of points, distances, classes, groups."""

from __future__ import annotations

import csv
import hashlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._options import read_answers
from nearer.cli._output import finish_moving
from nearer.cli._say import Say

if TYPE_CHECKING:
    import numpy as np

    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding

MODEL = "model.nearer"
_LABEL_HEADERS = {"", "label", "labels", "name", "object", "id"}


def open_map(path: str, loss: str | None = None) -> OrdinalEmbedding:
    """Open a fitted map: a model file, embedding.csv, or the folder that `nearer fit` wrote.

    `loss` is for coordinates alone, which do not say what loss they come from.
    """
    file = Path(path)
    if file.is_dir():
        finish_moving(file)
        there = [file / name for name in (MODEL, "embedding.csv") if (file / name).is_file()]
        if not there:
            raise ValueError(
                f"{path}: got a folder with neither {MODEL} nor embedding.csv, expected what nearer fit wrote"
            )
        file = there[0]
    if not file.exists():
        raise ValueError(f"{path}: no such file")
    if file.suffix.lower() == ".csv":
        return _from_coordinates(str(file), loss)
    if loss is not None:
        raise ValueError(f"{path}: knows its loss; --loss is for coordinates alone")
    import nearer

    return nearer.load(file)


def _from_coordinates(path: str, loss: str | None) -> OrdinalEmbedding:
    from nearer.estimator import OrdinalEmbedding
    from nearer.io import read_embedding
    from nearer.losses import get_loss

    embedding, labels = read_embedding(path)
    model = OrdinalEmbedding(embedding.shape[1], loss=loss or "tste")
    model.embedding_, model.labels_, model.n_objects_ = embedding, labels, len(embedding)
    if loss is not None:
        model.loss_ = get_loss(loss).resolve(embedding.shape[1])
    return model


def labels_of(model: OrdinalEmbedding) -> np.ndarray:
    """Return the names of the objects of a map, str (n_objects,); numbers where it has none."""
    return names_of(model.labels_, model.n_objects_)


def names_of(labels: Any, n_objects: int) -> np.ndarray:
    """Return the names of objects, str (n_objects,); numbers where there are no labels."""
    import numpy as np

    return np.arange(n_objects).astype(str) if labels is None else np.asarray(labels)


def read_for_map(say: Say, path: str, reading: dict[str, Any], model: OrdinalEmbedding) -> Comparisons:
    """Read answers about the objects of a map; both must call them by names, or both by numbers."""
    found, on_map = read_answers(say, path, reading).comparisons, model.labels_
    if on_map is None and found.labels is not None and not _are_numbers(found.labels):
        raise ValueError(f"{path}: names its objects, such as {str(found.labels[0])!r}, but the map has numbers only")
    if on_map is not None and found.labels is None and not _are_numbers(on_map):
        raise ValueError(f"{path}: calls its objects by numbers, but the map by names, such as {str(on_map[0])!r}")
    return found


def _are_numbers(labels: Any) -> bool:
    return all(str(label).isdecimal() for label in labels)


def read_groups(path: str | None, labels: np.ndarray) -> list[str] | None:
    """The group of each object of a map, "" for none, from a CSV file with the columns label, group."""
    if path is None:
        return None
    words, names = read_words(path)
    known = dict(zip(names.tolist(), words.tolist()))
    groups = [known.get(label, "") for label in labels.tolist()]
    if not known.keys() & set(labels.tolist()):
        raise ValueError(
            f"{path}: got objects such as {str(names[0])!r}, expected those of the map: {str(labels[0])!r}"
        )
    if not any(groups):
        raise ValueError(f"{path}: got no group for any object of the map, expected one for some of them")
    return groups


def read_summary(map_path: str, model: OrdinalEmbedding) -> dict[str, Any]:
    """What stands in the summary.json beside a map, with `cross_validation` as a CrossValidation; {} without one.

    A summary of another map, which lies beside this one because the model file was replaced or brought there, is left
    alone, with a warning.
    """
    from nearer.reporting import CrossValidation

    path = Path(map_path)
    file = (path if path.is_dir() else path.parent) / "summary.json"
    if path.suffix.lower() == ".csv" or not file.is_file():
        return {}
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        told = summary["result"]
        if "map" in told:
            is_other = told["map"] != fingerprint(model)
        else:  # written before it told this
            is_other = told["objective"] != getattr(model, "objective_", told["objective"])
        if is_other:
            warnings.warn(f"{file}: tells of another map than {map_path}, and is left aside", stacklevel=2)
            return {}
        if summary["cross_validation"] is not None:
            summary["cross_validation"] = CrossValidation(**summary["cross_validation"])
        return summary
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file}: is not a summary of nearer fit: {error}") from error


def fingerprint(model: OrdinalEmbedding) -> str:
    """A short text that tells a map from all others, by its coordinates to the bit."""
    import numpy as np

    X = np.asarray(model.embedding_, dtype="<f8")
    return hashlib.sha256(np.where(np.isnan(X), np.nan, X).tobytes()).hexdigest()[:16]


def read_numbers(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers (n_objects, n_columns) and labels, or None, from .npy, or CSV with a header and maybe labels first."""
    import numpy as np

    if path.lower().endswith(".npy"):
        return _npy(path), None
    header, lines, rows = _csv(path)
    named = header[0].strip().casefold() in _LABEL_HEADERS or not all(_is_number(row[0]) for row in rows)
    first = 1 if named else 0
    if len(header) == first:
        raise ValueError(f"{path}, line 1: got {header[0]!r} alone, expected a column of numbers too")
    if not named and all(_is_number(cell) for cell in header):
        raise ValueError(f"{path}, line 1: got the numbers {header[:4]}, expected names of columns")
    values = np.empty((len(rows), len(header) - first))
    for spot, (line, row) in enumerate(zip(lines, rows)):
        for column in range(first, len(header)):
            try:
                values[spot, column - first] = float(row[column])
            except ValueError:
                where = f"{path}, line {line}, column {header[column]!r}"
                raise ValueError(f"{where}: got {row[column]!r}, expected a number") from None
    return values, _labels(path, [row[0] for row in rows]) if named else None


def read_distances(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Distances (n, n) and labels, or None, from .npy or CSV with the labels in the first line and column."""
    if path.lower().endswith(".npy"):
        return _npy(path), None
    header, _, _ = _csv(path)
    values, labels = read_numbers(path)
    if len(values) != values.shape[1]:
        raise ValueError(
            f"{path}: got {len(values)} rows and {values.shape[1]} columns of distances, expected a square"
        )
    if labels is not None and [name.strip() for name in header[1:]] != [name.strip() for name in labels.tolist()]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    return values, labels


def read_words(path: str, column: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """One word for each object, such as its class, and labels, from a CSV file with the labels in the first column.

    The words are those of the column named, else of the second.
    """
    import numpy as np

    header, _, rows = _csv(path)
    if len(header) < 2:
        raise ValueError(f"{path}, line 1: got one column, {header[0]!r}, expected a label and a word")
    if column is not None and column not in header[1:]:
        raise ValueError(f"{path}, line 1: got the columns {', '.join(header[1:])}, expected {column!r} among them")
    at = 1 if column is None else header.index(column, 1)
    return np.array([row[at] for row in rows]), _labels(path, [row[0] for row in rows])


def _npy(path: str) -> np.ndarray:
    """A table of numbers from a .npy file, float64 (n, m)."""
    import numpy as np

    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{path}: is not a NumPy file of numbers: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(f"{path}: got {values.dtype} of shape {values.shape}, expected numbers in 2 dimensions")
    return values.astype(float)


def _csv(path: str) -> tuple[list[str], list[int], list[list[str]]]:
    """Header, line numbers and rows of a CSV file; every row is as wide as the header."""
    from nearer.io.files import refuse_irregular

    if not Path(path).exists():
        raise ValueError(f"{path}: no such file")
    refuse_irregular(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            numbered = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: is not a CSV file in UTF-8: {error}") from error
    if len(numbered) < 2:
        raise ValueError(f"{path}: {'has a header but no rows' if numbered else 'is empty'}")
    header = numbered[0][1]
    for line, row in numbered[1:]:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: got {len(row)} cells, expected {len(header)} as in the header")
    return header, [line for line, _ in numbered[1:]], [row for _, row in numbered[1:]]


def _labels(path: str, cells: list[str]) -> np.ndarray:
    import numpy as np

    from nearer.io.text import unguard

    labels = np.array([unguard(cell) for cell in cells])
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < len(labels):
        raise ValueError(f"{path}: got label {str(values[np.argmax(counts > 1)])!r} twice, expected each once")
    return labels


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True
