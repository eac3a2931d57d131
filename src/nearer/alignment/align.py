"""Share of people's answers that models predict, next to chance, the noise ceiling and the best map."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import t

from nearer.alignment.asked import Asked
from nearer.alignment.object_models import Features, ObjectModel, as_model
from nearer.alignment.transform import Gain, learned_gain
from nearer.check import check
from nearer.data import Comparisons
from nearer.data.coded import Coded
from nearer.data.messages import counted, listed, shown
from nearer.data.splits import first_rows, fold_of_rows, question_of_rows
from nearer.data.validate import as_generator, check_bool, check_integer
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons, is_named
from nearer.metrics import chance_level, wilson_interval
from nearer.metrics.by_answer import satisfied_answers
from nearer.metrics.comparison import filled
from nearer.notebook import data_frame, html_table
from nearer.people.participants import FEWEST
from nearer.refits import quiet_map
from nearer.registry import SIMILARITIES
from nearer.warning_types import InputWarning

LEVEL = 0.95
Interval = tuple[float, float]
BEST_MAP = "best map"
_FOLDS = 5


@dataclass(frozen=True)
class ModelScore:
    """How many answers a model predicts, with intervals for other questions and for other participants."""

    name: str
    accuracy: float
    by_question: Interval
    by_participant: Interval | None  # None unless there are at least 3 participants


@dataclass(frozen=True)
class Difference:
    """Accuracy of one model minus that of another, on the same answers."""

    name: str
    other: str
    difference: float
    by_question: Interval
    by_participant: Interval | None


@dataclass(frozen=True, repr=False)
class Alignment:
    """Result of `align`."""

    scores: list[ModelScore]  # models in the order given; the best map comes last
    differences: list[Difference]  # of each pair, the higher accuracy first
    gains: list[Gain]  # by a learned linear transform, on objects that it was not learned from
    chance: float  # accuracy of a model that has nothing to do with the answers
    ceiling: float | None  # noise ceiling, from repeated questions; None if these are too few
    ceiling_low: float | None
    n_answers: float  # that were predicted
    n_left_out: float  # answers about objects that some model lacks
    missing: dict[str, list[str]]  # model -> objects of the answers that it lacks
    unknown: dict[str, int]  # model -> its objects that are in no answer
    compared: dict[str, str]  # model -> cosine, euclidean, dot; distances, similarities: as given

    def to_dict(self) -> dict[str, Any]:
        """All figures, as plain data."""
        return asdict(self)

    def table(self) -> dict[str, list[Any]]:
        """Columns of a table, one row per model; NaN where a figure is not known."""
        rows = []
        for score in self.scores:
            bounds = [*score.by_question, *(score.by_participant or (math.nan, math.nan))]
            rows.append((score.name, score.accuracy, *bounds))
        names = ("model", "accuracy", "low", "high", "low_by_participant", "high_by_participant")
        return dict(zip(names, map(list, zip(*rows))))

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame."""
        return data_frame(self.table())

    def __repr__(self) -> str:
        best = max(self.scores, key=lambda score: score.accuracy)
        return f"Alignment: {counted(len(self.scores), 'model')}, {self.n_answers:,.0f} answers; best: {best.name}"

    def _repr_html_(self) -> str:
        return html_table(self.table(), repr(self))


