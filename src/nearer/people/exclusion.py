"""Exclusion rules, and how a paper reports them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from nearer.data import Comparisons, LeftOut, check_fraction
from nearer.data.messages import counted, listed
from nearer.data.validate import check_bool, check_number
from nearer.io.coerce import as_comparisons
from nearer.people.participants import FRACTIONS, SIGNIFICANT, ParticipantTable, participants, people_of
from nearer.tables.layout import tomllib

# Rule -> the column of the table, how a value breaks it, and that in words (fractions in percent).
_RULES: dict[str, tuple[str, Callable[[Any, Any], Any], str]] = {
    "min_answers": ("answers", operator.lt, "gave fewer than {:,} answers"),
    "min_seconds": ("seconds", operator.lt, "took less than {:g} s for an answer (median)"),
    "max_same_side": ("same_side", operator.gt, "chose the same side in more than {:g} % of answers"),
    "catch_passed": ("catch_passed", operator.lt, "passed fewer than {:g} % of attention checks"),
}


@dataclass(frozen=True)
class ExclusionRules:
    """Rules for leaving out participants; by default nobody is left out."""

    min_answers: int | None = None  # leave out people who gave fewer answers
    min_seconds: float | None = None  # ... whose median response time is less
    max_same_side: float | None = None  # ... who chose one side in a larger fraction of answers
    catch_passed: float | None = None  # ... who passed a smaller fraction of attention checks
    # ... whose agreement with a map of the others is not significantly better than guessing: level; True means 0.05
    better_than_chance: bool | float | None = None

    def __post_init__(self) -> None:
        check_number(self.min_answers, "min_answers", zero=True, allow_none=True)
        check_number(self.min_seconds, "min_seconds", zero=True, allow_none=True)
        for name in ("max_same_side", "catch_passed", "better_than_chance"):
            value = getattr(self, name)
            is_switch = name == "better_than_chance" and isinstance(value, bool | np.bool_)
            if value is not None and not is_switch:
                check_fraction(value, name)

    @staticmethod
    def read(rules: Any) -> ExclusionRules:
        """Rules as given, from a mapping of names to values, or from a TOML file, such as ``min_answers = 30``."""
        if isinstance(rules, ExclusionRules):
            return rules
        if isinstance(rules, str | os.PathLike):
            try:
                return ExclusionRules.read(tomllib.loads(Path(rules).read_text(encoding="utf-8-sig")))
            except ValueError as error:  # not TOML, or not rules
                raise ValueError(f"{os.fspath(rules)}: {error}") from error
        names = [field.name for field in fields(ExclusionRules)]
        if not isinstance(rules, Mapping) or not set(rules) <= set(names):
            raise ValueError(f"rules: got {rules!r}, expected a file, or values of {listed(names)}")
        return ExclusionRules(**rules)

    def broken(self, table: ParticipantTable) -> dict[str, np.ndarray]:
        """Who breaks each rule: its words -> bool (n_people,). Somebody whose value is not known breaks none."""
        found: dict[str, np.ndarray] = {}
        for name, (column, breaks, form) in _RULES.items():
            limit, values = getattr(self, name), getattr(table, column)
            if limit is None:
                continue
            _require_values(values, name, column)
            with np.errstate(invalid="ignore"):
                found[form.format(100 * limit if column in FRACTIONS else limit)] = breaks(values, limit)
        level = self.better_than_chance
        if isinstance(level, bool | np.bool_):
            level = SIGNIFICANT if level else None
        if level is not None:
            _require_values(table.p_chance, "better_than_chance", "p_chance")
            found[f"agreed with the others no better than chance (level {level:g})"] = table.p_chance >= level
        return found


def _require_values(values: np.ndarray | None, rule: str, column: str) -> None:
    if values is None or not np.isfinite(values.astype(float)).any():
        found = f"no participant has a value of {column}"
        raise ValueError(f"rules: {rule} cannot be applied, as {found}; leave it out, or collect more answers")


@dataclass(frozen=True)
class Exclusions:
    """Who was left out, and why."""

    participants: list[Any]  # those left out
    reasons: dict[str, list[Any]]  # rule, in words -> those who broke it
    n_people: int  # before the exclusion, as is `n_answers`
    n_answers: int
    n_kept_answers: int
    preregistered: bool = False  # whether the rules were set in advance

    @property
    def _which(self) -> str:
        return "rules set in advance" if self.preregistered else "these rules"

    def __str__(self) -> str:
        """The exclusions, as reported in a paper."""
        people = counted(self.n_people, "participant")
        if not self.reasons:
            return f"No exclusion rules were set; all {people} were kept ({self.n_answers:,} answers)."
        rules = [f"{len(broke):,} {words}" for words, broke in self.reasons.items()]
        if not self.participants:
            words = " or ".join(self.reasons)
            return f"Of {people}, none was excluded by {self._which} (nobody {words})."
        gone = len(self.participants)
        several = sum(len(broke) for broke in self.reasons.values()) - gone
        more = "; some broke more than one rule" if several else ""
        was = "was" if gone == 1 else "were"
        return (
            f"Of {people}, {gone:,} ({100 * gone / self.n_people:.1f} %) {was} excluded by {self._which}: "
            f"{listed(rules, 9)}{more}. The {self.n_kept_answers:,} answers of the remaining "
            f"{self.n_people - gone:,} participants were kept (of {self.n_answers:,})."
        )


def exclude(
    comparisons: Any,
    rules: Any,
    table: ParticipantTable | None = None,
    preregistered: bool = False,
    **options: Any,
) -> tuple[Comparisons, Exclusions]:
    """Leave out participants by rules; `Comparisons.flow` keeps who was left out and why.

    Parameters
    ----------
    comparisons : Comparisons
        With participants.
    rules : ExclusionRules, mapping or path-like
        Rules, by name or in a TOML file.
    table : ParticipantTable, optional
        Of these comparisons; made by `participants` if not given.
    preregistered : bool, default False
        Whether the rules were set in advance, which reports then say.
    **options : Any
        For `participants`.
    """
    check_bool(preregistered, "preregistered")
    asked = ExclusionRules.read(rules)
    data = as_comparisons(comparisons)
    people = people_of(data).names
    table = participants(data, **options) if table is None else table
    broken = asked.broken(table)
    reasons = {words: table.participant[mask].tolist() for words, mask in broken.items()}
    out = np.logical_or.reduce([np.zeros(len(table), dtype=bool), *broken.values()])
    if out.all():
        each = ", ".join(f"{int(mask.sum()):,} {words}" for words, mask in broken.items())
        raise ValueError(f"rules: nobody is left of {counted(len(table), 'participant')}: {each}; relax the rules")
    gone = people[np.isin(people, table.participant[out])]
    n_answers, n_kept = int(table.answers.sum()), int(table.answers[~out].sum())
    exclusions = Exclusions(gone.tolist(), reasons, len(table), n_answers, n_kept, preregistered)
    everybody = data.answers.participant
    assert everybody is not None
    keep = ~np.isin(everybody.names, gone)[everybody.codes]
    kept = data if keep.all() else data.of_answers(keep)
    broke = {words: len(who) for words, who in reasons.items()}
    left_out = LeftOut(broke, len(gone), data.n_answers - kept.n_answers, bool(preregistered))
    return kept.replaced(flow=data.flow.excluding(left_out)), exclusions
