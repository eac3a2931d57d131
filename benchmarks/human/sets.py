"""Sets of human answers, as declared in a TOML file, and how they are split."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread

from nearer import Comparisons, Layout, read_comparisons
from nearer.check import check
from nearer.data.splits import first_rows, fold_of_rows, groups_of, question_of_rows
from nearer.io.objects import WORDS, read_objects
from nearer.metrics.by_answer import answer_weights

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETS = Path(__file__).with_name("sets.toml")
GROUPINGS = ("question", "participant", "published")
FOLDS = 5
_WORDS = ("file", "layout", "grouping", "published", "features", "source")
_EVERY = 10  # pixels: every tenth row and column of a picture


class MissingData(FileNotFoundError):
    """The answers of a set are not on this machine."""


@dataclass(frozen=True, eq=False)
class HumanSet:
    """Answers of people, how they may be split, and what else is known of the objects."""

    name: str
    answers: Comparisons
    grouping: tuple[str, ...]
    published: np.ndarray | None = None  # bool (N,), rows of the published test set
    features: dict[str, np.ndarray] = field(default_factory=dict)  # name -> (n_objects, n_features)
    source: str = ""

    def ceiling(self) -> tuple[float, float] | None:
        """Lower and upper estimate of the noise ceiling, from all repeated questions; None if they are too few."""
        found = check(self.answers)
        if found.ceiling_is_rough or found.noise_ceiling_low is None or found.noise_ceiling is None:
            return None
        return found.noise_ceiling_low, found.noise_ceiling


@dataclass(frozen=True, eq=False)
class Split:
    """Answers to fit, and answers to test on, whose objects all occur in the former."""

    train: Comparisons
    test: Comparisons
    unit: np.ndarray  # int (m,): what was held out together with each tested answer, the same number in all splits
    n_left_out: float  # tested answers about an object that is in no answer of the training set

    @property
    def weights(self) -> np.ndarray:
        return answer_weights(self.test)

    def digest(self) -> str:
        found = hashlib.sha256()
        for part in (self.train.index, self.test.index, self.train.weights, self.test.weights, self.unit):
            found.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        return found.hexdigest()[:16]


def declared(path: Path = SETS) -> dict[str, dict[str, Any]]:
    """The entries of a file by name; ValueError for one that is not understood."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: is not a TOML file of sets: {error}") from None
    for name, entry in found.items():
        if not isinstance(entry, dict) or "file" not in entry:
            raise ValueError(f"{path}: got {name!r} without a file, expected a table [{name}] with file = ...")
        if strange := [word for word in entry if word not in _WORDS]:
            raise ValueError(f"{path}, {name}: got {strange[0]!r}, expected one of: {', '.join(_WORDS)}")
    return found


@lru_cache
def load(name: str, path: Path = SETS, most_answers: int | None = None) -> HumanSet:
    """Read a set; with `most_answers`, that many random ones of it."""
    entry = declared(path)[name]
    file = _found(entry["file"], path)
    layout = Layout.load(_found(entry["layout"], path)) if "layout" in entry else Layout()
    answers = read_comparisons(file, layout).comparisons
    published = None
    if "published" in entry:
        published = _rows_where(answers, file, layout, entry["published"])
    if most_answers is not None and most_answers < len(answers.answers):
        kept = np.zeros(len(answers.answers), dtype=bool)
        kept[np.random.default_rng(0).choice(len(kept), most_answers, replace=False)] = True
        rows = kept if answers.answer is None else kept[answers.answer]
        answers, published = answers.of_answers(kept), None if published is None else published[rows]
    known = {
        "question": True,
        "participant": answers.people is not None and len(np.unique(answers.people.codes)) >= FOLDS,
        "published": published is not None,
    }
    asked = tuple(entry.get("grouping", [by for by in GROUPINGS if known[by]]))
    for by in asked:
        if not known.get(by):
            expected = ", ".join(by for by in GROUPINGS if known[by])
            raise ValueError(f"{path}, {name}: grouping: got {by!r}, expected some of: {expected}")
    features = {one: _features(_found(where, path), answers) for one, where in entry.get("features", {}).items()}
    return HumanSet(name, answers, asked, published, features, entry.get("source", ""))


def split_of(human: HumanSet, grouping: str, number: int) -> Split:
    """One of the splits: a fold of a cross-validation, repeated from fold `FOLDS` on, or the published split."""
    data = human.answers
    units = groups_of(data, "participants" if grouping == "participant" else question_of_rows(data))
    if grouping == "published":
        assert human.published is not None
        held_out = human.published
    else:
        repeat, fold = divmod(number, FOLDS)
        held_out = fold_of_rows(len(data), FOLDS, repeat, units) == fold
    train, test = data[~held_out], data[held_out]
    answer = first_rows(test)[1]
    known = np.bincount(answer, ~train.seen[test.index].all(axis=1)) == 0
    kept = test[known[answer]]
    unit = units.codes[held_out][known[answer]][first_rows(kept)[0]]
    return Split(train, kept, unit, test.n_answers - kept.n_answers)


def n_splits(grouping: str, asked: int) -> int:
    return 1 if grouping == "published" else asked


def _found(name: str, declared_in: Path) -> Path:
    """A path relative to the declaring file, or else to NEARER_DATA."""
    folders = [declared_in.parent, *([Path(os.environ["NEARER_DATA"])] if os.environ.get("NEARER_DATA") else [])]
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise MissingData(f"{name}: no such file; set NEARER_DATA to the folder that holds it")


def _rows_where(answers: Comparisons, file: Path, layout: Layout, where: Mapping[str, Any]) -> np.ndarray:
    """Which comparisons come from rows where a column has a value: bool (N,)."""
    marked = read_comparisons(file, layout.updated(Layout(chosen_by=next(iter(where))))).comparisons
    chosen = marked.of_rows(marked.answers.chosen_by)
    assert np.array_equal(marked.index, answers.index)
    (value,) = where.values()
    return chosen.each() == value


def _features(path: Path, answers: Comparisons) -> np.ndarray:
    """Of each object: the pixels of its picture, or its class, one column for each class."""
    assert answers.labels is not None
    labels = answers.labels.tolist()
    if path.is_dir():
        pictures = {picture.stem: picture for picture in sorted(path.iterdir())}
        return np.array([imread(pictures[label])[::_EVERY, ::_EVERY].ravel() / 255.0 for label in labels])
    table = read_objects(path, WORDS)
    class_of = dict(zip(table.labels.tolist(), table.words()[0]))
    classes = np.array([class_of[label] for label in labels])
    return (classes[:, None] == np.unique(classes)).astype(float)
