"""`participants`: the quality of the answers of each person."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from nearer.data import Comparisons, as_generator, check_integer, renumbered
from nearer.data.coded import Coded
from nearer.data.splits import answer_of_rows, first_rows, fold_of_rows, responses
from nearer.data.validate import is_whole
from nearer.estimator import OrdinalEmbedding
from nearer.io.coerce import as_comparisons
from nearer.lapse_rates import SHARES, log_likelihoods, population, weigh_answers
from nearer.metrics import comparison_distances, fit_answer_law, log_ratio
from nearer.metrics.agreement import MIN_SHARED, SIGNIFICANCE
from nearer.metrics.answer_law import logistic_slopes
from nearer.notebook import data_frame, html_table
from nearer.refits import quiet_map, template

_DROP = 1.92  # half of chi-square(1) at 95 %: how far the log-likelihood may fall within the interval
_ROUNDS = 10  # maximum number of EM steps for the answer law of careful people
# Factors by which the log odds of a person's careful answers may differ from those of most, and standard deviations of
# their logarithm that are compared; the smallest is none on this grid.
_CERTAINTY = np.exp(np.linspace(-1.5, 1.5, 11))
_CERTAINTY_SPREADS = (0.01, 0.25, 0.5, 0.75, 1.0)
SIGNIFICANT = 0.05  # p-values below it are called significant, for people as for differences between them
FEWEST = 3  # people: each is compared with a map of the others, so two or fewer show nothing about any one of them
# People who stand out; `benchmarks.people` has the error rates. Inverted: opposite to the map significantly more often
# than guesses, at the level `SIGNIFICANCE` divided by the number of people, by at least this fraction of answers.
_MORE_OPPOSITE = 0.2
# Fast: a median time below this fraction of the typical one, and this many (scaled median absolute) deviations below it
# on a logarithmic scale; judged only with at least this many people.
_FASTER, _DEVIATIONS, _FEWEST_TIMES = 0.5, 4.0, 10


@dataclass(frozen=True, eq=False, kw_only=True)
class ParticipantTable:
    """Quality of the answers of each person, arrays (n_people,); inverted people and high lapse rates come first.

    Columns that cannot be computed from the data are None, single values NaN. With fewer than three people, nobody is
    compared with the others.
    """

    participant: np.ndarray
    answers: np.ndarray  # number of answers
    seconds: np.ndarray | None = None  # median response time
    first: np.ndarray | None = None  # fraction of answers that chose the first (left) option
    same_side: np.ndarray | None = None  # fraction of answers on the side that was chosen most
    streak: np.ndarray | None = None  # longest run of answers on one side
    repeats: np.ndarray  # questions that the person answered more than once
    repeats_alike: np.ndarray  # fraction of pairs of answers to one of them that agree, mean over these questions
    catch: np.ndarray | None = None  # attention checks whose outcome is known
    catch_passed: np.ndarray | None = None  # fraction of them answered correctly
    agreement: np.ndarray  # fraction of answers that a map made without the person satisfies; a tie counts one half
    opposite: np.ndarray | None = None  # fraction contradicted in every comparison, where answers have several
    guesses: np.ndarray  # lapse rate beyond careful people's, 0 to 1; NaN if inverted
    guesses_low: np.ndarray  # its 95 % interval
    guesses_high: np.ndarray
    p_chance: np.ndarray  # p-value of the agreement for somebody who only guesses; near 1 for inverted answers
    p_decline: np.ndarray  # one-sided p-value for a decline of agreement during the session
    inverted: np.ndarray  # whether the answers are the other way round: opposite to the map more often than guesses
    fast: np.ndarray | None = None  # whether the median response time is far below that of the others
    in_order: bool  # whether the order of answers is known; if not, `streak` and `p_decline` follow the rows
    n_folds: int  # maps fitted, each without a part of the people

    def __len__(self) -> int:
        return len(self.participant)

    def table(self) -> dict[str, list[Any]]:
        """Columns by name, without those that are None."""
        columns = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return {name: column.tolist() for name, column in columns.items()}

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame, one row for each person."""
        return data_frame(self.table())

    def __str__(self) -> str:
        return aligned(shown_cells(self.table()))

    def __repr__(self) -> str:
        return f"ParticipantTable of {len(self):,} people, the most doubtful first"

    def _repr_html_(self) -> str:
        return html_table(shown_cells(self.table()), repr(self))


