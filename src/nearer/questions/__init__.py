"""Which questions to ask next, and how many answers a study needs."""

from __future__ import annotations

from nearer.questions.plan import Plan, plan_study
from nearer.questions.simulate import Crowd, Recorded, SimulatedStudy, simulate_study
from nearer.questions.strategies import Balanced, CrowdKernel, Predictive, Random, Situation, Strategy, Uncertainty
from nearer.questions.suggest import Questions, State, suggest

__all__ = [
    "Balanced",
    "Crowd",
    "CrowdKernel",
    "Plan",
    "Predictive",
    "Questions",
    "Random",
    "Recorded",
    "SimulatedStudy",
    "Situation",
    "State",
    "Strategy",
    "Uncertainty",
    "plan_study",
    "simulate_study",
    "suggest",
]
