"""Statistics of comparisons, and checks for signs of trouble, run only on request."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from nearer.data import Comparisons, check_integer, constructors, splits
from nearer.data.coded import distinct
from nearer.data.messages import FileFormatError, counted, listed
from nearer.data.splits import answer_of_rows, first_rows, responses, shares_of_answers
from nearer.metrics import wilson_interval
from nearer.metrics.agreement import (
    MIN_SHARED,
    SIGNIFICANCE,
    ParticipantCheck,
    agreement_with_others,
    ceiling_is_rough,
    noise_ceiling,
)
from nearer.notebook import html_table
from nearer.tables.decode import decode
from nearer.tables.layout import Layout
from nearer.tables.resolve import positions_of, resolve
from nearer.tables.table import Table

__all__ = ["CheckResult", "Contradiction", "Suspicion", "check", "suspicions"]

# Thresholds, see benchmarks/results/suspicion.md: minimum excess of disagreeing answers, as a fraction; maximum number
# of values of a column; minimum number of doubled answers, if only trial numbers are known.
_MOST, _FEW_VALUES, _MIN_DOUBLED = 0.2, 12, 50


@dataclass(frozen=True)
class Contradiction:
    """A comparison answered both ways: the row of the majority, with the answers for and against."""

    row: tuple[str | int, ...]
    votes_for: float
    votes_against: float


@dataclass(frozen=True, repr=False)
class CheckResult:
    """Result of `check`. Objects are named by label, or by index where there are no labels.

    No map satisfies a larger fraction of the answers to repeated questions than the `noise_ceiling`, the agreement with
    the majority answer; `noise_ceiling_low` is that with the majority of the other answers. The best accuracy on new
    answers is, on average, between the two. `too_few` counts the distinct questions of objects that have fewer than
    `n_components` + 1: fewer inequalities cannot enclose a point from all sides in that dimension.
    """

    kind: str
    n_comparisons: int
    n_objects: int
    dropped: dict[str, int]
    n_degenerate: int
    n_answers: float  # answers that gave comparisons; each vote counts
    weights_are_votes: bool
    n_questions: int  # distinct questions
    n_repeated_questions: int  # those answered more than once
    n_repeated_answers: float  # the answers to these
    n_divided_questions: int  # those answered in more than one way
    contradictions: list[Contradiction]  # the most divided first, by the lower bound of the share of the minority
    noise_ceiling: float | None
    noise_ceiling_low: float | None
    unseen: list[str | int]  # objects in no comparison
    components: list[int]  # sizes of the connected components
    islands: list[list[str | int]]  # objects of every component but the largest
    n_components: int | None
    too_few: dict[str | int, int] | None
    participants: list[ParticipantCheck] | None  # the most doubtful first; None if they are not known
    n_adaptive: int = 0  # answers to questions chosen by earlier answers: accuracy is measured on the others
    answers_are_rows: bool = True  # an odd-one-out answer or a ranking gives several rows
    n_attention_checks: int = 0
    n_attention_failed: int = 0  # those answered wrongly
    n_apart: float = 0.0  # answers about objects of every component but the largest

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    @property
    def ceiling_is_rough(self) -> bool:
        """Whether the noise ceiling is not known, or too uncertain to be given."""
        low, high = self.noise_ceiling_low, self.noise_ceiling
        return low is None or high is None or ceiling_is_rough(low, high, self.n_repeated_questions)

    @property
    def problems(self) -> list[str]:
        """What was found, one short sentence each."""
        found, need = [], (self.n_components or 0) + 1
        if self.n_degenerate:
            found.append(f"{counted(self.n_degenerate, 'degenerate row was', 'degenerate rows were')} dropped.")
        if self.unseen:
            many = counted(len(self.unseen), "object occurs", "objects occur")
            found.append(f"{many} in no comparison: {listed(self.unseen)}.")
        if self.islands:
            apart = listed(f"{{{listed(island)}}}" for island in self.islands)
            found.append(
                f"The objects fall into {len(self.components):,} groups never compared with each other, so their "
                f"relative places are arbitrary; apart from the largest: {apart}."
            )
        if self.too_few:
            many = counted(len(self.too_few), "object occurs", "objects occur")
            dimensions = counted(need - 1, "dimension")
            shown = (f"{name} ({count})" for name, count in self.too_few.items())
            found.append(f"{many} in fewer than {need} questions, too few for {dimensions}: {listed(shown)}.")
        if doubtful := [person for person in self.participants or () if person.suspicious]:
            many = counted(len(doubtful), "participant sides", "participants side")
            shown = (
                f"{p.participant} ({_percent(p.agreement)} of {counted(p.n_shared, 'shared answer')}, expected "
                f"{_percent(p.expected)})"
                for p in doubtful
            )
            found.append(f"{many} with the majority of the others too rarely: {listed(shown)}.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, numbers and text, ready for JSON."""
        values = asdict(self)
        for contradiction in values["contradictions"]:
            contradiction["row"] = list(contradiction["row"])
        if self.too_few is not None:
            values["too_few"] = [{"object": name, "n_questions": count} for name, count in self.too_few.items()]
        if not self.n_attention_checks:  # then omitted, as in earlier versions
            del values["n_attention_checks"], values["n_attention_failed"]
        return {**values, "ok": self.ok, "problems": self.problems, "facts": self.facts()}

    def __repr__(self) -> str:
        return f"CheckResult: {self._what}, {self._found} found"

    def _repr_html_(self) -> str:
        return html_table({"problems": self.problems or ["none"]}, repr(self))

    @property
    def _what(self) -> str:
        return f"{counted(self.n_comparisons, self.kind[:-1])} over {counted(self.n_objects, 'object')}"

    @property
    def _found(self) -> str:
        return counted(len(self.problems), "problem") if self.problems else "no problem"

    def facts(self) -> dict[str, str]:
        """The figures that readers ask for, by name."""
        facts = {"comparisons": self._what}
        facts |= {f"left out, {reason}": f"{count:,}" for reason, count in self.dropped.items()}
        if self.weights_are_votes or not self.answers_are_rows:
            how = "the sum of the votes" if self.answers_are_rows else "of several rows each"
            facts["answers"] = f"{self.n_answers:,.0f} ({how})"
        if self.n_attention_checks:
            facts["attention checks"] = f"{self.n_attention_checks:,}, of which {self.n_attention_failed:,} failed"
        facts["questions"] = (
            f"{self.n_questions:,}, of which {self.n_repeated_questions:,} answered more than once, "
            f"{self.n_divided_questions:,} in more than one way"
        )
        if self.contradictions:
            shown = (f"({listed(c.row)}) {c.votes_for:g} to {c.votes_against:g}" for c in self.contradictions[:3])
            facts["most divided" if self.answers_are_rows else "most divided comparisons"] = listed(shown)
        facts["noise ceiling"] = self._ceiling()
        seen = self.n_objects - len(self.unseen)
        groups = counted(len(self.components), "connected group")
        facts["objects"] = f"{seen:,} compared, {len(self.unseen):,} not; {groups}"
        if self.too_few is not None:
            dimensions = counted(self.n_components or 0, "dimension")
            facts[f"too few questions for {dimensions}"] = counted(len(self.too_few), "object")
        if self.participants is not None:
            facts["participants"] = f"{len(self.participants):,}"
        if self.n_adaptive:
            facts["chosen questions"] = (
                f"{self.n_adaptive:,} of {self.n_answers:,.0f} answers are to questions chosen by earlier answers; "
                f"accuracy is measured on the other {self.n_answers - self.n_adaptive:,.0f}"
            )
        return facts

    def _ceiling(self) -> str:
        if self.noise_ceiling is None or self.noise_ceiling_low is None:
            return "unknown, no question was answered more than once"
        if self.noise_ceiling <= 0.5:
            return "unknown, the answers to repeated questions are evenly divided"
        if self.ceiling_is_rough:
            return f"unknown, {counted(self.n_repeated_questions, 'repeated question')}: too few to estimate it"
        ceiling, low = _percent(self.noise_ceiling), _percent(self.noise_ceiling_low)
        return (
            f"at most {ceiling} of the answers to the repeated questions can be satisfied; for new answers the "
            f"best accuracy is on average between {low} and {ceiling} ({self.n_repeated_answers:,.0f} answers)"
        )

    def __str__(self) -> str:
        lines = [f"  {name}: {text}" for name, text in list(self.facts().items())[1:]]
        return "\n".join([self._what, *lines, f"{self._found} found", *(f"  - {text}" for text in self.problems)])


