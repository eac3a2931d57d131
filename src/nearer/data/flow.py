"""`Flow`: how many answers were collected, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nearer.data.answers import Answers

# Reasons for leaving out rows that hold no answer; headers are not mentioned.
_HEADERS = ("further header row", "header repeated")
_NO_ANSWERS = ("not selected (where)", "no objects", "without votes")


@dataclass(frozen=True)
class LeftOut:
    """Participants who were excluded by rules, and their answers without attention checks."""

    rules: dict[str, int]  # rule in words -> participants who broke it; some may have broken several
    participants: int
    answers: float
    preregistered: bool = False  # whether the rules were set in advance


@dataclass(frozen=True)
class Flow:
    """From the answers collected to those analysed; each vote counts. Splitting answers does not change it.

    Attention checks, excluded and dropped answers and those analysed add up to all that were collected.
    """

    collected: float
    participants: int | None = None  # how many gave them; None if that is not known
    passed: float = 0  # attention checks
    failed: float = 0
    unjudged: float = 0  # attention checks without a right answer
    excluded: tuple[LeftOut, ...] = ()  # in the order of the exclusions
    dropped: dict[str, float] = field(default_factory=dict)  # reason -> answers that were left out, or not given
    rows: dict[str, int] = field(default_factory=dict)  # reason -> rows of the file that hold no answer to count

    @property
    def checks(self) -> float:
        return self.passed + self.failed + self.unjudged

    @property
    def analysed(self) -> float:
        gone = sum(one.answers for one in self.excluded) + sum(self.dropped.values())
        return self.collected - self.checks - gone

    @staticmethod
    def of(answers: Answers, n_answers: float, dropped: Mapping[str, int]) -> Flow:
        """The flow of answers before any exclusion, `n_answers` of which gave comparisons."""
        is_check, people = answers.is_check(), answers.participant
        judged = answers.correct
        passed, failed = (0.0 if judged is None else answers[is_check & (judged == k)].count for k in (1, 0))
        unjudged = answers[is_check].count - passed - failed
        gone = {"degenerate": float(dropped["degenerate"])} if "degenerate" in dropped else {}
        collected = n_answers + passed + failed + unjudged + sum(gone.values())
        n_people = None if people is None else len(people.names)
        return Flow(collected, n_people, passed, failed, unjudged, dropped=gone)

    def as_read(self, dropped: Mapping[str, int], participants: int | None, are_answers: bool) -> Flow:
        """A copy that counts rows left out by reading; `are_answers` says whether each of them is one answer."""
        kept = {reason: count for reason, count in dropped.items() if reason not in _HEADERS}
        gone = {reason: count for reason, count in kept.items() if are_answers and reason not in _NO_ANSWERS}
        rows = {reason: count for reason, count in kept.items() if reason not in gone}
        lost = Counter(self.dropped) + Counter(gone)
        collected = self.collected + sum(gone.values())
        return replace(self, collected=collected, participants=participants, dropped=dict(lost), rows=rows)

    def excluding(self, left_out: LeftOut) -> Flow:
        return replace(self, excluded=(*self.excluded, left_out)) if left_out.participants else self

    @staticmethod
    def joined(parts: Iterable[tuple[Flow, float]], participants: int | None) -> Flow:
        """The flow of parts that are joined, each with its number of answers; parts of one whole count once."""
        flows: list[Flow] = []
        sizes: list[float] = []
        for flow, size in parts:
            at = next((k for k, one in enumerate(flows) if one == flow and sizes[k] + size <= flow.analysed), None)
            if at is None:
                flows.append(flow)
                sizes.append(size)
            else:
                sizes[at] += size
        if len(flows) == 1:
            return flows[0]
        total = {name: sum(getattr(one, name) for one in flows) for name in ("collected", "passed", "failed")}
        return Flow(
            **total,
            participants=participants,
            unjudged=sum(one.unjudged for one in flows),
            excluded=tuple(left_out for one in flows for left_out in one.excluded),
            dropped=dict(sum((Counter(one.dropped) for one in flows), Counter())),
            rows=dict(sum((Counter(one.rows) for one in flows), Counter())),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as in files and in summary.json."""
        return asdict(self) | {"analysed": self.analysed}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Flow:
        """Read the result of `to_dict`; ValueError for anything else."""
        try:
            given = {name: value for name, value in values.items() if name != "analysed"}
            flow = Flow(**given | {"excluded": tuple(LeftOut(**one) for one in given.get("excluded", ()))})
            if flow.analysed < 0:
                raise ValueError("more answers are left out than were collected")
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"flow: is damaged: {error}") from error
        return flow
