"""Which questions to ask next, how many answers a study needs, and when to stop."""

from __future__ import annotations

from nearer.questions.strategies import Balanced, CrowdKernel, Predictive, Random, Situation, Strategy, Uncertainty
from nearer.questions.studies import Crowd, Forecast, Plan, Recorded, Study, forecast, plan_study, simulate_study
from nearer.questions.suggest import Questions, State, suggest

__all__ = [
    "Balanced",
    "Crowd",
    "CrowdKernel",
    "Forecast",
    "Plan",
    "Predictive",
    "Questions",
    "Random",
    "Recorded",
    "Situation",
    "State",
    "Strategy",
    "Study",
    "Uncertainty",
    "forecast",
    "plan_study",
    "simulate_study",
    "suggest",
]