def _percent(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"


def check(comparisons: Comparisons, n_components: int | None = None) -> CheckResult:
    """Look for faults in comparisons and, given a number of dimensions, for objects in too few questions."""
    if n_components is not None:
        n_components = check_integer(n_components, "n_components", 1)
    index, n_objects, answers = comparisons.index, comparisons.n_objects, comparisons.answers
    columns, side = splits.same_question(index)
    first, member = splits.group(columns, n_objects)
    votes, answer = comparisons.votes, answer_of_rows(comparisons)
    counts = np.stack([np.bincount(member, weights=votes * which, minlength=len(first)) for which in (~side, side)])
    total = counts.sum(axis=0)
    asked_each, said_each = responses(comparisons)
    given = votes[first_rows(comparisons)[0]]
    n_given = np.bincount(asked_each, given)
    divided = np.bincount(distinct(asked_each * (said_each.max() + 1) + said_each) // (said_each.max() + 1)) > 1
    ceiling, low = noise_ceiling(asked_each, said_each, given)
    asked = [column[first] for column in columns]
    names = np.arange(n_objects) if comparisons.labels is None else comparisons.labels
    seen, blind = comparisons.seen, comparisons.at_random
    groups = components(index, n_objects, seen)
    apart = np.ones(n_objects, dtype=bool)
    apart[groups[0]] = False
    failed = 0 if answers.correct is None else np.count_nonzero(answers.is_check() & (answers.correct == 0))
    return CheckResult(
        kind=comparisons.kind,
        n_comparisons=len(index),
        n_objects=n_objects,
        dropped=comparisons.dropped,
        n_degenerate=comparisons.dropped.get("degenerate", 0),
        n_answers=comparisons.n_answers,
        weights_are_votes=answers.votes is not None,
        n_questions=int(np.count_nonzero(n_given)),
        n_repeated_questions=int(np.count_nonzero(n_given > 1)),
        n_repeated_answers=float(n_given[n_given > 1].sum()),
        n_divided_questions=int(np.count_nonzero(divided)),
        contradictions=_contradictions(asked, counts, names),
        noise_ceiling=ceiling,
        noise_ceiling_low=low,
        unseen=names[~seen].tolist(),
        components=[len(group) for group in groups],
        islands=[names[group].tolist() for group in groups[1:]],
        n_components=n_components,
        too_few=None if n_components is None else _too_few(asked, total > 0, seen, names, n_components),
        participants=agreement_with_others(comparisons, member, side, counts),
        n_adaptive=0 if blind is None else round(shares_of_answers(comparisons)[~blind].sum()),
        answers_are_rows=len(distinct(answer)) == len(answer),
        n_attention_checks=answers.n_checks,
        n_attention_failed=int(failed),
        n_apart=float(shares_of_answers(comparisons)[apart[index[:, 0]]].sum()),
    )


def _contradictions(asked: list[np.ndarray], counts: np.ndarray, names: np.ndarray) -> list[Contradiction]:
    both = np.flatnonzero((counts > 0).all(axis=0))
    low, total = counts[:, both].min(axis=0), counts[:, both].sum(axis=0)
    both = both[np.lexsort((both, -wilson_interval(low / total, total)[0]))]
    index = np.stack([column[both] for column in asked], axis=1)
    index = constructors.exchanged(index, np.flatnonzero(counts[1, both] > counts[0, both]))
    high, low = counts[:, both].max(axis=0).tolist(), counts[:, both].min(axis=0).tolist()
    return [Contradiction(tuple(row), up, down) for row, up, down in zip(names[index].tolist(), high, low)]


def components(index: np.ndarray, n_objects: int, seen: np.ndarray) -> list[np.ndarray]:
    """Connected components of the `seen` objects, linked if they share a row; the largest first."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    starts = np.repeat(index[:, 0], index.shape[1] - 1)
    links = coo_matrix((np.ones(len(starts), bool), (starts, index[:, 1:].ravel())), (n_objects, n_objects))
    label = connected_components(links, directed=False)[1]
    members = np.flatnonzero(seen)
    members = members[np.argsort(label[members], kind="stable")]
    breaks = np.flatnonzero(np.diff(label[members])) + 1
    return sorted(np.split(members, breaks), key=lambda group: (-len(group), group[0]))


def _too_few(
    asked: list[np.ndarray], answered: np.ndarray, seen: np.ndarray, names: np.ndarray, n_components: int
) -> dict[str | int, int]:
    """Objects in fewer than `n_components` + 1 distinct questions, with the number of questions."""
    questions = np.flatnonzero(answered)
    named = np.concatenate([questions * len(seen) + column[questions] for column in asked])
    count = np.bincount(distinct(named) % len(seen), minlength=len(seen))  # an object twice in a question counts once
    few = np.flatnonzero(seen & (count < n_components + 1))
    few = few[np.argsort(count[few], kind="stable")]
    return dict(zip(names[few].tolist(), count[few].tolist()))


class Suspicion(NamedTuple):
    """What may be wrong: its kind, the names it is about, and a sentence for the user."""

    kind: str
    names: tuple[str, ...]
    text: str


def suspicions(comparisons: Comparisons, unused: Mapping[str, Any] | None = None) -> list[Suspicion]:
    """Look for signs of wrongly recorded or read answers, of the kinds "names", "doubled" and "column".

    People who answered the other way round are found by `nearer.people.participants`.

    `unused` are columns of the table that were not used: a value for each of `comparisons.answers`.
    """
    pair, n_pairs = _pairs(comparisons.index)
    contradicting = _contradicting(comparisons, pair, n_pairs, unused or {})
    return [*_alike(comparisons), *_doubled(comparisons), *contradicting]


def _alike(comparisons: Comparisons) -> list[Suspicion]:
    """Names that differ only in case, blanks or Unicode form, unless objects with such names were shown together."""
    people, index, found = comparisons.answers.participant, comparisons.index, []
    for what, names in (("objects", comparisons.labels), ("participants", None if people is None else people.names)):
        texts = [] if names is None else list(map(str, names.tolist()))
        plain = ["".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in texts]
        values, code, count = np.unique(np.array(plain, dtype=str), return_inverse=True, return_counts=True)
        if len(values) == len(texts):
            continue
        if what == "objects":  # a quadruplet may have an object, and so a name, twice
            twice, alike = (np.count_nonzero(np.diff(np.sort(cells)) == 0) for cells in (index, code[index]))
            if alike > twice:
                continue
        same = [[texts[i] for i in np.flatnonzero(code == one)] for one in np.flatnonzero(count > 1)]
        spellings = listed(" and ".join(map(repr, one)) for one in same)
        text = f"Some {what} may be the same, spelled differently: {spellings}."
        found.append(Suspicion("names", tuple(name for one in same for name in one), text))
    return found


def _doubled(comparisons: Comparisons) -> list[Suspicion]:
    """Answers recorded twice: same participant, question and response, and same time or else trial number."""
    from scipy.stats import poisson

    answers, (question, response) = comparisons.answers, responses(comparisons)
    entry = answer_of_rows(comparisons)[first_rows(comparisons)[0]]
    who = np.zeros(len(entry), int) if answers.participant is None else answers.participant.codes[entry]

    def n_pairs(*keys: np.ndarray) -> int:
        times = np.unique(np.column_stack(keys), axis=0, return_counts=True)[1]
        return int((times * (times - 1) // 2).sum())

    if answers.seconds is not None and np.isfinite(answers.seconds[entry]).any():
        known = np.isfinite(answers.seconds[entry])
        given: tuple[Any, ...]
        given, time = (who[known], response[known]), np.unique(answers.seconds[entry][known], return_inverse=True)[1]
        double, what = n_pairs(*given, time), "response time"
        by_chance = n_pairs(*given) * n_pairs(time) / max(len(time) * (len(time) - 1) / 2, 1)
        suspected = double > 1 and poisson.sf(double - 1, by_chance) < SIGNIFICANCE / 10
    elif answers.order is not None and answers.participant is not None:
        known = answers.order[entry] >= 0
        given = (who[known], question[known], answers.order[entry][known])
        double, what = n_pairs(*given, response[known]), "trial number"
        # A list of questions asked twice has the same trial numbers, but not always the same responses.
        suspected = double >= _MIN_DOUBLED and double == n_pairs(*given)
    else:
        return []
    text = f"{double:,} answers seem to be recorded twice, with the same participant, question, response and {what}."
    return [Suspicion("doubled", (), text)] if suspected else []


def _pairs(index: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the near and the far pair of each row, int (2, N); and how many pairs there are."""
    columns = splits.same_statement(index)
    far = columns[2:] if len(columns) == 4 else [columns[0], columns[2]]
    both = [np.concatenate(ends) for ends in zip(columns[:2], far)]
    first, pair = splits.group([np.minimum(*both), np.maximum(*both)], int(index.max()) + 1)
    return pair.reshape(2, -1), len(first)


def _counts(pair: np.ndarray, n_pairs: int) -> np.ndarray:
    return np.stack([np.bincount(ends, minlength=n_pairs) for ends in pair])


def _agreement(near: np.ndarray, far: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Agreement of each answer with others, of which `near` and `far` (2, N) have its pairs as near or as far pair.

    Positive if its near pair is near more often in the others than its far pair, in standard deviations of a fair
    coin; 0 unless the others have both pairs.
    """
    leaning = (near - far) / np.sqrt(np.maximum(near + far, 1))
    return np.bincount(answer, weights=(leaning[0] - leaning[1]) * (near + far > 0).all(axis=0))


def _disagree(agrees: np.ndarray, n_tests: int) -> bool:
    """Whether answers disagree with others significantly more often than by guessing."""
    from scipy.stats import norm

    known, balance = np.count_nonzero(agrees), np.sign(agrees).sum()
    sure = norm.isf(SIGNIFICANCE / n_tests) * np.sqrt((agrees**2).sum())
    return bool(known >= MIN_SHARED and agrees.sum() < -sure and balance <= -_MOST * known)


def _contradicting(
    comparisons: Comparisons, pair: np.ndarray, n_pairs: int, unused: Mapping[str, Any]
) -> list[Suspicion]:
    """Columns that split the answers into contradicting parts, and may say how to read them."""
    cells = {name: comparisons.of_rows(np.array(list(map(str, values)))) for name, values in unused.items()}
    values = {name: np.unique(column) for name, column in cells.items()}
    tried = [(name, one) for name in cells if 1 < len(values[name]) <= _FEW_VALUES for one in values[name].tolist()]
    answer, every, found = first_rows(comparisons)[1], _counts(pair, n_pairs), {}
    for name, value in tried:
        own = cells[name] == value
        mine = _counts(pair[:, own], n_pairs)
        parts = ((pair[:, own], every - mine, answer[own]), (pair[:, ~own], mine, answer[~own]))
        agrees = (_agreement(others[0][ends], others[1][ends], of) for ends, others, of in parts)
        if name not in found and all(_disagree(one, len(tried)) for one in agrees):
            found[name] = Suspicion("column", (name,), (
                f"Answers where the unused column {name} is {value!r} contradict the others as if near and far were "
                "exchanged: does it say how answers are meant, or is it a condition, to be analysed alone with "
                f"{Layout(where={name: value}).options()}?"
            ))  # fmt: skip
    return list(found.values())


_SAMPLE, _FEW = 200, 12  # rows looked at; most values of a column, and most columns, that are checked


def unused_values(table: Table, layout: Layout) -> dict[str, np.ndarray]:
    """Unused columns with few values in the first rows: a text for each answer of the table."""
    head, columns = table.head(_SAMPLE), {}
    few = [at for at in resolve(table, layout).unused if 1 < len({row[at] for row in head}) <= _FEW]
    for at in few[:_FEW]:
        # Declared as `chosen_by`, the column is read and carried along with the answers.
        with contextlib.suppress(FileFormatError):
            plan = resolve(table, layout.updated(Layout(chosen_by=at + 1)))
            (found,), _ = decode(table, [plan], table.read(positions_of([plan])))
            values = found.parts().answers.chosen_by
            if values is not None:
                columns[table.names[at]] = values.each().astype(str)
    return columns
