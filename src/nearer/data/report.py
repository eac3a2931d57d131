"""The report of a data check: what was found, as fields, as a dict and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

_SHOWN = 8  # examples listed in the text; the fields hold all


@dataclass(frozen=True)
class Contradiction:
    """A question answered both ways: the row as most answered it, with the answers for and against."""

    row: tuple[str | int, ...]
    votes_for: float
    votes_against: float


@dataclass(frozen=True)
class ParticipantCheck:
    """How often a participant agrees with the majority of the others on the questions they share."""

    participant: str | int
    n_answers: int
    n_shared: int
    agreement: float | None
    expected: float | None
    p_value: float | None
    suspicious: bool


@dataclass(frozen=True)
class CheckReport:
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
        Answers in all: the sum of the weights if these are whole numbers (votes), else the number of rows.
    weights_are_votes : bool
        Whether a weight of w was counted as w answers.
    n_questions, n_repeated_questions, n_repeated_answers
        Distinct questions, those answered more than once, and the answers to these.
    contradictions : list of Contradiction
        Questions answered both ways, the most evenly divided with the most answers first.
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
            many = _count(len(self.contradictions), "question is", "questions are")
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
            examples = [f"{p.participant} (agrees {_percent(p.agreement)}, {p.n_shared:,} answers)" for p in doubtful]
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

    def __str__(self) -> str:
        lines = [f"{self.n_comparisons:,} {self.kind} over {self.n_objects:,} objects"]
        lines += [f"  left out: {count:,} ({reason})" for reason, count in self.dropped.items()]
        if self.weights_are_votes:
            lines.append(f"  answers: {self.n_answers:,.0f} (the sum of the weights)")
        lines.append(
            f"  questions: {self.n_questions:,}, of which {self.n_repeated_questions:,} answered more than once, "
            f"{len(self.contradictions):,} both ways"
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
