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


@pytest.mark.parametrize("setting", [one for one in questions.SETTINGS if one.kind != "music" and one.n < 200])
def test_people_err_as_often_as_the_setting_says(setting):
    crowd = questions.crowd_of(setting, np.random.default_rng(0))
    asked = crowd.truth(5000, np.random.default_rng(1)).index
    assert 1 - crowd.probability(asked).mean() == pytest.approx(questions.LEVELS[setting.noise], abs=0.02)
    assert crowd.points.shape == (setting.n, questions.POINTS[setting.kind][1])


def test_every_level_occurs():
    for name, levels in (("n", {30, 60, 200}), ("in_flight", {0, 20, 100}), ("noise", {"low", "high"})):
        assert {getattr(one, name) for one in questions.SETTINGS} == levels
    assert {one.kind for one in questions.SETTINGS} == set(questions.POINTS)


def test_the_table_tells_gain_and_loss():
    runs = [[0.4, 0.3, 0.2, 0.15, 0.1], [0.42, 0.29, 0.21, 0.14, 0.1]]
    better = [[0.4, 0.25, 0.15, 0.1, 0.05], [0.42, 0.26, 0.14, 0.1, 0.06]]
    errors = {name: better if name == "auto" else runs for name in questions.STRATEGIES}
    one = {**questions.SETTINGS[0]._asdict(), "answers": [100, 150, 200, 300, 450], "errors": errors}
    (row,) = questions._curve_rows([one])
    assert row["auto needs"] == pytest.approx(300 / 450)
    assert row["uncertainty"] == pytest.approx(1.0)
    assert row["auto at its worst, in SE"] <= 0
    errors["auto"], errors["random"] = errors["random"], errors["auto"]
    (row,) = questions._curve_rows([one])
    assert row["auto needs"] == math.inf
    assert row["auto at its worst, in SE"] > 2
