"""What is good and what is doubtful about comparisons: the check and its result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nearer._tables import html_table
from nearer.data import rules
from nearer.data.answers import Tally, tally, votes_of_rows
from nearer.data.columns import distinct
from nearer.data.errors import counted
from nearer.data.rules import CHUNK
from nearer.data.values import People, check_integer

__all__ = ["CheckResult", "Contradiction", "ParticipantCheck", "check", "components", "noise_ceiling"]

_SHOWN = 8  # examples listed in the text; the fields hold all


@dataclass(frozen=True)
class Contradiction:
    """A question answered both ways: the row as most answered it, with the answers for and against."""

    row: tuple[str | int, ...]
    votes_for: float
    votes_against: float


@dataclass(frozen=True)
class ParticipantCheck:
    """How often a participant agrees with the others on the questions they share.

    Attributes
    ----------
    participant : str or int
    n_answers, n_shared : int
        Answers, and rows of them to questions that somebody else answered too.
    agreement : float or None
        Fraction of the shared answers that agree with the majority of the others; a tie counts one half.
    expected : float or None
        The same for somebody who answers these questions like the others who answered them.
    p_value : float or None
        Probability that somebody who answers like the others is in the minority as often; None for fewer than 10
        shared answers.
    suspicious : bool
        Whether the p-value is below 0.01 divided by the number of participants judged.
    """

    participant: str | int
    n_answers: int
    n_shared: int
    agreement: float | None
    expected: float | None
    p_value: float | None
    suspicious: bool


@dataclass(frozen=True, repr=False)
class CheckResult:
    """What `Comparisons.check` found. Objects are named by label, or by index where there are no labels.

    Attributes
    ----------
    kind, n_comparisons, n_objects
        What was checked.
    dropped : dict
        Reason -> rows left out by the constructor.
    n_degenerate : int
        Degenerate rows among them.
    n_answers : float
        Answers in all: the sum of the weights if these are whole numbers (votes), else the number of rows; the rows of
        one odd-one-out answer or ranking count once.
    weights_are_votes : bool
        Whether a weight of w was counted as w answers.
    n_questions, n_repeated_questions, n_repeated_answers
        Distinct questions, those of which something was answered more than once, and the answers to these.
    contradictions : list of Contradiction
        Comparisons answered both ways, the most evenly divided with the most answers first.
    noise_ceiling : float or None
        Fraction of the answers to repeated questions that agree with the majority answer to their question: no map
        satisfies more of them. As a forecast for new answers it is too high, since the majority is found from the
        same answers. None without repeats.
    noise_ceiling_low : float or None
        The same with each answer held against the majority of the other answers (a tie counts one half): too low as a
        forecast, since that majority has one answer less. The best accuracy possible on new answers to these
        questions lies, on average, between the two.
    unseen : list
        Objects in no comparison.
    components : list of int
        Sizes of the connected components of the graph that links objects compared with each other, largest first.
    islands : list of lists
        The objects of every component but the largest.
    n_components : int or None
        The dimension asked for.
    too_few : dict or None
        Object -> number of distinct questions, where this is less than `n_components` + 1: fewer inequalities cannot
        enclose a point from all sides in that dimension. None if no dimension was asked for.
    participants : list of ParticipantCheck or None
        The most doubtful first; None if the participants are not known.
    answers_are_rows : bool
        Whether each row is an answer of its own; an odd-one-out answer or a ranking gives several.
    n_adaptive : int
        Rows whose questions were chosen in the light of earlier answers: a biased sample, so that accuracy is
        measured on the others; see `Comparisons.at_random`.
    """

    kind: str
    n_comparisons: int
    n_objects: int
    dropped: dict[str, int]
    n_degenerate: int
    n_answers: float
    weights_are_votes: bool
    n_questions: int
    n_repeated_questions: int
    n_repeated_answers: float
    contradictions: list[Contradiction]
    noise_ceiling: float | None
    noise_ceiling_low: float | None
    unseen: list[str | int]
    components: list[int]
    islands: list[list[str | int]]
    n_components: int | None
    too_few: dict[str | int, int] | None
    participants: list[ParticipantCheck] | None
    n_adaptive: int = 0
    answers_are_rows: bool = True

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """What was found, one short sentence each."""
        found = []
        if self.n_degenerate:
            found.append(f"{_count(self.n_degenerate, 'degenerate row was', 'degenerate rows were')} dropped.")
        if self.contradictions:
            what = "question" if self.answers_are_rows else "comparison"
            many = _count(len(self.contradictions), f"{what} is", f"{what}s are")
            examples = [f"{_row(c.row)} {c.votes_for:g} to {c.votes_against:g}" for c in self.contradictions]
            found.append(f"{many} answered both ways: {_some(examples, '; ')}.")
        if self.unseen:
            many = _count(len(self.unseen), "object occurs", "objects occur")
            found.append(f"{many} in no comparison: {_some(self.unseen)}.")
        if self.islands:
            apart = [f"{{{_some(island)}}}" for island in self.islands]
            found.append(
                f"The objects fall into {len(self.components):,} groups never compared with each other, so their "
                f"relative places are arbitrary; apart from the largest: {_some(apart)}."
            )
        if self.too_few and self.n_components is not None:
            many = _count(len(self.too_few), "object occurs", "objects occur")
            examples = [f"{name} ({count})" for name, count in self.too_few.items()]
            need = self.n_components + 1
            found.append(f"{many} in fewer than {need} questions, too few for {self._dimensions}: {_some(examples)}.")
        doubtful = [person for person in self.participants or [] if person.suspicious]
        if doubtful:
            many = _count(len(doubtful), "participant disagrees", "participants disagree")
            examples = [
                f"{p.participant} (agrees {_percent(p.agreement)}, expected {_percent(p.expected)}, "
                f"{p.n_shared:,} {'answers' if self.answers_are_rows else 'comparisons'})"
                for p in doubtful
            ]
            found.append(f"{many} with the rest: {_some(examples)}.")
        return found

    @property
    def _dimensions(self) -> str:
        return _count(self.n_components or 0, "dimension", "dimensions")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, numbers and text, ready for JSON."""
        values = asdict(self)
        for contradiction in values["contradictions"]:
            contradiction["row"] = list(contradiction["row"])
        if self.too_few is not None:
            values["too_few"] = [{"object": name, "n_questions": count} for name, count in self.too_few.items()]
        return {**values, "ok": self.ok, "problems": self.problems}

    def __repr__(self) -> str:
        problems = _count(len(self.problems), "problem", "problems") if self.problems else "no problem"
        return f"CheckResult: {self._rows}, {problems} found"

    def _repr_html_(self) -> str:
        return html_table({"problems": self.problems or ["none"]}, repr(self))

    @property
    def _rows(self) -> str:
        return f"{counted(self.n_comparisons, self.kind[:-1])} over {counted(self.n_objects, 'object')}"

    def __str__(self) -> str:
        lines = [self._rows]
        lines += [f"  left out: {count:,} ({reason})" for reason, count in self.dropped.items()]
        if self.weights_are_votes or not self.answers_are_rows:
            how = "the sum of the weights" if self.answers_are_rows else "of several rows each"
            lines.append(f"  answers: {self.n_answers:,.0f} ({how})")
        both_ways = f"{len(self.contradictions):,}"
        if not self.answers_are_rows:
            both_ways = counted(len(self.contradictions), "comparison")
        lines.append(
            f"  questions: {self.n_questions:,}, of which {self.n_repeated_questions:,} answered more than once, "
            f"{both_ways} both ways"
        )
        if self.noise_ceiling is None:
            lines.append("  noise ceiling: unknown, no question was answered more than once")
        else:
            lines.append(
                f"  noise ceiling: at most {_percent(self.noise_ceiling)} of the answers to the repeated questions can "
                f"be satisfied; for new answers the best accuracy is on average between "
                f"{_percent(self.noise_ceiling_low)} and {_percent(self.noise_ceiling)} "
                f"({self.n_repeated_answers:,.0f} answers)"
            )
        seen = self.n_objects - len(self.unseen)
        groups = _count(len(self.components), "connected group", "connected groups")
        lines.append(f"  objects: {seen:,} compared, {len(self.unseen):,} not; {groups}")
        if self.too_few is not None:
            lines.append(
                f"  too few questions for {self._dimensions}: {_count(len(self.too_few), 'object', 'objects')}"
            )
        if self.participants is not None:
            lines.append(f"  participants: {len(self.participants):,}")
        if self.n_adaptive:
            lines.append(
                f"  chosen questions: {self.n_adaptive:,} of {self.n_comparisons:,} rows answer questions chosen by "
                f"earlier answers; accuracy is measured on the other {self.n_comparisons - self.n_adaptive:,}"
            )
        problems = self.problems
        lines.append(f"{_count(len(problems), 'problem', 'problems')} found" if problems else "no problem found")
        lines += [f"  - {problem}" for problem in problems]
        return "\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _some(items: list, separator: str = ", ") -> str:
    """The first few, and how many more."""
    shown = separator.join(str(item) for item in items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown}{separator}and {len(items) - _SHOWN:,} more"


