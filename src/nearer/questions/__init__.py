"""Which questions to ask next, how many answers a study needs, and when to stop."""

from __future__ import annotations

from nearer.questions.plan import Plan, plan_study
from nearer.questions.simulate import Crowd, Recorded, Study, simulate_study
from nearer.questions.stopping import Forecast, forecast
from nearer.questions.strategies import Balanced, CrowdKernel, Predictive, Random, Situation, Strategy, Uncertainty
from nearer.questions.suggest import STRATEGIES, Questions, State, suggest

__all__ = [
    "STRATEGIES",
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
