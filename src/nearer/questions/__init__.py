"""Which questions to ask next, and how many answers a study needs."""

from __future__ import annotations

from nearer.questions.plan import Plan, plan_study
from nearer.questions.simulate import Crowd, SimulatedStudy, simulate_study
from nearer.questions.strategies import Balanced, CrowdKernel, Predictive, Random, Situation, Strategy, Uncertainty
from nearer.questions.suggest import Questions, suggest

__all__ = [
    "Balanced", "Crowd", "CrowdKernel", "Plan", "Predictive", "Questions", "Random", "SimulatedStudy", "Situation",
    "Strategy", "Uncertainty", "plan_study", "simulate_study", "suggest",
]  # fmt: skip