def _row(row: tuple) -> str:
    return f"({', '.join(map(str, row))})"


def _percent(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"


# ---- the check itself ------------------------------------------------------------------------------------------------

# A participant is judged on at least this many shared answers, and doubted where so low an agreement has less than
# this probability, shared out over all participants judged.
MIN_SHARED = 10
SIGNIFICANCE = 0.01
# With a variance beyond this, a sum of binomials is as good as normal.
_LARGE = 1000.0


def check(comparisons: Any, n_components: int | None = None) -> CheckResult:
    """Look for faults in comparisons; see `Comparisons.check`."""
    if n_components is not None:
        n_components = check_integer(n_components, "n_components", 1)
    index, n_objects = comparisons.index, comparisons.n_objects
    columns, answer = rules.same_question(index)
    first, member = rules.group(columns, n_objects)
    votes, are_votes = votes_of_rows(comparisons)
    counts = np.stack([np.bincount(member, weights=votes * side, minlength=len(first)) for side in (~answer, answer)])
    total = counts.sum(axis=0)
    repeated = total > 1
    ceiling, low = noise_ceiling(counts[:, repeated])
    told = tally(comparisons, member)
    again = repeated[member]
    asked = [column[first] for column in columns]
    names = np.arange(n_objects) if comparisons.labels is None else comparisons.labels
    seen = comparisons.seen
    groups = components(index, n_objects, seen)
    return CheckResult(
        kind=comparisons.kind,
        n_comparisons=len(index),
        n_objects=n_objects,
        dropped=comparisons.dropped,
        n_degenerate=comparisons.dropped.get("degenerate", 0),
        n_answers=float(told.n_answers.sum()),
        weights_are_votes=are_votes,
        n_questions=int(np.count_nonzero(np.bincount(told.question, weights=votes))),
        n_repeated_questions=len(distinct(told.question[again])),
        n_repeated_answers=float(told.n_answers[distinct(told.answer[again])].sum()),
        contradictions=_contradictions(asked, counts, names),
        noise_ceiling=ceiling,
        noise_ceiling_low=low,
        unseen=names[~seen].tolist(),
        components=[len(group) for group in groups],
        islands=[names[group].tolist() for group in groups[1:]],
        n_components=n_components,
        too_few=None if n_components is None else _too_few(asked, total > 0, seen, names, n_components),
        participants=_participants(comparisons.people, member, answer, votes, counts, told),
        n_adaptive=0 if comparisons.at_random is None else int((~comparisons.at_random).sum()),
        answers_are_rows=told.by_rows,
    )


def noise_ceiling(counts: np.ndarray) -> tuple[float | None, float | None]:
    """Upper and lower estimate of the best accuracy possible on repeated questions; None without questions.

    Upper: agreement with the majority of all answers to the same question. Lower: agreement of each answer with the
    majority of the others, a tie counting one half. If answers to a question are independent draws with probability
    p, the best accuracy max(p, 1 - p) is at most the mean of the first and at least the mean of the second.

    The counts (2, n_questions) are the answers each way, two or more in all for each question.
    """
    if not counts.size:
        return None, None
    more, less = counts.max(axis=0), counts.min(axis=0)
    total = counts.sum()
    upper = more.sum() / total
    # An answer of the minority always meets a majority against it; so does every answer to an evenly divided question.
    agreeing = np.where(more - 1 > less, more, np.where(more - 1 == less, more / 2, 0.0))
    return float(upper), float(agreeing.sum() / total)


def _contradictions(asked: list[np.ndarray], counts: np.ndarray, names: np.ndarray) -> list[Contradiction]:
    """Questions answered both ways, the most evenly divided with the most answers first."""
    both = np.flatnonzero((counts > 0).all(axis=0))
    less = counts[:, both].min(axis=0)
    both = both[np.lexsort((both, counts[:, both].max(axis=0), -less))]
    rows = np.stack([column[both] for column in asked], axis=1)
    rows = rules.exchanged(rows, np.flatnonzero(counts[1, both] > counts[0, both]))
    high, low = counts[:, both].max(axis=0).tolist(), counts[:, both].min(axis=0).tolist()
    return [Contradiction(tuple(row), up, down) for row, up, down in zip(names[rows].tolist(), high, low)]


def components(index: np.ndarray, n_objects: int, seen: np.ndarray) -> list[np.ndarray]:
    """The objects of each connected component of the graph that links those of each comparison, the largest first.

    Objects that are not marked as `seen` (n_objects,) are left out.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    label, n_labels = np.arange(n_objects), n_objects
    for start in range(0, len(index), CHUNK):  # each chunk joins components found so far: memory stays small
        block = label[index[start : start + CHUNK]]
        ends = np.concatenate([block[:, column] for column in range(1, block.shape[1])])
        starts = np.tile(block[:, 0], block.shape[1] - 1)
        apart = starts != ends
        if apart.any():
            links = coo_matrix((np.ones(int(apart.sum()), bool), (starts[apart], ends[apart])), (n_labels, n_labels))
            n_labels, joined = connected_components(links, directed=False)
            label = joined[label]
    members = np.flatnonzero(seen)
    members = members[np.argsort(label[members], kind="stable")]
    breaks = np.flatnonzero(np.diff(label[members])) + 1
    return sorted(np.split(members, breaks), key=lambda group: (-len(group), group[0]))


def _too_few(
    asked: list[np.ndarray], answered: np.ndarray, seen: np.ndarray, names: np.ndarray, n_components: int
) -> dict[str | int, int]:
    """Objects in fewer than `n_components` + 1 distinct questions, with the number of questions."""
    count = np.zeros(len(seen), dtype=np.int64)
    for place, column in enumerate(asked):
        new = answered.copy()  # an object that occurs twice in a question counts once
        for earlier in asked[:place]:
            new &= column != earlier
        count += np.bincount(column[new], minlength=len(seen))
    few = np.flatnonzero(seen & (count < n_components + 1))
    few = few[np.argsort(count[few], kind="stable")]
    return dict(zip(names[few].tolist(), count[few].tolist()))


def _participants(
    everyone: People | None, member: np.ndarray, answer: np.ndarray, votes: np.ndarray, counts: np.ndarray, given: Tally
) -> list[ParticipantCheck] | None:
    """Agreement of each participant with the others, the most doubtful first.

    Questions differ in difficulty, and participants in the questions they get, so nobody is held to the agreement of
    the rest on other questions. If somebody answers like the others who answered a question, each of its answers is as
    likely as any other to be theirs: with a answers one way and b < a the other, theirs is among the b with
    probability b / (a + b). The p-value is the probability of so many answers in the minority, summed over the
    questions. It holds whatever the questions are; unanimous and evenly divided ones say nothing.
    """
    if everyone is None:
        return None
    people, person = everyone.names, everyone.codes
    # The participant's own answers to the question do not count among the others'.
    _, cell = rules.group([member, person], max(int(member.max()), len(people)) + 1)
    own = np.stack([np.bincount(cell, weights=votes * side) for side in (~answer, answer)])
    others = counts[:, member] - own[:, cell]
    same, opposite = np.where(answer, others[::-1], others)
    total = same + opposite + 1
    most, least = np.maximum(same + 1, opposite), np.minimum(same + 1, opposite)
    told = (least > 0) & (least < most)

    def of_each(values: np.ndarray) -> np.ndarray:
        return np.bincount(person, weights=votes * values, minlength=len(people))

    own_part = (given.n_answers / np.maximum(np.bincount(given.answer, weights=votes), 1e-300))[given.answer]
    n_answers, n_shared = of_each(own_part), of_each(total > 1)
    n_agree = of_each((total > 1) * np.where(same == opposite, 0.5, same > opposite))
    # In the majority, one meets a majority of the others, or a tie if it was by one answer; else never.
    n_expected = of_each((total > 1) * (least < most) * most / total * np.where(most - 1 > least, 1.0, 0.5))
    n_minority = of_each(told & (same + 1 < opposite))
    p_value = _minority_p_values(person[told], (least / total)[told], votes[told], n_minority)
    judged = n_shared >= MIN_SHARED
    suspicious = judged & (p_value < SIGNIFICANCE / max(int(judged.sum()), 1))
    with np.errstate(invalid="ignore"):
        agreement, expected = n_agree / n_shared, n_expected / n_shared
    order = np.lexsort((np.where(judged, p_value, 2.0), ~suspicious))
    return [
        ParticipantCheck(
            participant=people[i] if people.dtype.kind == "O" else int(people[i]),
            n_answers=round(n_answers[i]),
            n_shared=int(n_shared[i]),
            agreement=float(agreement[i]) if n_shared[i] else None,
            expected=float(expected[i]) if n_shared[i] else None,
            p_value=float(p_value[i]) if judged[i] else None,
            suspicious=bool(suspicious[i]),
        )
        for i in order.tolist()
    ]


def _minority_p_values(person: np.ndarray, chance: np.ndarray, votes: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Probability that each person (m,) is in the minority at least as often as `observed` (m,).

    Row by row: who answered, the chance of being in the minority (at most one half), and how many answers it stands
    for. The number is a sum of binomials, one for each person and chance.
    """
    chances, level = np.unique(chance, return_inverse=True)
    pairs, at = np.unique(np.column_stack([person, level]), axis=0, return_inverse=True)
    n = np.bincount(at.ravel(), weights=votes, minlength=len(pairs))
    who, p = pairs[:, 0], chances[pairs[:, 1]] if len(pairs) else chance
    found = np.ones(len(observed))
    starts = np.searchsorted(who, np.arange(len(observed) + 1))
    for i in np.flatnonzero(observed).tolist():
        rows = slice(starts[i], starts[i + 1])
        found[i] = _sum_of_binomials_tail(n[rows], p[rows], int(observed[i]))
    return found


def _sum_of_binomials_tail(n: np.ndarray, p: np.ndarray, least: int) -> float:
    """P[sum of independent Binomial(n_k, p_k) >= least], with p_k <= 1/2."""
    from scipy.stats import binom, norm

    mean, variance = float(n @ p), float(n @ (p * (1 - p)))
    if variance > _LARGE or least > mean + 40 * (1 + variance**0.5):
        return float(norm.sf((least - 0.5 - mean) / variance**0.5))
    below = np.arange(least)
    law = np.zeros(least)
    law[0] = 1.0
    for count, chance in zip(n, p):
        law = np.convolve(law, binom.pmf(below, count, chance))[:least]
    return float(np.clip(1.0 - law.sum(), 0.0, 1.0))
