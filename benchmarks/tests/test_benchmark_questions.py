"""What the benchmark of questions reckons with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import questions

pytestmark = pytest.mark.tools


def test_the_share_of_answers_needed():
    answers, base = np.array([100.0, 200.0, 400.0]), np.array([0.4, 0.2, 0.1])
    assert questions.share_needed(answers, base, base, -1) == pytest.approx(1.0)
    assert questions.share_needed(answers, base, np.array([0.4, 0.1, 0.05]), -1) == pytest.approx(0.5)
    assert questions.share_needed(answers, base, np.array([0.4, 0.05, 0.02]), -1) < 0.5
    assert questions.share_needed(answers, base, np.array([0.1, 0.1, 0.1]), -1) == pytest.approx(0.25)
    assert questions.share_needed(answers, base, np.array([0.4, 0.3, 0.2]), -1) == math.inf
    # What was reached and lost again does not count.
    assert questions.share_needed(answers, base, np.array([0.4, 0.05, 0.2]), -1) == math.inf
    assert questions.share_needed(answers, base, np.array([0.1, 0.4, 0.1]), -1) == pytest.approx(1.0)


@pytest.mark.parametrize("setting", [one for one in questions.SETTINGS if one.kind != "music" and one.n < 200])
def test_people_err_as_often_as_the_setting_says(setting):
    crowd = questions.crowd_of(setting, np.random.default_rng(0))
    asked = crowd.truth(5000, np.random.default_rng(1)).index
    assert 1 - crowd.probability(asked).mean() == pytest.approx(questions.LEVELS[setting.noise], abs=0.02)
    assert crowd.points.shape == (setting.n, questions.POINTS[setting.kind][1])
