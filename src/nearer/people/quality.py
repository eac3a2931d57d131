"""Who to trust: what the answers of each person say about how they were given, and who is left out by rules."""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone

from nearer._tables import data_frame, html_table
from nearer.data import Comparisons, as_comparisons, as_generator, check_integer, is_number
from nearer.data.answers import answer_of_rows
from nearer.data.comparisons import fold_of_rows
from nearer.data.errors import closest, counted, listed
from nearer.data.rules import group, same_question
from nearer.data.values import Details, People
from nearer.estimator import OrdinalEmbedding
from nearer.lapses import SHARES, log_likelihoods, population, responsibilities
from nearer.metrics import comparison_distances, fit_answer_law, log_ratio
from nearer.people.individual import places_within
from nearer.selection.common import quiet_map, template

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ExclusionRules", "Exclusions", "ParticipantTable", "exclude", "participants", "shown_cells"]

_ROUNDS = 10
_DROP = 1.92  # half of chi-square(1) at 95 %: how far the log-likelihood may fall within the interval
_SHOWN = 10
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class ParticipantTable:
    """What the answers of each person say, one entry for each; the one who seems to guess most comes first.

    What the data do not tell is None; single values that are not known are NaN.

    Attributes
    ----------
    participant : ndarray of str objects or int64, shape (n_people,)
    answers : ndarray of int
        How many.
    seconds : ndarray of float, or None
        Median response time.
    first : ndarray of float, or None
        Share of answers that chose the first (left) option.
    same_side : ndarray of float, or None
        Share of answers on the side that was chosen most.
    streak : ndarray of int, or None
        Longest run of answers on one side.
    repeats : ndarray of int
        Pairs of answers that the person gave to one question.
    repeats_alike : ndarray of float
        Share of those pairs that agree.
    catch : ndarray of int, or None
        Catch questions whose outcome is known.
    catch_passed : ndarray of float, or None
        Share of them answered rightly.
    agreement : ndarray of float
        Share of answers that agree with a map made without the person; a tie counts one half.
    guesses : ndarray of float
        Estimated share of guesses, 0 to 1, beyond the slips of careful people.
    guesses_low, guesses_high : ndarray of float
        Its 95 % interval.
    p_chance : ndarray of float
        Probability that somebody who only guesses agrees with the others as well; near 1 for inverted answers.
    p_decline : ndarray of float
        Probability of so much less agreement towards the end for somebody who stays the same.
    in_order : bool
        Whether the order of the answers is known; if not, `streak` and `p_decline` follow the order of the rows.
    n_folds : int
        Maps fitted, each without a share of the people.
    """

    participant: np.ndarray
    answers: np.ndarray
    seconds: np.ndarray | None
    first: np.ndarray | None
    same_side: np.ndarray | None
    streak: np.ndarray | None
    repeats: np.ndarray
    repeats_alike: np.ndarray
    catch: np.ndarray | None
    catch_passed: np.ndarray | None
    agreement: np.ndarray
    guesses: np.ndarray
    guesses_low: np.ndarray
    guesses_high: np.ndarray
    p_chance: np.ndarray
    p_decline: np.ndarray
    in_order: bool
    n_folds: int

    def __len__(self) -> int:
        return len(self.participant)

    def table(self) -> dict[str, list[Any]]:
        """Columns by name, without those that the data do not tell.

        Returns
        -------
        dict of str to list
        """
        return {name: value.tolist() for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def to_frame(self) -> Any:
        """The same as a data frame, one row for each person.

        Returns
        -------
        pandas.DataFrame
        """
        return data_frame(self.table())

    def shown(self, n_rows: int | None = None) -> dict[str, list[str]]:
        """Cells for reading: rounded, "" where something is not known.

        Parameters
        ----------
        n_rows : int, optional
            The first rows only.

        Returns
        -------
        dict of str to list of str
        """
        return shown_cells(self.table(), n_rows)

    def __str__(self) -> str:
        return _aligned(self.shown())

    def __repr__(self) -> str:
        more = f"\n... and {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        return f"{len(self):,} people, the most doubtful first\n{_aligned(self.shown(_SHOWN))}{more}"

    def _repr_html_(self) -> str:
        more = f" ({_SHOWN} of {len(self):,})" if len(self) > _SHOWN else ""
        return html_table(self.shown(_SHOWN), f"People, the most doubtful first{more}")


_SHARES = ("first", "same_side", "repeats_alike", "catch_passed", "agreement", "guesses")


def shown_cells(table: Mapping[str, Sequence[Any]], n_rows: int | None = None) -> dict[str, list[str]]:
    """Cells of a table of people for reading: rounded, "" where something is not known."""
    left_out = {"guesses_low", "guesses_high", *([] if any(table["repeats"]) else ["repeats", "repeats_alike"])}
    cells = {
        name: [_cell(name, value) for value in values[:n_rows]]
        for name, values in table.items()
        if name not in left_out
    }
    bounds = zip(cells["guesses"], table["guesses_low"], table["guesses_high"])
    cells["guesses"] = [f"{text} ({100 * low:.0f}-{100 * high:.0f})" for text, low, high in bounds]
    return cells


def _cell(name: str, value: Any) -> str:
    if value is None or value != value:
        return ""
    if name in _SHARES:
        return f"{100 * value:.0f} %"
    if name in ("p_chance", "p_decline"):
        return f"{value:.2g}" if value >= 0.001 else "< 0.001"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _aligned(cells: dict[str, list[str]]) -> str:
    columns = [[name, *values] for name, values in cells.items()]
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for name, *others in zip(*columns):
        parts = [name.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def participants(
    comparisons: Any,
    estimator: OrdinalEmbedding | None = None,
    *,
    n_folds: int = 10,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ParticipantTable:
    """What the answers of each person say about how they were given.

    Nobody is held to a map that their own answers helped to make: people are dealt out into folds, and each fold is
    held to a map of the answers of all others.

    Parameters
    ----------
    comparisons : Comparisons
        With participants. Details of the answers (side, seconds, order, catch) are used where they are known.
    estimator : OrdinalEmbedding, optional
        How to make the maps; default: two dimensions, the default loss.
    n_folds : int
        Maps; at most one for each person.
    random_state : None, int or Generator
    n_jobs : int, optional
        Maps that are fitted side by side; None or -1 means all cores. The result does not depend on it.
    """
    data = as_comparisons(comparisons)
    if data.people is None:
        raise ValueError(
            "participants: who gave the answers is not known; add a column of it (participant, subject, worker, ...), "
            "or give participants= to the comparisons"
        )
    people = data.people
    if len(people.names) < 3:
        raise ValueError(f"participants: got {len(people.names)}, expected at least 3 to hold each to the others")
    n_folds = min(check_integer(n_folds, "n_folds", 2), len(people.names))
    leans = _leans_to_others(data, estimator, n_folds, as_generator(random_state), n_jobs)
    ratio = leans[:, 0]

    answer = answer_of_rows(data)
    first = np.flatnonzero(np.diff(answer, prepend=-1))  # a row for each answer
    own = people.codes[first]
    counts = np.bincount(answer)
    n_people = len(people.names)
    of_each = functools.partial(np.bincount, own, minlength=n_people)

    def of_answers(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, first) / counts

    told = np.isfinite(ratio)
    right = np.where(told, np.where(ratio == 0, 0.5, ratio > 0), 0.0)
    agreement = _ratio(of_each(weights=of_answers(right)), of_each(weights=of_answers(told)))

    # Several rows of one answer count as one answer.
    share = 1.0 / counts[answer]
    chance, logs = _law_of_careful(leans, people, share)
    guesses, low, high = _share_of_guesses(logs)
    lean = of_answers(2.0 * chance - 1.0)
    p_chance = norm.sf(_ratio(of_each(weights=lean), np.sqrt(of_each(weights=lean**2)), 0.0))
    rank, in_order = _rank_within(data, first, own)
    p_decline = _p_decline(lean, own, rank, guesses)

    repeats, alike = _repeats(data)
    order = np.lexsort((p_chance * -1.0, -guesses))
    columns = {
        "participant": people.names, "answers": of_each(), "repeats": repeats, "repeats_alike": alike,
        "agreement": agreement, "guesses": guesses, "guesses_low": low, "guesses_high": high, "p_chance": p_chance,
        "p_decline": p_decline, **_details(data, first, own, rank, n_people),
    }  # fmt: skip
    columns = {name: None if values is None else values[order] for name, values in columns.items()}
    return ParticipantTable(in_order=in_order, n_folds=n_folds, **columns)


def _ratio(top: np.ndarray, below: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
    return np.divide(top, below, out=np.full(len(top), otherwise), where=below > 0)


def _leans_to_others(
    data: Comparisons,
    estimator: OrdinalEmbedding | None,
    n_folds: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> np.ndarray:
    """How far every row (N, 3) is as a map of other people's answers has it; NaN where that tells nothing.

    In three ways of about unit size, which change their sign with the answer: log ratio of far to near, difference of
    the distances, difference of their squares.
    """
    base = template(OrdinalEmbedding(2, random_state=0) if estimator is None else estimator)
    fold = fold_of_rows(len(data), n_folds, rng, data.people)
    seeds = [int(rng.integers(2**31)) for _ in range(n_folds)]
    leans = np.full((len(data), 3), np.nan)

    def judge(number: int) -> None:
        held = np.flatnonzero(fold == number)
        model = clone(base).set_params(random_state=seeds[number]).fit(data[np.flatnonzero(fold != number)])
        near, far = comparison_distances(model.embedding_, data[held])
        known = np.isfinite(near + far)
        size = float((near + far)[known].mean()) if known.any() else 1.0  # maps of different folds differ in size
        near, far = near / size, far / size
        ratio = np.clip(log_ratio(model.embedding_, data[held]), -10.0, 10.0)
        leans[held] = np.stack([ratio, np.sqrt(far) - np.sqrt(near), far - near], axis=1)

    quiet_map(judge, n_jobs, range(n_folds))
    return leans


def _law_of_careful(leans: np.ndarray, people: People, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How likely each answer is if it is no guess, and the log-likelihoods of shares of guesses, found in turns.

    What the careful do is not known beforehand: how sure they are may follow the ratio or the difference of distances,
    and they slip now and then. So it is fitted to the answers that seem to be no guesses.
    """
    known = np.isfinite(leans).all(axis=1)
    leans = np.where(known[:, None], leans, 0.0)
    weights = share * known
    by_map = np.ones(len(leans))
    slopes = np.zeros(leans.shape[1])
    for _ in range(_ROUNDS):
        before = slopes
        slopes = _logistic_slopes(leans, weights * by_map, slopes)
        combined = leans @ slopes
        chance = fit_answer_law(combined, weights * by_map).probability(combined)
        logs = log_likelihoods(chance, people, weights)
        by_map = responsibilities(chance, people, population(logs)[1])
        if np.abs(slopes - before).max() < 1e-3 * np.abs(slopes).max():
            break
    return chance, logs


def _logistic_slopes(features: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Slopes b of ``P = 1 / (1 + exp(-features @ b))`` for answers that are all as they stand, by Newton's steps."""
    slopes = start.copy()
    ridge = 1e-3 * np.eye(len(slopes))
    for _ in range(30):
        p = expit(features @ slopes)
        gradient = features.T @ (weights * (1.0 - p)) - ridge @ slopes
        curvature = (features * (weights * p * (1.0 - p))[:, None]).T @ features + ridge
        step = np.linalg.solve(curvature, gradient)
        slopes += step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-6:
            break
    return slopes


def _share_of_guesses(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The most likely share of guesses of each person, and its interval by likelihood ratio."""
    best = logs.argmax(axis=1)
    inside = logs >= logs.max(axis=1, keepdims=True) - _DROP
    last = len(SHARES) - 1
    # A grid point beyond the last inside is a bound that is never too tight.
    low = np.maximum(inside.argmax(axis=1) - 1, 0)
    high = np.minimum(last - inside[:, ::-1].argmax(axis=1) + 1, last)
    return SHARES[best], SHARES[low], SHARES[high]


def _rank_within(data: Comparisons, first: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, bool]:
    """The place of each answer among its person's, from 0 to 1, and whether it is known rather than that of the row."""
    order = None if data.details is None else data.details.order
    known = order is not None and bool((order[first] >= 0).all())
    within = order[first] if order is not None and known else np.arange(len(first))
    place = places_within(own, np.argsort(within, kind="stable"))
    return place / np.maximum(np.bincount(own)[own] - 1, 1), known


def _p_decline(lean: np.ndarray, own: np.ndarray, rank: np.ndarray, guesses: np.ndarray) -> np.ndarray:
    """Probability of so much less agreement towards the end, if the share of guesses stays the same."""
    expected = (1.0 - guesses[own]) * lean**2  # of 2 g - 1, if the answer is right with probability g
    rest = lean - expected
    middle = _ratio(np.bincount(own, lean**2 * rank), np.bincount(own, lean**2), 0.5)
    late = (rank - middle[own]) * rest
    return norm.cdf(_ratio(np.bincount(own, late), np.sqrt(np.bincount(own, late**2)), 0.0))


def _details(data: Comparisons, first: np.ndarray, own: np.ndarray, rank: np.ndarray, n_people: int) -> dict[str, Any]:
    """What the details of the answers say of each person; None where there are none."""
    found: dict[str, Any] = dict.fromkeys(("seconds", "first", "same_side", "streak", "catch", "catch_passed"))
    details = data.details or Details()
    if details.seconds is not None:
        seconds = details.seconds[first]
        found["seconds"] = np.full(n_people, np.nan)
        for person in np.unique(own[~np.isnan(seconds)]).tolist():
            found["seconds"][person] = np.median(seconds[(own == person) & ~np.isnan(seconds)])
    if details.side is not None and (details.side >= 0).any():
        side = details.side[first]
        known = side >= 0
        counts = np.zeros((n_people, int(side.max()) + 1))
        np.add.at(counts, (own[known], side[known]), 1.0)
        total = counts.sum(axis=1)
        found["first"] = _ratio(counts[:, 0], total)
        found["same_side"] = _ratio(counts.max(axis=1), total)
        found["streak"] = _longest_streak(side[known], own[known], rank[known], n_people)
    if details.catch is not None and details.catch.any():
        right = np.full(len(first), -1) if details.correct is None else details.correct[first]
        asked = details.catch[first] & (right >= 0)
        found["catch"] = np.bincount(own[asked], minlength=n_people)
        found["catch_passed"] = _ratio(np.bincount(own[asked & (right == 1)], minlength=n_people), found["catch"])
    return found


def _longest_streak(side: np.ndarray, own: np.ndarray, rank: np.ndarray, n_people: int) -> np.ndarray:
    """Longest run of answers on one side, of each person."""
    order = np.lexsort((rank, own))
    side, own = side[order], own[order]
    new = np.append(True, (np.diff(own) != 0) | (np.diff(side) != 0))
    start = np.flatnonzero(new)
    longest = np.zeros(n_people, dtype=np.int64)
    np.maximum.at(longest, own[start], np.diff(np.append(start, len(side))))
    return longest


def _repeats(data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of answers of one person to one question, and the share of them that agree."""
    assert data.people is not None
    n_people = len(data.people.names)
    columns, answer = same_question(data.index)
    _, question = group(columns, data.n_objects)
    _, cell = group([question, data.people.codes], max(int(question.max()), n_people) + 1)
    person = np.empty(int(cell.max()) + 1, dtype=np.int64)
    person[cell] = data.people.codes
    one, two = (np.bincount(cell, weights=which, minlength=len(person)) for which in (answer, ~answer))
    total = np.bincount(person, weights=(one + two) * (one + two - 1) / 2, minlength=n_people)
    alike = np.bincount(person, weights=(one * (one - 1) + two * (two - 1)) / 2, minlength=n_people)
    return total.astype(np.int64), _ratio(alike, total)


# Exclusion rules: written down beforehand in a small file, applied, counted, and told as a paper tells them.


# Rule -> the column of the table that it looks at, how a value breaks it, that in the words of a paper (a share in
# percent), and what is said where no value is known.
_RULES: dict[str, tuple[str, Callable[[Any, Any], Any], str, str]] = {
    "min_answers": ("answers", operator.lt, "gave fewer than {:,} answers", "nobody answered"),
    "min_seconds": (
        "seconds", operator.lt, "took less than {:g} s for an answer (median)", "response times are not known",
    ),
    "max_same_side": (
        "same_side", operator.gt, "chose the same side in more than {:g} % of answers",
        "which side was chosen is not known",
    ),
    "catch_passed": (
        "catch_passed", operator.lt, "passed fewer than {:g} % of catch questions",
        "catch questions and their right answers are not known",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ExclusionRules:
    """Who is left out. Nothing is asked for by default, so that nobody is.

    Parameters
    ----------
    min_answers : int, optional
        Leave out who gave fewer answers.
    min_seconds : float, optional
        ... who took less time for an answer, by their median.
    max_same_side : float, optional
        ... who chose one side in a larger share of answers, 0 to 1.
    catch_passed : float, optional
        ... who answered a smaller share of catch questions rightly, 0 to 1.
    better_than_chance : bool or float, optional
        ... whose agreement with a map of the others is not better than that of guesses: True at the level 0.05, or the
        level.
    """

    min_answers: int | None = None
    min_seconds: float | None = None
    max_same_side: float | None = None
    catch_passed: float | None = None
    better_than_chance: bool | float | None = None

    def __post_init__(self) -> None:
        share, number = (1.0, "a share from 0 to 1"), (np.inf, "a number of 0 or more")
        limits = {"max_same_side": share, "catch_passed": share, "min_answers": number, "min_seconds": number}
        if isinstance(self.better_than_chance, np.bool_):
            object.__setattr__(self, "better_than_chance", bool(self.better_than_chance))
        if not isinstance(self.better_than_chance, bool):
            limits["better_than_chance"] = 0.5, "true, false, or a level such as 0.05"
        for name, (most, expected) in limits.items():
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0.0 <= value <= most):
                raise ValueError(f"{name}: got {value!r}, expected {expected}")

    @staticmethod
    def read(path: str | os.PathLike[str]) -> ExclusionRules:
        """Read rules from a TOML file, such as ``min_answers = 30``.

        Parameters
        ----------
        path : path-like
        """
        try:
            with open(path, "rb") as file:
                return ExclusionRules.of(tomllib.load(file))
        except OSError as error:
            raise ValueError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{os.fspath(path)}: is not TOML: {error}") from error
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @staticmethod
    def of(told: Any) -> ExclusionRules:
        """Rules from rules, a mapping of their names to values, or the path of a file.

        Parameters
        ----------
        told : ExclusionRules, mapping or path-like
        """
        if isinstance(told, ExclusionRules):
            return told
        if isinstance(told, (str, os.PathLike)):
            return ExclusionRules.read(told)
        if not isinstance(told, Mapping):
            raise ValueError(f"rules: got {told!r}, expected rules by name or the path of a file")
        names = [field.name for field in fields(ExclusionRules)]
        strange = [name for name in told if name not in names]
        if strange:
            near = closest(str(strange[0]), names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"rules: got {strange[0]!r}, expected {listed(names, 9)}{hint}")
        return ExclusionRules(**told)

    @property
    def level(self) -> float | None:
        """The level of `better_than_chance`, None if it is not asked for."""
        if self.better_than_chance is None or self.better_than_chance is False:
            return None
        return _LEVEL if self.better_than_chance is True else float(self.better_than_chance)

    def broken(self, table: ParticipantTable) -> dict[str, np.ndarray]:
        """Who breaks each rule that is asked for.

        Parameters
        ----------
        table : ParticipantTable

        Returns
        -------
        dict of str to ndarray of bool, shape (n_people,)
            In the words of a paper -> who breaks the rule. Somebody of whom a value is not known breaks none.
        """
        found: dict[str, np.ndarray] = {}
        for name, (column, breaks, told, lacking) in _RULES.items():
            limit, values = getattr(self, name), getattr(table, column)
            if limit is None:
                continue
            words = told.format(100 * limit if column in _SHARES else limit)
            if values is None or not np.isfinite(values.astype(float)).any():
                raise ValueError(f"rules: {lacking}, so {words.partition(' ')[2] or words!r} cannot be told")
            with np.errstate(invalid="ignore"):
                found[words] = breaks(values, limit)
        if self.level is not None:
            words = f"agreed with the others no better than chance (level {self.level:g})"
            found[words] = ~(table.p_chance < self.level)
        return found


@dataclass(frozen=True)
class Exclusions:
    """Who was left out, and why.

    Attributes
    ----------
    participants : list of str or int
        Those left out.
    reasons : dict of str to list
        Rule, in words -> those who broke it.
    n_people, n_answers, n_kept_answers : int
        Before, and answers left.
    """

    participants: list[Any]
    reasons: dict[str, list[Any]]
    n_people: int
    n_answers: int
    n_kept_answers: int

    def __str__(self) -> str:
        return self.paragraph()

    def paragraph(self) -> str:
        """The paragraph that a paper needs."""
        people = counted(self.n_people, "participant")
        if not self.reasons:
            return f"No exclusion rules were set; all {people} were kept ({self.n_answers:,} answers)."
        rules = [f"{len(broke):,} {words}" for words, broke in self.reasons.items()]
        if not self.participants:
            told = " or ".join(self.reasons)
            return f"Of {people}, none was excluded by the rules set beforehand (nobody {told})."
        gone = len(self.participants)
        several = sum(len(broke) for broke in self.reasons.values()) - gone
        more = "; some broke more than one rule" if several else ""
        was = "was" if gone == 1 else "were"
        return (
            f"Of {people}, {gone:,} ({100 * gone / self.n_people:.1f} %) {was} excluded by rules set beforehand: "
            f"{listed(rules, 9)}{more}. The {self.n_kept_answers:,} answers of the remaining "
            f"{self.n_people - gone:,} participants were kept (of {self.n_answers:,})."
        )


def exclude(
    comparisons: Any, rules: Any, table: ParticipantTable | None = None, **options: Any
) -> tuple[Comparisons, Exclusions]:
    """Leave out people by rules that were written down beforehand.

    Parameters
    ----------
    comparisons : Comparisons
        With participants.
    rules : ExclusionRules, mapping or path-like
        Rules, by name or in a TOML file.
    table : ParticipantTable, optional
        Of these comparisons; made by `participants` if not given.
    **options : Any
        For `participants`.

    Returns
    -------
    kept : Comparisons
    exclusions : Exclusions
    """
    asked = ExclusionRules.of(rules)
    data = as_comparisons(comparisons)
    table = participants(data, **options) if table is None else table
    assert data.people is not None
    broken = asked.broken(table)
    reasons = {words: table.participant[mask].tolist() for words, mask in broken.items()}
    out = np.logical_or.reduce(list(broken.values())) if broken else np.zeros(len(table), dtype=bool)
    names = set(table.participant[out].tolist())
    keep = np.array([name not in names for name in data.people.names.tolist()])[data.people.codes]
    if not keep.any():
        raise ValueError("rules: nobody is left")
    gone = [name for name in data.people.names.tolist() if name in names]
    kept_answers = int(table.answers[~out].sum())
    exclusions = Exclusions(gone, reasons, len(table), int(table.answers.sum()), kept_answers)
    return (data if keep.all() else data[keep]), exclusions
