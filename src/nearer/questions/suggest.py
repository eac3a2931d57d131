"""Which questions to ask next."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from nearer.data import Comparisons, as_generator, check_fraction, check_integer
from nearer.data.validate import check_objects, refuse_rows
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.metrics import comparison_distances
from nearer.metrics.answer_law import DistanceLaw, fit_distance_law
from nearer.notebook import data_frame, html_table
from nearer.objective import resolve_jobs
from nearer.questions.pool import Pool
from nearer.questions.strategies import Balanced, Random, Situation, Strategy
from nearer.refits import fit_quietly, gaps_in_the_middle, template
from nearer.registry import STRATEGIES, SUGGESTED
from nearer.selection.thresholds import FEWEST_FOR_LAW, n_d_log_n
from nearer.warning_types import InputWarning

_NONE = np.zeros((0, 3), dtype=np.int32)
_HELD_OUT = 0.25  # fraction of the answers held out to fit their law


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions to ask.

    Triplets ``head, a, b`` (is the head nearer to a or to b?) or three objects (which is the odd one out?). Measure
    accuracy only on answers to questions whose `strategy` is "random" or "balanced".
    """

    index: np.ndarray  # int32 (size, 3)
    information: np.ndarray  # (size,), expected information in bits; NaN if the strategy does not compute it
    strategy: np.ndarray  # str (size,), the strategy that chose each question
    kind: str  # "triplets" or "odd-one-out"
    n_objects: int
    labels: np.ndarray | None  # (n_objects,)

    def __len__(self) -> int:
        return len(self.index)

    def answered(self, answers: Any, participants: Any = None) -> Comparisons:
        """Return the comparisons for answers in the order of the questions; two rows per odd-one-out answer.

        Parameters
        ----------
        answers : array-like, shape (size,)
            Triplets: True or +1 if a is nearer, False or -1 if b is. Odd-one-out: the number of the odd object.
        participants : array-like of str or int, shape (size,), optional
            The participant of each answer.
        """
        made = Comparisons.from_answers if self.kind == "triplets" else Comparisons.from_odd_one_out
        known = {"labels": self.labels, "participants": participants, "details": {"chosen_by": self.strategy}}
        return made(self.index, answers, n_objects=self.n_objects, **known)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table, one row per question; objects by label if there are labels."""
        names = ("head", "a", "b") if self.kind == "triplets" else ("a", "b", "c")
        objects = self.index if self.labels is None else self.labels[self.index]
        table = {name: column.tolist() for name, column in zip(names, objects.T)}
        return table | {"information": self.information.tolist(), "strategy": self.strategy.tolist()}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return data_frame(self.to_dict())

    def _repr_html_(self) -> str:
        return html_table(self.to_dict(), repr(self))

    def __repr__(self) -> str:
        names, counts = np.unique(self.strategy, return_counts=True)
        chosen = ", ".join(f"{count:,} {name}" for name, count in zip(names.tolist(), counts.tolist()))
        return f"{len(self):,} {self.kind.removesuffix('s')} questions: {chosen}"


def suggest(
    known: Any = None,
    size: int = 100,
    *,
    strategy: str | Strategy = "auto",
    random_share: float = 0.2,
    objects: int | Sequence[str] | None = None,
    exclude: Any = None,
    pending: Any = None,
    kind: str = "triplets",
    n_components: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Questions:
    """Choose the questions to ask next.

    Parameters
    ----------
    known : OrdinalEmbedding, Comparisons or what `OrdinalEmbedding.fit` takes in memory, optional
        The answers so far, or a model fitted to them; without answers, `objects` is required.
    strategy : str or Strategy, default "auto"
        "random"; "balanced" (every object equally often); "uncertainty" (highest entropy of the answer); "crowd-kernel"
        (highest information about the position of the head); "predictive" (highest information about the answers to
        random questions); or a `Strategy`. "auto": random up to n d log2 n answers about n objects in d dimensions,
        then balanced for objects with fewer than d log2 n answers, then predictive. Strategies that need a map are
        random until there are answers.
    random_share : float, default 0.2
        Fraction of the questions chosen at random whatever the strategy. Accuracy is measured on their answers:
        questions chosen by other strategies are a biased sample.
    objects : int or sequence of str, optional
        All objects, by number or by labels; default: those in the answers.
    exclude : sequence of int or str, optional
        Objects not to ask about, by number or by label.
    pending : Questions, or array-like of int or str of shape (p, 3), optional
        Questions asked but not yet answered. They are not asked again, and count as if they had been answered.
    kind : {"triplets", "odd-one-out"}, default "triplets"
    n_components : int, optional
        Dimension of the map; default: the dimension of the model, else 2.
    random_state : int or Generator, optional
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    Questions
        Different questions in random order. Answered questions are repeated, with a warning, only if too few
        unanswered ones are left.
    """
    size = check_integer(size, "size", 1)
    check_fraction(random_share, "random_share")
    if kind not in SUGGESTED:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(SUGGESTED)}")
    chooser = _strategy(strategy)
    rng = as_generator(random_state)
    model, data, n_objects, labels = _known(known, objects, n_components)
    d = int(model.n_components)
    asked = data.index if data is not None and data.kind == "triplets" else _NONE
    waiting = _rows(pending, n_objects, labels)
    excluded = _numbers([] if exclude is None else exclude, "exclude", n_objects, labels)
    allowed = np.setdiff1d(np.arange(n_objects), excluded)
    if len(allowed) < 3:
        raise ValueError(f"exclude: leaves {len(allowed)} of {n_objects:,} objects, expected at least 3 to ask about")
    bounds = Pool(n_objects, allowed, kind).without(waiting)
    pool = bounds.without(asked)
    if pool.n_open < size:
        if bounds.n_open < size:
            raise ValueError(
                f"size: got {size:,}, but there are only {bounds.n_open:,} different questions about "
                f"{len(allowed):,} objects that may be asked; ask for fewer, or exclude less"
            )
        warnings.warn(
            f"only {pool.n_open:,} questions about {len(allowed):,} objects are unanswered; others are repeated",
            InputWarning,
            stacklevel=2,
        )
        pool = bounds
    # With fewer answers, the map is too inaccurate to choose questions by.
    least = n_d_log_n(int(data.seen.sum()), d) if data is not None and strategy == "auto" else 1
    if chooser.needs_map and (data is None or data.n_answers < least):
        chooser = Random()
    n_random = size if isinstance(chooser, Random) else round(random_share * size)
    situation = Situation(pool, data, waiting, n_jobs=resolve_jobs(n_jobs))
    if chooser.needs_map and n_random < size:
        assert data is not None
        fitted = known if getattr(known, "comparisons_", None) is data else _fitted(model, data, model.n_init, rng)
        X = gaps_in_the_middle(fitted.embedding_)
        situation = replace(situation, embedding=X, law=held_out_law(model, X, data, rng))
    n_balanced = 0
    if strategy == "auto" and chooser.needs_map:
        # The position of a new object is unknown, and so is the information of questions about it: ask those first.
        lacking = math.ceil(d * math.log2(len(allowed))) - situation.counts()[0][allowed]
        n_balanced = min(int(np.maximum(lacking, 0).sum()), size - n_random)
    shares = ((Random(), n_random), (Balanced(), n_balanced), (chooser, size - n_random - n_balanced))
    information, names = [], []
    for one, count in shares:
        if count:
            rows, bits = one.choose(situation, count, rng)
            situation = situation.asked(rows)
            information.append(bits)
            names += [one.name] * count
    order = rng.permutation(size)
    index, bits = situation.pending[len(waiting) :].astype(np.int32), np.concatenate(information)
    return Questions(index[order], bits[order], np.array(names)[order], kind, n_objects, labels)


def _strategy(strategy: str | Strategy) -> Strategy:
    """The strategy for a name; "auto" is the one used once there are enough answers."""
    if not isinstance(strategy, str):
        if not callable(getattr(strategy, "choose", None)):
            raise ValueError(f"strategy: got {strategy!r}, expected a name or an object with a method choose")
        return strategy
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: got {strategy!r}, expected one of {', '.join(STRATEGIES)}")
    cls = STRATEGIES[strategy].load()
    return cls()


def _fitted(model: OrdinalEmbedding, data: Comparisons, n_init: int, rng: np.random.Generator) -> OrdinalEmbedding:
    return fit_quietly(template(model), data, [], n_init, rng)


def held_out_law(model: OrdinalEmbedding, X: np.ndarray, data: Comparisons, rng: np.random.Generator) -> DistanceLaw:
    """Law of the answers on the map X, from held-out answers: a map satisfies too many of those it was fitted to."""
    if data.n_answers < FEWEST_FOR_LAW:
        return fit_distance_law(X, data)
    train, test = data.split(_HELD_OUT, random_state=rng)
    Y = _fitted(model, train, 1, rng).embedding_
    known = np.isfinite(Y).all(axis=1)
    test = test[known[test.index].all(axis=1)]
    if not len(test):
        return fit_distance_law(X, data)
    Y = np.where(known[:, None], Y, 0.0)
    mine, its = (np.median(np.concatenate(comparison_distances(points, test))) for points in (X, Y))
    return fit_distance_law(Y, test).stretched(float(mine / max(its, np.finfo(float).tiny)))


def _known(
    known: Any, objects: int | Sequence[str] | None, n_components: int | None
) -> tuple[OrdinalEmbedding, Comparisons | None, int, np.ndarray | None]:
    """The model to fit, the answers, the number of objects and their labels."""
    model = OrdinalEmbedding(2, loss="tste")
    data: Comparisons | None = None
    if isinstance(known, OrdinalEmbedding):
        if not hasattr(known, "comparisons_"):
            raise ValueError("known: got a model saved without its comparisons; pass the comparisons instead")
        model, data = clone(known).set_params(n_components=known.n_components_), known.comparisons_
    elif known is not None:
        data = as_comparisons(known)
    if n_components is not None:
        model.set_params(n_components=check_integer(n_components, "n_components", 1))
    if data is None:
        if objects is None:
            raise ValueError("objects: got None and no answers, expected the number of objects, or their labels")
        return model, None, *_fresh(objects)
    if objects is not None:
        n_objects, labels = _fresh(objects)
        if labels is None:
            data = as_comparisons(data, n_objects=n_objects)
        elif data.labels is None:
            raise ValueError(f"objects: got {objects!r}, but the objects of the answers have no labels")
        else:
            data = data.relabelled(np.concatenate([data.labels, labels[~np.isin(labels, data.labels)]]))
    return model, data, data.n_objects, data.labels


def _fresh(objects: Any) -> tuple[int, np.ndarray | None]:
    """The number of objects, and their labels."""
    if isinstance(objects, int | np.integer):
        return check_integer(objects, "objects", 3), None
    labels = check_objects(None, objects)[1]
    assert labels is not None
    return len(labels), labels


def _rows(questions: Any, n_objects: int, labels: np.ndarray | None) -> np.ndarray:
    """Questions as numbers of objects, (m, 3)."""
    if isinstance(questions, Questions):
        questions = questions.index if questions.labels is None else questions.labels[questions.index]
    rows = np.asarray(_NONE if questions is None or not len(questions) else questions)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"pending: got shape {rows.shape}, expected questions (m, 3): head, a, b")
    numbers = _numbers(rows, "pending", n_objects, labels)
    same = (numbers == np.roll(numbers, 1, axis=1)).any(axis=1)
    refuse_rows(same, rows, "pending", "expected three different objects")
    return numbers


def _numbers(objects: Any, name: str, n_objects: int, labels: np.ndarray | None) -> np.ndarray:
    """Numbers of objects given by number or by label, in the same shape; without labels, also by number as text."""
    values = np.asarray(objects)
    names: Sequence[Any] = range(n_objects)
    if values.dtype.kind not in "iu":
        names = [str(number) for number in names] if labels is None else labels.tolist()
    place = {one: number for number, one in enumerate(names)}
    given = values.ravel().tolist()
    unknown = [one for one in given if one not in place]
    if unknown:
        raise ValueError(f"{name}: got {unknown[0]!r}, expected objects, from {names[0]!r} to {names[-1]!r}")
    return np.array([place[one] for one in given], dtype=np.int32).reshape(values.shape)
