"""Exclusion rules: written down beforehand in a small file, applied, counted, and told as a paper tells them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nearer.data import Comparisons, as_comparisons, is_number
from nearer.data.errors import closest, counted, listed
from nearer.people.quality import ParticipantTable, participants

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ExclusionRules", "Exclusions", "exclude"]

_LEVEL = 0.05


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
        for name in ("max_same_side", "catch_passed"):
            self._check(name, 0.0, 1.0, "a share from 0 to 1")
        for name in ("min_answers", "min_seconds"):
            self._check(name, 0.0, np.inf, "a number of 0 or more")
        if isinstance(self.better_than_chance, np.bool_):
            object.__setattr__(self, "better_than_chance", bool(self.better_than_chance))
        if not isinstance(self.better_than_chance, bool):
            self._check("better_than_chance", 0.0, 0.5, "true, false, or a level such as 0.05")

    def _check(self, name: str, low: float, high: float, expected: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if not is_number(value) or not low <= value <= high:
            raise ValueError(f"{name}: got {value!r}, expected {expected}")

    @staticmethod
    def read(path: str | os.PathLike[str]) -> ExclusionRules:
        """Read rules from a TOML file, such as ``min_answers = 30``.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        ExclusionRules
        """
        try:
            with open(path, "rb") as file:
                told = tomllib.load(file)
        except OSError as error:
            raise ValueError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{os.fspath(path)}: is not TOML: {error}") from error
        try:
            return ExclusionRules.of(told)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @staticmethod
    def of(told: Any) -> ExclusionRules:
        """Rules from rules, a mapping of their names to values, or the path of a file.

        Parameters
        ----------
        told : ExclusionRules, mapping or path-like

        Returns
        -------
        ExclusionRules
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

        def rule(words: str, values: np.ndarray | None, lacking: str, bad: Any) -> None:
            if values is None or not np.isfinite(values.astype(float)).any():
                raise ValueError(f"rules: {lacking}, so {words.partition(' ')[2] or words!r} cannot be told")
            with np.errstate(invalid="ignore"):
                found[words] = bad(values)

        if self.min_answers is not None:
            found[f"gave fewer than {self.min_answers:,} answers"] = table.answers < self.min_answers
        if self.min_seconds is not None:
            words = f"took less than {self.min_seconds:g} s for an answer (median)"
            rule(words, table.seconds, "response times are not known", lambda values: values < self.min_seconds)
        if self.max_same_side is not None:
            words = f"chose the same side in more than {100 * self.max_same_side:g} % of answers"
            lacking = "which side was chosen is not known"
            rule(words, table.same_side, lacking, lambda values: values > self.max_same_side)
        if self.catch_passed is not None:
            words = f"passed fewer than {100 * self.catch_passed:g} % of catch questions"
            lacking = "catch questions and their right answers are not known"
            rule(words, table.catch_passed, lacking, lambda values: values < self.catch_passed)
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
        """The paragraph that a paper needs.

        Returns
        -------
        str
        """
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
