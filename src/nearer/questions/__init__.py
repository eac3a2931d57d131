"""Which questions to ask next, and how many answers a study needs."""

from __future__ import annotations

from nearer.questions.suggest import STRATEGIES, Questions, State, suggest

__all__ = ["STRATEGIES", "Questions", "State", "suggest"]
