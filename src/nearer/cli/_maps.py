"""Maps that were made before, and answers about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._options import read_answers
from nearer.cli._say import Say
from nearer.cli._tables import read_words

if TYPE_CHECKING:
    import numpy as np

    from nearer.data import Comparisons
    from nearer.estimator import OrdinalEmbedding

__all__ = ["MODEL", "groups_of", "labels_of", "open_map", "read_for_map"]

MODEL = "model.nearer"


def open_map(path: str, loss: str | None = None) -> OrdinalEmbedding:
    """Open a fitted map.

    Parameters
    ----------
    path : model file, embedding.csv, or the folder that `nearer fit` wrote
    loss : str, optional
        For coordinates alone, which do not say what loss they come from.
    """
    file = Path(path)
    if file.is_dir():
        there = [file / name for name in (MODEL, "embedding.csv") if (file / name).is_file()]
        if not there:
            raise ValueError(f"{path}: holds neither {MODEL} nor embedding.csv")
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
    """Names of the objects of a map (n_objects,); numbers where it has none."""
    import numpy as np

    return np.arange(model.n_objects_).astype(str) if model.labels_ is None else np.asarray(model.labels_)


def read_for_map(say: Say, path: str, reading: dict[str, Any], model: OrdinalEmbedding) -> Comparisons:
    """Read answers about the objects of a map, which alone knows whether whole numbers are names or places."""
    from nearer.data import Comparisons
    from nearer.io import read_comparisons

    result = read_comparisons(path, **reading)
    found, on_map = result.comparisons, model.labels_
    if on_map is None and found.labels is not None:
        if not _are_numbers(found.labels):
            raise ValueError(
                f"{path}: names its objects, such as {str(found.labels[0])!r}, but the map has numbers only"
            )
        return read_answers(say, path, reading | {"index_base": reading["index_base"] or 0}).comparisons
    say.note(result.understood)
    if on_map is not None and found.labels is None:
        if _are_numbers(on_map):
            say.note("whole numbers are names of objects, as on the map")
            names = [str(number) for number in range(found.n_objects)]
            return Comparisons(found.index, found.n_objects, found.weights, names, found.participants)
        say.note("whole numbers are places on the map, counted from 0")
    return found


def _are_numbers(labels: Any) -> bool:
    return all(str(label).isdecimal() for label in labels)


def groups_of(path: str | None, labels: np.ndarray) -> list[str] | None:
    """The group of each object of a map, from a CSV file with the columns label, group; "" where it has none."""
    if path is None:
        return None
    words, names = read_words(path)
    known = dict(zip(names.tolist(), words.tolist()))
    groups = [known.get(label, "") for label in labels.tolist()]
    if not any(groups):
        raise ValueError(f"{path}: names none of the objects of the map; it has {names[0]!r}, the map {labels[0]!r}")
    return groups