FRACTIONS = ("first", "same_side", "repeats_alike", "catch_passed", "agreement", "opposite", "guesses")


def shown_cells(table: Mapping[str, Sequence[Any]], n_rows: int | None = None) -> dict[str, list[str]]:
    """Cells of a table of people, rounded for reading, of the first `n_rows`; "" where something is not known."""
    left_out = {"guesses_low", "guesses_high", "inverted", "fast"}
    left_out |= {name for name, values in table.items() if all(map(_is_unknown, values))}
    if not any(table["repeats"]):
        left_out |= {"repeats", "repeats_alike"}
    cells = {
        name: [_cell(name, value) for value in values[:n_rows]]
        for name, values in table.items()
        if name not in left_out
    }
    if "guesses" in cells:
        bounds = zip(cells["guesses"], table["guesses_low"], table["guesses_high"])
        cells["guesses"] = [f"{text} ({100 * low:.0f}-{100 * high:.0f})" if text else "" for text, low, high in bounds]
        inverted = zip(cells["guesses"], table.get("inverted") or [False] * len(cells["guesses"]))
        cells["guesses"] = ["inverted" if is_so else text for text, is_so in inverted]
    return cells


def _is_unknown(value: Any) -> bool:
    return value is None or value != value


def _cell(name: str, value: Any) -> str:
    if _is_unknown(value):
        return ""
    if name in FRACTIONS:
        return f"{100 * value:.0f} %"
    if name in ("p_chance", "p_decline"):
        return f"{value:.2g}" if value >= 0.001 else "< 0.001"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def aligned(cells: dict[str, list[str]]) -> str:
    """Columns of cells by name as lines of text, the first to the left and the others to the right."""
    columns: list[list[str]] = []
    for name, values in cells.items():
        width = max(map(len, [name, *values]))
        columns.append([cell.rjust(width) if columns else cell.ljust(width) for cell in [name, *values]])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns))


