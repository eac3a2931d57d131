"""People: who to trust, and whose map it is."""

from __future__ import annotations

from nearer.people.individual import Difference, IndividualEmbedding, SpreadChoice, differ
from nearer.people.participants import ExclusionRules, Exclusions, ParticipantTable, exclude, participants

__all__ = [
    "Difference", "ExclusionRules", "Exclusions", "IndividualEmbedding", "ParticipantTable", "SpreadChoice", "differ",
    "exclude", "participants",
]  # fmt: skip
