"""`Answers`: what is known of each answer besides the choice; `Flow`: what became of all that were collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from nearer.data.coded import UNKNOWN, Coded, check_coded
from nearer.data.messages import shown
from nearer.data.validate import frozen, refuse_rows

# Field -> type of its values, and the value that stands for "not known".
_PLAIN: dict[str, tuple[Any, Any]] = {
    "votes": (np.float64, 1.0), "side": (np.int8, -1), "seconds": (np.float64, np.nan), "order": (np.int64, -1),
    "catch": (np.bool_, False), "correct": (np.int8, -1),
}  # fmt: skip
DETAILS = ("seconds", "order", "side", "catch", "correct", "chosen_by")
# Words of the field `side`; -1, unknown, is the last.
_OPTIONS = [f"option{place}" for place in range(4, 129)]
SIDE_NAMES = np.array(["first", "second", "third", *_OPTIONS, None], dtype=object)
# Strategies that do not depend on earlier answers: at random, or from a list fixed beforehand.
NOT_ADAPTIVE = ("random", "balanced", "repeat", "catch", "check", "validation", "test", "unknown")
# Reasons for leaving out rows that hold no answer; headers are not mentioned.
_HEADERS = ("further header row", "header repeated")
NOT_SELECTED = "not selected"  # followed by the condition
_NO_ANSWERS = (NOT_SELECTED, "no objects", "without votes")


@dataclass(frozen=True, eq=False)
class Answers:
    """One entry per answer; every field but `kind` and `n` may be None."""

    kind: str | Coded  # what was asked: triplets, quadruplets, odd-one-out, most-central or rankings
    n: int  # number of entries
    participant: Coded | None = None
    votes: np.ndarray | None = None  # float64 (n,): how many answers an entry stands for; default: one
    seconds: np.ndarray | None = None  # float64 (n,): response time; NaN if unknown
    order: np.ndarray | None = None  # int64 (n,): number of the trial within the session; -1 if unknown
    # int8 (n,): position of the chosen object among those shown, 0 left or first, 1 right or second, ...; -1 if unknown
    side: np.ndarray | None = None
    catch: np.ndarray | None = None  # bool (n,): whether it is an attention check, which says nothing about distances
    correct: np.ndarray | None = None  # int8 (n,): 1 right, 0 wrong, -1 unknown or there is no right answer
    chosen_by: Coded | None = None  # how the question was chosen, such as "random"

    def __post_init__(self) -> None:
        vars(self).update({name: frozen(getattr(self, name)) for name in _PLAIN})
        if isinstance(self.kind, Coded) and len(self.kind.names) == 1:
            vars(self)["kind"] = str(self.kind.names[0])

    def __len__(self) -> int:
        return self.n

    def known(self) -> dict[str, Any]:
        """The fields that are not None, without `kind` and `n`."""
        names = (field.name for field in fields(self)[2:])
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def kinds(self) -> tuple[str, ...]:
        return (self.kind,) if isinstance(self.kind, str) else tuple(self.kind.names.tolist())

    @property
    def count(self) -> float:
        """Number of answers: entries, or votes where entries stand for several."""
        return float(self.n if self.votes is None else self.votes.sum())

    @property
    def n_checks(self) -> int:
        """Number of attention checks."""
        return int(self.is_check().sum())

    def is_check(self) -> np.ndarray:
        """Which entries are attention checks: bool, shape (n,)."""
        return np.zeros(self.n, dtype=bool) if self.catch is None else self.catch

    def flow(self, n_answers: float, dropped: Mapping[str, int]) -> Flow:
        """The flow of answers as they are, of which `n_answers` gave comparisons."""
        is_check = self.is_check()
        passed, failed = (0.0 if self.correct is None else self[is_check & (self.correct == k)].count for k in (1, 0))
        unjudged = self[is_check].count - passed - failed
        gone = {"degenerate": float(dropped["degenerate"])} if "degenerate" in dropped else {}
        collected = n_answers + passed + failed + unjudged + sum(gone.values())
        n_people = None if self.participant is None else len(self.participant.names)
        return Flow(collected, n_people, passed, failed, unjudged, dropped=gone)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answers):
            return NotImplemented
        mine, theirs = self.known(), other.known()
        if self.n != other.n or self.kind != other.kind or mine.keys() != theirs.keys():
            return False
        pairs = [(value, theirs[name]) for name, value in mine.items()]
        return all(a == b if isinstance(a, Coded) else np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def __getitem__(self, rows: Any) -> Answers:
        n = len(np.broadcast_to(np.int8(0), self.n)[rows])
        kind = self.kind if isinstance(self.kind, str) else self.kind[rows]
        return Answers(kind, n, **{name: value[rows] for name, value in self.known().items()})

    def flipped(self, entries: np.ndarray) -> Answers:
        """A copy with some answers, int (m,), reversed: their side and correctness become unknown."""
        changed = self.known()
        for name in ("side", "correct"):
            if name in changed:
                changed[name] = changed[name].copy()
                changed[name][entries] = -1
        return Answers(self.kind, self.n, **changed)

    @staticmethod
    def joined(parts: Sequence[Answers]) -> Answers:
        """The entries of several `Answers`, concatenated; a field that only some have is unknown for the others."""
        values: dict[str, Any] = {}
        for name in dict.fromkeys(["kind", *(name for part in parts for name in part.known())]):
            given = [getattr(part, name) for part in parts]
            if name in _PLAIN:
                kind, unknown = _PLAIN[name]
                filled = [np.full(part.n, unknown, kind) if one is None else one for one, part in zip(given, parts)]
                values[name] = np.concatenate(filled)
            else:
                pairs = [(one or UNKNOWN, part.n) for one, part in zip(given, parts) if part.n]
                values[name] = Coded.joined(
                    [one if isinstance(one, Coded) else Coded.constant(one, n) for one, n in pairs]
                )
        return Answers(n=sum(part.n for part in parts), **values)


@dataclass(frozen=True)
class LeftOut:
    """Participants who were excluded by rules, perhaps none, and their answers without attention checks."""

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

    def as_read(self, dropped: Mapping[str, int], participants: int | None, are_answers: bool) -> Flow:
        """A copy that counts rows left out by reading; `are_answers` says whether each of them is one answer."""
        kept = {reason: count for reason, count in dropped.items() if reason not in _HEADERS}
        gone = {reason: count for reason, count in kept.items() if are_answers and not reason.startswith(_NO_ANSWERS)}
        rows = {reason: count for reason, count in kept.items() if reason not in gone}
        lost = Counter(self.dropped) + Counter(gone)
        collected = self.collected + sum(gone.values())
        return replace(self, collected=collected, participants=participants, dropped=dict(lost), rows=rows)

    def excluding(self, left_out: LeftOut) -> Flow:
        return replace(self, excluded=(*self.excluded, left_out)) if left_out.rules else self

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


def check_details(details: Any, n: int) -> dict[str, Any]:
    """Check a mapping of details to arrays of shape (n,), one value for each answer."""
    if not isinstance(details, Mapping | None):
        raise ValueError(f"details: got {shown(details)}, expected a mapping of names to arrays")
    checked: dict[str, Any] = {}
    for name, values in (details or {}).items():
        if name not in (*DETAILS, "votes"):
            raise ValueError(f"details: got {name!r}, expected one of {', '.join(DETAILS)}")
        if values is None:
            continue
        if name == "chosen_by":
            checked[name] = check_coded(values, n, "chosen_by", "entry")
            continue
        array, (kind, unknown) = np.asarray(values), _PLAIN[name]
        if array.ndim != 1 or array.dtype.kind not in "biuf" or len(array) != n:
            what = f"dtype {array.dtype}, shape {array.shape}"
            raise ValueError(f"details: got {what} for {name!r}, expected numbers ({n},), one for each answer")
        array = np.where(np.isnan(array), unknown, array)
        low = 0 if name in ("seconds", "votes", "catch") else -1
        high = 1 if name in ("catch", "correct") else np.inf
        checked[name] = array.astype(kind)
        bad = (checked[name] != array) & ~np.isnan(array)
        bad |= (array < low) | (array > high) | np.isinf(array)
        expected = "a number" if kind is np.float64 else "a whole number"
        refuse_rows(bad, array, f"details: {name!r}", f"expected {expected} from {low} to {high}", "such values")
    return checked
