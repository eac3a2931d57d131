"""Data quality by participant: how each person's answers were given, and exclusion rules."""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from nearer.data import Comparisons, as_generator, check_integer, is_number
from nearer.data.coded import Coded
from nearer.data.messages import closest, counted, listed
from nearer.data.splits import answer_of_rows, fold_of_rows
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.lapse_rates import LAW_ROUNDS, SHARES, alternate, log_likelihoods
from nearer.metrics import comparison_distances, fit_answer_law, log_ratio
from nearer.metrics.answer_law import logistic_slopes
from nearer.metrics.neighbours import first_rows, responses
from nearer.notebook import data_frame, html_table
from nearer.people.individual import places_within
from nearer.refits import quiet_map, template

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ExclusionRules", "Exclusions", "ParticipantTable", "exclude", "participants", "shown_cells"]

_DROP = 1.92  # half of chi-square(1) at 95 %: how far the log-likelihood may fall within the interval
_SHOWN = 10
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class ParticipantTable:
    """How the answers of each person were given, arrays (n_people,); the highest lapse rate comes first.

    Columns that cannot be computed from the data are None, single values NaN.
    """

    participant: np.ndarray
    answers: np.ndarray  # number of answers
    seconds: np.ndarray | None  # median response time
    first: np.ndarray | None  # fraction of answers that chose the first (left) option
    same_side: np.ndarray | None  # fraction of answers on the side that was chosen most
    streak: np.ndarray | None  # longest run of answers on one side
    repeats: np.ndarray  # pairs of answers that the person gave to one question
    repeats_alike: np.ndarray  # fraction of those pairs that agree
    catch: np.ndarray | None  # attention checks whose outcome is known
    catch_passed: np.ndarray | None  # fraction of them answered correctly
    agreement: np.ndarray  # fraction of answers that agree with a map made without the person; a tie counts one half
    guesses: np.ndarray  # lapse rate in excess of that of careful people, 0 to 1
    guesses_low: np.ndarray  # its 95 % interval
    guesses_high: np.ndarray
    p_chance: np.ndarray  # p-value of the agreement for somebody who only guesses; near 1 for inverted answers
    p_decline: np.ndarray  # one-sided p-value for a decline of agreement during the session
    in_order: bool  # whether the order of answers is known; if not, `streak` and `p_decline` follow the rows
    n_folds: int  # maps fitted, each without a part of the people

    def __len__(self) -> int:
        return len(self.participant)

    def table(self) -> dict[str, list[Any]]:
        """Columns by name, without those that are None."""
        return {name: value.tolist() for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame, one row for each person."""
        return data_frame(self.table())

    def shown(self, n_rows: int | None = None) -> dict[str, list[str]]:
        """Cells for reading, of the first `n_rows`: rounded, "" where something is not known."""
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
    """Describe how the answers of each person were given.

    Agreement is measured by cross-validation over people: each fold of people is compared with a map of the answers of
    all others.

    Parameters
    ----------
    comparisons : Comparisons
        With participants. What else is known of the answers (side, seconds, order, attention checks) is used.
    estimator : OrdinalEmbedding, optional
        How to make the maps; default: two dimensions, the default loss.
    n_folds : int, default 10
        Maps; at most one for each person.
    random_state : int or Generator, default 0
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

    first, answer = first_rows(data)
    own = people.codes[first]
    counts = np.bincount(answer)
    n_people = len(people.names)
    of_each = functools.partial(np.bincount, own, minlength=n_people)

    def of_answers(values: np.ndarray) -> np.ndarray:
        return np.bincount(answer, weights=values) / counts

    known = np.isfinite(ratio)
    right = np.where(known, np.where(ratio == 0, 0.5, ratio > 0), 0.0)
    agreement = _ratio(of_each(weights=of_answers(right)), of_each(weights=of_answers(known)))

    # Several rows of one answer count as one answer.
    share = 1.0 / counts[answer]
    chance, logs = _law_of_careful(leans, people, share)
    guesses, low, high = _share_of_guesses(logs)
    lean = of_answers(2.0 * chance - 1.0)
    p_chance = norm.sf(_ratio(of_each(weights=lean), np.sqrt(of_each(weights=lean**2)), 0.0))
    entry = answer_of_rows(data)[first]
    rank, in_order = _rank_within(data, entry, own)
    p_decline = _p_decline(lean, own, rank, guesses)

    repeats, alike = _repeats(data)
    n_answers = of_each(weights=data.votes[first]).round().astype(np.int64)
    order = np.lexsort((p_chance * -1.0, -guesses))
    columns = {
        "participant": people.names, "answers": n_answers, "repeats": repeats, "repeats_alike": alike,
        "agreement": agreement, "guesses": guesses, "guesses_low": low, "guesses_high": high, "p_chance": p_chance,
        "p_decline": p_decline, **_details(data, entry, own, rank), **_attention_checks(data),
    }  # fmt: skip
    columns = {name: None if values is None else values[order] for name, values in columns.items()}
    return ParticipantTable(in_order=in_order, n_folds=n_folds, **columns)


def _ratio(top: np.ndarray, below: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
    return np.divide(top, below, out=np.full(len(top), otherwise), where=below > 0)


def _leans_to_others(
    data: Comparisons, estimator: OrdinalEmbedding | None, n_folds: int, rng: np.random.Generator, n_jobs: int | None
) -> np.ndarray:
    """How strongly maps of other people's answers support each row, (N, 3); NaN where they do not say.

    Three features of about unit size, which change their sign with the answer: log ratio of far to near, difference of
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


def _law_of_careful(leans: np.ndarray, people: Coded, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of each answer if it is no guess, and log-likelihoods of lapse rates, found in turns.

    How sure careful people are may follow the ratio or the difference of distances, and they slip now and then: the law
    is fitted to the answers that seem to be no guesses.
    """
    known = np.isfinite(leans).all(axis=1)
    leans = np.where(known[:, None], leans, 0.0)
    weights = share * known
    slopes, chance = np.zeros(leans.shape[1]), np.empty(0)

    def fit(weights: np.ndarray) -> bool:
        nonlocal slopes, chance
        before, slopes = slopes, logistic_slopes(leans, weights, slopes)
        combined = leans @ slopes
        chance = fit_answer_law(combined, weights).probability(combined)
        return bool(np.abs(slopes - before).max() < 1e-3 * np.abs(slopes).max())

    fit(weights)
    # The slopes decide when to stop.
    alternate(lambda: chance, fit, people, weights, rounds=LAW_ROUNDS, tolerance=0.0)
    return chance, log_likelihoods(chance, people, weights)


def _share_of_guesses(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maximum-likelihood lapse rate of each person, and its interval by likelihood ratio."""
    best = logs.argmax(axis=1)
    inside = logs >= logs.max(axis=1, keepdims=True) - _DROP
    last = len(SHARES) - 1
    # A grid point beyond the last inside is a bound that is never too tight.
    low = np.maximum(inside.argmax(axis=1) - 1, 0)
    high = np.minimum(last - inside[:, ::-1].argmax(axis=1) + 1, last)
    return SHARES[best], SHARES[low], SHARES[high]


def _rank_within(data: Comparisons, entry: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, bool]:
    """The rank of each answer among its person's, 0 to 1, and whether it is known rather than that of the row."""
    order = data.answers.order
    known = order is not None and bool((order[entry] >= 0).all())
    within = order[entry] if order is not None and known else np.arange(len(entry))
    place = places_within(own, np.argsort(within, kind="stable"))
    return place / np.maximum(np.bincount(own)[own] - 1, 1), known


def _p_decline(lean: np.ndarray, own: np.ndarray, rank: np.ndarray, guesses: np.ndarray) -> np.ndarray:
    """One-sided p-value for a decline of agreement during the session."""
    expected = (1.0 - guesses[own]) * lean**2  # of 2 g - 1, if the answer is right with probability g
    rest = lean - expected
    middle = _ratio(np.bincount(own, lean**2 * rank), np.bincount(own, lean**2), 0.5)
    late = (rank - middle[own]) * rest
    return norm.cdf(_ratio(np.bincount(own, late), np.sqrt(np.bincount(own, late**2)), 0.0))


def _details(data: Comparisons, entry: np.ndarray, own: np.ndarray, rank: np.ndarray) -> dict[str, Any]:
    """Response times and sides of each person; None where they are not known."""
    found: dict[str, Any] = dict.fromkeys(("seconds", "first", "same_side", "streak"))
    n_people, answers = int(own.max()) + 1, data.answers
    if answers.seconds is not None:
        seconds = answers.seconds[entry]
        found["seconds"] = np.full(n_people, np.nan)
        for person in np.unique(own[~np.isnan(seconds)]).tolist():
            found["seconds"][person] = np.median(seconds[(own == person) & ~np.isnan(seconds)])
    side = np.zeros(0, np.int8) if answers.side is None else answers.side[entry]
    if (side >= 0).any():
        known = side >= 0
        counts = np.zeros((n_people, int(side.max()) + 1))
        np.add.at(counts, (own[known], side[known]), 1.0)
        total = counts.sum(axis=1)
        found["first"] = _ratio(counts[:, 0], total)
        found["same_side"] = _ratio(counts.max(axis=1), total)
        found["streak"] = _longest_streak(side[known], own[known], rank[known], n_people)
    return found


def _attention_checks(data: Comparisons) -> dict[str, Any]:
    """Attention checks with a known outcome of each person, and the fraction passed; None without any."""
    answers, people = data.answers, data.people
    if answers.correct is None or not answers.is_check().any():
        return {"catch": None, "catch_passed": None}
    assert answers.participant is not None
    assert people is not None
    asked = answers.is_check() & (answers.correct >= 0) & np.isin(answers.participant.each(), people.names)
    own, right = np.searchsorted(people.names, answers.participant.each()[asked]), answers.correct[asked] == 1
    n_asked, n_right = (np.bincount(own, weights=which, minlength=len(people.names)) for which in (None, right))
    return {"catch": n_asked, "catch_passed": _ratio(n_right, n_asked)}


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
    """Pairs of answers of one person to one question, and the fraction of them that agree."""
    assert data.people is not None
    n_people, own = len(data.people.names), data.people.codes[first_rows(data)[0]]
    question, response = responses(data)
    total, alike = (_pairs_of_each(own, which, n_people) for which in (question, response))
    return total.astype(np.int64), _ratio(alike, total)


def _pairs_of_each(own: np.ndarray, number: np.ndarray, n_people: int) -> np.ndarray:
    """How many pairs of each person's answers have the same number."""
    (person, _), times = np.unique(np.stack([own, number]), axis=1, return_counts=True)
    return np.bincount(person, weights=times * (times - 1) / 2, minlength=n_people)


# Rule -> the column of the table, how a value breaks it, that in words (fractions in percent), the error if none.
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
        "catch_passed", operator.lt, "passed fewer than {:g} % of attention checks",
        "attention checks and their correct answers are not known",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ExclusionRules:
    """Rules that say who is left out; by default nobody.

    Parameters
    ----------
    min_answers : int, optional
        Leave out who gave fewer answers.
    min_seconds : float, optional
        ... who took less time for an answer, by their median.
    max_same_side : float, optional
        ... who chose one side in a larger fraction of answers, 0 to 1.
    catch_passed : float, optional
        ... who passed a smaller fraction of attention checks, 0 to 1.
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
        """Read rules from a TOML file, such as ``min_answers = 30``."""
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
    def of(rules: Any) -> ExclusionRules:
        """Rules from rules, a mapping of their names to values, or the path of a file."""
        if isinstance(rules, ExclusionRules):
            return rules
        if isinstance(rules, (str, os.PathLike)):
            return ExclusionRules.read(rules)
        if not isinstance(rules, Mapping):
            raise ValueError(f"rules: got {rules!r}, expected rules by name or the path of a file")
        names = [field.name for field in fields(ExclusionRules)]
        strange = [name for name in rules if name not in names]
        if strange:
            near = closest(str(strange[0]), names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"rules: got {strange[0]!r}, expected {listed(names, 9)}{hint}")
        return ExclusionRules(**rules)

    @property
    def level(self) -> float | None:
        """The level of `better_than_chance`, None if it is not asked for."""
        if self.better_than_chance is None or self.better_than_chance is False:
            return None
        return _LEVEL if self.better_than_chance is True else float(self.better_than_chance)

    def broken(self, table: ParticipantTable) -> dict[str, np.ndarray]:
        """Who breaks each rule: its words -> bool (n_people,). Somebody whose value is not known breaks none."""
        found: dict[str, np.ndarray] = {}
        for name, (column, breaks, form, lacking) in _RULES.items():
            limit, values = getattr(self, name), getattr(table, column)
            if limit is None:
                continue
            words = form.format(100 * limit if column in _SHARES else limit)
            if values is None or not np.isfinite(values.astype(float)).any():
                raise ValueError(f"rules: {lacking}, so {words.partition(' ')[2] or words!r} cannot be applied")
            with np.errstate(invalid="ignore"):
                found[words] = breaks(values, limit)
        if self.level is not None:
            words = f"agreed with the others no better than chance (level {self.level:g})"
            found[words] = ~(table.p_chance < self.level)
        return found


@dataclass(frozen=True)
class Exclusions:
    """Who was left out, and why."""

    participants: list[Any]  # those left out
    reasons: dict[str, list[Any]]  # rule, in words -> those who broke it
    n_people: int  # before, as are `n_answers`
    n_answers: int
    n_kept_answers: int

    def __str__(self) -> str:
        return self.paragraph()

    def paragraph(self) -> str:
        """The exclusions, as reported in a paper."""
        people = counted(self.n_people, "participant")
        if not self.reasons:
            return f"No exclusion rules were set; all {people} were kept ({self.n_answers:,} answers)."
        rules = [f"{len(broke):,} {words}" for words, broke in self.reasons.items()]
        if not self.participants:
            words = " or ".join(self.reasons)
            return f"Of {people}, none was excluded by the rules set beforehand (nobody {words})."
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
    """
    asked = ExclusionRules.of(rules)
    data = as_comparisons(comparisons)
    table = participants(data, **options) if table is None else table
    assert data.people is not None
    broken = asked.broken(table)
    reasons = {words: table.participant[mask].tolist() for words, mask in broken.items()}
    out = np.logical_or.reduce(list(broken.values())) if broken else np.zeros(len(table), dtype=bool)
    names = set(table.participant[out].tolist())
    if len(names) == len(table):
        raise ValueError("rules: nobody is left")
    gone = [name for name in data.people.names.tolist() if name in names]
    kept_answers = int(table.answers[~out].sum())
    exclusions = Exclusions(gone, reasons, len(table), int(table.answers.sum()), kept_answers)
    assert data.answers.participant is not None
    everybody = data.answers.participant
    keep = np.array([name not in names for name in everybody.names.tolist()])[everybody.codes]
    return (data if keep.all() else data.of_answers(keep)), exclusions
