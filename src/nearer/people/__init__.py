"""Participants: data quality, exclusion, individual maps, and tests of differences."""

from __future__ import annotations

from nearer.people.difference import Difference, differ
from nearer.people.exclusion import ExclusionRules, Exclusions, exclude
from nearer.people.individual import IndividualEmbedding
from nearer.people.participants import ParticipantTable, participants

__all__ = [
    "Difference", "ExclusionRules", "Exclusions", "IndividualEmbedding", "ParticipantTable", "differ",
    "exclude", "participants",
]  # fmt: skip
