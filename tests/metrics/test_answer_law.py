"""The law of answers: found again from answers drawn by it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from nearer.metrics import AnswerLaw, fit_answer_law


def drawn(law, count=5000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.abs(rng.normal(size=count))
    return np.where(rng.random(count) < law.probability(x), x, -x)


@pytest.mark.parametrize("law", [AnswerLaw(3.0, 0.1), AnswerLaw(1.0, 0.0), AnswerLaw(20.0, 0.05), AnswerLaw(5.0, 0.3)])
def test_the_fit_is_as_likely_as_that_of_a_general_optimiser(law):
    x = drawn(law)

    def lost(theta):
        made = AnswerLaw(float(np.exp(theta[0])), float(0.5 / (1 + np.exp(-theta[1]))))
        return -np.log(made.probability(x)).mean()

    best = minimize(lost, [1.0, -2.0], method="Nelder-Mead").fun
    found = fit_answer_law(x)
    assert -np.log(found.probability(x)).mean() == pytest.approx(best, abs=1e-5)
    assert found.lapse == pytest.approx(law.lapse, abs=0.05)


def test_weights_count_answers():
    x = drawn(AnswerLaw(3.0, 0.1), 600)
    w = np.random.default_rng(1).integers(1, 4, size=600)
    one, other = fit_answer_law(x, w.astype(float)), fit_answer_law(np.repeat(x, w))
    assert one.slope == pytest.approx(other.slope, rel=1e-6)
    assert one.lapse == pytest.approx(other.lapse, abs=1e-6)


def test_probabilities():
    law = AnswerLaw(2.0, 0.1)
    np.testing.assert_allclose(
        law.probability(np.array([0.0, np.nan, np.inf, -np.inf])), [0.5, 0.5, 0.9, 0.1], atol=1e-8
    )
    assert law.probability(np.array([0.7]))[0] == pytest.approx(0.1 + 0.8 / (1 + np.exp(-1.4)))
