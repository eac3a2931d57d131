"""Participants: data quality, exclusion, individual maps, and tests of differences."""

from __future__ import annotations

from nearer.people.difference import Difference, differ
from nearer.people.exclusion import ExclusionRules, Exclusions, exclude
from nearer.people.individual import IndividualEmbedding, SpreadChoice
from nearer.people.participants import ParticipantTable, participants

__all__ = [
    "Difference", "ExclusionRules", "Exclusions", "IndividualEmbedding", "ParticipantTable", "SpreadChoice", "differ",
    "exclude", "participants",
]  # fmt: skip