def participants(
    comparisons: Any,
    estimator: OrdinalEmbedding | None = None,
    *,
    n_folds: int = 10,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ParticipantTable:
    """Measure the quality of the answers of each person.

    Agreement is measured by cross-validation over people: each fold of people is compared with a map of the answers of
    all others.

    Parameters
    ----------
    comparisons : Comparisons
        With participants. What else is known of the answers (side, seconds, order, attention checks) is used.
    estimator : OrdinalEmbedding, optional
        How to make the maps; default: two dimensions, the loss tste.
    n_folds : int, default 10
        Maps; at most one for each person.
    random_state : int or Generator, default 0
    n_jobs : int, optional
        Maps that are fitted side by side; None or -1 means all cores. The result does not depend on it.
    """
    data = _numbered_by_name(as_comparisons(comparisons))
    people = people_of(data)
    n_people, n_folds = len(people.names), check_integer(n_folds, "n_folds", 2)

    # Several rows of one answer count as one answer.
    first, answer = first_rows(data)
    own, entry = people.codes[first], answer_of_rows(data)[first]
    rank, in_order = _rank_within(data, entry, own)
    repeats, alike = _repeats(own, *responses(data), n_people)
    columns = {
        "participant": people.names,
        "answers": np.bincount(own, weights=data.votes[first], minlength=n_people).round().astype(np.int64),
        "repeats": repeats,
        "repeats_alike": alike,
        **_details(data, entry, own, rank),
        **_attention_checks(data, people),
    }
    if n_people < FEWEST:
        compared, n_folds = _not_compared(n_people), 0
    else:
        n_folds = min(n_folds, n_people)
        leans = _leans_to_others(data, estimator, n_folds, as_generator(random_state), n_jobs)
        compared = _compared(leans, people, first, answer, rank)
    columns |= compared
    order = np.lexsort((-columns["p_chance"], -columns["guesses"], ~columns["inverted"]))
    columns = {name: values[order] for name, values in columns.items()}
    return ParticipantTable(in_order=in_order, n_folds=n_folds, **columns)


def _compared(
    leans: np.ndarray, people: Coded, first: np.ndarray, answer: np.ndarray, rank: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns on how far each person agrees with the maps of others."""
    ratio, own, n_rows = leans[:, 0], people.codes[first], np.bincount(answer)
    of_each = functools.partial(np.bincount, own, minlength=len(people.names))
    known = np.bincount(answer, weights=~np.isfinite(ratio)) == 0
    n_known = of_each(weights=known)

    def of_answers(satisfied: np.ndarray) -> np.ndarray:
        """The fraction of each person's answers with all rows satisfied; a tie counts one half."""
        least = np.ones(len(first))
        np.minimum.at(least, answer, satisfied)
        return _ratio(of_each(weights=least * known), n_known)

    right = np.where(ratio == 0, 0.5, ratio > 0)
    agreement, opposite = of_answers(right), of_answers(1.0 - right)
    chance, logs = _law_of_careful(leans, people, 1.0 / n_rows[answer])
    guesses, low, high = _share_of_guesses(logs)
    lean = np.bincount(answer, weights=2.0 * chance - 1.0) / n_rows
    balance = _ratio(of_each(weights=lean), np.sqrt(of_each(weights=lean**2)), 0.0)
    p_decline = _p_decline(lean, own, rank, guesses)
    judged = n_known >= MIN_SHARED
    inverted = judged & (norm.cdf(balance) < SIGNIFICANCE / max(int(judged.sum()), 1))
    inverted &= np.nan_to_num(opposite - agreement) > _MORE_OPPOSITE
    columns = {"agreement": agreement, **({"opposite": opposite} if n_rows.max() > 1 else {})}
    rates = {"guesses": guesses, "guesses_low": low, "guesses_high": high}
    columns |= {name: np.where(inverted, np.nan, values) for name, values in rates.items()}
    return columns | {"p_chance": norm.sf(balance), "p_decline": p_decline, "inverted": inverted}


def _not_compared(n_people: int) -> dict[str, np.ndarray]:
    """The same columns where there are too few people."""
    names = ("agreement", "guesses", "guesses_low", "guesses_high", "p_chance", "p_decline")
    return {name: np.full(n_people, np.nan) for name in names} | {"inverted": np.zeros(n_people, dtype=bool)}


def _numbered_by_name(data: Comparisons) -> Comparisons:
    """Number the objects as reading a file does, so that figures do not depend on their order."""
    seen = np.flatnonzero(data.seen)
    if data.labels is None:
        return renumbered(data, seen)
    names = list(map(str, data.labels[seen].tolist()))
    keys = np.array(list(map(int, names)) if all(map(is_whole, names)) else names)
    return renumbered(data, seen[np.argsort(keys, kind="stable")])


def people_of(data: Comparisons) -> Coded:
    """Who gave each comparison; refused if that is not known."""
    if data.people is None:
        raise ValueError(
            "participants: who gave the answers is not known; declare the column with their names "
            "(--columns participant=NAME; in Python Layout(participant=NAME) or Comparisons(participants=...))"
        )
    return data.people


def _ratio(top: np.ndarray, below: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
    return np.divide(top, below, out=np.full(len(top), otherwise), where=below > 0)


def _leans_to_others(
    data: Comparisons, estimator: OrdinalEmbedding | None, n_folds: int, rng: np.random.Generator, n_jobs: int | None
) -> np.ndarray:
    """How strongly maps of other people's answers support each row, (N, 3); NaN for objects without a position."""
    base = template(OrdinalEmbedding(2, loss="tste", random_state=0) if estimator is None else estimator)
    fold = fold_of_rows(len(data), n_folds, rng, data.people)
    seeds = [int(rng.integers(2**31)) for _ in range(n_folds)]
    leans = np.full((len(data), 3), np.nan)

    def compare(number: int) -> None:
        held = np.flatnonzero(fold == number)
        model = clone(base).set_params(random_state=seeds[number]).fit(data[fold != number])
        near, far = comparison_distances(model.embedding_, data[held])
        known = np.isfinite(near + far)
        # Maps of different folds differ in size.
        size = float((near + far)[known].mean()) if known.any() else 1.0
        near, far = near / size, far / size
        # Three features of about unit size, which change sign with the answer.
        ratio = np.clip(log_ratio(model.embedding_, data[held]), -10.0, 10.0)
        leans[held] = np.stack([ratio, np.sqrt(far) - np.sqrt(near), far - near], axis=1)

    quiet_map(compare, n_jobs, range(n_folds))
    return leans


def _law_of_careful(leans: np.ndarray, people: Coded, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of each answer if it is not a guess, and log-likelihoods of lapse rates, estimated alternately."""
    known = np.isfinite(leans).all(axis=1)
    leans = np.where(known[:, None], leans, 0.0)
    own = careful = share * known
    slopes, chance = np.zeros(leans.shape[1]), np.empty(0)
    for _ in range(_ROUNDS):
        before, slopes = slopes, logistic_slopes(leans, careful, slopes)
        combined = leans @ slopes
        law = fit_answer_law(combined, careful)
        chance = law.probability(combined)
        if np.abs(slopes - before).max() < 1e-3 * np.abs(slopes).max():
            break
        careful, _ = weigh_answers(chance, people, own)
    of_each = [log_likelihoods(law.probability(times * combined), people, own) for times in _CERTAINTY]
    return chance, _over_certainty(np.array(of_each))


def _over_certainty(logs: np.ndarray) -> np.ndarray:
    """Log-likelihoods of lapse rates (n_people, k), from those by certainty (m, n_people, k), which is averaged over.

    How much people differ in certainty is the amount under which all answers are likeliest.
    """
    highest, found = -np.inf, logs[0]
    for spread in _CERTAINTY_SPREADS:
        prior = norm.pdf(np.log(_CERTAINTY), scale=spread)
        averaged = logsumexp(logs, axis=0, b=(prior / prior.sum())[:, None, None])
        rates, _ = population(averaged)
        likelihood = float(logsumexp(averaged, axis=1, b=rates).sum())
        if likelihood > highest:
            highest, found = likelihood, averaged
    return found


def _share_of_guesses(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maximum-likelihood lapse rate of each person, and its interval by likelihood ratio."""
    best = logs.argmax(axis=1)
    inside = logs >= logs.max(axis=1, keepdims=True) - _DROP
    last = len(SHARES) - 1
    # The next grid point outside is a conservative bound.
    low = np.maximum(inside.argmax(axis=1) - 1, 0)
    high = np.minimum(last - inside[:, ::-1].argmax(axis=1) + 1, last)
    return SHARES[best], SHARES[low], SHARES[high]


def _rank_within(data: Comparisons, entry: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, bool]:
    """Rank of each answer within its person, 0 to 1, and whether it follows a known order rather than the rows."""
    order = data.answers.order
    known = order is not None and bool((order[entry] >= 0).all())
    within = order[entry] if order is not None and known else np.arange(len(entry))
    place = places_within(own, np.argsort(within, kind="stable"))
    return place / np.maximum(np.bincount(own)[own] - 1, 1), known


def places_within(unit: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rank of each row within its unit, from 0, in the given order (N,) of rows."""
    counts = np.bincount(unit)
    place = np.empty(len(unit), dtype=np.int64)
    by_unit = order[np.argsort(unit[order], kind="stable")]
    place[by_unit] = np.arange(len(unit)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def _p_decline(lean: np.ndarray, own: np.ndarray, rank: np.ndarray, guesses: np.ndarray) -> np.ndarray:
    """One-sided p-value for a decline of agreement during the session."""
    expected = (1.0 - guesses[own]) * lean**2  # of 2 g - 1, if the answer is right with probability g
    rest = lean - expected
    middle = _ratio(np.bincount(own, lean**2 * rank), np.bincount(own, lean**2), 0.5)
    late = (rank - middle[own]) * rest
    return norm.cdf(_ratio(np.bincount(own, late), np.sqrt(np.bincount(own, late**2)), 0.0))


def _details(data: Comparisons, entry: np.ndarray, own: np.ndarray, rank: np.ndarray) -> dict[str, np.ndarray]:
    """Response times and sides of each person, as far as they are known."""
    rows_of = np.split(np.lexsort((rank, own)), np.cumsum(np.bincount(own))[:-1])

    def of_each(measure: Callable[[np.ndarray], float], values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """A statistic of the known values of each person, in the order of answering; NaN without any."""
        parts = (values[rows[known[rows]]] for rows in rows_of)
        return np.array([measure(part) if len(part) else np.nan for part in parts])

    found: dict[str, np.ndarray] = {}
    if data.answers.seconds is not None:
        seconds = data.answers.seconds[entry]
        found["seconds"] = of_each(np.median, seconds, ~np.isnan(seconds))
        found["fast"] = _is_fast(found["seconds"])
    side = np.full(len(entry), -1) if data.answers.side is None else data.answers.side[entry]
    known = side >= 0
    # If all answers of all people are on one side, a program stored the chosen option there.
    if len(np.unique(side[known])) > 1:
        found["first"] = of_each(lambda sides: np.mean(sides == 0), side, known)
        found["same_side"] = of_each(lambda sides: np.bincount(sides).max() / len(sides), side, known)
        found["streak"] = np.nan_to_num(of_each(_longest_streak, side, known)).astype(np.int64)
    return found


def _is_fast(seconds: np.ndarray) -> np.ndarray:
    """Which people have a median time that is a low outlier."""
    known = np.isfinite(seconds)
    if known.sum() < _FEWEST_TIMES:
        return np.zeros(len(seconds), dtype=bool)
    logs = np.log(np.maximum(np.where(known, seconds, 1.0), 1e-3))
    below = np.median(logs[known]) - logs
    deviation = np.median(np.abs(below[known])) / norm.ppf(0.75)
    return known & (below > _DEVIATIONS * deviation) & (below > -np.log(_FASTER))


def _longest_streak(sides: np.ndarray) -> int:
    return max(len(list(run)) for _, run in itertools.groupby(sides.tolist()))


def _attention_checks(data: Comparisons, people: Coded) -> dict[str, np.ndarray]:
    """Attention checks with a known outcome of each person, and the fraction passed, if there were any."""
    answers = data.answers
    if answers.correct is None or answers.participant is None or not answers.n_checks:
        return {}
    who = answers.participant.each()
    asked = answers.is_check() & (answers.correct >= 0) & np.isin(who, people.names)
    own, right = np.searchsorted(people.names, who[asked]), answers.correct[asked] == 1
    n_asked = np.bincount(own, minlength=len(people.names))
    n_right = np.bincount(own, weights=right, minlength=len(people.names))
    return {"catch": n_asked, "catch_passed": _ratio(n_right, n_asked)}


def _repeats(
    own: np.ndarray, question: np.ndarray, response: np.ndarray, n_people: int
) -> tuple[np.ndarray, np.ndarray]:
    """How many questions each person answered more than once, and how far the answers to one of them agree."""
    (who, _), cell, times = np.unique(np.stack([own, question]), axis=1, return_inverse=True, return_counts=True)
    (of, _), same = np.unique(np.stack([cell.ravel(), response]), axis=1, return_counts=True)
    again = times > 1
    pairs_alike = np.bincount(of, weights=same * (same - 1))
    alike = _ratio(pairs_alike, times * (times - 1.0), 0.0)
    n_repeated = np.bincount(who, weights=again, minlength=n_people)
    return n_repeated.astype(np.int64), _ratio(np.bincount(who, weights=alike, minlength=n_people), n_repeated)
