"""What commands read beside answers: maps made before, and small tables of points, distances, classes, groups."""

from __future__ import annotations

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
    import numpy as np

    from nearer.estimator import OrdinalEmbedding
    from nearer.io import read_embedding
    from nearer.losses import get_loss

    embedding, labels = read_embedding(path)
    if not np.isfinite(embedding).all(axis=1).any():
        raise ValueError(f"{path}: got no object with a place, expected a map")
    model = OrdinalEmbedding(embedding.shape[1], loss=loss or "tste")
    model.embedding_, model.labels_, model.n_objects_ = embedding, labels, len(embedding)
    if loss is not None:
        model.loss_ = get_loss(loss).resolve(embedding.shape[1])
    return model


def labels_of(model: OrdinalEmbedding) -> np.ndarray:
    """Return the names of the objects of a map, str (n_objects,); numbers where it has none."""
    return as_names(model.labels_, model.n_objects_)


def as_names(labels: np.ndarray | None, n_objects: int) -> np.ndarray:
    """Labels, str (n_objects,), or numbers where there are none."""
    import numpy as np

    return np.arange(n_objects).astype(str) if labels is None else np.asarray(labels)


def read_for_map(say: Say, path: str, reading: dict[str, Any], model: OrdinalEmbedding) -> Comparisons:
    """Read answers about the objects of a map; both must call them by names, or both by numbers."""
    found, on_map = read_answers(say, path, reading).comparisons, model.labels_
    if on_map is None and found.labels is not None and not _are_numbers(found.labels):
        raise ValueError(f"{path}: names its objects, such as {str(found.labels[0])!r}, but the map has numbers only")
    if on_map is not None and found.labels is None and not _are_numbers(on_map):
        raise ValueError(f"{path}: calls its objects by numbers, but the map by names, such as {str(on_map[0])!r}")
    if reading["fold_names"] and on_map is not None and found.labels is not None:
        return _folded_onto(say, path, found, on_map)
    return found if on_map is None or found.labels is not None else found.relabelled(on_map)


def _folded_onto(say: Say, path: str, found: Comparisons, on_map: np.ndarray) -> Comparisons:
    """Answers whose names differ from those of a map by writing alone, by the names of the map."""
    from nearer.data.doubts import told_alike, told_otherwise, written_otherwise
    from nearer.data.values import check_objects

    doubt = told_alike(on_map)
    if doubt:
        raise ValueError(f"{path}: names cannot be folded onto this map, which has {doubt}")
    own = as_names(found.labels, found.n_objects)
    other = written_otherwise(own, on_map)
    if not other:
        return found
    say.note(f"{path}: {told_otherwise(own, on_map)}; joined")
    _, labels = check_objects(None, [other.get(label, label) for label in own.tolist()])
    return found._with(labels=labels)


def _are_numbers(labels: Any) -> bool:
    return all(str(label).isdecimal() for label in labels)


def read_groups(say: Say, path: str | None, on_map: np.ndarray) -> list[str] | None:
    """The group of each object of a map, "" for none, from a table of names and groups; what does not match is told."""
    if path is None:
        return None
    from nearer.data.errors import listed, shown
    from nearer.io.objects import WORDS, read_objects, rows_on_map

    table = read_objects(path, WORDS, on_map.tolist())
    words, column = table.words(empty=True)
    say.note(table.understood([column]))
    names = table.labels
    rows = rows_on_map(path, names, on_map)
    strange = names[rows < 0].tolist()
    if len(strange) == len(names):
        raise ValueError(
            f"{path}: got objects such as {shown(strange[0])}, expected those of the map: {str(on_map[0])!r}"
        )
    group_of = dict(zip(rows.tolist(), words))
    groups = [group_of.get(row, "") for row in range(len(on_map))]
    if not any(groups):
        raise ValueError(f"{path}: got no group for any object of the map, expected one for some of them")
    told = []
    if strange:
        told.append(f"{len(strange):,} of {len(names):,} names are not on the map: {listed(map(shown, strange), 5)}")
    without = [label for label, group in zip(on_map.tolist(), groups) if not group]
    if without:
        told.append(f"{len(without):,} of {len(on_map):,} objects have no group: {listed(map(shown, without), 5)}")
    if told:
        warnings.warn(f"{path}: {'; '.join(told)}", stacklevel=2)
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


def read_numbers(say: Say, path: str, on_map: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers (n_objects, n_columns) and labels, or None, from .npy or a table; `on_map` are names to look for."""
    from nearer.io.objects import read_objects

    if path.lower().endswith(".npy"):
        return _npy(path), None
    table = read_objects(path, known=None if on_map is None else on_map.tolist())
    values = table.numbers()
    say.note(table.understood())
    return values, None if table.names_at is None else table.labels


def read_distances(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Distances (n, n) and labels from a table with them in the first row, and in the first column or not; or .npy."""
    from nearer.data.cells import number_in
    from nearer.io import objects

    if path.lower().endswith(".npy"):
        return _npy(path), None
    cells = objects.read_cells(path)
    titles, below = [cell.strip() for cell in cells.rows[0]], cells.rows[1:]
    first = int(len(titles) == len(below) + 1)  # whether there is a column of names
    if not first and len(titles) != len(below):
        many = f"{len(below)} rows and {len(titles)} columns"
        raise ValueError(f"{path}: got {many} below names of columns, expected a square of distances")
    if first and number_in(titles[0]) is not None:
        raise cells.refusal(f"got the numbers {', '.join(titles[:4])}, expected the names of the objects")
    if first and titles[1:] != [row[0].strip() for row in below]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    labels = objects.make_labels(cells, titles[first:], [0] * len(below))
    return objects.read_numbers(cells, 1, titles, range(first, len(titles))), labels


def read_classes(say: Say, path: str, column: str | None = None) -> tuple[list[str], np.ndarray]:
    """The class of each object, and labels; the classes are those of the column named."""
    from nearer.io.objects import WORDS, read_objects

    table = read_objects(path, WORDS, column=column)
    words, column = table.words(column, ", or --class-column")
    say.note(table.understood([column]))
    return words, table.labels


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