def align(
    comparisons: Any,
    models: Mapping[str, Any],
    similarity: str = "cosine",
    *,
    best_map: int | str | None = "auto",
    transform: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Alignment:
    """Measure which share of people's answers each model predicts.

    A model predicts an answer if all comparisons that follow from it hold: for an odd-one-out answer, if the two other
    objects are the most similar pair. Where similarities are equal, it guesses: the answer counts with the probability
    of a correct guess. Answers count by their weight.

    Parameters
    ----------
    comparisons : Comparisons, or what `OrdinalEmbedding.fit` takes in memory
        Answers of people. Objects are matched by label; without labels, their numbers are rows of the models.
    models : mapping of str to model
        Name -> features, an array (n_objects, n_features) or a pandas table; `Distances` or `Similarities`; or a fitted
        `OrdinalEmbedding`. A map that was fitted to these answers is not held out: see `best_map`.
    similarity : {"cosine", "euclidean", "dot"}
        Of features. Coordinates of maps are compared by Euclidean distances, matrices as they are.
    best_map : int, "auto" or None
        Number of dimensions of a map of the same answers, evaluated by cross-validation over questions: what any
        configuration of points with that many dimensions can be expected to predict.
    transform : bool
        Also learn a linear transform of the features of each model, and report its gain on unseen objects.
    random_state : int, Generator or RandomState, optional
        Of the folds.
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Called with a line when a part begins.

    Returns
    -------
    Alignment
    """
    if similarity not in SIMILARITIES:
        raise ValueError(f"similarity: got {similarity!r}, expected one of {', '.join(SIMILARITIES)}")
    if not isinstance(models, Mapping) or not models or BEST_MAP in models:
        got = listed(map(shown, models)) if isinstance(models, Mapping) else type(models).__name__
        raise ValueError(f"models: got {got or 'none'}, expected models by name (not {BEST_MAP!r}), at least one")
    check_bool(transform, "transform")
    if best_map is not None and best_map != "auto":
        check_integer(best_map, "best_map", 1)
    report = progress or (lambda line: None)
    answers = as_comparisons(comparisons)
    known = {name: as_model(given, is_named(comparisons)) for name, given in models.items()}
    measures = {name: _measure(models[name], model, similarity) for name, model in known.items()}
    answers, rows, missing, n_left_out = _matched(answers, known)
    rng = as_generator(random_state)

    asked = Asked.of(answers)
    predicted: dict[str, np.ndarray] = {}
    for name, model in known.items():
        predicted[name] = asked.predicted(model.similarity(rows[name][asked.pairs], measures[name]))
    seed = int(rng.integers(2**31))
    if best_map is not None:
        report(f"{BEST_MAP}: {_FOLDS} folds")
        predicted[BEST_MAP] = _predicted_by_maps(answers, asked.answer, best_map, seed, n_jobs)
    gains = []
    for name, model in known.items():
        if transform and isinstance(model, Features):
            report(f"transform of {name}")
            X = model.values[rows[name]]
            gain = learned_gain(name, X, measures[name], asked, np.random.default_rng(seed))
            gains += [] if gain is None else [gain]
            if gain is None:
                why = "too few answers are about objects of one fold alone"
                warnings.warn(f"transform of {name} left out: {why}", InputWarning, stacklevel=2)

    units = _Units.of(answers, asked)
    scores = [ModelScore(name, *units.shares(values)) for name, values in predicted.items()]
    order = sorted(scores, key=lambda score: -score.accuracy)
    pairs = [(one.name, other.name) for one, other in combinations(order, 2)]
    differences = [
        Difference(one, other, *units.differences(predicted[one] - predicted[other])) for one, other in pairs
    ]
    checked = check(answers)
    ceiling = (None, None) if checked.ceiling_is_rough else (checked.noise_ceiling, checked.noise_ceiling_low)
    return Alignment(
        scores, differences, gains, chance_level(answers), *ceiling,
        n_answers=answers.n_answers, n_left_out=n_left_out, missing=missing,
        unknown={name: len(model.values) - int((rows[name][answers.seen] >= 0).sum()) for name, model in known.items()},
        compared=measures,
    )  # fmt: skip


def _measure(given: Any, model: ObjectModel, similarity: str) -> str:
    if not isinstance(model, Features):
        return type(model).__name__.lower()
    return "euclidean" if hasattr(given, "embedding_") else similarity


def _names(answers: Comparisons) -> np.ndarray:
    return np.arange(answers.n_objects).astype(str) if answers.labels is None else answers.labels


def _matched(
    answers: Comparisons, models: Mapping[str, ObjectModel]
) -> tuple[Comparisons, dict[str, np.ndarray], dict[str, list[str]], float]:
    """Answers about objects that all models have, the row of each object in each model, and what is missing."""
    names = _names(answers)
    rows, missing = {}, {}
    everywhere = np.ones(len(names), dtype=bool)
    for name, model in models.items():
        _refuse_other_numbers(name, model, answers, set(names[answers.seen].tolist()))
        rows[name] = model.rows_of(names)
        lacks = (rows[name] < 0) & answers.seen
        if lacks.any():
            missing[name] = names[lacks].tolist()
        if not (~lacks & answers.seen).any():
            own = "rows without names" if model.labels is None else listed(map(shown, model.labels.tolist()), 3)
            expected = listed(map(shown, names.tolist()), 3)
            raise ValueError(f"models: {name!r} has none of the objects of the answers: got {own}, expected {expected}")
        everywhere &= ~lacks
    inside = everywhere[answers.index].all(axis=1)
    kept = _all_of(inside, answers)
    if not (kept if answers.answer is None else kept[answers.answer]).any():
        raise ValueError("models: no answer is about objects that all models have")
    whole = answers if inside.all() else answers.of_answers(kept)
    return whole, rows, missing, answers.n_answers - whole.n_answers


def _refuse_other_numbers(name: str, model: ObjectModel, answers: Comparisons, asked: set[str]) -> None:
    """Refuse rows without names unless their number fits, and rows counted from 0 where answers count from 1."""
    n, n_objects = len(model.values), answers.n_objects
    if model.labels is None and (n < n_objects or (n > n_objects and answers.labels is not None)):
        raise ValueError(f"models: {name!r}: got {n:,} rows without names, expected {n_objects:,}; give labels")
    counted_from_0 = model.labels is not None and model.labels.tolist() == [str(row) for row in range(n)]
    if counted_from_0 and str(n) in asked and "0" not in asked:
        got = f"rows counted from 0 to {n - 1}, but the answers count objects from 1 to {n}"
        raise ValueError(f"models: {name!r}: got {got}; give labels")


def _all_of(holds: np.ndarray, answers: Comparisons) -> np.ndarray:
    """Whether something holds for all comparisons of each entry of `answers.answers`."""
    if answers.answer is None:
        return holds
    return np.bincount(answers.answer, weights=~holds, minlength=len(answers.answers)) == 0


def _predicted_by_maps(
    answers: Comparisons, answer: np.ndarray, n_components: int | str, seed: int, n_jobs: int | None
) -> np.ndarray:
    """Whether maps of the answers to other questions predict each answer; NaN where an object has no position."""
    questions = question_of_rows(answers)
    n_folds = min(_FOLDS, int(questions.max()) + 1)
    if n_folds < 2:
        raise ValueError("best_map: all answers are to one question; use best_map=None")
    units = Coded(questions.astype(np.int32), np.arange(questions.max() + 1))
    fold = fold_of_rows(len(answers), n_folds, np.random.default_rng(seed), units)

    def tried(number: int) -> np.ndarray:
        held_out = fold == number
        model = OrdinalEmbedding(n_components, random_state=seed, n_jobs=1).fit(answers[~held_out])
        satisfied, placed = satisfied_answers(filled(model.embedding_, answers.n_objects), answers[held_out])
        return np.where(placed, satisfied, np.nan)

    found = np.full(int(answer.max()) + 1, np.nan)
    for number, satisfied in enumerate(quiet_map(tried, n_jobs, range(n_folds))):
        found[np.unique(answer[fold == number])] = satisfied
    return found


def _quantile(degrees: float) -> float:
    """Of Student's distribution."""
    return float(t.ppf((1 + LEVEL) / 2, max(degrees, 1)))


@dataclass(frozen=True)
class _Units:
    """Who answered what: answers to one question depend on each other, and so do those of one participant."""

    weights: np.ndarray
    question: np.ndarray
    person: np.ndarray | None

    @classmethod
    def of(cls, answers: Comparisons, asked: Asked) -> _Units:
        people = answers.people
        person = None if people is None or len(set(people.codes)) < FEWEST else people.codes[first_rows(answers)[0]]
        return cls(asked.weights, asked.question, person)

    def shares(self, values: np.ndarray) -> tuple[float, Interval, Interval | None]:
        """Mean, and Wilson's intervals with the effective number of answers, by question and by participant."""
        intervals = []
        for mean, error, n_units in self._means(values):
            n = mean * (1 - mean) / error**2 if error > 0 else n_units
            low, high = wilson_interval(mean, n * (_quantile(np.inf) / _quantile(n_units - 1)) ** 2, LEVEL)
            intervals.append((float(low), float(high)))
        return mean, intervals[0], intervals[1] if len(intervals) > 1 else None

    def differences(self, values: np.ndarray) -> tuple[float, Interval, Interval | None]:
        """Mean, and Student's intervals by question and by participant."""
        intervals = []
        for mean, error, n_units in self._means(values):
            half = _quantile(n_units - 1) * error if n_units > 1.0 + 1e-9 else math.inf
            intervals.append((max(mean - half, -1.0), min(mean + half, 1.0)))
        return mean, intervals[0], intervals[1] if len(intervals) > 1 else None

    def _means(self, values: np.ndarray) -> list[tuple[float, float, float]]:
        """Mean, and by question and, if known, by participant its standard error and the effective number of units.

        Unequal units count as fewer, and the error of a large one, which draws the mean to itself, as more.
        """
        known = np.isfinite(values)
        share = self.weights[known] / self.weights[known].sum()
        mean, found = float(np.average(values[known], weights=self.weights[known])), []
        for unit in (self.question, self.person):
            if unit is not None:
                number = np.unique(unit[known], return_inverse=True)[1]
                size, away = np.bincount(number, share), np.bincount(number, share * (values[known] - mean))
                error = math.sqrt((away**2 / np.maximum(1.0 - size, 1e-12)).sum())
                found.append((mean, error, 1.0 / float(size @ size)))
        return found
